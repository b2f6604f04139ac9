//! Does the machine file give the paper's machine, and is a wrong file rejected with the place and the fix?

use super::{geometry, paper};
use crate::contract::{Family, MachineError};
use crate::f1::graph::UnitKind;
use crate::f1::machine::{F1, GeometryError, LowThroughput};
use crate::registry::{description, parse};
use polyfabric_kernels::RingDegree;

#[test]
fn the_file_is_the_papers_machine() {
    let description = description("f1").expect("the machine file");
    assert_eq!(F1::new(&description).expect("its figures"), paper());
    let sum = |of: fn(&polyfabric_sim::description::Component) -> Option<f64>| -> f64 {
        description.components().iter().filter_map(of).sum()
    };
    // Table 2: 151.4 mm² and 180.4 W, from parts with two decimals.
    assert!((sum(|part| part.area_mm2) - 151.4).abs() < 0.1);
    assert!((sum(|part| part.power_w) - 180.4).abs() < 0.3);
    assert_eq!(description.family(), Family::Rns);
}

#[test]
fn contradicting_figures_are_rejected() {
    let text = include_str!("../../../../../machines/f1.toml");
    let refused = |from: &str, to: &str| -> String {
        assert!(text.contains(from), "{from}");
        let error: MachineError = match parse("mine.toml", &text.replace(from, to)) {
            Err(error) => error,
            Ok(description) => F1::new(&description).expect_err("a machine that cannot be").into(),
        };
        error.to_string()
    };
    let lanes = refused("lanes = { value = 128", "lanes = { value = 100");
    assert!(lanes.contains("`units.cluster.lanes` is 100") && lanes.contains("power of two"), "{lanes}");
    let clusters = refused(
        "count = { value = 16, unit = \"units\", source = \"section 3\" }",
        "count = { value = 0, unit = \"units\", source = \"section 3\" }",
    );
    assert!(clusters.contains("`units.cluster.count` = 0") && clusters.contains("lies between 1 and 32"), "{clusters}");
    let unit = refused("unit = \"TB/s\"", "unit = \"GHz\"");
    assert!(unit.contains("`channels.hbm.bandwidth`") && unit.contains("Use one of"), "{unit}");
    let accesses = refused("accesses = { value = 2", "accesses = { value = 1");
    assert!(accesses.contains("three accesses per cycle"), "{accesses}");
    let key = refused("[units.ntt]", "[units.nttt]");
    assert!(key.contains("Did you mean `units.ntt.count`?"), "{key}");
}

#[test]
fn memories_with_too_many_vectors_are_rejected() {
    let degree = RingDegree::new(1024).expect("a degree");
    for (machine, memory, most) in [
        (F1 { bank_bytes: 256 << 20, ..paper() }, "a scratchpad bank", 65_535),
        (F1 { register_file: 256 << 20, ..paper() }, "a register file", 65_535),
        (F1 { bank_bytes: 128 << 20, banks: 64, ..paper() }, "the scratchpad", 1 << 20),
    ] {
        let refused = machine.geometry(degree).expect_err("it has more").to_string();
        assert!(refused.contains(memory) && refused.contains(&format!("place {most} at most")), "{refused}");
        assert!(machine.geometry(RingDegree::new(16384).expect("a degree")).is_ok());
    }
}

#[test]
fn low_throughput_units_preserve_the_total_throughput() {
    let full = paper();
    for degree in [4096, 16384].map(|degree| RingDegree::new(degree).expect("a degree")) {
        let there = geometry(&full, degree.get());
        for (variant, slower) in LowThroughput::ALL.into_iter().zip([degree.get().ilog2() as usize, full.lanes]) {
            let kind = variant.kind();
            let machine = full.with_low_throughput(variant, degree).expect("it has so many units");
            let geometry = geometry(&machine, degree.get());
            assert_eq!(geometry.occupancy_of(kind), slower as u64 * there.occupancy_of(kind));
            assert_eq!(machine.unit_count(kind), slower * full.unit_count(kind));
            // All other properties are unchanged.
            assert_eq!(geometry.occupancy, there.occupancy);
            assert_eq!(geometry.occupancy_of(UnitKind::Multiply), there.occupancy);
        }
    }
    let two = F1 { units: [1, 2, 2, 2], ..full };
    let degree = RingDegree::new(4096).expect("a degree");
    let refused = two.with_low_throughput(LowThroughput::Automorphism, degree).expect_err("256 units in a cluster");
    assert_eq!(refused, GeometryError::Units { kind: "automorphism", units: 256 });
}
