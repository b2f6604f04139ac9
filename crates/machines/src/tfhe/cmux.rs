//! The events of a blind rotation's iteration in a pipeline of six stages, from the rotator to the accumulator.
//!
//! The stages are the rows of a table: each has its operands and results, and their meaning in the body. A machine states for each stage
//! and number which unit works, when and how long ([`Pipeline::row`]), and where the data are ([`Pipeline::access`]). For example, the
//! second step's digits pass the forward transform as `Forward`, 1, from `Digits(1)` to `Spectrum(1)`.

use super::iteration::Inverse;
use super::labels::{Labeler, Meaning, Rotation};
use super::steps::Steps;
use super::transfers::{access, between};
use polyfabric_program::tfhe::kernel::BodyValue;
use polyfabric_sim::schedule::{Access, ClassId, Emit, Event, KindId, MemoryId, OpRef, Order, Resource, Value};

/// Stages of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Rotate,
    Decompose,
    Forward,
    Multiply,
    Inverse,
    Accumulate,
}

/// A stage at work.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub unit: (Resource, KindId),
    pub start: i64,
    pub cycles: i64,
    /// Cycles from an element's first read to the first cycle in which the next stage reads its result.
    pub latency: i64,
    pub work: u64,
    pub parts: u64,
}

/// The operands and results of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datum {
    /// A polynomial of the accumulator, after the iteration if `later`.
    Accumulator { polynomial: u32, later: bool },
    /// The rotated polynomial, less the original.
    Rotated(u32),
    /// Of a step.
    Digits(usize),
    /// Transforms of a step's digits.
    Spectrum(usize),
    /// Of a step.
    Key(usize),
    /// Sums up to a step: of all columns, or of the column of one of the step's products.
    Running(usize, Option<usize>),
    /// Complete sums of a drain.
    Sum(usize),
    /// The same in the coefficient domain.
    Product(usize),
    /// A column's sum in the coefficient domain, and the number of its drains before the last one added.
    Partial(u32, usize),
}

/// One ciphertext in one iteration.
#[derive(Clone, Copy)]
pub struct Round<'a, A> {
    pub rotation: Rotation<'a>,
    pub steps: &'a Steps,
    pub ciphertext: u32,
    pub iteration: u32,
    /// Where and when it is in the machine.
    pub at: A,
}

/// The transfer of an iteration's key over several channels.
pub struct KeyTransfer<'a> {
    pub kind: KindId,
    pub channels: &'a [Resource],
    pub start: i64,
    pub cycles: i64,
    pub latency: i64,
    pub from: MemoryId,
    /// The buffer, and the key's place in it.
    pub to: (MemoryId, u64),
    /// Bytes of a polynomial of the key.
    pub polynomial: u64,
}

/// A machine's pipeline.
pub trait Pipeline: Emit {
    type At<'r>: Copy;

    fn labels(&self) -> &Labeler;

    /// The class of a datum's value.
    fn class(&self, datum: Datum) -> ClassId;

    fn row(&self, round: &Round<'_, Self::At<'_>>, stage: Stage, number: usize) -> Row;

    /// The access of a stage to a datum with this value, in any cycles.
    fn access(&self, round: &Round<'_, Self::At<'_>>, stage: Stage, datum: Datum, value: Value) -> Access;

    /// Further operands of a stage: the amount by which it rotates, twiddle factors, tokens.
    fn others(&self, round: &Round<'_, Self::At<'_>>, stage: Stage, number: usize) -> Vec<Access>;

    /// First cycle, within the event, in which the multipliers' adders read earlier sums.
    fn addends(&self) -> i64 {
        0
    }

