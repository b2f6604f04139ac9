//! Arithmetic modulo one word-size number.
//!
//! [`Modulus`] is a checked modulus, with canonical operations on residues in [0, q). The multipliers of hardware and vector kernels have stated and
//! proven ranges: Barrett ([`Modulus::multiply`]), [`Montgomery`] of any word size, [`ShoupFactor`] for a known factor, and [`PrimeForm`], F1's
//! multiplier for q ≡ 1 mod 2^16. [`Limb`] applies them to whole limbs.
//!
//! # Lazy ranges
//! A function named `…_lazy` returns a result in [0, 2q), congruent to the canonical one. All moduli satisfy q < 2^61, so 8q fits a 64-bit word.

mod blocks;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod float;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ifma;
mod limb;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod limb_float;
#[cfg(target_arch = "x86_64")]
mod limb_ifma;
mod montgomery;
pub mod peak;
mod prime_form;
pub mod reference;
mod shoup;

pub use blocks::{BLOCK, block_width, in_block, pack_block};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use limb::Form;
pub use limb::{Limb, Rows};
pub use montgomery::{Montgomery, MontgomeryError};
pub use prime_form::{PrimeForm, PrimeFormError};
pub use shoup::ShoupFactor;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// q, a modulus from 2 to 2^61 − 1, with the constants of Barrett's reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Modulus {
    value: u64,
    /// k, with 2^(k−1) ≤ q < 2^k.
    bits: u32,
    /// floor(2^(k+62) / q).
    ratio: u64,
    /// 2^64 mod q, as a Shoup factor.
    word: u64,
    word_quotient: u64,
}

/// Why a number is not a modulus.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("modulus {0} is not between 2 and 2^61 - 1; choose a prime of 28 to 60 bits")]
pub struct ModulusError(pub u64);

impl Modulus {
    /// Every modulus is below 2 to this power.
    pub const MAX_BITS: u32 = 61;

    /// Checks `value`.
    ///
    /// # Errors
    /// [`ModulusError`] unless 2 ≤ `value` < 2^61.
    pub fn new(value: u64) -> Result<Self, ModulusError> {
        if value < 2 || value >> Self::MAX_BITS != 0 {
            return Err(ModulusError(value));
        }
        let bits = u64::BITS - value.leading_zeros();
        // q > 2^(k−1) bounds the ratio below 2^63; at q = 2^(k−1) it is 2^63 exactly.
        let ratio = ((1u128 << (bits + 62)) / u128::from(value)) as u64;
        let word = ((1u128 << 64) % u128::from(value)) as u64;
        let word_quotient = ((u128::from(word) << 64) / u128::from(value)) as u64;
        Ok(Self { value, bits, ratio, word, word_quotient })
    }

    /// q.
    #[inline]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// The number of bits of q.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Whether `residue` is canonical, in [0, q).
    #[inline]
    pub const fn holds(self, residue: u64) -> bool {
        residue < self.value
    }

    /// [0, 2q) to [0, q).
    #[inline]
    pub fn reduce_once(self, lazy: u64) -> u64 {
        debug_assert!(lazy < 2 * self.value);
        // Below q the difference wraps to a large number.
        lazy.min(lazy.wrapping_sub(self.value))
    }

    /// Any word to [0, q).
    #[inline]
    pub const fn reduce(self, word: u64) -> u64 {
        word % self.value
    }

    /// A signed number to [0, q).
    #[inline]
    pub const fn reduce_signed(self, number: i64) -> u64 {
        let residue = number.unsigned_abs() % self.value;
        if number < 0 && residue != 0 { self.value - residue } else { residue }
    }

    /// A residue as its representative in [−q/2, q/2).
    #[inline]
    pub const fn centre(self, residue: u64) -> i64 {
        if residue >= self.value.div_ceil(2) { residue as i64 - self.value as i64 } else { residue as i64 }
    }

