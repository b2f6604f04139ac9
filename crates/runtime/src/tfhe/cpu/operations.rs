//! A kernel program, operation by operation, on batches.

use super::Executor;
use crate::Progress;
use crate::tfhe::RunError;
use crate::tfhe::interpreter::check_inputs;
use polyfabric_kernels::Torus;
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{KernelProgram, Op, OpKind, ValueId, ValueType};
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::{LweBatch, LweDimension};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value of a kernel program: always one flat array.
enum Value<T> {
    /// LWE ciphertexts.
    Lwe(Arc<LweBatch<T>>),
    /// n + 1 exponents for each ciphertext.
    Exponents(Vec<u32>),
    /// k + 1 polynomials for each ciphertext.
    Glwe(AlignedTorus<T>),
}

impl<T: Torus> Executor<'_, T> {
    /// Runs `program` on `inputs`, its look-ups fused: the results are within the transform's proven bound of the exact
    /// ones, whichever domains its bodies accumulate in.
    ///
    /// # Errors
    /// [`RunError`]; nothing runs unless everything fits.
    pub fn run(
        &self,
        program: &KernelProgram,
        inputs: &BTreeMap<String, LweBatch<T>>,
        progress: &dyn Progress,
    ) -> Result<BTreeMap<String, LweBatch<T>>, RunError> {
        check_inputs(program, self.key, inputs)?;
        if program.choice.arithmetic != Arithmetic::F64 {
            return Err(RunError::Arithmetic { arithmetic: format!("{:?}", program.choice.arithmetic) });
        }
        let tables: Vec<Vec<T>> = program.tables.iter().map(|table| table.coefficients()).collect();
        let last_use = last_uses(program);
        let mut values: Vec<Option<Value<T>>> = Vec::with_capacity(program.ops.len());
        for (index, op) in program.ops.iter().enumerate() {
            let value = self.operation(op, &values, &tables, inputs, progress)?;
            values.push(Some(value));
            for operand in &op.operands {
                if last_use[operand.index()] == index {
                    values[operand.index()] = None;
                }
            }
        }
        let outputs =
            program.outputs.iter().map(|output| (output.name.to_string(), (*lwe(&values, output.value)).clone()));
        Ok(outputs.collect())
    }

    fn operation(
        &self,
        op: &Op,
        values: &[Option<Value<T>>],
        tables: &[Vec<T>],
        inputs: &BTreeMap<String, LweBatch<T>>,
        progress: &dyn Progress,
    ) -> Result<Value<T>, RunError> {
        let first = op.operands.first().copied();
        let operand = |id: Option<ValueId>| id.and_then(|id| values[id.index()].as_ref());
        Ok(match &op.kind {
            OpKind::Input { name } => Value::Lwe(Arc::new(inputs[&**name].clone())),
            OpKind::Linear { matrix, bias } => {
                Value::Lwe(Arc::new(self.linear(op, matrix, bias, &lwe_operands(op, values))))
            }
            OpKind::Gather { indices } => match op.result {
                ValueType::Indices { dimension, .. } => {
                    let sources = op.operands.iter().map(|&id| exponents(operand(Some(id))));
                    Value::Exponents(gather(sources, dimension + 1, indices))
                }
                result => {
                    let operands = lwe_operands(op, values);
                    let dimension = dimension(result);
                    let data = gather(operands.iter().map(|batch| batch.data()), dimension.ciphertext_len(), indices);
                    Value::Lwe(Arc::new(batch(dimension, data)))
                }
            },
            OpKind::KeySwitch { .. } => Value::Lwe(Arc::new(self.key_switch(&single(op, values), progress)?)),
            OpKind::ModulusSwitch { rounding, log2_tables } => {
                Value::Exponents(self.modulus_switch_with(&single(op, values), *rounding, *log2_tables))
            }
            OpKind::BlindRotation { tables: choice, .. } => {
                let table = |c: usize| tables[choice.get(c)].as_slice();
                Value::Glwe(self.blind_rotate(exponents(operand(first)), table, progress))
            }
            OpKind::SampleExtract { coefficients } => match operand(first) {
                Some(Value::Glwe(accumulators)) => {
                    Value::Lwe(Arc::new(self.coefficients_extract(accumulators, *coefficients as usize)))
                }
                _ => unreachable!("the program is checked: an extraction reads GLWE ciphertexts"),
            },
        })
    }

    /// Row r of the result: Σ_c matrix[r][c] · operand c, plus `bias[r]` on the body.
    fn linear(&self, op: &Op, matrix: &Matrix, bias: &[u64], operands: &[Arc<LweBatch<T>>]) -> LweBatch<T> {
        let dimension = dimension(op.result);
        let length = dimension.ciphertext_len();
        let sources: Vec<&[T]> = operands.iter().flat_map(|batch| batch.data().chunks_exact(length)).collect();
        let mut data = vec![T::default(); matrix.rows() * length];
        self.pool.install(|| {
            data.par_chunks_exact_mut(length).enumerate().for_each(|(row, output)| {
                cancel::check();
                for (column, weight) in matrix.row(row) {
                    for (out, &value) in output.iter_mut().zip(sources[column]) {
                        *out = out.wrapping_add(value.wrapping_mul_signed(weight.into()));
                    }
                }
                if let Some(body) = output.last_mut() {
                    *body = body.wrapping_add(T::from_u64(bias[row]));
                }
            });
        });
        batch(dimension, data)
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

fn batch<T: Torus>(dimension: LweDimension, data: Vec<T>) -> LweBatch<T> {
    match LweBatch::from_data(dimension, data) {
        Ok(batch) => batch,
        Err(_) => unreachable!("whole ciphertexts were written"),
    }
}

fn lwe<T>(values: &[Option<Value<T>>], id: ValueId) -> Arc<LweBatch<T>> {
    match &values[id.index()] {
        Some(Value::Lwe(batch)) => Arc::clone(batch),
        _ => unreachable!("the program is checked: the operand is a live batch of LWE ciphertexts"),
    }
}

fn lwe_operands<T>(op: &Op, values: &[Option<Value<T>>]) -> Vec<Arc<LweBatch<T>>> {
    op.operands.iter().map(|&id| lwe(values, id)).collect()
}

fn single<T>(op: &Op, values: &[Option<Value<T>>]) -> Arc<LweBatch<T>> {
    lwe(values, op.operands[0])
}

fn exponents<T>(value: Option<&Value<T>>) -> &[u32] {
    match value {
        Some(Value::Exponents(exponents)) => exponents,
        _ => unreachable!("the program is checked: the operand is a live batch of exponents"),
    }
}

/// Items `indices` of the concatenated `sources`, each of `length` elements.
fn gather<'a, E: Copy + 'a>(sources: impl Iterator<Item = &'a [E]>, length: usize, indices: &[u32]) -> Vec<E> {
    let items: Vec<&[E]> = sources.flat_map(|source| source.chunks_exact(length)).collect();
    indices.iter().flat_map(|&index| items[index as usize]).copied().collect()
}
