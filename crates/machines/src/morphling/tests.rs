//! Does Morphling's schedule pass the checker, take the cycles that the structure implies, and compute the right
//! ciphertexts?

use super::emit::resources::Chip;
use super::machine::{Morphling, Network};
use super::test_support::machine;
use super::{Mapped, map};
use crate::audit::audit;
use crate::tfhe::labels::Meaning;
use crate::tfhe::replay::replay;
use crate::tfhe::test_support::{
    Scene, both_reuses, each_event, lookups, lowering, network, parameters, shape, with_events,
};
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};
use polyfabric_program::tfhe::lowering::{Accumulation, InputTransform, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_schemes::tfhe::{LweKind, Parameters};
use polyfabric_sim::checker::{Hazard, check, check_every_round};
use polyfabric_sim::schedule::{Access, Event, Item, KindId, Placed, Schedule, ScheduleBuilder};
use proptest::prelude::*;
use std::sync::Arc;

fn cycles(machine: &Morphling, program: &KernelProgram) -> u64 {
    let mapped = map(machine, program).expect("the program fits");
    check(&mapped.schedule, &[]).expect("the schedule is legal").cycles
}

/// Parameter set, number of lookups, cycles.
///
/// A group's rotation takes n · waves · (k + 1) l · N/16 cycles if its waves hide the pipeline: 500 · 4 · 4 · 64 =
/// 512,000 for 64 lookups of set I. The first fetch, load and modulus switch precede it once, and the last drain,
/// store, extraction and transfer follow once: 5,526 cycles for set I. A single wave waits for the pipeline in every
/// iteration: streams of its four digits 256, decomposition 4, FFT 142 (34 of them merge-split), VPE 8, the first IFFT
/// 108 and its stream 64, accumulation 3, skew 3. These are 588 cycles, and the second polynomial overlaps the first:
/// 294,000 for 500 iterations.
const GOLDEN: &[(&str, usize, u64)] = &[
    ("morphling-I", 16, 296_392),
    ("morphling-I", 64, 517_526),
    ("morphling-I", 2560, 20_485_526),
    ("morphling-II", 64, 973_030),
    ("morphling-III", 64, 1_827_709),
    ("morphling-IV-t32", 64, 782_396),
    ("morphling-A-t32", 64, 1_608_624),
    ("morphling-B", 64, 771_149),
    ("morphling-C", 64, 753_475),
];

/// Resources and kinds; all variants of the machine number them equally.
fn chip() -> Chip {
    let machine = machine();
    let steps = machine.steps(&machine.sizes(&parameters("toy-256")));
    Chip::declare(&mut ScheduleBuilder::new(), &machine, &steps)
}

#[test]
fn golden_cycles() {
    let mut wrong = Vec::new();
    for &(set, count, expected) in GOLDEN {
        let found = cycles(&machine(), &lookups(&parameters(set), &both_reuses(), count, 1, false));
        if found != expected {
            wrong.push(format!("(\"{set}\", {count}, {found}), was {expected}"));
        }
    }
    assert!(wrong.is_empty(), "cycles changed:\n{}", wrong.join("\n"));
}

#[test]
fn rows_stream_without_a_gap() {
    // 40 groups against 10: 30 more groups of 64 take exactly n · 4 · (k + 1) l · N/16 cycles each.
    for (set, group) in [("morphling-I", 500 * 4 * 4 * 64), ("morphling-II", 630 * 4 * 6 * 64)] {
        let of = |groups: usize| cycles(&machine(), &lookups(&parameters(set), &both_reuses(), 64 * groups, 1, false));
        assert_eq!(of(40) - of(10), 30 * group);
    }
}

#[test]
fn the_literal_reading_takes_twice_as_long() {
    let literal = crate::description("morphling").expect("built in").choose(&[("fft_rate", "literal")]);
    let literal = Morphling::new(&literal.expect("a reading of the file")).expect("its figures fit");
    let program = |groups: usize| lookups(&parameters("morphling-I"), &both_reuses(), 64 * groups, 1, false);
    let of = |machine: &Morphling| cycles(machine, &program(20)) - cycles(machine, &program(10));
    assert_eq!(of(&literal), 2 * of(&machine()));
}

#[test]
fn ten_thousand_lookups_stay_a_small_schedule() {
    for switch in [false, true] {
        let program = lookups(&parameters("morphling-I"), &both_reuses(), 10_000, 1, switch);
        let mapped = map(&machine(), &program).expect("the program fits");
        fn size(items: &[Item]) -> usize {
            let of = |item: &Item| match item {
                Item::Event(_) => 1,
                Item::Repeat(repeat) => size(&repeat.body),
            };
            items.iter().map(of).sum()
        }
        assert!(mapped.schedule.event_count() > 60_000_000);
        assert!(size(&mapped.schedule.items) < 150_000, "{}", size(&mapped.schedule.items));
    }
}

#[test]
fn layers_of_a_network_share_their_rotations() {
    // Four layers of 150 lookups: two groups of 64 and one of 22 each, with a key switch of 64 tiles.
    let program = lookups(&parameters("morphling-I"), &both_reuses(), 150, 4, true);
    let mapped = map(&machine(), &program).expect("the program fits");
    let mut bodies = std::collections::HashSet::new();
    let (mut calls, mut tiles) = (0, 0);
    fn walk(items: &[Item], visit: &mut impl FnMut(&polyfabric_sim::schedule::Repeat)) {
        for item in items {
            if let Item::Repeat(repeat) = item {
                visit(repeat);
                walk(&repeat.body, visit);
            }
        }
    }
    walk(&mapped.schedule.items, &mut |repeat| {
        if repeat.count == 1 {
            bodies.insert(Arc::as_ptr(&repeat.body));
            calls += 1;
        }
        tiles += repeat.count * u64::from(repeat.shift.iteration > 0 && repeat.body.len() <= 36);
    });
    assert_eq!(calls, 12);
    assert!(bodies.len() <= 8, "{} bodies for {calls} rotations", bodies.len());
    assert!(tiles > 0, "no tiles are in a loop");
    let folded = check(&mapped.schedule, &[]).expect("the schedule is legal");
    assert!(folded.replayed_events * 20 < mapped.schedule.event_count());
    crate::contract::tfhe::hold(
        &crate::description("morphling").expect("built in"),
        &program,
        &mapped.labels,
        &mapped.schedule,
    )
    .expect("it computes its program");
}

#[test]
fn sums_of_many_operations_have_distinct_values() {
    // More operations than 16 bits can number, then a linear layer with sums over several blocks of operands.
    let set = parameters("morphling-I");
    let mut program = network(&set, &both_reuses(), 600, 200);
    let before = (1 << 16) + 1;
    let input = program.ops[0].clone();
    let more = (0..before).map(|number| {
        let mut input = input.clone();
        input.kind = OpKind::Input { name: format!("unused{number}").into() };
        input
    });
    for op in &mut program.ops {
        op.operands.iter_mut().for_each(|operand| operand.0 += before);
    }
    program.ops = more.chain(std::mem::take(&mut program.ops)).collect();
    program.outputs[0].value.0 += before;
    let mapped = map(&machine(), &program).expect("it fits");
    check(&mapped.schedule, &[]).expect("the schedule is legal");
    audit(&program, &mapped.schedule, &mapped.labels).expect("every sum belongs to its operation");
    // The sums also pass the vector registers.
    let registers = chip().classes.operands;
    let mut sums = 0;
    each_event(&mut mapped.schedule.items.clone(), &mut |event| {
        for read in event.reads.iter().filter(|read| read.value.class == registers) {
            for meaning in mapped.labels.meanings(read.value) {
                let Meaning::LinearSum { op, .. } = meaning else { continue };
                assert_eq!(op, before + 1);
                sums += 1;
            }
        }
    });
    assert!(sums > 0, "all operands fit one block");
}

#[test]
fn errors_name_the_figure_that_is_too_small() {
    let small = Morphling { private_a1: 4096, ..machine() };
    let program = lookups(&parameters("morphling-I"), &both_reuses(), 16, 1, false);
    let error = map(&small, &program).err().expect("an accumulator needs more").to_string();
    assert!(error.starts_with("`memories.private_a1.capacity` is 4096 bytes and 163136 are needed"), "{error}");
    let program = lookups(&shape(4, 1, 8192, 1), &both_reuses(), 16, 1, false);
    let error = map(&machine(), &program).err().expect("the transforms have too few stages").to_string();
    assert!(error.contains("N = 8192") && error.contains("`units.fft.largest_ring`"), "{error}");
}

/// Bytes of the program's transfers per channel: keys and twiddle factors, and all other data.
fn channel_bytes(schedule: &Schedule, key: [polyfabric_sim::schedule::KindId; 2]) -> Vec<(u64, u64)> {
    let mut bytes = vec![(0, 0); schedule.resources.channels.len()];
    for placed in schedule.events() {
        let units = schedule.resources.units.len();
        if let Some(index) = (placed.event.resource.0 as usize).checked_sub(units) {
            let sum = &mut bytes[index];
            *(if key.contains(&placed.event.op.kind) { &mut sum.0 } else { &mut sum.1 }) += placed.event.work;
        }
    }
    bytes
}

#[test]
fn eight_channels_share_the_work() {
    let program = lookups(&parameters("toy-256"), &both_reuses(), 64, 1, true);
    let all = Morphling { key_channels: 8, vector_channels: 8, ..machine() };
    for (machine, key, rest) in [(machine(), 0..2, 2..8), (all, 0..8, 0..8)] {
        let mapped = map(&machine, &program).expect("the program fits");
        let Chip { kinds, .. } = &chip();
        let bytes = channel_bytes(&mapped.schedule, [kinds.key, kinds.load_twiddles]);
        assert_eq!(bytes.len(), 8);
        let sizes = &mapped.streams.layout.sizes;
        let keys = sizes.key * sizes.lwe_dimension + sizes.ring_degree * 8;
        for (index, &(of_key, other)) in bytes.iter().enumerate() {
            assert_eq!(of_key, if key.contains(&index) { keys / key.len() as u64 } else { 0 }, "hbm{index}");
            assert_eq!(other > 0, rest.contains(&index), "hbm{index}");
        }
        // A vector of ciphertexts or of a key is spread over all channels, so their loads are nearly equal.
        let shares: Vec<u64> = bytes[rest].iter().map(|&(_, other)| other).collect();
        let (least, most) = (shares.iter().min().copied(), shares.iter().max().copied());
        assert!(least.zip(most).is_some_and(|(least, most)| 10 * most < 15 * least), "{shares:?}");
    }
}

#[test]
fn twiddle_factors_are_loaded_once_before_the_first_key() {
    let all = Morphling { key_channels: 8, vector_channels: 8, ..machine() };
    for machine in [machine(), all] {
        let program = lookups(&parameters("morphling-I"), &both_reuses(), 150, 2, false);
        let mapped = map(&machine, &program).expect("the program fits");
        let Chip { kinds, .. } = &chip();
        let placed: Vec<_> = mapped.schedule.events().take(20_000).collect();
        let of = |kind| placed.iter().filter(move |placed| placed.event.op.kind == kind);
        // Eight bytes per coefficient, in equal stripes on the key's channels; then to each XPU's buffer.
        let bytes: u64 = of(kinds.load_twiddles).map(|placed| placed.event.work).sum();
        assert_eq!((bytes, of(kinds.load_twiddles).count() as u64), (8 * 1024, machine.key_channels));
        assert_eq!(of(kinds.fill_twiddles).map(|placed| placed.event.writes.len()).collect::<Vec<_>>(), [4]);
        let past = of(kinds.load_twiddles).map(|placed| placed.start + i64::from(placed.event.occupancy)).max();
        assert!(past <= of(kinds.key).map(|placed| placed.start).min());
    }
}

/// Changes the key reads of key switches by `change`, and returns the hazard that the checker then finds.
fn with_key_rows(mapped: &Mapped, change: impl Fn(u32, &mut [Access])) -> Option<Hazard> {
    let Chip { kinds, classes, loads, .. } = &chip();
    let mut schedule = mapped.schedule.clone();
    each_event(&mut schedule.items, &mut |event| {
        let rows = event.reads.iter_mut().filter(|read| read.value.class == classes.key_switch_key);
        if event.op.kind == kinds.load_operands {
            let mut rows: Vec<&mut Access> = rows.collect();
            let mut copies: Vec<Access> = rows.iter().map(|row| **row).collect();
            change(event.resource.0 - loads[0].0, &mut copies);
            rows.iter_mut().zip(copies).for_each(|(row, copy)| **row = copy);
        }
    });
    check(&schedule, &[]).err().map(|violation| violation.hazard)
}

#[test]
fn lane_groups_never_share_a_bank() {
    let program = lookups(&parameters("morphling-I"), &both_reuses(), 64, 1, true);
    let mapped = map(&machine(), &program).expect("the program fits");
    assert_eq!(with_key_rows(&mapped, |_, _| {}), None);
    // With the same order of rows in all groups, two read one bank in the same cycle.
    let in_one_order = |_, rows: &mut [Access]| {
        let mut cycles: Vec<(u32, u32)> = rows.iter().map(|row| (row.first, row.last)).collect();
        cycles.sort_unstable();
        rows.sort_unstable_by_key(|row| row.place.offset);
        rows.iter_mut().zip(cycles).for_each(|(row, read)| (row.first, row.last) = read);
    };
    assert_eq!(with_key_rows(&mapped, in_one_order), Some(Hazard::Port));
    // With a multicast, all groups receive the rows at once.
    let multicast = map(&Morphling { multicasts_rows: true, ..machine() }, &program).expect("the program fits");
    assert_eq!(with_key_rows(&multicast, |_, _| {}), None);
    let Chip { kinds, classes, .. } = chip();
    let reads = |mapped: &Mapped| {
        let of_key = |placed: &Placed<'_>| placed.event.op.kind == kinds.load_operands;
        let class = classes.key_switch_key;
        let bytes = |placed: Placed<'_>| {
            let rows = placed.event.reads.iter().filter(|read| read.value.class == class);
            rows.map(|read| read.bytes).sum::<u64>()
        };
        mapped.schedule.events().filter(of_key).map(bytes).sum::<u64>()
    };
    assert_eq!(reads(&mapped), 4 * reads(&multicast));
}

