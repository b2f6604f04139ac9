//! Twiddle factors, in the order in which the passes read them.
//!
//! **Forward.** The ring C[X]/(X^M − i), M = N/2, is split like a tree. A node of depth s stands for C[X]/(X^h − e^{iθ}) with h = M/2^s; its
//! children are C[X]/(X^{h/2} ∓ e^{iθ/2}). So one butterfly (x₀, x₁) → (x₀ + w x₁, x₀ − w x₁) with w = e^{iθ/2} serves the whole node, and the
//! twist of a folded negacyclic transform is free. Node b of depth s has θ/2 = π/4/2^s + π · rev_s(b)/2^s, where rev_s reverses s bits. A child's w
//! is a square root of its parent's, and its sibling's is i times it, so fused levels need only powers of the last level's first twiddle
//! (`butterflies::levels`).
//!
//! **Inverse.** Leaf p is the value at ζ ω^{rev(p)} with ζ = e^{iπ/N}, ω = e^{2πi/M}: the values are a cyclic transform of ζ^j x_j in bit-reversed
//! order. The inverse is that of the cyclic transform (decimation in time), whose butterflies have the same form with w = e^{−iπj/h} for
//! coefficient j of two halves of h, the same for all nodes of a depth, followed by ζ^{−j}.
//!
//! **Form.** If additions have their own units, a twiddle is stored as cosine and sine ([`Form`]); a butterfly is four multiplier and four adder
//! operations. Otherwise a twiddle w = c (1 + i t) is stored as c = cos and t = tan: b (1 + i t) is two fused multiply-adds, and c is applied in the
//! four that add and subtract, six operations per butterfly instead of eight. Large tangents are harmless: the rounding of b (1 + i t) is relative,
//! and c scales it down again (see [`super::bound`]). Doubles of the cosines are stored because a + c z is computed from a − c z, which avoids the
//! copies that overwriting instructions would need.

use super::butterflies::{LANES, NUMBERS, RATIOS, ratio_place, turn_place};
use crate::aligned::AlignedVector;
use crate::isa::{self, Isa};
use std::f64::consts::PI;

/// Complex points of the last fused block: two radix-8 steps around a transposition.
pub(super) const BLOCK: usize = 64;

/// Numbers per block in [`Plan::blocks`].
pub(super) const BLOCK_TWIDDLES: usize = NUMBERS + LANES;

/// One pass over the whole array: `radix` fused levels (log2; 1, 2 or 3) from depth `depth`.
#[derive(Debug)]
pub(super) struct Pass {
    pub radix: u32,
    pub depth: u32,
    /// Forward: [`NUMBERS`] per node.
    pub down: AlignedVector,
    /// Inverse: [`NUMBERS`] vectors for each eight coefficients of a child.
    pub up: AlignedVector,
}

/// All tables of one size.
#[derive(Debug)]
pub(super) struct Plan {
    /// M = N/2, the complex points.
    pub points: usize,
    /// Passes before the last block, in forward order; none if M ≤ 64.
    pub passes: Vec<Pass>,
    /// For each 64-point block [`BLOCK_TWIDDLES`] numbers: [`NUMBERS`] of its first three levels, then [`LANES`] of the last three. Empty if M < 64.
    pub blocks: AlignedVector,
    /// [`LANES`] numbers of three inverse levels of any block, after three levels without a table.
    pub block_up: AlignedVector,
    /// ζ^{−j}, eight real parts then eight imaginary ones; 1 if M < 64, whose butterflies include it.
    pub untwist: AlignedVector,
    /// M < 64: w of each node, depth by depth, real then imaginary.
    pub small: Vec<f64>,
}

/// e^{iπ · `numerator`/`denominator`}, an angle in [0, π): (real, imaginary). Reduces exactly in integers to at most π/4, so that the argument's
/// rounding error stays below 2^-53.
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
pub fn twiddle(depth: u32, index: usize) -> (f64, f64) {
    let reversed = if depth == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - depth) };
    // The angle is (4 · rev + 1)/2^(s + 2) · π, in [0, π).
    root(4 * reversed + 1, 1usize << (depth + 2))
}

/// (cos, tan) from (cos, sin). A cosine of 0 becomes 2^-60, far below half a unit of the other part.
pub(super) fn tangent((cos, sin): (f64, f64)) -> (f64, f64) {
    const LEAST: f64 = 1.0 / (1u64 << 60) as f64;
    let cos = if cos.abs() < LEAST { LEAST } else { cos };
    (cos, sin / cos)
}

/// Variant of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Fused multiply-adds only: tangents, and cosines as ratios.
    Fused,
    /// Full products, and sums in separate units: sines and cosines.
    Adders,
}

