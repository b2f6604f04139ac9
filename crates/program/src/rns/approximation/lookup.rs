//! Lookup tables of integers as trigonometric polynomials.
//!
//! An integer v modulo p is encrypted as the root of unity w = e^(2πi·v/p). A table f is the polynomial f(v) = 2·Re Σ c_j·w^j of degree
//! p − 1 with c_j = (1 − j/p)/p · Σ_k f(k)·e^(−2πi·jk/p), and half of that for j = 0. It interpolates f, and its derivative along the
//! circle is 0 at every root, so that the square of an error of the angle remains: Hermite interpolation of order 1 (A. Alexandru,
//! A. Kim, Y. Polyakov, "General functional bootstrapping using CKKS", ePrint 2024/1623). In real form it is a sum of Fejér kernels,
//! f(x) = Σ_k f(k)·K(x − 2πk/p), K(x) = sin²(px/2)/(p·sin(x/2))².
//!
//! Example, p = 2 and f = (0, 1): c = (1/4, −1/4), and 2·Re(1/4 − w/4) is 0 at w = 1 and 1 at w = −1.

use super::{ApproximationError, ChebyshevSeries};
use crate::rns::homomorphic::Complex;
use std::f64::consts::{PI, TAU};

/// Chebyshev coefficients of the polynomial of degree `degree` that interpolates e^(i·z·t) on [−1, 1].
///
/// # Errors
/// [`ApproximationError`] if z is not finite.
pub fn exponential(z: f64, degree: usize) -> Result<Vec<Complex>, ApproximationError> {
    let cosine = ChebyshevSeries::interpolate(|t| (z * t).cos(), -1.0, 1.0, degree)?.even();
    let sine = ChebyshevSeries::interpolate(|t| (z * t).sin(), -1.0, 1.0, degree)?.odd();
    Ok(cosine.coefficients().iter().zip(sine.coefficients()).map(|(&re, &im)| Complex::new(re, im)).collect())
}

/// Bound of the error of [`exponential`] on [−1, 1].
///
/// The coefficients of e^(izt) are 2·i^k·J_k(z), and |J_k(z)| ≤ (z/2)^k/k!. An interpolant errs by at most twice the sum of the
/// magnitudes of the coefficients beyond its degree (Trefethen, Approximation Theory and Approximation Practice, chapter 4).
pub fn exponential_error(z: f64, degree: usize) -> f64 {
    let half = z.abs() / 2.0;
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 1..4 * (degree + 1) + 8 * half.ceil() as usize {
        term *= half / k as f64;
        if k > degree {
            sum += term;
        }
    }
    4.0 * sum
}

/// The polynomial of a table, and how errors of w reach its value.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePolynomial {
    coefficients: Vec<Complex>,
    /// Derivative of the value by ln |w|, at each root.
    radial: Vec<f64>,
    table: Vec<f64>,
}

impl TablePolynomial {
    /// The polynomial of the table that maps k to `table[k]`; p is the table's length.
    pub fn new(table: &[f64]) -> Self {
        let p = table.len();
        let root = |index: usize| {
            let angle = TAU * (index % p) as f64 / p as f64;
            Complex::new(angle.cos(), angle.sin())
        };
        let coefficient = |j: usize| {
            let terms = table.iter().enumerate().map(|(k, &value)| root(j * k).conjugate() * value.into());
            let weight = if j == 0 { 0.5 } else { 1.0 - j as f64 / p as f64 };
            terms.fold(Complex::default(), |sum, term| sum + term) * (weight / p as f64).into()
        };
        // Σ_j 2j(1 − j/p)/p·cos(2πjm/p) = −1/(p·sin²(πm/p)) for m ≠ 0, and these sum to 0 with the term of m = 0.
        let radial = |k: usize| {
            let weight = |m: usize| 1.0 / (p as f64 * (PI * m as f64 / p as f64).sin().powi(2));
            (1..p).map(|m| (table[k] - table[(k + m) % p]) * weight(m)).sum()
        };
        Self {
            coefficients: (0..p).map(coefficient).collect(),
            radial: (0..p).map(radial).collect(),
            table: table.to_vec(),
        }
    }

    /// c_0, …, c_(p−1).
    pub fn coefficients(&self) -> &[Complex] {
        &self.coefficients
    }

    /// 2·Re Σ c_j·w^j.
    pub fn evaluate(&self, w: Complex) -> f64 {
        2.0 * self.coefficients.iter().rev().fold(Complex::default(), |sum, &c| sum * w + c).re
    }

    /// Largest derivative of the value by ln |w| at a root, in magnitude.
    pub fn radial(&self) -> f64 {
        self.radial.iter().fold(0.0, |largest, value| value.abs().max(largest))
    }

    /// Root of the mean square of that derivative over the roots.
    pub fn radial_deviation(&self) -> f64 {
        (self.radial.iter().map(|value| value * value).sum::<f64>() / self.radial.len() as f64).sqrt()
    }

