//! Eight 32-bit words in one AVX2 register.
//!
//! Every intrinsic below needs AVX2, which the caller of a [`Lanes32`] method guarantees.

use super::words32::Lanes32;
use std::arch::x86_64::*;

/// One 256-bit register.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256i);

impl Lanes32 for Avx2 {
    const LOG2_LANES: usize = 3;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the set is present and eight words are valid, by the trait's contract.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the set is present and eight words are valid, by the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: u32) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_set1_epi32(value as i32) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_sub_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_min_epu32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_mullo_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn multiply_high(self, other: Self, odd: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(self.0, other.0));
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(self.0), odd.0);
            Self(_mm256_blend_epi32::<0xaa>(even, odd))
        }
    }
    #[inline(always)]
    unsafe fn odd(self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_srli_epi64::<32>(self.0) })
    }
    #[inline(always)]
    unsafe fn add_where_less(self, a: Self, b: Self, addend: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            // AVX2 has no unsigned comparison: a ≥ b if and only if the larger one is a.
            let not_less = _mm256_cmpeq_epi32(_mm256_max_epu32(a.0, b.0), a.0);
            Self(_mm256_add_epi32(self.0, _mm256_andnot_si256(not_less, addend.0)))
        }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(self, stage: usize, first: usize) -> Self {
        if stage == 0 && !MIRRORED {
            return self;
        }
        let last = first + (8 >> stage) - 1;
        let number = |lane: usize| (if MIRRORED { last - (lane >> stage) } else { first + (lane >> stage) }) as i32;
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let numbers = _mm256_setr_epi32(
                number(0),
                number(1),
                number(2),
                number(3),
                number(4),
                number(5),
                number(6),
                number(7),
            );
            Self(_mm256_permutevar8x32_epi32(self.0, numbers))
        }
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self) {
        let (a, b) = (a.0, b.0);
        // SAFETY: the set is present, by the trait's contract.
        let (a, b) = unsafe {
            match bit {
                0 => (
                    _mm256_blend_epi32::<0xaa>(a, _mm256_slli_epi64::<32>(b)),
                    _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(a), b),
                ),
                1 => (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)),
                _ => (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)),
            }
        };
        (Self(a), Self(b))
    }
}
