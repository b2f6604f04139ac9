//! Parameter sets as literals and as checked [`Parameters`]; only [`Parameters::check`] makes the second from the first.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_kernels::{RingDegree, RingDegreeError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::estimates;
use crate::rns::security::{self, Estimate};
use crate::rns::{
    ChainError, ChainLink, Gadget, GadgetError, GadgetLiteral, KeyId, KeyStorage, KeySwitchVariant, LimbId,
    NoiseDistribution, Ring, RingError, SecretDistribution, chain, joint_problem,
};

/// The class of primes for the moduli.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrimeKind {
    /// q ≡ 1 mod 2N: every prime with an NTT.
    #[default]
    OfDegree,
    /// Also q ≡ 1 mod 2^16, as a word-level multiplier requires (F1, section 5.3).
    #[serde(rename = "1-mod-2^16")]
    OneModWord,
}

/// Decomposition of the key switch ([`crate::rns::gadget`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum GadgetChoice {
    /// Digits of α limbs, with the special primes.
    Hybrid {
        /// α.
        digit_limbs: usize,
    },
    /// F1's Listing 1: one digit per limb and no special primes.
    PerLimb,
    /// One digit of all limbs, with P as large as Q.
    OneDigit,
    /// One digit per limb, cut into digits of b bits.
    SubLimb {
        /// b.
        bits: u32,
    },
}

/// Which phase of a bootstrapping comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootstrapOrder {
    /// Slots to coefficients at the end.
    #[default]
    Full,
    /// Slots to coefficients at the beginning, at the lowest levels.
    Slim,
}

/// How bootstrapping reduces modulo q_0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootstrapMethod {
    /// A cosine polynomial followed by double-angle steps.
    #[default]
    Cosine,
    /// The imaginary part of the Taylor polynomial of the complex exponential after squarings (J. H. Cheon, K. Han, A. Kim, M. Kim and
    /// Y. Song, EUROCRYPT 2018).
    Exponential,
    /// No reduction but lookup tables of integers: the complex exponential by Chebyshev interpolation and squarings, then polynomials of it
    /// (A. Alexandru, A. Kim, Y. Polyakov, ePrint 2024/1623). Requires the order *slim*.
    Tables {
        /// Levels of a table: ⌈log2 p⌉ for integers modulo p.
        levels: u32,
    },
}

impl BootstrapMethod {
    /// Levels of the tables; 0 for the other methods.
    pub fn table_levels(self) -> u32 {
        match self {
            Self::Tables { levels } => levels,
            Self::Cosine | Self::Exponential => 0,
        }
    }
}

/// Unchecked bootstrapping parameters: how the phases use the upper levels. The lowering derives polynomials and matrices from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapLiteral {
    /// Which phase comes last.
    #[serde(default)]
    pub order: BootstrapOrder,
    /// How the modular reduction is done.
    #[serde(default)]
    pub method: BootstrapMethod,
    /// Levels of coefficients to slots.
    pub coefficients_to_slots: u32,
    /// Levels of slots to coefficients.
    pub slots_to_coefficients: u32,
    /// K: integer parts up to K - 1 in absolute value are removed.
    pub range: u32,
    /// Degree of the cosine's polynomial, or of the exponential's.
    pub degree: u32,
    /// Number of double-angle steps of the cosine, or of squarings of the exponential.
    pub doublings: u32,
    /// Degree of the arcsine's polynomial; 0 without one.
    #[serde(default)]
    pub arcsine_degree: u32,
}

/// An unchecked CKKS parameter set, as read from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParametersLiteral {
    /// Name of the set: letters, digits, `-` and `.`.
    pub name: String,
    /// N.
    pub ring_degree: usize,
    /// Levels from the bottom up: the moduli of level 0, then the moduli that each further level adds and its rescaling drops.
    pub q: Vec<ChainLink>,
    /// The special primes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p: Vec<ChainLink>,
    #[serde(default)]
    pub primes: PrimeKind,
    /// The key switch.
    pub gadget: GadgetChoice,
    /// log2 of the scale of fresh ciphertexts.
    pub scale_log2: f64,
    pub secret: SecretDistribution,
    /// Weight of the sparse ephemeral secret of bootstrapping; none without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral_weight: Option<usize>,
    /// Bootstrapping, for sets made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapLiteral>,
    pub noise_std: f64,
    /// Source of each figure, by field name: a paper, library, derivation or assumption.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// A checked CKKS parameter set; cheap to clone. Equality compares all figures and the name, not the sources.
