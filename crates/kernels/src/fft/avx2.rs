//! Four f64 in an AVX2 register, eight in two.
//!
//! Sixteen registers fit a butterfly of eight complex numbers in four lanes, but not in eight: passes use four lanes at a time, and only lane
//! exchanges use eight. Every intrinsic below needs AVX2 and FMA, which the caller of a method guarantees. This file has no closures: one that
//! is not inlined has no vector instructions, and each of these becomes a call.

use super::lanes::{Arithmetic, Eight, Lanes, MAGIC, TWO_32, TWO_64};
use super::narrow::NARROW;
use super::passes::{Near, block_down_parts, block_up_parts};
use super::plan::Plan;
use super::words::{Field, Preparation};
use std::arch::x86_64::*;

/// One 256-bit register.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256d);

/// Two 256-bit registers, the low lanes first.
#[derive(Clone, Copy)]
pub(super) struct Avx2Pair(__m256d, __m256d);

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

/// Four rows of four numbers of 64 bits, transposed. SAFETY: AVX2 is present.
#[inline(always)]
unsafe fn transposed([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    // SAFETY: this function's contract.
    unsafe {
        let (ab, ab_odd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (cd, cd_odd) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        [
            _mm256_permute2x128_si256::<0x20>(ab, cd),
            _mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd),
            _mm256_permute2x128_si256::<0x31>(ab, cd),
            _mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd),
        ]
    }
}

/// Sixteen bytes from each of two addresses. SAFETY: AVX2 is present, and the bytes are valid.
#[inline(always)]
unsafe fn two_of_sixteen(low: *const u8, high: *const u8) -> __m256i {
    // SAFETY: this function's contract.
    unsafe {
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(_mm_loadu_si128(low.cast())), _mm_loadu_si128(high.cast()))
    }
}

impl Arithmetic for Avx2 {
    // True for AMD's processors and partly for Intel's hybrid ones.
    const ADDERS: bool = true;

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the set is present and four elements are valid, by the trait's contract.
        Self(unsafe { _mm256_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the set is present and four elements are valid, by the trait's contract.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_set1_pd(value) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_sub_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, factor: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_mul_pd(self.0, factor.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_fmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        Self(unsafe { _mm256_fnmadd_pd(self.0, factor.0, term.0) })
    }
}

impl Lanes for Avx2 {
    const WIDTH: usize = 4;

