//! The stages, over split real and imaginary parts.
//!
//! The stages have constant geometry: a forward stage reads points i and i + M/2 and writes points 2i and
//! 2i + 1, an inverse stage the reverse, so every stage is one long loop over consecutive memory.
//! Point p · 2^s + b is coefficient p of node b after s stages (see `fft::plan` for the tree of nodes). Where the twist is not merged
//! (see `structure`), a stage only adds and subtracts, and what turns points between stages is a loop of its own.
//!
//! Where all widths are at most 32 bits, products fit 64 bits and the loops are vectorised
//! (compiled for AVX-512, AVX2 and the base set); otherwise products are taken in 128 bits. Integers, so
//! every path gives the same bits.

use super::spec::{AccumulatorSpec, Rounding, TransformSpec};
use super::structure::Structure;
use crate::fft::node_twiddle;
use crate::isa::Isa;

/// Right shift with rounding: ⌊(x + add + (lowest kept bit of x, if `odd`)) / 2^shift⌋.
#[derive(Clone, Copy)]
pub(super) struct Round {
    shift: u32,
    add: i64,
    odd: i64,
}

impl Round {
    pub fn new(shift: u32, rounding: Rounding) -> Self {
        let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
        match rounding {
            Rounding::HalfUp => Self { shift, add: half, odd: 0 },
            // A half less one unit, plus one unit if the kept part is odd.
            Rounding::HalfEven if shift > 0 => Self { shift, add: half - 1, odd: 1 },
            _ => Self { shift, add: 0, odd: 0 },
        }
    }

    #[inline(always)]
    pub fn narrow(self, value: i64) -> i64 {
        (value + self.add + ((value >> self.shift) & self.odd)) >> self.shift
    }

    #[inline(always)]
    pub fn wide(self, value: i128) -> i128 {
        (value + i128::from(self.add) + ((value >> self.shift) & i128::from(self.odd))) >> self.shift
    }
}

/// Keeps `value` within ±`limit` and counts when it was not.
#[inline(always)]
fn saturate(value: i64, limit: i64, saturations: &mut u64) -> i64 {
    let kept = value.clamp(-limit, limit);
    *saturations += u64::from(kept != value);
    kept
}

/// Largest magnitude of a signed `width`-bit number; symmetric, so that −x is always representable.
pub(super) fn limit(width: u32) -> i64 {
    (1 << (width - 1)) - 1
}

/// x · y, rounded: in 64 bits if both fit 32 (`NARROW`), else in 128.
#[inline(always)]
fn complex_product<const NARROW: bool>((ar, ai): (i64, i64), (br, bi): (i64, i64), round: Round) -> (i64, i64) {
    if NARROW {
        // The casts tell the compiler that a 32 × 32 → 64 bit multiplier is enough.
        let product = |x: i64, y: i64| i64::from(x as i32) * i64::from(y as i32);
        (round.narrow(product(ar, br) - product(ai, bi)), round.narrow(product(ar, bi) + product(ai, br)))
    } else {
        let product = |x: i64, y: i64| i128::from(x) * i128::from(y);
        // Results of more than 64 bits are cut to the largest i64: the saturation that follows sees them.
        let cut = |x: i128| x.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64;
        (cut(round.wide(product(ar, br) - product(ai, bi))), cut(round.wide(product(ar, bi) + product(ai, br))))
    }
}

/// What one stage does to each pair.
#[derive(Clone, Copy)]
struct StageRule {
    /// After a product with a twiddle factor.
    product: Round,
    /// The stage's scaling.
    scale: Round,
    limit: i64,
}

/// Largest accumulator shift of the 64-bit path.
pub(super) const NARROW_SHIFT: u32 = 33;

/// Pairs that one step of a stage handles together.
const LANES: usize = 8;

type Parts<'a> = (&'a [i64], &'a [i64]);
type PartsMut<'a> = (&'a mut [i64], &'a mut [i64]);

