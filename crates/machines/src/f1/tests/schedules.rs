//! Does the checker accept the schedules of phases 2 and 3, and reject wrong ones?

use super::{compile, geometry, paper, sums};
use crate::f1::action::{Action, Destination, Frame, Source, Timed};
use crate::f1::cluster::Cluster;
use crate::f1::expand::check;
use crate::f1::graph::{Function, Graph, GraphBuilder, LeafClass, UnitKind, Vector};
use crate::f1::machine::{F1, Geometry, LowThroughput, PipelineDepth};
use crate::f1::translate::translate;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_sim::checker::Hazard;

/// `count` homomorphic permutations that share a hint, by listing 1.
fn permutations(geometry: &Geometry, count: usize, limbs: usize) -> Graph {
    let log2_degree = geometry.degree.log2();
    let shape = Shape { log2_degree, limbs, special: 0, ciphertexts: count, rounds: 1 };
    translate(&build(Operation::Permute, shape).expect("a program"), geometry.subpolynomials()).expect("a graph").graph
}

#[test]
fn permutations_of_the_papers_sizes_are_scheduled_and_no_faster_than_their_units() {
    let machine = paper();
    for (degree, limbs, count) in [(4096, 4, 16), (8192, 7, 8), (16384, 14, 2)] {
        let geometry = geometry(&machine, degree);
        let graph = permutations(&geometry, count, limbs);
        let actions = compile(&graph, &machine, &geometry);
        let checked = check(&graph, &actions, &machine, &geometry).expect("it holds");
        let sums = sums(&graph, &actions, &machine, &geometry);
        for kind in UnitKind::ALL {
            let busy = graph.counts()[kind as usize] * geometry.occupancy;
            assert_eq!(sums.busy[kind as usize], busy);
            assert!(checked.cycles * machine.unit_count(kind) as u64 >= busy);
        }
        // Everything fits: each leaf is loaded once, and each result is stored once.
        assert_eq!(sums.off_chip, [graph.leaves().len() as u64, graph.outputs().len() as u64]);
    }
}

#[test]
fn a_small_scratchpad_spills_and_holds() {
    let machine = F1 { banks: 4, bank_bytes: 512 << 10, clusters: 3, ..paper() };
    let geometry = geometry(&machine, 16384);
    let graph = permutations(&geometry, 3, 5);
    let actions = compile(&graph, &machine, &geometry);
    check(&graph, &actions, &machine, &geometry).expect("it holds");
    assert!(
        sums(&graph, &actions, &machine, &geometry).off_chip[0] > graph.leaves().len() as u64,
        "nothing was loaded twice"
    );
}

#[test]
fn one_read_serves_several_clusters_where_the_crossbars_connect_them() {
    let machine = paper();
    let geometry = geometry(&machine, 8192);
    let mut builder = GraphBuilder::default();
    let hints: Vec<Vector> = (0..8).map(|_| builder.leaf(LeafClass::Hint)).collect();
    for limb in 0..machine.clusters as u16 {
        let input = builder.leaf(LeafClass::Input);
        let products: Vec<Vector> =
            hints.iter().map(|&hint| builder.push(Function::Multiply { limb }, &[input, hint])).collect();
        products.into_iter().for_each(|product| builder.output(product));
    }
    let graph = builder.finish();
    let alone = F1 { multicast: false, ..machine.clone() };
    let schedules = [&machine, &alone].map(|machine| compile(&graph, machine, &geometry));
    let [shared, apart] = [(&machine, &schedules[0]), (&alone, &schedules[1])].map(|(machine, actions)| {
        check(&graph, actions, machine, &geometry).expect("it holds");
        sums(&graph, actions, machine, &geometry).on_chip
    });
    // Every cluster receives every hint vector in both schedules; the memories are read less often.
    assert!(shared < apart, "{shared}, {apart}");
    let refused = check(&graph, &schedules[0], &alone, &geometry).expect_err("reads are shared");
    assert_eq!(refused.hazard, Hazard::Port, "{refused}");
}