    /// Bound of the value's error that is not [`Self::radial`] times `radial`, for w = e^(s + iδ) times a root with |s| ≤ `radial` and
    /// |δ| ≤ `angle`.
    ///
    /// Along the radius the derivative is at most that at the root, plus (|s| + |δ|) times a bound Σ 2·|c_j|·j²·e^(j|s|) of the second
    /// derivatives.
    pub fn second_order(&self, radial: f64, angle: f64) -> f64 {
        let second = |(j, c): (usize, &Complex)| 2.0 * c.abs() * (j as f64).powi(2) * (j as f64 * radial).exp();
        let curvature: f64 = self.coefficients.iter().enumerate().map(second).sum();
        self.along_circle(angle) + radial * (radial + angle) * curvature
    }

    /// Bound of the value's error at angles up to `angle` from a root. The weights K are not negative and sum to 1, so the error at root k
    /// is at most Σ_m |f(k + m) − f(k)|·K(2πm/p − δ).
    fn along_circle(&self, angle: f64) -> f64 {
        let p = self.table.len();
        // Beyond, sin² is not monotonous; half of the distance between roots is already too much.
        let Some(angle) = (angle < PI / p as f64).then_some(angle) else { return f64::INFINITY };
        let weight = |m: usize| {
            let distance = TAU * m.min(p - m) as f64 / p as f64 - angle;
            ((p as f64 * angle / 2.0).sin() / (p as f64 * (distance / 2.0).sin())).powi(2)
        };
        let weights: Vec<f64> = (1..p).map(weight).collect();
        let at = |k: usize| -> f64 {
            let terms = weights.iter().enumerate();
            terms.map(|(m, weight)| (self.table[(k + m + 1) % p] - self.table[k]).abs() * weight).sum()
        };
        (0..p).map(at).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    //! Is the polynomial the table, and are the stated sensitivities and bounds true?

    use super::*;
    use proptest::prelude::*;

    fn at(radial: f64, angle: f64) -> Complex {
        Complex::new(angle.cos(), angle.sin()) * radial.exp().into()
    }

    /// The sum of Fejér kernels.
    fn reference(table: &[f64], x: f64) -> f64 {
        let p = table.len() as f64;
        let kernel = |x: f64| {
            // Next to a multiple of 2 pi, both sines are exact of the small difference only.
            let x = x - TAU * (x / TAU).round();
            let sine = (x / 2.0).sin();
            if sine.abs() < 1e-9 { 1.0 } else { ((p * x / 2.0).sin() / (p * sine)).powi(2) }
        };
        table.iter().enumerate().map(|(k, value)| value * kernel(x - TAU * k as f64 / p)).sum()
    }

    #[test]
    fn the_exponential_errs_by_less_than_its_bound() {
        for (z, degree) in [(1.0, 7), (6.0, 15), (13.35, 31), (13.35, 36), (26.7, 63)] {
            let coefficients = exponential(z, degree).unwrap();
            let value = |t: f64| {
                let terms = coefficients.iter().enumerate();
                terms.fold(Complex::default(), |sum, (k, &c)| sum + c * (k as f64 * t.acos()).cos().into())
            };
            let points = (0..=4000).map(|i| f64::from(i) / 2000.0 - 1.0);
            let error = points.map(|t| (value(t) - at(0.0, z * t)).abs()).fold(0.0, f64::max);
            let bound = exponential_error(z, degree);
            assert!(error <= bound + 1e-13 && bound < 20.0 * error + 1e-12, "{z} {degree}: {error:e} of {bound:e}");
        }
    }

    proptest! {
        #[test]
        fn tables_are_interpolated_and_errors_bounded(
            table in prop::collection::vec(-300i32..300, 2..130), x in -4.0f64..4.0, radial in -1e-3f64..1e-3, angle in -0.9f64..0.9,
        ) {
            let values: Vec<f64> = table.iter().map(|&value| value.into()).collect();
            let polynomial = TablePolynomial::new(&values);
            let p = table.len() as f64;
            // Less than half of the distance between roots.
            let angle = angle * PI / p;
            prop_assert!((polynomial.evaluate(at(0.0, x)) - reference(&values, x)).abs() < 1e-8);
            for (k, &entry) in table.iter().enumerate() {
                let root = TAU * k as f64 / p;
                prop_assert_eq!(polynomial.evaluate(at(0.0, root)).round() as i32, entry);
                // The derivative by the radius, by a difference quotient.
                let step = 1e-6;
                let slope = (polynomial.evaluate(at(step, root)) - polynomial.evaluate(at(-step, root))) / (2.0 * step);
                prop_assert!((slope - polynomial.radial[k]).abs() < 1e-3 * (1.0 + polynomial.radial()), "{} {}", slope, polynomial.radial[k]);
                let error = (polynomial.evaluate(at(radial, root + angle)) - f64::from(entry)).abs();
                let bound = polynomial.radial() * radial.abs() + polynomial.second_order(radial.abs(), angle.abs());
                prop_assert!(error <= bound + 1e-8, "{} of {}", error, bound);
            }
            prop_assert!(polynomial.radial_deviation() <= polynomial.radial());
        }
    }

    #[test]
    fn a_table_of_two_entries() {
        let gate = TablePolynomial::new(&[0.0, 1.0]);
        assert_eq!(gate.coefficients().iter().map(|c| c.re).collect::<Vec<_>>(), [0.25, -0.25]);
        assert!((gate.radial() - 0.5).abs() < 1e-15);
    }
}
