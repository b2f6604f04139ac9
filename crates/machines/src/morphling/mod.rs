//! Morphling: 2D systolic arrays of vector processing elements with transform-domain reuse.
//!
//! From a kernel program to a schedule in four steps: [`crate::torus::workload`] reads what the program asks for,
//! [`software`] writes the DMA, XPU and VPU instruction streams, [`hardware`] dispatches them, and the event lists that
//! result become the engine's schedule. [`crate::torus::pipeline`] and [`latency`] hold the latency of every unit.

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
pub mod reproduce;
pub mod rotator;
pub mod software;
pub mod specs;

#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

use crate::engine::schedule::{Schedule, ScheduleBuilder};
use crate::torus::labels::{Labeler, Labels};
use emit::places::Places;
use emit::resources::Chip;
use hardware::Timeline;
use machine::Morphling;
use polyfabric_program::tfhe::kernel::KernelProgram;
use software::{SoftwareError, Streams};

/// A program on the chip.
pub struct Mapped {
    /// Its instruction streams.
    pub streams: Streams,
    /// When they ran.
    pub timeline: Timeline,
    /// Every event.
    pub schedule: Schedule,
    /// The meaning of its values.
    pub labels: Labels,
}

/// Maps `program` onto `machine`.
///
/// # Errors
/// [`SoftwareError`] when the program's shape, its bodies or its sizes do not fit the machine.
pub fn map(machine: &Morphling, program: &KernelProgram) -> Result<Mapped, SoftwareError> {
    let mut streams = software::schedule(machine, program)?;
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &machine.steps(&streams.layout.sizes));
    let places = Places { machine, program, streams: &streams, chip, labels: Labeler::default() };
    let timeline = hardware::run(&places);
    let Places { chip, labels, .. } = places;
    // A tenth of a large network's memory, and nobody asks again.
    streams.waits = software::Waits::default();
    let places = Places { machine, program, streams: &streams, chip, labels };
    let schedule = emit::emit(&places, &timeline, builder);
    let labels = places.labels.finish();
    Ok(Mapped { streams, timeline, schedule, labels })
}
