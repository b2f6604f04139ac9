//! Machines and small programs for several tests.

pub mod case;

use case::listed;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns::map;
use polyfabric_machines::contract::rounds::{RoundsMapper, SimulatedRounds};
use polyfabric_machines::{Machine, MachineError, descriptions, parse};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::{
    Conversion, KernelBuilder, KernelProgram as RnsProgram, LimbSet, OpKind, PublicPolynomial, Round, ValueId,
    ValueType,
};
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, Gate, LookupResult, Program, Range, Table};
use polyfabric_schemes::rns::{
    Domain, Gadget, GadgetLiteral, KeyId, KeyMaker, KeySet, NoiseDistribution, Ring, RnsPolynomial, SecretKey,
};
use std::sync::Arc;

/// Machines that are not from a paper, each a single file.
const OWN: [&str; 3] = [
    include_str!("../../../../examples/own-tfhe-machine.toml"),
    include_str!("../../../../examples/own-rns-machine.toml"),
    include_str!("../../../../examples/own-systolic-machine.toml"),
];

/// The machines of the papers and of the examples.
pub fn all_machines() -> Vec<Machine> {
    let own = OWN.map(|text| parse("own.toml", text).expect("the example is right"));
    descriptions().expect("every file is right").into_iter().chain(own).collect()
}

/// Two layers of gates: sums of several ciphertexts, lookups, key switches.
pub fn gates() -> Program {
    let mut builder = Builder::new("gates").expect("a name");
    let x = builder.input("x", ElementType::Boolean, 5).expect("an input");
    let next = builder.select(x, &[1, 2, 3, 4, 0]).expect("five elements");
    let first = builder.gate(Gate::And, x, next).expect("two vectors");
    let second = builder.gate(Gate::Xor, first, next).expect("two vectors");
    builder.output("y", second).expect("an output");
    builder.finish().expect("a program")
}

/// Six tables of one ciphertext: lookups that read the same value in sequence.
pub fn tables_of_one() -> Program {
    let range = Range::new(0, 3).expect("a range");
    let mut builder = Builder::new("tables-of-one").expect("a name");
    let x = builder.input("x", ElementType::Integer(range), 5).expect("an input");
    let one = builder.select(x, &[4]).expect("an element");
    let tables = (0..6).map(|more| Table::tabulate(range, |value| value + more).expect("a table")).collect();
    let found = builder.lookup_each(one, tables, LookupResult::Integer).expect("lookups");
    builder.output("y", found).expect("an output");
    builder.finish().expect("a program")
}

/// A microbenchmark with some thousand events.
pub const SHAPE: Shape = Shape { log2_degree: 10, limbs: 2, special: 1, ciphertexts: 2, rounds: 2 };

/// Limbs of a ciphertext of [`ring`], and of a digit.
pub const LIMBS: usize = 4;
const DIGIT: usize = 2;

/// Moduli that suit the words and primes of every machine.
pub fn ring() -> (Arc<Ring>, Arc<Gadget>) {
    let shape = Shape { log2_degree: 10, limbs: LIMBS + DIGIT, special: 0, ciphertexts: 1, rounds: 1 };
    let program = build(Operation::Permute, shape).expect("a program");
    let moduli: Vec<Modulus> = program.moduli.to_vec();
    let ring = Ring::new(program.degree, &moduli).expect("a ring");
    let gadget = Gadget::new(&ring, GadgetLiteral::hybrid(LIMBS, DIGIT, DIGIT)).expect("a gadget");
    (ring, Arc::new(gadget))
}

pub fn polynomial(ring: &Ring, seed: i64) -> Arc<PublicPolynomial> {
    let coefficients = (0..ring.degree().get() as i64).map(|place| (place * 37 + seed * 11) % 2001 - 1000);
    Arc::new(PublicPolynomial::Narrow(coefficients.collect()))
}

/// Rotates a ciphertext by `steps` and multiplies it by a public polynomial. Then multiplies one part by the other `products` times.
pub fn body((ring, gadget): (&Ring, &Gadget), steps: i64, products: usize) -> Arc<RnsProgram> {
    let mut builder = KernelBuilder::new(format!("rotate by {steps}"), ring.degree(), ring.moduli()).expect("moduli");
    let limbs = |limbs: &[_]| LimbSet::new(limbs.iter().copied());
    let (q, special) = (limbs(gadget.q()), limbs(gadget.special()));
    let [x0, x1] = [0, 1].map(|part| builder.input("x", part, ValueType::evaluation(q.clone())).expect("an input"));
    let element = GaloisElement::rotation(ring.degree(), steps);
    let raise = |digit: &Vec<_>| builder.mod_up(x1, limbs(digit), q.union(&special), Conversion::Balanced);
    let digits: Vec<ValueId> = gadget.digits().iter().map(raise).collect::<Result<_, _>>().expect("digits");
    let (b, a) = builder.inner_product(KeyId::Galois(element.value()), &digits).expect("a key");
    let [b, a] =
        [b, a].map(|sum| builder.mod_down(sum, special.clone(), Conversion::Balanced, None).expect("a division"));
    let b = builder.add(x0, b).expect("a sum");
    let weights = builder.plaintext(&polynomial(ring, steps), ValueType::evaluation(q)).expect("a polynomial");
    let mut parts: [ValueId; 2] = [b, a].map(|part| {
        let turned = builder.automorphism(part, element).expect("an automorphism");
        builder.multiply(turned, weights).expect("a product")
    });
    for _ in 0..products {
        parts[1] = builder.multiply(parts[1], parts[0]).expect("a product");
    }
    parts.into_iter().enumerate().for_each(|(part, value)| builder.output("y", part as u16, value));
    Arc::new(builder.finish().expect("a program"))
}

