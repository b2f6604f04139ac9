//! Strix: streaming cores with two-level ciphertext batching.
//!
//! From a kernel program to a schedule in four steps: [`crate::torus::workload`] reads what the program asks for,
//! [`software`] cuts it into epochs and writes their tasks, [`hardware`] dispatches them with the steps of the PBS and the
//! key-switch clusters ([`cluster`], [`streams`]), and what results becomes the engine's schedule.

pub mod cluster;
pub mod contract;
pub(crate) mod emit;
pub mod fragmentation;
pub mod hardware;
pub mod layout;
pub mod machine;
mod meaning;
pub mod networks;
pub mod replay;
pub mod reproduce;
pub mod software;
pub mod specs;
pub mod streams;

#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

use crate::engine::schedule::Schedule;
use hardware::Timeline;
use machine::Strix;
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
    pub(crate) chip: emit::resources::Chip,
}

/// Maps `program` onto `machine`.
///
/// # Errors
/// [`SoftwareError`] when the program's shape, its bodies or its sizes do not fit the machine.
pub fn map(machine: &Strix, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let tasks = software::schedule(machine, program)?;
    let timeline = hardware::run(machine, &program.parameters, &tasks);
    let (schedule, chip) = emit::emit(machine, program, &tasks, &timeline);
    Ok(Mapped { tasks, timeline, schedule, chip })
}
