//! Functions of CKKS bootstrapping that map x = m/q_0 + I, with an integer I, to approximately m/q_0.
//!
//! For small m/q_0, sin(2πx)/2π does so. It is computed as cos(2π(x − 1/4)): a polynomial gives the cosine of a 2^r-th of the angle,
//! and r steps cos 2θ = 2·cos²θ − 1 follow (J. H. Cheon, K. Han et al., EUROCRYPT 2018; K. Han and D. Ki, CT-RSA 2020). As a function
//! of x − 1/4 it is even, which halves the number of coefficients. An arcsine polynomial may follow, to remove the sine's own error
//! for larger messages (J.-W. Lee et al., EUROCRYPT 2021; J.-P. Bossuat et al., EUROCRYPT 2021).
//!
//! [`Method::Exponential`], the first published method (Cheon, Han et al.), uses the imaginary part of e^(2πix) instead: the Taylor
//! polynomial at a 2^r-th of the angle, squared r times. It needs no fit, but a conjugation and more levels for the same error.
//!
//! [`Method::Tables`] does not reduce: it stops at e^(2πix), which does not depend on I, for [lookup tables](super::lookup).
//!
//! The cosine's polynomial must be accurate only near integers (Han and Ki), and most so near frequent ones. For a secret of Hamming
//! weight h, I is a sum of h + 1 rounded uniform numbers with standard deviation √((h + 1)/12), so large |I| are rare.
//! [`Nodes::Integers`] is a least-squares fit weighted by the probability of I, with a floor so that rare I keep fewer bits.

mod overflow;

pub use overflow::overflow_probability_log2;

use super::chebyshev::check_parameter;
use super::double_double::least_squares;
use super::lookup::{exponential, exponential_error};
use super::{ApproximationError, ChebyshevSeries};
use crate::rns::homomorphic::Complex;
pub use polyfabric_schemes::ckks::BootstrapMethod as Method;
use std::f64::consts::{PI, TAU};

/// Fitting points of the cosine's polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nodes {
    /// The whole interval, by Chebyshev interpolation.
    Interval,
    /// Within `radius` of the integers I, weighted by the probability of I for a secret with `hamming_weight` nonzero coefficients,
    /// but at least 2^`floor_log2`.
    Integers {
        /// Largest |m/q_0| considered.
        radius: f64,
        /// h.
        hamming_weight: usize,
        /// log2 of the minimum weight of an error (not of its square).
        floor_log2: f64,
    },
}

/// Most levels of a table: 2^12 integers.
const MOST_TABLE_LEVELS: u32 = 12;

/// An approximation of x modulo 1, not checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReductionLiteral {
    pub method: Method,
    /// K: |I| ≤ K − 1 is supported.
    pub range: usize,
    /// Degree of the polynomial: even for the cosine.
    pub degree: usize,
    /// r.
    pub doublings: usize,
    /// Fitting points of the cosine's polynomial.
    pub nodes: Nodes,
    /// Degree of the arcsine's polynomial: odd, or 0 for none.
    pub arcsine_degree: usize,
    /// Largest |m/q_0| that the arcsine corrects.
    pub largest_message: f64,
}

/// An approximation of x modulo 1 for |x| < K by polynomials.
#[derive(Clone, Debug, PartialEq)]
pub struct ModularReduction {
    literal: ReductionLiteral,
    base: Base,
    arcsine: Option<ChebyshevSeries>,
}

/// The polynomial before the doublings, in t in [−1, 1].
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    /// cos(2πK·t/2^r), t = (x − 1/4)/K: even terms only.
    Cosine(ChebyshevSeries),
    /// e^(2πiK·t/2^r), t = x/K: the coefficients of 1, t, t², ….
    Exponential(Vec<Complex>),
    /// The same function: the coefficients of T_0, T_1, T_2, ….
    Circle(Vec<Complex>),
}

