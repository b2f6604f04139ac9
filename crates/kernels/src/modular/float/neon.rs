//! [`Floats`] in NEON.

use super::{Floats, Places};
use std::arch::aarch64::*;

/// Two f64 in a NEON register.
#[derive(Clone, Copy)]
pub(crate) struct Neon(float64x2_t);

/// `words`, plus q where they are negative. SAFETY: NEON is present.
#[inline(always)]
unsafe fn raised(words: uint64x2_t, q: uint64x2_t) -> uint64x2_t {
    // SAFETY: this function's contract.
    unsafe {
        let sign = vreinterpretq_u64_s64(vshrq_n_s64::<63>(vreinterpretq_s64_u64(words)));
        vaddq_u64(words, vandq_u64(sign, q))
    }
}

impl Floats for Neon {
    type Words = uint64x2_t;
    const LOG2_LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const u64) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vld1q_u64(from) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, words: uint64x2_t) {
        // SAFETY: the trait's contract.
        unsafe { vst1q_u64(to, words) }
    }
    /// An ordinary store: there is no intrinsic for a streaming one.
    #[inline(always)]
    unsafe fn stream(to: *mut u64, words: uint64x2_t) {
        // SAFETY: the trait's contract.
        unsafe { vst1q_u64(to, words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u64) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vdupq_n_u64(word) }
    }
    #[inline(always)]
    unsafe fn add_words(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vaddq_u64(a, b) }
    }
    #[inline(always)]
    unsafe fn sub_words(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vsubq_u64(a, b) }
    }
    #[inline(always)]
    unsafe fn or_words(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vorrq_u64(a, b) }
    }
    #[inline(always)]
    unsafe fn xor_words(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { veorq_u64(a, b) }
    }
    #[inline(always)]
    unsafe fn shift_right_32(a: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vshrq_n_u64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn shift_left_32(a: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vshlq_n_u64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn reduce_once(words: uint64x2_t, q: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { raised(vsubq_u64(words, q), q) }
    }
    #[inline(always)]
    unsafe fn raise(words: uint64x2_t, q: uint64x2_t) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { raised(words, q) }
    }
    #[inline(always)]
    unsafe fn from_bits(words: uint64x2_t) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vreinterpretq_f64_u64(words)) }
    }
    #[inline(always)]
    unsafe fn bits(self) -> uint64x2_t {
        // SAFETY: the trait's contract.
        unsafe { vreinterpretq_u64_f64(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vdupq_n_f64(value)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vaddq_f64(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vsubq_f64(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vmulq_f64(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vfmaq_f64(term.0, self.0, factor.0)) }
    }
    #[inline(always)]
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vfmaq_f64(vnegq_f64(term.0), self.0, factor.0)) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vfmsq_f64(term.0, self.0, factor.0)) }
    }
    #[inline(always)]
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let addend = vandq_u64(vcltq_f64(self.0, bound.0), vreinterpretq_u64_f64(addend.0));
            Self(vaddq_f64(self.0, vreinterpretq_f64_u64(addend)))
        }
    }
    /// With two lanes there is one bit, so this also serves as [`Self::interleave`] and [`Self::deinterleave`].
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, _bit: usize) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe { (Self(vtrn1q_f64(a.0, b.0)), Self(vtrn2q_f64(a.0, b.0))) }
    }
    #[inline(always)]
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe { Self::swap(a, b, 0) }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe { Self::swap(a, b, 0) }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, _stage: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let source = vld1q_f64(block.add(2).cast());
            Self(if MIRRORED { vextq_f64::<1>(source, source) } else { source })
        }
    }
    #[inline(always)]
    unsafe fn unpack(block: *const u64, lane: usize, places: &Places) -> uint64x2_t {
        let width = places.width;
        // The last two words, preceded by earlier bytes.
        let (from, places) = if lane == 6 { (8 * width - 16, &places.last) } else { (lane * width, &places.first) };
        // SAFETY: the trait's contract; a block has eight times `width` bytes, at least 32.
        unsafe {
            let bytes = vld1q_u8(block.cast::<u8>().add(from));
            vreinterpretq_u64_u8(vqtbl1q_u8(bytes, vld1q_u8(places.as_ptr())))
        }
    }
}
