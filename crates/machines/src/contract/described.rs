//! A machine as a file describes it, with the mapper that the file names.

use super::options::{Given, check_against};
use super::residue::ResidueMachine;
use super::torus::TorusMachine;
use super::{Family, MachineError, Mapper, Programs};
use crate::engine::description::{Description, DescriptionError, FigureError};
use std::fmt;
use std::ops::Deref;

/// See the module's documentation.
#[derive(Clone)]
pub struct Described {
    description: Description,
    mapper: &'static dyn Mapper,
}

impl Deref for Described {
    type Target = Description;

    fn deref(&self) -> &Description {
        &self.description
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description.fmt(f)
    }
}

impl PartialEq for Described {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl Described {
    /// `description` with the mapper of its name, if its figures go together. What is unknown is an error for whoever asks for it.
    ///
    /// # Errors
    /// [`MachineError`] with the figures that contradict each other.
    pub fn new(description: Description, mapper: &'static dyn Mapper) -> Result<Self, MachineError> {
        match mapper.check(&description) {
            Ok(())
            | Err(FigureError::Description(DescriptionError::Unknown { .. } | DescriptionError::Missing { .. })) => {
                Ok(Self { description, mapper })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Its mapper.
    pub fn mapped_by(&self) -> &'static dyn Mapper {
        self.mapper
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.mapper.programs().family()
    }

    /// Its mapper, if programs on torus polynomials like `program` run on it.
    ///
    /// # Errors
    /// [`MachineError::Family`] if not.
    pub(super) fn torus(&self, program: &str) -> Result<&'static dyn TorusMachine, MachineError> {
        match self.mapper.programs() {
            Programs::Torus(mapper) => Ok(mapper),
            other => Err(MachineError::family(self, other.family(), program, Family::Torus)),
        }
    }

    /// Its mapper, if programs on residue polynomials like `program` run on it.
    ///
    /// # Errors
    /// [`MachineError::Family`] if not.
    pub(super) fn residue(&self, program: &str) -> Result<&'static dyn ResidueMachine, MachineError> {
        match self.mapper.programs() {
            Programs::Residue(mapper) => Ok(mapper),
            other => Err(MachineError::family(self, other.family(), program, Family::Residue)),
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

    /// The same machine with something exchanged that is no figure: what its mapper lists under `name`, for `value`.
    ///
    /// # Errors
    /// [`MachineError::Option`] for what its mapper does not list, and as the mapper has it.
    pub fn exchanged(&self, name: &str, value: &str) -> Result<Self, MachineError> {
        check_against(self.mapper.exchanges(), self, &Given::from([(name.to_owned(), value.to_owned())]))?;
        Ok(Self { description: self.mapper.exchanged(self, name, value)?, mapper: self.mapper })
    }
}
