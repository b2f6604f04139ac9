//! If one thing in a legal schedule breaks, is exactly that hazard reported?
//! Is the limit tight: blocked at cycle n - 1, legal at n?

use super::toy::*;
use crate::checker::{Hazard, Violation, check};
use crate::schedule::*;

/// The first three iterations, unrolled, as one list: load, multiply, add of 0, 1, 2.
fn events() -> Vec<Event> {
    (0..3).flat_map(|i| iteration(4 * i64::from(i), i, u64::from(i % 2))).collect()
}

fn check_events(events: Vec<Event>) -> Result<(), Violation> {
    let mut builder = machine();
    events.into_iter().for_each(|event| builder.event(event));
    check(&builder.finish(), &[]).map(|_| ())
}

fn violation(change: impl Fn(&mut Vec<Event>)) -> Violation {
    let mut changed = events();
    change(&mut changed);
    check_events(changed).expect_err("the change must be noticed")
}

#[test]
fn the_unchanged_schedule_is_legal() {
    assert_eq!(check_events(events()), Ok(()));
}

#[test]
fn a_unit_that_is_not_free() {
    // The multiplier of iteration 1 may start at 7 and no earlier. Its key is loaded early into a third place, so only
    // the unit limits the start.
    let with_start = |start: i64| {
        let mut builder = machine();
        let mut first = event(MULTIPLIER, MULTIPLY, 3, 0);
        first.writes.push(stream(BUFFER, 64, value(PRODUCT, 0), 3));
        let mut second = event(MULTIPLIER, MULTIPLY, start, 1);
        second.writes.push(stream(BUFFER, 96, value(PRODUCT, 1), 3));
        builder.event(first);
        builder.event(second);
        check(&builder.finish(), &[])
    };
    let blocked = with_start(6).expect_err("the unit is taken");
    assert_eq!((blocked.hazard, blocked.cycle, blocked.legal_start), (Hazard::UnitBusy, 6, Some(7)));
    assert!(with_start(7).is_ok());
}

#[test]
fn a_stream_that_is_overtaken() {
    // The first multiplication may follow its key by one cycle: it starts at 3; at 2 it would read what is being written.
    let blocked = violation(|events| events[1].start = 2);
    assert_eq!((blocked.hazard, blocked.legal_start), (Hazard::UseBeforeReady, Some(3)));
}

#[test]
fn a_stream_whose_end_is_overtaken() {
    // A channel of half the speed delivers the key in cycles 2 to 9. A multiplication that starts at 3 finds the first
    // elements, but not the last. It reads the last one in cycle start + 3, so it may start at 7.
    let slow = |start: i64| {
        let mut events = iteration(0, 0, 0);
        events[0].occupancy = 8;
        events[0].writes[0].last = 9;
        events[0].reads[0].last = 7;
        events[1].start = start;
        check_events(events[..2].to_vec())
    };
    let blocked = slow(6).expect_err("the end is not there");
    assert_eq!((blocked.hazard, blocked.legal_start), (Hazard::UseBeforeReady, Some(7)));
    assert!(blocked.message.contains("writes from cycle 2 to 9; start at 7 or later"), "{blocked}");
    assert_eq!(slow(7), Ok(()));
}

#[test]
fn a_value_that_must_be_complete() {
    // Read in an unknown order, the key must be complete (cycle 5) before the first read.
    let any = |start: i64| {
        let mut events = iteration(0, 0, 0);
        events[1].reads[0].order = Order::Any;
        events[1].start = start;
        check_events(events[..2].to_vec())
    };
    let blocked = any(5).expect_err("the value is not complete");
    assert_eq!((blocked.hazard, blocked.legal_start), (Hazard::UseBeforeReady, Some(6)));
    assert_eq!(any(6), Ok(()));
}

#[test]
fn swapped_reads() {
    // Iteration 1 reads the key buffer of iteration 0, which holds the other key.
    let swapped = violation(|events| events[4].reads[0].place.offset = 0);
    assert_eq!(swapped.hazard, Hazard::NeverWritten);
}

#[test]
fn one_buffer_instead_of_two() {
    // The key of iteration 1 goes into the buffer of iteration 0, in cycles 6 to 9. The multiplier of iteration 0 reads
    // that buffer in cycles 3 + delay to 6 + delay. As a stream it stays ahead of the new key up to a delay of 3.
    let single = |delay: i64, order: Order, load: i64| {
        let mut events = events();
        events.truncate(5);
        events[1].start += delay;
        events[1].reads[0].order = order;
        events[2].start += delay;
        events[3].start = load;
        events[3].writes[0].place.offset = 0;
        events[4].start += 4;
        events[4].reads[0].place.offset = 0;
        check_events(events)
    };
    assert_eq!(single(3, Order::Stream, 4), Ok(()));
    let gone = single(4, Order::Stream, 4).expect_err("the first element is overwritten before it is read");
    assert_eq!((gone.hazard, gone.cycle), (Hazard::Overwrite, 7));
    assert!(gone.message.contains("`load` on channel, iteration 1, start 4 has put key[iteration 1] there"), "{gone}");
    // In an unknown order the old key must stay until its last read, in cycle 9 with a delay of 3. The load writes 2
    // cycles after its start, so it may start at 7.
    let blocked = single(3, Order::Any, 6).expect_err("the key is overwritten while it is read");
    assert_eq!((blocked.hazard, blocked.cycle, blocked.legal_start), (Hazard::Overwrite, 6, Some(7)));
    assert_eq!(single(3, Order::Any, 7), Ok(()));
}