#[inline(always)]
fn forward_stage<const NARROW: bool>(from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule) -> u64 {
    let half = from.0.len() / 2;
    let ((ar, br), (ai, bi)) = (from.0.split_at(half), from.1.split_at(half));
    let mut count = 0;
    let inputs =
        ar.chunks_exact(LANES).zip(ai.chunks_exact(LANES)).zip(br.chunks_exact(LANES).zip(bi.chunks_exact(LANES)));
    let outputs = to.0.chunks_exact_mut(2 * LANES).zip(to.1.chunks_exact_mut(2 * LANES));
    let factors = twiddles.0.chunks_exact(LANES).zip(twiddles.1.chunks_exact(LANES));
    for ((((ar, ai), (br, bi)), (yr, yi)), (wr, wi)) in inputs.zip(outputs).zip(factors) {
        let mut sums = [[0i64; LANES]; 4];
        for l in 0..LANES {
            let (tr, ti) = complex_product::<NARROW>((br[l], bi[l]), (wr[l], wi[l]), rule.product);
            sums[0][l] = saturate(rule.scale.narrow(ar[l] + tr), rule.limit, &mut count);
            sums[1][l] = saturate(rule.scale.narrow(ar[l] - tr), rule.limit, &mut count);
            sums[2][l] = saturate(rule.scale.narrow(ai[l] + ti), rule.limit, &mut count);
            sums[3][l] = saturate(rule.scale.narrow(ai[l] - ti), rule.limit, &mut count);
        }
        for l in 0..LANES {
            (yr[2 * l], yr[2 * l + 1]) = (sums[0][l], sums[1][l]);
            (yi[2 * l], yi[2 * l + 1]) = (sums[2][l], sums[3][l]);
        }
    }
    count
}

#[inline(always)]
fn inverse_stage<const NARROW: bool>(from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule) -> u64 {
    let half = from.0.len() / 2;
    let ((ar, br), (ai, bi)) = (to.0.split_at_mut(half), to.1.split_at_mut(half));
    let mut count = 0;
    let inputs = from.0.chunks_exact(2 * LANES).zip(from.1.chunks_exact(2 * LANES));
    let outputs = ar
        .chunks_exact_mut(LANES)
        .zip(ai.chunks_exact_mut(LANES))
        .zip(br.chunks_exact_mut(LANES).zip(bi.chunks_exact_mut(LANES)));
    let factors = twiddles.0.chunks_exact(LANES).zip(twiddles.1.chunks_exact(LANES));
    for (((xr, xi), ((ar, ai), (br, bi))), (wr, wi)) in inputs.zip(outputs).zip(factors) {
        let mut pairs = [[0i64; LANES]; 4];
        for l in 0..LANES {
            (pairs[0][l], pairs[1][l]) = (xr[2 * l], xr[2 * l + 1]);
            (pairs[2][l], pairs[3][l]) = (xi[2 * l], xi[2 * l + 1]);
        }
        for l in 0..LANES {
            ar[l] = saturate(rule.scale.narrow(pairs[0][l] + pairs[1][l]), rule.limit, &mut count);
            ai[l] = saturate(rule.scale.narrow(pairs[2][l] + pairs[3][l]), rule.limit, &mut count);
            let dr = saturate(rule.scale.narrow(pairs[0][l] - pairs[1][l]), rule.limit, &mut count);
            let di = saturate(rule.scale.narrow(pairs[2][l] - pairs[3][l]), rule.limit, &mut count);
            let (tr, ti) = complex_product::<NARROW>((dr, di), (wr[l], -wi[l]), rule.product);
            br[l] = saturate(tr, rule.limit, &mut count);
            bi[l] = saturate(ti, rule.limit, &mut count);
        }
    }
    count
}

