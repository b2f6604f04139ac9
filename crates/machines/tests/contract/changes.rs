//! Does a machine with a changed figure have the right area and power, or none?

use crate::common::{SHAPE, all_machines};
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::{Target, rns, tfhe};
use polyfabric_machines::{Machine, description, parse};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::sets;
use polyfabric_sim::description::Dimension;

/// The machine with other values of figure `key` around its value, as far as they are accepted.
fn others(machine: &Machine, key: &str, own: f64) -> Vec<Machine> {
    let values = [2.0 * own, own / 2.0, own + 1.0, own - 1.0, 0.75 * own];
    values.into_iter().filter_map(|value| machine.changed(&[(key.to_owned(), value)]).ok()).collect()
}

/// Whether readings set the figure; area and power are then defined for the values of all of them.
fn of_readings(machine: &Machine, key: &str) -> bool {
    let mut options = machine.literal().readings.values().flat_map(|reading| reading.options.values());
    options.any(|option| option.figures.contains_key(key))
}

/// A machine with area and power: if the file gives them only for another option of a reading, with this option
/// as the default.
fn powered(machine: Machine) -> Machine {
    if machine.area_cause().is_none() {
        return machine;
    }
    let own = machine.literal();
    let options =
        own.readings.iter().flat_map(|(fact, reading)| reading.options.keys().map(move |option| (fact, option)));
    let with = |(fact, option): (&String, &String)| {
        let mut literal = own.clone();
        literal.readings.get_mut(fact)?.default = option.clone();
        parse("powered.toml", &toml::to_string(&literal).expect("it is text")).ok()
    };
    let found = options.filter_map(with).find(|machine| machine.area_cause().is_none());
    found.expect("an option that area and power are of")
}

/// Cycles and energy of a small program.
fn taken(machine: &Machine) -> (u64, Option<f64>) {
    let report = match machine.target() {
        Target::Tfhe(_) => {
            let set = sets::parameters("toy-256").expect("a set of the table");
            let choice = tfhe::lowering(machine, &set, KeySwitchOrder::After).expect("a set of 32 bits");
            let program = builtin::build("pbs+ks", &set, 5, &choice, Transform::Exact).expect("a program").kernel;
            tfhe::simulate(machine, &program).expect("it fits")
        }
        Target::Rns(_) => {
            let program = build(Operation::Permute, SHAPE).expect("a program");
            rns::map(machine, &program, "", &Given::new()).expect("it fits").report().clone()
        }
    };
    (report.cycles, report.energy_j)
}

#[test]
fn area_and_power_follow_every_figure_or_are_unknown() {
    let totals = |machine: &Machine| (machine.area_mm2(), machine.power_w());
    // A file without components has no area.
    let known = all_machines().into_iter().filter(|machine| !machine.components().is_empty());
    for machine in known.map(powered) {
        let (name, own) = (machine.name(), totals(&machine));
        assert!(own.1.is_some() && machine.area_cause().is_none(), "{name}: {:?}", machine.area_cause());
        let (mut by_law, mut unknown) = (0, 0);
        for (key, figure) in machine.figures() {
            let (_, scale) = Dimension::of_unit(&figure.written.unit).expect("a unit");
            let Some(value) = figure.value else { continue };
            let others = others(&machine, key, value / scale);
            for other in &others {
                // A file with the value describes the same machine.
                let text = toml::to_string(other.literal()).expect("it is text");
                let written = parse("changed.toml", &text).expect("it was accepted");
                assert_eq!(totals(&written), totals(other), "{name}, {key}");
                assert_eq!(written.area_cause(), other.area_cause(), "{name}, {key}");
            }
            // Area and power may also be defined for the value of another reading.
            let Some(other) = others.iter().find(|other| totals(other) != own).or(others.first()) else { continue };
            if let Some(cause) = other.area_cause() {
                assert!(cause.contains(&format!("`{key}`")), "{name}, {key}: {cause}");
                assert_eq!(totals(other), (None, None), "{name}, {key}");
                unknown += 1;
            } else if totals(other) != own {
                by_law += 1;
            } else if !of_readings(&machine, key) {
                // Figures of off-chip components change time or energy.
                let outside = [".latency", ".energy", ".count"].iter().any(|end| key.ends_with(end));
                assert!(key.starts_with("channels.") && outside, "{name}: {key} changes neither area nor power");
                let own = taken(&machine);
                assert!(others.iter().any(|other| taken(other) != own), "{name}: {key} changes nothing");
            }
        }
        assert!(by_law + unknown > 5, "{name}: {by_law} and {unknown}");
    }
}