#[derive(Clone, Debug)]
pub struct Parameters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    literal: ParametersLiteral,
    degree: RingDegree,
    /// Q's moduli from the bottom, then P's.
    moduli: Vec<Modulus>,
    /// Limbs of a ciphertext of each level.
    level_limbs: Vec<usize>,
    gadget: Arc<Gadget>,
    encapsulation: Option<Arc<Gadget>>,
    instances: Vec<(SecretDistribution, f64)>,
    security: Estimate,
    ring: OnceLock<Arc<Ring>>,
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        let figures = |literal: &ParametersLiteral| ParametersLiteral { sources: BTreeMap::new(), ..literal.clone() };
        figures(self.literal()) == figures(other.literal()) && self.moduli() == other.moduli()
    }
}

/// Why a parameter set is unusable.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParameterError {
    #[error(
        "parameter set name {0:?} is not 1 to 64 characters of a-z, A-Z, 0-9, '-' and '.'; rename the set, for example toy-1024"
    )]
    Name(String),
    #[error("parameter set {name}: {source}")]
    RingDegree { name: String, source: RingDegreeError },
    #[error("parameter set {0}: q is empty; give level 0 at least one modulus")]
    NoModulus(String),
    #[error("parameter set {name}: {source}")]
    Chain { name: String, source: ChainError },
    #[error("parameter set {name}: modulus {modulus} is below 2^15; use primes of 28 bits or more")]
    SmallModulus { name: String, modulus: u64 },
    #[error("parameter set {name}: {source}")]
    Gadget { name: String, source: GadgetError },
    #[error(
        "parameter set {name}: a digit a limb (listing 1) uses no special primes, but p gives {special}; leave p out, or use a hybrid gadget"
    )]
    UnusedSpecial { name: String, special: usize },
    #[error("parameter set {0}: digits of 0 limbs; give digit_limbs of at least 1")]
    DigitLimbs(String),
    #[error(
        "parameter set {name}: a secret of weight {weight} in a ring of degree {degree}; use a weight from 1 to the degree"
    )]
    Weight { name: String, weight: usize, degree: usize },
    #[error(
        "parameter set {name}: scale_log2 is {given}; it must be from 1 to {max:.1}, one bit below log2 of Q at the top level and at most 100"
    )]
    Scale { name: String, given: f64, max: f64 },
    #[error("parameter set {name}: noise_std is {given}; it must be from 0.5 to 64 (3.2 is the usual value)")]
    Noise { name: String, given: f64 },
    #[error("parameter set {name}: {problem}")]
    Joint { name: String, problem: String },
    #[error("no parameter set of CKKS is called {given:?}; {hint}")]
    UnknownSet { given: String, hint: String },
}

/// Largest log2 of a scale.
const MAX_SCALE_LOG2: f64 = 100.0;

