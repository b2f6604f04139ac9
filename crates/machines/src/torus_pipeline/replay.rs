//! What events compute, for the replay of a schedule on real ciphertexts.

use super::Mapped;
use super::emit::resources::Chip;
use super::software::{Action, Tasks};
use super::streams::{Step, Steps};
use crate::engine::schedule::{Placed, Value};
use crate::torus::names::ciphertext;
use crate::torus::replay::datum::Datum;
use crate::torus::replay::operations::{Operands, extract, initial, linear, switch};
use crate::torus::replay::stream::Meaning;
use crate::torus::replay::{Context, ReplayError};
use crate::torus::workload::Item;
use polyfabric_program::tfhe::kernel::OpKind;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The columns that each pass of a linear layer takes, by the layer's operation and the pass's number.
pub(super) type Passes = HashMap<(u32, u32), Range<usize>>;

pub(super) fn columns(tasks: &Tasks) -> Passes {
    let passes = tasks.epochs.iter().flat_map(|epoch| {
        let operation = tasks.works[epoch.work].operation();
        let tasks = tasks.tasks[epoch.tasks.start as usize..epoch.tasks.end as usize].iter();
        tasks
            .filter(|task| task.action == Action::Linear)
            .map(move |task| ((operation, task.wave as u32), task.columns.clone()))
    });
    passes.collect()
}

/// The cores, that carry out a schedule.
pub(super) struct Core<'a> {
    chip: &'a Chip,
    tasks: &'a Tasks,
    context: Context<'a>,
    blocks: Passes,
}

impl<'a> Core<'a> {
    pub fn new(mapped: &'a Mapped, context: Context<'a>) -> Self {
        Self { chip: &mapped.chip, tasks: &mapped.tasks, context, blocks: columns(&mapped.tasks) }
    }
}

impl Meaning for Core<'_> {
    fn context(&self) -> &Context<'_> {
        &self.context
    }

    fn name(&self, item: Item) -> Value {
        ciphertext(self.context.program, self.chip.classes.ciphertexts(), item)
    }

    fn source(&self, value: Value) -> Option<Datum> {
        let classes = &self.chip.classes;
        match value.class {
            class if class == classes.table => Some(Datum::Table(value.index)),
            class if class == classes.bootstrap_key => {
                // The rows of all rotations pass in the same steps.
                let steps = self.tasks.steps.values().next()?;
                let step = steps.steps.get(value.index as usize)?;
                let columns = |row: u32| (0..steps.polynomials).map(move |column| (row, column));
                Some(Datum::BootstrapKey(value.iteration, step.rows.iter().flat_map(|row| columns(row.row)).collect()))
            }
            class if class == classes.switch_key => Some(Datum::Tile(value.iteration)),
            _ => None,
        }
    }

    fn compute(&self, placed: Placed<'_>, data: &[Datum]) -> Result<Vec<Datum>, ReplayError> {
        let kinds = &self.chip.kinds;
        let operands = Operands { data, cycle: placed.start };
        let count = placed.event.writes.len();
        match placed.event.op.kind {
            kind if kind == kinds.rotate => {
                operands.rotated_differences(&self.context.primitives, count, placed.op().iteration)
            }
            kind if kind == kinds.decompose => self.decompose(placed, operands),
            kind if kind == kinds.forward => operands.spectra(&self.context.primitives),
            kind if kind == kinds.multiply => self.multiply(placed, operands),
            kind if kind == kinds.inverse => operands.coefficients(&self.context.primitives),
            kind if kind == kinds.accumulate => operands.accumulated(&self.context.primitives, count),
            kind if kind == kinds.extract => Ok(vec![extract(&self.context.primitives, operands, 0..data.len())?]),
            kind if kind == kinds.modulus_switch => {
                Ok(vec![Datum::Amounts(Arc::new(self.context.primitives.modulus_switch(operands.torus(0)?)))])
            }
            kind if kind == kinds.load_accumulators => {
                let table = &self.context.tables[operands.table(0)?];
                Ok(initial(&self.context.primitives, operands.amounts(1)?, table).collect())
            }
            kind if kind == kinds.key_switch => self.key_switch(operands, count),
            kind if kind == kinds.linear => self.linear(placed, operands),
            kind if kind == kinds.multicast => Ok(vec![data[0].clone(); count]),
            kind if kind == kinds.multicast_switch => {
                let passes = match &data[0] {
                    Datum::Torus(_) => Datum::bundle(data.to_vec()),
                    tile => tile.clone(),
                };
                Ok(vec![passes; count])
            }
            // What moves is the same at both ends.
            _ => Ok(data[..count.min(data.len())].to_vec()),
        }
    }
}

