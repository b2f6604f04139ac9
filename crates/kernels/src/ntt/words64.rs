//! Butterflies on 64-bit words in portable Rust.

use super::butterfly::Butterfly;
use super::tables::{Layout, Tables};
use crate::modular::{Modulus, ShoupFactor};

/// One word at a time, Shoup's products of 64 bits, q < 2^61.
///
/// Loose is [0, 4q), tight is [0, 2q) (D. Harvey, J. Symb. Comput. 60, 2014): 4q < 2^63. A product is in [0, 2q) for any operand, so u reduced to
/// [0, 2q), plus or minus it, plus 2q, is in [0, 4q) again.
#[derive(Clone, Copy)]
pub(super) struct Portable64 {
    q: u64,
}

/// The tables of [`Portable64`].
pub(super) const PORTABLE_64: Layout<u64> = Layout {
    log2_lanes: 0,
    log2_radix: 2,
    prepare: |modulus: Modulus, w| {
        let factor = ShoupFactor::new(modulus, w);
        [factor.value(), factor.quotient()]
    },
    lane_companions: true,
};

impl Portable64 {
    #[inline(always)]
    fn multiply(self, x: u64, [w, quotient]: [u64; 2]) -> u64 {
        let quotient = ((u128::from(x) * u128::from(quotient)) >> 64) as u64;
        x.wrapping_mul(w).wrapping_sub(quotient.wrapping_mul(self.q))
    }

    #[inline(always)]
    fn reduce(x: u64, by: u64) -> u64 {
        x.min(x.wrapping_sub(by))
    }
}

impl Butterfly for Portable64 {
    type Word = u64;
    type Vector = u64;
    type Factor = [u64; 2];
    const LOG2_LANES: usize = 0;

    #[inline(always)]
    unsafe fn new(tables: &Tables<u64>) -> Self {
        Self { q: tables.modulus.value() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> u64 {
        // SAFETY: valid for a word, by the trait's contract.
        unsafe { *from }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, value: u64) {
        // SAFETY: valid for a word, by the trait's contract.
        unsafe { *to = value }
    }
    #[inline(always)]
    unsafe fn broadcast(&self, pair: &[u64; 2]) -> [u64; 2] {
        *pair
    }
    #[inline(always)]
    unsafe fn lane_factors<const MIRRORED: bool>(&self, _: *const u64, _: *const u64, _: usize) -> [u64; 2] {
        unreachable!("one lane has no in-register stage")
    }
    #[inline(always)]
    unsafe fn forward(&self, u: u64, v: u64, w: [u64; 2]) -> (u64, u64) {
        let (u, product) = (Self::reduce(u, 2 * self.q), self.multiply(v, w));
        debug_assert!(u < 2 * self.q && product < 2 * self.q);
        (u + product, u + 2 * self.q - product)
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: u64, v: u64, w: [u64; 2]) -> (u64, u64) {
        debug_assert!(u < 2 * self.q && v < 2 * self.q);
        (Self::reduce(u + v, 2 * self.q), self.multiply(v + 2 * self.q - u, w))
    }
    #[inline(always)]
    unsafe fn inverse_last(&self, u: u64, v: u64, s: [u64; 2], w: [u64; 2], _level: usize) -> (u64, u64) {
        let (sum, difference) = (self.multiply(u + v, s), self.multiply(v + 2 * self.q - u, w));
        (Self::reduce(sum, self.q), Self::reduce(difference, self.q))
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: u64) -> u64 {
        Self::reduce(Self::reduce(loose, 2 * self.q), self.q)
    }
    #[inline(always)]
    unsafe fn swap(a: u64, b: u64, _: usize) -> (u64, u64) {
        (a, b)
    }
    #[inline(always)]
    unsafe fn interleave(a: u64, b: u64) -> (u64, u64) {
        (a, b)
    }
    #[inline(always)]
    unsafe fn deinterleave(a: u64, b: u64) -> (u64, u64) {
        (a, b)
    }
}
