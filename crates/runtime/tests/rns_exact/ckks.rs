//! CKKS: every operation of the lowering, with every gadget, conversion and order.

use super::definition::{
    Coefficients, Poly, World, add, assert_equal, automorphism, each, modulo, multiply, scale, sub,
};
use num_bigint::BigInt;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::rns::approximation::modular_reduction::{Method, Nodes, ReductionLiteral};
use polyfabric_program::rns::homomorphic::{Complex, Diagonals, Values};
use polyfabric_program::rns::kernel::Conversion;
use polyfabric_program::rns::levels::{Chain, Scale};
use polyfabric_program::rns::lowering::bootstrap::{
    BootstrapOrder, Bootstrapping, BootstrappingLiteral, BootstrappingSecret,
};
use polyfabric_program::rns::lowering::{
    CiphertextValue, Hoisting, Lowering, PreparedTransform, Result, RnsLowering, RotationOrder, SumOrder,
};
use polyfabric_program::rns::noise::NoiseModel;
use polyfabric_schemes::rns::{GadgetLiteral, KeyId, KeySet, LimbId};
use std::collections::{BTreeMap, BTreeSet};

const CONVERSIONS: [Conversion; 3] = [Conversion::Approximate, Conversion::Balanced, Conversion::Centred];

/// Parameters: levels of `step` primes of `bits` bits above a first one of 55.
struct Setting {
    world: World,
    chain: Chain,
    encoder: Coefficients,
}

impl Setting {
    fn new(levels: usize, step: usize, bits: u32, special: usize, gadget: &dyn Fn(usize) -> GadgetLiteral) -> Self {
        let q = 1 + levels * step;
        let world = World::new(5, &[(55, 1), (bits, q - 1), (56, special)], RnsLowering::new(gadget(q)), None);
        let limbs_at: Vec<usize> = (0..=levels).map(|level| 1 + level * step).collect();
        let log2_scale = bits * step as u32;
        let degree = world.ring.degree();
        let chain = Chain::ckks(degree, world.ring.moduli(), &limbs_at, f64::from(log2_scale).exp2()).expect("a chain");
        Self { world, chain, encoder: Coefficients(degree) }
    }

    fn lowering(&self) -> Lowering<'_> {
        let model = NoiseModel::ternary(self.world.ring.degree());
        Lowering::new("exact", &self.chain, self.world.choice.clone(), model, &self.encoder).expect("a lowering")
    }

    fn limbs(&self, level: usize) -> Vec<LimbId> {
        self.chain.limbs(level).as_slice().to_vec()
    }

    fn dropped(&self, level: usize) -> Vec<LimbId> {
        self.chain.dropped(level).as_slice().to_vec()
    }

    /// Lowers the result of `build` on two ciphertexts at `level`, runs it, and compares with `define`.
    fn check(
        &self,
        name: &str,
        level: usize,
        build: impl FnOnce(&mut Lowering<'_>, &CiphertextValue, &CiphertextValue) -> Result<CiphertextValue>,
        define: impl FnOnce(&KeySet, &[Poly], &[Poly]) -> Vec<Poly>,
    ) {
        let choice = &self.world.choice;
        let name = format!("{name} at level {level}, {:?}, {:?}", choice.conversion, choice.rotation);
        let mut lowering = self.lowering();
        let (a, b) = (lowering.input("a", level, 1.0).expect("a"), lowering.input("b", level, 1.0).expect("b"));
        let result = build(&mut lowering, &a, &b).unwrap_or_else(|error| panic!("{name}: {error}"));
        lowering.output("result", &result);
        let program = lowering.finish().expect("a program");
        let (inputs, keys, found) = self.world.run(&program, None);
        let expected = define(&keys, &inputs[..2], &inputs[2..]);
        assert_equal(&name, &found, &expected, &self.world.product(&self.limbs(result.level)));
    }

    fn divided(&self, parts: &[Poly], level: usize) -> Vec<Poly> {
        parts.iter().map(|part| self.world.divide(part, &self.limbs(level), &self.dropped(level))).collect()
    }
}

fn product(a: &[Poly], b: &[Poly]) -> Vec<Poly> {
    let cross = add(&multiply(&a[0], &b[1]), &multiply(&a[1], &b[0]));
    vec![multiply(&a[0], &b[0]), cross, multiply(&a[1], &b[1])]
}

fn vector(count: usize) -> Values {
    let entry = |i: usize| Complex::new((i as f64 * 0.7).sin(), (i as f64 * 1.3 + 0.2).cos());
    Values::Complex((0..count).map(entry).collect())
}

