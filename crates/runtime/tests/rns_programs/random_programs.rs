//! Is every node of a random program right, with an error below its bound, for any choice?

use super::common::{World, random_inputs, run};
use polyfabric_program::rns::homomorphic::{
    Basis, Builder, Diagonals, NodeId, Op, Polynomial, Program, Scheme, Values,
};
use polyfabric_program::rns::lowering::{
    Hoisting, LevelPolicy, Relinearisation, Rescaling, RnsLowering, RotationOrder, StepRule,
};
use polyfabric_schemes::rns::GadgetLiteral;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const LEVELS: usize = 4;

/// A random program of `size` operations within [`LEVELS`] levels, with values up to 16.
fn random_program(generator: &mut StdRng, size: usize) -> Program {
    let slots = [1, 8, 512][generator.random_range(0..3)];
    let mut builder = Builder::new("random", Scheme::Ckks, slots).expect("a program");
    // Node, levels used, bound.
    let mut values: Vec<(NodeId, usize, f64)> = (0..generator.random_range(1..4))
        .map(|index| (builder.input(&format!("x{index}")).expect("an input"), 0, 1.0))
        .collect();
    while values.len() < size {
        let at = generator.random_range(0..values.len()).max(generator.random_range(0..values.len()));
        let (a, depth, bound) = values[at];
        let (b, other_depth, other_bound) = values[generator.random_range(0..values.len())];
        let vector: Vec<f64> = (0..slots).map(|_| generator.random_range(-1.0..1.0)).collect();
        let both = depth.max(other_depth);
        let (made, depth, bound) = match generator.random_range(0..13) {
            0 | 1 => (builder.mul(a, b), both + 1, bound * other_bound),
            2 => (builder.square(a), depth + 1, bound * bound),
            3 | 4 => (builder.add(a, b), both, bound + other_bound),
            5 => (builder.sub(a, b), both, bound + other_bound),
            6 => (builder.neg(a), depth, bound),
            7 => {
                let constant = builder.constant(Values::real(&vector)).expect("a constant");
                (builder.mul(a, constant), depth + 1, bound)
            }
            8 => {
                let constant =
                    builder.constant(Values::real(&[generator.random_range(-2.0..2.0)])).expect("a constant");
                (builder.mul(a, constant), depth + 1, 2.0 * bound)
            }
            9 => {
                let constant = builder.constant(Values::real(&vector)).expect("a constant");
                (
                    if generator.random_bool(0.5) { builder.add(a, constant) } else { builder.sub(constant, a) },
                    depth,
                    bound + 1.0,
                )
            }
            10 => (builder.rotate(a, generator.random_range(-9..9)), depth, bound),
            11 => (builder.conjugate(a), depth, bound),
            _ => {
                let constant =
                    builder.constant(Values::real(&[f64::from(generator.random_range(-3..4))])).expect("a constant");
                (builder.mul(a, constant), depth, 3.0 * bound)
            }
        };
        let made = made.expect("a node");
        // Too deep or large values stay in the program as dead code.
        if depth <= LEVELS && bound <= 16.0 {
            values.push((made, depth, bound));
        } else if builder.nodes().len() > 4 * size {
            break;
        }
    }
    let (last, ..) = values[values.len() - 1];
    builder.output("last", last).expect("an output");
    let (other, ..) = values[generator.random_range(0..values.len())];
    builder.output("other", other).expect("an output");
    prune(builder)
}

/// Removes nodes that no output depends on, some of which are too deep.
fn prune(builder: Builder) -> Program {
    let nodes = builder.nodes();
    let mut live = vec![false; nodes.len()];
    for (index, node) in nodes.iter().enumerate().rev() {
        if live[index] || matches!(node.op, Op::Output { .. }) {
            live[index] = true;
            node.operands.iter().for_each(|operand| live[operand.index()] = true);
        }
    }
    let mut pruned = Builder::new("random", Scheme::Ckks, builder.slots()).expect("a program");
    let mut names = vec![NodeId(0); nodes.len()];
    for (index, node) in nodes.iter().enumerate().filter(|(index, _)| live[*index]) {
        let operands: Vec<NodeId> = node.operands.iter().map(|operand| names[operand.index()]).collect();
        names[index] = pruned.push(node.op.clone(), &operands).expect("a node");
    }
    pruned.finish().expect("a program")
}

