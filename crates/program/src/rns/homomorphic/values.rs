//! Public values of a program: vectors, diagonals of matrices, polynomials.

use super::clear::centred;
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

    /// The bit that every value is; `None` if they are no bit, or differ.
    pub fn bit(&self) -> Option<bool> {
        let all = |of: &dyn Fn(i64) -> bool| [false, true].into_iter().find(|&bit| of(i64::from(bit)));
        match self {
            Self::Complex(values) => all(&|bit| values.iter().all(|&value| value == Complex::from(bit as f64))),
            Self::Integer(values) => all(&|bit| values.iter().all(|&value| value == bit)),
        }
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

/// A table from integers modulo its length to integers modulo `modulus`.
///
/// Slots hold an integer v modulo m as the fraction v/m; fractions that differ by an integer are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    entries: Arc<[u32]>,
    modulus: u32,
    stages: u32,
}

impl Table {
    /// Most entries, and largest modulus.
    pub const MOST: usize = 1 << 12;

    /// The table that maps k to `entries[k]`; `None` unless there are 2 to [`Self::MOST`] entries, each below `modulus`, which is in the same
    /// range.
    pub fn new(entries: &[u32], modulus: u32) -> Option<Self> {
        let range = 2..=Self::MOST;
        let sound = range.contains(&entries.len()) && range.contains(&(modulus as usize));
        let made = || Self { entries: entries.into(), modulus, stages: 0 };
        (sound && entries.iter().all(|&entry| entry < modulus)).then(made)
    }

    /// The same table of real numbers, which are rounded to the nearest integer first, in `stages` steps; `None` for more than
    /// [`Self::MOST_STAGES`]. Each makes the interval around a border, in which a number may be rounded either way, several times narrower.
    pub fn of_rounded(self, stages: u32) -> Option<Self> {
        (1..=Self::MOST_STAGES).contains(&stages).then_some(Self { stages, ..self })
    }

    /// Most steps of a rounding.
    pub const MOST_STAGES: u32 = 4;

    /// Steps of the rounding; 0 for a table of integers.
    pub fn stages(&self) -> u32 {
        self.stages
    }

    /// How it reads its operand: tables of one operand with equal readings share a bootstrapping. Rounding depends on the number of entries.
    pub fn reading(&self) -> (u32, usize) {
        (self.stages, if self.stages == 0 { 0 } else { self.len() })
    }

    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Number of entries: p for integers modulo p.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Modulus of the results.
    pub fn modulus(&self) -> u32 {
        self.modulus
    }

    /// The fraction in (−1/2, 1/2] that stands for `value` modulo `modulus`.
    pub fn fraction(value: u32, modulus: u32) -> f64 {
        centred(u64::from(value % modulus), modulus.into()) as f64 / f64::from(modulus)
    }

    /// The integer modulo `modulus` nearest to a fraction, and the distance from it as a part of a step.
    pub fn nearest(fraction: f64, modulus: u32) -> (u32, f64) {
        let steps = fraction * f64::from(modulus);
        let nearest = steps.round();
        (nearest.rem_euclid(modulus.into()) as u32 % modulus, (steps - nearest).abs())
    }

    /// The fractions of the entries.
    pub fn fractions(&self) -> Vec<f64> {
        self.entries.iter().map(|&entry| Self::fraction(entry, self.modulus)).collect()
    }

    /// Largest absolute value of the entries' fractions.
    pub fn largest_fraction(&self) -> f64 {
        self.fractions().into_iter().fold(0.0, |largest, value| value.abs().max(largest))
    }

    /// The fraction of the entry of the integer nearest to the fraction `x`.
    pub fn apply(&self, x: f64) -> f64 {
        let (index, _) = Self::nearest(x, self.entries.len() as u32);
        Self::fraction(self.entries[index as usize], self.modulus)
    }
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