#[test]
fn one_register_load_per_cycle_limits_key_switches() {
    // A sum is loaded and stored for every 32 rows of the key: 1/32 more cycles for each.
    let program = lookups(&parameters("morphling-I"), &both_reuses(), 640, 1, true);
    let of = |register_loads| cycles(&Morphling { register_loads, ..machine() }, &program) as f64;
    let slower = of(1) / of(2);
    assert!((1.025..1.035).contains(&slower), "{slower}");
    assert_eq!(of(2), of(3));
}

#[test]
fn a_narrower_network_is_slower() {
    let of = |network: Network, switch: bool| {
        let program = lookups(&parameters("morphling-I"), &both_reuses(), 256, 1, switch);
        cycles(&Morphling { network, ..machine() }, &program)
    };
    let whole = machine().network;
    let (rotations, switches) = (of(whole, false), of(whole, true));
    // Streams of a row at half the rate.
    for halved in [
        Network { row_read: whole.row_read / 2, ..whole },
        // Half as many polynomials are written as read.
        Network { row_write: whole.row_write / 4, ..whole },
        Network { key: whole.key / 2, ..whole },
    ] {
        let slower = of(halved, false) as f64 / rotations as f64;
        assert!((1.9..2.1).contains(&slower), "{slower} with {halved:?}");
    }
    // Accumulators wait for a link of two bytes per cycle, and the vector unit for its link.
    assert!(of(Network { link: 2, ..whole }, false) > rotations + rotations / 100);
    assert!(of(Network { vector_read: 128, ..whole }, true) > switches + switches / 100);
    assert!(of(Network { vector_read: 64, ..whole }, true) > 19 * switches / 10);
    // One vector of sums is stored for every 32 vectors of the key.
    assert!(of(Network { vector_write: 2, ..whole }, true) > 3 * switches / 2);
    // Links wider than the units change nothing.
    let Network { row_read, row_write, key, vector_read, vector_write, .. } = whole;
    let wide = Network {
        row_read: 2 * row_read,
        row_write: 2 * row_write,
        key: 2 * key,
        vector_read: 2 * vector_read,
        vector_write: 2 * vector_write,
        ..whole
    };
    assert_eq!((of(wide, false), of(wide, true)), (rotations, switches));
}

