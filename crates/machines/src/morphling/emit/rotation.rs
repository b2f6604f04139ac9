//! Events of a blind rotation: the array's start times, for every row of every XPU with a ciphertext.

use super::resources::{Chip, Row};
use super::{Emitter, GroupPlace};
use crate::morphling::array::{IterationTimes, KEY_HOP, Rotation as Times, StepCycles, WaveTimes};
use crate::morphling::layout::{KeyPiece, Layout, twiddle_bytes};
use crate::morphling::software::Group;
use crate::tfhe::iteration::{IterationPlan, Product};
use crate::tfhe::labels::{Labeler, Meaning, Rotation};
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use crate::tfhe::transfers::access;
use polyfabric_program::tfhe::kernel::BodyValue;
use polyfabric_sim::schedule::{
    Access, ClassId, Emit, Event, KindId, OpRef, Order, Resource, ScheduleBuilder, Shift, Value,
};
use std::rc::Rc;
use std::sync::Arc;

/// One ciphertext on one row, in one iteration.
struct Assignment<'a> {
    row: &'a Row,
    ciphertext: u32,
    /// Byte offset of the resident accumulator in its bank.
    resident: u64,
    /// Delay of the row's stream.
    offset: i64,
    /// Additional delay from the VPE array on.
    skew: i64,
    /// Tokens that the first event reads.
    marks: Vec<Access>,
}

struct Iteration<'a> {
    chip: &'a Chip,
    labels: &'a Labeler,
    rotation: Rotation<'a>,
    plan: &'a IterationPlan,
    layout: &'a Layout,
    sizes: &'a Sizes,
    steps: &'a StepCycles,
    accumulators: u64,
    number: u32,
}

