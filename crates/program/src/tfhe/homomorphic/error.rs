//! Errors of building a homomorphic program.

use super::{ElementType, TableError};
use crate::tfhe::matrix::MatrixError;
use crate::{Located, MemoryExceeded};
use std::fmt;
use thiserror::Error;

/// An error while building a program, and the source location of the operation.
pub type ProgramError = Located<ProgramErrorCause>;

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => write!(f, "boolean"),
            Self::Integer(range) if range.stride() > 1 => {
                write!(f, "integer[{}..{} by {}]", range.lo(), range.hi(), range.stride())
            }
            Self::Integer(range) => write!(f, "integer[{}..{}]", range.lo(), range.hi()),
            Self::Torus { bits } => write!(f, "torus[{bits}]"),
        }
    }
}

/// The cause of a [`ProgramError`].
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProgramErrorCause {
    #[error("{op}: the operands have {left} and {right} elements; make the lengths equal")]
    LengthMismatch { op: &'static str, left: usize, right: usize },
    #[error("{op}: a vector of {length} elements; a vector has 1 to {limit}")]
    Length { op: &'static str, length: usize, limit: usize },
    #[error("{op}: the operand is {found}, but {expected} is needed; {remedy}")]
    Type { op: &'static str, found: ElementType, expected: &'static str, remedy: &'static str },
    #[error("{op}: {left} and {right} do not combine; give both operands the same type")]
    TypeMismatch { op: &'static str, left: ElementType, right: ElementType },
    #[error("{op}: {lo} to {hi} is no range of integers within ±2^40; correct the bounds")]
    Range { op: &'static str, lo: i64, hi: i64 },
    #[error("{op}: the result's range exceeds ±2^40; use smaller weights or narrow the operand with a lookup")]
    Overflow { op: &'static str },
    #[error("{op}: value {value} at index {index} is no {element}; correct the value or widen the type")]
    Value { op: &'static str, value: i64, index: usize, element: ElementType },
    #[error("{op}: index {index} is beyond the operand's {length} elements; correct the index")]
    Index { op: &'static str, index: u64, length: usize },
    #[error("a torus value has 1 to 30 fractional bits, not {bits}; choose a precision in that range")]
    TorusBits { bits: u32 },
    #[error("linear: {0}")]
    Matrix(#[from] MatrixError),
    #[error("lookup: {0}")]
    Table(#[from] TableError),
    #[error("lookup_wide: {problem}")]
    Wide { problem: String },
    #[error("the {what} name {name:?} {problem}; choose another")]
    Name {
        /// "input", "output" or "program".
        what: &'static str,
        name: String,
        problem: &'static str,
    },
    #[error("{op}: operand %{operand} is not defined before this operation; use a node of this program")]
    UnknownNode { op: &'static str, operand: u32 },
    #[error("{op}: {found} operands, but {expected} are needed; correct the operand list")]
    OperandCount { op: &'static str, found: usize, expected: usize },
    #[error("the program {name:?} has no output; return at least one value")]
    NoOutput { name: String },
    #[error(
        "torus step 1/{pinned} was demanded, but {need} needs an even denominator of at least {required}; raise the denominator or narrow the range"
    )]
    Step { pinned: u32, required: u64, need: String },
    #[error(
        "torus steps 1/{first} and 1/{second} were demanded for values that linear operations join; demand one only"
    )]
    StepConflict { first: u32, second: u32 },
    #[error(
        "{need} needs a torus step of 1/{required}, finer than the limit of 1/{limit}; narrow the range, or split the value into digits"
    )]
    TooFine { need: String, required: u64, limit: u32 },
    #[error("the program exceeds {limit} nodes; use vector operations instead of one node an element")]
    TooManyNodes { limit: usize },
    #[error("the program takes {memory}; write fewer or shorter vectors, or split it into several programs")]
    Memory { memory: MemoryExceeded },
}
