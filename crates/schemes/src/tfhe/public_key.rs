//! Public-key encryption: anyone with the public key can encrypt for its client, but not decrypt.
//!
//! The key is k GLWE encryptions of zero. Up to N messages are encrypted by one fresh encryption of zero derived from them (`public_zeros`),
//! with the messages added to the body's coefficients. That is kN mask elements plus one element per message, instead of the n + 1 per
//! message of the client's own ciphertexts. The server extracts each coefficient as an LWE ciphertext under the large key, and
//! key-switches it if a program takes inputs under the small key.

use polyfabric_kernels::key_switch::KeySwitch;
use polyfabric_kernels::sample_extract::sample_extract;
use polyfabric_kernels::{Isa, Torus, cancel};
use rayon::prelude::*;

use super::circuit_privacy::RerandomiseError;
use super::client_key::{AnyClientKey, ClientKey};
use super::dimension::LweDimension;
use super::lwe::{LweBatch, LweKind};
use super::parameters::Parameters;
use super::public_zeros::{self, Zeros};
use super::random::{MaskSeed, Purpose, RandomnessError, Seeds};
use super::server_key::ServerKey;
use crate::generation::KeyGeneration;

/// A key that encrypts for a client.
///
/// ```
/// use polyfabric_schemes::tfhe::{ClientKey, LweKind, PublicKey, sets};
///
/// let client = ClientKey::<u32>::generate(&sets::parameters("toy-256")?)?;
/// let public = PublicKey::generate(&client)?;
/// let ciphertexts = public.encrypt(&[1 << 29, 7 << 29])?.extract();
/// let phases = client.decrypt_phase(LweKind::Large, &ciphertexts)?;
/// assert_eq!(phases.iter().map(|phase| phase.wrapping_add(1 << 28) >> 29).collect::<Vec<_>>(), [1, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PublicKey<T> {
    pub(crate) parameters: Parameters,
    pub(crate) generation: KeyGeneration,
    pub(crate) mask_seed: MaskSeed,
    /// `[i in 0..k][N]`.
    pub(crate) bodies: Vec<T>,
}

/// A public key over either torus, for files and bindings.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyPublicKey {
    /// q = 2^32.
    Torus32(PublicKey<u32>),
    /// q = 2^64.
    Torus64(PublicKey<u64>),
}

/// Messages in the coefficients of GLWE ciphertexts, N in each except the last: the masks, and one body coefficient per message.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactBatch<T> {
    degree: usize,
    masks: LweDimension,
    count: usize,
    data: Vec<T>,
}

impl<T: Torus> PublicKey<T> {
    /// Makes a public key for `client`, with fresh rows.
    pub fn generate(client: &ClientKey<T>) -> Result<Self, RandomnessError> {
        Ok(Self::from_seeds(client, &Seeds::from_os()?))
    }

    /// A reproducible key for tests; never for secrets.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(client: &ClientKey<T>, seed: u64) -> Self {
        Self::from_seeds(client, &Seeds::for_tests(seed))
    }

    fn from_seeds(client: &ClientKey<T>, seeds: &Seeds) -> Self {
        let (parameters, generation) = (client.parameters().clone(), client.generation());
        Self { parameters, generation, mask_seed: seeds.mask, bodies: public_zeros::bodies(client, seeds) }
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The generation of its client key.
    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    /// Encrypts encoded torus elements with fresh randomness.
    pub fn encrypt(&self, plaintexts: &[T]) -> Result<CompactBatch<T>, RandomnessError> {
        Ok(self.encrypt_with(plaintexts, &Seeds::from_os()?))
    }

    /// A reproducible [`Self::encrypt`] for tests; never for secrets.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn encrypt_for_tests(&self, plaintexts: &[T], seed: u64) -> CompactBatch<T> {
        self.encrypt_with(plaintexts, &Seeds::for_tests(seed))
    }

    fn encrypt_with(&self, plaintexts: &[T], seeds: &Seeds) -> CompactBatch<T> {
        let (masks, degree) = (self.parameters.large_lwe_dimension(), self.parameters.ring_degree().get());
        let columns = public_zeros::expand(&self.parameters, &self.mask_seed, &self.bodies);
        let zeros = Zeros::new(&self.parameters, &columns);
        let chunks = plaintexts.par_chunks(degree).enumerate().map(|(index, messages)| {
            cancel::check();
            let mut glwe = zeros.draw(&mut seeds.secret.stream(Purpose::PublicKey, index as u64));
            glwe.truncate(masks.get() + messages.len());
            for (body, &message) in glwe[masks.get()..].iter_mut().zip(messages) {
                *body = body.wrapping_add(message);
            }
            glwe
        });
        let data = chunks.collect::<Vec<_>>().concat();
        CompactBatch { degree, masks, count: plaintexts.len(), data }
    }
}

