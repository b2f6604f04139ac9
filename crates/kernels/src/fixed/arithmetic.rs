//! The stages of a fixed-point transform, on separate real and imaginary parts.
//!
//! Stages have constant geometry: a forward stage reads points i and i + M/2 and writes points 2i and 2i + 1, an inverse stage the reverse, so
//! every stage is one long loop over consecutive memory. Point p · 2^s + b is coefficient p of node b after s stages (see `fft::plan` for the tree
//! of nodes). If the twist is not merged (see `structure`), a stage only adds and subtracts, and separate loops rotate points between stages.
//!
//! If all widths are at most 32 bits, products fit 64 bits. If they are somewhat wider, one factor is split in two so that both partial products
//! fit. Both cases are vectorised (compiled for AVX-512, AVX2 and the base set); otherwise products have 128 bits. All are integers, so every
//! path gives the same bits.

use super::factors::{Factors, quantised};
use super::spec::{AccumulatorSpec, Rounding, Stage, TransformSpec, limit};
use super::structure::Structure;
#[cfg(target_arch = "x86_64")]
use crate::isa::Isa;
use std::cell::RefCell;

/// Const-generic values of [`Products`].
pub const NARROW: u8 = 0;
pub const SPLIT: u8 = 1;
pub const WIDE: u8 = 2;

/// Method for exact complex products of numbers with given widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// Both factors fit 32 bits, and their products 64.
    Narrow,
    /// The first factor is split at this bit, so that both partial products fit 64 bits.
    Split(u32),
    /// In 128 bits.
    Wide,
}

/// log2 of the largest sum of two partial products; the carry between them keeps it below 2^63.
const SPLIT_BITS: u32 = 62;

/// Largest shift of products that fit 64 bits: the largest sum of two, 2 (2^31 − 1)², leaves 2^33 for the rounding.
const NARROW_SHIFT: u32 = 33;

impl Products {
    /// For products of numbers of `width` bits and `factor` bits, shifted right by `shift`.
    pub fn of(width: u32, factor: u32, shift: u32) -> Self {
        let low = (width + factor).saturating_sub(1 + SPLIT_BITS);
        if width <= 32 && factor <= 32 && shift <= NARROW_SHIFT {
            Self::Narrow
        } else if low <= shift && low + factor <= SPLIT_BITS && shift < SPLIT_BITS {
            Self::Split(low)
        } else {
            Self::Wide
        }
    }
}

/// Right shift with rounding: ⌊(x + add + (lowest kept bit of x, if `odd`)) / 2^shift⌋.
#[derive(Clone, Copy)]
pub struct Round {
    shift: u32,
    add: i64,
    odd: i64,
    /// Low bits split off by a split product, among those that are shifted out.
    low: u32,
}

impl Round {
    pub fn new(shift: u32, rounding: Rounding) -> Self {
        let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
        match rounding {
            Rounding::HalfUp => Self { shift, add: half, odd: 0, low: 0 },
            // A half minus one unit, plus one unit if the kept part is odd.
            Rounding::HalfEven if shift > 0 => Self { shift, add: half - 1, odd: 1, low: 0 },
            _ => Self { shift, add: 0, odd: 0, low: 0 },
        }
    }

    /// The same rounding for products computed as `products`.
    pub fn of(self, products: Products) -> Self {
        let low = if let Products::Split(low) = products { low } else { 0 };
        Self { low, ..self }
    }

    #[inline(always)]
    pub fn narrow(self, value: i64) -> i64 {
        (value + self.add + ((value >> self.shift) & self.odd)) >> self.shift
    }

    /// Rounds high · 2^low + rest without forming it.
    #[inline(always)]
    fn split(self, high: i64, rest: i64) -> i64 {
        let above = self.shift - self.low;
        let high = high + (rest >> self.low);
        let kept = high >> above;
        let dropped = ((high & ((1 << above) - 1)) << self.low) | (rest & ((1 << self.low) - 1));
        kept + ((dropped + self.add + (kept & self.odd)) >> self.shift)
    }

    #[inline(always)]
    pub fn wide(self, value: i128) -> i128 {
        (value + i128::from(self.add) + ((value >> self.shift) & i128::from(self.odd))) >> self.shift
    }
}

/// Limits `value` to ±`limit`, and counts saturations.
#[inline(always)]
pub(super) fn saturate(value: i64, limit: i64, saturations: &mut u64) -> i64 {
    let kept = value.clamp(-limit, limit);
    *saturations += u64::from(kept != value);
    kept
}

