//! Parameter sets as literals and as checked [`Parameters`]; only [`Parameters::check`] makes the second from the first.

use std::collections::BTreeMap;
use std::sync::Arc;

use polyfabric_kernels::modular::{Modulus, ModulusError};
use polyfabric_kernels::primes::{PrimeClass, PrimeShortage};
use polyfabric_kernels::{RingDegree, RingDegreeError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::client_key::BOOTSTRAP_SECRET;
use super::encoding::{EncodingError, PlaintextModulus, PlaintextModulusLiteral};
use super::noise::NoiseModel;
use crate::ckks::parameters::PrimeKind;
use crate::estimates;
use crate::rns::security::{self, Estimate};
use crate::rns::{
    Gadget, GadgetError, GadgetLiteral, KeyId, KeyStorage, KeySwitchVariant, LimbId, Ring, RingError, RoundedGaussian,
    SecretDistribution, joint_problem,
};

/// Unchecked bootstrapping parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapLiteral {
    /// e: ciphertexts are switched to the modulus 2^e before homomorphic decryption.
    pub exponent: u32,
}

/// An unchecked BGV parameter set, as read from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParametersLiteral {
    /// Name of the set: letters, digits, `-` and `.`.
    pub name: String,
    /// N.
    pub ring_degree: usize,
    /// t.
    pub plaintext_modulus: PlaintextModulusLiteral,
    /// Bits of q_0, q_1, …: each is the largest unused prime of that size.
    pub q_bits: Vec<u32>,
    /// Bits of the special primes, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub special_bits: Vec<u32>,
    #[serde(default)]
    pub primes: PrimeKind,
    /// α: limbs of a digit of the key switch.
    pub digit_limbs: usize,
    /// Bits of a digit, if digits are smaller than a limb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_digit_bits: Option<u32>,
    pub secret: SecretDistribution,
    /// σ.
    pub noise_std: f64,
    /// For sets that bootstrap, with t a power of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapLiteral>,
    /// Source of each figure, by field name: a paper, library, derivation or assumption.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// A checked BGV parameter set; cheap to clone.
#[derive(Clone, Debug)]
pub struct Parameters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    literal: ParametersLiteral,
    plaintext: PlaintextModulus,
    gadget: Arc<Gadget>,
    secret_gadget: Arc<Gadget>,
    ring: Arc<Ring>,
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
    #[error("parameter set {name}: {source}")]
    PlaintextModulus { name: String, source: EncodingError },
    #[error(
        "parameter set {name}: {count} moduli; give 1 to {max} in q_bits and special_bits together, at least one in q_bits"
    )]
    Moduli { name: String, count: usize, max: usize },
    #[error("parameter set {name}: {source}")]
    Primes { name: String, source: PrimeShortage },
    #[error("parameter set {name}: {source}")]
    Modulus { name: String, source: ModulusError },
    #[error("parameter set {name}: {source}")]
    Ring { name: String, source: RingError },
    #[error("parameter set {name}: {source}")]
    Gadget { name: String, source: GadgetError },
    #[error("parameter set {0}: digits of 0 limbs; give digit_limbs of at least 1")]
    DigitLimbs(String),
    #[error(
        "parameter set {name}: a secret of weight {weight} in a ring of degree {degree}; use a weight from 1 to {degree}"
    )]
    Secret { name: String, weight: usize, degree: usize },
    #[error("parameter set {name}: noise_std is {given}; it must be from 0.5 to {max:e}; 3.2 is usual")]
    Noise { name: String, given: f64, max: f64 },
    #[error("parameter set {name}: bootstrapping: {problem}")]
    Bootstrap { name: String, problem: String },
    #[error("parameter set {name}: {problem}")]
    Joint { name: String, problem: String },
    #[error("no BGV parameter set is called {given:?}; there are {known}")]
    UnknownSet { given: String, known: String },
}

