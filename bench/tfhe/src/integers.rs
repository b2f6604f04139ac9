//! Operations on encrypted integers: the planner's program of one operation, with the set and key switch that it chooses, and tfhe-rs's `FheUint`
//! with its default parameters, both at a failure probability of 2^-128.

use crate::BenchError;
use crate::clock;
use crate::machine::Peak;
use crate::peer::Peer;
use crate::protocol::{IntegerRound, Operands, Operation};
use crate::set::Set;
use polyfabric_bench_common::{Limit, median};
use polyfabric_program::tfhe::homomorphic::{Builder, CodecError, Program, ProgramError, decode_output, encode_input};
use polyfabric_program::tfhe::integers::{Amount, Comparison, Direction, IntegerError, IntegerType, Integers};
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_program::tfhe::lowering::{LoweringError, TfheLowering, lower};
use polyfabric_program::tfhe::noise::{Encryption, NoiseError, choose_parameters};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::{RunError, cpu::Executor};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::server_key::no_progress;
use polyfabric_schemes::tfhe::{
    BatchError, ClientKey, KeyError, KeyUnrolling, LweBatch, LweKind, Parameters, RandomnessError, ServerKey,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// log2 of the failure probability of a whole program of ours; the peer's default parameters have it per lookup.
const FAILURE: f64 = -128.0;
pub const OPERATIONS: [Operation; 6] =
    [Operation::Add, Operation::Multiply, Operation::Less, Operation::Select, Operation::Shift, Operation::Divide];
const WIDTHS: [u32; 3] = [8, 32, 64];
const OUTPUT: &str = "result";

#[derive(clap::Args)]
pub struct Arguments {
    /// Only these widths (8, 32, 64); can be repeated.
    #[arg(long = "width")]
    widths: Vec<u32>,
    /// Only these operations; can be repeated.
    #[arg(long = "operation", value_parser = operation)]
    operations: Vec<Operation>,
    /// Number of threads of both sides; can be repeated.
    #[arg(long = "threads", default_values = ["1", "2"])]
    threads: Vec<NonZeroUsize>,
    /// Secret bits per iteration of our blind rotation with uniform keys: 1 (the default), 2 or 4.
    #[arg(long, conflicts_with = "block_binary")]
    unroll: Option<u32>,
    /// Block-binary keys on our side; the peer's are uniform.
    #[arg(long)]
    block_binary: bool,
    /// Timed rounds of each operation; the medians are reported.
    #[arg(long, default_value = "3")]
    pub repetitions: NonZeroUsize,
}

fn operation(name: &str) -> Result<Operation, String> {
    let found = OPERATIONS.iter().find(|operation| operation.name() == name);
    let names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name()).collect();
    found.copied().ok_or_else(|| format!("the operations are {}", names.join(", ")))
}

