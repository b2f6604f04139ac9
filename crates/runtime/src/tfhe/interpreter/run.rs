//! Runs a kernel program in program order.

use super::{BodyDatum, Operand, Primitives, Scalars};
use crate::Progress;
use crate::tfhe::RunError;
use crate::tfhe::circuit::{Circuit, Ggsw, TableShape, is_used};
use polyfabric_kernels::cancel;
use polyfabric_kernels::{Isa, Torus};
use polyfabric_program::tfhe::kernel::{
    Body, BodyOp, KernelProgram, Op, OpKind, Primitive, ValueId, ValueType, op_name,
};
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_schemes::tfhe::{LweBatch, LweDimension, LweKind, ServerKey};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A value of a kernel program.
#[derive(Clone, Debug)]
pub enum Value<T> {
    /// LWE ciphertexts.
    Lwe(LweBatch<T>),
    /// Modulus-switched ciphertexts: mask indices, then the body index, each below 2N.
    Indices(Vec<Vec<u32>>),
    /// GLWE ciphertexts of k + 1 polynomials.
    Glwe(Vec<Vec<Vec<T>>>),
    /// GGSW ciphertexts, ready for tables.
    Ggsw(Vec<Ggsw<T>>),
}

/// The position of a body value in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyPoint {
    /// The composite operation.
    pub op: ValueId,
    /// Ciphertext of its batch.
    pub ciphertext: usize,
    /// Iteration of its loop.
    pub iteration: usize,
    /// Operation of its body.
    pub body_op: usize,
}

/// Receives every value as it is computed; called from worker threads.
pub trait Observer<T>: Sync {
    /// Operation `id` returned `value`.
    fn value(&self, id: ValueId, value: &Value<T>) {
        let _ = (id, value);
    }
    /// A primitive of a body returned `datum`.
    fn body(&self, point: BodyPoint, datum: &BodyDatum<T>) {
        let _ = (point, datum);
    }
    /// After the run: the number of saturated fixed-point values.
    fn saturations(&self, count: u64) {
        let _ = count;
    }
}

/// Only counts saturations.
struct SaturationsOnly(AtomicU64);

impl<T> Observer<T> for SaturationsOnly {
    fn saturations(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }
}

/// Runs `program` on `inputs` with `key`, in the program's arithmetic.
///
/// # Errors
/// [`RunError`]; everything is checked before the run. [`RunError::Saturated`] if a fixed-point value saturated.
pub fn run<T: Torus>(
    program: &KernelProgram,
    key: &ServerKey<T>,
    inputs: &BTreeMap<String, LweBatch<T>>,
    progress: &dyn Progress,
) -> Result<BTreeMap<String, LweBatch<T>>, RunError> {
    let observer = SaturationsOnly(AtomicU64::new(0));
    let outputs = run_observed(program, key, inputs, progress, &observer)?;
    match observer.0.into_inner() {
        0 => Ok(outputs),
        count => Err(RunError::Saturated { count }),
    }
}

/// [`run`] with every value shown to `observer`. Saturations are reported to it instead of as an error.
///
/// # Errors
/// As [`run`].
pub fn run_observed<T: Torus>(
    program: &KernelProgram,
    key: &ServerKey<T>,
    inputs: &BTreeMap<String, LweBatch<T>>,
    progress: &dyn Progress,
    observer: &dyn Observer<T>,
) -> Result<BTreeMap<String, LweBatch<T>>, RunError> {
    check_inputs(program, key, inputs)?;
    let primitives = Primitives::new(key, &program.choice.arithmetic)?;
    let isa = (program.choice.arithmetic != Arithmetic::ExactInteger).then(Isa::best);
    let circuit = Circuit::of(program, key, isa)?;
    let tables: Vec<Vec<T>> = program.tables.iter().map(|table| table.coefficients()).collect();
    let mut machine = Machine { program, primitives, circuit, tables, values: Vec::new(), progress, observer };
    let last_use = last_uses(program);
    for (index, op) in program.ops.iter().enumerate() {
        let id = ValueId(index as u32);
        let value = machine.op(id, op, inputs);
        observer.value(id, &value);
        machine.values.push(Some(value));
        for operand in &op.operands {
            if last_use[operand.index()] == index {
                machine.values[operand.index()] = None;
            }
        }
    }
    observer.saturations(machine.primitives.saturations());
    let outputs = program.outputs.iter().map(|output| {
        let batch = machine.lwe(output.value).clone();
        (output.name.to_string(), batch)
    });
    Ok(outputs.collect())
}

