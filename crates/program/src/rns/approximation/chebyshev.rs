//! Polynomials in the Chebyshev basis of an interval.

use thiserror::Error;

/// Why an approximation does not exist or is not found.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ApproximationError {
    #[error("interval [{lo}, {hi}] is empty; its lower end must be below its upper end, both finite")]
    Interval { lo: f64, hi: f64 },
    #[error("the function is {value} at {at}; take an interval on which it is finite")]
    NotFinite { at: f64, value: f64 },
    #[error("{what} is {value}; it must be from {low} to {high}")]
    Parameter { what: &'static str, value: f64, low: f64, high: f64 },
    #[error(
        "the Remez exchange for degree {degree} on [{low}, {high}] did not converge in {rounds} rounds; lower the degree"
    )]
    NoMinimax { degree: usize, low: f64, high: f64, rounds: usize },
}

pub(super) fn check_parameter(what: &'static str, value: f64, low: f64, high: f64) -> Result<(), ApproximationError> {
    if value >= low && value <= high { Ok(()) } else { Err(ApproximationError::Parameter { what, value, low, high }) }
}

/// Σ_k c_k·T_k(t), t = (2x − lo − hi)/(hi − lo), with T_k(cos θ) = cos kθ.
#[derive(Clone, Debug, PartialEq)]
pub struct ChebyshevSeries {
    lo: f64,
    hi: f64,
    coefficients: Vec<f64>,
}

impl ChebyshevSeries {
    /// A series with these coefficients, constant first, on \[`lo`, `hi`\].
    ///
    /// # Errors
    /// [`ApproximationError::Interval`] if the interval is empty.
    pub fn new(lo: f64, hi: f64, coefficients: Vec<f64>) -> Result<Self, ApproximationError> {
        if lo < hi && lo.is_finite() && hi.is_finite() {
            Ok(Self { lo, hi, coefficients })
        } else {
            Err(ApproximationError::Interval { lo, hi })
        }
    }

    /// The polynomial of degree `degree` that interpolates `function` at the zeros of T_(degree+1).
    ///
    /// Its error is at most 2 + (2/π)·ln(degree + 1) times that of the best polynomial (Trefethen, Approximation Theory and
    /// Approximation Practice, theorem 16.1 and chapter 15).
    ///
    /// # Errors
    /// [`ApproximationError`] if the interval is empty or the function is not finite on it.
    pub fn interpolate(
        function: impl Fn(f64) -> f64,
        lo: f64,
        hi: f64,
        degree: usize,
    ) -> Result<Self, ApproximationError> {
        let mut series = Self::new(lo, hi, Vec::new())?;
        let count = degree + 1;
        let angle = |node: usize| std::f64::consts::PI * (node as f64 + 0.5) / count as f64;
        let mut values = Vec::with_capacity(count);
        for node in 0..count {
            let at = series.argument(angle(node).cos());
            let value = function(at);
            if !value.is_finite() {
                return Err(ApproximationError::NotFinite { at, value });
            }
            values.push(value);
        }
        series.coefficients = (0..count)
            .map(|k| {
                // Reduce angles exactly first: k·(2·node + 1) modulo 4·count.
                let terms = values.iter().enumerate().map(|(node, value)| {
                    let turn = k * (2 * node + 1) % (4 * count);
                    value * (std::f64::consts::PI * turn as f64 / (2 * count) as f64).cos()
                });
                sum(terms) * if k == 0 { 1.0 } else { 2.0 } / count as f64
            })
            .collect();
        Ok(series)
    }

    /// Largest |series − function| on `points` + 1 points equally spaced in the angle, so dense at the ends.
    pub fn error(&self, function: impl Fn(f64) -> f64, points: usize) -> f64 {
        let points = points.max(1);
        let deviation = |point: usize| {
            let x = self.argument((std::f64::consts::PI * point as f64 / points as f64).cos());
            (self.evaluate(x) - function(x)).abs()
        };
        (0..=points).map(deviation).fold(0.0, f64::max)
    }

    /// The value at `x`, by Clenshaw's recurrence.
    pub fn evaluate(&self, x: f64) -> f64 {
        let t = ((x - self.lo) - (self.hi - x)) / (self.hi - self.lo);
        let (mut next, mut after) = (0.0, 0.0);
        for &coefficient in self.coefficients.iter().skip(1).rev() {
            (next, after) = (2.0 * t * next - after + coefficient, next);
        }
        t * next - after + self.coefficients.first().copied().unwrap_or(0.0)
    }

