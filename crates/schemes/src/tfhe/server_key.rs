//! The server's keys: bootstrapping key, key-switching key, and their transport form.
//!
//! The transport form has the bodies and a public seed for the masks: for k = 1 half the size of the bootstrapping key, and 1/(n+1) of the
//! key-switching key.
//!
//! GGSW(s_i), row (j, t): a GLWE encryption of −s_i·g·S_j for j < k and of s_i·g for j = k, where g = q/β^(t+1). That equals
//! GLWE(0) + s_i·g on the constant coefficient of polynomial j (TFHE, Chillotti et al. 2020, Definition 3.11). Here the mask A_j stays uniform
//! and the body carries the message, so that masks can come from a seed.

use polyfabric_kernels::aligned::prefer_large_pages;
use polyfabric_kernels::cancel;
use polyfabric_kernels::{Gadget, Torus};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::circuit_key;
use super::client_key::{AnyClientKey, ClientKey, KeyError};
use super::glwe::MaskProduct;
use super::lwe::LweKind;
use super::noise::{Formulas, Keys, SHARED_TABLES, Transform};
use super::parameters::Parameters;
use super::public_zeros;
use super::random::{MaskSeed, Purpose, SecretSeed, Seeds, Stream};
use super::secret::weight;
use super::unrolling::{KeyUnrolling, UnrollingError};
use crate::generation::KeyGeneration;
use crate::progress::Counter;

pub use crate::progress::{KeyProgress, OnProgress, no_progress};

/// A server's keys in the coefficient domain.
///
/// `bootstrap_key` is `[GGSW][row = j·l + t][column in 0..=k][coefficient in 0..N]`, with a GGSW ciphertext per secret bit, or with
/// [`KeyUnrolling`] per pattern of each group of bits. `key_switch_key` is `[i in 0..kN][t in 0..l_k][n + 1]`. `circuit_key` is
/// `[row][column in 0..=k][N]` ([`super::circuit_key`]), empty for a set without it. `public_zeros` are k GLWE encryptions of zero,
/// `[column in 0..=k][i in 0..k][N]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerKey<T> {
    pub(crate) parameters: Parameters,
    pub(crate) generation: KeyGeneration,
    pub(crate) unrolling: KeyUnrolling,
    pub(crate) bootstrap_key: Vec<T>,
    pub(crate) key_switch_key: Option<Vec<T>>,
    pub(crate) circuit_key: Vec<T>,
    pub(crate) public_zeros: Vec<T>,
}

/// The transport form: bodies, and the seed of the masks.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedServerKey<T> {
    pub(crate) parameters: Parameters,
    pub(crate) generation: KeyGeneration,
    pub(crate) unrolling: KeyUnrolling,
    pub(crate) mask_seed: MaskSeed,
    /// `[GGSW][row][N]`.
    pub(crate) bootstrap_bodies: Vec<T>,
    /// `[i][t]`.
    pub(crate) key_switch_bodies: Option<Vec<T>>,
    /// `[row][N]`.
    pub(crate) circuit_bodies: Vec<T>,
    /// `[i in 0..k][N]`.
    pub(crate) zero_bodies: Vec<T>,
}

/// A server key over either torus, for files and bindings.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyServerKey {
    /// q = 2^32.
    Torus32(ServerKey<u32>),
    /// q = 2^64.
    Torus64(ServerKey<u64>),
}

/// A compressed server key over either torus, for files and bindings.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyCompressedServerKey {
    /// q = 2^32.
    Torus32(CompressedServerKey<u32>),
    /// q = 2^64.
    Torus64(CompressedServerKey<u64>),
}

/// q/β^(t+1), the weight of level `t` (0 the most significant). `gadget` keeps at most `T::BITS` bits.
pub fn gadget_weight<T: Torus>(gadget: Gadget, t: u32) -> T {
    T::from_u64(1 << (T::BITS - gadget.log2_base * (t + 1)))
}

impl<T: Torus> CompressedServerKey<T> {
    /// Makes the server's keys with fresh seeds from the operating system, on all cores.
    ///
    /// # Errors
    /// [`KeyError::Randomness`].
    pub fn generate(client: &ClientKey<T>, progress: OnProgress<'_>) -> Result<Self, KeyError> {
        Self::generate_unrolled(client, KeyUnrolling::of(client.parameters().secret()), progress)
    }

