//! Schedules of programs that repeat: each body is scheduled once, and rounds follow one another.
//!
//! A body starts with an empty chip and ends when all results are stored. So a round starts in the cycle in which the
//! previous round ends. Repeated sequences of bodies become loops.

use crate::rns::arithmetic::{Arithmetic, ReplayError};
use crate::rns::function::Function;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use crate::rns::meaning::Meaning;
use crate::rns::step::Step;
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::rns::kernel::{Round, Rounds};
use polyfabric_sim::schedule::{Event, Item, OpRef, Repeat, Resources, Schedule, Shift, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers for key limbs that several rounds read. All rounds use the same value for such a limb.
#[derive(Clone, Debug, Default)]
pub struct SharedKeys(HashMap<Leaf, u32>);

impl SharedKeys {
    /// A number unique to `leaf`.
    pub fn number(&mut self, leaf: Leaf) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(leaf).or_insert(next)
    }
}

/// A mapped body of a program that repeats.
pub trait MappedBody {
    /// The meaning of the values in round 0, of a program's first round or of a later one. Inputs of the first round lie in memory from
    /// the start, so they have other values.
    fn meaning(&self, first: bool) -> Box<dyn Meaning + '_>;

    /// Its events with the values of round 0, likewise.
    fn items(&self, first: bool) -> Arc<Vec<Item>>;

    /// Cycles from the first load until all events have ended.
    fn cycles(&self) -> u64;

    /// Units, channels and memories of its schedule.
    fn resources(&self) -> &Resources;

    /// The units' arithmetic, for replays.
    fn arithmetic(&self) -> Result<Box<dyn Arithmetic + '_>, ReplayError>;
}

/// The meaning of the values in all rounds, as those of the program without loops.
pub struct AllRounds<'a> {
    rounds: &'a Rounds,
    /// By body, in a program's first round and in later ones.
    meanings: Vec<[Box<dyn Meaning + 'a>; 2]>,
    /// For every value, its number, its number of vectors, and its leaf, if any.
    values: HashMap<Value, (usize, usize, Option<LeafSubpolynomial>)>,
    count: usize,
}

impl<'a> AllRounds<'a> {
    /// For the values in `schedule`, that of `rounds` or a changed one, with their mapped `bodies`.
    ///
    /// # Errors
    /// [`ReplayError::Meaning`] for a value that no round has.
    pub fn new(
        rounds: &'a Rounds,
        bodies: &'a [Box<dyn MappedBody>],
        schedule: &Schedule,
    ) -> Result<Self, ReplayError> {
        let meanings = bodies.iter().map(|body| [true, false].map(|first| body.meaning(first))).collect();
        let mut made = Self { rounds, meanings, values: HashMap::new(), count: 0 };
        for placed in schedule.events() {
            let event = placed.to_event();
            for access in event.reads.iter().chain(&event.writes) {
                made.learn(&event, access.value).ok_or(ReplayError::Meaning { cycle: event.start })?;
            }
        }
        Ok(made)
    }

    /// A round, and the meaning of its values in round 0.
    fn round(&self, number: usize) -> Option<(&'a Round, &dyn Meaning)> {
        let round = self.rounds.rounds.get(number)?;
        Some((round, &*self.meanings[round.body][usize::from(number > 0)]))
    }

    fn learn(&mut self, event: &Event, name: Value) -> Option<()> {
        let number = event.op.ciphertext as usize;
        let (_, meaning) = self.round(number)?;
        let in_round_0 = name.shifted(Shift::ciphertexts(-(number as i64)));
        meaning.number(in_round_0)?;
        let vectors = meaning.vectors(in_round_0);
        let leaf = meaning.leaf(in_round_0).and_then(|leaf| self.in_round(number, leaf));
        let next = self.count;
        let entry = self.values.entry(name).or_insert((next, vectors, leaf));
        if entry.0 == next {
            self.count += vectors;
        }
        Some(())
    }

