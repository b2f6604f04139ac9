//! Why a BGV program cannot be lowered.

use crate::Location;
use crate::rns::homomorphic::NodeId;
use crate::rns::levels::ChainError;
use crate::rns::lowering::LoweringError;
use polyfabric_schemes::bgv::EncodingError;
use thiserror::Error;

/// Why a BGV program, or an operation of one, cannot be lowered.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BgvError {
    /// The program, or the chain of moduli, is of another scheme.
    #[error("the program or the chain of moduli is of another scheme; write and lower it for BGV")]
    NotBgv,
    /// Program and parameters have different t.
    #[error(
        "the program computes modulo {program}, the parameters modulo {parameters}; take one plaintext modulus for both"
    )]
    PlaintextModulus {
        /// t of the program.
        program: u64,
        /// t of the parameters.
        parameters: u64,
    },
    /// More slots than the ring has.
    #[error("{slots} slots, but ring degree {degree} has as many as its degree; take fewer slots or a larger ring")]
    Slots {
        /// Slots of the program.
        slots: usize,
        /// N.
        degree: usize,
    },
    /// Decryption would not be sure.
    #[error(
        "{op}: noise up to 2^{bound:.1} under a modulus of 2^{modulus:.1} ({limbs} limbs): the result might not decrypt; {remedy}"
    )]
    Noise {
        /// The operation.
        op: &'static str,
        /// log2 of the bound.
        bound: f64,
        /// log2 of the modulus.
        modulus: f64,
        /// Limbs.
        limbs: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// An input over more limbs than the parameters have.
    #[error("input: L={wanted} limbs, level {}, and the parameters have {limbs}; lower L, or take parameters with as many limbs", .wanted - 1)]
    Limbs {
        /// The limbs asked for.
        wanted: usize,
        /// What there are.
        limbs: usize,
    },
    /// Too much noise to be bootstrapped.
    #[error(
        "bootstrap: the operand's noise leaves {deviations:.1} standard deviations of the rounding error on either side of a message, and {least} are needed; bootstrap after fewer operations, or take parameters with larger limbs"
    )]
    Margin {
        /// What is left.
        deviations: f64,
        /// What is needed.
        least: f64,
    },
    /// Correction factors that have no common multiple: t has a factor with a modulus in common.
    #[error(
        "{op}: correction factors that do not come together modulo {t}; take moduli that are prime to the plaintext modulus"
    )]
    Factor {
        /// The operation.
        op: &'static str,
        /// t.
        t: u64,
    },
    /// An operation that BGV programs do not have.
    #[error("{op} is not an operation of BGV with these parameters; {remedy}")]
    Unsupported {
        /// The operation.
        op: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A level that the operand does not have.
    #[error("{op}: level {wanted} is not below the operand's level {level}; levels only fall")]
    Level {
        /// The operation.
        op: &'static str,
        /// The level asked for.
        wanted: usize,
        /// The operand's.
        level: usize,
    },
    /// The plaintext modulus does not suit.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// The moduli make no chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Another cause.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// A cause with its place.
    #[error("{}node {node}: {source}", location.as_ref().map_or(String::new(), |location| format!("{location}: ")))]
    At {
        /// The node.
        node: NodeId,
        /// Where it was written.
        location: Option<Location>,
        /// The cause.
        source: Box<BgvError>,
    },
}

/// What to do against too much noise.
pub(super) const LESS_NOISE: &str =
    "take parameters with more or larger limbs, a smaller plaintext modulus, or fewer products in a row";

/// The same where inputs are over fewer limbs than the parameters have.
const MORE_LIMBS: &str = "raise L, the limbs of an input, or take parameters with larger limbs, a smaller plaintext modulus, or fewer products in a row";

impl BgvError {
    /// Of a program with an input over fewer limbs than the parameters have.
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
