//! Estimates the CPU time of a TFHE program before it runs, from a few timed lookups, measured once per parameter set.
//!
//! Lookups are timed with fewer secret bits; their time is proportional to that number. The estimate includes the division of batches
//! among processors.

use super::{Memory, Request, TfhePlan, built_in};
use crate::measure::{shortest, usual};
use crate::memory::threads;
use crate::{ClientSeconds, Fault, PlanError};
use polyfabric_kernels::Torus;
use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Program, Range, Table};
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind, ValueType, count};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::{Executor, TransformedKey};
use polyfabric_schemes::tfhe::{ClientKey, KeyUnrolling, LweBatch, LweKind, Parameters, ServerKey, no_progress};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum LWE dimension of timed lookups. A lookup's time is proportional to the dimension, and a small key is generated in a fraction
/// of a second.
const TIMED_DIMENSION: usize = 96;

/// Batch size of the timing.
const TIMED_BATCH: usize = 24;

/// Minimum batch that a processor executes in SIMD lanes; smaller ones run one by one and read the key in another form.
const LANES: usize = 8;

/// Length of the timed chain of lookups.
const TIMED_CHAIN: usize = 8;

/// Size of the memory timing: larger than allocators cache.
const FRESH_BYTES: usize = 64 << 20;

/// Bytes of a small page; the timing writes one word of each.
const PAGE_BYTES: usize = 4 << 10;

/// Times of a set's keys and lookups, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LookupTimes {
    /// Generating the evaluation keys.
    pub keys: f64,
    /// The part of it proportional to the secret bits, per bit.
    pub keys_each: f64,
    /// Transforming a key once, for lookups executed one by one.
    pub alone: f64,
    /// Transforming a key once, for lookups in SIMD lanes.
    pub together: f64,
    /// Preparing a key once, for batched key switches.
    pub cut: f64,
    /// A lookup executed by itself.
    pub single: f64,
    /// A lookup within a batch.
    pub each: f64,
    /// A key switch within a batch.
    pub switch: f64,
    /// Additional time of a lookup that waits for another, because its key switch is not batched.
    pub step: f64,
}

/// Number of lookups in each batch.
pub fn rotation_batches(kernel: &KernelProgram) -> Vec<usize> {
    batches(kernel, |kind| matches!(kind, OpKind::BlindRotation { .. }))
}

/// Number of key switches in each batch; lookups of one value share one.
pub fn key_switch_batches(kernel: &KernelProgram) -> Vec<usize> {
    batches(kernel, |kind| matches!(kind, OpKind::KeySwitch { .. }))
}

/// Number of ciphertexts that each operation of a kind produces.
fn batches(kernel: &KernelProgram, of: impl Fn(&OpKind) -> bool) -> Vec<usize> {
    kernel.ops.iter().filter(|op| of(&op.kind)).map(|op| op.result.count()).collect()
}

/// CPU seconds of an execution on this computer, including the key transforms of a first execution. Linear operations are negligible.
///
/// # Errors
/// [`Fault::Internal`] if the timed programs cannot be executed.
pub fn execution_seconds(kernel: &KernelProgram) -> Result<f64, PlanError> {
    if rotation_batches(kernel).is_empty() && key_switch_batches(kernel).is_empty() {
        return Ok(0.0);
    }
    Ok(seconds_by(kernel, &lookup_times(kernel)?, &Memory::of(kernel)?, (fresh_memory()?, threads())))
}

/// The same for given lookup times, time per byte of fresh memory, and number of processors.
pub(super) fn seconds_by(
    kernel: &KernelProgram,
    times: &LookupTimes,
    memory: &Memory,
    (fresh, processors): (f64, usize),
) -> f64 {
    let sum = |batches: &[usize]| batches.iter().sum::<usize>() as f64;
    let (rotations, switches) = (rotation_batches(kernel), key_switch_batches(kernel));
    // Every processor executes its part of a batch.
    let (apart, together): (Vec<usize>, Vec<usize>) =
        rotations.into_iter().partition(|count| count.div_ceil(processors) < LANES);
    let mut seconds = times.switch * sum(&switches);
    if switches.iter().any(|&count| count > processors) {
        seconds += times.cut;
    }
    let circuits = 1.0 + circuit_share(kernel);
    if !apart.is_empty() {
        seconds += times.alone + times.step * apart.len() as f64 + times.single * sum(&apart) * circuits;
    }
    if !together.is_empty() {
        seconds += times.together + times.each * sum(&together) * circuits;
    }
    let bits = kernel.parameters.lwe_dimension().get();
    seconds * bits as f64 / timed_dimension(&kernel.parameters) as f64 + memory.server_key_transformed as f64 * fresh
}

/// Transforms of circuit bootstrapping and of wide tables, per transform of a blind rotation: they take the same time each.
fn circuit_share(kernel: &KernelProgram) -> f64 {
    let all = count::program(kernel);
    let circuit = count::circuits(kernel);
    let transforms = |counts: count::Counts| (counts.forward_transforms + counts.inverse_transforms) as f64;
    let circuit = transforms(circuit);
    if circuit == 0.0 { 0.0 } else { circuit / (transforms(all) - circuit) }
}