#[test]
fn overused_links_are_rejected() {
    let program = lookups(&parameters("morphling-I"), &both_reuses(), 64, 1, true);
    let mapped = map(&machine(), &program).expect("the program fits");
    // The schedule for the original network, checked on one with a narrower link.
    let refused = |network: Network| {
        let narrow = Morphling { network, ..machine() };
        let mut builder = ScheduleBuilder::new();
        Chip::declare(&mut builder, &narrow, &machine().steps(&mapped.streams.layout.sizes));
        let schedule = Schedule { resources: builder.finish().resources, items: mapped.schedule.items.clone() };
        check(&schedule, &[]).err().map(|violation| violation.hazard)
    };
    let whole = machine().network;
    assert_eq!(refused(whole), None);
    assert_eq!(refused(Network { row_read: 96, ..whole }), Some(Hazard::Rate));
    assert_eq!(refused(Network { row_write: 32, ..whole }), Some(Hazard::Rate));
    assert_eq!(refused(Network { key: 16, ..whole }), Some(Hazard::Rate));
    assert_eq!(refused(Network { link: 32, ..whole }), Some(Hazard::Rate));
    assert_eq!(refused(Network { vector_read: 128, ..whole }), Some(Hazard::Rate));
    assert_eq!(refused(Network { vector_write: 64, ..whole }), Some(Hazard::Rate));

    // Bytes that no event accounts for; banks and wires count them too.
    let overused = |kind: KindId, change: &dyn Fn(&mut Event)| {
        let refused = check(&with_events(&mapped.schedule, kind, change), &[]);
        refused.err().map(|violation| violation.hazard)
    };
    let Chip { kinds, .. } = &chip();
    assert_eq!(overused(kinds.decompose, &|event| event.reads[0].bytes *= 3), Some(Hazard::Port));
    assert_eq!(overused(kinds.accumulate, &|event| event.writes[0].bytes *= 3), Some(Hazard::Port));
    assert_eq!(overused(kinds.multicast, &|event| event.writes[0].bytes *= 3), Some(Hazard::Port));
    assert_eq!(overused(kinds.link_store, &|event| event.work *= 2), Some(Hazard::Rate));
    assert_eq!(overused(kinds.return_results, &|event| event.work *= 2 * event.occupancy as u64), Some(Hazard::Rate));
}

