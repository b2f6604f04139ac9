//! What operations there are, and what each means.

use super::{LimbSet, ValueType};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::rns::{KeyId, Part};
use std::sync::Arc;

/// How residues modulo one set of primes, with product B, become residues modulo others.
///
/// A number x given modulo B becomes x + u·B; the choices differ in u and in cost. With α primes b_i and
/// y_i = x·(B/b_i)^-1 mod b_i, x ≡ Σ y_i·(B/b_i) mod B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Σ y_i·(B/b_i) with y_i in [0, b_i): x + u·B for x in [0, B) and some 0 ≤ u < α (J.-C. Bajard et al., SAC 2016).
    Approximate,
    /// The same with y_i in [−floor(b_i/2), b_i − floor(b_i/2)): a number within α·B/2 of 0, without bias. As cheap as
    /// [`Self::Approximate`]: the shift is one addition a source limb, and a constant a target limb.
    Balanced,
    /// The representative of x in [−B/2, B/2), exactly.
    Centred,
}

/// A part of a single limb's residue, for digits smaller than a limb.
///
/// The residue x in [0, q) is cut into `count` digits of `bits` bits, balanced but for the last one:
/// x = Σ_k d_k·2^(k·bits), with d_k in [−2^(bits−1), 2^(bits−1)) for k < count − 1. So d_k is the k-th group of bits of
/// x + Σ_(j < count−1) 2^(bits−1)·2^(j·bits), less 2^(bits−1); the last one is what is left, and is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DigitWindow {
    /// Bits of a digit: 1 to 60.
    pub bits: u32,
    /// k.
    pub index: u32,
    /// Digits of a limb: (count − 1)·bits < 60.
    pub count: u32,
}

/// What an operation does.
///
/// Unless it says otherwise an operation works on each limb alone, operands have the same limbs in the same domain,
/// and the result has them too.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// A polynomial that the caller gives: part `part` of the ciphertext `name`.
    Input {
        /// Name of the input.
        name: Arc<str>,
        /// Which power of the secret key the polynomial belongs to.
        part: u16,
        /// What must be given.
        value: ValueType,
    },
    /// A public polynomial of the program.
    Plaintext {
        /// Index into [`super::KernelProgram::plaintexts`].
        plaintext: u32,
        /// The limbs and the domain it is wanted in.
        value: ValueType,
    },
    /// One polynomial of a switching key: b or a of row `row`. Evaluation domain.
    Key {
        /// The key.
        key: KeyId,
        /// The row: which term of the gadget it belongs to.
        row: u16,
        /// b or a.
        part: Part,
        /// The limbs that are wanted.
        limbs: LimbSet,
    },
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// −a.
    Negate,
    /// a·b, in the evaluation domain.
    Multiply,
    /// a·b + c, in the evaluation domain.
    MultiplyAdd,
    /// a·w, w being an integer given by its residues.
    Scale {
        /// One canonical residue for each limb.
        factors: Arc<[u64]>,
    },
    /// a + w, w being a constant polynomial given by its residues: added to all values, or to coefficient 0.
    AddConstant {
        /// One canonical residue for each limb.
        addends: Arc<[u64]>,
    },
    /// Coefficients to values.
    ForwardNtt,
    /// Values to coefficients.
    InverseNtt,
    /// a(X^g), in either domain.
    Automorphism {
        /// g.
        element: GaloisElement,
    },
    /// Some of the limbs.
    SelectLimbs {
        /// Which; a subset of the operand's.
        limbs: LimbSet,
    },
    /// The limbs of all operands, which are disjoint, in one domain.
    Concat,
    /// Residues modulo other primes, in the coefficient domain. From a single limb this is a *lift*: [`Conversion::Approximate`]
    /// takes the residue from [0, q), the two others from [−q/2, q/2).
    BaseConversion {
        /// The limbs to convert to; none of the operand's.
        to: LimbSet,
        /// Which representative.
        conversion: Conversion,
    },
    /// One digit of a single limb, as residues modulo `to`, in the coefficient domain.
    SubDigit {
        /// Which bits.
        window: DigitWindow,
        /// The limbs of the result; the operand's limb may be one.
        to: LimbSet,
    },
    /// Composite. One digit of the operand, raised to more limbs, in the evaluation domain: the first half of a key switch.
    ///
    /// Without a window: the residues modulo `digit` are kept, those modulo the rest of `to` come by base conversion. With one:
    /// [`Self::SubDigit`] of the one limb of `digit`. The operand may be in either domain.
    ModUp {
        /// The limbs of the digit: a subset of the operand's.
        digit: LimbSet,
        /// For digits smaller than a limb: which bits; then `digit` is one limb.
        window: Option<DigitWindow>,
        /// The limbs of the result: all of the digit's, and more.
        to: LimbSet,
        /// Which representative.
        conversion: Conversion,
    },
    /// Composite. Two values, Σ_i (operand i)·b_r(i) and Σ_i (operand i)·a_r(i), with rows (b_r, a_r) of a switching key, or of
    /// a ring-GSW ciphertext. Evaluation domain; the key has at least the operands' limbs.
    InnerProduct {
        /// The key.
        key: KeyId,
        /// r(i), the key's row for each operand.
        rows: Arc<[u16]>,
    },
    /// Composite. Division by B, the product of the limbs `drop`, with rounding: (a − δ)/B modulo the other limbs,
    /// δ ≡ a mod B. The evaluation domain. It is the end of a key switch if the special limbs are dropped, a rescaling if
    /// limbs of Q are, and both at once if both are.
    ///
    /// Without a plaintext modulus, δ is `conversion` of a's residues modulo B: with [`Conversion::Approximate`] the
    /// quotient is floor(a/B) − u. With plaintext modulus t, δ = t·(conversion of a·t^-1 mod B), so δ ≡ 0 mod t: the message
    /// modulo t is multiplied by B^-1 and not otherwise changed.
    ModDown {
        /// The limbs to drop, not all of the operand's.
        drop: LimbSet,
        /// How δ is rounded.
        conversion: Conversion,
        /// t, for BGV: at least 2, and without a common factor with B.
        plaintext_modulus: Option<u64>,
    },
}

impl OpKind {
    /// The operation's name in the text form and in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::Plaintext { .. } => "plaintext",
            Self::Key { .. } => "key",
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Negate => "negate",
            Self::Multiply => "multiply",
            Self::MultiplyAdd => "multiply_add",
            Self::Scale { .. } => "scale",
            Self::AddConstant { .. } => "add_constant",
            Self::ForwardNtt => "forward_ntt",
            Self::InverseNtt => "inverse_ntt",
            Self::Automorphism { .. } => "automorphism",
            Self::SelectLimbs { .. } => "select_limbs",
            Self::Concat => "concat",
            Self::BaseConversion { .. } => "base_conversion",
            Self::SubDigit { .. } => "sub_digit",
            Self::ModUp { .. } => "mod_up",
            Self::InnerProduct { .. } => "inner_product",
            Self::ModDown { .. } => "mod_down",
        }
    }
}
