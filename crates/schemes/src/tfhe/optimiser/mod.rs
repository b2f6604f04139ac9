//! Derives the default sets: the cheapest parameters with 128 bits of security and a given failure probability.
//!
//! **Security.** The noise is the minimum for 128 bits at n and at kN in `security.toml`, and at least 4 units of the torus; n stays in the
//! range of the security curves.
//!
//! **Correctness.** A PBS of a padded message of p bits fails with at most the target probability. Its input is a sum of earlier PBS results
//! (f64 transform) with weights of squared norm [`SQUARED_NORM`] and sum [`WEIGHT_SUM`], key-switched and modulus-switched:
//! V = ν² V_br + V_ks + V_ms, with margin 2^−(p+2) less the shared means at their bounds. This covers every accepted key, up to the energy
//! of its key switch's rows ([`Keys`]).
//!
//! **Cost.** The f64 operations of a PBS plus the integer operations of its key switch: n·((k+1)(l+1) transforms of 5·(N/2)·log2(N/2) +
//! 8·(N/2)·(k+1)²·l) + 2·kN·l_k·(n+1). For blocks of b bits there are n/b times the transforms, and 8·(N/2)·(k+1) more operations per bit, a
//! product with X^a − 1.
//!
//! The search is exhaustive over k, N, l, n and l_k. For each number of levels it uses the base with the least noise, because the base is
//! free. Ties go to the smallest n.

mod table;
mod wide;

pub use table::defaults_toml;

use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_kernels::{Gadget, RingDegree};

use super::lwe::LweKind;
use super::noise::{Formulas, Keys, Noise, PhaseRounding, Transform, failure_probability_log2};
use super::parameters::{MAX_LOG2_BASE, ParametersLiteral};
use super::secret::Secret;
use super::security;

/// ν², the squared norm of weights between PBSs in a default set: a sum of sixteen results; a gate's exclusive or, 2a + 2b, needs 8.
pub const SQUARED_NORM: f64 = 16.0;

/// Sum of the weights, with which shared means add up: sixteen ones, or 1 + 2 + 4 + 8 + 1.
pub const WEIGHT_SUM: f64 = 16.0;

/// ν² of the weights on fresh inputs for the direct set: a dot product with a row of small weights.
pub const DIRECT_INPUT_SQUARED_NORM: f64 = 128.0;

/// ν² of the weights in a set for programs on processors: a sum of eight results, or a gate's exclusive or.
pub const PROCESSORS_SQUARED_NORM: f64 = 8.0;

/// log2 of the failure probability of one PBS in a set for programs on processors: 256 of them together fail with 2^-128.
pub const PROCESSORS_FAILURE_LOG2: f64 = -136.0;

/// ν² of the weights in a PBS on integer digits: four signs of a comparison need 1 + 4 + 16 + 64 = 85.
pub const INTEGERS_SQUARED_NORM: f64 = 88.0;

/// log2 of the failure probability of one PBS on integer digits. An operation on wide integers has thousands, and a program must fail with
/// at most 2^-128.
pub const INTEGERS_FAILURE_LOG2: f64 = -144.0;

/// The results of the direct set are read as ±1/8, with failure probability 2^-64.
const DIRECT_OUTPUT_MARGIN: f64 = 0.125;
const DIRECT_FAILURE_LOG2: f64 = -64.0;

/// Requirements on a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Message bits p, without the padding bit.
    pub message_bits: u32,
    /// log2 of the largest failure probability of one PBS.
    pub failure_log2: f64,
    /// 32 or 64.
    pub torus_bits: u32,
    /// Rounding of the PBS input's phase.
    pub rounding: PhaseRounding,
    /// ν², the squared norm of the weights on earlier results in the PBS input.
    pub squared_norm: f64,
    /// Whether the transform uses 32-bit words, as in a machine, instead of f64.
    pub narrow: bool,
    /// Distribution of the small key.
    pub secret: Secret,
}

