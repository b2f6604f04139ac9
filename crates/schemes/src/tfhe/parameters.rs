//! Parameter sets as literals and as checked [`Parameters`]; only [`Parameters::check`] makes the second from the first.

use std::collections::BTreeMap;
use std::sync::Arc;

use polyfabric_kernels::{Gadget, RingDegree, RingDegreeError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::dimension::{DimensionError, GlweDimension, LweDimension};
use super::lwe::LweKind;
use super::noise::{LOSS_BITS, SHARED_TABLES};
use super::random::MaskSeed;
use super::secret::Secret;
use super::security;
use super::unrolling::{KeyUnrolling, UnrollingError};
use crate::estimates;
use crate::gaussian::RoundedGaussian;
use crate::level::shown;

/// Sets with fewer bits of security are used only by name, with a warning.
pub const STANDARD_SECURITY_BITS: f64 = 128.0;

/// An unchecked TFHE parameter set, as read from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParametersLiteral {
    /// Name of the set: lower-case letters, digits, `-` and `.`.
    pub name: String,
    /// log2 of the torus modulus q: 32 or 64.
    pub torus_bits: u32,
    /// n.
    pub lwe_dimension: usize,
    /// Distribution of the small key's n bits.
    #[serde(default, skip_serializing_if = "Secret::is_binary")]
    pub secret: Secret,
    /// k.
    pub glwe_dimension: usize,
    /// N.
    pub ring_degree: usize,
    /// Base β and levels l of the bootstrapping key.
    pub bootstrap_gadget: Gadget,
    /// Base β_k and levels l_k of the key-switching key; `None` for a set without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_switch_gadget: Option<Gadget>,
    /// Gadgets of circuit bootstrapping; `None` for a set without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<CircuitGadgets>,
    /// log2 of the standard deviation of LWE noise, as a fraction of the torus.
    pub lwe_noise_log2: f64,
    /// log2 of the standard deviation of GLWE noise, as a fraction of the torus.
    pub glwe_noise_log2: f64,
    /// Source of each figure, by field name: a paper, library, derivation or assumption.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// Gadgets of circuit bootstrapping, which makes a GGSW ciphertext of a bit ([`super::circuit_key`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitGadgets {
    /// Of the GGSW ciphertexts that it makes.
    pub ggsw: Gadget,
    /// Of the key switches after the automorphisms of the trace.
    pub trace: Gadget,
    /// Of the product with the square of the GLWE key.
    pub square: Gadget,
}

/// A checked TFHE parameter set; cheap to clone. Equality compares all figures and the name, not the sources.
#[derive(Clone, Debug)]
pub struct Parameters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    literal: ParametersLiteral,
    lwe_dimension: LweDimension,
    glwe_dimension: GlweDimension,
    ring_degree: RingDegree,
    large_lwe_dimension: LweDimension,
    security_bits: f64,
}

