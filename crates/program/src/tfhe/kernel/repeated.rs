//! One program for several executions at once, whose lookups then form larger batches.

use super::{KernelProgram, Op, OpKind, TableChoice, ValueType};
use crate::tfhe::matrix::{Matrix, MatrixBuilder, MatrixError};
use std::sync::Arc;

impl KernelProgram {
    /// The program of `copies` executions. Every value has the items of the first execution, then those of the second, and so on.
    ///
    /// # Errors
    /// [`MatrixError::TooWide`] if an operation then reads or writes more than 2^32 − 1 ciphertexts.
    pub fn repeated(&self, copies: usize) -> Result<Self, MatrixError> {
        let ops = self.ops.iter().map(|op| self.repeated_op(op, copies)).collect::<Result<_, _>>()?;
        Ok(Self {
            name: Arc::clone(&self.name),
            parameters: self.parameters.clone(),
            choice: self.choice.clone(),
            tables: self.tables.clone(),
            ops,
            outputs: self.outputs.clone(),
        })
    }

    fn repeated_op(&self, op: &Op, copies: usize) -> Result<Op, MatrixError> {
        let counts: Vec<usize> = op.operands.iter().map(|&operand| self.op(operand).result.count()).collect();
        let columns = counts.iter().sum::<usize>().max(op.result.count()).saturating_mul(copies);
        if u32::try_from(columns).is_err() {
            return Err(MatrixError::TooWide { columns });
        }
        let kind = match &op.kind {
            OpKind::Linear { matrix, bias } => OpKind::Linear {
                matrix: Arc::new(diagonal(matrix, &counts, copies)?),
                bias: bias.repeat(copies).into(),
            },
            OpKind::Gather { indices } => OpKind::Gather { indices: places(indices, &counts, copies) },
            OpKind::BlindRotation { tables, body } => {
                OpKind::BlindRotation { tables: repeated_choice(tables, copies), body: Arc::clone(body) }
            }
            OpKind::PackedLookup { width, log2_outputs, bits, tables } => OpKind::PackedLookup {
                width: *width,
                log2_outputs: *log2_outputs,
                bits: places(bits, &counts, copies),
                tables: repeated_choice(tables, copies),
            },
            kind => kind.clone(),
        };
        Ok(Op { kind, operands: op.operands.clone(), result: times(op.result, copies), origin: op.origin })
    }
}

fn times(value: ValueType, copies: usize) -> ValueType {
    match value {
        ValueType::Lwe { count, kind, dimension } => ValueType::Lwe { count: count * copies, kind, dimension },
        ValueType::Indices { count, dimension, log2_modulus } => {
            ValueType::Indices { count: count * copies, dimension, log2_modulus }
        }
        ValueType::Glwe { count } => ValueType::Glwe { count: count * copies },
        ValueType::Ggsw { count } => ValueType::Ggsw { count: count * copies },
    }
}

fn repeated_choice(tables: &TableChoice, copies: usize) -> TableChoice {
    match tables {
        TableChoice::Shared(table) => TableChoice::Shared(*table),
        TableChoice::PerCiphertext(tables) => TableChoice::PerCiphertext(tables.repeat(copies).into()),
    }
}

/// The items `indices` of all executions, for operands with `counts` items an execution.
fn places(indices: &[u32], counts: &[usize], copies: usize) -> Arc<[u32]> {
    let of = |copy| {
        let place = place(counts, copies, copy);
        indices.iter().map(move |&index| place(index as usize) as u32)
    };
    (0..copies).flat_map(of).collect()
}

/// Where an item of the operands, which have `counts` items an execution, is in execution `copy` of `copies`.
fn place(counts: &[usize], copies: usize, copy: usize) -> impl Fn(usize) -> usize {
    // The first item of each operand, and its shift.
    let mut start = 0;
    let mut shifts = Vec::with_capacity(counts.len());
    for &count in counts {
        shifts.push((start, start * (copies - 1) + copy * count));
        start += count;
    }
    move |item| {
        let operand = shifts.partition_point(|&(start, _)| start <= item) - 1;
        item + shifts[operand].1
    }
}

/// The matrix of all executions, for operands with `counts` items an execution.
fn diagonal(matrix: &Matrix, counts: &[usize], copies: usize) -> Result<Matrix, MatrixError> {
    let mut builder = MatrixBuilder::new(matrix.columns() * copies)?;
    for copy in 0..copies {
        let place = place(counts, copies, copy);
        for row in 0..matrix.rows() {
            builder.push_row(matrix.row(row).map(|(column, weight)| (place(column), i64::from(weight))))?;
        }
    }
    Ok(builder.finish())
}
