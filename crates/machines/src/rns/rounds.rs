//! Schedules of programs that repeat: each body is scheduled once, and rounds follow one another.
//!
//! A body starts with an empty chip and ends when all results are stored, so it is a whole schedule, which is audited as any
//! other. A round starts in the cycle in which the previous round ends. Its values have its number, except those that it takes from the
//! previous round. Repeated sequences of bodies become loops. No mapper takes part in that: if the bodies are right, so is the whole.

use super::labels::Labels;
use super::leaf::Leaf;
use polyfabric_program::rns::kernel::{KernelProgram, LimbSet, RoundsError};
use polyfabric_sim::list::{EventList, Source};
use polyfabric_sim::schedule::{ClassId, Item, Repeat, Resources, Schedule, Shift, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Events of a body, and its length in cycles.
pub type Timed = (Arc<Vec<Item>>, u64);

/// A schedule as the body of rounds, with the values of round 0. What a round takes has the names of what the round before gives; the
/// `first` round takes inputs, which lie in memory from the start.
///
/// # Errors
/// [`RoundsError::Given`] if an output has a limb that was not computed, or that it has twice: then its name is not unique.
pub fn body(list: &dyn EventList, program: &KernelProgram, labels: &Labels, first: bool) -> Result<Timed, RoundsError> {
    let passed = |ciphertext: u32, class: ClassId, port: usize, position: usize| Value {
        class,
        ciphertext,
        iteration: Value::NONE,
        index: Value::NONE - 1 - ((port as u32) << 16 | position as u32),
    };
    let mut given: HashMap<Value, Value> = HashMap::new();
    for (port, output) in program.outputs.iter().enumerate() {
        for position in 0..program.value(output.value).limbs.len() {
            let own = labels.output(port, position, 0).filter(|&own| labels.leaf(own).is_none());
            if own.is_none_or(|own| given.insert(own, passed(1, own.class, port, position)).is_some()) {
                let (body, output) = (Arc::clone(&program.name), Arc::clone(&output.name));
                return Err(RoundsError::Given { body, output });
            }
        }
    }
    let inputs: Vec<&LimbSet> = program.inputs().map(|(.., value)| &value.limbs).collect();
    let class = given.values().next().map(|value| value.class);
    let name = |own: Value| match (given.get(&own), labels.leaf(own).map(|leaf| leaf.leaf)) {
        (Some(&name), _) => name,
        (None, Some(Leaf::Input { index, limb })) if !first => {
            passed(0, class.unwrap_or(own.class), index, inputs[index].position(limb).unwrap_or(0))
        }
        _ => Value { ciphertext: 0, ..own },
    };
    let mut items = Vec::new();
    Source::List(list).each(&mut |event, _| {
        let mut event = event.clone();
        event.op.ciphertext = 0;
        event.reads.iter_mut().chain(&mut event.writes).for_each(|access| access.value = name(access.value));
        items.push(Item::Event(event));
    });
    let schedule = Schedule { resources: list.resources().clone(), items };
    let cycles = schedule.cycles().max(0) as u64;
    Ok((Arc::new(schedule.items), cycles))
}

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
