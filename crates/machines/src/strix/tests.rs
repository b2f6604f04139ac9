//! Does Strix's schedule pass the checker, take the cycles that the structure implies, and compute the right
//! ciphertexts?

use crate::contract::Machine;
use crate::contract::tfhe;
use crate::tfhe::replay::replay;
use crate::tfhe::test_support::{Scene, is_legal, lookups, network, parameters, shape, with_events};
use crate::torus_pipeline::machine::Pipeline;
use crate::torus_pipeline::test_support::lowering;
use crate::torus_pipeline::{Mapped, map};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_schemes::tfhe::{LweKind, Parameters};
use polyfabric_sim::checker::check;
use polyfabric_sim::schedule::{Event, KindId};
use std::cell::Cell;

fn description() -> Machine {
    crate::description("strix").expect("the built-in file is right")
}

fn machine() -> Pipeline {
    Pipeline::new(&description()).expect("its figures fit")
}

fn program(machine: &Pipeline, parameters: &Parameters, count: usize, levels: usize, switch: bool) -> KernelProgram {
    lookups(parameters, &lowering(machine, parameters), count, levels, switch)
}

fn mapped(machine: &Pipeline, program: &KernelProgram) -> Mapped {
    map(machine, program).expect("the program fits")
}

fn cycles(machine: &Pipeline, program: &KernelProgram) -> u64 {
    check(&mapped(machine, program).schedule, &[]).expect("the schedule is legal").cycles
}

#[test]
fn small_programs_are_legal_folded_and_unrolled() {
    let machine = machine();
    let tight = Pipeline { local: 24 << 10, ..machine.clone() };
    for (machine, parameters, count, levels, switch) in [
        (&machine, shape(5, 1, 256, 2), 3, 1, false),
        (&machine, shape(7, 1, 256, 3), 70, 2, true),
        (&tight, shape(6, 1, 256, 2), 200, 1, true),
        (&tight, shape(3, 1, 512, 1), 90, 1, false),
    ] {
        let program = program(machine, &parameters, count, levels, switch);
        is_legal(&mapped(machine, &program).schedule, parameters.name());
    }
}

#[test]
fn cores_stream_without_a_gap() {
    // In every epoch, a ciphertext takes n · l · N/8 cycles of its core.
    for (set, l) in [("strix-I", 2u64), ("strix-II", 3), ("strix-III", 3), ("strix-IV", 2)] {
        let (machine, parameters) = (machine(), parameters(set));
        let step = parameters.ring_degree().get() as u64 / 8;
        let n = parameters.lwe_dimension().get() as u64;
        let epoch = mapped(&machine, &program(&machine, &parameters, 4096, 1, false)).tasks.layout.epoch(&machine);
        let of = |epochs: u64| cycles(&machine, &program(&machine, &parameters, (epochs * epoch) as usize, 1, false));
        let taken = (of(8) - of(4)) as f64 / 4.0;
        let least = (epoch / machine.cores * n * l * step) as f64;
        assert!(taken >= least && taken < 1.003 * least, "{set}: {taken} cycles an epoch, at least {least}");
    }
}

#[test]
fn single_ciphertext_waits_for_the_pipeline_in_every_iteration() {
    // N = 1024, l = 2: a stream of 2 · 128 cycles. Latencies: rotator 3, decomposer 2, FFT 172 (nine butterflies of 5,
    // shuffling 127), VMA 5, IFFT 172, accumulator 3, whose result is read in its last cycle.
    let machine = machine();
    let of = |n: usize, count: usize| cycles(&machine, &program(&machine, &shape(n, 1, 1024, 2), count, 1, false));
    // Longer ciphertexts take a few more cycles to load.
    let near = |taken: u64, iteration: u64| (20 * iteration..20 * iteration + 64).contains(&taken);
    let (alone, three) = (of(60, 8) - of(40, 8), of(60, 24) - of(40, 24));
    assert!(near(alone, 256 + 356), "{alone}");
    // Three ciphertexts fill a core's pipeline.
    assert!(near(three, 3 * 256), "{three}");
}

/// The lowering for the machine with `readings`.
fn chosen(readings: &[(&str, &str)], parameters: &Parameters) -> TfheLowering {
    let machine = description().choose(readings).expect("readings of the file");
    tfhe::lowering(&machine, parameters, KeySwitchOrder::After).expect("a 32-bit set")
}

