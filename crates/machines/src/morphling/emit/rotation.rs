//! Events of a blind rotation: the array's start times, for every row of every XPU that has a ciphertext.

use super::resources::{Chip, Row};
use super::{Emitter, GroupPlace};
use crate::engine::schedule::{Access, Emit, Event, KindId, OpRef, Order, Resource, ScheduleBuilder, Shift, Value};
use crate::morphling::array::{IterationTimes, KEY_HOP, Rotation, StepCycles, WaveTimes};
use crate::morphling::layout::{KeyPiece, Layout, twiddle_bytes};
use crate::morphling::software::Group;
use crate::torus::iteration::{IterationPlan, Product};
use crate::torus::sizes::{COEFFICIENT_BYTES, Sizes};
use crate::torus::transfers::access;
use std::rc::Rc;
use std::sync::Arc;

/// Index of a polynomial of an accumulator: how many products it has already taken in this iteration, and which polynomial
/// it is.
pub fn polynomial_index(order: u32, polynomial: u32) -> u32 {
    (order << 8) | polynomial
}

/// Index of a POLY-ACC content: its chain, and the products in it.
pub fn sum_index(chain: usize, products: u32) -> u32 {
    ((chain as u32) << 8) | products
}

/// Index of a polynomial of the bootstrapping key.
pub fn key_index(row: u32, column: u32) -> u32 {
    (row << 8) | column
}

/// Index of what a row's key wire carries for forward transform `f`: the key polynomials of its products, side by side.
pub fn wire_index(f: usize) -> u32 {
    ON_WIRE | f as u32
}

/// Marks the index of a wire's content.
pub const ON_WIRE: u32 = 1 << 31;

/// One ciphertext on one row, in one iteration.
struct Assignment<'a> {
    row: &'a Row,
    ciphertext: u32,
    /// Byte offset of the resident accumulator in its bank.
    resident: u64,
    /// Shift of the row's stream.
    offset: i64,
    /// Further shift from the VPE array on.
    skew: i64,
    /// Marks that must be there before the first event.
    marks: Vec<Access>,
}

struct Iteration<'a> {
    chip: &'a Chip,
    plan: &'a IterationPlan,
    layout: &'a Layout,
    sizes: &'a Sizes,
    steps: &'a StepCycles,
    accumulators: u64,
    number: u32,
}

