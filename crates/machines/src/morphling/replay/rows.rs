//! Replay of the events on the rows of an XPU: each reads its places at the cycle of its reads, computes, and writes at the
//! cycle of its writes. Rows that share no unit share no memory either, so each such set is a thread's work.

use super::Context;
use super::storage::Storage;
use crate::engine::schedule::{Access, Place, Placed};
use crate::morphling::emit::resources::Chip;
use crate::morphling::rotator;
use crate::torus::replay::ReplayError;
use crate::torus::replay::datum::Datum;
use polyfabric_kernels::cancel;
use polyfabric_runtime::tfhe::interpreter::Spectrum;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// The key that reaches a row: an iteration, and for each product the row and column of its polynomial.
pub type Key = (u32, Arc<[(u32, u32)]>);

/// Something that happens to the rows of a set.
pub enum Entry<'s> {
    /// An event; the key that lies at the place that it reads, for a multiplication.
    Event(Placed<'s>, Option<Key>),
    /// A write from outside.
    Write(i64, Place, Datum),
}

/// Reads come before writes of the same cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Read,
    Write,
}

struct Running<'s> {
    placed: Placed<'s>,
    key: Option<Key>,
    operands: Vec<Option<Datum>>,
    missing: usize,
}

/// Rows that share units, with their memories.
#[derive(Default)]
pub struct RowSet<'s> {
    storage: Storage,
    queue: Vec<Entry<'s>>,
    running: HashMap<u64, Running<'s>>,
    next: u64,
    agenda: BinaryHeap<Reverse<(i64, Phase, u64, usize)>>,
    writes: HashMap<u64, (Place, Datum)>,
}

impl<'s> RowSet<'s> {
    /// Queues an entry; events must come in order of their start.
    pub fn push(&mut self, entry: Entry<'s>) {
        self.queue.push(entry);
    }

    /// What lies at `place` in cycle `cycle`; everything before must have run.
    ///
    /// # Errors
    /// [`ReplayError::Empty`] when nothing does.
    pub fn get(&self, place: Place, cycle: i64) -> Result<Datum, ReplayError> {
        self.storage.get(place, cycle)
    }

    /// Runs everything queued, up to but without cycle `until`.
    ///
    /// # Errors
    /// [`ReplayError`] of the first event that finds no operand, or one of another kind.
    pub fn run(&mut self, context: &Context<'_>, until: i64) -> Result<(), ReplayError> {
        for entry in std::mem::take(&mut self.queue) {
            match entry {
                Entry::Write(cycle, place, datum) => self.schedule_write(cycle, place, datum),
                Entry::Event(placed, key) => {
                    self.advance(context, placed.start)?;
                    self.begin(placed, key);
                }
            }
        }
        self.advance(context, until)
    }

    fn schedule_write(&mut self, cycle: i64, place: Place, datum: Datum) {
        let id = self.number();
        self.writes.insert(id, (place, datum));
        self.agenda.push(Reverse((cycle, Phase::Write, id, 0)));
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn begin(&mut self, placed: Placed<'s>, key: Option<Key>) {
        let id = self.number();
        let reads = &placed.event.reads;
        for (index, read) in reads.iter().enumerate() {
            self.agenda.push(Reverse((placed.start + i64::from(read.first), Phase::Read, id, index)));
        }
        let operands = vec![None; reads.len()];
        self.running.insert(id, Running { placed, key, missing: reads.len(), operands });
    }

    fn advance(&mut self, context: &Context<'_>, until: i64) -> Result<(), ReplayError> {
        while let Some(&Reverse((cycle, phase, id, index))) = self.agenda.peek()
            && cycle < until
        {
            cancel::check();
            self.agenda.pop();
            if phase == Phase::Write {
                if let Some((place, datum)) = self.writes.remove(&id) {
                    self.storage.put(place, datum);
                }
                continue;
            }
            let Some(running) = self.running.get_mut(&id) else { continue };
            let event = running.placed.event;
            let read = &event.reads[index];
            let elsewhere = |chip: &Chip| {
                chip.key_wires.contains(&read.place.memory)
                    || chip.twiddles.contains(&read.place.memory)
                    || read.place.memory == chip.scheduler
            };
            if !elsewhere(context.chip) {
                let replaces = event.writes.iter().any(|write| write.place == read.place);
                let datum = if replaces {
                    self.storage.take(read.place, cycle)?
                } else {
                    self.storage.get(read.place, cycle)?
                };
                running.operands[index] = Some(datum);
            }
            running.missing -= 1;
            if running.missing == 0
                && let Some(running) = self.running.remove(&id)
            {
                let results = compute(context, &running)?;
                for (write, datum) in event.writes.iter().zip(results) {
                    self.schedule_write(running.placed.start + i64::from(write.first), write.place, datum);
                }
            }
        }
        Ok(())
    }
}

struct Operands<'a, 's> {
    running: &'a Running<'s>,
}

impl Operands<'_, '_> {
    fn wrong(&self, index: usize, expected: &'static str) -> ReplayError {
        let found = self.running.operands[index].as_ref().map_or("nothing", Datum::name);
        ReplayError::Kind { cycle: self.running.placed.start, expected, found }
    }

