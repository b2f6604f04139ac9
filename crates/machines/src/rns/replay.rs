//! Executes a schedule on real residues, event by event in order of time.
//!
//! Vectors are stored in simulated memories at the places that the events name. An event computes with the words that
//! it finds there, so a wrong schedule gives wrong words. A vector moves as a whole in the cycle of its first element.
//! Within a cycle, all reads come before all writes.

use super::function::Function;
use super::leaf::{Leaf, LeafSubpolynomial};
use super::step::Step;
use super::subpolynomials::Subpolynomials;
use crate::rns::meaning::Meaning;
use polyfabric_kernels::cancel;
use polyfabric_kernels::ntt::{Ntt, NttError};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::{Domain, KeySet, LimbId, MissingKey, RnsPolynomial};
use polyfabric_sim::calendar::Calendar;
use polyfabric_sim::function::Function as Allowed;
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{Access, Event, MemoryKind, OpRef, Resources, Value};
use std::collections::{HashMap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

pub type Words = Arc<[u64]>;

/// The arithmetic of a machine's units.
pub trait Arithmetic {
    /// The result of `function`. A unary function ignores `b`; callers pass `a` twice.
    fn execute(&self, function: Function, a: &[u64], b: &[u64]) -> Result<Words, ReplayError>;

    /// Converts the program's residues to the units' representation, for off-chip memory.
    fn enter(&self, limb: LimbId, domain: Domain, residues: Words) -> Words;

    /// The inverse of [`Self::enter`].
    fn leave(&self, limb: LimbId, domain: Domain, words: Words) -> Words;
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Arithmetic(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Ntt(#[from] NttError),
    #[error(transparent)]
    Key(#[from] MissingKey),
    #[error("a switching key has no limb {limb}; generate the keys for this program")]
    Hint { limb: usize },
    #[error("input {index} has no limb {limb} of the program's ring; pass the program's inputs in order")]
    Input { index: usize, limb: usize },
    #[error("cycle {cycle}: an event reads a place before any write; check the schedule first")]
    Empty { cycle: i64 },
    #[error("cycle {cycle}: an event has no meaning; audit the schedule first")]
    Meaning { cycle: i64 },
    #[error("output {output} is not stored completely; audit the schedule first")]
    Lost { output: usize },
}

/// A program with its keys and inputs.
pub struct Given<'a> {
    pub program: &'a KernelProgram,
    pub keys: &'a KeySet,
    /// In the program's order.
    pub inputs: &'a [&'a RnsPolynomial],
}

impl Given<'_> {
    fn domain(&self, leaf: Leaf) -> Domain {
        match leaf {
            Leaf::Input { index, .. } => self.inputs.get(index).map_or(Domain::Evaluation, |input| input.domain()),
            Leaf::Plaintext { values: false, .. } => Domain::Coefficient,
            Leaf::Plaintext { values: true, .. } | Leaf::Hint { .. } => Domain::Evaluation,
        }
    }

    fn words(&self, of: LeafSubpolynomial, subpolynomials: Subpolynomials) -> Result<Words, ReplayError> {
        Ok(self.polynomial(of.leaf)?[subpolynomials.range(usize::from(of.subpolynomial))].into())
    }

    fn polynomial(&self, leaf: Leaf) -> Result<Words, ReplayError> {
        let &Self { program, keys, inputs } = self;
        let degree = program.degree.get();
        match leaf {
            Leaf::Input { index, limb } => {
                let input = inputs.get(index).filter(|input| input.degree() == program.degree);
                let words = input.and_then(|input| input.position(limb).map(|position| input.limb(position)));
                words.map(Into::into).ok_or(ReplayError::Input { index, limb: limb.index() })
            }
            Leaf::Hint { key, row, part, limb } => {
                let key = keys.get(key)?;
                let position = key.limbs().iter().position(|&held| held == limb);
                let position = position.ok_or(ReplayError::Hint { limb: limb.index() })?;
                let mut scratch = vec![0; degree];
                Ok(key.limb(part, usize::from(row), position, &mut scratch).into())
            }
            Leaf::Plaintext { plaintext, limb, values } => {
                let modulus = program.modulus(limb);
                let mut words = vec![0; degree];
                program.plaintexts[plaintext as usize].residues(modulus, &mut words);
                if values {
                    Ntt::<u64>::new(program.degree, modulus)?.forward(&mut words);
                }
                Ok(words.into())
            }
        }
    }
}

enum Store {
    Addressed(HashMap<u64, Words>),
    /// Vectors on a wire, by the cycle of their write.
    Wire(VecDeque<(i64, Words)>, i64),
    ByValue(HashMap<Value, Words>),
}

struct InFlight {
    op: OpRef,
    operands: Vec<Words>,
    /// Remaining reads. `left` counts remaining reads and writes.
    reads: usize,
    left: usize,
    result: Option<Words>,
}

struct Due {
    access: Access,
    write: bool,
    in_flight: usize,
}

struct Replay<'a> {
    resources: &'a Resources,
    meaning: &'a dyn Meaning,
    arithmetic: &'a dyn Arithmetic,
    given: &'a Given<'a>,
    stores: Vec<Store>,
    in_flight: Vec<InFlight>,
    free: Vec<usize>,
}

