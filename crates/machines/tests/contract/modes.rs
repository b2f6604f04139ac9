//! Is a unit empty before it changes its mode, on every machine whose operations have modes?

use crate::common::case::{Case, single};
use crate::common::{Rounds, all_machines, changes_of_modulus};
use polyfabric_machines::Machine;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::{Family, Target};
use polyfabric_program::rns::kernel::Round;
use polyfabric_sim::checker::{Hazard, Violation, check, check_every_round};
use polyfabric_sim::list::Source;
use polyfabric_sim::schedule::{Event, Item, KindId, OpRef, Repeat, Resource, Resources, Schedule, Shift, Value};
use std::collections::HashMap;
use std::sync::Arc;

fn has_modes(resources: &Resources) -> bool {
    resources.kinds.iter().any(|kind| kind.mode.is_some())
}

/// The RNS machines with modes, with a program that uses several modes of their units.
fn rns_cases() -> impl Iterator<Item = Case> {
    let program = changes_of_modulus();
    let with_modes = |machine: &Machine| {
        let Target::Rns(mapper) = machine.target() else { return false };
        has_modes(&mapper.resources(&changes_of_modulus(), &Given::new()).expect("its figures are right"))
    };
    all_machines().into_iter().filter(with_modes).map(move |machine| Case::rns(&machine, Arc::clone(&program)))
}

/// Every machine with modes: its name and resources.
fn resources() -> impl Iterator<Item = (String, Resources)> {
    let cases = Case::of(Family::Tfhe).into_iter().chain(rns_cases());
    cases.map(|case| (case.name(), case.schedule.resources)).filter(|(_, resources)| has_modes(resources))
}

const OCCUPANCY: u32 = 3;

/// An event of one element, for three cycles.
fn bare(resources: &Resources, resource: usize, kind: usize, start: i64) -> Event {
    let (none, parts) = (Value::NONE, resources.kinds[kind].parts);
    let op = OpRef { kind: KindId(kind as u16), kernel_op: none, body_op: none, ciphertext: none, iteration: none };
    let (reads, writes) = (Vec::new(), Vec::new());
    Event { resource: Resource(resource as u32), start, occupancy: OCCUPANCY, work: 1, parts, op, reads, writes }
}

fn judged(resources: &Resources, events: [Event; 2]) -> Result<(), Violation> {
    let items = events.map(Item::Event).to_vec();
    let schedule = Schedule { resources: resources.clone(), items };
    let [loops, list] =
        [Source::Loops(&schedule), Source::List(&schedule)].map(|source| check(source, &[]).map(|_| ()));
    assert_eq!(loops, list);
    loops
}

#[test]
fn mode_changes_are_rejected_one_cycle_early_and_accepted_on_time() {
    let mut changed = 0;
    for (name, resources) in resources() {
        let moded = resources.units.iter().enumerate().flat_map(|(unit, of)| {
            let own = resources.kinds.iter().enumerate().filter(|(_, kind)| kind.class == of.class);
            let own: Vec<usize> = own.filter(|(_, kind)| kind.mode.is_some()).map(|(kind, _)| kind).collect();
            // Pairs of each operation with the next one, and with the last one.
            let next = own.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
            let last = own.last().copied();
            next.into_iter().chain(own.into_iter().zip(last)).map(move |(a, b)| (unit, a, b)).collect::<Vec<_>>()
        });
        for (unit, a, b) in moded {
            let latency = |kind: usize| resources.kinds[kind].latency as i64;
            let second =
                |start: i64| judged(&resources, [bare(&resources, unit, a, 0), bare(&resources, unit, b, start)]);
            let empty = i64::from(OCCUPANCY) + latency(a);
            if resources.kinds[a].mode == resources.kinds[b].mode {
                let legal = i64::from(OCCUPANCY).max(empty - latency(b));
                assert_eq!(second(legal), Ok(()), "{name}");
                assert!(second(legal - 1).is_err(), "{name}");
                continue;
            }
            let refused = second(empty - 1).expect_err("a cycle early");
            assert_eq!((refused.hazard, refused.legal_start), (Hazard::NotEmpty, Some(empty)), "{name}: {refused}");
            assert_eq!(second(empty), Ok(()), "{name}");
            // The same in rounds, which are folded.
            let rounds = |less: i64| {
                let body = [bare(&resources, unit, a, 0), bare(&resources, unit, b, empty)].map(Item::Event);
                let period = (empty + i64::from(OCCUPANCY) + latency(b) - less) as u64;
                let (origin, shift) = (Shift::default(), Shift::default());
                let repeat = Repeat { start: 0, count: 50, period, origin, shift, body: Arc::new(body.to_vec()) };
                Schedule { resources: resources.clone(), items: vec![Item::Repeat(repeat)] }
            };
            assert!(check(&rounds(0), &[]).is_ok(), "{name}");
            for refused in [check(&rounds(1), &[]), check_every_round(&rounds(1), &[])] {
                assert_eq!(refused.expect_err("a cycle early").hazard, Hazard::NotEmpty, "{name}");
            }
            changed += 1;
        }
    }
    assert!(changed > 0, "no machine was tested");
}

