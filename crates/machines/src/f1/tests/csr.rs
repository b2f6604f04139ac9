//! Does the CSR scheduler give legal, correct schedules, and does it let live values pile up?

use super::orders::listing_2;
use super::{geometry, paper};
use crate::f1::compile::{CompileError, Scheduler, compile, compile_with};
use crate::f1::csr::{Intractable, order};
use crate::f1::graph::{Function, GraphBuilder, LeafClass, Vector};
use crate::f1::machine::F1;
use crate::f1::translate::translate;
use std::time::Duration;

const CSR: Scheduler = Scheduler::Csr { limit: None };

#[test]
fn listing_2_moves_more_than_under_the_papers_scheduler() {
    // A scratchpad of two hints.
    let machine = F1 { bank_bytes: 96 << 10, ..paper() };
    let priority = compile(&machine, &listing_2(4)).expect("it compiles");
    let csr = compile_with(&machine, &listing_2(4), CSR).expect("the checker accepts it");
    assert_eq!(csr.translation.graph.counts(), priority.translation.graph.counts());
    assert!(csr.movement.peak <= geometry(&machine, 1024).frames * machine.banks);
    let [priority, csr] = [&priority, &csr].map(|compiled| compiled.traffic(&machine));
    assert_eq!((csr.hints, csr.inputs_outputs), (priority.hints, priority.inputs_outputs));
    assert!(csr.total() > priority.total(), "{csr:?} against {priority:?}");
}

#[test]
fn every_value_has_one_position_after_its_operands() {
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let graph = translate(&listing_2(2), geometry.subpolynomials()).expect("a graph").graph;
    for machine in [F1 { bank_bytes: 16 << 10, ..machine.clone() }, machine] {
        let geometry = machine.geometry(geometry.degree).expect("it fits");
        let sequence = order(&graph, &machine, &geometry, None).expect("without limit");
        let mut place = vec![None; graph.values()];
        for (position, &value) in sequence.values.iter().enumerate() {
            assert_eq!(place[value as usize].replace(position), None, "value {value} twice");
        }
        assert!(place.iter().all(Option::is_some));
        for index in 0..graph.len() {
            for &operand in graph.operands(index) {
                assert!(place[graph.number(operand)] < place[index]);
            }
        }
    }
}

#[test]
fn with_few_frames_a_sum_is_formed_before_further_operands_are_loaded() {
    // 64 pairs to add, on a machine whose threshold is never exceeded, so CSR decides alone.
    let mut builder = GraphBuilder::default();
    for _ in 0..64 {
        let pair: [Vector; 2] = [0, 1].map(|_| builder.leaf(LeafClass::Input));
        let sum = builder.push(Function::Add { limb: 0 }, &pair);
        builder.output(sum);
    }
    let graph = builder.finish();
    let machine = F1 { banks: 4, bank_bytes: 16 << 10, ..paper() };
    let geometry = geometry(&machine, 1024);
    assert_eq!(geometry.frames * machine.banks, 16);
    let sequence = order(&graph, &machine, &geometry, None).expect("without limit");
    assert!(sequence.alive <= 16, "{} alive", sequence.alive);
}

#[test]
fn exceeded_time_limits_are_reported_with_the_time_spent() {
    let limit = Some(Duration::ZERO);
    let refused = compile_with(&paper(), &listing_2(4), Scheduler::Csr { limit }).expect_err("no time at all");
    let CompileError::Intractable(Intractable { spent, placed, of }) = refused else { panic!("{refused}") };
    assert!(spent > Duration::ZERO && 0 < placed && placed < of);
    assert!(refused.to_string().contains("intractable"), "{refused}");
}