/// Conversions to as many limbs as before, and to one limb less.
pub fn changes_of_modulus() -> Arc<RnsProgram> {
    let (ring, gadget) = ring();
    let mut builder = KernelBuilder::new("changes of modulus", ring.degree(), ring.moduli()).expect("moduli");
    let limbs = |limbs: &[_]| LimbSet::new(limbs.iter().copied());
    let (q, special, digit) = (limbs(gadget.q()), limbs(gadget.special()), limbs(&gadget.digits()[0]));
    let [x0, x1] = [0, 1].map(|part| builder.input("x", part, ValueType::evaluation(q.clone())).expect("an input"));
    let raised = builder.mod_up(x1, digit, q.union(&special), Conversion::Balanced).expect("a digit");
    let y1 = builder.mod_down(raised, special, Conversion::Balanced, None).expect("a division");
    let last = LimbSet::one(*q.as_slice().last().expect("limbs"));
    let fewer = builder.mod_down(x0, last.clone(), Conversion::Balanced, None).expect("a division");
    let y0 = builder.mod_up(fewer, q.difference(&last), q, Conversion::Balanced).expect("limbs");
    [y0, y1].into_iter().enumerate().for_each(|(part, value)| builder.output("y", part as u16, value));
    Arc::new(builder.finish().expect("a program"))
}

/// Keys and random inputs for a program.
pub fn keys_and_inputs(program: &RnsProgram, ring: &Arc<Ring>, gadget: &Arc<Gadget>) -> (KeySet, Vec<RnsPolynomial>) {
    let secret = SecretKey::from_coefficients(ring.degree(), vec![1; ring.degree().get()]).expect("a secret");
    let noise = NoiseDistribution::new(3.2, 1);
    let maker = KeyMaker { ring, secret: &secret, sparse: None, noise: &noise };
    let mut keys = KeySet::new(Arc::clone(ring));
    for &key in program.keys().keys() {
        keys.insert(maker.for_tests(key, gadget, 5).expect("a key"));
    }
    let mut state = 1;
    let mut random = |limbs: &LimbSet| {
        let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs.as_slice(), Domain::Evaluation);
        for (limb, words) in polynomial.iter_mut() {
            words.iter_mut().for_each(|word| *word = ring.modulus(limb).reduce(next(&mut state) >> 8));
        }
        polynomial
    };
    let inputs = program.inputs().map(|(.., value)| random(&value.limbs)).collect();
    (keys, inputs)
}

/// The next number of a random sequence.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state
}

/// A program of rounds with different public polynomials.
pub struct Rounds {
    pub bodies: Vec<Arc<RnsProgram>>,
    pub rounds: Vec<Round>,
}

impl Rounds {
    /// Rounds of three bodies in `order`, some with other rotations.
    pub fn new((ring, gadget): (&Ring, &Gadget), order: impl IntoIterator<Item = usize>) -> Self {
        let bodies = [(1, 0), (2, 2), (3, 1)].map(|(steps, products)| body((ring, gadget), steps, products));
        Self { bodies: bodies.into(), rounds: order.into_iter().map(Round::of).collect() }
    }

    /// The program of round `number` alone.
    pub fn alone(&self, ring: &Ring, number: usize) -> RnsProgram {
        let round = &self.rounds[number];
        let mut program = (*self.bodies[round.body]).clone();
        program.plaintexts.fill(polynomial(ring, 100 + number as i64));
        for op in &mut program.ops {
            match &mut op.kind {
                OpKind::Automorphism { element } => {
                    let other = round.elements.iter().find(|(from, _)| from == element);
                    *element = other.map_or(*element, |&(_, to)| to);
                }
                OpKind::InnerProduct { key, .. } | OpKind::Key { key, .. } => *key = round.key(*key),
                _ => {}
            }
        }
        program
    }

    /// The checked schedule of all rounds.
    pub fn map(&self, machine: &Machine) -> Result<SimulatedRounds, Box<MachineError>> {
        let mut mapper = RoundsMapper::new(machine, "rounds", "", &Given::new(), self.rounds.clone())?;
        for body in &self.bodies {
            mapper.body(body)?;
        }
        Ok(mapper.finish()?)
    }

    /// The outputs of a replay of all rounds, each of which takes what the round before gave. Its own program has the schedule of its body.
    pub fn replayed(&self, machine: &Machine, ring: &Arc<Ring>, gadget: &Arc<Gadget>) -> Vec<RnsPolynomial> {
        let (_, mut values) = keys_and_inputs(&self.alone(ring, 0), ring, gadget);
        for (number, round) in self.rounds.iter().enumerate() {
            let program = self.alone(ring, number);
            let [own, of_body] = [&program, &*self.bodies[round.body]]
                .map(|program| map(machine, program, "", &Given::new()).expect("it fits"));
            assert!(listed(&own).0 == listed(&of_body).0);
            let (keys, _) = keys_and_inputs(&program, ring, gadget);
            values = own.replay(&program, &keys, &values.iter().collect::<Vec<_>>()).expect("a legal schedule");
        }
        values
    }
}
