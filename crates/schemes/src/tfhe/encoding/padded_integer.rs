//! Small integers with carry bits and one padding bit.

use polyfabric_kernels::Torus;

use super::{EncodingError, TorusStep};

/// Integers v in [0, 2^(message + carry)) at v·Δ, Δ = 2^−(1 + message + carry): the top bit of the torus is padding.
///
/// Padding permits any LUT: the phase stays in [0, 1/2), where X^phase does not wrap to negated values. Fresh messages use the message
/// bits; sums grow into the carry bits, which a LUT clears before they overflow.
///
/// ```
/// use polyfabric_schemes::tfhe::encoding::PaddedInteger;
///
/// let encoding = PaddedInteger::new(2, 2)?;
/// let sum = encoding.encode::<u32>(3)?.wrapping_add(encoding.encode(2)?);
/// assert_eq!(encoding.decode(sum)?, 5);
/// assert_eq!((encoding.message(5), encoding.carry(5)), (1, 1));
/// # Ok::<(), polyfabric_schemes::tfhe::encoding::EncodingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaddedInteger {
    message_bits: u32,
    carry_bits: u32,
}

impl PaddedInteger {
    /// Maximum number of bits, padding included.
    pub const MAX_BITS: u32 = 24;

    /// An encoding of `message_bits` and `carry_bits`.
    ///
    /// # Errors
    /// [`EncodingError::Bits`] without a message bit, or above [`Self::MAX_BITS`] with the padding bit.
    pub fn new(message_bits: u32, carry_bits: u32) -> Result<Self, EncodingError> {
        if message_bits == 0 || u64::from(message_bits) + u64::from(carry_bits) >= u64::from(Self::MAX_BITS) {
            return Err(EncodingError::Bits { message_bits, carry_bits, max: Self::MAX_BITS });
        }
        Ok(Self { message_bits, carry_bits })
    }

    /// Bits of message and carry together.
    pub fn value_bits(self) -> u32 {
        self.message_bits + self.carry_bits
    }

    /// Greatest value, 2^(message + carry) − 1.
    pub fn max(self) -> u64 {
        (1 << self.value_bits()) - 1
    }

    /// Δ, a fraction of the torus.
    pub fn step(self) -> f64 {
        (-f64::from(self.value_bits() + 1)).exp2()
    }

    /// Δ, as the step that sums share.
    pub fn torus_step(self) -> TorusStep {
        TorusStep { denominator: 2 << self.value_bits() }
    }

    /// Half a step: smaller noise decodes correctly.
    pub fn margin(self) -> f64 {
        self.step() / 2.0
    }

    /// v·Δ.
    ///
    /// # Errors
    /// [`EncodingError::OutOfRange`] above [`Self::max`].
    pub fn encode<T: Torus>(self, value: u64) -> Result<T, EncodingError> {
        if value > self.max() {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            return Err(EncodingError::OutOfRange { value, min: 0, max: self.max() as i64 });
        }
        Ok(self.torus_step().encode(value as i64))
    }

    /// The nearest value to `phase`.
    ///
    /// # Errors
    /// [`EncodingError::PaddingUsed`] if that is in the padding half.
    pub fn decode<T: Torus>(self, phase: T) -> Result<u64, EncodingError> {
        let shift = T::BITS - 1 - self.value_bits();
        let rounded = phase.wrapping_add(T::from_u64(1 << (shift - 1))).to_u64() >> shift;
        if rounded > self.max() {
            return Err(EncodingError::PaddingUsed { phase: phase.to_fraction(), max: self.max() });
        }
        Ok(rounded)
    }

    /// The low bits of a decoded value: its message.
    pub fn message(self, value: u64) -> u64 {
        value & ((1 << self.message_bits) - 1)
    }

    /// The high bits of a decoded value: its carry.
    pub fn carry(self, value: u64) -> u64 {
        value >> self.message_bits
    }
}
