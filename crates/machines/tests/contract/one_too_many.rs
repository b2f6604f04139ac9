//! Is every capacity a limit? Schedules that use one port, register, unit or channel more than a machine has are refused, each for this
//! reason, on every machine.

use crate::common::case::{Case, single};
use polyfabric_sim::checker::Hazard;
use polyfabric_sim::schedule::{Access, Event, MemoryKind, Resources, Schedule};
use std::collections::{BTreeMap, BTreeSet};

/// Accesses that no port of any machine has room for in one cycle.
const MOST: usize = 1024;

/// Every case, without loops.
fn cases() -> impl Iterator<Item = Case> {
    Case::all().into_iter().map(|case| Case { schedule: case.schedule.unrolled(), ..case })
}

fn hazard(case: &Case, schedule: &Schedule) -> Option<Hazard> {
    case.checked(schedule).err().map(|violation| violation.hazard)
}

fn size(resources: &Resources, access: &Access) -> Option<u64> {
    match &resources.memories[usize::from(access.place.memory.0)].kind {
        MemoryKind::OnChip { capacity, .. } => Some(*capacity),
        MemoryKind::Lines(lines) => Some(lines.capacity),
        _ => None,
    }
}

/// For every memory on the chip and direction, the first event with an access in this direction, and the number of the access.
fn samples(case: &Case) -> BTreeMap<(u16, bool), (usize, usize)> {
    let mut found = BTreeMap::new();
    for (index, event) in case.schedule.items.iter().map(single).enumerate() {
        for (write, accesses) in [(false, &event.reads), (true, &event.writes)] {
            for (number, access) in accesses.iter().enumerate() {
                if access.bytes > 0 && size(&case.schedule.resources, access).is_some() {
                    found.entry((access.place.memory.0, write)).or_insert((index, number));
                }
            }
        }
    }
    found
}

fn of(event: &mut Event, write: bool) -> &mut Vec<Access> {
    if write { &mut event.writes } else { &mut event.reads }
}

/// The schedule with [`MOST`] more of one of an event's accesses. Of a write, the bytes alone, as a second one would overwrite it.
fn crowded(case: &Case, index: usize, (number, write): (usize, bool)) -> Schedule {
    case.with(&[index], |event| {
        if write {
            event.writes[number].bytes *= MOST as u64 + 1;
        } else {
            let access = event.reads[number];
            event.reads.extend(std::iter::repeat_n(access, MOST));
        }
    })
}

#[test]
fn more_accesses_than_a_port_moves_are_refused() {
    let mut tried = 0;
    for case in cases() {
        for (&(memory, write), &(index, number)) in &samples(&case) {
            let kind = &case.schedule.resources.memories[usize::from(memory)];
            // Vectors are written whole, and a network that multicasts takes equal reads as one.
            if let MemoryKind::Lines(lines) = &kind.kind
                && (write || lines.out.as_ref().is_some_and(|port| port.multicast))
            {
                continue;
            }
            let found = hazard(&case, &crowded(&case, index, (number, write)));
            // A channel that writes more is too fast before the port is too narrow.
            let refused = matches!(found, Some(Hazard::Port | Hazard::Rate));
            assert!(refused, "{}: {MOST} more accesses of {} are {found:?}", case.name(), kind.name);
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried} ports");
}

#[test]
fn a_place_behind_the_last_one_is_refused() {
    for case in cases() {
        for (&(memory, write), &(index, number)) in &samples(&case) {
            let behind = case.with(&[index], |event| {
                let access = &mut of(event, write)[number];
                access.place.offset = size(&case.schedule.resources, access).expect("on the chip");
            });
            let name = &case.schedule.resources.memories[usize::from(memory)].name;
            assert_eq!(hazard(&case, &behind), Some(Hazard::Capacity), "{}: {name}", case.name());
        }
    }
}

#[test]
fn a_unit_or_channel_more_than_there_are_is_refused() {
    for case in cases() {
        let mut seen = BTreeSet::new();
        for (index, event) in case.schedule.items.iter().map(single).enumerate() {
            if event.occupancy > 0 && seen.insert(event.resource.0) {
                let name = case.schedule.resources.name(event.resource);
                let found = hazard(&case, &case.doubled(&[index]));
                assert_eq!(found, Some(Hazard::UnitBusy), "{}: two at once on {name}", case.name());
            }
        }
        assert!(seen.len() > 4, "{}", case.name());
    }
}
