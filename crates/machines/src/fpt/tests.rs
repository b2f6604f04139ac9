//! Does FPT's schedule pass the checker, take the cycles that the structure implies, and compute the right ciphertexts?

use super::machine::{Balance, Fpt, ShapeError};
use super::software::{Action, SoftwareError};
use super::{Mapped, map};
use crate::contract::Machine;
use crate::contract::tfhe;
use crate::tfhe::test_support::{Scene, is_legal, lookups, network, parameters, shape, with_events};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::checker::check;
use polyfabric_sim::schedule::{Event, KindId};

fn description() -> Machine {
    crate::description("fpt").expect("the built-in file is right")
}

fn machine() -> Fpt {
    Fpt::new(&description()).expect("its figures fit")
}

/// The other design of the external product.
fn unrolled_dot_product() -> Fpt {
    Fpt { balance: Balance::DotProductUnrolled, ..machine() }
}

fn exact() -> TfheLowering {
    TfheLowering::new(KeySwitchOrder::After, Arithmetic::ExactInteger)
}

fn mapped(machine: &Fpt, program: &KernelProgram) -> Mapped {
    map(machine, program).expect("the program fits")
}

#[test]
fn small_programs_are_legal_folded_and_unrolled() {
    let slow_key = Fpt { channel_bytes: 0.5, ..machine() };
    let shallow = Fpt { batch: 1, ..machine() };
    for (machine, parameters, count, levels, switch) in [
        (machine(), shape(5, 1, 256, 2), 3, 1, false),
        (machine(), shape(8, 2, 512, 2), 12, 1, false),
        (machine(), shape(7, 1, 256, 3), 40, 2, true),
        (machine(), shape(6, 1, 1024, 2), 130, 1, true),
        (unrolled_dot_product(), shape(7, 1, 256, 2), 50, 1, false),
        (unrolled_dot_product(), shape(6, 2, 512, 1), 5, 2, true),
        (slow_key, shape(9, 1, 256, 2), 30, 1, false),
        (shallow, shape(9, 1, 256, 2), 30, 1, true),
    ] {
        let program = lookups(&parameters, &exact(), count, levels, switch);
        is_legal(&mapped(&machine, &program).schedule, parameters.name());
    }
}

#[test]
fn cmux_cycles_match_section_5() {
    // (256/128) · 6 = 12 cycles and (512/128) · 4 = 16; a batch of 12 fills 144 and 192.
    for (set, cycles, macs) in [("fpt-I", 12, 384), ("fpt-II", 16, 256)] {
        let shape = machine().shape(&parameters(set)).expect("it fits");
        assert_eq!((shape.cmux, shape.in_flight, shape.period), (cycles, 12, 12 * cycles), "{set}");
        assert_eq!(shape.macs(), macs, "{set}");
        assert!(shape.depth <= shape.period, "{set}: the structure takes {} cycles", shape.depth);
    }
    // At the same throughput, four forward kernels and two inverse ones of width 32.
    let shape = unrolled_dot_product().shape(&parameters("fpt-II")).expect("it fits");
    assert_eq!((shape.cmux, shape.widths, shape.steps()), (16, (32, 32), 1));
}

#[test]
fn batches_follow_without_a_gap_and_one_ciphertext_takes_nearly_as_long_as_twelve() {
    let machine = machine();
    let parameters = shape(40, 2, 512, 2);
    let of = |count: usize| {
        let program = lookups(&parameters, &exact(), count, 1, false);
        check(&mapped(&machine, &program).schedule, &[]).expect("the schedule is legal").cycles
    };
    let period = 40 * 144;
    let mapped = mapped(&machine, &lookups(&parameters, &exact(), 12 * 9, 1, false));
    let rotates = mapped.tasks.tasks.iter().zip(&mapped.timeline.times.starts);
    let starts: Vec<i64> = rotates.filter(|(task, _)| task.action == Action::Rotate).map(|(_, &start)| start).collect();
    assert!(starts.len() == 9 && starts.windows(2).all(|pair| pair[1] - pair[0] == period), "{starts:?}");
    // A full batch takes longer only on the links and the host.
    let (one, twelve) = (of(1), of(12));
    assert!(one < twelve && twelve - one < period as u64 / 2, "{one} and {twelve}");
}

