//! Events of the pipeline. A ciphertext's first cycle at the rotator determines the cycle of each element in every
//! unit.

use super::super::hardware::{load_latency, through};
use super::super::machine::AMOUNT_BYTES;
use super::super::software::{BUFFERS, Batch};
use super::Emitter;
use crate::tfhe::cmux::{Datum, KeyTransfer, Pipeline, Round, Row, Stage};
use crate::tfhe::labels::{Labeler, Meaning, Rotation};
use crate::tfhe::transfers::access;
use crate::tfhe::workload::{Bootstraps, Work};
use polyfabric_program::tfhe::kernel::BodyValue;
use polyfabric_sim::schedule::{Access, ClassId, Emit, Event, OpRef, Order, Resource, Shift, Value};

/// Where and when a ciphertext is in the pipeline in one iteration.
#[derive(Clone, Copy)]
pub(crate) struct At {
    position: u64,
    /// Number of earlier CMUXes in the program.
    number: u64,
    /// Offset of its rotation amounts in the FIFO.
    amounts: u64,
    /// Offset of the iteration's key.
    key: u64,
    /// First cycle at the rotator.
    start: i64,
    /// Whether this is the last iteration, after which the accumulator leaves the pipeline.
    last: bool,
}

impl Pipeline for Emitter<'_> {
    type At<'r> = At;

    fn labels(&self) -> &Labeler {
        &self.labels
    }

    fn class(&self, datum: Datum) -> ClassId {
        let classes = &self.chip.classes;
        match datum {
            Datum::Accumulator { .. } => classes.accumulator,
            Datum::Rotated(_) => classes.rotated,
            Datum::Digits(_) => classes.digits,
            Datum::Spectrum(_) => classes.spectrum,
            Datum::Key(_) => classes.bootstrap_key,
            Datum::Running(..) | Datum::Partial(..) => classes.partial,
            Datum::Sum(_) => classes.sum,
            Datum::Product(_) => classes.product,
        }
    }

    fn row(&self, round: &Round<'_, At>, stage: Stage, number: usize) -> Row {
        let (s, chip, kinds, number) = (&self.shape, &self.chip, &self.chip.kinds, number as i64);
        let (coefficients, points) = (s.ring_degree, s.points);
        let (resource, kind, start, cycles, latency, work) = match stage {
            Stage::Rotate => (chip.rotator, kinds.rotate, number * s.group, s.group, s.rotate, coefficients * s.side),
            Stage::Decompose => {
                let start = s.to_decompose() + number * s.step;
                (chip.decomposer, kinds.decompose, start, s.step, s.decompose, coefficients * s.side_rows)
            }
            Stage::Forward => {
                let start = s.to_decompose() + s.decompose + number * s.step;
                (chip.fft, kinds.forward, start, s.step, s.forward, points * s.side_rows)
            }
            Stage::Multiply => {
                let (start, work) = (s.to_multiply() + number * s.step, points * s.side_rows * s.polynomials);
                (chip.mac, kinds.multiply, start, s.step, s.multiply + s.add, work)
            }
            Stage::Inverse => {
                let start = s.to_inverse() + number * s.group;
                (chip.ifft, kinds.inverse, start, s.inverse_cycles, s.inverse, points * s.side)
            }
            Stage::Accumulate => {
                let start = s.to_accumulate() + number * s.group;
                (chip.accumulator, kinds.accumulate, start, s.group, s.accumulate, coefficients * s.side)
            }
        };
        Row { unit: (resource, kind), start: round.at.start + start, cycles, latency, work, parts: 1 }
    }

    fn access(&self, round: &Round<'_, At>, stage: Stage, datum: Datum, value: Value) -> Access {
        let (s, chip, at) = (&self.shape, &self.chip, round.at);
        let (memory, offset, bytes) = match datum {
            Datum::Accumulator { polynomial, later } => {
                let (memory, entry) = match at.last && later {
                    true => (chip.finished, at.position % BUFFERS),
                    false => (chip.accumulators, at.position),
                };
                (memory, entry * s.accumulator() + u64::from(polynomial) * s.polynomial, s.polynomial)
            }
            Datum::Rotated(polynomial) => {
                let (group, place) = (u64::from(polynomial) / s.side, u64::from(polynomial) % s.side);
                let group = at.number * s.groups() + group;
                (chip.reorder, (group % BUFFERS * s.side + place) * s.polynomial, s.polynomial)
            }
            Datum::Digits(_) => (chip.digits, 0, s.side_rows * s.digits),
            Datum::Spectrum(_) => (chip.spectrum, 0, s.side_rows * s.spectrum),
            Datum::Key(step) => (chip.key_buffer, at.key + step as u64 * s.step_key(), s.step_key()),
            Datum::Running(..) | Datum::Partial(..) => (chip.partial, 0, s.polynomials * s.sum),
            // In the buffer before the inverse transform.
            Datum::Sum(drain) => {
                let sums = at.number % BUFFERS * s.polynomials + drain as u64 * s.side;
                (chip.piso, sums * s.sum, s.side * s.sum)
            }
            Datum::Product(_) => (chip.product, 0, s.side * s.polynomial),
        };
        let order = match (stage, datum) {
            (Stage::Rotate, Datum::Accumulator { .. }) | (Stage::Decompose, Datum::Rotated(_)) => Order::Any,
            (_, Datum::Key(_)) => Order::Any,
            _ => Order::Stream,
        };
        access(memory, offset, bytes, value, (0, 0), order)
    }

    fn others(&self, round: &Round<'_, At>, stage: Stage, _: usize) -> Vec<Access> {
        let amount = || self.amount_of(round.rotation.op, round.ciphertext, round.at.amounts);
        (stage == Stage::Rotate).then(amount).into_iter().collect()
    }

    fn addends(&self) -> i64 {
        self.shape.multiply
    }
}

