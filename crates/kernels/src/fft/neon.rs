//! Two f64 in a NEON register, eight in four.
//!
//! Thirty-two registers hold a butterfly of eight complex numbers in two lanes. Every intrinsic below needs NEON, which the caller guarantees.

use super::lanes::{Arithmetic, Eight, Lanes, TWO_32, TWO_64};
use super::narrow::NARROW;
use super::passes::{Near, block_down_parts, block_up_parts};
use super::plan::Plan;
use super::words::{Field, Preparation, STEP};
use crate::memory::{fetch_line, fetch_line_near};
use std::arch::aarch64::*;

/// One register.
#[derive(Clone, Copy)]
pub(super) struct Neon(float64x2_t);

/// Four registers, the low lanes first.
#[derive(Clone, Copy)]
pub(super) struct NeonFour([float64x2_t; 4]);

/// x − `modulus` · ⌊x / `modulus`⌉. SAFETY: NEON is present.
#[inline(always)]
unsafe fn reduce(x: float64x2_t, modulus: f64) -> float64x2_t {
    // SAFETY: this function's contract.
    unsafe {
        let turns = vrndnq_f64(vmulq_n_f64(x, 1.0 / modulus));
        vfmsq_f64(x, turns, vdupq_n_f64(modulus))
    }
}

/// (a₀ b₀, a₁ b₁) of numbers of 64 bits. SAFETY: NEON is present.
#[inline(always)]
unsafe fn transposed(a: uint32x4_t, b: uint32x4_t) -> (uint32x4_t, uint32x4_t) {
    // SAFETY: this function's contract.
    unsafe {
        let (a, b) = (vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b));
        (vreinterpretq_u32_u64(vtrn1q_u64(a, b)), vreinterpretq_u32_u64(vtrn2q_u64(a, b)))
    }
}

