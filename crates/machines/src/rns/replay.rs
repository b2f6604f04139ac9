//! Executes a schedule on real residues, event by event in order of their starts.
//!
//! Vectors are stored in simulated memories at the places that the events name. An event computes its step with the words that it finds
//! there, so a wrong schedule gives wrong words or an error. A place keeps its last contents with the cycles in which their first and last
//! elements arrived. A read finds the newest content of which every element arrives before it is read, unless another overwrites it sooner.
//! Vectors on a wire must be taken exactly when they reach its end.

use super::arithmetic::{Arithmetic, ReplayError, Words};
use super::labels::Labels;
use super::leaf::{Leaf, LeafSubpolynomial};
use super::step::Step;
use polyfabric_kernels::cancel;
use polyfabric_kernels::ntt::Ntt;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::{Domain, KeySet, RnsPolynomial};
use polyfabric_sim::function::Function as Allowed;
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{Access, Event, MemoryKind, Order, Resources, Value};
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

/// A program with its keys and inputs.
pub struct Given<'a> {
    pub program: &'a KernelProgram,
    pub keys: &'a KeySet,
    /// In the program's order.
    pub inputs: &'a [&'a RnsPolynomial],
}

/// The program that an event's names belong to.
#[derive(Clone, Copy)]
struct Scope<'a> {
    labels: &'a Labels,
    arithmetic: &'a dyn Arithmetic,
    given: &'a Given<'a>,
}

impl Scope<'_> {
    fn domain(&self, leaf: Leaf) -> Domain {
        match leaf {
            Leaf::Input { index, .. } => {
                self.given.inputs.get(index).map_or(Domain::Evaluation, |input| input.domain())
            }
            Leaf::Plaintext { values: false, .. } => Domain::Coefficient,
            Leaf::Plaintext { values: true, .. } | Leaf::Hint { .. } => Domain::Evaluation,
        }
    }

    /// A leaf in the program's own form.
    fn residues(&self, of: LeafSubpolynomial) -> Result<Words, ReplayError> {
        let range = self.labels.subpolynomials.range(usize::from(of.subpolynomial));
        Ok(self.polynomial(of.leaf)?[range].into())
    }

    /// A leaf as the units have it.
    fn words(&self, of: LeafSubpolynomial) -> Result<Words, ReplayError> {
        Ok(self.arithmetic.enter(of.leaf.limb(), self.domain(of.leaf), self.residues(of)?))
    }

    /// A mask that the machine generates.
    fn generated(&self, of: LeafSubpolynomial) -> Result<Words, ReplayError> {
        if let Leaf::Hint { key, .. } = of.leaf
            && self.given.keys.get(key)?.seed().is_none()
        {
            return Err(ReplayError::Seed { key });
        }
        self.words(of)
    }

    fn polynomial(&self, leaf: Leaf) -> Result<Words, ReplayError> {
        let &Given { program, keys, inputs } = self.given;
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

/// The vectors that were written to a place.
struct Content {
    /// Cycle of the first element.
    begins: i64,
    /// Cycle from which the first element is certainly there; that of the last one if elements arrive in an order of the unit's own.
    first: i64,
    last: i64,
    vectors: Vec<Words>,
}

impl Content {
    /// Whether it overwrites elements that `access` reads in cycles `first` to `last` before the read.
    fn comes_before(&self, access: &Access, (first, last): (i64, i64)) -> bool {
        let in_order = access.order == Order::Stream && self.first == self.begins;
        if in_order { self.first < first || self.last < last } else { self.begins < last }
    }
}

enum Store {
    /// By place. A unit with a long latency may start before one that writes to the same place earlier, so a place has several contents.
    Addressed(HashMap<u64, Vec<Content>>),
    /// Vectors on a wire, and its delay.
    Wire(VecDeque<Content>, i64),
    ByValue(HashMap<Value, Vec<Words>>),
}

struct Replay<'a> {
    resources: &'a Resources,
    scope: Scope<'a>,
    stores: Vec<Store>,
}

