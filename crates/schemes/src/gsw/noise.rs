//! Noise of ring-GSW operations, in the terms of [`crate::bgv::noise`].
//!
//! | operation | variance of a coefficient |
//! |---|---|
//! | external product with m | ‖m‖₂²·V + 2·I |
//! | CMUX of c_0 and c_1 | V of the chosen one + 2·I |
//! | row of an internal product | as the external product of that row |
//!
//! I is the inner product's t²σ²·N·Σ_d Var(digit d)/P²; it occurs for the body's digits and for the mask's. With special primes, the
//! rounding of the division is added.

use crate::bgv::noise::{DigitSize, Noise, NoiseModel, Spread};
use crate::rns::KeyErrors;

/// Norms of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageSize {
    /// log2 ‖m‖₂.
    pub euclidean: f64,
    /// log2 ‖m‖₁, which bounds |m(ζ)|.
    pub sum: f64,
}

impl MessageSize {
    /// A monomial or the bit 1.
    pub const MONOMIAL: Self = Self { euclidean: 0.0, sum: 0.0 };

    /// The norms of a polynomial; a zero counts as a 1.
    pub fn of(message: &[i64]) -> Self {
        let square = message.iter().map(|&m| (m as f64).powi(2)).sum::<f64>().max(1.0);
        let sum = message.iter().map(|&m| (m as f64).abs()).sum::<f64>().max(1.0);
        Self { euclidean: square.log2() / 2.0, sum: sum.log2() }
    }
}

/// Sizes of the gadget's digits and special modulus.
#[derive(Clone, Debug, PartialEq)]
pub struct GadgetSize {
    /// The digits of one polynomial.
    pub digits: Vec<DigitSize>,
    /// log2 P; 0 without special primes.
    pub log2_special: f64,
    /// The rounding of the division by P; `None` without special primes.
    pub division: Option<Spread>,
}

/// The gadget ciphertext's contribution to an external product; its errors are multiples of 2^`log2_t`.
pub fn added(model: &NoiseModel, log2_t: f64, gadget: &GadgetSize) -> Noise {
    let inner = model.inner_product(log2_t, &gadget.digits, KeyErrors::Drawn).scale(-gadget.log2_special);
    let both = inner.plus(inner);
    gadget.division.map_or(both, |division| both.plus(model.rounding(log2_t, division)))
}

/// Noise of the external product of a ciphertext of noise `a` with a ring-GSW encryption of `message`.
pub fn external_product(model: &NoiseModel, a: Noise, message: MessageSize, log2_t: f64, gadget: &GadgetSize) -> Noise {
    a.times(message.euclidean, message.sum).plus(added(model, log2_t, gadget))
}

/// Noise of a CMUX whose chosen ciphertext has noise `chosen`.
pub fn cmux(model: &NoiseModel, chosen: Noise, log2_t: f64, gadget: &GadgetSize) -> Noise {
    chosen.plus(added(model, log2_t, gadget))
}
