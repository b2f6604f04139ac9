//! Sixteen 32-bit words in one AVX-512 register.
//!
//! Every intrinsic below needs AVX-512 F, which the caller of a [`Lanes32`] method guarantees.

use super::words32::Lanes32;
use std::arch::x86_64::*;

/// One 512-bit register.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512i);

/// 0, 1, …, 15.
const RAMP: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl Avx512 {
    #[inline(always)]
    unsafe fn constant(words: &[u32; 16]) -> __m512i {
        // SAFETY: the set is present, by the trait's contract; the array is 64 bytes.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }
}

impl Lanes32 for Avx512 {
    const LOG2_LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the set is present and 16 words are valid, by the trait's contract.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the set is present and 16 words are valid, by the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: u32) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_set1_epi32(value as i32) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_sub_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_min_epu32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_mullo_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn multiply_high(self, other: Self, odd: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(self.0, other.0));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(self.0), odd.0);
            Self(_mm512_mask_blend_epi32(0xaaaa, even, odd))
        }
    }
    #[inline(always)]
    unsafe fn odd(self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_srli_epi64::<32>(self.0) })
    }
    #[inline(always)]
    unsafe fn add_where_less(self, a: Self, b: Self, addend: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_mask_add_epi32(self.0, _mm512_cmplt_epu32_mask(a.0, b.0), self.0, addend.0) })
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(self, stage: usize, first: usize) -> Self {
        if stage == 0 && !MIRRORED {
            return self;
        }
        let (first, last) = (first as u32, (first + (16 >> stage) - 1) as u32);
        let numbers = RAMP.map(|lane| if MIRRORED { last - (lane >> stage) } else { first + (lane >> stage) });
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_permutexvar_epi32(Self::constant(&numbers), self.0) })
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self) {
        let (a, b) = (a.0, b.0);
        // SAFETY: the set is present, by the trait's contract.
        let (a, b) = unsafe {
            match bit {
                0 => (
                    _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64::<32>(b)),
                    _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64::<32>(a), b),
                ),
                1 => (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)),
                2 => (
                    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b),
                    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b),
                ),
                _ => (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b)),
            }
        };
        (Self(a), Self(b))
    }
    #[inline(always)]
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
        let low = RAMP.map(|lane| lane / 2 + 16 * (lane % 2));
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            (
                Self(_mm512_permutex2var_epi32(a.0, Self::constant(&low), b.0)),
                Self(_mm512_permutex2var_epi32(a.0, Self::constant(&low.map(|number| number + 8)), b.0)),
            )
        }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        let even = RAMP.map(|lane| 2 * lane);
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            (
                Self(_mm512_permutex2var_epi32(a.0, Self::constant(&even), b.0)),
                Self(_mm512_permutex2var_epi32(a.0, Self::constant(&even.map(|number| number + 1)), b.0)),
            )
        }
    }
}
