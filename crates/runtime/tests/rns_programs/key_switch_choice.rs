//! Is a key switch whose error swamps the scale never chosen, and is what the report says of it so?

use crate::common::{World, random_inputs, run};
use polyfabric_program::rns::homomorphic::{Builder, Program, Scheme};
use polyfabric_program::rns::lowering::{ChoiceError, Target, choose_gadget};
use polyfabric_program::rns::noise::NoiseFailure;
use polyfabric_schemes::rns::GadgetLiteral;

fn rotations() -> Program {
    let mut builder = Builder::new("rotations", Scheme::Ckks, 512).expect("a program");
    let x = builder.input("x").expect("an input");
    let square = builder.square(x).expect("a square");
    let rotated = builder.rotate(square, 1).expect("a rotation");
    let sum = builder.add(square, rotated).expect("a sum");
    builder.output("sum", sum).expect("an output");
    builder.finish().expect("a program")
}

fn target(world: &World, choose: impl FnOnce(&Target<'_>)) {
    let choice = world.choice();
    choose(&Target {
        chain: &world.chain,
        choice: &choice,
        model: world.model(),
        encoder: &world.embedding,
        bootstrapping: None,
        observed: false,
    });
}

/// Limbs of 32 bits, one for a scale of 30 bits; two special primes of which hybrid digits can use one or both.
fn narrow() -> World {
    World::new(10, (32, 2), (30, 1, 2), (32, 1), 30.0, |q, p| GadgetLiteral::hybrid(q, 1, p))
}

#[test]
fn whole_limbs_without_special_primes_swamp_a_scale_of_one_limb() {
    let (world, program) = (narrow(), rotations());
    target(&world, |target| {
        let q = 4;
        let per_limb = GadgetLiteral::per_limb(q);
        // Alone it is refused, and the first node that it spoils named.
        let error = choose_gadget(&program, target, std::slice::from_ref(&per_limb), 6.0).expect_err("swamped");
        let ChoiceError::Noise { failure: NoiseFailure::Precision { op, bound, .. }, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*op, "rotate", "{error}");
        assert!(*bound > 0.0, "an error above the message: {error}");
        // Digits of 6 bits, or a special prime, are precise enough; the latter is cheaper.
        let candidates = [per_limb, GadgetLiteral::sub_limb(q, 6, 0), GadgetLiteral::hybrid(q, 1, 1)];
        let chosen = choose_gadget(&program, target, &candidates, 6.0).expect("a gadget");
        assert_eq!(chosen.choice.gadget, candidates[2]);
        let chosen = choose_gadget(&program, target, &candidates[..2], 6.0).expect("a gadget");
        assert_eq!(chosen.choice.gadget, candidates[1]);
    });
}

#[test]
fn the_swamped_result_is_as_wrong_as_the_report_says() {
    let world = World::new(10, (32, 2), (30, 1, 2), (32, 0), 30.0, |q, _| GadgetLiteral::per_limb(q));
    let program = rotations();
    let outcome = run(&world, &program, &world.choice(), &random_inputs(&program, 3), 3);
    outcome.check(8.0);
    let rotated = outcome.report.nodes.iter().find(|node| node.op == "rotate").expect("a rotation");
    assert!(rotated.measured.is_some_and(|error| error > 1.0), "{}", outcome.report);
}

#[test]
fn double_prime_scales_bear_whole_limbs() {
    let world = World::new(10, (32, 2), (28, 2, 2), (32, 0), 56.0, |q, _| GadgetLiteral::per_limb(q));
    let program = rotations();
    target(&world, |target| {
        let chosen = choose_gadget(&program, target, &[GadgetLiteral::per_limb(6)], 6.0).expect("a gadget");
        assert_eq!(chosen.lowered.kernel.counts().expect("counts"), chosen.counts);
    });
    run(&world, &program, &world.choice(), &random_inputs(&program, 4), 4).check(8.0);
}
