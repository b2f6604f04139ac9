//! Noise analysis of a whole program before it runs.
//!
//! After flattening, every lookup reads a linear combination of independent ciphertexts, so its variance is Σ w² V. Inputs add
//! fresh noise; lookup results add the noise of the blind rotation and of a key switch after it. Under one key all results share
//! a mean error, which adds up as Σ w. A reader adds the key switch (if it comes before) and the modulus switch. A lookup fails
//! if the sum exceeds the margin of its test polynomial; the program fails if any lookup or output does. Bounds hold for every
//! accepted key, except for the energy of its key-switch rows; [`Keys`] can request the average over keys.

mod altered;
mod choose;
mod privacy;
mod rates;

pub use altered::{Spacing, Undetected};
pub use choose::{Chosen, choose_parameters};
pub use privacy::{MOST_BITS, expect_bits as expect_privacy_bits};
pub use rates::Rates;

use crate::Location;
use crate::tfhe::dataflow::{Dataflow, DataflowError, Lookup, OutputForms, Terms, log2_tables};
use crate::tfhe::homomorphic::{ElementType, NodeId, Program, op_name};
use crate::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use polyfabric_kernels::cancel;
use polyfabric_schemes::tfhe::noise::{self, Formulas, Keys, Noise, Transform};
use polyfabric_schemes::tfhe::{CircuitGadgets, KeyUnrolling, LweKind, Parameters, UnrollingError};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use thiserror::Error;

/// Noise of a node's lookups; the worst of its elements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LookupNoise {
    pub node: u32,
    pub op: &'static str,
    /// Source location, "file:line".
    pub location: Option<String>,
    pub operand: String,
    /// Number of lookups not shared with earlier nodes.
    pub count: u64,
    /// Σ w² over the independent ciphertexts combined.
    pub squared_norm: f64,
    /// Σ w over those that are lookup results.
    pub weight_sum: f64,
    /// Variance of the combination, in torus fractions squared.
    pub operand_variance: f64,
    /// Variance at the lookup: includes the modulus switch and a key switch before it.
    pub variance: f64,
    /// Bound of the mean error shared by all errors under one key, for every accepted key.
    pub mean_bound: f64,
    /// Error that the lookup tolerates, a fraction of the torus.
    pub margin: f64,
    /// log2 of one lookup's failure probability.
    pub log2_failure: f64,
}

/// Noise of one output; the worst of its elements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputNoise {
    pub node: u32,
    pub name: String,
    /// Source location, "file:line".
    pub location: Option<String>,
    pub element: String,
    pub count: u64,
    pub key: LweKind,
    /// Σ w² over the independent ciphertexts combined.
    pub squared_norm: f64,
    /// Deviation of the flooding noise that hides the computation, a fraction of the torus, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flood_deviation: Option<f64>,
    /// Variance of its phase, in torus fractions squared.
    pub variance: f64,
    /// Bound of the mean error shared by all errors under one key, for every accepted key.
    pub mean_bound: f64,
    /// Error that decoding tolerates, a fraction of the torus.
    pub margin: f64,
    /// Bound of the error, exceeded with probability 2^-128, or half the distance of two values if that is less. A larger error
    /// did not come from the program.
    pub error_bound: f64,
    /// Positions of its values.
    pub spacing: Spacing,
    /// How much tampering decryption cannot detect.
    pub undetected: Undetected,
    /// log2 of the probability that one element decodes wrongly.
    pub log2_failure: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseReport {
    pub parameters: String,
    pub key_switch: KeySwitchOrder,
    /// In program order.
    pub lookups: Vec<LookupNoise>,
    /// In program order.
    pub outputs: Vec<OutputNoise>,
    /// log2 of the probability that any lookup or output fails (union bound).
    pub log2_failure: f64,
    /// How inputs are encrypted; serialized only for public keys.
    #[serde(skip_serializing_if = "Encryption::is_secret")]
    pub inputs: Encryption,
    /// Bits of circuit privacy of each output, if the server re-randomizes and floods it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit_privacy_bits: Option<f64>,
}

