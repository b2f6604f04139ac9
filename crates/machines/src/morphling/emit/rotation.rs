//! Events of a blind rotation: the array's start times, for every row of every XPU with a ciphertext.

use super::resources::Row;
use super::{Emitter, GroupPlace};
use crate::morphling::array::{IterationTimes, KEY_HOP, Rotation as Times, WaveTimes};
use crate::morphling::layout::{KeyPiece, twiddle_bytes};
use crate::morphling::software::Group;
use crate::tfhe::cmux::{self, Datum, Pipeline, Round, Stage};
use crate::tfhe::iteration::IterationPlan;
use crate::tfhe::labels::{Labeler, Meaning, Rotation};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::steps::{Steps, one_by_one};
use crate::tfhe::transfers::{access, between};
use polyfabric_sim::schedule::{Access, ClassId, Emit, Event, KindId, OpRef, Order, Shift, Value};
use std::rc::Rc;
use std::sync::Arc;

/// One ciphertext on one row, in one iteration.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    row: &'a Row,
    plan: &'a IterationPlan,
    times: &'a WaveTimes,
    /// Byte offset of the resident accumulator in its bank.
    resident: u64,
    /// Cycle to which the times are relative, with the delay of the row's stream.
    start: i64,
    /// Additional delay from the VPE array on.
    skew: i64,
    /// Tokens that the first event reads.
    marks: &'a [Access],
}

/// A blind rotation with operation 0 and ciphertexts from 0 on, and its data path.
#[derive(Clone, Copy)]
struct Path<'a> {
    rotation: Rotation<'a>,
    plan: &'a IterationPlan,
    steps: &'a Steps,
}

/// The decomposer also rotates. A step has one forward transform, and one register for each product.
impl<'a> Pipeline for Emitter<'a> {
    type At<'r> = At<'r>;

    fn labels(&self) -> &Labeler {
        &self.places.labels
    }

    fn class(&self, datum: Datum) -> ClassId {
        let classes = &self.chip.classes;
        match datum {
            Datum::Accumulator { .. } | Datum::Rotated(_) | Datum::Partial(..) => classes.accumulator,
            Datum::Digits(_) => classes.digits,
            Datum::Spectrum(_) => classes.spectrum,
            Datum::Key(_) => classes.bootstrap_key,
            Datum::Running(..) | Datum::Sum(_) => classes.sum,
            Datum::Product(_) => classes.product,
        }
    }

    fn row(&self, round: &Round<'_, At<'_>>, stage: Stage, number: usize) -> cmux::Row {
        let (s, kinds, At { row, times, start, skew, .. }) = (&self.timeline.steps, &self.chip.kinds, round.at);
        let coefficients = self.streams.layout.sizes.ring_degree;
        let (resource, kind, at, cycles, latency, each, parts) = match stage {
            Stage::Rotate | Stage::Decompose => {
                let at = times.forwards[number].decomposition;
                (row.decomposition, kinds.decompose, at, s.polynomial, s.decomposition, coefficients, 1)
            }
            Stage::Forward => {
                (row.fft, kinds.forward, times.forwards[number].transform, s.polynomial, s.forward, coefficients / 2, 1)
            }
            Stage::Multiply => {
                let (at, products) =
                    (times.forwards[number].multiply + skew, round.steps.steps[number].key.len() as u64);
                (row.vpe, kinds.multiply, at, s.polynomial, s.multiply, coefficients / 2, products)
            }
            Stage::Inverse => {
                let at = times.inverses[number].transform + skew;
                (row.ifft, kinds.inverse, at, s.inverse, s.backward, coefficients / 2, 1)
            }
            Stage::Accumulate => {
                let at = times.inverses[number].accumulate + skew;
                (row.accumulator, kinds.accumulate, at, s.inverse, s.accumulate, coefficients, 1)
            }
        };
        cmux::Row { unit: (resource, kind), start: start + at, cycles, latency, work: each * parts, parts }
    }