impl Parameters {
    /// Checks `literal` and makes its ring.
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
        let plaintext = PlaintextModulus::new(degree, literal.plaintext_modulus)
            .map_err(|source| ParameterError::PlaintextModulus { name: name(), source })?;
        let moduli = moduli(literal, degree, plaintext.value())?;
        if literal.digit_limbs == 0 {
            return Err(ParameterError::DigitLimbs(name()));
        }
        if let SecretDistribution::SparseTernary(weight) = literal.secret
            && !(1..=degree.get()).contains(&weight)
        {
            return Err(ParameterError::Secret { name: name(), weight, degree: degree.get() });
        }
        if let SecretDistribution::JointTernary(parties) = literal.secret
            && let Some(problem) = joint_problem(parties, literal.bootstrap.map(|_| "bootstrapping"))
        {
            return Err(ParameterError::Joint { name: name(), problem });
        }
        if !(0.5..=RoundedGaussian::MAX_SIGMA).contains(&literal.noise_std) {
            let (given, max) = (literal.noise_std, RoundedGaussian::MAX_SIGMA);
            return Err(ParameterError::Noise { name: name(), given, max });
        }
        let ring = Ring::new(degree, &moduli).map_err(|source| ParameterError::Ring { name: name(), source })?;
        let hybrid = GadgetLiteral::hybrid(literal.q_bits.len(), literal.digit_limbs, literal.special_bits.len());
        let gadget = Gadget::new(&ring, GadgetLiteral { sub_digit_bits: literal.sub_digit_bits, ..hybrid });
        let [gadget, secret_gadget] = [gadget, Gadget::new(&ring, GadgetLiteral::one_digit(literal.q_bits.len(), 0))]
            .map(|made| made.map(Arc::new).map_err(|source| ParameterError::Gadget { name: name(), source }));
        let (gadget, secret_gadget) = (gadget?, secret_gadget?);
        let parameters = Self(Arc::new(Inner { literal: literal.clone(), plaintext, gadget, secret_gadget, ring }));
        parameters.check_bootstrap()?;
        Ok(parameters)
    }

    fn check_bootstrap(&self) -> Result<(), ParameterError> {
        let Some(BootstrapLiteral { exponent }) = self.literal().bootstrap else { return Ok(()) };
        let refuse = |problem: String| Err(ParameterError::Bootstrap { name: self.name().to_owned(), problem });
        if self.plaintext_modulus().is_packed() {
            return refuse(
                "it refreshes one number modulo 2^k, so the plaintext modulus must be a power of two: write { power-of-two = 1 }"
                    .to_owned(),
            );
        }
        let least = self.plaintext_modulus().value().trailing_zeros() + 2;
        let most = PlaintextModulus::MAX_BITS - self.ring().degree().log2();
        if !(least..=most).contains(&exponent) {
            return refuse(format!(
                "exponent {exponent} is not from {least} to {most}; about {} serve a ternary secret",
                least + 6
            ));
        }
        let deviations = self.bootstrap_margin();
        if deviations < MIN_MARGIN {
            return refuse(format!(
                "modulus 2^{exponent} leaves {deviations:.1} deviations of the rounding error; raise the exponent until it leaves {MIN_MARGIN}"
            ));
        }
        Ok(())
    }

    /// Half the distance between numbers modulo 2^k after switching a low-noise ciphertext to 2^e, in standard deviations of the rounding
    /// error: 2^(e−k−1) / √((1 + h)/12).
    pub fn bootstrap_margin(&self) -> f64 {
        let exponent = self.literal().bootstrap.map_or(0, |bootstrap| bootstrap.exponent);
        let weight = self.literal().secret.expected_weight(self.ring().degree());
        let bits = self.plaintext_modulus().value().trailing_zeros();
        (f64::from(exponent) - f64::from(bits) - 1.0).exp2() / ((1.0 + weight) / 12.0).sqrt()
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
        let (limbs, mut literal) = (self.q_limbs(), self.literal().clone());
        let special = variant.special(limbs, literal.special_bits.len().saturating_sub(literal.digit_limbs));
        let like = if literal.special_bits.is_empty() { &literal.q_bits } else { &literal.special_bits };
        literal.special_bits = vec![like.iter().copied().max().unwrap_or(0); special];
        literal.digit_limbs = variant.digit_limbs(limbs);
        literal.sub_digit_bits = None;
        literal.name = format!("{}-{variant}", literal.name);
        let source = format!("derived: {} with the key switch {variant}", self.name());
        literal.sources.insert("special_bits".to_owned(), source);
        Self::check(&literal)
    }

    /// The same set for a secret of `parties` parties, named after this set and their number.
    ///
    /// # Errors
    /// [`ParameterError::Joint`] for a set that bootstraps, a sparse secret, or another number than 2 to [`crate::rns::MOST_PARTIES`] of
    /// parties.
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

    /// The ring; its table of moduli is q_0, …, then the special primes.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.0.ring
    }

    /// t.
    pub fn plaintext_modulus(&self) -> PlaintextModulus {
        self.0.plaintext
    }

    /// The key switch's decomposition.
    pub fn gadget(&self) -> &Arc<Gadget> {
        &self.0.gadget
    }

    /// The first `count` limbs of Q.
    pub fn limbs(&self, count: usize) -> Vec<LimbId> {
        LimbId::range(0, count.min(self.q_limbs()))
    }

    pub fn q_limbs(&self) -> usize {
        self.0.literal.q_bits.len()
    }

    /// log2 Q.
    pub fn log2_q(&self) -> f64 {
        self.ring().log2_product(self.gadget().q())
    }

    /// log2 Q·P, which determines security.
    pub fn log2_qp(&self) -> f64 {
        self.ring().log2_product(self.gadget().qp())
    }

    /// Security by the published tables. Errors that are multiples of t are as secure as others, because t is coprime to Q.
    pub fn security(&self) -> Estimate {
        let literal = self.literal();
        security::estimate(self.ring().degree(), self.log2_qp(), literal.secret, literal.noise_std)
    }

    /// The lattice estimator's bits of security; `None` for a set that was not estimated.
    pub fn estimated_bits(&self) -> Option<f64> {
        let (degree, literal) = (self.ring().degree().get(), self.literal());
        estimates::least([(degree, literal.secret.of_party(), self.log2_qp(), literal.noise_std.log2())])
    }

    /// A warning for users if the set has less than 128 bits. Such a set is used only by name.
    pub fn security_warning(&self) -> Option<String> {
        self.security().warning(self.name())
    }

    /// The gadget of key `id`: [`Self::gadget`], except that the encrypted secret has one digit of all limbs of Q and no special primes.
    pub fn gadget_of(&self, id: KeyId) -> &Arc<Gadget> {
        if id == KeyId::Other(BOOTSTRAP_SECRET) { &self.0.secret_gadget } else { &self.0.gadget }
    }

    /// [`Self::gadget`] for the limbs of Q among `limbs` only.
    pub fn gadget_over(&self, limbs: &[LimbId]) -> Arc<Gadget> {
        // A gadget with fewer limbs in its digits stays valid; one without limbs would not be.
        Gadget::new(self.ring(), self.gadget().over(limbs)).map_or_else(|_| Arc::clone(self.gadget()), Arc::new)
    }

    /// Bytes of one switching key in memory.
    pub fn key_bytes(&self, storage: KeyStorage) -> usize {
        storage.key_bytes(self.ring(), self.gadget())
    }

    /// The errors of keys are multiples of this: t, or for sets that bootstrap 2^e·N, the largest modulus in between.
    pub fn key_noise_factor(&self) -> u64 {
        match self.literal().bootstrap {
            None => self.plaintext_modulus().value(),
            Some(BootstrapLiteral { exponent }) => 1 << (exponent + self.ring().degree().log2()),
        }
    }

    /// The inputs of noise formulas.
    pub fn noise_model(&self) -> NoiseModel {
        let degree = self.ring().degree();
        // Rounding a Gaussian to integers adds 1/12 to its variance.
        let error_deviation = RoundedGaussian::new(self.literal().noise_std).variance().sqrt();
        let secret = self.literal().secret;
        NoiseModel { degree, secret_weight: secret.expected_weight(degree), error_deviation, parties: secret.parties() }
    }
}

