//! Do random machines get legal schedules that compute their programs bit for bit, and are impossible machines
//! rejected?

use super::machine::{Pipeline, Stage, Stages};
use super::software::SoftwareError;
use super::streams::StepsError;
use super::test_support::{lowering, machine};
use super::{Mapped, map};
use crate::audit::audit;
use crate::registry::parse;
use crate::tfhe::test_support::{Scene, is_legal, lookups, network, parameters, shape};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_sim::checker::check;
use polyfabric_sim::totals::Totals;

/// A complete example machine, not from a paper.
const OWN: &str = include_str!("../../../../examples/own-tfhe-machine.toml");

/// A pseudo-random choice.
struct Draw(u64);

impl Draw {
    fn of(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.of(of.len() as u64) as usize]
    }

    fn stage(&mut self, lanes: &[u64]) -> Stage {
        let lanes = self.one(&[true, false]).then(|| self.one(lanes));
        Stage { lanes, latency: self.one(&[None, None, None, Some(1), Some(7), Some(200)]) }
    }

    fn machine(&mut self) -> Pipeline {
        let accumulates = self.one(&[true, false]);
        let columns = self.one(&[2, 3, 4]);
        let (any, powers) = (&[1, 3, 8, 24, 64, 512][..], &[2, 4, 16, 128][..]);
        let stages = Stages {
            rotator: self.stage(any),
            decomposer: self.stage(any),
            forward: self.stage(powers),
            multiply: self.stage(any),
            inverse: self.stage(powers),
            accumulator: self.stage(any),
        };
        Pipeline {
            cores: self.one(&[1, 2, 5]),
            lanes: self.one(&[2, 4, 8, 64]),
            rows: self.one(&[1, 2, 3, 5]),
            columns,
            folding: self.one(&[true, false]),
            stages,
            accumulates,
            inverses: accumulates.then(|| 1 + self.of(columns)),
            local: self.one(&[24 << 10, 40 << 10, 640 << 10]),
            // As many as the units need.
            banks: None,
            key_buffers: self.one(&[1, 2]),
            multicast: self.one(&[true, false]),
            key_bus: self.one(&[128, 1024, 4096]),
            switch_bus: self.one(&[8, 64]),
            link: self.one(&[3, 16, 256]),
            batch: self.one(&[1, 2, 3, 64]),
            switch_lanes: self.one(&[1, 8, 13]),
            switch_columns: self.one(&[1, 8, 32]),
            key_channels: self.one(&[1, 3, 8]),
            channel_bytes: self.one(&[0.7, 15.6, 400.0]),
            memory_latency: self.one(&[0, 1, 120]),
            ..machine()
        }
    }
}

fn judged(machine: &Pipeline, program: &KernelProgram, mapped: &Mapped) {
    let name = format!("{machine:?}, {}", program.parameters.name());
    is_legal(&mapped.schedule, &name);
    audit(program, &mapped.schedule, &mapped.labels).unwrap_or_else(|error| panic!("{error}: {name}"));
}

#[test]
fn random_machines_are_legal_or_rejected() {
    let mut draw = Draw(1);
    let (mut legal, mut refused) = (0, 0);
    for _ in 0..80 {
        let machine = draw.machine();
        let (k, l) = draw.one(&[(1, 1), (1, 2), (1, 3), (2, 2)]);
        let parameters = shape(draw.one(&[3, 6, 7]), k, draw.one(&[256, 512]), l);
        let choice = lowering(&machine, &parameters);
        let program = match draw.of(3) {
            0 => network(&parameters, &choice, 9, 4),
            1 => lookups(&parameters, &choice, draw.one(&[3, 17, 40]), 1, false),
            _ => lookups(&parameters, &choice, draw.one(&[3, 17, 40]), 2, true),
        };
        match map(&machine, &program) {
            Ok(mapped) => {
                judged(&machine, &program, &mapped);
                legal += 1;
            }
            // Too little memory, too few columns, or stages with too little latency.
            Err(SoftwareError::Layout(_) | SoftwareError::Plan(_) | SoftwareError::Steps(StepsError::Short { .. })) => {
                refused += 1
            }
            Err(error) => panic!("{error}: {machine:?}"),
        }
    }
    assert!(legal >= 20 && refused >= 1, "{legal} legal, {refused} refused");
}