impl Iteration<'_> {
    fn value(&self, class: ClassId, lookup: u32, value: BodyValue) -> Value {
        self.labels.value(class, [Meaning::Body { value, lookup, iteration: self.number }])
    }

    fn op(&self, kind: KindId, body_op: u32, ciphertext: u32) -> OpRef {
        OpRef { kind, kernel_op: 0, body_op, ciphertext, iteration: self.number }
    }

    /// Polynomial `polynomial` of the accumulator after `number` iterations, or its partial sum `sum`.
    fn accumulator(
        &self,
        assignment: &Assignment<'_>,
        number: u32,
        sum: Option<BodyValue>,
        polynomial: u32,
        span: (i64, i64),
        any: Order,
    ) -> Access {
        let half = u64::from(number) % self.accumulators * self.sizes.accumulator;
        let offset = assignment.resident + half + u64::from(polynomial) * self.sizes.polynomial;
        let (value, iteration) = sum.map_or((BodyValue(polynomial), number), |sum| (sum, self.number));
        let meaning = Meaning::Body { value, lookup: assignment.ciphertext, iteration };
        let value = self.labels.value(self.chip.classes.accumulator, [meaning]);
        access(assignment.row.bank, offset, self.sizes.polynomial, value, span, any)
    }

    fn decompose(&self, assignment: &Assignment<'_>, f: usize, start: i64) -> Event {
        let forward = &self.plan.forwards[f];
        let s = self.steps;
        let span = (0, s.polynomial - 1);
        let mut pointers = self.accumulator(assignment, self.number, None, forward.polynomial, span, Order::Any);
        pointers.bytes *= 2;
        let rotations = Meaning::Amounts { lookup: assignment.ciphertext };
        let rotations = self.labels.value(self.chip.classes.rotations, [rotations]);
        let at = assignment.resident + self.accumulators * self.sizes.accumulator;
        let mut amounts = access(assignment.row.bank, at, self.sizes.rotations, rotations, (0, 0), Order::Any);
        amounts.bytes = COEFFICIENT_BYTES;
        let digits = self.rotation.digits(forward.operation);
        let digits = self.value(self.chip.classes.digits, assignment.ciphertext, digits);
        let out = (s.decomposition - 1, s.decomposition + s.polynomial - 2);
        Event {
            resource: assignment.row.decomposition,
            start: start + assignment.offset,
            occupancy: s.polynomial as u32,
            work: self.sizes.ring_degree,
            parts: 1,
            op: self.op(self.chip.kinds.decompose, forward.operation, assignment.ciphertext),
            reads: vec![pointers, amounts],
            writes: vec![access(assignment.row.digits, 0, self.sizes.polynomial, digits, out, Order::Stream)],
        }
    }

    /// One transform for the assignments that share the unit; without merge-split, for one of them.
    fn transform(&self, unit: Resource, assignments: &[&Assignment<'_>], f: usize, start: i64) -> Event {
        let s = self.steps;
        let out = (s.forward - 1, s.forward + s.polynomial - 2);
        let operation = self.plan.forwards[f].operation;
        let (digits, spectrum) = (self.rotation.digits(operation), self.rotation.result(operation));
        let span = (0, s.polynomial - 1);
        let read = |assignment: &&Assignment<'_>| {
            let value = self.value(self.chip.classes.digits, assignment.ciphertext, digits);
            access(assignment.row.digits, 0, self.sizes.polynomial, value, span, Order::Stream)
        };
        let write = |assignment: &&Assignment<'_>| {
            let value = self.value(self.chip.classes.spectrum, assignment.ciphertext, spectrum);
            access(assignment.row.spectrum, 0, self.sizes.spectrum, value, out, Order::Stream)
        };
        Event {
            resource: unit,
            start,
            occupancy: s.polynomial as u32,
            work: self.sizes.ring_degree / 2 * assignments.len() as u64,
            parts: assignments.len() as u32,
            op: self.op(self.chip.kinds.forward, operation, assignments[0].ciphertext),
            reads: assignments.iter().map(read).chain([self.twiddles(assignments[0].row, span)]).collect(),
            writes: assignments.iter().map(write).collect(),
        }
    }

    /// The twiddle factors of a transform.
    fn twiddles(&self, row: &Row, span: (i64, i64)) -> Access {
        let ring_degree = self.sizes.ring_degree as u32;
        let value = self.labels.value(self.chip.classes.twiddles, [Meaning::Twiddles { ring_degree }]);
        access(row.twiddles, 0, twiddle_bytes(self.sizes), value, span, Order::Any)
    }

    /// Polynomials of the bootstrapping key, by row and column.
    fn key(&self, polynomials: impl IntoIterator<Item = (u32, u32)>) -> Value {
        let meaning = |(row, column)| Meaning::Key { row, column, iteration: self.number };
        self.labels.value(self.chip.classes.bootstrap_key, polynomials.into_iter().map(meaning))
    }

    fn key_on_wire(&self, assignment: &Assignment<'_>, f: usize, span: (i64, i64)) -> Access {
        let products = &self.plan.forwards[f].products;
        let (bytes, key) = (products.len() as u64 * self.sizes.spectrum, products.iter().map(|p| (p.row, p.column)));
        access(assignment.row.key, 0, bytes, self.key(key), span, Order::Stream)
    }

    /// Multicasts the key polynomials of one forward transform from Private-A2 to the rows of `assignments`.
    fn multicast(&self, assignments: &[&Assignment<'_>], f: usize, start: i64, buffer: u64) -> Event {
        let forward = &self.plan.forwards[f];
        let span = (0, self.steps.polynomial - 1);
        let out = (KEY_HOP - 1, KEY_HOP + self.steps.polynomial - 2);
        let read = |product: &Product| {
            let column = self.layout.key_column(buffer, u64::from(product.column));
            let at = column + u64::from(product.row) * self.sizes.spectrum;
            let key = self.key([(product.row, product.column)]);
            access(self.chip.private_a2, at, self.sizes.spectrum, key, span, Order::Any)
        };
        Event {
            resource: self.chip.multicast,
            start: start - KEY_HOP,
            occupancy: self.steps.polynomial as u32,
            work: self.sizes.ring_degree / 2 * forward.products.len() as u64,
            parts: forward.products.len() as u32,
            op: self.op(self.chip.kinds.multicast, forward.operation, Value::NONE),
            reads: forward.products.iter().map(read).collect(),
            writes: assignments.iter().map(|assignment| self.key_on_wire(assignment, f, out)).collect(),
        }
    }

    /// The products of forward transform `f`; `sums` has the content of each chain's register.
    fn multiply(
        &self,
        assignment: &Assignment<'_>,
        times: &WaveTimes,
        f: usize,
        sums: &mut [Option<BodyValue>],
    ) -> Event {
        let s = self.steps;
        let forward = &self.plan.forwards[f];
        let span = (0, s.polynomial - 1);
        let late = (s.multiply - 1, s.multiply + s.polynomial - 2);
        let spectrum = self.rotation.result(forward.operation);
        let spectrum = self.value(self.chip.classes.spectrum, assignment.ciphertext, spectrum);
        let mut reads = vec![access(assignment.row.spectrum, 0, self.sizes.spectrum, spectrum, span, Order::Stream)];
        let mut writes = Vec::new();
        reads.push(self.key_on_wire(assignment, f, span));
        for product in &forward.products {
            let register = u64::from(product.column) * 2 + u64::from(times.registers[product.chain]);
            let place = |sum| {
                let value = self.value(self.chip.classes.sum, assignment.ciphertext, sum);
                let offset = register * self.sizes.spectrum;
                access(assignment.row.poly_acc, offset, self.sizes.spectrum, value, late, Order::Stream)
            };
            let sum = self.rotation.product(product.row, product.column);
            reads.extend(sums[product.chain].replace(sum).map(place));
            writes.push(place(sum));
        }
        Event {
            resource: assignment.row.vpe,
            start: times.forwards[f].multiply + assignment.offset + assignment.skew,
            occupancy: s.polynomial as u32,
            work: self.sizes.ring_degree / 2 * forward.products.len() as u64,
            parts: forward.products.len() as u32,
            op: self.op(self.chip.kinds.multiply, forward.operation, assignment.ciphertext),
            reads,
            writes,
        }
    }

    fn ciphertext(&self, assignment: &Assignment<'_>, times: &WaveTimes, events: &mut ScheduleBuilder) {
        let s = self.steps;
        let mut sums = vec![None; self.plan.chains];
        let mut inverse_number = 0;
        for (f, drains) in self.plan.drains.iter().enumerate() {
            let mut decompose = self.decompose(assignment, f, times.forwards[f].decomposition);
            if f == 0 {
                decompose.reads.extend(&assignment.marks);
            }
            events.event(decompose);
            events.event(self.multiply(assignment, times, f, &mut sums));
            for inverse in drains {
                let at = times.inverses[inverse_number];
                inverse_number += 1;
                let span = (0, s.inverse - 1);
                let register = u64::from(inverse.column) * 2 + u64::from(at.register);
                let sum = self.rotation.sum(inverse.operation);
                let sum = self.value(self.chip.classes.sum, assignment.ciphertext, sum);
                let product = self.rotation.result(inverse.operation);
                let product = self.value(self.chip.classes.product, assignment.ciphertext, product);
                let out = (s.backward - 1, s.backward + s.inverse - 2);
                let offset = register * self.sizes.spectrum;
                events.event(Event {
                    resource: assignment.row.ifft,
                    start: at.transform + assignment.offset + assignment.skew,
                    occupancy: s.inverse as u32,
                    work: self.sizes.ring_degree / 2,
                    parts: 1,
                    op: self.op(self.chip.kinds.inverse, inverse.operation, assignment.ciphertext),
                    // The two registers alternate when the sum is complete.
                    reads: vec![
                        access(assignment.row.poly_acc, offset, self.sizes.spectrum, sum, span, Order::Any),
                        self.twiddles(assignment.row, span),
                    ],
                    writes: vec![access(assignment.row.product, 0, self.sizes.polynomial, product, out, Order::Stream)],
                });
                let late = (s.accumulate - 1, s.accumulate + s.inverse - 2);
                // The first product is added to the old accumulator, and the last one completes the new accumulator.
                let of_column = || self.plan.drains.iter().flatten().filter(|other| other.column == inverse.column);
                let before = of_column().find(|other| other.order + 1 == inverse.order);
                let before = before.map(|before| self.rotation.added(before.operation));
                let last = of_column().all(|other| other.order <= inverse.order);
                let after = (!last).then(|| self.rotation.added(inverse.operation));
                let from = self.number + u32::from(before.is_some());
                let old = self.accumulator(assignment, from, before, inverse.column, span, Order::Stream);
                let new = self.accumulator(assignment, self.number + 1, after, inverse.column, late, Order::Stream);
                events.event(Event {
                    resource: assignment.row.accumulator,
                    start: at.accumulate + assignment.offset + assignment.skew,
                    occupancy: s.inverse as u32,
                    work: self.sizes.ring_degree,
                    parts: 1,
                    op: self.op(self.chip.kinds.accumulate, inverse.operation, assignment.ciphertext),
                    reads: vec![
                        access(assignment.row.product, 0, self.sizes.polynomial, product, span, Order::Stream),
                        old,
                    ],
                    writes: vec![new],
                });
            }
        }
    }
}

