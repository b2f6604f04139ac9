//! Does phase 1 preserve the program, group operations by hint, and load each hint as rarely as listing 2
//! allows?

use super::programs::{program, ring};
use super::{geometry, paper, sums};
use crate::f1::advance::advance;
use crate::f1::compile::compile;
use crate::f1::graph::{Function, UnitKind};
use crate::f1::lift::reads_hint;
use crate::f1::machine::F1;
use crate::f1::order::{Ordered, order, orders};
use crate::f1::translate::translate;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::rns::builtin::matrix_vector::matrix_vector;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::homomorphic::{NodeId, Scheme};
use polyfabric_program::rns::kernel::{Conversion, KernelBuilder, KernelProgram, LimbSet, ValueType};
use polyfabric_program::rns::lowering::{Hoisting, RnsLowering, RotationOrder, bgv};
use polyfabric_schemes::bgv::{Encoder, Parameters, sets};
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, KeyId};
use std::collections::{BTreeMap, BTreeSet};

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
    let ordered = order(translate(&listing_2(4), geometry.subpolynomials()).expect("a graph"), &machine, &geometry);
    // The relinearization of the products, nine rotations within rows and the exchange of the rows, each for
    // all four rows in one group.
    let hints: Vec<_> = ordered.groups.iter().filter_map(|group| group.hint).collect();
    assert_eq!(hints.len(), 11);
    assert!(ordered.groups.iter().all(|group| group.operations >= 4));
    let mut distinct = hints.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 11);
    // In program order, a scratchpad of two hints would load each hint four times, three of them again.
    let machine = crate::f1::machine::F1 { bank_bytes: 96 << 10, ..machine };
    let compiled = compile(&machine, &listing_2(4)).expect("it compiles");
    let traffic = compiled.traffic(&machine);
    assert!(traffic.hints_again < traffic.hints / 3, "{traffic:?}");
}

#[test]
fn the_order_is_a_permutation_that_respects_dependencies() {
    let machine = paper();
    for operation in [Operation::Permute, Operation::Multiply, Operation::Ntt, Operation::Automorphism] {
        for ciphertexts in [1, 5, 33] {
            let shape = Shape { log2_degree: 10, limbs: 3, special: 1, ciphertexts, rounds: 2 };
            let geometry = geometry(&machine, 1024);
            let translation =
                translate(&build(operation, shape).expect("a program"), geometry.subpolynomials()).expect("a graph");
            let ordered = order(translation.clone(), &machine, &geometry);
            // The builder rejects undefined operands, so the order is legal; no instruction is lost or
            // duplicated.
            assert_eq!(ordered.translation.graph.len(), translation.graph.len());
            assert_eq!(ordered.translation.graph.counts(), translation.graph.counts());
            assert_eq!(ordered.home.len(), translation.graph.len());
            assert!(ordered.home.iter().all(|&home| usize::from(home) < machine.clusters));
            let covered: u32 = ordered.groups.iter().map(|group| group.instructions).sum();
            assert_eq!(covered as usize, translation.graph.len());
        }
    }
}

#[test]
fn chains_without_hints_keep_their_units_busy() {
    let machine = paper();
    for (operation, unit) in [(Operation::Ntt, UnitKind::Ntt), (Operation::Automorphism, UnitKind::Automorphism)] {
        // Eight chains per cluster hide the unit's latency, so another round takes only the units' time.
        let cycles = |rounds| {
            let shape = Shape { log2_degree: 12, limbs: 2, special: 0, ciphertexts: 32, rounds };
            let compiled = compile(&machine, &build(operation, shape).expect("a program")).expect("it compiles");
            (
                compiled.checked.cycles,
                sums(&compiled.translation.graph, &compiled.actions, &machine, &compiled.geometry).busy[unit as usize]
                    / machine.unit_count(unit) as u64,
            )
        };
        let (few, many) = (cycles(16), cycles(32));
        let (taken, busy) = (many.0 - few.0, many.1 - few.1);
        assert!(taken <= busy + busy / 20, "{operation:?}: {taken} cycles, of which the units work {busy}");
    }
}

