//! The noise of a whole program, before it runs.
//!
//! Every combination that a look-up reads is a combination of independent ciphertexts (see the flattening), so its
//! variance is Σ w² V: inputs bring fresh noise, look-up results the blind rotation's (and, with the key switch
//! after it, the key switch's). What reads it adds the key switch (before) and the modulus switch. The look-up
//! fails when the sum leaves the margin of its test polynomial; the program, when any look-up or output does.

mod choose;

pub use choose::{Chosen, choose_parameters};

use crate::Location;
use crate::tfhe::dataflow::{Dataflow, DataflowError, OutputForms, Source, Terms, log2_tables};
use crate::tfhe::homomorphic::{ElementType, NodeId, Program, op_name};
use crate::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::noise::{self, Transform};
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
    /// Variance of the combination, a fraction of the torus squared.
    pub operand_variance: f64,
    /// Variance of what the look-up reads: with key switch (before) and modulus switch.
    pub variance: f64,
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
    /// Σ w² over the independent ciphertexts that it combines.
    pub squared_norm: f64,
    /// Variance of its phase, a fraction of the torus squared.
    pub variance: f64,
    /// Noise that decoding withstands; none for a torus value, which is read with its noise.
    pub margin: Option<f64>,
    /// log2 of the probability that one element decodes wrongly; -∞ (JSON null) without margin.
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
}

/// Why a program's noise is not acceptable, or not known.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoiseError {
    /// A look-up leaves its budget.
    #[error(
        "{}{} %{} leaves its noise budget with parameter set {parameters}: reading {} fails with probability 2^{:.1}, more than 2^{target:.1} \
         (noise 2^{:.2}, margin 2^{:.2} of the torus, sum of squared weights {}); \
         use smaller weights or a narrower range, or put a look-up before the sum",
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
         (noise 2^{:.2} of the torus, sum of squared weights {}); use smaller weights or a narrower range",
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
    /// Each look-up is within the budget, their union is not.
    #[error(
        "with parameter set {parameters} the program of {lookups} look-ups fails with probability 2^{log2_failure:.1}, more than 2^{target:.1}, though none does alone; use fewer look-ups"
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
    #[error(
        "parameter set {parameters} has no key-switch gadget, but a key switch is asked for; choose another set, or no key switch"
    )]
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
    /// There is no default set on the torus asked for.
    #[error("there is no default parameter set on a {torus_bits}-bit torus; ask for 32 or 64 bits")]
    NoCandidate {
        /// The width asked for.
        torus_bits: u32,
    },
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

/// Variances of the building blocks for one set and one place of the key switch.
struct Model {
    input: f64,
    result: f64,
    switch: f64,
}

impl Model {
    fn new(
        parameters: &Parameters,
        order: KeySwitchOrder,
        unrolling: KeyUnrolling,
        transform: Transform,
    ) -> Result<Self, NoiseError> {
        let key_switch = || {
            let missing = || NoiseError::NoKeySwitchKey { parameters: parameters.name().to_owned() };
            noise::key_switch(parameters).ok_or_else(missing)
        };
        let rotation = noise::blind_rotation_unrolled(parameters, unrolling, transform);
        Ok(match order {
            KeySwitchOrder::None => {
                Self { input: noise::fresh(parameters, LweKind::Small), result: rotation, switch: 0.0 }
            }
            KeySwitchOrder::Before => {
                Self { input: noise::fresh(parameters, LweKind::Large), result: rotation, switch: key_switch()? }
            }
            KeySwitchOrder::After => {
                Self { input: noise::fresh(parameters, LweKind::Small), result: rotation + key_switch()?, switch: 0.0 }
            }
        })
    }

    /// Variance and Σ w² of row `row`.
    fn combination(&self, terms: &Terms, row: usize, sources: &[Source]) -> (f64, f64) {
        let (columns, weights) = terms.row(row);
        let mut norms = [0.0, 0.0];
        for (&column, &weight) in columns.iter().zip(weights) {
            let result = sources[column as usize].level > 0;
            norms[usize::from(result)] += f64::from(weight).powi(2);
        }
        (norms[0] * self.input + norms[1] * self.result, norms[0] + norms[1])
    }
}

fn written(location: Option<&Location>) -> Option<String> {
    location.map(ToString::to_string)
}

/// The noise of `program` with `parameters`, the key switch at `order`, and products computed by `transform`.
///
/// # Errors
/// [`NoiseError::NoKeySwitchKey`], [`NoiseError::Dataflow`]; a budget that is left is no error here, see
/// [`NoiseReport::check`].
pub fn report(
    program: &Program,
    parameters: &Parameters,
    order: KeySwitchOrder,
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    report_unrolled(program, parameters, order, KeyUnrolling::ONE, transform)
}