/// A stage without products.
#[inline(always)]
fn forward_butterflies<const NARROW: bool>(from: Parts, to: PartsMut, rule: StageRule) -> u64 {
    let half = from.0.len() / 2;
    let mut count = 0;
    for (from, to) in [(from.0, to.0), (from.1, to.1)] {
        let (a, b) = from.split_at(half);
        let inputs = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
        for ((a, b), y) in inputs.zip(to.chunks_exact_mut(2 * LANES)) {
            for l in 0..LANES {
                y[2 * l] = saturate(rule.scale.narrow(a[l] + b[l]), rule.limit, &mut count);
                y[2 * l + 1] = saturate(rule.scale.narrow(a[l] - b[l]), rule.limit, &mut count);
            }
        }
    }
    count
}

#[inline(always)]
fn inverse_butterflies<const NARROW: bool>(from: Parts, to: PartsMut, rule: StageRule) -> u64 {
    let half = to.0.len() / 2;
    let mut count = 0;
    for (from, to) in [(from.0, to.0), (from.1, to.1)] {
        let (a, b) = to.split_at_mut(half);
        let outputs = a.chunks_exact_mut(LANES).zip(b.chunks_exact_mut(LANES));
        for (x, (a, b)) in from.chunks_exact(2 * LANES).zip(outputs) {
            for l in 0..LANES {
                a[l] = saturate(rule.scale.narrow(x[2 * l] + x[2 * l + 1]), rule.limit, &mut count);
                b[l] = saturate(rule.scale.narrow(x[2 * l] - x[2 * l + 1]), rule.limit, &mut count);
            }
        }
    }
    count
}

/// Every point times its factor, or times its conjugate with `sign` -1.
#[inline(always)]
fn turn<const NARROW: bool>(points: PartsMut, factors: Parts, sign: i64, rule: StageRule) -> u64 {
    let mut count = 0;
    for ((re, im), (&wr, &wi)) in points.0.iter_mut().zip(points.1).zip(factors.0.iter().zip(factors.1)) {
        let (tr, ti) = complex_product::<NARROW>((*re, *im), (wr, sign * wi), rule.product);
        *re = saturate(tr, rule.limit, &mut count);
        *im = saturate(ti, rule.limit, &mut count);
    }
    count
}

#[inline(always)]
fn accumulate<const NARROW: bool>(sum: PartsMut, a: Parts, b: Parts, round: Round, limit: i64) -> u64 {
    let mut count = 0;
    let operands = a.0.iter().zip(a.1).zip(b.0.iter().zip(b.1));
    for ((sr, si), ((&ar, &ai), (&br, &bi))) in sum.0.iter_mut().zip(sum.1).zip(operands) {
        let (pr, pi) = complex_product::<NARROW>((ar, ai), (br, bi), round);
        *sr = saturate(*sr + pr, limit, &mut count);
        *si = saturate(*si + pi, limit, &mut count);
    }
    count
}

