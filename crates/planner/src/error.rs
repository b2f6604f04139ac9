//! Why nothing can be planned.

use std::fmt::Display;
use thiserror::Error;

/// What has to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Values given to the program.
    Input,
    /// A defect of Polyfabric itself.
    Internal,
    /// The machine, or the program on it.
    Machine,
    /// Memory.
    Memory,
    /// The noise budget.
    Noise,
    /// The parameter set.
    Parameter,
    /// The program.
    Program,
}

/// A program that cannot be planned, with cause, values, place and remedy.
#[derive(Clone, Debug, Error)]
#[error("{message}")]
pub struct PlanError {
    /// What has to change.
    pub fault: Fault,
    message: String,
}

impl PlanError {
    /// With the text of `error`.
    pub fn new(fault: Fault, error: impl Display) -> Self {
        Self { fault, message: error.to_string() }
    }

    /// A function that makes errors of one fault, for `map_err`.
    pub fn of<E: Display>(fault: Fault) -> impl Fn(E) -> Self {
        move |error| Self::new(fault, error)
    }
}
