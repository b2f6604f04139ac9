//! BGV keys, encryption and decryption, and measurement of noise.

use std::sync::Arc;

use polyfabric_kernels::RingDegree;
use thiserror::Error;

use super::encoding::{Encoder, EncodingError};
use super::parameters::Parameters;
use super::phase::{Phase, PhaseReader};
use crate::generation::KeyGeneration;
use crate::gsw::{GswCiphertext, GswError};
use crate::progress::OnProgress;
use crate::random::{Purpose, RandomnessError, Seeds};
use crate::rns::encryption::{encrypt_zero, phase};
use crate::rns::sample::signed_polynomial;
use crate::rns::{
    Ciphertext, Domain, KeyId, KeyMaker, KeyMakerError, KeyRequest, KeySet, KeyStorage, LimbId, NoiseDistribution,
    PublicKey, RnsPolynomial, SecretKey,
};

/// The key that encrypts the secret for bootstrapping, as [`KeyId::Other`].
pub const BOOTSTRAP_SECRET: u32 = 0;

/// Why encryption, decryption or key generation failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ClientError {
    #[error("parameter set {name} is for {parties} parties, none of whom has the secret; make one part of it a party")]
    Joint { name: String, parties: usize },
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(transparent)]
    Key(#[from] KeyMakerError),
    #[error(transparent)]
    Gsw(#[from] GswError),
    #[error("{limbs} limbs, but parameter set {name} has {count} limbs of Q; take 1 to {count}")]
    Limbs { name: String, limbs: usize, count: usize },
    #[error(
        "the ciphertext has degree {found} and {limbs} limbs, but the parameters have degree {degree} and {count} limbs of Q; use the parameters it was made with"
    )]
    Ciphertext { found: RingDegreeOf, limbs: usize, degree: RingDegreeOf, count: usize },
    #[error(
        "the phase has coefficients up to 2^{found:.1}, but the plan allows at most 2^{bound:.1} (half of the modulus is 2^{half:.1}): the ciphertext was damaged or altered, or comes from another computation or other keys, so nothing of it is shown; bring the outputs of one execution of this program"
    )]
    Implausible { found: f64, bound: f64, half: f64 },
    #[error(
        "correction factor {factor} has no inverse modulo {t}; use the factor that the program states for this output"
    )]
    Factor { factor: u64, t: u64 },
}

/// N, with a `Display` implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingDegreeOf(pub RingDegree);

impl std::fmt::Display for RingDegreeOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.get().fmt(f)
    }
}

/// The secret key, with its parameters and encoder.
#[derive(Clone, Debug)]
pub struct ClientKey {
    parameters: Parameters,
    encoder: Arc<Encoder>,
    generation: KeyGeneration,
    secret: SecretKey,
}

/// A decrypted polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Decrypted {
    /// Its coefficients in [0, t).
    pub coefficients: Vec<u64>,
    /// log2 of the largest coefficient of the phase.
    pub log2_noise: f64,
    /// log2 of the root of the phase's mean square.
    pub log2_deviation: f64,
    /// Bits between the phase and Q/2.
    pub budget: f64,
}

impl ClientKey {
    /// Draws a key from the operating system's randomness.
    ///
    /// # Errors
    /// [`ClientError::Randomness`], [`ClientError::Encoding`].
    pub fn generate(parameters: &Parameters) -> Result<Self, ClientError> {
        Self::from_seeds(parameters, &Seeds::from_os()?)
    }

    /// A reproducible key for tests.
    ///
    /// # Errors
    /// [`ClientError::Encoding`].
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(parameters: &Parameters, seed: u64) -> Result<Self, ClientError> {
        Self::from_seeds(parameters, &Seeds::for_tests(seed))
    }

    fn from_seeds(parameters: &Parameters, seeds: &Seeds) -> Result<Self, ClientError> {
        if let parties @ 2.. = parameters.literal().secret.parties() {
            return Err(ClientError::Joint { name: parameters.name().to_owned(), parties });
        }
        let degree = parameters.ring().degree();
        let mut stream = seeds.secret.stream(Purpose::SecretKey, 0);
        let secret = SecretKey::generate(degree, parameters.literal().secret, &mut stream);
        Self::from_secret(parameters, KeyGeneration::draw(seeds), secret)
    }

