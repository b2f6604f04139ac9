//! RNS machines: is every schedule with one error rejected?

use crate::common::case::{Case, Mapped, single};
use polyfabric_machines::audit::AuditError;
use polyfabric_machines::contract::Family;
use polyfabric_machines::rns::leaf::Leaf;
use polyfabric_sim::checker::Hazard;
use polyfabric_sim::schedule::{Access, Event, MemoryKind, Place, Traffic, Value};
use std::collections::{BTreeMap, HashMap};

fn cases() -> Vec<Case> {
    Case::of(Family::Rns)
}

fn events(case: &Case) -> impl Iterator<Item = &Event> {
    case.schedule.items.iter().map(single)
}

#[test]
fn wrong_operands_are_rejected() {
    for case in cases() {
        let mut refused = 0;
        for path in case.samples() {
            for (place, own) in case.event(&path).reads.iter().enumerate() {
                // Another value of its class, at any place.
                let other = |read: &&Access| {
                    let same = read.value.class == own.value.class && read.place.memory == own.place.memory;
                    same && read.value != own.value
                };
                let Some(other) = events(&case).flat_map(|event| &event.reads).find(other) else { continue };
                let changed = case.with(&path, |event| {
                    (event.reads[place].value, event.reads[place].place) = (other.value, other.place);
                });
                assert!(case.is_refused(&changed), "{}: {}", case.name(), case.kind(&path));
                refused += 1;
            }
        }
        assert!(refused > 10, "{}: {refused}", case.name());
    }
}

#[test]
fn shifts_by_a_cycle_are_rejected_or_compute_the_same() {
    for case in cases() {
        let (outputs, mut refused) = (case.outputs(), [0; 2]);
        let expected = outputs(None);
        for path in case.samples() {
            for (side, by) in [-1, 1].into_iter().enumerate() {
                let changed = case.with(&path, |event| event.start += by);
                match case.judged(&changed) {
                    Err(_) => refused[side] += 1,
                    Ok(()) => assert!(outputs(Some(&changed)) == expected, "{}", case.name()),
                }
            }
        }
        // Chains of events are tight: most cannot move.
        assert!(refused.iter().all(|&refused| refused > 8), "{}: {refused:?}", case.name());
    }
}

/// The cycle of a read or write, whether it is a write, and the event.
type Use = (i64, bool, usize);

/// The reads and writes of every place on the chip, in order of time.
fn by_place(case: &Case) -> BTreeMap<(u16, u64), Vec<Use>> {
    let mut uses = BTreeMap::<_, Vec<_>>::new();
    for (index, event) in events(case).enumerate() {
        let mut note = |access: &Access, write: bool| {
            let Place { memory, offset, .. } = access.place;
            let kind = &case.schedule.resources.memories[usize::from(memory.0)].kind;
            if matches!(kind, MemoryKind::Lines(_) | MemoryKind::OnChip { .. }) {
                uses.entry((memory.0, offset)).or_default().push((event.start + i64::from(access.first), write, index));
            }
        };
        event.reads.iter().for_each(|read| note(read, false));
        event.writes.iter().for_each(|write| note(write, true));
    }
    uses.values_mut().for_each(|uses| uses.sort_unstable());
    uses
}

/// Tries up to twenty of each. A machine whose memories fit a small program overwrites nothing.
#[test]
fn early_reads_and_early_overwrites_are_rejected() {
    let mut over_all = 0;
    for case in cases() {
        let (mut early, mut over) = (0, 0);
        for uses in by_place(&case).into_values() {
            for pair in uses.windows(2) {
                let [(first, write, before), (second, again, index)] = [pair[0], pair[1]];
                let to = match (write, again) {
                    _ if before == index => continue,
                    // The reader starts in the cycle of the write, so its operand arrives too late.
                    (true, false) if early < 20 => first,
                    // The next value is written one cycle before the last read.
                    (false, true) if over < 20 => first - 1,
                    _ => continue,
                };
                let start = case.event(&[index]).start + to - second;
                if start < 0 {
                    continue;
                }
                let changed = case.with(&[index], |event| event.start = start);
                assert!(case.checked(&changed).is_err(), "{}: {}", case.name(), case.kind(&[index]));
                *(if again { &mut over } else { &mut early }) += 1;
            }
        }
        assert!(early > 5, "{}: {early} reads", case.name());
        over_all += over;
    }
    assert!(over_all > 0);
}

