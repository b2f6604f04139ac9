//! The interpreter: a kernel program, operation by operation and primitive by primitive.
//!
//! Slow and obvious: the bodies of composite operations are carried out as they are written, through
//! [`Primitives`]. Whatever executes a kernel program otherwise is tested against it. The ciphertexts of a batch
//! run in parallel; the results do not depend on it.

mod primitives;
mod run;

pub use primitives::{Primitives, Spectrum};
pub use run::{BodyDatum, BodyPoint, Observer, Value, check_inputs, run, run_observed};
