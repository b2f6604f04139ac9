//! Events of the pipeline. A ciphertext's first cycle at the rotator determines the cycle of each element in every
//! unit.

use super::super::hardware::{load_latency, through};
use super::super::machine::AMOUNT_BYTES;
use super::super::software::{BUFFERS, Batch};
use super::Emitter;
use crate::tfhe::iteration::{Forward, Inverse, IterationPlan};
use crate::tfhe::labels::{Meaning, Rotation};
use crate::tfhe::transfers::access;
use crate::tfhe::workload::{Bootstraps, Work};
use polyfabric_program::tfhe::kernel::BodyValue;
use polyfabric_sim::schedule::{Access, ClassId, Emit, Event, KindId, MemoryId, OpRef, Order, Resource, Shift, Value};

/// One ciphertext in one iteration.
#[derive(Clone, Copy)]
struct Round<'a> {
    rotation: Rotation<'a>,
    plan: &'a IterationPlan,
    element: u32,
    position: u64,
    iteration: u32,
    /// Number of earlier CMUXes in the program.
    number: u64,
    /// Offset of its rotation amounts in the FIFO.
    amounts: u64,
    /// First cycle at the rotator.
    start: i64,
    /// Whether this is the last iteration, after which the accumulator leaves the pipeline.
    last: bool,
}

