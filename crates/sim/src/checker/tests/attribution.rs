//! Is every idle cycle charged to its cause? Small schedules are worked out by hand, cycle by cycle, and checked folded
//! and unrolled.
//!
//! The machine: `front` and `back` are a pipeline, linked by a wire. `front` writes an element 2 cycles after it has
//! read it; `back` takes it a cycle later, together with a key from a buffer. `link` moves values between buffers at
//! one element a cycle, with a latency of 1 cycle. `vector` does the same and counts as the vector unit. `channel`
//! brings 1 byte a cycle, with a latency of 2 cycles. A value has 4 elements of 1 byte.

use crate::checker::{Checked, Hazard, check, check_every_round};
use crate::schedule::*;
use crate::stalls::Stall;

const FRONT: Resource = Resource(0);
const BACK: Resource = Resource(1);
const LINK: Resource = Resource(2);
const VECTOR: Resource = Resource(3);
const CHANNEL: Resource = Resource(4);
const OFF_CHIP: MemoryId = MemoryId(0);
const BUFFER: MemoryId = MemoryId(1);
const WIRE: MemoryId = MemoryId(2);
const KEY: ClassId = ClassId(0);
const DATA: ClassId = ClassId(1);

fn machine() -> ScheduleBuilder {
    let mut b = ScheduleBuilder::new();
    for (name, wait) in [
        ("front", WaitCategory::Pipeline),
        ("back", WaitCategory::Pipeline),
        ("link", WaitCategory::Pipeline),
        ("vector", WaitCategory::VectorUnit),
    ] {
        b.unit(name, name, wait);
    }
    b.channel("channel", "channel", 1.0);
    b.memory("off-chip", MemoryKind::OffChip);
    let kind = MemoryKind::OnChip {
        capacity: 256,
        banks: 1,
        read_bytes_per_cycle: 64.0,
        write_bytes_per_cycle: 64.0,
        dual_port: false,
    };
    b.memory("buffer", kind);
    b.memory("wire", MemoryKind::Wire { bytes_per_cycle: 1.0, delay: 1 });
    b.kind("front", "front", 1.0, 2);
    b.kind_in_parts("back", "back", 1.0, 1, 4);
    b.kind("move", "link", 1.0, 1);
    b.kind("compute", "vector", 1.0, 1);
    b.kind("load", "channel", 1.0, 2);
    b.value_class("key", Traffic::BootstrapKey, true, 0);
    b.value_class("data", Traffic::Ciphertexts, false, 0);
    b
}

fn value(class: ClassId, iteration: u32, index: u32) -> Value {
    Value { class, ciphertext: Value::NONE, iteration, index }
}

fn access(memory: MemoryId, offset: u64, value: Value, span: (u32, u32), order: Order) -> Access {
    let place = Place { memory, offset, bytes: 4 };
    Access { place, value, first: span.0, last: span.1, order, bytes: 4 }
}

fn event(unit: Resource, start: i64, cycles: u32, reads: Vec<Access>, writes: Vec<Access>) -> Event {
    let op = OpRef {
        kind: KindId(unit.0 as u16),
        kernel_op: 0,
        body_op: 0,
        ciphertext: Value::NONE,
        iteration: Value::NONE,
    };
    Event { resource: unit, start, occupancy: cycles, work: u64::from(cycles), parts: 1, op, reads, writes }
}

/// Loads a key of `cycles` bytes, which is complete from cycle `start + cycles + 2` on.
fn load(start: i64, cycles: u32, iteration: u32, at: u64) -> Event {
    let key = value(KEY, iteration, 0);
    let mut read = access(OFF_CHIP, 0, key, (0, cycles - 1), Order::Any);
    read.bytes = u64::from(cycles);
    event(CHANNEL, start, cycles, vec![read], vec![access(BUFFER, at, key, (2, cycles + 1), Order::Any)])
}

/// Front and back from cycle `start` on: back starts 3 cycles later.
fn pipeline(start: i64, iteration: u32, reads: Vec<Access>, key: Option<u64>) -> [Event; 2] {
    let passing = value(DATA, iteration, 1);
    let front = event(FRONT, start, 4, reads, vec![access(WIRE, 0, passing, (2, 5), Order::Stream)]);
    let mut taken = vec![access(WIRE, 0, passing, (0, 3), Order::Stream)];
    taken.extend(key.map(|at| access(BUFFER, at, value(KEY, iteration, 0), (0, 3), Order::Any)));
    let result = access(BUFFER, 128, value(DATA, iteration, 2), (1, 4), Order::Any);
    let mut back = event(BACK, start + 3, 4, taken, vec![result]);
    // One column of four is used.
    back.parts = 1;
    back.work = 1;
    [front, back]
}

