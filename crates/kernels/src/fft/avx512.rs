//! Eight f64 in one AVX-512 register.
//!
//! Every intrinsic below needs AVX-512 F, DQ, BW and VL, which the caller of a [`Lanes`] method guarantees.

use super::lanes::{Arithmetic, Eight, Lanes, TWO_32, TWO_64};
use super::passes::{Near, block_down_whole, block_up_whole};
use super::plan::Plan;
use super::words::{Field, Preparation};
use std::arch::x86_64::*;

/// One 512-bit register.
#[derive(Clone, Copy)]
pub(super) struct Avx512<const ADDERS: bool>(__m512d);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Eight rows of eight numbers of 64 bits, transposed. SAFETY: AVX-512 is present.
#[inline(always)]
unsafe fn transposed([a, b, c, d, e, f, g, h]: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: this function's contract.
    unsafe {
        // Two rows' numbers 2q, or 2q + 1, in quarter q; then four rows'; then all rows' numbers at one place.
        macro_rules! each_half {
            ($low:ident $(::<$low_order:literal>)?, $high:ident $(::<$high_order:literal>)?, $a:expr, $b:expr) => {
                ($low $(::<$low_order>)? ($a, $b), $high $(::<$high_order>)? ($a, $b))
            };
        }
        macro_rules! pair {
            ($a:expr, $b:expr) => {
                each_half!(_mm512_unpacklo_epi64, _mm512_unpackhi_epi64, $a, $b)
            };
        }
        macro_rules! halves {
            ($a:expr, $b:expr) => {
                each_half!(_mm512_shuffle_i64x2::<0x88>, _mm512_shuffle_i64x2::<0xdd>, $a, $b)
            };
        }
        macro_rules! four {
            ($a:expr, $b:expr, $c:expr, $d:expr) => {{
                let ((ab, ab_odd), (cd, cd_odd)) = (halves!($a, $b), halves!($c, $d));
                let ((first, third), (second, fourth)) = (halves!(ab, cd), halves!(ab_odd, cd_odd));
                [first, second, third, fourth]
            }};
        }
        let ((a, a_odd), (b, b_odd), (c, c_odd), (d, d_odd)) = (pair!(a, b), pair!(c, d), pair!(e, f), pair!(g, h));
        let ([a, c, e, g], [b, d, f, h]) = (four!(a, b, c, d), four!(a_odd, b_odd, c_odd, d_odd));
        [a, b, c, d, e, f, g, h]
    }
}

impl<const ADDERS: bool> Arithmetic for Avx512<ADDERS> {
    const ADDERS: bool = ADDERS;

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
    unsafe fn mul(self, factor: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm512_mul_pd(self.0, factor.0) })
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
}

impl<const ADDERS: bool> Eight for Avx512<ADDERS> {
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
}

impl<const ADDERS: bool> Lanes for Avx512<ADDERS> {
    const WIDTH: usize = 8;

