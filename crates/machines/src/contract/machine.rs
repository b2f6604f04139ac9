//! A machine file, parsed and checked, with the mapper that it names.

use super::rns::RnsMachine;
use super::tfhe::TfheMachine;
use super::{Family, MachineError, Mapper, Target};
use polyfabric_sim::description::Description;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A checked machine file with its mapper.
#[derive(Clone)]
pub struct Machine {
    description: Arc<Description>,
    mapper: &'static Mapper,
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
    /// Reads the figures of `description` for `mapper`.
    pub fn new(description: Description, mapper: &'static Mapper) -> Result<Self, MachineError> {
        let description = Arc::new(description);
        let target = (mapper.build)(&description)?;
        Ok(Self { description, mapper, target })
    }

    /// The machine as its mapper sees it.
    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn mapped_by(&self) -> &'static Mapper {
        self.mapper
    }

    pub fn family(&self) -> Family {
        match self.target {
            Target::Tfhe(_) => Family::Tfhe,
            Target::Rns(_) => Family::Rns,
        }
    }

    /// The machine, if it executes TFHE; the error names `program`.
    pub(super) fn tfhe(&self, program: &str) -> Result<&dyn TfheMachine, MachineError> {
        match &self.target {
            Target::Tfhe(machine) => Ok(&**machine),
            Target::Rns(_) => Err(MachineError::family(self, Family::Rns, program, Family::Tfhe)),
        }
    }

    /// The machine, if it executes CKKS and BGV; the error names `program`.
    pub(super) fn rns(&self, program: &str) -> Result<&dyn RnsMachine, MachineError> {
        match &self.target {
            Target::Rns(machine) => Ok(&**machine),
            Target::Tfhe(_) => Err(MachineError::family(self, Family::Tfhe, program, Family::Rns)),
        }
    }

    /// The same machine with other options of some readings: pairs of reading and option.
    pub fn choose(&self, choices: &[(&str, &str)]) -> Result<Self, MachineError> {
        Self::new(self.description.choose(self.mapper.specs, choices)?, self.mapper)
    }

    /// The same machine with other values of some figures, in the units of its file. Area and power are adapted.
    pub fn changed(&self, changes: &[(String, f64)]) -> Result<Self, MachineError> {
        Self::new(self.description.changed(self.mapper.specs, changes)?, self.mapper)
    }

    /// The same machine with other values of any figures. Its area and power are unknown.
    pub fn varied(&self, changes: &[(String, f64)]) -> Result<Self, MachineError> {
        Self::new(self.description.varied(self.mapper.specs, changes)?, self.mapper)
    }
}
