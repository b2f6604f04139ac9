//! Do lockstep runs give correct and faster schedules, and are they used only if possible?

use super::programs::ring;
use super::{geometry, paper};
use crate::f1::action::{Action, Timed};
use crate::f1::advance::advance;
use crate::f1::compile::together;
use crate::f1::cycle::{self, Scheduled};
use crate::f1::expand::check;
use crate::f1::fetch;
use crate::f1::graph::UnitKind;
use crate::f1::lockstep::planned;
use crate::f1::machine::{F1, Geometry, PipelineDepth};
use crate::f1::movement::{self, Movement};
use crate::f1::order::{Ordered, order, orders};
use crate::f1::translate::translate;
use crate::rns::test_support::Case;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::{Gadget, GadgetLiteral};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Phases 1 and 2.
fn ordered(program: &KernelProgram, machine: &F1) -> (Ordered, Movement, Geometry) {
    let geometry = geometry(machine, program.degree.get());
    let translation = translate(program, geometry.subpolynomials()).expect("it suits F1");
    moved(order(translation, machine, &geometry), machine, geometry)
}

/// Phase 2 of the widest order.
fn widest(program: &KernelProgram, machine: &F1) -> (Ordered, Movement, Geometry) {
    let geometry = geometry(machine, program.degree.get());
    let translation = translate(program, geometry.subpolynomials()).expect("it suits F1");
    let (first, others) = orders(translation, usize::MAX, machine, &geometry);
    let widest = |ordered: &Ordered| ordered.groups.iter().map(|group| group.operations).max();
    moved(others.into_iter().chain([first]).max_by_key(widest).expect("there is one"), machine, geometry)
}

fn moved(ordered: Ordered, machine: &F1, geometry: Geometry) -> (Ordered, Movement, Geometry) {
    let ordered = advance(ordered, machine, &geometry);
    let movement = movement::schedule(&ordered.translation.graph, machine, &geometry, ordered.pace);
    (ordered, movement, geometry)
}

/// Phase 3 without and, if possible, with lockstep runs.
fn both((ordered, movement, geometry): &(Ordered, Movement, Geometry), machine: &F1) -> (Scheduled, Option<Scheduled>) {
    let apart = cycle::schedule(&ordered.translation.graph, &ordered.home, movement, &[], machine, geometry);
    let together = together(ordered, movement, machine, geometry).expect("registers suffice");
    // After the fetch of their instructions.
    let behind = |scheduled: Scheduled| {
        let first = |actions: &[Timed]| actions.iter().map(|timed| timed.cycle).min().unwrap_or(0);
        let before = first(&scheduled.actions);
        let actions = fetch::behind(scheduled.actions, &ordered.translation.graph, machine, geometry);
        let delay = first(&actions) - before;
        Scheduled { actions, end: scheduled.end + delay }
    };
    (behind(apart.expect("registers suffice")), together.map(behind))
}

/// Whether all clusters start the same units in the same cycles.
fn is_in_step(actions: &[Timed], clusters: usize) -> bool {
    let mut starts: HashMap<(u64, u8), HashSet<u16>> = HashMap::new();
    for timed in actions {
        if let Action::Execute { cluster, unit, .. } = timed.action {
            starts.entry((timed.cycle, unit)).or_default().insert(cluster);
        }
    }
    starts.values().all(|those| those.len() == clusters)
}

/// A program of equal operations on a ring of 1024, with a key switch of one limb a digit.
fn equal_operations(operation: Operation, shape: Shape, seed: u64) -> Case {
    let program = build(operation, shape).expect("a program");
    let ring = ring(1024, shape.limbs + shape.special);
    let gadget = Gadget::new(&ring, GadgetLiteral::hybrid(shape.limbs, 1, shape.special)).expect("a gadget");
    Case::new(program, &ring, &Arc::new(gadget), seed)
}

/// Cycles one by one and together. The latter are the fewer by a tenth, and give the interpreter's words.
fn assert_sooner(case: &Case, phases: &(Ordered, Movement, Geometry), machine: &F1) -> Scheduled {
    let (ordered, _, geometry) = phases;
    let (apart, together) = both(phases, machine);
    let together = together.expect("they go together");
    let graph = &ordered.translation.graph;
    let cycles = |scheduled: &Scheduled| check(graph, &scheduled.actions, machine, geometry).expect("it holds").cycles;
    let [apart, ended] = [cycles(&apart), cycles(&together)];
    assert!(10 * ended < 9 * apart, "{ended} cycles together, {apart} one by one");
    case.check(&ordered.translation, &together.actions, machine, geometry);
    together
}

