//! The levels of a ciphertext: which limbs each has, and the scale that values have there.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::LimbId;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

use crate::rns::homomorphic::Scheme;
use crate::rns::kernel::LimbSet;

/// What a message is multiplied by in its ciphertext.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// CKKS: Δ, by which slots are multiplied before rounding.
    Real(f64),
    /// BGV: the correction factor modulo t, which modulus switching changes.
    Factor(u64),
}

impl Scale {
    /// Δ; 1 for BGV, whose messages are integers as they are.
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

/// Why limbs and scales make no chain of levels.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChainError {
    /// Levels that do not grow, or reach beyond the table.
    #[error(
        "level {level} has {limbs} limbs, the level below {below}, and the table has {table} moduli; give every level more limbs than the one below"
    )]
    Limbs {
        /// The level.
        level: usize,
        /// Its limbs.
        limbs: usize,
        /// Limbs of the level below; 0 below level 0.
        below: usize,
        /// Moduli in the table.
        table: usize,
    },
    /// No level at all.
    #[error("a chain needs a level; give level 0 at least one limb")]
    Empty,
    /// A scale that is not positive, or does not fit its modulus.
    #[error(
        "scale 2^{scale:.1} at level 0, whose modulus has {modulus:.1} bits: nothing can be decrypted; lower the scale or take a larger first prime"
    )]
    Scale {
        /// log2 of the scale.
        scale: f64,
        /// log2 of the modulus of level 0.
        modulus: f64,
    },
    /// A plaintext modulus that shares a factor with the chain.
    #[error("plaintext modulus {t} and modulus {q} of the chain have a common factor; take distinct primes")]
    PlaintextModulus {
        /// t.
        t: u64,
        /// The modulus.
        q: u64,
    },
}

/// The levels of one parameter set. A value at level ℓ has the first `limbs_at(ℓ)` limbs of Q; a rescaling takes it to level
/// ℓ − 1, dropping one prime (single-prime scales) or several (double-prime scales).
///
/// Every level has one scale s_ℓ, such that a product of two values at level ℓ, rescaled, has exactly the scale of level ℓ − 1:
///
/// s_ℓ² / Π(dropped primes) = s_(ℓ−1).
///
/// So additions always match, whatever the depths of their operands (the idea is of A. Kim, A. Papadimitriou and
/// Y. Polyakov, CT-RSA 2022). For CKKS s_0 is given and the others follow upwards, s_ℓ = √(s_(ℓ−1)·Π(dropped)): in this
/// direction deviations of the primes are halved from level to level, downwards they would be doubled.
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

    /// BGV with plaintext modulus `t`: correction factor 1 at the top, and what modulus switching makes of it below.
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

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// t of BGV.
    pub fn plaintext_modulus(&self) -> Option<u64> {
        match self.scheme {
            Scheme::Ckks => None,
            Scheme::Bgv { plaintext_modulus } => Some(plaintext_modulus),
        }
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// The table of moduli.
    pub fn moduli(&self) -> &Arc<[Modulus]> {
        &self.moduli
    }

    /// The modulus of `limb`.
    ///
    /// # Panics
    /// If the table has no such limb.
    pub fn modulus(&self, limb: LimbId) -> Modulus {
        self.moduli[limb.index()]
    }

    /// The highest level.
    pub fn top(&self) -> usize {
        self.limbs_at.len() - 1
    }

    /// The limbs of a value at `level`, at most [`Self::top`].
    pub fn limbs(&self, level: usize) -> LimbSet {
        LimbSet::range(0..self.limbs_at[level] as u16)
    }

    /// The limbs that a rescaling from `level`, at least 1, drops.
    pub fn dropped(&self, level: usize) -> LimbSet {
        LimbSet::range(self.limbs_at[level - 1] as u16..self.limbs_at[level] as u16)
    }

    /// Product of the primes that a rescaling from `level`, at least 1, drops.
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

    /// What a value of scale `from` must be multiplied by to have scale `to`: exact for BGV.
    pub fn ratio(&self, from: Scale, to: Scale) -> Scale {
        match (from, to, self.t()) {
            (Scale::Factor(from), Scale::Factor(to), Some(t)) => {
                Scale::Factor(t.multiply(to, t.inverse(from).unwrap_or(1)))
            }
            (from, to, _) => Scale::Real(to.real() / from.real()),
        }
    }

    /// Whether values of the two scales may be added: equal, or for CKKS closer than 2^-40, which is below any rounding
    /// of a ciphertext whose scale is less than 2^80.
    pub fn alike(&self, a: Scale, b: Scale) -> bool {
        match (a, b) {
            (Scale::Factor(a), Scale::Factor(b)) => a == b,
            (a, b) => (a.real() / b.real() - 1.0).abs() < 2f64.powi(-40),
        }
    }
}
