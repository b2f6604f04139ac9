//! Schedules of programs that repeat: each body is scheduled once, and rounds follow one another.
//!
//! A body starts with an empty chip and ends when all results are stored. So a round starts in the cycle in which the
//! previous round ends. Repeated sequences of bodies become loops.

use crate::rns::arithmetic::{Arithmetic, ReplayError};
use crate::rns::leaf::Leaf;
use crate::rns::meaning::Meaning;
use polyfabric_sim::schedule::{Item, Repeat, Resources, Schedule, Shift};
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
