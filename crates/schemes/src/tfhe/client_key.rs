//! The client's secret keys, which encrypt and decrypt and never leave the client.

use std::marker::PhantomData;

use polyfabric_kernels::Torus;
use polyfabric_kernels::cancel;
use thiserror::Error;

use super::dimension::LweDimension;
use super::glwe::GlweSecretKey;
use super::lwe::{BatchError, LweBatch, LweKind, LweSecretKey};
use super::parameters::Parameters;
use super::random::{Purpose, RandomnessError, Seeds};
use super::secret::Secret;
use super::unrolling::UnrollingError;
use crate::generation::KeyGeneration;

/// Why key generation failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KeyError {
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(
        "parameter set {name} is for a {parameters}-bit torus, but keys over a {key}-bit torus were asked for; use the {parameters}-bit key type"
    )]
    TorusWidth { name: String, parameters: u32, key: u32 },
    #[error("parameter set {name}: {cause}")]
    Unrolling { name: String, cause: UnrollingError },
}

/// The secret keys of one parameter set. Wiped from memory when dropped; never printed.
///
/// ```
/// use polyfabric_schemes::tfhe::{ClientKey, LweKind, sets};
///
/// let parameters = sets::parameters("toy-256")?;
/// let client = ClientKey::<u32>::generate(&parameters)?;
/// let ciphertexts = client.encrypt(LweKind::Small, &[1 << 29, 7 << 29])?;
/// let phases = client.decrypt_phase(LweKind::Small, &ciphertexts)?;
/// assert_eq!(phases.iter().map(|phase| phase.wrapping_add(1 << 28) >> 29).collect::<Vec<_>>(), [1, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct ClientKey<T> {
    parameters: Parameters,
    generation: KeyGeneration,
    small: LweSecretKey,
    glwe: GlweSecretKey,
    large: LweSecretKey,
    torus: PhantomData<T>,
}

/// A client key over either torus, for files and bindings.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyClientKey {
    /// q = 2^32.
    Torus32(ClientKey<u32>),
    /// q = 2^64.
    Torus64(ClientKey<u64>),
}

pub(crate) fn check_torus<T: Torus>(parameters: &Parameters) -> Result<(), KeyError> {
    if parameters.torus_bits() == T::BITS {
        return Ok(());
    }
    Err(KeyError::TorusWidth { name: parameters.name().to_owned(), parameters: parameters.torus_bits(), key: T::BITS })
}

impl<T: Torus> ClientKey<T> {
    /// Draws keys of the set's distribution from the operating system's generator: uniform among those with at most [`Secret::most_weight`] set
    /// bits; the small key also has a set bit among its last [`Secret::turning_bits`].
    ///
    /// # Errors
    /// [`KeyError::TorusWidth`] if `parameters` are for the other torus; [`KeyError::Randomness`].
    pub fn generate(parameters: &Parameters) -> Result<Self, KeyError> {
        check_torus::<T>(parameters)?;
        Self::from_seeds(parameters, &Seeds::from_os()?)
    }

    /// Reproducible keys for tests; never for secrets.
    ///
    /// # Errors
    /// [`KeyError::TorusWidth`].
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(parameters: &Parameters, seed: u64) -> Result<Self, KeyError> {
        Self::from_seeds(parameters, &Seeds::for_tests(seed))
    }

    fn from_seeds(parameters: &Parameters, seeds: &Seeds) -> Result<Self, KeyError> {
        check_torus::<T>(parameters)?;
        let mut stream = seeds.secret.stream(Purpose::SecretKey, 0);
        let secret = parameters.secret();
        // Rejects keys that are heavier than the noise formulas assume, or whose last bits are all 0; see `noise::Keys`.
        let small = (!parameters.has_one_lwe_key()).then(|| {
            loop {
                let key = LweSecretKey::generate(parameters.lwe_dimension(), secret, &mut stream);
                if secret.accepts(key.bits()) {
                    break key;
                }
            }
        });
        let glwe = loop {
            let key = GlweSecretKey::generate(parameters.glwe_dimension(), parameters.ring_degree(), &mut stream);
            let (light, turns) = (Secret::Binary.is_light(key.bits()), Secret::Binary.turns(key.bits()));
            if light && (turns || !parameters.has_one_lwe_key()) {
                break key;
            }
        };
        let small = small.unwrap_or_else(|| glwe.flatten());
        Ok(Self::from_secrets(parameters.clone(), KeyGeneration::draw(seeds), small, glwe))
    }

