//! Butterflies on 64-bit words in AVX-512: with IFMA below 2^50, without it below 2^61.
//!
//! Every intrinsic below needs AVX-512 F, and IFMA or DQ, which the caller of a [`Butterfly`] method guarantees.

use super::butterfly::Butterfly;
use super::tables::{Layout, Tables};
use super::words64::PORTABLE_64;
use crate::modular::Modulus;
use crate::modular::ifma::{self, Constants, Factor, enter, word_inverse};
use std::arch::x86_64::*;

/// Word moves shared by both arithmetics.
macro_rules! moves {
    () => {
        type Word = u64;
        type Vector = __m512i;
        const LOG2_LANES: usize = 3;

        #[inline(always)]
        unsafe fn load(from: *const u64) -> __m512i {
            // SAFETY: the set is present and eight words are valid, by the trait's contract.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut u64, value: __m512i) {
            // SAFETY: the set is present and eight words are valid, by the trait's contract.
            unsafe { _mm512_storeu_si512(to.cast(), value) }
        }
        #[inline(always)]
        unsafe fn swap(a: __m512i, b: __m512i, bit: usize) -> (__m512i, __m512i) {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                match bit {
                    0 => (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)),
                    1 => (
                        _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b),
                        _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b),
                    ),
                    _ => (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b)),
                }
            }
        }
        #[inline(always)]
        unsafe fn interleave(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                (
                    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b),
                    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b),
                )
            }
        }
        #[inline(always)]
        unsafe fn deinterleave(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                (
                    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b),
                    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b),
                )
            }
        }
    };
}

/// The factors of in-register stage `stage` from a block; see [`Butterfly::lane_factors`].
///
/// # Safety
/// The processor has AVX-512 F, and the block has 16 words.
#[inline(always)]
unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> __m512i {
    let number = |lane: i64| {
        let (group, in_stage) = (lane >> stage, 8 >> stage);
        (if MIRRORED { in_stage - 1 - group } else { group }) + in_stage % 8
    };
    // SAFETY: by this function's contract.
    unsafe {
        // Stage 0 uses the upper vector of the block, the others share the lower one.
        let source = _mm512_loadu_si512(block.add(if stage == 0 { 8 } else { 0 }).cast());
        if stage == 0 && !MIRRORED {
            return source;
        }
        let numbers =
            _mm512_setr_epi64(number(0), number(1), number(2), number(3), number(4), number(5), number(6), number(7));
        _mm512_permutexvar_epi64(numbers, source)
    }
}

/// Eight words at a time, Montgomery's products of 52 bits, for q of at most `BITS` bits: [`ROOMY_BITS`], [`PASS_BITS`] or [`ifma::MAX_BITS`].
///
/// Loose is [0, 4q), tight is [0, 2q): IFMA multiplies 4q ≤ 2^52. Products are in (0, 2q).
///
/// A forward butterfly adds and subtracts less than q, for any v below 2^52, so smaller moduli leave words unreduced:
///
/// - [`PASS_BITS`]: the operands u of the first of at most three stages are reduced to [0, 2q) and get an offset of 3q, so that all words are in
///   (0, 8q) after the three, 8q ≤ 2^52. This is loose.
/// - [`ROOMY_BITS`]: the operands u of the first of the at most 17 stages get an offset of 17q, so that after stage l all words are in
///   (17q − lq, 18q + lq). Loose is (0, 35q), 35q < 64q ≤ 2^52, and only the transform's end reduces. The inverse reduces at the end of each pass of up
///   to three stages: a sum doubles its operands' bound, so in stage l of a pass words are below 2^l·2q, multiplicands below 2^l·4q ≤ 16q, and a word
///   is below 2^3·2q at the pass's end.
#[derive(Clone, Copy)]
pub(super) struct Ifma<const BITS: u32> {
    constants: Constants,
    /// The factor 1, which makes loose words canonical.
    one: Factor,
    /// Offset of the operands u of a transform's or a pass's first stage.
    raise: __m512i,
    /// floor(2^52 / q).
    reciprocal: __m512i,
}

