//! Error of every operation, and of whole programs.

mod model;

pub use model::{DigitSize, NoiseModel};