/// Why a parameter set is unusable.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParameterError {
    #[error(
        "parameter set name {0:?} is not 1 to 64 characters of a-z, A-Z, 0-9, '-' and '.'; rename the set, for example toy-1024"
    )]
    Name(String),
    #[error("parameter set {name}: torus_bits is {given}; write 32 or 64")]
    TorusBits { name: String, given: u32 },
    #[error("parameter set {name}: {source}")]
    Dimension { name: String, source: DimensionError },
    #[error("parameter set {name}: {source}")]
    RingDegree { name: String, source: RingDegreeError },
    #[error(
        "parameter set {name}: glwe_dimension {glwe_dimension} times ring_degree {ring_degree} exceeds {max}; lower one of the two"
    )]
    LargeDimension { name: String, glwe_dimension: usize, ring_degree: usize, max: usize },
    #[error(
        "parameter set {name}: {gadget} has log2_base {log2_base} and levels {levels}; log2_base must be 1 to {max_log2_base} and levels at least 1"
    )]
    GadgetRange { name: String, gadget: &'static str, log2_base: u32, levels: u32, max_log2_base: u32 },
    #[error(
        "parameter set {name}: {gadget} keeps log2_base {log2_base} x levels {levels} = {kept} bits, but the torus has {torus_bits}; lower log2_base or levels, or use a 64-bit torus"
    )]
    GadgetExceedsTorus { name: String, gadget: &'static str, log2_base: u32, levels: u32, kept: u64, torus_bits: u32 },
    #[error(
        "parameter set {name}: {noise} is {given}; on a {torus_bits}-bit torus it must be from {min} (a standard deviation of 4 units of the torus, below which rounded noise is no longer Gaussian) to {max}"
    )]
    Noise { name: String, noise: &'static str, given: f64, torus_bits: u32, min: f64, max: f64 },
    #[error(
        "parameter set {name}: its {key} would take {bytes} bytes, more than the maximum of {max}; lower the dimensions or the levels"
    )]
    KeyTooLarge { name: String, key: &'static str, bytes: u128, max: u128 },
    #[error(
        "parameter set {name}: secret has blocks of {block} bits and lwe_dimension is {lwe_dimension}; a block has 2 or 3 bits, and lwe_dimension is a multiple of it"
    )]
    Block { name: String, block: u32, lwe_dimension: usize },
    #[error(
        "parameter set {name}: a set with one LWE key, n = kN, has uniform bits; leave out secret, or add a key_switch_gadget"
    )]
    BlocksOfOneKey { name: String },
    #[error(
        "parameter set {name} has circuit bootstrapping and glwe_dimension {glwe_dimension}; write glwe_dimension = 1, or leave out circuit"
    )]
    CircuitDimension { name: String, glwe_dimension: usize },
    #[error(
        "parameter set {name}: the {levels} levels of circuit.ggsw do not fit the ring degree {ring_degree}; write at most {most}"
    )]
    CircuitLevels { name: String, levels: u32, ring_degree: usize, most: u32 },
    #[error("no parameter set of TFHE is called {given:?}; {hint}")]
    UnknownSet { given: String, hint: String },
}

/// Largest log2 of a gadget base: digits must fit an i32.
pub const MAX_LOG2_BASE: u32 = 31;
/// Largest size of one key, 64 GiB.
pub const MAX_KEY_BYTES: u128 = 1 << 36;
/// Largest noise, 2^-3 of the torus: it already destroys a Boolean at ±1/8.
pub const MAX_NOISE_LOG2: f64 = -3.0;
/// log2 of the smallest noise in units of the torus: a standard deviation of 4.
pub const MIN_NOISE_UNITS_LOG2: f64 = 2.0;

impl Parameters {
    /// Checks `literal`.
    ///
    /// # Errors
    /// The first [`ParameterError`] met, in the order of the fields.
    pub fn check(literal: &ParametersLiteral) -> Result<Self, ParameterError> {
        let name = &literal.name;
        let named = || name.clone();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(ParameterError::Name(named()));
        }
        if !matches!(literal.torus_bits, 32 | 64) {
            return Err(ParameterError::TorusBits { name: named(), given: literal.torus_bits });
        }
        let dimension = |source| ParameterError::Dimension { name: named(), source };
        let lwe_dimension = LweDimension::new(literal.lwe_dimension).map_err(dimension)?;
        let glwe_dimension = GlweDimension::new(literal.glwe_dimension).map_err(dimension)?;
        let ring_degree = RingDegree::new(literal.ring_degree)
            .map_err(|source| ParameterError::RingDegree { name: named(), source })?;
        let large_lwe_dimension = LweDimension::new(glwe_dimension.get() * ring_degree.get()).map_err(|_| {
            ParameterError::LargeDimension {
                name: named(),
                glwe_dimension: glwe_dimension.get(),
                ring_degree: ring_degree.get(),
                max: LweDimension::MAX,
            }
        })?;
        if let Secret::Block(block) = literal.secret {
            if !Secret::BLOCKS.contains(&block) || !literal.lwe_dimension.is_multiple_of(block as usize) {
                return Err(ParameterError::Block { name: named(), block, lwe_dimension: literal.lwe_dimension });
            }
            if lwe_dimension == large_lwe_dimension && literal.key_switch_gadget.is_none() {
                return Err(ParameterError::BlocksOfOneKey { name: named() });
            }
        }
        check_gadget(literal, "bootstrap_gadget", literal.bootstrap_gadget)?;
        if let Some(gadget) = literal.key_switch_gadget {
            check_gadget(literal, "key_switch_gadget", gadget)?;
        }
        if let Some(circuit) = literal.circuit {
            if literal.glwe_dimension != 1 {
                let glwe_dimension = literal.glwe_dimension;
                return Err(ParameterError::CircuitDimension { name: named(), glwe_dimension });
            }
            for (field, gadget) in circuit.named() {
                check_gadget(literal, field, gadget)?;
            }
            let (levels, most) = (circuit.ggsw.levels, SHARED_TABLES as u32);
            // A bit's multiples are halved, so that a level needs one more bit of the torus.
            if levels > most || circuit.ggsw.kept_bits() >= literal.torus_bits {
                let most = most.min((literal.torus_bits - 1) / circuit.ggsw.log2_base);
                let ring_degree = literal.ring_degree;
                return Err(ParameterError::CircuitLevels { name: named(), levels, ring_degree, most });
            }
        }
        check_noise(literal, "lwe_noise_log2", literal.lwe_noise_log2)?;
        check_noise(literal, "glwe_noise_log2", literal.glwe_noise_log2)?;