fn operations(setting: &Setting, level: usize) {
    let world = &setting.world;
    let limbs = setting.limbs(level);
    let degree = world.ring.degree();
    let pairs = |a: &[Poly], b: &[Poly], f: fn(&Poly, &Poly) -> Poly| a.iter().zip(b).map(|(a, b)| f(a, b)).collect();
    setting.check("add", level, |l, a, b| l.add(a, b), |_, a, b| pairs(a, b, add));
    setting.check("sub", level, |l, a, b| l.sub(a, b), |_, a, b| pairs(a, b, sub));
    setting.check(
        "negate",
        level,
        |l, a, _| l.negate(a),
        |_, a, _| a.iter().map(|a| scale(a, &BigInt::from(-1))).collect(),
    );
    setting.check(
        "multiply_integer",
        level,
        |l, a, _| l.multiply_integer(a, -12345),
        |_, a, _| a.iter().map(|a| scale(a, &BigInt::from(-12345))).collect(),
    );
    let public = vector(7);
    let encoded = |scale: Scale| setting.encoder.integers(&public, scale);
    let own = setting.chain.scale(level);
    for subtract in [false, true] {
        setting.check(
            "add_plain",
            level,
            |l, a, _| l.add_plain(a, &public, subtract),
            |_, a, _| vec![if subtract { sub(&a[0], &encoded(own)) } else { add(&a[0], &encoded(own)) }, a[1].clone()],
        );
    }
    setting.check(
        "add_plain of a constant",
        level,
        |l, a, _| l.add_plain(a, &Values::real(&[0.75]), false),
        |_, a, _| {
            let mut sum = a.to_vec();
            sum[0][0] += BigInt::from((0.75 * own.real()).round() as i128);
            sum
        },
    );
    let plain_scale = Scale::Real(33f64.exp2() + 0.3);
    setting.check(
        "multiply_plain",
        level,
        |l, a, _| l.multiply_plain_at(a, &public, plain_scale),
        |_, a, _| a.iter().map(|a| multiply(a, &encoded(plain_scale))).collect(),
    );
    setting.check("multiply", level, |l, a, b| l.multiply(a, b), |_, a, b| product(a, b));
    setting.check("square", level, |l, a, _| l.square(a), |_, a, _| product(a, a));
    setting.check(
        "relinearise",
        level,
        |l, a, b| {
            let three = l.multiply(a, b)?;
            l.relinearise(&three)
        },
        |keys, a, b| world.relinearise(keys, &product(a, b), &limbs),
    );
    for (name, element) in [
        ("rotate", GaloisElement::rotation(degree, 3)),
        ("rotate back", GaloisElement::rotation(degree, -5)),
        ("conjugate", GaloisElement::conjugation(degree)),
    ] {
        setting.check(
            name,
            level,
            |l, a, _| match name {
                "rotate" => l.rotate(a, 3),
                "rotate back" => l.rotate(a, -5),
                _ => l.conjugate(a),
            },
            |keys, a, _| world.moved(keys, a, element, &limbs),
        );
    }
    setting.check(
        "hoisted rotations",
        level,
        |l, a, b| {
            let mut sum = b.clone();
            for steps in 1..5 {
                let rotated = l.rotate(a, steps)?;
                sum = l.add(&sum, &rotated)?;
            }
            Ok(sum)
        },
        |keys, a, b| {
            (1..5).fold(b.to_vec(), |sum, steps| {
                pairs(&sum, &world.moved(keys, a, GaloisElement::rotation(degree, steps), &limbs), add)
            })
        },
    );
    if level == 0 {
        return;
    }
    setting.check("drop_to", level, |l, a, _| l.drop_to(a, 0), |_, a, _| a.to_vec());
    setting.check("rescale", level, |l, a, _| l.rescale(a), |_, a, _| setting.divided(a, level));
    setting.check(
        "relinearise_and_rescale",
        level,
        |l, a, b| {
            let three = l.multiply(a, b)?;
            l.relinearise_and_rescale(&three)
        },
        |keys, a, b| match world.special() {
            [] => setting.divided(&world.relinearise(keys, &product(a, b), &limbs), level),
            _ => world.relinearise_and_divide(keys, &product(a, b), &limbs, &setting.dropped(level)),
        },
    );
    setting.check(
        "relinearise, then rescale",
        level,
        |l, a, b| {
            let three = l.multiply(a, b)?;
            let two = l.relinearise(&three)?;
            l.rescale(&two)
        },
        |keys, a, b| setting.divided(&world.relinearise(keys, &product(a, b), &limbs), level),
    );
}

