//! Is a schedule rejected that moves less than whole values, bypasses ports, or lacks instructions?

use crate::common::Listed;
use crate::rns_machines::Case;
use crate::{judged, tfhe_machines};
use polyfabric_machines::audit::audit;
use polyfabric_machines::contract::tfhe;
use polyfabric_sim::function::Function;
use polyfabric_sim::list::Instructions;
use polyfabric_sim::schedule::{
    Access, ClassId, Event, Item, KindId, MemoryId, MemoryKind, Order, Place, Resource, Resources, Schedule, Value,
};
use std::sync::Arc;

/// A change of all matching events; returns the number of changed accesses.
type Change<'a> = (&'a str, &'a dyn Fn(&Resources, &mut Event) -> usize);

fn accesses(event: &mut Event) -> impl Iterator<Item = &mut Access> {
    event.reads.iter_mut().chain(&mut event.writes)
}

fn holds(resources: &Resources, access: &Access, memory: impl Fn(&MemoryKind) -> bool) -> bool {
    let class = &resources.value_classes[usize::from(access.value.class.0)];
    class.bits > 0 && memory(&resources.memories[usize::from(access.place.memory.0)].kind)
}

/// Transfers of no bytes.
fn nothing_over_channels(resources: &Resources, event: &mut Event) -> usize {
    if resources.as_channel(event.resource).is_none() {
        return 0;
    }
    (event.work, event.occupancy) = (0, 1);
    accesses(event).map(|access| access.bytes = 0).count()
}

/// Stores of no bytes.
fn nothing_stored(resources: &Resources, event: &mut Event) -> usize {
    if resources.as_channel(event.resource).is_none() {
        return 0;
    }
    let off_chip = |kind: &MemoryKind| *kind == MemoryKind::OffChip;
    event.writes.iter_mut().filter(|write| holds(resources, write, off_chip)).map(|write| write.bytes = 0).count()
}

/// Values that occupy no space.
fn no_room(resources: &Resources, event: &mut Event) -> usize {
    let on_chip = |kind: &MemoryKind| matches!(kind, MemoryKind::OnChip { .. } | MemoryKind::Lines(_));
    accesses(event).filter(|access| holds(resources, access, on_chip)).map(|access| access.place.bytes = 1).count()
}

/// Accesses of no bytes.
fn nothing_over_ports(resources: &Resources, event: &mut Event) -> usize {
    if resources.as_channel(event.resource).is_some() {
        return 0;
    }
    let any = |kind: &MemoryKind| *kind != MemoryKind::Scoreboard;
    accesses(event).filter(|access| holds(resources, access, any)).map(|access| access.bytes = 0).count()
}

/// Inputs and keys that units read directly off chip.
fn straight_from_memory(resources: &Resources, event: &mut Event) -> usize {
    let off_chip = resources.memories.iter().position(|memory| memory.kind == MemoryKind::OffChip).expect("it has one");
    let beside = resources.kinds[usize::from(event.op.kind.0)].off_chip;
    if resources.as_channel(event.resource).is_some() || beside {
        return 0;
    }
    let input = |access: &&mut Access| resources.value_classes[usize::from(access.value.class.0)].input;
    event.reads.iter_mut().filter(input).map(|read| read.place.memory = MemoryId(off_chip as u16)).count()
}

const CHANGES: [Change; 5] = [
    ("transfers of no bytes", &nothing_over_channels),
    ("stores of no bytes", &nothing_stored),
    ("places of a byte", &no_room),
    ("accesses of no bytes", &nothing_over_ports),
    ("inputs and keys read off the chip", &straight_from_memory),
];

/// Stores of a single word.
fn a_word_stored(resources: &Resources, event: &mut Event) -> usize {
    let off_chip = |kind: &MemoryKind| *kind == MemoryKind::OffChip;
    if !event.writes.iter().any(|write| holds(resources, write, off_chip)) {
        return 0;
    }
    accesses(event).filter(|access| access.bytes > 4).map(|access| (access.bytes, access.place.bytes) = (4, 4)).count()
}

