//! Butterflies on 64-bit words: portable to 61 bits, IFMA below 50.

use super::butterfly::Butterfly;
use super::tables::{Layout, Tables};
use crate::modular::{Modulus, ShoupFactor};

/// One word at a time, Shoup's products of 64 bits, q < 2^61.
///
/// Loose is [0, 4q), tight is [0, 2q) (D. Harvey, J. Symb. Comput. 60, 2014): 4q < 2^63. A product is in [0, 2q) whatever its
/// operand, so u reduced to [0, 2q) plus or minus it, plus 2q, is in [0, 4q) again.
#[derive(Clone, Copy)]
pub(super) struct Portable64 {
    q: u64,
}

/// The tables of [`Portable64`].
pub(super) const PORTABLE_64: Layout<u64> = Layout {
    log2_lanes: 0,
    log2_radix: 2,
    prepare: |modulus: Modulus, w| {
        let factor = ShoupFactor::new(modulus, w);
        [factor.value(), factor.quotient()]
    },
    lane_companions: true,
};

impl Portable64 {
    #[inline(always)]
    fn multiply(self, x: u64, [w, quotient]: [u64; 2]) -> u64 {
        let quotient = ((u128::from(x) * u128::from(quotient)) >> 64) as u64;
        x.wrapping_mul(w).wrapping_sub(quotient.wrapping_mul(self.q))
    }

    #[inline(always)]
    fn reduce(x: u64, by: u64) -> u64 {
        x.min(x.wrapping_sub(by))
    }
}

impl Butterfly for Portable64 {
    type Word = u64;
    type Vector = u64;
    type Factor = [u64; 2];
    const LOG2_LANES: usize = 0;

