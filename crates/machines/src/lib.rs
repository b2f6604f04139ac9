//! Accelerators: description, mapping, schedule, checker, timing, energy, replay.
//!
//! [`description`] gives a machine by name, [`simulate`] times a kernel program on it, [`replay`] carries out the same
//! schedule on real ciphertexts.

pub mod engine;
pub mod f1;
mod findings;
pub mod key_switch;
mod machine;
pub mod morphling;
mod reproduce;
pub mod residue;
pub mod torus;

pub use findings::{Finding, TOO_COARSE_LOG2, findings};
pub use machine::{
    FILES, Family, MachineError, Replayed, arithmetic, choose, description, descriptions, instructions, names, parse,
    replay, report, schedule, simulate, specs,
};
pub use reproduce::{Kind, Prediction, ReproduceError, Row, reproduce};