    /// The value of a datum.
    fn value(&self, round: &Round<'_, Self::At<'_>>, datum: Datum) -> Value {
        let Round { rotation, steps, iteration, .. } = *round;
        let class = self.class(datum);
        let body = |values: &mut dyn Iterator<Item = BodyValue>, iteration| {
            let lookup = rotation.first + round.ciphertext;
            self.labels().value(class, values.map(|value| Meaning::Body { value, lookup, iteration }))
        };
        let operations = |step: usize| steps.steps[step].rows.iter().map(|row| row.operation);
        let inverses = |drain: usize| steps.drains[drain].inverses.iter().map(|inverse| inverse.operation);
        match datum {
            Datum::Accumulator { polynomial, later } => {
                body(&mut [BodyValue(polynomial)].into_iter(), iteration + u32::from(later))
            }
            Datum::Rotated(polynomial) => {
                let mut rows = steps.steps.iter().flat_map(|step| &step.rows);
                let row = rows.find(|row| row.polynomial == polynomial);
                body(&mut row.map(|row| rotation.rotated(row.operation)).into_iter(), iteration)
            }
            Datum::Digits(step) => body(&mut operations(step).map(|op| rotation.digits(op)), iteration),
            Datum::Spectrum(step) => body(&mut operations(step).map(|op| rotation.result(op)), iteration),
            Datum::Key(step) => self.key(steps, step, iteration),
            Datum::Running(step, None) => {
                let last = steps.steps[step].rows.last().map_or(0, |row| row.row);
                body(&mut (0..steps.polynomials).map(|column| rotation.product(last, column)), iteration)
            }
            Datum::Running(step, Some(product)) => {
                let (row, column) = steps.steps[step].key[product];
                body(&mut [rotation.product(row, column)].into_iter(), iteration)
            }
            Datum::Sum(drain) => body(&mut inverses(drain).map(|op| rotation.sum(op)), iteration),
            Datum::Product(drain) => body(&mut inverses(drain).map(|op| rotation.result(op)), iteration),
            Datum::Partial(column, order) => {
                let of_column = steps.drains.iter().flat_map(|drain| &drain.inverses);
                let inverse = of_column.filter(|inverse| inverse.column == column).nth(order);
                body(&mut inverse.map(|inverse| rotation.added(inverse.operation)).into_iter(), iteration)
            }
        }
    }

    /// The key of a step.
    fn key(&self, steps: &Steps, step: usize, iteration: u32) -> Value {
        let keys = steps.steps[step].key.iter().map(|&(row, column)| Meaning::Key { row, column, iteration });
        self.labels().value(self.class(Datum::Key(step)), keys)
    }

    /// Emits a stage that reads and writes these data of ciphertexts that pass it together. A datum on a wire passes at its writer's pace.
    fn stage(
        &mut self,
        rounds: &[Round<'_, Self::At<'_>>],
        (stage, number): (Stage, usize),
        reads: &[Datum],
        writes: &[Datum],
    ) {
        let round = &rounds[0];
        let Row { unit: (resource, kind), start, cycles, latency, work, parts } = self.row(round, stage, number);
        let span = |datum| match datum {
            Datum::Running(..) => (self.addends(), self.addends() + cycles - 1),
            Datum::Product(drain) => (0, self.row(round, Stage::Inverse, drain).cycles - 1),
            _ => (0, cycles - 1),
        };
        let each = |data: &[Datum], span: &dyn Fn(Datum) -> (i64, i64)| {
            let access =
                |round, datum| between(self.access(round, stage, datum, self.value(round, datum)), span(datum));
            let all = rounds.iter().flat_map(|round| data.iter().map(move |&datum| (round, datum)));
            all.map(|(round, datum)| access(round, datum)).collect::<Vec<Access>>()
        };
        let (mut reads, writes) = (each(reads, &span), each(writes, &|_| (latency - 1, latency + cycles - 2)));
        reads.extend(self.others(round, stage, number));
        let (kernel_op, ciphertext, iteration) = (round.rotation.op, round.ciphertext, round.iteration);
        let op = OpRef { kind, kernel_op, body_op: number as u32, ciphertext, iteration };
        let together = rounds.len() as u64;
        let (occupancy, work, parts) = (cycles as u32, work * together, (parts * together) as u32);
        self.builder().event(Event { resource, start, occupancy, work, parts, op, reads, writes });
    }

    /// The access to a polynomial of the accumulator between two cycles, in order.
    fn accumulator(
        &self,
        round: &Round<'_, Self::At<'_>>,
        (polynomial, later): (u32, bool),
        span: (i64, i64),
    ) -> Access {
        let datum = Datum::Accumulator { polynomial, later };
        between(self.access(round, Stage::Accumulate, datum, self.value(round, datum)), span)
    }