/// Operands whose first half is read twice.
fn half_twice(resources: &Resources, event: &mut Event) -> usize {
    let on_chip = |kind: &MemoryKind| matches!(kind, MemoryKind::OnChip { .. });
    let twice = |read: &Access| match holds(resources, read, on_chip) && read.place.bytes.is_multiple_of(2) {
        true => {
            let place = Place { bytes: read.place.bytes / 2, ..read.place };
            vec![Access { place, bytes: read.bytes / 2, ..*read }; 2]
        }
        false => vec![*read],
    };
    let before = event.reads.len();
    event.reads = event.reads.iter().flat_map(twice).collect();
    event.reads.len() - before
}

/// One word of each operand on the chip.
fn a_word_of_each(resources: &Resources, event: &mut Event) -> usize {
    let on_chip = |kind: &MemoryKind| matches!(kind, MemoryKind::OnChip { .. });
    let held = event.reads.iter_mut().filter(|read| holds(resources, read, on_chip) && read.bytes > 4);
    held.map(|read| read.bytes = 4).count()
}

/// An operand that is read when the results are written.
fn late(resources: &Resources, event: &mut Event) -> bool {
    let any = |kind: &MemoryKind| *kind != MemoryKind::Scoreboard;
    let last = event.writes.iter().filter(|write| holds(resources, write, any)).map(|write| write.last).max();
    let (Some(last), Some(read)) = (last, event.reads.iter_mut().find(|read| holds(resources, read, any))) else {
        return false;
    };
    let by = (last + 1).saturating_sub(read.first);
    (read.first, read.last) = (read.first + by, read.last + by);
    true
}

/// The last element of an operand from the scratchpads, read with the last result by a unit that needs it
/// earlier.
fn with_the_last_result(resources: &Resources, event: &mut Event) -> bool {
    let kind = &resources.kinds[usize::from(event.op.kind.0)];
    let any = |memory: &MemoryKind| *memory != MemoryKind::Scoreboard;
    let on_chip = |memory: &MemoryKind| matches!(memory, MemoryKind::OnChip { .. } | MemoryKind::Lines(_));
    let last = event.writes.iter().filter(|write| holds(resources, write, any)).map(|write| write.last).max();
    let (Some(last), Some(read)) = (last, event.reads.iter_mut().find(|read| holds(resources, read, on_chip))) else {
        return false;
    };
    let by = last.saturating_sub(read.last);
    (read.first, read.last) = (read.first + by, read.last + by);
    by > 0 && kind.latency > 0 && !kind.addends
}

fn every(items: &mut [Item], change: &mut dyn FnMut(&mut Event)) {
    for item in items {
        match item {
            Item::Event(event) => change(event),
            Item::Repeat(repeat) => every(Arc::make_mut(&mut repeat.body).as_mut_slice(), change),
        }
    }
}

#[test]
fn partially_moved_values_are_rejected() {
    let (mut met, mut met_alone) = ([0; CHANGES.len()], [0; 2]);
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        for ((what, change), met) in CHANGES.into_iter().zip(&mut met) {
            let mut schedule: Schedule = mapped.schedule.clone();
            let resources = schedule.resources.clone();
            let mut changed = 0;
            every(&mut schedule.items, &mut |event| changed += change(&resources, event));
            let refused = judged(&machine, &program, &mapped, &schedule).is_err();
            assert!(refused || changed == 0, "{}: {what}", machine.name());
            *met += changed;
        }
        // One event of each kind that computes.
        let base = &mapped.schedule;
        for kind in crate::kinds(base) {
            let name = &base.resources.kinds[usize::from(kind)].name;
            for (nothing, met) in [nothing_over_ports, no_room].into_iter().zip(&mut met_alone) {
                let mut schedule = base.clone();
                let changed = crate::first(&mut schedule.items, &mut |event| {
                    let computes = computes(&base.resources, event) && event.op.kind.0 == kind;
                    computes && nothing(&base.resources, event) > 0
                });
                let refused = judged(&machine, &program, &mapped, &schedule).is_err();
                assert!(refused || !changed, "{}: nothing for {name}", machine.name());
                *met += usize::from(changed);
            }
        }
    }
    assert!(met.iter().chain(&met_alone).all(|&met| met > 0), "changes of nothing: {met:?}, {met_alone:?}");
    for case in Case::all() {
        for (what, change) in CHANGES {
            let mut listed: Listed = case.listed.clone();
            let resources = listed.resources.clone();
            let changed: usize = listed.events.iter_mut().map(|event| change(&resources, event)).sum();
            assert!(changed > 0 && case.judged(&listed).is_err(), "{}: {what}", case.name());
        }
    }
}

