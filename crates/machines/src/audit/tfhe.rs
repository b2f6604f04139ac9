//! The audit of TFHE programs.

mod operands;
mod size;
mod work;

use super::AuditError;
use super::fingerprint::{Fingerprint, Rounds};
use crate::tfhe::definition::{Definitions, Reads, Undefined};
use crate::tfhe::labels::{Labels, Meaning};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{Body, BodyValue, KernelProgram, OpKind, ValueType};
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{
    Access, Event, Item, MemoryKind, OpKind as Kind, Repeat, Resources, Schedule, Shift, Value,
};
use std::collections::{HashMap, HashSet};
use std::fmt;
use work::Work;

/// Audits `schedule` against `program`.
pub fn audit(program: &KernelProgram, schedule: &Schedule, labels: &Labels) -> Result<(), AuditError> {
    let mut audit = Audit {
        program,
        definitions: Definitions::new(program),
        resources: &schedule.resources,
        labels,
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
    definitions: Definitions<'a>,
    resources: &'a Resources,
    labels: &'a Labels,
    /// Computed values of bodies, by operation and value: their ciphertexts and iterations.
    in_loops: HashMap<(u32, BodyValue), Fingerprint>,
    /// All other computed values except partial sums, with the number of times.
    computed: HashMap<Meaning, u32>,
    /// Work of all parts of a key switch or of a row, by operation and item.
    work: HashMap<(u32, u32), u64>,
    /// Ciphertexts that have been stored off the chip as a whole.
    stored: HashSet<Meaning>,
}

/// An event with shifted coordinates.
struct Read<'a> {
    event: &'a Event,
    shift: Shift,
    /// The values that it reads. In the audit, a value is the work to compute it, and values that are read cost nothing.
    values: Reads<u64>,
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
        // Coordinates of the first round of all loops.
        let first = loops.iter().fold(Shift::default(), |shift, repeat| repeat.shift_of(shift, 0));
        let function = self.kind(event).function;
        let moves = matches!(function, Function::Move { .. });
        let inner = matches!(function, Function::Body(_));
        if inner || moves && !self.leaves_chip(event) {
            // Every round shifts all coordinates alike, so what holds in the first two rounds of each loop holds in all of them.
            self.hold(event, first)?;
            for repeat in loops.iter().filter(|repeat| repeat.count > 1) {
                self.hold(event, first.advanced(repeat.shift, 1))?;
            }
            if inner {
                let labels = self.labels;
                let results = event.writes.iter().flat_map(|write| labels.meanings(write.value.shifted(first)));
                for meaning in results {
                    if let Meaning::Body { value, lookup, iteration } = meaning {
                        let (op, element) = self.definitions.lookups.of(lookup);
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

    /// Checks that off-chip values that no event writes are inputs of the program, and not computed by it.
    fn given(&self, read: &Read<'_>) -> Result<(), AuditError> {
        let input = |access: &&Access| self.resources.value_classes[usize::from(access.value.class.0)].input;
        let accesses = read.event.reads.iter().chain(&read.event.writes);
        for access in accesses.filter(|access| self.is_off_chip(access)).filter(input) {
            for meaning in self.meanings(access.value.shifted(read.shift)) {
                let given = match meaning {
                    Meaning::Lwe { op, .. } => matches!(self.definitions.op(op), Some(OpKind::Input { .. })),
                    other => other.is_given(),
                };
                if !given {
                    return Err(AuditError::Given { event: self.name(read), what: self.in_words(meaning) });
                }
            }
        }
        Ok(())
    }

    /// Audits an event whose operands the program lists: round by round, except where all rounds add to one sum.
    fn every_round(&mut self, event: &'a Event, loops: &[&'a Repeat], shift: Shift) -> Result<(), AuditError> {
        let Some((repeat, inner)) = loops.split_first() else {
            let results = self.hold(event, shift)?;
            self.record(event, results, 1);
            return Ok(());
        };
        // Rounds that shift only iterations continue the sums of the same ciphertexts. They need the same operands of the program, and
        // everything else shifts alike. So what holds in the first two rounds holds in all of them.
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

    /// Records the values that an event computes or stores in `times` rounds.
    fn record(&mut self, event: &Event, results: Vec<(Meaning, u64)>, times: u64) {
        let stored = self.leaves_chip(event);
        for (meaning, work) in results {
            if stored {
                self.stored.insert(meaning);
                continue;
            }
            match meaning {
                Meaning::SwitchSum { op, element, .. } | Meaning::LinearSum { op, row: element, .. } if work > 0 => {
                    *self.work.entry((op, element)).or_default() += work * times;
                    continue;
                }
                Meaning::Lwe { op, element } => *self.work.entry((op, element)).or_default() += work,
                _ => {}
            }
            *self.computed.entry(meaning).or_default() += 1;
        }
    }

    /// Audits one event. Returns the values that it computes or stores, with the work of each.
    fn hold(&self, event: &Event, shift: Shift) -> Result<Vec<(Meaning, u64)>, AuditError> {
        cancel::check();
        let meanings = |value: Value| self.meanings(value.shifted(shift));
        let values = event.reads.iter().flat_map(|read| meanings(read.value)).map(|meaning| (meaning, 0)).collect();
        let read = Read { event, shift, values: Reads::new(values) };
        let function = self.kind(event).function;
        let written: Vec<Meaning> = event.writes.iter().flat_map(|write| meanings(write.value)).collect();
        let (mut needed, mut results) = (0, Vec::new());
        if let (Function::Body(unit), Some(&result)) = (function, written.first())
            && unit.twiddles
        {
            let ring_degree = self.program.parameters.ring_degree().get() as u32;
            self.need(&read, result, Meaning::Twiddles { ring_degree })?;
        }
        self.given(&read)?;
        for &meaning in &written {
            match function {
                Function::Move { .. } => results.push((meaning, 0)),
                Function::Initialise if read.values.times(meaning) > 0 => {}
                _ => {
                    let work = self.computed_by(&read, function, meaning)?;
                    needed += work;
                    results.push((meaning, work));
                }
            }
        }
        self.own_operands(&read, function, &written)?;
        self.sized(&read, function)?;
        let bytes = |accesses: &[Access]| -> u64 {
            let holds = accesses.iter().filter(|access| meanings(access.value).next().is_some());
            holds.map(|access| access.bytes).sum()
        };
        match function {
            Function::Move { .. } if self.resources.as_channel(event.resource).is_some() => {
                // The checker verifies off-chip bytes. A channel between on-chip memories must also have the work for all that it reads.
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
        // An event that only orders others writes only tokens, so its work is not checked. A row of a linear layer starts from its bias, in
        // a separate pass or in that of its first term.
        let passes = match function {
            Function::Linear => needed + written.iter().map(|&meaning| self.row_elements(meaning)).sum::<u64>(),
            _ => needed,
        };
        if !(needed..=passes).contains(&event.work) && !written.is_empty() {
            return Err(AuditError::Work { event: self.name(&read), given: event.work, needed });
        }
        Ok(results)
    }

    /// The meanings of `value`, without tokens.
    fn meanings(&self, value: Value) -> impl Iterator<Item = Meaning> {
        self.labels.meanings(value).filter(|meaning| !matches!(meaning, Meaning::Token { .. }))
    }

    fn in_words(&self, meaning: Meaning) -> String {
        meaning.in_words(&self.definitions.lookups)
    }

    /// Elements of a ciphertext of a linear layer.
    fn row_elements(&self, meaning: Meaning) -> u64 {
        let (Meaning::Lwe { op, .. } | Meaning::LinearSum { op, .. }) = meaning else { return 0 };
        match self.program.ops.get(op as usize).map(|op| op.result) {
            Some(ValueType::Lwe { dimension, .. }) => dimension as u64 + 1,
            _ => 0,
        }
    }

    fn work(&self) -> Work<'a> {
        Work { program: self.program }
    }

    fn times_error(&self, meaning: Meaning, times: String) -> AuditError {
        AuditError::Times { what: self.in_words(meaning), times }
    }

    fn kind(&self, event: &Event) -> &'a Kind {
        &self.resources.kinds[usize::from(event.op.kind.0)]
    }

    fn name(&self, read: &Read<'_>) -> String {
        let kind = &self.kind(read.event).name;
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

    fn missing(&self, read: &Read<'_>, result: Meaning, missing: impl fmt::Display) -> AuditError {
        AuditError::Operand { event: self.name(read), result: self.in_words(result), missing: missing.to_string() }
    }

    fn need(&self, read: &Read<'_>, result: Meaning, meaning: Meaning) -> Result<(), AuditError> {
        match read.values.times(meaning) {
            0 => Err(self.missing(read, result, self.in_words(meaning))),
            _ => Ok(()),
        }
    }

    /// Work of a result that the event computes.
    fn computed_by(&self, read: &Read<'_>, function: Function, result: Meaning) -> Result<u64, AuditError> {
        let work = self.work();
        let defined = self.definitions.define(&work, function, &read.values, result).map_err(|undefined| {
            let step = match undefined {
                Undefined::Missing(what) => return self.missing(read, result, what),
                Undefined::Step(step) => format!("{step:?}"),
                Undefined::Other => "another operation of the program".to_owned(),
            };
            let kind = self.kind(read.event).name.clone();
            AuditError::Step { event: self.name(read), result: self.in_words(result), kind, step }
        })?;
        Ok(match result {
            Meaning::Body { value, lookup, iteration } if matches!(function, Function::Body(_)) => {
                let body = self.definitions.body(self.definitions.lookups.of(lookup).0);
                body.map_or(0, |body| work.of_body(body, value, iteration)) * defined.max(1)
            }
            _ => defined,
        })
    }

    /// Checks that the whole program was computed once, and that its results were stored.
    fn finish(self) -> Result<(), AuditError> {
        let mut expected: HashSet<Meaning> = HashSet::new();
        for (op, kernel) in (0..).zip(&self.program.ops) {
            let count = kernel.result.count() as u32;
            match &kernel.kind {
                OpKind::Linear { .. } | OpKind::KeySwitch { .. } | OpKind::SampleExtract { .. } => {
                    expected.extend((0..count).map(|element| Meaning::Lwe { op, element }));
                }
                OpKind::BlindRotation { body, .. } => {
                    let first = self.definitions.lookups.first(op);
                    for lookup in first..first + count {
                        expected.insert(Meaning::Amounts { lookup });
                        let carried = (0..body.carried).map(BodyValue);
                        expected.extend(carried.map(|value| Meaning::Body { value, lookup, iteration: 0 }));
                    }
                    self.rotation(op, body, count)?;
                }
                // The workload refuses circuit bootstrapping.
                OpKind::Input { .. }
                | OpKind::Gather { .. }
                | OpKind::ModulusSwitch { .. }
                | OpKind::CircuitBootstrap
                | OpKind::PackedLookup { .. } => {}
            }
        }
        for &meaning in &expected {
            match self.computed.get(&meaning) {
                Some(1) => {}
                Some(times) => return Err(self.times_error(meaning, format!("{times} times"))),
                None => return Err(self.times_error(meaning, "never".to_owned())),
            }
        }
        self.parts()?;
        // The mapper chooses the sums without a term, but none may be computed twice.
        let sums = |meaning: &Meaning| matches!(meaning, Meaning::SwitchSum { .. } | Meaning::LinearSum { .. });
        if let Some((&meaning, times)) = self
            .computed
            .iter()
            .find(|&(meaning, &times)| times > 1 && sums(meaning) || !sums(meaning) && !expected.contains(meaning))
        {
            return Err(self.times_error(meaning, format!("{times} times")));
        }
        for output in &self.program.outputs {
            for element in 0..self.program.op(output.value).result.count() as u32 {
                let Some((op, item)) = self.definitions.producer(output.value, element) else { continue };
                let meaning = Meaning::Lwe { op, element: item };
                let input = matches!(self.definitions.op(op), Some(OpKind::Input { .. }));
                if !input && !self.stored.contains(&meaning) {
                    return Err(AuditError::Lost { what: self.in_words(meaning) });
                }
            }
        }
        Ok(())
    }

    /// Checks partial sums, which the mapper chooses. Each is read by the next one, up to the result. So the work of all equals that of the
    /// whole if and only if none is computed twice.
    fn parts(&self) -> Result<(), AuditError> {
        for (op, kernel) in (0..).zip(&self.program.ops) {
            for element in 0..kernel.result.count() as u32 {
                let meaning = Meaning::Lwe { op, element };
                let whole = match &kernel.kind {
                    OpKind::KeySwitch { body } => self.work().switch(body, self.work().large()),
                    OpKind::Linear { matrix, .. } => {
                        matrix.row_slices(element as usize).0.len() as u64 * self.row_elements(meaning)
                    }
                    _ => break,
                };
                let given = self.work.get(&(op, element)).copied().unwrap_or(0);
                if given != whole {
                    let times = format!("in parts of {given} products and sums, where it takes {whole}");
                    return Err(self.times_error(meaning, times));
                }
            }
        }
        Ok(())
    }

    /// Checks that every written value of a rotation's body is computed once for each ciphertext and iteration, and that every yield is.
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

/// Operation, item and work of a part of a sum.
fn of_sum(&(meaning, work): &(Meaning, u64)) -> Option<(u32, u32, u64)> {
    match meaning {
        Meaning::SwitchSum { op, element, .. } | Meaning::LinearSum { op, row: element, .. } => {
            Some((op, element, work))
        }
        _ => None,
    }
}
