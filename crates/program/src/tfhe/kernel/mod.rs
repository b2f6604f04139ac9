//! The kernel program: what every runtime and every machine executes.
//!
//! Operations in SSA form on batches of ciphertexts: operation i defines value i, its operands have smaller
//! indices. Blind rotation and key switch are composite: they carry a [`Body`] of operations on single
//! polynomials or ciphertexts, which loops over the secret key's bits or the mask's coefficients. A runtime may
//! execute a composite operation fused; its meaning is its body.

mod body;
mod check;
pub mod count;
mod test_polynomial;
mod unrolled;

pub use body::{Body, BodyOp, BodyType, BodyValue, Primitive, blind_rotation_body, key_switch_body};
pub use check::{KernelError, op_name};
pub use test_polynomial::{ConstantRun, TestPolynomial};
pub use unrolled::unrolled_rotation_body;

use crate::tfhe::homomorphic::NodeId;
use crate::tfhe::lowering::TfheLowering;
use crate::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{LweKind, Parameters};
use std::fmt;
use std::sync::Arc;

/// Index of a value, and of the operation that defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub u32);

impl ValueId {
    /// The index, to address [`KernelProgram::ops`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Type of a value: always a batch of `count` items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// LWE ciphertexts of `dimension + 1` torus elements.
    Lwe {
        /// Ciphertexts in the batch.
        count: usize,
        /// Key they are under.
        kind: LweKind,
        /// Mask elements: n for the small key, kN for the large one.
        dimension: usize,
    },
    /// LWE ciphertexts switched to the modulus 2^`log2_modulus`: rotation amounts.
    Indices {
        /// Ciphertexts in the batch.
        count: usize,
        /// Mask elements.
        dimension: usize,
        /// log2(2N).
        log2_modulus: u32,
    },
    /// GLWE ciphertexts of k + 1 polynomials.
    Glwe {
        /// Ciphertexts in the batch.
        count: usize,
    },
}

impl ValueType {
    /// Ciphertexts in the batch.
    pub fn count(self) -> usize {
        match self {
            Self::Lwe { count, .. } | Self::Indices { count, .. } | Self::Glwe { count } => count,
        }
    }
}

/// Which test polynomial each ciphertext of a batch starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChoice {
    /// One for all: an index into [`KernelProgram::tables`].
    Shared(u32),
    /// One index for each ciphertext.
    PerCiphertext(Arc<[u32]>),
}

impl TableChoice {
    /// Index into [`KernelProgram::tables`] of ciphertext `ciphertext`.
    pub fn get(&self, ciphertext: usize) -> usize {
        match self {
            Self::Shared(table) => *table as usize,
            Self::PerCiphertext(tables) => tables[ciphertext] as usize,
        }
    }
}

/// What an operation does. Where several operands are allowed, they are read as one batch, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// LWE ciphertexts that the caller gives.
    Input {
        /// Name of the input.
        name: Arc<str>,
    },
    /// LWE: ciphertext r of the result is Σ_c `matrix[r][c]` · operand c, plus the trivial ciphertext of `bias[r]`.
    /// Without operand (a matrix of no columns): trivial ciphertexts.
    Linear {
        /// Weights: rows = result's count, columns = total count of the operands.
        matrix: Arc<Matrix>,
        /// Torus elements to add to the bodies: the low torus-width bits.
        bias: Arc<[u64]>,
    },
    /// LWE or indices: copies of the operands' items, in the order of `indices`.
    Gather {
        /// Item of the operands for each item of the result.
        indices: Arc<[u32]>,
    },
    /// LWE under the large key to LWE under the small key; for one ciphertext: [`Body`] from (0, .., 0, b').
    KeySwitch {
        /// The loop over the kN mask elements.
        body: Arc<Body>,
    },
    /// LWE under the small key to indices: multiples of t = 2^`log2_tables` up to 2N, t · round(x · 2N / tq) mod 2N.
    ModulusSwitch {
        /// What the rounding of the mask does to the body.
        rounding: PhaseRounding,
        /// log2 of the number of tables that lie side by side in the test polynomials of the rotation.
        log2_tables: u32,
    },
    /// Indices to GLWE; for one ciphertext: [`Body`] from X^(-b~) · (0, .., 0, test polynomial).
    BlindRotation {
        /// Test polynomials.
        tables: TableChoice,
        /// The loop over the n mask elements.
        body: Arc<Body>,
    },
    /// GLWE to LWE under the large key: the first `coefficients` coefficients, one ciphertext each, those of the first GLWE ciphertext first.
    SampleExtract {
        /// At least 1.
        coefficients: u32,
    },
}

impl OpKind {
    /// The modulus switch of a look-up by itself, phases rounded to the nearest.
    pub const PLAIN_SWITCH: Self = Self::ModulusSwitch { rounding: PhaseRounding::Nearest, log2_tables: 0 };

    /// The extraction of a look-up by itself: the constant coefficient.
    pub const PLAIN_EXTRACT: Self = Self::SampleExtract { coefficients: 1 };
}

/// One operation, and the value it defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Its operands.
    pub operands: Vec<ValueId>,
    /// Type of its result.
    pub result: ValueType,
    /// The first node of the homomorphic program that it serves.
    pub origin: Option<NodeId>,
}

/// A named result.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name of the output.
    pub name: Arc<str>,
    /// An LWE value.
    pub value: ValueId,
}

/// A kernel program. Made by the lowering, by the built-in programs and by the parser; all of them check it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelProgram {
    /// Its name.
    pub name: Arc<str>,
    /// The parameter set that it is lowered for.
    pub parameters: Parameters,
    /// The choice that it is lowered with.
    pub choice: TfheLowering,
    /// Test polynomials.
    pub tables: Vec<TestPolynomial>,
    /// Operations; operation i defines value i.
    pub ops: Vec<Op>,
    /// Results.
    pub outputs: Vec<Output>,
}

impl KernelProgram {
    /// The operation that defines `value`.
    pub fn op(&self, value: ValueId) -> &Op {
        &self.ops[value.index()]
    }

    /// The inputs: name, value and its type, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, ValueId, ValueType)> {
        self.ops.iter().enumerate().filter_map(|(index, op)| match &op.kind {
            OpKind::Input { name } => Some((&**name, ValueId(index as u32), op.result)),
            _ => None,
        })
    }

    /// Number of blind rotations: look-ups on single ciphertexts.
    pub fn lookups(&self) -> usize {
        let rotates = |op: &&Op| matches!(op.kind, OpKind::BlindRotation { .. });
        self.ops.iter().filter(rotates).map(|op| op.result.count()).sum()
    }
}