impl Iteration<'_> {
    /// Loads the key of the iteration, striped over its channels.
    fn load_key(&self, start: i64, buffer: u64, channels: &[Resource], events: &mut ScheduleBuilder) {
        let s = self.steps;
        let (sent, arrival) = ((0, s.key - 1), (s.key_latency, s.key_latency + s.key - 1));
        for (&channel, index) in channels.iter().zip(0..) {
            let pieces = self.layout.key_stripe(buffer, index, channels.len() as u64);
            let bytes = pieces.iter().map(|piece| piece.bytes).sum();
            if bytes == 0 {
                continue;
            }
            let key = |piece: &KeyPiece| self.key([(piece.row, piece.column)]);
            let read = |piece: &KeyPiece| access(self.chip.hbm, 0, piece.bytes, key(piece), sent, Order::Any);
            let write = |piece: &KeyPiece| {
                access(self.chip.private_a2, piece.offset, piece.bytes, key(piece), arrival, Order::Any)
            };
            events.event(Event {
                resource: channel,
                start,
                occupancy: s.key as u32,
                work: bytes,
                parts: 1,
                op: self.op(self.chip.kinds.key, Value::NONE, Value::NONE),
                reads: pieces.iter().map(read).collect(),
                writes: pieces.iter().map(write).collect(),
            });
        }
    }
}