    /// The leaf that a round uses instead of its body's. Later rounds take results of earlier ones as their inputs.
    fn in_round(&self, number: usize, own: LeafSubpolynomial) -> Option<LeafSubpolynomial> {
        let (round, _) = self.round(number)?;
        let leaf = match own.leaf {
            Leaf::Hint { key, row, part, limb } => Leaf::Hint { key: round.key(key), row, part, limb },
            Leaf::Plaintext { plaintext, limb, values } => {
                Leaf::Plaintext { plaintext: self.plaintext(number, plaintext), limb, values }
            }
            Leaf::Input { .. } if number > 0 => return None,
            input @ Leaf::Input { .. } => input,
        };
        Some(LeafSubpolynomial { leaf, ..own })
    }

    /// Index of a round's public polynomial among those of all rounds.
    fn plaintext(&self, number: usize, own: u32) -> u32 {
        let before = &self.rounds.rounds[..number];
        before.iter().map(|round| self.rounds.bodies[round.body].plaintexts.len() as u32).sum::<u32>() + own
    }
}

impl Meaning for AllRounds<'_> {
    fn step(&self, op: OpRef) -> Option<Step> {
        let number = op.ciphertext as usize;
        let (round, meaning) = self.round(number)?;
        Some(match meaning.step(op.shifted(Shift::ciphertexts(-(number as i64))))? {
            Step::One(Function::Automorphism { limb, element, subpolynomial, values }) => {
                let own = GaloisElement::new(self.rounds.bodies[0].degree, element as usize).ok()?;
                let element = round.element(own).value() as u32;
                Step::One(Function::Automorphism { limb, element, subpolynomial, values })
            }
            Step::Generated(leaf) => Step::Generated(self.in_round(number, leaf)?),
            Step::Extension { plaintext, from, to } => {
                Step::Extension { plaintext: self.plaintext(number, plaintext), from, to }
            }
            other => other,
        })
    }

    fn composites(&self) -> bool {
        self.meanings[0][0].composites()
    }

    fn values(&self) -> usize {
        self.count
    }

    fn number(&self, value: Value) -> Option<usize> {
        self.values.get(&value).map(|&(number, ..)| number)
    }

    fn vectors(&self, value: Value) -> usize {
        self.values.get(&value).map_or(1, |&(_, vectors, _)| vectors)
    }

    fn leaf(&self, value: Value) -> Option<LeafSubpolynomial> {
        self.values.get(&value).and_then(|&(.., leaf)| leaf)
    }

    fn output(&self, output: usize, position: usize, subpolynomial: usize) -> Option<Value> {
        let last = self.rounds.rounds.len() - 1;
        let (_, meaning) = self.round(last)?;
        let name = meaning.output(output, position, subpolynomial)?;
        Some(name.shifted(Shift::ciphertexts(last as i64)))
    }

    fn is_output(&self, value: Value) -> bool {
        let last = self.rounds.rounds.len() as i64 - 1;
        self.round(last as usize)
            .is_some_and(|(_, meaning)| meaning.is_output(value.shifted(Shift::ciphertexts(-last))))
    }

    fn subpolynomials(&self) -> Subpolynomials {
        self.meanings[0][0].subpolynomials()
    }
}

/// Events of a body, and its length in cycles.
pub type Timed = (Arc<Vec<Item>>, u64);

/// The longest repeated sequence of bodies that becomes a loop.
const LONGEST_ROW: usize = 16;

/// Rounds in order, with repetitions as loops.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Nest {
    One(usize),
    Loop(usize, Vec<Nest>),
}

impl Nest {
    fn rounds(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Loop(count, inner) => count * inner.iter().map(Self::rounds).sum::<usize>(),
        }
    }
}