impl ModularReduction {
    /// Computes the polynomials.
    ///
    /// # Errors
    /// [`ApproximationError`] if a parameter is out of range, or the samples do not determine the fit.
    pub fn new(literal: ReductionLiteral) -> Result<Self, ApproximationError> {
        check_parameter("range K of the modular reduction", literal.range as f64, 2.0, 1024.0)?;
        check_parameter("degree of the modular reduction's polynomial", literal.degree as f64, 2.0, 1023.0)?;
        check_parameter("number of angle doublings", literal.doublings as f64, 0.0, 12.0)?;
        check_parameter("degree of the arcsine's polynomial", literal.arcsine_degree as f64, 0.0, 31.0)?;
        check_parameter("largest message as a part of q_0", literal.largest_message, 1e-9, 0.25)?;
        let range = literal.range as f64;
        let turns = 2f64.powi(literal.doublings as i32);
        let cosine = move |t: f64| (TAU * range * t / turns).cos();
        let base = match (literal.method, literal.nodes) {
            (Method::Exponential, _) => Base::Exponential(taylor(TAU * range / turns, literal.degree)),
            (Method::Tables { levels }, _) => {
                check_parameter("levels of tables", levels.into(), 1.0, f64::from(MOST_TABLE_LEVELS))?;
                check_parameter(
                    "degree of the arcsine's polynomial before tables",
                    literal.arcsine_degree as f64,
                    0.0,
                    0.0,
                )?;
                Base::Circle(exponential(TAU * range / turns, literal.degree)?)
            }
            (Method::Cosine, Nodes::Interval) => {
                let degree = literal.degree / 2 * 2;
                Base::Cosine(ChebyshevSeries::interpolate(cosine, -1.0, 1.0, degree)?.even())
            }
            (Method::Cosine, Nodes::Integers { radius, hamming_weight, floor_log2 }) => {
                check_parameter("radius around integers", radius, 0.0, 0.25)?;
                let samples = integer_samples(literal.range, radius, hamming_weight, floor_log2);
                Base::Cosine(fit_even(cosine, &samples, literal.degree)?)
            }
        };
        let arcsine = match literal.arcsine_degree {
            0 => None,
            degree => {
                let end = (TAU * literal.largest_message).sin();
                let degree = degree - 1 + degree % 2;
                Some(ChebyshevSeries::interpolate(f64::asin, -end, end, degree)?.odd())
            }
        };
        Ok(Self { literal, base, arcsine })
    }

    /// Bound of the error of e^(2πix) after the doublings, relative to 1, for [`Method::Tables`].
    pub fn circle_error(&self) -> f64 {
        let turns = 2f64.powi(self.literal.doublings as i32);
        turns * exponential_error(TAU * self.literal.range as f64 / turns, self.literal.degree)
    }

    pub fn literal(&self) -> &ReductionLiteral {
        &self.literal
    }

    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The arcsine up to the sine of the largest message's angle, if requested.
    pub fn arcsine(&self) -> Option<&ChebyshevSeries> {
        self.arcsine.as_ref()
    }

    /// The f64 value of the polynomials and doublings: approximately 2π·(x modulo 1).
    pub fn evaluate(&self, x: f64) -> f64 {
        let range = self.literal.range as f64;
        let value = match &self.base {
            Base::Cosine(cosine) => (0..self.literal.doublings)
                .fold(cosine.evaluate((x - 0.25) / range), |value, _| 2.0 * value * value - 1.0),
            Base::Exponential(taylor) => {
                let t = Complex::from(x / range);
                let start = taylor.iter().rev().fold(Complex::default(), |sum, &coefficient| sum * t + coefficient);
                (0..self.literal.doublings).fold(start, |value, _| value * value).im
            }
            Base::Circle(coefficients) => {
                let angle = (x / range).acos();
                let terms = coefficients.iter().enumerate();
                let start = terms.fold(Complex::default(), |sum, (k, &c)| sum + c * (k as f64 * angle).cos().into());
                (0..self.literal.doublings).fold(start, |value, _| value * value).im
            }
        };
        self.arcsine.as_ref().map_or(value, |arcsine| arcsine.evaluate(value))
    }

    /// Largest error of [`Self::evaluate`]/2π compared with x − I, over |I| ≤ `integer` and |x − I| ≤ `radius`.
    pub fn error(&self, integer: usize, radius: f64) -> f64 {
        let integer = integer as i64;
        let mut largest = 0.0f64;
        for whole in -integer..=integer {
            for point in -64..=64 {
                let message = radius * point as f64 / 64.0;
                largest = largest.max((self.evaluate(whole as f64 + message) / TAU - message).abs());
            }
        }
        largest
    }