#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    #[error("integers of {0} bits are not compared; the widths are 8, 32 and 64")]
    Width(u32),
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error(transparent)]
    Integer(#[from] IntegerError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// Median times of one side, in milliseconds per operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    /// Wall-clock time.
    pub ms: f64,
    /// Processor time of all threads.
    pub processor_ms: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub operation: Operation,
    pub bits: u32,
    pub threads: usize,
    /// Secret bits per iteration of our blind rotation, or in a block; the peer's is always 1.
    pub unroll: u32,
    pub set: String,
    /// Number of bootstraps of our program.
    pub lookups: usize,
    /// The least processor time of these bootstraps, without key switches, divided by our time.
    pub floor_fraction: f64,
    /// The bound of that least time.
    pub limit: Limit,
    pub log2_failure: f64,
    pub ours: Times,
    pub wrong: usize,
    pub decrypted: usize,
    /// `None` if our side ran alone.
    pub peer: Option<PeerFigures>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeerFigures {
    pub times: Times,
    /// The peer's processor time divided by ours: of the medians, and the least and largest of single rounds.
    pub ratio: f64,
    pub least_ratio: f64,
    pub largest_ratio: f64,
    /// The same ratio of wall-clock times, of the medians.
    pub passed_ratio: f64,
    pub wrong: usize,
}

impl Operation {
    /// Its name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Multiply => "multiply",
            Self::Less => "less",
            Self::Select => "select",
            Self::Shift => "shift",
            Self::Divide => "divide",
        }
    }

    /// The result in the clear.
    fn clear(self, bits: u32, operands: Operands) -> u64 {
        let Operands { x, y, amount } = operands;
        let value = match self {
            Self::Add => x.wrapping_add(y),
            Self::Multiply => x.wrapping_mul(y),
            Self::Less => u64::from(x < y),
            Self::Select if amount & 1 == 1 => x,
            Self::Select => y,
            Self::Shift => x << amount,
            Self::Divide => x / y,
        };
        value & mask(bits)
    }

    /// A program with only this operation.
    fn program(self, bits: u32, threads: usize) -> Result<Program, OwnError> {
        let kind = IntegerType::unsigned(bits);
        let mut builder = Builder::new(self.name())?;
        let mut integers = Integers::new(threads);
        let mut input = |builder: &mut Builder, name: &str, kind| integers.input(builder, name, kind, 1);
        let x = input(&mut builder, "x", kind)?;
        let result = match self {
            Self::Shift => {
                let amount = input(&mut builder, "amount", IntegerType::unsigned(bits.ilog2()))?;
                integers.shift(&mut builder, Direction::Left, x, Amount::Encrypted(amount))?
            }
            Self::Select => {
                let y = input(&mut builder, "y", kind)?;
                let condition = input(&mut builder, "condition", IntegerType::unsigned(1))?;
                integers.select(&mut builder, condition, x, y)?
            }
            _ => {
                let y = input(&mut builder, "y", kind)?;
                match self {
                    Self::Add => integers.add(&mut builder, x, y)?,
                    Self::Multiply => integers.mul(&mut builder, x, y)?,
                    Self::Less => integers.compare(&mut builder, Comparison::Less, x, y)?,
                    _ => integers.divide(&mut builder, x, y)?.0,
                }
            }
        };
        integers.output(&mut builder, OUTPUT, result)?;
        Ok(builder.finish()?)
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Digits of two bits.
fn digits(value: u64, bits: u32) -> Vec<i64> {
    (0..bits.div_ceil(2)).map(|at| (value >> (2 * at) & 3) as i64).collect()
}

/// An operation of our side, planned.
struct Planned {
    operation: Operation,
    bits: u32,
    program: Program,
    parameters: Parameters,
    unrolling: KeyUnrolling,
    kernel: KernelProgram,
    log2_failure: f64,
}

impl Planned {
    /// With keys as of [`choose_parameters`].
    fn new(operation: Operation, bits: u32, threads: usize, keys: (bool, Option<u32>)) -> Result<Self, OwnError> {
        let program = operation.program(bits, threads)?;
        let chosen = choose_parameters(&program, FAILURE, keys, Transform::F64, (Encryption::Secret, None))?;
        let unrolling = chosen.unrolling;
        let choice = TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::processor(chosen.key_switch) };
        let kernel = lower(&program, &chosen.parameters, &choice)?;
        Ok(Self {
            operation,
            bits,
            program,
            parameters: chosen.parameters,
            unrolling,
            kernel,
            log2_failure: chosen.report.log2_failure,
        })
    }

    /// One round on fresh ciphertexts.
    fn round(
        &self,
        client: &ClientKey<u64>,
        executor: &Executor<'_, u64>,
        operands: Operands,
    ) -> Result<IntegerRound, OwnError> {
        let Operands { x, y, amount } = operands;
        let mut inputs: BTreeMap<String, LweBatch<u64>> = BTreeMap::new();
        for (name, _, kind) in self.kernel.inputs() {
            let (value, bits) = match name {
                "x" => (x, self.bits),
                "y" => (y, self.bits),
                "amount" => (amount, self.bits.ilog2()),
                _ => (amount & 1, 1),
            };
            let plain = encode_input::<u64>(&self.program, name, &digits(value, bits))?;
            let key = match kind {
                ValueType::Lwe { kind, .. } => kind,
                _ => LweKind::Large,
            };
            inputs.insert(name.to_owned(), client.encrypt(key, &plain)?);
        }
        let (seconds, processor_seconds, outputs) =
            clock::both_seconds(|| executor.run(&self.kernel, &inputs, &NoProgress));
        let result = &outputs?[OUTPUT];
        let kind = client.kind_of(result.dimension()).unwrap_or(LweKind::Large);
        let phases = client.decrypt_phase(kind, result)?;
        let digits = decode_output(&self.program, OUTPUT, &phases, None)?;
        let value = digits.iter().enumerate().map(|(at, digit)| (*digit as u64) << (2 * at)).sum();
        Ok(IntegerRound { seconds, processor_seconds, value })
    }
}

/// Our keys of one set.
struct Keys {
    client: ClientKey<u64>,
    server: ServerKey<u64>,
}

/// Times and wrong results of one side.
#[derive(Default)]
struct Samples {
    passed: Vec<f64>,
    processor: Vec<f64>,
    wrong: usize,
}

impl Samples {
    fn take(&mut self, round: IntegerRound, expected: u64) {
        self.passed.push(round.seconds * 1e3);
        self.processor.push(round.processor_seconds * 1e3);
        self.wrong += usize::from(round.value != expected);
    }

    fn times(&self) -> Times {
        Times { ms: median(&self.passed), processor_ms: median(&self.processor) }
    }
}

/// Uniform operands: an amount below the width, and a divisor of any size other than 0.
fn drawn(client: &ClientKey<u64>, bits: u32) -> Result<Operands, OwnError> {
    // The mask of a ciphertext is uniform.
    let random = client.encrypt(LweKind::Small, &[0])?;
    let words = random.iter().next().map_or([1; 4], |words| [words[0], words[1], words[2], words[3]]);
    let y = (words[1] & mask(bits)) >> (words[2] % u64::from(bits));
    Ok(Operands { x: words[0] & mask(bits), y: y.max(1), amount: words[3] % u64::from(bits) })
}

