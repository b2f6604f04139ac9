//! The kernel program that every runtime and every machine executes.
//!
//! Operations in SSA form on batches of ciphertexts: operation i defines value i, and its operands have smaller indices. Blind
//! rotation and key switch are composite: their [`Body`] of operations on single polynomials or ciphertexts loops over the
//! secret key's bits or the mask's coefficients. A runtime may fuse a composite operation; the body defines its meaning.

mod body;
mod check;
pub mod count;
mod primitive;
mod repeated;
mod test_polynomial;
mod unrolled;

pub use body::{Body, BodyOp, BodyValue, blind_rotation_body, key_switch_body};
pub use check::{KernelError, op_name};
pub use primitive::{BodyType, Primitive};
pub use test_polynomial::{ConstantRun, TestPolynomial};
pub use unrolled::unrolled_rotation_body;

use crate::tfhe::homomorphic::NodeId;
use crate::tfhe::lowering::TfheLowering;
use crate::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{LweKind, Parameters};
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub u32);

impl ValueId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Type of a value: a batch of `count` items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// LWE ciphertexts of `dimension + 1` torus elements.
    Lwe {
        count: usize,
        kind: LweKind,
        /// n for the small key, kN for the large one.
        dimension: usize,
    },
    /// LWE ciphertexts after the switch to modulus 2^`log2_modulus`: rotation amounts.
    Indices {
        count: usize,
        dimension: usize,
        /// log2(2N).
        log2_modulus: u32,
    },
    /// GLWE ciphertexts of k + 1 polynomials.
    Glwe { count: usize },
    /// GGSW ciphertexts that circuit bootstrapping makes.
    Ggsw { count: usize },
}

impl ValueType {
    pub fn count(self) -> usize {
        match self {
            Self::Lwe { count, .. } | Self::Indices { count, .. } | Self::Glwe { count } | Self::Ggsw { count } => {
                count
            }
        }
    }
}

/// The test polynomial of each ciphertext in a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChoice {
    /// One for all; an index into [`KernelProgram::tables`].
    Shared(u32),
    /// One index per ciphertext.
    PerCiphertext(Arc<[u32]>),
}

impl TableChoice {
    pub fn get(&self, ciphertext: usize) -> usize {
        match self {
            Self::Shared(table) => *table as usize,
            Self::PerCiphertext(tables) => tables[ciphertext] as usize,
        }
    }
}

/// The kind of an operation. If it allows several operands, they are concatenated into one batch.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// Input ciphertexts.
    Input { name: Arc<str> },
    /// Ciphertext r of the result is Σ_c `matrix[r][c]` · operand c, plus the trivial ciphertext of `bias[r]`.
    /// Without operands, and a matrix without columns, the result is trivial.
    Linear {
        /// One row per result, one column per ciphertext of the operands.
        matrix: Arc<Matrix>,
        /// Addends of the bodies, in the low torus-width bits.
        bias: Arc<[u64]>,
    },
    /// Copies of the operands' items (LWE or indices), in the order of `indices`.
    Gather { indices: Arc<[u32]> },
    /// LWE under the large key to LWE under the small key. Each ciphertext runs the [`Body`] from (0, .., 0, b').
    KeySwitch {
        /// The loop over the kN mask elements.
        body: Arc<Body>,
    },
    /// LWE under the small key to indices modulo 2N: t · round(x · 2N / tq) with t = 2^`log2_tables`.
    ModulusSwitch {
        /// How the body compensates the rounding of the mask.
        rounding: PhaseRounding,
        /// log2 of the number of tables interleaved in the rotation's test polynomials.
        log2_tables: u32,
    },
    /// Indices to GLWE. Each ciphertext runs the [`Body`] from X^(-b~) · (0, .., 0, test polynomial).
    BlindRotation {
        tables: TableChoice,
        /// The loop over the n mask elements.
        body: Arc<Body>,
    },
    /// GLWE to LWE under the large key: extracts the first `coefficients` coefficients of each ciphertext, in order.
    SampleExtract {
        /// At least 1.
        coefficients: u32,
    },
    /// GLWE to GGSW: each of a bit, whose multiples ±g_t/2 (+ for 1) a ciphertext has in coefficient t, for the levels t of the set's
    /// `circuit.ggsw`.
    CircuitBootstrap,
    /// GGSW to GLWE: table entries. A table has 2^`width` entries of 2^`log2_outputs` coefficients each, in consecutive polynomials of N. Each result has
    /// the entry that `width` bits select, in its first coefficients.
    PackedLookup {
        /// 1 to 16.
        width: u32,
        log2_outputs: u32,
        /// The bits of each result, least significant first: items of the operand.
        bits: Arc<[u32]>,
        /// The first polynomial of each result's table.
        tables: TableChoice,
    },
}

impl OpKind {
    /// Polynomials of a packed table: 2^`width` entries of 2^`log2_outputs` coefficients in polynomials of 2^`log2_degree`.
    pub fn packed_polynomials(width: u32, log2_outputs: u32, log2_degree: u32) -> usize {
        1 << (width + log2_outputs).saturating_sub(log2_degree)
    }

    /// The modulus switch of a lookup with its own rotation, phases rounded to the nearest.
    pub const PLAIN_SWITCH: Self = Self::ModulusSwitch { rounding: PhaseRounding::Nearest, log2_tables: 0 };

    /// The extraction after a lookup with its own rotation: the constant coefficient.
    pub const PLAIN_EXTRACT: Self = Self::SampleExtract { coefficients: 1 };
}

#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub kind: OpKind,
    pub operands: Vec<ValueId>,
    pub result: ValueType,
    /// The first homomorphic node that needs this operation.
    pub origin: Option<NodeId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: Arc<str>,
    /// An LWE value.
    pub value: ValueId,
}

/// A kernel program. The lowering, the built-in programs and the parser construct and check one.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelProgram {
    pub name: Arc<str>,
    /// The parameter set that it was lowered for.
    pub parameters: Parameters,
    /// The parameters of its lowering.
    pub choice: TfheLowering,
    pub tables: Vec<TestPolynomial>,
    /// Operation i defines value i.
    pub ops: Vec<Op>,
    pub outputs: Vec<Output>,
}

impl KernelProgram {
    pub fn op(&self, value: ValueId) -> &Op {
        &self.ops[value.index()]
    }

    /// Name, value and type of each input, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, ValueId, ValueType)> {
        self.ops.iter().enumerate().filter_map(|(index, op)| match &op.kind {
            OpKind::Input { name } => Some((&**name, ValueId(index as u32), op.result)),
            _ => None,
        })
    }

    /// Number of blind rotations over all ciphertexts.
    pub fn lookups(&self) -> usize {
        let rotates = |op: &&Op| matches!(op.kind, OpKind::BlindRotation { .. });
        self.ops.iter().filter(rotates).map(|op| op.result.count()).sum()
    }
}