#[test]
fn a_product_overwritten_before_it_is_added() {
    // The adder of iteration 0 is late by 4 cycles: the product of iteration 1 replaces the one that it still has to
    // read.
    let blocked = violation(|events| {
        events[2].start += 8;
        events.truncate(5);
    });
    assert_eq!(blocked.hazard, Hazard::Overwrite);
    assert!(blocked.message.contains("has put product[iteration 1] there"), "{blocked}");
}

#[test]
fn a_memory_that_is_too_small() {
    let mut schedule = accumulate(2, 4);
    if let MemoryKind::OnChip { capacity, .. } = &mut schedule.resources.memories[1].kind {
        *capacity = 95;
    }
    let small = check(&schedule, &[]).expect_err("the sum does not fit");
    assert_eq!(small.hazard, Hazard::Capacity);
    assert!(small.message.contains("16 bytes at 80 of buffer, whose capacity is 95 bytes"), "{small}");
}

#[test]
fn a_port_that_is_too_narrow() {
    // Bank 1 is read by the adder only: product and sum, 4 bytes a cycle each. 8 bytes suffice, 7 do not.
    let with_port = |bytes: f64| {
        let mut schedule = accumulate(2, 4);
        if let MemoryKind::OnChip { read_bytes_per_cycle, .. } = &mut schedule.resources.memories[1].kind {
            *read_bytes_per_cycle = bytes;
        }
        check(&schedule, &[])
    };
    assert!(with_port(8.0).is_ok());
    let narrow = with_port(7.0).expect_err("two operands do not pass");
    assert_eq!(narrow.hazard, Hazard::Port);
    assert!(
        narrow.message.contains("the read port of buffer bank 1 moves 8.0 bytes a cycle, it can move 7.0"),
        "{narrow}"
    );
}

#[test]
fn a_port_that_reads_and_writes_and_is_too_narrow() {
    // Bank 1 is read at 8 bytes a cycle, and written meanwhile.
    let with_port = |bytes: f64| {
        let mut schedule = accumulate(2, 4);
        if let MemoryKind::OnChip { read_bytes_per_cycle, write_bytes_per_cycle, dual_port, .. } =
            &mut schedule.resources.memories[1].kind
        {
            (*read_bytes_per_cycle, *write_bytes_per_cycle, *dual_port) = (bytes / 2.0, bytes / 2.0, true);
        }
        check(&schedule, &[])
    };
    assert!(with_port(16.0).is_ok());
    let narrow = with_port(8.0).expect_err("a write and two reads in a cycle need a wider port");
    assert_eq!(narrow.hazard, Hazard::Port);
    assert!(narrow.message.contains("the read and write port of buffer bank 1"), "{narrow}");
}

#[test]
fn a_channel_that_is_too_slow() {
    let mut schedule = accumulate(2, 4);
    schedule.resources.channels[0].bytes_per_cycle = 3.9;
    let slow = check(&schedule, &[]).expect_err("16 bytes need 5 cycles");
    assert_eq!(slow.hazard, Hazard::Rate);
    assert!(slow.message.contains("16 of work need 5 cycles, the event takes 4"), "{slow}");
}

#[test]
fn more_bytes_than_stated() {
    let padded = violation(|events| events[0].reads[0].bytes = 17);
    assert_eq!(padded.hazard, Hazard::Rate);
    assert!(padded.message.contains("moves 17 bytes, its work is 16"), "{padded}");
}

#[test]
fn results_before_the_latency() {
    let early = violation(|events| events[1].writes[0].first = 2);
    assert_eq!(early.hazard, Hazard::Latency);
    assert!(early.message.contains("first result after 2 cycles, the latency is 3"), "{early}");
    let short = violation(|events| (events[1].reads[0].last, events[1].writes[0].last) = (2, 5));
    assert_eq!(short.hazard, Hazard::Latency);
    assert!(short.message.contains("last result after 5 cycles, the earliest is 6"), "{short}");
}

#[test]
fn a_value_that_was_never_stored() {
    let lost = violation(|events| {
        let read = events[0].reads[0];
        events[0].reads[0] = Access { value: value(SUM, 0), ..read };
    });
    assert_eq!(lost.hazard, Hazard::NeverWritten);
    assert!(lost.message.contains("reads sum[iteration 0] from off-chip, which nothing writes there"), "{lost}");
}

