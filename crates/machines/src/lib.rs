//! Accelerators: mapping to the schedules of [`polyfabric_sim`], audit, replay.
//!
//! [`contract`] says what a machine is, [`registry`] has them by name, each [`Machine`] with its mapper; [`contract::tfhe::simulate`] and
//! [`contract::rns::map`] time a kernel program, and the replays carry out the same schedule on real ciphertexts.

// Names and types say what most items are; a comment says what they do not.
#![allow(missing_docs)]

mod activities;
pub mod audit;
pub mod contract;
mod declared;
pub mod f1;
mod findings;
pub mod fpt;
pub mod key_switch;
pub mod morphling;
pub mod osiris;
pub mod registry;
pub mod rns;
pub mod strix;
pub mod tfhe;
pub mod torus_pipeline;
mod trial;

pub use contract::{Family, Machine, MachineError};
pub use findings::{Finding, TOO_COARSE_LOG2, findings};
pub use registry::{description, descriptions, names, parse};
pub use trial::{Trial, trial};
