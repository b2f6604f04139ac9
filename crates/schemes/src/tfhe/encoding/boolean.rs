//! Booleans at ±1/8 of the torus, for gate bootstrapping (TFHE, Chillotti et al. 2020, section 4.4).

use polyfabric_kernels::Torus;

/// false at −1/8, true at +1/8. The sum of two, with a constant of ±1/8, has a margin of 1/8 around the sign change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boolean;

impl Boolean {
    /// Distance from either value to the nearest phase that decodes to the other, a fraction of the torus.
    pub const MARGIN: f64 = 0.125;

    /// ±1/8.
    pub fn encode<T: Torus>(self, message: bool) -> T {
        T::from_fraction(if message { 0.125 } else { -0.125 })
    }

    /// Whether the phase lies in [0, 1/2).
    pub fn decode<T: Torus>(self, phase: T) -> bool {
        phase.to_i64() >= 0
    }
}
