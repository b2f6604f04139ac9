//! Multiplication by a precomputed factor.

use super::{Modulus, multiply_high};

/// w with w' = floor(w·2^64 / q), so that a product with w needs no division (V. Shoup's NTL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShoupFactor {
    value: u64,
    quotient: u64,
}

impl ShoupFactor {
    /// The factor `value`, a canonical residue of `modulus`.
    pub fn new(modulus: Modulus, value: u64) -> Self {
        debug_assert!(modulus.holds(value));
        Self { value, quotient: ((u128::from(value) << 64) / u128::from(modulus.value())) as u64 }
    }

    /// w.
    #[inline]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// w'.
    #[inline]
    pub const fn quotient(self) -> u64 {
        self.quotient
    }

    /// w·x in [0, 2q), for any word x.
    ///
    /// With Q = floor(w'x / 2^64): 0 ≤ wx/q − Q < x·(w/q − w'/2^64) + 1 < x/2^64 + 1 < 2.
    #[inline]
    pub fn multiply_lazy(self, modulus: Modulus, x: u64) -> u64 {
        let quotient = multiply_high(self.quotient, x);
        let product = self.value.wrapping_mul(x).wrapping_sub(quotient.wrapping_mul(modulus.value()));
        debug_assert!(product < 2 * modulus.value());
        product
    }

    /// w·x in [0, q), for any word x.
    #[inline]
    pub fn multiply(self, modulus: Modulus, x: u64) -> u64 {
        modulus.reduce_once(self.multiply_lazy(modulus, x))
    }
}
