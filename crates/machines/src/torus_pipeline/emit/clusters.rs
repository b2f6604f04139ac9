//! Events of the PBS and key-switch clusters.

use super::super::cluster::{IterationTimes, KEY_HOP, TileTimes};
use super::super::software::{self, Epoch, bytes_of, core_rows};
use super::Emitter;
use super::resources::Core;
use crate::tfhe::cmux::{Datum, KeyTransfer, Pipeline, Round, Row, Stage};
use crate::tfhe::labels::{Labeler, Meaning, Rotation};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::steady::Settled;
use crate::tfhe::steps::Steps;
use crate::tfhe::transfers::access;
use crate::tfhe::workload::{Bootstraps, Item, Work};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_sim::schedule::{Access, ClassId, Emit, Event, OpRef, Order, Place, Resource, Shift, Value};

/// Where and when a ciphertext is in one iteration.
#[derive(Clone, Copy)]
pub(crate) struct At {
    core: usize,
    wave: u64,
    /// The buffer of its complete sums.
    sums: u64,
    /// Start of the step or of the drain.
    start: i64,
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
            Datum::Running(..) => classes.running,
            Datum::Sum(_) => classes.sum,
            Datum::Product(_) => classes.product,
            Datum::Partial(..) => classes.partial,
        }
    }

    fn row(&self, round: &Round<'_, At>, stage: Stage, number: usize) -> Row {
        let (c, kinds, core) = (&self.timeline.steps, &self.chip.kinds, &self.chip.cores[round.at.core]);
        let rows = || round.steps.steps[number].rows.len() as u64;
        let columns = || round.steps.drains[number].inverses.len() as u64;
        let coefficients = self.tasks.layout.sizes.ring_degree;
        let points = coefficients / 2;
        let (resource, kind, start, latency, each, parts) = match stage {
            Stage::Rotate => {
                let rotated = round.steps.steps[number].rotates.len() as u64;
                (core.rotator, kinds.rotate, -c.rotate, c.rotate, coefficients, rotated)
            }
            Stage::Decompose => (core.decomposer, kinds.decompose, 0, c.decompose, coefficients, rows()),
            Stage::Forward => (core.fft, kinds.forward, c.decompose, c.forward, points, rows()),
            Stage::Multiply => {
                let products = rows() * u64::from(round.steps.polynomials);
                (core.vma, kinds.multiply, c.to_multiply(), c.multiply, points, products)
            }
            Stage::Inverse => (core.ifft, kinds.inverse, 0, c.backward, points, columns()),
            Stage::Accumulate => {
                (core.accumulator, kinds.accumulate, c.backward, c.accumulate, coefficients, columns())
            }
        };
        let cycles = if matches!(stage, Stage::Inverse | Stage::Accumulate) { c.drain } else { c.polynomial };
        Row { unit: (resource, kind), start: round.at.start + start, cycles, latency, work: each * parts, parts }
    }

    fn access(&self, round: &Round<'_, At>, stage: Stage, datum: Datum, value: Value) -> Access {
        let At { core, wave, sums, .. } = round.at;
        let (core, layout, steps) = (&self.chip.cores[core], &self.tasks.layout, round.steps);
        let (polynomial, spectrum, columns) =
            (layout.sizes.polynomial, layout.sizes.spectrum, u64::from(steps.polynomials));
        let rows = |step: usize| steps.steps[step].rows.len() as u64;
        let inverses = |drain: usize| &steps.drains[drain].inverses;
        let (memory, offset, bytes) = match datum {
            Datum::Accumulator { polynomial: number, .. } => {
                (core.local, layout.resident.entry(wave) + u64::from(number) * polynomial, polynomial)
            }
            // The decomposer's buffer keeps a polynomial for all steps that use its digits.
            Datum::Rotated(number) => (core.rotated, u64::from(number % steps.held) * polynomial, polynomial),
            Datum::Digits(step) => (core.digits, 0, rows(step) * polynomial),
            Datum::Spectrum(step) => (core.spectrum, 0, rows(step) * spectrum),
            Datum::Key(step) => (core.key, 0, steps.steps[step].key.len() as u64 * spectrum),
            Datum::Running(..) => (core.sum, 0, columns * spectrum),
            // On the wire to the inverse transforms, or in one of the buffers before them.
            Datum::Sum(drain) => {
                let at = match inverses(drain).first() {
                    Some(first) if self.machine.accumulates => (1 + sums) * columns + u64::from(first.column),
                    _ => 0,
                };
                (core.sum, at * spectrum, inverses(drain).len() as u64 * spectrum)
            }
            Datum::Product(drain) => (core.product, 0, inverses(drain).len() as u64 * polynomial),
            Datum::Partial(column, _) => (core.sums, u64::from(column) * polynomial, polynomial),
        };
        let accumulator = matches!((stage, datum), (Stage::Rotate, Datum::Accumulator { .. }));
        let order = if accumulator { Order::Any } else { Order::Stream };
        let mut access = access(memory, offset, bytes, value, (0, 0), order);
        // The rotator has two pointers.
        access.bytes *= if accumulator { 2 } else { 1 };
        access
    }

    fn others(&self, round: &Round<'_, At>, stage: Stage, _: usize) -> Vec<Access> {
        if stage != Stage::Rotate {
            return Vec::new();
        }
        let (layout, amounts) = (&self.tasks.layout, self.amounts(round.rotation.op, round.ciphertext));
        let (local, at) = (self.chip.cores[round.at.core].local, layout.rotations(round.at.wave));
        let mut amounts = access(local, at, layout.sizes.rotations, amounts, (0, 0), Order::Any);
        amounts.bytes = COEFFICIENT_BYTES;
        vec![amounts]
    }
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
        let (c, chip) = (self.timeline.steps, self.chip.clone());
        let key = self.tasks.layout.keys.entry(u64::from(times.buffer));
        let transfer = KeyTransfer {
            kind: chip.kinds.key,
            channels: &chip.channels[..self.machine.key_channels as usize],
            start: times.key - base,
            cycles: c.key,
            latency: c.memory,
            from: chip.hbm,
            to: (chip.global, key),
            polynomial: self.tasks.layout.sizes.spectrum,
        };
        self.load_key(rotation.op, steps, number, &transfer);
        for (wave, starts) in (0..).zip(&times.waves) {
            let (drains, sums) = (&times.drains[wave as usize], u64::from(times.sums[wave as usize]));
            let round = |(core, ciphertext), start: i64| {
                let at = At { core, wave, sums, start: start - base };
                Round { rotation, steps, ciphertext, iteration: number, at }
            };
            let assigned: Vec<(usize, u32)> = self.assignments(epoch, wave).collect();
            let mut key_at = key;
            for (step, &start) in starts.iter().enumerate() {
                let rounds: Vec<Round<'_, At>> = assigned.iter().map(|&one| round(one, start)).collect();
                key_at += self.multicast(&rounds, step, start - base, key_at);
                for (&one, here) in assigned.iter().zip(&rounds) {
                    let rotates = &steps.steps[step].rotates;
                    if !rotates.is_empty() {
                        self.rotate(here, step, rotates.iter().copied());
                    }
                    self.pass(here, step, self.machine.accumulates);
                    steps.drained(step).for_each(|(drain, _)| self.drain(&round(one, drains[drain]), drain));
                }
            }
        }
    }

    /// Sends the key polynomials of a step to all cores with a ciphertext; returns their bytes in the global
    /// scratchpad.
    fn multicast(&mut self, rounds: &[Round<'_, At>], step: usize, start: i64, at: u64) -> u64 {
        let c = self.timeline.steps;
        let Some(&Round { rotation, steps, iteration, .. }) = rounds.first() else { return 0 };
        let bytes = steps.steps[step].key.len() as u64 * self.tasks.layout.sizes.spectrum;
        let key = self.key(steps, step, iteration);
        let read = access(self.chip.global, at, bytes, key, (0, c.polynomial - 1), Order::Any);
        let out = (KEY_HOP - 1, KEY_HOP + c.polynomial - 2);
        let cores = &self.chip.cores;
        let write = |round: &Round<'_, At>| access(cores[round.at.core].key, 0, bytes, key, out, Order::Stream);
        let (kind, start) = (self.chip.kinds.multicast, start + c.to_multiply() - KEY_HOP);
        let op = OpRef { kind, kernel_op: rotation.op, body_op: step as u32, ciphertext: Value::NONE, iteration };
        let writes = rounds.iter().map(write).collect();
        self.sent(Sent { buses: &self.chip.key_buses.clone(), start, occupancy: c.polynomial, op }, &[read], writes);
        bytes
    }

    /// Streams the finished accumulators of a wave to the key-switch clusters' memory.
    fn extraction(&mut self, epoch: &Epoch, work: &Bootstraps, wave: u64, start: i64) {
        let (c, tasks) = (self.timeline.steps, self.tasks);
        let layout = tasks.layout;
        let sizes = layout.sizes;
        let kind = self.chip.kinds.extract;
        let Some(rotation) = Rotation::new(self.program, &self.lookups, work.blind_rotation) else { return };
        let chip = self.chip.clone();
        for (core, ciphertext) in self.assignments(epoch, wave) {
            let iteration = sizes.lwe_dimension as u32;
            let at = At { core, wave, sums: 0, start };
            let core = &chip.cores[core];
            let round = Round { rotation, steps: &tasks.steps[&work.blind_rotation], ciphertext, iteration, at };
            let mut reads = Vec::new();
            for polynomial in 0..sizes.polynomials as u32 {
                let mut read = self.accumulator(&round, (polynomial, false), (0, c.extraction() - 1));
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
        let work = &self.tasks.works[epoch.work];
        let sources = match work {
            Work::Bootstraps(work) => &work.extracted,
            Work::KeySwitches(work) => &work.sources,
            Work::Linear(_) => return,
        };
        let results = work.results(true);
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
