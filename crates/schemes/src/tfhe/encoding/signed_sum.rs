//! Signed sums over the whole torus.

use polyfabric_kernels::Torus;

use super::{EncodingError, TorusStep};

/// Integers v in [−S, S] at v·Δ, Δ = 1/P with P = 2(S + 1): the whole torus, no padding.
///
/// A LUT over the whole torus is negacyclic, f(phase + 1/2) = −f(phase), as the sign function is. *Odd* sums keep a full step Δ from 0 and,
/// because S + 1 steps are half the torus, from ±1/2. At the same noise a sign LUT therefore reads sums about four times as wide as a
/// padded LUT.
///
/// ```
/// use polyfabric_schemes::tfhe::encoding::SignedSum;
///
/// let encoding = SignedSum::odd(31)?;
/// let phase = encoding.encode::<u32>(-5)?.wrapping_add(1000);
/// assert_eq!((encoding.decode(phase)?, encoding.sign(phase)), (-5, -1));
/// # Ok::<(), polyfabric_schemes::tfhe::encoding::EncodingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignedSum {
    bound: u32,
    odd: bool,
}

impl SignedSum {
    /// Largest bound: up to here, rounding Δ to a 32-bit torus (|v|/2 units in v·Δ) uses less than 1 % of the margin.
    pub const MAX_BOUND: u32 = (1 << 12) - 1;

    /// Sums of either parity, decoded by rounding.
    ///
    /// # Errors
    /// [`EncodingError::Bound`] unless 1 ≤ `bound` ≤ [`Self::MAX_BOUND`].
    pub fn any(bound: u32) -> Result<Self, EncodingError> {
        if (1..=Self::MAX_BOUND).contains(&bound) {
            Ok(Self { bound, odd: false })
        } else {
            Err(EncodingError::Bound { given: bound, max: Self::MAX_BOUND })
        }
    }

    /// Odd sums only, whose sign can be read.
    ///
    /// # Errors
    /// [`EncodingError::Bound`].
    pub fn odd(bound: u32) -> Result<Self, EncodingError> {
        Self::any(bound).map(|encoding| Self { odd: true, ..encoding })
    }

    /// S.
    pub fn bound(self) -> u32 {
        self.bound
    }

    /// P = 2(S + 1).
    pub fn modulus(self) -> u32 {
        2 * (self.bound + 1)
    }

    /// Δ = 1/P, a fraction of the torus.
    pub fn step(self) -> f64 {
        f64::from(self.modulus()).recip()
    }

    /// Smaller noise decodes correctly: a whole step for odd sums (for sign and value, because neighbours are two steps apart), otherwise half
    /// a step.
    pub fn margin(self) -> f64 {
        if self.odd { self.step() } else { self.step() / 2.0 }
    }

    /// v·Δ.
    ///
    /// # Errors
    /// [`EncodingError::OutOfRange`], [`EncodingError::EvenSum`].
    pub fn encode<T: Torus>(self, value: i64) -> Result<T, EncodingError> {
        let bound = i64::from(self.bound);
        if !(-bound..=bound).contains(&value) {
            return Err(EncodingError::OutOfRange { value, min: -bound, max: bound });
        }
        if self.odd && value & 1 == 0 {
            return Err(EncodingError::EvenSum { value });
        }
        Ok(self.torus_step().encode(value))
    }

    /// Δ.
    pub fn torus_step(self) -> TorusStep {
        TorusStep { denominator: self.modulus() }
    }

    /// The value nearest to `phase`; for odd sums the nearest odd one.
    ///
    /// # Errors
    /// [`EncodingError::OutOfRange`] if that is outside the bound: a sum or its noise was too large.
    pub fn decode<T: Torus>(self, phase: T) -> Result<i64, EncodingError> {
        let bound = i64::from(self.bound);
        let (greatest, stride) =
            if self.odd { (bound - i64::from(self.bound.is_multiple_of(2)), 2) } else { (bound, 1) };
        let value = self.torus_step().nearest(phase, -greatest, greatest, stride);
        if value.abs() > bound {
            return Err(EncodingError::OutOfRange { value, min: -bound, max: bound });
        }
        Ok(value)
    }

    /// The sign LUT's result: 1 for a phase in [0, 1/2), −1 otherwise.
    pub fn sign<T: Torus>(self, phase: T) -> i64 {
        if phase.to_i64() >= 0 { 1 } else { -1 }
    }
}