impl Parameters {
    /// Checks `literal`: finds the primes, the gadget and the security level. Makes no tables or keys.
    ///
    /// # Errors
    /// The first [`ParameterError`] met, in the order of the fields.
    pub fn check(literal: &ParametersLiteral) -> Result<Self, ParameterError> {
        let name = || literal.name.clone();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        if literal.name.is_empty() || literal.name.len() > 64 || !literal.name.chars().all(fits) {
            return Err(ParameterError::Name(name()));
        }
        let degree = RingDegree::new(literal.ring_degree)
            .map_err(|source| ParameterError::RingDegree { name: name(), source })?;
        let of_degree = PrimeClass::of_degree(degree);
        let class = match literal.primes {
            PrimeKind::OfDegree => of_degree,
            PrimeKind::OneModWord => of_degree.and(PrimeClass::ONE_MOD_WORD),
        };
        let (levels, special) = chain::choose(class, &literal.q, &literal.p)
            .map_err(|source| ParameterError::Chain { name: name(), source })?;
        if levels.is_empty() {
            return Err(ParameterError::NoModulus(name()));
        }
        let level_limbs = levels
            .iter()
            .scan(0, |limbs, level| {
                *limbs += level.len();
                Some(*limbs)
            })
            .collect::<Vec<_>>();
        let q_limbs = level_limbs[level_limbs.len() - 1];
        let special: Vec<Modulus> = special.into_iter().flatten().collect();
        let moduli: Vec<Modulus> = levels.into_iter().flatten().chain(special.iter().copied()).collect();
        if let Some(modulus) = moduli.iter().find(|modulus| modulus.bits() < 16) {
            return Err(ParameterError::SmallModulus { name: name(), modulus: modulus.value() });
        }
        let gadget = match literal.gadget {
            GadgetChoice::PerLimb if !special.is_empty() => {
                return Err(ParameterError::UnusedSpecial { name: name(), special: special.len() });
            }
            GadgetChoice::Hybrid { digit_limbs: 0 } => return Err(ParameterError::DigitLimbs(name())),
            GadgetChoice::PerLimb => GadgetLiteral::per_limb(q_limbs),
            GadgetChoice::Hybrid { digit_limbs } => GadgetLiteral::hybrid(q_limbs, digit_limbs, special.len()),
            GadgetChoice::OneDigit => GadgetLiteral::one_digit(q_limbs, special.len()),
            GadgetChoice::SubLimb { bits } => GadgetLiteral::sub_limb(q_limbs, bits, special.len()),
        };
        let check = |literal| {
            let gadget = Gadget::of_moduli(&moduli, literal);
            gadget.map(Arc::new).map_err(|source| ParameterError::Gadget { name: name(), source })
        };
        let gadget = check(gadget)?;
        for weight in secret_weights(literal) {
            if weight == 0 || weight > degree.get() {
                return Err(ParameterError::Weight { name: name(), weight, degree: degree.get() });
            }
        }
        if let SecretDistribution::JointTernary(parties) = literal.secret {
            let named = if literal.ephemeral_weight.is_some() || literal.bootstrap.is_some() {
                Some("bootstrapping")
            } else {
                None
            };
            if let Some(problem) = joint_problem(parties, named) {
                return Err(ParameterError::Joint { name: name(), problem });
            }
        }
        let log2 = |moduli: &[Modulus]| moduli.iter().map(|modulus| (modulus.value() as f64).log2()).sum::<f64>();
        let max = (log2(&moduli[..q_limbs]) - 1.0).min(MAX_SCALE_LOG2);
        if !(1.0..=max).contains(&literal.scale_log2) {
            return Err(ParameterError::Scale { name: name(), given: literal.scale_log2, max });
        }
        if !(0.5..=64.0).contains(&literal.noise_std) {
            return Err(ParameterError::Noise { name: name(), given: literal.noise_std });
        }
        let mut instances = vec![(literal.secret.of_party(), log2(&moduli))];
        let mut encapsulation = None;
        if let Some(weight) = literal.ephemeral_weight {
            let gadget = check(encapsulation_gadget(&moduli, level_limbs[0], q_limbs))?;
            let modulus: f64 = gadget.qp().iter().map(|limb| (moduli[limb.index()].value() as f64).log2()).sum();
            instances.push((SecretDistribution::SparseTernary(weight), modulus));
            encapsulation = Some(gadget);
        }
        let levels =
            instances.iter().map(|&(secret, modulus)| security::estimate(degree, modulus, secret, literal.noise_std));
        let security = levels.min_by(|a, b| a.bits.total_cmp(&b.bits)).expect("the secret itself");
        let literal = literal.clone();
        let ring = OnceLock::new();
        let inner = Inner { literal, degree, moduli, level_limbs, gadget, encapsulation, instances, security, ring };
        Ok(Self(Arc::new(inner)))
    }

