//! The homomorphic program of CKKS and BGV that a user writes.
//!
//! Nodes are in static single assignment form: node i is defined once, by operands with smaller indices. Every encrypted value is a
//! vector of the program's slots. If the ring has more slots, the vector repeats (sparse packing), so rotations are cyclic over the
//! program's slots.
//!
//! | scheme | slot | [`Op::Rotate`] by r | [`Op::Conjugate`] |
//! |---|---|---|---|
//! | CKKS | a complex number | slot i takes slot i + r | complex conjugation |
//! | BGV, t a prime | an integer modulo t | in either of the two rows of slots/2, slot i takes slot i + r | swaps the rows |
//! | BGV, t = 2^k | a single slot, the constant coefficient modulo 2^k | none | none |
//!
//! Users write no levels, scales, rescalings or relinearizations: [`crate::rns::levels`] places them. The nodes [`Op::Rescale`],
//! [`Op::ModSwitch`] and [`Op::Relinearise`] override the placement.

mod builder;
mod clear;
mod error;
mod values;

pub use builder::{Builder, OBSERVED};
pub use clear::{ClearError, Evaluation, centred, evaluate, evaluate_changed, evaluate_each};
pub use error::{ProgramError, ProgramErrorCause};
pub use polyfabric_schemes::ckks::Complex;
pub use values::{Basis, Diagonals, Polynomial, Table, Values};

use crate::Location;
use polyfabric_kernels::RingDegree;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Approximate arithmetic on complex slots.
    Ckks,
    /// Exact arithmetic modulo t.
    Bgv {
        /// t: a prime that splits the ring, so that slots are integers modulo t; or 2^k, and a ciphertext encrypts one integer modulo
        /// 2^k in its constant coefficient.
        plaintext_modulus: u64,
    },
}

impl Scheme {
    /// Rows of slots that rotate separately: 1 for CKKS, 2 for packed BGV.
    pub fn rows(self) -> usize {
        match self {
            Self::Ckks => 1,
            Self::Bgv { .. } => {
                if self.is_packed() {
                    2
                } else {
                    1
                }
            }
        }
    }

    /// Maximum slots of a program, those of the largest ring.
    pub fn most_slots(self) -> usize {
        match self {
            Self::Ckks => RingDegree::MAX / 2,
            Self::Bgv { .. } => RingDegree::MAX,
        }
    }

    /// Whether a ciphertext encrypts a vector; false for BGV modulo 2^k.
    pub fn is_packed(self) -> bool {
        !matches!(self, Self::Bgv { plaintext_modulus } if plaintext_modulus.is_power_of_two())
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ckks => f.write_str("ckks"),
            Self::Bgv { plaintext_modulus } => write!(f, "bgv({plaintext_modulus})"),
        }
    }
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An encrypted input vector. No operand.
    Input {
        /// Unique among the inputs.
        name: Arc<str>,
        /// Level of encryption; `None` for the lowest that the program needs.
        level: Option<usize>,
        /// CKKS: bound of the slots' absolute values, promised by the caller and used for the error report.
        magnitude: f64,
    },
    /// An encrypted bit, the same for all slots, which only [`Op::Select`] reads. No operand.
    Selector {
        /// Unique among the inputs.
        name: Arc<str>,
    },
    /// A public vector. No operand; only [`Op::AddPlain`], [`Op::SubPlain`], [`Op::MulPlain`], [`Op::MulPlainScaled`] and
    /// [`Op::Select`] read it.
    Constant {
        /// One value per slot, or one for all slots.
        values: Values,
    },
    /// Sum of two encrypted vectors.
    Add,
    /// Difference of two encrypted vectors.
    Sub,
    /// Negation.
    Neg,
    /// Slotwise product of two encrypted vectors; a square if both are the same node.
    Mul,
    /// Encrypted vector plus public vector; operands in that order.
    AddPlain,
    /// Encrypted vector minus public vector; operands in that order.
    SubPlain,
    /// Slotwise product of an encrypted and a public vector; operands in that order.
    MulPlain,
    /// CKKS: as [`Op::MulPlain`] without using a level. The public vector is rounded to `bits` fractional bits, and the result's scale
    /// is 2^`bits` times the operand's. Sums need equal scales; rescaling after products depends on the scales.
    MulPlainScaled { bits: u32 },
    /// Slot i takes slot i + `steps` of the operand, cyclically within a row.
    Rotate {
        /// Steps to the left; negative ones rotate to the right.
        steps: i64,
    },
    /// CKKS: complex conjugation of every slot. BGV: swaps the two rows.
    Conjugate,
    /// Override: rescales a product (BGV: switches it to the next modulus) here.
    Rescale,
    /// Override: brings the operand to a level.
    ModSwitch { level: usize },
    /// Override: relinearizes a product here.
    Relinearise,
    /// Σ_d diagonal_d · rotate(operand, d): a matrix given by its generalized diagonals.
    LinearTransform { diagonals: Arc<Diagonals> },
    /// A polynomial of the operand, slotwise.
    Polynomial { polynomial: Arc<Polynomial> },
    /// Restores the levels of the operand.
    Bootstrap {
        /// CKKS: period of the operand, in slots. Bootstrapping is then cheaper, and each slot becomes the mean of its repetitions.
        /// `None` for all slots of the program.
        slots: Option<usize>,
    },
    /// CKKS: a table applied to the real and to the imaginary part of every slot, which are integers as fractions ([`Table`]). Restores the
    /// levels of the operand. Tables of one operand share most of the work.
    Lookup { table: Arc<Table> },
    /// The second operand if the first, a selector, is 1, and the third if it is 0; both may be public. It uses no level: the selector's
    /// product is a ring-GSW external product.
    Select,
    /// One operand, returned to the caller.
    Output {
        /// Unique among the outputs.
        name: Arc<str>,
    },
}

