//! Functional replay: the schedule's events, in the schedule's order, on real ciphertexts.
//!
//! Data exists only where the schedule puts it, so a wrong order, a wrong buffer or a missing transfer gives wrong ciphertexts. An event
//! computes its results by the program's definition ([`crate::tfhe::definition`]), in the machine's arithmetic (`words.rs`), from the data
//! at the places that it reads. In [`stream`], elements move in the cycles that the schedule states.

pub mod stream;
mod words;

use super::definition::{Definitions, Undefined};
use super::labels::{Labels, Meaning};
use super::workload::operand_items;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_runtime::Progress;
use polyfabric_runtime::tfhe::RunError;
use polyfabric_runtime::tfhe::interpreter::{Primitives, check_inputs};
use polyfabric_schemes::tfhe::{LweBatch, LweDimension, ServerKey};
use polyfabric_sim::schedule::{MemoryId, Schedule};
use std::collections::BTreeMap;

pub use words::Datum;

/// Why a replay stopped: wrong inputs, or a schedule that does not compute its program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("replay: in cycle {cycle} an event reads byte {offset} of memory {}, where nothing has been written", memory.0)]
    Empty { memory: MemoryId, offset: u64, cycle: i64 },
    #[error("replay: in cycle {cycle} an event reads {what} from off-chip memory, where it has not been written")]
    Missing { what: String, cycle: i64 },
    #[error("replay: in cycle {cycle} an event needs {expected} and finds {found}")]
    Kind { cycle: i64, expected: &'static str, found: &'static str },
    #[error("replay: in cycle {cycle} an event cannot compute its result: {undefined}")]
    Undefined { cycle: i64, undefined: Undefined },
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The program's outputs.
    pub outputs: BTreeMap<String, LweBatch<u32>>,
    /// Number of values that exceeded their fixed-point width. If it is not 0, outputs may be wrong.
    pub saturations: u64,
    /// Number of executed events.
    pub events: u64,
}

/// A program with its keys and tables, in the machine's arithmetic.
struct Context<'a> {
    program: &'a KernelProgram,
    definitions: Definitions<'a>,
    primitives: Primitives<'a, u32>,
    /// Coefficients of the test polynomials.
    tables: Vec<Vec<u32>>,
}

/// Executes `schedule` on `inputs`; `labels` are the meanings of its values.
///
/// # Errors
/// [`ReplayError::Run`] if program, key and inputs do not fit together. Otherwise the error of the first event that lacks an operand, or of
/// an output that is not stored.
pub fn replay(
    schedule: &Schedule,
    labels: &Labels,
    program: &KernelProgram,
    key: &ServerKey<u32>,
    inputs: &BTreeMap<String, LweBatch<u32>>,
    progress: &dyn Progress,
) -> Result<Replay, ReplayError> {
    check_inputs(program, key, inputs)?;
    let primitives = Primitives::new(key, &program.choice.arithmetic)?;
    let tables = program.tables.iter().map(|table| table.coefficients()).collect();
    let context = Context { program, definitions: Definitions::new(program), primitives, tables };
    let given = program.inputs().flat_map(|(name, id, _)| {
        let elements = (0u32..).zip(inputs[name].iter());
        elements
            .map(move |(element, ciphertext)| (Meaning::Lwe { op: id.0, element }, Datum::torus(ciphertext.to_vec())))
    });
    let stored = stream::carry_out(schedule, labels, &context, given, progress)?;
    let outputs = outputs(&context, |meaning| stored.get(&meaning))?;
    Ok(Replay { outputs, saturations: context.primitives.saturations(), events: schedule.event_count() })
}

/// The program's outputs, from off-chip memory.
fn outputs<'s>(
    context: &Context<'_>,
    find: impl Fn(Meaning) -> Option<&'s Datum>,
) -> Result<BTreeMap<String, LweBatch<u32>>, ReplayError> {
    let program = context.program;
    let mut outputs = BTreeMap::new();
    for output in &program.outputs {
        let mut ciphertexts = Vec::new();
        for item in operand_items(program, &[output.value]) {
            let meaning = Meaning::Lwe { op: item.op, element: item.element };
            let Some(Datum::Torus(ciphertext)) = find(meaning) else {
                let what = meaning.in_words(&context.definitions.lookups);
                return Err(ReplayError::Missing { what, cycle: i64::MAX });
            };
            ciphertexts.push(ciphertext);
        }
        let length = ciphertexts.first().map_or(1, |ciphertext| ciphertext.len());
        let parameters = &program.parameters;
        let dimension: LweDimension = if length == parameters.lwe_dimension().ciphertext_len() {
            parameters.lwe_dimension()
        } else {
            parameters.large_lwe_dimension()
        };
        let mut batch = LweBatch::zeros(dimension, ciphertexts.len());
        for (target, ciphertext) in batch.iter_mut().zip(ciphertexts) {
            // A wrong schedule may leave another value of an earlier instruction there.
            if ciphertext.len() != target.len() {
                let (expected, found) = ("a ciphertext of the output's dimension", "one of another");
                return Err(ReplayError::Kind { cycle: i64::MAX, expected, found });
            }
            target.copy_from_slice(ciphertext);
        }
        outputs.insert(output.name.to_string(), batch);
    }
    Ok(outputs)
}