/// Bits of a modulus whose forward transform reduces at its end alone.
pub(super) const ROOMY_BITS: u32 = 46;

/// Bits of a modulus whose forward transform reduces once a pass.
pub(super) const PASS_BITS: u32 = 49;

/// Stages of the largest transform: see [`crate::RingDegree::MAX`].
const MOST_STAGES: i64 = crate::RingDegree::MAX.ilog2() as i64;

/// Most stages of a pass, and of those within registers.
const PASS_STAGES: i64 = 3;

/// The tables of [`Ifma`]. In-register factors have no companions: one product computes them, and the tables of a large degree are far from the
/// processor.
pub(super) const IFMA: Layout<u64> = Layout {
    log2_lanes: 3,
    log2_radix: 3,
    prepare: |modulus: Modulus, w| {
        let form = enter(modulus, w);
        [form, form.wrapping_mul(word_inverse(modulus.value())) & crate::modular::ifma::WORD_MASK]
    },
    lane_companions: false,
};

impl<const BITS: u32> Ifma<BITS> {
    const ROOMY: bool = BITS <= ROOMY_BITS;
    /// Whether butterflies of a forward pass leave words unreduced.
    const UNREDUCED: bool = BITS <= PASS_BITS;

    /// Bound of words in stage `level` of an inverse pass: 2q, doubled each time if roomy.
    #[inline(always)]
    unsafe fn bound(&self, level: usize) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            match (Self::ROOMY, level) {
                (true, 1) => _mm512_slli_epi64::<1>(self.constants.two_q),
                (true, 2) => _mm512_slli_epi64::<2>(self.constants.two_q),
                _ => self.constants.two_q,
            }
        }
    }
}

impl<const BITS: u32> Butterfly for Ifma<BITS> {
    moves!();
    type Factor = Factor;
    const PAIRED: bool = true;

