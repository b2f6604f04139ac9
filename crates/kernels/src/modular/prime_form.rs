//! F1's multiplier for primes that are 1 modulo 2^16.

use super::Modulus;
use thiserror::Error;

/// Word-level Montgomery multiplication for q ≡ 1 mod 2^16 (F1, section 5.3).
///
/// Each round clears the lowest 16 bits of x by adding m·q with m = −x·q^-1 mod 2^16. Since q^-1 ≡ 1, m is −x mod 2^16 and needs no multiplication. With
/// q = 2^16·h + 1 the round is x ← ceil(x / 2^16) + m·h, one narrow product. A modulus of k bits needs ceil(k/16) rounds: two for F1's 32-bit words,
/// three for 40 bits, four for 60. The result is a·b·R^-1 with R = 2^(16·rounds).
///
/// The paper prints q ≡ −1; such primes have no negacyclic NTT, and its count of 6,186 primes below 2^32 is that of the primes ≡ 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimeForm {
    modulus: Modulus,
    rounds: u32,
    /// R² mod q.
    square: u64,
}

/// Why a modulus is not of F1's form.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("modulus {0} is {remainder} modulo 2^16; the word-level multiplier needs one that is 1", remainder = .0 % (1 << 16))]
pub struct PrimeFormError(pub u64);

impl PrimeForm {
    /// Bits cleared per round.
    pub const WORD_BITS: u32 = 16;

    /// The multiplier of `modulus`.
    ///
    /// # Errors
    /// [`PrimeFormError`] unless `modulus` ≡ 1 mod 2^16.
    pub fn new(modulus: Modulus) -> Result<Self, PrimeFormError> {
        let value = modulus.value();
        if value % (1 << Self::WORD_BITS) != 1 {
            return Err(PrimeFormError(value));
        }
        let rounds = modulus.bits().div_ceil(Self::WORD_BITS);
        let radix = ((1u128 << (rounds * Self::WORD_BITS)) % u128::from(value)) as u64;
        Ok(Self { modulus, rounds, square: modulus.multiply(radix, radix) })
    }

    /// q.
    pub const fn modulus(self) -> Modulus {
        self.modulus
    }

    /// Rounds of one multiplication.
    pub const fn rounds(self) -> u32 {
        self.rounds
    }

    /// log2 R.
    pub const fn radix_bits(self) -> u32 {
        self.rounds * Self::WORD_BITS
    }

    /// a·b·R^-1 in [0, 2q), for a·b < q·R.
    ///
    /// The rounds add M·q for some M < R and divide by R, so (qR + Rq)/R = 2q bounds the result.
    #[inline]
    pub fn multiply_lazy(self, a: u64, b: u64) -> u64 {
        let mut x = u128::from(a) * u128::from(b);
        debug_assert!(x < u128::from(self.modulus.value()) << self.radix_bits());
        let high = u128::from(self.modulus.value() >> Self::WORD_BITS);
        for _ in 0..self.rounds {
            let m = (x as u64).wrapping_neg() & 0xffff;
            x = ((x + u128::from(m)) >> Self::WORD_BITS) + u128::from(m) * high;
        }
        x as u64
    }

    /// a·b·R^-1 in [0, q), for a·b < q·R.
    #[inline]
    pub fn multiply(self, a: u64, b: u64) -> u64 {
        self.modulus.reduce_once(self.multiply_lazy(a, b))
    }

    /// a·R mod q: into the multiplier's form.
    #[inline]
    pub fn enter(self, a: u64) -> u64 {
        self.multiply(a, self.square)
    }

    /// a·R^-1 mod q: out of the multiplier's form.
    #[inline]
    pub fn leave(self, a: u64) -> u64 {
        self.multiply(a, 1)
    }
}
