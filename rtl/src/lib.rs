//! Units as RTL, simulated: builds a unit with Verilator, feeds it a word a cycle, and says what came out in which cycle.
//!
//! Each unit has a folder: its SystemVerilog source with a latency function, a `bench.sv` that puts its ports on one bus in and one
//! bus out, a README, and tests that hold it equal to the kernels and its latency equal to the machine model's.

mod bits;
mod build;
mod simulation;

pub use bits::{Bits, Reader};
pub use build::{Bench, BuildError};
pub use simulation::{Output, Simulation, SimulationError};