    #[inline(always)]
    unsafe fn new(tables: &Tables<u64>) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let constants = Constants::new(tables.modulus.value());
            let q = tables.modulus.value() as i64;
            let raise = _mm512_set1_epi64(if Self::ROOMY { MOST_STAGES } else { PASS_STAGES } * q);
            let reciprocal = _mm512_set1_epi64((1 << ifma::WORD_BITS) / q);
            Self { constants, one: constants.factor(tables.modulus, 1), raise, reciprocal }
        }
    }
    #[inline(always)]
    unsafe fn broadcast(&self, pair: &[u64; 2]) -> Factor {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Factor { form: _mm512_set1_epi64(pair[0] as i64), companion: _mm512_set1_epi64(pair[1] as i64) } }
    }
    #[inline(always)]
    unsafe fn lane_factors<const MIRRORED: bool>(&self, block: *const u64, _: *const u64, stage: usize) -> Factor {
        // SAFETY: the set is present and the block has 16 words, by the trait's contract.
        unsafe { self.constants.with_companion(spread::<MIRRORED>(block, stage)) }
    }
    #[inline(always)]
    unsafe fn loosen(&self, canonical: __m512i) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { if Self::UNREDUCED { _mm512_add_epi64(canonical, self.raise) } else { canonical } }
    }
    #[inline(always)]
    unsafe fn refresh(&self, loose: __m512i) -> __m512i {
        if Self::ROOMY || !Self::UNREDUCED {
            return loose;
        }
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            // The quotient is at most 1 too small: floor(x·floor(2^52/q)/2^52) > x/q − x/2^52 − 1 ≥ x/q − 2.
            let Constants { q, zero, .. } = self.constants;
            let quotient = _mm512_madd52hi_epu64(zero, loose, self.reciprocal);
            _mm512_sub_epi64(_mm512_add_epi64(loose, self.raise), _mm512_madd52lo_epu64(zero, quotient, q))
        }
    }
    #[inline(always)]
    unsafe fn refresh_lanes(&self, loose: __m512i) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { self.refresh(loose) }
    }
    #[inline(always)]
    unsafe fn forward(&self, u: __m512i, v: __m512i, w: Factor) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            // With T = hi(v·form) − hi(mq) in (−q, q) the results are u + T and u − T, plus q unless `UNREDUCED`. The product mq accumulates the second in place, and
            // the first is the sum of both minus it.
            let Constants { q, two_q, zero, .. } = self.constants;
            let m = _mm512_madd52lo_epu64(zero, v, w.companion);
            if Self::UNREDUCED {
                let rest = _mm512_sub_epi64(u, _mm512_madd52hi_epu64(zero, v, w.form));
                let lower = _mm512_madd52hi_epu64(rest, m, q);
                return (_mm512_sub_epi64(_mm512_add_epi64(u, u), lower), lower);
            }
            let u = self.constants.reduce_twice(u);
            let raised = _mm512_add_epi64(u, two_q);
            let rest = _mm512_sub_epi64(raised, _mm512_madd52hi_epu64(q, v, w.form));
            let lower = _mm512_madd52hi_epu64(rest, m, q);
            (_mm512_sub_epi64(_mm512_add_epi64(u, raised), lower), lower)
        }
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: __m512i, v: __m512i, w: Factor) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let difference = _mm512_sub_epi64(_mm512_add_epi64(v, self.constants.two_q), u);
            let sum = self.constants.reduce_twice(_mm512_add_epi64(u, v));
            (sum, self.constants.multiply_lazy(difference, w))
        }
    }
    #[inline(always)]
    unsafe fn inverse_at(&self, u: __m512i, v: __m512i, w: Factor, level: usize) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            if !Self::ROOMY {
                return self.inverse(u, v, w);
            }
            let difference = _mm512_sub_epi64(_mm512_add_epi64(v, self.bound(level)), u);
            (_mm512_add_epi64(u, v), self.constants.multiply_lazy(difference, w))
        }
    }
    #[inline(always)]
    unsafe fn tighten(&self, word: __m512i, doublings: usize) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let halve = |word, level| _mm512_min_epu64(word, _mm512_sub_epi64(word, self.bound(level)));
            if Self::ROOMY { (0..doublings).rev().fold(word, halve) } else { word }
        }
    }
    #[inline(always)]
    unsafe fn inverse_last(&self, u: __m512i, v: __m512i, s: Factor, w: Factor, level: usize) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let difference = _mm512_sub_epi64(_mm512_add_epi64(v, self.bound(level)), u);
            let sum = self.constants.multiply_lazy(_mm512_add_epi64(u, v), s);
            let difference = self.constants.multiply_lazy(difference, w);
            (self.constants.reduce_once(sum), self.constants.reduce_once(difference))
        }
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: __m512i) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let tight = if Self::UNREDUCED {
                self.constants.multiply_lazy(loose, self.one)
            } else {
                self.constants.reduce_twice(loose)
            };
            self.constants.reduce_once(tight)
        }
    }
}

/// Eight words at a time, Shoup's products of 64 bits, q < 2^61, without IFMA.
///
/// Loose is [0, 4q), tight is [0, 2q). The quotient's high word comes from three of the four partial products: with x = x_1·2^32 + x_0 and w' likewise,
/// Q = x_1·w'_1 + floor(x_1·w'_0 / 2^32) + floor(x_0·w'_1 / 2^32). The dropped parts are below 1 in each of three places, so xw'/2^64 − Q < 3. Since
/// x < 4q < 2^63, xw/q − Q < x/2^64 + 3 < 3.5: the product xw − Qq is in [0, 3.5q), and in [0, 2q) after one conditional subtraction.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    q: __m512i,
    two_q: __m512i,
}