#[test]
fn fractional_parts_and_memory_without_energy_are_rejected() {
    let (fraction, energy) = ("is no whole number", "the memory's energy lies between 0.001 and");
    for (name, key, value, cause) in [
        ("morphling", "units.path.points", 8.9, fraction),
        ("morphling", "units.fft.points", 16.9, fraction),
        ("morphling", "channels.network.key", 64.5, fraction),
        ("strix", "channels.link.rate", 129.0, fraction),
        ("fpt", "units.cmux.forward_points", 128.9, fraction),
        ("fpt", "units.cmux.kernel_points", 32.9, fraction),
        ("f1", "channels.hbm.energy", 0.0, energy),
        ("morphling", "channels.hbm.energy", 0.0, energy),
        ("strix", "channels.hbm.energy", 0.0, energy),
    ] {
        let machine = description(name).expect("it comes with the project");
        let refused = machine.changed(&[(key.to_owned(), value)]).expect_err("it cannot be").to_string();
        assert!(refused.contains(key) && refused.contains(cause), "{refused}");
    }
}

#[test]
fn widths_per_cycle_and_per_second_agree() {
    // 64 bytes per cycle at 1.2 GHz.
    let machine = description("morphling").expect("it comes with the project");
    let text = toml::to_string(machine.literal()).expect("it is text");
    let a_cycle = "[channels.network.key]\nvalue = 64\nunit = \"bytes/cycle\"";
    assert!(text.contains(a_cycle), "{text}");
    let a_second = text.replace(a_cycle, "[channels.network.key]\nvalue = 76.8\nunit = \"GB/s\"");
    let a_second = parse("seconds.toml", &a_second).expect("a width");
    assert_eq!((taken(&a_second), a_second.area_mm2()), (taken(&machine), machine.area_mm2()));
    let narrow =
        |machine: &Machine, value| machine.changed(&[("channels.network.key".to_owned(), value)]).expect("a width");
    let (eight, same) = (narrow(&machine, 8.0), narrow(&a_second, 9.6));
    assert_eq!(taken(&same), taken(&eight));
    assert!(taken(&eight).0 > taken(&machine).0, "an eighth of the width");
}

#[test]
fn lanes_alone_make_osiris_wider_or_narrower() {
    let osiris = description("osiris").expect("it comes with the project");
    let at = |lanes| osiris.changed(&[("units.ntt.lanes".to_owned(), lanes)]).expect("what follows of lanes does so");
    // A ring so large that the time is mostly limbs. With more lanes than the paper's, the length of the array
    // dominates, which grows with them.
    let program = build(Operation::Permute, Shape { log2_degree: 15, ..SHAPE }).expect("a program");
    let cycles = |machine: &Machine| rns::map(machine, &program, "", &Given::new()).expect("it fits").report().cycles;
    let of = [128.0, 256.0, 512.0].map(|lanes| cycles(&at(lanes)));
    assert!(of[0] > of[1] && of[1] > of[2], "{of:?}");
    assert_eq!(of[2], cycles(&osiris));
    for lanes in [1024.0, 16384.0] {
        at(lanes);
    }
}

#[test]
fn area_is_unknown_if_a_part_has_no_law() {
    let unknown = |machine: &Machine, key: &str| {
        assert_eq!((machine.area_mm2(), machine.power_w()), (None, None), "{key}");
        let cause = machine.area_cause().expect("it is unknown");
        assert!(cause.contains(&format!("`{key}`")), "{cause}");
    };
    // Published for one reading only.
    for (name, fact, option, key) in [
        ("strix", "folding", "off", "units.core.folding"),
        ("strix", "transform", "part", "machine.arithmetic.point"),
        ("strix", "key_bus", "shared", "channels.key_bus.rate"),
        ("osiris", "bandwidth", "4TB", "channels.hbm.bandwidth"),
        ("osiris", "bandwidth", "2TB", "channels.hbm.bandwidth"),
        ("fpt", "widths", "derived", "machine.arithmetic.first_step"),
    ] {
        let machine = description(name).expect("it comes with the project");
        unknown(&machine.choose(&[(fact, option)]).expect("a reading"), key);
    }
    // FPT's power is that of the formats and the architecture that were built.
    let fpt = description("fpt").expect("it comes with the project");
    let of = |choices: &[(&str, &str)]| fpt.choose(choices).expect("readings");
    assert_eq!(of(&[("widths", "printed"), ("kernels", "one-at-a-time")]).power_w(), Some(99.0));
    unknown(&of(&[("widths", "printed"), ("balance", "dot-product")]), "units.cmux.fft_unrolled");
    // One part follows a law, another part has no known law.
    let own =
        parse("own.toml", include_str!("../../../../examples/own-tfhe-machine.toml")).expect("the example is right");
    let osiris = description("osiris").expect("it comes with the project");
    for (machine, key, value) in [
        (&osiris, "units.ntt.lanes", 1024.0),
        (&osiris, "units.base_conversion.height", 32.0),
        (&osiris, "units.hadamard.count", 1.0),
        (&own, "units.core.largest_ring", 16384.0),
    ] {
        unknown(&machine.changed(&[(key.to_owned(), value)]).expect("a machine"), key);
    }
}
