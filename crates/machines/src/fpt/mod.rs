//! FPT: one streaming CMUX pipeline, in fixed point.
//!
//! From a kernel program to a schedule: [`crate::tfhe::workload`] extracts the program's work, [`machine`] computes
//! the pipeline for its parameter set, [`software`] splits the work into batches and tasks, [`hardware`] dispatches the
//! tasks, and `emit` writes every event of the rigid pipeline, which never stalls. FPT leaves modulus switches, key
//! switches and linear layers to its host; the machine file describes this host.

pub mod contract;
pub(crate) mod emit;
pub mod hardware;
pub mod machine;
pub mod software;

#[cfg(test)]
mod tests;

use crate::tfhe::labels::Labels;
use hardware::Timeline;
use machine::Fpt;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_sim::schedule::Schedule;
use software::{SoftwareError, Tasks};

/// A program mapped to the chip.
pub struct Mapped {
    pub tasks: Tasks,
    pub timeline: Timeline,
    pub schedule: Schedule,
    /// The meaning of each value in the schedule.
    pub labels: Labels,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests ask for its units"))]
    pub(crate) chip: emit::chip::Chip,
}

pub fn map(machine: &Fpt, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let tasks = software::schedule(machine, program)?;
    let timeline = hardware::run(machine, &tasks);
    let (schedule, labels, chip) = emit::emit(machine, program, &tasks, &timeline);
    Ok(Mapped { tasks, timeline, schedule, labels, chip })
}
