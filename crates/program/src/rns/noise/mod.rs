//! Error of every operation, and of whole programs.

mod model;
mod report;

pub use model::{DigitSize, NoiseModel};
pub use report::{NodeReport, NoiseFailure, NoiseReport};