/// Deviations that bootstrapping leaves for each bit at least: a failure has probability 2^-49.
pub const MIN_MARGIN: f64 = 8.0;

impl PartialEq for Parameters {
    /// Compares all figures and the name, not the sources.
    fn eq(&self, other: &Self) -> bool {
        let figures =
            |parameters: &Self| ParametersLiteral { sources: BTreeMap::new(), ..parameters.literal().clone() };
        Arc::ptr_eq(&self.0, &other.0) || figures(self) == figures(other)
    }
}

fn moduli(literal: &ParametersLiteral, degree: RingDegree, t: u64) -> Result<Vec<Modulus>, ParameterError> {
    let count = literal.q_bits.len() + literal.special_bits.len();
    let max = crate::rns::ring::MAX_LIMBS;
    if literal.q_bits.is_empty() || count > max {
        return Err(ParameterError::Moduli { name: literal.name.clone(), count, max });
    }
    let class = match literal.primes {
        PrimeKind::OfDegree => PrimeClass::of_degree(degree),
        PrimeKind::OneModWord => PrimeClass::of_degree(degree).and(PrimeClass::ONE_MOD_WORD),
    };
    let mut primes: BTreeMap<u32, std::vec::IntoIter<u64>> = BTreeMap::new();
    let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
    literal.q_bits.iter().chain(&literal.special_bits).for_each(|&bits| *wanted.entry(bits).or_default() += 1);
    for (&bits, &count) in &wanted {
        // One extra, in case t is among them.
        let found = class.of_bits(bits, count + 1).or_else(|_| class.of_bits(bits, count));
        let found = found.map_err(|source| ParameterError::Primes { name: literal.name.clone(), source })?;
        let kept: Vec<u64> = found.into_iter().filter(|&prime| prime != t).collect();
        if kept.len() < count {
            let source = class.of_bits(bits, count + 1).err();
            let source = source.unwrap_or(PrimeShortage {
                wanted: count,
                found: kept.len(),
                step: class.step(),
                low: 0,
                high: 0,
            });
            return Err(ParameterError::Primes { name: literal.name.clone(), source });
        }
        primes.insert(bits, kept.into_iter());
    }
    let next = |bits: &u32| {
        let prime = primes.get_mut(bits).and_then(Iterator::next).unwrap_or(0);
        Modulus::new(prime).map_err(|source| ParameterError::Modulus { name: literal.name.clone(), source })
    };
    literal.q_bits.iter().chain(&literal.special_bits).map(next).collect()
}

