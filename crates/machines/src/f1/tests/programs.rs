//! Do replayed schedules of kernel programs match the interpreter?

use super::paper;
use crate::f1::action::Timed;
use crate::f1::arithmetic::Units;
use crate::f1::compile::{Scheduler, compile_with};
use crate::f1::expand::Expansion;
use crate::f1::machine::{F1, Geometry};
use crate::f1::translate::{Translation, TranslationError, translate};
use crate::rns::subpolynomials::Subpolynomials;
use crate::rns::test_support::Case;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::kernel::{
    Conversion, KernelBuilder, KernelProgram, LimbSet, PublicPolynomial, ValueId, ValueType,
};
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, KeyId, Ring};
use std::sync::Arc;

const Q: usize = 4;

/// A permutation that starts with the automorphism, and a product, both key-switched by `gadget`, added and
/// rescaled.
pub fn program(ring: &Ring, gadget: &Gadget, conversion: Conversion) -> KernelProgram {
    let mut builder = KernelBuilder::new("permute and multiply", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let special = LimbSet::new(gadget.special().iter().copied());
    let all = q.union(&special);
    let input = |builder: &mut KernelBuilder, name: &str| {
        [0, 1].map(|part| builder.input(name, part, ValueType::evaluation(q.clone())).expect("an input"))
    };
    let key_switch = |builder: &mut KernelBuilder, a: ValueId, key: KeyId| {
        let digit = |limbs: &Vec<_>| builder.mod_up(a, LimbSet::new(limbs.iter().copied()), all.clone(), conversion);
        let digits: Vec<ValueId> = gadget.digits().iter().map(digit).collect::<Result<_, _>>().expect("digits");
        let (b, a) = builder.inner_product(key, &digits).expect("a key");
        [b, a].map(|sum| match special.is_empty() {
            true => sum,
            false => builder.mod_down(sum, special.clone(), conversion, None).expect("a division"),
        })
    };
    let [x0, x1] = input(&mut builder, "x");
    let [y0, y1] = input(&mut builder, "y");
    let element = GaloisElement::rotation(ring.degree(), 3);
    let [b, a] = [x0, x1].map(|part| builder.automorphism(part, element).expect("an automorphism"));
    let [u, v] = key_switch(&mut builder, a, KeyId::GaloisAfter(element.value()));
    let rotated = builder.add(b, u).expect("a sum");
    let d0 = builder.multiply(x0, y0).expect("a product");
    let d1 = builder.multiply(x0, y1).expect("a product");
    let d1 = builder.multiply_add(x1, y0, d1).expect("a product");
    let d2 = builder.multiply(x1, y1).expect("a product");
    let [m0, m1] = key_switch(&mut builder, d2, KeyId::Relinearisation);
    let c0 = builder.add(d0, m0).expect("a sum");
    let c1 = builder.add(d1, m1).expect("a sum");
    for (part, (product, rotated)) in [(c0, rotated), (c1, v)].into_iter().enumerate() {
        let rotated = builder.negate(rotated).expect("a negation");
        let sum = builder.sub(product, rotated).expect("a difference");
        let last = LimbSet::one(*gadget.q().last().expect("a limb"));
        let rescaled = builder.mod_down(sum, last, Conversion::Balanced, None).expect("a rescaling");
        builder.output("z", part as u16, rescaled);
    }
    builder.finish().expect("a program")
}

/// A ring with `moduli` moduli of F1's class.
pub fn ring(degree: usize, moduli: usize) -> Arc<Ring> {
    let degree = RingDegree::new(degree).expect("a degree");
    let class = PrimeClass::of_degree(degree).and(PrimeClass::ONE_MOD_WORD);
    let primes = class.of_bits(32, moduli).expect("primes");
    let moduli: Vec<Modulus> = primes.into_iter().map(|prime| Modulus::new(prime).expect("a modulus")).collect();
    Ring::new(degree, &moduli).expect("a ring")
}

#[test]
fn replay_matches_the_interpreter() {
    check_replay(&F1 { banks: 4, bank_bytes: 128 << 10, ..paper() }, 1);
}

#[test]
fn polynomials_of_several_vectors_are_replayed_too() {
    // Units of 16 lanes process vectors of 256, so a polynomial of 1024 is four vectors; with 32 lanes it is
    // one.
    let small = F1 { banks: 4, bank_bytes: 128 << 10, register_file: 16 << 10, ..paper() };
    check_replay(&F1 { lanes: 16, ..small.clone() }, 4);
    check_replay(&F1 { lanes: 32, register_file: 64 << 10, ..small }, 1);
}

/// Inputs, constants, public polynomials and results in both domains, and lifts that are not reduced
/// afterwards.
fn both_domains(ring: &Ring, limbs: &LimbSet) -> KernelProgram {
    let mut builder = KernelBuilder::new("both", ring.degree(), ring.moduli()).expect("moduli");
    let (values, coefficients) = (ValueType::evaluation(limbs.clone()), ValueType::coefficient(limbs.clone()));
    let x = builder.input("x", 0, values.clone()).expect("an input");
    let c = builder.input("c", 0, coefficients.clone()).expect("an input");
    let public = Arc::new(PublicPolynomial::Narrow((0..ring.degree().get() as i64).map(|i| i * i - 7).collect()));
    let public = [values, coefficients].map(|value| builder.plaintext(&public, value).expect("a polynomial"));
    let product = builder.multiply(x, public[0]).expect("a product");
    let constant = builder.residues(-123_456_789, limbs);
    let shifted = builder.add_constant(product, &constant).expect("a sum");
    let square = builder.multiply_add(shifted, shifted, x).expect("a sum of products");
    builder.output("square", 0, square);
    let back = builder.inverse_ntt(square).expect("coefficients");
    let sum = builder.add(back, c).expect("a sum");
    let sum = builder.add(sum, public[1]).expect("a sum");
    let scaled = builder.scale(sum, &constant).expect("a product");
    builder.output("scaled", 0, scaled);
    let first = builder.select_limbs(scaled, LimbSet::range(0..1)).expect("a limb");
    let rest = limbs.difference(&LimbSet::range(0..1));
    for (number, conversion) in [Conversion::Approximate, Conversion::Balanced].into_iter().enumerate() {
        let lifted = builder.base_conversion(first, rest.clone(), conversion).expect("a lift");
        builder.output("lifted", number as u16, lifted);
        // All readers of this lift reduce it.
        let lifted = builder.base_conversion(first, rest.clone(), conversion).expect("a lift");
        let constant = builder.residues(-98_765_432_123, &rest);
        let multiple = builder.scale(lifted, &constant).expect("a product");
        builder.output("multiple", number as u16, multiple);
        let transformed = builder.forward_ntt(lifted).expect("values");
        builder.output("transformed", number as u16, transformed);
    }
    builder.finish().expect("a program")
}

#[test]
fn values_are_in_the_multipliers_form_and_coefficients_plain() {
    let machine = F1 { banks: 4, bank_bytes: 128 << 10, register_file: 64 << 10, ..paper() };
    // Of several lengths, so that a residue modulo one is rarely a residue modulo another.
    let degree = RingDegree::new(1024).expect("a degree");
    let class = PrimeClass::of_degree(degree).and(PrimeClass::ONE_MOD_WORD);
    let moduli = [32, 30, 28].map(|bits| Modulus::new(class.of_bits(bits, 1).expect("primes")[0]).expect("a modulus"));
    let ring = Ring::new(degree, &moduli).expect("a ring");
    let gadget = Arc::new(Gadget::new(&ring, GadgetLiteral::per_limb(3)).expect("a gadget"));
    let case = Case::new(both_domains(&ring, &LimbSet::range(0..3)), &ring, &gadget, 9);
    for (lanes, subpolynomials) in [(32, 1), (16, 4)] {
        let machine = F1 { lanes, ..machine.clone() };
        let compiled = compile_with(&machine, &case.program, Scheduler::Priority).expect("it compiles");
        assert_eq!(compiled.geometry.subpolynomials().count(), subpolynomials);
        case.check(&compiled.translation, &compiled.actions, &machine, &compiled.geometry);
    }
}

fn check_replay(machine: &F1, subpolynomials: usize) {
    let variants = [
        (GadgetLiteral::per_limb(Q), 0, Conversion::Approximate),
        (GadgetLiteral::per_limb(Q), 0, Conversion::Centred),
        (GadgetLiteral::hybrid(Q, 2, 2), 2, Conversion::Balanced),
        (GadgetLiteral::one_digit(Q, Q), Q, Conversion::Approximate),
    ];
    for (variant, (literal, special, conversion)) in variants.into_iter().enumerate() {
        let ring = ring(1024, Q + special);
        let gadget = Arc::new(Gadget::new(&ring, literal).expect("a gadget"));
        let case = Case::new(program(&ring, &gadget, conversion), &ring, &gadget, variant as u64);
        for scheduler in [Scheduler::Priority, Scheduler::Csr { limit: None }] {
            let compiled = compile_with(machine, &case.program, scheduler).expect("it compiles");
            assert_eq!(compiled.geometry.subpolynomials().count(), subpolynomials);
            case.check(&compiled.translation, &compiled.actions, machine, &compiled.geometry);
        }
    }
}

impl Case {
    /// Audits and replays `actions`.
    pub fn check(&self, translation: &Translation, actions: &[Timed], machine: &F1, geometry: &Geometry) {
        let events = Expansion::new(&translation.graph, actions, machine, geometry).expect("everything in it exists");
        let units = Units::new(machine, geometry, &translation.moduli).expect("moduli of F1's class");
        self.accepts(&events, &translation.labels(geometry.subpolynomials()), &units);
    }
}

#[test]
fn primes_of_another_class_are_rejected() {
    let degree = RingDegree::new(1024).expect("a degree");
    let prime = PrimeClass::of_degree(degree).of_bits(40, 1).expect("a prime")[0];
    let moduli = [Modulus::new(prime).expect("a modulus")];
    let mut builder = KernelBuilder::new("nothing", degree, &moduli).expect("moduli");
    let limbs = LimbSet::range(0..1);
    let x = builder.input("x", 0, ValueType::evaluation(limbs)).expect("an input");
    builder.output("x", 0, x);
    let refused = translate(&builder.finish().expect("a program"), Subpolynomials::new(degree, degree))
        .expect_err("a modulus of 40 bits");
    assert_eq!(refused, TranslationError::Modulus { limb: 0, modulus: prime });
}