    pub fn interval(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Constant coefficient first.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// Degree as written; leading coefficients may be 0.
    pub fn degree(&self) -> usize {
        self.coefficients.len().saturating_sub(1)
    }

    /// Clears the odd coefficients of an even function on an interval around 0, which are nonzero only by rounding.
    #[must_use]
    pub fn even(mut self) -> Self {
        self.coefficients.iter_mut().skip(1).step_by(2).for_each(|coefficient| *coefficient = 0.0);
        self
    }

    /// Clears the even coefficients of an odd function.
    #[must_use]
    pub fn odd(mut self) -> Self {
        self.coefficients.iter_mut().step_by(2).for_each(|coefficient| *coefficient = 0.0);
        self
    }

    /// Maps t in [−1, 1] to the interval.
    fn argument(&self, t: f64) -> f64 {
        self.lo.midpoint(self.hi) + t * (self.hi / 2.0 - self.lo / 2.0)
    }
}

/// Compensated summation (A. Neumaier, ZAMM 54, 1974): the error does not grow with the number of terms.
pub(super) fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0f64, 0.0f64);
    for term in terms {
        let next = total + term;
        lost += if total.abs() >= term.abs() { (total - next) + term } else { (term - next) + total };
        total = next;
    }
    total + lost
}

#[cfg(test)]
mod tests {
    //! Is the stated error true at points other than the interpolation nodes?

    use super::*;

    #[test]
    fn the_error_is_that_on_other_points_and_falls_with_the_degree() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let mut before = 1.0;
        for degree in [7, 15, 31, 63] {
            let series = ChebyshevSeries::interpolate(sigmoid, -8.0, 8.0, degree).unwrap();
            let error = series.error(sigmoid, 8 * (degree + 1) + 64);
            let measured = (0..=50_000).map(|i| -8.0 + 16.0 * i as f64 / 50_000.0);
            let measured = measured.map(|x| (series.evaluate(x) - sigmoid(x)).abs()).fold(0.0, f64::max);
            assert!(
                (0.98..=1.001).contains(&(measured / error)),
                "degree {degree}: {measured} where {error} was found"
            );
            // The poles at ±πi give convergence like 1.47^-degree (Trefethen, theorem 8.2).
            assert!(error < 0.5 * before, "degree {degree}: {error} after {before}");
            before = error;
        }
    }

    #[test]
    fn a_polynomial_interpolates_itself() {
        // 3 + x − 5x³ on [1, 4], up to rounding.
        let polynomial = |x: f64| 3.0 + x - 5.0 * x * x * x;
        let series = ChebyshevSeries::interpolate(polynomial, 1.0, 4.0, 7).unwrap();
        assert!(series.error(polynomial, 1_000) < 1e-11);
        assert!(series.coefficients()[4..].iter().all(|c| c.abs() < 1e-11), "{:?}", series.coefficients());
        // The leading coefficient in the interval's T_3: −5·((hi − lo)/2)³/4.
        assert!((series.coefficients()[3] + 5.0 * 1.5f64.powi(3) / 4.0).abs() < 1e-11);
    }

    #[test]
    fn symmetry_removes_only_rounding() {
        let cosine = ChebyshevSeries::interpolate(|x| (9.0 * x).cos(), -1.0, 1.0, 40).unwrap();
        assert!(cosine.clone().even().error(|x| (9.0 * x).cos(), 4_000) < 1e-13);
        let sine = ChebyshevSeries::interpolate(|x| (9.0 * x).sin(), -1.0, 1.0, 41).unwrap();
        assert!(sine.odd().error(|x| (9.0 * x).sin(), 4_000) < 1e-13);
    }

    #[test]
    fn errors_name_the_cause() {
        assert_eq!(ChebyshevSeries::new(1.0, 1.0, vec![]), Err(ApproximationError::Interval { lo: 1.0, hi: 1.0 }));
        let pole = ChebyshevSeries::interpolate(f64::sqrt, -1.0, 1.0, 2).unwrap_err();
        assert!(matches!(pole, ApproximationError::NotFinite { .. }), "{pole}");
    }
}
