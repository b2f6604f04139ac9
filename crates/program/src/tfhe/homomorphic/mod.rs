//! The homomorphic program that a user writes.
//!
//! Nodes are vectors in SSA form: node i is defined once, by operands with smaller indices. A ciphertext encodes `unit / P` on
//! the torus. `unit` is the node's integer and 1/P the *torus step* of its component: the set of values that linear operations
//! connect, between lookups (see `steps.rs`).

mod builder;
mod clear;
mod encoding;
mod error;
mod range;
mod signature;
pub mod steps;
mod table;

pub use builder::{Builder, LookupResult, MAX_LENGTH, MAX_WIDTH};
pub use clear::{ClearError, Evaluation, evaluate};
pub use encoding::{CodecError, decode_output, encode_input};
pub use error::{ProgramError, ProgramErrorCause};
pub use range::Range;
pub use signature::{Signature, SignatureError, Terminal};
pub use table::{Table, TableError};

use crate::Location;
use crate::tfhe::matrix::Matrix;
use std::fmt;
use std::sync::Arc;

/// Index of a node in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index, to address [`Program::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// The type of one element of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// 0 or 1 in the clear; -1/8 or +1/8 on the torus.
    Boolean,
    /// An integer within a tracked range; value / P on the torus.
    Integer(Range),
    /// A fixed-point torus value: an integer multiple of 2^-`bits`, read modulo 1.
    Torus {
        /// Fractional bits, 1 to 30.
        bits: u32,
    },
}

/// A two-input gate on Booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    And,
    Nand,
    Or,
    Nor,
    Xor,
    Xnor,
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An encrypted input vector. No operand.
    Input {
        /// Unique among the inputs.
        name: Arc<str>,
    },
    /// Public values as trivial ciphertexts. No operand.
    Constant {
        values: Arc<[i64]>,
    },
    /// Element-wise sum of two operands.
    Add,
    /// Element-wise difference of two operands.
    Sub,
    /// Element-wise negation of one operand.
    Neg,
    /// Adds a public vector to one operand.
    AddClear {
        values: Arc<[i64]>,
    },
    /// Multiplies one operand element-wise by a public vector.
    MulClear {
        values: Arc<[i64]>,
    },
    /// `matrix · operand + bias`: dot products with public weights.
    Linear {
        /// One row per element of the result, one column per element of the operand.
        matrix: Arc<Matrix>,
        bias: Arc<[i64]>,
    },
    /// A table applied to each element of one operand, by programmable bootstrapping.
    Lookup {
        tables: Arc<[Table]>,
        /// Index into `tables` for each element; `None` if one table serves all.
        choice: Option<Arc<[u32]>>,
        /// Uses the whole torus, so the range may be twice as wide; values half a torus apart must then have negated results.
        whole: bool,
    },
    /// Several tables applied to one operand, with one bootstrap per element: the first table's results on all elements, then the
    /// second's, and so on.
    LookupEach {
        tables: Arc<[Table]>,
    },
    /// Tables of numbers in digits, read by circuit bootstrapping. The operand has digit 0 of all elements, then digit 1, and so on; digit d
    /// counts modulo 2^`widths[d]`. The result has the first table's results for all elements, then the second's.
    LookupWide {
        widths: Arc<[u32]>,
        /// Entry i is for the number whose bits are i.
        tables: Arc<[Table]>,
    },
    /// +1 where the element is at least 0, otherwise -1 (true and false for a Boolean result).
    /// Uses the whole torus, so the range may be twice that of a [`Op::Lookup`].
    Sign,
    Gate(Gate),
    /// Boolean negation; linear, so free.
    Not,
    /// `condition ? then : otherwise`; operands in that order, all Boolean.
    Mux,
    /// Elements of one operand, by index, in any order and number.
    Select {
        /// The operand's element for each element of the result.
        indices: Arc<[u32]>,
    },
    /// Concatenation of all operands.
    Concat,
    /// One operand, which the author promises to lie in the result type's range. This narrows what interval arithmetic
    /// over-estimates. Evaluation in the clear checks the promise.
    Assume,
    /// One operand, returned to the caller.
    Output {
        /// Unique among the outputs.
        name: Arc<str>,
    },
}

