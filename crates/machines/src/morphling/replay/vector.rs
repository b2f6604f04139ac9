//! Replay of transfers, links and lane groups.

use super::Context;
use crate::engine::schedule::{Access, Placed, Value};
use crate::torus::replay::ReplayError;
use crate::torus::replay::datum::Datum;
use crate::torus::replay::operations::{Operands, extract, initial, linear, switch};
use crate::torus::workload::Work;
use polyfabric_kernels::cancel;
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
    if kind == kinds.load_operands {
        return event.load_operands();
    }
    if kind == kinds.return_results {
        return event.return_results();
    }
    if kind == kinds.modulus_switch {
        let switch = |(_, operand): (Value, Datum)| match operand {
            Datum::Torus(ciphertext) => Ok(Datum::Amounts(Arc::new(context.primitives.modulus_switch(&ciphertext)))),
            other => Err(event.wrong("a ciphertext", &other)),
        };
        let switched: Result<Vec<Datum>, ReplayError> = event.in_registers()?.into_iter().map(switch).collect();
        return Ok(event.leaving(switched?));
    }
    if kind == kinds.sample_extract {
        return Ok(event.leaving(event.sample_extract()?));
    }
    if kind == kinds.key_switch {
        return Ok(event.leaving(event.key_switch()?));
    }
    if kind == kinds.linear {
        return Ok(event.leaving(event.linear()?));
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

    /// The operands that pass a register, side by side. Names stand in the order of the reads, so that of two equal ones each has its own read.
    fn load_operands(&self) -> Result<Vec<Datum>, ReplayError> {
        let reads = &self.placed.event.reads;
        let side_by_side = |write: &Access| {
            let mut from = 0;
            let mut find = |value: &Value| {
                let found = || ReplayError::Kind { cycle: self.placed.start, expected: "a source", found: "none" };
                let ahead = reads[from..].iter().position(|read| read.value == *value).ok_or_else(found)?;
                from += ahead + 1;
                Ok(self.operands[from - 1].clone())
            };
            let data: Result<Vec<Datum>, ReplayError> = self.names(write).iter().map(&mut find).collect();
            Ok(Datum::bundle(data?))
        };
        self.placed.event.writes.iter().map(side_by_side).collect()
    }

    /// Names of what passes a register.
    fn names(&self, access: &Access) -> &[Value] {
        self.context.chip.operands.get(access.value.index as usize).map_or(&[], |names| names)
    }

    /// What has come to the registers, register after register, with the names that the schedule gives it.
    fn in_registers(&self) -> Result<Vec<(Value, Datum)>, ReplayError> {
        let mut all = Vec::new();
        for (read, operand) in self.placed.event.reads.iter().zip(self.operands) {
            match operand {
                Datum::Bundle(data) => all.extend(self.names(read).iter().copied().zip(data.iter().cloned())),
                Datum::Words => {}
                other => return Err(self.wrong("operands", other)),
            }
        }
        Ok(all)
    }

    /// Results of the lanes leave side by side, in the order of their names.
    fn leaving(&self, results: Vec<Datum>) -> Vec<Datum> {
        vec![Datum::bundle(results)]
    }

    /// The results that the lanes' event has, by their names.
    fn results(&self) -> &[Value] {
        self.placed.event.writes.first().map_or(&[], |write| self.names(write))
    }

    /// What has left the lanes, each to its place.
    fn return_results(&self) -> Result<Vec<Datum>, ReplayError> {
        let all = self.in_registers()?;
        let returned = |write: &Access| {
            let found = || ReplayError::Kind { cycle: self.placed.start, expected: "a source", found: "none" };
            let source = all.iter().find(|(name, _)| *name == write.value);
            source.map(|(_, datum)| datum.clone()).ok_or_else(found)
        };
        self.placed.event.writes.iter().map(returned).collect()
    }

    /// A transfer writes what it reads, value by value.
    fn moves(&self) -> Result<Vec<Datum>, ReplayError> {
        let event = self.placed.event;
        let moved = |write: &Access| {
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
        for (assignment, amounts) in self.amounts().enumerate() {
            let write = &self.placed.event.writes[assignment * (polynomials + 1)];
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
        let data: Vec<Datum> = self.in_registers()?.into_iter().map(|(_, datum)| datum).collect();
        let operands = Operands { data: &data, cycle: self.placed.start };
        let one = |first: usize| extract(&self.context.primitives, operands, first..first + polynomials);
        (0..data.len()).step_by(polynomials).map(one).collect()
    }

    fn key_switch(&self) -> Result<Vec<Datum>, ReplayError> {
        let data: Vec<Datum> = self.in_registers()?.into_iter().map(|(_, datum)| datum).collect();
        let operands = Operands { data: &data, cycle: self.placed.start };
        let tile = operands.tile(0)?;
        let layout = &self.context.streams.layout;
        let elements = layout.tile_elements as usize;
        let range = tile * elements..(tile + 1) * elements;
        let levels = layout.sizes.key_switch_levels as u32;
        let count = self.results().len();
        // The tile first, then the ciphertexts, and after the first tile their sums.
        let has_sums = data.len() == 1 + 2 * count;
        let one = |number: usize| {
            cancel::check();
            let source = operands.torus(1 + number)?;
            let sum = if has_sums { Some(operands.torus(1 + count + number)?.as_slice()) } else { None };
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
        let (names, data): (Vec<Value>, Vec<Datum>) = self.in_registers()?.into_iter().unzip();
        let operands = Operands { data: &data, cycle: self.placed.start };
        // Operands by the ciphertext that the program wants in a column; several columns may want the same one.
        let column_of = |name: &Value, column: usize| {
            let item = layer.sources[column];
            name.ciphertext == item.element && name.index == item.op
        };
        let is_sum = |name: &Value| name.class == self.context.chip.classes.linear_sum;
        let mut results = Vec::new();
        for result in self.results() {
            let row = result.ciphertext as usize;
            let old = names.iter().position(|name| is_sum(name) && name.ciphertext as usize == row);
            let sum = old.map(|index| operands.torus(index)).transpose()?.map(|sum| sum.as_slice());
            let needs = self.context.streams.needs.get(&op.kernel_op);
            let block = self.placed.op().iteration as usize;
            let in_block = |column| needs.is_some_and(|needs| needs.holds(row, block, column));
            let operand = |column: usize| {
                let index = names.iter().position(|name| !is_sum(name) && column_of(name, column));
                let index = index.filter(|_| in_block(column));
                index.map(|index| operands.torus(index)).transpose()
            };
            results.push(linear((matrix, bias), row, sum, layer.dimension + 1, operand)?);
        }
        Ok(results)
    }
}
