//! Errors of machines and mappers.

use super::estimate::NoVariant;
use super::options::OptionError;
use crate::audit::AuditError;
use polyfabric_sim::description::{Description, DescriptionError, FigureError};
use polyfabric_sim::report::SimulationError;
use std::error::Error;

/// The family of schemes that a machine executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// TFHE: torus polynomials.
    Tfhe,
    /// CKKS and BGV: residue polynomials.
    Rns,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tfhe => "TFHE",
            Self::Rns => "CKKS and BGV",
        })
    }
}

/// The cause, in the machine's own error type.
pub type Cause = Box<dyn Error + Send + Sync>;

/// An error of a machine or mapper.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("there is no machine {name:?}; the project has {known}, and takes the path of a machine file")]
    Name { name: String, known: String },
    #[error("{file}: there is no mapper {mapper:?}; choose from: {known}")]
    Mapper { file: String, mapper: String, known: String },
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error(transparent)]
    Figures(#[from] FigureError),
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("`{program}` does not run on `{machine}`: {cause}")]
    Mapping { program: String, machine: String, cause: Cause },
    /// No schedule was found within the time limit; `cause` is the progress so far.
    #[error("`{program}` does not run on `{machine}`: {cause}")]
    Intractable { program: String, machine: String, cause: Cause },
    #[error(
        "`{machine}` executes programs of {runs}, and `{program}` is of {is}: name a machine of that family (`polyfabric machines`)"
    )]
    Family { machine: String, runs: Family, program: String, is: Family },
    #[error("the compiled `{program}` cannot be used: {cause}")]
    Saved { program: String, cause: Cause },
    #[error(
        "`{machine}` has no instructions: there are no streams, no groups by key, and no compiled program to write or to read; leave that out"
    )]
    NoInstructions { machine: String },
    #[error(
        "schedules of `{machine}` do not repeat: map the rounds of `{program}` as one program, or take another machine"
    )]
    NoRounds { machine: String, program: String },
    #[error(transparent)]
    KeySwitch(Box<NoVariant>),
    #[error("the schedule of `{program}` on `{machine}` does not compute it: {cause}. This is a fault of the mapper")]
    Audit { program: String, machine: String, cause: Box<AuditError> },
    #[error(transparent)]
    Simulation(Box<SimulationError>),
    #[error("{0}")]
    Replay(Cause),
    #[error(
        "set `{set}` is on a torus of {torus_bits} bits and `{machine}` computes on {machine_bits}: choose a set of the \
         machine's width"
    )]
    Torus { set: String, torus_bits: u32, machine: String, machine_bits: u32 },
}

impl From<SimulationError> for MachineError {
    fn from(error: SimulationError) -> Self {
        Self::Simulation(Box::new(error))
    }
}

impl MachineError {
    /// `program` does not fit `machine`, because of `cause`.
    pub fn mapping(machine: &Description, program: &str, cause: impl Into<Cause>) -> Self {
        Self::Mapping { program: program.to_owned(), machine: machine.name().to_owned(), cause: cause.into() }
    }

    /// No schedule of `program` on `machine` was found within the time limit; `cause` is the progress so far.
    pub fn intractable(machine: &Description, program: &str, cause: impl Into<Cause>) -> Self {
        Self::Intractable { program: program.to_owned(), machine: machine.name().to_owned(), cause: cause.into() }
    }

    /// `machine` executes family `runs`, and `program` belongs to family `is`.
    pub(crate) fn family(machine: &Description, runs: Family, program: &str, is: Family) -> Self {
        Self::Family { machine: machine.name().to_owned(), runs, program: program.to_owned(), is }
    }
}