/// [`report`] with a server key for `unrolling` secret bits an iteration.
///
/// # Errors
/// As [`report`].
pub fn report_unrolled(
    program: &Program,
    parameters: &Parameters,
    order: KeySwitchOrder,
    unrolling: KeyUnrolling,
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    let choice = TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::new(order, Arithmetic::F64) };
    report_lowered(program, parameters, &choice, transform)
}

/// The noise of `program` lowered by `choice`, products computed by `transform`.
///
/// # Errors
/// As [`report`], and [`NoiseError::KeyUnrolling`].
pub fn report_lowered(
    program: &Program,
    parameters: &Parameters,
    choice: &TfheLowering,
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    report_flow(program, &Dataflow::new(program)?, parameters, choice, transform)
}

fn report_flow(
    program: &Program,
    flow: &Dataflow,
    parameters: &Parameters,
    choice: &TfheLowering,
    transform: Transform,
) -> Result<NoiseReport, NoiseError> {
    let order = choice.key_switch;
    let model = Model::new(parameters, order, KeyUnrolling::new(choice.key_unrolling)?, transform)?;
    let degree = parameters.ring_degree().get();
    let drift = |step: u32, units: i64| step_drift(parameters.torus_bits(), step) * units.unsigned_abs() as f64;
    let margin = |function: &crate::tfhe::dataflow::Function, log2_tables: u32| {
        let units = function.domain.lo().abs().max(function.domain.hi().abs());
        function.margin(degree >> log2_tables) - drift(function.step_in, units)
    };
    let mut margins: HashMap<(u32, u32), f64> = HashMap::new();
    let mut lookups: BTreeMap<NodeId, LookupNoise> = BTreeMap::new();
    let mut failures = Vec::new();
    for level in &flow.levels {
        let rows: Vec<(f64, f64)> =
            (0..level.bias.len()).map(|row| model.combination(&level.terms, row, &flow.sources)).collect();
        let rotations = level.rotations(choice.shared_rotations);
        for (log2_tables, lookup) in
            rotations.flat_map(|shared| shared.iter().map(|it| (log2_tables(shared.len()), it)))
        {
            let (operand_variance, squared_norm) = rows[lookup.row as usize];
            let modulus_switch = noise::modulus_switch_with(parameters, choice.rounding, log2_tables);
            let variance = operand_variance + model.switch + modulus_switch;
            let function = &flow.functions[lookup.function as usize];
            let key = (lookup.function, log2_tables);
            let margin = *margins.entry(key).or_insert_with(|| margin(function, log2_tables));
            let log2_failure = noise::failure_probability_log2(variance, margin);
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
                    operand_variance,
                    variance,
                    margin,
                    log2_failure,
                }
            });
            noise.count += 1;
            if log2_failure > noise.log2_failure {
                *noise =
                    LookupNoise { squared_norm, operand_variance, variance, margin, log2_failure, ..noise.clone() };
            }
        }
    }
    let mut outputs = Vec::new();
    for output in &flow.outputs {
        let noise = output_noise(program, flow, &model, output, drift);
        failures.push((noise.log2_failure, noise.count));
        outputs.push(noise);
    }
    Ok(NoiseReport {
        parameters: parameters.name().to_owned(),
        key_switch: order,
        lookups: lookups.into_values().collect(),
        outputs,
        log2_failure: noise::union_log2(failures),
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
    model: &Model,
    output: &OutputForms,
    drift: impl Fn(u32, i64) -> f64,
) -> OutputNoise {
    let node = program.node(output.node);
    let step = program.step(output.node);
    let margin = match node.element {
        ElementType::Boolean => Some(1.0 / f64::from(step)),
        ElementType::Integer(range) => {
            let half = range.slot() as f64 / 2.0 / f64::from(step);
            Some(half - drift(step, range.lo().abs().max(range.hi().abs())))
        }
        ElementType::Torus { .. } => None,
    };
    let rows = (0..output.forms.len()).map(|row| model.combination(&output.forms.terms, row, &flow.sources));
    let (variance, squared_norm) = rows.fold((0.0, 0.0), |worst, row| if row.0 > worst.0 { row } else { worst });
    let failure = |margin| noise::failure_probability_log2(variance, margin);
    OutputNoise {
        node: output.node.0,
        name: output.name.to_string(),
        location: written(node.location.as_ref()),
        element: node.element.to_string(),
        count: output.forms.len() as u64,
        squared_norm,
        variance,
        margin,
        log2_failure: margin.map_or(f64::NEG_INFINITY, failure),
    }
}

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