#[test]
fn every_operation_with_every_gadget_and_conversion() {
    type Gadget = fn(usize) -> GadgetLiteral;
    let gadgets: [(usize, usize, u32, Gadget); 6] = [
        (4, 1, 2, |q| GadgetLiteral::hybrid(q, 2, 2)),
        (4, 1, 3, |q| GadgetLiteral::hybrid(q, 3, 3)),
        (4, 1, 0, GadgetLiteral::per_limb),
        (4, 1, 1, |q| GadgetLiteral::sub_limb(q, 9, 1)),
        (3, 1, 4, |q| GadgetLiteral::one_digit(q, 4)),
        // Double-prime scales.
        (2, 2, 2, |q| GadgetLiteral::hybrid(q, 2, 2)),
    ];
    for (levels, step, special, gadget) in gadgets {
        let bits = if step == 1 { 40 } else { 26 };
        let mut setting = Setting::new(levels, step, bits, special as usize, &gadget);
        for (conversion, rotation) in CONVERSIONS
            .into_iter()
            .zip([RotationOrder::SwitchFirst, RotationOrder::AutomorphismFirst].into_iter().cycle())
        {
            let own = &mut setting.world.choice;
            (own.conversion, own.division, own.rotation) = (conversion, conversion, rotation);
            for level in [0, levels - 1, levels] {
                operations(&setting, level);
            }
        }
    }
}

fn diagonals(setting: &Setting) -> Diagonals {
    let slots = setting.world.ring.degree().get() / 2;
    let Values::Complex(entries) = vector(slots) else { return Diagonals { by_offset: BTreeMap::new() } };
    let diagonal = |offset: i64| {
        let entries: Vec<Complex> = entries.iter().map(|&entry| entry * Complex::from(1.0 + offset as f64)).collect();
        (offset, Values::Complex(entries.into()))
    };
    Diagonals { by_offset: [-5, -2, 0, 1, 2, 3, 4, 6, 7].into_iter().map(diagonal).collect() }
}

/// Baby step, giant step, and the diagonal's polynomial rotated back by the giant step.
fn terms(setting: &Setting, prepared: &PreparedTransform, encoding: f64) -> Vec<(i64, i64, Poly)> {
    let term = |(offset, values): (i64, Values)| {
        let (giant, baby) = prepared.steps().split(offset);
        let Values::Complex(entries) = values else { panic!("complex entries") };
        let count = entries.len() as i64;
        let rotated: Vec<Complex> = (0..count).map(|at| entries[(at - giant).rem_euclid(count) as usize]).collect();
        (baby, giant, setting.encoder.integers(&Values::Complex(rotated.into()), Scale::Real(encoding)))
    };
    diagonals(setting).by_offset.into_iter().map(term).collect()
}

/// Σ_g rotate(Σ_b diagonal ⊙ rotate(a, b), g), with a ModDown for every rotation, and one rescaling.
fn transform(setting: &Setting, keys: &KeySet, a: &[Poly], level: usize, terms: &[(i64, i64, Poly)]) -> Vec<Poly> {
    let (world, limbs) = (&setting.world, setting.limbs(level));
    let zero = vec![vec![BigInt::ZERO; a[0].len()]; 2];
    let rotate = |of: &[Poly], steps: i64| match steps {
        0 => of.to_vec(),
        _ => world.moved(keys, of, GaloisElement::rotation(world.ring.degree(), steps), &limbs),
    };
    let giants: BTreeSet<i64> = terms.iter().map(|term| term.1).collect();
    let mut total = zero.clone();
    for giant in giants {
        let mut sum = zero.clone();
        for (baby, _, diagonal) in terms.iter().filter(|term| term.1 == giant) {
            for (sum, part) in sum.iter_mut().zip(rotate(a, *baby)) {
                *sum = add(sum, &multiply(&part, diagonal));
            }
        }
        for (total, part) in total.iter_mut().zip(rotate(&sum, giant)) {
            *total = add(total, &part);
        }
    }
    setting.divided(&total, level)
}

