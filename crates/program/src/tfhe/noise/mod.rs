//! The noise of a whole program, before it runs.
//!
//! Every combination that a look-up reads is a combination of independent ciphertexts (see the flattening), so its
//! variance is Σ w² V: inputs bring fresh noise, look-up results the blind rotation's (and, with the key switch
//! after it, the key switch's). The means that all results share under one key add up as Σ w. What reads it adds the key switch (before) and
//! the modulus switch. The look-up fails when the sum leaves the margin of its test polynomial; the program, when any look-up or output does.
//! Figures are for every key that is used, but for the energy of its key switch's rows, unless an average is asked for ([`Keys`]).

mod altered;
mod choose;
mod privacy;
mod rates;

pub use altered::{Spacing, Undetected};
pub use choose::{Chosen, choose_parameters};
pub use privacy::{MOST_BITS, expect_bits as expect_privacy_bits};
pub use rates::Rates;

use crate::Location;
use crate::tfhe::dataflow::{Dataflow, DataflowError, OutputForms, Terms, log2_tables};
use crate::tfhe::homomorphic::{ElementType, NodeId, Program, op_name};
use crate::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use polyfabric_kernels::cancel;
use polyfabric_schemes::tfhe::noise::{self, Formulas, Keys, Noise, Transform};
use polyfabric_schemes::tfhe::{KeyUnrolling, LweKind, Parameters, UnrollingError};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;

/// Noise of the look-ups of one node; of several elements, the worst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LookupNoise {
    /// Index of the node.
    pub node: u32,
    /// Its operation.
    pub op: &'static str,
    /// Where it was written, "file:line".
    pub location: Option<String>,
    /// Type of its operand.
    pub operand: String,
    /// Number of its look-ups that are not shared with earlier nodes.
    pub count: u64,
    /// Σ w² over the independent ciphertexts that it combines.
    pub squared_norm: f64,
    /// Σ w over those of them that are results of look-ups.
    pub weight_sum: f64,
    /// Variance of the combination, a fraction of the torus squared.
    pub operand_variance: f64,
    /// Variance of what the look-up reads: with key switch (before) and modulus switch.
    pub variance: f64,
    /// Bound of the mean that all such errors of one key share, for every key that is used.
    pub mean_bound: f64,
    /// Noise that it withstands, a fraction of the torus.
    pub margin: f64,
    /// log2 of the failure probability of one look-up.
    pub log2_failure: f64,
}

/// Noise of one output; of several elements, the worst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputNoise {
    /// Index of the node.
    pub node: u32,
    /// Name of the output.
    pub name: String,
    /// Where it was written, "file:line".
    pub location: Option<String>,
    /// Its type.
    pub element: String,
    /// Number of elements.
    pub count: u64,
    /// Which key it is under.
    pub key: LweKind,
    /// Σ w² over the independent ciphertexts that it combines.
    pub squared_norm: f64,
    /// Deviation of the noise that hides how it was computed, a fraction of the torus, if it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flood_deviation: Option<f64>,
    /// Variance of its phase, a fraction of the torus squared.
    pub variance: f64,
    /// Bound of the mean that all such errors of one key share, for every key that is used.
    pub mean_bound: f64,
    /// Noise that decoding withstands.
    pub margin: f64,
    /// What an error stays within, but for a probability of 2^-128, or, where that is less, half the distance of two values: a larger one was
    /// not left by the program.
    pub error_bound: f64,
    /// Where its values lie.
    pub spacing: Spacing,
    /// What of an altered one is not told.
    pub undetected: Undetected,
    /// log2 of the probability that one element decodes wrongly.
    pub log2_failure: f64,
}

/// Noise of a whole program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseReport {
    /// Name of the parameter set.
    pub parameters: String,
    /// Place of the key switch.
    pub key_switch: KeySwitchOrder,
    /// The look-ups, in program order.
    pub lookups: Vec<LookupNoise>,
    /// The outputs, in program order.
    pub outputs: Vec<OutputNoise>,
    /// log2 of the probability that any look-up or output fails: a union bound.
    pub log2_failure: f64,
    /// How inputs are encrypted; written where it is not by the client.
    #[serde(skip_serializing_if = "Encryption::is_secret")]
    pub inputs: Encryption,
    /// Bits with which each output's value hides how it was computed, if its server re-randomises and floods it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit_privacy_bits: Option<f64>,
}