    /// Builds the key from an existing `secret` for these parameters.
    pub(super) fn from_secret(
        parameters: &Parameters,
        generation: KeyGeneration,
        secret: SecretKey,
    ) -> Result<Self, ClientError> {
        let encoder = Encoder::new(parameters.ring().degree(), parameters.literal().plaintext_modulus)?;
        Ok(Self { parameters: parameters.clone(), encoder: Arc::new(encoder), generation, secret })
    }

    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Identifies this key generation in every key and ciphertext made from it.
    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    pub fn encoder(&self) -> &Arc<Encoder> {
        &self.encoder
    }

    /// s.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    fn noise(&self, factor: u64) -> NoiseDistribution {
        NoiseDistribution::new(self.parameters.literal().noise_std, factor)
    }

    /// A public encryption key over all limbs of Q.
    ///
    /// # Errors
    /// [`ClientError::Randomness`].
    pub fn public_key(&self) -> Result<BgvPublicKey, ClientError> {
        let parameters = &self.parameters;
        let noise = self.noise(parameters.plaintext_modulus().value());
        let key =
            PublicKey::generate(parameters.ring(), parameters.gadget().q(), &self.secret, &noise, &Seeds::from_os()?);
        Ok(BgvPublicKey {
            parameters: parameters.clone(),
            encoder: Arc::clone(&self.encoder),
            generation: self.generation,
            key,
        })
    }

    /// Makes the switching keys `wanted` with the parameters' gadget. Their errors are multiples of [`Parameters::key_noise_factor`].
    ///
    /// # Errors
    /// [`ClientError::Randomness`], [`ClientError::Key`].
    pub fn switching_keys(
        &self,
        wanted: impl IntoIterator<Item = KeyId>,
        progress: OnProgress<'_>,
    ) -> Result<KeySet, ClientError> {
        let gadget = self.parameters.gadget();
        let (mut requests, mut bootstrap) = (Vec::new(), false);
        for id in wanted {
            match id {
                KeyId::Other(BOOTSTRAP_SECRET) => bootstrap = true,
                id => requests.push(KeyRequest { id, gadget: Arc::clone(gadget), storage: KeyStorage::BYTES }),
            }
        }
        let noise = self.noise(self.parameters.key_noise_factor());
        let ring = self.parameters.ring();
        let maker = KeyMaker { ring, secret: &self.secret, sparse: None, noise: &noise };
        let mut keys = maker.key_set(&requests, progress)?;
        if bootstrap {
            let whole = self.parameters.gadget_of(KeyId::Other(BOOTSTRAP_SECRET));
            let secret = self.secret.values(ring, whole.qp());
            keys.insert(maker.other(BOOTSTRAP_SECRET, whole, &secret)?.stored(KeyStorage::BYTES));
        }
        Ok(keys)
    }

    /// Encrypts a bit that multiplies ciphertexts over the limbs of Q among `limbs`.
    ///
    /// # Errors
    /// [`ClientError::Gsw`] without randomness.
    pub fn encrypt_selector(&self, bit: bool, limbs: &[LimbId]) -> Result<GswCiphertext, ClientError> {
        let (ring, noise) = (self.parameters.ring(), self.noise(self.parameters.key_noise_factor()));
        let maker = KeyMaker { ring, secret: &self.secret, sparse: None, noise: &noise };
        Ok(GswCiphertext::encrypt_bit(&maker, &self.parameters.gadget_over(limbs), bit)?)
    }

    fn limbs(&self, count: usize) -> Result<Vec<LimbId>, ClientError> {
        limbs(&self.parameters, count)
    }

    /// Encrypts a vector of slots over the first `limbs` limbs; the correction factor is 1.
    ///
    /// # Errors
    /// [`ClientError::Encoding`], [`ClientError::Limbs`], [`ClientError::Randomness`].
    pub fn encrypt(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, ClientError> {
        self.encrypt_polynomial(&self.encoder.encode(values)?, limbs)
    }

    /// Encrypts a polynomial of N coefficients modulo t, over the first `limbs` limbs.
    pub fn encrypt_coefficients(&self, coefficients: &[u64], limbs: usize) -> Result<Ciphertext, ClientError> {
        self.encrypt_polynomial(&self.encoder.encode_coefficients(coefficients)?, limbs)
    }

    fn encrypt_polynomial(&self, message: &[i64], limbs: usize) -> Result<Ciphertext, ClientError> {
        let (limbs, ring) = (self.limbs(limbs)?, self.parameters.ring());
        let noise = self.noise(self.parameters.plaintext_modulus().value());
        let seeds = Seeds::from_os()?;
        let mut ciphertext = encrypt_zero(ring, &limbs, &self.secret, &noise, &seeds, Purpose::Encryption);
        let message = signed_polynomial(ring, &limbs, Domain::Evaluation, message);
        ciphertext.parts[0].add_assign(ring, &message);
        Ok(ciphertext)
    }

    /// The phase modulo t, with its measured size.
    pub fn phase(&self, ciphertext: &Ciphertext) -> Result<Phase, ClientError> {
        let ring = self.parameters.ring();
        let foreign = ciphertext.parts[0].degree() != ring.degree()
            || !ciphertext.limbs().iter().all(|limb| self.parameters.gadget().q().contains(limb));
        if foreign {
            return Err(ClientError::Ciphertext {
                found: RingDegreeOf(ciphertext.parts[0].degree()),
                limbs: ciphertext.limbs().len(),
                degree: RingDegreeOf(ring.degree()),
                count: self.parameters.q_limbs(),
            });
        }
        Ok(read_phase(&self.parameters, &phase(ring, ciphertext, &self.secret)))
    }

    /// Decrypts a ciphertext with correction factor `factor` to a polynomial, and measures its noise.
    ///
    /// # Errors
    /// [`ClientError::Ciphertext`], [`ClientError::Factor`].
    pub fn decrypt_coefficients(&self, ciphertext: &Ciphertext, factor: u64) -> Result<Decrypted, ClientError> {
        decrypted(&self.parameters, &self.phase(ciphertext)?, ciphertext.limbs(), factor)
    }

    /// Decrypts the first `slots` slots of a ciphertext with correction factor `factor`.
    ///
    /// # Errors
    /// As [`Self::decrypt_coefficients`], and [`ClientError::Encoding`].
    pub fn decrypt(&self, ciphertext: &Ciphertext, factor: u64, slots: usize) -> Result<Vec<u64>, ClientError> {
        let decrypted = self.decrypt_coefficients(ciphertext, factor)?;
        Ok(self.encoder.decode(&decrypted.coefficients, slots)?)
    }

    /// [`Self::decrypt`], but an error if a coefficient of the phase exceeds 2^`log2_bound`, as in a damaged or foreign ciphertext.
    ///
    /// Changing any word of a ciphertext shifts every coefficient of the phase by a nearly uniform amount modulo Q. With b spare bits, a
    /// damaged ciphertext of N coefficients therefore passes with probability 2^-bN. Damage within the bound is undetectable.
    ///
    /// # Errors
    /// As [`Self::decrypt`], and [`ClientError::Implausible`].
    pub fn decrypt_within(
        &self,
        ciphertext: &Ciphertext,
        factor: u64,
        slots: usize,
        log2_bound: f64,
    ) -> Result<Vec<u64>, ClientError> {
        let decrypted = self.decrypt_coefficients(ciphertext, factor)?;
        within(&self.encoder, decrypted, slots, log2_bound)
    }
}