/// The same with rotations left over Q and P, and one division by P and the dropped primes at the end.
fn double_hoisted(setting: &Setting, keys: &KeySet, a: &[Poly], level: usize, terms: &[(i64, i64, Poly)]) -> Vec<Poly> {
    let (world, limbs) = (&setting.world, setting.limbs(level));
    let (raised, special) = (world.raised(&limbs), world.product(world.special()));
    let element = |steps: i64| GaloisElement::rotation(world.ring.degree(), steps);
    let switched = |body: &Poly, mask: &Poly, steps: i64| {
        let element = element(steps);
        let [more, mask] =
            world.inner_product(keys, KeyId::Galois(element.value()), &world.digits(mask, &limbs), &raised);
        [automorphism(&add(body, &more), element), automorphism(&mask, element)]
    };
    let times_special = [scale(&a[0], &special), scale(&a[1], &special)];
    let zero = || [vec![BigInt::ZERO; a[0].len()], vec![BigInt::ZERO; a[0].len()]];
    let giants: BTreeSet<i64> = terms.iter().map(|term| term.1).collect();
    let mut total = zero();
    for giant in giants {
        let mut sum = zero();
        for (baby, _, diagonal) in terms.iter().filter(|term| term.1 == giant) {
            let rotated = if *baby == 0 { times_special.clone() } else { switched(&times_special[0], &a[1], *baby) };
            for (sum, part) in sum.iter_mut().zip(rotated) {
                *sum = add(sum, &multiply(&part, diagonal));
            }
        }
        let moved = if giant == 0 {
            sum
        } else {
            let mask = world.divide(&sum[1], &raised, world.special());
            switched(&sum[0], &mask, giant)
        };
        for (total, part) in total.iter_mut().zip(moved) {
            *total = add(total, &part);
        }
    }
    let drop = [setting.dropped(level), world.special().to_vec()].concat();
    total.iter().map(|part| world.divide(part, &raised, &drop)).collect()
}

#[test]
fn linear_transforms_with_every_hoisting() {
    let hoistings = [Hoisting::None, Hoisting::Single, Hoisting::Double];
    let orders = [SumOrder::ByBabySteps, SumOrder::ByGiantSteps];
    let mut setting = Setting::new(3, 1, 40, 2, &|q| GadgetLiteral::hybrid(q, 2, 2));
    let ways = hoistings.into_iter().flat_map(|hoisting| orders.map(|sums| (hoisting, sums)));
    for ((hoisting, sums), conversion) in ways.flat_map(|way| CONVERSIONS.map(|kind| (way, kind))) {
        let own = &mut setting.world.choice;
        (own.hoisting, own.sums, own.conversion, own.division) = (hoisting, sums, conversion, conversion);
        for level in [1, 3] {
            let slots = setting.world.ring.degree().get() / 2;
            let lowering = setting.lowering();
            let prepared =
                PreparedTransform::new(&diagonals(&setting), slots, lowering.step_chooser(level)).expect("a transform");
            assert!(prepared.steps().giants.len() > 1 && prepared.steps().babies.len() > 1, "{:?}", prepared.steps());
            let target = setting.chain.scale(level - 1).real();
            let encoding = target * setting.chain.dropped_product(level) / setting.chain.scale(level).real();
            let terms = terms(&setting, &prepared, encoding);
            setting.check(
                &format!("linear_transform, {hoisting:?}, {sums:?}"),
                level,
                |l, a, _| l.transform(a, &prepared, target),
                |keys, a, _| match hoisting {
                    Hoisting::Double => double_hoisted(&setting, keys, a, level, &terms),
                    _ => transform(&setting, keys, a, level, &terms),
                },
            );
        }
    }
}

/// A shorter diagonal is repeated, and so are sums of those with equal offsets modulo the period.
#[test]
fn short_diagonals_equal_their_repetition() {
    let setting = Setting::new(3, 1, 40, 2, &|q| GadgetLiteral::hybrid(q, 2, 2));
    let (slots, lowering) = (setting.world.ring.degree().get() / 2, setting.lowering());
    let Values::Complex(entries) = vector(slots) else { panic!("complex entries") };
    let period = slots as i64;
    for (lengths, expected) in [([1, 1, 1, 1], 1), ([1, 2, 8, 4], 8), ([4, slots, 1, 2], slots)] {
        let given = [0, 3, 3 - period, -2].into_iter().zip(lengths);
        let prepared = |length: &dyn Fn(usize) -> usize| {
            let one = |(offset, own): (i64, usize)| {
                let repeated = entries[..own].iter().copied().cycle().take(length(own));
                (offset, Values::Complex(repeated.collect()))
            };
            let diagonals = Diagonals { by_offset: given.clone().map(one).collect() };
            PreparedTransform::new(&diagonals, slots, lowering.step_chooser(2)).expect("a transform")
        };
        let (short, whole) = (prepared(&|own| own), prepared(&|_| slots));
        assert_eq!(format!("{short:?}"), format!("{whole:?}"));
        assert_eq!((short.period(), short.diagonals()), (expected, 3));
    }
}

