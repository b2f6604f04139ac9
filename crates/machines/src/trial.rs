//! Measures the lookups of a parameter set on a machine, with its own schedule and arithmetic.

use crate::contract::tfhe::{lowering, map, report};
use crate::contract::{Machine, MachineError};
use crate::tfhe::replay::replay;
use polyfabric_program::tfhe::builtin::{BuiltIn, build_for};
use polyfabric_program::tfhe::homomorphic::{encode_input, evaluate};
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_runtime::{NoProgress, Progress};
use polyfabric_schemes::tfhe::encoding::TorusStep;
use polyfabric_schemes::tfhe::noise::{Formulas, Keys};
use polyfabric_schemes::tfhe::{ClientKey, LweKind, Parameters, ServerKey};
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of lookups per schedule. They share the cost of scheduling, but a replay stores all of their ciphertexts.
const BATCH: u64 = 960;

/// Measured lookups of one set on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Number of lookups, each on a fresh ciphertext.
    pub lookups: u64,
    /// Bits of a message, without its padding bit.
    pub message_bits: u32,
    /// Number of wrong results.
    pub wrong: u64,
    /// log2 of the failure probability of a lookup, for the worst key that is used.
    pub log2_failure: f64,
    /// log2 of the standard deviation of the results' phases, as a fraction of the torus. Measured on the correct results; `None` if there
    /// are none.
    pub log2_deviation: Option<f64>,
    /// The same as predicted by the noise formulas, with the transform's predicted error.
    pub log2_predicted: f64,
    /// Number of values that exceeded their fixed-point width.
    pub saturations: u64,
}

/// Replays `lookups` lookups of `parameters` on `machine`, with freshly drawn keys. Messages have `bits` bits, by default as many as the
/// set supports on the machine.
///
/// # Errors
/// [`MachineError`] if the machine does not support the set, or randomness is unavailable.
pub fn trial(
    machine: &Machine,
    parameters: &Parameters,
    lookups: u64,
    bits: Option<u32>,
    progress: &dyn Progress,
) -> Result<Trial, MachineError> {
    let choice = lowering(machine, parameters, KeySwitchOrder::None)?;
    let transform = choice.arithmetic.transform(parameters);
    let of = |count: u64| {
        let built = build_for("pbs", bits, parameters, count as usize, &choice, transform);
        built.map_err(|cause| MachineError::mapping(machine, parameters.name(), cause))
    };
    let no_keys = |cause| MachineError::mapping(machine, parameters.name(), cause);
    let client = ClientKey::<u32>::generate(parameters).map_err(no_keys)?;
    let server = ServerKey::generate(&client, &|_| {}).map_err(no_keys)?;
    let (mut wrong, mut saturations, mut squares, mut done) = (0, 0, 0.0, 0);
    let mut built = of(BATCH.min(lookups))?;
    let mut mapped = map(machine, &built.kernel)?;
    report(machine, &built.kernel, &mapped)?;
    progress.update("lookups", 0, lookups);
    while done < lookups {
        let count = BATCH.min(lookups - done);
        if count < BATCH && done > 0 {
            built = of(count)?;
            mapped = map(machine, &built.kernel)?;
        }
        let given = Given::new(&built, done, count);
        let batch = client.encrypt(LweKind::Small, &given.plaintexts);
        let inputs = BTreeMap::from([(
            "x".to_owned(),
            batch.map_err(|cause| MachineError::mapping(machine, parameters.name(), cause))?,
        )]);
        let replayed = replay(&mapped.schedule, &mapped.labels, &built.kernel, &server, &inputs, &NoProgress);
        let replayed = replayed.map_err(|error| MachineError::Replay(Box::new(error)))?;
        saturations += replayed.saturations;
        let results = replayed.outputs.get("y").map(|batch| client.decrypt_phase(parameters.extracted_key(), batch));
        let phases = results.transpose().map_err(|cause| MachineError::mapping(machine, parameters.name(), cause))?;
        for (phase, expected) in phases.unwrap_or_default().iter().zip(&given.expected) {
            let error = f64::from(phase.wrapping_sub(*expected) as i32) / 32f64.exp2();
            if error.abs() < given.margin {
                squares += error * error;
            } else {
                wrong += 1;
            }
        }
        done += count;
        progress.update("lookups", done, lookups);
    }
    let right = lookups - wrong;
    Ok(Trial {
        lookups,
        message_bits: built.message_bits,
        wrong,
        log2_failure: built.log2_failure,
        log2_deviation: (right > 0).then(|| (squares / right as f64).log2() / 2.0),
        log2_predicted: Formulas::of(parameters, Keys::Accepted).blind_rotation(transform).variance.log2() / 2.0,
        saturations,
    })
}

/// Inputs and expected results.
struct Given {
    plaintexts: Vec<u32>,
    expected: Vec<u32>,
    /// A result farther than this from its plaintext decodes to another one.
    margin: f64,
}

impl Given {
    /// Lookups from `first` on, which use all messages in turn.
    fn new(built: &BuiltIn, first: u64, count: u64) -> Self {
        let program = &built.program;
        let messages: Vec<i64> =
            (first..first + count).map(|index| (index % (1 << built.message_bits)) as i64).collect();
        let plaintexts = encode_input(program, "x", &messages).unwrap_or_default();
        let clear = evaluate(program, &BTreeMap::from([("x".to_owned(), messages)])).ok();
        let step = TorusStep { denominator: 2 << built.message_bits };
        let values = clear.and_then(|clear| clear.outputs(program).remove("y")).unwrap_or_default();
        let expected = values.into_iter().map(|value| step.encode(value)).collect();
        Self { plaintexts, expected, margin: 0.5 / f64::from(step.denominator) }
    }
}
