//! The contracts of a machine and of a mapper: what each has to say for itself. Everything else is shared.
//!
//! A [`Mapper`] schedules programs on whatever machine a file describes in its terms. It is of one [`Family`]: torus polynomials ([`tfhe`])
//! or residue polynomials ([`rns`]). A [`Machine`] is a checked machine file with its mapper. Mappers, and the machines that come with the
//! project, are listed in the [registry](crate::registry).

pub(crate) mod error;
pub mod estimate;
mod machine;
pub mod options;
pub mod rns;
pub mod rounds;
pub mod tfhe;

use crate::engine::description::{Description, DescriptionError, FigureError, FigureSpec};
use options::OptionSpec;
use rns::RnsMachine;
use std::collections::BTreeMap;
use std::sync::Arc;
use tfhe::TfheMachine;

pub use error::{Cause, Family, MachineError};
pub use machine::Machine;

/// What maps programs onto the machines of one kind, each described by a file that names the mapper.
pub trait Mapper: Sync {
    /// Name, as in machine files.
    fn name(&self) -> &'static str;

    /// The figures that a file for it has to give.
    fn specs(&self) -> &'static [FigureSpec];

    /// Quantities that follow from the figures of `machine`, by name: counts of its parts and bytes that they hold.
    ///
    /// # Errors
    /// [`FigureError`] when a figure is unknown or two contradict each other.
    fn quantities(&self, _machine: &Description) -> Result<BTreeMap<&'static str, f64>, FigureError> {
        Ok(BTreeMap::new())
    }

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
    Tfhe(Arc<dyn TfheMachine>),
    /// It executes CKKS and BGV.
    Rns(Arc<dyn RnsMachine>),
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
