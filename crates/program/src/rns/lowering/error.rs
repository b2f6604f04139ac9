//! Errors of the CKKS lowering.

use crate::rns::homomorphic::NodeId;
use crate::rns::kernel::KernelError;
use crate::rns::levels::LevelError;
use polyfabric_schemes::rns::LimbId;
use thiserror::Error;

/// Why an operation or a program cannot be lowered.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LoweringError {
    #[error("{op}: a rescaling from level 0; bootstrap the operand, or take parameters with more levels than {top}")]
    LevelExhausted { op: &'static str, top: usize },
    #[error("{op}: level {wanted} from level {level}; levels only fall without bootstrapping")]
    LevelRaised { op: &'static str, wanted: usize, level: usize },
    #[error(
        "{op}: operands at level {left_level} with scale {left_scale} and level {right_level} with scale {right_scale}; bring both to one level and one scale first, by rescaling or a product"
    )]
    Mismatch { op: &'static str, left_level: usize, left_scale: String, right_level: usize, right_scale: String },
    #[error("{op}: an operand of {parts} parts; relinearise it first")]
    NotLinear { op: &'static str, parts: usize },
    #[error("the key-switch gadget has no digit with limb {limb} of the chain; give every limb of Q a digit")]
    GadgetLimb { limb: LimbId },
    #[error("{op}: public values up to {magnitude:e} at scale {scale}: {problem}")]
    Encoding { op: &'static str, magnitude: f64, scale: String, problem: String },
    #[error("{op}: {problem}")]
    NotLowered { op: &'static str, problem: &'static str },
    #[error("lookup with {entries} integers: {problem}")]
    Table { entries: usize, problem: String },
    #[error("bootstrap of values that repeat every {slots} slots: {cause}")]
    Bootstrapping { slots: usize, cause: String },
    #[error(transparent)]
    Levels(#[from] LevelError),
    #[error("{place}{op} {node}: {cause}")]
    Node {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        cause: Box<LoweringError>,
    },
    #[error(
        "internal product: the gadget has {special} special primes, for which it has no digits; take a gadget without special primes, such as digits of some bits"
    )]
    InternalProduct { special: usize },
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