/// Checks that `program` is consistent, that `key` has its parameter set, and that `inputs` match.
///
/// # Errors
/// The first mismatch.
pub fn check_inputs<T: Torus>(
    program: &KernelProgram,
    key: &ServerKey<T>,
    inputs: &BTreeMap<String, LweBatch<T>>,
) -> Result<(), RunError> {
    program.check()?;
    if program.parameters != *key.parameters() {
        let key = key.parameters().name().to_owned();
        return Err(RunError::Parameters { program: program.parameters.name().to_owned(), key });
    }
    if program.parameters.torus_bits() != T::BITS {
        return Err(RunError::TorusBits { program: program.parameters.torus_bits(), given: T::BITS });
    }
    let unrolling = key.unrolling().bits();
    let rotates = program.ops.iter().any(|op| matches!(op.kind, OpKind::BlindRotation { .. }));
    if rotates && program.choice.key_unrolling != unrolling {
        return Err(RunError::Unrolling { program: program.choice.key_unrolling, key: unrolling });
    }
    let switches = program.ops.iter().any(|op| matches!(op.kind, OpKind::KeySwitch { .. }));
    if switches && key.key_switch_key().is_none() {
        return Err(RunError::NoKeySwitchKey { set: program.parameters.name().to_owned() });
    }
    if is_used(program) {
        if key.circuit_key().is_empty() {
            return Err(RunError::NoCircuitKey { set: program.parameters.name().to_owned() });
        }
        if matches!(program.choice.arithmetic, Arithmetic::Fixed(_)) {
            return Err(RunError::NoCircuit { place: "fixed-point arithmetic" });
        }
    }
    if let Some(name) = inputs.keys().find(|name| program.inputs().all(|(known, ..)| known != *name)) {
        let known: Vec<String> = program.inputs().map(|(known, ..)| format!("{known:?}")).collect();
        return Err(RunError::UnknownInput { name: name.clone(), known: known.join(", ") });
    }
    for (name, _, value) in program.inputs() {
        // Inputs are LWE batches, because the program is checked.
        let ValueType::Lwe { count, kind, dimension } = value else { continue };
        let Some(batch) = inputs.get(name) else {
            return Err(RunError::MissingInput { name: name.to_owned(), count, kind });
        };
        if batch.len() != count || batch.dimension().get() != dimension {
            return Err(RunError::InputShape {
                name: name.to_owned(),
                found: batch.len(),
                found_dimension: batch.dimension().get(),
                count,
                dimension,
                kind,
            });
        }
    }
    Ok(())
}

/// For each value, the last operation that reads it; `usize::MAX` for outputs.
fn last_uses(program: &KernelProgram) -> Vec<usize> {
    let mut last = vec![usize::MAX; program.ops.len()];
    for (index, op) in program.ops.iter().enumerate() {
        op.operands.iter().for_each(|operand| last[operand.index()] = index);
    }
    program.outputs.iter().for_each(|output| last[output.value.index()] = usize::MAX);
    last
}

struct Machine<'a, T> {
    program: &'a KernelProgram,
    primitives: Primitives<'a, T>,
    circuit: Option<Circuit<'a, T>>,
    tables: Vec<Vec<T>>,
    /// `None` after the last reader has run.
    values: Vec<Option<Value<T>>>,
    progress: &'a dyn Progress,
    observer: &'a dyn Observer<T>,
}

