//! The text form of homomorphic and kernel programs: printed by `Display`, parsed by [`parse_program`] and [`parse_kernel`].
//!
//! Parsing checks the program: homomorphic programs go through the builder, kernel programs through their consistency check.
//! Text from an untrusted source is therefore safe to parse. `#` starts a comment.

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

/// A parse error: position and cause.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}, column {column}: {cause}")]
pub struct TextError {
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub cause: TextErrorCause,
}

/// The cause of a [`TextError`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TextErrorCause {
    #[error("{0}")]
    Syntax(#[from] SyntaxErrorCause),
    #[error("written as {written}, but the operation gives {inferred}; correct the type or the operation")]
    Type { written: String, inferred: String },
    #[error("{0}")]
    Program(#[from] Box<ProgramError>),
    #[error("{0}")]
    Matrix(#[from] MatrixError),
    #[error("{0}")]
    Kernel(#[from] Box<KernelError>),
    #[error("{0}")]
    Parameters(#[from] Box<ParameterError>),
    #[error("{what}: {problem}")]
    Json { what: &'static str, problem: String },
}

impl From<SyntaxError> for TextError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, column: error.column, cause: error.cause.into() }
    }
}

fn located(place: Place, cause: impl Into<TextErrorCause>) -> TextError {
    TextError { line: place.line, column: place.column, cause: cause.into() }
}

/// Writes `items` with `separator` between them.
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

/// Writes `{[column: weight, ..], ..}`, one bracket per row.
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

/// Parses a matrix of `columns` columns, `{[column: weight, ..], ..}`.
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