/// From a q_0 of one or two primes to the top of a bootstrapping chain, under the scheme's secret and via a sparse one.
#[test]
fn raising_the_modulus() {
    for first in [1, 2] {
        raising_from(first);
    }
}

fn raising_from(first: usize) {
    let mut setting = Setting::new(9 + first, 1, 45, 3, &|q| GadgetLiteral::hybrid(q, 3, 3));
    let limbs_at: Vec<usize> = (first..=9 + first + 1).collect();
    let of_inputs = setting.chain.scale(0).real();
    setting.chain =
        Chain::ckks(setting.chain.degree(), setting.world.ring.moduli(), &limbs_at, of_inputs).expect("a chain");
    let own = &mut setting.world.choice;
    (own.conversion, own.division) = (Conversion::Centred, Conversion::Centred);
    let world = &setting.world;
    let special = world.special()[..1].to_vec();
    let sparse = BootstrappingSecret::Encapsulated { hamming_weight: 8, special };
    for secret in [BootstrappingSecret::Dense { hamming_weight: 8 }, sparse] {
        for slots in [16, 4] {
            let nodes = Nodes::Integers { radius: 2f64.powi(-8), hamming_weight: 8, floor_log2: -24.0 };
            let largest_message = 2f64.powi(-8);
            let reduction = ReductionLiteral {
                method: Method::Cosine,
                range: 17,
                degree: 30,
                doublings: 3,
                nodes,
                arcsine_degree: 0,
                largest_message,
            };
            let literal = BootstrappingLiteral {
                order: BootstrapOrder::Full,
                slots,
                secret: secret.clone(),
                coefficients_to_slots: 1,
                slots_to_coefficients: 1,
                reduction,
            };
            let plan = Bootstrapping::new(literal, &setting.chain, &world.choice).expect("a bootstrapping");
            let mut lowering = setting.lowering();
            let a = lowering.input("a", 0, 1.0).expect("an input");
            let raised = lowering.raise_modulus(&a, &plan).expect("raised");
            lowering.output("result", &raised);
            let program = lowering.finish().expect("a program");
            let (inputs, keys, found) = world.run(&program, plan.encapsulation());
            let (first, top) = (setting.limbs(0), setting.limbs(plan.top()));
            let lift = |a: &Poly| each(a, |x| world.representative(x, &first, Conversion::Centred));
            let mut parts = match plan.encapsulation() {
                None => inputs.iter().map(lift).collect(),
                Some(gadget) => {
                    let with = [first.clone(), gadget.special.clone()].concat();
                    let digit = |limb| each(&inputs[1], |x| world.representative(x, &[limb], Conversion::Centred));
                    let digits: Vec<_> = first.iter().map(|&limb| digit(limb)).enumerate().collect();
                    let sums = world.inner_product(&keys, KeyId::Encapsulate, &digits, &with);
                    let [more, mask] = sums.map(|sum| world.divide(&sum, &with, &gadget.special));
                    let (body, mask) = (lift(&add(&inputs[0], &more)), lift(&mask));
                    let digits: Vec<_> = (0..world.choice.gadget.digits.len()).map(|row| (row, mask.clone())).collect();
                    let over = world.raised(&top);
                    let sums = world.inner_product(&keys, KeyId::Decapsulate, &digits, &over);
                    let [more, mask] = sums.map(|sum| world.divide(&sum, &over, world.special()));
                    vec![add(&body, &more), mask]
                }
            };
            let (mut steps, mut copies) = (slots, 1.0);
            while steps < world.ring.degree().get() / 2 {
                let element = GaloisElement::rotation(world.ring.degree(), steps as i64);
                let moved = world.moved(&keys, &parts, element, &top);
                parts = parts.iter().zip(&moved).map(|(a, b)| add(a, b)).collect();
                (steps, copies) = (2 * steps, 2.0 * copies);
            }
            // The scale includes the integer factor of the operand.
            let unit = setting.chain.log2_modulus(0).exp2() * 17.0 * copies;
            let factor = BigInt::from((raised.scale.real() / unit).round() as i128);
            let expected: Vec<Poly> = parts.iter().map(|part| scale(part, &factor)).collect();
            assert_equal(&format!("{slots} slots, {secret:?}"), &found, &expected, &world.product(&top));
            assert!(found[0].iter().all(|x| modulo(x, &world.product(&top)) == *x));
        }
    }
}