    /// The key-switch variant; `None` for digits smaller than a limb.
    pub fn key_switch(&self) -> Option<KeySwitchVariant> {
        KeySwitchVariant::of(self.gadget())
    }

    /// The same Q with another key switch, named after this set and the variant. Special primes have the size of this set's special primes,
    /// or of its largest limb. Their number exceeds the limbs of a digit by as many as in this set.
    ///
    /// # Errors
    /// [`ParameterError`] if there are too few primes.
    pub fn with_key_switch(&self, variant: KeySwitchVariant) -> Result<Self, ParameterError> {
        if self.key_switch() == Some(variant) {
            return Ok(self.clone());
        }
        let (limbs, own) = (self.q_limbs(), self.gadget());
        let digit = own.digits().iter().map(Vec::len).max().unwrap_or(1);
        let special = variant.special(limbs, own.special().len().saturating_sub(digit));
        let (q, p) = self.0.moduli.split_at(limbs);
        let bits = (if p.is_empty() { q } else { p }).iter().map(|modulus| modulus.bits()).max().unwrap_or(0);
        let mut literal = self.literal().clone();
        literal.gadget = match variant {
            KeySwitchVariant::PerLimb => GadgetChoice::PerLimb,
            KeySwitchVariant::Digits(1) => GadgetChoice::OneDigit,
            KeySwitchVariant::Digits(_) => GadgetChoice::Hybrid { digit_limbs: variant.digit_limbs(limbs) },
        };
        literal.p = if special == 0 { Vec::new() } else { vec![ChainLink::Bits { bits, count: special }] };
        literal.name = format!("{}-{variant}", literal.name);
        for figure in ["p", "gadget"] {
            literal
                .sources
                .insert(figure.to_owned(), format!("derived: {} with the key switch {variant}", self.name()));
        }
        Self::check(&literal)
    }

    /// The same set for a secret of `parties` parties, named after this set and their number.
    ///
    /// # Errors
    /// [`ParameterError::Joint`] for a set that bootstraps, a sparse secret, or another number than 2 to [`crate::rns::MOST_PARTIES`] of parties.
    pub fn with_parties(&self, parties: usize) -> Result<Self, ParameterError> {
        let mut literal = self.literal().clone();
        literal.name = format!("{}-parties-{parties}", literal.name);
        let secret = literal.secret.for_parties(parties);
        literal.secret = secret.map_err(|problem| ParameterError::Joint { name: self.name().to_owned(), problem })?;
        literal.sources.insert("secret".to_owned(), format!("derived: {} for {parties} parties", self.name()));
        Self::check(&literal)
    }

    /// The literal that was checked.
    pub fn literal(&self) -> &ParametersLiteral {
        &self.0.literal
    }

    /// Name of the set.
    pub fn name(&self) -> &str {
        &self.0.literal.name
    }

    /// N.
    pub fn ring_degree(&self) -> RingDegree {
        self.0.degree
    }

    /// Slots of a full ciphertext, N/2.
    pub fn max_slots(&self) -> usize {
        self.0.degree.get() / 2
    }

    /// L: the level of fresh ciphertexts, hence the number of rescalings.
    pub fn max_level(&self) -> usize {
        self.0.level_limbs.len() - 1
    }

    /// Limbs of a ciphertext of each level, from level 0 up.
    pub fn level_limbs(&self) -> &[usize] {
        &self.0.level_limbs
    }

    /// The limbs of a ciphertext of `level`; `None` above [`Self::max_level`].
    pub fn limbs_at(&self, level: usize) -> Option<Vec<LimbId>> {
        Some(LimbId::range(0, *self.0.level_limbs.get(level)?))
    }

    /// The level whose ciphertexts have exactly these limbs.
    pub fn level_of(&self, limbs: &[LimbId]) -> Option<usize> {
        let level = self.0.level_limbs.iter().position(|&count| count == limbs.len())?;
        (limbs == LimbId::range(0, limbs.len())).then_some(level)
    }

