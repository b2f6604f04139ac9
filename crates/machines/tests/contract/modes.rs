//! Is a unit empty before it changes its mode, on every machine whose operations have modes?

use crate::common::case::{Case, single};
use crate::common::{Rounds, all_machines, changes_of_modulus};
use polyfabric_machines::Machine;
use polyfabric_machines::contract::Target;
use polyfabric_machines::contract::options::Given;
use polyfabric_program::rns::kernel::Round;
use polyfabric_sim::checker::{Hazard, check, check_every_round};
use polyfabric_sim::schedule::{Event, Item, Resources};
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
