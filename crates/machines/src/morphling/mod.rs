//! Morphling: 2D systolic arrays of vector processing elements with transform-domain reuse.
//!
//! From a kernel program to a schedule in four steps: [`workload`] reads what the program asks for, [`software`] writes the
//! DMA, XPU and VPU instruction streams, [`hardware`] dispatches them, and the event lists that result become the engine's
//! schedule. [`latency`] holds rate and latency of every unit.

pub mod array;
pub(crate) mod emit;
pub mod hardware;
pub mod instruction;
pub mod latency;
pub mod layout;
pub mod machine;
pub mod plan;
pub mod software;
pub mod workload;

#[cfg(test)]
mod test_support;
