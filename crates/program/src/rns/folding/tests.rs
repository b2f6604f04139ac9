//! Does a folded program compute the same, in fewer levels and within its cost limit?

use super::fold;
use crate::rns::homomorphic::{
    Basis, Builder, Complex, Diagonals, NodeId, Op, Polynomial, Program, Scheme, Values, evaluate,
};
use crate::rns::levels::levels_used;
use crate::rns::noise::Interval;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const SLOTS: usize = 8;
const PRIME: Scheme = Scheme::Bgv { plaintext_modulus: 257 };

/// Levels of the longest path to an output.
fn levels(program: &Program) -> usize {
    let mut levels = vec![0; program.nodes().len()];
    for (id, node) in program.iter() {
        let below = node.operands.iter().map(|operand| levels[operand.index()]).max().unwrap_or(0);
        levels[id.index()] = below + levels_used(program, id);
    }
    program.outputs().map(|(id, _)| levels[id.index()]).max().unwrap_or(0)
}

fn count(program: &Program, of: impl Fn(&Op) -> bool) -> usize {
    program.nodes().iter().filter(|node| of(&node.op)).count()
}

fn rotations(program: &Program) -> usize {
    count(program, |op| matches!(op, Op::Rotate { .. }))
}

/// Deterministic values that depend on slot and seed.
fn values(scheme: Scheme, seed: u64) -> Values {
    let number = |slot: usize| ((seed.wrapping_mul(7919) + 31 * slot as u64 + 17) % 41) as i64 - 20;
    match scheme {
        Scheme::Ckks => {
            let slot = |slot| Complex::new(number(slot) as f64 / 16.0, number(slot + 3) as f64 / 32.0);
            Values::Complex((0..SLOTS).map(slot).collect())
        }
        Scheme::Bgv { .. } => Values::Integer((0..SLOTS).map(|slot| number(slot) * 50).collect()),
    }
}

fn one_value(scheme: Scheme, seed: u64) -> Values {
    match scheme {
        Scheme::Ckks => Values::real(&[(seed % 13) as f64 / 8.0 - 0.75]),
        Scheme::Bgv { .. } => Values::integer(&[(seed as i64 % 13 - 6) * 1000]),
    }
}

/// Asserts equal results on some inputs: exact for integers, up to rounding for complex numbers.
fn assert_same(written: &Program, folded: &Program) {
    let inputs = written.inputs().zip(0..).map(|((_, name), seed)| (name.to_owned(), values(written.scheme(), seed)));
    let inputs: HashMap<_, _> = inputs.collect();
    let (expected, found) = (evaluate(written, &inputs).expect("inputs"), evaluate(folded, &inputs).expect("inputs"));
    let (expected, found) = (expected.outputs(written), found.outputs(folded));
    assert_eq!(expected.len(), found.len());
    for (name, expected) in expected {
        match (expected, found[name]) {
            (Values::Integer(expected), Values::Integer(found)) => assert_eq!(expected, found, "{name}"),
            (Values::Complex(expected), Values::Complex(found)) => {
                let largest = expected.iter().map(|value| value.abs()).fold(1.0, f64::max);
                for (expected, found) in expected.iter().zip(found.iter()) {
                    assert!((*expected - *found).abs() <= 1e-12 * largest, "{name}: {expected:?} {found:?}");
                }
            }
            _ => panic!("{name} is of another kind"),
        }
    }
}

