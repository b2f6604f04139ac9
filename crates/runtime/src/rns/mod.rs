//! Execution of RNS kernel programs.
//!
//! [`interpreter`] executes every operation literally and composite ones by their bodies; it is slow. [`cpu::Executor`] and [`crate::gpu::rns::Executor`] give the same words,
//! because all arithmetic is exact.

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
