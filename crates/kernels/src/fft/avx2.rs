//! Eight f64 in two AVX2 registers.
//!
//! Every intrinsic below needs AVX2 and FMA, which the caller of a [`Lanes`] method has.

use super::lanes::{Lanes, MAGIC, TWO_32, TWO_64};
use super::passes::Field;
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

/// 4×4 blocks. SAFETY: AVX2 is present.
#[inline(always)]
unsafe fn transpose_4(rows: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: the set is present, by this function's contract.
    unsafe {
        let a0 = _mm256_unpacklo_pd(rows[0], rows[1]);
        let a1 = _mm256_unpackhi_pd(rows[0], rows[1]);
        let b0 = _mm256_unpacklo_pd(rows[2], rows[3]);
        let b1 = _mm256_unpackhi_pd(rows[2], rows[3]);
        [
            _mm256_permute2f128_pd::<0x20>(a0, b0),
            _mm256_permute2f128_pd::<0x20>(a1, b1),
            _mm256_permute2f128_pd::<0x31>(a0, b0),
            _mm256_permute2f128_pd::<0x31>(a1, b1),
        ]
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
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_mul_pd(self.0, other.0), _mm256_mul_pd(self.1, other.1)) }
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
    unsafe fn transpose(rows: [Self; 8]) -> [Self; 8] {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let low = |first: usize| std::array::from_fn(|r| rows[first + r].0);
            let high = |first: usize| std::array::from_fn(|r| rows[first + r].1);
            let (a, b) = (transpose_4(low(0)), transpose_4(high(0)));
            let (c, d) = (transpose_4(low(4)), transpose_4(high(4)));
            std::array::from_fn(|r| if r < 4 { Self(a[r], c[r]) } else { Self(b[r - 4], d[r - 4]) })
        }
    }
    #[inline(always)]
    unsafe fn digits_32(words: *const u32, field: Field) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let words = _mm256_loadu_si256(words.cast());
            let left = _mm256_sll_epi32(words, _mm_cvtsi32_si128(field.left as i32));
            let digit = _mm256_sra_epi32(left, _mm_cvtsi32_si128(field.right as i32));
            Self(
                _mm256_cvtepi32_pd(_mm256_castsi256_si128(digit)),
                _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(digit)),
            )
        }
    }
    #[inline(always)]
    unsafe fn digits_64(words: *const u64, field: Field) -> Self {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            // The set has neither a 64-bit arithmetic shift nor a 64-bit conversion.
            let words = words.cast::<[u64; 8]>().read_unaligned();
            let digits = words.map(|w| ((w << field.left) as i64 >> field.right) as f64);
            Self::load(digits.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn add_to_32(self, words: *mut u32) {
        // SAFETY: the set is present and eight elements are valid, by the trait's contract.
        unsafe {
            let magic = _mm256_set1_pd(MAGIC);
            let low_bits = |x: __m256d| _mm256_castpd_ps(_mm256_add_pd(reduce(x, TWO_32), magic));
            // The low halves of eight 64-bit lanes, in order.
            let pairs = _mm256_shuffle_ps::<0x88>(low_bits(self.0), low_bits(self.1));
            let ordered = _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(pairs));
            let old = _mm256_loadu_si256(words.cast());
            _mm256_storeu_si256(words.cast(), _mm256_add_epi32(old, ordered));
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
    unsafe fn reduce_32(self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(reduce(self.0, TWO_32), reduce(self.1, TWO_32)) }
    }
}
