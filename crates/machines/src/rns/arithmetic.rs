//! The arithmetic of a machine's units, for replays.

use super::step::Step;
use polyfabric_kernels::automorphism::GaloisElementError;
use polyfabric_kernels::ntt::NttError;
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, MissingKey};
use std::sync::Arc;

/// A vector of residues.
pub type Words = Arc<[u64]>;

/// The arithmetic of a machine's units.
pub trait Arithmetic {
    /// The results of `step` for the vectors that an event reads; a wrong schedule may pass any words. `None` if no unit does such a step.
    fn execute(&self, step: &Step, operands: &[Words]) -> Result<Option<Vec<Words>>, ReplayError>;

    /// Converts the program's residues to the units' representation, for off-chip memory.
    fn enter(&self, limb: LimbId, domain: Domain, residues: Words) -> Words;

    /// The inverse of [`Self::enter`].
    fn leave(&self, limb: LimbId, domain: Domain, words: Words) -> Words;
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Arithmetic(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Ntt(#[from] NttError),
    #[error(transparent)]
    Key(#[from] MissingKey),
    #[error(transparent)]
    Automorphism(#[from] GaloisElementError),
    #[error("{key} has no seed, but the machine generates masks from one: generate the keys again")]
    Seed { key: KeyId },
    #[error("a switching key has no limb {limb}; generate the keys for this program")]
    Hint { limb: usize },
    #[error("input {index} has no limb {limb} of the program's ring; pass the program's inputs in order")]
    Input { index: usize, limb: usize },
    #[error("cycle {cycle}: an event reads a place that does not hold its operand; check the schedule first")]
    Empty { cycle: i64 },
    #[error("cycle {cycle}: an event has no meaning; audit the schedule first")]
    Meaning { cycle: i64 },
    #[error("output {output} is not stored completely; audit the schedule first")]
    Lost { output: usize },
}