    fn access(&self, round: &Round<'_, At<'_>>, stage: Stage, datum: Datum, value: Value) -> Access {
        let (layout, At { row, plan, times, resident, .. }) = (&self.streams.layout, round.at);
        let sizes = &layout.sizes;
        let accumulator = |polynomial: u32, later| {
            let half = (u64::from(round.iteration) + u64::from(later)) % layout.accumulators * sizes.accumulator;
            (row.bank, resident + half + u64::from(polynomial) * sizes.polynomial, sizes.polynomial)
        };
        let register = |column: u32, of: u8| {
            (row.poly_acc, (u64::from(column) * 2 + u64::from(of)) * sizes.spectrum, sizes.spectrum)
        };
        let (memory, offset, bytes) = match datum {
            Datum::Accumulator { polynomial, later } => accumulator(polynomial, later),
            Datum::Rotated(polynomial) => accumulator(polynomial, false),
            Datum::Partial(column, _) => accumulator(column, true),
            Datum::Digits(_) => (row.digits, 0, sizes.polynomial),
            Datum::Spectrum(_) => (row.spectrum, 0, sizes.spectrum),
            Datum::Key(step) => (row.key, 0, round.steps.steps[step].key.len() as u64 * sizes.spectrum),
            Datum::Running(step, product) => {
                let product = plan.forwards[step].products[product.unwrap_or(0)];
                register(product.column, times.registers[product.chain])
            }
            Datum::Sum(drain) => register(round.steps.drains[drain].inverses[0].column, times.inverses[drain].register),
            Datum::Product(_) => (row.product, 0, sizes.polynomial),
        };
        let order = match (stage, datum) {
            // The two registers alternate when the sum is complete.
            (Stage::Decompose, Datum::Accumulator { .. }) | (_, Datum::Sum(_)) => Order::Any,
            _ => Order::Stream,
        };
        let mut access = access(memory, offset, bytes, value, (0, 0), order);
        // The rotator has two pointers.
        access.bytes *= if stage == Stage::Decompose && order == Order::Any { 2 } else { 1 };
        access
    }

    fn others(&self, round: &Round<'_, At<'_>>, stage: Stage, number: usize) -> Vec<Access> {
        let (layout, s, At { row, resident, marks, .. }) = (&self.streams.layout, &self.timeline.steps, round.at);
        let sizes = &layout.sizes;
        let twiddles = |cycles: i64| {
            access(row.twiddles, 0, twiddle_bytes(sizes), self.places.twiddles(), (0, cycles - 1), Order::Any)
        };
        match stage {
            Stage::Decompose => {
                let lookup = round.ciphertext;
                let amounts = self.labels().value(self.chip.classes.rotations, [Meaning::Amounts { lookup }]);
                let at = resident + layout.accumulators * sizes.accumulator;
                let mut amounts = access(row.bank, at, sizes.rotations, amounts, (0, 0), Order::Any);
                amounts.bytes = COEFFICIENT_BYTES;
                std::iter::once(amounts).chain(marks.iter().copied().filter(|_| number == 0)).collect()
            }
            Stage::Forward => vec![twiddles(s.polynomial)],
            Stage::Inverse => vec![twiddles(s.inverse)],
            _ => Vec::new(),
        }
    }