    pub fn q_limbs(&self) -> usize {
        self.0.level_limbs[self.max_level()]
    }

    /// The table of moduli: Q's from the bottom, then P's.
    pub fn moduli(&self) -> &[Modulus] {
        &self.0.moduli
    }

    /// log2 of Q at `level`: the moduli of its limbs.
    pub fn log2_q(&self, level: usize) -> f64 {
        self.log2_of(&self.0.moduli[..self.0.level_limbs[level.min(self.max_level())]])
    }

    /// log2 of P, 0 without special primes.
    pub fn log2_p(&self) -> f64 {
        self.log2_of(&self.0.moduli[self.q_limbs()..])
    }

    fn log2_of(&self, moduli: &[Modulus]) -> f64 {
        // An empty sum is -0.
        moduli.iter().map(|modulus| (modulus.value() as f64).log2()).sum::<f64>() + 0.0
    }

    /// The scale of fresh ciphertexts.
    pub fn scale(&self) -> f64 {
        self.0.literal.scale_log2.exp2()
    }

    /// The product of the primes that rescaling from `level` drops; 1 at level 0.
    pub fn rescale_factor(&self, level: usize) -> f64 {
        let limbs = &self.0.level_limbs;
        if level == 0 || level >= limbs.len() {
            return 1.0;
        }
        self.0.moduli[limbs[level - 1]..limbs[level]].iter().map(|modulus| modulus.value() as f64).product()
    }

    pub fn secret(&self) -> SecretDistribution {
        self.0.literal.secret
    }

    /// Distribution of the ephemeral secret of bootstrapping.
    pub fn ephemeral_secret(&self) -> Option<SecretDistribution> {
        self.0.literal.ephemeral_weight.map(SecretDistribution::SparseTernary)
    }

    /// The noise of keys and ciphertexts.
    pub fn noise(&self) -> NoiseDistribution {
        NoiseDistribution::new(self.0.literal.noise_std, 1)
    }

    /// Levels left after bootstrapping, if the set has it: a polynomial of degree d uses ⌈log2(d + 1)⌉, a double-angle step one. In a set
    /// with tables, linear operations between lookups can use them.
    pub fn levels_left(&self) -> Option<usize> {
        let taken = self.0.literal.bootstrap?;
        let depth = |degree: u32| u32::BITS - degree.leading_zeros();
        let levels = [
            taken.coefficients_to_slots,
            depth(taken.degree),
            taken.doublings,
            depth(taken.arcsine_degree),
            taken.method.table_levels(),
            taken.slots_to_coefficients,
        ];
        let levels: u64 = levels.into_iter().map(u64::from).sum();
        self.max_level().checked_sub(usize::try_from(levels).ok()?)
    }

    /// Decomposition of the key switch.
    pub fn gadget(&self) -> &Arc<Gadget> {
        &self.0.gadget
    }

    /// The gadget of key `id`: [`Self::gadget`], except that the switch to the ephemeral secret is over level 0 and as few special primes
    /// as possible.
    pub fn gadget_of(&self, id: KeyId) -> &Arc<Gadget> {
        match (id, &self.0.encapsulation) {
            (KeyId::Encapsulate, Some(gadget)) => gadget,
            _ => &self.0.gadget,
        }
    }

    /// [`Self::gadget_of`] restricted to those limbs of Q that a program reads: a key used only at lower levels is smaller.
    pub fn gadget_over(&self, id: KeyId, limbs: &[LimbId]) -> Arc<Gadget> {
        let whole = self.gadget_of(id);
        // A gadget with fewer limbs in its digits stays valid; one without limbs would not be.
        Gadget::of_moduli(&self.0.moduli, whole.over(limbs)).map_or_else(|_| Arc::clone(whole), Arc::new)
    }

    /// The ring; its transform tables are made at the first call.
    ///
    /// # Errors
    /// [`RingError`]; none for checked parameters.
    pub fn ring(&self) -> Result<Arc<Ring>, RingError> {
        if let Some(ring) = self.0.ring.get() {
            return Ok(Arc::clone(ring));
        }
        let ring = Ring::new(self.0.degree, &self.0.moduli)?;
        Ok(Arc::clone(self.0.ring.get_or_init(|| ring)))
    }

