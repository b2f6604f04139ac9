//! The computations that a kind of operation may do. The machine file decides them, as it decides rates and latencies.
//! So a schedule cannot claim more for its units.

use polyfabric_program::tfhe::kernel::Primitive;

/// A primitive operation of a blind rotation's body, whatever its row or level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Rotation by an amount of the ciphertext.
    Rotate,
    /// Difference of two polynomials.
    Subtract,
    /// Digits of one gadget level.
    Digit,
    /// Digits to the transform domain.
    ForwardTransform,
    /// Product with a key polynomial, added to others in the transform domain or not.
    Multiply,
    /// Back to torus coefficients.
    InverseTransform,
    /// Sum of two polynomials.
    Add,
    /// Any other: no machine has it yet.
    Other,
}

impl Step {
    /// The step that a unit must support to compute `primitive`.
    pub fn of(primitive: Primitive) -> Self {
        match primitive {
            Primitive::Rotate => Self::Rotate,
            Primitive::Subtract => Self::Subtract,
            Primitive::Digit { .. } => Self::Digit,
            Primitive::ForwardTransform => Self::ForwardTransform,
            Primitive::Multiply { .. } | Primitive::MultiplyAccumulate { .. } => Self::Multiply,
            Primitive::InverseTransform => Self::InverseTransform,
            Primitive::Add => Self::Add,
            _ => Self::Other,
        }
    }
}

/// The computation of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Moves values: a value that is written was read. Work counts the read elements, of `element_bytes` bytes each; on
    /// a channel it counts bytes.
    Move { element_bytes: u64 },
    /// Steps of a blind rotation's body.
    Body(BodyUnit),
    /// The accumulators before the first iteration, from test polynomials and rotation amounts, which the event may
    /// also pass on. Work counts bytes that are written.
    Initialise,
    /// Ciphertexts to rotation amounts.
    ModulusSwitch,
    /// Accumulators after the last iteration to ciphertexts.
    SampleExtract,
    /// Key switches, or parts of them.
    KeySwitch,
    /// Linear layers, or parts of them.
    Linear,
    /// Functions of RNS vectors, by name (`rns::step::Step::name`).
    Compute(&'static [&'static str]),
    /// Such a function of RNS vectors of `limbs` limbs, whose parts enter the unit in turn.
    Interleaved { name: &'static str, limbs: usize },
    /// Base conversion of RNS vectors of `sources` limbs, whose parts enter in turn.
    Conversion { sources: usize },
    /// Sums of products of RNS vectors of one limb: `together` sums at a time, of at most `terms` terms each,
    /// `products` of them products of two vectors.
    Sums { together: usize, terms: usize, products: usize },
}

/// A unit of a blind rotation's data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyUnit {
    /// Steps that it can do, one after the other.
    pub steps: &'static [Step],
    /// Whether it reads twiddle factors from a memory of the schedule.
    pub twiddles: bool,
    /// Whether it computes two forward transforms as the real and the imaginary part of one complex transform, and in
    /// its arithmetic.
    pub merged: bool,
}

impl Function {
    pub const MOVE: Self = Self::Move { element_bytes: 1 };

    /// A unit of a blind rotation's data path that does `steps`.
    pub const fn body(steps: &'static [Step]) -> Self {
        Self::Body(BodyUnit { steps, twiddles: false, merged: false })
    }

    /// The units of a CMUX pipeline in stream order: rotator, decomposer, FFT, multipliers, IFFT, accumulator.
    pub const CMUX: [Self; 6] = [
        Self::body(&[Step::Rotate, Step::Subtract]),
        Self::body(&[Step::Digit]),
        Self::body(&[Step::ForwardTransform]),
        Self::body(&[Step::Multiply]),
        Self::body(&[Step::InverseTransform]),
        Self::body(&[Step::Add]),
    ];
}