    fn addends(&self) -> i64 {
        self.timeline.steps.multiply - 1
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
                let path = Path { rotation: Rotation { op: 0, first: 0, ..of }, plan, steps: &one_by_one(plan) };
                let body = self.body(|emitter| emitter.iterations(&first, path, rotation));
                self.rotations.insert(key, Arc::clone(&body));
                body
            }
        };
        let origin = Shift { ciphertext: place.group.number.into(), iteration: 0, operation: operation.into() };
        self.builder.once(start, origin, body);
    }

    /// Events of a rotation relative to its dispatch.
    fn iterations(&mut self, place: &GroupPlace<'_>, path: Path<'_>, rotation: &Times) {
        let iterations = &rotation.iterations;
        for (number, times) in (0..).zip(&iterations.prologue) {
            self.iteration(place, path, number, times, 0);
        }
        let mut number = iterations.prologue.len() as u32;
        if let Some(steady) = &iterations.steady {
            let [first, second] = &steady.pair;
            // The key's transfer is the earliest event of an iteration; all times are relative to it.
            let base = first.key;
            self.repeat(base, steady.rounds as u64, steady.period as u64, Shift::iterations(2), |emitter| {
                emitter.iteration(place, path, number, first, -base);
                emitter.iteration(place, path, number + 1, second, -base);
            });
            number += 2 * steady.rounds as u32;
        }
        for times in &iterations.epilogue {
            self.iteration(place, path, number, times, 0);
            number += 1;
        }
    }

    fn iteration(
        &mut self,
        place: &GroupPlace<'_>,
        path: Path<'_>,
        iteration: u32,
        times: &IterationTimes,
        start: i64,
    ) {
        let machine = self.machine;
        let buffer = u64::from(times.key_buffer);
        self.load_iteration_key(times.key + start, iteration, buffer);
        let waves = times.waves.len() as u64;
        let of_xpu = |xpu: u64| {
            let served = (0..waves).filter(move |&wave| xpu * machine.rows < place.wave_count(machine, wave));
            served.map(|wave| self.places.loaded(place, wave, xpu)).collect::<Vec<_>>()
        };
        let marks: Vec<Vec<Access>> = if iteration == 0 { (0..machine.xpus).map(of_xpu).collect() } else { Vec::new() };
        for (wave, times) in (0..).zip(&times.waves) {
            let marks: &[Vec<Access>] = if wave == 0 { &marks } else { &[] };
            let rounds = self.rounds(place, path, (iteration, wave), (times, start), marks);
            rounds.iter().for_each(|round| self.ciphertext(round));
            for step in 0..path.steps.steps.len() {
                // One multicast for the rows that read the key together, and one transform for those that share it.
                for together in rounds.chunk_by(|one, next| one.at.start == next.at.start) {
                    self.multicast(together, step, buffer);
                }
                for pair in rounds.chunk_by(|one, next| machine.path().merge_split && one.at.row.fft == next.at.row.fft)
                {
                    self.stage(pair, (Stage::Forward, step), &[Datum::Digits(step)], &[Datum::Spectrum(step)]);
                }
            }
        }
    }

    /// The ciphertexts of a wave on their rows; the first row of each XPU reads its tokens, if any.
    fn rounds<'r>(
        &self,
        place: &GroupPlace<'_>,
        path: Path<'r>,
        (iteration, wave): (u32, u64),
        (times, start): (&'r WaveTimes, i64),
        marks: &'r [Vec<Access>],
    ) -> Vec<Round<'r, At<'r>>>
    where
        'a: 'r,
    {
        let (machine, layout, chip, of_rows) = (self.machine, &self.streams.layout, self.chip, self.machine.path());
        let resident = (place.half * layout.waves + wave) * layout.resident_bytes;
        let at = |position: u64| {
            let (xpu, row) = (position / machine.rows, position % machine.rows);
            let in_pair = if of_rows.merge_split { 0 } else { row % of_rows.rows_per_fft };
            let marks = marks.get(xpu as usize).filter(|_| row == 0);
            let at = At {
                row: &chip.xpus[xpu as usize].rows[row as usize],
                plan: path.plan,
                times,
                resident,
                start: start + in_pair as i64 * self.timeline.steps.polynomial,
                // Without merge-split, the key passes once per row of a pair, so both rows see it with the pair's
                // delay.
                skew: (row - in_pair) as i64,
                marks: marks.map_or(&[], Vec::as_slice),
            };
            let ciphertext = place.ciphertext(machine, wave, position);
            Round { rotation: path.rotation, steps: path.steps, ciphertext, iteration, at }
        };
        let mut rounds: Vec<_> = (0..place.wave_count(machine, wave)).map(at).collect();
        // Rows with one delay stand together.
        rounds.sort_by_key(|round| round.at.start);
        rounds
    }

    /// All stages of a ciphertext but the forward transforms, which several share.
    fn ciphertext(&mut self, round: &Round<'_, At<'_>>) {
        let At { plan, .. } = round.at;
        let mut sums: Vec<Option<Datum>> = vec![None; plan.chains];
        for (step, forward) in plan.forwards.iter().enumerate() {
            let accumulator = Datum::Accumulator { polynomial: forward.polynomial, later: false };
            self.stage(&[*round], (Stage::Decompose, step), &[accumulator], &[Datum::Digits(step)]);
            let (mut reads, mut writes) = (vec![Datum::Spectrum(step), Datum::Key(step)], Vec::new());
            for (product, of) in forward.products.iter().enumerate() {
                let sum = Datum::Running(step, Some(product));
                reads.extend(sums[of.chain].replace(sum));
                writes.push(sum);
            }
            self.stage(&[*round], (Stage::Multiply, step), &reads, &writes);
            round.steps.drained(step).for_each(|(drain, _)| self.drain(round, drain));
        }
    }

    fn of_iteration(kind: KindId, body_op: u32, iteration: u32) -> OpRef {
        OpRef { kind, kernel_op: 0, body_op, ciphertext: Value::NONE, iteration }
    }

    /// Multicasts the key polynomials of a step from Private-A2 to the rows of `rounds`.
    fn multicast(&mut self, rounds: &[Round<'_, At<'_>>], step: usize, buffer: u64) {
        let (cycles, sizes, round) = (self.timeline.steps.polynomial, &self.streams.layout.sizes, &rounds[0]);
        let products = &round.steps.steps[step].key;
        let read = |&(row, column): &(u32, u32)| {
            let at = self.streams.layout.key_column(buffer, u64::from(column)) + u64::from(row) * sizes.spectrum;
            let key = self.key_polynomial(row, column, round.iteration);
            access(self.chip.private_a2, at, sizes.spectrum, key, (0, cycles - 1), Order::Any)
        };
        let on_wire = |round: &Round<'_, At<'_>>| {
            let key = self.key(round.steps, step, round.iteration);
            let access = self.access(round, Stage::Multiply, Datum::Key(step), key);
            between(access, (KEY_HOP - 1, KEY_HOP + cycles - 2))
        };
        let event = Event {
            resource: self.chip.multicast,
            start: round.at.times.forwards[step].multiply + round.at.start - KEY_HOP,
            occupancy: cycles as u32,
            work: sizes.ring_degree / 2 * products.len() as u64,
            parts: products.len() as u32,
            op: Self::of_iteration(self.chip.kinds.multicast, step as u32, round.iteration),
            reads: products.iter().map(read).collect(),
            writes: rounds.iter().map(on_wire).collect(),
        };
        self.builder.event(event);
    }

    fn key_polynomial(&self, row: u32, column: u32, iteration: u32) -> Value {
        self.labels().value(self.chip.classes.bootstrap_key, [Meaning::Key { row, column, iteration }])
    }

    /// Loads the key of an iteration, striped over its channels.
    fn load_iteration_key(&mut self, start: i64, iteration: u32, buffer: u64) {
        let (s, chip, channels) = (&self.timeline.steps, self.chip, self.machine.key_channels);
        let (sent, arrival) = ((0, s.key - 1), (s.key_latency, s.key_latency + s.key - 1));
        for (&resource, index) in chip.channels.iter().zip(0..channels) {
            let pieces = self.streams.layout.key_stripe(buffer, index, channels);
            let work = pieces.iter().map(|piece| piece.bytes).sum();
            if work == 0 {
                continue;
            }
            let key = |piece: &KeyPiece| self.key_polynomial(piece.row, piece.column, iteration);
            let read = |piece: &KeyPiece| access(chip.hbm, 0, piece.bytes, key(piece), sent, Order::Any);
            let write =
                |piece: &KeyPiece| access(chip.private_a2, piece.offset, piece.bytes, key(piece), arrival, Order::Any);
            let (reads, writes) = (pieces.iter().map(read).collect(), pieces.iter().map(write).collect());
            let op = Self::of_iteration(chip.kinds.key, Value::NONE, iteration);
            self.builder.event(Event { resource, start, occupancy: s.key as u32, work, parts: 1, op, reads, writes });
        }
    }
}
