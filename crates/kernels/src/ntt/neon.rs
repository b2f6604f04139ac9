//! Four 32-bit words in one NEON register.
//!
//! Every intrinsic below needs NEON, which the caller of a [`Lanes32`] method guarantees.

use super::words32::Lanes32;
use std::arch::aarch64::*;

/// One register.
#[derive(Clone, Copy)]
pub(super) struct Neon(uint32x4_t);

impl Lanes32 for Neon {
    const LOG2_LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the set is present and four words are valid, by the trait's contract.
        unsafe { Self(vld1q_u32(from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: the set is present and four words are valid, by the trait's contract.
        unsafe { vst1q_u32(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: u32) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vdupq_n_u32(value)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vaddq_u32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vsubq_u32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vminq_u32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vmulq_u32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn multiply_high(self, other: Self, _odd: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            // Products of the two lower and the two upper lanes, whose odd words are the high halves.
            let lower = vmull_u32(vget_low_u32(self.0), vget_low_u32(other.0));
            let upper = vmull_high_u32(self.0, other.0);
            Self(vuzp2q_u32(vreinterpretq_u32_u64(lower), vreinterpretq_u32_u64(upper)))
        }
    }
    /// The identity: products use all lanes.
    #[inline(always)]
    unsafe fn odd(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn add_where_less(self, a: Self, b: Self, addend: Self) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe { Self(vaddq_u32(self.0, vandq_u32(vcltq_u32(a.0, b.0), addend.0))) }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(self, stage: usize, _first: usize) -> Self {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            // Lanes (3, 2, 1, 0), (2, 2, 3, 3) and (3, 3, 2, 2).
            let upper = vzip2q_u32(self.0, self.0);
            Self(match (stage, MIRRORED) {
                (0, false) => self.0,
                (0, true) => {
                    let swapped = vrev64q_u32(self.0);
                    vextq_u32::<2>(swapped, swapped)
                }
                (_, false) => upper,
                (_, true) => vextq_u32::<2>(upper, upper),
            })
        }
    }
    #[inline(always)]
    unsafe fn swap(Self(a): Self, Self(b): Self, bit: usize) -> (Self, Self) {
        // SAFETY: the set is present, by the trait's contract.
        unsafe {
            if bit == 0 {
                return (Self(vtrn1q_u32(a, b)), Self(vtrn2q_u32(a, b)));
            }
            let (a, b) = (vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b));
            (Self(vreinterpretq_u32_u64(vtrn1q_u64(a, b))), Self(vreinterpretq_u32_u64(vtrn2q_u64(a, b))))
        }
    }
}
