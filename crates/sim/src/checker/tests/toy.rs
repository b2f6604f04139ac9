//! A machine of two units: `multiplier` (2 elements a cycle, latency 3) feeds `adder` (2 elements a cycle, latency 1), which
//! accumulates in a register. A channel of 4 bytes a cycle brings a key of 16 bytes for every iteration into one of two
//! buffers. A polynomial has 8 elements of 2 bytes: 4 cycles at full rate.
//!
//! One iteration, by hand (cycles relative to the round; the key for iteration i is loaded in round i):
//! - channel: cycles 0..4 (16 bytes at 4 a cycle), with a latency of 2: the key is written in cycles 2 to 5;
//! - multiplier: reads the key as it streams in, one cycle behind: starts at 3, occupied 3..7; its first product leaves 3
//!   cycles later: written in cycles 6 to 9;
//! - adder: reads the product one cycle behind (7 to 10) and the old sum (written one cycle after it is read): starts at 7,
//!   occupied 7..11, new sum written in cycles 8 to 11.
//!
//! The adder's next round may read the first element of the sum in cycle 9 at the earliest, and the last in cycle 12.
//! But adder and multiplier are occupied for 4 cycles a round, so the next round may start only 4 cycles later: the
//! period is 4. n rounds take 4 (n - 1) + 12 cycles (the last write is in cycle 11 of the last round).

use crate::checker::check;
use crate::schedule::*;
use crate::stalls::Stall;

pub const MULTIPLY: KindId = KindId(0);
pub const ADD: KindId = KindId(1);
pub const LOAD: KindId = KindId(2);
pub const KEY: ClassId = ClassId(0);
pub const PRODUCT: ClassId = ClassId(1);
pub const SUM: ClassId = ClassId(2);
pub const MULTIPLIER: Resource = Resource(0);
pub const ADDER: Resource = Resource(1);
pub const CHANNEL: Resource = Resource(2);
pub const OFF_CHIP: MemoryId = MemoryId(0);
pub const BUFFER: MemoryId = MemoryId(1);

pub fn machine() -> ScheduleBuilder {
    let mut builder = ScheduleBuilder::new();
    builder.unit("multiplier", "multiplier", WaitCategory::Pipeline);
    builder.unit("adder", "adder", WaitCategory::Pipeline);
    builder.channel("channel", "channel", 4.0);
    builder.memory("off-chip", MemoryKind::OffChip);
    // Two banks of 64 bytes: keys in the first, product and sum in the second.
    let kind = MemoryKind::OnChip {
        capacity: 128,
        banks: 2,
        read_bytes_per_cycle: 8.0,
        write_bytes_per_cycle: 8.0,
        dual_port: false,
    };
    builder.memory("buffer", kind);
    let units = [builder.kind("multiply", "multiplier", 2.0, 3), builder.kind("add", "adder", 2.0, 1)];
    // Both units may write tokens to off-chip memory.
    units.into_iter().for_each(|kind| _ = builder.off_chip(kind));
    builder.kind("load", "channel", 1.0, 2);
    builder.value_class("key", Traffic::BootstrapKey, true, 16);
    builder.value_class("product", Traffic::Ciphertexts, false, 16);
    // 0 bits: tests also write less than a whole sum to its place.
    builder.value_class("sum", Traffic::Ciphertexts, false, 0);
    builder
}

pub fn value(class: ClassId, iteration: u32) -> Value {
    Value { class, ciphertext: Value::NONE, iteration, index: Value::NONE }
}

pub fn stream(memory: MemoryId, offset: u64, value: Value, first: u32) -> Access {
    let place = Place { memory, offset, bytes: 16 };
    Access { place, value, first, last: first + 3, order: Order::Stream, bytes: 16 }
}

pub fn event(resource: Resource, kind: KindId, start: i64, iteration: u32) -> Event {
    let op = OpRef { kind, kernel_op: 0, body_op: 0, ciphertext: Value::NONE, iteration };
    let work = if resource == CHANNEL { 16 } else { 8 };
    Event { resource, start, occupancy: 4, work, parts: 1, op, reads: vec![], writes: vec![] }
}

/// Load, multiply and add of one iteration, whose key is in buffer 0 or 1.
pub fn iteration(start: i64, iteration: u32, buffer: u64) -> [Event; 3] {
    let mut load = event(CHANNEL, LOAD, start, iteration);
    load.reads.push(stream(OFF_CHIP, 0, value(KEY, iteration), 0));
    load.writes.push(stream(BUFFER, 16 * buffer, value(KEY, iteration), 2));
    let mut multiply = event(MULTIPLIER, MULTIPLY, start + 3, iteration);
    multiply.reads.push(stream(BUFFER, 16 * buffer, value(KEY, iteration), 0));
    multiply.writes.push(stream(BUFFER, 64, value(PRODUCT, iteration), 3));
    let mut add = event(ADDER, ADD, start + 7, iteration);
    add.reads.push(stream(BUFFER, 64, value(PRODUCT, iteration), 0));
    if iteration > 0 {
        add.reads.push(stream(BUFFER, 80, value(SUM, iteration - 1), 0));
    }
    add.writes.push(stream(BUFFER, 80, value(SUM, iteration), 1));
    [load, multiply, add]
}

