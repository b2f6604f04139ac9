//! The chain of levels: the limbs and the scale of ciphertexts at each level.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::LimbId;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

use crate::rns::homomorphic::Scheme;
use crate::rns::kernel::LimbSet;

/// Factor of a message within its ciphertext.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// CKKS: Δ, which multiplies slots before rounding.
    Real(f64),
    /// BGV: the correction factor modulo t, which modulus switches change.
    Factor(u64),
}

impl Scale {
    /// Δ; 1 for BGV, whose messages are integers.
    pub fn real(self) -> f64 {
        match self {
            Self::Real(scale) => scale,
            Self::Factor(_) => 1.0,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(scale) => write!(f, "2^{:.4}", scale.log2()),
            Self::Factor(factor) => write!(f, "factor {factor}"),
        }
    }
}

/// Why limbs and scales do not form a chain of levels.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChainError {
    #[error(
        "level {level} has {limbs} limbs, the level below {below}, and the table has {table} moduli; give every level more limbs than the one below"
    )]
    Limbs { level: usize, limbs: usize, below: usize, table: usize },
    #[error("a chain needs a level; give level 0 at least one limb")]
    Empty,
    #[error(
        "scale 2^{scale:.1} at level 0, whose modulus has {modulus:.1} bits: ciphertexts there cannot be decrypted; lower the scale or take a larger first prime"
    )]
    Scale {
        /// log2 of the scale.
        scale: f64,
        /// log2 of the modulus of level 0.
        modulus: f64,
    },
    #[error("plaintext modulus {t} and modulus {q} of the chain have a common factor; take distinct primes")]
    PlaintextModulus { t: u64, q: u64 },
}

/// The levels of one parameter set. A value at level ℓ has the first `limbs_at(ℓ)` limbs of Q. A rescaling leads to level ℓ − 1 and
/// drops one prime (single-prime scales) or several (double-prime scales).
///
/// Each level has one scale s_ℓ: the product of two values at level ℓ has, after rescaling, exactly the scale of level ℓ − 1:
///
/// s_ℓ² / Π(dropped primes) = s_(ℓ−1).
///
/// So operands of additions always match, whatever their depths (A. Kim, A. Papadimitriou and Y. Polyakov, CT-RSA 2022). For CKKS
/// s_0 is given and the others follow upward, s_ℓ = √(s_(ℓ−1)·Π(dropped)). In this direction, deviations of the primes are halved at
/// each level; downward they would double.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    scheme: Scheme,
    degree: RingDegree,
    moduli: Arc<[Modulus]>,
    limbs_at: Vec<usize>,
    scales: Vec<Scale>,
}

