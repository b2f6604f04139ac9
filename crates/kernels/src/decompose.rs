//! Signed gadget decomposition to the closest representative.
//!
//! x ≈ Σ_t digit_t · q / β^(t+1), t = 0 the most significant, digits in [-β/2, β/2).

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

impl Gadget {
    /// Bits of the torus element that the digits keep: l · log2 β.
    pub const fn kept_bits(self) -> u32 {
        self.log2_base * self.levels
    }
}

/// Digits of one torus element, most significant first; `digits` holds `gadget.levels` of them.
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