    /// Any double word to [0, q).
    ///
    /// h·2^64 + l ≡ h·(2^64 mod q) + l; Shoup's product reduces the first term to [0, 2q), and division reduces the second.
    #[inline]
    pub fn reduce_wide(self, wide: u128) -> u64 {
        let (high, low) = ((wide >> 64) as u64, wide as u64);
        let quotient = multiply_high(high, self.word_quotient);
        let high = high.wrapping_mul(self.word).wrapping_sub(quotient.wrapping_mul(self.value));
        self.add(self.reduce_once(high), self.reduce(low))
    }

    /// a + b of canonical residues.
    #[inline]
    pub fn add(self, a: u64, b: u64) -> u64 {
        debug_assert!(self.holds(a) && self.holds(b));
        self.reduce_once(a + b)
    }

    /// a − b of canonical residues.
    #[inline]
    pub fn sub(self, a: u64, b: u64) -> u64 {
        debug_assert!(self.holds(a) && self.holds(b));
        let difference = a.wrapping_sub(b);
        difference.min(difference.wrapping_add(self.value))
    }

    /// −a of a canonical residue.
    #[inline]
    pub fn neg(self, a: u64) -> u64 {
        self.sub(0, a)
    }

    /// a · b of canonical residues, by Barrett's reduction.
    #[inline]
    pub fn multiply(self, a: u64, b: u64) -> u64 {
        debug_assert!(self.holds(a) && self.holds(b));
        self.reduce_once(self.reduce_product_lazy(u128::from(a) * u128::from(b)))
    }

    /// x < 2^(2k) to [0, 2q) by Barrett's reduction (P. Barrett, CRYPTO '86), with 2^(k−1) ≤ q < 2^k.
    ///
    /// With c = floor(x / 2^(k−2)) and μ = floor(2^(k+62) / q), the quotient is c·μ / 2^64 rounded down. Compared with x/q it loses less than
    /// 2^(k−2)/q ≤ 1/2 by the first floor; at most c/2^64 < 2^(k+2)/2^64 ≤ 1/2 by the second, since k ≤ 61; and less than 1 by the last. The total is less
    /// than 2, so the remainder is in [0, 2q). c < 2^(k+2) and μ ≤ 2^63 fit a word.
    #[inline]
    pub fn reduce_product_lazy(self, x: u128) -> u64 {
        debug_assert!(x >> (2 * self.bits) == 0);
        // k = 1 is impossible: q ≥ 2 has two bits.
        let quotient = multiply_high((x >> (self.bits - 2)) as u64, self.ratio);
        (x as u64).wrapping_sub(quotient.wrapping_mul(self.value))
    }

    /// base^exponent of a canonical base.
    pub fn power(self, base: u64, mut exponent: u64) -> u64 {
        let (mut square, mut product) = (base, 1 % self.value);
        while exponent != 0 {
            if exponent & 1 == 1 {
                product = self.multiply(product, square);
            }
            square = self.multiply(square, square);
            exponent >>= 1;
        }
        product
    }

    /// a^-1, or `None` if a and q have a common factor. Uses Euclid's algorithm, so q need not be prime.
    pub fn inverse(self, a: u64) -> Option<u64> {
        let (mut r0, mut r1) = (i128::from(self.value), i128::from(a % self.value));
        let (mut t0, mut t1) = (0i128, 1i128);
        while r1 != 0 {
            let quotient = r0 / r1;
            (r0, r1) = (r1, r0 - quotient * r1);
            (t0, t1) = (t1, t0 - quotient * t1);
        }
        (r0 == 1).then(|| t0.rem_euclid(i128::from(self.value)) as u64)
    }
}

impl TryFrom<u64> for Modulus {
    type Error = ModulusError;
    fn try_from(value: u64) -> Result<Self, ModulusError> {
        Self::new(value)
    }
}

impl From<Modulus> for u64 {
    fn from(modulus: Modulus) -> u64 {
        modulus.value
    }
}

/// The upper word of a product.
#[inline]
pub(crate) const fn multiply_high(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

/// q^-1 modulo 2^64 of an odd q, by Newton's iteration: each step doubles the correct low bits.
pub(crate) const fn inverse_of_odd(q: u64) -> u64 {
    let mut inverse = q; // correct to three bits
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}
