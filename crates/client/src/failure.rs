//! Errors of a client's operations: whose fault, and a text.

use std::fmt::{self, Display};

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of keys or ciphertexts, or a specification.
    File,
    /// Values or ciphertexts given to a program.
    Input,
    /// A parameter set.
    Parameter,
    /// An operation that this computer could not do.
    Run,
}

/// An error and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

impl Failure {
    /// A failure with the text of `error`.
    pub fn new(kind: Kind, error: impl Display) -> Self {
        Self { kind, message: error.to_string() }
    }

    /// Creates failures of one kind, for `map_err`.
    pub fn of<E: Display>(kind: Kind) -> impl Fn(E) -> Self {
        move |error| Self::new(kind, error)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