    /// Attack targets: each secret, and log2 of the largest modulus used with it.
    pub fn instances(&self) -> &[(SecretDistribution, f64)] {
        &self.0.instances
    }

    /// The lattice estimator's bits for the weaker secret; `None` for a set that was not estimated.
    pub fn estimated_bits(&self) -> Option<f64> {
        let noise = self.literal().noise_std.log2();
        let degree = self.ring_degree().get();
        estimates::least(self.instances().iter().map(|&(secret, modulus)| (degree, secret, modulus, noise)))
    }

    /// Security of the weaker secret.
    pub fn security(&self) -> &Estimate {
        &self.0.security
    }

    /// A warning for users if the set has less than 128 bits.
    pub fn security_warning(&self) -> Option<String> {
        self.security().warning(self.name())
    }

    /// Bytes of the key `id`.
    pub fn key_bytes(&self, id: KeyId, storage: KeyStorage) -> usize {
        storage.key_bytes_of(self.0.degree, &self.0.moduli, self.gadget_of(id))
    }

    /// Bytes of all keys of `ids`, which a server keeps in memory next to the ciphertexts.
    pub fn key_set_bytes(&self, ids: &[KeyId], storage: KeyStorage) -> usize {
        ids.iter().map(|&id| self.key_bytes(id, storage)).sum()
    }

    /// Bytes of a two-part ciphertext at `level`, in words.
    pub fn ciphertext_bytes(&self, level: usize) -> usize {
        2 * self.0.level_limbs[level.min(self.max_level())] * self.0.degree.get() * size_of::<u64>()
    }
}

fn secret_weights(literal: &ParametersLiteral) -> impl Iterator<Item = usize> {
    let main = match literal.secret {
        SecretDistribution::SparseTernary(weight) => Some(weight),
        SecretDistribution::UniformTernary | SecretDistribution::JointTernary(_) => None,
    };
    main.into_iter().chain(literal.ephemeral_weight)
}

/// One digit per limb of level 0, and the first special primes whose product is at least the largest of them (all, if too few). This
/// gives the smallest modulus for the sparse secret.
fn encapsulation_gadget(moduli: &[Modulus], level_0: usize, q_limbs: usize) -> GadgetLiteral {
    let log2 = |modulus: &Modulus| (modulus.value() as f64).log2();
    let digit = moduli[..level_0].iter().map(log2).fold(0.0, f64::max);
    let mut special = 0;
    let mut product = 0.0;
    while product < digit && q_limbs + special < moduli.len() {
        product += log2(&moduli[q_limbs + special]);
        special += 1;
    }
    let digits = LimbId::range(0, level_0).into_iter().map(|limb| vec![limb]).collect();
    GadgetLiteral { digits, sub_digit_bits: None, special: LimbId::range(q_limbs, special) }
}

#[cfg(test)]
mod tests {
    //! Does the check accept sound sets, and reject others with values and a remedy?

    use super::*;

    fn literal() -> ParametersLiteral {
        ParametersLiteral {
            name: "toy-test".to_owned(),
            ring_degree: 1024,
            q: vec![ChainLink::Bits { bits: 45, count: 1 }, ChainLink::Pairs { pair_bits: 60, count: 2 }],
            p: vec![ChainLink::Bits { bits: 46, count: 2 }],
            primes: PrimeKind::OfDegree,
            gadget: GadgetChoice::Hybrid { digit_limbs: 2 },
            scale_log2: 60.0,
            secret: SecretDistribution::UniformTernary,
            ephemeral_weight: Some(16),
            bootstrap: None,
            noise_std: 3.2,
            sources: BTreeMap::new(),
        }
    }