/// Greedy from the front: at each position, the repeated sequence that covers most rounds, then the shortest one.
fn runs(sequence: &[usize]) -> Vec<Nest> {
    let mut found = Vec::new();
    let mut rest = sequence;
    while let [first, ..] = rest {
        let times = |row: usize| rest.chunks_exact(row).take_while(|&chunk| chunk == &rest[..row]).count();
        let rows = (1..=LONGEST_ROW.min(rest.len() / 2)).map(|row| (row, times(row)));
        let best =
            rows.filter(|&(_, times)| times > 1).max_by_key(|&(row, times)| (row * times, std::cmp::Reverse(row)));
        let (taken, run) = match best {
            None => (1, Nest::One(*first)),
            Some((1, times)) => (times, Nest::Loop(times, vec![Nest::One(*first)])),
            Some((row, times)) => (row * times, Nest::Loop(times, runs(&rest[..row]))),
        };
        found.push(run);
        rest = &rest[taken..];
    }
    found
}

/// The items of `runs` and their length in cycles. Each round shifts the ciphertext index by one.
fn items(runs: &[Nest], bodies: &[Timed]) -> (Vec<Item>, u64) {
    let (mut made, mut start, mut number) = (Vec::new(), 0, 0);
    for run in runs {
        let (count, body, period, rounds) = match run {
            &Nest::One(body) => (1, Arc::clone(&bodies[body].0), bodies[body].1, 1),
            Nest::Loop(count, inner) => match inner[..] {
                [Nest::One(body)] => (*count, Arc::clone(&bodies[body].0), bodies[body].1, 1),
                _ => {
                    let (inner_items, period) = items(inner, bodies);
                    (*count, Arc::new(inner_items), period, inner.iter().map(Nest::rounds).sum())
                }
            },
        };
        let (count, period) = (count as u64, period.max(1));
        made.push(Item::Repeat(Repeat {
            start,
            count,
            period,
            origin: Shift::ciphertexts(number),
            shift: Shift::ciphertexts(rounds as i64),
            body,
        }));
        start += (count * period) as i64;
        number += count as i64 * rounds as i64;
    }
    (made, start as u64)
}

/// The schedule of `sequence`, a list of indices into `bodies`.
pub fn schedule(resources: Resources, sequence: &[usize], bodies: &[Timed]) -> Schedule {
    Schedule { resources, items: items(&runs(sequence), bodies).0 }
}

#[cfg(test)]
mod tests {
    //! Are all rounds present, in order and back to back, and are repetitions loops?

    use super::*;
    use polyfabric_sim::schedule::{Event, KindId, OpRef, Resource, Value};

    fn body(cycles: u32) -> Timed {
        let op =
            OpRef { kind: KindId(0), kernel_op: cycles, body_op: Value::NONE, ciphertext: 0, iteration: Value::NONE };
        let event = Event {
            resource: Resource(0),
            start: 0,
            occupancy: cycles,
            work: 1,
            parts: 1,
            op,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        (Arc::new(vec![Item::Event(event)]), cycles.into())
    }

    #[test]
    fn every_sequence_unrolls_to_itself() {
        let bodies = [body(3), body(5), body(7)];
        let mut state = 1u64;
        for length in 1..60 {
            let sequence: Vec<usize> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // Few distinct bodies, so that sequences repeat.
                    [0, 0, 0, 1, 0, 2][(state >> 33) as usize % (1 + length % 6)]
                })
                .collect();
            let found = schedule(Resources::default(), &sequence, &bodies);
            let mut start = 0;
            let mut events = found.events();
            for (round, &body) in sequence.iter().enumerate() {
                let placed = events.next().expect("a round");
                let op = placed.op();
                assert_eq!((placed.start, op.ciphertext, op.kernel_op), (start, round as u32, bodies[body].1 as u32));
                start += bodies[body].1 as i64;
            }
            assert!(events.next().is_none());
            assert_eq!(found.cycles(), start, "{sequence:?}");
        }
    }

    #[test]
    fn repeated_sequences_become_nested_loops() {
        let pattern = [0, 0, 0, 1, 2];
        let sequence: Vec<usize> = pattern.iter().copied().cycle().take(52).collect();
        let row = vec![Nest::Loop(3, vec![Nest::One(0)]), Nest::One(1), Nest::One(2)];
        assert_eq!(runs(&sequence), [Nest::Loop(10, row), Nest::Loop(2, vec![Nest::One(0)])]);
    }
}