impl Arithmetic for Neon {
    // Arm's processors add in the units that multiply.
    const ADDERS: bool = false;

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe { Self(vld1q_f64(from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe { vst1q_f64(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vdupq_n_f64(value)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vaddq_f64(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vsubq_f64(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul(self, factor: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vmulq_f64(self.0, factor.0)) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vfmaq_f64(term.0, self.0, factor.0)) }
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vfmsq_f64(term.0, self.0, factor.0)) }
    }
}

impl Lanes for Neon {
    const WIDTH: usize = 2;

    #[inline(always)]
    unsafe fn block_down(plan: &Plan, index: usize, spectrum: *mut f64, near: Near) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe { block_down_parts::<Self, NeonFour>(plan, index, spectrum, near) }
    }
    #[inline(always)]
    unsafe fn block_up(plan: &Plan, from: *const f64, to: *mut f64) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe { block_up_parts::<Self, NeonFour>(plan, from, to) }
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
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let Preparation { add, flip, mask, log2_base, .. } = preparation;
            let (add, flip) = (vdupq_n_u32(add as u32), vdupq_n_u32(flip as u32));
            let (mask, base) = (vdupq_n_u32(mask as u32), vdupq_n_s32(log2_base as i32));
            for at in (0..STEP).step_by(4) {
                let (from, own) = (vld1q_u32(from.add(at)), vld1q_u32(own.add(at)));
                let rest = vsubq_u32(add, own);
                let sum = if negated { vsubq_u32(rest, from) } else { vaddq_u32(rest, from) };
                let mut words = veorq_u32(sum, flip);
                for level in 0..preparation.count::<LEVELS>() {
                    vst1q_u32(out.add(level as usize * degree + at), vandq_u32(words, mask));
                    words = vshlq_u32(words, base);
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
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let Preparation { add, flip, mask, log2_base, .. } = preparation;
            let (add, flip) = (vdupq_n_u64(add), vdupq_n_u64(flip));
            let (mask, base) = (vdupq_n_u64(mask), vdupq_n_s64(i64::from(log2_base)));
            for at in (0..STEP).step_by(2) {
                let (from, own) = (vld1q_u64(from.add(at)), vld1q_u64(own.add(at)));
                let rest = vsubq_u64(add, own);
                let sum = if negated { vsubq_u64(rest, from) } else { vaddq_u64(rest, from) };
                let mut words = veorq_u64(sum, flip);
                for level in 0..preparation.count::<LEVELS>() {
                    vst1q_u64(out.add(level as usize * degree + at), vandq_u64(words, mask));
                    words = vshlq_u64(words, base);
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
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let add = vdupq_n_u32(preparation.add as u32);
            // The upper three bytes of two words, or whole words. An index of 255 selects no byte.
            const NONE: u8 = 255;
            let bytes = if preparation.packed() {
                [1, 2, 3, 5, 6, 7, NONE, NONE, 9, 10, 11, 13, 14, 15, NONE, NONE]
            } else {
                [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
            };
            let bytes = vld1q_u8(bytes.as_ptr());
            // Two polynomials, four words of each.
            for lanes in (0..LANES).step_by(2) {
                for at in (0..STEP).step_by(4) {
                    let mut rows = [add; 2];
                    for (lane, row) in rows.iter_mut().enumerate() {
                        let lane = lanes + lane;
                        let own = vld1q_u32(own.add(lane * apart + at));
                        let words = if ROTATED {
                            let sign = vdupq_n_u32(negated[lane]);
                            let other = veorq_u32(vld1q_u32(from[lane].add(at)), sign);
                            vaddq_u32(vsubq_u32(other, sign), vsubq_u32(add, own))
                        } else {
                            vaddq_u32(own, add)
                        };
                        *row = vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(words), bytes));
                    }
                    let (even, odd) = transposed(rows[0], rows[1]);
                    let out = out.add(at / 2 % 4 * pair_apart + at / 8 * LANES + lanes);
                    vst1q_f64(out, vreinterpretq_f64_u32(even));
                    vst1q_f64(out.add(pair_apart), vreinterpretq_f64_u32(odd));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn from_field(pairs: *const f64, field: Field) -> Self {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let words = vld1q_u64(pairs.byte_add(field.down as usize / 8).cast());
            let number = vorrq_u64(vandq_u64(words, vdupq_n_u64(field.mask)), vdupq_n_u64(field.large.to_bits()));
            Self(vsubq_f64(vreinterpretq_f64_u64(number), vdupq_n_f64(field.zero)))
        }
    }
    #[inline(always)]
    unsafe fn store_above(self, to: *mut f64) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let low = vld1q_u64(to.cast());
            vst1q_u64(to.cast(), vsliq_n_u64::<32>(low, vreinterpretq_u64_f64(self.0)));
        }
    }
    #[inline(always)]
    unsafe fn add_to_eight(words: *const f64, pair_apart: usize, shift: u32, to: *mut u32, apart: usize) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let shift = vdupq_n_s32(shift as i32);
            for lanes in (0..LANES).step_by(2) {
                for at in (0..STEP).step_by(4) {
                    let words = words.add(at / 2 % 4 * pair_apart + at / 8 * LANES + lanes).cast::<u32>();
                    let (even, odd) = (vld1q_u32(words), vld1q_u32(words.add(2 * pair_apart)));
                    let (first, second) = transposed(even, odd);
                    for (lane, words) in [(lanes, first), (lanes + 1, second)] {
                        let to = to.add(lane * apart + at);
                        vst1q_u32(to, vaddq_u32(vld1q_u32(to), vshlq_u32(words, shift)));
                    }
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn widened(group: *const u8, lane: usize) -> (Self, Self) {
        // SAFETY: the set is present, and 96 bytes are valid, by the trait's contract: the last load reads the final sixteen bytes and uses the
        // last twelve.
        unsafe {
            // Twelve bytes of two numbers, the first or the last of sixteen; each number goes to the top of its lane.
            const NONE: u8 = 255;
            const FIRST: [u8; 16] = [NONE, NONE, 0, 1, 2, 3, 4, 5, NONE, NONE, 6, 7, 8, 9, 10, 11];
            const LAST: [u8; 16] = [NONE, NONE, 4, 5, 6, 7, 8, 9, NONE, NONE, 10, 11, 12, 13, 14, 15];
            let (re, im) = (group.add(NARROW * lane), group.add(NARROW * (LANES + lane) - 4));
            let re = vqtbl1q_u8(vld1q_u8(re), vld1q_u8(FIRST.as_ptr()));
            let im = vqtbl1q_u8(vld1q_u8(im), vld1q_u8(LAST.as_ptr()));
            (Self(vreinterpretq_f64_u8(re)), Self(vreinterpretq_f64_u8(im)))
        }
    }
    #[inline(always)]
    unsafe fn from_i32(words: *const i32) -> Self {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe { Self(vcvtq_f64_s64(vmovl_s32(vld1_s32(words)))) }
    }
    #[inline(always)]
    unsafe fn from_i64(words: *const i64) -> Self {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe { Self(vcvtq_f64_s64(vld1q_s64(words))) }
    }
    #[inline(always)]
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let shift = vdup_n_s32(shift as i32);
            for (value, to) in [(a, to_a), (b, to_b)] {
                let words = vshl_u32(vmovn_u64(vreinterpretq_u64_f64(value.0)), shift);
                vst1_u32(to, vadd_u32(vld1_u32(to), words));
            }
        }
    }
    #[inline(always)]
    unsafe fn add_to_64(self, words: *mut u64) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            // The nearest multiple of 2^32 and the remainder: a conversion of 2^63 itself would saturate below it.
            let centred = reduce(self.0, TWO_64);
            let high = vrndnq_f64(vmulq_n_f64(centred, 1.0 / TWO_32));
            let low = vcvtnq_s64_f64(vfmsq_f64(centred, high, vdupq_n_f64(TWO_32)));
            let sum = vaddq_s64(vshlq_n_s64::<32>(vcvtq_s64_f64(high)), low);
            vst1q_u64(words, vaddq_u64(vld1q_u64(words), vreinterpretq_u64_s64(sum)));
        }
    }
    #[inline(always)]
    unsafe fn prefetch(line: *const u8) {
        fetch_line(line);
    }
    #[inline(always)]
    unsafe fn prefetch_near(line: *const u8) {
        fetch_line_near(line);
    }
    #[inline(always)]
    unsafe fn reduce_32(self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(reduce(self.0, TWO_32)) }
    }
}

