//! Butterflies on residues below 2^50 as f64, in AVX2, in AVX-512 without IFMA and in NEON.
//!
//! Between passes, words contain the bits of f64 numbers, integers of either sign. Every intrinsic below needs the set of `V`, which the caller of a
//! [`Butterfly`] method guarantees.

use super::butterfly::Butterfly;
use super::tables::{Layout, Tables};
use crate::modular::Modulus;
use crate::modular::float::{Factor, Floats, Residues, factor};

/// A vector `V` of numbers at a time, q < 2^50.
///
/// A product of x is within (1/2 + |x|·2^-54)·q of 0 for |x| ≤ 2^52 (see [`Residues::times`]). In units of q, at most 2^50, that is 1/2 + |x|/16 for
/// |x| ≤ 4, and integers are exact below 8.
///
/// *Forward.* A butterfly adds a product to u: |u| grows by 1/2 + |v|/16. At the start of each pass except the first, the operands u of its first stage are
/// reduced to 1/2. Canonical words at the transform's start are below 1, and the first pass increases them to 1.57, 2.17 and 2.81; each later pass
/// reaches at most 1.18, 1.75 and 2.36. The innermost pass ends with these, followed by at most three stages in registers with 3.01, 3.70 and 4.44: no
/// multiplicand is above 4, and loose is below 5.
///
/// *Inverse.* Tight is below 1. In registers, sums are reduced to 1/2, and products are of differences below 2, so below 5/8. In a pass, words of stage 0
/// are below 1, with sums below 2 and products below 5/8; stage 1 has sums below 4, reduced to 1/2, and products below 3/4; stage 2 has sums below 2 and
/// products below 5/8. Sums are made tight at the pass's end. The transform's last stage multiplies sums and differences below 4.
///
/// `ROOMY`, for q < 2^48: products are within 1/2 + |x|/64 for |x| ≤ 16, and integers are exact below 32. Forward, 17 stages go from 1 to 11 and reduce
/// only at the end. Inverse, stage 1 does not reduce: the words of stages 0 to 2 are below 1, 2 and 4.
#[derive(Clone, Copy)]
pub(super) struct Float<V: Floats, const ROOMY: bool>(Residues<V>);

/// Every modulus of `Float<_, true>` is below 2 to this power.
pub(super) const ROOMY_BITS: u32 = 48;

/// The tables of [`Float`] with 2^`log2_lanes` lanes: w and w/q as the bits of numbers.
pub(super) const fn float(log2_lanes: usize) -> Layout<u64> {
    Layout {
        log2_lanes,
        log2_radix: 3,
        prepare: |modulus: Modulus, w| factor(modulus, w).map(f64::to_bits),
        lane_companions: true,
    }
}

impl<V: Floats, const ROOMY: bool> Butterfly for Float<V, ROOMY> {
    type Word = u64;
    type Vector = V;
    type Factor = Factor<V>;
    const LOG2_LANES: usize = V::LOG2_LANES;

    #[inline(always)]
    unsafe fn new(tables: &Tables<u64>) -> Self {
        // SAFETY: the set is present, by the trait's contract, here and in every method below.
        Self(unsafe { Residues::new(tables.modulus.value()) })
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> V {
        // SAFETY: the trait's contract.
        unsafe { V::from_bits(V::load(from)) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, value: V) {
        // SAFETY: the trait's contract.
        unsafe { V::store(to, value.bits()) }
    }
    #[inline(always)]
    unsafe fn broadcast(&self, pair: &[u64; 2]) -> Factor<V> {
        // SAFETY: the trait's contract.
        unsafe { Factor { w: V::splat(f64::from_bits(pair[0])), quotient: V::splat(f64::from_bits(pair[1])) } }
    }
    #[inline(always)]
    unsafe fn lane_factors<const MIRRORED: bool>(
        &self,
        block: *const u64,
        companions: *const u64,
        stage: usize,
    ) -> Factor<V> {
        // SAFETY: the trait's contract.
        unsafe { Factor { w: V::spread::<MIRRORED>(block, stage), quotient: V::spread::<MIRRORED>(companions, stage) } }
    }
    #[inline(always)]
    unsafe fn enter(&self, canonical: V) -> V {
        // SAFETY: the trait's contract.
        unsafe { self.0.enter(canonical.bits()) }
    }
    #[inline(always)]
    unsafe fn refresh(&self, loose: V) -> V {
        // SAFETY: the trait's contract.
        unsafe { if ROOMY { loose } else { self.0.reduce(loose) } }
    }
    #[inline(always)]
    unsafe fn forward(&self, u: V, v: V, w: Factor<V>) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe {
            let product = self.0.times(v, w);
            (u.add(product), u.sub(product))
        }
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: V, v: V, w: Factor<V>) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe { (self.0.reduce(u.add(v)), self.0.times(v.sub(u), w)) }
    }
    #[inline(always)]
    unsafe fn inverse_at(&self, u: V, v: V, w: Factor<V>, level: usize) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe {
            let sum = u.add(v);
            let sum = if !ROOMY && level == 1 { self.0.reduce(sum) } else { sum };
            (sum, self.0.times(v.sub(u), w))
        }
    }
    #[inline(always)]
    unsafe fn tighten(&self, word: V, doublings: usize) -> V {
        // SAFETY: the trait's contract.
        unsafe { if doublings > 0 { self.0.reduce(word) } else { word } }
    }
    #[inline(always)]
    unsafe fn inverse_last(&self, u: V, v: V, s: Factor<V>, w: Factor<V>, _level: usize) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe {
            let (sum, difference) = (self.0.times(u.add(v), s), self.0.times(v.sub(u), w));
            (V::from_bits(self.0.leave(sum)), V::from_bits(self.0.leave(difference)))
        }
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: V) -> V {
        // SAFETY: the trait's contract.
        unsafe { V::from_bits(self.0.leave(self.0.reduce(loose))) }
    }
    #[inline(always)]
    unsafe fn swap(a: V, b: V, bit: usize) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe { V::swap(a, b, bit) }
    }
    #[inline(always)]
    unsafe fn interleave(a: V, b: V) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe { V::interleave(a, b) }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: V, b: V) -> (V, V) {
        // SAFETY: the trait's contract.
        unsafe { V::deinterleave(a, b) }
    }
}
