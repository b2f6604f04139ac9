//! Operations of units that read several vectors.

use super::function::Function;
use super::leaf::LeafSubpolynomial;
use polyfabric_program::rns::kernel::{Conversion, LimbSet};
use polyfabric_schemes::rns::LimbId;

/// The computation of an event on the vectors that it reads, in the order of its reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A function of one or two vectors.
    One(Function),
    /// Transforms each vector modulo the limb at the same position in `limbs`.
    Transforms { inverse: bool, limbs: LimbSet },
    /// Base conversion of coefficients.
    Conversion {
        from: LimbSet,
        to: LimbSet,
        /// The representative that the conversion yields.
        conversion: Conversion,
        /// The results are multiplied by it.
        factor: u64,
    },
    /// Element-wise sums of products.
    Sums(Vec<Sum>),
    /// Values of a public polynomial modulo several limbs, from its coefficients modulo one limb, lifted to between
    /// −q/2 and q/2.
    Extension { plaintext: u32, from: LimbId, to: LimbSet },
    /// A vector generated on the chip, such as a key's mask from its seed.
    Generated(LeafSubpolynomial),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum {
    pub limb: u16,
    pub terms: Vec<Term>,
    /// Constant term, reduced modulo `limb`.
    pub addend: u64,
}

/// A constant times one vector, or times the product of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Reduced modulo the limb.
    pub factor: u64,
    /// Index among the vectors read.
    pub a: usize,
    /// Index of the second factor.
    pub b: Option<usize>,
}

impl Step {
    /// Name in printed schedules, and in a mapper's list of the steps of each kind.
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