        let small = security::uniform_dimension(literal.lwe_dimension, literal.secret);
        let problems = [(small, literal.lwe_noise_log2), (large_lwe_dimension.get(), literal.glwe_noise_log2)];
        let levels = problems.map(|(dimension, noise)| {
            let torus = f64::from(literal.torus_bits);
            let curve = security::level_bits(dimension, noise, literal.torus_bits);
            let estimate = estimates::estimated_on_torus(dimension, torus, noise + torus);
            curve.min(estimate.unwrap_or(f64::INFINITY))
        });
        // Loss from rejecting keys.
        let security_bits = (levels[0].min(levels[1]) - LOSS_BITS).max(0.0);
        let parameters = Self(Arc::new(Inner {
            literal: literal.clone(),
            lwe_dimension,
            glwe_dimension,
            ring_degree,
            large_lwe_dimension,
            security_bits,
        }));
        let word = u128::from(literal.torus_bits / 8);
        for (key, elements) in [
            ("bootstrapping key", parameters.bootstrap_key_elements()),
            ("key-switching key", parameters.key_switch_key_elements().unwrap_or(0)),
        ] {
            let bytes = elements * word;
            if bytes > MAX_KEY_BYTES {
                return Err(ParameterError::KeyTooLarge { name: named(), key, bytes, max: MAX_KEY_BYTES });
            }
        }
        Ok(parameters)
    }

    /// The literal that was checked.
    pub fn literal(&self) -> &ParametersLiteral {
        &self.0.literal
    }

    /// Name of the set.
    pub fn name(&self) -> &str {
        &self.0.literal.name
    }

    /// log2 q: 32 or 64.
    pub fn torus_bits(&self) -> u32 {
        self.0.literal.torus_bits
    }

    /// n.
    pub fn lwe_dimension(&self) -> LweDimension {
        self.0.lwe_dimension
    }

    /// Distribution of the small key's bits.
    pub fn secret(&self) -> Secret {
        self.0.literal.secret
    }

    /// `bits` secret bits per iteration of a blind rotation; by default the fewest iterations without a larger key ([`KeyUnrolling::of`]).
    ///
    /// # Errors
    /// [`UnrollingError`] if keys of this set are not made for so many.
    pub fn unrolling(&self, bits: Option<u32>) -> Result<KeyUnrolling, UnrollingError> {
        KeyUnrolling::new(bits, self.secret())
    }

    /// k.
    pub fn glwe_dimension(&self) -> GlweDimension {
        self.0.glwe_dimension
    }

    /// N.
    pub fn ring_degree(&self) -> RingDegree {
        self.0.ring_degree
    }

    /// kN, the LWE dimension of extracted samples.
    pub fn large_lwe_dimension(&self) -> LweDimension {
        self.0.large_lwe_dimension
    }

    /// β and l.
    pub fn bootstrap_gadget(&self) -> Gadget {
        self.0.literal.bootstrap_gadget
    }

    /// β_k and l_k.
    pub fn key_switch_gadget(&self) -> Option<Gadget> {
        self.0.literal.key_switch_gadget
    }

    /// Gadgets of circuit bootstrapping.
    pub fn circuit(&self) -> Option<CircuitGadgets> {
        self.0.literal.circuit
    }

    /// Rows of the circuit-bootstrapping key, each of k + 1 polynomials: those of each of the log2 N automorphisms, and of the square.
    pub fn circuit_key_rows(&self) -> usize {
        let rows = |gadgets: CircuitGadgets| self.ring_degree().log2() * gadgets.trace.levels + gadgets.square.levels;
        self.circuit().map_or(0, rows) as usize
    }

    /// Torus elements of the circuit-bootstrapping key.
    pub fn circuit_key_len(&self) -> usize {
        self.circuit_key_rows() * self.glwe_dimension().ciphertext_polynomials() * self.ring_degree().get()
    }

    /// Whether there is one LWE key: n = kN and no key switch. PBS results are then under the key that PBSs read, and chain without a key
    /// switch (FPT, section 6.3).
    pub fn has_one_lwe_key(&self) -> bool {
        self.lwe_dimension() == self.large_lwe_dimension() && self.key_switch_gadget().is_none()
    }

    /// The key of extracted samples: the large one, or the only one.
    pub fn extracted_key(&self) -> LweKind {
        if self.has_one_lwe_key() { LweKind::Small } else { LweKind::Large }
    }

    /// Standard deviation of LWE noise, a fraction of the torus.
    pub fn lwe_noise_std(&self) -> f64 {
        self.0.literal.lwe_noise_log2.exp2()
    }

    /// Noise of deviation `std`, a fraction of the torus, in units of the torus.
    pub(crate) fn torus_noise(&self, std: f64) -> RoundedGaussian {
        RoundedGaussian::new(std * f64::from(self.torus_bits()).exp2())
    }

    /// Standard deviation of GLWE noise, a fraction of the torus.
    pub fn glwe_noise_std(&self) -> f64 {
        self.0.literal.glwe_noise_log2.exp2()
    }

    /// Rows of a GGSW ciphertext, (k+1)·l, each of k+1 polynomials.
    pub fn ggsw_rows(&self) -> usize {
        self.0.glwe_dimension.ciphertext_polynomials() * self.0.literal.bootstrap_gadget.levels as usize
    }

    /// Torus elements of the bootstrapping key: n·(k+1)·l·(k+1)·N.
    pub fn bootstrap_key_len(&self) -> usize {
        self.bootstrap_key_elements() as usize
    }

    /// Torus elements of the bootstrapping key with `unrolling` secret bits per iteration.
    pub fn unrolled_bootstrap_key_len(&self, unrolling: KeyUnrolling) -> usize {
        let ggsw = self.ggsw_rows() * self.0.glwe_dimension.ciphertext_polynomials() * self.0.ring_degree.get();
        unrolling.ggsw_ciphertexts(self.0.lwe_dimension) * ggsw
    }

    /// Torus elements of the key-switching key, kN·l_k·(n+1), if the set has one.
    pub fn key_switch_key_len(&self) -> Option<usize> {
        self.key_switch_key_elements().map(|elements| elements as usize)
    }

    /// Torus elements of the k public GLWE encryptions of zero, k(k+1)·N.
    pub fn public_zeros_len(&self) -> usize {
        self.0.glwe_dimension.ciphertext_polynomials() * self.large_lwe_dimension().get()
    }

    /// Bytes of the bootstrapping key for `unrolling`, the key-switching key, the circuit-bootstrapping key and the public encryptions of zero, in
    /// the coefficient domain.
    pub fn server_key_bytes(&self, unrolling: KeyUnrolling) -> u64 {
        let bootstrap = self.unrolled_bootstrap_key_len(unrolling);
        let elements =
            bootstrap + self.key_switch_key_len().unwrap_or(0) + self.circuit_key_len() + self.public_zeros_len();
        elements as u64 * u64::from(self.torus_bits() / 8)
    }

    /// Bytes of the transport form: the bodies, and the seed of the masks.
    pub fn compressed_key_bytes(&self, unrolling: KeyUnrolling) -> u64 {
        let bootstrap = self.unrolled_bootstrap_key_len(unrolling) / self.0.glwe_dimension.ciphertext_polynomials();
        let switch = self.key_switch_key_len().unwrap_or(0) / self.lwe_dimension().ciphertext_len();
        let circuit = self.circuit_key_rows() * self.0.ring_degree.get();
        let bodies = bootstrap + switch + circuit + self.large_lwe_dimension().get();
        bodies as u64 * u64::from(self.torus_bits() / 8) + size_of::<MaskSeed>() as u64
    }

    fn bootstrap_key_elements(&self) -> u128 {
        let polynomials = self.0.glwe_dimension.ciphertext_polynomials();
        [self.0.lwe_dimension.get(), self.ggsw_rows(), polynomials, self.0.ring_degree.get()]
            .into_iter()
            .map(|factor| factor as u128)
            .product()
    }

    fn key_switch_key_elements(&self) -> Option<u128> {
        self.key_switch_gadget().map(|gadget| {
            self.0.large_lwe_dimension.get() as u128
                * u128::from(gadget.levels)
                * self.0.lwe_dimension.ciphertext_len() as u128
        })
    }

    /// Security in bits: the minimum of the LWE and GLWE problems by the published curves ([`security::level_bits`]) and by the lattice estimator,
    /// where it has or interpolates the problem, less [`LOSS_BITS`]; 0 if unknown.
    pub fn security_bits(&self) -> f64 {
        self.0.security_bits
    }

    /// Attack targets, the LWE and the GLWE problem: dimension, secret, log2 of modulus and of noise, as for [`estimates::find`]. A block-binary
    /// key has the dimension of the uniform key that is as hard to find ([`security::uniform_dimension`]).
    pub fn problems(&self) -> [(usize, &'static str, f64, f64); 2] {
        let (torus, literal) = (f64::from(self.torus_bits()), self.literal());
        let large = self.0.large_lwe_dimension.get();
        let small = security::uniform_dimension(literal.lwe_dimension, literal.secret);
        [(small, literal.lwe_noise_log2), (large, literal.glwe_noise_log2)]
            .map(|(dimension, noise)| (dimension, estimates::BINARY, torus, noise + torus))
    }

    /// The lattice estimator's bits for the weaker problem; `None` if it was not run on them or around them.
    pub fn estimated_bits(&self) -> Option<f64> {
        let bits = self.problems().map(|(n, _, modulus, noise)| estimates::estimated_on_torus(n, modulus, noise));
        bits.into_iter().try_fold(f64::INFINITY, |least, bits| Some(least.min(bits?)))
    }

    /// A warning for users if the set has less than 128 bits. Such a set is used only by name.
    pub fn security_warning(&self) -> Option<String> {
        let bits = self.security_bits();
        if bits == 0.0 {
            let (name, least, n) = (self.name(), security::least_dimension(), self.lwe_dimension().get());
            let large = self.large_lwe_dimension().get();
            return Some(format!(
                "parameter set {name} has unknown security: the published curves cover dimensions from {least} on, and it has n = {n} \
                 and kN = {large}; use it for experiments, never for secrets"
            ));
        }
        (bits < STANDARD_SECURITY_BITS).then(|| {
            format!(
                "parameter set {} gives about {} bits of security, under the standard {:.0}: its ciphertexts can be broken with enough effort; \
                 use it to reproduce published results, never for secrets",
                self.name(),
                shown(bits),
                STANDARD_SECURITY_BITS
            )
        })
    }
}

