//! What can be wrong with a homomorphic program while it is built.

use super::NodeId;
use crate::location::place;
use crate::{Location, NoRoom};
use std::fmt;
use thiserror::Error;

/// A refused step of building a program: the cause, and where the author wrote it.
#[derive(Clone, Debug, PartialEq, Error)]
pub struct ProgramError {
    /// The cause.
    #[source]
    pub cause: ProgramErrorCause,
    /// Where the refused operation was written.
    pub location: Option<Location>,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", place(self.location.as_ref()), self.cause)
    }
}

/// The cause of a [`ProgramError`].
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProgramErrorCause {
    /// The number of slots is no power of two in range.
    #[error(
        "{slots} slots: a program has a power of two of slots, {least} to the {limit} of the largest ring; pad the vectors to the next power, or split them"
    )]
    Slots {
        /// Slots asked for.
        slots: usize,
        /// Fewest.
        least: usize,
        /// Most.
        limit: usize,
    },
    /// The slots after which a bootstrapped value repeats.
    #[error(
        "bootstrap: a value that repeats after {slots} slots; give a power of two up to the {limit} slots of a program of CKKS"
    )]
    Period {
        /// Slots given.
        slots: usize,
        /// Most: none with BGV.
        limit: usize,
    },
    /// The plaintext modulus cannot pack slots.
    #[error(
        "plaintext modulus {modulus}: one is a power of two, for one number a ciphertext, or a prime t ≡ 1 mod 2N, whose slots hold a vector, and below 2^60; {near}",
        near = polyfabric_schemes::bgv::moduli_near(*modulus)
    )]
    PlaintextModulus {
        /// As given.
        modulus: u64,
    },
    /// A vector, or an operation on slots, modulo a power of two.
    #[error(
        "{what}: modulo a power of two a ciphertext holds one number, in its constant coefficient, and has no slots; write one value for each number, or take a prime t ≡ 1 mod 2N"
    )]
    NonPacked {
        /// What was asked for.
        what: &'static str,
    },
    /// A public vector has the wrong length.
    #[error("{op}: {found} public values, but a vector has {slots} slots; give {slots} values, or one for all slots")]
    Length {
        /// The operation.
        op: &'static str,
        /// Values given.
        found: usize,
        /// Slots of the program.
        slots: usize,
    },
    /// A public value is not of the scheme's kind, or not finite.
    #[error("{op}: the public value at index {index} {problem}")]
    Value {
        /// The operation.
        op: &'static str,
        /// Where it stands.
        index: usize,
        /// What is wrong with it, and what to do.
        problem: &'static str,
    },
    /// A product with a public vector that uses no level cannot have these bits.
    #[error("mul_plain_scaled with {bits} bits: {problem}")]
    Factor {
        /// Bits after the point.
        bits: u32,
        /// What is wrong with it, and what to do.
        problem: &'static str,
    },
    /// A public vector where an encrypted one is needed, or the reverse.
    #[error("{op}: operand {operand} is {found}, but {expected} is needed; {remedy}")]
    Kind {
        /// The operation.
        op: &'static str,
        /// The operand.
        operand: NodeId,
        /// "public" or "encrypted".
        found: &'static str,
        /// What the operation takes.
        expected: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The operation does not exist in the scheme.
    #[error("{op}: {scheme} has no such operation; {remedy}")]
    NotInScheme {
        /// The operation.
        op: &'static str,
        /// The scheme.
        scheme: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A polynomial is constant or its interval is empty.
    #[error("polynomial: {problem}")]
    Polynomial {
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// A polynomial of a higher degree than can be planned.
    #[error("polynomial: degree {degree}; it is at most {most}, so compose polynomials of lower degrees")]
    Degree {
        /// As given.
        degree: usize,
        /// The highest.
        most: usize,
    },
    /// An input's bound is no bound.
    #[error("input: slots up to {magnitude} in absolute value; give a positive, finite bound")]
    Magnitude {
        /// As given.
        magnitude: f64,
    },
    /// A matrix without diagonals.
    #[error("linear_transform: the matrix has no diagonal; give at least one")]
    NoDiagonal,
    /// A name is used twice, or cannot be written.
    #[error("the {what} name {name:?} {problem}; choose another")]
    Name {
        /// "input", "output" or "program".
        what: &'static str,
        /// The name.
        name: String,
        /// Why it is refused.
        problem: &'static str,
    },
    /// An operand is not a node of this program.
    #[error("{op}: operand {operand} is not defined before this operation; use a node of this program")]
    UnknownNode {
        /// The operation.
        op: &'static str,
        /// The node.
        operand: NodeId,
    },
    /// An operation got the wrong number of operands.
    #[error("{op}: {found} operands, but {expected} are needed; correct the operand list")]
    OperandCount {
        /// The operation.
        op: &'static str,
        /// Operands given.
        found: usize,
        /// Operands needed.
        expected: usize,
    },
    /// An output is no value.
    #[error("{op}: operand {operand} is an output; use the value that it gives back")]
    OutputRead {
        /// The operation.
        op: &'static str,
        /// The output.
        operand: NodeId,
    },
    /// The program has no output.
    #[error("the program {name:?} has no output; return at least one value")]
    NoOutput {
        /// Name of the program.
        name: String,
    },
    /// More nodes than the program can index.
    #[error("the program exceeds {limit} nodes; use vector operations instead of one node an element")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// More memory than the program may take.
    #[error("the program takes {room}; write fewer or shorter vectors, or split it into several programs")]
    Memory {
        /// How much, and how much it may take.
        room: NoRoom,
    },
}
