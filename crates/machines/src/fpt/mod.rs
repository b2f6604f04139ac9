//! FPT: one streaming CMUX pipeline, in fixed point.
//!
//! From a kernel program to a schedule: [`crate::torus::workload`] reads what the program asks for, [`machine`] builds the pipeline for
//! its parameter set, [`software`] cuts the work into batches and writes their tasks, [`hardware`] dispatches them, and `emit` writes
//! every event of the rigid pipeline, which never waits. What FPT leaves to its host (modulus switch, key switch, linear layers) is
//! done by a host whose figures are the machine file's.

pub mod contract;
pub(crate) mod emit;
pub mod hardware;
pub mod machine;
pub mod reproduce;
pub mod resources;
pub mod software;
pub mod specs;

#[cfg(test)]
mod tests;

use crate::engine::schedule::Schedule;
use crate::torus::labels::Labels;
use hardware::Timeline;
use machine::Fpt;
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
    pub(crate) chip: emit::chip::Chip,
}

/// Maps `program` onto `machine`.
///
/// # Errors
/// [`SoftwareError`] when the program's shape, its bodies or its sizes do not fit the machine.
pub fn map(machine: &Fpt, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let tasks = software::schedule(machine, program)?;
    let timeline = hardware::run(machine, &tasks);
    let (schedule, labels, chip) = emit::emit(machine, program, &tasks, &timeline);
    Ok(Mapped { tasks, timeline, schedule, labels, chip })
}