/// A program of `steps`: each an operation and two operands among the preceding nodes.
fn random(scheme: Scheme, steps: &[(u8, u16, u16, u64)]) -> Arc<Program> {
    let mut builder = Builder::new("random", scheme, SLOTS).expect("a program");
    let mut nodes = vec![builder.input("x").expect("input"), builder.input("y").expect("input")];
    for &(kind, a, b, seed) in steps {
        let (a, b) = (nodes[usize::from(a) % nodes.len()], nodes[usize::from(b) % nodes.len()]);
        let node = match kind % 12 {
            0 => builder.add(a, b),
            1 => builder.sub(a, b),
            2 => builder.neg(a),
            3 | 4 => builder.rotate(a, seed as i64 % 11 - 5),
            5 => builder.conjugate(a),
            6 => builder.mul(a, b),
            kind => {
                let vector = builder.constant(values(scheme, seed)).expect("a constant");
                let number = builder.constant(one_value(scheme, seed)).expect("a constant");
                match kind {
                    7 => builder.mul(a, vector),
                    8 => builder.mul(a, number),
                    9 => builder.add(a, vector),
                    10 => builder.sub(a, vector),
                    _ => {
                        let offsets = [0, 1, -3, 6].into_iter().take(1 + seed as usize % 4);
                        let by_offset = offsets.zip(seed..).map(|(offset, seed)| (offset, values(scheme, seed)));
                        builder.linear_transform(a, Arc::new(Diagonals { by_offset: by_offset.collect() }))
                    }
                }
            }
        };
        nodes.push(node.expect("a node"));
    }
    let last = *nodes.last().expect("a node");
    builder.output("last", last).expect("output");
    builder.output("middle", nodes[nodes.len() / 2]).expect("output");
    Arc::new(builder.finish().expect("a program"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_programs_compute_the_same_in_no_more_levels(
        steps in prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>(), 0u64..1000), 1..24),
        ckks in any::<bool>(),
    ) {
        let written = random(if ckks { Scheme::Ckks } else { PRIME }, &steps);
        let folded = fold(&written).expect("a program");
        assert_same(&written, &folded.program);
        prop_assert!(levels(&folded.program) <= levels(&written));
        // The node mapping is correct.
        for (id, node) in written.iter() {
            if let Some(new) = folded.node(id) && matches!(node.op, Op::Mul | Op::Input { .. } | Op::Output { .. }) {
                prop_assert_eq!(crate::rns::homomorphic::op_name(&node.op), crate::rns::homomorphic::op_name(&folded.program.node(new).op));
            }
        }
    }
}

struct Chain {
    builder: Builder,
    x: NodeId,
}

impl Chain {
    fn new(scheme: Scheme, slots: usize) -> Self {
        let mut builder = Builder::new("chain", scheme, slots).expect("a program");
        let x = builder.input("x").expect("input");
        Self { builder, x }
    }

    fn times(&mut self, node: NodeId, by: Values) -> NodeId {
        let by = self.builder.constant(by).expect("a constant");
        self.builder.mul(node, by).expect("a product")
    }

    fn finish(mut self, node: NodeId) -> Arc<Program> {
        self.builder.output("result", node).expect("output");
        Arc::new(self.builder.finish().expect("a program"))
    }
}

#[test]
fn a_moving_average_is_one_matrix() {
    let mut chain = Chain::new(Scheme::Ckks, 32);
    let mut state = chain.times(chain.x, Values::real(&[0.1]));
    for step in 1..20 {
        let next = chain.builder.rotate(chain.x, step).expect("a rotation");
        let (kept, new) = (chain.times(state, Values::real(&[0.9])), chain.times(next, Values::real(&[0.1])));
        state = chain.builder.add(kept, new).expect("a sum");
    }
    let written = chain.finish(state);
    let folded = fold(&written).expect("a program").program;
    assert_eq!((levels(&written), levels(&folded)), (20, 1));
    assert_eq!(count(&folded, |op| matches!(op, Op::LinearTransform { .. })), 1);
    let inputs = HashMap::from([("x".to_owned(), Values::real(&(0..32).map(f64::from).collect::<Vec<_>>()))]);
    let results = [&written, &folded].map(|program| {
        let evaluated = evaluate(program, &inputs).expect("inputs");
        let Values::Complex(values) = evaluated.outputs(program)["result"].clone() else { panic!("real slots") };
        values
    });
    for (expected, found) in results[0].iter().zip(results[1].iter()) {
        assert!((*expected - *found).abs() < 1e-12);
    }
}

#[test]
fn a_number_passes_a_sum_over_all_slots() {
    let mut chain = Chain::new(Scheme::Ckks, 64);
    let weights: Vec<f64> = (0..64).map(|slot| f64::from(slot) / 64.0).collect();
    let mut sum = chain.times(chain.x, Values::real(&weights));
    for step in 0..6 {
        let rotated = chain.builder.rotate(sum, 1 << step).expect("a rotation");
        sum = chain.builder.add(sum, rotated).expect("a sum");
    }
    let mean = chain.times(sum, Values::real(&[1.0 / 64.0]));
    let written = chain.finish(mean);
    let folded = fold(&written).expect("a program").program;
    assert_eq!((levels(&written), levels(&folded)), (2, 1));
    // Still log2 rotations, of weights that include the number.
    assert_eq!((rotations(&folded), count(&folded, |op| matches!(op, Op::MulPlain))), (6, 1));
}