#[test]
fn replay_matches_the_interpreter_for_all_ways_to_sum() {
    let set = parameters("toy-256");
    let wide = parameters("toy-512-k2");
    let own = Pipeline::new(&parse("own.toml", OWN).expect("the example is right")).expect("its figures fit");
    let three = Pipeline { columns: 3, rows: 3, ..own.clone() };
    let machines = [
        (own.clone(), &set),
        (Pipeline { rows: 1, multicast: false, key_buffers: 1, ..own.clone() }, &set),
        (Pipeline { rows: 3, inverses: None, ..own }, &set),
        (Pipeline { inverses: Some(2), ..three.clone() }, &wide),
        (Pipeline { accumulates: false, inverses: None, ..three }, &wide),
    ];
    for (number, (machine, set)) in machines.into_iter().enumerate() {
        let choice = lowering(&machine, set);
        let scene = Scene::new(set, 7, |set, choice| lookups(set, choice, 7, 1, true), &choice);
        let mapped = map(&machine, &scene.program).expect("the program fits");
        judged(&machine, &scene.program, &mapped);
        scene.accepts(&format!("machine {number}"), &mapped.schedule, &mapped.labels);
    }
}

#[test]
fn one_inverse_transform_suffices_if_multipliers_accumulate() {
    // N = 1024, l = 2: two steps of 64 cycles, then two columns of 64 cycles through one inverse transform.
    let own = Pipeline::new(&parse("own.toml", OWN).expect("the example is right")).expect("its figures fit");
    let cycles = |machine: &Pipeline, n: usize| {
        let parameters = shape(n, 1, 1024, 2);
        let program = lookups(&parameters, &lowering(machine, &parameters), 64, 1, false);
        check(&map(machine, &program).expect("it fits").schedule, &[]).expect("it is legal").cycles as f64
    };
    let an_iteration = |machine: &Pipeline| (cycles(machine, 60) - cycles(machine, 40)) / 20.0 / 16.0;
    let (one, two) = (an_iteration(&own), an_iteration(&Pipeline { inverses: Some(2), ..own.clone() }));
    assert!((128.0..129.0).contains(&one) && (128.0..129.0).contains(&two), "{one} and {two} cycles a ciphertext");
    // Without accumulation, each step's sums are transformed separately: as fast, with two inverse transforms.
    let split = an_iteration(&Pipeline { accumulates: false, inverses: None, ..own.clone() });
    assert!((128.0..129.0).contains(&split), "{split}");
    let narrow = Stages { inverse: Stage { lanes: Some(4), latency: None }, ..own.stages };
    let narrow = an_iteration(&Pipeline { stages: narrow, ..own });
    assert!((256.0..257.0).contains(&narrow), "half the points, twice the cycles: {narrow}");
}

#[test]
fn busy_key_switch_cluster_has_full_utilization() {
    // The result's elements are a multiple of the cluster's columns in some cases only.
    let parameters = shape(31, 1, 256, 1);
    for (switch_lanes, switch_columns) in [(1, 1), (1, 3), (8, 1), (2, 8), (4, 32)] {
        let machine = Pipeline { switch_lanes, switch_columns, cores: 2, ..machine() };
        let program = lookups(&parameters, &lowering(&machine, &parameters), 128, 1, true);
        let mapped = map(&machine, &program).expect("it fits");
        judged(&machine, &program, &mapped);
        let totals = Totals::of(&mapped.schedule);
        let cluster = mapped.chip.cores[0].switch.0 as usize;
        assert_eq!(totals.needed[cluster], totals.occupied[cluster], "{switch_lanes} x {switch_columns}");
    }
}