    #[inline(always)]
    unsafe fn block_down(plan: &Plan, index: usize, spectrum: *mut f64, near: Near) {
        // SAFETY: by the trait's contract.
        unsafe { block_down_whole::<Self>(plan, index, spectrum, near) }
    }
    #[inline(always)]
    unsafe fn block_up(plan: &Plan, from: *const f64, to: *mut f64) {
        // SAFETY: by the trait's contract.
        unsafe { block_up_whole::<Self>(plan, from, to) }
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
    unsafe fn digits_64<const LEVELS: u32>(
        from: *const u64,
        own: *const u64,
        negated: bool,
        preparation: Preparation,
        out: *mut u64,
        degree: usize,
    ) {
        // SAFETY: the set is present and sixteen elements are valid, by the trait's contract.
        unsafe {
            let Preparation { add, flip, mask, log2_base, .. } = preparation;
            let (add, flip) = (_mm512_set1_epi64(add as i64), _mm512_set1_epi64(flip as i64));
            let (mask, base) = (_mm512_set1_epi64(mask as i64), _mm512_set1_epi64(log2_base as i64));
            for half in 0..2 {
                let from = _mm512_loadu_si512(from.add(8 * half).cast());
                let own = _mm512_loadu_si512(own.add(8 * half).cast());
                let sum = if negated {
                    _mm512_sub_epi64(_mm512_sub_epi64(add, own), from)
                } else {
                    _mm512_add_epi64(_mm512_sub_epi64(from, own), add)
                };
                let mut words = _mm512_xor_si512(sum, flip);
                for level in 0..preparation.count::<LEVELS>() {
                    let out = out.add(level as usize * degree + 8 * half);
                    _mm512_storeu_si512(out.cast(), _mm512_and_si512(words, mask));
                    words = _mm512_sllv_epi64(words, base);
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn pairs_of_eight<const ROTATED: bool>(
        (from, negated): ([*const u32; 8], [u32; 8]),
        own: *const u32,
        apart: usize,
        preparation: Preparation,
        out: *mut f64,
        pair_apart: usize,
    ) {
        // SAFETY: the set is present and the words are valid, by the trait's contract.
        unsafe {
            let add = _mm512_set1_epi32(preparation.add as i32);
            // The upper three bytes of two words, or whole words.
            let bytes = if preparation.packed() {
                _mm_setr_epi8(1, 2, 3, 5, 6, 7, -1, -1, 9, 10, 11, 13, 14, 15, -1, -1)
            } else {
                _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
            };
            let bytes = _mm512_broadcast_i32x4(bytes);
            let mut rows = [add; 8];
            for (lane, row) in rows.iter_mut().enumerate() {
                let own = _mm512_loadu_si512(own.add(lane * apart).cast());
                let words = if ROTATED {
                    let sign = _mm512_set1_epi32(negated[lane] as i32);
                    let add = _mm512_set1_epi32((preparation.add as u32).wrapping_sub(negated[lane]) as i32);
                    let other = _mm512_xor_si512(_mm512_loadu_si512(from[lane].cast()), sign);
                    _mm512_add_epi32(other, _mm512_sub_epi32(add, own))
                } else {
                    _mm512_add_epi32(own, add)
                };
                *row = _mm512_shuffle_epi8(words, bytes);
            }
            let pairs = transposed(rows);
            for (pair, words) in pairs.iter().enumerate() {
                _mm512_storeu_si512(out.add(pair % 4 * pair_apart + pair / 4 * 8).cast(), *words);
            }
        }
    }
    #[inline(always)]
    unsafe fn from_field(pairs: *const f64, field: Field) -> Self {
        // SAFETY: the set is present, and eight pairs and half of another are valid, by the trait's contract.
        unsafe {
            let words = _mm512_loadu_si512(pairs.byte_add(field.down as usize / 8).cast());
            let mask = _mm512_set1_epi64(field.mask as i64);
            let large = _mm512_castpd_si512(_mm512_set1_pd(field.large));
            // a & b | c
            let number = _mm512_ternarylogic_epi64::<0xea>(words, mask, large);
            Self(_mm512_sub_pd(_mm512_castsi512_pd(number), _mm512_set1_pd(field.zero)))
        }
    }
    #[inline(always)]
    unsafe fn store_above(self, to: *mut f64) {
        // SAFETY: the set is present and eight numbers are valid, by the trait's contract.
        unsafe {
            let high = _mm512_slli_epi64::<32>(_mm512_castpd_si512(self.0));
            let low = _mm512_loadu_si512(to.cast());
            _mm512_storeu_si512(to.cast(), _mm512_mask_blend_epi32(0x5555, high, low));
        }
    }
    #[inline(always)]
    unsafe fn add_to_eight(words: *const f64, pair_apart: usize, shift: u32, to: *mut u32, apart: usize) {
        // SAFETY: the set is present and the words are valid, by the trait's contract.
        unsafe {
            let mut pairs = [_mm512_setzero_si512(); 8];
            for (pair, words_of) in pairs.iter_mut().enumerate() {
                *words_of = _mm512_loadu_si512(words.add(pair % 4 * pair_apart + pair / 4 * 8).cast());
            }
            let shift = _mm512_set1_epi32(shift as i32);
            for (lane, words) in transposed(pairs).iter().enumerate() {
                let to = to.add(lane * apart);
                let sum = _mm512_add_epi32(_mm512_loadu_si512(to.cast()), _mm512_sllv_epi32(*words, shift));
                _mm512_storeu_si512(to.cast(), sum);
            }
        }
    }
    #[inline(always)]
    unsafe fn widened(group: *const u8, _lane: usize) -> (Self, Self) {
        // SAFETY: the set is present and 96 bytes are valid, by the trait's contract: 64 from the first and from the 33rd on.
        unsafe {
            // Twelve bytes of two numbers to each quarter, then each number to the top of its lane.
            let first = _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0);
            let second = _mm512_setr_epi32(4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0, 13, 14, 15, 0);
            let top = _mm512_broadcast_i32x4(_mm_setr_epi8(-1, -1, 0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11));
            let re = _mm512_permutexvar_epi32(first, _mm512_loadu_si512(group.cast()));
            let im = _mm512_permutexvar_epi32(second, _mm512_loadu_si512(group.add(32).cast()));
            let (re, im) = (_mm512_shuffle_epi8(re, top), _mm512_shuffle_epi8(im, top));
            (Self(_mm512_castsi512_pd(re)), Self(_mm512_castsi512_pd(im)))
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
            // 2^63 converts to the bit pattern of −2^63, which is equal mod 2^64.
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