#[test]
fn rows_of_equal_operations_are_replayed_word_for_word() {
    // A vector of 1024 words takes 32 cycles and there are 16 registers, between the paper's 2^12 and 2^13.
    let machine = F1 { lanes: 32, clusters: 3, register_file: 64 << 10, ..paper() };
    for (operation, special, rounds) in
        [(Operation::Permute, 1, 2), (Operation::Permute, 0, 3), (Operation::Multiply, 1, 2)]
    {
        let shape = Shape { log2_degree: 10, limbs: 3, special, ciphertexts: 6, rounds };
        let case = equal_operations(operation, shape, rounds as u64);
        let phases = ordered(&case.program, &machine);
        let (ordered, _, geometry) = &phases;
        assert_eq!(ordered.runs.iter().map(|run| run.rows.len()).sum::<usize>(), 2 * rounds, "{operation:?}");
        let (_, together) = both(&phases, &machine);
        let Scheduled { actions, end } = together.expect("they go together");
        assert!(is_in_step(&actions, machine.clusters));
        let checked = check(&ordered.translation.graph, &actions, &machine, geometry).expect("it holds");
        assert!(checked.cycles <= end, "{operation:?} ends in cycle {}, not by {end}", checked.cycles);
        case.check(&ordered.translation, &actions, &machine, geometry);
    }
}

#[test]
fn rows_of_permutations_take_as_long_as_their_transforms() {
    let machine = paper();
    // Enough rounds that memory, which loads every ciphertext once, is not the bottleneck.
    for (log2_degree, limbs, rounds) in [(12, 3, 32), (13, 6, 3)] {
        let shape = Shape { log2_degree, limbs, special: 1, ciphertexts: 32, rounds };
        let phases = ordered(&build(Operation::Permute, shape).expect("a program"), &machine);
        let (ordered, _, geometry) = &phases;
        let graph = &ordered.translation.graph;
        let (apart, together) = both(&phases, &machine);
        let together = together.expect("they go together");
        let [apart, together] = [apart, together]
            .map(|scheduled| check(graph, &scheduled.actions, &machine, geometry).expect("it holds").cycles);
        assert!(together < apart, "{together} cycles together, {apart} one by one");
        // The cycles per row; the whole schedule also has loads and stores.
        assert_eq!(ordered.runs.len(), 1);
        let reached = planned(&ordered.runs, &machine, geometry)[0][0].plan.placed.reached.clone();
        // Without the first row, and the last one, which prepares no other.
        let [first, last] = [1, reached.len() - 2];
        let row = (reached[last] - reached[first]) as f64 / (last - first) as f64;
        // L² + L transforms, including the special prime.
        let transforms = ((limbs + 1) * (limbs + 2)) as u64;
        assert_eq!(graph.counts()[UnitKind::Ntt as usize], transforms * (shape.ciphertexts * shape.rounds) as u64);
        let bound = (transforms * geometry.occupancy) as f64;
        assert!(row >= bound && row <= 1.05 * bound, "{row} cycles, transforms alone {bound}");
    }
}

#[test]
fn results_in_their_operands_bank_are_scheduled_both_ways() {
    // A product of two registers starts in their bank while they are read, and a bank has two accesses per
    // cycle.
    for (multiplier, register_banks) in [(8, 8), (4, 4)] {
        let depth = PipelineDepth { multiplier, ..paper().depth };
        let machine = F1 { depth, register_banks, lanes: 32, clusters: 3, register_file: 64 << 10, ..paper() };
        let shape = Shape { log2_degree: 10, limbs: 3, special: 1, ciphertexts: 6, rounds: 2 };
        let phases = ordered(&build(Operation::Permute, shape).expect("a program"), &machine);
        let (apart, together) = both(&phases, &machine);
        for scheduled in std::iter::once(apart).chain(together) {
            check(&phases.0.translation.graph, &scheduled.actions, &machine, &phases.2).expect("it holds");
        }
    }
}

#[test]
fn clusters_that_share_operations_are_replayed_word_for_word_and_sooner() {
    // As at the paper's 2^14, a register file has 8 vectors, fewer than a polynomial has digits. The scratchpad
    // fits half as many operations as there are clusters, so two clusters share an operation.
    let machine = F1 { lanes: 32, clusters: 8, banks: 8, register_file: 32 << 10, bank_bytes: 55 << 12, ..paper() };
    let shape = Shape { log2_degree: 10, limbs: 9, special: 1, ciphertexts: 8, rounds: 4 };
    let case = equal_operations(Operation::Permute, shape, 7);
    let phases = ordered(&case.program, &machine);
    let (ordered, _, geometry) = &phases;
    assert_eq!(geometry.registers, 8);
    let columns: Vec<usize> = ordered.runs.iter().map(|run| run.columns.count()).collect();
    assert_eq!(columns, [2]);
    assert_sooner(&case, &phases, &machine);
}