    /// [`Self::generate`] with `unrolling` secret bits per iteration.
    ///
    /// # Errors
    /// [`KeyError::Randomness`], [`KeyError::Unrolling`] if keys of the set are not made for it.
    pub fn generate_unrolled(
        client: &ClientKey<T>,
        unrolling: KeyUnrolling,
        progress: OnProgress<'_>,
    ) -> Result<Self, KeyError> {
        let set = client.parameters();
        let refused = |cause| KeyError::Unrolling { name: set.name().to_owned(), cause };
        let own = set.unrolling(Some(unrolling.bits())).map_err(refused)?;
        if own != unrolling {
            return Err(refused(UnrollingError::Bits(unrolling.bits())));
        }
        Ok(Self::from_seeds(client, unrolling, &Seeds::from_os()?, progress))
    }

    /// Reproducible keys for tests; never for secrets.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(client: &ClientKey<T>, seed: u64) -> Self {
        Self::for_tests_unrolled(client, KeyUnrolling::of(client.parameters().secret()), seed)
    }

    /// [`Self::for_tests`] with `unrolling` secret bits per iteration.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests_unrolled(client: &ClientKey<T>, unrolling: KeyUnrolling, seed: u64) -> Self {
        Self::from_seeds(client, unrolling, &Seeds::for_tests(seed), &no_progress)
    }

    fn from_seeds(client: &ClientKey<T>, unrolling: KeyUnrolling, seeds: &Seeds, progress: OnProgress<'_>) -> Self {
        let parameters = client.parameters().clone();
        let bootstrap = |attempt| bootstrap_bodies(client, unrolling, &seeds.mask, (&seeds.secret, attempt), progress);
        let key_switch =
            |gadget, attempt| key_switch_bodies(client, gadget, &seeds.mask, (&seeds.secret, attempt), progress);
        Self {
            bootstrap_bodies: first_accepted(bootstrap),
            key_switch_bodies: parameters
                .key_switch_gadget()
                .map(|gadget| first_accepted(|attempt| key_switch(gadget, attempt))),
            circuit_bodies: circuit_key::bodies(client, seeds, progress),
            zero_bodies: public_zeros::bodies(client, seeds),
            mask_seed: seeds.mask,
            generation: client.generation(),
            unrolling,
            parameters,
        }
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The generation of its client key.
    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    /// Secret bits per iteration of a blind rotation.
    pub fn unrolling(&self) -> KeyUnrolling {
        self.unrolling
    }

    /// Bytes of seed and bodies.
    pub fn bytes(&self) -> u64 {
        let switch = self.key_switch_bodies.as_ref().map_or(0, Vec::len);
        let bodies = self.bootstrap_bodies.len() + switch + self.circuit_bodies.len() + self.zero_bodies.len();
        (bodies * size_of::<T>() + size_of::<MaskSeed>()) as u64
    }

    /// Expands the masks to the keys that a server computes with.
    pub fn expand(&self, progress: OnProgress<'_>) -> ServerKey<T> {
        let parameters = &self.parameters;
        let degree = parameters.ring_degree().get();
        let masks = parameters.large_lwe_dimension().get();
        ServerKey {
            bootstrap_key: expand_rows(
                &self.bootstrap_bodies,
                degree,
                masks,
                &self.mask_seed,
                Purpose::BootstrapKey,
                &Counter::new(progress, "expanding the bootstrapping key", self.bootstrap_bodies.len() / degree),
            ),
            key_switch_key: self.key_switch_bodies.as_ref().map(|bodies| {
                expand_rows(
                    bodies,
                    1,
                    parameters.lwe_dimension().get(),
                    &self.mask_seed,
                    Purpose::KeySwitchKey,
                    &Counter::new(progress, "expanding the key-switching key", bodies.len()),
                )
            }),
            circuit_key: expand_rows(
                &self.circuit_bodies,
                degree,
                masks,
                &self.mask_seed,
                Purpose::CircuitKey,
                &Counter::new(progress, "expanding the circuit-bootstrapping key", parameters.circuit_key_rows()),
            ),
            public_zeros: public_zeros::expand(parameters, &self.mask_seed, &self.zero_bodies),
            generation: self.generation,
            unrolling: self.unrolling,
            parameters: parameters.clone(),
        }
    }
}