impl Chain {
    /// CKKS: `limbs_at[ℓ]` limbs at level ℓ, scale `scale` at level 0.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn ckks(degree: RingDegree, moduli: &[Modulus], limbs_at: &[usize], scale: f64) -> Result<Self, ChainError> {
        let mut chain = Self::checked(Scheme::Ckks, degree, moduli, limbs_at)?;
        let modulus = chain.log2_modulus(0);
        if !(scale >= 1.0 && scale.log2() < modulus) {
            return Err(ChainError::Scale { scale: scale.log2(), modulus });
        }
        let mut scale = scale;
        chain.scales.push(Scale::Real(scale));
        for level in 1..limbs_at.len() {
            scale = (scale * chain.dropped_product(level)).sqrt();
            chain.scales.push(Scale::Real(scale));
        }
        Ok(chain)
    }

    /// BGV with plaintext modulus `t`: correction factor 1 at the top; modulus switches determine the factors below.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn bgv(degree: RingDegree, moduli: &[Modulus], limbs_at: &[usize], t: Modulus) -> Result<Self, ChainError> {
        let mut chain = Self::checked(Scheme::Bgv { plaintext_modulus: t.value() }, degree, moduli, limbs_at)?;
        let mut factor = 1;
        let mut factors = vec![Scale::Factor(factor)];
        for level in (1..limbs_at.len()).rev() {
            factor = t.multiply(factor, factor);
            for limb in chain.dropped(level).iter() {
                let q = chain.modulus(limb).value();
                let inverse = t.inverse(q % t.value()).ok_or(ChainError::PlaintextModulus { t: t.value(), q })?;
                factor = t.multiply(factor, inverse);
            }
            factors.push(Scale::Factor(factor));
        }
        factors.reverse();
        chain.scales = factors;
        Ok(chain)
    }

    fn checked(scheme: Scheme, degree: RingDegree, moduli: &[Modulus], limbs_at: &[usize]) -> Result<Self, ChainError> {
        if limbs_at.is_empty() {
            return Err(ChainError::Empty);
        }
        let mut below = 0;
        for (level, &limbs) in limbs_at.iter().enumerate() {
            if limbs <= below || limbs > moduli.len() {
                return Err(ChainError::Limbs { level, limbs, below, table: moduli.len() });
            }
            below = limbs;
        }
        Ok(Self { scheme, degree, moduli: moduli.into(), limbs_at: limbs_at.to_vec(), scales: Vec::new() })
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub fn plaintext_modulus(&self) -> Option<u64> {
        match self.scheme {
            Scheme::Ckks => None,
            Scheme::Bgv { plaintext_modulus } => Some(plaintext_modulus),
        }
    }

    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    pub fn moduli(&self) -> &Arc<[Modulus]> {
        &self.moduli
    }

    /// # Panics
    /// If the table has no such limb.
    pub fn modulus(&self, limb: LimbId) -> Modulus {
        self.moduli[limb.index()]
    }

    pub fn top(&self) -> usize {
        self.limbs_at.len() - 1
    }

    /// The limbs of a value at `level` ≤ [`Self::top`].
    pub fn limbs(&self, level: usize) -> LimbSet {
        LimbSet::range(0..self.limbs_at[level] as u16)
    }

    /// The limbs that a rescaling from `level` ≥ 1 drops.
    pub fn dropped(&self, level: usize) -> LimbSet {
        LimbSet::range(self.limbs_at[level - 1] as u16..self.limbs_at[level] as u16)
    }

    /// Product of the primes that a rescaling from `level` ≥ 1 drops.
    pub fn dropped_product(&self, level: usize) -> f64 {
        self.dropped(level).iter().map(|limb| self.modulus(limb).value() as f64).product()
    }

    /// log2 of the modulus at `level`.
    pub fn log2_modulus(&self, level: usize) -> f64 {
        self.log2_product(&self.limbs(level))
    }

    /// log2 of the product of the primes of `limbs`.
    pub fn log2_product(&self, limbs: &LimbSet) -> f64 {
        limbs.iter().map(|limb| (self.modulus(limb).value() as f64).log2()).sum()
    }

    /// s_ℓ: the scale of values at `level`.
    pub fn scale(&self, level: usize) -> Scale {
        self.scales[level]
    }

    fn t(&self) -> Option<Modulus> {
        self.plaintext_modulus().and_then(|t| Modulus::new(t).ok())
    }

    /// The scale of a product.
    pub fn product(&self, a: Scale, b: Scale) -> Scale {
        match (a, b, self.t()) {
            (Scale::Factor(a), Scale::Factor(b), Some(t)) => Scale::Factor(t.multiply(a, b)),
            (a, b, _) => Scale::Real(a.real() * b.real()),
        }
    }

    /// The scale after division by the primes of `limbs`.
    pub fn divided(&self, scale: Scale, limbs: &LimbSet) -> Scale {
        let primes = limbs.iter().map(|limb| self.modulus(limb).value());
        match (scale, self.t()) {
            (Scale::Factor(factor), Some(t)) => {
                let divide =
                    |factor, q: u64| t.inverse(q % t.value()).map_or(factor, |inverse| t.multiply(factor, inverse));
                Scale::Factor(primes.fold(factor, divide))
            }
            (scale, _) => Scale::Real(primes.fold(scale.real(), |scale, q| scale / q as f64)),
        }
    }

    /// The factor that brings a value from scale `from` to scale `to`; exact for BGV.
    pub fn ratio(&self, from: Scale, to: Scale) -> Scale {
        match (from, to, self.t()) {
            (Scale::Factor(from), Scale::Factor(to), Some(t)) => {
                Scale::Factor(t.multiply(to, t.inverse(from).unwrap_or(1)))
            }
            (from, to, _) => Scale::Real(to.real() / from.real()),
        }
    }

    /// Whether values of the two scales can be added. CKKS scales may differ by a factor up to 1 + 2^-40, which is below the rounding of
    /// any ciphertext with a scale below 2^80.
    pub fn alike(&self, a: Scale, b: Scale) -> bool {
        match (a, b) {
            (Scale::Factor(a), Scale::Factor(b)) => a == b,
            (a, b) => (a.real() / b.real() - 1.0).abs() < 2f64.powi(-40),
        }
    }
}
