//! Osiris (Ebel and Reagen): a systolic machine for CKKS.
//!
//! - [`units`]: the structure of each functional unit, its latency and its size.
//! - [`machine`]: the figures of a machine file, and the properties that follow.
//! - [`chip`]: the machine's resources in the engine.
//! - [`tasks`], [`layout`], [`schedule`]: a kernel program as tasks, as pipelines of units, and as a schedule.
//! - [`arithmetic`]: the units' results, for replays.
//! - [`flow`], [`room`]: dependences between tasks, and the allocation of the scratchpads.
//! - `limb_order`: the order of single limbs between two changes of modulus.
//! - [`steps`]: baby and giant steps of a matrix, chosen by schedules.
//! - [`labels`], [`contract`]: interfaces to the audit and to other crates.

pub mod arithmetic;
pub mod chip;
pub mod contract;
pub mod flow;
pub mod labels;
pub mod layout;
mod limb_order;
pub mod machine;
pub mod room;
pub mod schedule;
pub mod steps;
pub mod tasks;
#[cfg(test)]
mod tests;
pub mod units;
