//! The readable text form of both graphs: printed by `Display`, read by [`parse_program`] and [`parse_kernel`].
//!
//! A parsed text is a checked program: the homomorphic one goes through the builder, the kernel one through its
//! consistency check, so a text from anywhere is safe to read. `#` starts a comment.

mod kernel;
mod parse_kernel;
mod parse_program;
mod program;

pub use parse_kernel::parse_kernel;
pub use parse_program::parse_program;

use crate::lexer::{Lexer, Place, SyntaxError, SyntaxErrorCause};
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
    /// Not written as it should be.
    #[error("{0}")]
    Syntax(#[from] SyntaxErrorCause),
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

impl From<SyntaxError> for TextError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, column: error.column, cause: error.cause.into() }
    }
}

/// `cause` at `place`.
fn located(place: Place, cause: impl Into<TextErrorCause>) -> TextError {
    TextError { line: place.line, column: place.column, cause: cause.into() }
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

/// Takes a matrix of `columns` columns, `{[column: weight, ..], ..}`.
fn parse_matrix(lexer: &mut Lexer<'_>, columns: usize) -> Result<crate::tfhe::Matrix, TextError> {
    let place = lexer.here();
    let mut builder = crate::tfhe::MatrixBuilder::new(columns).map_err(|error| located(place, error))?;
    lexer.list("{", "}", |lexer| {
        let place = lexer.here();
        let row = lexer.numbers(|lexer| {
            let column = lexer.usize()?;
            lexer.expect(":")?;
            Ok((column, lexer.i64()?))
        })?;
        builder.push_row(row).map_err(|error| located(place, error))
    })?;
    Ok(builder.finish())
}