/// CPU seconds of a client on this computer. Key generation is extrapolated from smaller keys; inputs and outputs are encrypted and
/// decrypted in full, since the time does not depend on the messages.
///
/// # Errors
/// As [`execution_seconds`].
pub fn client_seconds(kernel: &KernelProgram) -> Result<ClientSeconds, PlanError> {
    let times = lookup_times(kernel)?;
    let more = kernel.parameters.lwe_dimension().get() - timed_dimension(&kernel.parameters);
    let fresh = Memory::of(kernel)?.server_key as f64 * fresh_memory()?;
    let server = times.keys + times.keys_each * more as f64 + fresh;
    let own = match kernel.parameters.torus_bits() {
        32 => own_seconds::<u32>(kernel)?,
        _ => own_seconds::<u64>(kernel)?,
    };
    Ok(ClientSeconds { keys: own.keys + server, ..own })
}

fn own_seconds<T: Torus>(kernel: &KernelProgram) -> Result<ClientSeconds, PlanError> {
    let made = || ClientKey::<T>::generate(&kernel.parameters).map_err(internal);
    let keys = usual(|| Ok(()), |()| made().map(drop))?;
    let client = made()?;
    let batch = |value: ValueType| match value {
        ValueType::Lwe { kind, count, .. } => Some((kind, vec![T::default(); count])),
        ValueType::Indices { .. } | ValueType::Glwe { .. } | ValueType::Ggsw { .. } => None,
    };
    let encrypted = |(kind, plaintexts): &(LweKind, Vec<T>)| client.encrypt(*kind, plaintexts).map_err(internal);
    let inputs: Vec<_> = kernel.inputs().filter_map(|(_, _, value)| batch(value)).collect();
    let outputs = kernel.outputs.iter().filter_map(|output| batch(kernel.op(output.value).result));
    let outputs = outputs.map(|output| Ok((output.0, encrypted(&output)?))).collect::<Result<Vec<_>, PlanError>>()?;
    let encrypt = usual(|| Ok(()), |()| inputs.iter().try_for_each(|input| encrypted(input).map(drop)))?;
    let decrypted = |(kind, batch): &(LweKind, LweBatch<T>)| client.decrypt_phase(*kind, batch).map_err(internal);
    let decrypt = usual(|| Ok(()), |()| outputs.iter().try_for_each(|output| decrypted(output).map(drop)))?;
    Ok(ClientSeconds { keys, encrypt, decrypt })
}

fn internal(error: impl std::fmt::Display) -> PlanError {
    PlanError::new(Fault::Internal, error)
}

/// The LWE dimension for timing lookups of a set.
pub(super) fn timed_dimension(parameters: &Parameters) -> usize {
    TIMED_DIMENSION.min(parameters.lwe_dimension().get())
}

/// The set with `bits` secret bits in the small key and otherwise equal parameters.
fn with_dimension(parameters: &Parameters, bits: usize) -> Result<Parameters, PlanError> {
    let mut literal = parameters.literal().clone();
    literal.name = "timed".to_owned();
    literal.lwe_dimension = bits;
    literal.sources.clear();
    Parameters::check(&literal).map_err(internal)
}

/// Times of keys and lookups with the set of a kernel program, measured at the first request.
fn lookup_times(kernel: &KernelProgram) -> Result<LookupTimes, PlanError> {
    static KNOWN: Mutex<Option<HashMap<(String, u32), LookupTimes>>> = Mutex::new(None);
    let set = with_dimension(&kernel.parameters, timed_dimension(&kernel.parameters))?;
    let unrolling = set.unrolling(Some(kernel.choice.key_unrolling)).map_err(internal)?;
    let key = (serde_json::to_string(set.literal()).map_err(internal)?, unrolling.bits());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(times) = known().as_ref().and_then(|known| known.get(&key)) {
        return Ok(*times);
    }
    // Not under the lock: cancelling this work must not block other threads.
    let times = match set.torus_bits() {
        32 => Timed::<u32>::new(&set, unrolling)?.times()?,
        _ => Timed::<u64>::new(&set, unrolling)?.times()?,
    };
    known().get_or_insert_default().insert(key, times);
    Ok(times)
}

/// Seconds per byte of fresh memory, written for the first time (a page fault, with large pages where available). It matters for full-size
/// keys and their transforms; the timed keys are too small to show it.
fn fresh_memory() -> Result<f64, PlanError> {
    static KNOWN: OnceLock<f64> = OnceLock::new();
    if let Some(&known) = KNOWN.get() {
        return Ok(known);
    }
    // Keep all allocations, so that none is reused.
    let mut held = Vec::new();
    let word = size_of::<f64>();
    let seconds = usual(
        || Ok(AlignedVector::zeros(FRESH_BYTES / word)),
        |mut memory| {
            memory.iter_mut().step_by(PAGE_BYTES / word).for_each(|word| *word = 1.0);
            held.push(memory);
            Ok(())
        },
    )?;
    Ok(*KNOWN.get_or_init(|| seconds / FRESH_BYTES as f64))
}

