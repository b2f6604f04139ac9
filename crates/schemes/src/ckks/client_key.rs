//! The client's secret keys, which encrypt and decrypt and never leave the client.

use std::sync::Arc;

use thiserror::Error;

use super::ciphertext::{CiphertextError, CkksCiphertext};
use super::encoding::{Complex, Encoder, EncodingError};
use super::expected::{Expected, Implausible};
use super::parameters::Parameters;
use super::precision::Precision;
use crate::generation::KeyGeneration;
use crate::gsw::{self, GswCiphertext, GswError};
use crate::progress::OnProgress;
use crate::random::{Purpose, RandomnessError, Seeds};
use crate::rns::encryption::{encrypt_zero, phase};
use crate::rns::{
    Ciphertext, Domain, KeyId, KeyMaker, KeyMakerError, KeyRequest, KeySet, KeyStorage, LimbId, NoiseDistribution,
    PublicKey, Ring, RingError, RnsPolynomial, RoundedGaussian, SecretKey,
};

/// Why encryption, decryption or key generation failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ClientError {
    #[error("parameter set {name} is for {parties} parties, none of whom has the secret; make one part of it a party")]
    Joint { name: String, parties: usize },
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(transparent)]
    Ring(#[from] RingError),
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    #[error(transparent)]
    Ciphertext(#[from] CiphertextError),
    #[error(transparent)]
    Implausible(#[from] Implausible),
    #[error(transparent)]
    Keys(#[from] KeyMakerError),
    #[error(transparent)]
    Gsw(#[from] GswError),
    #[error("level {given}, but parameter set {name} has levels 0 to {max}; encrypt at one of them")]
    Level { name: String, given: usize, max: usize },
    #[error("{count} switching keys of parameter set {name} take {bytes} bytes ({:.1} GiB) in the requested storage, but only {limit} are allowed; pack them, keep their masks as seeds ({smallest} bytes), or ask for fewer", *.bytes as f64 / GIB)]
    Memory { name: String, count: usize, bytes: usize, limit: usize, smallest: usize },
    #[error(
        "flooding noise of deviation 2^{given:.1}; it must be from 1 to 2^{max:.0} in units of the decrypted polynomial"
    )]
    Flooding { given: f64, max: f64 },
}

const GIB: f64 = (1u64 << 30) as f64;

/// A decryption for others to see.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedDecryption {
    /// The slots.
    pub values: Vec<Complex>,
    /// A warning for the person who shares the values.
    pub warning: String,
}

/// The secret keys of one parameter set. Wiped from memory when dropped; never printed.
///
/// ```
/// use polyfabric_schemes::ckks::{ClientKey, Complex, sets};
///
/// let parameters = sets::parameters("toy-10")?;
/// let client = ClientKey::generate(&parameters)?;
/// let values = [0.5, -0.25, 3.0, 0.0].map(Complex::from);
/// let ciphertext = client.encrypt(&values)?;
/// let decrypted = client.decrypt(&ciphertext)?;
/// assert!(decrypted.iter().zip(&values).all(|(found, value)| (*found - *value).abs() < 1e-7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientKey {
    parameters: Parameters,
    ring: Arc<Ring>,
    encoder: Arc<Encoder>,
    generation: KeyGeneration,
    secret: SecretKey,
    ephemeral: Option<SecretKey>,
    noise: NoiseDistribution,
}

impl PartialEq for ClientKey {
    fn eq(&self, other: &Self) -> bool {
        self.parameters == other.parameters
            && self.generation == other.generation
            && self.secret == other.secret
            && self.ephemeral == other.ephemeral
    }
}

impl ClientKey {
    /// Draws secrets from the operating system's randomness.
    ///
    /// # Errors
    /// [`ClientError::Randomness`].
    pub fn generate(parameters: &Parameters) -> Result<Self, ClientError> {
        Self::from_seeds(parameters, &Seeds::from_os()?)
    }

