//! The readable text form of homomorphic programs: printed by `Display`, read by [`parse_program`].
//!
//! ```text
//! text   = "program" name ("ckks" | "bgv" "(" t ")") "slots" slots node*
//! node   = "%"n "=" op [name] ["%"a ["," "%"b]] attributes ["at" file ":" line]
//! values = "[" (real | "(" real "," imaginary ")" | integer), .. "]"
//! ```
//!
//! | operation | attributes |
//! |---|---|
//! | `input` | `magnitude` bound, and `level` level if it is given |
//! | `constant` | values |
//! | `rotate` | `by` steps |
//! | `mod_switch` | `to` level |
//! | `linear_transform` | `{` offset `:` values `,` .. `}` |
//! | `polynomial` | `monomial` values, or `chebyshev from` lo `to` hi values |
//!
//! A parsed text went through the builder, so a text from anywhere is safe to read. `#` starts a comment.

mod parse;
mod print;

pub use parse::parse_program;

use crate::lexer::{SyntaxError, SyntaxErrorCause};
use crate::rns::homomorphic::ProgramError;
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
    /// A refused node, or program.
    #[error("{0}")]
    Program(#[from] Box<ProgramError>),
}

impl From<SyntaxError> for TextError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, column: error.column, cause: error.cause.into() }
    }
}
