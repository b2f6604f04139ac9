//! Public values of a program: vectors, diagonals of matrices, polynomials.

use polyfabric_schemes::ckks::Complex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A public vector: one value a slot, or a single one that stands for all slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Slots of CKKS.
    Complex(Arc<[Complex]>),
    /// Slots of BGV, read modulo t.
    Integer(Arc<[i64]>),
}

impl Values {
    /// Real slots of CKKS.
    pub fn real(values: &[f64]) -> Self {
        Self::Complex(values.iter().map(|&value| value.into()).collect())
    }

    /// Slots of BGV.
    pub fn integer(values: &[i64]) -> Self {
        Self::Integer(values.into())
    }

    /// Values held.
    pub fn len(&self) -> usize {
        match self {
            Self::Complex(values) => values.len(),
            Self::Integer(values) => values.len(),
        }
    }

    /// Bytes of the values.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Complex(values) => size_of_val(&**values),
            Self::Integer(values) => size_of_val(&**values),
        }
    }

    /// Whether no value is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one value stands for all slots.
    pub fn is_scalar(&self) -> bool {
        self.len() == 1
    }

    /// Largest absolute value, of either part for complex numbers together.
    pub fn magnitude(&self) -> f64 {
        match self {
            Self::Complex(values) => values.iter().map(|value| value.abs()).fold(0.0, f64::max),
            Self::Integer(values) => values.iter().map(|value| value.unsigned_abs() as f64).fold(0.0, f64::max),
        }
    }
}

/// A matrix by its generalised diagonals: row i, column i + d modulo the row length, for each offset d.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagonals {
    /// Diagonal by offset; every diagonal has one value a slot, or one for all.
    pub by_offset: BTreeMap<i64, Values>,
}

/// The polynomials that coefficients refer to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// 1, x, x², …
    Monomial,
    /// Chebyshev polynomials T_0, T_1, … of the interval.
    Chebyshev {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
}

/// A polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    /// What the coefficients refer to.
    pub basis: Basis,
    /// Coefficients, constant first.
    pub coefficients: Values,
}

impl Polynomial {
    /// Degree as written.
    pub fn degree(&self) -> usize {
        self.coefficients.len().saturating_sub(1)
    }
}