fn classes() -> Vec<String> {
    ["front", "back", "link", "vector", "channel"].map(String::from).to_vec()
}

/// Checks a schedule folded, with every round, and unrolled. All results must be equal.
fn checked(schedule: &Schedule) -> Checked {
    let folded = check(schedule, &classes()).unwrap_or_else(|violation| panic!("{violation}"));
    for other in [check_every_round(schedule, &classes()), check(&schedule.unrolled(), &classes())] {
        let other = other.unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!((&folded.stalls, folded.cycles), (&other.stalls, other.cycles));
    }
    for stalls in &folded.stalls {
        assert_eq!(stalls.tally.total(), folded.cycles as i64 * stalls.units as i64, "{}", stalls.class);
    }
    folded
}

/// The categories of a class with their cycles, without those of 0 cycles.
fn stalls(checked: &Checked, class: &str) -> Vec<(Stall, i64)> {
    let found = checked.stalls.iter().find(|stalls| stalls.class == class).expect("a class of the machine");
    Stall::ALL.into_iter().map(|stall| (stall, found.tally.get(stall))).filter(|&(_, cycles)| cycles != 0).collect()
}

#[test]
fn a_key_that_is_late_at_the_back_holds_the_front() {
    // Keys of 10 bytes follow one another and are complete in cycles 12, 22, 32, .. Then `back` starts. `front` itself
    // waits for nothing, and starts 3 cycles earlier: at 9, 19, 29. Each works 4 of ten cycles and waits 6 for the key.
    let rounds = 40;
    let mut b = machine();
    b.repeat(0, rounds, 20, Shift::iterations(2), |b| {
        for (iteration, at) in [(0, 0), (1, 64)] {
            let start = 10 * i64::from(iteration);
            b.event(load(start, 10, iteration, at));
            pipeline(start + 9, iteration, vec![], Some(at)).into_iter().for_each(|event| b.event(event));
        }
    });
    let checked = checked(&b.finish());
    let events = 2 * rounds as i64;
    assert_eq!(checked.cycles as i64, 10 * (events - 1) + 12 + 5);
    let [busy, key] = [(Stall::Busy, 4 * events), (Stall::BootstrapKey, 9 + 6 * (events - 1))];
    assert_eq!(stalls(&checked, "front"), [busy, (Stall::FillDrain, 4), key]);
    // `back` uses one of its four parts, and reads one element in four cycles. So a quarter is work, and the rest is
    // unused, not upstream.
    let [busy, key] = [(Stall::Busy, events), (Stall::BootstrapKey, 12 + 6 * (events - 1))];
    assert_eq!(stalls(&checked, "back"), [busy, (Stall::FillDrain, 1), key, (Stall::Unused, 3 * events)]);
    assert!(checked.replayed_events < 100, "{}", checked.replayed_events);
}

#[test]
fn a_wait_for_a_delayed_producer_is_charged_to_its_cause() {
    // The vector unit works without a pause. It computes data in 20 cycles, complete after one more, in two places in
    // turn. A link moves them (4 cycles, latency 1), then the pipeline takes them: at 21 and 26 of each 20 cycles.
    // `front` works 4 cycles and waits 16: 5 for the link, and 11 for the vector unit, which worked before the link.
    let rounds = 50;
    let mut b = machine();
    b.repeat(0, rounds / 2, 40, Shift::iterations(2), |b| {
        for (iteration, at) in [(0, 0), (1, 64)] {
            let start = 20 * i64::from(iteration);
            let made = |span| access(BUFFER, at, value(DATA, iteration, 3), span, Order::Any);
            b.event(event(VECTOR, start, 20, vec![], vec![made((1, 20))]));
            let moved = |span| access(BUFFER, 32, value(DATA, iteration, 4), span, Order::Any);
            b.event(event(LINK, start + 21, 4, vec![made((0, 3))], vec![moved((1, 4))]));
            pipeline(start + 26, iteration, vec![moved((0, 3))], None).into_iter().for_each(|event| b.event(event));
        }
    });
    let checked = checked(&b.finish());
    let events = rounds as i64;
    assert_eq!(checked.cycles as i64, 20 * (events - 1) + 26 + 3 + 5);
    let (busy, vector) = ((Stall::Busy, 4 * events), (Stall::VectorUnit, 21 + 11 * (events - 1)));
    // The first time, the link's 5 cycles count as filling the pipeline.
    let fill = (Stall::FillDrain, 5 + 4);
    assert_eq!(stalls(&checked, "front"), [busy, fill, vector, (Stall::Dependency, 5 * (events - 1))]);
    assert_eq!(stalls(&checked, "vector"), [(Stall::Busy, 20 * events), (Stall::FillDrain, 14)]);
    assert!(checked.replayed_events < 200, "{}", checked.replayed_events);
}

