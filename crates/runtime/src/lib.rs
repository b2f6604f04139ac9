//! Executes kernel programs of each family of schemes: a fast runtime, and a slow interpreter as the reference for all tests.

pub mod gpu;
mod gpu_error;
pub mod progress;
pub mod rns;
pub mod tfhe;

pub use progress::{NoProgress, Progress};
