//! Builds and simulates RTL units with Verilator: feeds one word per cycle, and returns the outputs with their cycles.
//!
//! Each unit has a folder: its SystemVerilog source with a latency function, a `bench.sv` that connects its ports to one input bus and one output bus, a README, and tests that compare it with the kernels and its latency with the machine model's.

mod bits;
mod build;
mod simulation;

pub use bits::{Bits, Reader};
pub use build::{Bench, BuildError};
pub use simulation::{Output, Simulation, SimulationError};
