//! Eight f64 in two AVX2 registers.
//!
//! Every intrinsic below needs AVX2 and FMA, which the caller of a [`Lanes`] method has.

use super::lanes::{Lanes, MAGIC, TWO_32, TWO_64};
use std::arch::x86_64::*;

/// Two 256-bit registers, the low lanes first.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256d, __m256d);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// x − `modulus` · ⌊x / `modulus`⌉. SAFETY: AVX2 and FMA are present.
#[inline(always)]
unsafe fn reduce(x: __m256d, modulus: f64) -> __m256d {
    // SAFETY: the set is present, by this function's contract.
    unsafe {
        let turns = _mm256_round_pd::<NEAREST>(_mm256_mul_pd(x, _mm256_set1_pd(1.0 / modulus)));
        _mm256_fnmadd_pd(turns, _mm256_set1_pd(modulus), x)
    }
}

impl Lanes for Avx2 {
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe { Self(_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            _mm256_storeu_pd(to, self.0);
            _mm256_storeu_pd(to.add(4), self.1);
        }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_set1_pd(value), _mm256_set1_pd(value)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_add_pd(self.0, other.0), _mm256_add_pd(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_sub_pd(self.0, other.0), _mm256_sub_pd(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_fmadd_pd(self.0, factor.0, term.0), _mm256_fmadd_pd(self.1, factor.1, term.1)) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_fnmadd_pd(self.0, factor.0, term.0), _mm256_fnmadd_pd(self.1, factor.1, term.1)) }
    }
    #[inline(always)]
    unsafe fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        (Self(a.0, b.0), Self(a.1, b.1))
    }
    #[inline(always)]
    unsafe fn exchange_quarters(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            (
                Self(_mm256_permute2f128_pd::<0x20>(a.0, a.1), _mm256_permute2f128_pd::<0x20>(b.0, b.1)),
                Self(_mm256_permute2f128_pd::<0x31>(a.0, a.1), _mm256_permute2f128_pd::<0x31>(b.0, b.1)),
            )
        }
    }
    #[inline(always)]
    unsafe fn exchange_lanes(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            (
                Self(_mm256_unpacklo_pd(a.0, b.0), _mm256_unpacklo_pd(a.1, b.1)),
                Self(_mm256_unpackhi_pd(a.0, b.0), _mm256_unpackhi_pd(a.1, b.1)),
            )
        }
    }
    #[inline(always)]
    unsafe fn widened(from: *const u8) -> (Self, Self) {
        // SAFETY: the set is present and 96 bytes are valid, by the trait's contract: each load is of sixteen of them, of which it takes twelve, the
        // first or, of the last, the last.
        unsafe {
            let top = _mm256_broadcastsi128_si256(_mm_setr_epi8(-1, -1, 0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11));
            let last = _mm_setr_epi8(-1, -1, 4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15);
            let last = _mm256_inserti128_si256::<1>(top, last);
            let two = |low: usize, high: usize, top: __m256i| {
                let low = _mm256_castsi128_si256(_mm_loadu_si128(from.add(low).cast()));
                let both = _mm256_inserti128_si256::<1>(low, _mm_loadu_si128(from.add(high).cast()));
                _mm256_castsi256_pd(_mm256_shuffle_epi8(both, top))
            };
            (Self(two(0, 12, top), two(24, 36, top)), Self(two(48, 60, top), two(72, 80, last)))
        }
    }
    #[inline(always)]
    unsafe fn from_i32(words: *const i32) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            Self(
                _mm256_cvtepi32_pd(_mm_loadu_si128(words.cast())),
                _mm256_cvtepi32_pd(_mm_loadu_si128(words.add(4).cast())),
            )
        }
    }
    #[inline(always)]
    unsafe fn from_i64(words: *const i64) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            // The set has no 64-bit conversion.
            let numbers = words.cast::<[i64; 8]>().read_unaligned().map(|word| word as f64);
            Self::load(numbers.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32) {
        for (value, to) in [(a, to_a), (b, to_b)] {
            // SAFETY: the set is present and eight elements are valid, by the trait's contract.
            unsafe {
                // The low halves of eight 64-bit lanes, in order.
                let pairs = _mm256_shuffle_ps::<0x88>(_mm256_castpd_ps(value.0), _mm256_castpd_ps(value.1));
                let ordered = _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(pairs));
                let words = _mm256_sllv_epi32(ordered, _mm256_set1_epi32(shift as i32));
                let old = _mm256_loadu_si256(to.cast());
                _mm256_storeu_si256(to.cast(), _mm256_add_epi32(old, words));
            }
        }
    }
    #[inline(always)]
    unsafe fn add_to_64(self, words: *mut u64) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let magic = _mm256_set1_pd(MAGIC);
            let integer = |x: __m256d| {
                let bits = _mm256_castpd_si256(_mm256_add_pd(x, magic));
                _mm256_sub_epi64(bits, _mm256_castpd_si256(magic))
            };
            let add = |x: __m256d, words: *mut u64| {
                let centred = reduce(x, TWO_64);
                let high = _mm256_round_pd::<NEAREST>(_mm256_mul_pd(centred, _mm256_set1_pd(1.0 / TWO_32)));
                let low = _mm256_fnmadd_pd(high, _mm256_set1_pd(TWO_32), centred);
                let sum = _mm256_add_epi64(_mm256_slli_epi64::<32>(integer(high)), integer(low));
                let old = _mm256_loadu_si256(words.cast());
                _mm256_storeu_si256(words.cast(), _mm256_add_epi64(old, sum));
            };
            add(self.0, words);
            add(self.1, words.add(4));
        }
    }
    #[inline(always)]
    unsafe fn prefetch(line: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) }
    }
    #[inline(always)]
    unsafe fn prefetch_near(line: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
    }
    #[inline(always)]
    unsafe fn reduce_32(self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(reduce(self.0, TWO_32), reduce(self.1, TWO_32)) }
    }
}
