//! What FPT's events compute, for the replay of its schedule on real ciphertexts.

use super::Mapped;
use super::emit::chip::Chip;
use super::software::Tasks;
use crate::engine::schedule::{Placed, Value};
use crate::torus::iteration::IterationPlan;
use crate::torus::names::ciphertext;
use crate::torus::replay::datum::Datum;
use crate::torus::replay::operations::{Operands, extract, initial, linear, switch};
use crate::torus::replay::stream::Meaning;
use crate::torus::replay::{Context, ReplayError};
use crate::torus::workload::Item;
use polyfabric_program::tfhe::kernel::{OpKind, ValueType};
use std::sync::Arc;

/// The pipeline and the host, that carry out a schedule.
pub(super) struct Pipeline<'a> {
    chip: &'a Chip,
    tasks: &'a Tasks,
    context: Context<'a>,
}

impl<'a> Pipeline<'a> {
    pub fn new(mapped: &'a Mapped, context: Context<'a>) -> Self {
        Self { chip: &mapped.chip, tasks: &mapped.tasks, context }
    }
}

impl Meaning for Pipeline<'_> {
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
                let plan = self.tasks.plans.values().next()?;
                let rows = plan.forwards.chunks(self.tasks.shape.side_rows as usize).nth(value.index as usize)?;
                let products = rows.iter().flat_map(|forward| &forward.products);
                let polynomials = products.map(|product| (product.row, product.column)).collect();
                Some(Datum::BootstrapKey(value.iteration, polynomials))
            }
            class if class == classes.switch_key => Some(Datum::Tile(0)),
            _ => None,
        }
    }

    fn compute(&self, placed: Placed<'_>, data: &[Datum]) -> Result<Vec<Datum>, ReplayError> {
        let kinds = &self.chip.kinds;
        let operands = Operands { data, cycle: placed.start };
        let count = placed.event.writes.len();
        match placed.event.op.kind {
            kind if kind == kinds.load => {
                let table = &self.context.tables[operands.table(0)?];
                let first = placed.op().body_op as usize * count;
                Ok(initial(&self.context.primitives, operands.amounts(1)?, table).skip(first).take(count).collect())
            }
            kind if kind == kinds.rotate => {
                operands.rotated_differences(&self.context.primitives, count, placed.op().iteration)
            }
            kind if kind == kinds.decompose => self.decompose(placed, operands),
            kind if kind == kinds.forward => operands.spectra(&self.context.primitives),
            kind if kind == kinds.multiply => self.multiply(operands, count),
            kind if kind == kinds.inverse => operands.coefficients(&self.context.primitives),
            kind if kind == kinds.accumulate => operands.accumulated(&self.context.primitives, count),
            kind if kind == kinds.extract => Ok(vec![extract(&self.context.primitives, operands, 0..data.len())?]),
            kind if kind == kinds.modulus_switch => {
                Ok(vec![Datum::Amounts(Arc::new(self.context.primitives.modulus_switch(operands.torus(0)?)))])
            }
            kind if kind == kinds.key_switch => {
                let (source, _) = (operands.torus(0)?, operands.tile(1)?);
                let gadget = self.context.program.parameters.key_switch_gadget();
                let levels = gadget.map_or(0, |gadget| gadget.levels);
                Ok(vec![switch(&self.context.primitives, source, None, 0..source.len() - 1, levels)])
            }
            kind if kind == kinds.linear => self.linear(placed, operands),
            // What moves is the same at both ends.
            _ => Ok(data[..count.min(data.len())].to_vec()),
        }
    }
}

impl Pipeline<'_> {
    fn plan(&self, placed: Placed<'_>) -> Result<&IterationPlan, ReplayError> {
        let op = placed.op();
        let unknown = ReplayError::Operation { cycle: placed.start, operation: op.kernel_op, part: op.body_op };
        self.tasks.plans.get(&op.kernel_op).ok_or(unknown)
    }

    fn decompose(&self, placed: Placed<'_>, operands: Operands<'_>) -> Result<Vec<Datum>, ReplayError> {
        let rows = self.tasks.shape.side_rows as usize;
        let step = placed.op().body_op as usize;
        let plan = self.plan(placed)?;
        let forwards = plan.forwards.chunks(rows).nth(step).unwrap_or(&[]);
        let first = forwards.first().map_or(0, |forward| forward.polynomial);
        let digits = |forward: &crate::torus::iteration::Forward| {
            let polynomial = operands.torus((forward.polynomial - first) as usize)?;
            Ok(Datum::Digits(Arc::new(self.context.primitives.digit(polynomial, forward.level))))
        };
        let digits: Result<Vec<Datum>, ReplayError> = forwards.iter().map(digits).collect();
        Ok(vec![Datum::bundle(digits?)])
    }

    /// The sums of all columns: so far, or by group once they are complete.
    fn multiply(&self, operands: Operands<'_>, groups: usize) -> Result<Vec<Datum>, ReplayError> {
        let columns = self.tasks.shape.polynomials as usize;
        let sums = operands.products(&self.context.primitives, columns)?;
        Ok(sums.chunks(columns / groups.max(1)).map(|group| Datum::bundle(group.to_vec())).collect())
    }

    fn linear(&self, placed: Placed<'_>, operands: Operands<'_>) -> Result<Vec<Datum>, ReplayError> {
        let op = placed.op();
        let unknown = || ReplayError::Operation { cycle: placed.start, operation: op.kernel_op, part: op.ciphertext };
        let kernel_op = self.context.program.ops.get(op.kernel_op as usize).ok_or_else(unknown)?;
        let (OpKind::Linear { matrix, bias }, ValueType::Lwe { dimension, .. }) = (&kernel_op.kind, &kernel_op.result)
        else {
            return Err(unknown());
        };
        let row = op.ciphertext as usize;
        let given: Vec<usize> = matrix.row(row).map(|(column, _)| column).collect();
        let column = |column: usize| match given.iter().position(|&other| other == column) {
            Some(number) => Ok(Some(operands.torus(number)?)),
            None => Ok(None),
        };
        Ok(vec![linear((matrix, bias), row, None, dimension + 1, column)?])
    }
}