#[test]
fn schedules_with_one_error_are_rejected() {
    let machine = F1 { clusters: 4, ..paper() };
    let geometry = geometry(&machine, 4096);
    let graph = permutations(&geometry, 2, 3);
    let good = compile(&graph, &machine, &geometry);
    check(&graph, &good, &machine, &geometry).expect("it holds");
    for index in 0..good.len() {
        // Without the action, a value is missing. The audit checks that results are stored.
        let mut missing = good.clone();
        let removed = missing.remove(index);
        if !matches!(removed.action, Action::Store { .. }) {
            check(&graph, &missing, &machine, &geometry).expect_err("an action less");
        }
        // A duplicate conflicts with the original.
        let mut twice = good.clone();
        twice.push(good[index]);
        check(&graph, &twice, &machine, &geometry).expect_err("an action twice");
        // Only a load can start in cycle 0.
        let mut early = good.clone();
        if !matches!(early[index].action, Action::Load { .. }) {
            early[index].cycle = 0;
            check(&graph, &early, &machine, &geometry).expect_err("an action too early");
        }
    }
}

#[test]
fn a_result_is_tight_against_its_operands() {
    // One addition: load, fetch, add, write back, store, each as early as possible.
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let mut builder = GraphBuilder::default();
    let [a, b] = [0, 1].map(|_| builder.leaf(LeafClass::Input));
    let sum = builder.push(Function::Add { limb: 0 }, &[a, b]);
    builder.output(sum);
    let graph = builder.finish();
    let actions = compile(&graph, &machine, &geometry);
    let checked = check(&graph, &actions, &machine, &geometry).expect("it holds");
    // Both loads start at once, on two stacks. One operand is fetched to a register; the other streams when the
    // cluster's port is free. The sum streams to the scratchpad.
    let depth = machine.depth;
    // Their instructions are fetched before, in one latency and one cycle of both stacks.
    let fetched = machine.memory_latency + 1;
    let added = fetched + machine.memory_latency + 1 + geometry.occupancy + depth.network;
    let stored = added + depth.adder + depth.network + 1;
    assert_eq!(checked.cycles, stored + geometry.occupancy);
    for (position, timed) in actions.iter().enumerate() {
        if timed.cycle > 0 {
            let mut sooner = actions.clone();
            sooner[position].cycle -= 1;
            check(&graph, &sooner, &machine, &geometry).expect_err("a cycle too early");
        }
    }
}

#[test]
fn a_result_that_conflicts_with_its_operands_bank_goes_to_the_scratchpad() {
    // After two operands in registers, a result that starts in their bank would be its third access in every
    // cycle.
    let PipelineDepth { multiplier, network, .. } = paper().depth;
    let depth = |multiplier, adder| F1 { depth: PipelineDepth { multiplier, adder, network }, ..paper() };
    let few = F1 { register_banks: 4, ..paper() };
    for machine in [depth(8, 1), depth(16, 1), depth(multiplier, 8), few] {
        let geometry = geometry(&machine, 4096);
        let graph = permutations(&geometry, 2, 3);
        let actions = compile(&graph, &machine, &geometry);
        check(&graph, &actions, &machine, &geometry).expect("it holds");
    }
}

#[test]
fn a_result_in_its_operands_bank_gets_the_port_that_stays_free() {
    // One of two ports is busy from cycle 8 on and one from 12 on. An operand from 0 to 7 must leave the
    // latter to its result from 4 to 11.
    let machine = F1 { register_banks: 4, ..paper() };
    let mut cluster = Cluster::new(&machine, &geometry(&machine, 1024));
    cluster.take_port(12, 8);
    cluster.take_port(8, 8);
    assert!(cluster.ports_for(0, 1, Some(4), 8));
    cluster.take_ports(0, 1, Some(4), 8);
    assert_eq!(cluster.free_ports(0, 8), 0, "both have theirs");
}