/// The rows of the first attempt whose shared mean is within its bound; see [`Keys`](super::noise::Keys).
fn first_accepted<T>(rows: impl Fn(u64) -> Option<Vec<T>>) -> Vec<T> {
    (0..).find_map(rows).expect("97.3 % of all rows are accepted")
}

/// The noise of row `index` in the given attempt. A row's number stays below 2^40.
pub(crate) fn row_noise((seed, attempt): (&SecretSeed, u64), purpose: Purpose, index: usize) -> Stream {
    seed.stream(purpose, attempt << 40 | index as u64)
}

/// Twice the bound of a shared mean, in units of a torus of `bits` bits.
fn twice_mean_bound(mean_bound: f64, bits: u32) -> f64 {
    2.0 * mean_bound * f64::from(bits).exp2()
}

/// Means of the product of digits (mean −1/2) and the noise of bootstrapping rows, at the places of extracted results: −1/2 times these
/// coefficients of Σ X^c · noise. For rows whose product no later iteration rotates.
#[derive(Clone, Copy, Default)]
struct SharedMeans {
    /// The noise of each of the first places.
    first: [i128; SHARED_TABLES],
    /// The sum of the noise of all places.
    sum: i128,
}

impl SharedMeans {
    fn add(&mut self, place: usize, noise: i64) {
        self.sum += i128::from(noise);
        if let Some(first) = self.first.get_mut(place) {
            *first += i128::from(noise);
        }
    }

    fn plus(self, other: Self) -> Self {
        let first = std::array::from_fn(|place| self.first[place] + other.first[place]);
        Self { first, sum: self.sum + other.sum }
    }

    /// The largest absolute coefficient. That of X^i is the sum up to place i minus the sum beyond.
    fn largest(&self, degree: usize) -> u128 {
        let mut coefficient = -self.sum;
        let coefficients = self.first.iter().take(degree).map(|noise| {
            coefficient += 2 * noise;
            coefficient.unsigned_abs()
        });
        coefficients.max().unwrap_or_default()
    }
}

/// Bodies of all GGSW rows, `[GGSW][row][N]`; `None` if their shared mean exceeds its bound.
fn bootstrap_bodies<T: Torus>(
    client: &ClientKey<T>,
    unrolling: KeyUnrolling,
    mask_seed: &MaskSeed,
    secret: (&SecretSeed, u64),
    progress: OnProgress<'_>,
) -> Option<Vec<T>> {
    let parameters = client.parameters();
    let (degree, gadget) = (parameters.ring_degree().get(), parameters.bootstrap_gadget());
    let (rows, levels) = (parameters.ggsw_rows(), gadget.levels as usize);
    let dimension = parameters.glwe_dimension().get();
    let gaussian = parameters.torus_noise(parameters.glwe_noise_std());
    let glwe = client.glwe();
    let product = MaskProduct::new(glwe);
    // As secret as the key's bits.
    let bits = Zeroizing::new(unrolling.selectors(client.lwe(LweKind::Small).bits()));
    let count = bits.len() * rows;
    let unturned = unrolling.first_unturned(&bits) * rows;
    let counter = Counter::new(progress, "generating the bootstrapping key", count);
    let mut bodies = vec![T::default(); count * degree];
    let rows_of = bodies.par_chunks_exact_mut(degree).enumerate().map_init(
        || (vec![T::default(); dimension * degree], product.scratch()),
        |(masks, scratch), (index, body)| {
            cancel::check();
            mask_seed.stream(Purpose::BootstrapKey, index as u64).fill_uniform(masks);
            product.add(masks, body, scratch);
            let mut stream = row_noise(secret, Purpose::BootstrapKey, index);
            let mut shared = SharedMeans::default();
            for (place, b) in body.iter_mut().enumerate() {
                let noise = gaussian.draw(&mut stream);
                if index >= unturned {
                    shared.add(place, noise);
                }
                *b = b.wrapping_add(T::from_u64(noise as u64));
            }

            let (bit, row) = (i64::from(bits[index / rows]), index % rows);
            let (j, t) = (row / levels, row % levels);
            let message = gadget_weight::<T>(gadget, t as u32).wrapping_mul_signed(bit);
            if j == dimension {
                body[0] = body[0].wrapping_add(message);
            } else {
                let secret = &glwe.bits()[j * degree..(j + 1) * degree];
                for (b, &s) in body.iter_mut().zip(secret) {
                    *b = b.wrapping_sub(message.wrapping_mul_signed(i64::from(s)));
                }
            }
            counter.row();
            shared
        },
    );
    let shared = rows_of.reduce(SharedMeans::default, SharedMeans::plus);
    let formulas = Formulas::of(parameters, Keys::Accepted);
    let bound = twice_mean_bound(formulas.blind_rotation_unrolled(unrolling, Transform::Exact).mean_bound, T::BITS);
    (shared.largest(degree) as f64 <= bound).then_some(bodies)
}

