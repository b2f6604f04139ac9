//! Derives widths for a parameter set by the design method of FPT (section 4), for any machine of the family.
//!
//! The most significant bits follow from the measured variance of every intermediate and an overflow probability (equations (7) and (8)).
//! For the least significant bits, key, forward and inverse transform are narrowed one at a time, with the others wide. The error of an
//! external product may then take a third of half of the acceptable noise. Twiddle factors are four bits narrower than their data.

use polyfabric_kernels::cancel;
use polyfabric_kernels::fixed::{
    FixedFft, FixedFftSpec, FixedSpectrum, FixedWidths, ProductError, RangeRule, Rounding, Structure,
};
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_kernels::torus::Torus;
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::noise::{self, Transform};
use polyfabric_schemes::tfhe::{LweKind, Parameters};
use serde::Serialize;

/// Width of the parts that are not being narrowed (53 in the example of section 4.2).
pub const WIDE: u32 = 53;
/// Bits by which twiddle factors are narrower than their data (section 4.3).
const TWIDDLE: u32 = 4;
/// The narrowest width to try.
const NARROWEST: u32 = 10;
/// Number of points of a curve beyond the limit.
const BEYOND: u32 = 4;
/// Number of external products to measure.
const PRODUCTS: usize = 4;

/// The criterion for widths: an error and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judge {
    /// The error of a phase: that of one coefficient, plus one for every secret bit that is 1. The bound is the noise of an external
    /// product by this project's formula. Ranges leave room for the first step of a test polynomial. This is the criterion for correct
    /// decryption.
    Phase,
    /// The error of a coefficient, by variance alone, with the bound of Chillotti et al. (2020). Table 2 of the paper agrees with this
    /// criterion.
    Coefficient,
}

impl Judge {
    pub fn name(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Coefficient => "coefficient",
        }
    }

    /// Inverse of [`Self::name`].
    pub fn named(name: &str) -> Option<Self> {
        [Self::Phase, Self::Coefficient].into_iter().find(|judge| judge.name() == name)
    }

    /// Largest step of a test polynomial for which ranges leave room.
    pub fn first_step(self) -> f64 {
        match self {
            Self::Phase => 0.25,
            Self::Coefficient => 0.0,
        }
    }

    /// The acceptable noise of one external product, a variance in fractions of the torus squared.
    fn bound(self, parameters: &Parameters) -> f64 {
        match self {
            Self::Phase => noise::external_product(parameters, Transform::Exact).variance,
            Self::Coefficient => {
                let gadget = parameters.bootstrap_gadget();
                let masks = parameters.large_lwe_dimension().get() as f64;
                let degree = parameters.ring_degree().get() as f64;
                let half_base = f64::from(gadget.log2_base - 1).exp2();
                let rounding = 0.5 * (-f64::from(gadget.kept_bits())).exp2();
                let rows = parameters.ggsw_rows() as f64;
                rows * degree * half_base.powi(2) * noise::fresh(parameters, LweKind::Large).variance
                    + (1.0 + masks) * rounding.powi(2)
            }
        }
    }

    /// How much an error of `variance` in each coefficient counts against the bound. `spec` predicts its concentration.
    fn weigh(self, parameters: &Parameters, spec: &FixedFftSpec, variance: f64) -> f64 {
        match self {
            Self::Phase => {
                let measured = Transform::Measured {
                    coefficient_variance: variance,
                    concentration: model(parameters, spec).concentration,
                    log2_unit: 0,
                };
                let exact = noise::external_product(parameters, Transform::Exact).variance;
                noise::external_product(parameters, measured).variance - exact
            }
            Self::Coefficient => variance,
        }
    }
}

/// The predicted error of `spec`.
fn model(parameters: &Parameters, spec: &FixedFftSpec) -> ProductError {
    spec.error(parameters.bootstrap_gadget(), parameters.ggsw_rows(), parameters.torus_bits())
}

/// A part that is narrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Points of the bootstrapping key.
    Key,
    /// The forward transform.
    Forward,
    /// The inverse transform.
    Inverse,
}

/// One point of figure 5.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Width, sign included.
    pub width: u32,
    /// Fractional bits.
    pub fraction_bits: i32,
    /// log2 of the variance that counts against the limit.
    pub log2_noise: f64,
}

