//! The kernel program: operations on polynomials in residue form, which every runtime and every machine executes.
//!
//! A value is one polynomial: a list of limbs, all in one domain. A ciphertext is several values. Operations are in SSA
//! form and define one value or two; operands are values that stand before. Most work on each limb alone; those
//! that join limbs are [`OpKind::BaseConversion`] and [`OpKind::SubDigit`], and the composite ones, whose meaning is
//! their [`Body`] in the others. Everything is exact arithmetic modulo the limbs' primes, so a fused form gives the
//! same words as the body.

mod body;
mod builder;
mod check;
mod count;
mod limb_set;
mod op;
mod rounds;

pub use body::Body;
pub use builder::KernelBuilder;
pub use check::KernelError;
pub use count::{Counts, LimbOps};
pub use limb_set::LimbSet;
pub use op::{Conversion, DigitWindow, OpKind};
pub use rounds::{Ports, Round, Rounds, RoundsError};

use crate::rns::homomorphic::NodeId;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::{Limb, Modulus};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Index of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub u32);

impl ValueId {
    /// The index, to address [`KernelProgram::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Index of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u32);

impl OpId {
    /// The index, to address [`KernelProgram::ops`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What a value is: residues of one polynomial modulo `limbs`, all in `domain`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    /// Its limbs; at least one.
    pub limbs: LimbSet,
    /// Coefficients, or values in bit-reversed order.
    pub domain: Domain,
}

impl ValueType {
    /// Values of `limbs`.
    pub fn evaluation(limbs: LimbSet) -> Self {
        Self { limbs, domain: Domain::Evaluation }
    }

    /// Coefficients of `limbs`.
    pub fn coefficient(limbs: LimbSet) -> Self {
        Self { limbs, domain: Domain::Coefficient }
    }
}

/// A polynomial that the program holds: signed integer coefficients, all N of them, in natural order.
///
/// They stand for residues modulo whatever limbs a [`OpKind::Plaintext`] asks for: one copy serves all levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicPolynomial {
    /// Coefficients below 2^63 in absolute value.
    Narrow(Arc<[i64]>),
    /// Coefficients below 2^127 in absolute value: large scales.
    Wide(Arc<[i128]>),
}

impl PublicPolynomial {
    /// The number of coefficients.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(coefficients) => coefficients.len(),
            Self::Wide(coefficients) => coefficients.len(),
        }
    }

    /// Whether there is no coefficient.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest absolute value of a coefficient.
    pub fn largest_coefficient(&self) -> f64 {
        match self {
            Self::Narrow(coefficients) => {
                coefficients.iter().map(|coefficient| coefficient.unsigned_abs()).max().unwrap_or(0) as f64
            }
            Self::Wide(coefficients) => {
                coefficients.iter().map(|coefficient| coefficient.unsigned_abs()).max().unwrap_or(0) as f64
            }
        }
    }

    /// Where the coefficients lie: the same of all that share them.
    pub fn address(&self) -> usize {
        match self {
            Self::Narrow(coefficients) => coefficients.as_ptr().addr(),
            Self::Wide(coefficients) => coefficients.as_ptr().addr(),
        }
    }

    /// Whether all coefficients are between −q/2 and q/2, so that their residues modulo q say what they are.
    pub fn fits(&self, modulus: Modulus) -> bool {
        let half = modulus.value() / 2;
        match self {
            Self::Narrow(coefficients) => coefficients.iter().all(|coefficient| coefficient.unsigned_abs() <= half),
            Self::Wide(coefficients) => {
                coefficients.iter().all(|coefficient| coefficient.unsigned_abs() <= u128::from(half))
            }
        }
    }

    /// The largest power of two X^(2^k) that the polynomial is one in, as k: a vector that repeats is encoded so. At most as large as leaves
    /// [`RingDegree::MIN`] of its coefficients.
    pub fn log2_apart(&self) -> u32 {
        fn apart<T: Copy + PartialEq + Default>(coefficients: &[T]) -> u32 {
            let most = (coefficients.len() / RingDegree::MIN).checked_ilog2().unwrap_or(0);
            let alone = |&log2: &u32| {
                let (step, zero) = (1 << log2, T::default());
                coefficients.chunks_exact(2 * step).all(|pair| pair[step] == zero)
            };
            (0..most).take_while(alone).count() as u32
        }
        match self {
            Self::Narrow(coefficients) => apart(coefficients),
            Self::Wide(coefficients) => apart(coefficients),
        }
    }

    /// The residues modulo `limb`'s modulus of the coefficients 2^`log2_apart` from one another, from the first on.
    ///
    /// # Panics
    /// Unless `target` has a word for each of them.
    pub fn residues_apart(&self, limb: Limb, log2_apart: u32, target: &mut [u64]) {
        if log2_apart == 0 {
            return self.residues_from(limb, 0, target);
        }
        match self {
            Self::Narrow(coefficients) => {
                let alone: Vec<i64> = coefficients.iter().copied().step_by(1 << log2_apart).collect();
                limb.reduce_signed(target, &alone);
            }
            Self::Wide(coefficients) => {
                let alone: Vec<i128> = coefficients.iter().copied().step_by(1 << log2_apart).collect();
                limb.reduce_signed_wide(target, &alone);
            }
        }
    }

    /// The residues modulo `limb`'s modulus of the coefficients from `start` on, as many as `target` has words, written to it.
    ///
    /// # Panics
    /// If there are fewer coefficients.
    pub fn residues_from(&self, limb: Limb, start: usize, target: &mut [u64]) {
        let range = start..start + target.len();
        match self {
            Self::Narrow(coefficients) => limb.reduce_signed(target, &coefficients[range]),
            Self::Wide(coefficients) => limb.reduce_signed_wide(target, &coefficients[range]),
        }
    }

    /// The residues modulo `modulus`, in natural order, written to `target`.
    ///
    /// # Panics
    /// Unless `target` has a word for each coefficient.
    pub fn residues(&self, modulus: Modulus, target: &mut [u64]) {
        assert_eq!(target.len(), self.len(), "a word for each coefficient");
        self.residues_from(Limb::new(modulus), 0, target);
    }
}