#[test]
fn parts_of_values_do_not_count_as_the_whole() {
    let moves = |function: Function| matches!(function, Function::Move { .. });
    let (others, extracts) = (|function| !moves(function), |function| function == Function::SampleExtract);
    let of: [(&dyn Fn(Function) -> bool, Change); 4] = [
        (&moves, ("stores of a word", &a_word_stored)),
        (&moves, ("moves that read a word", &a_word_of_each)),
        (&others, ("halves read twice", &half_twice)),
        (&extracts, ("a word of each polynomial", &a_word_of_each)),
    ];
    let mut met = [0; 4];
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let base = &mapped.schedule;
        for ((about, (what, change)), met) in of.iter().zip(&mut met) {
            let function = |kind: u16| base.resources.kinds[usize::from(kind)].function;
            for kind in crate::kinds(base).into_iter().filter(|&kind| about(function(kind))) {
                let mut schedule = base.clone();
                let mut changed = 0;
                every(&mut schedule.items, &mut |event| {
                    changed += if event.op.kind.0 == kind { change(&base.resources, event) } else { 0 };
                });
                let refused = judged(&machine, &program, &mapped, &schedule).is_err();
                let name = &base.resources.kinds[usize::from(kind)].name;
                assert!(refused || changed == 0, "{}: {what} for {name}", machine.name());
                *met += changed;
            }
        }
    }
    assert!(met.iter().all(|&met| met > 0), "{met:?}");
}

#[test]
fn computed_values_do_not_count_as_inputs() {
    let mut renamed = 0;
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let resources = &mapped.schedule.resources;
        let off_chip =
            |access: &Access| resources.memories[usize::from(access.place.memory.0)].kind == MemoryKind::OffChip;
        let classes = (0..resources.value_classes.len() as u16).map(ClassId);
        for given in classes.filter(|class| resources.value_classes[usize::from(class.0)].input) {
            let mut schedule = mapped.schedule.clone();
            let mut changed = 0;
            every(&mut schedule.items, &mut |event| {
                for read in event.reads.iter_mut().filter(|read| off_chip(read)) {
                    let as_given = Value { class: given, ..read.value };
                    // A program's inputs really are off chip from the start.
                    let computed = !resources.value_classes[usize::from(read.value.class.0)].input;
                    if computed && crate::stands_for_data(&mapped.labels, read.value) {
                        (read.value, changed) = (as_given, changed + 1);
                    }
                }
            });
            let refused = judged(&machine, &program, &mapped, &schedule);
            let told = refused.as_ref().is_err_and(|error| error.contains("lies off the chip from the start"));
            assert!(told || changed == 0, "{}: {refused:?}", machine.name());
            renamed += changed;
        }
    }
    assert!(renamed > 0, "no program reads one of its results from off chip");
}

#[test]
fn values_outside_the_program_are_rejected() {
    let mut met = [0; 2];
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        for kind in crate::kinds(&mapped.schedule) {
            for write in [false, true] {
                for index in [0xff, 0xffff, u32::MAX] {
                    let mut schedule = mapped.schedule.clone();
                    let changed = crate::first(&mut schedule.items, &mut |event| {
                        let accesses = if write { &mut event.writes } else { &mut event.reads };
                        let Some(access) = accesses.first_mut().filter(|_| event.op.kind.0 == kind) else {
                            return false;
                        };
                        let stands_for_data = crate::stands_for_data(&mapped.labels, access.value);
                        let before = access.value.index;
                        access.value.index |= index;
                        stands_for_data && access.value.index != before
                    });
                    let refused = judged(&machine, &program, &mapped, &schedule).is_err();
                    // The audit also runs alone: it must terminate without the checker's verdict.
                    let held = audit(&program, &schedule, &mapped.labels);
                    let name = &schedule.resources.kinds[usize::from(kind)].name;
                    assert!(refused || held.is_err() || !changed, "{}: {name}", machine.name());
                    met[usize::from(write)] += usize::from(changed);
                }
            }
        }
    }
    assert!(met.iter().all(|&met| met > 0), "{met:?}");
}

fn computes(resources: &Resources, event: &Event) -> bool {
    let function = resources.kinds[usize::from(event.op.kind.0)].function;
    !matches!(function, Function::Move { .. }) && !event.writes.is_empty()
}