    #[inline(always)]
    unsafe fn block_down(plan: &Plan, index: usize, spectrum: *mut f64, near: Near) {
        // SAFETY: by the trait's contract.
        unsafe { block_down_parts::<Self, Avx2Pair>(plan, index, spectrum, near) }
    }
    #[inline(always)]
    unsafe fn block_up(plan: &Plan, from: *const f64, to: *mut f64) {
        // SAFETY: by the trait's contract.
        unsafe { block_up_parts::<Self, Avx2Pair>(plan, from, to) }
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
            let (add, flip) = (_mm256_set1_epi32(add as i32), _mm256_set1_epi32(flip as i32));
            let (mask, base) = (_mm256_set1_epi32(mask as i32), _mm_cvtsi32_si128(log2_base as i32));
            for half in 0..2 {
                let from = _mm256_loadu_si256(from.add(8 * half).cast());
                let own = _mm256_loadu_si256(own.add(8 * half).cast());
                let sum = if negated {
                    _mm256_sub_epi32(_mm256_sub_epi32(add, own), from)
                } else {
                    _mm256_add_epi32(_mm256_sub_epi32(from, own), add)
                };
                let mut words = _mm256_xor_si256(sum, flip);
                for level in 0..preparation.count::<LEVELS>() {
                    let out = out.add(level as usize * degree + 8 * half);
                    _mm256_storeu_si256(out.cast(), _mm256_and_si256(words, mask));
                    words = _mm256_sll_epi32(words, base);
                }
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
            let (add, flip) = (_mm256_set1_epi64x(add as i64), _mm256_set1_epi64x(flip as i64));
            let (mask, base) = (_mm256_set1_epi64x(mask as i64), _mm_cvtsi32_si128(log2_base as i32));
            for quarter in 0..4 {
                let from = _mm256_loadu_si256(from.add(4 * quarter).cast());
                let own = _mm256_loadu_si256(own.add(4 * quarter).cast());
                let sum = if negated {
                    _mm256_sub_epi64(_mm256_sub_epi64(add, own), from)
                } else {
                    _mm256_add_epi64(_mm256_sub_epi64(from, own), add)
                };
                let mut words = _mm256_xor_si256(sum, flip);
                for level in 0..preparation.count::<LEVELS>() {
                    let out = out.add(level as usize * degree + 4 * quarter);
                    _mm256_storeu_si256(out.cast(), _mm256_and_si256(words, mask));
                    words = _mm256_sll_epi64(words, base);
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
            let add = _mm256_set1_epi32(preparation.add as i32);
            // The upper three bytes of two words, or whole words.
            let bytes = if preparation.packed() {
                _mm_setr_epi8(1, 2, 3, 5, 6, 7, -1, -1, 9, 10, 11, 13, 14, 15, -1, -1)
            } else {
                _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
            };
            let bytes = _mm256_broadcastsi128_si256(bytes);
            // Four polynomials, eight words of each.
            for lanes in [0, 4] {
                for half in 0..2 {
                    let mut rows = [add; 4];
                    for (lane, row) in rows.iter_mut().enumerate() {
                        let lane = lanes + lane;
                        let own = _mm256_loadu_si256(own.add(lane * apart + 8 * half).cast());
                        let words = if ROTATED {
                            let sign = _mm256_set1_epi32(negated[lane] as i32);
                            let add = _mm256_set1_epi32((preparation.add as u32).wrapping_sub(negated[lane]) as i32);
                            let other = _mm256_loadu_si256(from[lane].add(8 * half).cast());
                            _mm256_add_epi32(_mm256_xor_si256(other, sign), _mm256_sub_epi32(add, own))
                        } else {
                            _mm256_add_epi32(own, add)
                        };
                        *row = _mm256_shuffle_epi8(words, bytes);
                    }
                    let pairs = transposed(rows);
                    for (pair, words) in pairs.iter().enumerate() {
                        let out = out.add(pair * pair_apart + 8 * half + lanes);
                        _mm256_storeu_si256(out.cast(), *words);
                    }
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn from_field(pairs: *const f64, field: Field) -> Self {
        // SAFETY: the set is present, and four pairs and half of another are valid, by the trait's contract.
        unsafe {
            let words = _mm256_loadu_pd(pairs.byte_add(field.down as usize / 8));
            let mask = _mm256_castsi256_pd(_mm256_set1_epi64x(field.mask as i64));
            let number = _mm256_or_pd(_mm256_and_pd(words, mask), _mm256_set1_pd(field.large));
            Self(_mm256_sub_pd(number, _mm256_set1_pd(field.zero)))
        }
    }
    #[inline(always)]
    unsafe fn store_above(self, to: *mut f64) {
        // SAFETY: the set is present and four numbers are valid, by the trait's contract.
        unsafe {
            let high = _mm256_slli_epi64::<32>(_mm256_castpd_si256(self.0));
            let low = _mm256_loadu_si256(to.cast());
            _mm256_storeu_si256(to.cast(), _mm256_blend_epi32::<0xaa>(low, high));
        }
    }
    #[inline(always)]
    unsafe fn add_to_eight(words: *const f64, pair_apart: usize, shift: u32, to: *mut u32, apart: usize) {
        // SAFETY: the set is present and the words are valid, by the trait's contract.
        unsafe {
            let shift = _mm_cvtsi32_si128(shift as i32);
            for lanes in [0, 4] {
                for half in 0..2 {
                    let mut pairs = [_mm256_setzero_si256(); 4];
                    for (pair, words_of) in pairs.iter_mut().enumerate() {
                        *words_of = _mm256_loadu_si256(words.add(pair * pair_apart + 8 * half + lanes).cast());
                    }
                    let rows = transposed(pairs);
                    for (lane, words) in rows.iter().enumerate() {
                        let to = to.add((lanes + lane) * apart + 8 * half);
                        let sum = _mm256_add_epi32(_mm256_loadu_si256(to.cast()), _mm256_sll_epi32(*words, shift));
                        _mm256_storeu_si256(to.cast(), sum);
                    }
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn widened(group: *const u8, lane: usize) -> (Self, Self) {
        // SAFETY: the set is present and 96 bytes are valid, by the trait's contract: the last load reads the final sixteen bytes and uses the
        // last twelve.
        unsafe {
            // Twelve bytes of two numbers, the first or the last of sixteen; each number goes to the top of its lane.
            let first = _mm_setr_epi8(-1, -1, 0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11);
            let last = _mm_setr_epi8(-1, -1, 4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15);
            let (re, im) = (group.add(NARROW * lane), group.add(NARROW * (8 + lane)));
            let re = _mm256_shuffle_epi8(two_of_sixteen(re, re.add(12)), _mm256_broadcastsi128_si256(first));
            let im = _mm256_shuffle_epi8(two_of_sixteen(im, im.add(8)), _mm256_setr_m128i(first, last));
            (Self(_mm256_castsi256_pd(re)), Self(_mm256_castsi256_pd(im)))
        }
    }
    #[inline(always)]
    unsafe fn from_i32(words: *const i32) -> Self {
        // SAFETY: the set is present and four elements are valid, by the trait's contract.
        Self(unsafe { _mm256_cvtepi32_pd(_mm_loadu_si128(words.cast())) })
    }
    #[inline(always)]
    unsafe fn from_i64(words: *const i64) -> Self {
        // SAFETY: the set is present and four elements are valid, by the trait's contract.
        unsafe {
            // AVX2 lacks this conversion. The high half, with its sign flipped, becomes part of the mantissa of 2^84, whose last bit is
            // worth 2^32, and the low half part of that of 2^52. The excess constants are subtracted exactly, and the sum rounds once.
            let words = _mm256_loadu_si256(words.cast());
            let high = _mm256_xor_si256(_mm256_srli_epi64::<32>(words), _mm256_set1_epi64x(0x4530_0000_8000_0000));
            let low = _mm256_blend_epi32::<0xaa>(words, _mm256_set1_epi64x(0x4330_0000_0000_0000));
            let constants = TWO_64 * f64::from(1 << 20) + TWO_64 / 2.0 + TWO_32 * f64::from(1 << 20);
            let high = _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(constants));
            Self(_mm256_add_pd(high, _mm256_castsi256_pd(low)))
        }
    }
    #[inline(always)]
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32) {
        // SAFETY: the set is present and four elements are valid each, by the trait's contract.
        unsafe {
            // The low halves of eight lanes, those of a first.
            let low = _mm256_shuffle_ps::<0x88>(_mm256_castpd_ps(a.0), _mm256_castpd_ps(b.0));
            let words = _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(low));
            let words = _mm256_sll_epi32(words, _mm_cvtsi32_si128(shift as i32));
            let sum = _mm256_add_epi32(two_of_sixteen(to_a.cast(), to_b.cast()), words);
            _mm_storeu_si128(to_a.cast(), _mm256_castsi256_si128(sum));
            _mm_storeu_si128(to_b.cast(), _mm256_extracti128_si256::<1>(sum));
        }
    }
    #[inline(always)]
    unsafe fn add_to_64(self, words: *mut u64) {
        // SAFETY: the set is present and four elements are valid, by the trait's contract.
        unsafe {
            // The nearest multiple of 2^32 and the remainder, each an integer in the low bits of a sum.
            let magic = _mm256_set1_pd(MAGIC);
            let centred = reduce(self.0, TWO_64);
            let high = _mm256_fmadd_pd(centred, _mm256_set1_pd(1.0 / TWO_32), magic);
            let rest = _mm256_fnmadd_pd(_mm256_sub_pd(high, magic), _mm256_set1_pd(TWO_32), centred);
            let low = _mm256_castpd_si256(_mm256_add_pd(rest, magic));
            let high = _mm256_slli_epi64::<32>(_mm256_castpd_si256(high));
            let low = _mm256_sub_epi64(low, _mm256_castpd_si256(magic));
            let old = _mm256_loadu_si256(words.cast());
            _mm256_storeu_si256(words.cast(), _mm256_add_epi64(_mm256_add_epi64(old, low), high));
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
        Self(unsafe { reduce(self.0, TWO_32) })
    }
}

impl Arithmetic for Avx2Pair {
    const ADDERS: bool = Avx2::ADDERS;

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
    unsafe fn mul(self, factor: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(_mm256_mul_pd(self.0, factor.0), _mm256_mul_pd(self.1, factor.1)) }
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
}

impl Eight for Avx2Pair {
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
}
