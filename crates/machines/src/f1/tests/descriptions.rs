//! Does the machine file give the paper's machine, and is a wrong one refused with the place and the remedy?

use super::paper;
use crate::f1::machine::F1;
use crate::machine::{FILES, Family, MachineError, description, parse};

#[test]
fn the_file_is_the_papers_machine() {
    let description = description("f1").expect("the machine file");
    assert_eq!(F1::new(&description).expect("its figures"), paper());
    let sum = |of: fn(&crate::engine::description::Component) -> Option<f64>| -> f64 {
        description.components().iter().filter_map(of).sum()
    };
    // Table 2: 151.4 mm² and 180.4 W, from parts that are printed with two decimals.
    assert!((sum(|part| part.area_mm2) - 151.4).abs() < 0.1);
    assert!((sum(|part| part.power_w) - 180.4).abs() < 0.3);
    assert_eq!(Family::of(&description), Family::Residue);
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    let text = FILES.iter().find(|(name, _)| *name == "f1").expect("the file").1;
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
    assert!(accesses.contains("three accesses a cycle"), "{accesses}");
    let key = refused("[units.ntt]", "[units.nttt]");
    assert!(key.contains("Did you mean `units.ntt.count`?"), "{key}");
}