impl Iteration<'_> {
    fn value(&self, class: crate::engine::schedule::ClassId, ciphertext: u32, index: u32) -> Value {
        Value { class, ciphertext, iteration: self.number, index }
    }

    fn op(&self, kind: KindId, body_op: u32, ciphertext: u32) -> OpRef {
        OpRef { kind, kernel_op: 0, body_op, ciphertext, iteration: self.number }
    }

    /// Place of polynomial `polynomial` of the accumulator after `number` iterations.
    fn accumulator(
        &self,
        assignment: &Assignment<'_>,
        number: u32,
        order: u32,
        polynomial: u32,
        span: (i64, i64),
        any: Order,
    ) -> Access {
        let half = u64::from(number) % self.accumulators * self.sizes.accumulator;
        let offset = assignment.resident + half + u64::from(polynomial) * self.sizes.polynomial;
        let index = polynomial_index(order, polynomial);
        let value =
            Value { class: self.chip.classes.accumulator, ciphertext: assignment.ciphertext, iteration: number, index };
        access(assignment.row.bank, offset, self.sizes.polynomial, value, span, any)
    }

    fn decompose(&self, assignment: &Assignment<'_>, f: usize, start: i64) -> Event {
        let forward = &self.plan.forwards[f];
        let s = self.steps;
        let span = (0, s.polynomial - 1);
        let mut pointers = self.accumulator(assignment, self.number, 0, forward.polynomial, span, Order::Any);
        pointers.bytes *= 2;
        let rotations = Value {
            class: self.chip.classes.rotations,
            ciphertext: assignment.ciphertext,
            iteration: Value::NONE,
            index: 0,
        };
        let at = assignment.resident + self.accumulators * self.sizes.accumulator;
        let mut amounts = access(assignment.row.bank, at, self.sizes.rotations, rotations, (0, 0), Order::Any);
        amounts.bytes = COEFFICIENT_BYTES;
        let digits = self.value(self.chip.classes.digits, assignment.ciphertext, f as u32);
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
        let index = f as u32;
        let span = (0, s.polynomial - 1);
        let read = |assignment: &&Assignment<'_>| {
            let value = self.value(self.chip.classes.digits, assignment.ciphertext, index);
            access(assignment.row.digits, 0, self.sizes.polynomial, value, span, Order::Stream)
        };
        let write = |assignment: &&Assignment<'_>| {
            let value = self.value(self.chip.classes.spectrum, assignment.ciphertext, index);
            access(assignment.row.spectrum, 0, self.sizes.spectrum, value, out, Order::Stream)
        };
        Event {
            resource: unit,
            start,
            occupancy: s.polynomial as u32,
            work: self.sizes.ring_degree / 2 * assignments.len() as u64,
            parts: assignments.len() as u32,
            op: self.op(self.chip.kinds.forward, self.plan.forwards[f].operation, assignments[0].ciphertext),
            reads: assignments.iter().map(read).chain([self.twiddles(assignments[0].row, span)]).collect(),
            writes: assignments.iter().map(write).collect(),
        }
    }

    /// The twiddle factors that a transform takes.
    fn twiddles(&self, row: &Row, span: (i64, i64)) -> Access {
        access(row.twiddles, 0, twiddle_bytes(self.sizes), self.chip.ring(self.sizes), span, Order::Any)
    }

    fn key(&self, index: u32) -> Value {
        let class = self.chip.classes.bootstrap_key;
        Value { class, ciphertext: Value::NONE, iteration: self.number, index }
    }

    fn key_on_wire(&self, assignment: &Assignment<'_>, f: usize, span: (i64, i64)) -> Access {
        let bytes = self.plan.forwards[f].products.len() as u64 * self.sizes.spectrum;
        access(assignment.row.key, 0, bytes, self.key(wire_index(f)), span, Order::Stream)
    }

    /// The key polynomials of one forward transform, from Private-A2 to the rows of `assignments`.
    fn multicast(&self, assignments: &[&Assignment<'_>], f: usize, start: i64, buffer: u64) -> Event {
        let forward = &self.plan.forwards[f];
        let span = (0, self.steps.polynomial - 1);
        let out = (KEY_HOP - 1, KEY_HOP + self.steps.polynomial - 2);
        let read = |product: &Product| {
            let column = self.layout.key_column(buffer, u64::from(product.column));
            let at = column + u64::from(product.row) * self.sizes.spectrum;
            let key = self.key(key_index(product.row, product.column));
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

    fn multiply(&self, assignment: &Assignment<'_>, times: &WaveTimes, f: usize, taken: &mut [u32]) -> Event {
        let s = self.steps;
        let forward = &self.plan.forwards[f];
        let span = (0, s.polynomial - 1);
        let late = (s.multiply - 1, s.multiply + s.polynomial - 2);
        let spectrum = self.value(self.chip.classes.spectrum, assignment.ciphertext, f as u32);
        let mut reads = vec![access(assignment.row.spectrum, 0, self.sizes.spectrum, spectrum, span, Order::Stream)];
        let mut writes = Vec::new();
        reads.push(self.key_on_wire(assignment, f, span));
        for product in &forward.products {
            let register = u64::from(product.column) * 2 + u64::from(times.registers[product.chain]);
            let before = taken[product.chain];
            let value =
                |products| self.value(self.chip.classes.sum, assignment.ciphertext, sum_index(product.chain, products));
            let place = |products| {
                let offset = register * self.sizes.spectrum;
                access(assignment.row.poly_acc, offset, self.sizes.spectrum, value(products), late, Order::Stream)
            };
            if !product.opens {
                reads.push(place(before));
            }
            writes.push(place(before + 1));
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
        let mut taken = vec![0; self.plan.chains];
        let mut inverse_number = 0;
        for (f, drains) in self.plan.drains.iter().enumerate() {
            let mut decompose = self.decompose(assignment, f, times.forwards[f].decomposition);
            if f == 0 {
                decompose.reads.extend(&assignment.marks);
            }
            events.event(decompose);
            events.event(self.multiply(assignment, times, f, &mut taken));
            for product in &self.plan.forwards[f].products {
                taken[product.chain] += 1;
            }
            for inverse in drains {
                let at = times.inverses[inverse_number];
                inverse_number += 1;
                let span = (0, s.inverse - 1);
                let register = u64::from(inverse.column) * 2 + u64::from(at.register);
                let sum = sum_index(inverse.chain, taken[inverse.chain]);
                let sum = self.value(self.chip.classes.sum, assignment.ciphertext, sum);
                let product = inverse.chain as u32;
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
                    // The registers change places when the sum is complete.
                    reads: vec![
                        access(assignment.row.poly_acc, offset, self.sizes.spectrum, sum, span, Order::Any),
                        self.twiddles(assignment.row, span),
                    ],
                    writes: vec![access(assignment.row.product, 0, self.sizes.polynomial, product, out, Order::Stream)],
                });
                let late = (s.accumulate - 1, s.accumulate + s.inverse - 2);
                // The last product completes the accumulator of the next iteration.
                let last = self
                    .plan
                    .drains
                    .iter()
                    .flatten()
                    .all(|other| other.column != inverse.column || other.order <= inverse.order);
                let order = if last { 0 } else { inverse.order + 1 };
                let before = if inverse.order == 0 { self.number } else { self.number + 1 };
                let old = self.accumulator(assignment, before, inverse.order, inverse.column, span, Order::Stream);
                let new = self.accumulator(assignment, self.number + 1, order, inverse.column, late, Order::Stream);
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
    /// The key of the iteration, a stripe on each of its channels.
    fn load_key(&self, start: i64, buffer: u64, channels: &[Resource], events: &mut ScheduleBuilder) {
        let s = self.steps;
        let (sent, arrival) = ((0, s.key - 1), (s.key_latency, s.key_latency + s.key - 1));
        for (&channel, index) in channels.iter().zip(0..) {
            let pieces = self.layout.key_stripe(buffer, index, channels.len() as u64);
            let bytes = pieces.iter().map(|piece| piece.bytes).sum();
            if bytes == 0 {
                continue;
            }
            let key = |piece: &KeyPiece| self.key(key_index(piece.row, piece.column));
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
    /// Events of a whole rotation whose dispatch is at cycle `start` of the open repeat: the same for all groups of as many
    /// ciphertexts that the XPUs meet in the same state.
    pub(super) fn rotation(&mut self, place: &GroupPlace<'_>, operation: u32, rotation: &Rc<Rotation>, start: i64) {
        let key = (Rc::as_ptr(rotation), place.half, place.group.count);
        let body = match self.rotations.get(&key) {
            Some(body) => Arc::clone(body),
            None => {
                let first = Group { number: 0, ..place.group.clone() };
                let first = GroupPlace { group: &first, half: place.half };
                let plan = self.streams.plan(operation);
                let body = self.body(|emitter| emitter.iterations(&first, plan, rotation));
                self.rotations.insert(key, Arc::clone(&body));
                body
            }
        };
        let origin = Shift { ciphertext: place.group.number.into(), iteration: 0, operation: operation.into() };
        self.builder.once(start, origin, body);
    }

    /// Events of a rotation relative to its dispatch, of ciphertexts from 0 on in operation 0.
    fn iterations(&mut self, place: &GroupPlace<'_>, plan: &IterationPlan, rotation: &Rotation) {
        let iterations = &rotation.iterations;
        for (number, times) in iterations.prologue.iter().enumerate() {
            self.iteration(place, plan, number, times, 0);
        }
        let mut number = iterations.prologue.len();
        if let Some(steady) = &iterations.steady {
            let [first, second] = &steady.pair;
            // Everything is given relative to the key's transfer, the earliest event of an iteration.
            let base = first.key;
            self.repeat(base, steady.rounds as u64, steady.period as u64, Shift::iterations(2), |emitter| {
                emitter.iteration(place, plan, number, first, -base);
                emitter.iteration(place, plan, number + 1, second, -base);
            });
            number += 2 * steady.rounds;
        }
        for times in &iterations.epilogue {
            self.iteration(place, plan, number, times, 0);
            number += 1;
        }
    }

    fn iteration(
        &mut self,
        place: &GroupPlace<'_>,
        plan: &IterationPlan,
        number: usize,
        times: &IterationTimes,
        start: i64,
    ) {
        let machine = self.machine;
        let layout = &self.streams.layout;
        let steps = &self.timeline.steps;
        let work = Iteration {
            chip: self.chip,
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

    /// The ciphertexts of a wave in their rows; the first row of each XPU reads its marks, if there are some.
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
                // Without merge-split the key passes once for each row of a pair: both see it at the pair's place.
                skew: if path.merge_split { row } else { row - in_pair } as i64,
                marks: marks.cloned().unwrap_or_default(),
            }
        };
        (0..place.wave_count(machine, wave)).map(at).collect()
    }

    /// The key for forward transform `f` to all rows, from `begin` on: one multicast for all that it reaches at a time.
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

    /// Forward transform `f` of all rows, from `begin` on: of the rows of an FFT unit together where it merges them.
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
