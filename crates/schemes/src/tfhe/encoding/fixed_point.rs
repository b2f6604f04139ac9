//! Real numbers as fixed-point torus values.

use polyfabric_kernels::Torus;

use super::EncodingError;

/// Reals x in [−m, m) at x/2m: uses the whole torus; the noise determines the precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedPoint {
    magnitude: f64,
}

impl FixedPoint {
    /// An encoding of [−`magnitude`, `magnitude`).
    ///
    /// # Errors
    /// [`EncodingError::Magnitude`] unless `magnitude` is positive and finite.
    pub fn new(magnitude: f64) -> Result<Self, EncodingError> {
        if magnitude > 0.0 && magnitude.is_finite() {
            Ok(Self { magnitude })
        } else {
            Err(EncodingError::Magnitude(magnitude))
        }
    }

    /// m.
    pub fn magnitude(self) -> f64 {
        self.magnitude
    }

    /// The nearest torus element to x/2m.
    ///
    /// # Errors
    /// [`EncodingError::RealOutOfRange`] outside [−m, m) or for NaN.
    pub fn encode<T: Torus>(self, value: f64) -> Result<T, EncodingError> {
        if !(-self.magnitude <= value && value < self.magnitude) {
            return Err(EncodingError::RealOutOfRange { value, magnitude: self.magnitude });
        }
        Ok(T::from_fraction(value / self.magnitude / 2.0))
    }

    /// 2m times the phase in [−1/2, 1/2).
    pub fn decode<T: Torus>(self, phase: T) -> f64 {
        phase.to_fraction() * 2.0 * self.magnitude
    }

    /// Standard deviation of a decoded value, for a phase of this `variance` (fraction of the torus, squared).
    pub fn std(self, variance: f64) -> f64 {
        variance.sqrt() * 2.0 * self.magnitude
    }
}
