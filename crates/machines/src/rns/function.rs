//! Functions that units apply to vectors of residues.

/// Function of a unit on one or two vectors. Operands are residues modulo the function's limb, except where
/// [`Self::takes_any_word`] holds. Transforms and products with a constant reduce their operand, so a residue modulo
/// one limb becomes its lift to another. A constant may also be added to an unreduced residue; one of those functions
/// must then reduce the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Coefficients modulo any limb to values modulo `limb`: the unit reduces its input (listing 1, line 7).
    ForwardNtt {
        limb: u16,
        /// Index among the vectors of a polynomial ([`super::subpolynomials`]).
        subpolynomial: u16,
    },
    /// Values to coefficients.
    InverseNtt {
        limb: u16,
        subpolynomial: u16,
    },
    /// The Galois automorphism X → X^element.
    Automorphism {
        limb: u16,
        element: u32,
        /// Index of the resulting vector.
        subpolynomial: u16,
        /// Whether the vector holds values instead of coefficients.
        values: bool,
    },
    Multiply {
        limb: u16,
    },
    /// Every element times an immediate constant.
    MultiplyConstant {
        /// Modulus of the result; the operand may be modulo another limb.
        limb: u16,
        /// Reduced modulo `limb`.
        constant: u32,
    },
    Add {
        limb: u16,
    },
    Subtract {
        limb: u16,
    },
    Negate {
        limb: u16,
    },
    /// Every element plus an immediate constant, less the modulus if the sum reaches it. The result is reduced if the
    /// element was.
    AddConstant {
        /// Modulus of the result; the operand may be modulo another limb.
        limb: u16,
        /// Reduced modulo `limb`.
        constant: u32,
        /// Whether the vector holds values instead of coefficients.
        values: bool,
    },
}

impl Function {
    /// Name in printed schedules.
    pub fn name(self) -> &'static str {
        match self {
            Self::ForwardNtt { .. } => "ntt",
            Self::InverseNtt { .. } => "intt",
            Self::Automorphism { .. } => "aut",
            Self::Multiply { .. } => "mul",
            Self::MultiplyConstant { .. } => "mulc",
            Self::Add { .. } => "add",
            Self::Subtract { .. } => "sub",
            Self::Negate { .. } => "neg",
            Self::AddConstant { .. } => "addc",
        }
    }

    /// Modulus of the result.
    pub fn limb(self) -> u16 {
        match self {
            Self::ForwardNtt { limb, .. }
            | Self::InverseNtt { limb, .. }
            | Self::Automorphism { limb, .. }
            | Self::Multiply { limb }
            | Self::MultiplyConstant { limb, .. }
            | Self::Add { limb }
            | Self::Subtract { limb }
            | Self::Negate { limb }
            | Self::AddConstant { limb, .. } => limb,
        }
    }

    pub fn operands(self) -> usize {
        match self {
            Self::Multiply { .. } | Self::Add { .. } | Self::Subtract { .. } => 2,
            _ => 1,
        }
    }

    /// Whether operands may be any words, such as residues modulo another limb.
    pub fn takes_any_word(self) -> bool {
        matches!(self, Self::ForwardNtt { .. } | Self::MultiplyConstant { .. } | Self::AddConstant { .. })
    }

    /// Whether an unreduced operand gives an unreduced result.
    pub fn leaves_unreduced(self) -> bool {
        matches!(self, Self::AddConstant { .. })
    }
}
