//! Executes a kernel program operation by operation on whole batches, on the CPU or on a card.

use super::RunError;
use super::circuit::TableShape;
use super::interpreter::check_inputs;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::kernel::{KernelProgram, Op, OpKind, TableChoice, ValueId, ValueType};
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{LweBatch, LweDimension, ServerKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Executes the operations of a program on batches, in CPU or card memory.
pub(crate) trait Batches<T: Torus> {
    /// LWE ciphertexts.
    type Lwe;
    /// n + 1 exponents per ciphertext.
    type Exponents;
    /// k + 1 polynomials per ciphertext.
    type Glwe;
    /// GGSW ciphertexts.
    type Ggsw;

    /// Transfers `batch` to the operations' memory.
    fn bring(&self, batch: &LweBatch<T>) -> Result<Self::Lwe, RunError>;
    /// Transfers `batch` back.
    fn fetch(&self, batch: &Self::Lwe) -> Result<LweBatch<T>, RunError>;
    /// Row r of the result: Σ_c matrix[r][c] · row c of all `operands`, plus `bias[r]` on the body.
    fn linear(
        &self,
        dimension: LweDimension,
        matrix: &Matrix,
        bias: &[u64],
        operands: &[Arc<Self::Lwe>],
    ) -> Result<Self::Lwe, RunError>;
    /// Ciphertexts `indices` of all `operands`, consecutively.
    fn gather(
        &self,
        dimension: LweDimension,
        operands: &[Arc<Self::Lwe>],
        indices: &[u32],
    ) -> Result<Self::Lwe, RunError>;
    /// Exponents of ciphertexts `indices` of all `operands`, consecutively.
    fn gather_exponents(&self, operands: &[Arc<Self::Exponents>], indices: &[u32])
    -> Result<Self::Exponents, RunError>;
    /// From the large key to the small one.
    fn key_switch(&self, inputs: &Self::Lwe) -> Result<Self::Lwe, RunError>;
    /// Exponents mod 2N with `rounding`, multiples of 2^`log2_tables`.
    fn modulus_switch(
        &self,
        inputs: &Self::Lwe,
        rounding: PhaseRounding,
        log2_tables: u32,
    ) -> Result<Self::Exponents, RunError>;
    /// Blind rotations of `tables`, N coefficients each.
    fn blind_rotate(
        &self,
        exponents: &Self::Exponents,
        choice: &TableChoice,
        tables: &[Vec<T>],
    ) -> Result<Self::Glwe, RunError>;
    /// The GGSW ciphertext of each accumulator's bit.
    fn circuit_bootstrap(&self, accumulators: &Self::Glwe) -> Result<Self::Ggsw, RunError>;
    /// The entries that bits select, items of `given`; each result's table begins at its choice in `tables`.
    fn packed_lookup(
        &self,
        shape: TableShape,
        given: (&Self::Ggsw, &[u32]),
        choice: &TableChoice,
        tables: &[Vec<T>],
    ) -> Result<Self::Glwe, RunError>;
    /// The first `coefficients` coefficients of each GLWE ciphertext, under the large key.
    fn extract(&self, accumulators: &Self::Glwe, coefficients: usize) -> Result<Self::Lwe, RunError>;
}

/// A value of a program.
enum Value<T: Torus, B: Batches<T>> {
    Lwe(Arc<B::Lwe>),
    Exponents(Arc<B::Exponents>),
    Glwe(Arc<B::Glwe>),
    Ggsw(Arc<B::Ggsw>),
}

/// The live values of a program, each until its last use.
struct Values<T: Torus, B: Batches<T>>(Vec<Option<Value<T, B>>>);

/// Runs `program` under `key` on `inputs`.
///
/// # Errors
/// [`RunError`]; everything is checked before the run.
pub(crate) fn run<T: Torus, B: Batches<T>>(
    on: &B,
    program: &KernelProgram,
    key: &ServerKey<T>,
    inputs: &BTreeMap<String, LweBatch<T>>,
) -> Result<BTreeMap<String, LweBatch<T>>, RunError> {
    check_inputs(program, key, inputs)?;
    if program.choice.arithmetic != Arithmetic::F64 {
        return Err(RunError::Arithmetic { arithmetic: format!("{:?}", program.choice.arithmetic) });
    }
    let tables: Vec<Vec<T>> = program.tables.iter().map(|table| table.coefficients()).collect();
    let last_use = last_uses(program);
    let mut values = Values::<T, B>(Vec::with_capacity(program.ops.len()));
    for (index, op) in program.ops.iter().enumerate() {
        let value = values.operation(on, op, &tables, inputs)?;
        values.0.push(Some(value));
        for operand in &op.operands {
            if last_use[operand.index()] == index {
                values.0[operand.index()] = None;
            }
        }
    }
    let outputs = program.outputs.iter();
    outputs.map(|output| Ok((output.name.to_string(), on.fetch(&values.lwe(output.value))?))).collect()
}

impl<T: Torus, B: Batches<T>> Values<T, B> {
    fn operation(
        &self,
        on: &B,
        op: &Op,
        tables: &[Vec<T>],
        inputs: &BTreeMap<String, LweBatch<T>>,
    ) -> Result<Value<T, B>, RunError> {
        let lwe = |result: Result<B::Lwe, RunError>| result.map(|batch| Value::Lwe(Arc::new(batch)));
        let exponents = |result: Result<B::Exponents, RunError>| result.map(|batch| Value::Exponents(Arc::new(batch)));
        match &op.kind {
            OpKind::Input { name } => lwe(on.bring(&inputs[&**name])),
            OpKind::Linear { matrix, bias } => lwe(on.linear(dimension(op.result), matrix, bias, &self.all_lwe(op))),
            OpKind::Gather { indices } => match op.result {
                ValueType::Indices { .. } => {
                    let operands: Vec<_> = op.operands.iter().map(|&id| self.exponents(id)).collect();
                    exponents(on.gather_exponents(&operands, indices))
                }
                result => lwe(on.gather(dimension(result), &self.all_lwe(op), indices)),
            },
            OpKind::KeySwitch { .. } => lwe(on.key_switch(&self.lwe(op.operands[0]))),
            OpKind::ModulusSwitch { rounding, log2_tables } => {
                exponents(on.modulus_switch(&self.lwe(op.operands[0]), *rounding, *log2_tables))
            }
            OpKind::BlindRotation { tables: choice, .. } => on
                .blind_rotate(&self.exponents(op.operands[0]), choice, tables)
                .map(|accumulators| Value::Glwe(Arc::new(accumulators))),
            OpKind::CircuitBootstrap => {
                on.circuit_bootstrap(&self.glwe(op.operands[0])).map(|made| Value::Ggsw(Arc::new(made)))
            }
            OpKind::PackedLookup { width, log2_outputs, bits, tables: choice } => {
                let Some(Value::Ggsw(given)) = &self.0[op.operands[0].index()] else {
                    unreachable!("the program is checked: the operand is a live batch of GGSW ciphertexts")
                };
                let shape = TableShape { width: *width, log2_outputs: *log2_outputs };
                on.packed_lookup(shape, (given, bits), choice, tables).map(|read| Value::Glwe(Arc::new(read)))
            }
            OpKind::SampleExtract { coefficients } => {
                lwe(on.extract(&self.glwe(op.operands[0]), *coefficients as usize))
            }
        }
    }

    fn lwe(&self, id: ValueId) -> Arc<B::Lwe> {
        match &self.0[id.index()] {
            Some(Value::Lwe(batch)) => Arc::clone(batch),
            _ => unreachable!("the program is checked: the operand is a live batch of LWE ciphertexts"),
        }
    }

    fn all_lwe(&self, op: &Op) -> Vec<Arc<B::Lwe>> {
        op.operands.iter().map(|&id| self.lwe(id)).collect()
    }

    fn exponents(&self, id: ValueId) -> Arc<B::Exponents> {
        match &self.0[id.index()] {
            Some(Value::Exponents(exponents)) => Arc::clone(exponents),
            _ => unreachable!("the program is checked: the operand is a live batch of exponents"),
        }
    }

    fn glwe(&self, id: ValueId) -> Arc<B::Glwe> {
        match &self.0[id.index()] {
            Some(Value::Glwe(accumulators)) => Arc::clone(accumulators),
            _ => unreachable!("the program is checked: an extraction reads GLWE ciphertexts"),
        }
    }
}

/// For each value, the last operation that reads it; `usize::MAX` for outputs.
pub(super) fn last_uses(program: &KernelProgram) -> Vec<usize> {
    let mut last = vec![usize::MAX; program.ops.len()];
    for (index, op) in program.ops.iter().enumerate() {
        op.operands.iter().for_each(|operand| last[operand.index()] = index);
    }
    program.outputs.iter().for_each(|output| last[output.value.index()] = usize::MAX);
    last
}

fn dimension(result: ValueType) -> LweDimension {
    match result {
        ValueType::Lwe { dimension, .. } => match LweDimension::new(dimension) {
            Ok(dimension) => dimension,
            Err(_) => unreachable!("the program is checked: a dimension is of its parameter set"),
        },
        _ => unreachable!("the program is checked: the operation gives LWE ciphertexts"),
    }
}

/// Whole ciphertexts as a batch.
pub(crate) fn batch<T: Torus>(dimension: LweDimension, data: Vec<T>) -> LweBatch<T> {
    match LweBatch::from_data(dimension, data) {
        Ok(batch) => batch,
        Err(_) => unreachable!("whole ciphertexts were written"),
    }
}
