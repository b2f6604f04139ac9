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
    unsafe fn transpose(rows: [Self; 8]) -> [Self; 8] {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            // 2×2 blocks within 128 bits, then 128-bit pieces within halves, then halves.
            let pair = |r: usize| {
                let (a, b) = (rows[r].0, rows[r + 1].0);
                (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
            };
            let (a0, a1) = pair(0);
            let (b0, b1) = pair(2);
            let (c0, c1) = pair(4);
            let (d0, d1) = pair(6);
            // 0x88 takes pieces 0 and 2 of both operands, 0xdd pieces 1 and 3.
            let even = |a, b| _mm512_shuffle_f64x2::<0x88>(a, b);
            let odd = |a, b| _mm512_shuffle_f64x2::<0xdd>(a, b);
            let (p0, p1) = (even(a0, b0), odd(a0, b0));
            let (q0, q1) = (even(c0, d0), odd(c0, d0));
            let (r0, r1) = (even(a1, b1), odd(a1, b1));
            let (s0, s1) = (even(c1, d1), odd(c1, d1));
            [
                Self(even(p0, q0)),
                Self(even(r0, s0)),
                Self(even(p1, q1)),
                Self(even(r1, s1)),
                Self(odd(p0, q0)),
                Self(odd(r0, s0)),
                Self(odd(p1, q1)),
                Self(odd(r1, s1)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn digits_32(words: *const u32, field: Field) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let words = _mm256_loadu_si256(words.cast());
            let left = _mm256_sll_epi32(words, _mm_cvtsi32_si128(field.left as i32));
            let digit = _mm256_sra_epi32(left, _mm_cvtsi32_si128(field.right as i32));
            Self(_mm512_cvtepi32_pd(digit))
        }
    }
    #[inline(always)]
    unsafe fn digits_64(words: *const u64, field: Field) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let words = _mm512_loadu_si512(words.cast());
            let left = _mm512_sll_epi64(words, _mm_cvtsi32_si128(field.left as i32));
            let digit = _mm512_sra_epi64(left, _mm_cvtsi32_si128(field.right as i32));
            Self(_mm512_cvtepi64_pd(digit))
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