impl Target {
    /// A set for programs on processors, which center phases: weights of [`PROCESSORS_SQUARED_NORM`].
    pub fn processors(message_bits: u32) -> Self {
        let rounding = PhaseRounding::Centred;
        let (failure_log2, squared_norm) = (PROCESSORS_FAILURE_LOG2, PROCESSORS_SQUARED_NORM);
        let (narrow, secret) = (false, Secret::Binary);
        Self { message_bits, failure_log2, torus_bits: 64, rounding, squared_norm, narrow, secret }
    }

    /// The same for integers of any width: weights of [`INTEGERS_SQUARED_NORM`].
    pub fn integers(message_bits: u32) -> Self {
        let (failure_log2, squared_norm) = (INTEGERS_FAILURE_LOG2, INTEGERS_SQUARED_NORM);
        Self { failure_log2, squared_norm, ..Self::processors(message_bits) }
    }

    /// A default set: phases rounded to nearest, weights of [`SQUARED_NORM`].
    pub fn plain(message_bits: u32, failure_log2: f64, torus_bits: u32) -> Self {
        let rounding = PhaseRounding::Nearest;
        let (narrow, secret) = (false, Secret::Binary);
        Self { message_bits, failure_log2, torus_bits, rounding, squared_norm: SQUARED_NORM, narrow, secret }
    }

    /// The same with a key of the distribution `secret`.
    pub fn of(self, secret: Secret) -> Self {
        Self { secret, ..self }
    }

    /// A default set on a 32-bit torus, for a machine.
    pub fn narrow(message_bits: u32, failure_log2: f64) -> Self {
        Self { narrow: true, ..Self::plain(message_bits, failure_log2, 32) }
    }
}

/// The derived parameters and their cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// The set without name and sources, which the caller fills in.
    pub literal: ParametersLiteral,
    /// Operations of a PBS and its key switch.
    pub operations: f64,
    /// log2 of the resulting failure probability.
    pub failure_log2: f64,
}

/// Why no set meets a target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "no set with N up to {largest_degree}, n up to {largest_dimension} and 128-bit noise carries {message_bits} message bits on a {torus_bits}-bit torus with a failure probability of 2^{failure_log2}: the least noise found is 2^{least_noise_log2:.1}, but 2^{wanted_noise_log2:.1} is needed; use the 64-bit torus or fewer bits"
)]
pub struct Infeasible {
    message_bits: u32,
    torus_bits: u32,
    failure_log2: f64,
    largest_degree: usize,
    largest_dimension: usize,
    least_noise_log2: f64,
    wanted_noise_log2: f64,
}

/// Range of n, starting where the security curves are valid.
const LWE_DIMENSIONS: std::ops::RangeInclusive<usize> = 450..=1400;
/// log2 N searched.
const LOG2_DEGREES: std::ops::RangeInclusive<u32> = 9..=15;
/// Largest kN searched.
const LARGEST_GLWE: usize = 1 << 15;
/// Maximum number of levels of either gadget.
const MOST_LEVELS: u32 = 12;

/// `log2_std` rounded up to four decimals, which preserves its security.
fn written_noise(log2_std: f64) -> f64 {
    (log2_std * 1e4).ceil() / 1e4
}

/// For each number of levels, the gadget with the least `noise`.
fn best_gadgets(torus_bits: u32, noise: impl Fn(Gadget) -> Noise) -> Vec<(Gadget, Noise)> {
    (1..=MOST_LEVELS)
        .filter_map(|levels| {
            (1..=MAX_LOG2_BASE)
                .map(|log2_base| Gadget { log2_base, levels })
                .filter(|gadget| gadget.kept_bits() <= torus_bits)
                .map(|gadget| (gadget, noise(gadget)))
                .min_by(|(_, a), (_, b)| a.second_moment().total_cmp(&b.second_moment()))
        })
        .collect()
}

