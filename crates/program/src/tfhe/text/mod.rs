//! The readable text form of both graphs: printed by `Display`, read by [`parse_program`] and [`parse_kernel`].
//!
//! A parsed text is a checked program: the homomorphic one goes through the builder, the kernel one through its
//! consistency check, so a text from anywhere is safe to read. `#` starts a comment.

mod kernel;
mod lexer;
mod parse_kernel;
mod parse_program;
mod program;

pub use parse_kernel::parse_kernel;
pub use parse_program::parse_program;

use crate::tfhe::homomorphic::ProgramError;
use crate::tfhe::kernel::KernelError;
use crate::tfhe::matrix::MatrixError;
use polyfabric_schemes::tfhe::ParameterError;
use thiserror::Error;

/// A text that does not parse: where, and why.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}, column {column}: {cause}")]
pub struct TextError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The cause.
    pub cause: TextErrorCause,
}

/// Why a text does not parse.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TextErrorCause {
    /// Something else stands there.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What may stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A number out of its range.
    #[error("{value} is out of range: {expected}")]
    Number {
        /// The number as written.
        value: String,
        /// What is accepted.
        expected: String,
    },
    /// A node is numbered out of order.
    #[error("%{found} is defined here, but the next is %{expected}; number definitions from 0 in order")]
    Order {
        /// As written.
        found: u64,
        /// The next number.
        expected: usize,
    },
    /// A node has another type or torus step than its operation gives.
    #[error("written as {written}, but the operation gives {inferred}; correct the type, or what it follows from")]
    Type {
        /// As written.
        written: String,
        /// As inferred.
        inferred: String,
    },
    /// A refused node, or program.
    #[error("{0}")]
    Program(#[from] Box<ProgramError>),
    /// A refused matrix.
    #[error("{0}")]
    Matrix(#[from] MatrixError),
    /// An inconsistent kernel program.
    #[error("{0}")]
    Kernel(#[from] Box<KernelError>),
    /// A refused parameter set.
    #[error("{0}")]
    Parameters(#[from] Box<ParameterError>),
    /// JSON that does not read.
    #[error("{what}: {problem}")]
    Json {
        /// What it should be.
        what: &'static str,
        /// The reader's words.
        problem: String,
    },
}

/// Writes `items` with a separator.
fn join<T: std::fmt::Display>(
    f: &mut std::fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    separator: &str,
) -> std::fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// Writes `[a, b, ..]`.
fn list<T: std::fmt::Display>(f: &mut std::fmt::Formatter<'_>, items: impl IntoIterator<Item = T>) -> std::fmt::Result {
    f.write_str("[")?;
    join(f, items, ", ")?;
    f.write_str("]")
}

/// Writes `{[column: weight, ..], ..}`, one row in brackets.
fn matrix(f: &mut std::fmt::Formatter<'_>, matrix: &crate::tfhe::Matrix) -> std::fmt::Result {
    f.write_str("{")?;
    for row in 0..matrix.rows() {
        f.write_str(if row == 0 { "[" } else { ", [" })?;
        for (index, (column, weight)) in matrix.row(row).enumerate() {
            write!(f, "{}{column}: {weight}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str("]")?;
    }
    f.write_str("}")
}
