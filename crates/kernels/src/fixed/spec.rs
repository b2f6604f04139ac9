//! Widths and scaling of a fixed-point external product, and the rules that choose them.

use super::error::FixedSpecError;
use super::structure::Structure;
use crate::decompose::Gadget;
use crate::ring::RingDegree;
use serde::{Deserialize, Serialize};

/// Rounding of the bits dropped by a right shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Towards minus infinity: the bits are cut off.
    Truncate,
    /// To the nearest, halves up: biased by 2^-(s+1) units of the last bit after a shift by s.
    HalfUp,
    /// To the nearest, halves to the even neighbour: unbiased.
    HalfEven,
}

/// One radix-2 stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stage {
    /// Bits of each part of the stage's results, sign included.
    pub width: u32,
    /// Right shift of the stage's sums.
    pub shift: u32,
}

/// One transform. A stored number s represents s · 2^E with block exponent E.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TransformSpec {
    /// Left shift of the input (right if negative): the block exponent starts at −`load_shift`. Forward only, 0 in
    /// an inverse transform.
    pub load_shift: i32,
    /// Bits of each part of the loaded input, sign included.
    pub input_width: u32,
    /// log2 M stages, in the order of execution.
    pub stages: Vec<Stage>,
    /// Bits of each part of a twiddle factor: sign, one integer bit, fraction.
    pub twiddle_bits: u32,
}

/// The accumulator of the pointwise products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AccumulatorSpec {
    /// Bits of each part, sign included.
    pub width: u32,
    /// Right shift of each product before it is added.
    pub shift: u32,
}

/// Determines every bit of an external product in fixed point.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FixedFftSpec {
    /// N.
    pub ring_degree: RingDegree,
    /// Structure of all three transforms.
    #[serde(default)]
    pub structure: Structure,
    /// Rounding of every right shift.
    pub rounding: Rounding,
    /// The forward transform of digit polynomials.
    pub digits: TransformSpec,
    /// The forward transform of key polynomials.
    pub key: TransformSpec,
    /// The pointwise products.
    pub accumulator: AccumulatorSpec,
    pub inverse: TransformSpec,
    /// Number of top bits of the torus in results and accumulators, all if `None`: bits that a decomposition rounds away need not be computed (FPT,
    /// section 3.5).
    #[serde(default)]
    pub result_bits: Option<u32>,
}

/// Bits of each part of a complex number in a transform, sign included: for its input and stages, with exceptions for single stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StageWidths {
    all: u32,
    own: [Option<u32>; StageWidths::MOST],
}

impl From<u32> for StageWidths {
    /// `bits` everywhere.
    fn from(bits: u32) -> Self {
        Self::uniform(bits)
    }
}

impl StageWidths {
    /// Maximum number of stages: those of the largest ring.
    pub const MOST: usize = RingDegree::MAX.ilog2() as usize - 1;

    /// `bits` everywhere.
    pub const fn uniform(bits: u32) -> Self {
        Self { all: bits, own: [None; Self::MOST] }
    }

    /// The same with `bits` for the results of stage `stage`, where 0 is executed first.
    ///
    /// # Panics
    /// If there is no such stage ([`Self::MOST`]).
    #[must_use]
    pub const fn with_stage(mut self, stage: usize, bits: u32) -> Self {
        self.own[stage] = Some(bits);
        self
    }

    pub const fn input(&self) -> u32 {
        self.all
    }

    /// Width of the results of stage `stage`.
    pub fn stage(&self, stage: usize) -> u32 {
        self.own.get(stage).copied().flatten().unwrap_or(self.all)
    }
}

/// A machine's widths, in bits of each part of a complex number, sign included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FixedWidths {
    /// The digits' transform, stage by stage.
    pub digits: StageWidths,
    /// Key spectra in products.
    pub key: u32,
    /// Key spectra at every stage except the last: more than `key` if the key is transformed in advance, off the machine.
    pub key_stages: u32,
    /// Accumulated products.
    pub accumulator: u32,
    /// The inverse transform, stage by stage.
    pub inverse: StageWidths,
    /// Twiddle factors of the digits' transform.
    pub twiddle: u32,
    /// Twiddle factors of the key's transform.
    pub key_twiddle: u32,
    /// Twiddle factors of the inverse transform.
    pub inverse_twiddle: u32,
}

impl FixedWidths {
    /// `bits` everywhere.
    pub const fn uniform(bits: u32) -> Self {
        Self {
            digits: StageWidths::uniform(bits),
            key: bits,
            key_stages: bits,
            accumulator: bits,
            inverse: StageWidths::uniform(bits),
            twiddle: bits,
            key_twiddle: bits,
            inverse_twiddle: bits,
        }
    }

