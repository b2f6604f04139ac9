//! Replay of transfers, links and lane groups.

use super::Context;
use crate::engine::schedule::Placed;
use crate::torus::replay::ReplayError;
use crate::torus::replay::datum::Datum;
use crate::torus::replay::operations::{Operands, extract, initial, linear, switch};
use crate::torus::workload::Work;
use polyfabric_program::tfhe::kernel::OpKind;
use rayon::prelude::*;
use std::sync::Arc;

/// The results of an event, one for each of its writes.
pub fn compute(context: &Context<'_>, placed: Placed<'_>, operands: &[Datum]) -> Result<Vec<Datum>, ReplayError> {
    let kind = placed.event.op.kind;
    let kinds = &context.chip.kinds;
    let event = Event { context, placed, operands };
    let moves = [kinds.transfer, kinds.key, kinds.link_store, kinds.load_twiddles, kinds.fill_twiddles];
    if moves.contains(&kind) {
        return event.moves();
    }
    if kind == kinds.multicast {
        return event.multicast();
    }
    if kind == kinds.link_load {
        return event.load_accumulators();
    }
    if kind == kinds.modulus_switch {
        let switch = |index: usize| {
            let ciphertext = event.torus(index)?;
            Ok(Datum::Amounts(Arc::new(context.primitives.modulus_switch(ciphertext))))
        };
        return (0..operands.len()).map(switch).collect();
    }
    if kind == kinds.sample_extract {
        return event.sample_extract();
    }
    if kind == kinds.key_switch {
        return event.key_switch();
    }
    if kind == kinds.linear {
        return event.linear();
    }
    let op = placed.op();
    Err(ReplayError::Operation { cycle: placed.start, operation: op.kernel_op, part: op.body_op })
}

struct Event<'a, 's> {
    context: &'a Context<'a>,
    placed: Placed<'s>,
    operands: &'a [Datum],
}

impl Event<'_, '_> {
    fn wrong(&self, expected: &'static str, found: &Datum) -> ReplayError {
        ReplayError::Kind { cycle: self.placed.start, expected, found: found.name() }
    }

