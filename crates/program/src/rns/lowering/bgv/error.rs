//! Errors of the BGV lowering.

use crate::Location;
use crate::rns::homomorphic::NodeId;
use crate::rns::levels::ChainError;
use crate::rns::lowering::LoweringError;
use polyfabric_schemes::bgv::EncodingError;
use thiserror::Error;

/// Why a BGV program or operation cannot be lowered.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BgvError {
    #[error("the program or the chain of moduli is of another scheme; write and lower it for BGV")]
    NotBgv,
    #[error(
        "the program computes modulo {program}, the parameters modulo {parameters}; take one plaintext modulus for both"
    )]
    PlaintextModulus { program: u64, parameters: u64 },
    #[error("{slots} slots, but the ring has {degree}; take fewer slots or a larger ring")]
    Slots {
        slots: usize,
        /// N.
        degree: usize,
    },
    #[error(
        "{op}: noise up to 2^{bound:.1} under a modulus of 2^{modulus:.1} ({limbs} limbs): the result might not decrypt; {remedy}"
    )]
    Noise {
        op: &'static str,
        /// log2 of the bound.
        bound: f64,
        /// log2 of the modulus.
        modulus: f64,
        limbs: usize,
        remedy: &'static str,
    },
    #[error("input: L={wanted} limbs, level {}, but the parameters have {limbs}; lower L, or take parameters with more limbs", .wanted - 1)]
    Limbs { wanted: usize, limbs: usize },
    #[error(
        "bootstrap: the operand's noise leaves a margin of {deviations:.1} standard deviations of the rounding error, but {least} are needed; bootstrap after fewer operations, or take parameters with larger limbs"
    )]
    Margin { deviations: f64, least: f64 },
    #[error(
        "{op}: no correction factor is common to the operands modulo {t}; take moduli coprime to the plaintext modulus"
    )]
    Factor { op: &'static str, t: u64 },
    #[error("{op} is not an operation of BGV with these parameters; {remedy}")]
    Unsupported { op: &'static str, remedy: &'static str },
    #[error("{op}: level {wanted} is not below the operand's level {level}; levels only fall")]
    Level { op: &'static str, wanted: usize, level: usize },
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    #[error("{}node {node}: {source}", location.as_ref().map_or(String::new(), |location| format!("{location}: ")))]
    At { node: NodeId, location: Option<Location>, source: Box<BgvError> },
}

/// Remedy for too much noise.
pub(super) const LESS_NOISE: &str =
    "take parameters with more or larger limbs, a smaller plaintext modulus, or fewer products in a row";

/// Remedy if inputs have fewer limbs than the parameters.
const MORE_LIMBS: &str = "raise L, the limbs of an input, or take parameters with larger limbs, a smaller plaintext modulus, or fewer products in a row";

impl BgvError {
    /// Adapts the remedy if an input has fewer limbs than the parameters.
    #[must_use]
    pub(super) fn below_the_top(self) -> Self {
        match self {
            Self::Noise { op, bound, modulus, limbs, .. } => {
                Self::Noise { op, bound, modulus, limbs, remedy: MORE_LIMBS }
            }
            other => other,
        }
    }
}

impl From<crate::rns::kernel::KernelError> for BgvError {
    fn from(error: crate::rns::kernel::KernelError) -> Self {
        Self::Lowering(error.into())
    }
}