    /// The same with `bits` in every twiddle factor.
    #[must_use]
    pub const fn with_twiddles(self, bits: u32) -> Self {
        Self { twiddle: bits, key_twiddle: bits, inverse_twiddle: bits, ..self }
    }

    /// The same with a key that is transformed in advance at full precision and rounded once.
    #[must_use]
    pub const fn with_key_made_elsewhere(self) -> Self {
        Self { key_stages: WIDEST, key_twiddle: WIDEST_TWIDDLE, ..self }
    }
}

/// Assumed size of an intermediate value, which determines the position of its most significant bit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeRule {
    /// The maximum over all inputs: never saturates.
    WorstCase,
    /// FPT, section 4.1, equations (7) and (8): Gaussian by the central limit theorem, with the standard deviation for uniform digits and a
    /// uniform key; exceeds the range with the stated probability. Unless first steps are ignored, digit spectra get their worst case (3 to
    /// 5 bits more), because the first steps of a blind rotation decompose a test polynomial, which is not random.
    OverflowProbability {
        /// log2 of the probability that one value overflows; FPT uses −64.
        log2: f64,
        /// Largest |X^a v − v| / q of the test polynomials: 1/4 for the sign function to ±1/8. The accumulator gets the range of such a first
        /// step, and digit spectra their worst case. 0 ignores first steps, as FPT's formula does.
        first_step: f64,
    },
}

/// Widest data that a stage's 64-bit arithmetic supports, with guard bits.
pub(super) const WIDEST: u32 = 60;
/// Widest twiddle factor whose parts fit an f64.
pub(super) const WIDEST_TWIDDLE: u32 = 52;

/// Longest right shift: any longer one gives the same result for [`WIDEST`] bits, 0 or −1 unit by rounding.
pub(super) const LONGEST_SHIFT: u32 = 62;

/// Largest magnitude of a signed `width`-bit number; symmetric, so that −x is representable.
pub fn limit(width: u32) -> i64 {
    (1 << (width - 1)) - 1
}

/// Fraction bits of a twiddle factor: all except the sign and one integer bit, which 1 requires.
pub(super) const fn twiddle_fraction_bits(twiddle_bits: u32) -> u32 {
    twiddle_bits - 2
}

fn check_width(what: &'static str, width: u32, most: u32) -> Result<(), FixedSpecError> {
    check_bits(what, width, 3, most)
}

fn check_bits(what: &'static str, width: u32, least: u32, most: u32) -> Result<(), FixedSpecError> {
    if (least..=most).contains(&width) { Ok(()) } else { Err(FixedSpecError::Width { what, width, least, most }) }
}

fn check_shift(what: &'static str, shift: i64, least: i64, most: i64) -> Result<(), FixedSpecError> {
    if (least..=most).contains(&shift) { Ok(()) } else { Err(FixedSpecError::Shift { what, shift, least, most }) }
}

impl TransformSpec {
    /// The block exponent of the results.
    pub fn exponent(&self) -> i32 {
        self.stages.iter().map(|s| s.shift as i32).sum::<i32>() - self.load_shift
    }

    /// Bits of each part of the results.
    pub fn output_width(&self) -> u32 {
        self.stages.last().map_or(self.input_width, |s| s.width)
    }

    pub(super) fn input_limit(&self) -> i64 {
        limit(self.input_width)
    }

    /// (left, right) shift of the input, one of them 0.
    pub(super) fn load_shifts(&self) -> (u32, u32) {
        (self.load_shift.max(0) as u32, (-self.load_shift).max(0) as u32)
    }

    fn check(&self, what: &'static str, degree: RingDegree) -> Result<(), FixedSpecError> {
        let expected = degree.log2() as usize - 1;
        if self.stages.len() != expected {
            let found = self.stages.len();
            return Err(FixedSpecError::Stages { what, found, expected, degree: degree.get() });
        }
        check_width("twiddle factors", self.twiddle_bits, WIDEST_TWIDDLE)?;
        check_width(what, self.input_width, WIDEST)?;
        check_shift(what, self.load_shift.into(), -62, 62)?;
        for stage in &self.stages {
            check_width(what, stage.width, WIDEST)?;
            check_shift(what, stage.shift.into(), 0, LONGEST_SHIFT.into())?;
        }
        Ok(())
    }