/// Bodies of all key-switching rows, `[i][t]`: LWE_n(s'_i · q/β_k^(t+1)); `None` if their shared mean exceeds its bound.
fn key_switch_bodies<T: Torus>(
    client: &ClientKey<T>,
    gadget: Gadget,
    mask_seed: &MaskSeed,
    secret: (&SecretSeed, u64),
    progress: OnProgress<'_>,
) -> Option<Vec<T>> {
    let gaussian = client.parameters().torus_noise(client.parameters().lwe_noise_std());
    let levels = gadget.levels as usize;
    let (small, large) = (client.lwe(LweKind::Small), client.lwe(LweKind::Large));
    let count = large.bits().len() * levels;
    let counter = Counter::new(progress, "generating the key-switching key", count);
    let mut bodies = vec![T::default(); count];
    let rows = bodies.par_iter_mut().enumerate().map_init(
        || vec![T::default(); small.bits().len()],
        |masks, (index, body)| {
            cancel::check();
            mask_seed.stream(Purpose::KeySwitchKey, index as u64).fill_uniform(masks);
            let bit = i64::from(large.bits()[index / levels]);
            let message = gadget_weight::<T>(gadget, (index % levels) as u32).wrapping_mul_signed(bit);
            let noise = gaussian.draw(&mut row_noise(secret, Purpose::KeySwitchKey, index));
            *body = small.dot(masks).wrapping_add(message).wrapping_add(T::from_u64(noise as u64));
            counter.row();
            i128::from(noise)
        },
    );
    let shared: i128 = rows.sum();
    // The mean of all errors: half of Σ noise, minus half a unit for every set bit whose mask element is rounded.
    let rounded = if gadget.kept_bits() < T::BITS { weight(large.bits()) as i128 } else { 0 };
    let formulas = Formulas::of(client.parameters(), Keys::Accepted);
    let bound = twice_mean_bound(formulas.key_switch(gadget).mean_bound, T::BITS);
    ((shared - rounded).unsigned_abs() as f64 <= bound).then_some(bodies)
}

/// Rows of `masks` uniform elements followed by `body_len` elements of `bodies`.
fn expand_rows<T: Torus>(
    bodies: &[T],
    body_len: usize,
    masks: usize,
    seed: &MaskSeed,
    purpose: Purpose,
    counter: &Counter<'_>,
) -> Vec<T> {
    let mut key = vec![T::default(); bodies.len() / body_len * (masks + body_len)];
    // A single key switch reads scattered rows; small pages would add address-translation misses.
    prefer_large_pages(&mut key);
    key.par_chunks_exact_mut(masks + body_len).zip(bodies.par_chunks_exact(body_len)).enumerate().for_each(
        |(index, (row, body))| {
            cancel::check();
            let (mask, rest) = row.split_at_mut(masks);
            seed.stream(purpose, index as u64).fill_uniform(mask);
            rest.copy_from_slice(body);
            counter.row();
        },
    );
    key
}

impl<T: Torus> ServerKey<T> {
    /// Generates the server's keys: [`CompressedServerKey::generate`], expanded.
    ///
    /// # Errors
    /// [`KeyError::Randomness`].
    pub fn generate(client: &ClientKey<T>, progress: OnProgress<'_>) -> Result<Self, KeyError> {
        Self::generate_unrolled(client, KeyUnrolling::of(client.parameters().secret()), progress)
    }

    /// [`Self::generate`] with `unrolling` secret bits per iteration.
    ///
    /// # Errors
    /// [`KeyError::Randomness`], [`KeyError::Unrolling`].
    pub fn generate_unrolled(
        client: &ClientKey<T>,
        unrolling: KeyUnrolling,
        progress: OnProgress<'_>,
    ) -> Result<Self, KeyError> {
        Ok(CompressedServerKey::generate_unrolled(client, unrolling, progress)?.expand(progress))
    }

