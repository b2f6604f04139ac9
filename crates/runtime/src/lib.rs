//! Execution of kernel programs, for each family of schemes: a fast CPU runtime, and a slow interpreter, operation by
//! operation, against which everything else is tested.

pub mod gpu;
pub mod progress;
pub mod rns;
pub mod tfhe;

pub use progress::{NoProgress, Progress};