    /// Stages whose `widths` fit a magnitude of 2^`needs[j]` before stage j (the last entry: after all), starting at block exponent `start`, or as low
    /// as the input's width allows.
    fn scheduled(needs: &[f64], widths: StageWidths, start: Option<i32>, twiddle_bits: u32) -> Self {
        // The smallest exponent at which 2^need is within ±(2^(width−1) − 1), rounding errors included.
        let fitting = |need: f64, width: u32| (need + 1e-5 - f64::from(width - 1)).ceil() as i32;
        let first = start.unwrap_or_else(|| fitting(needs[0], widths.input()));
        let mut exponent = first;
        let stages = needs[1..]
            .iter()
            .enumerate()
            .map(|(stage, &need)| {
                let width = widths.stage(stage);
                let next = exponent.max(fitting(need, width));
                let shift = (next - exponent) as u32;
                exponent = next;
                Stage { width, shift }
            })
            .collect();
        Self { load_shift: -first, input_width: widths.input(), stages, twiddle_bits }
    }
}

impl FixedFftSpec {
    /// The scaling schedule for external products of (k + 1) · l rows on a torus of `torus_bits` bits: every block exponent is the smallest for which
    /// the range of `rule` fits the width.
    ///
    /// Ranges, with σ_X² = M β²/12 and σ_G² = M q²/12 for each part of a digit and a key spectrum after log2 M stages (2^−(m−j) of it after j), R rows and
    /// the rule's Gaussian quantile z: digits √2 (β/2) 2^j; key z σ_G; accumulator the larger of z √(2R) σ_X σ_G and, for a first step of amplitude a,
    /// z σ_G · a β 2N/π (the largest sum Σ ±a β cos); inverse stages √2 more each. In the worst case: √2 (q/2) 2^j for the key, and the product of both
    /// bounds times R, doubled by every inverse stage. If first steps are ignored, z σ_X for the digits.
    ///
    /// The twist is part of the butterflies; see [`Self::with_structure`].
    pub fn for_external_product(
        ring_degree: RingDegree,
        gadget: Gadget,
        glwe_dimension: usize,
        torus_bits: u32,
        widths: FixedWidths,
        rounding: Rounding,
        rule: RangeRule,
    ) -> Self {
        let levels = ring_degree.log2() - 1;
        let steps = |f: &dyn Fn(f64) -> f64| (0..=levels).map(|j| f(f64::from(j))).collect::<Vec<f64>>();
        let rows = ((glwe_dimension + 1) as f64 * f64::from(gadget.levels)).log2();
        let log2_points = f64::from(levels);
        let (log2_base, torus) = (f64::from(gadget.log2_base), f64::from(torus_bits));
        // Before the first stage a part is one coefficient; afterwards it is part of a sum of 2^j points of √2 times that.
        let worst = |largest: f64, j: f64| if j == 0.0 { largest } else { largest + 0.5 + j };
        let log2_deviation = -0.5 * 12f64.log2();
        let digit_worst = steps(&|j| worst(log2_base - 1.0, j));
        let digit_needs = match rule {
            RangeRule::OverflowProbability { log2, first_step: 0.0 } => {
                let quantile = gaussian_quantile(log2).log2();
                let random = |j: f64| quantile + log2_base + log2_deviation + 0.5 * j;
                steps(&|j| digit_worst[j as usize].min(random(j)))
            }
            _ => digit_worst.clone(),
        };
        let key_worst = steps(&|j| worst(torus - 1.0, j));
        let (key_needs, accumulator_need, growth) = match rule {
            RangeRule::WorstCase => {
                let last = digit_worst[levels as usize] + key_worst[levels as usize];
                (key_worst, last + rows, 1.0)
            }
            RangeRule::OverflowProbability { log2, first_step } => {
                let quantile = gaussian_quantile(log2).log2();
                let key_deviation = |j: f64| torus + log2_deviation + 0.5 * j;
                let needs: Vec<f64> = key_worst
                    .iter()
                    .enumerate()
                    .map(|(j, &worst)| worst.min(quantile + key_deviation(j as f64)))
                    .collect();
                let random = quantile
                    + 0.5 * (rows + 1.0)
                    + log2_base
                    + log2_deviation
                    + 0.5 * log2_points
                    + key_deviation(log2_points);
                let first = quantile
                    + key_deviation(log2_points)
                    + (first_step * 2.0 * ring_degree.get() as f64 / std::f64::consts::PI).log2()
                    + log2_base;
                (needs, random.max(first), 0.5)
            }
        };
        let key_widths = StageWidths::uniform(widths.key_stages).with_stage(levels as usize - 1, widths.key);
        let digits = TransformSpec::scheduled(&digit_needs, widths.digits, None, widths.twiddle);
        let key = TransformSpec::scheduled(&key_needs, key_widths, None, widths.key_twiddle);
        let product = digits.exponent() + key.exponent();
        let exponent = product.max((accumulator_need + 1e-5 - f64::from(widths.accumulator - 1)).ceil() as i32);
        let accumulator = AccumulatorSpec { width: widths.accumulator, shift: (exponent - product) as u32 };
        // A first step's larger spectrum does not grow further, because its energy is in a few points.
        let random_need = match rule {
            RangeRule::WorstCase => accumulator_need,
            RangeRule::OverflowProbability { log2, .. } => {
                gaussian_quantile(log2).log2()
                    + 0.5 * (rows + 1.0)
                    + log2_base
                    + torus
                    + 2.0 * log2_deviation
                    + log2_points
            }
        };
        let inverse_needs = steps(&|j| accumulator_need.max(random_need + growth * j));
        let mut inverse =
            TransformSpec::scheduled(&inverse_needs, widths.inverse, Some(exponent), widths.inverse_twiddle);
        inverse.load_shift = 0;
        inverse.input_width = widths.accumulator;
        let structure = Structure::Merged;
        Self { ring_degree, structure, rounding, digits, key, accumulator, inverse, result_bits: None }
    }

