//! Resolves each component's `activity` when the machine file is loaded, before any program is timed.

use crate::contract::options::Given;
use crate::contract::{Machine, MachineError, Target};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_schemes::tfhe::sets;
use polyfabric_sim::SimulationError;
use polyfabric_sim::energy::expect_activities;
use polyfabric_sim::schedule::Resources;

/// log2 of the ring degrees to try.
const RINGS: [u32; 7] = [10, 11, 12, 13, 14, 15, 16];

/// Checks that every `activity` of the components exists for some parameter set or ring that `machine` supports. If unknown figures leave
/// no resources to compare with, the check passes.
pub fn expect(machine: &Machine) -> Result<(), MachineError> {
    if machine.components().iter().all(|part| part.activity.is_empty()) {
        return Ok(());
    }
    let found: Box<dyn Iterator<Item = Resources>> = match machine.target() {
        Target::Tfhe(mapper) => {
            Box::new(sets::all().filter_map(move |(_, parameters)| mapper.resources(parameters).ok()))
        }
        Target::Rns(mapper) => Box::new(RINGS.into_iter().filter_map(move |log2_degree| {
            let shape = Shape { log2_degree, limbs: 1, special: 0, ciphertexts: 1, rounds: 1 };
            mapper.resources(&build(Operation::Ntt, shape).ok()?, &Given::new()).ok()
        })),
    };
    let mut first = None;
    for resources in found {
        match expect_activities(machine, &resources) {
            Ok(()) => return Ok(()),
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or(Ok(()), |error| Err(SimulationError::from(error).into()))
}
