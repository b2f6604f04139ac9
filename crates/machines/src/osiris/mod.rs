//! Osiris (Ebel and Reagen): a systolic machine for CKKS.
//!
//! - [`units`]: what each functional unit does to a stream of tiles, element by element and cycle by cycle.
//! - [`tiling`]: in which order the tiles of several limbs pass a port: limb interleaving, and the naive order.
//! - [`mod_change`]: inverse transform, base conversion and transform as one stream, in both orders.
//! - [`machine`]: the figures of a machine file, and what follows from them.
//! - [`chip`]: the same under the engine's names.
//! - [`tasks`], [`layout`], [`schedule`], [`replay`]: a kernel program as work, as pipelines of units, as a schedule of the engine, and on real
//!   ciphertexts.
//! - [`flow`], [`room`]: what the schedule goes by, and the places of limbs.
//! - [`steps`]: baby and giant steps of a matrix, weighed by schedules.
//! - [`rounds`]: bodies of programs that repeat.
//! - [`meaning`], [`contract`], [`reproduce`]: the schedule's names for the audit, the machine among the others, the paper's tables.

pub mod chip;
pub mod contract;
pub mod flow;
pub mod layout;
pub mod machine;
pub mod meaning;
pub mod mod_change;
pub mod replay;
pub mod reproduce;
pub mod room;
pub mod rounds;
pub mod schedule;
pub mod steps;
pub mod tasks;
#[cfg(test)]
mod tests;
pub mod tiling;
pub mod units;
