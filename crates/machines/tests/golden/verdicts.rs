//! Verdicts of checker and audit on schedules with one error.

use super::common::Listed;
use super::{rns, tfhe};
use polyfabric_machines::audit::{self, AuditError};
use polyfabric_machines::contract;
use polyfabric_machines::contract::options::Given;
use polyfabric_sim::checker::{Violation, check};
use polyfabric_sim::list::Source;
use polyfabric_sim::schedule::{Access, Event, Item, MemoryKind, Order, Resources, Schedule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
            let mapped = contract::tfhe::map(&machine, &program).expect("it fits");
            let judged = |schedule: &Schedule| {
                verdict(check(schedule, &[]).map(|_| ()), audit::audit(&program, schedule, &mapped.labels))
            };
            verdicts.insert(format!("{}, {name}", machine.name()), of_tree(&mapped.schedule, &judged));
        }
    }
    verdicts
}

pub fn of_rns() -> Verdicts {
    let mut verdicts = Verdicts::new();
    let wanted = ["permute", "changes of modulus", "rotate and multiply"];
    for machine in rns::machines() {
        for small in rns::small(&machine).into_iter().filter(|small| wanted.contains(&&*small.name)) {
            let simulated = contract::rns::map(&machine, &small.program, "", &Given::new()).expect("it fits");
            let listed = Listed::of(simulated.mapped());
            let labels = simulated.mapped().labels();
            let judged = |listed: &Listed| {
                let checked = check(Source::List(listed), &[]).map(|_| ());
                verdict(checked, audit::rns::audit(&small.program, listed, labels))
            };
            verdicts.insert(format!("{}, {}", machine.name(), small.name), of_list(&listed, &judged));
        }
    }
    verdicts
}

fn add(verdicts: &mut Program, event: &str, verdict: String, change: &str) {
    let changes = verdicts.entry(event.to_owned()).or_default().entry(verdict).or_default();
    *changes += if changes.is_empty() { "" } else { ", " };
    *changes += change;
}

/// The kinds of rejection, by the checker and by the audit.
fn verdict(checked: Result<(), Violation>, held: Result<(), AuditError>) -> String {
    let checked = checked.map_or_else(|violation| format!("{:?}", violation.hazard), |()| "accepted".to_owned());
    let held = held.map_or_else(|error| format!("{error:?}"), |()| "accepted".to_owned());
    format!("{checked}, {}", held.split([' ', '{']).next().unwrap_or_default())
}

/// Verdicts on a tree with each change of the first event of each kind, in any loop.
fn of_tree(schedule: &Schedule, judged: &dyn Fn(&Schedule) -> String) -> Program {
    let mut reads = Vec::new();
    let mut kinds = BTreeSet::new();
    Source::Loops(schedule).each(&mut |event, _| {
        reads.extend(&event.reads);
        kinds.insert(event.op.kind.0);
    });
    let mut verdicts = BTreeMap::new();
    for kind in kinds {
        let name = &schedule.resources.kinds[usize::from(kind)].name;
        let mut judge = |what: &str, change: &mut dyn FnMut(&mut Vec<Item>, usize) -> bool| {
            let mut changed = schedule.clone();
            if at_first(&mut changed.items, kind, change) {
                add(&mut verdicts, name, judged(&changed), what);
            }
        };
        judge("missing", &mut |items, index| {
            items.remove(index);
            true
        });
        judge("doubled", &mut |items, index| {
            items.insert(index, items[index].clone());
            true
        });
        for (what, change) in CHANGES {
            judge(what, &mut |items, index| {
                let Item::Event(event) = &mut items[index] else { return false };
                change(&schedule.resources, &reads, event)
            });
        }
    }
    verdicts
}

/// Applies `change` to the list that contains the first event of a kind, with the event's index.
fn at_first(items: &mut Vec<Item>, kind: u16, change: &mut dyn FnMut(&mut Vec<Item>, usize) -> bool) -> bool {
    let holds = |item: &Item| match item {
        Item::Event(event) => event.op.kind.0 == kind,
        Item::Repeat(repeat) => has(&repeat.body, kind),
    };
    let Some(index) = items.iter().position(holds) else { return false };
    match &mut items[index] {
        Item::Event(_) => change(items, index),
        Item::Repeat(repeat) => at_first(Arc::make_mut(&mut repeat.body), kind, change),
    }
}

fn has(items: &[Item], kind: u16) -> bool {
    items.iter().any(|item| match item {
        Item::Event(event) => event.op.kind.0 == kind,
        Item::Repeat(repeat) => has(&repeat.body, kind),
    })
}

/// Verdicts on a list with each change of the middle event of each kind.
fn of_list(listed: &Listed, judged: &dyn Fn(&Listed) -> String) -> Program {
    let reads: Vec<Access> = listed.events.iter().flat_map(|event| event.reads.iter().copied()).collect();
    let mut verdicts = BTreeMap::new();
    let middle = listed
        .samples()
        .chunk_by(|&a, &b| listed.kind(a) == listed.kind(b))
        .map(|own| own[own.len() / 2])
        .collect::<Vec<_>>();
    for index in middle {
        let event = &listed.events[index];
        let name = format!("{} on {} at {}", listed.kind(index), listed.resources.name(event.resource), event.start);
        add(&mut verdicts, &name, judged(&listed.without(index)), "missing");
        add(&mut verdicts, &name, judged(&listed.doubled(index)), "doubled");
        for (what, change) in CHANGES {
            let mut met = false;
            let changed = listed.with(index, |event| met = change(&listed.resources, &reads, event));
            if met {
                add(&mut verdicts, &name, judged(&changed), what);
            }
        }
    }
    verdicts
}
