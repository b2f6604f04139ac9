//! Twiddle factors, in the order in which the passes read them.
//!
//! **Forward.** The ring C[X]/(X^M − i), M = N/2, is split like a tree. A node of depth s stands for
//! C[X]/(X^h − e^{iθ}) with h = M/2^s; its children are C[X]/(X^{h/2} ∓ e^{iθ/2}), so one butterfly
//! (x₀, x₁) → (x₀ + w x₁, x₀ − w x₁) with the single w = e^{iθ/2} serves the whole node, and the twist
//! of a folded negacyclic transform costs nothing. Node b of depth s has
//! θ/2 = π/4/2^s + π · rev_s(b)/2^s, rev_s reversing s bits. A child's w is a square root of its
//! parent's, and its sibling's is i times it: three levels at once need only w₀, w₁, w₂ and e^{iπ/4} w₂.
//!
//! **Inverse.** Leaf p is the value at ζ ω^{rev(p)} with ζ = e^{iπ/N}, ω = e^{2πi/M}: the values are a cyclic transform, in
//! bit-reversed order, of ζ^j x_j. The inverse is that of the cyclic transform (decimation in time), whose butterflies
//! have the same form with w = e^{−iπj/h} for coefficient j of two halves of h, the same for all nodes of a depth,
//! and ζ^{−j} at the end.
//!
//! **Form.** A twiddle w = c (1 + i t) is kept as c = cos and t = tan: b (1 + i t) takes two fused multiply-adds, and c is applied
//! in the four that add and subtract, six for a butterfly instead of eight operations. Large tangents do no harm: the
//! rounding of b (1 + i t) is relative, and c scales it down again (see [`super::bound`]). The doubles of the cosines are there because
//! a + c z is made from a − c z, which spares the copies that an instruction which overwrites an operand would need.

use super::butterflies::TREE_8;
use crate::aligned::AlignedVector;
use std::f64::consts::PI;

/// Complex points of the last fused block: two radix-8 steps around a transposition.
pub(super) const BLOCK: usize = 64;

/// Numbers that [`Plan::blocks`] holds for each block.
pub(super) const BLOCK_TWIDDLES: usize = NODE[3] + 6 * 24;

/// Numbers that a node of a forward pass of so many levels (log2 of the radix) takes: three for a twiddle, or what
/// `butterflies::tree_8` reads.
pub(super) const NODE: [usize; 4] = [0, 3, 6, TREE_8 + 1];

/// One pass over the whole array: `radix` levels at once (log2; 1, 2 or 3) from depth `depth` on.
/// `radix` 3 has w₀, w₁, w₂, w₃; 2 has w₀, w₁; 1 has w₀.
#[derive(Debug)]
pub(super) struct Pass {
    pub radix: u32,
    pub depth: u32,
    /// Forward: [`NODE`] numbers for each node.
    pub down: AlignedVector,
    /// Inverse: for each eight coefficients of a child their twiddles, each as eight cosines, their doubles, eight tangents.
    pub up: AlignedVector,
}

/// All tables of one size.
#[derive(Debug)]
pub(super) struct Plan {
    /// M = N/2, the complex points.
    pub points: usize,
    /// Passes before the last block, in forward order; none if M ≤ 64.
    pub passes: Vec<Pass>,
    /// For each 64-point block [`BLOCK_TWIDDLES`] numbers: those of a node of radix 8, then six twiddles as [`Pass::up`] has them for
    /// the last three levels, two for each. Empty if M < 64.
    pub blocks: AlignedVector,
    /// Three inverse levels of any block, after three that need no table: six such vectors.
    pub block_up: AlignedVector,
    /// ζ^{−j}, eight real parts then eight imaginary ones; 1 if M < 64, whose butterflies hold it.
    pub untwist: AlignedVector,
    /// M < 64: w of each node, depth by depth, real then imaginary.
    pub small: Vec<f64>,
}

/// e^{iπ · `numerator`/`denominator`}, an angle in [0, π): (real, imaginary). Reduced exactly, in integers, to at most
/// π/4 so that the argument's rounding stays under 2^-53.
pub(super) fn root(numerator: usize, denominator: usize) -> (f64, f64) {
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

/// w of node `index` of depth `depth`: (real, imaginary).
pub(crate) fn twiddle(depth: u32, index: usize) -> (f64, f64) {
    let reversed = if depth == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - depth) };
    // The angle is (4 · rev + 1)/2^(s + 2) · π, in [0, π).
    root(4 * reversed + 1, 1usize << (depth + 2))
}

/// (cos, tan) of (cos, sin). A cosine of 0 becomes 2^-60, far under half a unit of the other part.
pub(super) fn tangent((cos, sin): (f64, f64)) -> (f64, f64) {
    const LEAST: f64 = 1.0 / (1u64 << 60) as f64;
    let cos = if cos.abs() < LEAST { LEAST } else { cos };
    (cos, sin / cos)
}