    #[test]
    fn a_bootstrapping_of_more_levels_than_there_are_leaves_none() {
        let left = |degree: u32, doublings: u32| {
            let bootstrap = BootstrapLiteral {
                order: BootstrapOrder::default(),
                method: BootstrapMethod::default(),
                coefficients_to_slots: 0,
                slots_to_coefficients: 0,
                range: 2,
                degree,
                doublings,
                arcsine_degree: 0,
            };
            let set = Parameters::check(&ParametersLiteral { bootstrap: Some(bootstrap), ..literal() });
            set.expect("a sound set").levels_left()
        };
        // A polynomial of degree 1 takes a level, one of degree 3 two.
        assert_eq!(
            [left(0, 0), left(1, 0), left(3, 0), left(1, 1), left(4, 0)],
            [Some(2), Some(1), Some(0), Some(0), None]
        );
        assert_eq!([left(3_000_000_000, 0), left(u32::MAX, 0), left(u32::MAX, u32::MAX)], [None; 3]);
    }

    #[test]
    fn levels_limbs_and_gadgets() {
        let parameters = Parameters::check(&literal()).expect("a sound set");
        assert_eq!(parameters.level_limbs(), [1, 3, 5]);
        assert_eq!(parameters.level_of(&LimbId::range(0, 3)), Some(1));
        assert_eq!(parameters.level_of(&LimbId::range(0, 2)), None);
        assert_eq!(parameters.level_of(&LimbId::range(1, 3)), None);
        assert!((parameters.rescale_factor(2).log2() - 60.0).abs() < 1e-3);
        assert_eq!(parameters.gadget().digits().len(), 3);
        assert_eq!(parameters.gadget_of(KeyId::Encapsulate).qp(), [LimbId(0), LimbId(5)]);
        assert!((parameters.log2_q(2) - 165.0).abs() < 0.1 && (parameters.log2_p() - 92.0).abs() < 0.1);
        let ring = parameters.ring().expect("a ring");
        assert!(Arc::ptr_eq(&ring, &parameters.ring().expect("a ring")));
        let bytes = parameters.key_bytes(KeyId::Relinearisation, KeyStorage::BYTES);
        // 45 bits take 6 bytes, the four primes of the pairs 4 each, the two of 46 bits 6 each.
        assert_eq!(bytes, 3 * 2 * (6 + 4 * 4 + 2 * 6) * 1024);
        assert_eq!(bytes, KeyStorage::BYTES.key_bytes(&ring, parameters.gadget()));
        assert!(parameters.security_warning().is_some());
    }

    #[test]
    fn unsound_sets_are_rejected() {
        let error = |change: &dyn Fn(&mut ParametersLiteral)| {
            let mut literal = literal();
            change(&mut literal);
            Parameters::check(&literal).expect_err("an unsound set").to_string()
        };
        let texts = [
            error(&|literal| literal.name = "a b".to_owned()),
            error(&|literal| literal.ring_degree = 1000),
            error(&|literal| literal.q.clear()),
            error(&|literal| literal.q[0] = ChainLink::Bits { bits: 15, count: 1 }),
            error(&|literal| literal.gadget = GadgetChoice::PerLimb),
            error(&|literal| literal.gadget = GadgetChoice::Hybrid { digit_limbs: 0 }),
            error(&|literal| literal.gadget = GadgetChoice::OneDigit),
            error(&|literal| literal.secret = SecretDistribution::SparseTernary(2000)),
            error(&|literal| literal.scale_log2 = 190.0),
            error(&|literal| literal.noise_std = f64::NAN),
        ];
        let parts = [
            "\"a b\" is not 1 to 64 characters",
            "ring degree 1000 is not a power of two",
            "q is empty; give level 0 at least one modulus",
            "below 2^15; use primes of 28 bits or more",
            "a digit a limb (listing 1) uses no special primes, but p gives 2",
            "digits of 0 limbs",
            "the special primes have 91 bits in all, digit 0 has 166",
            "a secret of weight 2000 in a ring of degree 1024",
            "scale_log2 is 190; it must be from 1 to 100.0",
            "noise_std is NaN; it must be from 0.5 to 64",
        ];
        for (text, part) in texts.iter().zip(parts) {
            assert!(text.contains(part), "{text}");
        }
    }
}
