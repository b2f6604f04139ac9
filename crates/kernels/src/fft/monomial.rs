//! Monomials in the transform domain, by which the patterns of an unrolled key are multiplied.
//!
//! The transform evaluates at the roots e^{iπc/N}, c = 4 rev(p) + 1 at leaf p, where rev reverses log₂ M bits. A leaf's bits are those of its block
//! and those within the block, and rev maps disjoint bits to disjoint bits. So X^e at a point is the product of a number per block and a number
//! per place within the block, which is the same for all blocks.

use super::butterflies::Complex;
use super::lanes::{Arithmetic, Lanes};
use super::passes::{read, write};
use super::plan::{BLOCK, Plan, root};
use crate::aligned::AlignedVector;

/// The evaluation points of a transform.
#[derive(Debug)]
pub(super) struct Roots {
    /// cos(π k/N) and sin(π k/N), k < 2N.
    powers: AlignedVector,
    /// For each block, c of its first leaf.
    blocks: Vec<u32>,
    /// For each place within a block, c relative to the first leaf.
    places: Vec<u32>,
}

impl Roots {
    /// The roots of `plan`'s transform.
    pub fn new(plan: &Plan) -> Self {
        // The plan's roots cover half a turn.
        let half = 2 * plan.points;
        let mut powers = AlignedVector::zeros(4 * half);
        for (k, power) in powers.chunks_exact_mut(2).enumerate() {
            let sign = if k < half { 1.0 } else { -1.0 };
            let (cos, sin) = root(k % half, half);
            (power[0], power[1]) = (sign * cos, sign * sin);
        }
        let odd = |leaf: usize| 4 * ((leaf as u32).reverse_bits() >> (u32::BITS - plan.points.trailing_zeros())) + 1;
        let size = plan.points.min(BLOCK);
        Self {
            powers,
            blocks: (0..plan.points).step_by(size).map(odd).collect(),
            places: (0..size).map(|place| odd(leaf(size, place)) - 1).collect(),
        }
    }

    /// X^`exponent` at the root e^{iπ`odd`/N}: real, imaginary.
    #[inline(always)]
    fn power(&self, exponent: u32, odd: u32) -> (f64, f64) {
        let at = 2 * (exponent.wrapping_mul(odd) as usize & (self.powers.len() / 2 - 1));
        (self.powers[at], self.powers[at + 1])
    }

    /// Writes the factor of X^`exponent` that is common to all blocks, in spectrum layout. SAFETY: `V`'s set is present, and `to` is valid for one
    /// block.
    #[inline(always)]
    pub unsafe fn places<V: Lanes>(&self, exponent: u32, to: *mut f64) {
        let mut lanes = [0.0; 16];
        for (lane, &odd) in self.places[..8].iter().enumerate() {
            (lanes[lane], lanes[8 + lane]) = self.power(exponent, odd);
        }
        // SAFETY: this function's contract.
        unsafe {
            for at in (0..self.places.len()).step_by(8) {
                let (re, im) = self.power(exponent, self.places[at]);
                for lane in (0..8).step_by(V::WIDTH) {
                    let number = turned(read(lanes.as_ptr(), lane), V::splat(re), V::splat(im), V::splat(0.0));
                    write(number, to, at + lane);
                }
            }
        }
    }

    /// The factor of X^`exponent` common to all blocks at `place`, which is below 8 or a multiple of 8.
    #[inline(always)]
    pub fn place(&self, exponent: u32, place: usize) -> (f64, f64) {
        self.power(exponent, self.places[place])
    }

    /// The factor of X^`exponent` common to all of `block`.
    #[inline(always)]
    pub fn block(&self, exponent: u32, block: usize) -> (f64, f64) {
        self.power(exponent, self.blocks[block])
    }
}

/// x (`re` + i `im`) + `constant`. SAFETY: `V`'s set is present.
#[inline(always)]
pub(super) unsafe fn turned<V: Arithmetic>(x: Complex<V>, re: V, im: V, constant: V) -> Complex<V> {
    // SAFETY: this function's contract.
    unsafe {
        Complex {
            re: x.im.neg_mul_add(im, x.re.mul_add(re, constant)),
            im: x.im.mul_add(re, x.re.mul_add(im, V::splat(0.0))),
        }
    }
}

/// The leaf at `place` within a block of `size` points: blocks of 64 are transposed.
fn leaf(size: usize, place: usize) -> usize {
    if size < BLOCK {
        return place;
    }
    let bit = |position: u32| place >> position & 1;
    // Registers are (b₂ b₁ b₀), lanes (b₄ b₅ b₃).
    bit(1) << 5 | bit(2) << 4 | bit(0) << 3 | place >> 3
}
