//! [`Floats`] in AVX2 and in AVX-512.

use super::{Floats, Places};
use std::arch::x86_64::*;

/// Four f64 in an AVX2 register; also needs FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256d);

/// Eight f64 in an AVX-512 register; needs F, BW, DQ and VL.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512d);

impl Floats for Avx2 {
    type Words = __m256i;
    const LOG2_LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const u64) -> __m256i {
        // SAFETY: the trait's contract, here and in every method below.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, words: __m256i) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn stream(to: *mut u64, words: __m256i) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_stream_si256(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u64) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_set1_epi64x(word as i64) }
    }
    #[inline(always)]
    unsafe fn add_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_add_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn sub_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_sub_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn or_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_or_si256(a, b) }
    }
    #[inline(always)]
    unsafe fn xor_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_xor_si256(a, b) }
    }
    #[inline(always)]
    unsafe fn shift_right_32(a: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_srli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn shift_left_32(a: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_slli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn reduce_once(words: __m256i, q: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe {
            // AVX2 has no 64-bit minimum; a blend selects by sign.
            let less = _mm256_castsi256_pd(_mm256_sub_epi64(words, q));
            _mm256_castpd_si256(_mm256_blendv_pd(less, _mm256_castsi256_pd(words), less))
        }
    }
    #[inline(always)]
    unsafe fn raise(words: __m256i, q: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe {
            let (more, words) = (_mm256_castsi256_pd(_mm256_add_epi64(words, q)), _mm256_castsi256_pd(words));
            _mm256_castpd_si256(_mm256_blendv_pd(words, more, words))
        }
    }
    #[inline(always)]
    unsafe fn from_bits(words: __m256i) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_castsi256_pd(words) })
    }
    #[inline(always)]
    unsafe fn bits(self) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_castpd_si256(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_pd(value) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_sub_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_mul_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_fmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_fmsub_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_fnmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_add_pd(self.0, _mm256_and_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, bound.0), addend.0)) })
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            if bit == 0 {
                (Self(_mm256_unpacklo_pd(a.0, b.0)), Self(_mm256_unpackhi_pd(a.0, b.0)))
            } else {
                (Self(_mm256_permute2f128_pd::<0x20>(a.0, b.0)), Self(_mm256_permute2f128_pd::<0x31>(a.0, b.0)))
            }
        }
    }
    #[inline(always)]
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let (low, high) = Self::swap(a, b, 0);
            Self::swap(low, high, 1)
        }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let (low, high) = Self::swap(a, b, 1);
            Self::swap(low, high, 0)
        }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            let source = _mm256_loadu_pd(block.add(if stage == 0 { 4 } else { 0 }).cast());
            match (stage, MIRRORED) {
                (0, false) => source,
                // Lanes (3, 2, 1, 0), (2, 2, 3, 3) and (3, 3, 2, 2).
                (0, true) => _mm256_permute4x64_pd::<0x1b>(source),
                (_, false) => _mm256_permute4x64_pd::<0xfa>(source),
                (_, true) => _mm256_permute4x64_pd::<0xaf>(source),
            }
        })
    }
    #[inline(always)]
    unsafe fn unpack(block: *const u64, lane: usize, places: &Places) -> __m256i {
        // SAFETY: the trait's contract; a block has eight times `width` bytes, at least 32.
        unsafe {
            let (block, width) = (block.cast::<u8>(), places.width);
            let first = _mm_loadu_si128(places.first.as_ptr().cast());
            let low = _mm_shuffle_epi8(_mm_loadu_si128(block.add(lane * width).cast()), first);
            // The last two words, preceded by earlier bytes.
            let (from, places) = if lane == 0 { (2 * width, &places.first) } else { (8 * width - 16, &places.last) };
            let second = _mm_loadu_si128(places.as_ptr().cast());
            let high = _mm_shuffle_epi8(_mm_loadu_si128(block.add(from).cast()), second);
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        }
    }
}

impl Floats for Avx512 {
    type Words = __m512i;
    const LOG2_LANES: usize = 3;

    #[inline(always)]
    unsafe fn load(from: *const u64) -> __m512i {
        // SAFETY: the trait's contract, here and in every method below.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, words: __m512i) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn stream(to: *mut u64, words: __m512i) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_stream_si512(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u64) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_set1_epi64(word as i64) }
    }
    #[inline(always)]
    unsafe fn add_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_add_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn sub_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_sub_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn or_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_or_si512(a, b) }
    }
    #[inline(always)]
    unsafe fn xor_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_xor_si512(a, b) }
    }
    #[inline(always)]
    unsafe fn shift_right_32(a: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_srli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn shift_left_32(a: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_slli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn reduce_once(words: __m512i, q: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_min_epu64(words, _mm512_sub_epi64(words, q)) }
    }
    #[inline(always)]
    unsafe fn raise(words: __m512i, q: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_min_epu64(words, _mm512_add_epi64(words, q)) }
    }
    #[inline(always)]
    unsafe fn from_bits(words: __m512i) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_castsi512_pd(words) })
    }
    #[inline(always)]
    unsafe fn bits(self) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_castpd_si512(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_sub_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_mul_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_fmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_fmsub_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_fnmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_mask_add_pd(self.0, _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, bound.0), self.0, addend.0) })
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self) {
        // SAFETY: the trait's contract.
        let (a, b) = unsafe {
            match bit {
                0 => (_mm512_unpacklo_pd(a.0, b.0), _mm512_unpackhi_pd(a.0, b.0)),
                1 => (
                    _mm512_permutex2var_pd(a.0, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b.0),
                    _mm512_permutex2var_pd(a.0, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b.0),
                ),
                _ => (_mm512_shuffle_f64x2::<0x44>(a.0, b.0), _mm512_shuffle_f64x2::<0xee>(a.0, b.0)),
            }
        };
        (Self(a), Self(b))
    }
    #[inline(always)]
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            (
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b.0)),
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b.0)),
            )
        }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            (
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b.0)),
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b.0)),
            )
        }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            let source = _mm512_loadu_pd(block.add(if stage == 0 { 8 } else { 0 }).cast());
            match (stage, MIRRORED) {
                (0, false) => source,
                (0, true) => _mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), source),
                (1, false) => _mm512_permutexvar_pd(_mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7), source),
                (1, true) => _mm512_permutexvar_pd(_mm512_setr_epi64(7, 7, 6, 6, 5, 5, 4, 4), source),
                (_, false) => _mm512_permutexvar_pd(_mm512_setr_epi64(2, 2, 2, 2, 3, 3, 3, 3), source),
                (_, true) => _mm512_permutexvar_pd(_mm512_setr_epi64(3, 3, 3, 3, 2, 2, 2, 2), source),
            }
        })
    }
    #[inline(always)]
    unsafe fn unpack(block: *const u64, _lane: usize, places: &Places) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe {
            let (low, high) = (Avx2::unpack(block, 0, places), Avx2::unpack(block, 4, places));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }
}
