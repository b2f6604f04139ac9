//! Does phase 1 keep the program, bring together what shares a hint, and use each hint as seldom as listing 2 allows?

use super::{geometry, paper};
use crate::f1::compile::compile;
use crate::f1::order::order;
use crate::f1::report::Traffic;
use crate::f1::translate::translate;
use polyfabric_program::rns::builtin::matrix_vector::matrix_vector;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::homomorphic::Scheme;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::{Hoisting, RnsLowering, RotationOrder, bgv};
use polyfabric_schemes::bgv::{Encoder, Parameters, sets};

/// Listing 2 on a small ring, over all limbs of a toy set.
pub(super) fn listing_2(rows: usize) -> KernelProgram {
    let parameters: Parameters = sets::named("bgv-toy-1024-listing1").expect("a set");
    let t = parameters.plaintext_modulus().value();
    let program = matrix_vector(Scheme::Bgv { plaintext_modulus: t }, 1024, rows, Some(7)).expect("a program");
    let choice = RnsLowering {
        rotation: RotationOrder::AutomorphismFirst,
        hoisting: Hoisting::None,
        ..RnsLowering::new(parameters.gadget().literal().clone())
    };
    let encoder = Encoder::new(parameters.ring().degree(), parameters.literal().plaintext_modulus).expect("an encoder");
    bgv::lower(&program, &parameters, &choice, &encoder).expect("it lowers").kernel
}

#[test]
fn listing_2_keeps_to_a_hint_at_a_time() {
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let ordered = order(translate(&listing_2(4)).expect("a graph"), &machine, &geometry);
    // The relinearisation of the products, nine rotations within rows and the exchange of the rows, each for all four rows in one group.
    let hints: Vec<_> = ordered.groups.iter().filter_map(|group| group.hint).collect();
    assert_eq!(hints.len(), 11);
    assert!(ordered.groups.iter().all(|group| group.operations >= 4));
    let mut distinct = hints.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 11);
    // In the order of the program a scratchpad of two hints would load each four times, three of them again.
    let machine = crate::f1::machine::F1 { bank_bytes: 96 << 10, ..machine };
    let compiled = compile(&machine, &listing_2(4)).expect("it compiles");
    let traffic = Traffic::of(&compiled);
    assert!(traffic.hints_again < traffic.hints / 3, "{traffic:?}");
}

#[test]
fn the_order_is_a_permutation_that_respects_dependencies() {
    let machine = paper();
    for operation in [Operation::Permute, Operation::Multiply, Operation::Ntt, Operation::Automorphism] {
        for ciphertexts in [1, 5, 33] {
            let shape = Shape { log2_degree: 10, limbs: 3, special: 1, ciphertexts, rounds: 2 };
            let translation = translate(&build(operation, shape).expect("a program")).expect("a graph");
            let ordered = order(translation.clone(), &machine, &geometry(&machine, 1024));
            // The builder refuses operands that are not defined before, so the order holds; nothing is lost or doubled.
            assert_eq!(ordered.translation.graph.len(), translation.graph.len());
            assert_eq!(ordered.translation.graph.counts(), translation.graph.counts());
            assert_eq!(ordered.home.len(), translation.graph.len());
            assert!(ordered.home.iter().all(|&home| usize::from(home) < machine.clusters));
            let covered: usize = ordered.groups.iter().map(|group| group.instructions.len()).sum();
            assert_eq!(covered, translation.graph.len());
        }
    }
}
