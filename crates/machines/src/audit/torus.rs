//! The audit of programs on torus polynomials.

mod operands;
mod size;

use super::AuditError;
use super::fingerprint::{Fingerprint, Rounds};
use crate::engine::schedule::{Access, Event, Item, KindId, MemoryKind, Repeat, Resources, Schedule, Shift, Value};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{
    Body, BodyType, BodyValue, KernelProgram, OpKind, Primitive, ValueId, ValueType,
};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// What a value of a schedule stands for, in the words of the kernel program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Datum {
    /// Item `element` of the LWE value that operation `op` defines: an operation that computes, or an input.
    Lwe {
        /// Operation.
        op: u32,
        /// Item.
        element: u32,
    },
    /// Rotation amounts of item `element` of blind rotation `op`.
    Amounts {
        /// The blind rotation.
        op: u32,
        /// Item.
        element: u32,
    },
    /// A value of the body of blind rotation `op`. A carried one of iteration i is the yield of iteration i - 1.
    Body {
        /// The blind rotation.
        op: u32,
        /// Value of its body.
        value: BodyValue,
        /// Item.
        element: u32,
        /// Iteration.
        iteration: u32,
    },
    /// A polynomial of the bootstrapping key.
    Key {
        /// Iteration.
        iteration: u32,
        /// Row of the GGSW ciphertext.
        row: u32,
        /// Column of the GGSW ciphertext.
        column: u32,
    },
    /// Test polynomial.
    Table {
        /// Index in the program.
        index: u32,
    },
    /// Twiddle factors of a ring.
    Twiddles {
        /// Its degree N.
        ring_degree: u32,
    },
    /// The key-switch key's ciphertexts for mask elements `from .. to`.
    SwitchKey {
        /// First mask element.
        from: u32,
        /// The one after the last.
        to: u32,
    },
    /// Item `element` of key switch `op` after its first `done` mask elements.
    SwitchSum {
        /// The key switch.
        op: u32,
        /// Item.
        element: u32,
        /// Mask elements that it has taken; not all of them.
        done: u32,
    },
    /// Row `row` of linear layer `op` after its first `done` columns.
    LinearSum {
        /// The linear layer.
        op: u32,
        /// Row.
        row: u32,
        /// Columns that it has taken, at least.
        done: u32,
    },
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Lwe { op, element } => write!(f, "ciphertext {element} of operation %{op}"),
            Self::Amounts { op, element } => write!(f, "rotation amounts of ciphertext {element} of %{op}"),
            Self::Body { op, value, element, iteration } => {
                write!(f, "value {} of iteration {iteration} of ciphertext {element} of %{op}", value.index())
            }
            Self::Key { iteration, row, column } => {
                write!(f, "bootstrapping key {iteration}, row {row}, column {column}")
            }
            Self::Table { index } => write!(f, "test polynomial {index}"),
            Self::Twiddles { ring_degree } => write!(f, "twiddle factors of the ring of degree {ring_degree}"),
            Self::SwitchKey { from, to } => write!(f, "key-switch key of mask elements {from} to {to}"),
            Self::SwitchSum { op, element, done } => {
                write!(f, "ciphertext {element} of %{op} after {done} mask elements")
            }
            Self::LinearSum { op, row, done } => write!(f, "row {row} of %{op} after {done} columns"),
        }
    }
}

/// A primitive operation, whatever its row or level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Rotation by an amount of the ciphertext.
    Rotate,
    /// Difference of two polynomials.
    Subtract,
    /// Digits of one gadget level.
    Digit,
    /// Digits to the transform domain.
    ForwardTransform,
    /// Product with a key polynomial, added to others in the transform domain or not.
    Multiply,
    /// Back to torus coefficients.
    InverseTransform,
    /// Sum of two polynomials.
    Add,
    /// Any other: no machine has it yet.
    Other,
}

impl Step {
    fn of(primitive: Primitive) -> Self {
        match primitive {
            Primitive::Rotate => Self::Rotate,
            Primitive::Subtract => Self::Subtract,
            Primitive::Digit { .. } => Self::Digit,
            Primitive::ForwardTransform => Self::ForwardTransform,
            Primitive::Multiply { .. } | Primitive::MultiplyAccumulate { .. } => Self::Multiply,
            Primitive::InverseTransform => Self::InverseTransform,
            Primitive::Add => Self::Add,
            _ => Self::Other,
        }
    }
}