/// The tables of [`Wide`].
pub(super) const WIDE: Layout<u64> = Layout { log2_lanes: 3, log2_radix: 3, ..PORTABLE_64 };

/// w, w' and the high half of w'.
#[derive(Clone, Copy)]
pub(super) struct WideFactor {
    value: __m512i,
    quotient: __m512i,
    high: __m512i,
}

impl Wide {
    /// x·w in [0, 2q), for x < 4q.
    #[inline(always)]
    unsafe fn multiply(self, x: __m512i, w: WideFactor) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let x_high = _mm512_srli_epi64::<32>(x);
            let high_low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x_high, w.quotient));
            let low_high = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, w.high));
            let high_high = _mm512_mul_epu32(x_high, w.high);
            let quotient = _mm512_add_epi64(_mm512_add_epi64(high_low, low_high), high_high);
            let product = _mm512_mullo_epi64(x, w.value);
            self.reduce_twice(_mm512_sub_epi64(product, _mm512_mullo_epi64(quotient, self.q)))
        }
    }

    /// [0, 4q) to [0, 2q).
    #[inline(always)]
    unsafe fn reduce_twice(self, x: __m512i) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { _mm512_min_epu64(x, _mm512_sub_epi64(x, self.two_q)) }
    }

    /// [0, 2q) to [0, q).
    #[inline(always)]
    unsafe fn reduce_once(self, x: __m512i) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q)) }
    }
}

impl Butterfly for Wide {
    moves!();
    type Factor = WideFactor;
    const LOOPED: bool = true;

    #[inline(always)]
    unsafe fn new(tables: &Tables<u64>) -> Self {
        let q = tables.modulus.value() as i64;
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self { q: _mm512_set1_epi64(q), two_q: _mm512_set1_epi64(2 * q) } }
    }
    #[inline(always)]
    unsafe fn broadcast(&self, pair: &[u64; 2]) -> WideFactor {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let (value, quotient) = (_mm512_set1_epi64(pair[0] as i64), _mm512_set1_epi64(pair[1] as i64));
            WideFactor { value, quotient, high: _mm512_srli_epi64::<32>(quotient) }
        }
    }
    #[inline(always)]
    unsafe fn lane_factors<const MIRRORED: bool>(
        &self,
        block: *const u64,
        companions: *const u64,
        stage: usize,
    ) -> WideFactor {
        // SAFETY: the set is present and the blocks have 16 words, by the trait's contract.
        unsafe {
            let quotient = spread::<MIRRORED>(companions, stage);
            let value = spread::<MIRRORED>(block, stage);
            WideFactor { value, quotient, high: _mm512_srli_epi64::<32>(quotient) }
        }
    }
    #[inline(always)]
    unsafe fn forward(&self, u: __m512i, v: __m512i, w: WideFactor) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let (u, product) = (self.reduce_twice(u), self.multiply(v, w));
            let raised = _mm512_add_epi64(u, self.two_q);
            (_mm512_add_epi64(u, product), _mm512_sub_epi64(raised, product))
        }
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: __m512i, v: __m512i, w: WideFactor) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let difference = _mm512_sub_epi64(_mm512_add_epi64(v, self.two_q), u);
            (self.reduce_twice(_mm512_add_epi64(u, v)), self.multiply(difference, w))
        }
    }
    #[inline(always)]
    unsafe fn inverse_last(
        &self,
        u: __m512i,
        v: __m512i,
        s: WideFactor,
        w: WideFactor,
        _level: usize,
    ) -> (__m512i, __m512i) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let difference = _mm512_sub_epi64(_mm512_add_epi64(v, self.two_q), u);
            let sum = self.multiply(_mm512_add_epi64(u, v), s);
            (self.reduce_once(sum), self.reduce_once(self.multiply(difference, w)))
        }
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: __m512i) -> __m512i {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { self.reduce_once(self.reduce_twice(loose)) }
    }
}