#[test]
fn words_of_at_most_six_groups_wait() {
    // From the end of their fetch until all instructions have ended; the scheduler in rtl/ has room for eight groups.
    for switch in [true, false] {
        let program = lookups(&parameters("morphling-I"), &both_reuses(), 1280, 1, switch);
        let mapped = map(&machine(), &program).expect("the program fits");
        let ends = |nodes: std::ops::Range<u32>| nodes.map(|node| mapped.timeline.ends[node as usize]);
        let groups = mapped.streams.groups.iter().map(|group| group.nodes.clone());
        let stays: Vec<(i64, i64)> =
            groups.filter_map(|nodes| Some((ends(nodes.clone()).next()?, ends(nodes).max()?))).collect();
        let waiting = |now: i64| stays.iter().filter(|&&(from, until)| from <= now && now < until).count();
        let most = stays.iter().map(|&(now, _)| waiting(now)).max();
        assert!(most <= Some(6), "{most:?} groups, with key switches: {switch}");
    }
}

#[test]
fn other_transfers_pass_between_keys() {
    // If all channels serve both, the loads of the second group overlap the first rotation: 40 groups take at most
    // slightly longer than with separate channels.
    let all = Morphling { key_channels: 8, vector_channels: 8, ..machine() };
    let program = lookups(&parameters("morphling-I"), &both_reuses(), 40 * 64, 1, false);
    let (apart, shared) = (cycles(&machine(), &program), cycles(&all, &program));
    assert!(shared < apart + apart / 1000, "{shared} and {apart} cycles");
}

