//! Execution of TFHE kernel programs: a batched CPU runtime and an operation-by-operation interpreter.

pub(crate) mod circuit;
pub mod cpu;
pub mod error;
pub mod interpreter;
pub(crate) mod operations;
mod phases;

pub use circuit::Ggsw;
pub use error::RunError;