#[test]
fn products_are_summed_up_as_they_come() {
    // Products of a key switch are added immediately: only the sums and a few products of a task are live.
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let shape = Shape { log2_degree: 10, limbs: 6, special: 1, ciphertexts: 1, rounds: 1 };
    let translation =
        translate(&build(Operation::Permute, shape).expect("a program"), geometry.subpolynomials()).expect("a graph");
    let ordered = order(translation, &machine, &geometry);
    let graph = &ordered.translation.graph;
    for index in 0..graph.len() {
        let [user] = graph.users(index) else { continue };
        if graph.function(index).unit() == UnitKind::Multiply && graph.function(*user as usize).unit() == UnitKind::Add
        {
            let same = |other: &usize| ordered.home[*other] == ordered.home[index];
            let between = (index + 1..*user as usize).filter(same).count();
            assert!(between <= 12, "instruction {index} waits for {between} others of its cluster");
        }
    }
}

#[test]
fn a_digit_is_summed_up_just_before_its_transform() {
    // Digits of two limbs: each is a sum of two products in every other limb, then transformed, multiplied by
    // the hint and added to the other digits' products. If all were lifted first, each would occupy a register.
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let (limbs, special) = (10, 2);
    let ring = ring(1024, limbs + special);
    let gadget = Gadget::new(&ring, GadgetLiteral::hybrid(limbs, 2, special)).expect("a gadget");
    let program = program(&ring, &gadget, Conversion::Approximate);
    let translation = translate(&program, geometry.subpolynomials()).expect("a graph");
    let ordered = order(translation, &machine, &geometry);
    let graph = &ordered.translation.graph;
    let mut lifted = 0;
    for index in 0..graph.len() {
        let [user] = graph.users(index) else { continue };
        let transformed = matches!(graph.function(*user as usize), Function::ForwardNtt { .. });
        if transformed && graph.function(index).unit() == UnitKind::Add {
            let same = |other: &usize| ordered.home[*other] == ordered.home[index];
            let between = (index + 1..*user as usize).filter(same).count();
            assert!(between <= 4, "instruction {index} waits for {between} others of its cluster");
            lifted += 1;
        }
    }
    // Two key switches, each with five digits in the ten other limbs.
    assert!(lifted >= 2 * 5 * 10, "{lifted} sums are transformed");
}

#[test]
fn a_cluster_lifts_a_digit_to_one_limb_after_another() {
    // Digits of two limbs again, in four clusters. If a cluster processed all digits of a limb, each product
    // with a constant except a digit's second one would read another digit than the previous product.
    let machine = F1 { clusters: 4, ..paper() };
    let geometry = geometry(&machine, 1024);
    let (limbs, special) = (10, 2);
    let ring = ring(1024, limbs + special);
    let gadget = Gadget::new(&ring, GadgetLiteral::hybrid(limbs, 2, special)).expect("a gadget");
    let program = program(&ring, &gadget, Conversion::Approximate);
    let ordered = order(translate(&program, geometry.subpolynomials()).expect("a graph"), &machine, &geometry);
    let graph = &ordered.translation.graph;
    let (mut products, mut changes, mut last) = (0, 0, vec![None; machine.clusters]);
    for index in 0..graph.len() {
        let function = graph.function(index);
        let Some(read) = graph.operands(index)[0].as_result() else { continue };
        let from = graph.function(read).limb();
        if function.unit() == UnitKind::Multiply && from != function.limb() && usize::from(from) < limbs {
            products += 1;
            let digit = Some(from / 2);
            changes += usize::from(std::mem::replace(&mut last[usize::from(ordered.home[index])], digit) != digit);
        }
    }
    assert!(products >= 2 * 2 * 5 * 10, "{products} products");
    assert!(4 * changes < products, "{changes} changes of digit in {products} products");
}

