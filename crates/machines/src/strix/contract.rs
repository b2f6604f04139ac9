//! Strix under the contract of a machine.

use super::reproduce;
use crate::contract::{Described, Machine};
use crate::reproduce::prediction::{Prediction, ReproduceError};
use polyfabric_runtime::Progress;

/// The machine of the paper.
pub static MACHINE: Strix = Strix;

/// See [`MACHINE`].
pub struct Strix;

impl Machine for Strix {
    fn name(&self) -> &'static str {
        "strix"
    }

    fn file(&self) -> &'static str {
        include_str!("../../../../machines/strix.toml")
    }

    fn published(&self) -> &'static str {
        reproduce::PUBLISHED
    }

    fn predictions(&self, machine: &Described, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
        reproduce::predictions(machine, progress)
    }
}