impl<T: Torus> Machine<'_, T> {
    fn lwe(&self, id: ValueId) -> &LweBatch<T> {
        match &self.values[id.index()] {
            Some(Value::Lwe(batch)) => batch,
            _ => unreachable!("the program is checked: {id} is a live LWE batch"),
        }
    }

    fn dimension(&self, kind: LweKind) -> LweDimension {
        match kind {
            LweKind::Small => self.program.parameters.lwe_dimension(),
            LweKind::Large => self.program.parameters.large_lwe_dimension(),
        }
    }

    /// A batch of `count` ciphertexts, each written by `compute`, in parallel.
    fn batch(&self, stage: &str, count: usize, kind: LweKind, compute: impl Fn(usize) -> Vec<T> + Sync) -> Value<T> {
        let ciphertexts = self.each(stage, count, compute);
        let mut batch = LweBatch::zeros(self.dimension(kind), count);
        for (target, ciphertext) in batch.iter_mut().zip(ciphertexts) {
            target.copy_from_slice(&ciphertext);
        }
        Value::Lwe(batch)
    }

    fn each<R: Send>(&self, stage: &str, count: usize, compute: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let done = AtomicU64::new(0);
        let item = |index| {
            cancel::check();
            let result = compute(index);
            self.progress.update(stage, done.fetch_add(1, Ordering::Relaxed) + 1, count as u64);
            result
        };
        (0..count).into_par_iter().map(item).collect()
    }

    fn op(&self, id: ValueId, op: &Op, inputs: &BTreeMap<String, LweBatch<T>>) -> Value<T> {
        let stage = format!("{} {id}", op_name(&op.kind).replace('_', " "));
        let count = op.result.count();
        let operand = |index: usize| self.values[op.operands[index].index()].as_ref();
        match &op.kind {
            OpKind::Input { name } => Value::Lwe(inputs[&**name].clone()),
            OpKind::Linear { matrix, bias } => {
                let ValueType::Lwe { kind, dimension, .. } = op.result else {
                    unreachable!("the program is checked: a linear result is an LWE batch")
                };
                let columns: Vec<&[T]> = op.operands.iter().flat_map(|&operand| self.lwe(operand).iter()).collect();
                self.batch(&stage, count, kind, |row| {
                    let terms = matrix.row(row).map(|(column, weight)| (weight, columns[column]));
                    self.primitives.combine(dimension + 1, bias[row], terms)
                })
            }
            OpKind::Gather { indices } => self.gather(op, indices),
            OpKind::KeySwitch { body } => {
                let input = self.lwe(op.operands[0]);
                self.batch(&stage, count, LweKind::Small, |ciphertext| {
                    let source = input.get(ciphertext);
                    let start = self.primitives.initial_switched(source[source.len() - 1]);
                    let carried = vec![BodyDatum::Torus(start)];
                    let scalars = Scalars::Mask(&source[..source.len() - 1]);
                    let result = self.body(id, ciphertext, body, carried, scalars);
                    result.into_iter().flat_map(into_torus).collect()
                })
            }
            OpKind::ModulusSwitch { rounding, log2_tables } => {
                let input = self.lwe(op.operands[0]);
                let switch =
                    |ciphertext| self.primitives.modulus_switch_with(input.get(ciphertext), *rounding, *log2_tables);
                Value::Indices(self.each(&stage, count, switch))
            }
            OpKind::BlindRotation { tables, body } => {
                let Some(Value::Indices(indices)) = operand(0) else {
                    unreachable!("the program is checked: a blind rotation reads indices")
                };
                Value::Glwe(self.each(&stage, count, |ciphertext| {
                    let (mask, last) = indices[ciphertext].split_at(indices[ciphertext].len() - 1);
                    let table = &self.tables[tables.get(ciphertext)];
                    let start = self.primitives.initial_accumulator(last[0], table);
                    let carried = start.into_iter().map(BodyDatum::Torus).collect();
                    let result = self.body(id, ciphertext, body, carried, Scalars::Indices(mask));
                    result.into_iter().map(into_torus).collect()
                }))
            }
            OpKind::CircuitBootstrap => {
                let (Some(Value::Glwe(accumulators)), Some(circuit)) = (operand(0), &self.circuit) else {
                    unreachable!("the program is checked: circuit bootstrapping reads GLWE ciphertexts")
                };
                let ggsw = |index: usize| circuit.ggsw(&accumulators[index].concat(), &mut circuit.scratch());
                Value::Ggsw(self.each(&stage, count, ggsw))
            }
            OpKind::PackedLookup { width, log2_outputs, bits, tables } => {
                let (Some(Value::Ggsw(given)), Some(circuit)) = (operand(0), &self.circuit) else {
                    unreachable!("the program is checked: a packed lookup reads GGSW ciphertexts")
                };
                let shape = TableShape { width: *width, log2_outputs: *log2_outputs };
                let width = *width as usize;
                Value::Glwe(self.each(&stage, count, |result| {
                    let bits = &bits[result * width..(result + 1) * width];
                    let bits: Vec<&Ggsw<T>> = bits.iter().map(|&bit| &given[bit as usize]).collect();
                    let read = circuit.read(shape, &bits, &self.tables[tables.get(result)..], &mut circuit.scratch());
                    read.chunks_exact(read.len() / 2).map(<[T]>::to_vec).collect()
                }))
            }
            OpKind::SampleExtract { coefficients } => {
                let Some(Value::Glwe(accumulators)) = operand(0) else {
                    unreachable!("the program is checked: sample extraction reads GLWE ciphertexts")
                };
                let coefficients = *coefficients as usize;
                self.batch(&stage, count, LweKind::Large, |result| {
                    self.primitives.coefficient_extract(&accumulators[result / coefficients], result % coefficients)
                })
            }
        }
    }

    fn gather(&self, op: &Op, indices: &[u32]) -> Value<T> {
        if let ValueType::Lwe { kind, .. } = op.result {
            let items: Vec<&[T]> = op.operands.iter().flat_map(|&operand| self.lwe(operand).iter()).collect();
            let mut batch = LweBatch::zeros(self.dimension(kind), indices.len());
            for (target, &index) in batch.iter_mut().zip(indices) {
                target.copy_from_slice(items[index as usize]);
            }
            return Value::Lwe(batch);
        }
        let items: Vec<&Vec<u32>> = op
            .operands
            .iter()
            .flat_map(|operand| match &self.values[operand.index()] {
                Some(Value::Indices(items)) => items.iter(),
                _ => unreachable!("the program is checked: a gather reads LWE ciphertexts or indices"),
            })
            .collect();
        Value::Indices(indices.iter().map(|&index| items[index as usize].clone()).collect())
    }

    /// Executes the loop `body` for one ciphertext, from the values `carried`.
    fn body(
        &self,
        id: ValueId,
        ciphertext: usize,
        body: &Body,
        mut carried: Vec<BodyDatum<T>>,
        scalars: Scalars<'_, T>,
    ) -> Vec<BodyDatum<T>> {
        let last_use = body_last_uses(body);
        for iteration in 0..body.iterations {
            cancel::check();
            let mut values: Vec<Option<BodyDatum<T>>> = carried.into_iter().map(Some).collect();
            for (index, op) in body.ops.iter().enumerate() {
                let datum = self.primitive(op, index, &last_use, &mut values, iteration, &scalars);
                self.observer.body(BodyPoint { op: id, ciphertext, iteration, body_op: index }, &datum);
                values.push(Some(datum));
            }
            let yielded = |value: &polyfabric_program::tfhe::kernel::BodyValue| values[value.index()].clone();
            carried = body.yields.iter().filter_map(yielded).collect();
        }
        carried
    }

    fn primitive(
        &self,
        op: &BodyOp,
        index: usize,
        last_use: &[usize],
        values: &mut [Option<BodyDatum<T>>],
        iteration: usize,
        scalars: &Scalars<'_, T>,
    ) -> BodyDatum<T> {
        // Takes over the accumulator if nothing reads it later.
        let accumulates = matches!(op.primitive, Primitive::MultiplyAccumulate { .. } | Primitive::InverseTransform);
        let accumulates = accumulates || matches!(op.primitive, Primitive::SubtractKeyProduct { .. });
        let owned = op.operands.first().filter(|operand| accumulates && last_use[operand.index()] == index);
        let owned = owned.and_then(|operand| values[operand.index()].take()).map(into_operand);
        let rest = &op.operands[usize::from(owned.is_some())..];
        let rest = rest.iter().filter_map(|operand| values[operand.index()].as_ref()).map(Operand::from);
        match self.primitives.compute(op.primitive, iteration, *scalars, owned.into_iter().chain(rest)) {
            Ok(datum) => datum,
            Err(mismatch) => unreachable!("the body is checked: {mismatch}"),
        }
    }
}

/// For each body value, the last operation that reads it; `usize::MAX` for yielded ones.
fn body_last_uses(body: &Body) -> Vec<usize> {
    let mut last = vec![usize::MAX; body.carried as usize + body.ops.len()];
    for (index, op) in body.ops.iter().enumerate() {
        op.operands.iter().for_each(|operand| last[operand.index()] = index);
    }
    body.yields.iter().for_each(|value| last[value.index()] = usize::MAX);
    last
}

fn into_torus<T>(datum: BodyDatum<T>) -> Vec<T> {
    match datum {
        BodyDatum::Torus(values) => values,
        _ => unreachable!("the body is checked: the value is a polynomial or an LWE ciphertext"),
    }
}

fn into_operand<'a, T: Clone>(datum: BodyDatum<T>) -> Operand<'a, T> {
    match datum {
        BodyDatum::Torus(values) => Operand::Torus(values.into()),
        BodyDatum::Spectrum(spectrum) => Operand::Spectrum(Cow::Owned(spectrum)),
        _ => unreachable!("the body is checked: a sum is a ciphertext or a spectrum"),
    }
}