#[test]
fn stalls_name_the_bottleneck() {
    use polyfabric_sim::stalls::Stall;
    let shares = |set: &str, count: usize, switch: bool, stall: Stall, class: &str| {
        let program = lookups(&parameters(set), &both_reuses(), count, 1, switch);
        let mapped = map(&machine(), &program).expect("the program fits");
        let checked = check(&mapped.schedule, &[class.to_owned()]).expect("the schedule is legal");
        let tally = checked.stalls[0].tally;
        let idle = tally.total() - tally.get(Stall::Busy) - tally.get(Stall::FillDrain);
        (tally.get(stall) as f64 / idle as f64, tally.get(Stall::Slack) as f64 / idle as f64)
    };
    // Sixteen ciphertexts of set C wait for the key, at the FFT and at the VPEs.
    let (key, slack) = shares("morphling-C", 16, false, Stall::BootstrapKey, "fft");
    assert!(key > 0.99 && slack < 0.001, "{key} {slack}");
    // After a key switch, the XPUs wait for the VPU.
    let (vector, slack) = shares("morphling-I", 640, true, Stall::VectorUnit, "fft");
    assert!(vector > 0.9 && slack < 0.01, "{vector} {slack}");
    // Two polynomials use two of four columns.
    let (unused, _) = shares("morphling-I", 64, false, Stall::Unused, "vpe");
    assert!(unused > 0.99, "{unused}");
}

