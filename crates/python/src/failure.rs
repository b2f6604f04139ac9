//! Converts Rust errors to typed Python exceptions.

use polyfabric_planner::{Fault, PlanError};
use pyo3::prelude::*;
use std::fmt::Display;

mod exceptions {
    use pyo3::import_exception;
    import_exception!(polyfabric.errors, FileError);
    import_exception!(polyfabric.errors, InputError);
    import_exception!(polyfabric.errors, InternalError);
    import_exception!(polyfabric.errors, IntractableError);
    import_exception!(polyfabric.errors, MachineError);
    import_exception!(polyfabric.errors, NoiseError);
    import_exception!(polyfabric.errors, ParameterError);
    import_exception!(polyfabric.errors, ProgramError);
    import_exception!(polyfabric.errors, RunError);
}

/// The Python exception class of a failure.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A file of keys, ciphertexts or a program.
    File,
    /// Values given to a program.
    Input,
    /// A defect of Polyfabric itself.
    Internal,
    /// A program for which a scheduler finds no order within its limit.
    Intractable,
    /// A machine description, or a program that a machine does not support.
    Machine,
    /// A program that exceeds its noise budget.
    Noise,
    /// A parameter set.
    Parameter,
    /// A program's text or construction.
    Program,
    /// Execution.
    Run,
}

/// An error's exception class and message, all that a Python exception carries.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
}

impl Failure {
    /// A failure with the text of `error`.
    pub fn new(kind: Kind, error: impl Display) -> Self {
        Self { kind, message: error.to_string() }
    }

    pub fn into_message(self) -> String {
        self.message
    }

    /// Creates failures of one kind, for `map_err`.
    pub fn of<E: Display>(kind: Kind) -> impl Fn(E) -> Self {
        move |error| Self::new(kind, error)
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let kind = match error.fault {
            Fault::Input => Kind::Input,
            Fault::Internal => Kind::Internal,
            Fault::Machine => Kind::Machine,
            Fault::Memory => Kind::Run,
            Fault::Noise => Kind::Noise,
            Fault::Parameter => Kind::Parameter,
            Fault::Program => Kind::Program,
        };
        Self::new(kind, error)
    }
}

impl From<polyfabric_client::Failure> for Failure {
    fn from(failure: polyfabric_client::Failure) -> Self {
        let kind = match failure.kind {
            polyfabric_client::Kind::File => Kind::File,
            polyfabric_client::Kind::Input => Kind::Input,
            polyfabric_client::Kind::Parameter => Kind::Parameter,
            polyfabric_client::Kind::Run => Kind::Run,
        };
        Self { kind, message: failure.message }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let message = failure.message;
        match failure.kind {
            Kind::File => exceptions::FileError::new_err(message),
            Kind::Input => exceptions::InputError::new_err(message),
            Kind::Internal => exceptions::InternalError::new_err(message),
            Kind::Intractable => exceptions::IntractableError::new_err(message),
            Kind::Machine => exceptions::MachineError::new_err(message),
            Kind::Noise => exceptions::NoiseError::new_err(message),
            Kind::Parameter => exceptions::ParameterError::new_err(message),
            Kind::Program => exceptions::ProgramError::new_err(message),
            Kind::Run => exceptions::RunError::new_err(message),
        }
    }
}