    /// Reproducible secrets for tests.
    ///
    /// # Errors
    /// None for checked parameters.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(parameters: &Parameters, seed: u64) -> Result<Self, ClientError> {
        Self::from_seeds(parameters, &Seeds::for_tests(seed))
    }

    fn from_seeds(parameters: &Parameters, seeds: &Seeds) -> Result<Self, ClientError> {
        if let parties @ 2.. = parameters.secret().parties() {
            return Err(ClientError::Joint { name: parameters.name().to_owned(), parties });
        }
        let secret = |row, distribution| {
            SecretKey::generate(
                parameters.ring_degree(),
                distribution,
                &mut seeds.secret.stream(Purpose::SecretKey, row),
            )
        };
        let ephemeral = parameters.ephemeral_secret().map(|distribution| secret(1, distribution));
        Self::from_secrets(parameters, KeyGeneration::draw(seeds), secret(0, parameters.secret()), ephemeral)
    }

    pub(super) fn from_secrets(
        parameters: &Parameters,
        generation: KeyGeneration,
        secret: SecretKey,
        ephemeral: Option<SecretKey>,
    ) -> Result<Self, ClientError> {
        Ok(Self {
            ring: parameters.ring()?,
            encoder: Arc::new(Encoder::new(parameters.ring_degree())),
            noise: parameters.noise(),
            parameters: parameters.clone(),
            generation,
            secret,
            ephemeral,
        })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Identifies this key generation in every key and ciphertext made from it.
    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// The encoder, which is public.
    pub fn encoder(&self) -> &Arc<Encoder> {
        &self.encoder
    }

    /// s.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    /// The sparse ephemeral secret of bootstrapping.
    pub fn ephemeral(&self) -> Option<&SecretKey> {
        self.ephemeral.as_ref()
    }

    /// Encrypts `values`, one per slot, at the top level and the parameters' scale.
    ///
    /// # Errors
    /// [`ClientError::Encoding`], [`ClientError::Randomness`].
    pub fn encrypt(&self, values: &[Complex]) -> Result<CkksCiphertext, ClientError> {
        self.encrypt_at(values, self.parameters.max_level(), self.parameters.scale())
    }

    /// Encrypts `values`, one per slot, at `level` and `scale`.
    ///
    /// # Errors
    /// [`ClientError::Level`], [`ClientError::Encoding`], [`ClientError::Randomness`].
    pub fn encrypt_at(&self, values: &[Complex], level: usize, scale: f64) -> Result<CkksCiphertext, ClientError> {
        let limbs = limbs_at(&self.parameters, level)?;
        let message = self.encoder.encode(&self.ring, &limbs, Domain::Evaluation, values, scale)?;
        let zero = encrypt_zero(&self.ring, &limbs, &self.secret, &self.noise, &Seeds::from_os()?, Purpose::Encryption);
        with_message(&self.parameters, &self.ring, zero, &message, scale, values.len())
    }

    /// A public key from fresh seeds: it encrypts but cannot decrypt.
    ///
    /// # Errors
    /// [`ClientError::Randomness`].
    pub fn public_key(&self) -> Result<PublicEncryptionKey, ClientError> {
        let limbs = limbs_at(&self.parameters, self.parameters.max_level())?;
        let key = PublicKey::generate(&self.ring, &limbs, &self.secret, &self.noise, &Seeds::from_os()?);
        Ok(PublicEncryptionKey::new(&self.parameters, self.generation, key)?)
    }

    /// Makes the switching keys `ids` with the parameters' gadgets, from fresh seeds, in the given storage. Fails before making any key if
    /// they exceed `limit` bytes.
    ///
    /// # Errors
    /// [`ClientError::Memory`], [`ClientError::Keys`].
    pub fn evaluation_keys(
        &self,
        ids: &[KeyId],
        storage: KeyStorage,
        limit: Option<usize>,
        progress: OnProgress<'_>,
    ) -> Result<KeySet, ClientError> {
        let request = |&id| KeyRequest { id, gadget: Arc::clone(self.parameters.gadget_of(id)), storage };
        self.keys_of(&ids.iter().map(request).collect::<Vec<_>>(), limit, progress)
    }

    /// As [`Self::evaluation_keys`], with a storage for each key and only those limbs of Q that a program reads.
    pub fn evaluation_keys_over(
        &self,
        wanted: &[(KeyId, Vec<LimbId>, KeyStorage)],
        limit: Option<usize>,
        progress: OnProgress<'_>,
    ) -> Result<KeySet, ClientError> {
        let request = |(id, limbs, storage): &(KeyId, Vec<LimbId>, KeyStorage)| KeyRequest {
            id: *id,
            gadget: self.parameters.gadget_over(*id, limbs),
            storage: *storage,
        };
        self.keys_of(&wanted.iter().map(request).collect::<Vec<_>>(), limit, progress)
    }

    fn keys_of(
        &self,
        requests: &[KeyRequest],
        limit: Option<usize>,
        progress: OnProgress<'_>,
    ) -> Result<KeySet, ClientError> {
        let all = |storage: fn(&KeyRequest) -> KeyStorage| -> usize {
            requests.iter().map(|request| storage(request).key_bytes(&self.ring, &request.gadget)).sum()
        };
        let bytes = all(|request| request.storage);
        if let Some(limit) = limit.filter(|&limit| bytes > limit) {
            let (name, count) = (self.parameters.name().to_owned(), requests.len());
            let smallest = all(|_| KeyStorage::TRANSPORT);
            return Err(ClientError::Memory { name, count, bytes, limit, smallest });
        }
        Ok(self.key_maker().key_set(requests, progress)?)
    }

    /// Encrypts a bit that multiplies ciphertexts over the limbs of Q among `limbs`.
    ///
    /// # Errors
    /// [`ClientError::Gsw`] without randomness.
    pub fn encrypt_selector(&self, bit: bool, limbs: &[LimbId]) -> Result<GswCiphertext, ClientError> {
        let gadget = self.parameters.gadget_over(gsw::ID, limbs);
        Ok(GswCiphertext::encrypt_bit(&self.key_maker(), &gadget, bit)?)
    }

    /// Makes switching keys with any gadget.
    pub fn key_maker(&self) -> KeyMaker<'_> {
        KeyMaker { ring: &self.ring, secret: &self.secret, sparse: self.ephemeral.as_ref(), noise: &self.noise }
    }

    /// Σ parts\[i\]·s^i in coefficients: the encoded message plus its error.
    ///
    /// # Errors
    /// [`ClientError::Ciphertext`].
    pub fn phase(&self, ciphertext: &CkksCiphertext) -> Result<RnsPolynomial, ClientError> {
        ciphertext.check(&self.parameters)?;
        Ok(phase(&self.ring, ciphertext.ciphertext(), &self.secret))
    }

    /// Decrypts to slots, for the client only: use [`Self::decrypt_to_share`] for a result that others see.
    ///
    /// # Errors
    /// [`ClientError::Ciphertext`].
    pub fn decrypt(&self, ciphertext: &CkksCiphertext) -> Result<Vec<Complex>, ClientError> {
        let phase = self.phase(ciphertext)?;
        Ok(self.encoder.decode(&self.ring, &phase, ciphertext.scale(), ciphertext.slots())?)
    }

    /// [`Self::decrypt`], but an error if `expected` rules the phase out, as for a damaged or foreign ciphertext.
    ///
    /// # Errors
    /// [`ClientError::Implausible`], [`ClientError::Ciphertext`].
    pub fn decrypt_expected(
        &self,
        ciphertext: &CkksCiphertext,
        expected: &Expected,
    ) -> Result<Vec<Complex>, ClientError> {
        let phase = self.phase(ciphertext)?;
        self.expect(&phase, ciphertext, expected)
    }

    /// Decodes `phase` if `expected` allows it.
    fn expect(
        &self,
        phase: &RnsPolynomial,
        ciphertext: &CkksCiphertext,
        expected: &Expected,
    ) -> Result<Vec<Complex>, ClientError> {
        Ok(expected.decode(&self.encoder, &self.ring, phase, (ciphertext.scale(), ciphertext.slots()))?)
    }

    /// Decrypts for someone else: returns a warning and, if `flooding` is set, adds noise of deviation 2^`flooding` to every coefficient
    /// before decoding.
    ///
    /// A CKKS decryption is the message plus encryption noise. Anyone who knows the ciphertext and the exact message learns the noise, and
    /// from a few such samples the secret (B. Li, D. Micciancio, EUROCRYPT 2021). Much larger noise hides it. For κ bits of statistical
    /// security and k shared decryptions, the deviation must be about √(12k)·2^(κ/2) times a bound of the Euclidean norm of the whole error
    /// polynomial (B. Li, D. Micciancio, M. Schultz, J. Sorrell, CRYPTO 2022). The noise report's bound per slot is such a bound: the
    /// values of a polynomial at N roots have √N times the norm of its coefficients.
    ///
    /// Fails if `expected` rules the phase out, as [`Self::decrypt_expected`].
    ///
    /// # Errors
    /// [`ClientError::Flooding`], [`ClientError::Ciphertext`], [`ClientError::Randomness`], [`ClientError::Implausible`].
    pub fn decrypt_to_share(
        &self,
        ciphertext: &CkksCiphertext,
        flooding: Option<f64>,
        expected: Option<&Expected>,
    ) -> Result<SharedDecryption, ClientError> {
        let mut phase = self.phase(ciphertext)?;
        if let Some(expected) = expected {
            self.expect(&phase, ciphertext, expected)?;
        }
        let max = RoundedGaussian::MAX_SIGMA.log2();
        let warning = match flooding {
            Some(given) if !(0.0..=max).contains(&given) => return Err(ClientError::Flooding { given, max }),
            Some(log2) => {
                let gaussian = RoundedGaussian::new(log2.exp2());
                let mut stream = Seeds::from_os()?.secret.stream(Purpose::Flooding, 0);
                let noise = gaussian.polynomial(&mut stream, self.ring.degree().get());
                let limbs = phase.limbs().to_vec();
                let noise = crate::rns::sample::signed_polynomial(&self.ring, &limbs, Domain::Coefficient, &noise);
                phase.add_assign(&self.ring, &noise);
                format!(
                    "this decryption carries flooding noise of 2^{:.1} in every slot's coefficients: share no other decryption of the same ciphertext, and count how many are shared under one key",
                    log2 - ciphertext.scale().log2()
                )
            }
            None => "a CKKS decryption contains the encryption noise, from which others can learn the secret key; share it only with those who may know the key, or ask for flooding".to_owned(),
        };
        let values = self.encoder.decode(&self.ring, &phase, ciphertext.scale(), ciphertext.slots())?;
        Ok(SharedDecryption { values, warning })
    }

    /// Compares the decryption of `ciphertext` with `clear`; `None` if their lengths differ.
    ///
    /// # Errors
    /// [`ClientError::Ciphertext`].
    pub fn precision(&self, ciphertext: &CkksCiphertext, clear: &[Complex]) -> Result<Option<Precision>, ClientError> {
        Ok(Precision::of(&self.decrypt(ciphertext)?, clear))
    }

    /// Mean and variance of the phase's error against `clear` encoded at the same scale, over all coefficients. The noise formulas bound it.
    ///
    /// # Errors
    /// [`ClientError::Ciphertext`], [`ClientError::Encoding`].
    pub fn measure_noise(&self, ciphertext: &CkksCiphertext, clear: &[Complex]) -> Result<MeasuredNoise, ClientError> {
        let mut phase = self.phase(ciphertext)?;
        let limbs = phase.limbs().to_vec();
        let message = self.encoder.encode(&self.ring, &limbs, Domain::Coefficient, clear, ciphertext.scale())?;
        phase.sub_assign(&self.ring, &message);
        Ok(MeasuredNoise::of(&self.encoder.decode_coefficients(&self.ring, &phase, 1.0)))
    }
}