fn variants() -> impl Strategy<Value = TfheLowering> {
    use Accumulation::{CoefficientDomain, TransformDomain};
    use InputTransform::{PerProduct, Shared};
    prop_oneof![
        Just(lowering(Shared, TransformDomain)),
        Just(lowering(Shared, CoefficientDomain)),
        Just(lowering(PerProduct, CoefficientDomain)),
        Just(lowering(PerProduct, TransformDomain)),
    ]
}

/// Number of random programs; `POLYFABRIC_FULL` in the environment gives more.
fn programs() -> u32 {
    if std::env::var_os("POLYFABRIC_FULL").is_some() { 48 } else { 8 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), max_shrink_iters: 64, ..ProptestConfig::default() })]

    /// Every program is legal on every variant, and folding hides no hazard.
    #[test]
    fn random_programs_are_legal(
        (n, k, log2_degree, l) in (2usize..14, 1usize..=3, 9u32..=12, 1u32..=3),
        (count, levels, switch) in (1usize..200, 1usize..=3, any::<bool>()),
        choice in variants(),
        (merge_split, streams, all_channels) in (any::<bool>(), 1u64..=4, any::<bool>()),
        (multicasts_rows, register_loads, sets) in (any::<bool>(), 1u64..=2, 1u64..=2),
        (xpus, shared_banks) in (prop_oneof![Just(2u64), Just(4), Just(8)], prop_oneof![Just(2u64), Just(4)]),
    ) {
        let base = machine();
        let base = Morphling {
            merge_split,
            fft_points: if merge_split { base.fft_points } else { base.path_points },
            key_streams: streams,
            multicasts_rows,
            register_loads,
            private_b_banks: sets * base.lane_groups,
            xpus,
            shared_banks,
            key_channels: if all_channels { base.channels } else { base.key_channels },
            vector_channels: if all_channels { base.channels } else { base.vector_channels },
            ..base
        };
        let program = lookups(&shape(n, k, 1 << log2_degree, l), &choice, count, levels, switch);
        let mapped = match map(&base, &program) {
            Ok(mapped) => mapped,
            // Two accumulators of the largest rings do not fit a row's bank.
            Err(error) => {
                prop_assert!(error.to_string().contains("are needed"), "{}", error);
                return Ok(());
            }
        };
        let folded = check(&mapped.schedule, &[]);
        prop_assert!(folded.is_ok(), "{}", folded.err().map(|error| error.to_string()).unwrap_or_default());
        if mapped.schedule.event_count() < 40_000 {
            let unfolded = check_every_round(&mapped.schedule, &[]);
            prop_assert_eq!(unfolded.map(|checked| checked.cycles), folded.map(|checked| checked.cycles));
        }
    }
}

