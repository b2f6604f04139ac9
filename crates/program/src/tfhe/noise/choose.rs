//! Chooses the fastest default parameter set for a program.

use super::rates::Rates;
use super::{Encryption, NoiseError, NoiseReport, report_flow};
use crate::tfhe::dataflow::Dataflow;
use crate::tfhe::homomorphic::Program;
use crate::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::noise::{Keys, Transform};
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters, sets};

/// A parameter set for a program, and the lowering that goes with it.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub parameters: Parameters,
    pub key_switch: KeySwitchOrder,
    pub unrolling: KeyUnrolling,
    pub report: NoiseReport,
}

/// The fastest default set with which `program` fails with probability at most 2^`target` on a CPU ([`TfheLowering::processor`]).
///
/// Only sets whose small key is block-binary, or uniform, as `blocks` says. Times are the measured rates of lookups and key
/// switches for keys with `unrolling` secret bits an iteration. `transform` is the noise of the products.
/// Inputs are encrypted as `encryption`; with `circuit_privacy`, every output hides its computation with that many bits, within
/// the same failure probability.
///
/// # Errors
/// [`NoiseError::NoSet`], with the set that comes closest and the first operation that fails with it.
pub fn choose_parameters(
    program: &Program,
    target: f64,
    (blocks, unrolling): (bool, Option<u32>),
    transform: Transform,
    (encryption, circuit_privacy): (Encryption, Option<f64>),
) -> Result<Chosen, NoiseError> {
    let flow = Dataflow::new(program)?;
    let lookups: usize = flow.levels.iter().map(|level| level.rotations(true).count() + level.bits().len()).sum();
    // Only sets with circuit bootstrapping read wide tables, and their keys are too large for anything else.
    let wide = flow.levels.iter().any(|level| !level.wide.is_empty());
    let rows: usize = flow.levels.iter().map(|level| level.bias.len()).sum();
    let mut candidates = Vec::new();
    for (entry, parameters) in sets::all() {
        let kind = (parameters.secret().is_binary(), parameters.circuit().is_some());
        if entry.family != sets::Family::Default || kind != (!blocks, wide) {
            continue;
        }
        let unrolling = parameters.unrolling(unrolling)?;
        let rates = Rates::of(parameters).expect("every default set has rates, as a test checks");
        let mut orders = Vec::new();
        if lowers_without_key_switch(&flow) {
            orders.push((KeySwitchOrder::None, 0));
        }
        if parameters.key_switch_gadget().is_some() {
            orders.extend([(KeySwitchOrder::Before, rows), (KeySwitchOrder::After, lookups)]);
        }
        for (order, switches) in orders {
            candidates.push((rates.milliseconds(unrolling, lookups, switches), parameters, (order, unrolling)));
        }
    }
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Prefer, as nearest, the set that offers most circuit privacy over sets that cannot run the program at all.
    let mut nearest: Option<([f64; 2], String, NoiseError)> = None;
    for (_, parameters, (key_switch, unrolling)) in candidates {
        let choice = TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::processor(key_switch) };
        let report = match report_flow(program, &flow, parameters, (&choice, Keys::Accepted, encryption), transform) {
            // This set cannot bring public-key ciphertexts under its small key.
            Err(NoiseError::NoKeySwitchKey { .. }) if encryption == Encryption::Public => continue,
            report => report?,
        };
        let private = |()| match circuit_privacy {
            Some(bits) => report.with_circuit_privacy(parameters, bits, target),
            None => Ok(report.clone()),
        };
        let checked = report.check(parameters, target).and_then(private);
        match checked.and_then(|report| report.check(parameters, target).map(|()| report)) {
            Ok(report) => return Ok(Chosen { parameters: parameters.clone(), key_switch, unrolling, report }),
            Err(reason @ NoiseError::PrivacyBits { .. }) => return Err(reason),
            Err(reason) => {
                let distance = match &reason {
                    NoiseError::Privacy { most, .. } => [0.0, most.map_or(0.0, |bits| -bits)],
                    _ => [1.0, report.log2_failure],
                };
                if nearest.as_ref().is_none_or(|(least, ..)| distance < *least) {
                    nearest = Some((distance, parameters.name().to_owned(), reason));
                }
            }
        }
    }
    Err(match nearest {
        Some((_, nearest, reason)) => NoiseError::NoSet { target, nearest, reason: Box::new(reason) },
        None if wide => NoiseError::NoWideSet,
        None => NoiseError::NoCandidate,
    })
}

fn lowers_without_key_switch(flow: &Dataflow) -> bool {
    let pure = |output: &crate::tfhe::dataflow::OutputForms| {
        let terms = &output.forms.terms;
        let mut columns = (0..terms.rows()).flat_map(|row| terms.row(row).0);
        let first = columns.next().map(|&column| flow.sources[column as usize].level);
        columns.all(|&column| Some(flow.sources[column as usize].level) == first)
    };
    flow.levels.len() <= 1 && flow.outputs.iter().all(pure)
}
