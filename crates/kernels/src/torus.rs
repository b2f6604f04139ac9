//! The discretised torus T_q = {0, 1/q, .., (q-1)/q} with q = 2^32 or 2^64, represented by a wrapping integer.

use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// One torus element: a `u32` (q = 2^32) or a `u64` (q = 2^64). All arithmetic wraps modulo q.
///
/// Sealed: the vector kernels rely on an element being exactly its [`Self::BITS`] bits.
pub trait Torus: sealed::Sealed + Copy + Debug + Default + Eq + Send + Sync + 'static {
    /// log2 of q.
    const BITS: u32;

    /// `self + other` mod q.
    fn wrapping_add(self, other: Self) -> Self;
    /// `self - other` mod q.
    fn wrapping_sub(self, other: Self) -> Self;
    /// `-self` mod q.
    fn wrapping_neg(self) -> Self;
    /// The bits in which `self` and `other` differ.
    fn bit_xor(self, other: Self) -> Self;
    /// `self * factor` mod q: the action of the integers on the torus.
    fn wrapping_mul_signed(self, factor: i64) -> Self;
    /// The low [`Self::BITS`] bits of `value`.
    fn from_u64(value: u64) -> Self;
    /// The representative in [0, q).
    fn to_u64(self) -> u64;
    /// The representative in [-q/2, q/2).
    fn to_i64(self) -> i64;
    /// `value * q` rounded to the nearest integer, mod q; `value` is any finite real, read modulo 1.
    fn from_fraction(value: f64) -> Self;
    /// The representative in [-1/2, 1/2), as a real number (rounded to 53 bits).
    fn to_fraction(self) -> f64;
}

macro_rules! impl_torus {
    ($unsigned:ty, $signed:ty) => {
        impl Torus for $unsigned {
            const BITS: u32 = <$unsigned>::BITS;

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                <$unsigned>::wrapping_add(self, other)
            }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                <$unsigned>::wrapping_sub(self, other)
            }
            #[inline(always)]
            fn wrapping_neg(self) -> Self {
                <$unsigned>::wrapping_neg(self)
            }
            #[inline(always)]
            fn bit_xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn wrapping_mul_signed(self, factor: i64) -> Self {
                <$unsigned>::wrapping_mul(self, factor as $unsigned)
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $unsigned
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as $signed as i64
            }
            fn from_fraction(value: f64) -> Self {
                let scale = 2f64.powi(Self::BITS as i32);
                // Centring the fraction first keeps the product's low bits.
                let centred = value - value.round();
                (centred * scale).round() as i128 as $unsigned
            }
            fn to_fraction(self) -> f64 {
                self as $signed as f64 / 2f64.powi(Self::BITS as i32)
            }
        }
    };
}

impl_torus!(u32, i32);
impl_torus!(u64, i64);
