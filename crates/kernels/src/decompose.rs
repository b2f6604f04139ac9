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

#[cfg(test)]
mod tests {
    //! Are the digits the signed representation of the nearest multiple of q/β^l?
    use super::*;
    use crate::random::torus_vector;

    const GADGETS_32: [(u32, u32); 8] = [(10, 2), (7, 3), (8, 3), (15, 2), (2, 8), (8, 4), (1, 32), (16, 2)];
    const GADGETS_64: [(u32, u32); 5] = [(23, 1), (22, 1), (3, 5), (16, 4), (30, 2)];

    /// Number of values; fewer under Miri.
    const COUNT: usize = if cfg!(miri) { 64 } else { 1024 };

    fn check<T: Torus>((log2_base, levels): (u32, u32)) {
        let gadget = Gadget { log2_base, levels };
        let mut values = torus_vector::<T>(COUNT, log2_base);
        values[..4].copy_from_slice(&[0, 1, 1 << (T::BITS - 1), u64::MAX].map(T::from_u64));
        let mut digits = vec![0; COUNT * levels as usize];
        for (level, digits) in digits.chunks_exact_mut(COUNT).enumerate() {
            decompose_level(&values, gadget, level as u32, digits);
        }
        let mut scalar = vec![0; levels as usize];
        for (i, &value) in values.iter().enumerate() {
            decompose_scalar(value, gadget, &mut scalar);
            let mut sum = 0i128;
            for (t, &digit) in scalar.iter().enumerate() {
                assert_eq!(digit, digits[t * COUNT + i], "{gadget:?}, {value:?}, level {t}");
                let half = 1i64 << (log2_base - 1);
                assert!((-half..half).contains(&i64::from(digit)));
                sum += i128::from(digit) << (T::BITS - log2_base * (t as u32 + 1));
            }
            let dropped = T::BITS - gadget.kept_bits();
            let error = T::from_u64(sum as u64).wrapping_sub(value).to_i64();
            let reach = if dropped == 0 { 0 } else { 1i64 << (dropped - 1) };
            assert!((-reach..=reach).contains(&error), "{gadget:?} {value:?} error {error}");
        }
    }

    #[test]
    fn digits_recompose_to_the_closest_representative() {
        GADGETS_32.into_iter().for_each(check::<u32>);
        GADGETS_64.into_iter().for_each(check::<u64>);
    }
}