impl AnyPublicKey {
    /// Makes a public key for `client`, over its torus.
    pub fn generate(client: &AnyClientKey) -> Result<Self, RandomnessError> {
        Ok(match client {
            AnyClientKey::Torus32(client) => Self::Torus32(PublicKey::generate(client)?),
            AnyClientKey::Torus64(client) => Self::Torus64(PublicKey::generate(client)?),
        })
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

impl<T: Torus> CompactBatch<T> {
    /// Torus elements of `count` messages.
    pub(crate) fn elements(parameters: &Parameters, count: usize) -> usize {
        count.div_ceil(parameters.ring_degree().get()) * parameters.large_lwe_dimension().get() + count
    }

    /// A batch of `count` messages from `data`, in the layout of [`Self::data`]; `None` if the length does not match.
    pub(crate) fn from_data(parameters: &Parameters, count: usize, data: Vec<T>) -> Option<Self> {
        let (degree, masks) = (parameters.ring_degree().get(), parameters.large_lwe_dimension());
        (data.len() == Self::elements(parameters, count)).then_some(Self { degree, masks, count, data })
    }

    /// Messages.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All torus elements: for each ciphertext the kN of its mask, then those of its body.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Every message as an LWE ciphertext under the large key: kN + 1 elements each.
    pub fn extract(&self) -> LweBatch<T> {
        let masks = self.masks.get();
        let mut batch = LweBatch::zeros(self.masks, self.count);
        let mut glwe = vec![T::default(); masks + self.degree];
        let chunks = self.data.chunks(masks + self.degree);
        for (chunk, messages) in chunks.zip(batch.data_mut().chunks_mut(self.degree * (masks + 1))) {
            glwe[..chunk.len()].copy_from_slice(chunk);
            for (index, ciphertext) in messages.chunks_exact_mut(masks + 1).enumerate() {
                sample_extract(&glwe, self.degree, index, ciphertext);
            }
        }
        batch
    }
}

impl<T: Torus> ServerKey<T> {
    /// Converts public-key ciphertexts into ciphertexts under the key `kind`.
    ///
    /// # Errors
    /// [`RerandomiseError::Dimension`] for another parameter set, [`RerandomiseError::NoKeySwitch`].
    pub fn receive(&self, compact: &CompactBatch<T>, kind: LweKind) -> Result<LweBatch<T>, RerandomiseError> {
        let parameters = &self.parameters;
        let (small, large) = (parameters.lwe_dimension(), parameters.large_lwe_dimension());
        let name = || parameters.name().to_owned();
        if (compact.masks, compact.degree) != (large, parameters.ring_degree().get()) {
            let (given, small, large) = (compact.masks.get(), small.get(), large.get());
            return Err(RerandomiseError::Dimension { given, parameters: name(), small, large });
        }
        let batch = compact.extract();
        if kind == LweKind::Large || parameters.has_one_lwe_key() {
            return Ok(batch);
        }
        let gadget = parameters.key_switch_gadget().zip(self.key_switch_key());
        let (gadget, key) = gadget.ok_or_else(|| RerandomiseError::NoKeySwitch { parameters: name() })?;
        let switch = KeySwitch::new(key, gadget, large.get(), small.get(), Isa::best());
        let mut switched = LweBatch::zeros(small, batch.len());
        let (from, to) = (large.ciphertext_len(), small.ciphertext_len());
        let pairs = batch.data().par_chunks_exact(from).zip(switched.data_mut().par_chunks_exact_mut(to));
        pairs.for_each(|(input, output)| {
            cancel::check();
            switch.switch(input, output);
        });
        Ok(switched)
    }
}

#[cfg(test)]
mod tests {
    //! Do public-key encryptions decrypt under the client's key with the predicted noise, and is it tight?
    use super::*;
    use crate::tfhe::noise::{Formulas, Keys};
    use crate::tfhe::sets;

    fn round_trip<T: Torus>(name: &str) {
        let parameters = sets::parameters(name).expect("a known set");
        let client = ClientKey::<T>::generate(&parameters).expect("randomness");
        let public = PublicKey::generate(&client).expect("randomness");
        let server = ServerKey::for_tests(&client, 1);
        let degree = parameters.ring_degree().get();
        for count in [1, 3, degree, degree + 5] {
            let messages: Vec<u64> = (0..count as u64).map(|index| index % 8).collect();
            let plaintexts: Vec<T> = messages.iter().map(|&m| T::from_u64(m << (T::BITS - 3))).collect();
            let compact = public.encrypt(&plaintexts).expect("randomness");
            assert_eq!(compact.len(), count);
            assert_eq!(compact.data().len(), CompactBatch::<T>::elements(&parameters, count));
            assert_ne!(compact, public.encrypt(&plaintexts).expect("randomness"), "encryption is randomised");
            for kind in [LweKind::Large, LweKind::Small] {
                let batch = server.receive(&compact, kind).expect("a key switch");
                assert_eq!(batch.dimension(), client.dimension(kind));
                let phases = client.decrypt_phase(kind, &batch).expect("its own key");
                let half = T::from_u64(1 << (T::BITS - 4));
                let found = phases.iter().map(|phase| phase.wrapping_add(half).to_u64() >> (T::BITS - 3));
                assert_eq!(found.collect::<Vec<_>>(), messages, "{name}, {count} messages, {kind:?}");
            }
        }
    }

    #[test]
    fn messages_come_back() {
        round_trip::<u32>("toy-256");
        round_trip::<u32>("toy-512-k2");
        round_trip::<u64>("toy-256-t64");
    }

    /// Each key has its own public key. Measurements match the formula's average to five deviations and stay below its bound for every key. The
    /// errors of one polynomial are two products of polynomials; in the product with the secret, half the energy is in one complex number. The
    /// mean square of 64 of them varies by two fifths, as measured over keys.
    #[test]
    fn the_noise_is_as_predicted() {
        let keys = if std::env::var_os("POLYFABRIC_FULL").is_some() { 2000u32 } else { 100 };
        for (name, kind) in [("toy-256", LweKind::Large), ("toy-512-k2", LweKind::Large), ("toy-256", LweKind::Small)] {
            let parameters = sets::parameters(name).expect("a known set");
            let (mut sum, mut count) = (0.0, 0);
            for seed in 0..u64::from(keys) {
                let client = ClientKey::<u32>::for_tests(&parameters, seed).expect("32 bits");
                let public = PublicKey::for_tests(&client, seed + 1);
                let compact = public.encrypt_for_tests(&[0; 64], seed + 2);
                let batch = match kind {
                    LweKind::Large => compact.extract(),
                    LweKind::Small => {
                        ServerKey::for_tests(&client, seed + 3).receive(&compact, kind).expect("a key switch")
                    }
                };
                let phases = client.decrypt_phase(kind, &batch).expect("its own key");
                sum += phases.iter().map(|phase| phase.to_fraction().powi(2)).sum::<f64>();
                count += phases.len();
            }
            let measured = sum / count as f64;
            let [average, stated] = [Keys::Average, Keys::Accepted].map(|keys| {
                Formulas::of(&parameters, keys).public_zero(kind, &parameters).expect("a key switch").second_moment()
            });
            let ratio = measured / average;
            println!("{name}, {kind:?}: {ratio:.3} of the average, {:.3} of what is stated", measured / stated);
            assert!((ratio - 1.0).abs() < 5.0 * 0.45 / f64::from(keys).sqrt(), "{name}, {kind:?}: {ratio}");
            assert!(measured <= stated, "{name}, {kind:?}: {measured}");
        }
    }

    #[test]
    fn ciphertexts_of_another_set_are_rejected() {
        let client = |name| ClientKey::<u32>::for_tests(&sets::parameters(name).expect("a set"), 1).expect("32 bits");
        let server = ServerKey::for_tests(&client("toy-256"), 2);
        let foreign = PublicKey::for_tests(&client("toy-512-k2"), 3).encrypt_for_tests(&[0], 4);
        let error = server.receive(&foreign, LweKind::Small).expect_err("another set").to_string();
        assert!(error.contains("of no key of parameter set toy-256"), "{error}");
    }
}