    /// The caller has checked torus and dimensions. For a set with one LWE key, `small` is derived from `glwe`.
    pub(crate) fn from_secrets(
        parameters: Parameters,
        generation: KeyGeneration,
        small: LweSecretKey,
        glwe: GlweSecretKey,
    ) -> Self {
        let large = glwe.flatten();
        let small = if parameters.has_one_lwe_key() { large.clone() } else { small };
        Self { parameters, generation, small, glwe, large, torus: PhantomData }
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Identifies this key generation in every file made from it.
    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    /// The GLWE key S.
    pub fn glwe(&self) -> &GlweSecretKey {
        &self.glwe
    }

    /// The small key s of dimension n, or the large key s' of dimension kN.
    pub fn lwe(&self, kind: LweKind) -> &LweSecretKey {
        match kind {
            LweKind::Small => &self.small,
            LweKind::Large => &self.large,
        }
    }

    /// n or kN.
    pub fn dimension(&self, kind: LweKind) -> LweDimension {
        match kind {
            LweKind::Small => self.parameters.lwe_dimension(),
            LweKind::Large => self.parameters.large_lwe_dimension(),
        }
    }

    /// Standard deviation of the noise of a fresh encryption: the LWE noise under the small key, the GLWE noise under the large.
    pub fn fresh_noise_std(&self, kind: LweKind) -> f64 {
        match kind {
            LweKind::Small => self.parameters.lwe_noise_std(),
            LweKind::Large => self.parameters.glwe_noise_std(),
        }
    }

    /// Encrypts encoded torus elements with fresh randomness.
    pub fn encrypt(&self, kind: LweKind, plaintexts: &[T]) -> Result<LweBatch<T>, RandomnessError> {
        Ok(self.encrypt_with(kind, plaintexts, &Seeds::from_os()?))
    }

    /// A reproducible [`Self::encrypt`] for tests; never for secrets: two calls with one seed leak the difference.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn encrypt_for_tests(&self, kind: LweKind, plaintexts: &[T], seed: u64) -> LweBatch<T> {
        self.encrypt_with(kind, plaintexts, &Seeds::for_tests(seed))
    }

    fn encrypt_with(&self, kind: LweKind, plaintexts: &[T], seeds: &Seeds) -> LweBatch<T> {
        let (key, gaussian) = (self.lwe(kind), self.parameters.torus_noise(self.fresh_noise_std(kind)));
        let mut mask = seeds.mask.stream(Purpose::Encryption, 0);
        let mut noise = seeds.secret.stream(Purpose::Encryption, 0);
        let mut batch = LweBatch::zeros(self.dimension(kind), plaintexts.len());
        for (ciphertext, &plaintext) in batch.iter_mut().zip(plaintexts) {
            cancel::check();
            key.encrypt_into(plaintext, &gaussian, &mut mask, &mut noise, ciphertext);
        }
        batch
    }

    /// Decrypts `batch` to phases (message plus noise), which must be decoded.
    ///
    /// # Errors
    /// [`BatchError::Dimension`] if the batch's dimension is not that of `kind`.
    pub fn decrypt_phase(&self, kind: LweKind, batch: &LweBatch<T>) -> Result<Vec<T>, BatchError> {
        if batch.dimension() != self.dimension(kind) {
            return Err(BatchError::Dimension { ciphertext: batch.dimension(), key: self.dimension(kind) });
        }
        let key = self.lwe(kind);
        Ok(batch.iter().map(|ciphertext| key.phase(ciphertext)).collect())
    }

    /// The key for ciphertexts of `dimension`; `None` if neither. If n = kN, the small one.
    pub fn kind_of(&self, dimension: LweDimension) -> Option<LweKind> {
        [LweKind::Small, LweKind::Large].into_iter().find(|&kind| self.dimension(kind) == dimension)
    }
}

impl<T> std::fmt::Debug for ClientKey<T> {
    /// Shows the parameter set, never the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientKey({}, secrets not shown)", self.parameters.name())
    }
}

