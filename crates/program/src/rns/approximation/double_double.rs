//! Numbers of about 106 bits as unevaluated sums of two f64 (T. J. Dekker, Numerische Mathematik 18, 1971; D. Knuth, TAOCP 2,
//! section 4.2.2). This precision suffices to solve the least-squares problems here by their normal equations.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// high + low, |low| at most half a unit in the last place of high.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DoubleDouble {
    high: f64,
    low: f64,
}

impl DoubleDouble {
    /// Rounded to f64.
    pub fn to_f64(self) -> f64 {
        self.high + self.low
    }

    /// a·b exactly.
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    /// Knuth's two-sum: a + b exactly.
    fn exact_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    /// The square root; 0 for negative numbers.
    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::default();
        }
        // One Newton step doubles the correct bits of the f64 root.
        let root = self.high.sqrt();
        let rest = self - Self::product(root, root);
        Self::exact_sum(root, rest.to_f64() / (2.0 * root))
    }
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Add for DoubleDouble {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let high = Self::exact_sum(self.high, other.high);
        let low = Self::exact_sum(self.low, other.low);
        let sum = Self::exact_sum(high.high, high.low + low.high);
        Self::exact_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        Self::exact_sum(product.high, product.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for DoubleDouble {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - Self::from(first) * other;
        let second = rest.high / other.high;
        let rest = rest - Self::from(second) * other;
        Self::exact_sum(first, second) + Self::from(rest.high / other.high)
    }
}

/// The x that minimizes Σ_i (Σ_k rows\[i\]\[k\]·x\[k\] − values\[i\])², by Cholesky factorization of the normal equations.
///
/// `None` if the rows do not determine x within 106 bits.
pub(super) fn least_squares(rows: &[Vec<f64>], values: &[f64]) -> Option<Vec<f64>> {
    let unknowns = rows.first()?.len();
    let dot = |left: &dyn Fn(usize) -> f64, right: &dyn Fn(usize) -> f64| {
        (0..rows.len()).map(|i| DoubleDouble::product(left(i), right(i))).fold(DoubleDouble::default(), Add::add)
    };
    // Computes the factor's lower triangle row by row, together with the forward substitution.
    let mut factor = vec![vec![DoubleDouble::default(); unknowns]; unknowns];
    let mut solution = vec![DoubleDouble::default(); unknowns];
    for row in 0..unknowns {
        for column in 0..=row {
            let mut entry = dot(&|i| rows[i][row], &|i| rows[i][column]);
            let scale = entry.high.abs();
            for (&left, &right) in factor[row].iter().zip(&factor[column]).take(column) {
                entry = entry - left * right;
            }
            factor[row][column] = if row == column {
                // A smaller pivot is rounding noise.
                if entry.high <= scale * 2f64.powi(-96) {
                    return None;
                }
                entry.sqrt()
            } else {
                entry / factor[column][column]
            };
        }
        let mut entry = dot(&|i| rows[i][row], &|i| values[i]);
        for (&left, &known) in factor[row].iter().zip(&solution).take(row) {
            entry = entry - left * known;
        }
        solution[row] = entry / factor[row][row];
    }
    for row in (0..unknowns).rev() {
        let mut entry = solution[row];
        for k in row + 1..unknowns {
            entry = entry - factor[k][row] * solution[k];
        }
        solution[row] = entry / factor[row][row];
    }
    Some(solution.into_iter().map(DoubleDouble::to_f64).collect())
}

#[cfg(test)]
mod tests {
    //! Has the arithmetic about twice the bits of f64?

    use super::*;

    #[test]
    fn has_a_hundred_bits() {
        let third = DoubleDouble::from(1.0) / DoubleDouble::from(3.0);
        let error = (third * DoubleDouble::from(3.0) - DoubleDouble::from(1.0)).to_f64();
        assert!(error.abs() < 2f64.powi(-100), "{error}");
        let root = DoubleDouble::from(2.0).sqrt();
        let error = (root * root - DoubleDouble::from(2.0)).to_f64();
        assert!(error.abs() < 2f64.powi(-98), "{error}");
        let small = DoubleDouble::from(1.0) + DoubleDouble::from(2f64.powi(-80)) - DoubleDouble::from(1.0);
        assert_eq!(small.to_f64(), 2f64.powi(-80));
    }

    #[test]
    fn solves_a_system_that_f64_cannot() {
        // The Hilbert matrix of order 9: its normal equations have a condition number near 10^23.
        let rows: Vec<Vec<f64>> = (0..9).map(|i| (0..9).map(|j| 1.0 / (i + j + 1) as f64).collect()).collect();
        let wanted: Vec<f64> = (0..9).map(|k| k as f64 - 4.0).collect();
        let values: Vec<f64> = rows.iter().map(|row| row.iter().zip(&wanted).map(|(a, x)| a * x).sum()).collect();
        let found = least_squares(&rows, &values).unwrap();
        let residual = rows
            .iter()
            .zip(&values)
            .map(|(row, value)| (row.iter().zip(&found).map(|(a, x)| a * x).sum::<f64>() - value).abs());
        assert!(residual.fold(0.0, f64::max) < 1e-14, "{found:?}");
        assert_eq!(least_squares(&[vec![1.0, 2.0], vec![2.0, 4.0]], &[1.0, 2.0]), None);
    }
}
