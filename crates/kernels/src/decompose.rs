//! Signed gadget decomposition to the nearest representable value.
//!
//! x ≈ Σ_t digit_t · q / β^(t+1), where t = 0 is the most significant and digits are in [-β/2, β/2).
//!
//! The fast form adds the rounding half and β/2 at every digit's place in one addition. Each digit plus β/2 is then a bit field of the sum,
//! including carries: the carry from a lower digit's β/2 cancels its borrow. Flipping each field's top bit gives the digit in two's
//! complement, so that two shifts of the prepared word extract it ([`DigitField`]).

use crate::torus::Torus;
use serde::{Deserialize, Serialize};

/// A decomposition gadget: `levels` digits in base β = 2^`log2_base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gadget {
    /// log2 of the base β.
    pub log2_base: u32,
    /// Number of digits l.
    pub levels: u32,
}

/// Position of a digit in a prepared word: the digit is (word << `left`) >> `right`, with an arithmetic right shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitField {
    /// Left shift, in bits.
    pub left: u32,
    /// Arithmetic right shift, in bits.
    pub right: u32,
}

impl Gadget {
    /// Bits of the torus element kept by the digits: l · log2 β.
    pub const fn kept_bits(self) -> u32 {
        self.log2_base * self.levels
    }

    /// β/2 at every digit's place, as a torus element.
    fn halves<T: Torus>(self) -> u64 {
        (0..self.levels).fold(0, |sum, t| sum | 1 << (T::BITS - self.log2_base * t - 1))
    }

    /// (addend, flipped bits) that turn a torus element into its prepared word.
    pub fn preparation<T: Torus>(self) -> (T, T) {
        let dropped = T::BITS - self.kept_bits();
        let rounding = if dropped == 0 { 0 } else { 1u64 << (dropped - 1) };
        let halves = self.halves::<T>();
        (T::from_u64(halves.wrapping_add(rounding)), T::from_u64(halves))
    }

    /// The field of digit `level` in a prepared word.
    pub const fn field<T: Torus>(self, level: u32) -> DigitField {
        DigitField { left: self.log2_base * level, right: T::BITS - self.log2_base }
    }
}

/// Digits of one torus element, most significant first, into `digits` of length `gadget.levels`.
/// `gadget.kept_bits()` is at most `T::BITS`.
pub fn decompose_scalar<T: Torus>(value: T, gadget: Gadget, digits: &mut [i32]) {
    let dropped = T::BITS - gadget.kept_bits();
    let mut rest = if dropped == 0 {
        value.to_u64()
    } else {
        // Rounds half up; the carry out of the top bit is q ≡ 0.
        (value.to_u64() >> dropped).wrapping_add((value.to_u64() >> (dropped - 1)) & 1)
    };
    let half = 1u64 << (gadget.log2_base - 1);
    let mask = (1u64 << gadget.log2_base) - 1;
    for digit in digits[..gadget.levels as usize].iter_mut().rev() {
        let low = rest & mask;
        let carry = u64::from(low >= half);
        *digit = (low as i64 - (carry << gadget.log2_base) as i64) as i32;
        rest = (rest >> gadget.log2_base) + carry;
    }
}

/// Digit `level` of every coefficient.
pub fn decompose_level<T: Torus>(polynomial: &[T], gadget: Gadget, level: u32, digits: &mut [i32]) {
    assert_eq!(polynomial.len(), digits.len(), "one digit for each coefficient");
    let (add, flip) = gadget.preparation::<T>();
    let (add, flip) = (add.to_u64(), flip.to_u64());
    let DigitField { left, right } = gadget.field::<T>(level);
    let spare = 64 - T::BITS;
    for (digit, value) in digits.iter_mut().zip(polynomial) {
        let prepared = value.to_u64().wrapping_add(add) ^ flip;
        // Moves the torus word to the top of 64 bits, so that its sign is the shift's.
        *digit = (((prepared << spare << left) as i64) >> (right + spare)) as i32;
    }
}