impl Form {
    /// The form that `isa` is compiled for; for AVX-512 the one that suits the processor.
    pub fn of(isa: Isa) -> Self {
        match isa {
            Isa::Avx512 if isa::has_adders() => Self::Adders,
            Isa::Avx512 | Isa::Neon => Self::Fused,
            Isa::Avx2 | Isa::Portable => Self::Adders,
        }
    }
}

/// The [`NUMBERS`] of levels whose last twiddle is e^{iπ · `numerator`/`denominator`}, or its conjugate.
fn numbers(form: Form, numerator: usize, denominator: usize, conjugate: bool) -> [f64; NUMBERS] {
    let powers: [_; 8] = std::array::from_fn(|j| {
        let numerator = j * numerator % (2 * denominator);
        let (re, im) = root(numerator % denominator, denominator);
        let im = if conjugate { -im } else { im };
        if numerator < denominator { (re, im) } else { (-re, -im) }
    });
    let mut numbers = [0.0; NUMBERS];
    if form == Form::Adders {
        for (j, power) in powers.into_iter().enumerate() {
            (numbers[8 + j], numbers[j]) = power;
        }
        return numbers;
    }
    let powers = powers.map(tangent);
    let cos = |j: usize| powers[j].0;
    let ratios: [f64; RATIOS] = [
        cos(4),
        cos(5) / cos(1),
        cos(6) / cos(2),
        cos(7) / cos(3),
        cos(2),
        cos(3) / cos(1),
        cos(1),
        cos(1) * std::f64::consts::FRAC_1_SQRT_2,
    ];
    for j in 0..8 {
        (numbers[j], numbers[8 + j], numbers[8 + RATIOS + j]) = (powers[j].1, ratios[j], 2.0 * ratios[j]);
    }
    numbers
}

/// The numbers of `radix` levels from node `index` of `depth`.
fn node(form: Form, depth: u32, index: usize, radix: u32) -> [f64; NUMBERS] {
    let reversed = if depth == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - depth) };
    numbers(form, 4 * reversed + 1, 1usize << (depth + radix + 1), false)
}

/// The numbers at coefficient `at` of `radix` inverse levels whose first joins halves of `half` coefficients.
fn coefficient(form: Form, half: usize, at: usize, radix: u32) -> [f64; NUMBERS] {
    numbers(form, at, half << (radix - 1), true)
}

/// [`LANES`] numbers of eight nodes.
fn lanes(form: Form, down: bool, of: impl Fn(usize) -> [f64; NUMBERS]) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    for node in 0..8 {
        let numbers = of(node);
        for j in 0..8 {
            let turn = turn_place(down, node, j);
            lanes[turn] = numbers[j];
            if form == Form::Adders {
                lanes[64 + turn] = numbers[8 + j];
            } else {
                let at = ratio_place(down, node, j);
                (lanes[at], lanes[at + 8]) = (numbers[8 + j], numbers[8 + RATIOS + j]);
            }
        }
    }
    lanes
}

/// The numbers of `radix` inverse levels whose first joins halves of `half` coefficients, in the layout of [`Pass::up`].
fn up_numbers(form: Form, half: usize, radix: u32) -> AlignedVector {
    let mut vectors = Vec::with_capacity(half * NUMBERS);
    for first in (0..half).step_by(8) {
        let of: [_; 8] = std::array::from_fn(|lane| coefficient(form, half, first + lane, radix));
        vectors.extend((0..8 * NUMBERS).map(|place| of[place % 8][place / 8]));
    }
    aligned(&vectors)
}

fn aligned(numbers: &[f64]) -> AlignedVector {
    let mut aligned = AlignedVector::zeros(numbers.len());
    aligned.copy_from_slice(numbers);
    aligned
}

impl Plan {
    pub fn new(points: usize, form: Form) -> Self {
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
            let nodes = (0..1usize << depth).flat_map(|index| node(form, depth, index, radix));
            let down = aligned(&nodes.collect::<Vec<_>>());
            let up = up_numbers(form, points >> (depth + radix), radix);
            plan.passes.push(Pass { radix, depth, down, up });
            depth += radix;
        }
        plan.block_up = aligned(&lanes(form, false, |at| coefficient(form, 8, at, 3)));
        let mut numbers = Vec::with_capacity(points / BLOCK * BLOCK_TWIDDLES);
        for index in 0..points / BLOCK {
            numbers.extend(node(form, depth, index, 3));
            numbers.extend(lanes(form, true, |below| node(form, depth + 3, 8 * index + below, 3)));
        }
        plan.blocks = aligned(&numbers);
        plan
    }
}

/// Levels per pass: the fewest passes, small ones first.
fn radices(levels: u32) -> Vec<u32> {
    match levels {
        0 => vec![],
        1 => vec![1],
        2 => vec![2],
        _ if levels.is_multiple_of(3) => vec![3; (levels / 3) as usize],
        _ => std::iter::once(2).chain(radices(levels - 2)).collect(),
    }
}