#[test]
fn operations_share_a_hint_evenly_whatever_else_they_do() {
    // Two key switches with one hint, and a long sum after the first. Each uses half of the clusters for its
    // products with the hint, so both need a hint vector at the same time.
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let limbs = 16_u16;
    let ring = ring(1024, usize::from(limbs));
    let q = LimbSet::range(0..limbs);
    let mut builder = KernelBuilder::new("switches", ring.degree(), ring.moduli()).expect("moduli");
    let mut inputs = Vec::new();
    for name in ["x", "y"] {
        inputs.push(builder.input(name, 0, ValueType::evaluation(q.clone())).expect("an input"));
    }
    for (operation, &input) in inputs.iter().enumerate() {
        builder.set_origin(Some(NodeId(operation as u32)));
        let digit =
            |limb: u16| builder.mod_up(input, LimbSet::range(limb..limb + 1), q.clone(), Conversion::Approximate);
        let digits: Vec<_> = (0..limbs).map(digit).collect::<Result<_, _>>().expect("digits");
        let (b, a) = builder.inner_product(KeyId::Relinearisation, &digits).expect("a key");
        let mut sum = builder.add(b, a).expect("a sum");
        builder.set_origin(Some(NodeId(2)));
        let behind = if operation == 0 { 64 } else { 0 };
        for _ in 0..behind {
            sum = builder.add(sum, b).expect("a sum");
        }
        builder.output(format!("{operation}"), 0, sum);
    }
    let program = builder.finish().expect("a program");
    let ordered = order(translate(&program, geometry.subpolynomials()).expect("a graph"), &machine, &geometry);
    assert_eq!(ordered.groups.len(), 1, "{:?}", ordered.groups);
    let graph = &ordered.translation.graph;
    let mut clusters: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    for index in (0..graph.len()).filter(|&index| reads_hint(graph, index)) {
        clusters.entry(ordered.translation.origins[index]).or_default().insert(ordered.home[index]);
    }
    let clusters: Vec<_> = clusters.into_values().collect();
    let [x, y] = &clusters[..] else { panic!("the hint is read by {} operations", clusters.len()) };
    assert_eq!((x.len(), y.len()), (8, 8), "{x:?} and {y:?}");
    assert!(x.is_disjoint(y), "{x:?} and {y:?}");
}

#[test]
fn a_hint_that_few_could_use_waits_until_more_can() {
    // Ciphertext i is permuted i times by one element, then once by another. The last permutation of the first
    // could start immediately, alone, and likewise the others in program order. Three wait until all can start
    // together.
    let machine = paper();
    let geometry = geometry(&machine, 1024);
    let (limbs, ciphertexts) = (4, 5);
    let ring = ring(1024, limbs);
    let q = LimbSet::range(0..limbs as u16);
    let mut builder = KernelBuilder::new("permute", ring.degree(), ring.moduli()).expect("moduli");
    let [often, last] = [1, 2].map(|steps| GaloisElement::rotation(ring.degree(), steps));
    let mut node = 0;
    for ciphertext in 0..ciphertexts {
        let input =
            |part| builder.input(format!("x{ciphertext}"), part, ValueType::evaluation(q.clone())).expect("an input");
        let [mut b, mut a] = [0, 1].map(input);
        for element in std::iter::repeat_n(often, ciphertext).chain([last]) {
            builder.set_origin(Some(NodeId(node)));
            node += 1;
            [b, a] = [b, a].map(|part| builder.automorphism(part, element).expect("an automorphism"));
            let digit =
                |limb: u16| builder.mod_up(a, LimbSet::range(limb..limb + 1), q.clone(), Conversion::Approximate);
            let digits: Vec<_> = (0..limbs as u16).map(digit).collect::<Result<_, _>>().expect("digits");
            let (u, v) = builder.inner_product(KeyId::GaloisAfter(element.value()), &digits).expect("a key");
            [b, a] = [builder.add(b, u).expect("a sum"), v];
        }
        [b, a].into_iter().zip(0..).for_each(|(part, number)| builder.output(format!("y{ciphertext}"), number, part));
    }
    let program = builder.finish().expect("a program");
    let ordered = order(translate(&program, geometry.subpolynomials()).expect("a graph"), &machine, &geometry);
    let groups = |of: GaloisElement| {
        let hint = Some(KeyId::GaloisAfter(of.value()));
        ordered.groups.iter().filter(|group| group.hint == hint).map(|group| group.operations).collect::<Vec<_>>()
    };
    assert_eq!(groups(last), [3, 1, 1]);
    assert_eq!(groups(often), [4, 3, 2, 1]);
}