impl<'a> Emitter<'a> {
    /// Emits a whole rotation, dispatched at cycle `start` of the open repeat. Groups with equally many ciphertexts and
    /// equal XPU states share the events.
    pub(super) fn rotation(&mut self, place: &GroupPlace<'_>, operation: u32, rotation: &Rc<Times>, start: i64) {
        let key = (Rc::as_ptr(rotation), place.half, place.group.count);
        let body = match self.rotations.get(&key) {
            Some(body) => Arc::clone(body),
            None => {
                let first = Group { number: 0, ..place.group.clone() };
                let first = GroupPlace { group: &first, half: place.half };
                let plan = self.streams.plan(operation);
                let Some(of) = Rotation::new(self.places.program, &self.streams.lookups, operation) else { return };
                let of = Rotation { op: 0, first: 0, ..of };
                let body = self.body(|emitter| emitter.iterations(&first, (of, plan), rotation));
                self.rotations.insert(key, Arc::clone(&body));
                body
            }
        };
        let origin = Shift { ciphertext: place.group.number.into(), iteration: 0, operation: operation.into() };
        self.builder.once(start, origin, body);
    }

    /// Events of a rotation relative to its dispatch, with operation 0 and ciphertexts from 0 on.
    fn iterations(&mut self, place: &GroupPlace<'_>, of: (Rotation<'a>, &'a IterationPlan), rotation: &Times) {
        let iterations = &rotation.iterations;
        for (number, times) in iterations.prologue.iter().enumerate() {
            self.iteration(place, of, number, times, 0);
        }
        let mut number = iterations.prologue.len();
        if let Some(steady) = &iterations.steady {
            let [first, second] = &steady.pair;
            // The key's transfer is the earliest event of an iteration; all times are relative to it.
            let base = first.key;
            self.repeat(base, steady.rounds as u64, steady.period as u64, Shift::iterations(2), |emitter| {
                emitter.iteration(place, of, number, first, -base);
                emitter.iteration(place, of, number + 1, second, -base);
            });
            number += 2 * steady.rounds;
        }
        for times in &iterations.epilogue {
            self.iteration(place, of, number, times, 0);
            number += 1;
        }
    }