    /// Reproducible keys for tests; never for secrets.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(client: &ClientKey<T>, seed: u64) -> Self {
        Self::for_tests_unrolled(client, KeyUnrolling::of(client.parameters().secret()), seed)
    }

    /// [`Self::for_tests`] with `unrolling` secret bits per iteration.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests_unrolled(client: &ClientKey<T>, unrolling: KeyUnrolling, seed: u64) -> Self {
        CompressedServerKey::for_tests_unrolled(client, unrolling, seed).expand(&no_progress)
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The generation of its client key.
    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    /// Secret bits per iteration of a blind rotation.
    pub fn unrolling(&self) -> KeyUnrolling {
        self.unrolling
    }

    /// `[GGSW][row][column][coefficient]`, coefficient domain.
    pub fn bootstrap_key(&self) -> &[T] {
        &self.bootstrap_key
    }

    /// `[i][t][n + 1]`, if the set has a key switch.
    pub fn key_switch_key(&self) -> Option<&[T]> {
        self.key_switch_key.as_deref()
    }

    /// `[row][column][coefficient]`, coefficient domain; empty for a set without circuit bootstrapping.
    pub fn circuit_key(&self) -> &[T] {
        &self.circuit_key
    }

    /// Bytes of all keys, and of the public encryptions of zero.
    pub fn bytes(&self) -> u64 {
        let switch = self.key_switch_key.as_ref().map_or(0, Vec::len);
        let elements = self.bootstrap_key.len() + switch + self.circuit_key.len() + self.public_zeros.len();
        (elements * size_of::<T>()) as u64
    }
}

impl AnyServerKey {
    /// Makes the server's keys for `client`.
    ///
    /// # Errors
    /// [`KeyError::Randomness`].
    pub fn generate(client: &AnyClientKey, progress: OnProgress<'_>) -> Result<Self, KeyError> {
        match client {
            AnyClientKey::Torus32(client) => ServerKey::generate(client, progress).map(Self::Torus32),
            AnyClientKey::Torus64(client) => ServerKey::generate(client, progress).map(Self::Torus64),
        }
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        match self {
            Self::Torus32(key) => key.parameters(),
            Self::Torus64(key) => key.parameters(),
        }
    }

    pub fn generation(&self) -> KeyGeneration {
        match self {
            Self::Torus32(key) => key.generation(),
            Self::Torus64(key) => key.generation(),
        }
    }
}

impl AnyCompressedServerKey {
    /// Makes the transport form of the server's keys for `client`.
    ///
    /// # Errors
    /// [`KeyError::Randomness`].
    pub fn generate(client: &AnyClientKey, progress: OnProgress<'_>) -> Result<Self, KeyError> {
        match client {
            AnyClientKey::Torus32(client) => CompressedServerKey::generate(client, progress).map(Self::Torus32),
            AnyClientKey::Torus64(client) => CompressedServerKey::generate(client, progress).map(Self::Torus64),
        }
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        match self {
            Self::Torus32(key) => key.parameters(),
            Self::Torus64(key) => key.parameters(),
        }
    }

    /// Bytes of the expanded keys.
    pub fn expanded_bytes(&self) -> u64 {
        let unrolling = match self {
            Self::Torus32(key) => key.unrolling(),
            Self::Torus64(key) => key.unrolling(),
        };
        self.parameters().server_key_bytes(unrolling)
    }