fn read_phase(parameters: &Parameters, phase: &RnsPolynomial) -> Phase {
    let moduli: Vec<_> = phase.limbs().iter().map(|&limb| parameters.ring().modulus(limb)).collect();
    let limbs: Vec<&[u64]> = phase.iter().map(|(_, words)| words).collect();
    PhaseReader::new(&moduli, parameters.plaintext_modulus().modulus()).read(&limbs)
}

fn decrypted(parameters: &Parameters, phase: &Phase, limbs: &[LimbId], factor: u64) -> Result<Decrypted, ClientError> {
    let t = parameters.plaintext_modulus().modulus();
    let inverse = t.inverse(factor).ok_or(ClientError::Factor { factor, t: t.value() })?;
    Ok(Decrypted {
        coefficients: phase.residues.iter().map(|&residue| t.multiply(residue, inverse)).collect(),
        log2_noise: phase.log2_largest,
        log2_deviation: phase.log2_deviation,
        budget: parameters.ring().log2_product(limbs) - 1.0 - phase.log2_largest,
    })
}

/// Decodes the first `slots` slots unless a coefficient of the phase exceeds 2^`log2_bound`.
fn within(encoder: &Encoder, decrypted: Decrypted, slots: usize, log2_bound: f64) -> Result<Vec<u64>, ClientError> {
    if decrypted.log2_noise > log2_bound + ROUNDING_BITS {
        let half = decrypted.budget + decrypted.log2_noise;
        return Err(ClientError::Implausible { found: decrypted.log2_noise, bound: log2_bound, half });
    }
    Ok(encoder.decode(&decrypted.coefficients, slots)?)
}