#[test]
fn a_delay_of_the_schedule_stays_slack() {
    // One round, with the pipeline 2 cycles later than it could be.
    let mut b = machine();
    let made = |span| access(BUFFER, 0, value(DATA, 0, 3), span, Order::Any);
    b.event(event(VECTOR, 0, 4, vec![], vec![made((1, 4))]));
    pipeline(7, 0, vec![made((0, 3))], None).into_iter().for_each(|event| b.event(event));
    let checked = checked(&b.finish());
    for (class, drain, work) in [("front", 4, (Stall::Busy, 4)), ("back", 1, (Stall::Busy, 1))] {
        let found = stalls(&checked, class);
        assert_eq!(found[0], work);
        // `back` starts 3 cycles later: it waits for the vector unit as long as `front` does, and then fills.
        assert!(found.contains(&(Stall::Slack, 2)), "{class}: {found:?}");
        assert!(found.contains(&(Stall::FillDrain, drain)), "{class}: {found:?}");
    }
}

#[test]
fn values_on_a_wire_cannot_wait() {
    let with = |change: &dyn Fn(&mut [Event; 2])| {
        let mut events = pipeline(0, 0, vec![], None);
        change(&mut events);
        let mut b = machine();
        events.into_iter().for_each(|event| b.event(event));
        check(&b.finish(), &[])
    };
    assert!(with(&|_| {}).is_ok());
    let early = with(&|events| events[1].start = 2).expect_err("nothing is there yet");
    assert_eq!((early.hazard, early.legal_start), (Hazard::UseBeforeReady, Some(3)));
    let late = with(&|events| events[1].start = 4).expect_err("it has passed");
    assert_eq!((late.hazard, late.legal_start), (Hazard::Stream, Some(3)));
    let lost = with(&|events| events[1].reads.clear()).expect_err("nobody reads it");
    assert_eq!(lost.hazard, Hazard::Stream);
    assert!(lost.message.contains("puts data[iteration 0,index 1] on wire and nobody takes it up"), "{lost}");
    let parts = with(&|events| events[1].parts = 5).expect_err("there are four");
    assert_eq!(parts.hazard, Hazard::Malformed);
}

#[test]
fn later_events_do_not_change_earlier_charges() {
    use super::toy;
    // Rounds start at uneven distances and reuse the buffers of earlier rounds: a later load overwrites what an earlier
    // product read.
    let starts = [0, 4, 11, 15, 29, 33, 38, 60];
    let charges = |rounds: usize| {
        let mut builder = toy::machine();
        for (iteration, &start) in starts[..rounds].iter().enumerate() {
            let buffer = iteration as u64 % 2;
            toy::iteration(start, iteration as u32, buffer).into_iter().for_each(|event| builder.event(event));
        }
        let checked = check(&builder.finish(), &["adder".into(), "multiplier".into()]).expect("legal");
        checked.stalls.iter().map(|class| Stall::ALL.map(|stall| class.tally.get(stall))).collect::<Vec<_>>()
    };
    let drain = Stall::ALL.into_iter().position(|stall| stall == Stall::FillDrain).expect("a category");
    for rounds in 1..starts.len() {
        let (now, later) = (charges(rounds), charges(rounds + 1));
        for (class, (now, later)) in now.iter().zip(&later).enumerate() {
            let mut added: Vec<i64> = later.iter().zip(now).map(|(later, now)| later - now).collect();
            added[drain] = 0;
            assert!(added.iter().all(|&cycles| cycles >= 0), "round {rounds} changed an earlier charge: {added:?}");
            // The new event, and the gap before it.
            let gap = starts[rounds] - starts[rounds - 1] - 4;
            assert_eq!(added.iter().sum::<i64>(), 4 + gap, "class {class}, round {rounds}");
        }
    }
}
