//! Is a folded loop the same as an unrolled one? Random small schedules, legal and illegal, are checked folded, with
//! every round, unrolled into a tree of events, and as a list. All four must agree on every cycle count, stall and
//! hazard.

use super::toy::*;
use crate::checker::{Checked, Violation, check, check_every_round};
use crate::list::Source;
use crate::schedule::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::sync::Arc;

/// Operation of the adder that requires a change of mode.
const OTHERWISE: KindId = KindId(3);

fn classes() -> Vec<String> {
    ["multiplier", "adder", "channel"].map(String::from).to_vec()
}

fn same(a: &Result<Checked, Violation>, b: &Result<Checked, Violation>) -> Result<(), TestCaseError> {
    match (a, b) {
        (Ok(a), Ok(b)) => {
            prop_assert_eq!(a.cycles, b.cycles);
            prop_assert_eq!(&a.stalls, &b.stalls);
            prop_assert_eq!(a.critical_path, b.critical_path);
            let total = a.cycles as i64;
            for stalls in &a.stalls {
                prop_assert_eq!(stalls.tally.total(), total * stalls.units as i64);
                prop_assert!(stalls.tally.0.iter().all(|&cycles| cycles >= 0));
            }
        }
        (Err(a), Err(b)) => prop_assert_eq!((a.hazard, a.cycle), (b.hazard, b.cycle)),
        (a, b) => prop_assert!(false, "one is legal, the other is not: {:?} / {:?}", a, b),
    }
    Ok(())
}

fn agree(schedule: &Schedule) -> Result<bool, TestCaseError> {
    let folded = check(schedule, &classes());
    same(&folded, &check_every_round(schedule, &classes()))?;
    same(&folded, &check(&schedule.unrolled(), &classes()))?;
    same(&folded, &check(Source::List(schedule), &classes()))?;
    Ok(folded.is_ok())
}

/// One inner loop for each group of ciphertexts; its iterations come in pairs. Some groups are in a loop, others follow
/// it with the same body. Between them is a stray event of another unit or buffer.
#[derive(Clone, Debug)]
struct Shape {
    groups: u64,
    alone: u64,
    pairs: u64,
    period: i64,
    group_gap: i64,
    key_lead: i64,
    stray_start: i64,
    stray_unit: bool,
    stray_offset: u64,
    stray_rounds: u64,
    stray_period: u64,
    token: bool,
    /// Whether stray events require a change of the adder's mode.
    modes: bool,
    read_bytes: f64,
}

fn shape() -> impl Strategy<Value = Shape> {
    let loops = (1..7u64, 1..12u64, 4..8i64, -3..30i64, 0..3i64);
    let stray = (0..300i64, any::<bool>(), 0..3u64, 1..9u64, 4..40u64);
    (loops, stray, any::<[bool; 2]>(), 7..14u8, 0..3u64).prop_map(
        |(loops, stray, [token, modes], read_bytes, alone)| Shape {
            groups: loops.0,
            alone,
            pairs: loops.1,
            period: loops.2,
            group_gap: loops.3,
            key_lead: loops.4,
            stray_start: stray.0,
            stray_unit: stray.1,
            stray_offset: 80 + 16 * stray.2,
            stray_rounds: stray.3,
            stray_period: stray.4,
            token,
            modes,
            read_bytes: f64::from(read_bytes),
        },
    )
}

fn with_ciphertext(mut event: Event) -> Event {
    event.op.ciphertext = 0;
    for access in event.reads.iter_mut().chain(&mut event.writes) {
        if access.value.class != KEY {
            access.value.ciphertext = 0;
        }
    }
    event
}

/// The last sum of a group goes off-chip as a token, which the next group reads.
fn token(ciphertext: u32) -> Access {
    let value = Value { class: SUM, ciphertext, iteration: Value::NONE, index: 9 };
    Access { bytes: 0, ..stream(OFF_CHIP, 0, value, 0) }
}

