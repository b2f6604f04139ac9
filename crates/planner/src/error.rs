//! Errors of planning.

use std::fmt::Display;
use thiserror::Error;

/// The part of the input that is wrong, or the limit that is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Input,
    /// A defect of Polyfabric itself.
    Internal,
    /// The machine, or its support for the program.
    Machine,
    Memory,
    /// The noise budget.
    Noise,
    Parameter,
    Program,
}

/// A program that cannot be planned; the message gives cause, values, location and fix.
#[derive(Clone, Debug, Error)]
#[error("{message}")]
pub struct PlanError {
    pub fault: Fault,
    message: String,
}

impl PlanError {
    /// An error with the text of `error`.
    pub fn new(fault: Fault, error: impl Display) -> Self {
        Self { fault, message: error.to_string() }
    }

    /// Creates errors of one fault, for `map_err`.
    pub fn of<E: Display>(fault: Fault) -> impl Fn(E) -> Self {
        move |error| Self::new(fault, error)
    }
}