/// Why a program's noise is not acceptable, or not known.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoiseError {
    /// A look-up leaves its budget.
    #[error(
        "{}{} %{} leaves its noise budget with parameter set {parameters}: reading {} fails with probability 2^{:.1}, more than 2^{target:.1} \
         (noise 2^{:.2}, margin 2^{:.2} of the torus, sum of squared weights {}); \
         use smaller weights or a narrower range, put a look-up before the sum, or accept this with max_failure (--max-failure)",
        place_of(&.lookup.location), .lookup.op, .lookup.node, .lookup.operand, .lookup.log2_failure,
        .lookup.variance.log2() / 2.0, .lookup.margin.log2(), .lookup.squared_norm
    )]
    Lookup {
        /// The parameter set.
        parameters: String,
        /// log2 of the accepted failure probability.
        target: f64,
        /// The look-up.
        lookup: Box<LookupNoise>,
    },
    /// A ring too small to tell the values of a look-up apart.
    #[error(
        "{}{} %{} reads {}, whose values parameter set {parameters} cannot tell apart: the ring degree {ring_degree} gives {} phases; \
         narrow the range",
        place_of(&.lookup.location), .lookup.op, .lookup.node, .lookup.operand, 2 * .ring_degree
    )]
    RingTooSmall {
        /// The parameter set.
        parameters: String,
        /// N.
        ring_degree: usize,
        /// The look-up.
        lookup: Box<LookupNoise>,
    },
    /// An output leaves its budget.
    #[error(
        "{}output {:?} (%{}) leaves its noise budget with parameter set {parameters}: {} decodes wrongly with probability 2^{:.1}, more than 2^{target:.1} \
         (noise 2^{:.2} of the torus, sum of squared weights {}); use smaller weights or a narrower range, or accept this with max_failure (--max-failure)",
        place_of(&.output.location), .output.name, .output.node, .output.element, .output.log2_failure,
        .output.variance.log2() / 2.0, .output.squared_norm
    )]
    Output {
        /// The parameter set.
        parameters: String,
        /// log2 of the accepted failure probability.
        target: f64,
        /// The output.
        output: Box<OutputNoise>,
    },
    /// An output leaves its budget once its error is hidden.
    #[error(
        "{}output {:?} (%{}): with noise that hides with {bits} bits how it was computed, {} decodes wrongly with probability 2^{:.1}, more than 2^{target:.1}, \
         with parameter set {parameters} ({}); {}name a set with less noise, or accept this with max_failure (--max-failure)",
        place_of(&.output.location), .output.name, .output.node, .output.element, .output.log2_failure,
        .most.map_or("not even 0 bits fit".to_owned(), |most| format!("{:.1} bits fit", (most * 10.0).floor() / 10.0)),
        .most.map_or("", |_| "ask for fewer bits of circuit privacy (--circuit-privacy), ")
    )]
    Privacy {
        /// The parameter set.
        parameters: String,
        /// The bits that were asked for.
        bits: f64,
        /// The most that leave it within its budget, if any do.
        most: Option<f64>,
        /// log2 of the accepted failure probability.
        target: f64,
        /// The output.
        output: Box<OutputNoise>,
    },
    /// No number of bits.
    #[error("{bits} bits of circuit privacy are not to be had; ask for 0 to {MOST_BITS}")]
    PrivacyBits {
        /// The bits that were asked for.
        bits: f64,
    },
    /// Each look-up is within the budget, their union is not.
    #[error(
        "with parameter set {parameters} the program of {lookups} look-ups fails with probability 2^{log2_failure:.1}, more than 2^{target:.1}, though none does alone; use fewer look-ups, or accept this with max_failure (--max-failure)"
    )]
    Program {
        /// The parameter set.
        parameters: String,
        /// Number of look-ups.
        lookups: u64,
        /// log2 of the failure probability.
        log2_failure: f64,
        /// log2 of the accepted one.
        target: f64,
    },
    /// A key switch that the set does not have.
    #[error("parameter set {parameters} has no key-switch gadget, but a key switch is asked for; choose another set")]
    NoKeySwitchKey {
        /// The parameter set.
        parameters: String,
    },
    /// No default set carries the program.
    #[error(
        "no default parameter set carries the program with failure probability 2^{target:.1}; the nearest is {nearest}: {reason}; integers of more values than a look-up tells apart are UInt(bits) and SInt(bits), read digit by digit"
    )]
    NoSet {
        /// log2 of the accepted failure probability.
        target: f64,
        /// The set that comes nearest.
        nearest: String,
        /// Why it does not suffice.
        reason: Box<NoiseError>,
    },
    /// No default set has the key switch that a public key needs.
    #[error(
        "no default parameter set brings what a public key encrypts under its small key; name a set with a key-switching key"
    )]
    NoCandidate,
    /// The program cannot be flattened.
    #[error(transparent)]
    Dataflow(#[from] DataflowError),
    /// Keys are not made for so many secret bits an iteration.
    #[error(transparent)]
    KeyUnrolling(#[from] UnrollingError),
}

/// "file:line: ", or nothing.
fn place_of(location: &Option<String>) -> String {
    location.as_ref().map_or(String::new(), |at| format!("{at}: "))
}

/// How inputs are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// With the client's key.
    #[default]
    Secret,
    /// With the client's public key, by anybody: more noise, and a key switch where inputs are under the small key.
    Public,
}