impl CircuitGadgets {
    /// Each gadget with the name of its field.
    fn named(self) -> [(&'static str, Gadget); 3] {
        [("circuit.ggsw", self.ggsw), ("circuit.trace", self.trace), ("circuit.square", self.square)]
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        let figures =
            |parameters: &Self| ParametersLiteral { sources: BTreeMap::new(), ..parameters.0.literal.clone() };
        figures(self) == figures(other)
    }
}

fn check_gadget(literal: &ParametersLiteral, field: &'static str, gadget: Gadget) -> Result<(), ParameterError> {
    let Gadget { log2_base, levels } = gadget;
    let kept = u64::from(log2_base) * u64::from(levels);
    if !(1..=MAX_LOG2_BASE).contains(&log2_base) || levels == 0 {
        return Err(ParameterError::GadgetRange {
            name: literal.name.clone(),
            gadget: field,
            log2_base,
            levels,
            max_log2_base: MAX_LOG2_BASE,
        });
    }
    if kept > u64::from(literal.torus_bits) {
        return Err(ParameterError::GadgetExceedsTorus {
            name: literal.name.clone(),
            gadget: field,
            log2_base,
            levels,
            kept,
            torus_bits: literal.torus_bits,
        });
    }
    Ok(())
}

fn check_noise(literal: &ParametersLiteral, noise: &'static str, given: f64) -> Result<(), ParameterError> {
    let min = MIN_NOISE_UNITS_LOG2 - f64::from(literal.torus_bits);
    if (min..=MAX_NOISE_LOG2).contains(&given) {
        return Ok(());
    }
    Err(ParameterError::Noise {
        name: literal.name.clone(),
        noise,
        given,
        torus_bits: literal.torus_bits,
        min,
        max: MAX_NOISE_LOG2,
    })
}

#[cfg(test)]
mod tests {
    //! Is every unusable set rejected with cause, values and remedy, and does a usable one state its security?
    use super::*;
    use crate::tfhe::sets;

