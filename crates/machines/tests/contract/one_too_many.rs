//! Is every capacity a limit? Schedules that use one port, register, unit or channel more than a machine has are refused, each for this
//! reason, on every machine.

use crate::common::Listed;
use crate::rns_machines;
use crate::tfhe_machines;
use polyfabric_machines::contract::tfhe;
use polyfabric_sim::checker::{Hazard, check};
use polyfabric_sim::list::Source;
use polyfabric_sim::schedule::{Access, Event, Item, MemoryKind, Resources};
use std::collections::{BTreeMap, BTreeSet};

/// Accesses that no port of any machine has room for in one cycle.
const MOST: usize = 1024;

/// A small legal schedule of every machine, without loops.
fn schedules() -> Vec<(String, Listed)> {
    let of_tfhe = tfhe_machines().into_iter().map(|(machine, program)| {
        let schedule = tfhe::map(&machine, &program).expect("it fits").schedule.unrolled();
        let event = |item: Item| match item {
            Item::Event(event) => event,
            Item::Repeat(_) => panic!("a loop"),
        };
        let events = schedule.items.into_iter().map(event).collect();
        (machine.name().to_owned(), Listed { resources: schedule.resources, events, instructions: None })
    });
    let of_rns = rns_machines::Case::all().into_iter().map(|case| (case.machine_name().to_owned(), case.listed));
    of_tfhe.chain(of_rns).collect()
}

fn hazard(listed: &Listed) -> Option<Hazard> {
    check(Source::List(listed), &[]).err().map(|violation| violation.hazard)
}

fn size(resources: &Resources, access: &Access) -> Option<u64> {
    match &resources.memories[usize::from(access.place.memory.0)].kind {
        MemoryKind::OnChip { capacity, .. } => Some(*capacity),
        MemoryKind::Lines(lines) => Some(lines.capacity),
        _ => None,
    }
}

/// For every memory on the chip and direction, the first event with an access in this direction, and the number of the access.
fn samples(listed: &Listed) -> BTreeMap<(u16, bool), (usize, usize)> {
    let mut found = BTreeMap::new();
    for (index, event) in listed.events.iter().enumerate() {
        for (write, accesses) in [(false, &event.reads), (true, &event.writes)] {
            for (number, access) in accesses.iter().enumerate() {
                if access.bytes > 0 && size(&listed.resources, access).is_some() {
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
fn crowded(listed: &Listed, index: usize, (number, write): (usize, bool)) -> Listed {
    listed.with(index, |event| {
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
    for (machine, listed) in schedules() {
        for (&(memory, write), &(index, number)) in &samples(&listed) {
            let kind = &listed.resources.memories[usize::from(memory)];
            // Vectors are written whole, and a network that multicasts takes equal reads as one.
            if let MemoryKind::Lines(lines) = &kind.kind
                && (write || lines.out.as_ref().is_some_and(|port| port.multicast))
            {
                continue;
            }
            let found = hazard(&crowded(&listed, index, (number, write)));
            // A channel that writes more is too fast before the port is too narrow.
            let refused = matches!(found, Some(Hazard::Port | Hazard::Rate));
            assert!(refused, "{machine}: {MOST} more accesses of {} are {found:?}", kind.name);
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried} ports");
}

#[test]
fn a_place_behind_the_last_one_is_refused() {
    for (machine, listed) in schedules() {
        for (&(memory, write), &(index, number)) in &samples(&listed) {
            let behind = listed.with(index, |event| {
                let access = &mut of(event, write)[number];
                access.place.offset = size(&listed.resources, access).expect("on the chip");
            });
            let name = &listed.resources.memories[usize::from(memory)].name;
            assert_eq!(hazard(&behind), Some(Hazard::Capacity), "{machine}: {name}");
        }
    }
}

#[test]
fn a_unit_or_channel_more_than_there_are_is_refused() {
    for (machine, listed) in schedules() {
        let mut seen = BTreeSet::new();
        for (index, event) in listed.events.iter().enumerate() {
            if event.occupancy > 0 && seen.insert(event.resource.0) {
                let mut twice = listed.clone();
                twice.events.insert(index, event.clone());
                let name = listed.resources.name(event.resource);
                assert_eq!(hazard(&twice), Some(Hazard::UnitBusy), "{machine}: two at once on {name}");
            }
        }
        assert!(seen.len() > 4, "{machine}");
    }
}