impl Encryption {
    /// Whether the client's key encrypts.
    fn is_secret(&self) -> bool {
        *self == Self::Secret
    }
}

/// Errors of the building blocks for one set and one place of the key switch.
struct Model {
    formulas: Formulas,
    input: Noise,
    result: Noise,
    switch: Noise,
    shared_rotations: bool,
    encryption: Encryption,
}

/// What a row of terms comes to.
#[derive(Clone, Copy)]
struct Combination {
    noise: Noise,
    squared_norm: f64,
    weight_sum: f64,
}

impl Model {
    fn new(
        parameters: &Parameters,
        choice: &TfheLowering,
        transform: Transform,
        (keys, encryption): (Keys, Encryption),
    ) -> Result<Self, NoiseError> {
        let formulas = Formulas::of(parameters, keys);
        let missing = || NoiseError::NoKeySwitchKey { parameters: parameters.name().to_owned() };
        let key_switch =
            || parameters.key_switch_gadget().map(|gadget| formulas.key_switch(gadget)).ok_or_else(missing);
        let rotation = formulas.blind_rotation_unrolled(KeyUnrolling::new(choice.key_unrolling)?, transform);
        let none = Noise::default();
        let (of_inputs, result, switch) = match choice.key_switch {
            KeySwitchOrder::None => (LweKind::Small, rotation, none),
            KeySwitchOrder::Before => (LweKind::Large, rotation, key_switch()?),
            KeySwitchOrder::After => (LweKind::Small, rotation.plus(key_switch()?), none),
        };
        let input = match encryption {
            Encryption::Secret => formulas.fresh(of_inputs),
            // A set with one LWE key has no key switch, and needs none.
            Encryption::Public if parameters.has_one_lwe_key() => {
                formulas.public_zero(LweKind::Large, parameters).ok_or_else(missing)?
            }
            Encryption::Public => formulas.public_zero(of_inputs, parameters).ok_or_else(missing)?,
        };
        Ok(Self { formulas, input, result, switch, shared_rotations: choice.shared_rotations, encryption })
    }