/// Why a program's noise is too large or unknown.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoiseError {
    #[error(
        "{}{} %{} leaves its noise budget with parameter set {parameters}: reading {} fails with probability 2^{:.1}, more than 2^{target:.1} \
         (noise 2^{:.2}, margin 2^{:.2} of the torus, sum of squared weights {}); \
         use smaller weights or a narrower range, put a lookup before the sum, or accept this with max_failure (--max-failure)",
        place_of(&.lookup.location), .lookup.op, .lookup.node, .lookup.operand, .lookup.log2_failure,
        .lookup.variance.log2() / 2.0, .lookup.margin.log2(), .lookup.squared_norm
    )]
    Lookup {
        parameters: String,
        /// log2 of the accepted failure probability.
        target: f64,
        lookup: Box<LookupNoise>,
    },
    #[error(
        "{}{} %{} reads {}, whose values parameter set {parameters} cannot tell apart: the ring degree {ring_degree} gives {} phases; \
         narrow the range",
        place_of(&.lookup.location), .lookup.op, .lookup.node, .lookup.operand, 2 * .ring_degree
    )]
    RingTooSmall {
        parameters: String,
        /// N.
        ring_degree: usize,
        lookup: Box<LookupNoise>,
    },
    #[error(
        "{}output {:?} (%{}) leaves its noise budget with parameter set {parameters}: {} decodes wrongly with probability 2^{:.1}, more than 2^{target:.1} \
         (noise 2^{:.2} of the torus, sum of squared weights {}); use smaller weights or a narrower range, or accept this with max_failure (--max-failure)",
        place_of(&.output.location), .output.name, .output.node, .output.element, .output.log2_failure,
        .output.variance.log2() / 2.0, .output.squared_norm
    )]
    Output {
        parameters: String,
        /// log2 of the accepted failure probability.
        target: f64,
        output: Box<OutputNoise>,
    },
    #[error(
        "{}output {:?} (%{}): with {bits} bits of circuit privacy, {} decodes wrongly with probability 2^{:.1}, more than 2^{target:.1}, \
         with parameter set {parameters} ({}); {}name a set with less noise, or accept this with max_failure (--max-failure)",
        place_of(&.output.location), .output.name, .output.node, .output.element, .output.log2_failure,
        .most.map_or("not even 0 bits fit".to_owned(), |most| format!("{:.1} bits fit", (most * 10.0).floor() / 10.0)),
        .most.map_or("", |_| "ask for fewer bits of circuit privacy (--circuit-privacy), ")
    )]
    Privacy {
        parameters: String,
        bits: f64,
        most: Option<f64>,
        /// log2 of the accepted failure probability.
        target: f64,
        output: Box<OutputNoise>,
    },
    #[error("{bits} bits of circuit privacy; ask for 0 to {MOST_BITS}")]
    PrivacyBits { bits: f64 },
    #[error(
        "with parameter set {parameters} the program of {lookups} lookups fails with probability 2^{log2_failure:.1}, more than 2^{target:.1}, though none does alone; use fewer lookups, or accept this with max_failure (--max-failure)"
    )]
    Program {
        parameters: String,
        lookups: u64,
        /// log2 of the failure probability.
        log2_failure: f64,
        /// log2 of the accepted one.
        target: f64,
    },
    #[error("parameter set {parameters} has no key-switch gadget, but a key switch is asked for; choose another set")]
    NoKeySwitchKey { parameters: String },
    #[error(
        "no default parameter set carries the program with failure probability 2^{target:.1}, the nearest is {nearest}: {reason}; or declare wide integers as UInt(bits) or SInt(bits), which are computed digit by digit"
    )]
    NoSet {
        /// log2 of the accepted failure probability.
        target: f64,
        nearest: String,
        reason: Box<NoiseError>,
    },
    #[error(
        "no default parameter set can bring public-key ciphertexts under its small key; name a set with a key-switching key"
    )]
    NoCandidate,
    #[error(
        "no default parameter set has circuit bootstrapping, which wide tables need; name a set with circuit gadgets"
    )]
    NoWideSet,
    #[error(transparent)]
    Dataflow(#[from] DataflowError),
    #[error(transparent)]
    KeyUnrolling(#[from] UnrollingError),
}

/// "file:line: ", or an empty string.
fn place_of(location: &Option<String>) -> String {
    location.as_ref().map_or(String::new(), |at| format!("{at}: "))
}

/// The key that encrypts inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// The client's secret key.
    #[default]
    Secret,
    /// The client's public key, usable by anybody: more noise, and a key switch if inputs are under the small key.
    Public,
}

