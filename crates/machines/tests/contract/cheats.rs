//! Schedules that cheat: free transfers, two values in one place, numbers that overflow, loops that overlap. Is each of them refused, on
//! every machine?

use crate::common::case::{Case, Mapped};
use polyfabric_machines::contract::Family;
use polyfabric_sim::checker::{check, check_every_round};
use polyfabric_sim::schedule::{Access, Event, Item, MemoryKind, Repeat, Resources, Schedule};
use std::sync::Arc;

fn holds_elements(resources: &Resources, access: &Access) -> bool {
    let sized = resources.value_classes[usize::from(access.value.class.0)].bits > 0;
    sized && resources.memories[usize::from(access.place.memory.0)].kind != MemoryKind::Scoreboard
}

fn on_chip(resources: &Resources, access: &Access) -> bool {
    let kind = &resources.memories[usize::from(access.place.memory.0)].kind;
    matches!(kind, MemoryKind::OnChip { .. }) && holds_elements(resources, access)
}

/// Changes an event; returns whether there was anything to change.
type Cheat = (&'static str, fn(&Resources, &mut Event) -> bool);

const CHEATS: [Cheat; 10] = [
    ("moves and computes nothing", |resources, event| {
        let holds = event.writes.iter().any(|write| holds_elements(resources, write));
        event.reads.iter_mut().chain(&mut event.writes).for_each(|access| access.bytes = 0);
        (event.work, event.occupancy) = (0, 1);
        holds
    }),
    ("reads no bytes", |resources, event| {
        let own = event.reads.iter_mut().filter(|read| holds_elements(resources, read));
        own.map(|read| read.bytes = 0).count() > 0
    }),
    ("writes no bytes", |resources, event| {
        let own = event.writes.iter_mut().filter(|write| holds_elements(resources, write));
        own.map(|write| write.bytes = 0).count() > 0
    }),
    ("takes no time", |_, event| std::mem::take(&mut event.occupancy) > 0),
    ("takes a part more than its unit has", |resources, event| {
        event.parts = resources.kinds[usize::from(event.op.kind.0)].parts + 1;
        true
    }),
    ("writes two values to one place", |resources, event| {
        let read = event.reads.iter().find(|read| holds_elements(resources, read));
        let write = event.writes.iter().find(|write| on_chip(resources, write));
        let (Some(&Access { value, .. }), Some(&write)) = (read, write) else { return false };
        event.writes.push(Access { value, ..write });
        true
    }),
    ("adds all operands in the last cycle that the last one has", |resources, event| {
        let kind = &resources.kinds[usize::from(event.op.kind.0)];
        let behind = if kind.addends { 0 } else { kind.latency as u32 };
        let ends = event.writes.iter().map(|write| (write.last, write.first)).max();
        let Some((last, first)) = ends.filter(|(last, first)| kind.sums() && last > first) else { return false };
        for read in &mut event.reads {
            (read.first, read.last) = (last - behind, last - behind);
        }
        first < last
    }),
    ("starts in the last cycle that has a number", |_, event| {
        event.start = i64::MAX - 1;
        true
    }),
    ("moves as many bytes as have a number", |resources, event| {
        let own = event.reads.iter_mut().filter(|read| holds_elements(resources, read));
        own.map(|read| read.bytes = u64::MAX).count() > 0
    }),
    ("writes behind the last number", |resources, event| {
        let own = event.writes.iter_mut().filter(|write| on_chip(resources, write));
        own.map(|write| write.place.offset = u64::MAX - 7).count() > 0
    }),
];

#[test]
fn an_event_that_cheats_is_refused() {
    let (mut tried, mut passed) = (0, Vec::new());
    for case in Case::all() {
        assert_eq!(case.judged(&case.schedule), Ok(()), "{}", case.name());
        for path in case.kinds().values().filter_map(|paths| paths.last()) {
            for (what, cheat) in CHEATS {
                let mut changed = false;
                let wrong = case.with(path, |event| changed = cheat(&case.schedule.resources, event));
                if changed {
                    tried += 1;
                    if !case.is_refused(&wrong) {
                        passed.push(format!("{} in {}: {what}", case.kind(path), case.name()));
                    }
                }
            }
        }
    }
    assert!(passed.is_empty(), "{}", passed.join("\n"));
    assert!(tried > 500, "{tried}");
}

/// The schedule with another number in each loop, in turn.
fn with_other_loops(schedule: &Schedule) -> Vec<Schedule> {
    let mut found = Vec::new();
    for (number, item) in schedule.items.iter().enumerate() {
        for change in 0..6 {
            let Item::Repeat(mut repeat) = item.clone() else { continue };
            match change {
                0 => repeat.period -= 1,
                1 => repeat.period = 0,
                2 => repeat.count += 1,
                3 => repeat.count -= 1,
                4 => repeat.start -= 1,
                _ => Arc::make_mut(&mut repeat.body).reverse(),
            }
            let mut changed = schedule.clone();
            changed.items[number] = Item::Repeat(repeat);
            found.push(changed);
        }
    }
    found
}

/// The schedule with a round less or more in each loop, or with other values: the same in all rounds, those of every second one, or of
/// other ciphertexts.
fn with_other_values(schedule: &Schedule) -> Vec<Schedule> {
    let changes: [fn(&mut Repeat); 5] = [
        |repeat| repeat.count -= 1,
        |repeat| repeat.count += 1,
        |repeat| repeat.shift.iteration = 0,
        |repeat| repeat.shift.iteration *= 2,
        |repeat| repeat.shift.ciphertext += 1,
    ];
    let mut found = Vec::new();
    for (number, item) in schedule.items.iter().enumerate() {
        for change in changes {
            let Item::Repeat(mut repeat) = item.clone() else { continue };
            let own = (repeat.count, repeat.shift);
            change(&mut repeat);
            if own.0 > 1 && (repeat.count, repeat.shift) != own {
                let mut changed = schedule.clone();
                changed.items[number] = Item::Repeat(repeat);
                found.push(changed);
            }
        }
    }
    found
}

#[test]
fn loops_that_count_wrong_values_are_refused_as_their_rounds_are() {
    let mut tried = 0;
    for case in Case::of(Family::Tfhe) {
        for wrong in with_other_values(&case.schedule) {
            for schedule in [&wrong, &wrong.unrolled()] {
                assert!(case.audited(schedule).is_err() || case.checked(schedule).is_err(), "{}", case.name());
            }
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn loops_that_overlap_or_repeat_too_often_are_refused_as_their_rounds_are() {
    let mut tried = 0;
    for case in Case::all().into_iter().filter(|case| matches!(case.mapped, Mapped::Tfhe(..))) {
        for wrong in with_other_loops(&case.schedule) {
            let [folded, unrolled] = [check(&wrong, &[]).is_ok(), check_every_round(&wrong, &[]).is_ok()];
            assert_eq!(folded, unrolled, "{}", case.name());
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
}