/// Events that change their unit's mode, by index, with the first cycle in which the unit is empty.
fn changes<'a>(resources: &Resources, events: impl Iterator<Item = &'a Event>) -> Vec<(usize, i64)> {
    let mut units: HashMap<u32, (u16, i64)> = HashMap::new();
    let mut changes = Vec::new();
    for (index, event) in events.enumerate() {
        let kind = &resources.kinds[usize::from(event.op.kind.0)];
        let Some(mode) = kind.mode else { continue };
        let through = i64::from(event.occupancy) + kind.latency as i64;
        let written = event.writes.iter().map(|write| i64::from(write.last) + 1);
        let empty = event.start + written.fold(through, i64::max);
        if let Some((_, before)) =
            units.insert(event.resource.0, (mode.0, empty)).filter(|&(before, _)| before != mode.0)
        {
            changes.push((index, before));
        }
    }
    changes
}

#[test]
fn events_that_change_a_mode_one_cycle_early_are_rejected() {
    let mut changed = 0;
    // With several groups of units, one may keep its mode.
    for case in rns_cases() {
        case.checked(&case.schedule).unwrap_or_else(|violation| panic!("{}: {violation}", case.name()));
        for (index, empty) in changes(&case.schedule.resources, case.schedule.items.iter().map(single)) {
            changed += 1;
            let early = case.with(&[index], |event| event.start = empty - 1);
            let refused = case.checked(&early).expect_err("a cycle early");
            assert_eq!((refused.hazard, refused.legal_start), (Hazard::NotEmpty, Some(empty)), "{refused}");
        }
    }
    assert!(changed > 0, "no machine changes a mode here");
}

#[test]
fn events_of_repeated_rounds_that_change_a_mode_early_are_rejected() {
    let rounds = Rounds { bodies: vec![changes_of_modulus()], rounds: vec![Round::of(0); 8] };
    let mut tried = 0;
    for Case { machine, .. } in rns_cases() {
        let Ok(simulated) = rounds.map(&machine) else { continue };
        let right = simulated.schedule();
        check(right, &[]).unwrap_or_else(|violation| panic!("{}: {violation}", machine.name()));
        // The last event of the body that changes a mode within it.
        let mut wrong = right.clone();
        let Some(Item::Repeat(repeat)) = wrong.items.last_mut() else { panic!("equal rounds are a loop") };
        let body = Arc::make_mut(&mut repeat.body);
        let Some((index, empty)) = changes(&right.resources, body.iter().map(single)).pop() else { continue };
        if let Item::Event(event) = &mut body[index] {
            event.start = empty - 1;
        }
        tried += 1;
        for judged in [check(&wrong, &[]), check_every_round(&wrong, &[])] {
            let violation = judged.expect_err("a cycle early");
            assert_eq!(violation.hazard, Hazard::NotEmpty, "{}: {violation}", machine.name());
        }
    }
    assert!(tried > 0, "no machine has a round that changes a mode");
}
