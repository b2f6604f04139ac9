//! Morphling: 2D systolic arrays of vector processing elements with transform-domain reuse.
//!
//! From a kernel program to a schedule: [`crate::tfhe::workload`] extracts the program's work, [`software`] writes the
//! DMA, XPU and VPU instruction streams, [`hardware`] dispatches them, and `emit` writes the events.
//! [`crate::tfhe::pipeline`] and [`latency`] define the latency of every unit.

pub mod array;
pub(crate) mod banks;
pub mod channels;
pub mod contract;
pub(crate) mod emit;
pub mod hardware;
pub mod instruction;
pub mod latency;
pub mod layout;
pub mod machine;
pub mod rotator;
pub mod software;

#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

use crate::tfhe::labels::{Labeler, Labels};
use emit::places::Places;
use emit::resources::Chip;
use hardware::Timeline;
use machine::Morphling;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_sim::schedule::{Schedule, ScheduleBuilder};
use software::{SoftwareError, Streams};

/// A program mapped to the chip.
pub struct Mapped {
    pub streams: Streams,
    pub timeline: Timeline,
    pub schedule: Schedule,
    /// The meaning of each value in the schedule.
    pub labels: Labels,
}

pub fn map(machine: &Morphling, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let mut streams = software::schedule(machine, program)?;
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &machine.steps(&streams.layout.sizes));
    let places = Places { machine, program, streams: &streams, chip, labels: Labeler::default() };
    let timeline = hardware::run(&places);
    let Places { chip, labels, .. } = places;
    // No longer needed, and a tenth of a large network's memory.
    streams.waits = software::Waits::default();
    let places = Places { machine, program, streams: &streams, chip, labels };
    let schedule = emit::emit(&places, &timeline, builder);
    let labels = places.labels.finish();
    Ok(Mapped { streams, timeline, schedule, labels })
}