fn random_choice(generator: &mut StdRng, choice: RnsLowering) -> RnsLowering {
    let mut coin = || generator.random_bool(0.5);
    RnsLowering {
        rotation: if coin() { RotationOrder::SwitchFirst } else { RotationOrder::AutomorphismFirst },
        hoisting: if coin() { Hoisting::None } else { Hoisting::Single },
        rescaling: if coin() { Rescaling::Eager } else { Rescaling::Waterline },
        relinearisation: if coin() { Relinearisation::Eager } else { Relinearisation::Lazy },
        fused_rescale: coin(),
        levels: if coin() { LevelPolicy::Lowest } else { LevelPolicy::Highest },
        ..choice
    }
}

/// Each kind of keys with 20 programs; with `POLYFABRIC_FULL` in the environment with 100.
#[test]
fn every_node_is_within_its_bound() {
    let programs = if std::env::var_os("POLYFABRIC_FULL").is_some() { 300 } else { 60 };
    for seed in 0..programs {
        let mut generator = StdRng::seed_from_u64(seed);
        let program = random_program(&mut generator, 12);
        let world = match seed % 3 {
            0 => World::hybrid(LEVELS),
            1 => World::new(10, (50, 1), (40, 1, LEVELS), (51, 1), 40.0, |q, p| GadgetLiteral::hybrid(q, 1, p)),
            // F1's limbs: scales of two primes of 28 bits, Listing 1.
            _ => World::new(10, (30, 3), (28, 2, LEVELS), (32, 0), 56.0, |q, _| GadgetLiteral::sub_limb(q, 14, 0)),
        };
        let choice = random_choice(&mut generator, world.choice());
        let outcome = run(&world, &program, &choice, &random_inputs(&program, seed), seed);
        outcome.expect_bounds(&format!("seed {seed}\n{program}\n{choice:?}\n"));
    }
}

#[test]
fn matrices_and_polynomials() {
    let slots = 64;
    let mut builder = Builder::new("layers", Scheme::Ckks, slots).expect("a program");
    let x = builder.input("x").expect("an input");
    let mut generator = StdRng::seed_from_u64(5);
    let mut diagonal = || Values::real(&(0..slots).map(|_| generator.random_range(-0.2..0.2)).collect::<Vec<f64>>());
    let by_offset = [-3, 0, 1, 2, 7, 20].into_iter().map(|offset| (offset, diagonal())).collect();
    let y = builder.linear_transform(x, Arc::new(Diagonals { by_offset })).expect("a matrix");
    let basis = Basis::Chebyshev { lo: -2.0, hi: 2.0 };
    let coefficients = Values::real(&[0.1, 0.5, 0.0, -0.25, 0.0, 0.125]);
    let z = builder.polynomial(y, Arc::new(Polynomial { basis, coefficients })).expect("a polynomial");
    let monomial = Polynomial { basis: Basis::Monomial, coefficients: Values::real(&[0.5, 0.0, -1.0, 0.25]) };
    let w = builder.polynomial(z, Arc::new(monomial)).expect("a polynomial");
    builder.output("result", w).expect("an output");
    let program = builder.finish().expect("a program");
    let world = World::hybrid(7);
    for hoisting in [Hoisting::None, Hoisting::Single, Hoisting::Double] {
        let choice = RnsLowering { hoisting, ..world.choice() };
        let mut inputs = random_inputs(&program, 9);
        // Real slots, within the polynomial's interval after the matrix.
        inputs.insert("x".to_owned(), Values::real(&(0..slots).map(|i| (i as f64).cos()).collect::<Vec<f64>>()));
        run(&world, &program, &choice, &inputs, 9).check(12.0);
        // Diagonals of few bits need a separate multiplication first, and no other result; as many baby steps as offsets.
        let few = RnsLowering { diagonal_bits: Some(24), steps: StepRule::Width(1), ..choice };
        let narrow = |choice| {
            let kernel = world.lower(&program, choice).kernel;
            kernel.plaintexts.iter().all(|polynomial| polynomial.largest_coefficient() < 2f64.powi(23))
        };
        assert!(narrow(&few) && !narrow(&RnsLowering { diagonal_bits: None, ..few.clone() }), "{hoisting:?}");
        run(&world, &program, &few, &inputs, 9).check(8.0);
    }
}
