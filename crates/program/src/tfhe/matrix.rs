//! Sparse integer matrices, the weights of linear layers.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A `rows x columns` integer matrix in compressed sparse rows.
///
/// Canonical: columns strictly increase within a row and no stored weight is zero. So matrices are equal if and only if they are
/// the same linear map.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Matrix {
    columns: usize,
    row_starts: Vec<usize>,
    column_indices: Vec<u32>,
    weights: Vec<i32>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MatrixError {
    #[error("row {row} names column {column}, but the matrix has {columns} columns (0 to {last}); correct the index", last = columns.saturating_sub(1))]
    Column { row: usize, column: usize, columns: usize },
    #[error("row {row}: the weight {weight} of column {column} does not fit in 32 bits; scale the weights down")]
    Weight { row: usize, column: usize, weight: i64 },
    #[error("row {row} has {found} entries, but row 0 has {expected}; give every row the same length")]
    Ragged { row: usize, found: usize, expected: usize },
    #[error("a matrix of {columns} columns exceeds the limit of 4294967295; split the vector")]
    TooWide { columns: usize },
}

#[derive(Clone, Debug)]
pub struct MatrixBuilder {
    matrix: Matrix,
    scratch: Vec<(u32, i64)>,
}

impl MatrixBuilder {
    /// # Errors
    /// [`MatrixError::TooWide`] beyond 2^32 - 1 columns.
    pub fn new(columns: usize) -> Result<Self, MatrixError> {
        if u32::try_from(columns).is_err() {
            return Err(MatrixError::TooWide { columns });
        }
        let matrix = Matrix { columns, row_starts: vec![0], column_indices: Vec::new(), weights: Vec::new() };
        Ok(Self { matrix, scratch: Vec::new() })
    }

    /// Appends the row Σ weight · column. Terms may come in any order; weights of one column are summed.
    ///
    /// # Errors
    /// [`MatrixError::Column`], [`MatrixError::Weight`].
    pub fn push_row(&mut self, terms: impl IntoIterator<Item = (usize, i64)>) -> Result<(), MatrixError> {
        let row = self.matrix.rows();
        let columns = self.matrix.columns;
        self.scratch.clear();
        for (column, weight) in terms {
            if column >= columns {
                return Err(MatrixError::Column { row, column, columns });
            }
            self.scratch.push((column as u32, weight));
        }
        if !self.scratch.is_sorted_by(|a, b| a.0 < b.0) {
            self.scratch.sort_by_key(|term| term.0);
        }
        let mut at = 0;
        while at < self.scratch.len() {
            let column = self.scratch[at].0;
            let mut weight = 0i64;
            while at < self.scratch.len() && self.scratch[at].0 == column {
                weight = weight.saturating_add(self.scratch[at].1);
                at += 1;
            }
            if weight != 0 {
                let narrow =
                    i32::try_from(weight).map_err(|_| MatrixError::Weight { row, column: column as usize, weight })?;
                self.matrix.column_indices.push(column);
                self.matrix.weights.push(narrow);
            }
        }
        self.matrix.row_starts.push(self.matrix.weights.len());
        Ok(())
    }

    /// Heap bytes of the rows so far.
    pub fn bytes(&self) -> usize {
        self.matrix.bytes()
    }

    pub fn finish(self) -> Matrix {
        self.matrix
    }
}

impl Matrix {
    /// A matrix from dense rows of equal length.
    ///
    /// # Errors
    /// [`MatrixError::Ragged`], [`MatrixError::Weight`].
    pub fn from_dense(rows: &[Vec<i64>]) -> Result<Self, MatrixError> {
        let columns = rows.first().map_or(0, Vec::len);
        let mut builder = MatrixBuilder::new(columns)?;
        for (row, entries) in rows.iter().enumerate() {
            if entries.len() != columns {
                return Err(MatrixError::Ragged { row, found: entries.len(), expected: columns });
            }
            builder.push_row(entries.iter().copied().enumerate().filter(|(_, weight)| *weight != 0))?;
        }
        Ok(builder.finish())
    }

    /// A matrix from sparse rows of (column, weight) terms.
    ///
    /// # Errors
    /// As [`MatrixBuilder::push_row`].
    pub fn from_rows(columns: usize, rows: &[Vec<(usize, i64)>]) -> Result<Self, MatrixError> {
        let mut builder = MatrixBuilder::new(columns)?;
        for row in rows {
            builder.push_row(row.iter().copied())?;
        }
        Ok(builder.finish())
    }

    pub fn rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored (nonzero) weights.
    pub fn terms(&self) -> usize {
        self.weights.len()
    }

    /// Heap bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.row_starts) + size_of_val(&*self.column_indices) + size_of_val(&*self.weights)
    }

    /// The (column, weight) terms of row `row`.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (usize, i32)> + Clone + '_ {
        let range = self.row_starts[row]..self.row_starts[row + 1];
        self.column_indices[range.clone()]
            .iter()
            .zip(&self.weights[range])
            .map(|(&column, &weight)| (column as usize, weight))
    }

    /// The columns and weights of row `row`, slices of equal length.
    pub fn row_slices(&self, row: usize) -> (&[u32], &[i32]) {
        let range = self.row_starts[row]..self.row_starts[row + 1];
        (&self.column_indices[range.clone()], &self.weights[range])
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({} x {}, {} terms)", self.rows(), self.columns, self.terms())
    }
}