/// The [`NODE`] numbers of `radix` levels from node `index` of `depth` on.
fn node(depth: u32, index: usize, radix: u32) -> Vec<f64> {
    if radix < 3 {
        let chain = (0..radix).map(|d| tangent(twiddle(depth + d, index << d)));
        return chain.flat_map(|(cos, tan)| [cos, 2.0 * cos, tan]).collect();
    }
    // Powers of the last twiddle, whose angle is half of half of the node's own.
    let reversed = if depth == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - depth) };
    let denominator = 1usize << (depth + 4);
    let power = |j: usize| {
        let numerator = j * (4 * reversed + 1) % (2 * denominator);
        let (re, im) = root(numerator % denominator, denominator);
        tangent(if numerator < denominator { (re, im) } else { (-re, -im) })
    };
    let powers: [_; 8] = std::array::from_fn(power);
    let cos = |j: usize| powers[j].0;
    let ratios = [
        cos(4),
        cos(5) / cos(1),
        cos(6) / cos(2),
        cos(7) / cos(3),
        cos(2),
        cos(3) / cos(1),
        cos(1),
        cos(1) * std::f64::consts::FRAC_1_SQRT_2,
    ];
    let tangents = powers[1..].iter().map(|power| power.1);
    let mut numbers: Vec<f64> = tangents.chain(ratios.into_iter().flat_map(|ratio| [ratio, 2.0 * ratio])).collect();
    numbers.resize(NODE[3], 0.0);
    numbers
}

/// e^{−iπ · `numerator`/`denominator`} as (cos, tan).
fn conjugate(numerator: usize, denominator: usize) -> (f64, f64) {
    let (re, im) = root(numerator, denominator);
    tangent((re, -im))
}

/// Appends eight twiddles: cosines, their doubles, tangents.
fn push_lanes(numbers: &mut Vec<f64>, of: impl Fn(usize) -> (f64, f64)) {
    let lanes: [(f64, f64); 8] = std::array::from_fn(of);
    numbers.extend(lanes.iter().map(|lane| lane.0));
    numbers.extend(lanes.iter().map(|lane| 2.0 * lane.0));
    numbers.extend(lanes.iter().map(|lane| lane.1));
}

/// The twiddles of `radix` inverse levels whose first joins halves of `half` coefficients, as [`Pass::up`] has them.
fn up_twiddles(half: usize, radix: u32) -> AlignedVector {
    let mut numbers = Vec::new();
    for first in (0..half).step_by(8) {
        let mut push = |offset: usize, denominator: usize| {
            push_lanes(&mut numbers, |lane| conjugate(first + lane + offset, denominator));
        };
        (0..radix).for_each(|level| push(0, half << level));
        if radix == 3 {
            push(half, half << 2);
        }
    }
    aligned(&numbers)
}

fn aligned(numbers: &[f64]) -> AlignedVector {
    let mut aligned = AlignedVector::zeros(numbers.len());
    aligned.copy_from_slice(numbers);
    aligned
}

impl Plan {
    pub fn new(points: usize) -> Self {
        let depth_of_all = points.trailing_zeros();
        let none = || AlignedVector::zeros(0);
        let mut plan = Self {
            points,
            passes: Vec::new(),
            blocks: none(),
            block_up: none(),
            untwist: AlignedVector::zeros(2 * points),
            small: Vec::new(),
        };
        let small = points < BLOCK;
        for (group, numbers) in plan.untwist.chunks_exact_mut(16).enumerate() {
            for lane in 0..8 {
                let (re, im) = if small { (1.0, 0.0) } else { root(8 * group + lane, 2 * points) };
                (numbers[lane], numbers[8 + lane]) = (re, -im);
            }
        }
        if small {
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
            let nodes = (0..1usize << depth).flat_map(|index| node(depth, index, radix));
            let down = aligned(&nodes.collect::<Vec<_>>());
            let up = up_twiddles(points >> (depth + radix), radix);
            plan.passes.push(Pass { radix, depth, down, up });
            depth += radix;
        }
        // What register and lane hold at each level: see `butterflies::lanes_down` and `lanes_up`.
        let mut numbers = Vec::new();
        for vector in 0..6 {
            let second = vector & 1;
            push_lanes(&mut numbers, |lane| {
                let bit = |position: u32| lane >> position & 1;
                match vector / 2 {
                    0 => conjugate(2 * second + bit(0), 8),
                    1 => conjugate(4 * second + 2 * bit(2) + bit(0), 16),
                    _ => conjugate(8 * second + lane, 32),
                }
            });
        }
        plan.block_up = aligned(&numbers);
        let mut numbers = Vec::with_capacity(points / BLOCK * BLOCK_TWIDDLES);
        for index in 0..points / BLOCK {
            numbers.extend(node(depth, index, 3));
            for vector in 0..6 {
                // The node's last bit is 0 (its sibling's twiddle is i times this), the bit before is `second`.
                let second = vector & 1;
                push_lanes(&mut numbers, |lane| {
                    let bit = |position: u32| lane >> position & 1;
                    let (level, node) = match vector / 2 {
                        0 => (3, 4 * bit(2) + 2 * second),
                        1 => (4, 8 * bit(1) + 4 * bit(2) + 2 * second),
                        _ => (5, 16 * bit(1) + 8 * bit(2) + 4 * bit(0) + 2 * second),
                    };
                    tangent(twiddle(depth + level, (index << level) + node))
                });
            }
        }
        plan.blocks = aligned(&numbers);
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
