//! Twiddle factors, in the order in which the passes read them.
//!
//! The ring C[X]/(X^M − i), M = N/2, is split like a tree. A node of depth s stands for
//! C[X]/(X^h − e^{iθ}) with h = M/2^s; its children are C[X]/(X^{h/2} ∓ e^{iθ/2}), so one butterfly
//! (x₀, x₁) → (x₀ + w x₁, x₀ − w x₁) with the single w = e^{iθ/2} serves the whole node, and the twist
//! of a folded negacyclic transform costs nothing. Node b of depth s has
//! θ/2 = π/4/2^s + π · rev_s(b)/2^s, rev_s reversing s bits. A child's w is a square root of its
//! parent's, and its sibling's is i times it: three levels at once need only w₀, w₁, w₂ and e^{iπ/4} w₂.

use crate::aligned::AlignedVector;
use std::f64::consts::PI;

/// Complex points of the last fused block: two radix-8 steps around a transposition.
pub(super) const BLOCK: usize = 64;

/// Numbers that [`Plan::blocks`] holds for each block.
pub(super) const BLOCK_TWIDDLES: usize = 8 + 8 * 16;

/// One pass over the whole array: `radix` levels at once (log2; 1, 2 or 3) from depth `depth` on.
#[derive(Debug)]
pub(super) struct Pass {
    pub radix: u32,
    pub depth: u32,
    /// For each node: `radix` 3 has w₀, w₁, w₂, w₃; 2 has w₀, w₁; 1 has w₀; real then imaginary.
    pub twiddles: AlignedVector,
}

/// All tables of one size.
#[derive(Debug)]
pub(super) struct Plan {
    /// M = N/2, the complex points.
    pub points: usize,
    /// Passes before the last block, in forward order; none if M ≤ 64.
    pub passes: Vec<Pass>,
    /// For each 64-point block [`BLOCK_TWIDDLES`] numbers: 8 as a radix-8 pass has, then vectors of eight real and eight
    /// imaginary parts, two for each of the last three levels and two more for the inverse. Empty if M < 64.
    pub blocks: AlignedVector,
    /// M < 64: w of each node, depth by depth, real then imaginary.
    pub small: Vec<f64>,
}

/// w of node `index` of depth `depth`: (real, imaginary).
pub(crate) fn twiddle(depth: u32, index: usize) -> (f64, f64) {
    let reversed = if depth == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - depth) };
    // The angle is (4 · rev + 1)/2^(s + 2) · π, in [0, π): reduced exactly, in integers, to at most
    // π/4 so that the argument's rounding stays under 2^-53.
    let (numerator, denominator) = (4 * reversed + 1, 1usize << (depth + 2));
    let angle = |numerator: usize| PI * (numerator as f64 / denominator as f64);
    if 4 * numerator <= denominator {
        let (s, c) = angle(numerator).sin_cos();
        (c, s)
    } else if 4 * numerator <= 3 * denominator {
        // e^{iφ} = i · e^{i(φ − π/2)}
        let offset = (2 * numerator) as f64 - denominator as f64;
        let (s, c) = (PI * (offset / (2 * denominator) as f64)).sin_cos();
        (-s, c)
    } else {
        let (s, c) = angle(denominator - numerator).sin_cos();
        (-c, s)
    }
}

/// w₀ of depth `depth`, then one for each further level: the first node under `index`.
fn chain(depth: u32, index: usize, levels: u32) -> Vec<(f64, f64)> {
    let mut chain: Vec<_> = (0..levels).map(|d| twiddle(depth + d, index << d)).collect();
    if levels == 3 {
        chain.push(twiddle(depth + 2, (index << 2) + 2));
    }
    chain
}

impl Plan {
    pub fn new(points: usize) -> Self {
        let depth_of_all = points.trailing_zeros();
        let mut plan = Self { points, passes: Vec::new(), blocks: AlignedVector::zeros(0), small: Vec::new() };
        if points < BLOCK {
            for depth in 0..depth_of_all {
                for index in 0..1usize << depth {
                    let (re, im) = twiddle(depth, index);
                    plan.small.extend([re, im]);
                }
            }
            return plan;
        }
        let before = depth_of_all - BLOCK.trailing_zeros();
        let mut depth = 0;
        for radix in radices(before) {
            let mut twiddles = Vec::new();
            for index in 0..1usize << depth {
                twiddles.extend(chain(depth, index, radix).into_iter().flat_map(|(re, im)| [re, im]));
            }
            let mut aligned = AlignedVector::zeros(twiddles.len());
            aligned.copy_from_slice(&twiddles);
            plan.passes.push(Pass { radix, depth, twiddles: aligned });
            depth += radix;
        }
        plan.blocks = AlignedVector::zeros(points / BLOCK * BLOCK_TWIDDLES);
        for (index, block) in plan.blocks.chunks_exact_mut(BLOCK_TWIDDLES).enumerate() {
            let (own, below) = block.split_at_mut(8);
            for (pair, (re, im)) in own.chunks_exact_mut(2).zip(chain(depth, index, 3)) {
                pair.copy_from_slice(&[re, im]);
            }
            for (vector, values) in below.chunks_exact_mut(16).enumerate() {
                // The node's last bit is 0 (its sibling's twiddle is i times this), the bit before is `second`.
                let second = vector & 1;
                for lane in 0..8 {
                    let bit = |position: u32| lane >> position & 1;
                    let (level, node) = match vector / 2 {
                        0 => (3, 4 * bit(2) + 2 * second),
                        1 => (4, 8 * bit(1) + 4 * bit(2) + 2 * second),
                        2 => (5, 16 * bit(1) + 8 * bit(2) + 4 * bit(0) + 2 * second),
                        _ => (3, 4 * bit(1) + 2 * second),
                    };
                    (values[lane], values[8 + lane]) = twiddle(depth + level, (index << level) + node);
                }
            }
        }
        plan
    }
}

/// How many levels each pass takes: the fewest passes, the small ones first.
fn radices(levels: u32) -> Vec<u32> {
    match levels {
        0 => vec![],
        1 => vec![1],
        2 => vec![2],
        _ if levels.is_multiple_of(3) => vec![3; (levels / 3) as usize],
        _ => std::iter::once(2).chain(radices(levels - 2)).collect(),
    }
}
