//! Error of every operation, and of whole programs.

mod model;
mod report;

pub use model::{DigitSize, Encryption, F64_ROUNDING, NoiseModel};
pub use report::{NodeReport, NoiseFailure, NoiseReport};