impl<'a> Emitter<'a> {
    pub(super) fn rotation(&mut self, batch: &Batch, start: i64) {
        let tasks = self.tasks;
        let Work::Bootstraps(work) = &tasks.works[batch.work] else { return };
        for position in 0..u64::from(batch.count) {
            self.load(batch, work, position, start + position as i64 * self.shape.cmux);
        }
        let iterations = self.shape.lwe_dimension as u32;
        let period = self.shape.period;
        // Double buffers alternate, so the loop body is two iterations.
        let rounds = (iterations - 1) / 2;
        if rounds > 1 {
            let shift = Shift::iterations(2);
            self.repeat(start, u64::from(rounds), 2 * period as u64, shift, |emitter| {
                emitter.iteration(batch, work, 0, 0);
                emitter.iteration(batch, work, 1, period);
            });
        }
        let first = if rounds > 1 { 2 * rounds } else { 0 };
        for iteration in first..iterations {
            self.iteration(batch, work, iteration, start + i64::from(iteration) * period);
        }
        for position in 0..u64::from(batch.count) {
            self.extraction(batch, work, position, start + through(&self.shape, position + 1) - self.shape.cmux - 1);
        }
    }

    fn push(
        &mut self,
        (resource, op): (Resource, OpRef),
        start: i64,
        cycles: i64,
        work: u64,
        (reads, writes): (Vec<Access>, Vec<Access>),
    ) {
        self.builder.event(Event { resource, start, occupancy: cycles as u32, work, parts: 1, op, reads, writes });
    }

    fn fifo(&self, batch: &Batch, position: u64) -> u64 {
        ((batch.sequence % BUFFERS) * self.shape.in_flight + position) * self.shape.amounts()
    }

    fn amount_of(&self, operation: u32, element: u32, at: u64) -> Access {
        let value = self.amounts(operation, element);
        let mut amount = access(self.chip.fifo, at, self.shape.amounts(), value, (0, 0), Order::Any);
        amount.bytes = AMOUNT_BYTES;
        amount
    }

    fn group(&self, group: u64) -> std::ops::Range<u64> {
        group * self.shape.side..(group + 1) * self.shape.side
    }

