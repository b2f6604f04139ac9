//! Encryptions of zero, public keys and phases, shared by CKKS and BGV.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::ciphertext::Ciphertext;
use super::key_maker::NoiseDistribution;
use super::limb::{Domain, LimbId};
use super::polynomial::RnsPolynomial;
use super::ring::Ring;
use super::sample;
use super::secret::SecretKey;
use crate::random::{MaskSeed, Purpose, Seeds};

/// (b, a) with b = −a·s + e over `limbs`, in the evaluation domain; a is row 0 of the mask seed. Use seeds only once: a second use
/// repeats the noise.
pub fn encrypt_zero(
    ring: &Ring,
    limbs: &[LimbId],
    secret: &SecretKey,
    noise: &NoiseDistribution,
    seeds: &Seeds,
    purpose: Purpose,
) -> Ciphertext {
    let mask = sample::mask(ring, &seeds.mask, 0, limbs, Domain::Evaluation);
    let mut body = noise_polynomial(ring, limbs, noise, &mut seeds.secret.stream(purpose, 0));
    let values = secret.values(ring, limbs);
    let mut product = mask.clone();
    product.multiply_assign(ring, values.get());
    body.sub_assign(ring, &product);
    sample::wipe(&mut product);
    Ciphertext::new(vec![body, mask])
}

/// The noise e over `limbs`, in the evaluation domain.
pub(crate) fn noise_polynomial(
    ring: &Ring,
    limbs: &[LimbId],
    noise: &NoiseDistribution,
    stream: &mut crate::random::Stream,
) -> RnsPolynomial {
    let error = noise.gaussian.polynomial(stream, ring.degree().get());
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, Domain::Evaluation);
    polynomial.for_each_limb(|limb, _, words| {
        sample::write_signed(ring, limb, Domain::Evaluation, &error, noise.factor, words);
    });
    polynomial
}

/// A public encryption key: an encryption of zero over all limbs of ciphertexts.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicKey {
    ring: RingOf,
    zero: Ciphertext,
    seed: MaskSeed,
}

/// Compares rings by moduli and degree.
#[derive(Clone, Debug)]
struct RingOf(Arc<Ring>);

impl PartialEq for RingOf {
    fn eq(&self, other: &Self) -> bool {
        self.0.degree() == other.0.degree() && self.0.moduli() == other.0.moduli()
    }
}

impl PublicKey {
    /// Makes a public key for `secret` over `limbs`.
    pub fn generate(
        ring: &Arc<Ring>,
        limbs: &[LimbId],
        secret: &SecretKey,
        noise: &NoiseDistribution,
        seeds: &Seeds,
    ) -> Self {
        let zero = encrypt_zero(ring, limbs, secret, noise, seeds, Purpose::PublicKey);
        Self { ring: RingOf(Arc::clone(ring)), zero, seed: seeds.mask }
    }

    /// Makes a key from its body and its mask's seed. `None` unless the body is in the evaluation domain.
    pub fn from_seed(ring: &Arc<Ring>, body: RnsPolynomial, seed: MaskSeed) -> Option<Self> {
        if body.domain() != Domain::Evaluation {
            return None;
        }
        let mask = sample::mask(ring, &seed, 0, body.limbs(), Domain::Evaluation);
        Some(Self { ring: RingOf(Arc::clone(ring)), zero: Ciphertext::new(vec![body, mask]), seed })
    }

    /// The limbs that it encrypts over.
    pub fn limbs(&self) -> &[LimbId] {
        self.zero.limbs()
    }

    /// b.
    pub fn body(&self) -> &RnsPolynomial {
        &self.zero.parts[0]
    }

    pub fn seed(&self) -> MaskSeed {
        self.seed
    }

    /// (b·v + e_0, a·v + e_1) for a uniform ternary v over `limbs`, in the evaluation domain. `None` if the key lacks a limb.
    pub fn encrypt_zero(&self, limbs: &[LimbId], noise: &NoiseDistribution, seeds: &Seeds) -> Option<Ciphertext> {
        let ring = &self.ring.0;
        let mut stream = seeds.secret.stream(Purpose::Encryption, 0);
        let ternary = sample::uniform_ternary(&mut stream, ring.degree().get());
        let wide: Zeroizing<Vec<i64>> =
            Zeroizing::new(ternary.iter().map(|&coefficient| i64::from(coefficient)).collect());
        let mut factor = sample::signed_polynomial(ring, limbs, Domain::Evaluation, &wide);
        let mut zero = self.zero.select(limbs)?;
        for (row, part) in zero.parts.iter_mut().enumerate() {
            part.multiply_assign(ring, &factor);
            let mut stream = seeds.secret.stream(Purpose::Encryption, row as u64 + 1);
            let mut error = noise_polynomial(ring, limbs, noise, &mut stream);
            part.add_assign(ring, &error);
            sample::wipe(&mut error);
        }
        sample::wipe(&mut factor);
        Some(zero)
    }
}

/// Σ_i parts\[i\]·s^i, in coefficients.
pub fn phase(ring: &Ring, ciphertext: &Ciphertext, secret: &SecretKey) -> RnsPolynomial {
    let values = secret.values(ring, ciphertext.limbs());
    let value = |part: &RnsPolynomial| {
        let mut part = part.clone();
        part.forward(ring);
        part
    };
    // Horner's rule, from the highest power down.
    let (last, rest) = ciphertext.parts.split_last().unwrap_or_else(|| unreachable!("a ciphertext has a part"));
    let mut sum = value(last);
    for part in rest.iter().rev() {
        sum.multiply_assign(ring, values.get());
        sum.add_assign(ring, &value(part));
    }
    sum.inverse(ring);
    sum
}