#[test]
fn replay_is_the_interpreter_bit_for_bit() {
    let toy = parameters("toy-256");
    let wide = parameters("toy-512-k2");
    let one = |count, levels, switch| move |p: &Parameters, c: &TfheLowering| lookups(p, c, count, levels, switch);
    let columns = Pipeline { columns: 3, rows: 3, ..machine() };
    let narrow = Pipeline { rows: 1, ..machine() };
    let deep = Pipeline { rows: 4, cores: 3, ..machine() };
    let cramped = Pipeline { local: 40 << 10, ..machine() };
    let printed = chosen(&[], &toy);
    let sums = |machine: &Pipeline, p: &Parameters| TfheLowering { arithmetic: printed_for(p), ..lowering(machine, p) };
    let scenes = [
        (machine(), Scene::new(&toy, 20, one(20, 2, true), &printed)),
        (
            machine(),
            Scene::new(
                &toy,
                3,
                one(3, 1, false),
                &TfheLowering { arithmetic: Arithmetic::ExactInteger, ..printed.clone() },
            ),
        ),
        (narrow.clone(), Scene::new(&toy, 9, one(9, 1, false), &sums(&narrow, &toy))),
        (deep.clone(), Scene::new(&toy, 9, one(9, 1, true), &sums(&deep, &toy))),
        (columns.clone(), Scene::new(&wide, 3, one(3, 1, true), &sums(&columns, &wide))),
        (cramped.clone(), Scene::new(&toy, 40, one(40, 1, true), &sums(&cramped, &toy))),
        (machine(), Scene::new(&toy, 30, |p, c| network(p, c, 30, 20), &printed)),
        (cramped, Scene::new(&toy, 30, |p, c| network(p, c, 30, 50), &printed)),
    ];
    for (number, (machine, scene)) in scenes.into_iter().enumerate() {
        let mapped = mapped(&machine, &scene.program);
        scene.accepts(&format!("scene {number}"), &mapped.schedule, &mapped.labels);
    }
}

fn printed_for(parameters: &Parameters) -> Arithmetic {
    tfhe::arithmetic(&description(), parameters).expect("a 32-bit set")
}

/// Fraction of lookups of ±1/8 with the wrong sign, and the number of saturated values.
fn wrong_signs(scene: &Scene, machine: &Pipeline) -> (f64, u64) {
    let mapped = mapped(machine, &scene.program);
    let outputs = replay(&mapped.schedule, &mapped.labels, &scene.program, &scene.server, &scene.inputs, &NoProgress)
        .expect("a legal schedule");
    let phases = scene.client.decrypt_phase(LweKind::Large, &outputs.outputs["y"]).expect("under the large key");
    let wrong = phases.into_iter().enumerate().filter(|&(index, phase)| {
        let expected: u32 = if index % 3 == 0 { 1 << 29 } else { 7 << 29 };
        (phase.wrapping_sub(expected) as i32).unsigned_abs() >= 1 << 28
    });
    (wrong.count() as f64 / scene.count as f64, outputs.saturations)
}

#[test]
fn wide_twiddles_decrypt_and_printed_ones_do_not() {
    let parameters = parameters("polyfabric-direct-1024-t32");
    let of = |readings: &[(&str, &str)]| {
        let one = |p: &Parameters, c: &TfheLowering| lookups(p, c, 8, 1, false);
        let machine = description().choose(readings).expect("readings of the file");
        let machine = Pipeline::new(&machine).expect("its figures fit");
        wrong_signs(&Scene::new(&parameters, 8, one, &chosen(readings, &parameters)), &machine)
    };
    assert_eq!(of(&[("twiddle", "wide")]), (0.0, 0));
    let (wrong, saturations) = of(&[]);
    assert_eq!(saturations, 0);
    assert!(wrong > 0.0, "twiddle factors of 16 bits are too coarse");
}

#[test]
fn a_wrong_schedule_gives_wrong_ciphertexts() {
    let parameters = parameters("toy-256");
    let scene = Scene::new(&parameters, 3, |p, c| lookups(p, c, 3, 1, true), &chosen(&[], &parameters));
    let mapped = mapped(&machine(), &scene.program);
    let wrong = |name: &str, kind: KindId, change: &dyn Fn(&mut Event)| {
        scene.rejects(name, &with_events(&mapped.schedule, kind, change), &mapped.labels);
    };
    let kinds = &mapped.chip.kinds;
    wrong("multipliers a cycle early", kinds.multiply, &|event| event.start -= 1);
    wrong("the rotator reads the accumulators too early", kinds.accumulate, &|event| {
        for write in &mut event.writes {
            (write.first, write.last) = (write.first + 20, write.last + 20);
        }
    });
    let keys = mapped.tasks.layout.keys;
    wrong("both keys use one buffer", kinds.key, &|event| {
        event.writes.iter_mut().for_each(|write| write.place.offset %= keys.entry_bytes);
    });
    let first = Cell::new(true);
    wrong("a key switch omits a tile", kinds.key_switch, &|event| {
        if first.replace(false) {
            event.writes.clear();
        }
    });
}
