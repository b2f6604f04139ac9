//! BGV: every operation of the evaluator, with modulus switching.

use super::definition::{Coefficients, Poly, World, add, assert_equal, each, modulo, multiply, scale, sub};
use num_bigint::BigInt;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::homomorphic::Values;
use polyfabric_program::rns::kernel::Conversion;
use polyfabric_program::rns::levels::{Chain, Scale};
use polyfabric_program::rns::lowering::bgv::{BgvError, BgvValue, Evaluator, Rules};
use polyfabric_program::rns::lowering::{Lowering, RnsLowering, RotationOrder};
use polyfabric_program::rns::noise::NoiseModel as SlotModel;
use polyfabric_schemes::bgv::noise::NoiseModel;
use polyfabric_schemes::rns::{GadgetLiteral, KeySet, LimbId};
use std::cell::Cell;

const LIMBS: usize = 5;

struct Setting {
    world: World,
    chain: Chain,
    rules: Rules,
    encoder: Coefficients,
    t: Modulus,
}

impl Setting {
    fn new(t: u64, special: usize, choice: RnsLowering) -> Self {
        let world = World::new(5, &[(45, LIMBS), (47, special)], choice, Some(t));
        let (degree, t) = (world.ring.degree(), Modulus::new(t).expect("a modulus"));
        let limbs_at: Vec<usize> = (1..=LIMBS).collect();
        let chain = Chain::bgv(degree, world.ring.moduli(), &limbs_at, t).expect("a chain");
        let model = NoiseModel { degree, secret_weight: 8.0, error_deviation: 3.2, parties: 1 };
        let rules = Rules::new(&chain, &world.choice, model, (t.value() as f64).log2());
        Self { world, chain, rules, encoder: Coefficients(degree), t }
    }

    fn limbs(count: usize) -> Vec<LimbId> {
        LimbId::range(0, count)
    }

    /// Lowers the result of `build` on two ciphertexts over all limbs, runs it, and compares with `define`, which gets the limbs of the result.
    fn check(
        &self,
        name: &str,
        build: impl FnOnce(&mut Evaluator<'_, '_>, &BgvValue, &BgvValue) -> Result<BgvValue, BgvError>,
        define: impl FnOnce(&KeySet, &[Poly], &[Poly], usize) -> Vec<Poly>,
    ) {
        let choice = &self.world.choice;
        let name = format!("{name}, t = {}, {:?}, {:?}", self.t.value(), choice.conversion, choice.rotation);
        let model = SlotModel::ternary(self.world.ring.degree());
        let mut lowering =
            Lowering::new("exact", &self.chain, choice.clone(), model, &self.encoder).expect("a lowering");
        let mut evaluator = Evaluator::emitting(&mut lowering, &self.rules).expect("BGV");
        let fresh = self.rules.model().fresh((self.t.value() as f64).log2());
        let mut input = |name: &str| evaluator.input(name, self.t, LIMBS, fresh).expect("an input");
        let (a, b) = (input("a"), input("b"));
        let result = build(&mut evaluator, &a, &b).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (part, &value) in result.parts().iter().enumerate() {
            lowering.builder().output("result", part as u16, value);
        }
        let program = lowering.finish().expect("a program");
        let (inputs, keys, found) = self.world.run(&program, None);
        let expected = define(&keys, &inputs[..2], &inputs[2..], result.state.limbs);
        assert_equal(&name, &found, &expected, &self.world.product(&Self::limbs(result.state.limbs)));
    }

    /// Switches from all limbs to the first `limbs`.
    fn switched(&self, parts: &[Poly], limbs: usize) -> Vec<Poly> {
        let all = Self::limbs(LIMBS);
        parts.iter().map(|part| self.world.divide(part, &all, &all[limbs..])).collect()
    }

    /// The three parts of the product after switching both operands.
    fn product(&self, a: &[Poly], b: &[Poly], limbs: usize) -> Vec<Poly> {
        let (a, b) = (self.switched(a, limbs), self.switched(b, limbs));
        let cross = add(&multiply(&a[0], &b[1]), &multiply(&a[1], &b[0]));
        vec![multiply(&a[0], &b[0]), cross, multiply(&a[1], &b[1])]
    }
}