    #[inline(always)]
    unsafe fn new(tables: &Tables<u64>) -> Self {
        Self { q: tables.modulus.value() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> u64 {
        // SAFETY: valid for a word, by the trait's contract.
        unsafe { *from }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, value: u64) {
        // SAFETY: valid for a word, by the trait's contract.
        unsafe { *to = value }
    }
    #[inline(always)]
    unsafe fn broadcast(&self, pair: &[u64; 2]) -> [u64; 2] {
        *pair
    }
    #[inline(always)]
    unsafe fn lane_factors<const MIRRORED: bool>(&self, _: *const u64, _: *const u64, _: usize) -> [u64; 2] {
        unreachable!("one lane has no in-register stage")
    }
    #[inline(always)]
    unsafe fn forward(&self, u: u64, v: u64, w: [u64; 2]) -> (u64, u64) {
        let (u, product) = (Self::reduce(u, 2 * self.q), self.multiply(v, w));
        debug_assert!(u < 2 * self.q && product < 2 * self.q);
        (u + product, u + 2 * self.q - product)
    }
    #[inline(always)]
    unsafe fn inverse(&self, u: u64, v: u64, w: [u64; 2]) -> (u64, u64) {
        debug_assert!(u < 2 * self.q && v < 2 * self.q);
        (Self::reduce(u + v, 2 * self.q), self.multiply(v + 2 * self.q - u, w))
    }
    #[inline(always)]
    unsafe fn inverse_last(&self, u: u64, v: u64, s: [u64; 2], w: [u64; 2]) -> (u64, u64) {
        let (sum, difference) = (self.multiply(u + v, s), self.multiply(v + 2 * self.q - u, w));
        (Self::reduce(sum, self.q), Self::reduce(difference, self.q))
    }
    #[inline(always)]
    unsafe fn canonical(&self, loose: u64) -> u64 {
        Self::reduce(Self::reduce(loose, 2 * self.q), self.q)
    }
    #[inline(always)]
    unsafe fn swap(a: u64, b: u64, _: usize) -> (u64, u64) {
        (a, b)
    }
    #[inline(always)]
    unsafe fn interleave(a: u64, b: u64) -> (u64, u64) {
        (a, b)
    }
    #[inline(always)]
    unsafe fn deinterleave(a: u64, b: u64) -> (u64, u64) {
        (a, b)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use vector::{IFMA, Ifma, ROOMY_BITS};

#[cfg(target_arch = "x86_64")]
mod vector {
    use super::*;
    use crate::modular::ifma::{Constants, Factor, enter, word_inverse};
    use std::arch::x86_64::*;

    /// Eight words at a time, Montgomery's products of 52 bits, q < 2^50.
    ///
    /// Loose is [0, 4q), tight is [0, 2q): 4q ≤ 2^52 is what IFMA multiplies. Products are in (0, 2q).
    ///
    /// `ROOMY`, for q < 2^46: a forward butterfly adds less than 2q to what its operand u may be, whatever v is, so after
    /// the at most 17 stages words are below q + 17·2q = 35q < 64q ≤ 2^52. Loose is [0, 35q), and only the
    /// transform's end reduces.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Ifma<const ROOMY: bool> {
        constants: Constants,
        /// The factor 1, which multiplies loose words to canonical ones.
        one: Factor,
    }

    /// Every modulus of `Ifma<true>` is below 2 to this power.
    pub(in super::super) const ROOMY_BITS: u32 = 46;

    /// The tables of [`Ifma`]. Its in-register factors come without companions: one product makes them, and
    /// the tables of a large degree are read from far away.
    pub(in super::super) const IFMA: Layout<u64> = Layout {
        log2_lanes: 3,
        log2_radix: 3,
        prepare: |modulus: Modulus, w| {
            let form = enter(modulus, w);
            [form, form.wrapping_mul(word_inverse(modulus.value())) & crate::modular::ifma::WORD_MASK]
        },
        lane_companions: false,
    };

    impl<const ROOMY: bool> Butterfly for Ifma<ROOMY> {
        type Word = u64;
        type Vector = __m512i;
        type Factor = Factor;
        const LOG2_LANES: usize = 3;

        #[inline(always)]
        unsafe fn new(tables: &Tables<u64>) -> Self {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                let constants = Constants::new(tables.modulus.value());
                Self { constants, one: constants.factor(tables.modulus, 1) }
            }
        }
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
        unsafe fn broadcast(&self, pair: &[u64; 2]) -> Factor {
            // SAFETY: the set is present, by the trait's contract.
            let [form, companion] = pair.map(|word| unsafe { _mm512_set1_epi64(word as i64) });
            Factor { form, companion }
        }
        #[inline(always)]
        unsafe fn lane_factors<const MIRRORED: bool>(&self, block: *const u64, _: *const u64, stage: usize) -> Factor {
            // SAFETY: the set is present and the block has 16 words, by the trait's contract.
            unsafe {
                // Stage 0 has the upper vector of the block, the others share the lower one.
                let number = |lane: i64| {
                    let group = lane >> stage;
                    let in_stage = 8 >> stage;
                    (if MIRRORED { in_stage - 1 - group } else { group }) + in_stage % 8
                };
                let numbers = _mm512_setr_epi64(
                    number(0),
                    number(1),
                    number(2),
                    number(3),
                    number(4),
                    number(5),
                    number(6),
                    number(7),
                );
                let source = Self::load(block.add(if stage == 0 { 8 } else { 0 }));
                let form = if stage == 0 && !MIRRORED { source } else { _mm512_permutexvar_epi64(numbers, source) };
                self.constants.with_companion(form)
            }
        }
        #[inline(always)]
        unsafe fn forward(&self, u: __m512i, v: __m512i, w: Factor) -> (__m512i, __m512i) {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                // With T = hi(v·form) − hi(mq) + q in (0, 2q) the results are u + T and u + 2q − T; the second is summed up
                // in place by the product mq, and the first is what lacks to 2u + 2q.
                let Constants { q, two_q, zero, .. } = self.constants;
                let u = if ROOMY { u } else { self.constants.reduce_twice(u) };
                let m = _mm512_madd52lo_epu64(zero, v, w.companion);
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
        unsafe fn inverse_last(&self, u: __m512i, v: __m512i, s: Factor, w: Factor) -> (__m512i, __m512i) {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                let difference = _mm512_sub_epi64(_mm512_add_epi64(v, self.constants.two_q), u);
                let sum = self.constants.multiply_lazy(_mm512_add_epi64(u, v), s);
                let difference = self.constants.multiply_lazy(difference, w);
                (self.constants.reduce_once(sum), self.constants.reduce_once(difference))
            }
        }
        #[inline(always)]
        unsafe fn canonical(&self, loose: __m512i) -> __m512i {
            // SAFETY: the set is present, by the trait's contract.
            unsafe {
                let tight = if ROOMY {
                    self.constants.multiply_lazy(loose, self.one)
                } else {
                    self.constants.reduce_twice(loose)
                };
                self.constants.reduce_once(tight)
            }
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
    }
}