    fn data(&self) -> Operands<'_> {
        Operands { data: self.operands, cycle: self.placed.start }
    }

    fn torus(&self, index: usize) -> Result<&Arc<Vec<u32>>, ReplayError> {
        self.data().torus(index)
    }

    /// A transfer writes what it reads, value by value.
    fn moves(&self) -> Result<Vec<Datum>, ReplayError> {
        let event = self.placed.event;
        let moved = |write: &crate::engine::schedule::Access| {
            let from = event.reads.iter().position(|read| read.value == write.value);
            let found = || ReplayError::Kind { cycle: self.placed.start, expected: "a source", found: "none" };
            from.map(|index| self.operands[index].clone()).ok_or_else(found)
        };
        event.writes.iter().map(moved).collect()
    }

    /// Polynomials of one iteration's key go to all rows, side by side.
    fn multicast(&self) -> Result<Vec<Datum>, ReplayError> {
        let mut key: Option<u32> = None;
        let mut polynomials = Vec::new();
        for operand in self.operands {
            match operand {
                Datum::BootstrapKey(iteration, part) if key.is_none_or(|key| key == *iteration) => {
                    key = Some(*iteration);
                    polynomials.extend_from_slice(part);
                }
                other => return Err(self.wrong("one iteration's key", other)),
            }
        }
        let Some(iteration) = key else { return Ok(Vec::new()) };
        Ok(vec![Datum::BootstrapKey(iteration, polynomials.into()); self.placed.event.writes.len()])
    }

    fn amounts(&self) -> impl Iterator<Item = &Arc<Vec<u32>>> {
        self.operands.iter().filter_map(|datum| match datum {
            Datum::Amounts(amounts) => Some(amounts),
            _ => None,
        })
    }

    /// X^(-b~) · (0, .., 0, test polynomial) for each row; the rows' rotation amounts come along.
    fn load_accumulators(&self) -> Result<Vec<Datum>, ReplayError> {
        let polynomials = self.context.streams.layout.sizes.polynomials as usize;
        let tables: Vec<u32> = self
            .operands
            .iter()
            .filter_map(|datum| match datum {
                Datum::Table(table) => Some(*table),
                _ => None,
            })
            .collect();
        let mut results = Vec::with_capacity(self.placed.event.writes.len());
        for (seat, amounts) in self.amounts().enumerate() {
            let write = &self.placed.event.writes[seat * (polynomials + 1)];
            let (_, element) = self.context.streams.lookup(write.value.shifted(self.placed.shift).ciphertext);
            let table = self.table_of(element as usize);
            if !tables.contains(&table) {
                let (expected, found) = ("the ciphertext's test polynomial", "another one");
                return Err(ReplayError::Kind { cycle: self.placed.start, expected, found });
            }
            results.push(Datum::Amounts(Arc::clone(amounts)));
            results.extend(initial(&self.context.primitives, amounts, &self.context.tables[table as usize]));
        }
        Ok(results)
    }

    /// Table of an element of the blind rotation: the instruction names it.
    fn table_of(&self, element: usize) -> u32 {
        match &self.context.program.ops[self.placed.op().kernel_op as usize].kind {
            OpKind::BlindRotation { tables, .. } => tables.get(element) as u32,
            _ => 0,
        }
    }

    fn sample_extract(&self) -> Result<Vec<Datum>, ReplayError> {
        let polynomials = self.context.streams.layout.sizes.polynomials as usize;
        let one = |first: usize| extract(&self.context.primitives, self.data(), first..first + polynomials);
        (0..self.operands.len()).step_by(polynomials).map(one).collect()
    }

    fn key_switch(&self) -> Result<Vec<Datum>, ReplayError> {
        let tile = self.data().tile(0)?;
        let layout = &self.context.streams.layout;
        let elements = layout.tile_elements as usize;
        let range = tile * elements..(tile + 1) * elements;
        let levels = layout.sizes.key_switch_levels as u32;
        let count = self.placed.event.writes.len();
        // The tile first, then each ciphertext with, after the first tile, its sum.
        let has_sums = self.operands.len() == 1 + 2 * count;
        let stride = 1 + usize::from(has_sums);
        let one = |number: usize| {
            let source = self.torus(1 + number * stride)?;
            let sum = if has_sums { Some(self.torus(2 + number * stride)?.as_slice()) } else { None };
            Ok(switch(&self.context.primitives, source, sum, range.clone(), levels))
        };
        (0..count).into_par_iter().map(one).collect()
    }

    fn linear(&self) -> Result<Vec<Datum>, ReplayError> {
        let op = self.placed.event.op;
        let (Some(OpKind::Linear { matrix, bias }), Some(layer)) = (
            self.context.program.ops.get(op.kernel_op as usize).map(|op| &op.kind),
            self.context.streams.works.iter().find_map(|work| match work {
                Work::Linear(layer) if layer.op == op.kernel_op => Some(layer),
                _ => None,
            }),
        ) else {
            return Err(ReplayError::Operation { cycle: self.placed.start, operation: op.kernel_op, part: op.body_op });
        };
        let reads = &self.placed.event.reads;
        // Operands by the ciphertext that the program wants in a column; several columns may want the same one.
        let column_of = |read: &crate::engine::schedule::Access, column: usize| {
            let item = layer.sources[column];
            read.value.ciphertext == item.element && read.value.index == item.op
        };
        let is_sum = |read: &crate::engine::schedule::Access| read.value.class == self.context.chip.classes.linear_sum;
        let mut results = Vec::new();
        for write in &self.placed.event.writes {
            let row = write.value.ciphertext as usize;
            let old = reads.iter().position(|read| is_sum(read) && read.place == write.place);
            let sum = old.map(|index| self.torus(index)).transpose()?.map(|sum| sum.as_slice());
            let operand = |column: usize| {
                let index = reads.iter().position(|read| !is_sum(read) && column_of(read, column));
                let index = index.filter(|_| self.in_block(column, layer.dimension));
                index.map(|index| self.torus(index)).transpose()
            };
            results.push(linear((matrix, bias), row, sum, layer.dimension + 1, operand)?);
        }
        Ok(results)
    }

    /// Whether a column belongs to the block that this event takes.
    fn in_block(&self, column: usize, dimension: usize) -> bool {
        let bytes = (dimension as u64 + 1) * crate::torus::sizes::COEFFICIENT_BYTES;
        let block = crate::morphling::software::linear_block(&self.context.streams.layout, bytes) as usize;
        column / block == self.placed.op().iteration as usize
    }
}