/// The format of a part, and the sweep that determined it. `width` is the sum of integer and fractional bits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Format {
    pub part: Part,
    /// Width, sign included.
    pub width: u32,
    /// Integer bits, sign included.
    pub integer_bits: i32,
    /// Fractional bits; for the inverse transform, before its factor N/2 is removed.
    pub fraction_bits: i32,
    /// log2 of the measured standard deviation of a point's real or imaginary part, in digits times the torus.
    pub log2_deviation: f64,
    /// Integer bits that follow from the measured variance and the overflow probability.
    pub measured_integer_bits: i32,
    /// The same for the transform's input, plus a whole bit in every second stage: a scaling schedule (section 3.4).
    pub scheduled_integer_bits: i32,
    /// The sweep, widest first.
    pub curve: Vec<Point>,
}

/// Derived widths for a parameter set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Derived {
    /// Name of the set.
    pub set: String,
    /// The criterion.
    pub judge: Judge,
    /// log2 of the acceptable variance of one external product.
    pub log2_bound: f64,
    /// log2 of the variance limit for each part: a sixth of the bound.
    pub log2_limit: f64,
    /// Relative error of a measured variance: two standard deviations. A variance that exceeds the limit by no more than this is accepted.
    pub tolerance: f64,
    /// The formats of key, forward and inverse transform.
    pub formats: [Format; 3],
    /// log2 of the variance of a coefficient with all three formats.
    pub log2_coefficient: f64,
    /// By the model, the ratio of the error to a white error, at the points where the secret has its mean.
    pub concentration: f64,
    /// log2 of the unit of results, in units of the torus.
    pub log2_unit: u32,
    /// The weighed error with all three formats, as a share of the limit for the three parts together.
    pub share: f64,
}

impl Derived {
    pub fn widths(&self) -> FixedWidths {
        let [key, forward, inverse] = [0, 1, 2].map(|part: usize| self.formats[part].width);
        widths(key, forward, inverse)
    }

    /// The transform's error with these widths, for the noise formulas.
    pub fn transform(&self) -> Transform {
        let (concentration, log2_unit) = (self.concentration, self.log2_unit);
        Transform::Measured { coefficient_variance: self.log2_coefficient.exp2(), concentration, log2_unit }
    }
}

/// No width up to [`WIDE`] meets the limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WidthsError {
    #[error(
        "set `{set}`: at {WIDE} bits the {part} still adds 2^{noise:.1} to the variance, and may add 2^{limit:.1}: its torus of \
         {torus_bits} bits and base of 2^{log2_base} leave no room for a fixed-point transform; choose a set on the torus of 32 bits"
    )]
    TooCoarse { set: String, part: &'static str, noise: f64, limit: f64, torus_bits: u32, log2_base: u32 },
}

/// A machine's transform.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub structure: Structure,
    /// Minus log2 of the probability that a value overflows.
    pub overflow_log2: f64,
}

fn widths(key: u32, forward: u32, inverse: u32) -> FixedWidths {
    FixedWidths {
        digits: forward.into(),
        key,
        accumulator: inverse,
        inverse: inverse.into(),
        twiddle: forward - TWIDDLE,
        inverse_twiddle: inverse - TWIDDLE,
        ..FixedWidths::uniform(WIDE)
    }
    .with_key_made_elsewhere()
}

/// Uniform digits and keys of some external products, with the exact results.
struct Samples<T> {
    /// For each product and row, digits and a key polynomial.
    rows: Vec<Vec<(Vec<i32>, Vec<T>)>>,
    exact: Vec<Vec<T>>,
}

impl<T: Torus> Samples<T> {
    fn new(parameters: &Parameters) -> Self {
        let (degree, gadget) = (parameters.ring_degree(), parameters.bootstrap_gadget());
        // SplitMix64 (Steele, Lea, Flood 2014): the measurement is reproducible, and nothing is secret.
        let mut state = 0x0bad_cafe_u64;
        let mut next = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let multiplier = ExactMultiplier::new(degree);
        let half = 1i64 << (gadget.log2_base - 1);
        let (mut rows, mut exact) = (Vec::new(), Vec::new());
        for _ in 0..PRODUCTS {
            let mut expected = vec![T::default(); degree.get()];
            let mut product = Vec::new();
            for _ in 0..parameters.ggsw_rows() {
                cancel::check();
                let digits: Vec<i32> =
                    (0..degree.get()).map(|_| ((next() >> 20) as i64 % (2 * half) - half) as i32).collect();
                let key: Vec<T> = (0..degree.get()).map(|_| T::from_u64(next() >> (64 - T::BITS))).collect();
                multiplier.multiply_add(&digits, &key, &mut expected);
                product.push((digits, key));
            }
            rows.push(product);
            exact.push(expected);
        }
        Self { rows, exact }
    }