#[test]
fn a_vector_from_slow_memory_is_read_when_its_last_part_has_arrived() {
    // With half the bandwidth, a transfer takes twice as long as a reader.
    let machine = F1 { stack_bytes: 256.0, ..paper() };
    let geometry = geometry(&machine, 4096);
    assert_eq!(geometry.transfer, 2 * geometry.occupancy);
    let graph = permutations(&geometry, 2, 3);
    let actions = compile(&graph, &machine, &geometry);
    check(&graph, &actions, &machine, &geometry).expect("it holds");
    let mut tight = 0;
    for (position, timed) in actions.iter().enumerate() {
        let Action::Load { frame, .. } = timed.action else { continue };
        // Its first chunk arrives after the latency, its last one after the transfer; the reader's last chunk
        // follows.
        let last = timed.cycle + machine.memory_latency + geometry.transfer - 1;
        let leaves = |timed: &Timed| match timed.action {
            Action::Fetch { frame: from, .. } if from == frame => Some(timed.cycle),
            Action::Execute { operands, .. } if operands.contains(&Source::Scratchpad(frame)) => {
                Some(timed.cycle - machine.depth.network)
            }
            _ => None,
        };
        let first = actions.iter().filter_map(leaves).filter(|&cycle| cycle > timed.cycle).min().expect("it is read");
        assert!(first + geometry.occupancy - 1 > last, "{first} is too soon for {timed:?}");
        // As late as its reader allows, and one cycle later.
        let spare = first + geometry.occupancy - 1 - (last + 1);
        let mut late = actions.clone();
        late[position].cycle += spare + 1;
        let refused = check(&graph, &late, &machine, &geometry).expect_err("read too soon");
        if refused.hazard == Hazard::UseBeforeReady {
            late[position].cycle -= 1;
            tight += usize::from(check(&graph, &late, &machine, &geometry).is_ok());
        }
    }
    assert!(tight > 0, "no load could be moved to the last cycle that holds");
}

#[test]
fn a_slow_stores_value_is_loaded_when_complete() {
    let machine = F1 { stack_bytes: 256.0, banks: 4, bank_bytes: 512 << 10, clusters: 3, ..paper() };
    let geometry = geometry(&machine, 16384);
    let graph = permutations(&geometry, 3, 5);
    let actions = compile(&graph, &machine, &geometry);
    check(&graph, &actions, &machine, &geometry).expect("it holds");
    let mut again = 0;
    for (position, timed) in actions.iter().enumerate() {
        let Action::Load { value, .. } = timed.action else { continue };
        let stored = |other: &&Timed| matches!(other.action, Action::Store { value: of, .. } if of == value);
        let Some(store) = actions.iter().find(stored).filter(|_| (value as usize) < graph.len()) else { continue };
        again += 1;
        let whole = store.cycle + geometry.transfer;
        assert!(timed.cycle >= whole);
        let mut sooner = actions.clone();
        sooner[position].cycle = whole - 1;
        check(&graph, &sooner, &machine, &geometry).expect_err("its last part is missing");
    }
    assert!(again > 0, "no intermediate value came back");
}

#[test]
fn a_bank_sends_and_receives_one_vector_at_a_time() {
    let machine = paper();
    let geometry = geometry(&machine, 4096);
    let vector = geometry.occupancy;
    let graph = permutations(&geometry, 8, 3);
    let actions = compile(&graph, &machine, &geometry);
    check(&graph, &actions, &machine, &geometry).expect("it holds");
    let mut given: Vec<(u16, u64, u16)> = Vec::new();
    let mut taken: Vec<(u16, u64)> = Vec::new();
    let network = machine.depth.network;
    for timed in &actions {
        match timed.action {
            Action::Fetch { frame, .. } => given.push((frame.bank, timed.cycle, frame.index)),
            Action::WriteBack { frame, .. } => taken.push((frame.bank, timed.cycle + network)),
            Action::Execute { instruction, operands, result, .. } => {
                for operand in operands {
                    if let Source::Scratchpad(frame) = operand {
                        given.push((frame.bank, timed.cycle - network, frame.index));
                    }
                }
                if let Destination::Scratchpad(frame) = result {
                    let latency = geometry.latency(graph.function(instruction as usize));
                    taken.push((frame.bank, timed.cycle + latency + network));
                }
            }
            _ => {}
        }
    }
    given.sort_unstable();
    given.dedup();
    taken.sort_unstable();
    let apart = |a: (u16, u64), b: (u16, u64)| a.0 != b.0 || b.1 >= a.1 + vector;
    assert!(given.windows(2).all(|pair| apart((pair[0].0, pair[0].1), (pair[1].0, pair[1].1))));
    assert!(taken.windows(2).all(|pair| apart(pair[0], pair[1])));
}

