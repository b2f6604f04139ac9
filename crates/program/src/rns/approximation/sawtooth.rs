//! The distance to the nearest integer, as a trigonometric polynomial.
//!
//! v − round(v) jumps at 1/2. A polynomial of degree d in e^(2πiv) replaces the jump by a steep part. Its coefficients are the sawtooth's
//! Fourier coefficients (−1)^(j+1)/(πj), times Kaiser's window (J. F. Kaiser, R. W. Schafer, "On the use of the I0-sinh window for spectrum
//! analysis", IEEE TASSP 1980), which makes the ripple outside of the steep part fall exponentially with d.
//!
//! Example, d = 15: within 2^-7 of v for |v| ≤ 0.45.

use crate::rns::homomorphic::Complex;
use std::f64::consts::{PI, TAU};

/// The window's shape: larger values give less ripple and a wider steep part.
const SHAPE: f64 = 5.0;

/// Largest error outside of the steep part.
const RIPPLE: f64 = 1.0 / 128.0;

/// Largest derivative outside of the steep part.
const SLOPE: f64 = 4.0;

/// Points per degree at which the polynomial is measured, from 0 to 1/2.
const POINTS: usize = 64;

/// The polynomial Σ b_j·sin(2πjv).
#[derive(Clone, Debug, PartialEq)]
pub struct Sawtooth {
    coefficients: Vec<f64>,
    edge: f64,
}

/// The modified Bessel function I_0.
fn bessel(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..64 {
        term *= (x / (2.0 * f64::from(k))).powi(2);
        sum += term;
    }
    sum
}

impl Sawtooth {
    /// The polynomial of degree `degree`; `None` if it is too short for digits.
    pub fn new(degree: usize) -> Option<Self> {
        let coefficient = |j: usize| {
            let at = j as f64 / (degree + 1) as f64;
            let window = bessel(SHAPE * (1.0 - at * at).sqrt()) / bessel(SHAPE);
            let sign = if j.is_multiple_of(2) { -1.0 } else { 1.0 };
            sign * window / (PI * j as f64)
        };
        let mut made = Self { coefficients: (1..=degree).map(coefficient).collect(), edge: 0.5 };
        // Between two points the error and the slope change by at most their distance times the bound of their derivatives.
        let step = 0.5 / (POINTS * degree) as f64;
        let weighted = |power: i32| {
            let terms = made.coefficients.iter().zip(1..);
            terms.map(|(b, j)| b.abs() * (TAU * f64::from(j)).powi(power)).sum::<f64>()
        };
        let slack = (step / 2.0).powi(2) / 2.0 * weighted(2);
        let slope_slack = (step / 2.0).powi(2) / 2.0 * weighted(3);
        let sound =
            |v: f64| (made.evaluate(v) - v).abs() + slack <= RIPPLE && made.slope(v).abs() + slope_slack <= SLOPE;
        let last = (0..=POINTS * degree).map(|index| index as f64 * step).take_while(|&v| sound(v)).last()?;
        made.edge = 0.5 - last;
        (made.radix() >= 2).then_some(made)
    }

    /// Σ b_j·sin(2πjv).
    pub fn evaluate(&self, v: f64) -> f64 {
        self.coefficients.iter().zip(1..).map(|(b, j)| b * (TAU * f64::from(j) * v).sin()).sum()
    }

    fn slope(&self, v: f64) -> f64 {
        let terms = self.coefficients.iter().zip(1..);
        terms.map(|(b, j)| b * TAU * f64::from(j) * (TAU * f64::from(j) * v).cos()).sum()
    }

    /// The c_j with 2·Re Σ c_j·w^j = `factor` times the polynomial at v + `shift`, for w = e^(2πiv).
    pub fn coefficients(&self, factor: f64, shift: f64) -> Vec<Complex> {
        let term = |(b, j): (&f64, i32)| {
            let (sine, cosine) = (TAU * f64::from(j) * shift).sin_cos();
            // b·sin(x + y) = Re(−i·b·e^(iy)·e^(ix)).
            Complex::new(sine, -cosine) * Complex::from(factor * b / 2.0)
        };
        std::iter::once(Complex::default()).chain(self.coefficients.iter().zip(1..).map(term)).collect()
    }

    /// Half the width of the steep part around 1/2: up to there from 0, error and slope are at most [`Self::ripple`] and [`Self::steepness`].
    pub fn edge(&self) -> f64 {
        self.edge
    }

    /// Bound of the error outside of the steep part.
    pub fn ripple(&self) -> f64 {
        RIPPLE
    }

    /// Bound of the derivative outside of the steep part.
    pub fn steepness(&self) -> f64 {
        SLOPE
    }

    /// Bound of the derivative by ln |w|.
    pub fn radial(&self) -> f64 {
        self.coefficients.iter().zip(1..).map(|(b, j)| b.abs() * f64::from(j)).sum()
    }

    /// Bound of the second derivatives by v and ln |w|, in radians.
    pub fn curvature(&self) -> f64 {
        self.coefficients.iter().zip(1..).map(|(b, j)| b.abs() * f64::from(j * j)).sum()
    }

    /// R, an even number: numbers that were rounded to odd multiples of 1/2R, or lie between two of them, are outside of the steep part, also
    /// with errors of twice the ripple.
    pub fn radix(&self) -> usize {
        let error = 2.0 * RIPPLE;
        let most = (0.5 - self.edge - RIPPLE - error) / (self.edge + error);
        2 * (most / 2.0) as usize
    }
}

#[cfg(test)]
mod tests {
    //! Is the polynomial the distance, outside of the stated part?

    use super::*;

    #[test]
    fn the_distance_is_within_the_ripple() {
        for (degree, edge, radix) in [(7, 0.12, 2), (15, 0.05, 6), (31, 0.025, 10), (255, 0.005, 20)] {
            let made = Sawtooth::new(degree).unwrap();
            assert!(made.edge() <= edge && made.radix() >= radix, "{degree}: {} {}", made.edge(), made.radix());
            let coefficients = made.coefficients(3.0, 0.25);
            for index in 0..10_007 {
                let v = f64::from(index) / 10_007.0 * 4.0 - 2.0;
                let distance = v - v.round();
                if distance.abs() <= 0.5 - made.edge() {
                    assert!((made.evaluate(v) - distance).abs() <= made.ripple(), "{degree}: {v}");
                }
                let (sine, cosine) = (TAU * (v - 0.25)).sin_cos();
                let w = Complex::new(cosine, sine);
                let sum = coefficients.iter().rev().fold(Complex::default(), |sum, &c| sum * w + c);
                assert!((2.0 * sum.re - 3.0 * made.evaluate(v)).abs() < 1e-12);
            }
        }
        assert!(Sawtooth::new(1).is_none());
    }
}