/// Checks on every machine that `change` of one event of each computing kind is rejected.
fn refused_of_each_kind(change: impl Fn(&Resources, &mut Event) -> bool) {
    let (mut of_torus, mut of_residues) = (0, 0);
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        for kind in crate::kinds(&mapped.schedule) {
            let mut schedule = mapped.schedule.clone();
            let resources = schedule.resources.clone();
            let own = |event: &Event| event.op.kind.0 == kind && resources.as_channel(event.resource).is_none();
            let changed = crate::first(&mut schedule.items, &mut |event| own(event) && change(&resources, event));
            let refused = judged(&machine, &program, &mapped, &schedule).is_err();
            let name = &resources.kinds[usize::from(kind)].name;
            assert!(refused || !changed, "{}: {name}", machine.name());
            of_torus += usize::from(changed);
        }
    }
    for case in Case::all() {
        for index in case.listed.samples() {
            let mut listed = case.listed.clone();
            let event = &mut listed.events[index];
            if case.listed.resources.as_channel(event.resource).is_none() && change(&case.listed.resources, event) {
                assert!(case.judged(&listed).is_err(), "{}: {}", case.name(), case.listed.kind(index));
                of_residues += 1;
            }
        }
    }
    assert!(of_torus > 0 && of_residues > 0, "{of_torus} and {of_residues} operands");
}

#[test]
fn operands_that_arrive_with_the_last_result_or_later_are_rejected() {
    refused_of_each_kind(late);
    refused_of_each_kind(with_the_last_result);
}

#[test]
fn units_without_an_instruction_are_rejected() {
    let mut instructed = 0;
    for case in Case::all().into_iter().filter(|case| case.listed.resources.instructed.is_some()) {
        let mut none = case.listed.clone();
        none.instructions = None;
        assert!(case.judged(&none).is_err(), "{}", case.name());
        let mut fewer = case.listed.clone();
        let on_unit = |event: &&Event| case.listed.resources.as_channel(event.resource).is_none();
        let cycle = case.listed.events.iter().filter(on_unit).nth(20).expect("so many events").start as u64;
        fewer.instructions.as_mut().expect("it has some").starts.retain(|&(start, _)| start != cycle);
        assert!(case.judged(&fewer).is_err(), "{}", case.name());
        instructed += 1;
    }
    assert!(instructed > 0);
}

/// The kinds of the same unit as that of `event`.
fn others<'a>(resources: &'a Resources, event: &Event) -> impl Iterator<Item = u16> + use<'a> {
    let own = event.op.kind.0;
    let class = &resources.kinds[usize::from(own)].class;
    (0..resources.kinds.len() as u16)
        .filter(move |&kind| kind != own && &resources.kinds[usize::from(kind)].class == class)
}

#[test]
fn operations_under_the_name_of_faster_ones_are_rejected() {
    let mut renamed = 0;
    for case in Case::all() {
        let resources = &case.listed.resources;
        for index in case.listed.samples() {
            let latency = |kind: u16| resources.kinds[usize::from(kind)].latency;
            let event = &case.listed.events[index];
            for kind in others(resources, event).filter(|&kind| latency(kind) < latency(event.op.kind.0)) {
                let mut listed = case.listed.clone();
                listed.events[index].op.kind = KindId(kind);
                assert!(case.judged(&listed).is_err(), "{}: {}", case.name(), resources.kinds[usize::from(kind)].name);
                renamed += 1;
            }
        }
    }
    assert!(renamed > 50, "{renamed}");
}

/// A word of each operand, with a token among the results: a register for which a part would do.
fn a_word_and_a_token(resources: &Resources, event: &mut Event) -> usize {
    let token = resources.memories.iter().position(|memory| memory.kind == MemoryKind::Scoreboard);
    let (Some(token), Some(&write)) = (token, event.writes.first()) else { return 0 };
    let words = a_word_of_each(resources, event);
    if words > 0 {
        let place = Place { memory: MemoryId(token as u16), ..write.place };
        event.writes.push(Access { place, ..write });
    }
    words
}