#[cfg(test)]
mod tests {
    //! Is every wrong parameter rejected with a remedy?

    use super::*;
    use crate::bgv::sets;
    use crate::rns::security::STANDARD_SECURITY_BITS;

    fn literal(name: &str) -> ParametersLiteral {
        sets::entry(name).unwrap().parameters.clone()
    }

    #[test]
    fn errors_name_the_cause() {
        let of = |change: &dyn Fn(&mut ParametersLiteral), name: &str| {
            let mut literal = literal(name);
            change(&mut literal);
            Parameters::check(&literal).unwrap_err().to_string()
        };
        let toy = "bgv-toy-1024";
        assert!(of(&|p| p.name.clear(), toy).contains("rename the set"));
        assert!(of(&|p| p.ring_degree = 1000, toy).contains("not a power of two"));
        assert!(of(&|p| p.plaintext_modulus = PlaintextModulusLiteral::Packed(65539), toy).contains("has no slots"));
        assert!(of(&|p| p.q_bits.clear(), toy).contains("at least one in q_bits"));
        assert!(of(&|p| p.q_bits = vec![10; 3], toy).contains("use another bit size"));
        assert!(of(&|p| p.q_bits = vec![62; 3], toy).contains("use another bit size"));
        assert!(of(&|p| p.special_bits = vec![20], toy).contains("use more or larger special primes"));
        assert!(
            of(&|p| p.secret = SecretDistribution::SparseTernary(5000), toy).contains("use a weight from 1 to 1024")
        );
        assert!(of(&|p| p.noise_std = f64::NAN, toy).contains("3.2 is usual"));
        let boot = "bgv-toy-1024-bootstrap";
        assert!(of(&|p| p.bootstrap = Some(BootstrapLiteral { exponent: 7 }), boot).contains("raise the exponent"));
        assert!(of(&|p| p.bootstrap = Some(BootstrapLiteral { exponent: 55 }), boot).contains("not from 3 to 50"));
        assert!(of(&|p| p.bootstrap = Some(BootstrapLiteral { exponent: 8 }), toy).contains("must be a power of two"));
    }

    #[test]
    fn security_is_stated_and_weak_sets_warn() {
        for entry in sets::all() {
            let parameters = Parameters::check(&entry.parameters).unwrap();
            let secure = parameters.security().bits >= STANDARD_SECURITY_BITS;
            let expected = entry.family == sets::Family::Default || parameters.name() == "bgv-2p14-423";
            assert_eq!(secure, expected, "{}", parameters.name());
            assert_eq!(parameters.security_warning().is_none(), secure, "{}", parameters.name());
        }
    }

    #[test]
    fn t_is_never_a_modulus() {
        let mut literal = literal("bgv-toy-1024");
        let first = Parameters::check(&literal).unwrap().ring().moduli()[0].value();
        literal.plaintext_modulus = PlaintextModulusLiteral::Packed(first);
        let parameters = Parameters::check(&literal).unwrap();
        assert!(parameters.ring().moduli().iter().all(|modulus| modulus.value() != first));
    }
}
