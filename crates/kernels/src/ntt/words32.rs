//! Butterflies on 32-bit words, generic over the vector.

use super::butterfly::Butterfly;
use super::tables::{Layout, Tables};
use crate::modular::{Modulus, inverse_of_odd};

/// A register of 32-bit integers.
///
/// # Safety
/// Every method may use the implementation's instruction set; the caller has checked that it is present. Pointers are valid for a whole vector.
pub(super) trait Lanes32: Copy {
    const LOG2_LANES: usize;
    unsafe fn load(from: *const u32) -> Self;
    unsafe fn store(self, to: *mut u32);
    unsafe fn splat(value: u32) -> Self;
    /// Wrapping sum.
    unsafe fn add(self, other: Self) -> Self;
    /// Wrapping difference.
    unsafe fn sub(self, other: Self) -> Self;
    /// The smaller unsigned number.
    unsafe fn min(self, other: Self) -> Self;
    /// Low halves of the products.
    unsafe fn multiply_low(self, other: Self) -> Self;
    /// High halves of the products; `odd` is `other.odd()`, for sets that multiply every second lane.
    unsafe fn multiply_high(self, other: Self, odd: Self) -> Self;
    /// The odd lanes moved to the even ones (the identity if [`Self::multiply_high`] does not use it).
    unsafe fn odd(self) -> Self;
    /// `self` + (`a` < `b` ? `addend` : 0), wrapping.
    unsafe fn add_where_less(self, a: Self, b: Self, addend: Self) -> Self;
    /// Lane c gets lane (c >> `stage`) + `first`, or `first` + (lanes >> `stage`) − 1 − (c >> `stage`) with `MIRRORED`.
    unsafe fn spread<const MIRRORED: bool>(self, stage: usize, first: usize) -> Self;
    /// See [`Butterfly::swap`].
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self);
    /// See [`Butterfly::interleave`].
    #[inline(always)]
    unsafe fn interleave(mut a: Self, mut b: Self) -> (Self, Self) {
        for bit in 0..Self::LOG2_LANES {
            // SAFETY: by the trait's contract.
            (a, b) = unsafe { Self::swap(a, b, bit) };
        }
        (a, b)
    }
    /// See [`Butterfly::deinterleave`].
    #[inline(always)]
    unsafe fn deinterleave(mut a: Self, mut b: Self) -> (Self, Self) {
        for bit in (0..Self::LOG2_LANES).rev() {
            // SAFETY: by the trait's contract.
            (a, b) = unsafe { Self::swap(a, b, bit) };
        }
        (a, b)
    }
}

/// A factor with its companion, and the companion's odd lanes.
#[derive(Clone, Copy)]
pub(super) struct Factor32<L> {
    value: L,
    odd_value: L,
    companion: L,
    odd_companion: L,
}

