//! What units do to residue vectors.

/// What a functional unit does to one vector, or to two. Elements are residues modulo the limb; transforms and products with a constant
/// reduce what they take in, so that a residue modulo one limb becomes its lift to another. A constant is added to such residues too, but to be
/// reduced the sum has to go through one of those. All others take residues modulo their own limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Coefficients modulo any limb to values modulo `limb`: the unit reduces what it takes in (listing 1, line 7).
    ForwardNtt {
        /// Modulus of the result.
        limb: u16,
        /// Which of a polynomial's vectors ([`super::subpolynomials`]).
        subpolynomial: u16,
    },
    /// Values to coefficients.
    InverseNtt {
        /// Modulus.
        limb: u16,
        /// Which of a polynomial's vectors.
        subpolynomial: u16,
    },
    /// σ of X → X^element.
    Automorphism {
        /// Modulus.
        limb: u16,
        /// Galois element.
        element: u32,
        /// Which of a polynomial's vectors comes out.
        subpolynomial: u16,
        /// Whether the vector holds values instead of coefficients.
        values: bool,
    },
    /// Element-wise product of two vectors.
    Multiply {
        /// Modulus.
        limb: u16,
    },
    /// Every element times a constant of the instruction.
    MultiplyConstant {
        /// Modulus of the result; the operand may be modulo another limb.
        limb: u16,
        /// The constant, canonical.
        constant: u32,
    },
    /// Element-wise sum of two vectors.
    Add {
        /// Modulus.
        limb: u16,
    },
    /// First vector minus second.
    Subtract {
        /// Modulus.
        limb: u16,
    },
    /// Every element negated.
    Negate {
        /// Modulus.
        limb: u16,
    },
    /// Every element plus a constant of the instruction, less the modulus if that is not below 0: congruent, and reduced if the element was.
    AddConstant {
        /// Modulus of the result; the operand may be modulo another limb.
        limb: u16,
        /// The constant, canonical.
        constant: u32,
        /// Whether the vector holds values instead of coefficients.
        values: bool,
    },
}

impl Function {
    /// Name in texts.
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

    /// Number of operands.
    pub fn operands(self) -> usize {
        match self {
            Self::Multiply { .. } | Self::Add { .. } | Self::Subtract { .. } => 2,
            _ => 1,
        }
    }

    /// Whether operands may be words that are not reduced modulo the limb, as residues modulo another one are not.
    pub fn takes_any_word(self) -> bool {
        matches!(self, Self::ForwardNtt { .. } | Self::MultiplyConstant { .. } | Self::AddConstant { .. })
    }

    /// Whether the result of such operands is not reduced either.
    pub fn leaves_unreduced(self) -> bool {
        matches!(self, Self::AddConstant { .. })
    }
}