impl Round<'_> {
    fn op(&self, kind: KindId, step: u64) -> OpRef {
        let (kernel_op, ciphertext, iteration) = (self.rotation.op, self.element, self.iteration);
        OpRef { kind, kernel_op, body_op: step as u32, ciphertext, iteration }
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

    fn amount(&self, operation: u32, element: u32, at: u64) -> Access {
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
                self.amount(work.blind_rotation, element, self.fifo(batch, position)),
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
        let Some((rotation, plan)) = self.planned(work) else { return };
        let number = self.iterations_before(batch) + u64::from(iteration);
        let buffer = number % BUFFERS * s.key();
        self.key(rotation.op, plan, iteration, buffer, start);
        for position in 0..u64::from(batch.count) {
            let round = Round {
                rotation,
                plan,
                element: batch.first + position as u32,
                position,
                iteration,
                number: number * s.in_flight + position,
                amounts: self.fifo(batch, position),
                start: start + position as i64 * s.cmux,
                last: u64::from(iteration) + 1 == s.lwe_dimension,
            };
            for group in 0..s.groups() {
                self.rotate(&round, group);
            }
            for step in 0..s.steps() {
                self.transform(&round, step, buffer);
            }
            for group in 0..s.groups() {
                self.accumulate(&round, group);
            }
        }
    }

    /// The blind rotation of `work`, and the plan of its body.
    fn planned(&self, work: &Bootstraps) -> Option<(Rotation<'a>, &'a IterationPlan)> {
        let rotation = Rotation::new(self.program, &self.lookups, work.blind_rotation)?;
        Some((rotation, self.tasks.plans.get(&work.blind_rotation)?))
    }

    fn forwards<'p>(&self, plan: &'p IterationPlan, step: u64) -> &'p [Forward] {
        plan.forwards.chunks(self.shape.side_rows as usize).nth(step as usize).unwrap_or(&[])
    }

    fn step_key(&self, plan: &IterationPlan, step: u64, iteration: u32) -> Value {
        let products = self.forwards(plan, step).iter().flat_map(|forward| &forward.products);
        let keys = products.map(|product| Meaning::Key { row: product.row, column: product.column, iteration });
        self.labels.value(self.chip.classes.bootstrap_key, keys)
    }

    /// Loads the key of an iteration, striped over the channels; it arrives one cycle before the multipliers read it.
    fn key(&mut self, operation: u32, plan: &IterationPlan, iteration: u32, buffer: u64, start: i64) {
        let s = self.shape;
        let latency = self.machine.memory_latency as i64;
        let channels = self.machine.key_channels;
        let stripe = s.key().div_ceil(channels);
        let start = start + s.to_multiply() - s.key_cycles - latency - 1;
        let (sent, arrives) = ((0, s.key_cycles - 1), (latency, latency + s.key_cycles - 1));
        for channel in 0..channels {
            let (from, to) = (channel * stripe, ((channel + 1) * stripe).min(s.key()));
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for step in 0..s.steps() {
                let (first, past) = (step * s.step_key(), (step + 1) * s.step_key());
                let (begin, end) = (from.max(first), to.min(past));
                if begin < end {
                    let key = self.step_key(plan, step, iteration);
                    reads.push(access(self.chip.memory, 0, end - begin, key, sent, Order::Any));
                    writes.push(access(self.chip.key_buffer, buffer + begin, end - begin, key, arrives, Order::Any));
                }
            }
            if reads.is_empty() {
                continue;
            }
            let op = OpRef { iteration, ..self.op(self.chip.kinds.key, operation, Value::NONE) };
            self.push((self.chip.keys[channel as usize], op), start, s.key_cycles, to - from, (reads, writes));
        }
    }

    /// A value that packs `values` of the body in this round.
    fn values(&self, round: &Round<'_>, class: ClassId, values: impl IntoIterator<Item = BodyValue>) -> Value {
        let (lookup, iteration) = (round.rotation.first + round.element, round.iteration);
        let meanings = values.into_iter().map(|value| Meaning::Body { value, lookup, iteration });
        self.labels.value(class, meanings)
    }

    /// The inverse transforms of the columns of group `group`.
    fn inverses<'r>(&self, round: &Round<'r>, group: u64) -> impl Iterator<Item = u32> + use<'r> {
        let (plan, columns) = (round.plan, self.group(group));
        let of = move |column| {
            let mut inverses = plan.drains.iter().flatten().filter(move |inverse| u64::from(inverse.column) == column);
            inverses.next().map(|&Inverse { operation, .. }| operation)
        };
        columns.filter_map(of)
    }

    /// Polynomial `polynomial` of the accumulator, `more` iterations later.
    fn accumulator(&self, round: &Round<'_>, polynomial: u64, more: u32, span: (i64, i64), order: Order) -> Access {
        let s = self.shape;
        let later = Round { iteration: round.iteration + more, ..*round };
        let value = self.values(&later, self.chip.classes.accumulator, [BodyValue(polynomial as u32)]);
        let (memory, entry) = match round.last && more > 0 {
            true => (self.chip.finished, round.position % BUFFERS),
            false => (self.chip.accumulators, round.position),
        };
        access(memory, entry * s.accumulator() + polynomial * s.polynomial, s.polynomial, value, span, order)
    }

    /// A polynomial in the reordering block.
    fn reordered(&self, round: &Round<'_>, polynomial: u64, span: (i64, i64), order: Order) -> Access {
        let s = self.shape;
        let group = round.number * s.groups() + polynomial / s.side;
        let at = (group % BUFFERS * s.side + polynomial % s.side) * s.polynomial;
        let forward = round.plan.forwards.iter().find(|forward| u64::from(forward.polynomial) == polynomial);
        let rotated = forward.map(|forward| round.rotation.rotated(forward.operation));
        let value = self.values(round, self.chip.classes.rotated, rotated);
        access(self.chip.reorder, at, s.polynomial, value, span, order)
    }

    fn rotate(&mut self, round: &Round<'_>, group: u64) {
        let s = self.shape;
        let span = (0, s.group - 1);
        let out = (s.rotate - 1, s.rotate + s.group - 2);
        let mut reads: Vec<Access> =
            self.group(group).map(|p| self.accumulator(round, p, 0, span, Order::Any)).collect();
        reads.push(self.amount(round.rotation.op, round.element, round.amounts));
        let writes = self.group(group).map(|p| self.reordered(round, p, out, Order::Stream)).collect();
        let start = round.start + group as i64 * s.group;
        let op = round.op(self.chip.kinds.rotate, group);
        self.push((self.chip.rotator, op), start, s.group, s.ring_degree * s.side, (reads, writes));
    }

    fn transform(&mut self, round: &Round<'_>, step: u64, buffer: u64) {
        let s = self.shape;
        let (kinds, classes) = (self.chip.kinds, self.chip.classes);
        let span = (0, s.step - 1);
        let out = |latency: i64| (latency - 1, latency + s.step - 2);
        let wire =
            |memory: MemoryId, bytes: u64, value: Value, span| access(memory, 0, bytes, value, span, Order::Stream);
        let (digits_at, spectrum_at) = (self.chip.digits, self.chip.spectrum);
        let (rotation, forwards) = (round.rotation, self.forwards(round.plan, step));
        let operations = || forwards.iter().map(|forward| forward.operation);
        let digits = self.values(round, classes.digits, operations().map(|op| rotation.digits(op)));
        let digits = |span| wire(digits_at, s.side_rows * s.digits, digits, span);
        let spectrum = self.values(round, classes.spectrum, operations().map(|op| rotation.result(op)));
        let spectrum = |span| wire(spectrum_at, s.side_rows * s.spectrum, spectrum, span);

        let decomposes = round.start + s.to_decompose() + step as i64 * s.step;
        let first = step * s.side_rows / s.levels;
        let reads = (first..first + s.side).map(|p| self.reordered(round, p, span, Order::Any)).collect();
        let (op, work) = (round.op(kinds.decompose, step), s.ring_degree * s.side_rows);
        self.push((self.chip.decomposer, op), decomposes, s.step, work, (reads, vec![digits(out(s.decompose))]));

        let (op, work) = (round.op(kinds.forward, step), s.points * s.side_rows);
        let moved = (vec![digits(span)], vec![spectrum(out(s.forward))]);
        self.push((self.chip.fft, op), decomposes + s.decompose, s.step, work, moved);

        let key = self.step_key(round.plan, step, round.iteration);
        let key = access(self.chip.key_buffer, buffer + step * s.step_key(), s.step_key(), key, span, Order::Any);
        let sums = s.polynomials * s.sum;
        let partial = |emitter: &Self, step: u64, span| {
            let last = emitter.forwards(round.plan, step).last();
            let products = last.into_iter().flat_map(|forward| &forward.products);
            let sums_so_far = products.map(|product| rotation.product(product.row, product.column));
            let value = emitter.values(round, classes.partial, sums_so_far);
            access(emitter.chip.partial, 0, sums, value, span, Order::Stream)
        };
        let mut reads = vec![spectrum(span), key];
        if let Some(before) = step.checked_sub(1) {
            reads.push(partial(self, before, (s.multiply, s.multiply + s.step - 1)));
        }
        let late = out(s.multiply + s.add);
        let writes = if step + 1 == s.steps() {
            (0..s.groups()).map(|group| self.summed(round, group, late)).collect()
        } else {
            vec![partial(self, step, late)]
        };
        let (op, work) = (round.op(kinds.multiply, step), s.points * s.side_rows * s.polynomials);
        let start = round.start + s.to_multiply() + step as i64 * s.step;
        self.push((self.chip.mac, op), start, s.step, work, (reads, writes));
    }

    /// The sums of a group's columns, in the buffer before the inverse transform.
    fn summed(&self, round: &Round<'_>, group: u64, span: (i64, i64)) -> Access {
        let s = self.shape;
        let at = (round.number % BUFFERS * s.polynomials + group * s.side) * s.sum;
        let sums = self.inverses(round, group).map(|op| round.rotation.sum(op));
        let value = self.values(round, self.chip.classes.sum, sums);
        access(self.chip.piso, at, s.side * s.sum, value, span, Order::Stream)
    }

    fn accumulate(&mut self, round: &Round<'_>, group: u64) {
        let s = self.shape;
        let (kinds, classes) = (self.chip.kinds, self.chip.classes);
        let span = (0, s.inverse_cycles - 1);
        let products = self.inverses(round, group).map(|op| round.rotation.result(op));
        let value = self.values(round, classes.product, products);
        let product_at = self.chip.product;
        let product = |span| access(product_at, 0, s.side * s.polynomial, value, span, Order::Stream);
        let late = (s.inverse - 1, s.inverse + s.inverse_cycles - 2);
        let start = round.start + group as i64 * s.group;
        let (op, work) = (round.op(kinds.inverse, group), s.points * s.side);
        let moved = (vec![self.summed(round, group, span)], vec![product(late)]);
        self.push((self.chip.ifft, op), start + s.to_inverse(), s.inverse_cycles, work, moved);

        let mut reads = vec![product(span)];
        let of_group = (0, s.group - 1);
        reads.extend(self.group(group).map(|p| self.accumulator(round, p, 0, of_group, Order::Stream)));
        let late = (s.accumulate - 1, s.accumulate + s.group - 2);
        let writes = self.group(group).map(|p| self.accumulator(round, p, 1, late, Order::Stream)).collect();
        let (op, work) = (round.op(kinds.accumulate, group), s.ring_degree * s.side);
        self.push((self.chip.accumulator, op), start + s.to_accumulate(), s.group, work, (reads, writes));
    }

    /// Streams a finished accumulator to the output buffer.
    fn extraction(&mut self, batch: &Batch, work: &Bootstraps, position: u64, start: i64) {
        let s = self.shape;
        let element = batch.first + position as u32;
        let Some((rotation, plan)) = self.planned(work) else { return };
        let round = Round {
            rotation,
            plan,
            element,
            position,
            iteration: s.lwe_dimension as u32 - 1,
            number: 0,
            amounts: 0,
            start,
            last: true,
        };
        let reads = (0..s.polynomials).map(|p| {
            let at = (p / s.side) as i64 * s.group;
            self.accumulator(&round, p, 1, (at, at + s.group - 1), Order::Stream)
        });
        let reads = reads.collect();
        let item = work.extracted[element as usize];
        let at = (batch.sequence % BUFFERS * s.in_flight + position) * s.large();
        let writes = vec![access(self.chip.outputs, at, s.large(), self.lwe(item), (1, s.cmux), Order::Any)];
        let op = self.op(self.chip.kinds.extract, item.op, element);
        self.push((self.chip.extractor, op), start, s.cmux, s.large_dimension + 1, (reads, writes));
    }
}
