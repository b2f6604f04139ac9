//! Do all phases work if the scratchpad is completely full, as in the papers' larger networks and lookups?

use super::{compile, geometry, paper, sums};
use crate::f1::action::Timed;
use crate::f1::csr;
use crate::f1::cycle;
use crate::f1::expand::check;
use crate::f1::fetch;
use crate::f1::graph::{Function, Graph, GraphBuilder, LeafClass, Vector};
use crate::f1::machine::{F1, Geometry};

/// A convolution as in LoLa: every map is a sum of all inputs, each times a constant, and is squared. All sums
/// grow in parallel, so that each waits in the scratchpad.
fn convolution(inputs: usize, maps: usize, limbs: u16) -> Graph {
    let mut builder = GraphBuilder::default();
    for limb in 0..limbs {
        let mut sums: Vec<Option<Vector>> = vec![None; maps];
        for place in 0..inputs {
            let input = builder.leaf(LeafClass::Input);
            for (map, sum) in sums.iter_mut().enumerate() {
                let constant = (map * inputs + place + 2) as u32;
                let product = builder.push(Function::MultiplyConstant { limb, constant }, &[input]);
                *sum = Some(sum.map_or(product, |sum| builder.push(Function::Add { limb }, &[sum, product])));
            }
        }
        for sum in sums.into_iter().flatten() {
            let square = builder.push(Function::Multiply { limb }, &[sum, sum]);
            builder.output(square);
        }
    }
    builder.finish()
}

/// Pairs compared by a chain of products; all are live at once, like a lookup's entries.
fn comparisons(entries: usize, depth: usize) -> Graph {
    let mut builder = GraphBuilder::default();
    let name = builder.leaf(LeafClass::Input);
    for entry in 0..entries {
        let limb = (entry % 3) as u16;
        let key = builder.leaf(LeafClass::Input);
        let difference = builder.push(Function::Subtract { limb }, &[name, key]);
        let mut powers = vec![difference];
        for power in 0..depth {
            let square = builder.push(Function::Multiply { limb }, &[powers[power], powers[power / 2]]);
            powers.push(square);
        }
        let mut sum = powers[0];
        for &power in &powers[1..] {
            sum = builder.push(Function::Add { limb }, &[sum, power]);
        }
        builder.output(sum);
    }
    builder.finish()
}

/// Under CSR, whose spills leave no frame free, with every instruction in the cluster of its limb.
fn compile_csr(graph: &Graph, machine: &F1, geometry: &Geometry) -> (Graph, Vec<Timed>) {
    let sequence = csr::order(graph, machine, geometry, None).expect("without limit");
    let (graph, sequence) = renumbered(graph, sequence);
    let movement = csr::allocate(&graph, &sequence, machine, geometry);
    let home: Vec<u16> = (0..graph.len()).map(|index| graph.function(index).limb() % machine.clusters as u16).collect();
    let scheduled = cycle::schedule(&graph, &home, &movement, &[], machine, geometry).expect("it has a schedule");
    let actions = fetch::behind(scheduled.actions, &graph, machine, geometry);
    (graph, actions)
}

/// The graph in the order of `sequence`, as phase 3 expects.
fn renumbered(graph: &Graph, sequence: csr::Sequence) -> (Graph, csr::Sequence) {
    let mut builder = GraphBuilder::default();
    let leaves: Vec<Vector> = graph.leaves().iter().map(|&class| builder.leaf(class)).collect();
    let mut moved: Vec<Option<Vector>> = vec![None; graph.values()];
    leaves.iter().zip(graph.len()..).for_each(|(&leaf, number)| moved[number] = Some(leaf));
    for &value in sequence.values.iter().filter(|&&value| (value as usize) < graph.len()) {
        let operands: Vec<Vector> =
            graph.operands(value as usize).iter().filter_map(|&operand| moved[graph.number(operand)]).collect();
        moved[value as usize] = Some(builder.push(graph.function(value as usize), &operands));
    }
    graph.outputs().iter().filter_map(|&output| moved[graph.number(output)]).for_each(|output| builder.output(output));
    let built = builder.finish();
    let values = sequence.values.iter().filter_map(|&value| moved[value as usize]);
    let values = values.map(|vector| built.number(vector) as u32).collect();
    (built, csr::Sequence { values, ..sequence })
}

#[test]
fn programs_that_fill_the_scratchpad_are_scheduled() {
    let small =
        |frames: u64| F1 { banks: 4, bank_bytes: frames * (4 << 10), register_file: 16 << 10, clusters: 2, ..paper() };
    for (name, graph) in [("convolution", convolution(6, 150, 2)), ("lookup", comparisons(12, 9))] {
        for frames in [1, 3, 9, 20, 36] {
            let machine = small(frames);
            let geometry = geometry(&machine, 1024);
            let actions = compile(&graph, &machine, &geometry);
            let checked = check(&graph, &actions, &machine, &geometry);
            checked.unwrap_or_else(|error| panic!("{name}, {frames} frames: {error}"));
            assert!(sums(&graph, &actions, &machine, &geometry).off_chip[0] >= graph.leaves().len() as u64);
            let (ordered, actions) = compile_csr(&graph, &machine, &geometry);
            let checked = check(&ordered, &actions, &machine, &geometry);
            checked.unwrap_or_else(|error| panic!("{name} under CSR, {frames} frames: {error}"));
        }
    }
}