/// Lanes of [`NeonFour`], and polynomials of a batch across lanes.
const LANES: usize = 8;

/// Applies an operation to each of four registers. A loop, because a closure may not be inlined.
macro_rules! each {
    ($($operand:ident),* => $operation:expr) => {{
        let mut all = [vdupq_n_f64(0.0); 4];
        for (register, result) in all.iter_mut().enumerate() {
            $(let $operand = $operand.0[register];)*
            *result = $operation;
        }
        Self(all)
    }};
}

impl Arithmetic for NeonFour {
    const ADDERS: bool = Neon::ADDERS;

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            let mut all = [vdupq_n_f64(0.0); 4];
            for (register, result) in all.iter_mut().enumerate() {
                *result = vld1q_f64(from.add(2 * register));
            }
            Self(all)
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the set is present and the elements are valid, by the trait's contract.
        unsafe {
            for (register, value) in self.0.into_iter().enumerate() {
                vst1q_f64(to.add(2 * register), value);
            }
        }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self([vdupq_n_f64(value); 4]) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let a = self;
            each!(a, other => vaddq_f64(a, other))
        }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let a = self;
            each!(a, other => vsubq_f64(a, other))
        }
    }
    #[inline(always)]
    unsafe fn mul(self, factor: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let a = self;
            each!(a, factor => vmulq_f64(a, factor))
        }
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let a = self;
            each!(a, factor, term => vfmaq_f64(term, a, factor))
        }
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            let a = self;
            each!(a, factor, term => vfmsq_f64(term, a, factor))
        }
    }
}

impl Eight for NeonFour {
    #[inline(always)]
    unsafe fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        let (Self([a0, a1, a2, a3]), Self([b0, b1, b2, b3])) = (a, b);
        (Self([a0, a1, b0, b1]), Self([a2, a3, b2, b3]))
    }
    #[inline(always)]
    unsafe fn exchange_quarters(a: Self, b: Self) -> (Self, Self) {
        let (Self([a0, a1, a2, a3]), Self([b0, b1, b2, b3])) = (a, b);
        (Self([a0, a2, b0, b2]), Self([a1, a3, b1, b3]))
    }
    #[inline(always)]
    unsafe fn exchange_lanes(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { (each!(a, b => vtrn1q_f64(a, b)), each!(a, b => vtrn2q_f64(a, b))) }
    }
}