/// What operations of one kind may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Move values: what is written was read. Work counts elements of so many bytes that are read; of a channel, bytes.
    Move {
        /// Bytes of an element.
        element_bytes: u64,
    },
    /// Steps of a blind rotation's body.
    Body(&'static [Step]),
    /// The accumulators before the first iteration, from test polynomials and rotation amounts; the amounts move on with them. Work
    /// counts bytes that are written.
    Initialise,
    /// Ciphertexts to rotation amounts.
    ModulusSwitch,
    /// Accumulators after the last iteration to ciphertexts.
    SampleExtract,
    /// Key switches, or parts of them.
    KeySwitch,
    /// Linear layers, or parts of them.
    Linear,
}

/// What a mapper's names mean.
pub trait Meaning {
    /// What operations of `kind` may do.
    fn function(&self, kind: KindId) -> Function;

    /// What operations of `kind` read beside the program's operands: constants that reach their unit by the schedule.
    fn constant(&self, _kind: KindId) -> Option<Datum> {
        None
    }

    /// What `value` stands for: several data where it holds several; none for a token, which orders events and holds nothing.
    fn data(&self, value: Value) -> Vec<Datum>;
}

/// Holds `schedule` against `program`.
///
/// # Errors
/// The first [`AuditError`].
pub fn audit(program: &KernelProgram, schedule: &Schedule, meaning: &dyn Meaning) -> Result<(), AuditError> {
    let mut audit = Audit {
        program,
        resources: &schedule.resources,
        meaning,
        in_loops: HashMap::new(),
        computed: HashMap::new(),
        work: HashMap::new(),
        stored: HashSet::new(),
    };
    audit.items(&schedule.items, &mut Vec::new(), Rounds::ONE)?;
    audit.finish()
}

struct Audit<'a> {
    program: &'a KernelProgram,
    resources: &'a Resources,
    meaning: &'a dyn Meaning,
    /// Values of bodies, by operation and value: which ciphertexts and iterations have been computed.
    in_loops: HashMap<(u32, BodyValue), Fingerprint>,
    /// Everything else that has been computed but sums on the way, and how often.
    computed: HashMap<Datum, u32>,
    /// By operation and item, the work of all parts of a key switch or a row.
    work: HashMap<(u32, u32), u64>,
    /// Ciphertexts that have reached off-chip memory, each whole.
    stored: HashSet<Datum>,
}

/// One event with its numbers moved on.
struct Read<'a> {
    event: &'a Event,
    shift: Shift,
    /// What is read, in order: mostly a handful, which costs less than a table.
    data: Vec<Datum>,
}

impl Read<'_> {
    fn has(&self, datum: &Datum) -> bool {
        self.data.binary_search(datum).is_ok()
    }
}