/// One operation, and the values it defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Its operands.
    pub operands: Vec<ValueId>,
    /// The values it defines, with consecutive numbers: one, or two for [`OpKind::InnerProduct`].
    pub results: Vec<ValueId>,
    /// The first node of the homomorphic program that it serves.
    pub origin: Option<NodeId>,
    /// Number of the operation on ciphertexts that it is part of: a node may be many (a bootstrapping, a matrix). Such an operation is a
    /// run of equal numbers.
    pub step: u32,
}

/// A named result: part `part` of the output ciphertext `name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name of the output.
    pub name: Arc<str>,
    /// Which power of the secret key the polynomial belongs to.
    pub part: u16,
    /// The value.
    pub value: ValueId,
}

/// What a program asks of one switching key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// Rows 0 to `rows` − 1 are read.
    pub rows: usize,
    /// The limbs that are read of each row.
    pub limbs: LimbSet,
    /// Limbs of rows that are read, each as often as it is.
    pub reads: usize,
}

/// A kernel program. Made by [`KernelBuilder`] and by the parser; both check it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelProgram {
    /// Its name.
    pub name: Arc<str>,
    /// N.
    pub degree: RingDegree,
    /// The table of moduli that [`LimbId`] indexes.
    pub moduli: Arc<[Modulus]>,
    /// Public polynomials.
    pub plaintexts: Vec<Arc<PublicPolynomial>>,
    /// The types of the values.
    pub values: Vec<ValueType>,
    /// Operations; they define the values in order.
    pub ops: Vec<Op>,
    /// Results.
    pub outputs: Vec<Output>,
}

impl KernelProgram {
    /// The type of `value`.
    pub fn value(&self, value: ValueId) -> &ValueType {
        &self.values[value.index()]
    }

    /// The modulus of `limb`.
    pub fn modulus(&self, limb: LimbId) -> Modulus {
        self.moduli[usize::from(limb.0)]
    }

    /// The inputs in order: name, part, value and its type.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, u16, ValueId, &ValueType)> {
        self.ops.iter().filter_map(|op| match &op.kind {
            OpKind::Input { name, part, value } => Some((&**name, *part, op.results[0], value)),
            _ => None,
        })
    }

    /// The switching keys that the program reads.
    pub fn keys(&self) -> BTreeMap<KeyId, KeyUse> {
        let mut keys = BTreeMap::<KeyId, KeyUse>::new();
        for op in &self.ops {
            let (key, last, read) = match &op.kind {
                OpKind::InnerProduct { key, rows } => (*key, rows.iter().max().copied(), rows.len()),
                OpKind::Key { key, row, .. } => (*key, Some(*row), 1),
                _ => continue,
            };
            let (limbs, rows) = (&self.value(op.results[0]).limbs, last.map_or(0, |last| usize::from(last) + 1));
            let entry = keys.entry(key).or_insert_with(|| KeyUse { rows, limbs: limbs.clone(), reads: 0 });
            entry.rows = entry.rows.max(rows);
            entry.reads += read * limbs.len();
            if !limbs.is_subset(&entry.limbs) {
                entry.limbs = entry.limbs.union(limbs);
            }
        }
        keys
    }
}