fn bootstrap_operations(figures: &Formulas) -> f64 {
    let (n, block) = (figures.lwe_dimension as f64, f64::from(figures.secret.block()));
    let points = figures.ring_degree.get() as f64 / 2.0;
    let (polynomials, levels) = ((figures.glwe_dimension + 1) as f64, f64::from(figures.bootstrap_gadget.levels));
    let transforms = polynomials * (levels + 1.0) * 5.0 * points * points.log2();
    let monomial = if figures.secret.is_binary() { 0.0 } else { 8.0 * points * polynomials };
    n * (transforms / block + monomial + 8.0 * points * polynomials * polynomials * levels)
}

fn key_switch_operations(n: usize, large: usize, levels: u32) -> f64 {
    2.0 * large as f64 * f64::from(levels) * (n + 1) as f64
}

/// Number of deviations in the margin for a failure probability of 2^`failure_log2`, by bisection.
fn deviations(failure_log2: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if failure_probability_log2(1.0, middle) <= failure_log2 {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The margin needed for `noise`, given the number of deviations.
fn needed(noise: Noise, deviations: f64) -> f64 {
    deviations * noise.variance.sqrt() + noise.mean_bound
}

/// Candidate shapes (k, N), with other fields to be filled in.
fn shapes(torus_bits: u32, secret: Secret) -> Vec<Formulas> {
    let mut shapes = Vec::new();
    for ring_degree in LOG2_DEGREES.filter_map(|log2| RingDegree::new(1 << log2).ok()) {
        for glwe_dimension in 1..=6 {
            let large = glwe_dimension * ring_degree.get();
            if (*LWE_DIMENSIONS.start()..=LARGEST_GLWE).contains(&large) {
                shapes.push(Formulas {
                    torus_bits,
                    lwe_dimension: 1,
                    secret,
                    glwe_dimension,
                    ring_degree,
                    bootstrap_gadget: Gadget { log2_base: 1, levels: 1 },
                    lwe_noise_log2: -1.0,
                    glwe_noise_log2: written_noise(security::least_noise_log2_for_128(large, torus_bits)),
                    keys: Keys::Accepted,
                });
            }
        }
    }
    shapes
}

fn literal(figures: &Formulas, key_switch_gadget: Option<Gadget>) -> ParametersLiteral {
    ParametersLiteral {
        name: String::new(),
        torus_bits: figures.torus_bits,
        lwe_dimension: figures.lwe_dimension,
        secret: figures.secret,
        glwe_dimension: figures.glwe_dimension,
        ring_degree: figures.ring_degree.get(),
        bootstrap_gadget: figures.bootstrap_gadget,
        key_switch_gadget,
        circuit: None,
        lwe_noise_log2: figures.lwe_noise_log2,
        glwe_noise_log2: figures.glwe_noise_log2,
        sources: Default::default(),
    }
}

/// Finds the cheapest set that meets `target`.
///
/// # Errors
/// [`Infeasible`] if no candidate does, with the least noise found.
pub fn derive(target: Target) -> Result<Derived, Infeasible> {
    let Target { message_bits, failure_log2, torus_bits, rounding, squared_norm, narrow, secret } = target;
    let margin = (-f64::from(message_bits) - 2.0).exp2();
    let deviations = deviations(failure_log2);
    let mut best: Option<Derived> = None;
    let mut least = f64::INFINITY;
    for shape in shapes(torus_bits, secret) {
        let large = shape.glwe_dimension * shape.ring_degree.get();
        let transform = |figures: &Formulas| if narrow { figures.narrow_transform() } else { Transform::F64 };
        // The best base does not depend on n.
        let bootstraps = best_gadgets(torus_bits, |bootstrap_gadget| {
            let figures = Formulas { bootstrap_gadget, lwe_dimension: *LWE_DIMENSIONS.start(), ..shape };
            figures.iteration(transform(&figures))
        });
        let bootstraps: Vec<(Gadget, Transform)> = bootstraps
            .into_iter()
            .map(|(bootstrap_gadget, _)| (bootstrap_gadget, transform(&Formulas { bootstrap_gadget, ..shape })))
            .collect();
        for n in LWE_DIMENSIONS.filter(|n| n.is_multiple_of(secret.block() as usize)) {
            let uniform = security::uniform_dimension(n, secret);
            if uniform < *LWE_DIMENSIONS.start() {
                continue;
            }
            let figures = Formulas {
                lwe_dimension: n,
                lwe_noise_log2: written_noise(security::least_noise_log2_for_128(uniform, torus_bits)),
                ..shape
            };
            let modulus_switch = figures.modulus_switch(rounding, 0);
            if needed(modulus_switch, deviations) > margin {
                least = least.min(needed(modulus_switch, deviations));
                continue;
            }
            let rotations = bootstraps.iter().map(|&(bootstrap_gadget, transform)| {
                let rotation = Formulas { bootstrap_gadget, ..figures }.blind_rotation(transform);
                (bootstrap_gadget, rotation.combined(squared_norm, WEIGHT_SUM, WEIGHT_SUM))
            });
            let rotations: Vec<(Gadget, Noise)> = rotations.collect();
            for (key_switch_gadget, key_switch) in best_gadgets(torus_bits, |gadget| figures.key_switch(gadget)) {
                let switches = modulus_switch.plus(key_switch);
                for &(bootstrap_gadget, rotation) in &rotations {
                    let noise = rotation.plus(switches);
                    let needed = needed(noise, deviations);
                    least = least.min(needed);
                    let operations = bootstrap_operations(&Formulas { bootstrap_gadget, ..figures })
                        + key_switch_operations(n, large, key_switch_gadget.levels);
                    if needed <= margin && best.as_ref().is_none_or(|best| operations < best.operations) {
                        best = Some(Derived {
                            literal: literal(&Formulas { bootstrap_gadget, ..figures }, Some(key_switch_gadget)),
                            operations,
                            failure_log2: noise.failure_log2(margin),
                        });
                    }
                }
            }
        }
    }
    best.ok_or(Infeasible {
        message_bits,
        torus_bits,
        failure_log2,
        largest_degree: 1 << LOG2_DEGREES.end(),
        largest_dimension: *LWE_DIMENSIONS.end(),
        least_noise_log2: (least / deviations).log2(),
        wanted_noise_log2: (margin / deviations).log2(),
    })
}

/// Derives the set for programs with one level of PBSs and no key switch, on a machine with 32-bit coefficients and a transform on 32-bit
/// words: fresh inputs under the small key, results under the large key.
///
/// It uses the n with the least noise at the PBS input, ν² V_fresh + V_ms with ν² = [`DIRECT_INPUT_SQUARED_NORM`], and the fewest levels
/// (each with its best base) for which results at ±1/8 fail with at most 2^-64, including the noise of the 32-bit transform. That noise
/// grows with the base, so small bases win. `None` if no gadget suffices.
pub fn derive_direct(glwe_dimension: usize, ring_degree: RingDegree) -> Option<Derived> {
    let torus_bits = 32;
    let shape = shapes(torus_bits, Secret::Binary)
        .into_iter()
        .find(|shape| shape.glwe_dimension == glwe_dimension && shape.ring_degree == ring_degree)?;
    let input = |figures: &Formulas| {
        let fresh = figures.fresh(LweKind::Small).variance;
        DIRECT_INPUT_SQUARED_NORM * fresh + figures.modulus_switch(PhaseRounding::Nearest, 0).variance
    };
    let figures = LWE_DIMENSIONS
        .map(|n| Formulas {
            lwe_dimension: n,
            lwe_noise_log2: written_noise(security::least_noise_log2_for_128(n, torus_bits)),
            ..shape
        })
        .min_by(|a, b| input(a).total_cmp(&input(b)))?;
    let result = |bootstrap_gadget: Gadget| {
        let figures = Formulas { bootstrap_gadget, ..figures };
        figures.blind_rotation(figures.narrow_transform())
    };
    let (bootstrap_gadget, noise) = best_gadgets(torus_bits, result)
        .into_iter()
        .find(|&(_, noise)| noise.failure_log2(DIRECT_OUTPUT_MARGIN) <= DIRECT_FAILURE_LOG2)?;
    let figures = Formulas { bootstrap_gadget, ..figures };
    Some(Derived {
        literal: literal(&figures, None),
        operations: bootstrap_operations(&figures),
        failure_log2: noise.failure_log2(DIRECT_OUTPUT_MARGIN),
    })
}

impl Formulas {
    /// The transform of a machine with 32-bit words throughout, scaled for an overflow probability of 2^-64 and test polynomials of amplitude
    /// 1/4.
    fn narrow_transform(&self) -> Transform {
        let spec = FixedFftSpec::for_external_product(
            self.ring_degree,
            self.bootstrap_gadget,
            self.glwe_dimension,
            self.torus_bits,
            FixedWidths::uniform(32),
            Rounding::HalfEven,
            RangeRule::OverflowProbability { log2: -64.0, first_step: 0.25 },
        );
        self.fixed_transform(&spec)
    }
}

#[cfg(test)]
mod tests {
    //! Do the committed sets match the optimiser's output, does it meet its targets, and does it report when it cannot?
    use super::*;
    use crate::tfhe::Parameters;
    use crate::tfhe::noise;

    #[test]
    fn the_committed_table_is_the_optimisers() {
        assert!(
            defaults_toml() == include_str!("../sets/defaults.toml"),
            "sets/defaults.toml differs from the optimiser's output: write it again with the example derive-sets"
        );
    }

    #[test]
    fn targets_are_met_by_the_public_formulas() {
        let plain = [Target::plain(1, -128.0, 32), Target::plain(4, -64.0, 64), Target::plain(3, -128.0, 64)];
        for target in plain.into_iter().chain([
            Target::processors(4),
            Target::integers(3),
            Target::processors(3).of(Secret::Block(3)),
        ]) {
            let derived = derive(target).expect("feasible");
            let mut literal = derived.literal.clone();
            literal.name = "derived".to_owned();
            let parameters = Parameters::check(&literal).expect("usable");
            assert!(parameters.security_bits() >= 128.0);
            let total = noise::blind_rotation(&parameters)
                .combined(target.squared_norm, WEIGHT_SUM, WEIGHT_SUM)
                .plus(noise::key_switch(&parameters).expect("a key switch"))
                .plus(noise::modulus_switch_with(&parameters, target.rounding, 0));
            let failure = total.failure_log2((-f64::from(target.message_bits) - 2.0).exp2());
            assert!(failure <= target.failure_log2, "{failure} > {}", target.failure_log2);
            assert!((failure - derived.failure_log2).abs() < 1e-6);
        }
    }

    #[test]
    fn harder_targets_cost_more() {
        let operations = |message_bits, failure_log2, torus_bits| {
            derive(Target::plain(message_bits, failure_log2, torus_bits)).expect("feasible").operations
        };
        assert!(operations(2, -128.0, 64) > operations(2, -64.0, 64));
        assert!(operations(3, -64.0, 64) > operations(2, -64.0, 64));
        assert!(operations(3, -64.0, 32) > operations(3, -64.0, 64));
    }

    #[test]
    fn infeasible_targets_are_reported() {
        let error = derive(Target::plain(9, -128.0, 32)).expect_err("too much");
        let message = error.to_string();
        assert!(
            message.starts_with("no set with N up to 32768, n up to 1400 and 128-bit noise carries 9 message bits on a 32-bit torus with a failure probability of 2^-128: the least noise found is 2^-")
                && message.ends_with("use the 64-bit torus or fewer bits"),
            "{message}"
        );
    }
}
