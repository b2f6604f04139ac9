//! The audit of programs on residue polynomials.
//!
//! Both sides are evaluated at one place of every vector. Sums, products, constants and conversions between moduli are exact there: they
//! act on each place alike. What mixes places, transforms and automorphisms, is a function that nobody knows: its value is a hash of
//! which function it is and of its operand's value. So the program, operation by operation as its bodies define it, gives every limb of
//! every value a residue; the schedule, event by event from what is read, gives every vector one; and two that are computed differently
//! agree by chance alone, once in a modulus. In what order a machine adds the terms of a conversion, or takes the butterflies between
//! the vectors of a polynomial, makes no difference, and is not asked for.

mod expected;

use super::AuditError;
use crate::engine::list::EventList;
use crate::engine::schedule::{Event, KindId, MemoryKind, OpRef, Resources, Value};
use crate::rns::function::Function;
use crate::rns::leaf::LeafPiece;
use crate::rns::pieces::Pieces;
use expected::Expected;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::KernelProgram;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;

/// What operations of one kind may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Move a vector.
    Move,
    /// Functions of these names.
    Compute(&'static [&'static str]),
}

/// What a mapper's names mean.
pub trait Meaning {
    /// What operations of `kind` may do.
    fn role(&self, kind: KindId) -> Role;

    /// The function that an event computes, with its modulus and its constant.
    fn step(&self, op: OpRef) -> Option<Function>;

    /// How many values have a name.
    fn values(&self) -> usize;

    /// Number of a value among them.
    fn number(&self, value: Value) -> Option<usize>;

    /// What a value is that lies in off-chip memory from the start.
    fn leaf(&self, value: Value) -> Option<LeafPiece>;

    /// The value that is a vector of an output of the program: which output, limb by position, vector.
    fn output(&self, output: usize, position: usize, piece: usize) -> Option<Value>;

    /// Whether a value is one of those.
    fn is_output(&self, value: Value) -> bool;

    /// How polynomials are cut into vectors.
    fn pieces(&self) -> Pieces;
}

/// A vector's residue at the place that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Residue {
    word: u64,
    limb: u16,
}

impl Residue {
    fn hashed(of: impl Hash, limb: u16, moduli: &[Modulus]) -> Self {
        // Its keys are fixed, so that equal schedules give equal results.
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        Self { word: moduli[usize::from(limb)].reduce(hasher.finish() >> 1), limb }
    }

    fn leaf(leaf: LeafPiece, moduli: &[Modulus]) -> Self {
        Self::hashed(("leaf", leaf), leaf.leaf.limb().0, moduli)
    }

    /// A function that mixes places.
    fn mixed(function: Function, operand: u64, moduli: &[Modulus]) -> Self {
        Self::hashed((function, operand), function.limb(), moduli)
    }

