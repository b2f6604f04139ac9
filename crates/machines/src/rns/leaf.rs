//! What off-chip memory holds from the start.

use polyfabric_schemes::rns::{KeyId, LimbId, Part};
use std::fmt;

/// A limb of a polynomial that lies in off-chip memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// A limb of an input of the program.
    Input {
        /// Which of the program's inputs.
        index: usize,
        /// Limb.
        limb: LimbId,
    },
    /// A limb of a public polynomial.
    Plaintext {
        /// Index into the program's plaintexts.
        plaintext: u32,
        /// Limb.
        limb: LimbId,
        /// Whether values are wanted instead of coefficients.
        values: bool,
    },
    /// A limb of a switching key: a vector of a hint.
    Hint {
        /// Key.
        key: KeyId,
        /// Row.
        row: u16,
        /// Half of the row.
        part: Part,
        /// Limb.
        limb: LimbId,
    },
}

impl Leaf {
    /// Its limb.
    pub fn limb(self) -> LimbId {
        match self {
            Self::Input { limb, .. } | Self::Plaintext { limb, .. } | Self::Hint { limb, .. } => limb,
        }
    }
}

/// One vector of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeafSubpolynomial {
    /// The polynomial.
    pub leaf: Leaf,
    /// Which of its vectors.
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
