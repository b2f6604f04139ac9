//! The key-switch variant, chosen by cost among those whose error the program bears.

use super::{Lowered, LoweringError, RnsLowering, Target, lower};
use crate::rns::homomorphic::Program;
use crate::rns::kernel::Counts;
use crate::rns::noise::{NoiseFailure, NoiseReport};
use polyfabric_schemes::rns::GadgetLiteral;
use thiserror::Error;

/// Why no candidate can be chosen.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChoiceError {
    /// There is none.
    #[error("no key-switch gadget to choose from; give at least one")]
    NoCandidate,
    /// The program cannot be lowered with a candidate.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// None leaves the precision that was asked for; the failure of the most precise one.
    #[error("of {candidates} key-switch gadgets none is precise enough: {failure}")]
    Noise {
        /// How many were tried.
        candidates: usize,
        /// Why the most precise one fails.
        failure: NoiseFailure,
    },
}

/// What was chosen.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The choice, with its gadget.
    pub choice: RnsLowering,
    /// The program lowered with it.
    pub lowered: Lowered,
    /// Its cost.
    pub counts: Counts,
}

/// The candidate with which `program` takes the fewest transforms and products, among those with which every node keeps `bits` bits after
/// the binary point. A variant whose noise swamps the scale (whole-limb digits without special primes against a one-limb
/// scale) is never chosen, however cheap.
///
/// # Errors
/// [`ChoiceError`].
pub fn choose_gadget(
    program: &Program,
    target: &Target<'_>,
    candidates: &[GadgetLiteral],
    bits: f64,
) -> Result<Chosen, ChoiceError> {
    let mut best: Option<(u64, Chosen)> = None;
    let mut failed: Option<(f64, NoiseFailure)> = None;
    for gadget in candidates {
        let choice = RnsLowering { gadget: gadget.clone(), ..target.choice.clone() };
        let target = Target { choice: &choice, ..*target };
        let lowered = lower(program, &target)?;
        let report = NoiseReport::new(program, &lowered, target.chain, &target.model);
        if let Err(failure) = report.require(bits) {
            let worst = report.nodes.iter().map(|node| node.bound).fold(0.0, f64::max);
            if failed.as_ref().is_none_or(|(least, _)| worst < *least) {
                failed = Some((worst, failure));
            }
            continue;
        }
        let counts = lowered.kernel.counts().map_err(LoweringError::from)?;
        let cost = word_products(&counts, target.chain.degree().get());
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, Chosen { choice, lowered, counts }));
        }
    }
    match (best, failed) {
        (Some((_, chosen)), _) => Ok(chosen),
        (None, Some((_, failure))) => Err(ChoiceError::Noise { candidates: candidates.len(), failure }),
        (None, None) => Err(ChoiceError::NoCandidate),
    }
}

/// Products of words of a kernel program in a ring of `degree`, by limbs: log2(N)/2 of a transform, one of everything else that multiplies.
pub fn word_products(counts: &Counts, degree: usize) -> u64 {
    let ops = &counts.limb_ops;
    ops.ntts() * u64::from(degree.ilog2()) / 2 + ops.multiplies + ops.multiply_adds
}