    /// The same with another structure. A twist increases a part by up to √2 before the first stage. That fits: the largest coefficient is a power of
    /// two, for which the next larger range is reserved.
    #[must_use]
    pub fn with_structure(mut self, structure: Structure) -> Self {
        self.structure = structure;
        self
    }

    /// The same with results and accumulators limited to the torus's top `bits`.
    #[must_use]
    pub fn with_result_bits(mut self, bits: u32) -> Self {
        self.result_bits = Some(bits);
        self
    }

    /// log2 of the unit of results, in units of 1/q.
    pub fn result_unit(&self, torus_bits: u32) -> u32 {
        self.result_bits.map_or(0, |bits| torus_bits.saturating_sub(bits))
    }

    /// log2 of one unit of the inverse transform's output, in units of 1/q: the torus element is the output shifted left by this (right if negative).
    /// Includes the transform's factor M.
    pub fn result_exponent(&self) -> i32 {
        self.accumulator_exponent() + self.inverse.exponent() - (self.ring_degree.log2() as i32 - 1)
    }

    /// The block exponent of the accumulator.
    pub fn accumulator_exponent(&self) -> i32 {
        self.digits.exponent() + self.key.exponent() + self.accumulator.shift as i32
    }

    /// Checks every width, shift and number of stages.
    ///
    /// # Errors
    /// [`FixedSpecError`] names the first invalid figure.
    pub fn check(&self) -> Result<(), FixedSpecError> {
        if self.ring_degree.get() < 32 {
            return Err(FixedSpecError::Degree(self.ring_degree.get()));
        }
        self.structure.check()?;
        self.digits.check("digit transform", self.ring_degree)?;
        self.key.check("key transform", self.ring_degree)?;
        self.inverse.check("inverse transform", self.ring_degree)?;
        check_shift("inverse transform, load", self.inverse.load_shift.into(), 0, 0)?;
        check_width("accumulator", self.accumulator.width, WIDEST)?;
        check_shift("accumulator", self.accumulator.shift.into(), 0, LONGEST_SHIFT.into())?;
        let exponent = self.result_exponent();
        check_shift("result", exponent.into(), -62, 126)?;
        if let Some(bits) = self.result_bits {
            check_bits("result", bits, 1, u64::BITS)?;
        }
        // For the 32-bit torus, where it is shorter than for the 64-bit torus.
        let right = i64::from(exponent.max(self.result_unit(u32::BITS) as i32)) - i64::from(exponent);
        check_shift("result, last shift", right, 0, LONGEST_SHIFT.into())
    }
}

/// z with P(|χ| > z σ) = 2^`log2` for a Gaussian χ: bisection on the tail's asymptotic series.
pub fn gaussian_quantile(log2: f64) -> f64 {
    let tail = |z: f64| {
        let square = z * z;
        -square / 2.0 * std::f64::consts::LOG2_E - z.log2()
            + 0.5 * std::f64::consts::FRAC_2_PI.log2()
            + (1.0 - 1.0 / square + 3.0 / (square * square)).log2()
    };
    let (mut low, mut high) = (1.0, 60.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if tail(middle) > log2 { low = middle } else { high = middle }
    }
    high
}