/// A program on encrypted inputs, in the machine's arithmetic.
fn scene(
    parameters: &Parameters,
    count: usize,
    program: impl Fn(&Parameters, &TfheLowering) -> KernelProgram,
    choice: TfheLowering,
) -> Scene {
    let description = crate::description("morphling").expect("built in");
    let arithmetic = crate::contract::tfhe::arithmetic(&description, parameters).expect("a 32-bit set");
    Scene::new(parameters, count, program, &TfheLowering { arithmetic, ..choice })
}

#[test]
fn replay_is_the_interpreter_bit_for_bit() {
    let one = |count, levels, switch| move |p: &Parameters, c: &TfheLowering| lookups(p, c, count, levels, switch);
    let unmerged = Morphling { merge_split: false, fft_points: 8, ..machine() };
    let multicast = Morphling { multicasts_rows: true, ..machine() };
    let cramped = Morphling { private_b: 160 << 10, ..machine() };
    let separate = lowering(InputTransform::PerProduct, Accumulation::CoefficientDomain);
    let scenes = [
        (machine(), scene(&parameters("toy-256"), 70, one(70, 2, true), both_reuses())),
        (unmerged, scene(&parameters("toy-256"), 5, one(5, 1, false), both_reuses())),
        (machine(), scene(&parameters("toy-512-k2"), 3, one(3, 1, true), separate)),
        (machine(), scene(&parameters("toy-256"), 90, |p, c| network(p, c, 90, 20), both_reuses())),
        (multicast, scene(&parameters("toy-256"), 90, |p, c| network(p, c, 90, 20), both_reuses())),
        // Little memory for linear layers: many blocks of rows and columns, most of them without a weight.
        (cramped, scene(&parameters("toy-256"), 90, |p, c| network(p, c, 90, 70), both_reuses())),
    ];
    for (number, (machine, scene)) in scenes.into_iter().enumerate() {
        let mapped = map(&machine, &scene.program).expect("the program fits");
        scene.accepts(&format!("scene {number}"), &mapped.schedule, &mapped.labels);
    }
}

#[test]
fn a_paper_size_replay_decrypts() {
    // The sets of table III need more than 32 bits per spectrum part (see the findings); this set works with 32.
    let scene = scene(&parameters("polyfabric-direct-1024-t32"), 2, |p, c| lookups(p, c, 2, 1, false), both_reuses());
    // Two ciphertexts share an FFT unit. Separately folded, each has the interpreter's bits; merged, the bits differ
    // but decrypt equally.
    for merges in [false, true] {
        let mapped = map(&Morphling { merges, ..machine() }, &scene.program).expect("the program fits");
        let outputs =
            replay(&mapped.schedule, &mapped.labels, &scene.program, &scene.server, &scene.inputs, &NoProgress);
        let outputs = outputs.expect("a legal schedule");
        assert_eq!(outputs.saturations, 0);
        assert_eq!(outputs.outputs["y"].data() == scene.expected(), !merges);
        let phases = scene.client.decrypt_phase(LweKind::Large, &outputs.outputs["y"]).expect("under the large key");
        // The table is +1/8 everywhere, so the phase has the sign of the input.
        for (index, phase) in phases.into_iter().enumerate() {
            let expected: u32 = if index % 3 == 0 { 1 << 29 } else { 7 << 29 };
            let error = phase.wrapping_sub(expected) as i32;
            assert!(error.unsigned_abs() < 1 << 28, "lookup {index} of {}: {phase:#x}", scene.count);
        }
    }
}
