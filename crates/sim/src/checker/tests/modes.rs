//! Does a change of mode wait until the unit is empty, and does no element overtake another?

use crate::checker::{Hazard, Violation, check, check_every_round};
use crate::list::Source;
use crate::schedule::*;
use crate::stalls::Stall;

/// One unit takes an element a cycle. A slow operation of 7 cycles and a quick one of 5 share a mode; another mode has
/// one of 3.
const SLOW: KindId = KindId(0);
const QUICK: KindId = KindId(1);
const OTHER: KindId = KindId(2);

fn machine() -> ScheduleBuilder {
    let mut builder = ScheduleBuilder::new();
    builder.unit("unit", "unit", WaitCategory::Pipeline);
    for (name, latency, mode) in [("slow", 7, 0), ("quick", 5, 0), ("other", 3, 1)] {
        let kind = builder.kind(name, "unit", 1.0, latency);
        builder.in_mode(kind, Mode(mode));
    }
    builder
}

/// An event of four elements.
fn event(kind: KindId, start: i64) -> Event {
    let (none, reads, writes) = (Value::NONE, vec![], vec![]);
    let op = OpRef { kind, kernel_op: 0, body_op: 0, ciphertext: none, iteration: none };
    Event { resource: Resource(0), start, occupancy: 4, work: 4, parts: 1, op, reads, writes }
}

fn schedule(events: impl IntoIterator<Item = Event>) -> Schedule {
    let mut builder = machine();
    events.into_iter().for_each(|event| builder.event(event));
    builder.finish()
}

/// The result of a check as a tree and as a list, which must agree.
fn judged(events: impl IntoIterator<Item = Event>) -> Result<(), Violation> {
    let schedule = schedule(events);
    let [loops, list] =
        [Source::Loops(&schedule), Source::List(&schedule)].map(|source| check(source, &[]).map(|_| ()));
    assert_eq!(loops, list);
    loops
}

#[test]
fn a_change_of_mode_requires_an_empty_unit() {
    // Four elements enter in cycles 10 to 13, and the last leaves 7 cycles later.
    let second = |start: i64| judged([event(SLOW, 10), event(OTHER, start)]);
    let blocked = second(20).expect_err("the last element is there");
    assert_eq!((blocked.hazard, blocked.cycle, blocked.legal_start), (Hazard::NotEmpty, 20, Some(21)));
    assert_eq!(second(21), Ok(()));
    // The same in the other direction.
    assert_eq!(judged([event(OTHER, 0), event(SLOW, 6)]).expect_err("it is there").legal_start, Some(7));
    assert_eq!(judged([event(OTHER, 0), event(SLOW, 7)]), Ok(()));
    // A start on an occupied unit is still reported as such.
    assert_eq!(judged([event(OTHER, 0), event(SLOW, 3)]).expect_err("it is taken").hazard, Hazard::UnitBusy);
}

#[test]
fn operations_of_one_mode_follow_one_another_and_overtake_none() {
    assert_eq!(judged([event(SLOW, 0), event(SLOW, 4), event(SLOW, 8)]), Ok(()));
    assert_eq!(judged([event(QUICK, 0), event(SLOW, 4)]), Ok(()));
    let blocked = judged([event(SLOW, 0), event(QUICK, 5)]).expect_err("it takes two cycles less");
    assert_eq!((blocked.hazard, blocked.legal_start), (Hazard::NotEmpty, Some(6)));
    assert_eq!(judged([event(SLOW, 0), event(QUICK, 6)]), Ok(()));
}

#[test]
fn an_event_that_gives_its_results_later_stays_longer() {
    let late = |last: u32, start: i64| {
        let mut builder = machine();
        let kind = MemoryKind::OnChip {
            capacity: 4,
            banks: 1,
            read_bytes_per_cycle: 1.0,
            write_bytes_per_cycle: 1.0,
            dual_port: false,
        };
        let memory = builder.memory("memory", kind);
        let class = builder.value_class("value", Traffic::Ciphertexts, false, 8);
        let value = Value { class, ciphertext: Value::NONE, iteration: Value::NONE, index: 0 };
        let mut first = event(OTHER, 0);
        let place = Place { memory, offset: 0, bytes: 4 };
        first.writes.push(Access { place, value, first: last - 3, last, order: Order::Stream, bytes: 4 });
        builder.event(first);
        builder.event(event(SLOW, start));
        check(&builder.finish(), &[]).map(|_| ()).map_err(|blocked| (blocked.hazard, blocked.legal_start))
    };
    assert_eq!(late(6, 7), Ok(()));
    assert_eq!(late(10, 10), Err((Hazard::NotEmpty, Some(11))));
    assert_eq!(late(10, 11), Ok(()));
}

#[test]
fn folding_handles_changes_of_mode() {
    // A round: four cycles, seven until the unit is empty, four, and three.
    let rounds = |period: u64| {
        let mut builder = machine();
        builder.repeat(0, 1000, period, Shift::default(), |builder| {
            builder.event(event(SLOW, 0));
            builder.event(event(OTHER, 11));
        });
        builder.finish()
    };
    let classes = ["unit".to_owned()];
    let checked = check(&rounds(18), &classes).expect("legal");
    assert!(checked.replayed_events < 100, "{} events replayed", checked.replayed_events);
    assert_eq!(checked.stalls, check_every_round(&rounds(18), &classes).expect("legal").stalls);
    assert_eq!(checked.stalls, check(Source::List(&rounds(18)), &classes).expect("legal").stalls);
    for blocked in [check(&rounds(17), &classes), check_every_round(&rounds(17), &classes)] {
        let blocked = blocked.expect_err("a cycle too few");
        assert_eq!((blocked.hazard, blocked.cycle, blocked.legal_start), (Hazard::NotEmpty, 17, Some(18)));
    }
}

#[test]
fn waiting_for_an_empty_unit_is_not_slack() {
    let schedule = schedule([event(SLOW, 0), event(OTHER, 13)]);
    for source in [Source::Loops(&schedule), Source::List(&schedule)] {
        let stalls = check(source, &["unit".to_owned()]).expect("legal").stalls[0].tally;
        // Seven until the unit is empty, and two that nothing forced.
        let found = [Stall::Busy, Stall::FillDrain, Stall::Slack].map(|stall| stalls.get(stall));
        assert_eq!((found, stalls.total()), ([8, 7, 2], 17));
    }
}

#[test]
fn a_class_of_units_has_modes_for_all_of_its_operations_or_for_none() {
    let mut schedule = schedule([event(SLOW, 0)]);
    schedule.resources.kinds[2].mode = None;
    let refused = check(&schedule, &[]).expect_err("one has none");
    assert_eq!(refused.hazard, Hazard::Malformed);
    let says = "of the operations of a `unit`, either `other` or `slow` alone has a mode: all have one, or none";
    assert!(refused.message.ends_with(says), "{refused}");
}
