//! Integers as multiples of a step of the torus.

use polyfabric_kernels::Torus;

/// The step Δ = 1/P: an integer v is encoded at v·Δ, and decoded modulo P.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TorusStep {
    /// P, at least 1.
    pub denominator: u32,
}

impl TorusStep {
    /// Δ as a torus element: q/P rounded. Every encoding is a multiple of it, so a sum of encodings is exactly the encoding of the sum.
    pub fn unit<T: Torus>(self) -> T {
        T::from_fraction(1.0 / f64::from(self.denominator))
    }

    /// v·Δ.
    pub fn encode<T: Torus>(self, value: i64) -> T {
        self.unit::<T>().wrapping_mul_signed(value)
    }

    /// The value nearest to `phase` among `least + i·stride` for integer i, within P values around the middle of `least` and `greatest`. Noise
    /// can push it outside of that range.
    pub fn nearest<T: Torus>(self, phase: T, least: i64, greatest: i64, stride: i64) -> i64 {
        let (modulus, stride_width) = (f64::from(self.denominator), stride as f64);
        let middle = (least + greatest) as f64 / 2.0;
        // Position relative to the middle, in [-P/2, P/2).
        let offset = phase.to_fraction() * modulus - middle;
        let offset = offset - (offset / modulus).round() * modulus;
        let index = ((offset + middle - least as f64) / stride_width).round();
        least + index as i64 * stride
    }
}
