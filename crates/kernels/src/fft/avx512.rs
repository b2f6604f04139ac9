//! Eight f64 in one AVX-512 register.
//!
//! Every intrinsic below needs AVX-512 F, DQ, BW and VL, which the caller of a [`Lanes`] method has.

use super::lanes::{Lanes, TWO_32, TWO_64};
use super::passes::Field;
use std::arch::x86_64::*;

/// One 512-bit register.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512d);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

impl Lanes for Avx512 {
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        Self(unsafe { _mm512_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe { _mm512_storeu_pd(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_sub_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_mul_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_fmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_fnmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { (Self(_mm512_shuffle_f64x2::<0x44>(a.0, b.0)), Self(_mm512_shuffle_f64x2::<0xee>(a.0, b.0))) }
    }
    #[inline(always)]
    unsafe fn exchange_quarters(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { (Self(_mm512_shuffle_f64x2::<0x88>(a.0, b.0)), Self(_mm512_shuffle_f64x2::<0xdd>(a.0, b.0))) }
    }
    #[inline(always)]
    unsafe fn exchange_lanes(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { (Self(_mm512_unpacklo_pd(a.0, b.0)), Self(_mm512_unpackhi_pd(a.0, b.0))) }
    }
    #[inline(always)]
    unsafe fn fields_32<const SHIFT: bool>(words: *const u32, field: Field) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let mut words = _mm256_loadu_si256(words.cast());
            if SHIFT {
                words = _mm256_sllv_epi32(words, _mm256_set1_epi32(field.left as i32));
            }
            Self(_mm512_cvtepi32_pd(_mm256_and_si256(words, _mm256_set1_epi32(field.mask as i32))))
        }
    }
    #[inline(always)]
    unsafe fn fields_64(words: *const u64, field: Field) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let words = _mm512_loadu_si512(words.cast());
            let left = _mm512_sllv_epi64(words, _mm512_set1_epi64(i64::from(field.left)));
            Self(_mm512_cvtepi64_pd(_mm512_and_si512(left, _mm512_set1_epi64(field.mask as i64))))
        }
    }
    #[inline(always)]
    unsafe fn add_to_32(self, words: *mut u32) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let low = _mm512_cvtepi64_epi32(_mm512_cvtpd_epi64(self.0));
            let old = _mm256_loadu_si256(words.cast());
            _mm256_storeu_si256(words.cast(), _mm256_add_epi32(old, low));
        }
    }
    #[inline(always)]
    unsafe fn add_to_64(self, words: *mut u64) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let turns = _mm512_roundscale_pd::<NEAREST>(_mm512_mul_pd(self.0, _mm512_set1_pd(1.0 / TWO_64)));
            let centred = _mm512_fnmadd_pd(turns, _mm512_set1_pd(TWO_64), self.0);
            // 2^63 itself converts to the bit pattern of −2^63, which is the same mod 2^64.
            let integer = _mm512_cvtpd_epi64(centred);
            let old = _mm512_loadu_si512(words.cast());
            _mm512_storeu_si512(words.cast(), _mm512_add_epi64(old, integer));
        }
    }
    #[inline(always)]
    unsafe fn prefetch(line: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) }
    }
    #[inline(always)]
    unsafe fn reduce_32(self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let turns = _mm512_roundscale_pd::<NEAREST>(_mm512_mul_pd(self.0, _mm512_set1_pd(1.0 / TWO_32)));
            Self(_mm512_fnmadd_pd(turns, _mm512_set1_pd(TWO_32), self.0))
        }
    }
}