fn build(shape: &Shape) -> Schedule {
    let mut builder = machine();
    let length = shape.period * (2 * shape.pairs as i64 + 1);
    let group_period = (length + shape.group_gap).max(1) as u64;
    let group = |builder: &mut ScheduleBuilder, first: bool| {
        let mut opening = iteration(0, 0, 0).map(with_ciphertext);
        if shape.token && !first {
            let previous = token(0);
            opening[1].reads.push(previous);
        }
        opening.into_iter().for_each(|event| builder.event(event));
        builder.repeat(shape.period, shape.pairs, 2 * shape.period as u64, Shift::iterations(2), |b| {
            let mut pair: Vec<Event> = iteration(0, 1, 1).into_iter().chain(iteration(shape.period, 2, 0)).collect();
            // Keys may be loaded early, as far as their buffers allow.
            pair.iter_mut().filter(|event| event.resource == CHANNEL).for_each(|event| event.start -= shape.key_lead);
            pair.into_iter().map(with_ciphertext).for_each(|event| b.event(event));
        });
        if shape.token {
            let mut done = event(ADDER, ADD, length + 7, Value::NONE);
            done.op.ciphertext = 0;
            let mut signal = token(1);
            (signal.first, signal.last) = (4, 4);
            done.writes.push(signal);
            builder.event(done);
        }
    };
    builder.repeat(0, 1, 1, Shift::default(), |builder| group(builder, true));
    let next = Shift::ciphertexts(1);
    let body = builder.body(|builder| group(builder, false));
    builder.repeat(group_period as i64, shape.groups, group_period, next, |builder| {
        // Group 0 comes before the loop, whose ciphertexts count from 1.
        builder.once(0, next, Arc::clone(&body));
    });
    for number in (shape.groups + 1..).take(shape.alone as usize) {
        builder.once((number * group_period) as i64, Shift::ciphertexts(number as i64), Arc::clone(&body));
    }
    builder.repeat(shape.stray_start, shape.stray_rounds, shape.stray_period, Shift::default(), |builder| {
        let resource = if shape.stray_unit { ADDER } else { MULTIPLIER };
        let kind = match (shape.stray_unit, shape.modes) {
            (false, _) => MULTIPLY,
            (true, false) => ADD,
            (true, true) => OTHERWISE,
        };
        let mut stray = event(resource, kind, 0, Value::NONE);
        stray.occupancy = 4;
        stray.writes.push(Access { bytes: 1, ..stream(BUFFER, shape.stray_offset, value(SUM, Value::NONE), 4) });
        builder.event(stray);
    });
    let mut schedule = builder.finish();
    if let MemoryKind::OnChip { read_bytes_per_cycle, .. } = &mut schedule.resources.memories[1].kind {
        *read_bytes_per_cycle = shape.read_bytes;
    }
    if shape.modes {
        let add = &mut schedule.resources.kinds[usize::from(ADD.0)];
        add.mode = Some(Mode(0));
        let otherwise = OpKind { name: "add otherwise".to_owned(), mode: Some(Mode(1)), latency: 4, ..add.clone() };
        schedule.resources.kinds.push(otherwise);
    }
    schedule
}

#[test]
fn random_schedules_agree() {
    let mut legal = 0;
    let cases = 4000;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..cases {
        let shape = shape().new_tree(&mut runner).expect("a shape").current();
        match agree(&build(&shape)) {
            Ok(ok) => legal += usize::from(ok),
            Err(error) => panic!("{shape:?}: {error}"),
        }
    }
    println!("{legal} of {cases} schedules were legal");
    assert!(legal * 20 > cases, "only {legal} of {cases} schedules were legal: the test says little");
    assert!(legal < cases * 19 / 20, "{legal} of {cases} schedules were legal: hazards are hardly tested");
}

#[test]
fn nested_loops_are_skipped() {
    // 2000 groups of 1001 iterations: replayed events stay few, and the totals are those of the formula
    // groups · group period + the last group's length.
    let shape = Shape {
        groups: 2000,
        alone: 0,
        pairs: 500,
        period: 4,
        group_gap: 9,
        key_lead: 0,
        stray_start: 0,
        stray_unit: true,
        stray_offset: 112,
        stray_rounds: 1,
        stray_period: 4,
        token: true,
        modes: false,
        read_bytes: 8.0,
    };
    let schedule = build(&shape);
    let checked = check(&schedule, &classes()).expect("legal");
    assert_eq!(checked.cycles, 2000 * (4 * 1001 + 9) + 4 * 1001 + 12);
    assert!(checked.replayed_events < 2000, "{} events replayed", checked.replayed_events);
    assert_eq!(schedule.event_count(), 2001 * (3 + 3000 + 1) + 1);
}
