//! Execution of RNS kernel programs.
//!
//! [`interpreter`] executes every operation by its meaning, composite ones by their bodies, slowly.
//! [`cpu::Executor`] gives the same words: all of it is exact arithmetic.

mod bind;
pub mod cpu;
mod error;
pub mod interpreter;
mod storage;

pub use error::RunError;
pub use storage::key_storage;

#[cfg(test)]
mod tests;
