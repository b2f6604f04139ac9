//! The homomorphic program of CKKS and BGV: what a user writes.
//!
//! Nodes are in static single assignment: node i is defined once, by operands with smaller indices. Every encrypted
//! value is a vector of the program's number of slots. A program with fewer slots than the ring offers is packed
//! sparsely: the vector is repeated, so that rotations stay cyclic over the program's slots.
//!
//! | scheme | one slot | [`Op::Rotate`] by r | [`Op::Conjugate`] |
//! |---|---|---|---|
//! | CKKS | a complex number | slot i takes slot i + r | complex conjugation |
//! | BGV, t a prime | an integer modulo t | in either of the two rows of slots/2, slot i takes slot i + r | swaps the rows |
//! | BGV, t = 2^k | the one slot is the constant coefficient, an integer modulo 2^k | none | none |
//!
//! Levels, scales, rescalings and relinearisations are not written: [`crate::rns::levels`] places them. The nodes
//! [`Op::Rescale`], [`Op::ModSwitch`] and [`Op::Relinearise`] override it.

mod builder;
mod clear;
mod error;
mod values;

pub use builder::{Builder, OBSERVED};
pub use clear::{ClearError, Evaluation, centred, evaluate, evaluate_changed, evaluate_each};
pub use error::{ProgramError, ProgramErrorCause};
pub use polyfabric_schemes::ckks::Complex;
pub use values::{Basis, Diagonals, Polynomial, Values};

use crate::Location;
use polyfabric_kernels::RingDegree;
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

/// The scheme that a program is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Approximate arithmetic on complex slots.
    Ckks,
    /// Exact arithmetic modulo t.
    Bgv {
        /// t: a prime that splits the ring, and slots are integers modulo t; or 2^k, and a ciphertext holds one integer modulo 2^k, in
        /// its constant coefficient.
        plaintext_modulus: u64,
    },
}

impl Scheme {
    /// Rows of slots, each rotated by itself: 1 for CKKS, 2 for packed BGV.
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

    /// Most slots of a program: those of the largest ring.
    pub fn most_slots(self) -> usize {
        match self {
            Self::Ckks => RingDegree::MAX / 2,
            Self::Bgv { .. } => RingDegree::MAX,
        }
    }

    /// Whether a ciphertext holds a vector: not so in BGV modulo 2^k.
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

/// What a node does with its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An encrypted vector that the caller gives. No operand.
    Input {
        /// Its name, unique among the inputs.
        name: Arc<str>,
        /// Level at which it is encrypted; `None`: the lowest that the program needs.
        level: Option<usize>,
        /// Bound of its slots' absolute values, which the caller promises: what the error report goes by. Without meaning for BGV.
        magnitude: f64,
    },
    /// A public vector. No operand; only [`Op::AddPlain`], [`Op::SubPlain`], [`Op::MulPlain`] and [`Op::MulPlainScaled`] read it.
    Constant {
        /// One value a slot, or a single one for all slots.
        values: Values,
    },
    /// Sum of two encrypted vectors.
    Add,
    /// Difference of two encrypted vectors.
    Sub,
    /// Negation.
    Neg,
    /// Product of two encrypted vectors, slot by slot; a square where both are the same node.
    Mul,
    /// Encrypted vector plus public one; operands in that order.
    AddPlain,
    /// Encrypted vector minus public one; operands in that order.
    SubPlain,
    /// Encrypted vector times public one, slot by slot; operands in that order.
    MulPlain,
    /// CKKS: the same without using a level: the public vector is rounded to `bits` bits after the point, and the scale of the
    /// result is 2^`bits` times the operand's. Sums take operands of one scale, and a product's rescaling follows the scales.
    MulPlainScaled {
        /// Bits after the point.
        bits: u32,
    },
    /// Slot i takes slot i + `steps` of the operand, cyclically within a row.
    Rotate {
        /// Steps to the left; negative ones rotate to the right.
        steps: i64,
    },
    /// CKKS: complex conjugation of every slot. BGV: the two rows swap.
    Conjugate,
    /// Override: an operand that is a product still to be rescaled (BGV: switched to the next modulus) is rescaled here.
    Rescale,
    /// Override: the result is at this level.
    ModSwitch {
        /// The level.
        level: usize,
    },
    /// Override: an operand that is a product still to be relinearised is relinearised here.
    Relinearise,
    /// Σ_d diagonal_d · rotate(operand, d): a matrix given by its diagonals.
    LinearTransform {
        /// The diagonals.
        diagonals: Arc<Diagonals>,
    },
    /// A polynomial of the operand, slot by slot.
    Polynomial {
        /// The polynomial.
        polynomial: Arc<Polynomial>,
    },
    /// The operand with its levels restored.
    Bootstrap {
        /// Slots after which the operand repeats, with CKKS: bootstrapping then takes less, and a slot becomes the mean of all that repeat it. All
        /// slots of the program if none is given.
        slots: Option<usize>,
    },
    /// One operand, given back to the caller.
    Output {
        /// Its name, unique among the outputs.
        name: Arc<str>,
    },
}

impl Op {
    /// Bytes that it owns on the heap.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes: usize = match self {
            Self::Constant { values } => values.bytes(),
            Self::LinearTransform { diagonals } => diagonals.by_offset.values().map(Values::bytes).sum(),
            Self::Polynomial { polynomial } => polynomial.coefficients.bytes(),
            _ => 0,
        };
        bytes as u64
    }
}

/// The operation's name in the text form and in messages.
pub fn op_name(op: &Op) -> &'static str {
    match op {
        Op::Input { .. } => "input",
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
        Op::Output { .. } => "output",
    }
}

/// A node: an operation, what it reads, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// Operands, all of smaller index.
    pub operands: Vec<NodeId>,
    /// Where the author wrote it.
    pub location: Option<Location>,
}

impl Node {
    /// Whether the node's value is public.
    pub fn is_public(&self) -> bool {
        matches!(self.op, Op::Constant { .. })
    }
}

/// A checked program; only [`Builder::finish`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    name: Arc<str>,
    scheme: Scheme,
    slots: usize,
    nodes: Vec<Node>,
}

impl Program {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scheme that it is written for.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Slots of every vector, a power of two; with BGV, of both rows together.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Slots of one row: rotations are cyclic over as many.
    pub fn row(&self) -> usize {
        self.slots / self.scheme.rows()
    }

    /// All nodes, in order of definition.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node; `id` must be of this program.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Every node with its index.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Inputs, in order of definition.
    pub fn inputs(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.iter().filter_map(|(id, node)| match &node.op {
            Op::Input { name, .. } => Some((id, &**name)),
            _ => None,
        })
    }

    /// Outputs, in order of definition.
    pub fn outputs(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.iter().filter_map(|(id, node)| match &node.op {
            Op::Output { name } => Some((id, &**name)),
            _ => None,
        })
    }

    /// Indices of the nodes that read each node.
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
