//! The machine for the tests of this folder, and programs as it wants them.

use super::machine::Strix;
use super::streams::accumulation;
use crate::engine::description::Description;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::Parameters;

pub fn description() -> Description {
    crate::description("strix").expect("the built-in file is right")
}

pub fn machine() -> Strix {
    Strix::new(&description()).expect("its figures fit")
}

/// How `machine` wants programs of `parameters`, with exact products.
pub fn lowering(machine: &Strix, parameters: &Parameters) -> TfheLowering {
    let mut choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::ExactInteger);
    let width = parameters.glwe_dimension().get() as u32 + 1;
    choice.accumulation = accumulation(machine, width, parameters.bootstrap_gadget().levels);
    choice
}
