//! Eight f64 in one AVX-512 register.
//!
//! Every intrinsic below needs AVX-512 F, DQ, BW and VL, which the caller of a [`Lanes`] method has.

use super::lanes::{Lanes, TWO_32, TWO_64};
use super::words::Preparation;
use std::arch::x86_64::*;

/// One 512-bit register.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512d);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Eight words, and the eight 4 · `apart` words further. SAFETY: AVX-512 is present, and the words are valid.
#[inline(always)]
unsafe fn pair_of_words(words: *const u32, apart: usize) -> __m512i {
    // SAFETY: this function's contract.
    unsafe {
        let low = _mm512_castsi256_si512(_mm256_loadu_si256(words.cast()));
        _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(words.add(4 * apart).cast()))
    }
}

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
    unsafe fn digits_32<const LEVELS: u32>(
        from: *const u32,
        own: *const u32,
        negated: bool,
        preparation: Preparation,
        out: *mut u32,
        degree: usize,
    ) {
        // SAFETY: the set is present and sixteen elements are valid, by the trait's contract.
        unsafe {
            let Preparation { add, flip, mask, log2_base, .. } = preparation;
            let (from, own) = (_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(own.cast()));
            let add = _mm512_set1_epi32(add as i32);
            let sum = if negated {
                _mm512_sub_epi32(_mm512_sub_epi32(add, own), from)
            } else {
                _mm512_add_epi32(_mm512_sub_epi32(from, own), add)
            };
            let mut words = _mm512_xor_si512(sum, _mm512_set1_epi32(flip as i32));
            let (mask, base) = (_mm512_set1_epi32(mask as i32), _mm512_set1_epi32(log2_base as i32));
            for level in 0..preparation.count::<LEVELS>() {
                _mm512_storeu_si512(out.add(level as usize * degree).cast(), _mm512_and_si512(words, mask));
                words = _mm512_sllv_epi32(words, base);
            }
        }
    }
    #[inline(always)]
    unsafe fn digits_of_eight(
        words: *const u32,
        apart: usize,
        preparation: Preparation,
        out: *mut u32,
        level_apart: usize,
    ) {
        // SAFETY: the set is present and the words are valid, by the trait's contract.
        unsafe {
            let Preparation { add, flip, mask, log2_base, levels } = preparation;
            let (add, flip) = (_mm512_set1_epi32(add as i32), _mm512_set1_epi32(flip as i32));
            let mut pairs = [add; 4];
            for (lane, pair) in pairs.iter_mut().enumerate() {
                let sum = _mm512_add_epi32(pair_of_words(words.add(lane * apart), apart), add);
                *pair = _mm512_xor_si512(sum, flip);
            }
            // Polynomials c and c + 4; then words 0 to 3 and 4 to 7 of c, c + 1, c + 4, c + 5; then two words of all.
            let [a, b, c, d] = pairs;
            let low = _mm512_setr_epi32(0, 16, 8, 24, 1, 17, 9, 25, 2, 18, 10, 26, 3, 19, 11, 27);
            let high = _mm512_setr_epi32(4, 20, 12, 28, 5, 21, 13, 29, 6, 22, 14, 30, 7, 23, 15, 31);
            let first = _mm512_setr_epi32(0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
            let second = _mm512_setr_epi32(8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
            let (left, right) = (_mm512_permutex2var_epi32(a, low, b), _mm512_permutex2var_epi32(c, low, d));
            let (left_high, right_high) =
                (_mm512_permutex2var_epi32(a, high, b), _mm512_permutex2var_epi32(c, high, d));
            let mut all = [
                _mm512_permutex2var_epi32(left, first, right),
                _mm512_permutex2var_epi32(left, second, right),
                _mm512_permutex2var_epi32(left_high, first, right_high),
                _mm512_permutex2var_epi32(left_high, second, right_high),
            ];
            let (mask, base) = (_mm512_set1_epi32(mask as i32), _mm512_set1_epi32(log2_base as i32));
            for level in 0..levels as usize {
                for (j, words) in all.iter_mut().enumerate() {
                    let digits = _mm512_and_si512(*words, mask);
                    _mm512_storeu_si512(out.add(level * level_apart + 16 * j).cast(), digits);
                    *words = _mm512_sllv_epi32(*words, base);
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn accumulate_of_eight(numbers: *const f64, shift: u32, to: *mut u32, apart: usize) {
        // SAFETY: the set is present and the numbers are valid, by the trait's contract.
        unsafe {
            // Low halves: two words of all polynomials; then words 0 to 3 of c, c + 1, c + 4, c + 5; then all words of c and c + 4.
            let halves = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let left = _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29);
            let right = _mm512_setr_epi32(2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
            let first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 2, 6, 10, 14, 18, 22, 26, 30);
            let second = _mm512_setr_epi32(1, 5, 9, 13, 17, 21, 25, 29, 3, 7, 11, 15, 19, 23, 27, 31);
            let mut pairs = [_mm512_setzero_si512(); 4];
            for (j, pair) in pairs.iter_mut().enumerate() {
                let two = numbers.add(16 * j);
                let (even, odd) = (_mm512_loadu_si512(two.cast()), _mm512_loadu_si512(two.add(8).cast()));
                *pair = _mm512_permutex2var_epi32(even, halves, odd);
            }
            let [a, b, c, d] = pairs;
            let (low, low_right) = (_mm512_permutex2var_epi32(a, left, b), _mm512_permutex2var_epi32(a, right, b));
            let (high, high_right) = (_mm512_permutex2var_epi32(c, left, d), _mm512_permutex2var_epi32(c, right, d));
            let all = [
                _mm512_permutex2var_epi32(low, first, high),
                _mm512_permutex2var_epi32(low, second, high),
                _mm512_permutex2var_epi32(low_right, first, high_right),
                _mm512_permutex2var_epi32(low_right, second, high_right),
            ];
            let shift = _mm512_set1_epi32(shift as i32);
            for (lane, words) in all.into_iter().enumerate() {
                let to = to.add(lane * apart);
                let sum = _mm512_add_epi32(pair_of_words(to, apart), _mm512_sllv_epi32(words, shift));
                _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(sum));
                _mm256_storeu_si256(to.add(4 * apart).cast(), _mm512_extracti64x4_epi64::<1>(sum));
            }
        }
    }
    #[inline(always)]
    unsafe fn from_i32(words: *const i32) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        Self(unsafe { _mm512_cvtepi32_pd(_mm256_loadu_si256(words.cast())) })
    }
    #[inline(always)]
    unsafe fn from_i64(words: *const i64) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        Self(unsafe { _mm512_cvtepi64_pd(_mm512_loadu_si512(words.cast())) })
    }
    #[inline(always)]
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            // The low halves of the sixteen lanes.
            let low = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let words = _mm512_permutex2var_epi32(_mm512_castpd_si512(a.0), low, _mm512_castpd_si512(b.0));
            let words = _mm512_sllv_epi32(words, _mm512_set1_epi32(shift as i32));
            let old = _mm512_castsi256_si512(_mm256_loadu_si256(to_a.cast()));
            let old = _mm512_inserti64x4::<1>(old, _mm256_loadu_si256(to_b.cast()));
            let sum = _mm512_add_epi32(old, words);
            _mm256_storeu_si256(to_a.cast(), _mm512_castsi512_si256(sum));
            _mm256_storeu_si256(to_b.cast(), _mm512_extracti64x4_epi64::<1>(sum));
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
    unsafe fn prefetch_near(line: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
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