    /// Error, Σ w² and Σ w of row `row`.
    ///
    /// Not all sources err independently. Results of one rotation are neighbours in one accumulator: any two of them have the covariance
    /// [`Noise::together`] at most. What a public key encrypts is coefficients of one product with the secret, e·S: bits of mean 1/2 correlate any two of
    /// them by 1/2 at most, so that Var Σ w·e ≤ (Σ w² + (Σ |w|)²)/2 of a coefficient's.
    fn combination(&self, terms: &Terms, row: usize, flow: &Dataflow) -> Combination {
        cancel::check();
        let sources = &flow.sources;
        let (columns, weights) = terms.row(row);
        let (mut inputs, mut results) = (0.0, 0.0);
        // Inputs of a public key share the mean of their key switch.
        let (mut input_sum, mut input_most) = (0.0, 0.0);
        // Results that are first in their accumulators, which share one mean, and the others.
        let (mut first, mut beside, mut beside_most) = (0.0, 0.0, 0.0);
        // Of each rotation Σ |w| and Σ w².
        let mut rotations: BTreeMap<(u32, u32), [f64; 2]> = BTreeMap::new();
        for (&column, &weight) in columns.iter().zip(weights) {
            let (source, weight) = (sources[column as usize], f64::from(weight));
            if source.level == 0 {
                inputs += weight * weight;
                input_sum += weight;
                input_most += weight.abs();
                continue;
            }
            results += weight * weight;
            match flow.rotation_of(source).filter(|_| self.shared_rotations) {
                Some(rotation) => {
                    beside += weight;
                    beside_most += weight.abs();
                    let [sum, squares] = rotations.entry(rotation).or_default();
                    *sum += weight.abs();
                    *squares += weight * weight;
                }
                None => first += weight,
            }
        }
        let fresh_squares = match self.encryption {
            Encryption::Secret => inputs,
            Encryption::Public => f64::midpoint(inputs, input_most * input_most),
        };
        let fresh = self.input.combined(fresh_squares, input_sum, input_most);
        let weight_sum: f64 = first + beside;
        let pairs: f64 = rotations.values().map(|[sum, squares]| sum * sum - squares).sum();
        let results_noise = self.result.combined(results, weight_sum, f64::abs(first) + beside_most);
        let noise = fresh.plus(results_noise).plus(Noise::random(pairs * self.result.together));
        Combination { noise, squared_norm: inputs + results, weight_sum }
    }
}

/// What an error stays within, but for a probability of 2^-128, or, where that is less, `margin`.
pub(crate) fn error_within(noise: Noise, margin: f64) -> f64 {
    margin.min(ERROR_DEVIATIONS * noise.variance.sqrt() + noise.mean_bound)
}

fn written(location: Option<&Location>) -> Option<String> {
    location.map(ToString::to_string)
}

/// The noise of `program` lowered by `choice`, products computed by `transform`, for [`Keys::Accepted`].
///
/// # Errors
/// [`NoiseError::NoKeySwitchKey`], [`NoiseError::KeyUnrolling`], [`NoiseError::Dataflow`]; a budget that is left is no error here, see
/// [`NoiseReport::check`].
pub fn report_lowered(
    program: &Program,
    parameters: &Parameters,
    choice: &TfheLowering,
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    report_for(program, parameters, choice, transform, Keys::Accepted)
}

/// [`report_lowered`] for `keys`: the average over keys, which tests hold against measurement, or those of known weights.
///
/// # Errors
/// As [`report_lowered`].
pub fn report_for(
    program: &Program,
    parameters: &Parameters,
    choice: &TfheLowering,
    transform: Transform,
    keys: Keys,
) -> Result<NoiseReport, NoiseError> {
    report_flow(program, &Dataflow::new(program)?, parameters, (choice, keys, Encryption::Secret), transform)
}

/// [`report_for`] with inputs that are encrypted as `encryption` says.
///
/// # Errors
/// As [`report_lowered`]; [`NoiseError::NoKeySwitchKey`] if inputs of a public key are taken under the small key by a set without a key switch.
pub fn report_encrypted(
    program: &Program,
    parameters: &Parameters,
    choice: &TfheLowering,
    transform: Transform,
    (keys, encryption): (Keys, Encryption),
) -> Result<NoiseReport, NoiseError> {
    report_flow(program, &Dataflow::new(program)?, parameters, (choice, keys, encryption), transform)
}