    fn torus(&self, index: usize) -> Result<&Arc<Vec<u32>>, ReplayError> {
        match &self.running.operands[index] {
            Some(Datum::Torus(torus)) => Ok(torus),
            _ => Err(self.wrong(index, "a polynomial")),
        }
    }

    fn spectrum(&self, index: usize) -> Result<&Arc<Spectrum<u32>>, ReplayError> {
        match &self.running.operands[index] {
            Some(Datum::Spectrum(spectrum)) => Ok(spectrum),
            _ => Err(self.wrong(index, "a spectrum")),
        }
    }
}

/// The results of an event, one for each of its writes.
fn compute(context: &Context<'_>, running: &Running<'_>) -> Result<Vec<Datum>, ReplayError> {
    let kinds = &context.chip.kinds;
    let primitives = &context.primitives;
    let op = running.placed.op();
    let operands = Operands { running };
    let torus = |values| Datum::Torus(Arc::new(values));
    let unknown = || ReplayError::Operation { cycle: running.placed.start, operation: op.kernel_op, part: op.body_op };
    if op.kind == kinds.decompose {
        let forward = context.forward(op).ok_or_else(unknown)?;
        let polynomial = operands.torus(0)?;
        let Some(Datum::Amounts(amounts)) = &running.operands[1] else {
            return Err(operands.wrong(1, "rotation amounts"));
        };
        let amount = amounts.get(op.iteration as usize).copied().unwrap_or(0);
        let rotated = rotator::rotate(polynomial, amount, context.chip.path_coefficients);
        let difference = primitives.subtract(&rotated, polynomial);
        return Ok(vec![Datum::Digits(Arc::new(primitives.digit(&difference, forward.level)))]);
    }
    if op.kind == kinds.forward {
        // The twiddle factors, which the last read is of, are elsewhere.
        let rows: Vec<&Datum> = running.operands.iter().flatten().collect();
        if let ([Datum::Digits(first), Datum::Digits(second)], true) = (rows.as_slice(), context.chip.merges) {
            let merged = primitives.forward_merged([first, second]);
            return Ok(merged.into_iter().map(|spectrum| Datum::Spectrum(Arc::new(spectrum))).collect());
        }
        let transform = |(index, row): (usize, &&Datum)| match row {
            Datum::Digits(digits) => Ok(Datum::Spectrum(Arc::new(primitives.forward(digits)))),
            _ => Err(operands.wrong(index, "digits")),
        };
        return rows.iter().enumerate().map(transform).collect();
    }
    if op.kind == kinds.multiply {
        return multiply(context, running, &operands);
    }
    if op.kind == kinds.inverse {
        let spectrum = Spectrum::clone(operands.spectrum(0)?);
        return Ok(vec![torus(primitives.inverse(spectrum))]);
    }
    if op.kind == kinds.accumulate {
        return Ok(vec![torus(primitives.add(operands.torus(1)?, operands.torus(0)?))]);
    }
    Err(unknown())
}

fn multiply(
    context: &Context<'_>,
    running: &Running<'_>,
    operands: &Operands<'_, '_>,
) -> Result<Vec<Datum>, ReplayError> {
    let op = running.placed.op();
    let cycle = running.placed.start;
    let unknown = || ReplayError::Operation { cycle, operation: op.kernel_op, part: op.body_op };
    let products = context.forward(op).ok_or_else(unknown)?.products.len();
    let none = ReplayError::Kind { cycle, expected: "bootstrapping key", found: "nothing" };
    let (iteration, polynomials) = running.key.as_ref().ok_or(none)?;
    let iteration = *iteration;
    let digits = operands.spectrum(0)?;
    let reads: &[Access] = &running.placed.event.reads;
    let mut results = Vec::with_capacity(products);
    if polynomials.len() != products {
        return Err(ReplayError::Kind { cycle, expected: "a key polynomial for each product", found: "others" });
    }
    for (&(row, column), write) in polynomials.iter().zip(&running.placed.event.writes) {
        let old = reads.iter().position(|read| read.place == write.place);
        let sum = match old {
            None => context.primitives.multiply(digits, iteration as usize, row, column),
            Some(index) => {
                let sum = Arc::clone(operands.spectrum(index)?);
                let sum = Arc::try_unwrap(sum).unwrap_or_else(|shared| Spectrum::clone(&shared));
                context.primitives.multiply_accumulate(sum, digits, iteration as usize, row, column)
            }
        };
        results.push(Datum::Spectrum(Arc::new(sum)));
    }
    Ok(results)
}