/// Measures all requested rows, alternating which side goes first, after one round that is not counted.
///
/// # Errors
/// [`BenchError::Wrong`] if a result decrypts to another number, and errors of either side.
pub fn measure(
    arguments: &Arguments,
    repetitions: usize,
    peak: &Peak,
    mut peer: Option<Peer>,
    mut each: impl FnMut(Row),
) -> Result<(), BenchError> {
    let asked = |found: &u32| arguments.widths.is_empty() || arguments.widths.contains(found);
    if let Some(&width) = arguments.widths.iter().find(|width| !WIDTHS.contains(width)) {
        return Err(OwnError::Width(width).into());
    }
    let own = (arguments.block_binary, arguments.unroll);
    if let Some(peer) = &mut peer {
        peer.integer_keys()?;
    }
    let mut keys: BTreeMap<String, Keys> = BTreeMap::new();
    for threads in arguments.threads.iter().map(|threads| threads.get()) {
        for bits in WIDTHS.into_iter().filter(asked) {
            for operation in OPERATIONS {
                if !arguments.operations.is_empty() && !arguments.operations.contains(&operation) {
                    continue;
                }
                let planned = Planned::new(operation, bits, threads, own)?;
                let name = planned.parameters.name().to_owned();
                if !keys.contains_key(&name) {
                    eprintln!("{name}: keys");
                    keys.insert(name.clone(), Keys::generate(&planned)?);
                }
                each(compare(&planned, &keys[&name], threads, repetitions, peak, peer.as_mut())?);
            }
        }
    }
    Ok(())
}

impl Keys {
    fn generate(planned: &Planned) -> Result<Self, OwnError> {
        let client = ClientKey::generate(&planned.parameters)?;
        let server = ServerKey::generate_unrolled(&client, planned.unrolling, &no_progress)?;
        Ok(Self { client, server })
    }
}

fn compare(
    planned: &Planned,
    keys: &Keys,
    threads: usize,
    repetitions: usize,
    peak: &Peak,
    mut peer: Option<&mut Peer>,
) -> Result<Row, BenchError> {
    let executor = Executor::new(&keys.server, threads).map_err(OwnError::from)?;
    let (operation, bits) = (planned.operation, planned.bits);
    let (mut own, mut others) = (Samples::default(), Samples::default());
    for round in 0..=repetitions {
        let operands = drawn(&keys.client, bits)?;
        let expected = operation.clear(bits, operands);
        for turn in 0..2 {
            let ours = (round + turn) % 2 == 0;
            let (side, found) = match (&mut peer, ours) {
                (_, true) => (&mut own, planned.round(&keys.client, &executor, operands)?),
                (Some(peer), false) => (&mut others, peer.integer(operation, bits, operands, threads)?),
                (None, false) => continue,
            };
            // The warm-up round is checked, too.
            side.take(found, expected);
            if round == 0 {
                side.passed.clear();
                side.processor.clear();
            }
        }
    }
    let ours = own.times();
    let set = Set::named(planned.parameters.name())?;
    let lookups = planned.kernel.lookups();
    let floor = peak.bootstrap_floor(set.bootstrap_flops() * lookups as f64, set.transform_key_bytes(), 1);
    let figures = || {
        let times = others.times();
        let ratios = others.processor.iter().zip(&own.processor).map(|(peer, own)| peer / own);
        PeerFigures {
            times,
            ratio: times.processor_ms / ours.processor_ms,
            least_ratio: ratios.clone().fold(f64::INFINITY, f64::min),
            largest_ratio: ratios.fold(0.0, f64::max),
            passed_ratio: times.ms / ours.ms,
            wrong: others.wrong,
        }
    };
    Ok(Row {
        operation,
        bits,
        threads,
        unroll: planned.unrolling.bits(),
        set: set.name,
        lookups,
        floor_fraction: floor.seconds * 1e3 / ours.processor_ms,
        limit: floor.limit,
        log2_failure: planned.log2_failure,
        ours,
        wrong: own.wrong,
        decrypted: repetitions + 1,
        peer: peer.is_some().then(figures),
    })
}

#[cfg(test)]
mod tests {
    //! Checks at every width that the timed programs compute their operations.

    use super::*;
    use polyfabric_program::tfhe::homomorphic::evaluate;

    #[test]
    fn every_program_computes_its_operation() {
        for bits in WIDTHS {
            for operation in OPERATIONS {
                let program = operation.program(bits, 1).unwrap();
                let operands = Operands { x: 0xfedc_ba98_7654_32b1 & mask(bits), y: 0x2d & mask(bits), amount: 3 };
                let given = |name: &str| match name {
                    "x" => digits(operands.x, bits),
                    "y" => digits(operands.y, bits),
                    "amount" => digits(operands.amount, bits.ilog2()),
                    _ => digits(operands.amount & 1, 1),
                };
                let inputs = program.inputs().map(|(_, name)| (name.to_owned(), given(name))).collect();
                let found = evaluate(&program, &inputs).unwrap().outputs(&program);
                let value: u64 = found[OUTPUT].iter().enumerate().map(|(at, digit)| (*digit as u64) << (2 * at)).sum();
                assert_eq!(value, operation.clear(bits, operands), "{} of {bits} bits", operation.name());
            }
        }
    }
}