    fn iteration(
        &mut self,
        place: &GroupPlace<'_>,
        (rotation, plan): (Rotation<'a>, &'a IterationPlan),
        number: usize,
        times: &IterationTimes,
        start: i64,
    ) {
        let machine = self.machine;
        let layout = &self.streams.layout;
        let steps = &self.timeline.steps;
        let work = Iteration {
            chip: self.chip,
            labels: &self.places.labels,
            rotation,
            plan,
            layout,
            sizes: &layout.sizes,
            steps,
            accumulators: layout.accumulators,
            number: number as u32,
        };
        let buffer = u64::from(times.key_buffer);
        let channels = &self.chip.channels[..machine.key_channels as usize];
        work.load_key(times.key + start, buffer, channels, &mut self.builder);
        let waves = times.waves.len() as u64;
        let of_xpu = |xpu: u64| {
            let served = (0..waves).filter(move |&wave| xpu * machine.rows < place.wave_count(machine, wave));
            served.map(|wave| self.places.loaded(place, wave, xpu)).collect::<Vec<_>>()
        };
        let marks: Vec<Vec<Access>> = if number == 0 { (0..machine.xpus).map(of_xpu).collect() } else { Vec::new() };
        for (wave, times) in times.waves.iter().enumerate() {
            let marks: &[Vec<Access>] = if wave == 0 { &marks } else { &[] };
            let assignments = self.assignments(place, wave as u64, marks);
            let times = shifted(times, start);
            for assignment in &assignments {
                work.ciphertext(assignment, &times, &mut self.builder);
            }
            for (f, at) in times.forwards.iter().enumerate() {
                self.multicasts(&work, &assignments, (f, at.multiply), buffer);
                self.transforms(&work, &assignments, (f, at.transform));
            }
        }
    }

    /// The ciphertexts of a wave on their rows; the first row of each XPU reads its tokens, if any.
    fn assignments(&self, place: &GroupPlace<'_>, wave: u64, marks: &[Vec<Access>]) -> Vec<Assignment<'a>> {
        let (machine, layout, path) = (self.machine, &self.streams.layout, self.machine.path());
        let resident = (place.half * layout.waves + wave) * layout.resident_bytes;
        let at = |position: u64| {
            let (xpu, row) = (position / machine.rows, position % machine.rows);
            let in_pair = row % path.rows_per_fft;
            let marks = marks.get(xpu as usize).filter(|_| row == 0);
            Assignment {
                row: &self.chip.rows[xpu as usize][row as usize],
                ciphertext: place.ciphertext(machine, wave, position),
                resident,
                offset: if path.merge_split { 0 } else { in_pair as i64 * self.timeline.steps.polynomial },
                // Without merge-split, the key passes once per row of a pair, so both rows see it with the pair's
                // delay.
                skew: if path.merge_split { row } else { row - in_pair } as i64,
                marks: marks.cloned().unwrap_or_default(),
            }
        };
        (0..place.wave_count(machine, wave)).map(at).collect()
    }

    /// Multicasts the key for forward transform `f` to all rows from `begin` on, one multicast per set of rows that
    /// read it together.
    fn multicasts(
        &mut self,
        work: &Iteration<'_>,
        assignments: &[Assignment<'_>],
        (f, begin): (usize, i64),
        buffer: u64,
    ) {
        let path = self.machine.path();
        let offsets = if path.merge_split { 1 } else { path.rows_per_fft };
        for offset in (0..offsets as i64).map(|number| number * work.steps.polynomial) {
            let served: Vec<&Assignment<'_>> =
                assignments.iter().filter(|assignment| assignment.offset == offset).collect();
            if !served.is_empty() {
                self.builder.event(work.multicast(&served, f, begin + offset, buffer));
            }
        }
    }

    /// Forward transform `f` of all rows from `begin` on; with merge-split, one transform per FFT unit.
    fn transforms(&mut self, work: &Iteration<'_>, assignments: &[Assignment<'_>], (f, begin): (usize, i64)) {
        if self.machine.path().merge_split {
            for pair in assignments.chunk_by(|a, b| a.row.fft == b.row.fft) {
                let pair: Vec<&Assignment<'_>> = pair.iter().collect();
                self.builder.event(work.transform(pair[0].row.fft, &pair, f, begin));
            }
        } else {
            for assignment in assignments {
                let begin = begin + assignment.offset;
                self.builder.event(work.transform(assignment.row.fft, &[assignment], f, begin));
            }
        }
    }
}

fn shifted(times: &WaveTimes, by: i64) -> WaveTimes {
    let mut times = times.clone();
    for forward in &mut times.forwards {
        forward.decomposition += by;
        forward.transform += by;
        forward.multiply += by;
    }
    for inverse in &mut times.inverses {
        inverse.transform += by;
        inverse.accumulate += by;
    }
    times
}