#[test]
fn key_switch_latency_is_the_parts_and_the_last_columns_words() {
    let switch = |machine: &Pipeline| machine.steps(&shape(3, 1, 256, 1)).switch;
    // A bank, the decomposer's two adders, a multiplier, a tree of eight lanes, an accumulator; the eighth column's
    // words arrive seven cycles after the first's.
    let strix = machine();
    assert_eq!(switch(&strix), 1 + 2 + 3 + 3 + 3 + 7);
    // A bus that carries all words at once leaves only the parts; a bus of half the width adds eight cycles.
    assert_eq!(switch(&Pipeline { switch_bus: 256, ..strix.clone() }), 12);
    assert_eq!(switch(&Pipeline { switch_bus: 16, ..strix }), 27);
}

#[test]
fn unused_columns_cost_no_cycles() {
    let parameters = shape(20, 1, 1024, 1);
    let cycles = |machine: &Pipeline| {
        let program = lookups(&parameters, &lowering(machine, &parameters), 64, 1, false);
        check(&map(machine, &program).expect("it fits").schedule, &[]).expect("it is legal").cycles
    };
    for accumulates in [false, true] {
        let two = Pipeline { rows: 2, columns: 2, accumulates, ..machine() };
        assert_eq!(cycles(&Pipeline { columns: 4, ..two.clone() }), cycles(&two));
    }
}

#[test]
fn rates_per_cycle_and_per_second_agree() {
    let a_second = OWN.replace("rate = { value = 512, unit = \"bits/cycle\"", "rate = { value = 76.8, unit = \"GB/s\"");
    assert_ne!(a_second, OWN);
    let of = |text: &str| Pipeline::new(&parse("own.toml", text).expect("it is right")).expect("its figures fit");
    assert_eq!(of(&a_second), of(OWN));
}

#[test]
fn contradicting_figures_are_rejected_with_their_values() {
    let key = "key = { value = 33, unit = \"bits\", source = \"chosen\" }\npoint = { value = 64";
    // Two pointers of two rotators of 16 lanes, the old and the new values of one accumulator, and two polynomials from a link of 32 bytes.
    let banks = "[memories.local]\nbanks = { value = 55, unit = \"banks\", source = \"chosen\" }";
    let rate = "rate = { value = 256, unit = \"bits/cycle\"";
    for (from, to, values) in [
        ("accumulates = { value = true", "accumulates = { value = false", &["`units.inverse.count` is 1"][..]),
        (
            "[units.inverse]\ncount = { value = 1",
            "[units.inverse]\ncount = { value = 3",
            &["`units.inverse.count` is 3", "`units.core.columns` is 2"],
        ),
        ("lanes = { value = 8", "lanes = { value = 12", &["`units.core.lanes` is 12"]),
        (
            "point = { value = 64",
            "point = { value = 62",
            &["`machine.arithmetic.point` is 62", "`machine.arithmetic.transform` is 32"],
        ),
        ("point = { value = 64", key, &["`machine.arithmetic.point` is 64", "`machine.arithmetic.key` is 33"]),
        ("[memories.local]", banks, &["`memories.local.banks` is 55", "56"]),
        (rate, "rate = { value = 0.001, unit = \"GB/s\"", &["`channels.link.rate` = 0.001", "1.2"]),
        (rate, "rate = { value = 10, unit = \"GB/s\"", &["8.333333333333334"]),
        ("[units.multiply]", "[units.multiplyer]", &["`units.multiplyer.accumulates`", "`units.multiply.accumulates`"]),
    ] {
        assert!(OWN.contains(from), "{from}");
        let refused = parse("own.toml", &OWN.replacen(from, to, 1)).expect_err("it is refused").to_string();
        assert!(values.iter().all(|value| refused.contains(value)), "{refused}");
    }
}

#[test]
fn too_short_a_path_is_rejected() {
    let quick = Stage { lanes: None, latency: Some(1) };
    let stages = Stages { forward: quick, inverse: quick, ..Stages::default() };
    let machine = Pipeline { stages, ..machine() };
    let parameters = shape(5, 1, 1024, 2);
    let program = lookups(&parameters, &lowering(&machine, &parameters), 3, 1, false);
    let error = map(&machine, &program).err().expect("its sums overtake the rotator").to_string();
    assert!(error.starts_with("a polynomial of set `shape-5-1-1024-2` takes 128 cycles"), "{error}");
}
