//! Is a schedule rejected that moves less than whole values, bypasses ports, or lacks instructions?

use crate::common::case::{Case, Mapped, single};
use polyfabric_machines::contract::Family;
use polyfabric_sim::function::Function;
use polyfabric_sim::list::Instructions;
use polyfabric_sim::schedule::{
    Access, ClassId, Event, KindId, MemoryId, MemoryKind, Order, Place, Resource, Resources, Value,
};

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

#[test]
fn partially_moved_values_are_rejected() {
    let (mut met, mut met_alone) = ([0; CHANGES.len()], [0; 2]);
    for case in Case::all() {
        for ((what, change), met) in CHANGES.into_iter().zip(&mut met) {
            let (schedule, changed) = case.every(change);
            assert!(changed == 0 || case.is_refused(&schedule), "{}: {what}", case.name());
            assert!(changed > 0 || matches!(case.mapped, Mapped::Tfhe(..)), "{}: {what}", case.name());
            *met += changed;
        }
        for (nothing, met) in [nothing_over_ports, no_room].into_iter().zip(&mut met_alone) {
            let one = case.variants(|resources, event| computes(resources, event) && nothing(resources, event) > 0);
            for (kind, schedule) in &one {
                assert!(case.is_refused(schedule), "{}: nothing for {kind}", case.name());
            }
            *met += one.len();
        }
    }
    assert!(met.iter().chain(&met_alone).all(|&met| met > 0), "changes of nothing: {met:?}, {met_alone:?}");
}

/// Checks that `change` of all events of a kind is refused, for each kind with such a function. Returns the number of changes.
fn refused_for_kinds(case: &Case, about: &dyn Fn(Function) -> bool, (what, change): Change) -> usize {
    let mut met = 0;
    for &kind in case.kinds().keys() {
        let of = &case.schedule.resources.kinds[usize::from(kind)];
        if about(of.function) {
            let own = |event: &Event| event.op.kind.0 == kind;
            let (schedule, changed) =
                case.every(|resources, event| if own(event) { change(resources, event) } else { 0 });
            assert!(changed == 0 || case.is_refused(&schedule), "{}: {what} for {}", case.name(), of.name);
            met += changed;
        }
    }
    met
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
    for case in Case::of(Family::Tfhe) {
        for ((about, change), met) in of.iter().zip(&mut met) {
            *met += refused_for_kinds(&case, about, *change);
        }
    }
    assert!(met.iter().all(|&met| met > 0), "{met:?}");
}

#[test]
fn computed_values_do_not_count_as_inputs() {
    let mut renamed = 0;
    for case in Case::of(Family::Tfhe) {
        let resources = &case.schedule.resources;
        let input = |class: ClassId| resources.value_classes[usize::from(class.0)].input;
        let classes = (0..resources.value_classes.len() as u16).map(ClassId);
        for given in classes.filter(|&class| input(class)) {
            let (schedule, changed) = case.every(|resources, event| {
                let off_chip =
                    |place: Place| resources.memories[usize::from(place.memory.0)].kind == MemoryKind::OffChip;
                // A program's inputs really are off chip from the start.
                let computed = |read: &&mut Access| {
                    off_chip(read.place) && !input(read.value.class) && case.stands_for_data(read.value)
                };
                let reads = event.reads.iter_mut().filter(computed);
                reads.map(|read| read.value = Value { class: given, ..read.value }).count()
            });
            let refused = case.judged(&schedule);
            let told = refused.as_ref().is_err_and(|error| error.contains("lies off the chip from the start"));
            assert!(told || changed == 0, "{}: {refused:?}", case.name());
            renamed += changed;
        }
    }
    assert!(renamed > 0, "no program reads one of its results from off chip");
}

