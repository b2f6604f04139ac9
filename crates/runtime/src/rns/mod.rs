//! Execution of RNS kernel programs.
//!
//! [`interpreter`] executes every operation by its meaning, composite ones by their bodies, slowly.
//! [`cpu::Executor`] and [`crate::gpu::rns::Executor`] give the same words: all of it is exact arithmetic.

pub(crate) mod bind;
pub mod cpu;
mod error;
pub mod interpreter;
pub(crate) mod steps;
mod storage;

pub use error::RunError;
pub use storage::key_storage;

#[cfg(test)]
pub(crate) mod tests;
