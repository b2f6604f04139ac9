//! Sparse integer matrices: the weights of a linear layer.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A `rows x columns` integer matrix in compressed sparse rows.
///
/// Canonical: within a row the columns increase strictly and no stored weight is zero, so two matrices
/// are equal exactly when they are the same linear map.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Matrix {
    columns: usize,
    row_starts: Vec<usize>,
    column_indices: Vec<u32>,
    weights: Vec<i32>,
}

/// Why rows do not form a [`Matrix`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MatrixError {
    /// A term names a column that does not exist.
    #[error("row {row} names column {column}, but the matrix has {columns} columns (0 to {last}); correct the index", last = columns.saturating_sub(1))]
    Column {
        /// Row of the term.
        row: usize,
        /// Its column.
        column: usize,
        /// Number of columns.
        columns: usize,
    },
    /// The combined weight of one column in one row leaves 32 bits.
    #[error("row {row}: the weight {weight} of column {column} does not fit in 32 bits; scale the weights down")]
    Weight {
        /// Row of the weight.
        row: usize,
        /// Its column.
        column: usize,
        /// The weight.
        weight: i64,
    },
    /// A dense row is not as long as the others.
    #[error("row {row} has {found} entries, but row 0 has {expected}; give every row the same length")]
    Ragged {
        /// The offending row.
        row: usize,
        /// Its length.
        found: usize,
        /// The length of row 0.
        expected: usize,
    },
    /// More columns than 32-bit indices address.
    #[error("a matrix of {columns} columns exceeds the limit of 4294967295; split the vector")]
    TooWide {
        /// Number of columns.
        columns: usize,
    },
}

/// Builds a [`Matrix`] row by row.
#[derive(Clone, Debug)]
pub struct MatrixBuilder {
    matrix: Matrix,
    scratch: Vec<(u32, i64)>,
}

impl MatrixBuilder {
    /// An empty matrix with `columns` columns.
    ///
    /// # Errors
    /// [`MatrixError::TooWide`] beyond 2^32 - 1 columns.
    pub fn new(columns: usize) -> Result<Self, MatrixError> {
        if u32::try_from(columns).is_err() {
            return Err(MatrixError::TooWide { columns });
        }
        let matrix = Matrix { columns, row_starts: vec![0], column_indices: Vec::new(), weights: Vec::new() };
        Ok(Self { matrix, scratch: Vec::new() })
    }

    /// Appends the row Σ weight · column; terms come in any order, and weights of one column are summed.
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

    /// Bytes of the rows so far.
    pub fn bytes(&self) -> usize {
        self.matrix.bytes()
    }

    /// The finished matrix.
    pub fn finish(self) -> Matrix {
        self.matrix
    }
}

impl Matrix {
    /// The matrix with the given dense rows, all of one length.
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

    /// The matrix with the given sparse rows of (column, weight) terms.
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

    /// Number of rows: the length of the result.
    pub fn rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Number of columns: the length of the operand.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored (non-zero) weights.
    pub fn terms(&self) -> usize {
        self.weights.len()
    }

    /// Bytes of its rows.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.row_starts) + size_of_val(&*self.column_indices) + size_of_val(&*self.weights)
    }

    /// The (column, weight) terms of row `row`, which is below [`Self::rows`].
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (usize, i32)> + Clone + '_ {
        let range = self.row_starts[row]..self.row_starts[row + 1];
        self.column_indices[range.clone()]
            .iter()
            .zip(&self.weights[range])
            .map(|(&column, &weight)| (column as usize, weight))
    }

    /// The column indices and the weights of row `row`, as slices of equal length.
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
