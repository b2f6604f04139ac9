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

use crate::engine::description::{Description, DescriptionError, FigureError, FigureSpec};
use crate::reproduce::prediction::{Prediction, ReproduceError};
use options::OptionSpec;
use polyfabric_runtime::Progress;
use residue::ResidueMachine;
use std::sync::Arc;
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

    /// The family of the programs that its machines execute.
    fn family(&self) -> Family;

    /// The machine that a file describes, with its figures read and checked once.
    ///
    /// # Errors
    /// [`FigureError`] if two figures contradict each other. An unknown figure is an error for the command that needs it.
    fn build(&self, description: &Arc<Description>) -> Result<Target, FigureError>;
}

/// A described machine, by the family of its programs.
#[derive(Clone)]
pub enum Target {
    /// It executes TFHE.
    Torus(Arc<dyn TorusMachine>),
    /// It executes CKKS and BGV.
    Residue(Arc<dyn ResidueMachine>),
}

/// A machine file with its figures in the mapper's own type.
pub struct Figures<T> {
    description: Arc<Description>,
    figures: Result<T, FigureError>,
}

impl<T> Figures<T> {
    /// Reads the figures of `description`.
    ///
    /// # Errors
    /// [`FigureError`] if two figures contradict each other.
    pub fn read(
        description: &Arc<Description>,
        read: fn(&Description) -> Result<T, FigureError>,
    ) -> Result<Self, FigureError> {
        let figures = read(description);
        match figures {
            Ok(_)
            | Err(FigureError::Description(DescriptionError::Unknown { .. } | DescriptionError::Missing { .. })) => {
                Ok(Self { description: Arc::clone(description), figures })
            }
            Err(error) => Err(error),
        }
    }

    /// The figures.
    ///
    /// # Errors
    /// [`MachineError`] if one is unknown.
    pub fn get(&self) -> Result<&T, MachineError> {
        self.figures.as_ref().map_err(|error| error.clone().into())
    }

    /// The machine file.
    pub fn description(&self) -> &Description {
        &self.description
    }
}
