//! The contracts of a machine and of a mapper: what each has to say for itself. Everything else is shared.
//!
//! A [`Mapper`] schedules programs on whatever machine a file describes in its terms. It is of one [`Family`]: torus polynomials ([`torus`])
//! or residue polynomials ([`residue`]). A [`Machine`] of a paper is such a file, with what the paper published; a user's own machine is
//! the file alone. Each is a folder and a line in the [registry](crate::registry), and nothing outside of its folder names it.

mod described;
pub(crate) mod error;
pub mod estimate;
pub mod options;
pub mod residue;
pub mod rounds;
pub mod torus;

use crate::engine::description::{Description, FigureError, FigureSpec};
use crate::reproduce::prediction::{Prediction, ReproduceError};
use options::OptionSpec;
use polyfabric_runtime::Progress;
use residue::ResidueMachine;
use torus::TorusMachine;

pub use described::Described;
pub use error::{Cause, Family, MachineError};

/// A machine of a paper: a file for one of the mappers, and what was published of it.
pub trait Machine: Sync {
    /// Name of the machine, and of its file.
    fn name(&self) -> &'static str;

    /// The text of its file.
    fn file(&self) -> &'static str;

    /// What its paper published, as text, for the comparison alone.
    fn published(&self) -> &'static str;

    /// The model's numbers for the published ones, on `machine`, which its file describes.
    ///
    /// # Errors
    /// [`ReproduceError`] when a program cannot be built, mapped or checked.
    fn predictions(&self, machine: &Described, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError>;
}

/// What maps programs onto the machines of one kind, each described by a file that names the mapper.
pub trait Mapper: Sync {
    /// Name, as in machine files.
    fn name(&self) -> &'static str;

    /// The figures that a file for it has to give.
    fn specs(&self) -> &'static [FigureSpec];

    /// Whether the figures of a machine go together.
    ///
    /// # Errors
    /// [`FigureError`] when a figure is unknown or two contradict each other.
    fn check(&self, machine: &Description) -> Result<(), FigureError>;

    /// What a user may choose beside a file's figures.
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// What a sweep may exchange for something else beside the figures of a file, and for what.
    fn exchanges(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// `machine` with `value`, one of those that [`Mapper::exchanges`] lists for `name`, in the place of what its file has.
    ///
    /// # Errors
    /// [`MachineError`] if a figure leaves its range with it.
    fn exchanged(&self, machine: &Description, _name: &str, _value: &str) -> Result<Description, MachineError> {
        Ok(machine.clone())
    }

    /// What its machines execute, and how it is mapped.
    fn programs(&self) -> Programs;
}

/// What a mapper does, by the family of the programs.
#[derive(Clone, Copy)]
pub enum Programs {
    /// Programs on torus polynomials.
    Torus(&'static dyn TorusMachine),
    /// Programs on residue polynomials.
    Residue(&'static dyn ResidueMachine),
}

impl Programs {
    /// The family.
    pub fn family(self) -> Family {
        match self {
            Self::Torus(_) => Family::Torus,
            Self::Residue(_) => Family::Residue,
        }
    }
}
