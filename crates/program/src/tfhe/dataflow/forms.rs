//! Vectors of integer linear combinations of independent ciphertexts.

use crate::tfhe::matrix::Matrix;
use polyfabric_kernels::cancel;
use std::sync::Arc;

/// Row r is Σ weight · column + bias[r]. Columns are independent ciphertexts; values are in torus units.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    pub terms: Arc<Terms>,
    pub bias: Vec<i64>,
}

/// The weights of [`Forms`] in compressed rows. Columns strictly increase within a row and no weight is 0.
#[derive(Debug)]
pub(crate) struct Terms {
    starts: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<i32>,
}

/// The combined weight of a ciphertext does not fit in 32 bits.
pub(crate) struct WeightOverflow {
    pub weight: i64,
}

impl Terms {
    pub fn new() -> Self {
        Self { starts: vec![0], columns: Vec::new(), weights: Vec::new() }
    }

    /// One row per entry of `columns`, with weight 1.
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

    /// Appends a row in canonical order.
    pub fn push(&mut self, columns: &[u32], weights: &[i32]) {
        cancel::check();
        self.columns.extend_from_slice(columns);
        self.weights.extend_from_slice(weights);
        self.starts.push(self.columns.len());
    }

    /// Appends the sum of `scratch`, whose terms may be in any order; empties `scratch`.
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

    /// `factor[r] · self[r] + other_factor · other[r]` for every row; without `other`, only the first term.
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

    /// Adds `factor · other` in place if both have one row and the columns of `other` come later. So a long sum costs constant time
    /// per addend instead of time proportional to the sum so far. Returns whether it did.
    pub fn append(&mut self, other: &Self, factor: i64) -> Result<bool, WeightOverflow> {
        let ([own], [added]) = (&mut *self.bias, &*other.bias) else { return Ok(false) };
        let Some(terms) = Arc::get_mut(&mut self.terms) else { return Ok(false) };
        let (columns, weights) = other.terms.row(0);
        if terms.columns.last() >= columns.first() && !columns.is_empty() {
            return Ok(false);
        }
        for (&column, &weight) in columns.iter().zip(weights) {
            let weight = i64::from(weight).saturating_mul(factor);
            terms.columns.push(column);
            terms.weights.push(i32::try_from(weight).map_err(|_| WeightOverflow { weight })?);
        }
        terms.starts[1] = terms.columns.len();
        *own = own.wrapping_add(added.wrapping_mul(factor));
        Ok(true)
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

#[cfg(test)]
mod tests {
    //! Does a sum in place equal a sum of copies?

    use super::*;

    fn row(columns: &[u32], weights: &[i32], bias: i64) -> Forms {
        let mut terms = Terms::new();
        terms.push(columns, weights);
        Forms { terms: Arc::new(terms), bias: vec![bias] }
    }

    #[test]
    fn an_appended_row_is_the_sum() {
        for (columns, weights) in [(&[4, 9][..], &[3, -2][..]), (&[], &[])] {
            let (mut own, other) = (row(&[0, 3], &[1, 7], 5), row(columns, weights, 2));
            let sum = own.combine(|_| 1, Some((&other, -1))).ok().unwrap();
            assert!(own.append(&other, -1).ok().unwrap());
            assert_eq!((own.terms.row(0), &own.bias), (sum.terms.row(0), &sum.bias));
        }
    }

    #[test]
    fn rows_with_earlier_columns_and_shared_rows_are_not_appended() {
        let mut own = row(&[0, 3], &[1, 7], 5);
        assert!(!own.append(&row(&[3], &[1], 0), 1).ok().unwrap());
        let shared = own.clone();
        assert!(!own.append(&row(&[4], &[1], 0), 1).ok().unwrap());
        assert_eq!(own.terms.row(0), shared.terms.row(0));
    }

    #[test]
    fn a_weight_beyond_32_bits_is_refused() {
        let mut own = row(&[0], &[1], 0);
        assert!(own.append(&row(&[4], &[i32::MIN], 0), -1).is_err());
    }
}