    /// Rotates polynomials of the accumulator.
    fn rotate(
        &mut self,
        round: &Round<'_, Self::At<'_>>,
        number: usize,
        polynomials: impl Iterator<Item = u32> + Clone,
    ) {
        let accumulator = |polynomial| Datum::Accumulator { polynomial, later: false };
        let reads: Vec<Datum> = polynomials.clone().map(accumulator).collect();
        let writes: Vec<Datum> = polynomials.map(Datum::Rotated).collect();
        self.stage(&[*round], (Stage::Rotate, number), &reads, &writes);
    }

    /// Passes a step from the decomposer to the adders; `sums` is whether these continue the sums of the step before.
    fn pass(&mut self, round: &Round<'_, Self::At<'_>>, step: usize, sums: bool) {
        let rotated: Vec<Datum> = round.steps.steps[step].polynomials().into_iter().map(Datum::Rotated).collect();
        self.stage(&[*round], (Stage::Decompose, step), &rotated, &[Datum::Digits(step)]);
        self.stage(&[*round], (Stage::Forward, step), &[Datum::Digits(step)], &[Datum::Spectrum(step)]);
        let mut reads = vec![Datum::Spectrum(step), Datum::Key(step)];
        reads.extend(step.checked_sub(1).filter(|_| sums).map(|before| Datum::Running(before, None)));
        let mut writes: Vec<Datum> = round.steps.drained(step).map(|(drain, _)| Datum::Sum(drain)).collect();
        if writes.is_empty() {
            writes.push(Datum::Running(step, None));
        }
        self.stage(&[*round], (Stage::Multiply, step), &reads, &writes);
    }

    /// Passes complete sums to the accumulator.
    fn drain(&mut self, round: &Round<'_, Self::At<'_>>, drain: usize) {
        self.stage(&[*round], (Stage::Inverse, drain), &[Datum::Sum(drain)], &[Datum::Product(drain)]);
        let (mut reads, mut writes) = (vec![Datum::Product(drain)], Vec::new());
        for &Inverse { column: polynomial, .. } in &round.steps.drains[drain].inverses {
            let (last, order) = round.steps.order(drain, polynomial);
            // The first addend is the old accumulator.
            reads.push(match order.checked_sub(1) {
                None => Datum::Accumulator { polynomial, later: false },
                Some(before) => Datum::Partial(polynomial, before),
            });
            writes.push(match last {
                true => Datum::Accumulator { polynomial, later: true },
                false => Datum::Partial(polynomial, order),
            });
        }
        self.stage(&[*round], (Stage::Accumulate, drain), &reads, &writes);
    }

    /// Loads the key of an iteration, striped over the channels.
    fn load_key(&mut self, kernel_op: u32, steps: &Steps, iteration: u32, transfer: &KeyTransfer<'_>) {
        let &KeyTransfer { kind, channels, start, cycles, latency, from: memory, to: (buffer, at), polynomial } =
            transfer;
        let bytes = |step: usize| steps.steps[step].key.len() as u64 * polynomial;
        let total: u64 = (0..steps.steps.len()).map(bytes).sum();
        let stripe = total.div_ceil(channels.len() as u64);
        for (channel, &resource) in (0..).zip(channels) {
            let (from, to) = (channel * stripe, ((channel + 1) * stripe).min(total));
            let (mut reads, mut writes, mut first) = (Vec::new(), Vec::new(), 0);
            for step in 0..steps.steps.len() {
                let past = first + bytes(step);
                let (begin, end) = (from.max(first), to.min(past));
                if begin < end {
                    let (key, bytes) = (self.key(steps, step, iteration), end - begin);
                    let arrives = (latency, latency + cycles - 1);
                    reads.push(access(memory, 0, bytes, key, (0, cycles - 1), Order::Any));
                    writes.push(access(buffer, at + begin, bytes, key, arrives, Order::Any));
                }
                first = past;
            }
            if !reads.is_empty() {
                let op = OpRef { kind, kernel_op, body_op: Value::NONE, ciphertext: Value::NONE, iteration };
                let (occupancy, work) = (cycles as u32, to - from);
                self.builder().event(Event { resource, start, occupancy, work, parts: 1, op, reads, writes });
            }
        }
    }
}