#[test]
fn a_token_hides_no_missing_part() {
    let mut met = 0;
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let base = &mapped.schedule;
        let moves = |kind: u16| matches!(base.resources.kinds[usize::from(kind)].function, Function::Move { .. });
        for kind in crate::kinds(base).into_iter().filter(|&kind| moves(kind)) {
            let mut schedule = base.clone();
            let mut changed = 0;
            every(&mut schedule.items, &mut |event| {
                let registers = event.writes.iter().any(|write| !holds(&base.resources, write, |_| true));
                let own = event.op.kind.0 == kind && !registers;
                changed += if own { a_word_and_a_token(&base.resources, event) } else { 0 };
            });
            let held = audit(&program, &schedule, &mapped.labels);
            let name = &base.resources.kinds[usize::from(kind)].name;
            assert!(held.is_err() || changed == 0, "{}: {name}", machine.name());
            met += changed;
        }
    }
    assert!(met > 0, "no move between memories on a machine with tokens");
}

/// The first read on the chip, all in the cycle of its last part: the unit would use it before.
fn at_the_end(resources: &Resources, event: &mut Event) -> bool {
    let on_chip = |memory: &MemoryKind| matches!(memory, MemoryKind::OnChip { .. } | MemoryKind::Lines(_));
    let read = event.reads.iter_mut().find(|read| holds(resources, read, on_chip) && read.first < read.last);
    read.is_some_and(|read| {
        read.first = read.last;
        true
    })
}

#[test]
fn operands_that_pass_faster_than_the_unit_takes_them_are_rejected() {
    let mut changed = 0;
    for case in Case::all() {
        for index in case.listed.samples() {
            let mut listed = case.listed.clone();
            if computes(&listed.resources, &listed.events[index])
                && at_the_end(&case.listed.resources, &mut listed.events[index])
            {
                assert!(case.judged(&listed).is_err(), "{}: {}", case.name(), case.listed.kind(index));
                changed += 1;
            }
        }
    }
    assert!(changed > 10, "{changed}");
}

#[test]
fn streams_of_units_with_an_order_of_their_own_are_rejected() {
    let mut streams = [0; 2];
    for case in Case::all() {
        for index in case.listed.samples() {
            let event = &case.listed.events[index];
            let shuffles = case.listed.resources.kinds[usize::from(event.op.kind.0)].shuffles;
            for write in [false, true].into_iter().filter(|&write| shuffles[usize::from(write)]) {
                let mut listed = case.listed.clone();
                let of = &mut listed.events[index];
                let accesses = if write { &mut of.writes } else { &mut of.reads };
                let Some(access) = accesses.iter_mut().find(|access| access.order == Order::Any) else { continue };
                access.order = Order::Stream;
                assert!(case.judged(&listed).is_err(), "{}: {}", case.name(), case.listed.kind(index));
                streams[usize::from(write)] += 1;
            }
        }
    }
    assert!(streams.iter().all(|&streams| streams > 0), "{streams:?}");
}

#[test]
fn wires_reach_only_the_units_that_they_connect() {
    let mut changed = [0; 2];
    for case in Case::all() {
        let resources = &case.listed.resources;
        for index in case.listed.samples() {
            let event = &case.listed.events[index];
            let same = |other: &u32| {
                *other != event.resource.0 && resources.class(Resource(*other)) == resources.class(event.resource)
            };
            let Some(other) = (0..resources.units.len() as u32).find(same) else { continue };
            for (write, accesses) in [&event.reads, &event.writes].into_iter().enumerate() {
                let wired = |access: &Access| resources.memories[usize::from(access.place.memory.0)].ends.is_some();
                if accesses.iter().any(wired) {
                    let mut listed = case.listed.clone();
                    listed.events[index].resource = Resource(other);
                    assert!(case.judged(&listed).is_err(), "{}: {}", case.name(), case.listed.kind(index));
                    changed[write] += 1;
                }
            }
        }
    }
    assert!(changed.iter().all(|&changed| changed > 0), "{changed:?}");
}

#[test]
fn instructions_without_enough_bytes_are_rejected() {
    for case in Case::all().into_iter().filter(|case| case.listed.resources.instructed.is_some()) {
        let changed = |change: &dyn Fn(&mut Instructions)| {
            let mut listed = case.listed.clone();
            change(listed.instructions.as_mut().expect("it has some"));
            case.judged(&listed).is_err()
        };
        assert!(!changed(&|_| {}), "{}", case.name());
        assert!(changed(&|of| of.starts.iter_mut().for_each(|(_, bytes)| *bytes = 1)), "{}", case.name());
        assert!(changed(&|of| of.bytes /= 2), "{}", case.name());
    }
}
