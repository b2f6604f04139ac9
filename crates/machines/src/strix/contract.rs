//! Strix under the contract of a machine.

use crate::contract::Machine;

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
}