fn operations(setting: &Setting) {
    let (world, degree) = (&setting.world, setting.world.ring.degree());
    let pairs = |a: &[Poly], b: &[Poly], f: fn(&Poly, &Poly) -> Poly| a.iter().zip(b).map(|(a, b)| f(a, b)).collect();
    let times = |a: &[Poly], factor: i64| a.iter().map(|a| scale(a, &BigInt::from(factor))).collect::<Vec<_>>();
    setting.check("add", |e, a, b| e.add(a, b, false), |_, a, b, _| pairs(a, b, add));
    setting.check("sub", |e, a, b| e.add(a, b, true), |_, a, b, _| pairs(a, b, sub));
    setting.check("negate", |e, a, _| e.negate(a), |_, a, _, _| times(a, -1));
    setting.check("times_integer", |e, a, _| e.times_integer(a, 3), |_, a, _, _| times(a, 3));
    let public = Values::integer(&[3, -1, 4, 1, -5]);
    let encoded = || setting.encoder.integers(&public, Scale::Factor(1));
    setting.check(
        "add_public",
        |e, a, _| e.add_public(a, &public, false),
        |_, a, _, _| vec![add(&a[0], &encoded()), a[1].clone()],
    );
    setting.check(
        "add_public of an integer",
        |e, a, _| e.add_public(a, &Values::integer(&[3]), true),
        |_, a, _, _| {
            let mut sum = a.to_vec();
            sum[0][0] -= 3;
            sum
        },
    );
    let size = setting.rules.model().message((setting.t.value() as f64).log2());
    setting.check(
        "multiply_public",
        |e, a, _| e.multiply_public(a, &public, size),
        |_, a, _, limbs| setting.switched(a, limbs).iter().map(|a| multiply(a, &encoded())).collect(),
    );
    setting.check(
        "multiply_public by an integer",
        |e, a, _| e.multiply_public(a, &Values::integer(&[-3]), size),
        |_, a, _, limbs| times(&setting.switched(a, limbs), -3),
    );
    setting.check("multiply", |e, a, b| e.multiply(a, b), |_, a, b, limbs| setting.product(a, b, limbs));
    setting.check("square", |e, a, _| e.square(a), |_, a, _, limbs| setting.product(a, a, limbs));
    setting.check(
        "relinearise",
        |e, a, b| {
            let three = e.multiply(a, b)?;
            e.linear(&three)
        },
        |keys, a, b, limbs| world.relinearise(keys, &setting.product(a, b, limbs), &Setting::limbs(limbs)),
    );
    for limbs in [LIMBS - 1, 2] {
        setting.check("switch", |e, a, _| e.switch(a, limbs), |_, a, _, limbs| setting.switched(a, limbs));
        let from = Cell::new(0);
        setting.check(
            "relinearise_and_switch",
            |e, a, b| {
                let three = e.multiply(a, b)?;
                from.set(three.state.limbs);
                e.switch(&three, limbs)
            },
            |keys, a, b, to| {
                let from = from.get();
                let (parts, all) = (setting.product(a, b, from), Setting::limbs(from));
                match world.special() {
                    _ if to == from => world.relinearise(keys, &parts, &all),
                    [] => {
                        let linear = world.relinearise(keys, &parts, &all);
                        linear.iter().map(|part| world.divide(part, &all, &all[to..])).collect()
                    }
                    _ => world.relinearise_and_divide(keys, &parts, &all, &all[to..]),
                }
            },
        );
    }
    for element in [GaloisElement::rotation(degree, 3), GaloisElement::conjugation(degree)] {
        setting.check(
            "automorphism",
            |e, a, _| e.automorphism(a, element),
            |keys, a, _, limbs| world.moved(keys, a, element, &Setting::limbs(limbs)),
        );
    }
    setting.check(
        "hoisted automorphisms",
        |e, a, b| {
            let mut sum = b.clone();
            for steps in 1..4 {
                let moved = e.automorphism(a, GaloisElement::rotation(degree, steps))?;
                sum = e.add(&sum, &moved, false)?;
            }
            Ok(sum)
        },
        |keys, a, b, limbs| {
            (1..4).fold(b.to_vec(), |sum, steps| {
                let element = GaloisElement::rotation(degree, steps);
                pairs(&sum, &world.moved(keys, a, element, &Setting::limbs(limbs)), add)
            })
        },
    );
    if setting.t.value().is_power_of_two() {
        setting.check(
            "halve",
            |e, a, _| e.halve(a, 2),
            |_, a, _, limbs| {
                let modulus = world.product(&Setting::limbs(limbs));
                let quarter = BigInt::from(4).modinv(&modulus).expect("odd primes");
                a.iter().map(|a| each(a, |x| modulo(&(x * &quarter), &modulus))).collect()
            },
        );
    }
}

#[test]
fn every_operation_with_every_gadget_and_conversion() {
    let gadgets = [
        (GadgetLiteral::hybrid(LIMBS, 2, 2), 2),
        (GadgetLiteral::per_limb(LIMBS), 0),
        (GadgetLiteral::sub_limb(LIMBS, 8, 1), 1),
        (GadgetLiteral::one_digit(LIMBS, LIMBS), LIMBS),
    ];
    let orders = [RotationOrder::SwitchFirst, RotationOrder::AutomorphismFirst];
    for (gadget, special) in gadgets {
        let conversions = [Conversion::Approximate, Conversion::Balanced, Conversion::Centred];
        for (conversion, rotation) in conversions.into_iter().zip(orders.into_iter().cycle()) {
            for t in [65537, 8] {
                let own = RnsLowering::new(gadget.clone());
                let choice = RnsLowering { conversion, division: conversion, rotation, ..own };
                operations(&Setting::new(t, special, choice));
            }
        }
    }
}
