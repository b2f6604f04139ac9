//! CKKS ciphertexts with their level, scale and number of slots.

use thiserror::Error;

use super::parameters::Parameters;
use crate::rns::{Ciphertext, Domain};

/// A ciphertext, its level, its scale and how many slots it packs.
#[derive(Clone, Debug, PartialEq)]
pub struct CkksCiphertext {
    ciphertext: Ciphertext,
    level: usize,
    scale: f64,
    slots: usize,
}

/// Why polynomials are not a ciphertext of a parameter set.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CiphertextError {
    #[error(
        "the ciphertext has degree {found}, but parameter set {name} has {expected}; use the parameters that it was made with"
    )]
    Degree { name: String, found: usize, expected: usize },
    #[error(
        "a ciphertext of {limbs} limbs matches no level of parameter set {name} (levels have {levels:?}); use the parameters that it was made with"
    )]
    Limbs { name: String, limbs: usize, levels: Vec<usize> },
    #[error("a ciphertext of {0} parts; it has at least 2")]
    Parts(usize),
    #[error("a ciphertext of scale {0}; the scale is a positive number")]
    Scale(f64),
    #[error("a ciphertext of {given} slots; it packs a power of two of at most {max}")]
    Slots { given: usize, max: usize },
}

impl CkksCiphertext {
    /// Checks that `ciphertext` belongs to `parameters`; its limbs determine the level.
    pub fn new(
        parameters: &Parameters,
        ciphertext: Ciphertext,
        scale: f64,
        slots: usize,
    ) -> Result<Self, CiphertextError> {
        let level = level_of(parameters, &ciphertext)?;
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(CiphertextError::Scale(scale));
        }
        let max = parameters.max_slots();
        if !slots.is_power_of_two() || slots > max {
            return Err(CiphertextError::Slots { given: slots, max });
        }
        Ok(Self { ciphertext, level, scale, slots })
    }

    /// Fails unless the shape matches `parameters`. It cannot detect another set of the same degree and limbs.
    ///
    /// # Errors
    /// [`CiphertextError::Degree`], [`CiphertextError::Limbs`].
    pub fn check(&self, parameters: &Parameters) -> Result<(), CiphertextError> {
        level_of(parameters, &self.ciphertext).map(|_| ())
    }

    /// The polynomials.
    pub fn ciphertext(&self) -> &Ciphertext {
        &self.ciphertext
    }

    /// Takes the polynomials, to compute on them.
    pub fn into_ciphertext(self) -> Ciphertext {
        self.ciphertext
    }

    /// ℓ.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Δ.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of packed slots; the vector repeats to fill N/2.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The domain of its parts.
    pub fn domain(&self) -> Domain {
        self.ciphertext.domain()
    }

    /// The same vector at a lower level, without the upper limbs. `None` above its level.
    pub fn at_level(&self, parameters: &Parameters, level: usize) -> Option<Self> {
        let limbs = parameters.limbs_at(level)?;
        Some(Self { ciphertext: self.ciphertext.select(&limbs)?, level, ..*self })
    }

    /// Bytes of its words.
    pub fn bytes(&self) -> usize {
        self.ciphertext.bytes()
    }
}

fn level_of(parameters: &Parameters, ciphertext: &Ciphertext) -> Result<usize, CiphertextError> {
    let name = || parameters.name().to_owned();
    let (found, expected) = (ciphertext.parts[0].degree().get(), parameters.ring_degree().get());
    if found != expected {
        return Err(CiphertextError::Degree { name: name(), found, expected });
    }
    if ciphertext.parts.len() < 2 {
        return Err(CiphertextError::Parts(ciphertext.parts.len()));
    }
    let limbs = ciphertext.limbs();
    parameters.level_of(limbs).ok_or_else(|| CiphertextError::Limbs {
        name: name(),
        limbs: limbs.len(),
        levels: parameters.level_limbs().to_vec(),
    })
}
