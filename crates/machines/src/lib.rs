//! Accelerators: description, mapping, schedule, checker, timing, energy, replay.
//!
//! [`contract`] says what a machine is, [`registry`] has them by name; [`contract::torus::simulate`] and [`contract::residue::map`] time a kernel program,
//! and the replays carry out the same schedule on real ciphertexts.

mod activities;
pub mod audit;
pub mod contract;
pub mod engine;
pub mod f1;
mod findings;
pub mod fpt;
pub mod key_switch;
pub mod morphling;
pub mod osiris;
pub mod registry;
mod reproduce;
pub mod rns;
pub mod strix;
pub mod torus;
pub mod torus_pipeline;
mod trial;

pub use contract::{Family, MachineError};
pub use findings::{Finding, TOO_COARSE_LOG2, findings};
pub use registry::{choose, description, descriptions, family, names, parse};
pub use reproduce::{Basis, Kind, Prediction, Reading, ReproduceError, Row, reproduce};
pub use trial::{Trial, trial};
