//! The mapper `torus-pipeline`: streaming cores for TFHE, composed in a machine file.
//!
//! A core is a pipeline of stages (rotator, decomposer, forward transform, multipliers with an adder tree, inverse
//! transform, accumulator), a key-switch cluster, and a local scratchpad. Ciphertexts are batched on two levels (Strix,
//! section IV): a wave has one ciphertext per core, and all waves of a core share each multicast key. The file sets the
//! number of cores, the lanes of each stage, memories, buses and channels.
//!
//! From a kernel program to a schedule: [`crate::tfhe::workload`] extracts the program's work, and [`software`] splits
//! it into epochs and tasks. [`hardware`] dispatches the tasks with the steps of the PBS and key-switch clusters
//! ([`cluster`], [`streams`]). `emit` writes the events.

pub mod cluster;
pub mod contract;
pub(crate) mod emit;
pub mod hardware;
pub mod layout;
pub mod machine;
pub mod software;
pub mod streams;

#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

use crate::tfhe::labels::Labels;
use hardware::Timeline;
use machine::Pipeline;
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
    pub(crate) chip: emit::resources::Chip,
}

pub fn map(machine: &Pipeline, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let tasks = software::schedule(machine, program)?;
    let timeline = hardware::run(machine, &program.parameters, &tasks);
    let (schedule, labels, chip) = emit::emit(machine, program, &tasks, &timeline);
    Ok(Mapped { tasks, timeline, schedule, labels, chip })
}