/// Executes a schedule and returns the program's outputs in order.
pub fn replay(
    list: &dyn EventList,
    meaning: &dyn Meaning,
    arithmetic: &dyn Arithmetic,
    given: &Given<'_>,
) -> Result<Vec<RnsPolynomial>, ReplayError> {
    let store = |kind: &MemoryKind| match kind {
        MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => Store::Addressed(HashMap::new()),
        MemoryKind::Wire { delay, .. } => Store::Wire(VecDeque::new(), i64::from(*delay)),
        MemoryKind::OffChip | MemoryKind::Scoreboard => Store::ByValue(HashMap::new()),
    };
    let resources = list.resources();
    let stores = resources.memories.iter().map(|memory| store(&memory.kind)).collect();
    let mut replay = Replay { resources, meaning, arithmetic, given, stores, in_flight: Vec::new(), free: Vec::new() };
    let mut calendar = Calendar::new(0);
    let mut found = Ok(());
    list.visit(&mut |event| {
        cancel::check();
        found = replay.until(&mut calendar, event.start).and_then(|()| replay.start(&mut calendar, event));
        if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found?;
    replay.until(&mut calendar, i64::MAX)?;
    replay.outputs()
}

impl Replay<'_> {
    /// Performs all accesses due before cycle `until`.
    fn until(&mut self, calendar: &mut Calendar<Due>, until: i64) -> Result<(), ReplayError> {
        let mut due = Vec::new();
        while let Some(cycle) = calendar.next_before(until) {
            calendar.take(&mut due);
            for write in [false, true] {
                for due in due.iter().filter(|due| due.write == write) {
                    match write {
                        false => self.read(cycle, &due.access, due.in_flight)?,
                        true => self.write(cycle, &due.access, due.in_flight)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, calendar: &mut Calendar<Due>, event: &Event) -> Result<(), ReplayError> {
        let (reads, left) = (event.reads.len(), event.reads.len() + event.writes.len());
        let started = InFlight { op: event.op, operands: Vec::with_capacity(reads), reads, left, result: None };
        let index = match self.free.pop() {
            Some(index) => {
                self.in_flight[index] = started;
                index
            }
            None => {
                self.in_flight.push(started);
                self.in_flight.len() - 1
            }
        };
        for access in &event.reads {
            match access.first {
                0 => self.read(event.start, access, index)?,
                later => {
                    let due = Due { access: *access, write: false, in_flight: index };
                    calendar.push(event.start + i64::from(later), due);
                }
            }
        }
        for access in &event.writes {
            let due = Due { access: *access, write: true, in_flight: index };
            calendar.push(event.start + i64::from(access.first), due);
        }
        Ok(())
    }

    fn read(&mut self, cycle: i64, access: &Access, index: usize) -> Result<(), ReplayError> {
        let empty = ReplayError::Empty { cycle };
        let words = match &mut self.stores[usize::from(access.place.memory.0)] {
            Store::Addressed(held) => held.get(&access.place.offset).cloned(),
            Store::Wire(passing, delay) => {
                let place = passing.iter().position(|&(put, _)| put + *delay == cycle);
                place.and_then(|place| passing.remove(place)).map(|(_, words)| words)
            }
            Store::ByValue(held) => match self.meaning.leaf(access.value) {
                Some(of) => {
                    let (limb, domain) = (of.leaf.limb(), self.given.domain(of.leaf));
                    let residues = self.given.words(of, self.meaning.subpolynomials())?;
                    Some(self.arithmetic.enter(limb, domain, residues))
                }
                None => held.get(&access.value).cloned(),
            },
        };
        let event = &mut self.in_flight[index];
        event.operands.push(words.ok_or(empty)?);
        event.reads -= 1;
        self.done(index);
        Ok(())
    }

    fn write(&mut self, cycle: i64, access: &Access, index: usize) -> Result<(), ReplayError> {
        let words = match &self.in_flight[index].result {
            Some(words) => words.clone(),
            None => self.result(cycle, index)?,
        };
        match &mut self.stores[usize::from(access.place.memory.0)] {
            Store::Addressed(held) => drop(held.insert(access.place.offset, words.clone())),
            Store::Wire(passing, _) => passing.push_back((cycle, words.clone())),
            Store::ByValue(held) => drop(held.insert(access.value, words.clone())),
        }
        self.in_flight[index].result = Some(words);
        self.done(index);
        Ok(())
    }

    fn result(&self, cycle: i64, index: usize) -> Result<Words, ReplayError> {
        let InFlight { op, operands, .. } = &self.in_flight[index];
        let first = operands.first().ok_or(ReplayError::Empty { cycle })?;
        match self.resources.kinds[usize::from(op.kind.0)].function {
            Allowed::Move { .. } => Ok(first.clone()),
            _ => match self.meaning.step(*op) {
                Some(Step::One(function)) => self.arithmetic.execute(function, first, operands.get(1).unwrap_or(first)),
                _ => Err(ReplayError::Meaning { cycle }),
            },
        }
    }

    fn done(&mut self, index: usize) {
        self.in_flight[index].left -= 1;
        if self.in_flight[index].left == 0 {
            self.in_flight[index].operands.clear();
            self.in_flight[index].result = None;
            self.free.push(index);
        }
    }

    fn outputs(&self) -> Result<Vec<RnsPolynomial>, ReplayError> {
        let (program, subpolynomials) = (self.given.program, self.meaning.subpolynomials());
        let stored = |value: Value| {
            self.stores.iter().find_map(|store| match store {
                Store::ByValue(held) => held.get(&value),
                _ => None,
            })
        };
        let mut outputs = Vec::with_capacity(program.outputs.len());
        for (number, output) in program.outputs.iter().enumerate() {
            let of = program.value(output.value);
            let limbs = of.limbs.as_slice();
            let mut polynomial = RnsPolynomial::zero(program.degree, limbs, of.domain);
            for (position, &limb) in limbs.iter().enumerate() {
                for subpolynomial in 0..subpolynomials.count() {
                    let lost = ReplayError::Lost { output: number };
                    let value = self.meaning.output(number, position, subpolynomial).ok_or(lost)?;
                    let words = match self.meaning.leaf(value) {
                        Some(leaf) => self.given.words(leaf, subpolynomials)?,
                        None => {
                            let words = stored(value).cloned().ok_or(ReplayError::Lost { output: number })?;
                            self.arithmetic.leave(limb, of.domain, words)
                        }
                    };
                    let range: Range<usize> = subpolynomials.range(subpolynomial);
                    polynomial.limb_mut(position)[range].copy_from_slice(&words);
                }
            }
            outputs.push(polynomial);
        }
        Ok(outputs)
    }
}