    /// Writes the rotated test polynomial, and zeros, to the registers just before the first iteration reads them.
    fn load(&mut self, batch: &Batch, work: &Bootstraps, position: u64, start: i64) {
        let s = self.shape;
        let latency = load_latency(&s);
        let element = batch.first + position as u32;
        let wanted = work.tables[element as usize];
        let place = batch.tables.iter().find(|(table, _)| *table == wanted).map_or(0, |&(_, place)| place);
        let span = (latency, latency + s.group - 1);
        for group in 0..s.groups() {
            let (table, lookup) = (self.table(wanted), self.lookups.first(work.blind_rotation) + element);
            let (at, bytes) = (place * s.polynomial, s.polynomial);
            let reads = vec![
                access(self.chip.tables, at, bytes, table, (0, s.group - 1), Order::Any),
                self.amount_of(work.blind_rotation, element, self.fifo(batch, position)),
            ];
            let writes = self.group(group).map(|polynomial| {
                let meaning = Meaning::Body { value: BodyValue(polynomial as u32), lookup, iteration: 0 };
                let value = self.labels.value(self.chip.classes.accumulator, [meaning]);
                let at = position * s.accumulator() + polynomial * s.polynomial;
                access(self.chip.accumulators, at, s.polynomial, value, span, Order::Stream)
            });
            let writes = writes.collect();
            let op = self.op(self.chip.kinds.load, work.blind_rotation, element);
            let op = OpRef { body_op: group as u32, ..op };
            let at = start + (group as i64 - 1) * s.group - latency;
            self.push((self.chip.loader, op), at, s.group, s.side * s.polynomial, (reads, writes));
        }
    }

    /// One iteration of a batch; its first ciphertext reaches the rotator in cycle `start`.
    fn iteration(&mut self, batch: &Batch, work: &Bootstraps, iteration: u32, start: i64) {
        let s = self.shape;
        let number = self.iterations_before(batch) + u64::from(iteration);
        let key = number % BUFFERS * s.key();
        for position in 0..u64::from(batch.count) {
            let at = At {
                position,
                number: number * s.in_flight + position,
                amounts: self.fifo(batch, position),
                key,
                start: start + position as i64 * s.cmux,
                last: u64::from(iteration) + 1 == s.lwe_dimension,
            };
            let Some(round) = self.round(batch, work, iteration, at) else { return };
            if position == 0 {
                // It arrives one cycle before the multipliers read it.
                let (chip, latency) = (self.chip.clone(), self.machine.memory_latency as i64);
                let transfer = KeyTransfer {
                    kind: chip.kinds.key,
                    channels: &chip.keys,
                    start: start + s.to_multiply() - s.key_cycles - latency - 1,
                    cycles: s.key_cycles,
                    latency,
                    from: chip.memory,
                    to: (chip.key_buffer, key),
                    polynomial: s.key_polynomial,
                };
                self.load_key(round.rotation.op, round.steps, iteration, &transfer);
            }
            for group in 0..s.groups() {
                self.rotate(&round, group as usize, self.group(group).map(|polynomial| polynomial as u32));
            }
            (0..round.steps.steps.len()).for_each(|step| self.pass(&round, step, true));
            (0..round.steps.drains.len()).for_each(|drain| self.drain(&round, drain));
        }
    }

    /// A ciphertext of the blind rotation of `work`.
    fn round(&self, batch: &Batch, work: &Bootstraps, iteration: u32, at: At) -> Option<Round<'a, At>> {
        let rotation = Rotation::new(self.program, &self.lookups, work.blind_rotation)?;
        let steps = self.tasks.steps.get(&work.blind_rotation)?;
        Some(Round { rotation, steps, ciphertext: batch.first + at.position as u32, iteration, at })
    }

    /// Streams a finished accumulator to the output buffer.
    fn extraction(&mut self, batch: &Batch, work: &Bootstraps, position: u64, start: i64) {
        let s = self.shape;
        let at = At { position, number: 0, amounts: 0, key: 0, start, last: true };
        let Some(round) = self.round(batch, work, s.lwe_dimension as u32 - 1, at) else { return };
        let reads = (0..s.polynomials).map(|p| {
            let at = (p / s.side) as i64 * s.group;
            self.accumulator(&round, (p as u32, true), (at, at + s.group - 1))
        });
        let reads = reads.collect();
        let item = work.extracted[round.ciphertext as usize];
        let at = (batch.sequence % BUFFERS * s.in_flight + position) * s.large();
        let writes = vec![access(self.chip.outputs, at, s.large(), self.lwe(item), (1, s.cmux), Order::Any)];
        let op = self.op(self.chip.kinds.extract, item.op, round.ciphertext);
        self.push((self.chip.extractor, op), start, s.cmux, s.large_dimension + 1, (reads, writes));
    }
}
