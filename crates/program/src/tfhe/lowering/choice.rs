//! The typed choices that a runtime or a machine supplies to the lowering.

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
    /// In both: the rows of so many polynomials and gadget levels at a time are summed in the transform domain, and these sums
    /// in the coefficient domain (Strix, section IV-B). As many inverse transforms a column as there are such blocks of rows; with
    /// unrolled keys, as in the coefficient domain.
    Split {
        /// Polynomials of the accumulator whose rows are summed at a time; at least 1.
        polynomials: u32,
        /// Gadget levels of each of them; at least 1.
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

/// Where the key switch stands relative to the blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySwitchOrder {
    /// No key switch: look-ups cannot be chained, unless the set has one LWE key. Inputs under the small key, look-up results under the
    /// large one.
    None,
    /// Key switch, then modulus switch and blind rotation. All program values are under the large key.
    Before,
    /// Blind rotation, then key switch. All program values are under the small key.
    After,
}

/// The arithmetic that carries out polynomial products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// Exact products modulo q.
    ExactInteger,
    /// Folded negacyclic FFT in binary64.
    F64,
    /// Folded negacyclic FFT in fixed point of the given widths.
    Fixed(Box<FixedFftSpec>),
}

impl Arithmetic {
    /// The noise that this arithmetic adds to products with `parameters`, for the noise formulas.
    pub fn transform(&self, parameters: &Parameters) -> Transform {
        match self {
            Self::ExactInteger => Transform::Exact,
            Self::F64 => Transform::f64_here(),
            Self::Fixed(spec) => Transform::fixed(spec, parameters),
        }
    }
}

/// How a homomorphic program becomes a kernel program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TfheLowering {
    /// Domain of accumulation.
    pub accumulation: Accumulation,
    /// Sharing of input transforms.
    pub input_transform: InputTransform,
    /// Place of the key switch.
    pub key_switch: KeySwitchOrder,
    /// Secret bits a blind-rotation iteration consumes: 1, 2 or 4. The server key must be made for as many.
    pub key_unrolling: u32,
    /// How phases are rounded before a blind rotation.
    #[serde(default)]
    pub rounding: PhaseRounding,
    /// Whether look-ups that belong together share one blind rotation, their tables side by side in one test polynomial.
    #[serde(default)]
    pub shared_rotations: bool,
    /// Arithmetic of the products.
    pub arithmetic: Arithmetic,
}

impl TfheLowering {
    /// Input and output reuse, no unrolling, every look-up by itself: what the machines execute.
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

    /// What a processor runs: as [`Self::new`] in binary64, with centred phases and shared rotations, of which each takes noise or time away
    /// for a few additions.
    pub fn processor(key_switch: KeySwitchOrder) -> Self {
        Self { rounding: PhaseRounding::Centred, shared_rotations: true, ..Self::new(key_switch, Arithmetic::F64) }
    }
}
