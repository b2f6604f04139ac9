//! Errors of decrypted results.

use crate::side::SLOT_BITS;

/// Errors as fractions of the torus.
#[derive(Clone, Debug, Default)]
pub struct Errors(pub Vec<f64>);

impl Errors {
    /// Standard deviation about zero: a bias counts as noise.
    pub fn standard_deviation(&self) -> f64 {
        (self.0.iter().map(|error| error * error).sum::<f64>() / self.0.len().max(1) as f64).sqrt()
    }

    /// How many results decrypt to another message.
    pub fn wrong(&self) -> usize {
        let margin = 0.5 / f64::from(1u32 << SLOT_BITS);
        self.0.iter().filter(|error| error.abs() >= margin).count()
    }
}
