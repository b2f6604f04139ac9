//! A ciphertext inside a kernel program in the making.

use crate::rns::kernel::ValueId;
use crate::rns::levels::Scale;

/// A ciphertext: values of the kernel program in the evaluation domain, and what the lowering knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CiphertextValue {
    /// `parts[0]` + `parts[1]`·s (+ `parts[2]`·s²).
    pub parts: Vec<ValueId>,
    /// Its level: the parts have the limbs of [`super::Chain::limbs`] of it.
    pub level: usize,
    /// What its message is multiplied by.
    pub scale: Scale,
    /// Whether it is a product that is still to be rescaled.
    pub rescale_due: bool,
    /// What is known of its error.
    pub noise: Noise,
}

/// The error of a ciphertext, in units of its phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Deviation of the error in a slot, as [`crate::rns::noise::NoiseModel`] takes it.
    pub deviation: f64,
    /// Bound of the message in a slot, unscaled: |m|.
    pub magnitude: f64,
    /// Which independent sources are in it, hashed to 64: two values without a common one have independent errors.
    pub sources: u64,
}

impl Noise {
    /// Without error.
    pub fn none(magnitude: f64) -> Self {
        Self { deviation: 0.0, magnitude, sources: 0 }
    }

    /// Deviation of the sum: as of independent errors where they are, else the sum of both.
    pub fn join(self, other: Self) -> f64 {
        if self.sources & other.sources == 0 {
            self.deviation.hypot(other.deviation)
        } else {
            self.deviation + other.deviation
        }
    }
}