    fn refused(change: impl Fn(&mut ParametersLiteral)) -> String {
        let mut literal = sets::literal("strix-I").expect("a known set").clone();
        literal.name = "mine".to_owned();
        change(&mut literal);
        Parameters::check(&literal).expect_err("an unusable set").to_string()
    }

    #[test]
    fn messages() {
        assert_eq!(
            refused(|literal| literal.name = "my set".to_owned()),
            "parameter set name \"my set\" is not 1 to 64 characters of a-z, A-Z, 0-9, '-' and '.'; rename the set, for example toy-1024"
        );
        assert_eq!(refused(|literal| literal.torus_bits = 48), "parameter set mine: torus_bits is 48; write 32 or 64");
        assert_eq!(
            refused(|literal| literal.lwe_dimension = 0),
            "parameter set mine: LWE dimension 0 is outside 1 to 131072; published sets use 450 to 2048"
        );
        assert_eq!(
            refused(|literal| literal.glwe_dimension = 17),
            "parameter set mine: GLWE dimension 17 is outside 1 to 16; published sets use 1 to 4"
        );
        assert_eq!(
            refused(|literal| literal.ring_degree = 1000),
            "parameter set mine: ring degree 1000 is not a power of two from 16 to 131072; choose one, such as 1024 or 2048"
        );
        assert_eq!(
            refused(|literal| (literal.glwe_dimension, literal.ring_degree) = (2, 131_072)),
            "parameter set mine: glwe_dimension 2 times ring_degree 131072 exceeds 131072; lower one of the two"
        );
        assert_eq!(
            refused(|literal| literal.bootstrap_gadget.levels = 0),
            "parameter set mine: bootstrap_gadget has log2_base 10 and levels 0; log2_base must be 1 to 31 and levels at least 1"
        );
        assert_eq!(
            refused(|literal| literal.bootstrap_gadget.levels = 4),
            "parameter set mine: bootstrap_gadget keeps log2_base 10 x levels 4 = 40 bits, but the torus has 32; lower log2_base or levels, or use a 64-bit torus"
        );
        assert_eq!(
            refused(|literal| literal.key_switch_gadget = Some(Gadget { log2_base: 32, levels: 1 })),
            "parameter set mine: key_switch_gadget has log2_base 32 and levels 1; log2_base must be 1 to 31 and levels at least 1"
        );
        assert_eq!(
            refused(|literal| literal.glwe_noise_log2 = -31.0),
            "parameter set mine: glwe_noise_log2 is -31; on a 32-bit torus it must be from -30 (a standard deviation of 4 units of the torus, below which rounded noise is no longer Gaussian) to -3"
        );
        for (block, n) in [(0, 516), (1, 516), (3, 500), (4, 516)] {
            assert_eq!(
                refused(|literal| (literal.secret, literal.lwe_dimension) = (Secret::Block(block), n)),
                format!(
                    "parameter set mine: secret has blocks of {block} bits and lwe_dimension is {n}; a block has 2 or 3 bits, and lwe_dimension is a multiple of it"
                )
            );
        }
        assert_eq!(
            refused(|literal| {
                (literal.secret, literal.lwe_dimension, literal.key_switch_gadget) = (Secret::Block(2), 1024, None);
            }),
            "parameter set mine: a set with one LWE key, n = kN, has uniform bits; leave out secret, or add a key_switch_gadget"
        );
        assert!(refused(|literal| literal.lwe_noise_log2 = f64::NAN).contains("lwe_noise_log2 is NaN"));
        assert_eq!(
            refused(|literal| (literal.lwe_dimension, literal.ring_degree) = (131_072, 131_072)),
            "parameter set mine: its bootstrapping key would take 549755813888 bytes, more than the maximum of 68719476736; lower the dimensions or the levels"
        );
    }