    /// Standard deviation of the polynomial's error in units of q_0, over the integers that a secret of `hamming_weight` produces, for
    /// messages up to a fraction `message` of q_0.
    pub fn polynomial_deviation(&self, hamming_weight: usize, message: f64) -> f64 {
        // Beyond a quarter the sine decreases again, so it does not determine the message.
        let message = message.min(0.25);
        let variance = (hamming_weight as f64 + 1.0) / 12.0;
        let last = self.literal.range as i64 - 1;
        let sine = |x: f64| self.arcsine.as_ref().map_or((TAU * x).sin(), |arcsine| arcsine.evaluate((TAU * x).sin()));
        let (mut squares, mut weights) = (0.0, 0.0);
        for whole in -last..=last {
            let weight = (-((whole * whole) as f64) / (2.0 * variance)).exp();
            let error = [-1.0, 0.0, 1.0].map(|side| {
                let x = whole as f64 + side * message;
                (self.evaluate(x) - sine(x)).abs() / TAU
            });
            squares += weight * error.into_iter().fold(0.0, f64::max).powi(2);
            weights += weight;
        }
        (squares / weights).sqrt()
    }

    /// Bound of the error of the sine (and its arcsine) in units of q_0, for messages up to a fraction `message` of it.
    pub fn sine_error(&self, message: f64) -> f64 {
        let error = |point: i32| {
            let message = message * f64::from(point) / 64.0;
            let sine = (TAU * message).sin();
            (self.arcsine.as_ref().map_or(sine, |arcsine| arcsine.evaluate(sine)) / TAU - message).abs()
        };
        (1..=64).map(error).fold(0.0, f64::max)
    }
}

/// The Taylor coefficients (i·angle)^k/k! of e^(i·angle·t), k ≤ `degree`.
fn taylor(angle: f64, degree: usize) -> Vec<Complex> {
    let next = |&(k, term): &(usize, Complex)| Some((k + 1, term * Complex::new(0.0, angle / (k + 1) as f64)));
    std::iter::successors(Some((0, Complex::from(1.0))), next).take(degree + 1).map(|(_, term)| term).collect()
}

/// Fitting points of the even polynomial, as (t, weight).
fn integer_samples(range: usize, radius: f64, hamming_weight: usize, floor_log2: f64) -> Vec<(f64, f64)> {
    /// Points per integer.
    const POINTS: usize = 7;
    // The density of a sum of h + 1 uniform numbers is close to a Gaussian of equal variance.
    let variance = (hamming_weight as f64 + 1.0) / 12.0;
    let last = range as i64 - 1;
    let mut samples = Vec::new();
    for whole in -last..=last {
        let log2_probability = -((whole * whole) as f64) / (2.0 * variance) / std::f64::consts::LN_2;
        let weight = (log2_probability / 2.0).max(floor_log2).exp2();
        for point in 0..POINTS {
            let offset = radius * (PI * (point as f64 + 0.5) / POINTS as f64).cos();
            samples.push(((whole as f64 + offset - 0.25) / range as f64, weight));
        }
    }
    samples
}

/// The least-squares fit by even terms up to `degree` at the samples (t, weight).
fn fit_even(
    function: impl Fn(f64) -> f64,
    samples: &[(f64, f64)],
    degree: usize,
) -> Result<ChebyshevSeries, ApproximationError> {
    let terms = degree / 2 + 1;
    let row = |&(t, weight): &(f64, f64)| -> Vec<f64> {
        let angle = t.acos();
        (0..terms).map(|k| weight * ((2 * k) as f64 * angle).cos()).collect()
    };
    let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
    let values: Vec<f64> = samples.iter().map(|&(t, weight)| weight * function(t)).collect();
    let most = samples.len() as f64;
    let fitted = least_squares(&rows, &values).ok_or(ApproximationError::Parameter {
        what: "degree of a polynomial fitted around integers",
        value: degree as f64,
        low: 2.0,
        high: most,
    })?;
    let mut coefficients = vec![0.0; 2 * terms - 1];
    for (k, value) in fitted.into_iter().enumerate() {
        coefficients[2 * k] = value;
    }
    ChebyshevSeries::new(-1.0, 1.0, coefficients)
}

#[cfg(test)]
mod tests;