impl<'a> Audit<'a> {
    fn items(&mut self, items: &'a [Item], loops: &mut Vec<&'a Repeat>, rounds: Rounds) -> Result<(), AuditError> {
        for item in items {
            match item {
                Item::Event(event) => self.event(event, loops, rounds)?,
                Item::Repeat(repeat) => {
                    loops.push(repeat);
                    self.items(&repeat.body, loops, rounds.of(repeat))?;
                    loops.pop();
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &'a Event, loops: &[&'a Repeat], rounds: Rounds) -> Result<(), AuditError> {
        // Numbers of the first round of all loops.
        let first = loops.iter().fold(Shift::default(), |shift, repeat| repeat.shift_of(shift, 0));
        let moves = matches!(self.meaning.function(event.op.kind), Function::Move { .. });
        let inner = matches!(self.meaning.function(event.op.kind), Function::Body(_));
        if inner || moves && !self.leaves_chip(event) {
            // Every round moves all numbers on alike: what holds in the first and in the next of each loop holds in all.
            self.hold(event, first)?;
            for repeat in loops.iter().filter(|repeat| repeat.count > 1) {
                self.hold(event, first.advanced(repeat.shift, 1))?;
            }
            if inner {
                let results = event.writes.iter().flat_map(|write| self.meaning.data(write.value.shifted(first)));
                for datum in results {
                    if let Datum::Body { op, value, element, iteration } = datum {
                        let seen = Fingerprint::of(element, iteration, rounds);
                        self.in_loops.entry((op, value)).or_default().add(seen);
                    }
                }
            }
            return Ok(());
        }
        self.every_round(event, loops, Shift::default())
    }

    fn leaves_chip(&self, event: &Event) -> bool {
        event.writes.iter().any(|write| self.is_off_chip(write))
    }

    fn is_off_chip(&self, access: &Access) -> bool {
        matches!(self.resources.memories[usize::from(access.place.memory.0)].kind, MemoryKind::OffChip)
    }

    /// Holds that what lies off the chip from the start, and is read there without anybody having written it, is nothing that the program computes.
    fn given(&self, read: &Read<'_>) -> Result<(), AuditError> {
        let input = |access: &&Access| self.resources.value_classes[usize::from(access.value.class.0)].input;
        let accesses = read.event.reads.iter().chain(&read.event.writes);
        for access in accesses.filter(|access| self.is_off_chip(access)).filter(input) {
            for datum in self.meaning.data(access.value.shifted(read.shift)) {
                let given = match datum {
                    Datum::Lwe { op, .. } => matches!(self.op(op), Some(OpKind::Input { .. })),
                    Datum::Key { .. } | Datum::Table { .. } | Datum::SwitchKey { .. } | Datum::Twiddles { .. } => true,
                    _ => false,
                };
                if !given {
                    return Err(AuditError::Given { event: self.name(read), what: datum.to_string() });
                }
            }
        }
        Ok(())
    }

    /// An event whose operands the program lists: each round is looked up, but for those of one sum.
    fn every_round(&mut self, event: &'a Event, loops: &[&'a Repeat], shift: Shift) -> Result<(), AuditError> {
        let Some((repeat, inner)) = loops.split_first() else {
            let results = self.hold(event, shift)?;
            self.record(event, results, 1);
            return Ok(());
        };
        // Rounds that move iterations on and nothing else go on with the sums of the same ciphertexts, so what they need of the
        // program is the same, and the rest moves on alike: what holds in the first and in the next holds in all.
        if inner.is_empty() && repeat.shift == Shift::iterations(repeat.shift.iteration) && repeat.count > 1 {
            let first = self.hold(event, repeat.shift_of(shift, 0))?;
            let next = self.hold(event, repeat.shift_of(shift, 1))?;
            let parts = first.iter().all(|part| of_sum(part).is_some_and(|(.., work)| work > 0));
            if parts && first.iter().map(of_sum).eq(next.iter().map(of_sum)) {
                self.record(event, first, repeat.count);
                return Ok(());
            }
        }
        for round in 0..repeat.count {
            self.every_round(event, inner, repeat.shift_of(shift, round))?;
        }
        Ok(())
    }

    /// Books what an event computes or stores in `times` rounds.
    fn record(&mut self, event: &Event, results: Vec<(Datum, u64)>, times: u64) {
        let stored = self.leaves_chip(event);
        for (datum, work) in results {
            if stored {
                self.stored.insert(datum);
                continue;
            }
            match datum {
                Datum::SwitchSum { op, element, .. } | Datum::LinearSum { op, row: element, .. } if work > 0 => {
                    *self.work.entry((op, element)).or_default() += work * times;
                    continue;
                }
                Datum::Lwe { op, element } => *self.work.entry((op, element)).or_default() += work,
                _ => {}
            }
            *self.computed.entry(datum).or_default() += 1;
        }
    }

    /// Holds one event against the program; what it computes, with the work of each, or stores.
    fn hold(&self, event: &Event, shift: Shift) -> Result<Vec<(Datum, u64)>, AuditError> {
        cancel::check();
        let data = |value: Value| self.meaning.data(value.shifted(shift));
        let mut data_read: Vec<Datum> = event.reads.iter().flat_map(|read| data(read.value)).collect();
        data_read.sort_unstable();
        let read = Read { event, shift, data: data_read };
        let function = self.meaning.function(event.op.kind);
        let written: Vec<Datum> = event.writes.iter().flat_map(|write| data(write.value)).collect();
        let (mut needed, mut results) = (0, Vec::new());
        if let (Some(constant), Some(&result)) = (self.meaning.constant(event.op.kind), written.first()) {
            self.need(&read, result, constant)?;
        }
        self.given(&read)?;
        for &datum in &written {
            match function {
                Function::Move { .. } => results.push((datum, 0)),
                Function::Initialise if read.has(&datum) => {}
                _ => {
                    let work = self.computed_by(&read, function, datum)?;
                    needed += work;
                    results.push((datum, work));
                }
            }
        }
        self.own_operands(&read, function, &written)?;
        self.sized(&read, function)?;
        let bytes = |accesses: &[Access]| -> u64 {
            let holds = accesses.iter().filter(|access| !data(access.value).is_empty());
            holds.map(|access| access.bytes).sum()
        };
        match function {
            Function::Move { .. } if self.resources.as_channel(event.resource).is_some() => {
                // Of bytes off the chip the checker knows; a channel between memories on it moves what it reads all the same.
                let needed = bytes(&event.reads);
                return match event.work < needed {
                    true => Err(AuditError::Work { event: self.name(&read), given: event.work, needed }),
                    false => Ok(results),
                };
            }
            Function::Move { element_bytes } => needed = bytes(&event.reads) / element_bytes,
            Function::Initialise => needed = bytes(&event.writes),
            _ => {}
        }
        // Nothing but tokens passes an event that only orders others.
        // A row of a linear layer starts from its bias: with a pass of its own, or in that of its first term.
        let passes = match function {
            Function::Linear => needed + written.iter().map(|&datum| self.row_elements(datum)).sum::<u64>(),
            _ => needed,
        };
        if !(needed..=passes).contains(&event.work) && !written.is_empty() {
            return Err(AuditError::Work { event: self.name(&read), given: event.work, needed });
        }
        Ok(results)
    }

    /// Elements of a ciphertext of a linear layer.
    fn row_elements(&self, datum: Datum) -> u64 {
        match datum {
            Datum::Lwe { op, .. } | Datum::LinearSum { op, .. } => {
                match self.program.ops.get(op as usize).map(|op| op.result) {
                    Some(ValueType::Lwe { dimension, .. }) => dimension as u64 + 1,
                    _ => 0,
                }
            }
            _ => 0,
        }
    }

    fn name(&self, read: &Read<'_>) -> String {
        let kind = self.resources.kinds.get(read.event.op.kind.0 as usize).map_or("?", |kind| &kind.name);
        let op = read.event.op.shifted(read.shift);
        let number = |name: &str, number: u32| match number {
            Value::NONE => String::new(),
            number => format!(", {name} {number}"),
        };
        format!(
            "{kind} on {} (operation %{}{}{})",
            self.resources.name(read.event.resource),
            op.kernel_op,
            number("ciphertext", op.ciphertext),
            number("iteration", op.iteration)
        )
    }

    fn missing(&self, read: &Read<'_>, result: Datum, missing: impl fmt::Display) -> AuditError {
        AuditError::Operand { event: self.name(read), result: result.to_string(), missing: missing.to_string() }
    }

    fn need(&self, read: &Read<'_>, result: Datum, datum: Datum) -> Result<(), AuditError> {
        match read.has(&datum) {
            true => Ok(()),
            false => Err(self.missing(read, result, datum)),
        }
    }

    /// Work of a result that the event computes.
    fn computed_by(&self, read: &Read<'_>, function: Function, result: Datum) -> Result<u64, AuditError> {
        let other = || AuditError::Step {
            event: self.name(read),
            result: result.to_string(),
            kind: self
                .resources
                .kinds
                .get(read.event.op.kind.0 as usize)
                .map_or_else(String::new, |kind| kind.name.clone()),
            step: "another operation of the program".to_owned(),
        };
        match (function, result) {
            (Function::Body(steps), Datum::Body { op, value, element, iteration }) => {
                let body = self.body(op).ok_or_else(other)?;
                // A carried value is what the iteration before it yields.
                let (value, iteration) = match body.yields.get(value.index()) {
                    Some(&yielded) if iteration > 0 => (yielded, iteration - 1),
                    Some(_) => return Err(other()),
                    None => (value, iteration),
                };
                if value.index() >= body.carried as usize + body.ops.len() {
                    return Err(other());
                }
                let place = Iteration { op, element, iteration, body, steps, result };
                let products = self.follow(read, &place, value)?;
                Ok(self.size(body, value) * products.max(1))
            }
            (Function::Initialise, Datum::Body { op, element, iteration: 0, .. }) => {
                let OpKind::BlindRotation { tables, .. } = self.op(op).ok_or_else(other)? else { return Err(other()) };
                let count = self.program.ops[op as usize].result.count();
                if element as usize >= count {
                    return Err(self.missing(read, result, format_args!("ciphertext {element} of {count}")));
                }
                self.need(read, result, Datum::Table { index: tables.get(element as usize) as u32 })?;
                self.need(read, result, Datum::Amounts { op, element })?;
                Ok(0)
            }
            (Function::ModulusSwitch, Datum::Amounts { op, element }) => {
                let amounts = self.operand(op, element).ok_or_else(other)?;
                if self.op(amounts.0) != Some(&OpKind::PLAIN_SWITCH) {
                    return Err(other());
                }
                self.need(read, result, self.source(result).ok_or_else(other)?)?;
                Ok(self.small() + 1)
            }
            (Function::SampleExtract, Datum::Lwe { op, element }) => {
                if self.op(op) != Some(&OpKind::PLAIN_EXTRACT) {
                    return Err(other());
                }
                let (rotation, item) = self.operand(op, element).ok_or_else(other)?;
                let body = self.body(rotation).ok_or_else(other)?;
                for polynomial in 0..body.carried {
                    let (value, iteration) = (BodyValue(polynomial), body.iterations as u32);
                    self.need(read, result, Datum::Body { op: rotation, value, element: item, iteration })?;
                }
                Ok(self.large() + 1)
            }
            (Function::KeySwitch, Datum::SwitchSum { op, element, done }) => {
                self.switched(read, result, op, element, done)
            }
            (Function::KeySwitch, Datum::Lwe { op, element }) => {
                self.switched(read, result, op, element, self.large() as u32)
            }
            (Function::Linear, Datum::LinearSum { op, row, done }) => self.summed(read, result, op, row, done),
            (Function::Linear, Datum::Lwe { op, element }) => self.summed(read, result, op, element, u32::MAX),
            _ => Err(other()),
        }
    }

    /// A key switch from the last sum that is read, over the key that is, to `done` mask elements; its work.
    fn switched(&self, read: &Read<'_>, result: Datum, op: u32, element: u32, done: u32) -> Result<u64, AuditError> {
        let Some(OpKind::KeySwitch { body }) = self.op(op) else {
            return Err(self.missing(read, result, format_args!("a key switch %{op}")));
        };
        let source = self.source(result).ok_or_else(|| self.missing(read, result, "an operand of the program"))?;
        self.need(read, result, source)?;
        let key = read.data.iter().find_map(|datum| match *datum {
            Datum::SwitchKey { from, to } if to == done && from < to => Some(from),
            _ => None,
        });
        let from =
            key.ok_or_else(|| self.missing(read, result, format_args!("key-switch key up to mask element {done}")))?;
        if from > 0 {
            self.need(read, result, Datum::SwitchSum { op, element, done: from })?;
        }
        Ok(self.switch_work(body, u64::from(done - from)))
    }

    /// Work of a key switch over so many mask elements.
    fn switch_work(&self, body: &Body, elements: u64) -> u64 {
        let digits = body.ops.iter().filter(|op| matches!(op.primitive, Primitive::MaskDigit { .. })).count() as u64;
        let products = elements * digits;
        products + products * (self.small() + 1)
    }

    /// A row of a linear layer from the furthest sum that is read to `done` columns; its work.
    fn summed(&self, read: &Read<'_>, result: Datum, op: u32, row: u32, done: u32) -> Result<u64, AuditError> {
        let Some(OpKind::Linear { matrix, .. }) = self.op(op).filter(|_| self.holds(op, row)) else {
            return Err(self.missing(read, result, format_args!("row {row} of a linear layer %{op}")));
        };
        let (columns, _) = matrix.row_slices(row as usize);
        let sums = read.data.iter().filter_map(|datum| match *datum {
            Datum::LinearSum { op: of, row: other, done: before } if (of, other) == (op, row) && before < done => {
                Some(before)
            }
            _ => None,
        });
        let from = sums.max().unwrap_or(0);
        // Columns increase within a row.
        let before = |end: u32| columns.partition_point(|&column| column < end);
        let terms = columns.get(before(from)..before(done)).unwrap_or_default();
        let source = |&column| match self.operand(op, column) {
            Some((op, element)) => Ok(Datum::Lwe { op, element }),
            None => Err(self.missing(read, result, format_args!("column {column}"))),
        };
        let sources: Result<Vec<Datum>, AuditError> = terms.iter().map(source).collect();
        self.each_of(read, result, sources?)?;
        Ok(terms.len() as u64 * self.row_elements(result))
    }

    /// Whether `value` follows from what is read, by steps that the unit does; how many products with the key that takes.
    fn follow(&self, read: &Read<'_>, place: &Iteration<'_>, value: BodyValue) -> Result<u64, AuditError> {
        let &Iteration { op, element, iteration, body, steps, result } = place;
        if read.has(&Datum::Body { op, value, element, iteration }) {
            return Ok(0);
        }
        let missing = Datum::Body { op, value, element, iteration };
        let Some(index) = value.index().checked_sub(body.carried as usize) else {
            return Err(self.missing(read, result, missing));
        };
        let computed = &body.ops[index];
        let step = Step::of(computed.primitive);
        if !steps.contains(&step) {
            // A unit that only multiplies is not asked why it does not transform: it has not been given the spectrum.
            return Err(if value_is_result(place, value) {
                AuditError::Step {
                    event: self.name(read),
                    result: result.to_string(),
                    kind: self.resources.kinds[read.event.op.kind.0 as usize].name.clone(),
                    step: format!("{step:?}"),
                }
            } else {
                self.missing(read, result, missing)
            });
        }
        let mut products = 0;
        for &operand in &computed.operands {
            products += self.follow(read, place, operand)?;
        }
        match computed.primitive {
            Primitive::Rotate => self.need(read, result, Datum::Amounts { op, element })?,
            Primitive::Multiply { row, column } | Primitive::MultiplyAccumulate { row, column } => {
                self.need(read, result, Datum::Key { iteration, row, column })?;
                products += 1;
            }
            _ => {}
        }
        Ok(products)
    }

    /// Elements that a unit takes up to make a value of a body: coefficients, or points of the folded transform.
    fn size(&self, body: &Body, value: BodyValue) -> u64 {
        let degree = self.program.parameters.ring_degree().get() as u64;
        let op = value.index().checked_sub(body.carried as usize).map(|index| body.ops[index].primitive);
        match (op, body.value_type(value)) {
            (Some(Primitive::InverseTransform), _) | (_, BodyType::Spectrum | BodyType::Product) => degree / 2,
            _ => degree,
        }
    }

    fn small(&self) -> u64 {
        self.program.parameters.lwe_dimension().get() as u64
    }

    fn large(&self) -> u64 {
        self.program.parameters.large_lwe_dimension().get() as u64
    }

    fn op(&self, op: u32) -> Option<&'a OpKind> {
        self.program.ops.get(op as usize).map(|op| &op.kind)
    }