    /// Expands the masks to the keys that a server computes with.
    pub fn expand(&self, progress: OnProgress<'_>) -> AnyServerKey {
        match self {
            Self::Torus32(key) => AnyServerKey::Torus32(key.expand(progress)),
            Self::Torus64(key) => AnyServerKey::Torus64(key.expand(progress)),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Do the keys encrypt the documented values with the parameters' noise, and does the transport form give the same key?
    use super::*;
    use crate::tfhe::{LweSecretKey, Parameters, sets};

    fn set(name: &str) -> Parameters {
        sets::parameters(name).expect("a known set")
    }

    /// Largest distance of a phase from 0, in standard deviations.
    fn deviations<T: Torus>(errors: impl Iterator<Item = T>, std: f64) -> f64 {
        errors.map(|error| error.to_fraction().abs() / std).fold(0.0, f64::max)
    }

    fn check_layout<T: Torus>(name: &str) {
        let parameters = set(name);
        let client = ClientKey::<T>::for_tests(&parameters, 5).expect("the right torus");
        let server = ServerKey::for_tests(&client, 6);
        let (degree, k) = (parameters.ring_degree().get(), parameters.glwe_dimension().get());
        let gadget = parameters.bootstrap_gadget();
        let levels = gadget.levels as usize;
        assert_eq!(server.bootstrap_key().len(), parameters.bootstrap_key_len());
        for (index, row) in server.bootstrap_key().chunks_exact((k + 1) * degree).enumerate() {
            let (i, j, t) = (index / ((k + 1) * levels), index / levels % (k + 1), index % levels);
            let bit = i64::from(client.lwe(LweKind::Small).bits()[i]);
            let weight = gadget_weight::<T>(gadget, t as u32).wrapping_mul_signed(bit);
            // GLWE(0) + s_i · g on the constant coefficient of polynomial j.
            let mut row = row.to_vec();
            row[j * degree] = row[j * degree].wrapping_sub(weight);
            let worst = deviations(client.glwe().phase(&row).into_iter(), parameters.glwe_noise_std());
            assert!(worst < 7.0, "{name} row {index}: {worst} standard deviations");
        }
        assert_eq!(server.public_zeros.len(), parameters.public_zeros_len());
        for at in 0..k {
            let columns = server.public_zeros.chunks_exact(k * degree);
            let row: Vec<T> = columns.flat_map(|column| &column[at * degree..(at + 1) * degree]).copied().collect();
            let worst = deviations(client.glwe().phase(&row).into_iter(), parameters.glwe_noise_std());
            assert!((2.0..7.0).contains(&worst), "{name} zero {at}: {worst} standard deviations");
        }
        let gadget = parameters.key_switch_gadget().expect("the set has one");
        let levels = gadget.levels as usize;
        let key = server.key_switch_key().expect("the set has one");
        assert_eq!(Some(key.len()), parameters.key_switch_key_len());
        let small: &LweSecretKey = client.lwe(LweKind::Small);
        let errors = key.chunks_exact(parameters.lwe_dimension().ciphertext_len()).enumerate().map(|(index, row)| {
            let bit = i64::from(client.lwe(LweKind::Large).bits()[index / levels]);
            let weight = gadget_weight::<T>(gadget, (index % levels) as u32).wrapping_mul_signed(bit);
            small.phase(row).wrapping_sub(weight)
        });
        let worst = deviations(errors, parameters.lwe_noise_std());
        assert!(worst < 7.0, "{name} key switch: {worst} standard deviations");
    }

    /// The shared means of all key switches of a key, and of all results at each place, are within their bounds.
    #[test]
    fn shared_means_are_within_their_bounds() {
        let mut literal = sets::literal("strix-I").expect("a known set").clone();
        (literal.name, literal.lwe_dimension, literal.ring_degree) = ("small".to_owned(), 8, 16);
        let gadget = Gadget { log2_base: 1, levels: 16 };
        (literal.key_switch_gadget, literal.bootstrap_gadget) = (Some(gadget), gadget);
        let parameters = Parameters::check(&literal).expect("usable");
        let formulas = Formulas::of(&parameters, Keys::Accepted);
        let bounds =
            [formulas.blind_rotation(Transform::Exact), formulas.key_switch(gadget)].map(|noise| noise.mean_bound);
        let mut largest = [0f64; 2];
        // One key in 22 has a mean beyond four fifths of the bound of 2.5 deviations: of 500 keys none has with probability e^-23.
        for seed in 0..500 {
            let client = ClientKey::<u32>::for_tests(&parameters, seed).expect("the right torus");
            let server = ServerKey::for_tests(&client, seed);
            let noise_of = |error: u32| error.to_fraction();
            // Half of the sum of all rows' noise, minus half a unit for every set bit.
            let (small, large) = (client.lwe(LweKind::Small), client.lwe(LweKind::Large));
            let rows = server.key_switch_key().expect("the set has one").chunks_exact(9).enumerate();
            let sum: f64 = rows
                .map(|(row, key)| {
                    let message = gadget_weight::<u32>(gadget, row as u32 % 16)
                        .wrapping_mul_signed(i64::from(large.bits()[row / 16]));
                    noise_of(small.phase(key).wrapping_sub(message))
                })
                .sum();
            let rounded = weight(large.bits()) as f64 * 2f64.powi(-32);
            let switch = (sum - rounded).abs() / 2.0;
            // The iterations that no later one rotates.
            let last = small.bits().iter().rposition(|&bit| bit == 1).expect("a set bit");
            let rows = server.bootstrap_key().chunks_exact(2 * 16).enumerate().skip(32 * last);
            let rotation: f64 = rows
                .map(|(row, key)| {
                    let (bit, j) = (i64::from(small.bits()[row / 32]), row % 32 / 16);
                    let message = gadget_weight::<u32>(gadget, row as u32 % 16).wrapping_mul_signed(bit);
                    let phase = client.glwe().phase(key);
                    let errors = phase.iter().enumerate().map(|(place, &phase)| {
                        let secret =
                            if j == 0 { -i64::from(client.glwe().bits()[place]) } else { i64::from(place == 0) };
                        noise_of(phase.wrapping_sub(message.wrapping_mul_signed(secret)))
                    });
                    errors.enumerate().map(|(place, error)| if place == 0 { error } else { -error }).sum::<f64>()
                })
                .sum();
            for (largest, mean) in largest.iter_mut().zip([rotation.abs() / 2.0, switch]) {
                *largest = largest.max(mean);
            }
        }
        // Within the bounds but near them, so the test measures the bounded quantity.
        for (largest, bound) in largest.into_iter().zip(bounds) {
            assert!((0.8..=1.0).contains(&(largest / bound)), "{largest:e} of {bound:e}");
        }
    }

    #[test]
    fn rows_match_the_documented_layout() {
        check_layout::<u32>("toy-256");
        check_layout::<u32>("toy-512-k2");
        check_layout::<u64>("toy-256-t64");
    }

    #[test]
    fn the_transport_form_is_half_the_size_and_expands_to_the_same_key_on_any_number_of_threads() {
        let client = ClientKey::<u32>::for_tests(&set("toy-256"), 5).expect("32 bits");
        let compressed = CompressedServerKey::for_tests(&client, 6);
        let server = compressed.expand(&no_progress);
        let bootstrap = (compressed.bootstrap_bodies.len() * 4) as u64;
        assert_eq!(2 * bootstrap, (server.bootstrap_key().len() * 4) as u64);
        assert!(compressed.bytes() < server.bytes() / 2);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let alone = pool.install(|| CompressedServerKey::for_tests(&client, 6).expand(&no_progress));
        assert!(alone == server);
    }

    #[test]
    fn fresh_keys_differ_and_the_mask_seed_is_not_the_secret_one() {
        let parameters = set("toy-256");
        let client = ClientKey::<u32>::generate(&parameters).expect("randomness");
        let other = ClientKey::<u32>::generate(&parameters).expect("randomness");
        assert!(client.lwe(LweKind::Large) != other.lwe(LweKind::Large));
        let (a, b) = (
            CompressedServerKey::generate(&client, &no_progress).expect("randomness"),
            CompressedServerKey::generate(&client, &no_progress).expect("randomness"),
        );
        assert!(a.mask_seed != b.mask_seed && a.bootstrap_bodies != b.bootstrap_bodies);
        // Streams of one row under the two seeds are unrelated: no mask element equals a noise sample, as equal streams would give.
        let seeds = Seeds::from_os().expect("randomness");
        let mut masks = [0u64; 64];
        let mut noise = [0u64; 64];
        seeds.mask.stream(Purpose::BootstrapKey, 3).fill_uniform(&mut masks);
        seeds.secret.stream(Purpose::BootstrapKey, 3).fill_uniform(&mut noise);
        assert!(masks.iter().zip(&noise).all(|(mask, noise)| mask != noise));
    }

    #[test]
    fn progress_reaches_the_end_of_every_stage() {
        use std::collections::BTreeMap;
        use std::sync::Mutex;
        let seen = Mutex::new(BTreeMap::new());
        let client = ClientKey::<u32>::for_tests(&set("toy-256"), 5).expect("32 bits");
        ServerKey::generate(&client, &|progress: KeyProgress| {
            let mut seen = seen.lock().expect("no panic while held");
            let entry = seen.entry(progress.stage).or_insert((0, progress.total));
            entry.0 = entry.0.max(progress.done);
        })
        .expect("randomness");
        let seen = seen.into_inner().expect("no panic while held");
        assert_eq!(seen.len(), 4);
        assert!(seen.values().all(|(done, total)| done == total), "{seen:?}");
    }
}