/// Mean, variance and largest magnitude of noise coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredNoise {
    pub mean: f64,
    /// The mean of their squares.
    pub variance: f64,
    /// The largest in absolute value.
    pub largest: f64,
}

impl MeasuredNoise {
    /// Of `coefficients`.
    pub fn of(coefficients: &[f64]) -> Self {
        let count = coefficients.len().max(1) as f64;
        Self {
            mean: coefficients.iter().sum::<f64>() / count,
            variance: coefficients.iter().map(|coefficient| coefficient * coefficient).sum::<f64>() / count,
            largest: coefficients.iter().map(|coefficient| coefficient.abs()).fold(0.0, f64::max),
        }
    }
}

/// A public key with its parameters: encrypts, cannot decrypt.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicEncryptionKey {
    parameters: Parameters,
    generation: KeyGeneration,
    encoder: EncoderOf,
    key: PublicKey,
}

/// Compares encoders by degree.
#[derive(Clone, Debug)]
struct EncoderOf(Arc<Encoder>);

impl PartialEq for EncoderOf {
    fn eq(&self, other: &Self) -> bool {
        self.0.degree() == other.0.degree()
    }
}

impl PublicEncryptionKey {
    pub(crate) fn new(parameters: &Parameters, generation: KeyGeneration, key: PublicKey) -> Result<Self, RingError> {
        parameters.ring()?;
        let encoder = EncoderOf(Arc::new(Encoder::new(parameters.ring_degree())));
        Ok(Self { parameters: parameters.clone(), generation, encoder, key })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Encrypts `values`, one per slot, at the top level and the parameters' scale.
    ///
    /// # Errors
    /// [`ClientError::Encoding`], [`ClientError::Randomness`].
    pub fn encrypt(&self, values: &[Complex]) -> Result<CkksCiphertext, ClientError> {
        self.encrypt_at(values, self.parameters.max_level(), self.parameters.scale())
    }

    /// Encrypts `values`, one per slot, at `level` and `scale`.
    ///
    /// # Errors
    /// [`ClientError::Level`], [`ClientError::Encoding`], [`ClientError::Randomness`].
    pub fn encrypt_at(&self, values: &[Complex], level: usize, scale: f64) -> Result<CkksCiphertext, ClientError> {
        let (ring, limbs) = (self.parameters.ring()?, limbs_at(&self.parameters, level)?);
        let message = self.encoder.0.encode(&ring, &limbs, Domain::Evaluation, values, scale)?;
        let max = self.parameters.max_level();
        let missing = || ClientError::Level { name: self.parameters.name().to_owned(), given: level, max };
        let zero = self.key.encrypt_zero(&limbs, &self.parameters.noise(), &Seeds::from_os()?).ok_or_else(missing)?;
        with_message(&self.parameters, &ring, zero, &message, scale, values.len())
    }
}

fn limbs_at(parameters: &Parameters, level: usize) -> Result<Vec<crate::rns::LimbId>, ClientError> {
    let max = parameters.max_level();
    parameters.limbs_at(level).ok_or_else(|| ClientError::Level {
        name: parameters.name().to_owned(),
        given: level,
        max,
    })
}

fn with_message(
    parameters: &Parameters,
    ring: &Ring,
    mut zero: Ciphertext,
    message: &RnsPolynomial,
    scale: f64,
    slots: usize,
) -> Result<CkksCiphertext, ClientError> {
    zero.parts[0].add_assign(ring, message);
    Ok(CkksCiphertext::new(parameters, zero, scale, slots)?)
}
