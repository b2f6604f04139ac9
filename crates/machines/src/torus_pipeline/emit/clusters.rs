//! Events of the PBS and key-switch clusters.

use super::super::cluster::{IterationTimes, KEY_HOP, TileTimes};
use super::super::software::{self, Epoch, bytes_of, core_rows};
use super::super::streams::{Drain, Steps};
use super::Emitter;
use super::resources::Core;
use crate::tfhe::iteration::Inverse;
use crate::tfhe::labels::{Meaning, Rotation};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::steady::Settled;
use crate::tfhe::transfers::access;
use crate::tfhe::workload::{Bootstraps, Item, Work};
use polyfabric_program::tfhe::kernel::{BodyValue, OpKind};
use polyfabric_sim::schedule::{Access, ClassId, Emit, Event, KindId, OpRef, Order, Place, Resource, Shift, Value};

/// One ciphertext on one core, in one iteration.
struct Assignment<'a> {
    core: &'a Core,
    ciphertext: u32,
    wave: u64,
    /// The buffer of its complete sums.
    sums: u64,
    rotation: Rotation<'a>,
    iteration: u32,
}

/// An event before its operation and accesses are set.
struct Action {
    resource: Resource,
    start: i64,
    occupancy: i64,
    work: u64,
    parts: u32,
}

/// A transfer from the global scratchpad, on one bus to all cores or on one bus per core.
struct Sent<'a> {
    buses: &'a [Resource],
    start: i64,
    occupancy: i64,
    op: OpRef,
}

