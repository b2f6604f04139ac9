//! Ciphertexts of CKKS and BGV.

use super::limb::{Domain, LimbId};
use super::polynomial::RnsPolynomial;
use super::ring::Ring;

/// A ciphertext of CKKS or BGV: its phase is `parts[0]` + `parts[1]`·s + `parts[2]`·s² + …
///
/// The scheme records the meaning of the phase (level, scale, correction factor) separately.
#[derive(Clone, Debug, PartialEq)]
pub struct Ciphertext {
    /// One polynomial for each power of the secret, from the 0th; all have the same limbs and domain.
    pub parts: Vec<RnsPolynomial>,
}

impl Ciphertext {
    /// Makes a ciphertext from its parts.
    ///
    /// # Panics
    /// If there is none, or they differ in degree, limbs or domain.
    pub fn new(parts: Vec<RnsPolynomial>) -> Self {
        assert!(!parts.is_empty(), "a ciphertext has a part");
        let first = &parts[0];
        let alike = |part: &RnsPolynomial| {
            part.degree() == first.degree() && part.limbs() == first.limbs() && part.domain() == first.domain()
        };
        assert!(parts.iter().all(alike), "a ciphertext's parts are over one list of limbs, in one domain");
        Self { parts }
    }

    /// The highest power of the secret: 1, or 2 before relinearisation.
    pub fn degree(&self) -> usize {
        self.parts.len() - 1
    }

    pub fn limbs(&self) -> &[LimbId] {
        self.parts[0].limbs()
    }

    /// The domain of its parts.
    pub fn domain(&self) -> Domain {
        self.parts[0].domain()
    }

    /// The same ciphertext modulo fewer primes (level drop). `None` if it lacks one of `limbs`.
    pub fn select(&self, limbs: &[LimbId]) -> Option<Self> {
        Some(Self { parts: self.parts.iter().map(|part| part.select(limbs)).collect::<Option<_>>()? })
    }

    /// Transforms all parts to the evaluation domain.
    pub fn forward(&mut self, ring: &Ring) {
        self.parts.iter_mut().for_each(|part| part.forward(ring));
    }

    /// Transforms all parts to the coefficient domain.
    pub fn inverse(&mut self, ring: &Ring) {
        self.parts.iter_mut().for_each(|part| part.inverse(ring));
    }

    /// Bytes of its words.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(RnsPolynomial::bytes).sum()
    }
}