/// A chain of lookups in which each reads the previous result.
fn chain() -> Result<Program, PlanError> {
    let range = |hi| Range::new(0, hi).ok_or_else(|| internal("no range of bits"));
    let odd = |hi| Table::tabulate(range(hi)?, |value| value % 2).map_err(internal);
    let mut builder = Builder::new("timed").map_err(internal)?;
    let x = builder.input("x", ElementType::Integer(range(1)?), TIMED_CHAIN).map_err(internal)?;
    let first = builder.select(x, &[0]).map_err(internal)?;
    let mut parity = builder.lookup(first, vec![odd(1)?], None, LookupResult::Integer).map_err(internal)?;
    for place in 1..TIMED_CHAIN as u32 {
        let next = builder.select(x, &[place]).map_err(internal)?;
        let sum = builder.add(parity, next).map_err(internal)?;
        parity = builder.lookup(sum, vec![odd(2)?], None, LookupResult::Integer).map_err(internal)?;
    }
    builder.output("y", parity).map_err(internal)?;
    builder.finish().map_err(internal)
}

/// Keys of a set for timing lookups.
struct Timed<'a, T> {
    set: &'a Parameters,
    unrolling: KeyUnrolling,
    client: ClientKey<T>,
    server: ServerKey<T>,
    /// Transforms of the evaluation keys by earlier executions.
    transformed: Arc<TransformedKey>,
}

impl<'a, T: Torus> Timed<'a, T> {
    fn new(set: &'a Parameters, unrolling: KeyUnrolling) -> Result<Self, PlanError> {
        let client = ClientKey::generate(set).map_err(internal)?;
        let server = ServerKey::generate_unrolled(&client, unrolling, &no_progress).map_err(internal)?;
        Ok(Self { set, unrolling, client, server, transformed: Arc::default() })
    }

    /// Time of generating evaluation keys with `bits` secret bits.
    fn keys(&self, bits: usize) -> Result<f64, PlanError> {
        let client = ClientKey::<T>::generate(&with_dimension(self.set, bits)?).map_err(internal)?;
        shortest(
            || Ok(()),
            |()| ServerKey::generate_unrolled(&client, self.unrolling, &no_progress).map(drop).map_err(internal),
        )
    }

    /// Time of an execution on one thread; `transformed` supplies the cached transforms.
    fn execution(
        &self,
        kernel: &KernelProgram,
        transformed: impl Fn() -> Arc<TransformedKey>,
    ) -> Result<f64, PlanError> {
        let mut inputs = BTreeMap::new();
        for (name, _, value) in kernel.inputs() {
            if let ValueType::Lwe { kind, count, .. } = value {
                let batch = self.client.encrypt(kind, &vec![T::default(); count]).map_err(internal)?;
                inputs.insert(name.to_owned(), batch);
            }
        }
        shortest(
            || Ok(transformed()),
            |transformed| {
                let executor = Executor::sharing(&self.server, &transformed, 1).map_err(internal)?;
                executor.run(kernel, &inputs, &NoProgress).map(drop).map_err(internal)
            },
        )
    }

    /// The same with cached transforms.
    fn usual_execution(&self, kernel: &KernelProgram) -> Result<f64, PlanError> {
        self.execution(kernel, || Arc::clone(&self.transformed))
    }

    /// Time per ciphertext of a built-in program, and the additional time of a key's first execution.
    fn several(&self, name: &str, fewer: usize, more: usize) -> Result<(f64, f64), PlanError> {
        let of =
            |count| Ok::<_, PlanError>(built_in(name, self.set, count, (None, Some(self.unrolling.bits())))?.kernel);
        let (few, many) = (of(fewer)?, of(more)?);
        let usual = self.usual_execution(&many)?;
        let each = (usual - self.usual_execution(&few)?).max(0.0) / (more - fewer) as f64;
        Ok((each, (self.execution(&many, Arc::default)? - usual).max(0.0)))
    }

    fn times(&self) -> Result<LookupTimes, PlanError> {
        let dimension = self.set.lwe_dimension().get();
        let (keys, few) = (self.keys(dimension)?, self.keys(dimension / 2)?);
        let keys_each = (keys - few).max(0.0) / (dimension - dimension / 2) as f64;
        let (single, alone) = self.several("pbs", 1, LANES - 1)?;
        let (each, together) = self.several("pbs", LANES, TIMED_BATCH)?;
        let (mut switch, mut cut, mut step) = (0.0, 0.0, 0.0);
        // Without a key switch, lookups cannot be chained.
        if self.set.key_switch_gadget().is_some() {
            (switch, cut) = self.several("keyswitch", LANES, TIMED_BATCH)?;
            let request = Request {
                parameters: Some(self.set),
                max_failure: 0.0,
                unrolling: Some(self.unrolling.bits()),
                ..Request::default()
            };
            let chain = TfhePlan::new(&chain()?, &request)?;
            step = (self.usual_execution(&chain.kernel)? / TIMED_CHAIN as f64 - single - switch).max(0.0);
        }
        Ok(LookupTimes { keys, keys_each, alone, together, cut, single, each, switch, step })
    }
}