impl Emitter<'_> {
    /// Adds the events of a loop; each iteration shifts values by `step`. `one` adds the events of an iteration, with
    /// its number, relative to `base`.
    fn iterations<T: Clone>(
        &mut self,
        settled: &Settled<T>,
        base: i64,
        step: i64,
        start: impl Fn(&T) -> i64,
        one: impl Fn(&mut Self, usize, &T, i64),
    ) -> usize {
        for (number, times) in settled.prologue.iter().enumerate() {
            one(self, number, times, base);
        }
        let mut number = settled.prologue.len();
        if let Some(steady) = &settled.steady {
            let begin = start(&steady.pair[0]);
            let shift = Shift::iterations(2 * step);
            self.repeat(begin - base, steady.rounds as u64, steady.period as u64, shift, |emitter| {
                one(emitter, number, &steady.pair[0], begin);
                one(emitter, number + 1, &steady.pair[1], begin);
            });
            number += 2 * steady.rounds;
        }
        for times in &settled.epilogue {
            one(self, number, times, base);
            number += 1;
        }
        number
    }

    pub(super) fn rotation(&mut self, epoch: &Epoch, task: u32, base: i64) {
        let (tasks, timeline) = (self.tasks, self.timeline);
        let Work::Bootstraps(work) = &tasks.works[epoch.work] else { return };
        let steps = &tasks.steps[&work.blind_rotation];
        let rotation = &timeline.rotations[&task];
        let last = self.iterations(
            &rotation.iterations,
            base,
            1,
            |times| times.key,
            |emitter, number, times, base| {
                emitter.iteration(epoch, work, steps, number as u32, times, base);
            },
        );
        self.iteration(epoch, work, steps, last as u32, &rotation.last, base);
        for (wave, &start) in (0..).zip(&rotation.extractions) {
            self.extraction(epoch, work, wave, start - base);
        }
    }

    fn push(&mut self, action: &Action, op: OpRef, reads: Vec<Access>, writes: Vec<Access>) {
        let Action { resource, start, occupancy, work, parts } = *action;
        self.builder.event(Event { resource, start, occupancy: occupancy as u32, work, parts, op, reads, writes });
    }

    fn key(&self, iteration: u32, steps: &Steps, step: usize) -> Value {
        let columns = |row| (0..steps.polynomials).map(move |column| Meaning::Key { row, column, iteration });
        let keys = steps.steps[step].rows.iter().flat_map(|row| columns(row.row));
        self.labels.value(self.chip.classes.bootstrap_key, keys)
    }

    fn key_bytes(&self, steps: &Steps, step: usize) -> u64 {
        let rows = steps.steps[step].rows.len() as u64;
        rows * u64::from(steps.polynomials) * self.tasks.layout.sizes.spectrum
    }

    /// Loads the key of an iteration, striped over its channels.
    fn load_key(&mut self, operation: u32, iteration: u32, steps: &Steps, times: &IterationTimes, base: i64) {
        let (c, layout) = (self.timeline.steps, self.tasks.layout);
        let channels = self.machine.key_channels;
        let stripe = layout.sizes.key.div_ceil(channels);
        let kind = self.chip.kinds.key;
        let (sent, arrival) = ((0, c.key - 1), (c.memory, c.memory + c.key - 1));
        for index in 0..channels {
            let (from, to) = (index * stripe, ((index + 1) * stripe).min(layout.sizes.key));
            let (mut reads, mut writes, mut first) = (Vec::new(), Vec::new(), 0);
            for step in 0..steps.steps.len() {
                let past = first + self.key_bytes(steps, step);
                let (begin, end) = (from.max(first), to.min(past));
                if begin < end {
                    let key = self.key(iteration, steps, step);
                    let at = layout.keys.entry(u64::from(times.buffer)) + begin;
                    reads.push(access(self.chip.hbm, 0, end - begin, key, sent, Order::Any));
                    writes.push(access(self.chip.global, at, end - begin, key, arrival, Order::Any));
                }
                first = past;
            }
            if reads.is_empty() {
                continue;
            }
            let resource = self.chip.channels[index as usize];
            let (start, work) = (times.key - base, to - from);
            let action = Action { resource, start, occupancy: c.key, work, parts: 1 };
            let op = OpRef { kind, kernel_op: operation, body_op: Value::NONE, ciphertext: Value::NONE, iteration };
            self.push(&action, op, reads, writes);
        }
    }

    fn iteration(
        &mut self,
        epoch: &Epoch,
        work: &Bootstraps,
        steps: &Steps,
        number: u32,
        times: &IterationTimes,
        base: i64,
    ) {
        let Some(rotation) = Rotation::new(self.program, &self.lookups, work.blind_rotation) else { return };
        self.load_key(rotation.op, number, steps, times, base);
        let chip = self.chip.clone();
        for (wave, starts) in (0..).zip(&times.waves) {
            let (drains, sums) = (&times.drains[wave as usize], u64::from(times.sums[wave as usize]));
            let assignments: Vec<Assignment<'_>> = self
                .assignments(epoch, wave)
                .map(|(core, ciphertext)| Assignment {
                    core: &chip.cores[core],
                    ciphertext,
                    wave,
                    sums,
                    rotation,
                    iteration: number,
                })
                .collect();
            let mut key_at = self.tasks.layout.keys.entry(u64::from(times.buffer));
            for (step, &start) in starts.iter().enumerate() {
                key_at += self.multicast(&assignments, steps, step, start - base, key_at);
                for assignment in &assignments {
                    self.step(assignment, steps, step, start - base);
                    for (drain, _) in steps.drained(step) {
                        self.drain(assignment, steps, drain, drains[drain] - base);
                    }
                }
            }
        }
    }

    /// Sends the key polynomials of a step to all cores with a ciphertext; returns their bytes in the global
    /// scratchpad.
    fn multicast(&mut self, assignments: &[Assignment<'_>], steps: &Steps, step: usize, start: i64, at: u64) -> u64 {
        let c = self.timeline.steps;
        let bytes = self.key_bytes(steps, step);
        let Some(assignment) = assignments.first() else { return bytes };
        let key = self.key(assignment.iteration, steps, step);
        let read = access(self.chip.global, at, bytes, key, (0, c.polynomial - 1), Order::Any);
        let out = (KEY_HOP - 1, KEY_HOP + c.polynomial - 2);
        let writes: Vec<Access> = assignments
            .iter()
            .map(|assignment| access(assignment.core.key, 0, bytes, key, out, Order::Stream))
            .collect();
        let kind = self.chip.kinds.multicast;
        let start = start + c.to_multiply() - KEY_HOP;
        let (kernel_op, iteration) = (assignment.rotation.op, assignment.iteration);
        let op = OpRef { kind, kernel_op, body_op: step as u32, ciphertext: Value::NONE, iteration };
        self.sent(Sent { buses: &self.chip.key_buses.clone(), start, occupancy: c.polynomial, op }, &[read], writes);
        bytes
    }

    /// One polynomial of an accumulator after `iteration` iterations.
    fn accumulator(
        &self,
        assignment: &Assignment<'_>,
        iteration: u32,
        polynomial: u32,
        span: (i64, i64),
        order: Order,
    ) -> Access {
        let sizes = self.tasks.layout.sizes;
        let at = self.tasks.layout.resident.entry(assignment.wave) + u64::from(polynomial) * sizes.polynomial;
        let lookup = assignment.rotation.first + assignment.ciphertext;
        let meaning = Meaning::Body { value: BodyValue(polynomial), lookup, iteration };
        let value = self.labels.value(self.chip.classes.accumulator, [meaning]);
        access(assignment.core.local, at, sizes.polynomial, value, span, order)
    }

    /// An event of `assignment` on one of its core's units; `number` is that of its step or drain.
    fn on_unit(
        &mut self,
        assignment: &Assignment<'_>,
        (kind, resource, number): (KindId, Resource, usize),
        (start, occupancy): (i64, i64),
        (work, parts): (u64, u64),
        (reads, writes): (Vec<Access>, Vec<Access>),
    ) {
        let (kernel_op, ciphertext, iteration) = (assignment.rotation.op, assignment.ciphertext, assignment.iteration);
        let op = OpRef { kind, kernel_op, body_op: number as u32, ciphertext, iteration };
        self.push(&Action { resource, start, occupancy, work, parts: parts as u32 }, op, reads, writes);
    }

    /// A value that packs `values` of the body in `assignment`'s iteration.
    fn values(
        &self,
        assignment: &Assignment<'_>,
        class: ClassId,
        values: impl IntoIterator<Item = BodyValue>,
    ) -> Value {
        let (lookup, iteration) = (assignment.rotation.first + assignment.ciphertext, assignment.iteration);
        let meanings = values.into_iter().map(|value| Meaning::Body { value, lookup, iteration });
        self.labels.value(class, meanings)
    }

    /// Events of a step, from the rotator to the multipliers.
    fn step(&mut self, assignment: &Assignment<'_>, steps: &Steps, number: usize, start: i64) {
        let c = self.timeline.steps;
        let sizes = self.tasks.layout.sizes;
        let (classes, kinds, core) = (self.chip.classes, self.chip.kinds, assignment.core);
        let step = &steps.steps[number];
        let (rows, columns) = (step.rows.len() as u64, u64::from(steps.polynomials));
        let points = sizes.ring_degree / 2;
        let span = (0, c.polynomial - 1);
        let out = |latency: i64| (latency - 1, latency + c.polynomial - 2);
        let occupied = |start| (start, c.polynomial);
        // The decomposer's buffer keeps a polynomial for all steps that use its digits.
        let held = |emitter: &Self, polynomial: u32, span| {
            let at = u64::from(polynomial % steps.held) * sizes.polynomial;
            let mut rows = steps.steps.iter().flat_map(|step| &step.rows);
            let row = rows.find(|row| row.polynomial == polynomial);
            let rotated = row.map(|row| assignment.rotation.rotated(row.operation));
            let value = emitter.values(assignment, classes.rotated, rotated);
            access(core.rotated, at, sizes.polynomial, value, span, Order::Stream)
        };
        if !step.rotates.is_empty() {
            let mut reads = Vec::new();
            for &polynomial in &step.rotates {
                let mut pointers = self.accumulator(assignment, assignment.iteration, polynomial, span, Order::Any);
                pointers.bytes *= 2;
                reads.push(pointers);
            }
            let amounts = self.amounts(assignment.rotation.op, assignment.ciphertext);
            let at = self.tasks.layout.rotations(assignment.wave);
            let mut amounts = access(core.local, at, sizes.rotations, amounts, (0, 0), Order::Any);
            amounts.bytes = COEFFICIENT_BYTES;
            reads.push(amounts);
            let writes = step.rotates.iter().map(|&polynomial| held(self, polynomial, out(c.rotate))).collect();
            let count = step.rotates.len() as u64;
            let unit = (kinds.rotate, core.rotator, number);
            let work = (sizes.ring_degree * count, count);
            self.on_unit(assignment, unit, occupied(start - c.rotate), work, (reads, writes));
        }
        let stream = |memory, bytes, value, span| access(memory, 0, bytes, value, span, Order::Stream);
        let rotation = assignment.rotation;
        let operations = || step.rows.iter().map(|row| row.operation);
        let digits = self.values(assignment, classes.digits, operations().map(|op| rotation.digits(op)));
        let digits = |span| stream(core.digits, rows * sizes.polynomial, digits, span);
        let spectrum = self.values(assignment, classes.spectrum, operations().map(|op| rotation.result(op)));
        let spectrum = |span| stream(core.spectrum, rows * sizes.spectrum, spectrum, span);

        let reads = step.polynomials().into_iter().map(|polynomial| held(self, polynomial, span)).collect();
        let unit = (kinds.decompose, core.decomposer, number);
        let work = (sizes.ring_degree * rows, rows);
        self.on_unit(assignment, unit, occupied(start), work, (reads, vec![digits(out(c.decompose))]));

        let unit = (kinds.forward, core.fft, number);
        let moved = (vec![digits(span)], vec![spectrum(out(c.forward))]);
        self.on_unit(assignment, unit, occupied(start + c.decompose), (points * rows, rows), moved);

        let key = self.key(assignment.iteration, steps, number);
        let key = access(core.key, 0, rows * columns * sizes.spectrum, key, span, Order::Stream);
        let mut reads = vec![spectrum(span), key];
        let before = number.checked_sub(1).filter(|_| self.machine.accumulates);
        reads.extend(before.map(|before| self.running(assignment, steps, before, span)));
        let sums = |(drain, _): (usize, &Drain)| self.sum(assignment, steps, drain, out(c.multiply));
        let mut writes: Vec<Access> = steps.drained(number).map(sums).collect();
        if writes.is_empty() {
            writes.push(self.running(assignment, steps, number, out(c.multiply)));
        }
        let unit = (kinds.multiply, core.vma, number);
        let products = rows * columns;
        self.on_unit(
            assignment,
            unit,
            occupied(start + c.to_multiply()),
            (points * products, products),
            (reads, writes),
        );
    }

    /// Sums of all columns up to step `step`, in the buffer for running sums.
    fn running(&self, assignment: &Assignment<'_>, steps: &Steps, step: usize, span: (i64, i64)) -> Access {
        let bytes = u64::from(steps.polynomials) * self.tasks.layout.sizes.spectrum;
        let last = steps.steps[step].rows.last().map_or(0, |row| row.row);
        let sums = (0..steps.polynomials).map(|column| assignment.rotation.product(last, column));
        let value = self.values(assignment, self.chip.classes.running, sums);
        access(assignment.core.sum, 0, bytes, value, span, Order::Stream)
    }

    /// The complete sums of a drain, on the wire to the inverse transforms or in one of the buffers before them.
    fn sum(&self, assignment: &Assignment<'_>, steps: &Steps, drain: usize, span: (i64, i64)) -> Access {
        let inverses = &steps.drains[drain].inverses;
        let spectrum = self.tasks.layout.sizes.spectrum;
        let at = match inverses.first() {
            Some(first) if self.machine.accumulates => {
                ((1 + assignment.sums) * u64::from(steps.polynomials) + u64::from(first.column)) * spectrum
            }
            _ => 0,
        };
        let sums = inverses.iter().map(|inverse| assignment.rotation.sum(inverse.operation));
        let value = self.values(assignment, self.chip.classes.sum, sums);
        access(assignment.core.sum, at, inverses.len() as u64 * spectrum, value, span, Order::Stream)
    }

    /// Events of a drain, from the inverse transforms to the accumulators.
    fn drain(&mut self, assignment: &Assignment<'_>, steps: &Steps, number: usize, start: i64) {
        let c = self.timeline.steps;
        let sizes = self.tasks.layout.sizes;
        let (classes, kinds, core) = (self.chip.classes, self.chip.kinds, assignment.core);
        let inverses = &steps.drains[number].inverses;
        let columns = inverses.len() as u64;
        let span = (0, c.drain - 1);
        let out = |latency: i64| (latency - 1, latency + c.drain - 2);
        let products = inverses.iter().map(|inverse| assignment.rotation.result(inverse.operation));
        let product = self.values(assignment, classes.product, products);
        let product = |span| access(core.product, 0, columns * sizes.polynomial, product, span, Order::Stream);
        let moved = (vec![self.sum(assignment, steps, number, span)], vec![product(out(c.backward))]);
        let work = (sizes.ring_degree / 2 * columns, columns);
        self.on_unit(assignment, (kinds.inverse, core.ifft, number), (start, c.drain), work, moved);

        let mut reads = vec![product(span)];
        let mut writes = Vec::new();
        for inverse in inverses {
            let column = inverse.column;
            let partial = |emitter: &Self, taken: usize, span| {
                let at = u64::from(column) * sizes.polynomial;
                let of_column = |inverse: &&Inverse| inverse.column == column;
                let inverse = steps.drains.iter().flat_map(|drain| &drain.inverses).filter(of_column).nth(taken);
                let added = inverse.map(|inverse| assignment.rotation.added(inverse.operation));
                let value = emitter.values(assignment, classes.partial, added);
                access(core.sums, at, sizes.polynomial, value, span, Order::Stream)
            };
            let (last, order) = steps.order(number, column);
            // The first addend is the old accumulator.
            reads.push(match order.checked_sub(1) {
                None => self.accumulator(assignment, assignment.iteration, column, span, Order::Stream),
                Some(before) => partial(self, before, span),
            });
            writes.push(match last {
                true => {
                    self.accumulator(assignment, assignment.iteration + 1, column, out(c.accumulate), Order::Stream)
                }
                false => partial(self, order, out(c.accumulate)),
            });
        }
        let unit = (kinds.accumulate, core.accumulator, number);
        let work = (sizes.ring_degree * columns, columns);
        self.on_unit(assignment, unit, (start + c.backward, c.drain), work, (reads, writes));
    }

    /// Streams the finished accumulators of a wave to the key-switch clusters' memory.
    fn extraction(&mut self, epoch: &Epoch, work: &Bootstraps, wave: u64, start: i64) {
        let c = self.timeline.steps;
        let layout = self.tasks.layout;
        let sizes = layout.sizes;
        let kind = self.chip.kinds.extract;
        let Some(rotation) = Rotation::new(self.program, &self.lookups, work.blind_rotation) else { return };
        let chip = self.chip.clone();
        for (core, ciphertext) in self.assignments(epoch, wave) {
            let core = &chip.cores[core];
            let iteration = sizes.lwe_dimension as u32;
            let assignment = Assignment { core, ciphertext, wave, sums: 0, rotation, iteration };
            let mut reads = Vec::new();
            for polynomial in 0..sizes.polynomials as u32 {
                let mut read =
                    self.accumulator(&assignment, iteration, polynomial, (0, c.extraction() - 1), Order::Stream);
                // Only the constant coefficient of the body polynomial is read.
                if u64::from(polynomial) + 1 == sizes.polynomials {
                    read.bytes = COEFFICIENT_BYTES;
                }
                reads.push(read);
            }
            let item = work.extracted[ciphertext as usize];
            let at = layout.large.entry(wave);
            let write = access(core.local, at, sizes.large, self.lwe(item), (1, c.extraction()), Order::Any);
            let work = sizes.large_dimension + 1;
            let action = Action { resource: core.extractor, start, occupancy: c.extraction(), work, parts: 1 };
            let op = OpRef { kind, kernel_op: item.op, body_op: Value::NONE, ciphertext, iteration: Value::NONE };
            self.push(&action, op, reads, vec![write]);
        }
    }

    pub(super) fn key_switch(&mut self, epoch: &Epoch, task: u32, base: i64) {
        let switch = &self.timeline.switches[&task];
        let one = |emitter: &mut Self, number: usize, times: &TileTimes, base: i64, last: bool| {
            emitter.tile(epoch, task, number as u32, times, base, last);
        };
        let last = self.iterations(
            &switch.tiles,
            base,
            self.tasks.layout.tile_elements as i64,
            |times| times.load.min(times.switch),
            |e, n, t, b| {
                one(e, n, t, b, false);
            },
        );
        one(self, last, &switch.last, base, true);
    }

    /// One tile of the key-switch key, for all ciphertexts of all cores.
    fn tile(&mut self, epoch: &Epoch, task: u32, number: u32, times: &TileTimes, base: i64, last: bool) {
        let (layout, latency) = (self.tasks.layout, self.timeline.steps.switch);
        let sizes = layout.sizes;
        let cycles = self.timeline.tiles[&task];
        let (sources, results) = match &self.tasks.works[epoch.work] {
            Work::Bootstraps(work) => (&work.extracted, work.switched.as_ref().unwrap_or(&work.extracted)),
            Work::KeySwitches(work) => (&work.sources, &work.results),
            Work::Linear(_) => return,
        };
        let operation = results[epoch.first as usize].op;
        let digits = layout.tile_elements * sizes.key_switch_levels;
        let tile_bytes = digits * sizes.small;
        let length = layout.tile_elements as u32;
        let done = number * length;
        let key = self.labels.value(self.chip.classes.switch_key, [Meaning::SwitchKey { from: done, length }]);
        let at = layout.tiles.entry(u64::from(times.buffer));
        let op =
            |kind, ciphertext| OpRef { kind, kernel_op: operation, body_op: Value::NONE, ciphertext, iteration: done };
        let channels = self.machine.switch_channels;
        let stripe = tile_bytes.div_ceil(channels);
        for index in 0..channels {
            let first = (index * stripe).min(tile_bytes);
            let bytes = stripe.min(tile_bytes - first);
            if bytes == 0 {
                continue;
            }
            let (sent, arrival) = ((0, cycles.load - 1), (cycles.memory, cycles.memory + cycles.load - 1));
            let reads = vec![access(self.chip.hbm, 0, bytes, key, sent, Order::Any)];
            let writes = vec![access(self.chip.global, at + first, bytes, key, arrival, Order::Any)];
            let resource = self.chip.channels[(self.machine.key_channels + index) as usize];
            let kind = self.chip.kinds.switch_key;
            let start = times.load - base;
            let action = Action { resource, start, occupancy: cycles.load, work: bytes, parts: 1 };
            self.push(&action, op(kind, Value::NONE), reads, writes);
        }
        let start = times.switch - base;
        let occupancy = cycles.switch;
        let span = (0, occupancy - 1);
        let served = (epoch.count as usize).min(self.chip.cores.len());
        let tile = access(self.chip.global, at, tile_bytes, key, span, Order::Any);
        let kind = self.chip.kinds.multicast_switch;
        let tile = self.bus((start, occupancy), vec![tile], key, served, op(kind, Value::NONE));
        let late = (latency - 1, latency + occupancy - 2);
        let kind = self.chip.kinds.key_switch;
        let chip = self.chip.clone();
        for (c, core) in chip.cores.iter().enumerate() {
            let (mut reads, mut writes) =
                (vec![Access { place: Place { memory: core.tile, ..tile.place }, ..tile }], Vec::new());
            let mut count = 0;
            for wave in 0..epoch.waves(self.machine) {
                let Some((_, element)) = self.assignments(epoch, wave).find(|&(core, _)| core == c) else { continue };
                count += 1;
                let item = sources[element as usize];
                let mut source =
                    access(core.local, layout.large.entry(wave), sizes.large, self.lwe(item), span, Order::Any);
                source.bytes = layout.tile_elements * COEFFICIENT_BYTES;
                reads.push(source);
                let sum = |done| {
                    let meaning = Meaning::SwitchSum { op: operation, element, done };
                    self.labels.value(chip.classes.switch_sum, [meaning])
                };
                let place =
                    |value, span| access(core.local, layout.sums.entry(wave), sizes.small, value, span, Order::Stream);
                if number > 0 {
                    reads.push(place(sum(done), span));
                }
                let value = if last { self.lwe(results[element as usize]) } else { sum(done + length) };
                writes.push(place(value, late));
            }
            if count > 0 {
                // The digits, and their products with the tile.
                let work = digits * (sizes.lwe_dimension + 2) * count;
                let action = Action { resource: core.switch, start, occupancy, work, parts: 1 };
                let first = epoch.first + c as u32;
                self.push(&action, op(kind, first), reads, writes);
            }
        }
    }

    /// Sends `reads` from the global scratchpad as `value` to the first `served` key-switch clusters. Returns the
    /// clusters' read, which starts in cycle `span.0`.
    fn bus(&mut self, span: (i64, i64), reads: Vec<Access>, value: Value, served: usize, op: OpRef) -> Access {
        let (start, occupancy) = span;
        let bytes = reads.iter().map(|read| read.bytes).sum();
        let out = (KEY_HOP - 1, KEY_HOP + occupancy - 2);
        let wire = |core: &Core| access(core.tile, 0, bytes, value, out, Order::Stream);
        let writes = self.chip.cores[..served].iter().map(wire).collect();
        let sent = Sent { buses: &self.chip.switch_buses.clone(), start: start - KEY_HOP, occupancy, op };
        self.sent(sent, &reads, writes);
        access(self.chip.cores[0].tile, 0, bytes, value, (0, occupancy - 1), Order::Stream)
    }

    /// Sends `reads` to the wires `writes`: to all at once, or to each core on a separate bus.
    fn sent(&mut self, sent: Sent<'_>, reads: &[Access], writes: Vec<Access>) {
        let Sent { buses, start, occupancy, op } = sent;
        let bytes = reads.iter().map(|read| read.bytes).sum();
        let targets =
            if buses.len() == 1 { vec![writes] } else { writes.into_iter().map(|write| vec![write]).collect() };
        for (&resource, writes) in buses.iter().zip(targets) {
            let action = Action { resource, start, occupancy, work: bytes, parts: 1 };
            self.push(&action, op, reads.to_vec(), writes);
        }
    }

    /// A block of columns of a linear layer, for a block of rows.
    pub(super) fn linear(&mut self, epoch: &Epoch, index_of: u32, start: i64) {
        let tasks = self.tasks;
        let task = &tasks.tasks[index_of as usize];
        let Work::Linear(layer) = &tasks.works[epoch.work] else { return };
        let OpKind::Linear { matrix, .. } = &self.program.ops[layer.op as usize].kind else { return };
        let layout = tasks.layout;
        let bytes = bytes_of(layer);
        let (occupancy, latency) = (task.occupancy, self.timeline.steps.switch);
        let (span, late) = ((0, occupancy - 1), (latency - 1, latency + occupancy - 2));
        let pass = task.wave as u32;
        let op =
            |kind, ciphertext| OpRef { kind, kernel_op: layer.op, body_op: Value::NONE, ciphertext, iteration: pass };
        let mut earlier = tasks.tasks[epoch.tasks.start as usize..index_of as usize].iter().rev();
        let before = earlier.find(|task| task.action == software::Action::Linear);
        let before = before.map_or(0, |task| task.columns.end);
        let at = layout.operands.entry(task.entry);
        let operands: Vec<Access> = (0..)
            .zip(&layer.sources[task.columns.clone()])
            .map(|(number, &item)| {
                access(self.chip.global, at + number * bytes, bytes, self.lwe(item), span, Order::Any)
            })
            .collect();
        let rows = task.first as usize..(task.first + task.count) as usize;
        let start = start + KEY_HOP;
        let mut wire = None;
        if !operands.is_empty() {
            let served =
                (0..self.machine.cores).filter(|&core| !core_rows(self.machine, rows.clone(), core).is_empty());
            let served = served.count();
            let meanings = layer.sources[task.columns.clone()].iter();
            let meanings = meanings.map(|item| Meaning::Lwe { op: item.op, element: item.element });
            let value = self.labels.value(self.chip.classes.operands, meanings);
            let op = op(self.chip.kinds.multicast_switch, Value::NONE);
            wire = Some(self.bus((start, occupancy), operands, value, served, op));
        }
        let kind = self.chip.kinds.linear;
        let chip = self.chip.clone();
        for (c, core) in chip.cores.iter().enumerate() {
            let mine = core_rows(self.machine, rows.clone(), c as u64);
            if mine.is_empty() {
                continue;
            }
            let own = |wire: Access| Access { place: Place { memory: core.tile, ..wire.place }, ..wire };
            let mut reads: Vec<Access> = wire.map(own).into_iter().collect();
            let mut writes = Vec::new();
            for (number, row) in (0..).zip(mine.clone()) {
                let sum = |done: usize| {
                    let meaning = Meaning::LinearSum { op: layer.op, row: row as u32, done: done as u32 };
                    self.labels.value(chip.classes.linear_sum, [meaning])
                };
                let place = |value, span| {
                    access(core.local, layout.linear.offset + number * bytes, bytes, value, span, Order::Stream)
                };
                if !task.ends.0 {
                    reads.push(place(sum(before), span));
                }
                let result = Item { op: layer.op, element: row as u32 };
                let value = if task.ends.1 { self.lwe(result) } else { sum(task.columns.end) };
                writes.push(place(value, late));
            }
            // Work counts only nonzero weights, and biases in a separate pass; the cluster processes all columns of the
            // block.
            let biases = if task.columns.is_empty() { mine.len() } else { 0 };
            let weights = |row: usize| matrix.row(row).filter(|(column, _)| task.columns.contains(column)).count();
            let weights: usize = mine.clone().map(weights).sum();
            let work = (biases + weights) as u64 * (layer.dimension as u64 + 1);
            let action = Action { resource: core.switch, start, occupancy, work, parts: 1 };
            self.push(&action, op(kind, mine.start as u32), reads, writes);
        }
    }
}