/// [`ClientKey::decrypt_within`] of a phase in coefficients, as several parties obtain it.
///
/// # Errors
/// As [`ClientKey::decrypt_within`].
pub fn decode_phase(
    parameters: &Parameters,
    phase: &RnsPolynomial,
    factor: u64,
    slots: usize,
    log2_bound: f64,
) -> Result<Vec<u64>, ClientError> {
    let encoder = Encoder::new(parameters.ring().degree(), parameters.literal().plaintext_modulus)?;
    within(&encoder, decrypted(parameters, &read_phase(parameters, phase), phase.limbs(), factor)?, slots, log2_bound)
}

/// Tolerance, in bits, for the rounding of the f64 logarithm.
const ROUNDING_BITS: f64 = 1e-6;

fn limbs(parameters: &Parameters, count: usize) -> Result<Vec<LimbId>, ClientError> {
    if !(1..=parameters.q_limbs()).contains(&count) {
        let (name, q) = (parameters.name().to_owned(), parameters.q_limbs());
        return Err(ClientError::Limbs { name, limbs: count, count: q });
    }
    Ok(parameters.limbs(count))
}

/// A public encryption key of BGV: encrypts, cannot decrypt.
#[derive(Clone, Debug)]
pub struct BgvPublicKey {
    parameters: Parameters,
    encoder: Arc<Encoder>,
    generation: KeyGeneration,
    key: PublicKey,
}

impl PartialEq for BgvPublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.parameters == other.parameters && self.generation == other.generation && self.key == other.key
    }
}

impl BgvPublicKey {
    /// `key` must be over all limbs of Q.
    pub(crate) fn new(parameters: &Parameters, generation: KeyGeneration, key: PublicKey) -> Result<Self, ClientError> {
        let encoder = Encoder::new(parameters.ring().degree(), parameters.literal().plaintext_modulus)?;
        Ok(Self { parameters: parameters.clone(), encoder: Arc::new(encoder), generation, key })
    }

    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub fn generation(&self) -> KeyGeneration {
        self.generation
    }

    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Encrypts a vector of slots over the first `limbs` limbs; the correction factor is 1.
    ///
    /// # Errors
    /// [`ClientError::Encoding`], [`ClientError::Limbs`], [`ClientError::Randomness`].
    pub fn encrypt(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, ClientError> {
        let message = self.encoder.encode(values)?;
        let (limbs, ring) = (self::limbs(&self.parameters, limbs)?, self.parameters.ring());
        let noise =
            NoiseDistribution::new(self.parameters.literal().noise_std, self.parameters.plaintext_modulus().value());
        let missing = || ClientError::Limbs {
            name: self.parameters.name().to_owned(),
            limbs: limbs.len(),
            count: self.key.limbs().len(),
        };
        let mut ciphertext = self.key.encrypt_zero(&limbs, &noise, &Seeds::from_os()?).ok_or_else(missing)?;
        let message: RnsPolynomial = signed_polynomial(ring, &limbs, Domain::Evaluation, &message);
        ciphertext.parts[0].add_assign(ring, &message);
        Ok(ciphertext)
    }
}

#[cfg(test)]
mod tests {
    //! Do messages decrypt, does fresh noise have the predicted size, and are key errors multiples of the key noise factor?