#[test]
fn wrong_key_rows_halves_or_inputs_are_rejected() {
    for case in cases() {
        let Mapped::Rns(_, simulated) = &case.mapped else { continue };
        let leaf = |read: &Access| Some((read.value, simulated.mapped().labels().leaf(read.value)?.leaf));
        let loaded: Vec<(Value, Leaf)> = events(&case).flat_map(|event| &event.reads).filter_map(leaf).collect();
        let mut exchanged = 0;
        for &(a, of_a) in &loaded {
            for &(b, of_b) in &loaded {
                let differs = match (of_a, of_b) {
                    (Leaf::Hint { row, part, limb, .. }, Leaf::Hint { row: r, part: p, limb: l, .. }) => {
                        limb == l && (row < r && part == p || row == r && part != p)
                    }
                    (Leaf::Input { index, limb }, Leaf::Input { index: i, limb: l }) => limb == l && index < i,
                    _ => false,
                };
                if differs && exchanged < 24 {
                    exchanged += 1;
                    // Both values, wherever they are read or written.
                    let (wrong, _) = case.every(|_, event| {
                        for Access { value, .. } in event.reads.iter_mut().chain(&mut event.writes) {
                            *value = if *value == a {
                                b
                            } else if *value == b {
                                a
                            } else {
                                *value
                            };
                        }
                        1
                    });
                    assert!(case.audited(&wrong).is_err(), "{}: {of_a:?} for {of_b:?}", case.name());
                }
            }
        }
        assert!(exchanged > 4);
    }
}

/// Generated values, such as a key generator's masks: a limb starts only after the previous one, and is
/// available only after the latency.
#[test]
fn generated_values_are_never_early() {
    let (mut begun, mut given) = (0, 0);
    for case in cases() {
        let resources = &case.schedule.resources;
        let mut free: HashMap<u32, i64> = HashMap::new();
        for (index, event) in events(&case).enumerate() {
            if !event.reads.is_empty() || resources.as_channel(event.resource).is_some() {
                continue;
            }
            let name = resources.name(event.resource);
            if let Some(free) = free.insert(event.resource.0, event.start + i64::from(event.occupancy)) {
                let early = case.with(&[index], |event| event.start = free - 1);
                let refused = case.checked(&early).expect_err("the last limb is still drawn");
                assert_eq!((refused.hazard, refused.legal_start), (Hazard::UnitBusy, Some(free)), "{name}: {refused}");
                begun += 1;
            }
            // Started one cycle later, but with results in the original cycle.
            let late = case.with(&[index], |event| {
                event.start += 1;
                event.writes.iter_mut().for_each(|write| (write.first, write.last) = (write.first - 1, write.last - 1));
            });
            let refused = case.checked(&late).expect_err("less than the latency");
            assert_eq!(refused.hazard, Hazard::Latency, "{name}: {refused}");
            given += 1;
        }
    }
    assert!(begun > 0 && given > begun, "no machine was tested");
}

#[test]
fn events_wait_for_their_instructions() {
    for mut case in cases() {
        let first = case.event(&[0]).start;
        let Some(instructions) = &mut case.instructions else { continue };
        let lead = instructions.starts[0].0.min(first as u64);
        instructions.starts.iter_mut().for_each(|(cycle, _)| *cycle -= lead);
        let (sooner, _) = case.every(|_, event| {
            event.start -= lead as i64;
            1
        });
        let refused = case.checked(&sooner).expect_err("at the beginning there is no instruction");
        assert_eq!(refused.hazard, Hazard::NotFetched, "{refused}");
    }
}

#[test]
fn results_that_are_wrong_or_not_stored_are_rejected() {
    for case in cases() {
        let Mapped::Rns(_, simulated) = &case.mapped else { continue };
        let results = simulated.mapped().labels().results();
        let store = |event: &Event| {
            event.writes.iter().any(|write| results.contains(&write.value))
                && case.schedule.resources.as_channel(event.resource).is_some()
        };
        let index = events(&case).position(store).expect("a result is stored");
        let refused = case.audited(&case.without(&[index])).expect_err("it is lost");
        assert!(matches!(refused, AuditError::Lost { .. }), "{refused}");
    }
}

#[test]
fn traffic_by_class_is_that_of_the_channels() {
    for case in cases() {
        let Mapped::Rns(_, simulated) = &case.mapped else { continue };
        let traffic = &simulated.report().traffic_bytes;
        let on_channel = |event: &&Event| case.schedule.resources.as_channel(event.resource).is_some();
        let moved: u64 = events(&case).filter(on_channel).map(|event| event.work).sum();
        let instructions = traffic.get(Traffic::Instructions.name()).unwrap_or(&0);
        assert_eq!(traffic["total"], moved + instructions, "{}", case.name());
    }
}
