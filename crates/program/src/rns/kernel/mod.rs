//! The kernel program: operations on polynomials in residue form, which every runtime and every machine executes.
//!
//! A value is one polynomial: a list of limbs in one domain. A ciphertext is several values. Operations are in SSA form and define
//! one or two values; their operands are earlier values. Most operations work on each limb separately. [`OpKind::BaseConversion`] and
//! [`OpKind::SubDigit`] combine limbs, as do the composite operations, whose [`Body`] of other operations defines their meaning. All
//! arithmetic is exact modulo the primes, so a fused implementation gives the same words as the body.
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
pub use rounds::{Ports, Round, RoundsError};

use crate::rns::homomorphic::NodeId;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::{Limb, Modulus};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId};
use std::collections::BTreeMap;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u32);

impl OpId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Type of a value: residues of one polynomial modulo `limbs`, all in `domain`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    /// At least one.
    pub limbs: LimbSet,
    /// Coefficients, or evaluations in bit-reversed order.
    pub domain: Domain,
}

impl ValueType {
    pub fn evaluation(limbs: LimbSet) -> Self {
        Self { limbs, domain: Domain::Evaluation }
    }

    pub fn coefficient(limbs: LimbSet) -> Self {
        Self { limbs, domain: Domain::Coefficient }
    }
}

/// A public polynomial of the program: all N signed integer coefficients in natural order.
///
/// Its residues modulo any limbs are computed on use, so one copy serves all levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicPolynomial {
    /// Coefficients below 2^63 in absolute value.
    Narrow(Arc<[i64]>),
    /// Coefficients below 2^127 in absolute value, for large scales.
    Wide(Arc<[i128]>),
}

impl PublicPolynomial {
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(coefficients) => coefficients.len(),
            Self::Wide(coefficients) => coefficients.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

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

    /// Address of the coefficients, which identifies shared polynomials.
    pub fn address(&self) -> usize {
        match self {
            Self::Narrow(coefficients) => coefficients.as_ptr().addr(),
            Self::Wide(coefficients) => coefficients.as_ptr().addr(),
        }
    }

    /// Whether all coefficients are within ±q/2, so that their residues modulo q determine them.
    pub fn fits(&self, modulus: Modulus) -> bool {
        let half = modulus.value() / 2;
        match self {
            Self::Narrow(coefficients) => coefficients.iter().all(|coefficient| coefficient.unsigned_abs() <= half),
            Self::Wide(coefficients) => {
                coefficients.iter().all(|coefficient| coefficient.unsigned_abs() <= u128::from(half))
            }
        }
    }

    /// The largest k such that the polynomial is a polynomial in X^(2^k), as are encodings of repeating vectors. Limited so that at least
    /// [`RingDegree::MIN`] coefficients remain.
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

    /// Residues modulo `limb` of every 2^`log2_apart`-th coefficient, from coefficient 0 on.
    ///
    /// # Panics
    /// Unless `target` has one word for each of them.
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

    /// Residues modulo `limb` of `target.len()` coefficients from `start` on.
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

    /// Residues modulo `modulus` in natural order.
    ///
    /// # Panics
    /// Unless `target` has one word per coefficient.
    pub fn residues(&self, modulus: Modulus, target: &mut [u64]) {
        assert_eq!(target.len(), self.len(), "a word for each coefficient");
        self.residues_from(Limb::new(modulus), 0, target);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub kind: OpKind,
    pub operands: Vec<ValueId>,
    /// The values it defines, with consecutive numbers: one, or two for [`OpKind::InnerProduct`].
    pub results: Vec<ValueId>,
    /// The first homomorphic node that needs this operation.
    pub origin: Option<NodeId>,
    /// Index of the ciphertext operation that it belongs to, a run of equal numbers. A node may consist of many ciphertext operations
    /// (a bootstrapping, a matrix).
    pub step: u32,
}

/// Part `part` of the output ciphertext `name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: Arc<str>,
    /// The power of the secret key that the polynomial belongs to.
    pub part: u16,
    pub value: ValueId,
}

/// How a program uses one switching key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// Reads rows 0 to `rows` − 1.
    pub rows: usize,
    /// The limbs read of each row.
    pub limbs: LimbSet,
    /// Number of limb reads, with repetitions.
    pub reads: usize,
}

/// A kernel program. [`KernelBuilder`] and the parser construct and check one.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelProgram {
    pub name: Arc<str>,
    pub degree: RingDegree,
    /// Indexed by [`LimbId`].
    pub moduli: Arc<[Modulus]>,
    pub plaintexts: Vec<Arc<PublicPolynomial>>,
    /// Types of the values.
    pub values: Vec<ValueType>,
    /// They define the values in order.
    pub ops: Vec<Op>,
    pub outputs: Vec<Output>,
}

impl KernelProgram {
    pub fn value(&self, value: ValueId) -> &ValueType {
        &self.values[value.index()]
    }

    pub fn modulus(&self, limb: LimbId) -> Modulus {
        self.moduli[usize::from(limb.0)]
    }

    /// Name, part, value and type of each input, in order.
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
