//! The names of limbs, and the domains that their words are in.

use serde::{Deserialize, Serialize};

/// A residue number: an index into a [`super::Ring`]'s table of moduli.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LimbId(pub u16);

impl LimbId {
    /// The index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The `count` limbs from number `first` on.
    pub fn range(first: usize, count: usize) -> Vec<Self> {
        (first..first + count).map(|index| Self(index as u16)).collect()
    }
}

impl std::fmt::Display for LimbId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What the words of a polynomial are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Domain {
    /// Coefficients, of X^0 first.
    Coefficient,
    /// Values at the odd powers of ψ, in the bit-reversed order of [`polyfabric_kernels::ntt::Ntt`].
    Evaluation,
}
