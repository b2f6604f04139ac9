//! What a program is executed with, decided before anything is encrypted: the parameter set, the key switch, where bootstraps stand, how keys are
//! kept; and what is known of it then: errors, failure probability, memory.
//!
//! A plan is for this computer or for a machine, and for one program; whoever asks (the bindings, a server) decides nothing.

mod error;
pub mod slots;

pub use error::{Fault, PlanError};
