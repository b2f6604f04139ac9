//! What a unit does that takes several vectors at once.

use super::function::Function;
use super::leaf::LeafSubpolynomial;
use polyfabric_program::rns::kernel::{Conversion, LimbSet};
use polyfabric_schemes::rns::LimbId;

/// What an event computes of the vectors that it reads, in the order in which it names them.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A function of one vector, or of two.
    One(Function),
    /// Of every vector its transform, modulo the limb at its place.
    Transforms {
        /// Values to coefficients, or the other way.
        inverse: bool,
        /// Limbs.
        limbs: LimbSet,
    },
    /// Coefficients modulo some limbs to coefficients modulo others.
    Conversion {
        /// Limbs of what is read.
        from: LimbSet,
        /// Limbs of the results.
        to: LimbSet,
        /// Which representative.
        conversion: Conversion,
    },
    /// Sums of products, element by element.
    Sums(Vec<Sum>),
    /// A public polynomial's values modulo some limbs, made of its coefficients modulo one, between −q/2 and q/2.
    Extension {
        /// The polynomial.
        plaintext: u32,
        /// Limb of what is read.
        from: LimbId,
        /// Limbs of the results.
        to: LimbSet,
    },
    /// A vector made of what a machine carries, as a mask is of its seed.
    Generated(LeafSubpolynomial),
}

/// A sum of products modulo one limb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Modulus of operands and result.
    pub limb: u16,
    /// Terms.
    pub terms: Vec<Term>,
    /// Canonical constant beside them.
    pub addend: u64,
}

/// A constant times one vector that is read, or the product of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Canonical constant.
    pub factor: u64,
    /// Place of a vector among those that are read.
    pub a: usize,
    /// Place of a second one.
    pub b: Option<usize>,
}

impl Step {
    /// Name in texts, and in a mapper's list of what a kind of operation may do.
    pub fn name(&self) -> &'static str {
        match self {
            Self::One(function) => function.name(),
            Self::Transforms { inverse: false, .. } => "ntt",
            Self::Transforms { inverse: true, .. } => "intt",
            Self::Conversion { .. } => "conversion",
            Self::Sums(_) => "sums",
            Self::Extension { .. } => "extension",
            Self::Generated(_) => "mask",
        }
    }
}
