//! Vectors of integer combinations of independent ciphertexts.

use crate::tfhe::matrix::Matrix;
use polyfabric_kernels::cancel;
use std::sync::Arc;

/// Row r is Σ weight · column + bias[r]; columns are independent ciphertexts, values are torus units.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    pub terms: Arc<Terms>,
    pub bias: Vec<i64>,
}

/// The weights of [`Forms`] in compressed rows; columns strictly increase within a row, no weight is 0.
#[derive(Debug)]
pub(crate) struct Terms {
    starts: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<i32>,
}

/// A combined weight that does not fit in 32 bits.
pub(crate) struct WeightOverflow {
    pub weight: i64,
}

impl Terms {
    pub fn new() -> Self {
        Self { starts: vec![0], columns: Vec::new(), weights: Vec::new() }
    }

    /// Rows of one column with weight 1.
    pub fn selection(columns: Vec<u32>) -> Self {
        Self { starts: (0..=columns.len()).collect(), weights: vec![1; columns.len()], columns }
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn row(&self, row: usize) -> (&[u32], &[i32]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.weights[range])
    }

    /// Appends a canonical row.
    pub fn push(&mut self, columns: &[u32], weights: &[i32]) {
        cancel::check();
        self.columns.extend_from_slice(columns);
        self.weights.extend_from_slice(weights);
        self.starts.push(self.columns.len());
    }

    /// Appends the sum of `scratch`, terms in any order; leaves `scratch` empty.
    pub fn push_sum(&mut self, scratch: &mut Vec<(u32, i64)>) -> Result<(), WeightOverflow> {
        cancel::check();
        if !scratch.is_sorted_by(|a, b| a.0 < b.0) {
            scratch.sort_unstable_by_key(|term| term.0);
        }
        let mut terms = scratch.drain(..).peekable();
        while let Some((column, mut weight)) = terms.next() {
            while let Some((_, more)) = terms.next_if(|next| next.0 == column) {
                weight = weight.saturating_add(more);
            }
            if weight != 0 {
                self.columns.push(column);
                self.weights.push(i32::try_from(weight).map_err(|_| WeightOverflow { weight })?);
            }
        }
        self.starts.push(self.columns.len());
        Ok(())
    }
}

impl Forms {
    pub fn selection(columns: Vec<u32>) -> Self {
        Self { bias: vec![0; columns.len()], terms: Arc::new(Terms::selection(columns)) }
    }

    pub fn constant(bias: Vec<i64>) -> Self {
        let mut terms = Terms::new();
        bias.iter().for_each(|_| terms.push(&[], &[]));
        Self { terms: Arc::new(terms), bias }
    }

    pub fn len(&self) -> usize {
        self.bias.len()
    }

    /// `factor[r] · self[r] + other_factor · other[r]` for every row, or just the first part.
    pub fn combine(&self, factor: impl Fn(usize) -> i64, other: Option<(&Self, i64)>) -> Result<Self, WeightOverflow> {
        let mut terms = Terms::new();
        let mut bias = Vec::with_capacity(self.len());
        let mut scratch = Vec::new();
        for row in 0..self.len() {
            let factor = factor(row);
            let mut sum = self.bias[row].wrapping_mul(factor);
            extend(&mut scratch, self.terms.row(row), factor);
            if let Some((other, factor)) = other {
                sum = sum.wrapping_add(other.bias[row].wrapping_mul(factor));
                extend(&mut scratch, other.terms.row(row), factor);
            }
            terms.push_sum(&mut scratch)?;
            bias.push(sum);
        }
        Ok(Self { terms: Arc::new(terms), bias })
    }

    /// `matrix · self + bias`.
    pub fn apply(&self, matrix: &Matrix, bias: &[i64]) -> Result<Self, WeightOverflow> {
        let mut terms = Terms::new();
        let mut sums = Vec::with_capacity(bias.len());
        let mut scratch = Vec::new();
        for (row, &bias) in bias.iter().enumerate() {
            let mut sum = bias;
            for (column, weight) in matrix.row(row) {
                sum = sum.wrapping_add(self.bias[column].wrapping_mul(weight.into()));
                extend(&mut scratch, self.terms.row(column), weight.into());
            }
            terms.push_sum(&mut scratch)?;
            sums.push(sum);
        }
        Ok(Self { terms: Arc::new(terms), bias: sums })
    }

    /// The rows `indices`.
    pub fn select(&self, indices: impl Iterator<Item = usize>) -> Self {
        let mut terms = Terms::new();
        let mut bias = Vec::new();
        for index in indices {
            let (columns, weights) = self.terms.row(index);
            terms.push(columns, weights);
            bias.push(self.bias[index]);
        }
        Self { terms: Arc::new(terms), bias }
    }

    /// The rows of all parts, one after the other.
    pub fn concat<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut terms = Terms::new();
        let mut bias = Vec::new();
        for part in parts {
            for row in 0..part.len() {
                let (columns, weights) = part.terms.row(row);
                terms.push(columns, weights);
            }
            bias.extend_from_slice(&part.bias);
        }
        Self { terms: Arc::new(terms), bias }
    }
}

fn extend(scratch: &mut Vec<(u32, i64)>, (columns, weights): (&[u32], &[i32]), factor: i64) {
    let product = |&weight: &i32| i64::from(weight).saturating_mul(factor);
    scratch.extend(columns.iter().copied().zip(weights.iter().map(product)));
}