/// Name in the text form and in messages.
pub fn op_name(op: &Op) -> &'static str {
    match op {
        Op::Input { .. } => "input",
        Op::Constant { .. } => "constant",
        Op::Add => "add",
        Op::Sub => "sub",
        Op::Neg => "neg",
        Op::AddClear { .. } => "add_clear",
        Op::MulClear { .. } => "mul_clear",
        Op::Linear { .. } => "linear",
        Op::Lookup { whole: false, .. } => "lookup",
        Op::Lookup { whole: true, .. } => "lookup_whole",
        Op::LookupEach { .. } => "lookup_each",
        Op::LookupWide { .. } => "lookup_wide",
        Op::Sign => "sign",
        Op::Gate(Gate::And) => "and",
        Op::Gate(Gate::Nand) => "nand",
        Op::Gate(Gate::Or) => "or",
        Op::Gate(Gate::Nor) => "nor",
        Op::Gate(Gate::Xor) => "xor",
        Op::Gate(Gate::Xnor) => "xnor",
        Op::Not => "not",
        Op::Mux => "mux",
        Op::Select { .. } => "select",
        Op::Concat => "concat",
        Op::Assume => "assume",
        Op::Output { .. } => "output",
    }
}

impl Op {
    /// Heap bytes that the operation owns.
    pub(crate) fn bytes(&self) -> u64 {
        let tables =
            |tables: &[Table]| tables.iter().map(|table| size_of_val(table) + size_of_val(table.values())).sum();
        let bytes: usize = match self {
            Self::Constant { values } | Self::AddClear { values } | Self::MulClear { values } => size_of_val(&**values),
            Self::Linear { matrix, bias } => matrix.bytes() + size_of_val(&**bias),
            Self::Lookup { tables: own, choice, .. } => {
                tables(own) + choice.as_ref().map_or(0, |choice| size_of_val(&**choice))
            }
            Self::LookupEach { tables: own } => tables(own),
            Self::LookupWide { widths, tables: own } => size_of_val(&**widths) + tables(own),
            Self::Select { indices } => size_of_val(&**indices),
            _ => 0,
        };
        bytes as u64
    }
}

impl ElementType {
    /// The range in torus units (multiples of the torus step). `None` for torus values, which wrap.
    pub fn units(self) -> Option<Range> {
        match self {
            Self::Boolean => Some(Range::sign()),
            Self::Integer(range) => Some(range),
            Self::Torus { .. } => None,
        }
    }

    /// The torus units of `value`: ±1 for a Boolean 0 or 1, otherwise the value itself.
    pub fn to_units(self, value: i64) -> i64 {
        match self {
            Self::Boolean => 2 * value - 1,
            Self::Integer(_) | Self::Torus { .. } => value,
        }
    }

    pub fn holds(self, value: i64) -> bool {
        match self {
            Self::Boolean => value == 0 || value == 1,
            Self::Integer(range) => range.contains(value),
            Self::Torus { bits } => value >= -(1 << (bits - 1)) && value < 1 << (bits - 1),
        }
    }
}

/// A vector value.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub op: Op,
    /// All defined before this node.
    pub operands: Vec<NodeId>,
    pub element: ElementType,
    pub length: usize,
    /// P demanded by [`Builder::pin_step`].
    pub pinned_step: Option<u32>,
    pub location: Option<Location>,
}

/// A checked homomorphic program. Only [`Builder`] and the parser construct one.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    name: Arc<str>,
    nodes: Vec<Node>,
    steps: Vec<u32>,
}

impl Program {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All nodes; node i's operands have indices below i.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The denominator P of the torus step of `id`.
    pub fn step(&self, id: NodeId) -> u32 {
        self.steps[id.index()]
    }

    /// The inputs, in order of definition.
    pub fn inputs(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| match &node.op {
            Op::Input { name } => Some((NodeId(index as u32), &**name)),
            _ => None,
        })
    }

    /// The outputs, in order of definition.
    pub fn outputs(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| match &node.op {
            Op::Output { name } => Some((NodeId(index as u32), &**name)),
            _ => None,
        })
    }
}
