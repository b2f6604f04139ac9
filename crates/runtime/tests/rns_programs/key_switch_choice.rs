//! Is a key switch whose error swamps the scale never chosen, and is the report about it right?

use super::common::{World, random_inputs, run};
use polyfabric_program::rns::homomorphic::{Builder, Program, Scheme};
use polyfabric_program::rns::lowering::{RnsLowering, SPARE_BITS, fewest_products};
use polyfabric_program::rns::noise::{NodeReport, NoiseReport};
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

/// The choice among `candidates` for the product: the index of the cheapest one that is as precise as `own`, or the reasons.
fn chosen(
    world: &World,
    program: &Program,
    own: &GadgetLiteral,
    candidates: &[GadgetLiteral],
) -> Result<usize, String> {
    let lowered = |gadget: &GadgetLiteral| {
        let lowered = world.lower(program, &RnsLowering { gadget: gadget.clone(), ..world.choice() });
        let noise = NoiseReport::new(program, &lowered, &world.chain, &world.model());
        (lowered, noise)
    };
    let own = lowered(own).1;
    let names: Vec<usize> = (0..candidates.len()).collect();
    let weigh = |&index: &usize| {
        let (lowered, noise) = lowered(&candidates[index]);
        noise.require_like(&own, SPARE_BITS).map_err(|failure| failure.to_string())?;
        Ok(lowered)
    };
    let chosen = fewest_products(program.name(), &names, weigh, |lowered| &lowered.kernel);
    chosen.map(|chosen| chosen.index).map_err(|error| error.to_string())
}

/// Limbs of 32 bits, one for a scale of 30 bits; hybrid digits can use one or both of two special primes.
fn narrow() -> World {
    World::new(10, (32, 2), (30, 1, 2), (32, 1), 30.0, |q, p| GadgetLiteral::hybrid(q, 1, p))
}

#[test]
fn whole_limbs_without_special_primes_swamp_a_scale_of_one_limb() {
    let (world, program) = (narrow(), rotations());
    let q = 4;
    let (own, per_limb) = (GadgetLiteral::hybrid(q, 1, 1), GadgetLiteral::per_limb(q));
    // As the only candidate it is rejected, naming the first node that it spoils.
    let error = chosen(&world, &program, &own, std::slice::from_ref(&per_limb)).expect_err("swamped");
    assert!(error.starts_with("rotations runs with no key switch: 0: rotate %"), "{error}");
    // Digits of a limb with a special prime are precise enough; so are digits of 6 bits, compared with the set's own of 8 bits, at more work.
    let candidates = [per_limb, GadgetLiteral::sub_limb(q, 6, 0), own.clone()];
    assert_eq!(chosen(&world, &program, &own, &candidates), Ok(2));
    let sub_limb = GadgetLiteral::sub_limb(q, 8, 0);
    assert_eq!(chosen(&world, &program, &sub_limb, &candidates), Ok(2));
    assert_eq!(chosen(&world, &program, &sub_limb, &candidates[..2]), Ok(1));
    // It is the cheapest, and chosen where permitted.
    assert_eq!(chosen(&world, &program, &candidates[0], &candidates), Ok(0));
}

#[test]
fn the_swamped_result_is_as_wrong_as_reported() {
    let world = World::new(10, (32, 2), (30, 1, 2), (32, 0), 30.0, |q, _| GadgetLiteral::per_limb(q));
    let program = rotations();
    let outcome = run(&world, &program, &world.choice(), &random_inputs(&program, 3), 3);
    outcome.check(8.0);
    let rotated = outcome.report.nodes.iter().find(|node| node.op == "rotate").expect("a rotation");
    assert!(outcome.measured[&rotated.node] > 1.0, "{}", outcome.report);
}

#[test]
fn double_prime_scales_support_whole_limbs() {
    let world = World::new(10, (32, 2), (28, 2, 2), (32, 0), 56.0, |q, _| GadgetLiteral::per_limb(q));
    let program = rotations();
    // About 2^-40 with a special prime, 2^-9 without.
    let node = |node: &NodeReport| node.op != "rotate" || node.bound < 2f64.powi(-9);
    let lowered = world.lower(&program, &world.choice());
    let noise = NoiseReport::new(&program, &lowered, &world.chain, &world.model());
    assert!(noise.nodes.iter().all(node), "{noise}");
    run(&world, &program, &world.choice(), &random_inputs(&program, 4), 4).check(8.0);
}
