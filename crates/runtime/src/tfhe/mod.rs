//! Execution of TFHE kernel programs: a batched CPU runtime and an operation-by-operation interpreter.

pub mod cpu;
pub mod error;
pub mod interpreter;
pub(crate) mod operations;
mod phases;

pub use error::RunError;
