//! Errors of building a homomorphic program.

use super::NodeId;
use crate::{Located, MemoryExceeded};
use thiserror::Error;

/// An error while building a program, and the source location of the operation.
pub type ProgramError = Located<ProgramErrorCause>;

/// The cause of a [`ProgramError`].
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProgramErrorCause {
    #[error(
        "{slots} slots: the number of slots is a power of two from {least} to {limit}; pad the vectors to the next power, or split them"
    )]
    Slots { slots: usize, least: usize, limit: usize },
    #[error("a batch of {batch} inputs, but {slots} slots hold 1 to {most}")]
    Batch { batch: usize, slots: usize, most: usize },
    #[error(
        "bootstrap: the operand cannot repeat every {slots} slots; give a power of two up to the program's {limit} slots (CKKS only)"
    )]
    Period { slots: usize, limit: usize },
    #[error(
        "plaintext modulus {modulus}: it must be below 2^60, and a prime t ≡ 1 mod 2N for vectors or a power of two for one number per ciphertext; {near}",
        near = polyfabric_schemes::bgv::moduli_near(*modulus)
    )]
    PlaintextModulus { modulus: u64 },
    #[error(
        "{what}: modulo a power of two, a ciphertext encrypts one number in its constant coefficient and has no slots; write one value for each number, or use a prime t ≡ 1 mod 2N"
    )]
    NonPacked { what: &'static str },
    #[error("{op}: {found} public values, but a vector has {slots} slots; give {slots} values, or one for all slots")]
    Length { op: &'static str, found: usize, slots: usize },
    #[error("{op}: the public value at index {index} {problem}")]
    Value { op: &'static str, index: usize, problem: &'static str },
    #[error("mul_plain_scaled with {bits} bits: {problem}")]
    Factor { bits: u32, problem: &'static str },
    #[error("{op}: operand {operand} is {found}, but {expected} is needed; {remedy}")]
    Kind {
        op: &'static str,
        operand: NodeId,
        /// "public" or "encrypted".
        found: &'static str,
        expected: &'static str,
        remedy: &'static str,
    },
    #[error("{op}: {scheme} has no such operation; {remedy}")]
    NotInScheme { op: &'static str, scheme: &'static str, remedy: &'static str },
    #[error("polynomial: {problem}")]
    Polynomial { problem: &'static str },
    #[error("polynomial: degree {degree}; it is at most {most}, so compose polynomials of lower degrees")]
    Degree { degree: usize, most: usize },
    #[error("input: slots up to {magnitude} in absolute value; give a positive, finite bound")]
    Magnitude { magnitude: f64 },
    #[error("linear_transform: the matrix has no diagonal; give at least one")]
    NoDiagonal,
    #[error("the {what} name {name:?} {problem}; choose another")]
    Name {
        /// "input", "output" or "program".
        what: &'static str,
        name: String,
        problem: &'static str,
    },
    #[error("{op}: operand {operand} is not defined before this operation; use a node of this program")]
    UnknownNode { op: &'static str, operand: NodeId },
    #[error("{op}: {found} operands, but {expected} are needed; correct the operand list")]
    OperandCount { op: &'static str, found: usize, expected: usize },
    #[error("{op}: operand {operand} is an output; use the value that it returns")]
    OutputRead { op: &'static str, operand: NodeId },
    #[error("the program {name:?} has no output; return at least one value")]
    NoOutput { name: String },
    #[error("the program exceeds {limit} nodes; use vector operations instead of one node an element")]
    TooManyNodes { limit: usize },
    #[error("the program takes {memory}; write fewer or shorter vectors, or split it into several programs")]
    Memory { memory: MemoryExceeded },
}