    /// Variance of a coefficient's error, in fractions of the torus squared.
    fn error(&self, fft: &FixedFft) -> f64 {
        let degree = fft.spec().ring_degree;
        let (mut sum, mut count) = (0.0, 0.0);
        for (rows, exact) in self.rows.iter().zip(&self.exact) {
            let mut found = vec![T::default(); degree.get()];
            let mut total = self.accumulated(fft, rows);
            let _ = fft.inverse_add_torus(&mut total, &mut found);
            for (found, exact) in found.iter().zip(exact) {
                let error = found.wrapping_sub(*exact).to_i64() as f64 / f64::from(T::BITS).exp2();
                sum += error * error;
                count += 1.0;
            }
        }
        sum / f64::max(count, 1.0)
    }

    fn accumulated(&self, fft: &FixedFft, rows: &[(Vec<i32>, Vec<T>)]) -> FixedSpectrum {
        let degree = fft.spec().ring_degree;
        let mut total = FixedSpectrum::zeros(degree);
        let (mut a, mut b) = (total.clone(), total.clone());
        for (digits, key) in rows {
            cancel::check();
            // Saturated values are part of the error.
            let _ = fft.forward_digits(digits, &mut a);
            let _ = fft.forward_torus(key, &mut b);
            let _ = fft.multiply_accumulate(&mut total, &a, &b);
        }
        total
    }

    /// Variances of a point's real or imaginary part: of the key, of the digits' transform, and of the inverse transform's results. The
    /// energy of these results is that of the operand times the number of points (Parseval). The torus is 1.
    fn variances(&self, fft: &FixedFft) -> [f64; 3] {
        let spec = fft.spec();
        let degree = spec.ring_degree;
        let torus = -f64::from(T::BITS);
        let of = |spectrum: &FixedSpectrum, exponent: f64| {
            let parts = spectrum.re().iter().chain(spectrum.im());
            let sum: f64 = parts.map(|&part| (part as f64).powi(2)).sum();
            sum / degree.get() as f64 * (2.0 * exponent).exp2()
        };
        let (mut key, mut forward, mut inverse, mut count) = (0.0, 0.0, 0.0, 0.0);
        let mut spectrum = FixedSpectrum::zeros(degree);
        for rows in &self.rows {
            for (digits, polynomial) in rows {
                cancel::check();
                let _ = fft.forward_digits(digits, &mut spectrum);
                forward += of(&spectrum, f64::from(spec.digits.exponent()));
                let _ = fft.forward_torus(polynomial, &mut spectrum);
                key += of(&spectrum, f64::from(spec.key.exponent()) + torus);
                count += 1.0;
            }
            inverse += of(&self.accumulated(fft, rows), f64::from(spec.accumulator_exponent()) + torus);
        }
        let points = degree.get() as f64 / 2.0;
        [key / count, forward / count, inverse / self.rows.len() as f64 * points]
    }
}

/// Derives widths for `parameters`.
pub fn derive(
    parameters: &Parameters,
    judge: Judge,
    setting: Setting,
    progress: &dyn Progress,
) -> Result<Derived, WidthsError> {
    match parameters.torus_bits() {
        64 => derive_on::<u64>(parameters, judge, setting, progress),
        _ => derive_on::<u32>(parameters, judge, setting, progress),
    }
}

