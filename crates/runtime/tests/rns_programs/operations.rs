//! Is each operation right on random slots, in each implementation, with the reported error?

use super::common::{World, random_inputs, run};
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Program, ProgramError, Scheme, Values};
use polyfabric_program::rns::lowering::{
    Hoisting, LevelPolicy, Relinearisation, Rescaling, RnsLowering, RotationOrder,
};
use polyfabric_schemes::rns::GadgetLiteral;

fn program(slots: usize, build: impl FnOnce(&mut Builder) -> Result<NodeId, ProgramError>) -> Program {
    let mut builder = Builder::new("test", Scheme::Ckks, slots).expect("a program");
    let result = build(&mut builder).expect("a node");
    builder.output("result", result).expect("an output");
    builder.finish().expect("a program")
}

fn operations(slots: usize) -> Vec<(&'static str, Program)> {
    let vector = || Values::real(&(0..slots).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<_>>());
    vec![
        (
            "add",
            program(slots, |b| {
                let (x, y) = (b.input("x")?, b.input("y")?);
                b.add(x, y)
            }),
        ),
        (
            "sub",
            program(slots, |b| {
                let (x, y) = (b.input("x")?, b.input("y")?);
                b.sub(x, y)
            }),
        ),
        (
            "neg",
            program(slots, |b| {
                let x = b.input("x")?;
                b.neg(x)
            }),
        ),
        (
            "mul",
            program(slots, |b| {
                let (x, y) = (b.input("x")?, b.input("y")?);
                b.mul(x, y)
            }),
        ),
        (
            "square",
            program(slots, |b| {
                let x = b.input("x")?;
                b.square(x)
            }),
        ),
        (
            "add_plain",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(vector())?);
                b.add(x, c)
            }),
        ),
        (
            "sub_plain",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(vector())?);
                b.sub(x, c)
            }),
        ),
        (
            "plain_sub",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(vector())?);
                b.sub(c, x)
            }),
        ),
        (
            "mul_plain",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(vector())?);
                b.mul(x, c)
            }),
        ),
        (
            "mul_plain_scaled",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(vector())?);
                let scaled = b.mul_plain_scaled(x, c, 7)?;
                let (rotated, c) = (b.rotate(scaled, 1)?, b.constant(vector())?);
                let sum = b.add(scaled, rotated)?;
                b.add(sum, c)
            }),
        ),
        (
            "product_of_scaled",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(Values::real(&[0.7]))?);
                let scaled = b.mul_plain_scaled(x, c, 2)?;
                let square = b.square(scaled)?;
                b.mul_plain_scaled(square, c, 4)
            }),
        ),
        (
            "rotated_product",
            program(slots, |b| {
                let (x, y) = (b.input("x")?, b.input("y")?);
                let product = b.mul(x, y)?;
                let rotated = b.rotate(product, 3)?;
                let sum = b.add(product, rotated)?;
                let conjugate = b.conjugate(sum)?;
                b.mul(conjugate, sum)
            }),
        ),
        (
            "mul_real",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(Values::real(&[0.3]))?);
                b.mul(x, c)
            }),
        ),
        (
            "mul_integer",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(Values::real(&[-3.0]))?);
                b.mul(x, c)
            }),
        ),
        (
            "add_real",
            program(slots, |b| {
                let (x, c) = (b.input("x")?, b.constant(Values::real(&[0.3]))?);
                b.add(x, c)
            }),
        ),
        (
            "rotate",
            program(slots, |b| {
                let x = b.input("x")?;
                b.rotate(x, 3)
            }),
        ),
        (
            "rotate_right",
            program(slots, |b| {
                let x = b.input("x")?;
                b.rotate(x, -5)
            }),
        ),
        (
            "conjugate",
            program(slots, |b| {
                let x = b.input("x")?;
                b.conjugate(x)
            }),
        ),
        (
            "mod_switch",
            program(slots, |b| {
                let x = b.input_with("x", Some(3), 1.0)?;
                b.mod_switch(x, 1)
            }),
        ),
    ]
}

fn check_all(world: &World, choice: &RnsLowering, slots: usize, only: &[&str]) {
    for (index, (name, program)) in operations(slots).iter().enumerate() {
        if !only.is_empty() && !only.contains(name) {
            continue;
        }
        let seed = 7 * index as u64;
        let outcome = run(world, program, choice, &random_inputs(program, seed), seed);
        outcome.check(6.0);
    }
}

#[test]
fn every_operation() {
    let world = World::hybrid(3);
    check_all(&world, &world.choice(), 512, &[]);
}

#[test]
fn sparse_slots_repeat() {
    let world = World::hybrid(3);
    check_all(&world, &world.choice(), 16, &["mul", "mul_plain", "rotate", "rotate_right", "conjugate"]);
}

#[test]
fn every_choice() {
    let world = World::hybrid(3);
    let some = ["mul", "rotate", "conjugate"];
    let choice = world.choice();
    check_all(&world, &RnsLowering { rotation: RotationOrder::AutomorphismFirst, ..choice.clone() }, 512, &some);
    check_all(&world, &RnsLowering { hoisting: Hoisting::None, ..choice.clone() }, 512, &some);
    check_all(&world, &RnsLowering { fused_rescale: false, ..choice.clone() }, 512, &some);
    let late = RnsLowering { rescaling: Rescaling::AfterRotations, ..choice.clone() };
    check_all(&world, &late, 512, &["mul", "rotate", "conjugate", "rotated_product", "mul_plain_scaled"]);
    let eager = RnsLowering {
        rescaling: Rescaling::Eager,
        relinearisation: Relinearisation::Eager,
        levels: LevelPolicy::Highest,
        ..choice
    };
    check_all(&world, &eager, 512, &some);
}

#[test]
fn every_gadget() {
    let some = ["mul", "square", "rotate", "conjugate"];
    let check = |world: World| check_all(&world, &world.choice(), 512, &some);
    // dnum 4, 2, 1 with as many special primes as a digit has limbs.
    for digit in [1, 2, 4] {
        check(World::new(10, (50, 1), (40, 1, 3), (51, digit), 40.0, |q, p| GadgetLiteral::hybrid(q, digit, p)));
    }
    // Digits that do not divide the number of limbs.
    check(World::new(10, (50, 1), (40, 1, 4), (52, 3), 40.0, |q, p| GadgetLiteral::hybrid(q, 3, p)));
    // One digit with P as large as Q.
    check(World::new(10, (50, 1), (40, 1, 2), (50, 3), 40.0, GadgetLiteral::one_digit));
    // Digits smaller than a limb, without and with special primes.
    check(World::new(10, (50, 1), (40, 1, 2), (50, 0), 40.0, |q, p| GadgetLiteral::sub_limb(q, 8, p)));
    check(World::new(10, (50, 1), (40, 1, 2), (30, 1), 40.0, |q, p| GadgetLiteral::sub_limb(q, 20, p)));
}

#[test]
fn double_prime_scales() {
    // Scales of two primes of 28 bits, Listing 1 with one digit per limb: 28 bits of noise below a scale of 56.
    let world = World::new(10, (32, 2), (28, 2, 3), (32, 0), 56.0, |q, _| GadgetLiteral::per_limb(q));
    check_all(&world, &world.choice(), 512, &["add", "mul", "mul_plain", "mul_real", "rotate", "mod_switch"]);
}