/// Compiles `$inner` for each instruction set and picks at run time.
macro_rules! versions {
    ($name:ident, $inner:ident, ($($argument:ident: $type:ty),*)) => {
        fn $name<const NARROW: bool>($($argument: $type),*) -> u64 {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
                fn avx512<const NARROW: bool>($($argument: $type),*) -> u64 {
                    $inner::<NARROW>($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<const NARROW: bool>($($argument: $type),*) -> u64 {
                    $inner::<NARROW>($($argument),*)
                }
                match Isa::best() {
                    // SAFETY: `best` names a set that the processor has.
                    Isa::Avx512 => return unsafe { avx512::<NARROW>($($argument),*) },
                    // SAFETY: as above.
                    Isa::Avx2 => return unsafe { avx2::<NARROW>($($argument),*) },
                    Isa::Portable => {}
                }
            }
            $inner::<NARROW>($($argument),*)
        }
    };
}

versions!(run_forward_stage, forward_stage, (from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule));
versions!(run_inverse_stage, inverse_stage, (from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule));
versions!(run_forward_butterflies, forward_butterflies, (from: Parts, to: PartsMut, rule: StageRule));
versions!(run_inverse_butterflies, inverse_butterflies, (from: Parts, to: PartsMut, rule: StageRule));
versions!(run_turn, turn, (points: PartsMut, factors: Parts, sign: i64, rule: StageRule));
versions!(run_accumulate, accumulate, (sum: PartsMut, a: Parts, b: Parts, round: Round, limit: i64));

/// `sum` += a · b. `narrow`: both operands are at most 32 bits wide, and the shift at most 33: the largest sum of two
/// products, 2 (2^31 − 1)², leaves 2^33 for the rounding.
pub(super) fn multiply_accumulate(
    narrow: bool,
    spec: AccumulatorSpec,
    rounding: Rounding,
    sum: PartsMut,
    a: Parts,
    b: Parts,
) -> u64 {
    let (round, limit) = (Round::new(spec.shift, rounding), limit(spec.width));
    if narrow {
        run_accumulate::<true>(sum, a, b, round, limit)
    } else {
        run_accumulate::<false>(sum, a, b, round, limit)
    }
}

/// Real parts and imaginary ones.
type Factors = (Vec<i64>, Vec<i64>);

/// Quantised twiddle factors, as the stages read them.
#[derive(Clone, Debug)]
enum Tables {
    /// For each stage, M/2 factors.
    Merged(Vec<Factors>),
    Twisted {
        /// M factors, before the first forward stage.
        twist: Factors,
        /// After each forward stage, M factors if it is followed by a rotation.
        rotations: Vec<Option<Factors>>,
    },
}

/// The stages of one structure with twiddle factors of one width.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    fraction_bits: u32,
    twiddle_bits: u32,
    tables: Tables,
}

/// e^(2πi · `numerator` / 2^`log2`), the angle reduced in integers to an eighth of a turn, so that trivial factors are exact.
pub(super) fn root((numerator, log2): (usize, u32)) -> (f64, f64) {
    let numerator = numerator & ((1 << log2) - 1);
    // In eighths: octant and what is left of it.
    let scaled = numerator << 3;
    let (octant, rest) = (scaled >> log2, scaled & ((1 << log2) - 1));
    let part = |rest: usize| (std::f64::consts::FRAC_PI_4 * rest as f64 / (1u64 << log2) as f64).sin_cos();
    let (sine, cosine) = part(if octant % 2 == 0 { rest } else { (1 << log2) - rest });
    match octant {
        0 => (cosine, sine),
        1 => (sine, cosine),
        2 => (-sine, cosine),
        3 => (-cosine, sine),
        4 => (-cosine, -sine),
        5 => (-sine, -cosine),
        6 => (sine, -cosine),
        _ => (cosine, -sine),
    }
}

impl Engine {
    pub fn new(structure: Structure, points: usize, twiddle_bits: u32) -> Self {
        let fraction_bits = super::spec::twiddle_fraction_bits(twiddle_bits);
        let scale = (1i64 << fraction_bits) as f64;
        let quantised = |(re, im): (f64, f64)| ((re * scale).round() as i64, (im * scale).round() as i64);
        let log2_points = points.trailing_zeros();
        let tables = match structure {
            Structure::Merged => {
                let stages = (0..log2_points).map(|depth| {
                    let nodes: Vec<(f64, f64)> = (0..1usize << depth).map(|b| node_twiddle(depth, b)).collect();
                    (0..points / 2).map(|i| quantised(nodes[i & (nodes.len() - 1)])).unzip()
                });
                Tables::Merged(stages.collect())
            }
            Structure::Twisted { .. } => {
                // ζ = e^(iπ/2M).
                let twist = (0..points).map(|j| quantised(root((j, log2_points + 2)))).unzip();
                let rotation = |stage| {
                    let rotation = structure.rotation(log2_points, stage)?;
                    Some((0..points).map(|p| quantised(root(rotation.turn(p)))).unzip())
                };
                Tables::Twisted { twist, rotations: (0..log2_points).map(rotation).collect() }
            }
        };
        Self { fraction_bits, twiddle_bits, tables }
    }