fn report_flow(
    program: &Program,
    flow: &Dataflow,
    parameters: &Parameters,
    (choice, keys, encryption): (&TfheLowering, Keys, Encryption),
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    let order = choice.key_switch;
    let model = Model::new(parameters, choice, transform, (keys, encryption))?;
    let degree = parameters.ring_degree().get();
    let drift = |step: u32, units: i64| step_drift(parameters.torus_bits(), step) * units.unsigned_abs() as f64;
    let margin = |function: &crate::tfhe::dataflow::Function, log2_tables: u32| {
        let units = function.domain.lo().abs().max(function.domain.hi().abs());
        function.margins(degree >> log2_tables).map(|margin| margin - drift(function.step_in, units))
    };
    let mut margins: HashMap<(u32, u32), [f64; 2]> = HashMap::new();
    let mut lookups: BTreeMap<NodeId, LookupNoise> = BTreeMap::new();
    let mut failures = Vec::new();
    for level in &flow.levels {
        let rows: Vec<Combination> =
            (0..level.bias.len()).map(|row| model.combination(&level.terms, row, flow)).collect();
        let rotations = level.rotations(choice.shared_rotations);
        for (log2_tables, lookup) in
            rotations.flat_map(|shared| shared.iter().map(|it| (log2_tables(shared.len()), it)))
        {
            cancel::check();
            let Combination { noise: operand, squared_norm, weight_sum } = rows[lookup.row as usize];
            let modulus_switch = model.formulas.modulus_switch(choice.rounding, log2_tables);
            let read = operand.plus(model.switch).plus(modulus_switch);
            let (operand_variance, variance, mean_bound) = (operand.variance, read.variance, read.mean_bound);
            let function = &flow.functions[lookup.function as usize];
            let key = (lookup.function, log2_tables);
            let [margin, further] = *margins.entry(key).or_insert_with(|| margin(function, log2_tables));
            let log2_failure = model.formulas.failure_between_log2(read, [margin, further]);
            failures.push((log2_failure, 1));
            let entry = lookups.entry(lookup.origin);
            let noise = entry.or_insert_with(|| {
                let node = program.node(lookup.origin);
                LookupNoise {
                    node: lookup.origin.0,
                    op: op_name(&node.op),
                    location: written(node.location.as_ref()),
                    operand: program.node(node.operands[0]).element.to_string(),
                    count: 0,
                    squared_norm,
                    weight_sum,
                    operand_variance,
                    variance,
                    mean_bound,
                    margin,
                    log2_failure,
                }
            });
            noise.count += 1;
            if log2_failure > noise.log2_failure {
                *noise = LookupNoise {
                    squared_norm,
                    weight_sum,
                    operand_variance,
                    variance,
                    mean_bound,
                    margin,
                    log2_failure,
                    ..noise.clone()
                };
            }
        }
    }
    let mut outputs = Vec::new();
    for output in &flow.outputs {
        let noise = output_noise(program, flow, (&model, order), output, drift);
        failures.push((noise.log2_failure, noise.count));
        outputs.push(noise);
    }
    Ok(NoiseReport {
        parameters: parameters.name().to_owned(),
        key_switch: order,
        lookups: lookups.into_values().collect(),
        outputs,
        log2_failure: noise::union_log2(failures),
        inputs: encryption,
        circuit_privacy_bits: None,
    })
}

/// Error of the rounded torus unit, |q/P - round(q/P)| / q: a fraction of the torus for each unit.
fn step_drift(torus_bits: u32, step: u32) -> f64 {
    // q mod P, exactly: q is a power of two.
    let remainder = ((1u128 << torus_bits) % u128::from(step)) as f64 / f64::from(step);
    remainder.min(1.0 - remainder) / f64::from(torus_bits).exp2()
}

