//! Limbs in off-chip memory when a program starts.

use polyfabric_schemes::rns::{KeyId, LimbId, Part};
use std::fmt;

/// A limb in off-chip memory when the program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    Input {
        index: usize,
        limb: LimbId,
    },
    /// A limb of a public polynomial.
    Plaintext {
        plaintext: u32,
        limb: LimbId,
        /// Whether the limb is in the evaluation domain.
        values: bool,
    },
    /// A limb of a switching key; F1's paper calls it a hint.
    Hint {
        key: KeyId,
        row: u16,
        part: Part,
        limb: LimbId,
    },
}

impl Leaf {
    pub fn limb(self) -> LimbId {
        match self {
            Self::Input { limb, .. } | Self::Plaintext { limb, .. } | Self::Hint { limb, .. } => limb,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeafSubpolynomial {
    pub leaf: Leaf,
    /// Index among the vectors of the limb.
    pub subpolynomial: u16,
}

impl fmt::Display for LeafSubpolynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limb = self.leaf.limb().index();
        match self.leaf {
            Leaf::Input { index, .. } => write!(f, "limb {limb} of input {index}")?,
            Leaf::Plaintext { plaintext, .. } => write!(f, "limb {limb} of plaintext {plaintext}")?,
            Leaf::Hint { key, row, part, .. } => write!(f, "limb {limb} of row {row}, {part:?}, of key {key}")?,
        }
        if self.subpolynomial > 0 { write!(f, ", subpolynomial {}", self.subpolynomial) } else { Ok(()) }
    }
}
