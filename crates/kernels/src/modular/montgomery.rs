//! Montgomery multiplication with words of any size.

use super::{Modulus, inverse_of_odd};
use thiserror::Error;

/// Products a·b·R^-1 mod q with R = 2^w, q odd and q < R (P. Montgomery, Math. Comp. 44, 1985).
///
/// A residue a in Montgomery form represents a·R^-1; [`Self::enter`] and [`Self::leave`] convert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Montgomery {
    modulus: Modulus,
    word_bits: u32,
    /// −q^-1 mod R.
    negated_inverse: u64,
    /// R² mod q.
    square: u64,
}

/// Why a modulus has no Montgomery form of a word size.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MontgomeryError {
    #[error("modulus {0} is even; Montgomery multiplication needs an odd one")]
    Even(u64),
    #[error("modulus {modulus} does not fit a word of {word_bits} bits; use more bits, at most 64")]
    WordSize { modulus: u64, word_bits: u32 },
}

impl Montgomery {
    /// The multiplier of `modulus` with words of `word_bits`.
    ///
    /// # Errors
    /// [`MontgomeryError`] if the modulus is even or does not fit the word.
    pub fn new(modulus: Modulus, word_bits: u32) -> Result<Self, MontgomeryError> {
        let value = modulus.value();
        if value.is_multiple_of(2) {
            return Err(MontgomeryError::Even(value));
        }
        if word_bits > 64 || modulus.bits() > word_bits {
            return Err(MontgomeryError::WordSize { modulus: value, word_bits });
        }
        let mask = u64::MAX >> (64 - word_bits);
        let word = ((1u128 << word_bits) % u128::from(value)) as u64;
        Ok(Self {
            modulus,
            word_bits,
            negated_inverse: inverse_of_odd(value).wrapping_neg() & mask,
            square: modulus.multiply(word, word),
        })
    }

    /// q.
    pub const fn modulus(self) -> Modulus {
        self.modulus
    }

    /// log2 R.
    pub const fn word_bits(self) -> u32 {
        self.word_bits
    }

    /// x·R^-1 in [0, 2q), for x < q·R.
    ///
    /// m = −x·q^-1 mod R makes x + mq divisible by R, and (x + mq)/R < (qR + Rq)/R = 2q.
    #[inline]
    pub fn reduce_lazy(self, x: u128) -> u64 {
        debug_assert!(x < u128::from(self.modulus.value()) << self.word_bits);
        let mask = u64::MAX >> (64 - self.word_bits);
        let m = (x as u64).wrapping_mul(self.negated_inverse) & mask;
        ((x + u128::from(m) * u128::from(self.modulus.value())) >> self.word_bits) as u64
    }

    /// a·b·R^-1 in [0, 2q), for a·b < q·R: any a < R and b < q, or both below 2q when 4q ≤ R.
    #[inline]
    pub fn multiply_lazy(self, a: u64, b: u64) -> u64 {
        self.reduce_lazy(u128::from(a) * u128::from(b))
    }

    /// a·b·R^-1 in [0, q), for a·b < q·R.
    #[inline]
    pub fn multiply(self, a: u64, b: u64) -> u64 {
        self.modulus.reduce_once(self.multiply_lazy(a, b))
    }

    /// a·R mod q: into Montgomery form.
    #[inline]
    pub fn enter(self, a: u64) -> u64 {
        self.multiply(a, self.square)
    }

    /// a·R^-1 mod q: out of Montgomery form.
    #[inline]
    pub fn leave(self, a: u64) -> u64 {
        self.multiply(a, 1)
    }
}