/// Word moves shared by both arithmetics.
macro_rules! moves {
    () => {
        type Word = u32;
        type Vector = L;
        type Factor = Factor32<L>;
        const LOG2_LANES: usize = L::LOG2_LANES;

        #[inline(always)]
        unsafe fn load(from: *const u32) -> L {
            // SAFETY: by the trait's contract.
            unsafe { L::load(from) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut u32, value: L) {
            // SAFETY: by the trait's contract.
            unsafe { value.store(to) }
        }
        #[inline(always)]
        unsafe fn broadcast(&self, pair: &[u32; 2]) -> Factor32<L> {
            // SAFETY: by the trait's contract.
            let (value, companion) = unsafe { (L::splat(pair[0]), L::splat(pair[1])) };
            Factor32 { value, odd_value: value, companion, odd_companion: companion }
        }
        #[inline(always)]
        unsafe fn lane_factors<const MIRRORED: bool>(
            &self,
            block: *const u32,
            companions: *const u32,
            stage: usize,
        ) -> Factor32<L> {
            // Stage 0 uses the upper vector of the block, the others share the lower one.
            let (offset, first) = if stage == 0 { (Self::LANES, 0) } else { (0, Self::LANES >> stage) };
            // SAFETY: a block has two vectors, by the trait's contract.
            unsafe {
                let value = L::load(block.add(offset)).spread::<MIRRORED>(stage, first);
                let companion = L::load(companions.add(offset)).spread::<MIRRORED>(stage, first);
                Factor32 { value, odd_value: value.odd(), companion, odd_companion: companion.odd() }
            }
        }
        #[inline(always)]
        unsafe fn swap(a: L, b: L, bit: usize) -> (L, L) {
            // SAFETY: by the trait's contract.
            unsafe { L::swap(a, b, bit) }
        }
        #[inline(always)]
        unsafe fn interleave(a: L, b: L) -> (L, L) {
            // SAFETY: by the trait's contract.
            unsafe { L::interleave(a, b) }
        }
        #[inline(always)]
        unsafe fn deinterleave(a: L, b: L) -> (L, L) {
            // SAFETY: by the trait's contract.
            unsafe { L::deinterleave(a, b) }
        }
    };
}

/// Shoup's products of 32 bits, q < 2^30. Loose is [0, 4q), tight is [0, 2q), a product is in [0, 2q): 4q < 2^32.
#[derive(Clone, Copy)]
pub(super) struct Lazy32<L> {
    q: L,
    two_q: L,
}

/// Every modulus of [`Lazy32`] is below 2 to this power.
pub(super) const LAZY_BITS: u32 = 30;

/// The tables of [`Lazy32`] for vectors of 2^`log2_lanes` words.
pub(super) const fn lazy_32(log2_lanes: usize) -> Layout<u32> {
    Layout {
        log2_lanes,
        log2_radix: if log2_lanes == 0 { 2 } else { 3 },
        prepare: |modulus: Modulus, w| [w as u32, ((w << 32) / modulus.value()) as u32],
        lane_companions: true,
    }
}

impl<L: Lanes32> Lazy32<L> {
    /// w·x in [0, 2q), for any word x: as [`crate::modular::ShoupFactor::multiply_lazy`] with 32 bits.
    #[inline(always)]
    unsafe fn multiply(self, x: L, w: Factor32<L>) -> L {
        // SAFETY: by the trait's contract.
        unsafe {
            let quotient = x.multiply_high(w.companion, w.odd_companion);
            x.multiply_low(w.value).sub(quotient.multiply_low(self.q))
        }
    }
}

impl<L: Lanes32> Butterfly for Lazy32<L> {
    moves!();

    #[inline(always)]
    unsafe fn new(tables: &Tables<u32>) -> Self {
        let q = tables.modulus.value() as u32;
        // SAFETY: by the trait's contract.
        unsafe { Self { q: L::splat(q), two_q: L::splat(2 * q) } }
    }
    #[inline(always)]
    unsafe fn forward(&self, u: L, v: L, w: Factor32<L>) -> (L, L) {
        // SAFETY: by the trait's contract.
        unsafe {
            let (u, product) = (u.min(u.sub(self.two_q)), self.multiply(v, w));
            (u.add(product), u.add(self.two_q).sub(product))
        }
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: L, v: L, w: Factor32<L>) -> (L, L) {
        // SAFETY: by the trait's contract.
        unsafe {
            let sum = u.add(v);
            (sum.min(sum.sub(self.two_q)), self.multiply(v.add(self.two_q).sub(u), w))
        }
    }
    #[inline(always)]
    unsafe fn inverse_last(&self, u: L, v: L, s: Factor32<L>, w: Factor32<L>, _level: usize) -> (L, L) {
        // SAFETY: by the trait's contract.
        unsafe {
            let sum = self.multiply(u.add(v), s);
            let difference = self.multiply(v.add(self.two_q).sub(u), w);
            (sum.min(sum.sub(self.q)), difference.min(difference.sub(self.q)))
        }
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: L) -> L {
        // SAFETY: by the trait's contract.
        unsafe {
            let tight = loose.min(loose.sub(self.two_q));
            tight.min(tight.sub(self.q))
        }
    }
}

/// Montgomery's products with R = 2^32, for any odd q < 2^32. Loose, tight and products are canonical, because 2q may exceed 2^32.
#[derive(Clone, Copy)]
pub(super) struct Strict32<L> {
    q: L,
}

/// The tables of [`Strict32`] for vectors of 2^`log2_lanes` words: w·R mod q and w·R·q^-1 mod R.
pub(super) const fn strict_32(log2_lanes: usize) -> Layout<u32> {
    Layout {
        log2_lanes,
        log2_radix: if log2_lanes == 0 { 2 } else { 3 },
        prepare: |modulus: Modulus, w| {
            let form = ((w << 32) % modulus.value()) as u32;
            [form, form.wrapping_mul(inverse_of_odd(modulus.value()) as u32)]
        },
        lane_companions: true,
    }
}

impl<L: Lanes32> Strict32<L> {
    /// w·x in [0, q), for any word x.
    ///
    /// With m = lo(x·w·q^-1) the low halves of xw and mq are equal, so hi(xw) − hi(mq) = (xw − mq)/R exactly, in (−q, q); q is added if it is negative.
    #[inline(always)]
    unsafe fn multiply(self, x: L, w: Factor32<L>) -> L {
        // SAFETY: by the trait's contract.
        unsafe {
            let high = x.multiply_high(w.value, w.odd_value);
            let multiple = x.multiply_low(w.companion).multiply_high(self.q, self.q);
            high.sub(multiple).add_where_less(high, multiple, self.q)
        }
    }

    /// a − b of canonical residues.
    #[inline(always)]
    unsafe fn sub(self, a: L, b: L) -> L {
        // SAFETY: by the trait's contract.
        unsafe { a.sub(b).add_where_less(a, b, self.q) }
    }

    /// a + b of canonical residues, as a − (q − b): q − b does not wrap.
    #[inline(always)]
    unsafe fn add(self, a: L, b: L) -> L {
        // SAFETY: by the trait's contract.
        unsafe { self.sub(a, self.q.sub(b)) }
    }
}

impl<L: Lanes32> Butterfly for Strict32<L> {
    moves!();
    /// In AVX-512.
    const LOOPED: bool = L::LOG2_LANES == 4;

    #[inline(always)]
    unsafe fn new(tables: &Tables<u32>) -> Self {
        // SAFETY: by the trait's contract.
        unsafe { Self { q: L::splat(tables.modulus.value() as u32) } }
    }
    #[inline(always)]
    unsafe fn forward(&self, u: L, v: L, w: Factor32<L>) -> (L, L) {
        // SAFETY: by the trait's contract.
        unsafe {
            let product = self.multiply(v, w);
            (self.add(u, product), self.sub(u, product))
        }
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: L, v: L, w: Factor32<L>) -> (L, L) {
        // SAFETY: by the trait's contract.
        unsafe { (self.add(u, v), self.multiply(self.sub(v, u), w)) }
    }
    #[inline(always)]
    unsafe fn inverse_last(&self, u: L, v: L, s: Factor32<L>, w: Factor32<L>, _level: usize) -> (L, L) {
        // SAFETY: by the trait's contract.
        unsafe { (self.multiply(self.add(u, v), s), self.multiply(self.sub(v, u), w)) }
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: L) -> L {
        loose
    }
}

/// A single word.
impl Lanes32 for u32 {
    const LOG2_LANES: usize = 0;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: valid for a word, by the trait's contract.
        unsafe { *from }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: valid for a word, by the trait's contract.
        unsafe { *to = self }
    }
    #[inline(always)]
    unsafe fn splat(value: u32) -> Self {
        value
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }
    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    unsafe fn multiply_high(self, other: Self, _: Self) -> Self {
        ((u64::from(self) * u64::from(other)) >> 32) as u32
    }
    #[inline(always)]
    unsafe fn odd(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn add_where_less(self, a: Self, b: Self, addend: Self) -> Self {
        self.wrapping_add(if a < b { addend } else { 0 })
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(self, _: usize, _: usize) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, _: usize) -> (Self, Self) {
        (a, b)
    }
}
