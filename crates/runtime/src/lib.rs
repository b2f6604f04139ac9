//! Execution of kernel programs: a batched CPU runtime and an operation-by-operation interpreter.

pub mod cpu;
pub mod error;
pub mod interpreter;
pub mod progress;

pub use error::RunError;
pub use progress::{NoProgress, Progress};