/// a · b, rounded.
#[inline(always)]
pub fn complex_product<const PRODUCTS: u8>((ar, ai): (i64, i64), (br, bi): (i64, i64), round: Round) -> (i64, i64) {
    if PRODUCTS == NARROW {
        // The casts allow the compiler a 32 × 32 → 64 bit multiplier.
        let product = |x: i64, y: i64| i64::from(x as i32) * i64::from(y as i32);
        (round.narrow(product(ar, br) - product(ai, bi)), round.narrow(product(ar, bi) + product(ai, br)))
    } else if PRODUCTS == SPLIT {
        let mask = (1 << round.low) - 1;
        let ((hr, lr), (hi, li)) = ((ar >> round.low, ar & mask), (ai >> round.low, ai & mask));
        let real = round.split(hr * br - hi * bi, lr * br - li * bi);
        (real, round.split(hr * bi + hi * br, lr * bi + li * br))
    } else {
        let product = |x: i64, y: i64| i128::from(x) * i128::from(y);
        // Clamps results beyond 64 bits, so that the following saturation detects them.
        let cut = |x: i128| x.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64;
        (cut(round.wide(product(ar, br) - product(ai, bi))), cut(round.wide(product(ar, bi) + product(ai, br))))
    }
}

/// Roundings and limit of one stage.
#[derive(Clone, Copy)]
struct StageRule {
    /// After a product with a twiddle factor.
    product: Round,
    /// The stage's scaling.
    scale: Round,
    limit: i64,
}

/// Pairs per step of a stage.
const LANES: usize = 8;

type Parts<'a> = (&'a [i64], &'a [i64]);
type PartsMut<'a> = (&'a mut [i64], &'a mut [i64]);

#[inline(always)]
fn forward_stage<const PRODUCTS: u8>(from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule) -> u64 {
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
            let (tr, ti) = complex_product::<PRODUCTS>((br[l], bi[l]), (wr[l], wi[l]), rule.product);
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
fn inverse_stage<const PRODUCTS: u8>(from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule) -> u64 {
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
            let (tr, ti) = complex_product::<PRODUCTS>((dr, di), (wr[l], -wi[l]), rule.product);
            br[l] = saturate(tr, rule.limit, &mut count);
            bi[l] = saturate(ti, rule.limit, &mut count);
        }
    }
    count
}

/// A stage without products.
#[inline(always)]
fn forward_butterflies<const PRODUCTS: u8>(from: Parts, to: PartsMut, rule: StageRule) -> u64 {
    let half = from.0.len() / 2;
    let mut count = 0;
    for (from, to) in [(from.0, to.0), (from.1, to.1)] {
        let (a, b) = from.split_at(half);
        let inputs = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
        for ((a, b), y) in inputs.zip(to.chunks_exact_mut(2 * LANES)) {
            let (mut sums, mut differences) = ([0; LANES], [0; LANES]);
            for l in 0..LANES {
                sums[l] = saturate(rule.scale.narrow(a[l] + b[l]), rule.limit, &mut count);
                differences[l] = saturate(rule.scale.narrow(a[l] - b[l]), rule.limit, &mut count);
            }
            for l in 0..LANES {
                (y[2 * l], y[2 * l + 1]) = (sums[l], differences[l]);
            }
        }
    }
    count
}

