//! What can be wrong with a homomorphic program while it is built.

use super::{ElementType, TableError};
use crate::tfhe::matrix::MatrixError;
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
        match &self.location {
            Some(location) => write!(f, "{location}: {}", self.cause),
            None => write!(f, "{}", self.cause),
        }
    }
}

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
    /// Two operands have different lengths.
    #[error("{op}: the operands have {left} and {right} elements; make the lengths equal")]
    LengthMismatch {
        /// The operation.
        op: &'static str,
        /// Length of the first operand.
        left: usize,
        /// Length of the other.
        right: usize,
    },
    /// A vector is empty or too long.
    #[error("{op}: a vector of {length} elements; a vector has 1 to {limit}")]
    Length {
        /// The operation.
        op: &'static str,
        /// The length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// An operand's type does not suit the operation.
    #[error("{op}: the operand is {found}, but {expected} is needed; {remedy}")]
    Type {
        /// The operation.
        op: &'static str,
        /// Type of the operand.
        found: ElementType,
        /// What the operation takes.
        expected: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Two operands' types do not combine.
    #[error("{op}: {left} and {right} do not combine; give both operands the same type")]
    TypeMismatch {
        /// The operation.
        op: &'static str,
        /// Type of the first operand.
        left: ElementType,
        /// Type of the other.
        right: ElementType,
    },
    /// A range is empty, or beyond ±2^40.
    #[error("{op}: {lo} to {hi} is no range of integers within ±2^40; correct the bounds")]
    Range {
        /// The operation.
        op: &'static str,
        /// Lower bound.
        lo: i64,
        /// Upper bound.
        hi: i64,
    },
    /// The result's range leaves ±2^40.
    #[error("{op}: the result's range exceeds ±2^40; use smaller weights or narrow the operand with a look-up")]
    Overflow {
        /// The operation.
        op: &'static str,
    },
    /// A value cannot be of its type.
    #[error("{op}: value {value} at index {index} is no {element}; correct the value or widen the type")]
    Value {
        /// The operation.
        op: &'static str,
        /// The value.
        value: i64,
        /// Its place in the vector.
        index: usize,
        /// The type.
        element: ElementType,
    },
    /// An index is beyond its vector.
    #[error("{op}: index {index} is beyond the operand's {length} elements; correct the index")]
    Index {
        /// The operation.
        op: &'static str,
        /// The index.
        index: u64,
        /// Length of the operand.
        length: usize,
    },
    /// A torus type with an impossible precision.
    #[error("a torus value has 1 to 30 fractional bits, not {bits}; choose a precision in that range")]
    TorusBits {
        /// The bits asked for.
        bits: u32,
    },
    /// The matrix cannot be made.
    #[error("linear: {0}")]
    Matrix(#[from] MatrixError),
    /// The table is not usable.
    #[error("look-up: {0}")]
    Table(#[from] TableError),
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
    #[error("{op}: operand %{operand} is not defined before this operation; use a node of this program")]
    UnknownNode {
        /// The operation.
        op: &'static str,
        /// The node's index.
        operand: u32,
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
    /// The program has no output.
    #[error("the program {name:?} has no output; return at least one value")]
    NoOutput {
        /// Name of the program.
        name: String,
    },
    /// A demanded torus step is too coarse for the values, odd, or out of range.
    #[error(
        "torus step 1/{pinned} was demanded, but {need} needs an even denominator of at least {required}; raise the denominator or narrow the range"
    )]
    Step {
        /// The demanded denominator.
        pinned: u32,
        /// The smallest one.
        required: u64,
        /// What needs it.
        need: String,
    },
    /// Two steps were demanded for values that share one.
    #[error(
        "torus steps 1/{first} and 1/{second} were demanded for values that linear operations join; demand one only"
    )]
    StepConflict {
        /// The first denominator.
        first: u32,
        /// The other.
        second: u32,
    },
    /// No parameter set can carry the range.
    #[error(
        "{need} needs a torus step of 1/{required}, finer than the limit of 1/{limit}; narrow the range, or split the value into digits"
    )]
    TooFine {
        /// What needs the step.
        need: String,
        /// Denominator needed.
        required: u64,
        /// Largest denominator.
        limit: u32,
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
