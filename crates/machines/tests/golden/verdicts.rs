//! Verdicts of checker and audit on schedules with one error.

use super::common::case::{Case, Mapped};
use super::{rns, tfhe};
use polyfabric_sim::list::each;
use polyfabric_sim::schedule::{Access, Event, MemoryKind, Order, Resources, Schedule};
use std::collections::BTreeMap;

/// By machine and program, event and verdict: the changes with this verdict.
type Verdicts = BTreeMap<String, Program>;
type Program = BTreeMap<String, BTreeMap<String, String>>;

/// Changes an event, given all reads of the schedule; returns whether there was anything to change.
type Change = (&'static str, fn(&Resources, &[Access], &mut Event) -> bool);

const CHANGES: [Change; 13] = [
    ("a cycle earlier", |_, _, event| moved(event, -1)),
    ("a cycle later", |_, _, event| moved(event, 1)),
    ("at the start of the program", |_, _, event| moved(event, -event.start)),
    ("half the work", |_, _, event| {
        event.work /= 2;
        event.work > 0
    }),
    ("half as long", |_, _, event| {
        event.occupancy /= 2;
        event.occupancy > 0
    }),
    ("without the first operand", |_, _, event| !event.reads.is_empty() && event.reads.remove(0).bytes > 0),
    ("without the first result", |_, _, event| !event.writes.is_empty() && event.writes.remove(0).bytes > 0),
    ("another operand", |_, reads, event| {
        let Some(own) = event.reads.first_mut() else { return false };
        let other = |read: &&Access| read.place.memory == own.place.memory && read.value != own.value;
        let Some(other) = reads.iter().find(other) else { return false };
        (own.value, own.place) = (other.value, other.place);
        true
    }),
    ("half of each operand", |_, _, event| {
        event.reads.iter_mut().for_each(|read| read.bytes /= 2);
        !event.reads.is_empty()
    }),
    ("places of a byte", |resources, _, event| {
        let on_chip = |access: &&mut Access| {
            let kind = &resources.memories[usize::from(access.place.memory.0)].kind;
            matches!(kind, MemoryKind::OnChip { .. } | MemoryKind::Lines(_))
        };
        event.reads.iter_mut().chain(&mut event.writes).filter(on_chip).map(|access| access.place.bytes = 1).count() > 0
    }),
    ("an operand after the results", |_, _, event| {
        let last = event.writes.iter().map(|write| write.last).max();
        let (Some(last), Some(read)) = (last, event.reads.first_mut()) else { return false };
        let by = (last + 1).saturating_sub(read.first);
        (read.first, read.last) = (read.first + by, read.last + by);
        true
    }),
    ("results a cycle earlier", |_, _, event| {
        let early = event.writes.iter_mut().filter(|write| write.first > 0);
        early.map(|write| (write.first, write.last) = (write.first - 1, write.last - 1)).count() > 0
    }),
    ("operands in any order", |_, _, event| {
        event.reads.iter_mut().for_each(|read| read.order = Order::Any);
        !event.reads.is_empty()
    }),
];

fn moved(event: &mut Event, by: i64) -> bool {
    event.start += by;
    by != 0
}

pub fn of_tfhe() -> Verdicts {
    let mut verdicts = Verdicts::new();
    let wanted = ["pbs+ks x 5", "a choice of tables between linear layers"];
    for machine in tfhe::machines() {
        for (name, program) in tfhe::small(&machine).into_iter().filter(|(name, _)| wanted.contains(&&**name)) {
            add(&mut verdicts, &name, &Case::tfhe(&machine, program));
        }
    }
    verdicts
}

pub fn of_rns() -> Verdicts {
    let mut verdicts = Verdicts::new();
    let wanted = ["permute", "changes of modulus", "rotate and multiply"];
    for machine in rns::machines() {
        for small in rns::small(&machine).into_iter().filter(|small| wanted.contains(&&*small.name)) {
            add(&mut verdicts, &small.name, &Case::rns(&machine, small.program));
        }
    }
    verdicts
}

fn add(verdicts: &mut Verdicts, program: &str, case: &Case) {
    verdicts.insert(format!("{}, {program}", case.machine.name()), of(case));
}

/// The kinds of rejection, by the checker and by the audit.
fn verdict(case: &Case, schedule: &Schedule) -> String {
    let checked = case.checked(schedule);
    let checked = checked.map_or_else(|violation| format!("{:?}", violation.hazard), |()| "accepted".to_owned());
    let audited = case.audited(schedule).map_or_else(|error| format!("{error:?}"), |()| "accepted".to_owned());
    format!("{checked}, {}", audited.split([' ', '{']).next().unwrap_or_default())
}

/// Verdicts with each change of an event of each kind: the first one in loops, the middle one of a list.
fn of(case: &Case) -> Program {
    let mut all_reads = Vec::new();
    each(&case.schedule.items, 1, &mut |event, _| all_reads.extend(&event.reads));
    let resources = &case.schedule.resources;
    let mut verdicts = Program::new();
    for own in case.kinds().into_values() {
        let (path, name) = match case.mapped {
            Mapped::Tfhe(..) => (&own[0], case.kind(&own[0]).to_owned()),
            Mapped::Rns(..) => {
                let path = &own[own.len() / 2];
                let event = case.event(path);
                let unit = resources.name(event.resource);
                (path, format!("{} on {unit} at {}", case.kind(path), event.start))
            }
        };
        let mut add = |changed: Schedule, what: &str| {
            let changes = verdicts.entry(name.clone()).or_default().entry(verdict(case, &changed)).or_default();
            *changes += if changes.is_empty() { "" } else { ", " };
            *changes += what;
        };
        add(case.without(path), "missing");
        add(case.doubled(path), "doubled");
        for (what, change) in CHANGES {
            let mut met = false;
            let changed = case.with(path, |event| met = change(resources, &all_reads, event));
            if met {
                add(changed, what);
            }
        }
    }
    verdicts
}
