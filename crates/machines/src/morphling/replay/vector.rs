//! Replay of transfers, links and lane groups.

use super::storage::Datum;
use super::{Context, ReplayError};
use crate::engine::schedule::Placed;
use crate::torus::workload::Work;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::kernel::OpKind;
use rayon::prelude::*;
use std::sync::Arc;

/// The results of an event, one for each of its writes.
pub fn compute(context: &Context<'_>, placed: Placed<'_>, operands: &[Datum]) -> Result<Vec<Datum>, ReplayError> {
    let kind = placed.event.op.kind;
    let kinds = &context.chip.kinds;
    let event = Event { context, placed, operands };
    if kind == kinds.transfer || kind == kinds.key || kind == kinds.link_store {
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

    fn torus(&self, index: usize) -> Result<&Arc<Vec<u32>>, ReplayError> {
        match &self.operands[index] {
            Datum::Torus(torus) => Ok(torus),
            other => Err(self.wrong("torus elements", other)),
        }
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
            let element = write.value.shifted(self.placed.shift).ciphertext as usize;
            let table = self.table_of(element);
            if !tables.contains(&table) {
                let (expected, found) = ("the ciphertext's test polynomial", "another one");
                return Err(ReplayError::Kind { cycle: self.placed.start, expected, found });
            }
            let body = amounts.last().copied().unwrap_or(0);
            let polynomial = &self.context.tables[table as usize];
            results.push(Datum::Amounts(Arc::clone(amounts)));
            let initial = self.context.primitives.initial_accumulator(body, polynomial);
            results.extend(initial.into_iter().map(|polynomial| Datum::Torus(Arc::new(polynomial))));
        }
        Ok(results)
    }

    /// Table of an element of the blind rotation: the instruction names it.
    fn table_of(&self, element: usize) -> u32 {
        match &self.context.program.ops[self.placed.event.op.kernel_op as usize].kind {
            OpKind::BlindRotation { tables, .. } => tables.get(element) as u32,
            _ => 0,
        }
    }

    fn sample_extract(&self) -> Result<Vec<Datum>, ReplayError> {
        let polynomials = self.context.streams.layout.sizes.polynomials as usize;
        let extract = |first: usize| {
            let accumulator: Result<Vec<Vec<u32>>, ReplayError> =
                (first..first + polynomials).map(|index| Ok(self.torus(index)?.to_vec())).collect();
            Ok(Datum::Torus(Arc::new(self.context.primitives.sample_extract(&accumulator?))))
        };
        (0..self.operands.len()).step_by(polynomials).map(extract).collect()
    }

    fn key_switch(&self) -> Result<Vec<Datum>, ReplayError> {
        let Some(Datum::Tile(tile)) = self.operands.first() else {
            return Err(self.wrong("a tile of the key-switch key", &self.operands[0]));
        };
        let layout = &self.context.streams.layout;
        let elements = layout.tile_elements as usize;
        let range = *tile as usize * elements..(*tile as usize + 1) * elements;
        let levels = layout.sizes.key_switch_levels as u32;
        let count = self.placed.event.writes.len();
        // The tile first, then each ciphertext with, after the first tile, its sum.
        let has_sums = self.operands.len() == 1 + 2 * count;
        let stride = 1 + usize::from(has_sums);
        let primitives = &self.context.primitives;
        let switch = |number: usize| {
            let source = self.torus(1 + number * stride)?;
            let mut sum = if has_sums {
                self.torus(2 + number * stride)?.to_vec()
            } else {
                primitives.initial_switched(source.last().copied().unwrap_or(0))
            };
            for element in range.clone() {
                for level in 0..levels {
                    let digit = primitives.mask_digit(source[element], level);
                    sum = primitives.subtract_key_product(sum, digit, element, level);
                }
            }
            Ok(Datum::Torus(Arc::new(sum)))
        };
        (0..count).into_par_iter().map(switch).collect()
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
            let mut sum = match old {
                Some(index) => self.torus(index)?.to_vec(),
                None => {
                    let mut sum = vec![0; layer.dimension + 1];
                    sum[layer.dimension] = bias.get(row).map_or(0, |&bias| u32::from_u64(bias));
                    sum
                }
            };
            for (column, weight) in matrix.row(row).filter(|(column, _)| self.in_block(*column, layer.dimension)) {
                let Some(index) = reads.iter().position(|read| !is_sum(read) && column_of(read, column)) else {
                    continue;
                };
                for (sum, &element) in sum.iter_mut().zip(self.torus(index)?.iter()) {
                    *sum = sum.wrapping_add(element.wrapping_mul_signed(i64::from(weight)));
                }
            }
            results.push(Datum::Torus(Arc::new(sum)));
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
