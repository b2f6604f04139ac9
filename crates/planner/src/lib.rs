//! Plans programs before anything is encrypted: chooses the parameter set, the key switch, bootstraps and key storage, and predicts
//! errors, failure probability, memory and CPU time.
//!
//! A plan is for one program, on this computer or on a machine. Callers (the bindings, a server) make no decisions.

mod error;
mod measure;
mod memory;
pub mod rns;
pub mod tfhe;

pub use error::{Fault, PlanError};
pub use measure::ClientSeconds;

/// Default log2 of the accepted failure probability, for every set and machine.
pub const DEFAULT_FAILURE_LOG2: f64 = -128.0;