fn derive_on<T: Torus>(
    parameters: &Parameters,
    judge: Judge,
    setting: Setting,
    progress: &dyn Progress,
) -> Result<Derived, WidthsError> {
    let search = Search::<T>::new(parameters, judge, setting, progress);
    let wide = search.transform(widths(WIDE, WIDE, WIDE));
    let variances = wide.as_ref().map_or([0.0; 3], |wide| search.samples.variances(wide));
    let key = search.format(Part::Key, "key", variances[0])?;
    let forward = search.format(Part::Forward, "forward transform", variances[1])?;
    let inverse = search.format(Part::Inverse, "inverse transform", variances[2])?;
    let last = search.transform(widths(key.width, forward.width, inverse.width));
    let predicted = last.as_ref().map(|fft| model(parameters, fft.spec()));
    let coefficient = last.as_ref().map_or(f64::NAN, |fft| search.samples.error(fft));
    let weighed = last.as_ref().map_or(f64::NAN, |fft| judge.weigh(parameters, fft.spec(), coefficient));
    Ok(Derived {
        set: parameters.name().to_owned(),
        judge,
        log2_bound: search.bound.log2(),
        log2_limit: search.limit().log2(),
        tolerance: search.tolerance,
        formats: [key, forward, inverse],
        log2_coefficient: coefficient.log2(),
        concentration: predicted.map_or(f64::NAN, |error| error.concentration),
        log2_unit: predicted.map_or(0, |error| error.log2_unit),
        share: weighed / (search.bound / 2.0),
    })
}

/// A search for the narrowest format of each part, with the others wide.
struct Search<'a, T> {
    parameters: &'a Parameters,
    judge: Judge,
    setting: Setting,
    progress: &'a dyn Progress,
    samples: Samples<T>,
    bound: f64,
    /// The relative excess of a measured variance over the limit that is accepted.
    tolerance: f64,
}

impl<'a, T: Torus> Search<'a, T> {
    fn new(parameters: &'a Parameters, judge: Judge, setting: Setting, progress: &'a dyn Progress) -> Self {
        let count = (PRODUCTS * parameters.ring_degree().get()) as f64;
        let (samples, bound) = (Samples::new(parameters), judge.bound(parameters));
        Self { parameters, judge, setting, progress, samples, bound, tolerance: 2.0 * (2.0 / count).sqrt() }
    }

    /// The error limit of one part. Half of the bound is for the approximation, and three parts share it.
    fn limit(&self) -> f64 {
        self.bound / 6.0
    }

    /// The transform with these widths, if there is one.
    fn transform(&self, widths: FixedWidths) -> Option<FixedFft> {
        let (parameters, setting) = (self.parameters, self.setting);
        let first_step = self.judge.first_step();
        let spec = FixedFftSpec::for_external_product(
            parameters.ring_degree(),
            parameters.bootstrap_gadget(),
            parameters.glwe_dimension().get(),
            parameters.torus_bits(),
            widths,
            Rounding::HalfEven,
            RangeRule::OverflowProbability { log2: -setting.overflow_log2, first_step },
        );
        FixedFft::new(spec.with_structure(setting.structure)).ok()
    }

    /// The transform with this width of one part.
    fn at(&self, part: Part, width: u32) -> Option<FixedFft> {
        match part {
            Part::Key => self.transform(widths(width, WIDE, WIDE)),
            Part::Forward => self.transform(widths(WIDE, width, WIDE)),
            // A product of two wide spectra may need a longer shift to a narrow sum than the transform supports. Then the widest possible
            // one is used.
            Part::Inverse => (width..=WIDE).rev().find_map(|wide| self.transform(widths(wide, wide, width))),
        }
    }

    /// The noise of a part at each width, widest first; and the narrowest width within the limit, with its fractional bits.
    fn curve(&self, part: Part, name: &str) -> (Vec<Point>, Option<(u32, i32)>) {
        let mut curve = Vec::new();
        let (mut narrowest, mut beyond) = (None, 0);
        for width in (NARROWEST..=WIDE).rev() {
            self.progress.update(name, u64::from(WIDE - width), u64::from(WIDE - NARROWEST));
            let Some(fft) = self.at(part, width) else { break };
            let noise = self.judge.weigh(self.parameters, fft.spec(), self.samples.error(&fft));
            let fraction_bits = fraction(fft.spec(), part, T::BITS);
            curve.push(Point { width, fraction_bits, log2_noise: noise.log2() });
            if noise <= self.limit() * (1.0 + self.tolerance) {
                narrowest = Some((width, fraction_bits));
            } else {
                beyond += 1;
                if beyond == BEYOND {
                    break;
                }
            }
        }
        (curve, narrowest)
    }