    /// One number for both fields.
    fn key(self) -> u64 {
        self.word ^ u64::from(self.limb).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Holds `list` against `program`.
///
/// # Errors
/// The first [`AuditError`].
pub fn audit(program: &KernelProgram, list: &dyn EventList, meaning: &dyn Meaning) -> Result<(), AuditError> {
    let expected = Expected::of(program, meaning.pieces())?;
    let mut audit = Audit {
        program,
        resources: list.resources(),
        meaning,
        vector: (program.degree.get() / meaning.pieces().count()) as u64,
        known: vec![None; meaning.values()],
        seen: vec![Seen::default(); meaning.values()],
        computed: Vec::with_capacity(expected.computed.len()),
    };
    let mut found = Ok(());
    list.visit(&mut |event| {
        found = audit.event(event);
        if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found?;
    audit.finish(expected)
}

/// What has happened to a value.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    computed: bool,
    used: bool,
    stored: bool,
}

struct Audit<'a> {
    program: &'a KernelProgram,
    resources: &'a Resources,
    meaning: &'a dyn Meaning,
    /// Elements of a vector.
    vector: u64,
    known: Vec<Option<Residue>>,
    seen: Vec<Seen>,
    /// Keys of what has been computed.
    computed: Vec<u64>,
}

impl Audit<'_> {
    fn event(&mut self, event: &Event) -> Result<(), AuditError> {
        match self.meaning.role(event.op.kind) {
            Role::Move => self.moved(event),
            Role::Compute(names) => self.compute(event, names),
        }
    }

    fn off_chip(&self, memory: u16) -> bool {
        self.resources.memories[usize::from(memory)].kind == MemoryKind::OffChip
    }

    fn number(&self, event: &Event, value: Value) -> Result<usize, AuditError> {
        let number = self.meaning.number(value).filter(|&number| number < self.seen.len());
        number.ok_or_else(|| self.operand(event, format!("value {}", value.index), "a meaning of its name"))
    }

    fn moved(&mut self, event: &Event) -> Result<(), AuditError> {
        for read in &event.reads {
            let number = self.number(event, read.value)?;
            if let Some(leaf) = self.meaning.leaf(read.value).filter(|_| self.off_chip(read.place.memory.0)) {
                self.known[number].get_or_insert_with(|| Residue::leaf(leaf, &self.program.moduli));
            }
        }
        for write in &event.writes {
            if !event.reads.iter().any(|read| read.value == write.value) {
                let result = format!("value {}", write.value.index);
                return Err(self.operand(event, result.clone(), result));
            }
            let number = self.number(event, write.value)?;
            self.seen[number].stored |= self.off_chip(write.place.memory.0);
        }
        let channel = self.resources.as_channel(event.resource).is_some();
        let needed = if channel { event.reads.iter().map(|read| read.bytes).sum() } else { self.vector };
        self.work(event, needed)
    }

    fn compute(&mut self, event: &Event, names: &[&str]) -> Result<(), AuditError> {
        let result = |event: &Event| event.writes.first().map_or(u32::MAX, |write| write.value.index);
        let named = format_args!("value {}", result(event)).to_string();
        let function = self.meaning.step(event.op);
        let Some(function) = function.filter(|function| names.contains(&function.name())) else {
            let (event, kind) = (self.name(event), self.kind(event));
            return Err(AuditError::Step { event, result: named, kind, step: "another function".to_owned() });
        };
        let mut words = [0; 2];
        if event.reads.is_empty() || event.reads.len() > function.operands() || event.writes.is_empty() {
            return Err(self.operand(event, named, format!("{} operands", function.operands())));
        }
        for (place, word) in words.iter_mut().enumerate() {
            let read = event.reads.get(place).unwrap_or(&event.reads[0]);
            let number = self.number(event, read.value)?;
            let Some(residue) = self.known[number] else {
                return Err(self.operand(event, named, format!("value {}", read.value.index)));
            };
            if residue.limb != function.limb() && !function.reduces() {
                return Err(self.operand(event, named, format!("an operand modulo limb {}", function.limb())));
            }
            self.seen[number].used = true;
            *word = residue.word;
        }
        let residue = self.evaluate(function, words);
        for write in &event.writes {
            let number = self.number(event, write.value)?;
            let leaf = self.meaning.leaf(write.value).is_some();
            if leaf || std::mem::replace(&mut self.seen[number].computed, true) {
                return Err(AuditError::Times { what: named, times: "more than once".to_owned() });
            }
            self.known[number] = Some(residue);
            self.computed.push(residue.key());
        }
        self.work(event, self.vector)
    }

    /// What a unit gives at the place that is looked at.
    fn evaluate(&self, function: Function, [a, b]: [u64; 2]) -> Residue {
        let moduli = &self.program.moduli;
        let limb = function.limb();
        let modulus = moduli[usize::from(limb)];
        let word = match function {
            Function::ForwardNtt { .. } => return Residue::mixed(function, modulus.reduce(a), moduli),
            Function::InverseNtt { .. } | Function::Automorphism { .. } => return Residue::mixed(function, a, moduli),
            Function::Multiply { .. } => modulus.multiply(a, b),
            Function::MultiplyConstant { constant, .. } => modulus.multiply(modulus.reduce(a), constant.into()),
            Function::Add { .. } => modulus.add(a, b),
            Function::Subtract { .. } => modulus.sub(a, b),
            Function::Negate { .. } => modulus.neg(a),
            Function::AddConstant { constant, .. } => modulus.add(modulus.reduce(a), modulus.reduce(constant.into())),
        };
        Residue { word, limb }
    }

    fn work(&self, event: &Event, needed: u64) -> Result<(), AuditError> {
        match event.work == needed {
            true => Ok(()),
            false => Err(AuditError::Work { event: self.name(event), given: event.work, needed }),
        }
    }

    fn kind(&self, event: &Event) -> String {
        self.resources.kinds.get(event.op.kind.0 as usize).map_or_else(String::new, |kind| kind.name.clone())
    }

    fn name(&self, event: &Event) -> String {
        format!("{} on {} in cycle {}", self.kind(event), self.resources.name(event.resource), event.start)
    }

    fn operand(&self, event: &Event, result: impl Into<String>, missing: impl Into<String>) -> AuditError {
        AuditError::Operand { event: self.name(event), result: result.into(), missing: missing.into() }
    }

    /// Whether everything of the program was computed, nothing in vain, and its results stored.
    fn finish(mut self, mut expected: Expected) -> Result<(), AuditError> {
        for (output, limbs) in expected.outputs.iter().enumerate() {
            for (place, &wanted) in limbs.iter().enumerate() {
                let (position, piece) = (place / self.meaning.pieces().count(), place % self.meaning.pieces().count());
                let what = || {
                    let name = &self.program.outputs[output].name;
                    format!(
                        "vector {piece} of limb {position} of part {} of `{name}`",
                        self.program.outputs[output].part
                    )
                };
                let value = self.meaning.output(output, position, piece);
                let Some((value, number)) = value.and_then(|value| Some((value, self.meaning.number(value)?))) else {
                    return Err(AuditError::Lost { what: what() });
                };
                let found = match self.meaning.leaf(value) {
                    Some(leaf) => Some(Residue::leaf(leaf, &self.program.moduli)),
                    None if !self.seen[number].stored => return Err(AuditError::Lost { what: what() }),
                    None => self.known[number],
                };
                if found != Some(wanted) {
                    return Err(AuditError::Output { what: what() });
                }
                self.seen[number].used = true;
            }
        }
        if let Some(number) = self.seen.iter().position(|seen| seen.computed && !seen.used) {
            return Err(AuditError::InVain { what: format!("value {number}") });
        }
        // Each value of the program among what was computed, as often as the program has it.
        self.computed.sort_unstable();
        expected.computed.sort_unstable();
        let mut found = self.computed.iter().copied().peekable();
        for key in expected.computed.iter().copied() {
            while found.next_if(|&other| other < key).is_some() {}
            if found.next_if_eq(&key).is_none() {
                let what = expected.place_of(key, self.program, self.meaning.pieces())?;
                return Err(AuditError::Times { what, times: "too seldom".to_owned() });
            }
        }
        Ok(())
    }
}
