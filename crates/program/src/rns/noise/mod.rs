//! Noise of operations and of whole programs (CKKS), and failure probabilities.

mod failure;
mod fit;
mod model;
mod report;

pub use failure::{bgv_failure_log2, ckks_failure_log2};
pub use fit::{FitFailure, Interval, expect_inputs, expect_intervals};
pub use model::{DigitSize, Encryption, F64_ROUNDING, INTEGER_FAILURE_LOG2, NoiseModel, USUAL_FAILURE_LOG2};
pub use report::{NodeReport, NoiseFailure, NoiseReport};