impl Encryption {
    fn is_secret(&self) -> bool {
        *self == Self::Secret
    }
}

/// Noise of the building blocks for one parameter set and key-switch order.
struct Model {
    formulas: Formulas,
    input: Noise,
    result: Noise,
    switch: Noise,
    shared_rotations: bool,
    encryption: Encryption,
    /// The figures that circuit bootstrapping depends on.
    unrolling: KeyUnrolling,
    transform: Transform,
    gadgets: Option<CircuitGadgets>,
    /// A key switch after each result.
    switched: Noise,
}

/// Noise of a row of terms.
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
        let unrolling = parameters.unrolling(Some(choice.key_unrolling))?;
        let rotation = formulas.blind_rotation_unrolled(unrolling, transform);
        let none = Noise::default();
        let (of_inputs, result, switch) = match choice.key_switch {
            KeySwitchOrder::None => (LweKind::Small, rotation, none),
            KeySwitchOrder::Before => (LweKind::Large, rotation, key_switch()?),
            KeySwitchOrder::After => (LweKind::Small, rotation.plus(key_switch()?), none),
        };
        let input = match encryption {
            Encryption::Secret => formulas.fresh(of_inputs),
            // A set with one LWE key needs no key switch.
            Encryption::Public if parameters.has_one_lwe_key() => {
                formulas.public_zero(LweKind::Large, parameters).ok_or_else(missing)?
            }
            Encryption::Public => formulas.public_zero(of_inputs, parameters).ok_or_else(missing)?,
        };
        let switched = if choice.key_switch == KeySwitchOrder::After { key_switch()? } else { none };
        Ok(Self {
            formulas,
            input,
            result,
            switch,
            shared_rotations: choice.shared_rotations,
            encryption,
            unrolling,
            transform,
            gadgets: parameters.circuit(),
            switched,
        })
    }

    /// The result of a wide lookup. A set without circuit bootstrapping has none; the lowering reports it.
    fn wide(&self, width: usize) -> Noise {
        let gadgets = self.gadgets;
        let noise = |gadgets| self.formulas.wide_lookup(gadgets, width as u32, self.unrolling, self.transform);
        gadgets.map_or(Noise::default(), noise).plus(self.switched)
    }

    /// Noise, Σ w² and Σ w of row `row`.
    ///
    /// Some sources are correlated. Results of one rotation are neighbors in one accumulator; any two have covariance at most
    /// [`Noise::together`]. Public-key ciphertexts are coefficients of one product e·S with the secret; key bits of mean 1/2
    /// correlate any two by at most 1/2, so Var Σ w·e ≤ (Σ w² + (Σ |w|)²)/2 times a coefficient's variance.
    fn combination(&self, terms: &Terms, row: usize, flow: &Dataflow) -> Combination {
        cancel::check();
        let sources = &flow.sources;
        let (columns, weights) = terms.row(row);
        let (mut inputs, mut results, mut wide_sum) = (0.0, 0.0, 0.0);
        // Public-key inputs share the mean of their key switch.
        let (mut input_sum, mut input_most) = (0.0, 0.0);
        // First results of accumulators share one mean; later results are summed separately.
        let (mut first, mut later, mut later_most) = (0.0, 0.0, 0.0);
        // Σ |w| and Σ w² of each rotation.
        let mut rotations: BTreeMap<(u32, u32), [f64; 2]> = BTreeMap::new();
        // Σ |w| and Σ w² of each wide lookup; results of one are neighbors too.
        let mut wide: BTreeMap<(u32, u32), [f64; 2]> = BTreeMap::new();
        for (&column, &weight) in columns.iter().zip(weights) {
            let (source, weight) = (sources[column as usize], f64::from(weight));
            if source.output.is_some() {
                let [sum, squares] = wide.entry((source.level, source.index)).or_default();
                *sum += weight.abs();
                *squares += weight * weight;
                wide_sum += weight;
                continue;
            }
            if source.level == 0 {
                inputs += weight * weight;
                input_sum += weight;
                input_most += weight.abs();
                continue;
            }
            results += weight * weight;
            match flow.rotation_of(source).filter(|_| self.shared_rotations) {
                Some(rotation) => {
                    later += weight;
                    later_most += weight.abs();
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
        let weight_sum: f64 = first + later;
        let pairs: f64 = rotations.values().map(|[sum, squares]| sum * sum - squares).sum();
        let results_noise = self.result.combined(results, weight_sum, f64::abs(first) + later_most);
        let mut noise = fresh.plus(results_noise).plus(Noise::random(pairs * self.result.together));
        let mut wide_squares = 0.0;
        for ((level, index), [sum, squares]) in wide {
            let result = self.wide(flow.levels[level as usize - 1].wide[index as usize].bits.len());
            let own = result.combined(squares, sum, sum);
            noise = noise.plus(own).plus(Noise::random((sum * sum - squares) * result.together));
            wide_squares += squares;
        }
        let squared_norm = inputs + results + wide_squares;
        Combination { noise, squared_norm, weight_sum: weight_sum + wide_sum }
    }
}

/// Bound of the error, exceeded with probability 2^-128, or `margin` if that is less.
pub(crate) fn error_within(noise: Noise, margin: f64) -> f64 {
    margin.min(ERROR_DEVIATIONS * noise.variance.sqrt() + noise.mean_bound)
}

fn written(location: Option<&Location>) -> Option<String> {
    location.map(ToString::to_string)
}

/// The noise of `program` lowered with `choice`, for [`Keys::Accepted`]. `transform` is the noise of the products.
///
/// # Errors
/// [`NoiseError::NoKeySwitchKey`], [`NoiseError::KeyUnrolling`], [`NoiseError::Dataflow`]. An exceeded budget is no error here;
/// see [`NoiseReport::check`].
pub fn report_lowered(
    program: &Program,
    parameters: &Parameters,
    choice: &TfheLowering,
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    report_for(program, parameters, choice, transform, Keys::Accepted)
}

/// [`report_lowered`] for `keys`: all accepted keys, the average (which tests compare with measurements), or known key weights.
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

/// [`report_for`] with inputs encrypted as `encryption`.
///
/// # Errors
/// As [`report_lowered`]; [`NoiseError::NoKeySwitchKey`] if public-key inputs need a key switch that the set lacks.
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
        let lookups_of = rotations.flat_map(|shared| shared.iter().map(|it| (log2_tables(shared.len()), *it)));
        // A bit is the sign of a combination, with as many results of the rotation as its GGSW ciphertext has levels.
        let levels = model.gadgets.map_or(1, |gadgets| gadgets.ggsw.levels as usize);
        let mut seen = HashSet::new();
        let of_bits = level.wide.iter().flat_map(|wide| wide.bits.iter().map(move |bit| (wide.origin, bit)));
        let of_bits = of_bits.filter(|(_, bit)| seen.insert(**bit)).map(|(origin, bit)| {
            (log2_tables(levels), Lookup { row: bit.row, function: bit.function, group: 0, origin })
        });
        for (log2_tables, lookup) in lookups_of.chain(of_bits) {
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

/// Rounding error of the torus unit per unit of the value, |q/P - round(q/P)| / q.
fn step_drift(torus_bits: u32, step: u32) -> f64 {
    // q mod P is exact because q is a power of two.
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
        // Exact, because the step is a power of two.
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
    // Flooding noise must hide all rows.
    let noise = worst.iter().fold(Noise::default(), |noise, row| noise.max(row.noise));
    // Without a key switch, inputs and results keep their keys, and no output mixes them.
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

/// The rows whose noise no other row exceeds in all parts; failures and bounds increase with each part.
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

/// Deviations that a Gaussian error exceeds with probability 2^-128.
const ERROR_DEVIATIONS: f64 = 13.2;

impl NoiseReport {
    /// Checks that each lookup, each output and the whole program fail with probability at most 2^`target`.
    ///
    /// # Errors
    /// The first operation in program order that exceeds the budget.
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