#[inline(always)]
fn inverse_butterflies<const PRODUCTS: u8>(from: Parts, to: PartsMut, rule: StageRule) -> u64 {
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

/// Multiplies every point by its factor, or by its conjugate if `sign` is -1.
#[inline(always)]
fn turn<const PRODUCTS: u8>(points: PartsMut, factors: Parts, sign: i64, rule: StageRule) -> u64 {
    let mut count = 0;
    for ((re, im), (&wr, &wi)) in points.0.iter_mut().zip(points.1).zip(factors.0.iter().zip(factors.1)) {
        let (tr, ti) = complex_product::<PRODUCTS>((*re, *im), (wr, sign * wi), rule.product);
        *re = saturate(tr, rule.limit, &mut count);
        *im = saturate(ti, rule.limit, &mut count);
    }
    count
}

#[inline(always)]
fn accumulate<const PRODUCTS: u8>(sum: PartsMut, a: Parts, b: Parts, round: Round, limit: i64) -> u64 {
    let mut count = 0;
    let operands = a.0.iter().zip(a.1).zip(b.0.iter().zip(b.1));
    for ((sr, si), ((&ar, &ai), (&br, &bi))) in sum.0.iter_mut().zip(sum.1).zip(operands) {
        let (pr, pi) = complex_product::<PRODUCTS>((ar, ai), (br, bi), round);
        *sr = saturate(*sr + pr, limit, &mut count);
        *si = saturate(*si + pi, limit, &mut count);
    }
    count
}

/// Compiles `$inner` for each product method and instruction set, and dispatches at run time.
macro_rules! versions {
    ($name:ident, $inner:ident, ($($argument:ident: $type:ty),*)) => {
        fn $name(products: Products, $($argument: $type),*) -> u64 {
            fn pick<const PRODUCTS: u8>($($argument: $type),*) -> u64 {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
                    fn avx512<const PRODUCTS: u8>($($argument: $type),*) -> u64 {
                        $inner::<PRODUCTS>($($argument),*)
                    }
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2<const PRODUCTS: u8>($($argument: $type),*) -> u64 {
                        $inner::<PRODUCTS>($($argument),*)
                    }
                    match Isa::best() {
                        // SAFETY: `best` names a set that the processor has.
                        Isa::Avx512 => return unsafe { avx512::<PRODUCTS>($($argument),*) },
                        // SAFETY: as above.
                        Isa::Avx2 => return unsafe { avx2::<PRODUCTS>($($argument),*) },
                        Isa::Neon | Isa::Portable => {}
                    }
                }
                $inner::<PRODUCTS>($($argument),*)
            }
            match products {
                Products::Narrow => pick::<NARROW>($($argument),*),
                Products::Split(_) => pick::<SPLIT>($($argument),*),
                Products::Wide => pick::<WIDE>($($argument),*),
            }
        }
    };
}

versions!(run_forward_stage, forward_stage, (from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule));
versions!(run_inverse_stage, inverse_stage, (from: Parts, to: PartsMut, twiddles: Parts, rule: StageRule));
versions!(run_forward_butterflies, forward_butterflies, (from: Parts, to: PartsMut, rule: StageRule));
versions!(run_inverse_butterflies, inverse_butterflies, (from: Parts, to: PartsMut, rule: StageRule));
versions!(run_turn, turn, (points: PartsMut, factors: Parts, sign: i64, rule: StageRule));
versions!(run_accumulate, accumulate, (sum: PartsMut, a: Parts, b: Parts, round: Round, limit: i64));

/// `sum` += a · b; `products` suits the widths of a and b.
pub(super) fn multiply_accumulate(
    products: Products,
    spec: AccumulatorSpec,
    rounding: Rounding,
    sum: PartsMut,
    a: Parts,
    b: Parts,
) -> u64 {
    let (round, limit) = (Round::new(spec.shift, rounding).of(products), limit(spec.width));
    run_accumulate(products, sum, a, b, round, limit)
}

/// Real parts and imaginary ones.
type SplitFactors = (Vec<i64>, Vec<i64>);

/// Quantised twiddle factors in the order of the stages.
#[derive(Clone, Debug)]
enum Tables {
    /// For each stage, M/2 factors.
    Merged(Vec<SplitFactors>),
    Twisted {
        /// M factors, before the first forward stage.
        twist: SplitFactors,
        /// After each forward stage, M factors if it is followed by a rotation.
        rotations: Vec<Option<SplitFactors>>,
    },
}

