//! Does a machine in another size have the parts, the bandwidth and the area that belong to it?

use super::paper;
use crate::f1::machine::F1;
use crate::f1::scaling::{Size, scaled};
use crate::machine::description;

fn area(description: &crate::engine::description::Description) -> f64 {
    description.components().iter().filter_map(|part| part.area_mm2).sum()
}

#[test]
fn the_same_size_is_the_same_machine_and_another_one_has_its_parts() {
    let base = description("f1").expect("the machine file");
    let size = Size::of(&paper());
    let same = scaled(&base, size).expect("it holds");
    assert_eq!(F1::new(&same).expect("a machine"), paper());
    assert!((area(&same) - area(&base)).abs() < 1e-9);

    let size = Size { clusters: 8, banks: 32, stacks: 3 };
    let other = scaled(&base, size).expect("it holds");
    let machine = F1::new(&other).expect("a machine");
    assert_eq!(Size::of(&machine), size);
    // A stack keeps its bandwidth.
    assert!((machine.stack_bytes - paper().stack_bytes).abs() < 1e-9);
    // Table 2: half of the compute, twice the scratchpad, 3/2 of the interface, and 576 of 768 crosspoints.
    let compute = 16.0 * (2.27 + 0.58 + 2.0 * 0.25 + 2.0 * 0.03 + 0.56);
    let expected = compute / 2.0 + 2.0 * 48.09 + 1.5 * 29.8 + 10.02 * 576.0 / 768.0;
    assert!((area(&other) - expected).abs() < 1e-9, "{} mm²", area(&other));
}

#[test]
fn a_size_that_cannot_be_is_refused() {
    let base = description("f1").expect("the machine file");
    let refused = scaled(&base, Size { clusters: 33, banks: 16, stacks: 2 }).expect_err("33 clusters").to_string();
    assert!(refused.contains("`units.cluster.count` = 33") && refused.contains("lies between 1 and 32"), "{refused}");
    scaled(&description("morphling").expect("the file"), Size::of(&paper())).expect_err("another mapper's");
}