/// `2 pairs + 1` iterations: the first by itself, then pairs, one for each buffer.
pub fn accumulate(pairs: u64, period: u64) -> Schedule {
    let mut builder = machine();
    iteration(0, 0, 0).into_iter().for_each(|event| builder.event(event));
    builder.repeat(period as i64, pairs, 2 * period, Shift::iterations(2), |builder| {
        iteration(0, 1, 1).into_iter().for_each(|event| builder.event(event));
        iteration(period as i64, 2, 0).into_iter().for_each(|event| builder.event(event));
    });
    builder.finish()
}

/// The same schedule, delayed by `cycles`.
pub fn shifted(schedule: &Schedule, cycles: i64) -> Schedule {
    let mut later = schedule.clone();
    for item in &mut later.items {
        match item {
            Item::Event(event) => event.start += cycles,
            Item::Repeat(repeat) => repeat.start += cycles,
        }
    }
    later
}

#[test]
fn golden_cycles() {
    // 4 (n - 1) + 12 with n = 2 pairs + 1.
    for (pairs, cycles) in [(1, 20), (2, 28), (10, 92), (1_000_000, 8_000_012)] {
        let checked = check(&accumulate(pairs, 4), &["adder".into()]).expect("legal");
        assert_eq!(checked.cycles, cycles);
        assert!(checked.replayed_events < 100, "{} events for {pairs} pairs", checked.replayed_events);
    }
}

#[test]
fn golden_stalls() {
    // At a period of 4 the adder is busy from cycle 7 on without a gap, for 4 n cycles. The 7 cycles of fill before are
    // charged to the key, whose stream is the first cause in the chain. One cycle after is the write of the last sum.
    let checked = check(&accumulate(10, 4), &["adder".into(), "multiplier".into(), "channel".into()]).expect("legal");
    let adder = checked.stalls[0].tally;
    assert_eq!(adder.get(Stall::Busy), 4 * 21);
    assert_eq!(adder.get(Stall::BootstrapKey), 7);
    assert_eq!(adder.get(Stall::FillDrain), 1);
    assert_eq!(adder.total(), checked.cycles as i64);
    // Multiplier: 3 cycles for the key; then busy; drain from 3 + 84 to 92.
    let multiplier = checked.stalls[1].tally;
    assert_eq!(multiplier.get(Stall::BootstrapKey), 3);
    assert_eq!(multiplier.get(Stall::FillDrain), 92 - 87);
    assert_eq!(multiplier.total(), 92);
    // Channel: busy from 0 to 84.
    assert_eq!(checked.stalls[2].tally.get(Stall::FillDrain), 8);
}

#[test]
fn slower_rounds_wait_for_the_key() {
    // At a period of 6 the channel starts a load every 6 cycles although it is free after 4. So there is slack of 2 for
    // each of the 20 later loads. Multiplier and adder follow the key as closely as they can, and wait for it.
    let checked = check(&accumulate(10, 6), &["channel".into(), "adder".into()]).expect("legal");
    assert_eq!(checked.cycles, 6 * 20 + 12);
    assert_eq!(checked.stalls[0].tally.get(Stall::Slack), 40);
    assert_eq!(checked.stalls[1].tally.get(Stall::BootstrapKey), 7 + 40);
    assert_eq!(checked.stalls[1].tally.total(), checked.cycles as i64);
}

#[test]
fn golden_critical_path() {
    // If no unit is ever busy, all keys arrive in cycles 2 to 5 and all products in 6 to 9. The first sum is written in
    // cycles 8 to 11. Each later sum is read one cycle after the previous one is written, and written one cycle later:
    // 2 cycles each.
    let checked = check(&accumulate(10, 4), &[]).expect("legal");
    assert_eq!(checked.critical_path, 12 + 2 * 20);
    let long = check(&accumulate(1000, 4), &[]).expect("legal");
    assert_eq!(long.critical_path, 12 + 2 * 2000);
}

#[test]
fn a_gap_is_split_into_waits_and_slack() {
    // One iteration, with the multiplier started 2 cycles later than possible. Its gap is 3 cycles for the key and 2 of
    // slack. The adder follows at once: its gap of 9 cycles is 7 for the key, and the 2 that the multiplier lost.
    let mut builder = machine();
    let [load, mut multiply, mut add] = iteration(0, 0, 0);
    multiply.start += 2;
    add.start += 2;
    [load, multiply, add].into_iter().for_each(|event| builder.event(event));
    let checked = check(&builder.finish(), &["multiplier".into(), "adder".into()]).expect("legal");
    for (stalls, key) in checked.stalls.iter().zip([3, 7]) {
        assert_eq!(stalls.tally.get(Stall::BootstrapKey), key, "{}", stalls.class);
        assert_eq!(stalls.tally.get(Stall::Slack), 2, "{}", stalls.class);
        assert_eq!(stalls.tally.total(), 14);
    }
}
