//! Accelerators: description, mapping, schedule, checker, timing, energy, replay.

pub mod engine;
pub mod morphling;