#[test]
fn two_matrices_are_one() {
    for scheme in [Scheme::Ckks, PRIME] {
        let mut chain = Chain::new(scheme, SLOTS);
        let diagonals = |seeds: std::ops::Range<u64>| {
            let by_offset: BTreeMap<_, _> = seeds.clone().map(|seed| (seed as i64, values(scheme, seed))).collect();
            Arc::new(Diagonals { by_offset })
        };
        let first = chain.builder.linear_transform(chain.x, diagonals(0..4)).expect("a matrix");
        let second = chain.builder.linear_transform(first, diagonals(1..6)).expect("a matrix");
        let written = chain.finish(second);
        let folded = fold(&written).expect("a program").program;
        assert_same(&written, &folded);
        assert_eq!((levels(&written), levels(&folded)), (2, 1), "{scheme}");
    }
}

/// A mask after a sum over all slots would become a matrix with all diagonals.
#[test]
fn folding_stops_where_it_costs_more() {
    let slots = 1 << 12;
    let mut chain = Chain::new(Scheme::Ckks, slots);
    let vector = |step: usize| Values::real(&(0..slots).map(|slot| (slot % step) as f64).collect::<Vec<_>>());
    let mut sum = chain.times(chain.x, vector(7));
    for step in 0..12 {
        let rotated = chain.builder.rotate(sum, 1 << step).expect("a rotation");
        sum = chain.builder.add(sum, rotated).expect("a sum");
    }
    let masked = chain.times(sum, vector(5));
    let written = chain.finish(masked);
    let folded = fold(&written).expect("a program");
    assert!(!folded.is_changed() && Arc::ptr_eq(&folded.program, &written));
}

#[test]
fn levels_chosen_by_the_author_stay() {
    let mut chain = Chain::new(Scheme::Ckks, SLOTS);
    let first = chain.times(chain.x, Values::real(&[0.5]));
    let kept = chain.builder.rescale(first).expect("a rescaling");
    let second = chain.times(kept, Values::real(&[0.5]));
    let written = chain.finish(second);
    assert!(!fold(&written).expect("a program").is_changed());
}

#[test]
fn an_interval_is_mapped_within_the_factors_before_it() {
    for (lo, hi) in [(-8.0, 8.0), (1.0, 5.0)] {
        let mut chain = Chain::new(Scheme::Ckks, SLOTS);
        let scaled = chain.times(chain.x, values(Scheme::Ckks, 3));
        let polynomial = Polynomial {
            basis: Basis::Chebyshev { lo, hi },
            coefficients: Values::real(&[0.5, -0.25, 0.125, 1.0, 0.75]),
        };
        let (x, polynomial) = (chain.x, chain.builder.polynomial(scaled, Arc::new(polynomial)).expect("a polynomial"));
        let written = chain.finish(polynomial);
        let folded = fold(&written).expect("a program");
        assert_same(&written, &folded.program);
        assert_eq!((levels(&written), levels(&folded.program)), (5, 4));
        // Out-of-range values are reported for the author's interval and vector.
        let given = Interval { operand: x, lo: 0.0, hi: 1.0, slots: 2 };
        let mapped = folded.mapped(BTreeMap::from([(x, given)]));
        assert_eq!(mapped[&polynomial], Interval { operand: scaled, lo, hi, slots: SLOTS });
        let here = folded.intervals(&mapped);
        let executed = folded.node(polynomial).expect("the polynomial");
        let operand = folded.program.node(executed).operands[0];
        assert_eq!(here[&executed], Interval { operand, lo: -1.0, hi: 1.0, slots: SLOTS });
    }
}

#[test]
fn nodes_that_are_folded_away_map_to_none() {
    let mut chain = Chain::new(Scheme::Ckks, SLOTS);
    let first = chain.times(chain.x, Values::real(&[0.5]));
    let second = chain.times(first, Values::real(&[0.25]));
    let (x, written) = (chain.x, chain.finish(second));
    let folded = fold(&written).expect("a program");
    assert_eq!(folded.node(first), None);
    assert_eq!(folded.node(x), Some(NodeId(0)));
    let product = folded.program.node(folded.node(second).expect("the product"));
    assert_eq!(product.op, Op::MulPlain);
    let Op::Constant { values } = &folded.program.node(product.operands[1]).op else { panic!("a constant") };
    assert_eq!(*values, Values::real(&[0.125]));
}
