//! Identifiers of limbs, and the domains of their words.

use serde::{Deserialize, Serialize};

/// Identifies a limb: an index into a [`super::Ring`]'s table of moduli.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LimbId(pub u16);

impl LimbId {
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// `count` limbs starting at number `first`.
    pub fn range(first: usize, count: usize) -> Vec<Self> {
        (first..first + count).map(|index| Self(index as u16)).collect()
    }
}

impl std::fmt::Display for LimbId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Meaning of a polynomial's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Domain {
    /// Coefficients, starting with that of X^0.
    Coefficient,
    /// Values at the odd powers of ψ, in the bit-reversed order of [`polyfabric_kernels::ntt::Ntt`].
    Evaluation,
}
