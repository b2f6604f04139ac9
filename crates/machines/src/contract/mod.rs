//! The contracts of a machine and of a mapper: the parts that each must define. All other code is shared.
//!
//! A [`Mapper`] schedules programs on every machine that a file describes in its terms. It belongs to one [`Family`]: TFHE ([`tfhe`]), or
//! CKKS and BGV ([`rns`]). A [`Machine`] is a checked machine file with its mapper. The [registry](crate::registry) lists the mappers and
//! the built-in machines.

pub(crate) mod error;
pub mod estimate;
mod machine;
pub mod options;
pub mod rns;
pub mod rounds;
pub mod tfhe;

use options::OptionSpec;
use polyfabric_sim::description::{Description, DescriptionError, FigureError, FigureSpec};
use rns::RnsMachine;
use std::collections::BTreeMap;
use std::sync::Arc;
use tfhe::TfheMachine;

pub use error::{Cause, Family, MachineError};
pub use machine::Machine;

/// Maps programs onto the machines of one kind. Each machine is a file that names the mapper.
pub trait Mapper: Sync {
    /// Name in machine files.
    fn name(&self) -> &'static str;

    /// The figures that a machine file for it must give.
    fn specs(&self) -> &'static [FigureSpec];

    /// Quantities that follow from the figures of `machine`, by name: numbers of parts, and their bytes.
    ///
    /// # Errors
    /// [`FigureError`] if a figure is unknown or two contradict each other.
    fn quantities(&self, _machine: &Description) -> Result<BTreeMap<&'static str, f64>, FigureError> {
        Ok(BTreeMap::new())
    }

    /// Options in addition to the file's figures.
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// Exchanges: design choices other than figures that a sweep may change, with their values.
    fn exchanges(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// `machine` with `value`, one of those that [`Mapper::exchanges`] lists for `name`.
    ///
    /// # Errors
    /// [`MachineError`] if this takes a figure out of its range.
    fn exchanged(&self, machine: &Description, _name: &str, _value: &str) -> Result<Description, MachineError> {
        Ok(machine.clone())
    }

    /// The family of the programs that its machines execute.
    fn family(&self) -> Family;

    /// Reads and checks the figures of a machine file once.
    ///
    /// # Errors
    /// [`FigureError`] if two figures contradict each other. An unknown figure is an error for the command that needs it.
    fn build(&self, description: &Arc<Description>) -> Result<Target, FigureError>;
}

/// A machine, by the family of its programs.
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