fn output_noise(
    program: &Program,
    flow: &Dataflow,
    (model, order): (&Model, KeySwitchOrder),
    output: &OutputForms,
    drift: impl Fn(u32, i64) -> f64,
) -> OutputNoise {
    let node = program.node(output.node);
    let step = program.step(output.node);
    let margin = match node.element {
        ElementType::Boolean => 1.0 / f64::from(step),
        ElementType::Integer(range) => {
            let half = range.slot() as f64 / 2.0 / f64::from(step);
            half - drift(step, range.lo().abs().max(range.hi().abs()))
        }
        // A multiple of 1/step, and a step is a power of two.
        ElementType::Torus { .. } => 0.5 / f64::from(step),
    };
    let (values, slot) = match node.element {
        ElementType::Boolean => (2, 2),
        ElementType::Integer(range) => (range.count(), range.slot()),
        ElementType::Torus { .. } => (u64::from(step), 1),
    };
    let torus_bits = model.formulas.torus_bits();
    let spacing = Spacing { values, distance: slot as f64 / f64::from(step), torus_bits };
    let rows = (0..output.forms.len()).map(|row| model.combination(&output.forms.terms, row, flow));
    let worst = worst(rows);
    let failure = |row: &Combination| model.formulas.failure_log2(row.noise, margin);
    let first = worst.iter().max_by(|a, b| failure(a).total_cmp(&failure(b)));
    let (log2_failure, squared_norm) = first.map_or_else(
        || (model.formulas.failure_log2(Noise::default(), margin), 0.0),
        |row| (failure(row), row.squared_norm),
    );
    let error_bound = worst.iter().map(|row| error_within(row.noise, margin)).fold(0.0, f64::max);
    // What is added to hide them has to hide all of them.
    let noise = worst.iter().fold(Noise::default(), |noise, row| noise.max(row.noise));
    // Without a key switch inputs and results are under the keys that they come with; no output mixes them.
    let of_results = || (0..output.forms.terms.rows()).flat_map(|row| output.forms.terms.row(row).0);
    let key = match order {
        KeySwitchOrder::Before => LweKind::Large,
        KeySwitchOrder::After => LweKind::Small,
        KeySwitchOrder::None if of_results().all(|&column| flow.sources[column as usize].level > 0) => LweKind::Large,
        KeySwitchOrder::None => LweKind::Small,
    };
    OutputNoise {
        node: output.node.0,
        name: output.name.to_string(),
        location: written(node.location.as_ref()),
        element: node.element.to_string(),
        count: output.forms.len() as u64,
        key,
        squared_norm,
        flood_deviation: None,
        variance: noise.variance,
        mean_bound: noise.mean_bound,
        margin,
        error_bound,
        spacing,
        undetected: spacing.undetected(error_bound),
        log2_failure,
    }
}

/// Those of `rows` whose noise no other row's exceeds in each of its parts: failures and bounds grow with all of them.
fn worst(rows: impl Iterator<Item = Combination>) -> Vec<Combination> {
    let within = |a: Noise, b: Noise| a.max(b) == b;
    let mut worst: Vec<Combination> = Vec::new();
    for row in rows {
        if worst.iter().all(|other| !within(row.noise, other.noise)) {
            worst.retain(|other| !within(other.noise, row.noise));
            worst.push(row);
        }
    }
    worst
}

/// How many deviations a Gaussian error stays within but for a probability of 2^-128.
const ERROR_DEVIATIONS: f64 = 13.2;

impl NoiseReport {
    /// Whether every look-up, every output and the whole program fail with probability 2^`target` at most.
    ///
    /// # Errors
    /// The first operation in program order that leaves the budget.
    pub fn check(&self, parameters: &Parameters, target: f64) -> Result<(), NoiseError> {
        let set = || self.parameters.clone();
        if let Some(lookup) = self.lookups.iter().find(|lookup| lookup.log2_failure > target) {
            let lookup = Box::new(lookup.clone());
            let ring_degree = parameters.ring_degree().get();
            return Err(match lookup.margin <= 0.0 {
                true => NoiseError::RingTooSmall { parameters: set(), ring_degree, lookup },
                false => NoiseError::Lookup { parameters: set(), target, lookup },
            });
        }
        if let Some(output) = self.outputs.iter().find(|output| output.log2_failure > target) {
            return Err(NoiseError::Output { parameters: set(), target, output: Box::new(output.clone()) });
        }
        if self.log2_failure > target {
            let lookups = self.lookups.iter().map(|lookup| lookup.count).sum();
            let log2_failure = self.log2_failure;
            return Err(NoiseError::Program { parameters: set(), lookups, log2_failure, target });
        }
        Ok(())
    }
}
