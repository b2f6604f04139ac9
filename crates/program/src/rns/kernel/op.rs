//! The operations of kernel programs and their exact meaning.

use super::{LimbSet, ValueType};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::rns::{KeyId, Part};
use std::sync::Arc;

/// How base conversion chooses the representative: from residues modulo primes with product B to residues modulo other primes.
///
/// A number x modulo B becomes x + u·B; the variants differ in u and in cost. With α primes b_i and y_i = x·(B/b_i)^-1 mod b_i,
/// x ≡ Σ y_i·(B/b_i) mod B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Σ y_i·(B/b_i) with y_i in [0, b_i): x + u·B for x in [0, B) and some 0 ≤ u < α (J.-C. Bajard et al., SAC 2016).
    Approximate,
    /// As [`Self::Approximate`], with y_i in [−floor(b_i/2), b_i − floor(b_i/2)): a number within ±α·B/2, unbiased. It costs only one
    /// more addition per source limb and one constant per target limb.
    Balanced,
    /// The representative of x in [−B/2, B/2), exactly.
    Centred,
}

/// One digit of a limb's residue, for digits smaller than a limb.
///
/// The residue x in [0, q) is divided into `count` digits of `bits` bits: x = Σ_k d_k·2^(k·bits). All digits except the last are
/// balanced, d_k in [−2^(bits−1), 2^(bits−1)). So d_k is the k-th group of bits of x + Σ_(j < count−1) 2^(bits−1)·2^(j·bits), minus
/// 2^(bits−1). The last digit is the remainder and is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DigitWindow {
    /// Bits per digit, 1 to 60.
    pub bits: u32,
    /// k.
    pub index: u32,
    /// Digits per limb: (count − 1)·bits < 60.
    pub count: u32,
}

/// The kind of an operation.
///
/// By default, an operation works on each limb separately; its operands have equal limbs and domain, which the result inherits.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// Part `part` of the input ciphertext `name`.
    Input {
        name: Arc<str>,
        /// The power of the secret key that the polynomial belongs to.
        part: u16,
        value: ValueType,
    },
    /// A public polynomial of the program.
    Plaintext {
        /// Index into [`super::KernelProgram::plaintexts`].
        plaintext: u32,
        /// Requested limbs and domain.
        value: ValueType,
    },
    /// One polynomial of a switching key, b or a of row `row`, in the evaluation domain.
    Key {
        key: KeyId,
        /// Index of the gadget term.
        row: u16,
        /// b or a.
        part: Part,
        /// Requested limbs.
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
    /// a·w for an integer w given by its residues.
    Scale {
        /// One canonical residue per limb.
        factors: Arc<[u64]>,
    },
    /// a + w for a constant polynomial w given by its residues: added to all evaluations, or to coefficient 0.
    AddConstant {
        /// One canonical residue per limb.
        addends: Arc<[u64]>,
    },
    /// Coefficients to evaluations.
    ForwardNtt,
    /// Evaluations to coefficients.
    InverseNtt,
    /// a(X^g), in either domain.
    Automorphism {
        /// g.
        element: GaloisElement,
    },
    /// A subset of the operand's limbs.
    SelectLimbs { limbs: LimbSet },
    /// The limbs of all operands, which are disjoint and in one domain.
    Concat,
    /// Residues modulo other primes, in the coefficient domain. From a single limb it is a *lift*: [`Conversion::Approximate`] uses the
    /// representative in [0, q), the others that in [−q/2, q/2).
    BaseConversion {
        /// Target limbs, disjoint from the operand's.
        to: LimbSet,
        /// The representative.
        conversion: Conversion,
    },
    /// One digit of a single limb as residues modulo `to`, in the coefficient domain.
    SubDigit {
        /// The bits of the digit.
        window: DigitWindow,
        /// Target limbs, possibly including the operand's limb.
        to: LimbSet,
    },
    /// Composite. Raises one digit of the operand to more limbs, in the evaluation domain: the first half of a key switch.
    ///
    /// Without a window, it keeps the residues modulo `digit` and converts to the rest of `to`. With a window, it is
    /// [`Self::SubDigit`] of the single limb of `digit`. The operand may be in either domain.
    ModUp {
        /// The digit's limbs, a subset of the operand's.
        digit: LimbSet,
        /// For digits smaller than a limb: the bits; then `digit` is one limb.
        window: Option<DigitWindow>,
        /// Target limbs: all of the digit's, and more.
        to: LimbSet,
        /// The representative.
        conversion: Conversion,
    },
    /// Composite. Two values, Σ_i (operand i)·b_r(i) and Σ_i (operand i)·a_r(i), with rows (b_r, a_r) of a switching key or of a
    /// ring-GSW ciphertext. Evaluation domain; the key has at least the operands' limbs.
    InnerProduct {
        key: KeyId,
        /// r(i), the key's row for each operand.
        rows: Arc<[u16]>,
    },
    /// Composite. Divides by B, the product of the limbs `drop`, with rounding: (a − δ)/B modulo the other limbs, where δ ≡ a mod B.
    /// Evaluation domain. It is the ModDown of a key switch if special limbs are dropped, a rescaling if limbs of Q are, and both at
    /// once if both are.
    ///
    /// Without a plaintext modulus, δ is `conversion` of a's residues modulo B: with [`Conversion::Approximate`] the quotient is
    /// floor(a/B) − u. With plaintext modulus t, δ = t·(conversion of a·t^-1 mod B), so δ ≡ 0 mod t: the message modulo t is multiplied
    /// by B^-1 and otherwise unchanged.
    ModDown {
        /// The limbs to drop, not all of the operand's.
        drop: LimbSet,
        /// The representative of δ.
        conversion: Conversion,
        /// t for BGV: at least 2 and coprime to B.
        plaintext_modulus: Option<u64>,
    },
}

impl OpKind {
    /// Name in the text form and in messages.
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