#[test]
fn slow_key_stretches_the_period_and_batch_covers_the_latency() {
    let parameters = parameters("fpt-I");
    let slow = Fpt { key_channels: 1, ..machine() };
    let shape = slow.shape(&parameters).expect("it fits");
    assert!(shape.key_cycles > 144 && shape.period == shape.key_cycles, "{shape:?}");
    let shallow = Fpt { batch: 1, ..machine() }.shape(&parameters).expect("it fits");
    assert_eq!(shallow.in_flight, (shallow.depth as u64).div_ceil(12));
    assert!(shallow.in_flight < 12);
}

#[test]
fn sets_that_do_not_fit_are_rejected() {
    let refused = |machine: &Fpt, set: &Parameters| match map(machine, &lookups(set, &exact(), 3, 1, false))
        .err()
        .expect("it does not fit")
    {
        SoftwareError::Shape(ShapeError::Ring { ring_degree, largest, .. }) => ("ring", largest, ring_degree),
        SoftwareError::Shape(ShapeError::Width { figure, width, points, .. }) => (figure, width, points),
        SoftwareError::Shape(ShapeError::Memory { figure, available, needed, .. }) => (figure, available, needed),
        other => panic!("{other}"),
    };
    let first = parameters("fpt-I");
    // The keys of two iterations: 18 polynomials of 256 points of twice 32 bits.
    let held = 2 * 18 * 256 * 8 + machine().fifo + machine().tables + machine().outputs;
    assert!(Fpt { card: held, ..machine() }.shape(&first).is_ok());
    for (small, set, expected) in [
        (Fpt { largest_ring: 512, ..machine() }, &parameters("fpt-II"), ("ring", 512, 1024)),
        (Fpt { forward_points: 256, ..machine() }, &shape(5, 1, 256, 2), ("units.cmux.forward_points", 256, 128)),
        (Fpt { fifo: 4096, ..machine() }, &first, ("memories.fifo.capacity", 4096, 28176)),
        (Fpt { tables: 512, ..machine() }, &first, ("memories.tables.capacity", 512, 1024)),
        (Fpt { card: held - 1, ..machine() }, &first, ("memories.card.capacity", held - 1, held)),
    ] {
        assert_eq!(refused(&small, set), expected);
    }
}

#[test]
fn replay_is_the_interpreter_bit_for_bit() {
    let toy = parameters("toy-256");
    let wide = parameters("toy-512-k2");
    let own = |p: &Parameters| tfhe::lowering(&description(), p, KeySwitchOrder::After).expect("a 32-bit set");
    let one = |count, levels, switch| move |p: &Parameters, c: &TfheLowering| lookups(p, c, count, levels, switch);
    let scenes = [
        (machine(), Scene::new(&toy, 20, one(20, 2, true), &own(&toy))),
        (machine(), Scene::new(&toy, 3, one(3, 1, false), &exact())),
        (machine(), Scene::new(&wide, 14, one(14, 1, true), &own(&wide))),
        (unrolled_dot_product(), Scene::new(&toy, 20, one(20, 1, true), &own(&toy))),
        (machine(), Scene::new(&toy, 30, |p, c| network(p, c, 30, 20), &own(&toy))),
    ];
    for (number, (machine, scene)) in scenes.into_iter().enumerate() {
        let mapped = mapped(&machine, &scene.program);
        scene.accepts(&format!("scene {number}"), &mapped.schedule, &mapped.labels);
    }
}

#[test]
fn one_cycle_off_gives_wrong_ciphertexts() {
    let toy = parameters("toy-256");
    let choice = tfhe::lowering(&description(), &toy, KeySwitchOrder::After).expect("a 32-bit set");
    let scene = Scene::new(&toy, 3, |p, c| lookups(p, c, 3, 1, false), &choice);
    let mapped = mapped(&machine(), &scene.program);
    scene.accepts("the schedule itself", &mapped.schedule, &mapped.labels);
    let wrong = |name: &str, kind: KindId, change: &dyn Fn(&mut Event)| {
        scene.rejects(name, &with_events(&mapped.schedule, kind, change), &mapped.labels);
    };
    let kinds = mapped.chip.kinds;
    for (name, kind) in [
        ("decomposer", kinds.decompose),
        ("forward transform", kinds.forward),
        ("multipliers", kinds.multiply),
        ("inverse transform", kinds.inverse),
        ("accumulation", kinds.accumulate),
    ] {
        for by in [-1, 1] {
            wrong(&format!("{name} off by {by}"), kind, &|event| event.start += by);
        }
    }
    wrong("rotator a cycle late", kinds.rotate, &|event| event.start += 1);
    let key = mapped.tasks.shape.key();
    wrong("both keys use one half of the buffer", kinds.key, &|event| {
        event.writes.iter_mut().for_each(|write| write.place.offset %= key);
    });
}