#[test]
fn values_outside_the_program_are_rejected() {
    let mut met = [0; 2];
    for case in Case::all() {
        for write in [false, true] {
            for index in [0xff, 0xffff, u32::MAX] {
                let variants = case.variants(|_, event| {
                    let accesses = if write { &mut event.writes } else { &mut event.reads };
                    let Some(access) = accesses.first_mut() else { return false };
                    let (before, stands_for_data) = (access.value.index, case.stands_for_data(access.value));
                    access.value.index |= index;
                    stands_for_data && access.value.index != before
                });
                for (kind, schedule) in &variants {
                    // The audit also runs alone: it must terminate without the checker's verdict.
                    let (refused, audited) = (case.is_refused(schedule), case.audited(schedule));
                    assert!(refused || audited.is_err(), "{}: {kind}", case.name());
                }
                met[usize::from(write)] += variants.len();
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
    for family in [Family::Tfhe, Family::Rns] {
        let mut changed = 0;
        for case in Case::of(family) {
            let variants = case.variants(|resources, event| {
                resources.as_channel(event.resource).is_none() && change(resources, event)
            });
            for (kind, schedule) in &variants {
                assert!(case.is_refused(schedule), "{}: {kind}", case.name());
            }
            changed += variants.len();
        }
        assert!(changed > 0, "no operand of a machine of {family:?}");
    }
}

#[test]
fn operands_that_arrive_with_the_last_result_or_later_are_rejected() {
    refused_of_each_kind(late);
    refused_of_each_kind(with_the_last_result);
}

#[test]
fn units_without_an_instruction_are_rejected() {
    let mut instructed = 0;
    for mut case in Case::of(Family::Rns) {
        let Some(own) = case.instructions.take() else { continue };
        assert!(case.is_refused(&case.schedule), "{}", case.name());
        let items = case.schedule.items.iter().map(single);
        let on_unit = |event: &&Event| case.schedule.resources.as_channel(event.resource).is_none();
        let cycle = items.filter(on_unit).nth(20).expect("so many events").start as u64;
        let starts = own.starts.into_iter().filter(|&(start, _)| start != cycle).collect();
        case.instructions = Some(Instructions { starts, ..own });
        assert!(case.is_refused(&case.schedule), "{}", case.name());
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
    for case in Case::of(Family::Rns) {
        let kinds = &case.schedule.resources.kinds;
        for path in case.samples() {
            let event = case.event(&path);
            let latency = |kind: u16| kinds[usize::from(kind)].latency;
            let faster = |kind: &u16| latency(*kind) < latency(event.op.kind.0);
            for kind in others(&case.schedule.resources, event).filter(faster) {
                let changed = case.with(&path, |event| event.op.kind = KindId(kind));
                assert!(case.is_refused(&changed), "{}: {}", case.name(), kinds[usize::from(kind)].name);
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
    for case in Case::of(Family::Tfhe) {
        let moves =
            |kind: u16| matches!(case.schedule.resources.kinds[usize::from(kind)].function, Function::Move { .. });
        for kind in case.kinds().into_keys().filter(|&kind| moves(kind)) {
            let (schedule, changed) = case.every(|resources, event| {
                let registers = event.writes.iter().any(|write| !holds(resources, write, |_| true));
                let own = event.op.kind.0 == kind && !registers;
                if own { a_word_and_a_token(resources, event) } else { 0 }
            });
            assert!(changed == 0 || case.audited(&schedule).is_err(), "{}: {kind}", case.name());
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
    for case in Case::of(Family::Rns) {
        let faster = case.variants(|resources, event| computes(resources, event) && at_the_end(resources, event));
        for (kind, schedule) in &faster {
            assert!(case.is_refused(schedule), "{}: {kind}", case.name());
        }
        changed += faster.len();
    }
    assert!(changed > 10, "{changed}");
}

#[test]
fn streams_of_units_with_an_order_of_their_own_are_rejected() {
    for write in [false, true] {
        let mut streams = 0;
        for case in Case::of(Family::Rns) {
            let variants = case.variants(|resources, event| {
                let shuffles = resources.kinds[usize::from(event.op.kind.0)].shuffles[usize::from(write)];
                let accesses = if write { &mut event.writes } else { &mut event.reads };
                let access = accesses.iter_mut().find(|access| shuffles && access.order == Order::Any);
                access.map(|access| access.order = Order::Stream).is_some()
            });
            for (kind, schedule) in &variants {
                assert!(case.is_refused(schedule), "{}: {kind}", case.name());
            }
            streams += variants.len();
        }
        assert!(streams > 0, "write: {write}");
    }
}

#[test]
fn wires_reach_only_the_units_that_they_connect() {
    for write in [false, true] {
        let mut changed = 0;
        for case in Case::of(Family::Rns) {
            let variants = case.variants(|resources, event| {
                let wired = |access: &Access| resources.memories[usize::from(access.place.memory.0)].ends.is_some();
                let own = event.resource;
                let same = |other: &u32| *other != own.0 && resources.class(Resource(*other)) == resources.class(own);
                let other = (0..resources.units.len() as u32).find(same);
                event.resource = Resource(other.unwrap_or(own.0));
                other.is_some() && if write { &event.writes } else { &event.reads }.iter().any(wired)
            });
            for (kind, schedule) in &variants {
                assert!(case.is_refused(schedule), "{}: {kind}", case.name());
            }
            changed += variants.len();
        }
        assert!(changed > 0, "write: {write}");
    }
}

#[test]
fn instructions_without_enough_bytes_are_rejected() {
    for mut case in Case::of(Family::Rns) {
        let Some(own) = case.instructions.clone() else { continue };
        let starts = own.starts.iter().map(|&(start, _)| (start, 1)).collect();
        let fewer = [Instructions { starts, ..own.clone() }, Instructions { bytes: own.bytes / 2, ..own }];
        assert!(!case.is_refused(&case.schedule), "{}", case.name());
        for instructions in fewer {
            case.instructions = Some(instructions);
            assert!(case.is_refused(&case.schedule), "{}", case.name());
        }
    }
}
