//! The choices of the lowering that a runtime or a machine makes.

use polyfabric_kernels::fixed::FixedFftSpec;
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_schemes::tfhe::noise::{PhaseRounding, Transform};
use serde::{Deserialize, Serialize};

/// Where the products of one column of an external product are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulation {
    /// In the transform domain: one inverse transform a column (Morphling's output reuse, section IV-B).
    TransformDomain,
    /// In the coefficient domain: one inverse transform a product.
    CoefficientDomain,
    /// In both domains (Strix, section IV-B): the rows of a block are summed in the transform domain, and these sums in the
    /// coefficient domain. A column takes one inverse transform per block. With unrolled keys, the same as `CoefficientDomain`.
    Split {
        /// Accumulator polynomials per block; at least 1.
        polynomials: u32,
        /// Gadget levels per block; at least 1.
        levels: u32,
    },
}

/// How often a decomposed polynomial is transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputTransform {
    /// Once, for all columns (Morphling's input reuse, section IV-B).
    Shared,
    /// Once for each product.
    PerProduct,
}

/// Position of the key switch relative to the blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySwitchOrder {
    /// No key switch. Inputs are under the small key, lookup results under the large one, so lookups cannot be chained unless
    /// the set has one LWE key.
    None,
    /// Key switch, then modulus switch and blind rotation. All program values are under the large key.
    Before,
    /// Blind rotation, then key switch. All program values are under the small key.
    After,
}

/// The arithmetic of polynomial products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// Exact products modulo q.
    ExactInteger,
    /// Folded negacyclic FFT in binary64.
    F64,
    /// Folded negacyclic FFT in fixed point.
    Fixed(Box<FixedFftSpec>),
}

impl Arithmetic {
    /// The noise that this arithmetic adds to products.
    pub fn transform(&self, parameters: &Parameters) -> Transform {
        match self {
            Self::ExactInteger => Transform::Exact,
            Self::F64 => Transform::f64_here(),
            Self::Fixed(spec) => Transform::fixed(spec, parameters),
        }
    }
}

/// Parameters of the lowering from homomorphic to kernel program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TfheLowering {
    pub accumulation: Accumulation,
    pub input_transform: InputTransform,
    pub key_switch: KeySwitchOrder,
    /// Secret bits per blind-rotation iteration: 1, 2 or 4, or 1 or a block of a block-binary key. The evaluation key must be generated for the
    /// same number.
    pub key_unrolling: u32,
    /// Rounding of phases before a blind rotation.
    #[serde(default)]
    pub rounding: PhaseRounding,
    /// Whether lookups of one operand share a blind rotation, with their tables interleaved in one test polynomial.
    #[serde(default)]
    pub shared_rotations: bool,
    pub arithmetic: Arithmetic,
}

impl TfheLowering {
    /// Shared input transforms, accumulation in the transform domain, no unrolling, one lookup per rotation: the machines' choice.
    pub fn new(key_switch: KeySwitchOrder, arithmetic: Arithmetic) -> Self {
        Self {
            accumulation: Accumulation::TransformDomain,
            input_transform: InputTransform::Shared,
            key_switch,
            key_unrolling: 1,
            rounding: PhaseRounding::Nearest,
            shared_rotations: false,
            arithmetic,
        }
    }

    /// The CPU's choice: [`Self::new`] in binary64, with centered phases and shared rotations. Both cost a few additions; the first
    /// reduces the noise, the second the time.
    pub fn processor(key_switch: KeySwitchOrder) -> Self {
        Self { rounding: PhaseRounding::Centred, shared_rotations: true, ..Self::new(key_switch, Arithmetic::F64) }
    }
}
