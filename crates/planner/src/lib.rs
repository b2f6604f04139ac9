//! What a program is executed with, decided before anything is encrypted: the parameter set, the key switch, where bootstraps stand, how keys are
//! kept; and what is known of it then: errors, failure probability, memory, and what a run takes of processors.
//!
//! A plan is for this computer or for a machine, and for one program; whoever asks (the bindings, a server) decides nothing.

pub mod elements;
mod error;
mod measure;
mod memory;
pub mod slots;

pub use error::{Fault, PlanError};
pub use measure::ClientSeconds;

/// log2 of the failure probability that a program may have, wherever it runs and whoever names the set, unless the user takes more.
pub const DEFAULT_FAILURE_LOG2: f64 = -128.0;