    /// The format of a part whose values have `variance`.
    fn format(&self, part: Part, name: &'static str, variance: f64) -> Result<Format, WidthsError> {
        let (curve, narrowest) = self.curve(part, name);
        let Some((width, fraction_bits)) = narrowest else {
            return Err(WidthsError::TooCoarse {
                set: self.parameters.name().to_owned(),
                part: name,
                noise: curve.first().map_or(0.0, |point| point.log2_noise),
                limit: self.limit().log2(),
                torus_bits: self.parameters.torus_bits(),
                log2_base: self.parameters.bootstrap_gadget().log2_base,
            });
        };
        let (stages, overflow) = (self.parameters.ring_degree().log2() - 1, self.setting.overflow_log2);
        Ok(Format {
            part,
            width,
            integer_bits: width as i32 - fraction_bits,
            fraction_bits,
            log2_deviation: variance.log2() / 2.0,
            measured_integer_bits: integer_bits(variance, overflow),
            scheduled_integer_bits: integer_bits(variance / f64::from(1 << stages), overflow)
                + stages.div_ceil(2) as i32,
            curve,
        })
    }
}

/// Fractional bits, in digits and in the torus.
fn fraction(spec: &FixedFftSpec, part: Part, torus_bits: u32) -> i32 {
    let torus = torus_bits as i32;
    match part {
        Part::Key => torus - spec.key.exponent(),
        Part::Forward => -spec.digits.exponent(),
        Part::Inverse => torus - spec.accumulator_exponent() - spec.inverse.exponent(),
    }
}

/// The least p such that a Gaussian of `variance` leaves ±2^p/2 with probability 2^-`overflow_log2` at most: equations (7) and (8).
fn integer_bits(variance: f64, overflow_log2: f64) -> i32 {
    let within = |bits: &i32| noise::failure_probability_log2(variance, f64::from(bits - 1).exp2()) <= -overflow_log2;
    (-64..=128).find(within).unwrap_or(128)
}

#[cfg(test)]
mod tests {
    //! Are the widths the least that meet the limit, with the ranges that the variance requires?

    use super::*;
    use crate::tfhe::test_support::parameters;
    use polyfabric_runtime::NoProgress;

    const FPT: Setting = Setting { structure: Structure::Twisted { log2_radix: 4 }, overflow_log2: 64.0 };

    #[test]
    fn formats_are_the_narrowest_that_meet_the_limit() {
        for judge in [Judge::Coefficient, Judge::Phase] {
            let derived = derive(&parameters("fpt-I"), judge, FPT, &NoProgress).expect("the set has room");
            for format in &derived.formats {
                let at = |width| format.curve.iter().find(|point| point.width == width).expect("a point of the curve");
                let limit = derived.log2_limit + derived.tolerance.ln_1p() / std::f64::consts::LN_2;
                assert!(at(format.width).log2_noise <= limit && at(format.width - 1).log2_noise > limit, "{format:?}");
                if judge == Judge::Coefficient {
                    assert_eq!(format.integer_bits, format.measured_integer_bits, "{:?}", format.part);
                } else {
                    assert!(format.integer_bits >= format.measured_integer_bits, "{:?}", format.part);
                }
            }
            // Three parts of a third each, up to whole bits and the sampling error.
            assert!((0.1..1.2).contains(&derived.share), "{}", derived.share);
        }
    }

    #[test]
    fn a_schedule_of_whole_bits_takes_as_many_bits_or_one_more() {
        // N = 512 has eight stages: four bits, as the variance grows. N = 1024 has nine, which take five instead of four and a half.
        for (set, more) in [("fpt-I", 0..=0), ("fpt-II", 0..=1)] {
            let derived = derive(&parameters(set), Judge::Coefficient, FPT, &NoProgress).expect("the set has room");
            for format in &derived.formats {
                let off = format.scheduled_integer_bits - format.measured_integer_bits;
                assert!(more.contains(&off), "{set}, {:?}: {off}", format.part);
            }
        }
    }

    #[test]
    fn a_phase_takes_more_bits_than_a_coefficient() {
        let of = |judge| derive(&parameters("fpt-I"), judge, FPT, &NoProgress).expect("the set has room").formats;
        for (phase, coefficient) in of(Judge::Phase).iter().zip(&of(Judge::Coefficient)) {
            // The square root of 1 + kN/2 = 513 is 2^4.5.
            assert!(phase.fraction_bits >= coefficient.fraction_bits + 4, "{:?}", phase.part);
        }
    }
}
