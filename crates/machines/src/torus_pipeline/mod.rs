//! The mapper `torus-pipeline`: streaming cores for TFHE, composed in a machine file.
//!
//! A core is a pipeline of stages (rotator, decomposer, forward transform, multipliers with an adder tree, inverse transform,
//! accumulator), a key-switch cluster, and a local scratchpad. Ciphertexts are batched on two levels (Strix, section IV): one of every core
//! is a wave, and the waves of a core share what is multicast of the keys. Cores, lanes of every stage, memories, buses and channels are the
//! file's.
//!
//! From a kernel program to a schedule in four steps: [`crate::torus::workload`] reads what the program asks for,
//! [`software`] cuts it into epochs and writes their tasks, [`hardware`] dispatches them with the steps of the PBS and the
//! key-switch clusters ([`cluster`], [`streams`]), and what results becomes the engine's schedule.

pub mod cluster;
pub mod contract;
pub(crate) mod emit;
pub mod hardware;
pub mod layout;
pub mod machine;
pub mod software;
pub mod specs;
pub mod streams;

#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

use crate::engine::schedule::Schedule;
use crate::torus::labels::Labels;
use hardware::Timeline;
use machine::Pipeline;
use polyfabric_program::tfhe::kernel::KernelProgram;
use software::{SoftwareError, Tasks};

/// A program on the chip.
pub struct Mapped {
    /// Its tasks.
    pub tasks: Tasks,
    /// When they ran.
    pub timeline: Timeline,
    /// Every event.
    pub schedule: Schedule,
    /// The meaning of its values.
    pub labels: Labels,
    pub(crate) chip: emit::resources::Chip,
}

/// Maps `program` onto `machine`.
///
/// # Errors
/// [`SoftwareError`] when the program's shape, its bodies or its sizes do not fit the machine.
pub fn map(machine: &Pipeline, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let tasks = software::schedule(machine, program)?;
    let timeline = hardware::run(machine, &program.parameters, &tasks);
    let (schedule, labels, chip) = emit::emit(machine, program, &tasks, &timeline);
    Ok(Mapped { tasks, timeline, schedule, labels, chip })
}