/// Executes a schedule and returns the program's outputs in order.
pub fn replay(
    list: &dyn EventList,
    labels: &Labels,
    arithmetic: &dyn Arithmetic,
    given: &Given<'_>,
) -> Result<Vec<RnsPolynomial>, ReplayError> {
    let mut replay = Replay::new(list.resources(), Scope { labels, arithmetic, given });
    let mut found = Ok(());
    list.visit(&mut |event| {
        found = replay.event(event);
        if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found?;
    replay.outputs()
}

impl<'a> Replay<'a> {
    fn new(resources: &'a Resources, scope: Scope<'a>) -> Self {
        let store = |kind: &MemoryKind| match kind {
            MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => Store::Addressed(HashMap::new()),
            MemoryKind::Wire { delay, .. } => Store::Wire(VecDeque::new(), i64::from(*delay)),
            MemoryKind::OffChip | MemoryKind::Scoreboard => Store::ByValue(HashMap::new()),
        };
        Self { resources, scope, stores: resources.memories.iter().map(|memory| store(&memory.kind)).collect() }
    }

    fn event(&mut self, event: &Event) -> Result<(), ReplayError> {
        cancel::check();
        let mut operands = Vec::with_capacity(event.reads.len());
        for read in &event.reads {
            operands.extend(self.read(event.start, read)?);
        }
        let (results, same) = self.results(event, operands)?;
        let mut left = &results[..];
        for write in &event.writes {
            let count = self.scope.labels.count(write.value);
            let own = left.split_at_checked(count).ok_or(ReplayError::Meaning { cycle: event.start })?;
            left = if same { left } else { own.1 };
            self.write(event.start, write, own.0.to_vec());
        }
        Ok(())
    }

    /// The vectors that an event writes, and whether all its writes have the same.
    fn results(&self, event: &Event, operands: Vec<Words>) -> Result<(Vec<Words>, bool), ReplayError> {
        if let Allowed::Move { .. } = self.resources.kinds[usize::from(event.op.kind.0)].function {
            return Ok((operands, true));
        }
        let unknown = ReplayError::Meaning { cycle: event.start };
        Ok(match self.scope.labels.step(event.op) {
            Some(Step::Generated(leaf)) => (vec![self.scope.generated(*leaf)?], true),
            Some(step) => {
                let results = self.scope.arithmetic.execute(step, &operands)?;
                (results.ok_or(unknown)?, matches!(step, Step::One(_)))
            }
            None => return Err(unknown),
        })
    }

    fn read(&mut self, start: i64, access: &Access) -> Result<Vec<Words>, ReplayError> {
        let (first, last) = (start + i64::from(access.first), start + i64::from(access.last));
        let found = match &mut self.stores[usize::from(access.place.memory.0)] {
            Store::Addressed(places) => {
                let there = |content: &&Content| match access.order {
                    Order::Any => content.last < first,
                    Order::Stream => content.first < first && content.last < last,
                };
                let contents = places.get(&access.place.offset).map_or(&[][..], Vec::as_slice);
                let found = contents.iter().filter(there).max_by_key(|content| content.last);
                let over = |other: &Content| other.comes_before(access, (first, last));
                found
                    .filter(|found| contents.iter().all(|other| other.last <= found.last || !over(other)))
                    .map(|content| content.vectors.clone())
            }
            Store::Wire(passing, delay) => {
                let at_end = |content: &Content| (content.first + *delay, content.last + *delay) == (first, last);
                let place = passing.iter().position(at_end);
                place.and_then(|place| passing.remove(place)).map(|content| content.vectors)
            }
            Store::ByValue(held) => match self.scope.labels.leaf(access.value) {
                Some(leaf) => Some(vec![self.scope.words(leaf)?]),
                None => held.get(&access.value).cloned(),
            },
        };
        found.ok_or(ReplayError::Empty { cycle: first })
    }

    fn write(&mut self, start: i64, access: &Access, vectors: Vec<Words>) {
        let (begins, last) = (start + i64::from(access.first), start + i64::from(access.last));
        match &mut self.stores[usize::from(access.place.memory.0)] {
            Store::Addressed(places) => {
                let first = if access.order == Order::Any { last } else { begins };
                let contents = places.entry(access.place.offset).or_default();
                // Later events read later, so of the complete contents only the newest matters.
                let newest = contents.iter().map(|content| content.last).filter(|&last| last < start).max();
                contents.retain(|content| newest.is_none_or(|newest| content.last >= newest));
                contents.push(Content { begins, first, last, vectors });
            }
            Store::Wire(passing, _) => passing.push_back(Content { begins, first: begins, last, vectors }),
            Store::ByValue(held) => drop(held.insert(access.value, vectors)),
        }
    }

    fn outputs(&self) -> Result<Vec<RnsPolynomial>, ReplayError> {
        let Scope { labels, arithmetic, given: Given { program, .. }, .. } = self.scope;
        let stored = |value: Value| {
            self.stores.iter().find_map(|store| match store {
                Store::ByValue(held) => held.get(&value)?.first(),
                _ => None,
            })
        };
        let subpolynomials = labels.subpolynomials;
        let mut outputs = Vec::with_capacity(program.outputs.len());
        for (output, of) in program.outputs.iter().enumerate() {
            let of = program.value(of.value);
            let limbs = of.limbs.as_slice();
            let mut polynomial = RnsPolynomial::zero(program.degree, limbs, of.domain);
            for (position, &limb) in limbs.iter().enumerate() {
                for subpolynomial in 0..subpolynomials.count() {
                    let value = labels.output(output, position, subpolynomial).ok_or(ReplayError::Lost { output })?;
                    let words = match labels.leaf(value) {
                        Some(leaf) => self.scope.residues(leaf)?,
                        None => {
                            let words = stored(value).cloned().ok_or(ReplayError::Lost { output })?;
                            arithmetic.leave(limb, of.domain, words)
                        }
                    };
                    polynomial.limb_mut(position)[subpolynomials.range(subpolynomial)].copy_from_slice(&words);
                }
            }
            outputs.push(polynomial);
        }
        Ok(outputs)
    }
}