    #[test]
    fn no_gadget_overflows_the_check() {
        let message = refused(|literal| literal.bootstrap_gadget = Gadget { log2_base: u32::MAX, levels: u32::MAX });
        assert!(message.contains("log2_base must be"), "{message}");
        let message = refused(|literal| literal.bootstrap_gadget = Gadget { log2_base: 31, levels: u32::MAX });
        assert!(message.contains("keeps"), "{message}");
    }

    #[test]
    fn a_small_dimension_has_unknown_security() {
        let mut literal = sets::parameters("polyfabric-1-p64-t32").expect("a known set").literal().clone();
        (literal.lwe_dimension, literal.lwe_noise_log2) = (300, -5.0);
        let small = Parameters::check(&literal).expect("a set");
        assert_eq!(small.security_bits(), 0.0);
        assert!(small.security_warning().is_some_and(|text| text.contains("it has n = 300 and kN = 1024")));
    }

    #[test]
    fn sets_under_128_bits_warn() {
        let warning = |name| sets::parameters(name).expect("a known set").security_warning();
        assert!(warning("strix-I").is_some_and(|text| text.contains("strix-I") && text.contains("93.6")));
        assert!(warning("strix-II").is_some_and(|text| text.contains("118.2")));
        assert!(warning("toy-256").is_some_and(|text| text.contains("unknown") && text.contains("n = 16")));
        assert_eq!(warning("polyfabric-4-p128-t64"), None);
    }

    #[test]
    fn unknown_names_get_near_ones() {
        let message = |name| sets::parameters(name).expect_err("unknown").to_string();
        assert_eq!(
            message("strix-1"),
            "no parameter set of TFHE is called \"strix-1\"; did you mean strix-I or strix-II or strix-IV?"
        );
        assert!(message("everything").contains("everything"));
    }

    #[test]
    fn equality_is_of_figures_and_name() {
        let parameters = sets::parameters("strix-I").expect("a known set");
        let mut literal = parameters.literal().clone();
        literal.sources.clear();
        assert_eq!(Parameters::check(&literal).expect("usable"), parameters);
        literal.lwe_noise_log2 = -15.0;
        assert_ne!(Parameters::check(&literal).expect("usable"), parameters);
        assert_ne!(sets::parameters("morphling-I").expect("a known set"), parameters);
    }
}