impl Op {
    /// Heap bytes that the operation owns.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes: usize = match self {
            Self::Constant { values } => values.bytes(),
            Self::LinearTransform { diagonals } => diagonals.by_offset.values().map(Values::bytes).sum(),
            Self::Polynomial { polynomial } => polynomial.coefficients.bytes(),
            Self::Lookup { table } => size_of_val(table.entries()),
            _ => 0,
        };
        bytes as u64
    }
}

/// Name in the text form and in messages.
pub fn op_name(op: &Op) -> &'static str {
    match op {
        Op::Input { .. } => "input",
        Op::Selector { .. } => "selector",
        Op::Constant { .. } => "constant",
        Op::Add => "add",
        Op::Sub => "sub",
        Op::Neg => "neg",
        Op::Mul => "mul",
        Op::AddPlain => "add_plain",
        Op::SubPlain => "sub_plain",
        Op::MulPlain => "mul_plain",
        Op::MulPlainScaled { .. } => "mul_plain_scaled",
        Op::Rotate { .. } => "rotate",
        Op::Conjugate => "conjugate",
        Op::Rescale => "rescale",
        Op::ModSwitch { .. } => "mod_switch",
        Op::Relinearise => "relinearise",
        Op::LinearTransform { .. } => "linear_transform",
        Op::Polynomial { .. } => "polynomial",
        Op::Bootstrap { .. } => "bootstrap",
        Op::Lookup { .. } => "lookup",
        Op::Select => "select",
        Op::Output { .. } => "output",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub op: Op,
    /// All of smaller index.
    pub operands: Vec<NodeId>,
    pub location: Option<Location>,
}

impl Node {
    pub fn is_public(&self) -> bool {
        matches!(self.op, Op::Constant { .. })
    }

    pub fn is_selector(&self) -> bool {
        matches!(self.op, Op::Selector { .. })
    }
}

/// A checked program. Only [`Builder::finish`] constructs one.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    name: Arc<str>,
    scheme: Scheme,
    slots: usize,
    batch: Option<usize>,
    nodes: Vec<Node>,
}

impl Program {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Slots per vector, a power of two; for BGV, of both rows together.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// For a program on integers ([`lanes`](crate::lanes)): the inputs that the lanes of its slots hold. Otherwise `None`.
    pub fn batch(&self) -> Option<usize> {
        self.batch
    }

    /// Slots per row, over which rotations are cyclic.
    pub fn row(&self) -> usize {
        self.slots / self.scheme.rows()
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    pub fn inputs(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.iter().filter_map(|(id, node)| match &node.op {
            Op::Input { name, .. } | Op::Selector { name } => Some((id, &**name)),
            _ => None,
        })
    }

    pub fn outputs(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.iter().filter_map(|(id, node)| match &node.op {
            Op::Output { name } => Some((id, &**name)),
            _ => None,
        })
    }

    /// The nodes that read each node.
    pub fn users(&self) -> Vec<Vec<NodeId>> {
        let mut users = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.iter() {
            for operand in &node.operands {
                if users[operand.index()].last() != Some(&id) {
                    users[operand.index()].push(id);
                }
            }
        }
        users
    }
}
