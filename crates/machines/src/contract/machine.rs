//! A machine as a file describes it, with the mapper that the file names.

use super::options::{Given, check_against};
use super::rns::RnsMachine;
use super::tfhe::TfheMachine;
use super::{Family, MachineError, Mapper, Target};
use crate::engine::description::Description;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// See the module's documentation.
#[derive(Clone)]
pub struct Machine {
    description: Arc<Description>,
    mapper: &'static dyn Mapper,
    target: Target,
}

impl Deref for Machine {
    type Target = Description;

    fn deref(&self) -> &Description {
        &self.description
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description.fmt(f)
    }
}

impl PartialEq for Machine {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl Machine {
    /// `description` with the mapper of its name, its figures read.
    ///
    /// # Errors
    /// [`MachineError`] with the figures that contradict each other.
    pub fn new(description: Description, mapper: &'static dyn Mapper) -> Result<Self, MachineError> {
        let description = Arc::new(description);
        let target = mapper.build(&description)?;
        Ok(Self { description, mapper, target })
    }

    /// The machine as its mapper sees it.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Its mapper.
    pub fn mapped_by(&self) -> &'static dyn Mapper {
        self.mapper
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.mapper.family()
    }

    /// It, if programs on torus polynomials like `program` run on it.
    ///
    /// # Errors
    /// [`MachineError::Family`] if not.
    pub(super) fn tfhe(&self, program: &str) -> Result<&dyn TfheMachine, MachineError> {
        match &self.target {
            Target::Tfhe(machine) => Ok(&**machine),
            Target::Rns(_) => Err(MachineError::family(self, Family::Rns, program, Family::Tfhe)),
        }
    }

    /// It, if programs on residue polynomials like `program` run on it.
    ///
    /// # Errors
    /// [`MachineError::Family`] if not.
    pub(super) fn rns(&self, program: &str) -> Result<&dyn RnsMachine, MachineError> {
        match &self.target {
            Target::Rns(machine) => Ok(&**machine),
            Target::Tfhe(_) => Err(MachineError::family(self, Family::Tfhe, program, Family::Rns)),
        }
    }

    /// The same machine with some readings chosen: pairs of reading and option.
    ///
    /// # Errors
    /// [`MachineError`] with the readings that exist.
    pub fn choose(&self, choices: &[(&str, &str)]) -> Result<Self, MachineError> {
        Self::new(self.description.choose(self.mapper.specs(), choices)?, self.mapper)
    }

    /// The same machine with other values of some figures, in the units of its file, and with the area and power of that.
    ///
    /// # Errors
    /// [`MachineError`] for a key that the file has not, a value out of range, or a figure that no component's area follows.
    pub fn changed(&self, changes: &[(String, f64)]) -> Result<Self, MachineError> {
        Self::new(self.description.changed(self.mapper.specs(), changes)?, self.mapper)
    }

    /// The same machine with other values of any figures, of unknown area and power.
    ///
    /// # Errors
    /// [`MachineError`] for a key that its mapper has not, a value out of range, or figures that contradict each other.
    pub fn varied(&self, changes: &[(String, f64)]) -> Result<Self, MachineError> {
        Self::new(self.description.varied(self.mapper.specs(), changes)?, self.mapper)
    }

    /// The same machine with something exchanged that is no figure: what its mapper lists under `name`, for `value`.
    ///
    /// # Errors
    /// [`MachineError::Option`] for what its mapper does not list, and as the mapper has it.
    pub fn exchanged(&self, name: &str, value: &str) -> Result<Self, MachineError> {
        check_against(self.mapper.exchanges(), self, &Given::from([(name.to_owned(), value.to_owned())]))?;
        Self::new(self.mapper.exchanged(self, name, value)?, self.mapper)
    }
}
