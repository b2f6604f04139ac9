//! Does a machine with other figures have the right area?

use super::paper;
use crate::contract::Machine;
use crate::f1::machine::F1;
use crate::registry::description;
use polyfabric_sim::description::Description;

fn area(description: &Description) -> f64 {
    description.components().iter().filter_map(|part| part.area_mm2).sum()
}

fn changed(changes: &[(&str, f64)]) -> Result<Machine, String> {
    let changes: Vec<(String, f64)> = changes.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
    description("f1").expect("the machine file").changed(&changes).map_err(|error| error.to_string())
}

#[test]
fn the_same_figures_are_the_same_machine_and_others_have_their_parts() {
    let base = description("f1").expect("the machine file");
    let same = changed(&[("units.cluster.count", 16.0)]).expect("it holds");
    assert_eq!(F1::new(&same).expect("a machine"), paper());
    assert!((area(&same) - area(&base)).abs() < 1e-9);

    let sizes = [
        ("units.cluster.count", 8.0),
        ("memories.scratchpad.banks", 32.0),
        ("channels.hbm.count", 3.0),
        ("channels.hbm.bandwidth", 1.536),
    ];
    let other = changed(&sizes).expect("it holds");
    let machine = F1::new(&other).expect("a machine");
    assert_eq!((machine.clusters, machine.banks, machine.stacks), (8, 32, 3));
    // The bandwidth per stack is unchanged.
    assert!((machine.stack_bytes - paper().stack_bytes).abs() < 1e-9);
    // Table 2: half of the compute, twice the scratchpad, 3/2 of the interface, and 576 of 768 crosspoints.
    let compute = 16.0 * (2.27 + 0.58 + 2.0 * 0.25 + 2.0 * 0.03 + 0.56);
    let expected = compute / 2.0 + 2.0 * 48.09 + 1.5 * 29.8 + 10.02 * 576.0 / 768.0;
    assert!((area(&other) - expected).abs() < 1e-9, "{} mm²", area(&other));
}

#[test]
fn impossible_machines_are_rejected() {
    let refused = changed(&[("units.cluster.count", 33.0)]).expect_err("33 clusters");
    assert!(refused.contains("`units.cluster.count` = 33") && refused.contains("lies between 1 and 32"), "{refused}");
    let other = changed(&[("memories.register_file.accesses", 4.0)]).expect("it can be timed");
    assert_eq!((other.area_mm2(), other.power_w()), (None, None), "the area is unknown");
    let cause = other.area_cause().expect("a cause");
    assert!(cause.contains("`memories.register_file.accesses` = \"2 units\", not of 4 units"), "{cause}");
}