#[test]
fn operations_two_by_two_with_a_cluster_for_each_limb_are_replayed_word_for_word_and_sooner() {
    // As at the paper's 2^14: eight registers, fewer than a polynomial has digits, and more clusters than
    // limbs.
    let machine = F1 { lanes: 32, register_file: 32 << 10, bank_bytes: 64 << 12, ..paper() };
    for operation in [Operation::Permute, Operation::Multiply] {
        let shape = Shape { log2_degree: 10, limbs: 12, special: 1, ciphertexts: 8, rounds: 3 };
        let case = equal_operations(operation, shape, 3);
        let phases = ordered(&case.program, &machine);
        let (ordered, _, geometry) = &phases;
        let planned = planned(&ordered.runs, &machine, geometry);
        let columns: Vec<(usize, usize)> =
            planned[0].iter().map(|planned| (planned.run.columns.count(), planned.run.columns.spare())).collect();
        assert_eq!(columns, [(16, 3)], "{operation:?}");
        assert_sooner(&case, &phases, &machine);
    }
}

#[test]
fn hint_vectors_are_evicted_for_a_wide_run_and_reloaded() {
    // Eight lockstep permutations and the 180 hint vectors need more than the 352 frames.
    let machine = F1 { lanes: 32, clusters: 8, banks: 8, register_file: 32 << 10, bank_bytes: 44 << 12, ..paper() };
    let shape = Shape { log2_degree: 10, limbs: 9, special: 1, ciphertexts: 8, rounds: 4 };
    let case = equal_operations(Operation::Permute, shape, 11);
    let phases = widest(&case.program, &machine);
    let (ordered, ..) = &phases;
    let rows: Vec<(usize, usize)> = ordered.runs.iter().map(|run| (run.rows.len(), run.columns.count())).collect();
    assert_eq!(rows, [(shape.rounds, 1)]);
    let together = assert_sooner(&case, &phases, &machine);
    assert!(is_in_step(&together.actions, machine.clusters));
    let mut loads: HashMap<u32, usize> = HashMap::new();
    for timed in &together.actions {
        if let Action::Load { value, .. } = timed.action {
            *loads.entry(value).or_default() += 1;
        }
    }
    let hint: HashSet<u32> = ordered.runs[0].hint.iter().copied().collect();
    assert!(loads.iter().all(|(value, &count)| count == 1 || hint.contains(value)));
    let again = loads.values().filter(|&&count| count > 1).count();
    // Some of the hint stays, and no vector is loaded more often than it is read.
    assert!(
        again > 0 && again < hint.len() && loads.values().all(|&count| count <= shape.rounds),
        "{again} are reloaded"
    );
}

#[test]
fn a_run_that_the_scratchpad_cannot_serve_is_undone() {
    // Two of five clusters share a bank, which sends one vector at a time; or values are evicted meanwhile.
    let small = F1 { lanes: 32, register_file: 64 << 10, ..paper() };
    let machines = [F1 { clusters: 5, banks: 4, ..small.clone() }, F1 { clusters: 8, bank_bytes: 80 << 10, ..small }];
    for machine in machines {
        let shape = Shape { log2_degree: 10, limbs: 3, special: 1, ciphertexts: 10 * machine.clusters, rounds: 2 };
        let case = equal_operations(Operation::Permute, shape, 5);
        let phases = ordered(&case.program, &machine);
        let (ordered, _, geometry) = &phases;
        let (_, together) = both(&phases, &machine);
        let together = together
            .unwrap_or_else(|| panic!("{} runs, {} clusters, none with a plan", ordered.runs.len(), machine.clusters));
        assert!(!is_in_step(&together.actions, machine.clusters));
        check(&ordered.translation.graph, &together.actions, &machine, geometry).expect("it holds");
        case.check(&ordered.translation, &together.actions, &machine, geometry);
    }
}

#[test]
fn operations_go_one_by_one_where_they_cannot_go_together() {
    let shape = Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 32, rounds: 2 };
    let program = build(Operation::Permute, shape).expect("a program");
    // No multicast; one multiplier per cluster; few registers.
    let short = F1 { units: [1, 1, 1, 2], ..paper() };
    let tiny = F1 { register_file: 64 << 10, ..paper() };
    for machine in [F1 { multicast: false, ..paper() }, short, tiny] {
        let phases = ordered(&program, &machine);
        assert!(!phases.0.runs.is_empty());
        let (apart, together) = both(&phases, &machine);
        assert!(together.is_none());
        check(&phases.0.translation.graph, &apart.actions, &machine, &phases.2).expect("it holds");
    }
    // One operation more than fills the rows, so its group differs from the others.
    let uneven = build(Operation::Permute, Shape { ciphertexts: 17, ..shape }).expect("a program");
    assert!(ordered(&uneven, &paper()).0.runs.is_empty());
}