thread_local! {
    /// Ping-pong buffers of the stages, reused between transforms.
    static OTHER_BUFFERS: RefCell<(Vec<i64>, Vec<i64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Buffers for `points` points, with arbitrary content.
fn other_buffers(points: usize) -> (Vec<i64>, Vec<i64>) {
    let (mut re, mut im) = OTHER_BUFFERS.take();
    re.resize(points, 0);
    im.resize(points, 0);
    (re, im)
}

/// The stages of one structure with twiddle factors of one width.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    fraction_bits: u32,
    twiddle_bits: u32,
    tables: Tables,
}

impl Engine {
    pub fn new(structure: Structure, points: usize, twiddle_bits: u32) -> Self {
        let fraction_bits = super::spec::twiddle_fraction_bits(twiddle_bits);
        let quantised = |factors: Vec<(f64, f64)>| -> SplitFactors {
            factors.into_iter().map(|(re, im)| (quantised(re, fraction_bits), quantised(im, fraction_bits))).unzip()
        };
        let tables = match Factors::exact(structure, points) {
            Factors::Merged(stages) => Tables::Merged(stages.into_iter().map(quantised).collect()),
            Factors::Twisted { twist, rotations } => Tables::Twisted {
                twist: quantised(twist),
                rotations: rotations.into_iter().map(|rotation| rotation.map(quantised)).collect(),
            },
        };
        Self { fraction_bits, twiddle_bits, tables }
    }

    /// For data of `width` bits before or after the stage `stage`.
    fn rule(&self, width: u32, stage: Stage, rounding: Rounding) -> (Products, StageRule) {
        let products = Products::of(width, self.twiddle_bits, self.fraction_bits);
        let rule = StageRule {
            product: Round::new(self.fraction_bits, rounding).of(products),
            scale: Round::new(stage.shift, rounding),
            limit: limit(stage.width),
        };
        (products, rule)
    }

    fn turn(&self, points: PartsMut, factors: &SplitFactors, sign: i64, width: u32, rounding: Rounding) -> u64 {
        let (products, rule) = self.rule(width, Stage { width, shift: 0 }, rounding);
        run_turn(products, points, (&factors.0, &factors.1), sign, rule)
    }

    /// Forward, in place. Returns the saturations.
    pub fn forward(&self, spec: &TransformSpec, rounding: Rounding, re: &mut Vec<i64>, im: &mut Vec<i64>) -> u64 {
        let (mut to_re, mut to_im) = other_buffers(re.len());
        let mut width = spec.input_width;
        let mut count = 0;
        if let Tables::Twisted { twist, .. } = &self.tables {
            count += self.turn((re, im), twist, 1, width, rounding);
        }
        for (number, stage) in spec.stages.iter().enumerate() {
            let (products, rule) = self.rule(width, *stage, rounding);
            count += match &self.tables {
                Tables::Merged(stages) => {
                    let (wr, wi) = &stages[number];
                    run_forward_stage(products, (re, im), (&mut to_re, &mut to_im), (wr, wi), rule)
                }
                Tables::Twisted { rotations, .. } => {
                    let sums = run_forward_butterflies(products, (re, im), (&mut to_re, &mut to_im), rule);
                    let turned = rotations[number].as_ref();
                    sums + turned
                        .map_or(0, |factors| self.turn((&mut to_re, &mut to_im), factors, 1, stage.width, rounding))
                }
            };
            std::mem::swap(re, &mut to_re);
            std::mem::swap(im, &mut to_im);
            width = stage.width;
        }
        OTHER_BUFFERS.set((to_re, to_im));
        count
    }

    /// Inverse, in place; scaled only by the stages' shifts. Returns the saturations.
    pub fn inverse(&self, spec: &TransformSpec, rounding: Rounding, re: &mut Vec<i64>, im: &mut Vec<i64>) -> u64 {
        let (mut to_re, mut to_im) = other_buffers(re.len());
        let mut width = spec.input_width;
        let mut count = 0;
        for (number, stage) in (0..spec.stages.len()).rev().zip(&spec.stages) {
            // The product follows the stage's saturation.
            let (products, rule) = self.rule(stage.width, *stage, rounding);
            count += match &self.tables {
                Tables::Merged(stages) => {
                    let (wr, wi) = &stages[number];
                    run_inverse_stage(products, (re, im), (&mut to_re, &mut to_im), (wr, wi), rule)
                }
                Tables::Twisted { rotations, .. } => {
                    let turned = rotations[number].as_ref();
                    let turned =
                        turned.map_or(0, |factors| self.turn((&mut *re, &mut *im), factors, -1, width, rounding));
                    turned + run_inverse_butterflies(products, (re, im), (&mut to_re, &mut to_im), rule)
                }
            };
            std::mem::swap(re, &mut to_re);
            std::mem::swap(im, &mut to_im);
            width = stage.width;
        }
        OTHER_BUFFERS.set((to_re, to_im));
        if let Tables::Twisted { twist, .. } = &self.tables {
            count += self.turn((re, im), twist, -1, width, rounding);
        }
        count
    }

    /// See [`super::FixedFft::widened`].
    pub fn widened(self, twiddle_bits: u32) -> Self {
        Self { twiddle_bits, ..self }
    }
}
