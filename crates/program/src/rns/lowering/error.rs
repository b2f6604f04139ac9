//! Why a program cannot be lowered.

use crate::rns::homomorphic::NodeId;
use crate::rns::kernel::KernelError;
use crate::rns::levels::LevelError;
use polyfabric_schemes::rns::LimbId;
use thiserror::Error;

/// Why an operation, or a program, cannot be lowered with a choice, for a chain of levels.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LoweringError {
    /// No level is left to rescale from.
    #[error("{op}: a rescaling from level 0; bootstrap the operand, or take parameters with more levels than {top}")]
    LevelExhausted {
        /// The operation.
        op: &'static str,
        /// Highest level of the chain.
        top: usize,
    },
    /// A level above the operand's, or above the chain.
    #[error("{op}: level {wanted} from level {level}; levels only fall without bootstrapping")]
    LevelRaised {
        /// The operation.
        op: &'static str,
        /// The level asked for.
        wanted: usize,
        /// The operand's.
        level: usize,
    },
    /// Operands at two levels, or of two scales.
    #[error(
        "{op}: operands at level {left_level} with scale {left_scale} and level {right_level} with scale {right_scale}; bring both to one level and one scale first, by rescaling or a product"
    )]
    Mismatch {
        /// The operation.
        op: &'static str,
        /// Level of the first.
        left_level: usize,
        /// Its scale.
        left_scale: String,
        /// Level of the other.
        right_level: usize,
        /// Its scale.
        right_scale: String,
    },
    /// An operation on a ciphertext of degree 2 that takes only degree 1.
    #[error("{op}: an operand of {parts} parts; relinearise it first")]
    NotLinear {
        /// The operation.
        op: &'static str,
        /// Parts of the operand.
        parts: usize,
    },
    /// The gadget does not cover a limb of Q.
    #[error("the key-switch gadget has no digit with limb {limb} of the chain; give every limb of Q a digit")]
    GadgetLimb {
        /// The limb.
        limb: LimbId,
    },
    /// Public values cannot be encoded at the scale.
    #[error("{op}: public values up to {magnitude:e} at scale {scale}: {problem}")]
    Encoding {
        /// The operation.
        op: &'static str,
        /// Largest absolute value.
        magnitude: f64,
        /// The scale.
        scale: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// No part of the lowering knows the operation.
    #[error("{op}: {problem}")]
    NotLowered {
        /// The operation.
        op: &'static str,
        /// Why, and what to do.
        problem: &'static str,
    },
    /// The set's bootstrapping cannot be of so many slots.
    #[error("bootstrap: of values that repeat after {slots} slots: {cause}")]
    Bootstrapping {
        /// Slots.
        slots: usize,
        /// Why, and what to do.
        cause: String,
    },
    /// The program does not fit the chain of levels.
    #[error(transparent)]
    Levels(#[from] LevelError),
    /// A node of a program that cannot be lowered.
    #[error("{place}{op} {node}: {cause}")]
    Node {
        /// "file:line: ", or nothing.
        place: String,
        /// The operation.
        op: &'static str,
        /// The node.
        node: NodeId,
        /// Why.
        cause: Box<LoweringError>,
    },
    /// An internal product of ring-GSW ciphertexts modulo Q·P.
    #[error(
        "internal product: the gadget has {special} special primes, for which it has no digits; take a gadget without special primes, such as digits of some bits"
    )]
    InternalProduct {
        /// Special primes.
        special: usize,
    },
    /// The kernel program is not consistent.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