impl AnyClientKey {
    /// Generates keys over the torus of `parameters`.
    ///
    /// # Errors
    /// [`KeyError::Randomness`].
    pub fn generate(parameters: &Parameters) -> Result<Self, KeyError> {
        if parameters.torus_bits() == 32 {
            ClientKey::generate(parameters).map(Self::Torus32)
        } else {
            ClientKey::generate(parameters).map(Self::Torus64)
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

#[cfg(test)]
mod tests {
    //! Do ciphertexts under either key decrypt, and are others rejected?
    use super::*;
    use crate::tfhe::encoding::TorusStep;
    use crate::tfhe::secret::weight;
    use crate::tfhe::sets;

    fn round_trip<T: Torus>(name: &str) {
        let parameters = sets::parameters(name).expect("a known set");
        let client = ClientKey::<T>::generate(&parameters).expect("randomness");
        let step = TorusStep { denominator: 16 };
        let messages: Vec<i64> = (0..8).collect();
        let plaintexts: Vec<T> = messages.iter().map(|&message| step.encode(message)).collect();
        let decoded = |phases: &[T]| phases.iter().map(|&phase| step.nearest(phase, 0, 7, 1)).collect::<Vec<_>>();
        for kind in [LweKind::Small, LweKind::Large] {
            let batch = client.encrypt(kind, &plaintexts).expect("randomness");
            assert_eq!(client.kind_of(batch.dimension()), Some(kind));
            let again = client.encrypt(kind, &plaintexts).expect("randomness");
            assert!(batch.iter().zip(again.iter()).all(|(a, b)| a != b), "encryption is randomised");
            let phases = client.decrypt_phase(kind, &batch).expect("its own key");
            assert_eq!(decoded(&phases), messages, "{name} {kind:?}");
            // Under another key of the same set the phases are noise: all eight are right with probability at most 2^-24.
            let stranger = ClientKey::<T>::generate(&parameters).expect("randomness");
            let phases = stranger.decrypt_phase(kind, &batch).expect("the same dimension");
            assert_ne!(decoded(&phases), messages);
        }
    }

    #[test]
    fn messages_come_back() {
        round_trip::<u32>("strix-I");
        round_trip::<u32>("polyfabric-direct-t32");
        round_trip::<u64>("morphling-IV");
        round_trip::<u64>("polyfabric-3-p128-t64");
    }

    #[test]
    fn one_key_is_both() {
        let parameters = sets::parameters("toy-256-one-key").expect("a known set");
        let client = ClientKey::<u32>::generate(&parameters).expect("randomness");
        assert!(client.lwe(LweKind::Small) == client.lwe(LweKind::Large));
        assert!(client.lwe(LweKind::Small) == &client.glwe().flatten());
        let two = ClientKey::<u32>::generate(&sets::parameters("toy-256").expect("a known set")).expect("randomness");
        assert!(!two.parameters().has_one_lwe_key() && two.parameters().extracted_key() == LweKind::Large);
    }

    /// No key is heavier than the noise formulas assume, and some reach the bound.
    #[test]
    fn heavy_keys_are_not_used() {
        let parameters = sets::parameters("toy-256").expect("a known set");
        let bits = [parameters.lwe_dimension().get(), parameters.large_lwe_dimension().get()];
        let weights = (0..2000).map(|seed| {
            let client = ClientKey::<u32>::for_tests(&parameters, seed).expect("the right torus");
            [LweKind::Small, LweKind::Large].map(|kind| weight(client.lwe(kind).bits()))
        });
        let most = weights.fold([0, 0], |most, weights| [most[0].max(weights[0]), most[1].max(weights[1])]);
        assert_eq!(most, bits.map(|bits| Secret::Binary.most_weight(bits)));
    }

    /// Every key has a set bit among its last iterations.
    #[test]
    fn keys_that_end_in_zeros_are_not_used() {
        let parameters = sets::parameters("toy-256").expect("a known set");
        let zeros = (0..2000).map(|seed| {
            let client = ClientKey::<u32>::for_tests(&parameters, seed).expect("the right torus");
            client.lwe(LweKind::Small).bits().iter().rev().take_while(|&&bit| bit == 0).count()
        });
        assert_eq!(zeros.max(), Some(Secret::Binary.turning_bits() - 1));
    }

    /// Blocks are uniform among their choices, up to five deviations, and the rejected keys end in zeros.
    #[test]
    fn block_binary_keys() {
        let parameters = sets::parameters("toy-256-block3").expect("a known set");
        let (mut counts, mut zeros) = ([0u32; 4], 0);
        for seed in 0..3000 {
            let client = ClientKey::<u32>::for_tests(&parameters, seed).expect("the right torus");
            let bits = client.lwe(LweKind::Small).bits();
            assert!(parameters.secret().has(bits) && parameters.secret().accepts(bits));
            zeros = zeros.max(bits.iter().rev().take_while(|&&bit| bit == 0).count());
            // The first block is independent of the rule for the last ones, and the weight's bound is out of reach.
            counts[bits[..3].iter().position(|&bit| bit == 1).unwrap_or(3)] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(750) < 120), "{counts:?}");
        assert_eq!(zeros, parameters.secret().turning_bits() - 1);
    }

    #[test]
    fn refusals() {
        let parameters = sets::parameters("toy-256").expect("a known set");
        assert_eq!(
            ClientKey::<u64>::generate(&parameters).expect_err("the other torus").to_string(),
            "parameter set toy-256 is for a 32-bit torus, but keys over a 64-bit torus were asked for; use the 32-bit key type"
        );
        let client = ClientKey::<u32>::generate(&parameters).expect("randomness");
        let batch = client.encrypt(LweKind::Small, &[0]).expect("randomness");
        assert_eq!(
            client.decrypt_phase(LweKind::Large, &batch).expect_err("the other key").to_string(),
            "ciphertexts of dimension 16 cannot be decrypted under a key of dimension 256; ask for the other key of the pair (small or large), or bring the key of the same parameter set"
        );
        assert_eq!(
            LweBatch::from_data(parameters.lwe_dimension(), vec![0u32; 20]).expect_err("not whole").to_string(),
            "20 torus elements are not a whole number of LWE ciphertexts of dimension 16 (17 elements each)"
        );
    }

    #[test]
    fn secrets_are_not_printed() {
        let parameters = sets::parameters("toy-256").expect("a known set");
        let client = ClientKey::<u32>::generate(&parameters).expect("randomness");
        assert_eq!(format!("{client:?}"), "ClientKey(toy-256, secrets not shown)");
        let small = format!("{:?}", client.lwe(LweKind::Small));
        assert_eq!(small, "LweSecretKey(dimension 16, bits not shown)");
        assert_eq!(format!("{:?}", client.glwe()), "GlweSecretKey(1 x 256 bits, not shown)");
    }
}