#[test]
fn a_fault_in_the_last_round_is_found() {
    // The event after the loop reads the last sum one cycle too early. This sum is written in cycles 8 to 11 of the
    // last round.
    let after = |start: i64| {
        let mut schedule = accumulate(1000, 4);
        let mut add = event(ADDER, ADD, start, 2001);
        add.reads.push(stream(BUFFER, 80, value(SUM, 2000), 0));
        schedule.items.push(Item::Event(add));
        check(&schedule, &[])
    };
    let end = 4 * 2000 + 12;
    assert!(after(end - 1).is_ok());
    assert_eq!(after(end - 2).expect_err("unit busy").hazard, Hazard::UnitBusy);
    // A reader of the sum of the round before finds it overwritten.
    let mut schedule = accumulate(1000, 4);
    let mut add = event(ADDER, ADD, end, 2001);
    add.reads.push(stream(BUFFER, 80, value(SUM, 1998), 0));
    schedule.items.push(Item::Event(add));
    assert_eq!(check(&schedule, &[]).expect_err("gone").hazard, Hazard::Overwrite);
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let mut negative = accumulate(1, 4);
    if let Item::Event(event) = &mut negative.items[0] {
        event.start = -1;
    }
    assert_eq!(check(&negative, &[]).expect_err("negative").hazard, Hazard::Malformed);
    let unknown = violation(|events| events[0].op.kind = KindId(9));
    assert_eq!(unknown.hazard, Hazard::Malformed);
    let wrong_unit = violation(|events| events[0].resource = ADDER);
    assert!(wrong_unit.message.contains("the unit is a `adder`, the operation needs a `channel`"), "{wrong_unit}");
    let mut endless = accumulate(1, 4);
    if let Item::Repeat(repeat) = &mut endless.items[3] {
        repeat.count = u64::MAX;
    }
    assert_eq!(check(&endless, &[]).expect_err("endless").hazard, Hazard::Malformed);
}

#[test]
fn a_value_that_is_not_moved_whole() {
    let thin = violation(|events| events[0].writes[0].bytes = 15);
    assert_eq!(thin.hazard, Hazard::Rate);
    assert!(thin.message.ends_with("writes 15 bytes to a place of 16 in buffer"), "{thin}");
    let little = violation(|events| events[0].reads[0].bytes = 15);
    assert_eq!(little.hazard, Hazard::Rate);
    assert!(
        little.message.ends_with("15 bytes come from off the chip for places of 16, 0 go there from places of 0"),
        "{little}"
    );
}

#[test]
fn an_operand_behind_the_last_result() {
    // The product is written from 3 to 6, three cycles after its key. The key may be read until 3, or until 6 if late
    // operands are only added.
    for (addends, until) in [(false, 3), (true, 6)] {
        let read_until = |last: u32| {
            let mut builder = machine();
            let mut events = events();
            events[1].reads[0].last = last;
            if addends {
                builder.with_addends(MULTIPLY);
            }
            events.into_iter().for_each(|event| builder.event(event));
            check(&builder.finish(), &[])
        };
        assert!(read_until(until).is_ok());
        let late = read_until(until + 1).expect_err("it is in no result");
        assert_eq!(late.hazard, Hazard::Latency);
        let told = format!("an operand is read until {}, and the last result comes at 6", until + 1);
        assert!(late.message.contains(&told), "{late}");
    }
}

#[test]
fn an_addend_that_begins_behind_the_first_result() {
    let read_from = |first: u32| {
        let mut builder = machine();
        let mut events = events();
        (events[1].reads[0].first, events[1].reads[0].last) = (first, 6);
        builder.with_addends(MULTIPLY);
        events.into_iter().for_each(|event| builder.event(event));
        check(&builder.finish(), &[])
    };
    assert!(read_from(3).is_ok());
    let late = read_from(4).expect_err("the first result is without it");
    assert_eq!(late.hazard, Hazard::Latency);
    assert!(late.message.contains("an operand is read from 4 on, and results come from 3 on"), "{late}");
}

#[test]
fn a_unit_on_the_chip_that_reaches_off_it() {
    let reads = |off_chip: bool| {
        let mut builder = machine();
        let mut multiply = event(MULTIPLIER, MULTIPLY, 3, 0);
        multiply.reads.push(stream(OFF_CHIP, 0, value(KEY, 0), 0));
        multiply.writes.push(stream(BUFFER, 64, value(PRODUCT, 0), 3));
        builder.event(multiply);
        let mut schedule = builder.finish();
        schedule.resources.kinds[0].off_chip = off_chip;
        check(&schedule, &[])
    };
    assert!(reads(true).is_ok());
    let refused = reads(false).expect_err("no channel brings it");
    assert_eq!(refused.hazard, Hazard::Malformed);
    assert!(refused.message.ends_with("only channels reach off-chip, and this is a unit on the chip"), "{refused}");
}
