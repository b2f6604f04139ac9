//! Functional replay: the schedule's events, in the schedule's order, on real ciphertexts.
//!
//! Data lives only where the schedule puts it, so a schedule with a wrong order, a wrong buffer or a missing transfer gives
//! wrong ciphertexts. The arithmetic is that of the interpreter's primitives, with the machine's widths ([`operations`]).
//! In [`stream`], elements move at the cycles that the schedule says.

pub mod datum;
pub mod operations;
pub mod stream;

use crate::engine::schedule::{MemoryId, Value};
use crate::torus::workload::{Item, operand_items};
use datum::Datum;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_runtime::tfhe::RunError;
use polyfabric_runtime::tfhe::interpreter::{Primitives, check_inputs};
use polyfabric_schemes::tfhe::{LweBatch, LweDimension, ServerKey};
use std::collections::BTreeMap;

/// Why a replay stopped: either the inputs, or a schedule that does not compute what it should.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// Program, key and inputs do not fit together.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An event reads a place where nothing whole lies.
    #[error("replay: in cycle {cycle} an event reads byte {offset} of memory {}, where nothing has been written", memory.0)]
    Empty {
        /// The memory.
        memory: MemoryId,
        /// Byte.
        offset: u64,
        /// Cycle.
        cycle: i64,
    },
    /// An event reads a value that is not in off-chip memory.
    #[error("replay: in cycle {cycle} an event reads {value:?} from off-chip memory, where it has not been written")]
    Missing {
        /// The value.
        value: Value,
        /// Cycle.
        cycle: i64,
    },
    /// An event finds something else than it computes with.
    #[error("replay: in cycle {cycle} an event needs {expected} and finds {found}")]
    Kind {
        /// Cycle.
        cycle: i64,
        /// What it needs.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// An event of an operation that the program does not have.
    #[error(
        "replay: in cycle {cycle} an event carries out part {part} of operation %{operation}, which does not exist"
    )]
    Operation {
        /// Cycle.
        cycle: i64,
        /// The operation.
        operation: u32,
        /// Its part.
        part: u32,
    },
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The program's outputs.
    pub outputs: BTreeMap<String, LweBatch<u32>>,
    /// Values that left their fixed-point width: anything but 0 means that outputs may be wrong.
    pub saturations: u64,
    /// Events carried out.
    pub events: u64,
}

/// What events compute with, whatever they run on.
pub struct Context<'a> {
    /// The program.
    pub program: &'a KernelProgram,
    /// Its arithmetic, with the keys.
    pub primitives: Primitives<'a, u32>,
    /// Coefficients of its test polynomials.
    pub tables: Vec<Vec<u32>>,
}

impl<'a> Context<'a> {
    /// Of `program` under `key`.
    ///
    /// # Errors
    /// [`ReplayError::Run`] if they and `inputs` do not fit together.
    pub fn new(
        program: &'a KernelProgram,
        key: &'a ServerKey<u32>,
        inputs: &BTreeMap<String, LweBatch<u32>>,
    ) -> Result<Self, ReplayError> {
        check_inputs(program, key, inputs)?;
        let primitives = Primitives::new(key, &program.choice.arithmetic)?;
        let tables = program.tables.iter().map(|table| table.coefficients()).collect();
        Ok(Self { program, primitives, tables })
    }
}

/// The ciphertexts of `inputs`, as items of their operations.
pub fn inputs<'a>(
    program: &'a KernelProgram,
    inputs: &'a BTreeMap<String, LweBatch<u32>>,
) -> impl Iterator<Item = (Item, Datum)> + 'a {
    program.inputs().flat_map(move |(name, id, _)| {
        let elements = inputs[name].iter().enumerate();
        elements.map(move |(element, ciphertext)| {
            (Item { op: id.0, element: element as u32 }, Datum::Torus(ciphertext.to_vec().into()))
        })
    })
}

/// The outputs of `program`, from what lies off the chip: `find` gives the name of an item there, and what it is.
///
/// # Errors
/// [`ReplayError::Missing`] for one that nobody stored.
pub fn outputs<'a>(
    program: &KernelProgram,
    find: impl Fn(Item) -> (Value, Option<&'a Datum>),
) -> Result<BTreeMap<String, LweBatch<u32>>, ReplayError> {
    let mut outputs = BTreeMap::new();
    for output in &program.outputs {
        let mut ciphertexts = Vec::new();
        for item in operand_items(program, &[output.value]) {
            match find(item) {
                (_, Some(Datum::Torus(ciphertext))) => ciphertexts.push(ciphertext),
                (value, _) => return Err(ReplayError::Missing { value, cycle: i64::MAX }),
            }
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
            // A wrong schedule may leave something else of an earlier instruction there.
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
