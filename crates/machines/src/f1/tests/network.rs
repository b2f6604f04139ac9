//! Does a machine with other figures, or another network, have the right area?

use super::paper;
use crate::contract::Machine;
use crate::f1::machine::F1;
use crate::f1::network::{Network, with_network};
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
fn other_networks_have_their_switches_and_stages() {
    // With 16 ports: four switches of 4 x 4 in each of three stages; seven stages of eight switches of 2 x 2.
    for (network, crosspoints, stages) in
        [(Network::Crossbar, 256, 1), (Network::Clos, 192, 3), (Network::Benes, 224, 7)]
    {
        assert_eq!((network.crosspoints(16, 16), network.stages(16, 16)), (crosspoints, stages), "{network}");
        assert_eq!(Network::named(&network.to_string()), Some(network));
        let base = description("f1").expect("the machine file");
        let other = with_network(&base, network).expect("it holds");
        let machine = F1::new(&other).expect("a machine");
        assert_eq!(machine.multicast, network == Network::Crossbar);
        assert_eq!(machine.depth.network, paper().depth.network + stages - 1);
        let saved = 10.02 * (1.0 - crosspoints as f64 / 256.0);
        assert!((area(&base) - area(&other) - saved).abs() < 1e-9, "{network}: {} mm²", area(&other));
    }
    // With more ports, networks of several stages save more; the larger side determines the number of stages.
    assert!(Network::Clos.crosspoints(32, 32) < Network::Crossbar.crosspoints(32, 32) * 9 / 16);
    assert_eq!(Network::Benes.stages(8, 32), 9);
    assert_eq!(Network::named("torus"), None);
}

#[test]
fn impossible_machines_are_rejected() {
    let refused = changed(&[("units.cluster.count", 33.0)]).expect_err("33 clusters");
    assert!(refused.contains("`units.cluster.count` = 33") && refused.contains("lies between 1 and 32"), "{refused}");
    let other = changed(&[("memories.register_file.accesses", 4.0)]).expect("it can be timed");
    assert_eq!((other.area_mm2(), other.power_w()), (None, None), "the area is unknown");
    let cause = other.area_cause().expect("a cause");
    assert!(cause.contains("`memories.register_file.accesses` = \"2 units\", not of 4 units"), "{cause}");
    for (machine, value, expected) in
        [("morphling", "clos", "has no option \"network\""), ("f1", "torus", "crossbar or clos or benes")]
    {
        let refused = description(machine).expect("the file").exchanged("network", value).expect_err("none such");
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}
