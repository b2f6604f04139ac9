//! Public values of a program: vectors, diagonals of matrices, polynomials.

use polyfabric_schemes::ckks::Complex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A public vector: one value per slot, or a single value for all slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Slots of CKKS.
    Complex(Arc<[Complex]>),
    /// Slots of BGV, interpreted modulo t.
    Integer(Arc<[i64]>),
}

impl Values {
    pub fn real(values: &[f64]) -> Self {
        Self::Complex(values.iter().map(|&value| value.into()).collect())
    }

    pub fn integer(values: &[i64]) -> Self {
        Self::Integer(values.into())
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Complex(values) => values.len(),
            Self::Integer(values) => values.len(),
        }
    }

    pub fn bytes(&self) -> usize {
        match self {
            Self::Complex(values) => size_of_val(&**values),
            Self::Integer(values) => size_of_val(&**values),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a single value for all slots.
    pub fn is_scalar(&self) -> bool {
        self.len() == 1
    }

    /// Largest absolute value.
    pub fn magnitude(&self) -> f64 {
        match self {
            Self::Complex(values) => values.iter().map(|value| value.abs()).fold(0.0, f64::max),
            Self::Integer(values) => values.iter().map(|value| value.unsigned_abs() as f64).fold(0.0, f64::max),
        }
    }
}

/// A matrix by its generalized diagonals: row i, column i + d modulo the row length, for each offset d.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagonals {
    /// By offset; every diagonal has one value per slot, or one for all.
    pub by_offset: BTreeMap<i64, Values>,
}

/// Basis of a polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// 1, x, x², …
    Monomial,
    /// Chebyshev polynomials T_0, T_1, … of an interval.
    Chebyshev { lo: f64, hi: f64 },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    pub basis: Basis,
    /// Constant coefficient first.
    pub coefficients: Values,
}

impl Polynomial {
    /// Degree as written; leading coefficients may be 0.
    pub fn degree(&self) -> usize {
        self.coefficients.len().saturating_sub(1)
    }
}
