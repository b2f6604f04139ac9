//! Do compiled programs survive serialization, and are files rejected that are for another program, damaged, or
//! forged?

use super::orders::listing_2;
use super::paper;
use crate::f1::action::{Action, Frame};
use crate::f1::compile::{Accepted, Scheduler, compile, compile_with};
use crate::f1::expand::check;
use crate::f1::machine::F1;
use crate::f1::saved::{SavedError, load, save};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};

const SHAPE: Shape = Shape { log2_degree: 10, limbs: 2, special: 1, ciphertexts: 2, rounds: 1 };

fn same(a: &Accepted, b: &Accepted) {
    assert_eq!((&a.actions, &a.groups, &a.checked), (&b.actions, &b.groups, &b.checked));
    assert_eq!((a.movement.peak, a.movement.cycles), (b.movement.peak, b.movement.cycles));
    assert_eq!(a.geometry, b.geometry);
    assert_eq!(a.translation.outputs, b.translation.outputs);
    assert_eq!(a.translation.graph.outputs(), b.translation.graph.outputs());
    for index in 0..a.translation.graph.len() {
        assert_eq!(a.translation.graph.function(index), b.translation.graph.function(index));
        assert_eq!(a.translation.graph.operands(index), b.translation.graph.operands(index));
    }
}

#[test]
fn saved_programs_load_unchanged() {
    let machine = F1 { bank_bytes: 96 << 10, ..paper() };
    for scheduler in [Scheduler::Priority, Scheduler::Csr { limit: None }] {
        let program = listing_2(2);
        let compiled = compile_with(&machine, &program, scheduler).expect("it compiles");
        let bytes = save(&compiled);
        let loaded = load(&bytes, &machine, &program).expect("it is what was saved");
        same(&compiled, &loaded);
        assert_eq!(save(&loaded), bytes);
    }
}

#[test]
fn another_program_machine_or_format_is_rejected() {
    let machine = paper();
    let program = build(Operation::Permute, SHAPE).expect("a program");
    let bytes = save(&compile(&machine, &program).expect("it compiles"));
    let other = build(Operation::Permute, Shape { ciphertexts: 3, ..SHAPE }).expect("a program");
    let refused = load(&bytes, &machine, &other).expect_err("another program").to_string();
    assert!(refused.contains("another program"), "{refused}");
    let other = build(Operation::Multiply, SHAPE).expect("a program");
    load(&bytes, &machine, &other).expect_err("another operation");
    let slower = F1 { memory_latency: 300, ..machine.clone() };
    assert!(matches!(load(&bytes, &slower, &program), Err(SavedError::Violation(_))));
    assert_eq!(load(b"\x7fELF\x02", &machine, &program).expect_err("another file"), SavedError::Magic);
    let mut later = bytes.clone();
    later[4] = 9;
    assert_eq!(load(&later, &machine, &program).expect_err("another version"), SavedError::Version(9));
}

#[test]
fn damaged_files_are_rejected_or_legal() {
    let machine = paper();
    let program = build(Operation::Permute, SHAPE).expect("a program");
    let compiled = compile(&machine, &program).expect("it compiles");
    let bytes = save(&compiled);
    for cut in 0..bytes.len() {
        load(&bytes[..cut], &machine, &program).expect_err("a file that is cut off");
    }
    let mut accepted = 0;
    for position in 0..bytes.len() {
        for change in [1, 128, 255] {
            let mut damaged = bytes.clone();
            damaged[position] ^= change;
            if let Ok(loaded) = load(&damaged, &machine, &program) {
                // Data outside the schedule may change; the schedule itself is legal.
                check(&loaded.translation.graph, &loaded.actions, &machine, &loaded.geometry).expect("it holds");
                accepted += 1;
            }
        }
    }
    assert!(accepted < bytes.len(), "{accepted} of {} changes are accepted", 3 * bytes.len());
}

#[test]
fn absent_components_are_rejected() {
    let machine = paper();
    let program = build(Operation::Ntt, SHAPE).expect("a program");
    let compiled = compile(&machine, &program).expect("it compiles");
    let nothing = |edit: &dyn Fn(&mut Action)| {
        let mut changed = compiled.compiled.clone();
        changed.actions.iter_mut().for_each(|timed| edit(&mut timed.action));
        match load(&save(&changed), &machine, &program) {
            Err(SavedError::Violation(violation)) => violation.message,
            other => panic!("{other:?}"),
        }
    };
    let stack = nothing(&|action| {
        if let Action::Store { stack, .. } = action {
            *stack = 2;
        }
    });
    assert_eq!(stack, "there is no such stack");
    let frame = nothing(&|action| {
        if let Action::Load { frame, .. } = action {
            *frame = Frame { bank: 16, index: 0 };
        }
    });
    assert_eq!(frame, "there is no such frame");
    let unit = nothing(&|action| {
        if let Action::Execute { unit, .. } = action {
            *unit = 255;
        }
    });
    assert_eq!(unit, "there is no such unit");
    let cluster = nothing(&|action| {
        if let Action::Execute { cluster, .. } = action {
            *cluster += 16;
        }
    });
    assert_eq!(cluster, "there is no such unit");
}