#[test]
fn two_vectors_from_one_bank_at_once_are_rejected() {
    // Two inputs in one bank, each fetched by a cluster; stores of the loaded values, as results.
    let machine = F1 { clusters: 2, banks: 2, ..paper() };
    let geometry = geometry(&machine, 1024);
    let mut builder = GraphBuilder::default();
    let leaves: Vec<Vector> = (0..2).map(|_| builder.leaf(LeafClass::Input)).collect();
    for &leaf in &leaves {
        let doubled = builder.push(Function::Add { limb: 0 }, &[leaf, leaf]);
        builder.output(doubled);
    }
    let graph = builder.finish();
    let start = |apart: u64| -> Vec<Timed> {
        let timed = |cycle, action| Timed { cycle, action };
        let mut actions = Vec::new();
        for number in 0..2_u16 {
            let frame = Frame { bank: 0, index: number };
            let (load, value) = (300 + u64::from(number) * geometry.occupancy, 2 + u32::from(number));
            actions.push(timed(load, Action::Load { stack: number, frame, value }));
            let begin = 600 + u64::from(number) * apart;
            let out = Frame { bank: 1, index: number };
            let operands = [Source::Scratchpad(frame); 2];
            let (instruction, cluster) = (u32::from(number), number);
            let result = Destination::Scratchpad(out);
            actions.push(timed(begin, Action::Execute { instruction, cluster, unit: 0, operands, result }));
            let store = 700 + u64::from(number) * geometry.occupancy;
            actions.push(timed(store, Action::Store { stack: number, frame: out, value: instruction }));
        }
        actions
    };
    check(&graph, &start(geometry.occupancy), &machine, &geometry).expect("one after another");
    let refused = check(&graph, &start(geometry.occupancy - 1), &machine, &geometry).expect_err("both at once");
    assert_eq!(refused.hazard, Hazard::Port);
    assert!(refused.message.contains("the way out of the network's port from bank 0 of scratchpad"), "{refused}");
}

#[test]
fn actions_wait_for_their_instructions() {
    let machine = paper();
    let geometry = geometry(&machine, 4096);
    let graph = permutations(&geometry, 4, 3);
    let actions = compile(&graph, &machine, &geometry);
    check(&graph, &actions, &machine, &geometry).expect("it holds");
    let mut sooner = actions.clone();
    sooner.iter_mut().for_each(|timed| timed.cycle -= 1);
    let refused = check(&graph, &sooner, &machine, &geometry).expect_err("a cycle too early, all of it");
    assert_eq!(refused.hazard, Hazard::NotFetched, "{refused}");
    let mut later = actions.clone();
    later.iter_mut().for_each(|timed| timed.cycle += 1);
    check(&graph, &later, &machine, &geometry).expect("later is legal too");
}

#[test]
fn units_of_low_throughput_are_scheduled_for_their_occupancy() {
    for variant in LowThroughput::ALL {
        let full = paper();
        let machine = full.with_low_throughput(variant, geometry(&full, 4096).degree).expect("so many units");
        let geometry = geometry(&machine, 4096);
        let graph = permutations(&geometry, 4, 3);
        let actions = compile(&graph, &machine, &geometry);
        check(&graph, &actions, &machine, &geometry).expect("it holds");
        let kind = variant.kind();
        assert_eq!(
            sums(&graph, &actions, &machine, &geometry).busy[kind as usize],
            graph.counts()[kind as usize] * geometry.occupancy_of(kind)
        );
        // A second vector after G cycles is too early.
        let of_unit = |index: &usize| match actions[*index].action {
            Action::Execute { instruction, cluster, unit, .. } => {
                (graph.function(instruction as usize).unit() == kind).then_some((cluster, unit))
            }
            _ => None,
        };
        let mut own: Vec<usize> = (0..actions.len()).filter(|index| of_unit(index).is_some()).collect();
        own.sort_by_key(|index| (of_unit(index), actions[*index].cycle));
        for pair in own.windows(2).filter(|pair| of_unit(&pair[0]) == of_unit(&pair[1])) {
            let waits = actions[pair[1]].cycle - actions[pair[0]].cycle;
            assert!(waits >= geometry.occupancy_of(kind));
            let mut sooner = actions.clone();
            sooner[pair[0]].cycle = actions[pair[1]].cycle - geometry.occupancy;
            check(&graph, &sooner, &machine, &geometry).expect_err("two vectors in a unit");
        }
    }
}