    use super::*;
    use crate::bgv::sets;
    use crate::rns::Part;

    fn values(t: u64, count: u64, seed: u64) -> Vec<u64> {
        (0..count)
            .map(|i| ((i * i).wrapping_mul(seed) ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % t)
            .map(|x| x % t)
            .collect()
    }

    /// Averages over 16 keys and tests to five deviations. A secret-key encryption has the variance of 1024 independent coefficients. A
    /// public-key encryption has two products of random polynomials, v·e + s·e'. Their square varies by twice its squared mean at each of
    /// 512 frequencies, and the weights of v and s add a fifth.
    #[test]
    fn messages_come_back_and_fresh_noise_is_as_predicted() {
        const KEYS: u64 = 16;
        for name in ["bgv-toy-1024", "bgv-toy-1024-t40"] {
            let parameters = sets::named(name).unwrap();
            let t = parameters.plaintext_modulus().value();
            let (model, log2_t) = (parameters.noise_model(), (t as f64).log2());
            let predicted = [model.fresh(log2_t), model.fresh_public(log2_t)];
            let mut ratios = [0.0; 2];
            for seed in 1..=KEYS {
                let key = ClientKey::for_tests(&parameters, seed).unwrap();
                let public = key.public_key().unwrap();
                let (message, limbs) = (values(t, 1024, seed), if seed % 2 == 0 { 6 } else { 2 });
                let given = [key.encrypt(&message, limbs).unwrap(), public.encrypt(&message, limbs).unwrap()];
                for ((ciphertext, noise), ratio) in given.into_iter().zip(predicted).zip(&mut ratios) {
                    assert_eq!(key.decrypt(&ciphertext, 1, 1024).unwrap(), message);
                    let decrypted = key.decrypt_coefficients(&ciphertext, 1).unwrap();
                    *ratio += (2.0 * (decrypted.log2_deviation - noise.deviation)).exp2() / KEYS as f64;
                    assert!(decrypted.log2_noise < noise.bound);
                    let half = parameters.ring().log2_product(&parameters.limbs(limbs)) - 1.0;
                    assert!((decrypted.budget + decrypted.log2_noise - half).abs() < 1e-6);
                }
            }
            let widths = [1.0, 2.5].map(|squares: f64| 5.0 * (squares / 512.0 / KEYS as f64).sqrt());
            println!("{name}: {ratios:.3?} within {widths:.3?}");
            assert!(
                ratios.iter().zip(widths).all(|(ratio, width)| (ratio - 1.0).abs() < width),
                "{name}: {ratios:?} within {widths:?} of 1"
            );
        }
    }

    #[test]
    fn coefficients_and_factors() {
        let parameters = sets::named("bgv-toy-1024").unwrap();
        let key = ClientKey::for_tests(&parameters, 2).unwrap();
        let t = parameters.plaintext_modulus().modulus();
        let message = values(t.value(), 1024, 9);
        let ciphertext = key.encrypt_coefficients(&message, 1).unwrap();
        assert_eq!(key.decrypt_coefficients(&ciphertext, 1).unwrap().coefficients, message);
        // A ciphertext of 5·m decrypted with factor 5 gives m.
        let times: Vec<u64> = message.iter().map(|&m| t.multiply(m, 5)).collect();
        let ciphertext = key.encrypt_coefficients(&times, 3).unwrap();
        assert_eq!(key.decrypt_coefficients(&ciphertext, 5).unwrap().coefficients, message);
        assert_eq!(key.decrypt(&ciphertext, 0, 1024), Err(ClientError::Factor { factor: 0, t: 65537 }));
        assert!(matches!(key.encrypt(&[0; 1024], 7), Err(ClientError::Limbs { limbs: 7, count: 6, .. })));
    }

    /// Flips bits of every part and limb: one limb and several, packed and coefficients, degree 1 and 2.
    #[test]
    fn damaged_ciphertexts_are_refused() {
        for name in ["bgv-toy-1024", "bgv-toy-1024-t40"] {
            let parameters = sets::named(name).unwrap();
            let key = ClientKey::for_tests(&parameters, 4).unwrap();
            let (ring, t) = (parameters.ring(), parameters.plaintext_modulus().value());
            let message = values(t, 1024, 5);
            for limbs in [2, 6] {
                let whole = key.encrypt(&message, limbs).unwrap();
                let bound = parameters.noise_model().fresh((t as f64).log2()).bound;
                let third = RnsPolynomial::zero(ring.degree(), whole.limbs(), whole.domain());
                let three = Ciphertext::new([whole.parts.clone(), vec![third]].concat());
                for whole in [whole, three] {
                    assert_eq!(key.decrypt_within(&whole, 1, 1024, bound).unwrap(), message);
                    for (part, limb) in (0..whole.parts.len()).flat_map(|part| (0..limbs).map(move |limb| (part, limb)))
                    {
                        for bit in [0, 9, 20] {
                            let mut damaged = whole.clone();
                            let word = &mut damaged.parts[part].limb_mut(limb)[31 * bit + 5];
                            *word = ring.modulus(whole.limbs()[limb]).reduce(*word ^ 1 << bit);
                            assert_ne!(key.decrypt(&damaged, 1, 1024).unwrap(), message);
                            let error = key.decrypt_within(&damaged, 1, 1024, bound).unwrap_err();
                            assert!(matches!(error, ClientError::Implausible { .. }), "{part}, {limb}, {bit}: {error}");
                        }
                    }
                }
            }
        }
        let error = ClientError::Implausible { found: 80.3, bound: 40.0, half: 87.0 };
        assert_eq!(
            error.to_string(),
            "the phase has coefficients up to 2^80.3, but the plan allows at most 2^40.0 (half of the modulus is 2^87.0): the ciphertext was damaged or altered, or comes from another computation or other keys, so nothing of it is shown; bring the outputs of one execution of this program"
        );
    }

    #[test]
    fn the_bootstrapping_key_encrypts_the_secret() {
        let parameters = sets::named("bgv-toy-256-bootstrap").unwrap();
        let key = ClientKey::for_tests(&parameters, 3).unwrap();
        let keys = key.switching_keys([KeyId::Other(BOOTSTRAP_SECRET)], &crate::progress::no_progress).unwrap();
        let key_of_secret = keys.get(KeyId::Other(BOOTSTRAP_SECRET)).unwrap();
        let (ring, limbs) = (parameters.ring(), parameters.gadget().q());
        let mut scratch = vec![0; ring.degree().get()];
        let part = |part: Part, scratch: &mut Vec<u64>| {
            let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, Domain::Evaluation);
            for position in 0..limbs.len() {
                polynomial.limb_mut(position).copy_from_slice(key_of_secret.limb(part, 0, position, scratch));
            }
            polynomial
        };
        let ciphertext = Ciphertext::new(vec![part(Part::Body, &mut scratch), part(Part::Mask, &mut scratch)]);
        let phase = phase(ring, &ciphertext, key.secret());
        let moduli: Vec<_> = limbs.iter().map(|&limb| ring.modulus(limb)).collect();
        // Modulo 2^7·256 the phase is the secret, because errors are multiples of that.
        let factor = polyfabric_kernels::modular::Modulus::new(parameters.key_noise_factor()).unwrap();
        assert_eq!(factor.value(), 1 << 15);
        let read = PhaseReader::new(&moduli, factor).read(&phase.iter().map(|(_, words)| words).collect::<Vec<_>>());
        for (residue, &coefficient) in read.residues.iter().zip(key.secret().coefficients()) {
            assert_eq!(*residue, factor.reduce_signed(i64::from(coefficient)));
        }
        assert!(read.log2_largest < 15.0 + 6.0);
    }
}