#[test]
fn a_program_is_tried_with_groups_that_clusters_share_evenly() {
    // The scratchpad fits three of six permutations with one hint; four clusters divide evenly into two.
    let machine = F1 { clusters: 4, bank_bytes: 6 << 12, ..paper() };
    let geometry = geometry(&machine, 1024);
    let shape = Shape { log2_degree: 10, limbs: 2, special: 1, ciphertexts: 6, rounds: 1 };
    let translation =
        translate(&build(Operation::Permute, shape).expect("a program"), geometry.subpolynomials()).expect("a graph");
    let instructions = translation.graph.len();
    let widths = |ordered: &Ordered| ordered.groups.iter().map(|group| group.operations).collect::<Vec<_>>();
    let (full, others) = orders(translation.clone(), instructions, &machine, &geometry);
    assert_eq!(widths(&full), [3, 3]);
    assert_eq!(others.iter().map(widths).collect::<Vec<_>>(), [[2, 2, 2]]);
    // Not for a longer program, and not if the order would be the same.
    assert!(orders(translation.clone(), instructions - 1, &machine, &geometry).1.is_empty());
    let three = F1 { clusters: 3, ..machine.clone() };
    assert!(orders(translation, instructions, &three, &geometry).1.is_empty());
    // Four in lockstep, as equal operations of two consecutive groups; one group alone has no partner.
    for (rounds, widest) in [(1, None), (2, Some(vec![4, 4]))] {
        let shape = Shape { ciphertexts: 4, rounds, ..shape };
        let program = build(Operation::Permute, shape).expect("a program");
        let translation = translate(&program, geometry.subpolynomials()).expect("a graph");
        let (_, others) = orders(translation, usize::MAX, &machine, &geometry);
        let four = others.iter().map(widths).find(|widths| widths.contains(&4));
        assert_eq!(four, widest, "{rounds} rounds");
    }
}

#[test]
fn operands_of_long_pipelines_are_scheduled_earlier() {
    let machine = paper();
    let geometry = geometry(&machine, 4096);
    let shape = Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 64, rounds: 2 };
    let translation =
        translate(&build(Operation::Permute, shape).expect("a program"), geometry.subpolynomials()).expect("a graph");
    let before = order(translation, &machine, &geometry);
    let after = advance(before.clone(), &machine, &geometry);
    assert_eq!(after.translation.graph.counts(), before.translation.graph.counts());
    // Instructions before an automorphism, and before the products that end its chain.
    let ahead = |ordered: &Ordered| {
        let graph = &ordered.translation.graph;
        let automorphisms = (0..graph.len()).filter(|&index| graph.function(index).unit() == UnitKind::Automorphism);
        let distance = |index: usize| {
            let mut last = index;
            while let Some(&user) = graph.users(last).first() {
                last = user as usize;
                if graph.function(last).unit() == UnitKind::Multiply {
                    break;
                }
            }
            last - index
        };
        automorphisms.map(distance).sum::<usize>()
    };
    assert!(ahead(&after) > ahead(&before), "{} and {}", ahead(&after), ahead(&before));
}
