//! Why a machine cannot be asked.

use super::estimate::NoVariant;
use super::options::OptionError;
use crate::audit::AuditError;
use crate::engine::description::{Description, DescriptionError, FigureError};
use crate::engine::report::SimulationError;
use std::error::Error;

/// What a machine computes on.
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

/// The cause of a refusal, of the machine's own type.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a machine cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// No machine of that name comes with the project.
    #[error("there is no machine {name:?}; the project has {known}, and takes the path of a machine file")]
    Name {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No mapper of that name.
    #[error("{file}: there is no mapper {mapper:?}; choose from: {known}")]
    Mapper {
        /// Machine file.
        file: String,
        /// The mapper that it names.
        mapper: String,
        /// The mappers that exist.
        known: String,
    },
    /// The machine file.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// Figures of the machine file that contradict each other.
    #[error(transparent)]
    Figures(#[from] FigureError),
    /// An option of the machine.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The program does not fit the machine.
    #[error("`{program}` does not run on `{machine}`: {cause}")]
    Mapping {
        /// Program.
        program: String,
        /// Machine.
        machine: String,
        /// Why.
        cause: Cause,
    },
    /// No schedule of the program was found in the time given.
    #[error("`{program}` does not run on `{machine}`: {cause}")]
    Intractable {
        /// Program.
        program: String,
        /// Machine.
        machine: String,
        /// How far it came.
        cause: Cause,
    },
    /// A machine of another family of schemes than the program.
    #[error(
        "`{machine}` executes programs of {runs}, and `{program}` is of {is}: name a machine of that family (`polyfabric machines`)"
    )]
    Family {
        /// Machine.
        machine: String,
        /// What it executes.
        runs: Family,
        /// Program.
        program: String,
        /// What that is.
        is: Family,
    },
    /// A compiled program from a file.
    #[error("the compiled `{program}` cannot be used: {cause}")]
    Saved {
        /// Program.
        program: String,
        /// Why.
        cause: Cause,
    },
    /// A machine without instructions.
    #[error(
        "`{machine}` has no instructions: there are no streams, no groups by key, and no compiled program to write or to read; leave that out"
    )]
    NoInstructions {
        /// Machine.
        machine: String,
    },
    /// A machine whose schedules have no loops.
    #[error(
        "schedules of `{machine}` do not repeat: map the rounds of `{program}` as one program, or take another machine"
    )]
    NoRounds {
        /// Machine.
        machine: String,
        /// Program.
        program: String,
    },
    /// No key switch that may be taken.
    #[error(transparent)]
    KeySwitch(Box<NoVariant>),
    /// The schedule does not compute the program.
    #[error("the schedule of `{program}` on `{machine}` does not compute it: {cause}. This is a fault of the mapper")]
    Audit {
        /// Program.
        program: String,
        /// Machine.
        machine: String,
        /// First difference.
        cause: Box<AuditError>,
    },
    /// The simulation.
    #[error(transparent)]
    Simulation(Box<SimulationError>),
    /// The replay.
    #[error("{0}")]
    Replay(Cause),
    /// A torus that the machine's words cannot hold.
    #[error(
        "set `{set}` is on a torus of {torus_bits} bits and `{machine}` computes on {machine_bits}: choose a set of the \
         machine's width"
    )]
    Torus {
        /// Set.
        set: String,
        /// Its width.
        torus_bits: u32,
        /// Machine.
        machine: String,
        /// Its width.
        machine_bits: u32,
    },
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

    /// No schedule of `program` on `machine` was found in the time given; `cause` says how far it came.
    pub fn intractable(machine: &Description, program: &str, cause: impl Into<Cause>) -> Self {
        Self::Intractable { program: program.to_owned(), machine: machine.name().to_owned(), cause: cause.into() }
    }

    /// `machine` is of family `runs` and `program` of the other one.
    pub(crate) fn family(machine: &Description, runs: Family, program: &str, is: Family) -> Self {
        Self::Family { machine: machine.name().to_owned(), runs, program: program.to_owned(), is }
    }
}