    fn holds(&self, op: u32, element: u32) -> bool {
        self.program.ops.get(op as usize).is_some_and(|op| (element as usize) < op.result.count())
    }

    fn body(&self, op: u32) -> Option<&'a Body> {
        match self.op(op)? {
            OpKind::BlindRotation { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Who computes item `element` of the operands of `op`, one after the other: gathers resolved.
    fn operand(&self, op: u32, element: u32) -> Option<(u32, u32)> {
        let mut left = element as usize;
        for &operand in &self.program.ops.get(op as usize)?.operands {
            let count = self.program.op(operand).result.count();
            if left < count {
                return self.producer(operand, left as u32);
            }
            left -= count;
        }
        None
    }

    fn producer(&self, value: ValueId, element: u32) -> Option<(u32, u32)> {
        match &self.program.op(value).kind {
            OpKind::Gather { indices } => self.operand(value.0, *indices.get(element as usize)?),
            _ => Some((value.0, element)),
        }
    }

    /// Whether everything of the program was computed once, and its results stored.
    fn finish(self) -> Result<(), AuditError> {
        let mut expected: HashSet<Datum> = HashSet::new();
        for (op, kernel) in (0..).zip(&self.program.ops) {
            let count = kernel.result.count() as u32;
            match &kernel.kind {
                OpKind::Linear { .. } | OpKind::KeySwitch { .. } | OpKind::SampleExtract { .. } => {
                    expected.extend((0..count).map(|element| Datum::Lwe { op, element }));
                }
                OpKind::BlindRotation { body, .. } => {
                    for element in 0..count {
                        expected.insert(Datum::Amounts { op, element });
                        let carried = (0..body.carried).map(BodyValue);
                        expected.extend(carried.map(|value| Datum::Body { op, value, element, iteration: 0 }));
                    }
                    self.rotation(op, body, count)?;
                }
                OpKind::Input { .. } | OpKind::Gather { .. } | OpKind::ModulusSwitch { .. } => {}
            }
        }
        for &datum in &expected {
            match self.computed.get(&datum) {
                Some(1) => {}
                Some(times) => return Err(times_error(datum, format!("{times} times"))),
                None => return Err(times_error(datum, "never".to_owned())),
            }
        }
        self.parts()?;
        // Sums without a term are of the mapper's choosing, but none is made twice.
        let sums = |datum: &Datum| matches!(datum, Datum::SwitchSum { .. } | Datum::LinearSum { .. });
        if let Some((&datum, times)) = self
            .computed
            .iter()
            .find(|&(datum, &times)| times > 1 && sums(datum) || !sums(datum) && !expected.contains(datum))
        {
            return Err(times_error(datum, format!("{times} times")));
        }
        for output in &self.program.outputs {
            for element in 0..self.program.op(output.value).result.count() as u32 {
                let Some((op, item)) = self.producer(output.value, element) else { continue };
                let datum = Datum::Lwe { op, element: item };
                let input = matches!(self.op(op), Some(OpKind::Input { .. }));
                if !input && !self.stored.contains(&datum) {
                    return Err(AuditError::Lost { what: datum.to_string() });
                }
            }
        }
        Ok(())
    }

    /// Sums on the way are of the mapper's choosing. Each is read by the next, up to the result, so the work of all is that of the whole if
    /// and only if none is made twice.
    fn parts(&self) -> Result<(), AuditError> {
        for (op, kernel) in (0..).zip(&self.program.ops) {
            for element in 0..kernel.result.count() as u32 {
                let datum = Datum::Lwe { op, element };
                let whole = match &kernel.kind {
                    OpKind::KeySwitch { body } => self.switch_work(body, self.large()),
                    OpKind::Linear { matrix, .. } => {
                        matrix.row_slices(element as usize).0.len() as u64 * self.row_elements(datum)
                    }
                    _ => break,
                };
                let given = self.work.get(&(op, element)).copied().unwrap_or(0);
                if given != whole {
                    let times = format!("in parts of {given} products and sums, where it takes {whole}");
                    return Err(times_error(datum, times));
                }
            }
        }
        Ok(())
    }

    /// Every value of a rotation's body that anything writes, once for each ciphertext and iteration; every yield.
    fn rotation(&self, op: u32, body: &Body, count: u32) -> Result<(), AuditError> {
        let iterations = body.iterations as u32;
        for index in 0..body.carried + body.ops.len() as u32 {
            let value = BodyValue(index);
            let carried = index < body.carried;
            let range = if carried { 1..iterations + 1 } else { 0..iterations };
            let what = || format!("value {index} of the iterations of operation %{op}");
            match self.in_loops.get(&(op, value)) {
                Some(&seen) if seen == Fingerprint::all(0..count, range) => {}
                Some(_) => {
                    let times = "not once for each of its ciphertexts and iterations".to_owned();
                    return Err(AuditError::Times { what: what(), times });
                }
                None if carried && iterations > 0 => {
                    return Err(AuditError::Times { what: what(), times: "never".to_owned() });
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// What a part of a sum is of, and its work.
fn of_sum(&(datum, work): &(Datum, u64)) -> Option<(u32, u32, u64)> {
    match datum {
        Datum::SwitchSum { op, element, .. } | Datum::LinearSum { op, row: element, .. } => Some((op, element, work)),
        _ => None,
    }
}

fn times_error(datum: Datum, times: String) -> AuditError {
    AuditError::Times { what: datum.to_string(), times }
}

/// One iteration of a blind rotation, and what an event makes of it.
struct Iteration<'a> {
    op: u32,
    element: u32,
    iteration: u32,
    body: &'a Body,
    steps: &'static [Step],
    result: Datum,
}

fn value_is_result(place: &Iteration<'_>, value: BodyValue) -> bool {
    matches!(place.result, Datum::Body { value: result, .. } if result == value)
        || matches!(place.result, Datum::Body { value: result, .. }
            if place.body.yields.get(result.index()) == Some(&value))
}