    fn rule(&self, width: u32, shift: u32, rounding: Rounding) -> StageRule {
        StageRule {
            product: Round::new(self.fraction_bits, rounding),
            scale: Round::new(shift, rounding),
            limit: limit(width),
        }
    }

    fn turn(&self, points: PartsMut, factors: &Factors, sign: i64, width: u32, rounding: Rounding) -> u64 {
        let rule = self.rule(width, 0, rounding);
        let run = if width <= 32 && self.twiddle_bits <= 32 { run_turn::<true> } else { run_turn::<false> };
        run(points, (&factors.0, &factors.1), sign, rule)
    }

    /// Forward, in place. Returns the saturations.
    pub fn forward(&self, spec: &TransformSpec, rounding: Rounding, re: &mut Vec<i64>, im: &mut Vec<i64>) -> u64 {
        let (mut to_re, mut to_im) = (vec![0; re.len()], vec![0; im.len()]);
        let mut width = spec.input_width;
        let mut count = 0;
        if let Tables::Twisted { twist, .. } = &self.tables {
            count += self.turn((re, im), twist, 1, width, rounding);
        }
        for (number, stage) in spec.stages.iter().enumerate() {
            let rule = self.rule(stage.width, stage.shift, rounding);
            count += match &self.tables {
                Tables::Merged(stages) => {
                    let narrow = width <= 32 && self.twiddle_bits <= 32;
                    let run = if narrow { run_forward_stage::<true> } else { run_forward_stage::<false> };
                    let (wr, wi) = &stages[number];
                    run((re, im), (&mut to_re, &mut to_im), (wr, wi), rule)
                }
                Tables::Twisted { rotations, .. } => {
                    let sums = run_forward_butterflies::<true>((re, im), (&mut to_re, &mut to_im), rule);
                    let turned = rotations[number].as_ref();
                    sums + turned
                        .map_or(0, |factors| self.turn((&mut to_re, &mut to_im), factors, 1, stage.width, rounding))
                }
            };
            std::mem::swap(re, &mut to_re);
            std::mem::swap(im, &mut to_im);
            width = stage.width;
        }
        count
    }

    /// Inverse, in place and unscaled but for the stages' shifts. Returns the saturations.
    pub fn inverse(&self, spec: &TransformSpec, rounding: Rounding, re: &mut Vec<i64>, im: &mut Vec<i64>) -> u64 {
        let (mut to_re, mut to_im) = (vec![0; re.len()], vec![0; im.len()]);
        let mut width = spec.input_width;
        let mut count = 0;
        for (number, stage) in (0..spec.stages.len()).rev().zip(&spec.stages) {
            let rule = self.rule(stage.width, stage.shift, rounding);
            count += match &self.tables {
                Tables::Merged(stages) => {
                    // The product comes after the stage's own saturation.
                    let narrow = stage.width <= 32 && self.twiddle_bits <= 32;
                    let run = if narrow { run_inverse_stage::<true> } else { run_inverse_stage::<false> };
                    let (wr, wi) = &stages[number];
                    run((re, im), (&mut to_re, &mut to_im), (wr, wi), rule)
                }
                Tables::Twisted { rotations, .. } => {
                    let turned = rotations[number].as_ref();
                    let turned =
                        turned.map_or(0, |factors| self.turn((&mut *re, &mut *im), factors, -1, width, rounding));
                    turned + run_inverse_butterflies::<true>((re, im), (&mut to_re, &mut to_im), rule)
                }
            };
            std::mem::swap(re, &mut to_re);
            std::mem::swap(im, &mut to_im);
            width = stage.width;
        }
        if let Tables::Twisted { twist, .. } = &self.tables {
            count += self.turn((re, im), twist, -1, width, rounding);
        }
        count
    }

    /// The same tables, marked as needing 128-bit products.
    #[cfg(test)]
    pub fn widened(self) -> Self {
        Self { twiddle_bits: 33, ..self }
    }
}
