//! A machine for tests, and its lowering.

use super::contract::MAPPER;
use super::machine::Pipeline;
use super::streams::accumulation;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::Parameters;

/// The first built-in machine with streaming cores.
pub fn machine() -> Pipeline {
    let machines = crate::descriptions().expect("every file is right");
    let own = machines.iter().find(|machine| machine.mapper() == MAPPER.name).expect("a machine of the mapper");
    Pipeline::new(own).expect("its figures fit")
}

/// The lowering for `machine`, with exact products.
pub fn lowering(machine: &Pipeline, parameters: &Parameters) -> TfheLowering {
    let mut choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::ExactInteger);
    let width = parameters.glwe_dimension().get() as u32 + 1;
    choice.accumulation = accumulation(machine, width, parameters.bootstrap_gadget().levels);
    choice
}