impl Core<'_> {
    fn steps(&self, placed: Placed<'_>) -> Result<&Steps, ReplayError> {
        let op = placed.op();
        let unknown = ReplayError::Operation { cycle: placed.start, operation: op.kernel_op, part: op.body_op };
        self.tasks.steps.get(&op.kernel_op).ok_or(unknown)
    }

    fn step(&self, placed: Placed<'_>) -> Result<&Step, ReplayError> {
        let op = placed.op();
        let unknown = || ReplayError::Operation { cycle: placed.start, operation: op.kernel_op, part: op.body_op };
        self.steps(placed)?.steps.get(op.body_op as usize).ok_or_else(unknown)
    }

    fn decompose(&self, placed: Placed<'_>, operands: Operands<'_>) -> Result<Vec<Datum>, ReplayError> {
        let step = self.step(placed)?;
        let polynomials = step.polynomials();
        let digits = |row: &super::streams::StepRow| {
            let index = polynomials.iter().position(|&polynomial| polynomial == row.polynomial).unwrap_or(0);
            Ok(Datum::Digits(Arc::new(self.context.primitives.digit(operands.torus(index)?, row.level))))
        };
        let digits: Result<Vec<Datum>, ReplayError> = step.rows.iter().map(digits).collect();
        Ok(vec![Datum::bundle(digits?)])
    }

    /// The sums of all columns, by drain once they are complete.
    fn multiply(&self, placed: Placed<'_>, operands: Operands<'_>) -> Result<Vec<Datum>, ReplayError> {
        let steps = self.steps(placed)?;
        let mut sums = operands.products(&self.context.primitives, steps.polynomials as usize)?.into_iter();
        let mut written: Vec<Datum> = steps
            .drained(placed.op().body_op as usize)
            .map(|(_, drain)| Datum::bundle(sums.by_ref().take(drain.inverses.len()).collect()))
            .collect();
        if written.is_empty() {
            written.push(Datum::bundle(sums.collect()));
        }
        Ok(written)
    }

    fn key_switch(&self, operands: Operands<'_>, count: usize) -> Result<Vec<Datum>, ReplayError> {
        let layout = &self.tasks.layout;
        let (tile, elements) = (operands.tile(0)?, layout.tile_elements as usize);
        let elements = tile * elements..(tile + 1) * elements;
        let levels = layout.sizes.key_switch_levels as u32;
        // The tile first, then each ciphertext with, after the first tile, its sum.
        let stride = (operands.data.len() - 1) / count.max(1);
        let one = |number: usize| {
            let source = operands.torus(1 + number * stride)?;
            let sum = if stride > 1 { Some(operands.torus(2 + number * stride)?.as_slice()) } else { None };
            Ok(switch(&self.context.primitives, source, sum, elements.clone(), levels))
        };
        (0..count).map(one).collect()
    }

    fn linear(&self, placed: Placed<'_>, operands: Operands<'_>) -> Result<Vec<Datum>, ReplayError> {
        let op = placed.op();
        let unknown = || ReplayError::Operation { cycle: placed.start, operation: op.kernel_op, part: op.iteration };
        let kernel_op = self.context.program.ops.get(op.kernel_op as usize).ok_or_else(unknown)?;
        let OpKind::Linear { matrix, bias } = &kernel_op.kind else { return Err(unknown()) };
        let columns = self.blocks.get(&(op.kernel_op, op.iteration)).ok_or_else(unknown)?;
        // The operands of a pass that has columns, side by side; then the sums, but in a first pass.
        let first_sum = usize::from(!columns.is_empty());
        let given = if columns.is_empty() { operands } else { operands.bundle(0)? };
        let length = match kernel_op.result {
            polyfabric_program::tfhe::kernel::ValueType::Lwe { dimension, .. } => dimension + 1,
            _ => return Err(unknown()),
        };
        let has_sums = operands.data.len() > first_sum;
        let row = |number: usize| {
            let sum = if has_sums { Some(operands.torus(first_sum + number)?.as_slice()) } else { None };
            let column = |column: usize| match columns.contains(&column) {
                true => Ok(Some(given.torus(column - columns.start)?)),
                false => Ok(None),
            };
            linear((matrix, bias), op.ciphertext as usize + number, sum, length, column)
        };
        (0..placed.event.writes.len()).map(row).collect()
    }
}
