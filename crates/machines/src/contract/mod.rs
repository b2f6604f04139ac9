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

/// Maps programs onto the machines of one kind: a row of the [registry](crate::registry). Each machine is a file that names the mapper.
#[derive(Clone, Copy)]
pub struct Mapper {
    /// Name in machine files.
    pub name: &'static str,
    /// The figures that a machine file for it must or may give.
    pub specs: &'static [FigureSpec],
    /// Reads and checks the figures of a machine file once. An unknown figure is an error for the command that needs it.
    pub build: fn(&Arc<Description>) -> Result<Target, FigureError>,
    /// Quantities that follow from the figures, by name: numbers of parts, and their bytes.
    pub quantities: fn(&Description) -> Result<BTreeMap<&'static str, f64>, FigureError>,
    /// Options in addition to the file's figures.
    pub options: &'static [OptionSpec],
}

impl Mapper {
    /// A mapper without quantities and options.
    pub const fn new(
        name: &'static str,
        specs: &'static [FigureSpec],
        build: fn(&Arc<Description>) -> Result<Target, FigureError>,
    ) -> Self {
        Self { name, specs, build, quantities: |_| Ok(BTreeMap::new()), options: &[] }
    }
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
    pub fn get(&self) -> Result<&T, MachineError> {
        self.figures.as_ref().map_err(|error| error.clone().into())
    }

    /// The machine file.
    pub fn description(&self) -> &Description {
        &self.description
    }
}
