//! Does a homomorphic permutation scheduled by F1's compiler give the interpreter's words if simulated units compute all of it?

use crate::{f1, four_step_ntt, primes, rng};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::{Modulus, PrimeForm};
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_kernels::ntt::four_step::FourStep;
use polyfabric_machines::f1::compile::compile;
use polyfabric_machines::f1::graph::UnitKind;
use polyfabric_machines::f1::machine::{F1, Geometry};
use polyfabric_machines::rns::arithmetic::{Arithmetic, ReplayError, Words};
use polyfabric_machines::rns::function::Function;
use polyfabric_machines::rns::replay::{Given, replay};
use polyfabric_machines::rns::step::Step;
use polyfabric_program::rns::kernel::{Conversion, KernelBuilder, KernelProgram, LimbSet, ValueId, ValueType};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{
    Domain, Gadget, GadgetLiteral, KeyId, KeyMaker, KeySet, LimbId, NoiseDistribution, Ring, RnsPolynomial, SecretKey,
};
use rand::Rng;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

const WIDTH: usize = 32;
const LANES: usize = 8;
const DEGREE: usize = 32;
const CHUNKS: usize = DEGREE / LANES;
const FOUR_STEP: EvaluationOrder = EvaluationOrder::FourStep { vector: LANES };

/// F1's units of eight lanes, simulated.
struct Units {
    geometry: Geometry,
    limbs: Vec<(PrimeForm, FourStep)>,
    multiplier: Simulation,
    adder: Simulation,
    ntt: Simulation,
    /// For coefficients and for values.
    automorphism: [Simulation; 2],
    /// The computed unit kinds.
    seen: RefCell<BTreeSet<&'static str>>,
    /// Whether an adder received residues of another modulus.
    lifted: Cell<bool>,
}

impl Units {
    fn new(geometry: &Geometry, moduli: &[Modulus]) -> Self {
        let vectors = |unit: &str| Bench::new(unit).parameter("LANES", LANES as u64).parameter("CHUNKS", CHUNKS as u64);
        let simulated = |bench: Bench| bench.simulate().expect("a unit");
        let limb = |&modulus: &Modulus| {
            let transform = FourStep::new(geometry.degree, modulus, LANES).expect("a transform");
            (PrimeForm::new(modulus).expect("of the form"), transform)
        };
        Self {
            geometry: geometry.clone(),
            limbs: moduli.iter().map(limb).collect(),
            multiplier: simulated(Bench::new("prime_form_multiplier").parameter("ROUNDS", 2u64)),
            adder: simulated(Bench::new("modular_adder").parameter("WIDTH", WIDTH as u64)),
            ntt: simulated(vectors("four_step_ntt").parameter("TABLES", 4u64)),
            automorphism: [false, true]
                .map(|values| simulated(vectors("automorphism").parameter("IN_FOUR_STEPS", values))),
            seen: RefCell::default(),
            lifted: Cell::default(),
        }
    }

    /// The results of a unit for `words`, of which the first `before` are not operands, with `each` results per word.
    fn run(&self, unit: &Simulation, kind: UnitKind, words: Vec<Bits>, before: usize, each: usize) -> Vec<u64> {
        let latency = self.geometry.latency_of(kind);
        let outputs = unit.run(words.into_iter().map(Some), latency as usize).expect("a run");
        assert_eq!(outputs[0].cycle, before as u64 + latency, "{}", kind.name());
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            (0..each).map(|_| reader.unsigned(WIDTH) as u64).collect::<Vec<_>>()
        };
        outputs.iter().flat_map(|output| read(&output.bytes)).collect()
    }

    /// a·b·2^−32.
    fn products(&self, multiplier: PrimeForm, a: &[u64], b: &[u64]) -> Vec<u64> {
        let high = multiplier.modulus().value() >> PrimeForm::WORD_BITS;
        let word = |(&a, &b)| Bits::new().field(high, WIDTH - 16).fields([a, b], WIDTH);
        self.run(&self.multiplier, UnitKind::Multiply, a.iter().zip(b).map(word).collect(), 0, 1)
    }

    fn sums(&self, modulus: Modulus, subtract: bool, a: &[u64], b: &[u64]) -> Vec<u64> {
        let word = |(&a, &b)| Bits::new().field(u8::from(subtract), 1).fields([modulus.value(), a, b], WIDTH);
        self.run(&self.adder, UnitKind::Add, a.iter().zip(b).map(word).collect(), 0, 1)
    }

    /// Transforms elements in natural order to the unit's output order, after loading one table.
    fn transform(&self, limb: u16, inverse: bool, elements: &[u64]) -> Vec<u64> {
        let (multiplier, transform) = &self.limbs[usize::from(limb)];
        let high = multiplier.modulus().value() >> PrimeForm::WORD_BITS;
        let row_bits = ((CHUNKS + 1).ilog2() + 1) as usize;
        let bus = |row: Option<usize>, words: Vec<u64>| {
            let control = Bits::new().field(u8::from(row.is_some()), 1).field(row.unwrap_or(0) as u64, row_bits);
            let padding = std::iter::repeat_n(0, LANES - words.len());
            control.field(0, 2).field(high, WIDTH - 16).fields(words.into_iter().chain(padding), WIDTH)
        };
        let rows = four_step_ntt::rows(multiplier.modulus(), LANES, CHUNKS, inverse);
        // The networks' factors preserve the words' form. Those in between convert coefficients into Montgomery form, or values out of it.
        let form = |number: usize, factor: u64| match (number < CHUNKS, inverse) {
            (true, false) => multiplier.enter(multiplier.enter(factor)),
            (true, true) => factor,
            (false, _) => multiplier.enter(factor),
        };
        let mut words = Vec::new();
        for (number, row) in rows.into_iter().enumerate() {
            words.push(bus(Some(number), row.into_iter().map(|factor| form(number, factor)).collect()));
        }
        let loaded = words.len();
        words.extend(
            (0..CHUNKS)
                .map(|cycle| bus(None, (0..LANES).map(|lane| elements[transform.input_at(cycle, lane)]).collect())),
        );
        self.run(&self.ntt, UnitKind::Ntt, words, loaded, LANES)
    }

    fn permute(&self, modulus: Modulus, element: GaloisElement, values: bool, vector: &[u64]) -> Vec<u64> {
        let inverse = element.inverse().value();
        let (factor, offset) = if values { (inverse, (inverse - 1) / 2) } else { (element.value(), 0) };
        let bits = DEGREE.ilog2() as usize;
        let control =
            Bits::new().field(factor as u64, bits + 1).field(offset as u64, bits).field(modulus.value(), WIDTH);
        let words = vector.chunks(LANES).map(|words| control.clone().fields(words.iter().copied(), WIDTH)).collect();
        self.run(&self.automorphism[usize::from(values)], UnitKind::Automorphism, words, 0, LANES)
    }
}

impl Units {
    fn function(&self, function: Function, a: &[u64], b: &[u64]) -> Words {
        self.seen.borrow_mut().insert(function.name());
        let (multiplier, _) = self.limbs[usize::from(function.limb())];
        let (modulus, degree) = (multiplier.modulus(), self.geometry.degree);
        let (natural, bit_reversed) = (EvaluationOrder::Natural, EvaluationOrder::BitReversed);
        let same = |value: u64| vec![value; a.len()];
        match function {
            Function::ForwardNtt { limb, .. } => {
                FOUR_STEP.convert(bit_reversed, degree, &self.transform(limb, false, a))
            }
            Function::InverseNtt { limb, .. } => {
                let values = bit_reversed.convert(natural, degree, a);
                FOUR_STEP.convert(natural, degree, &self.transform(limb, true, &values))
            }
            Function::Automorphism { element, values, .. } => {
                let element = GaloisElement::new(degree, element as usize).expect("odd");
                match values {
                    false => self.permute(modulus, element, values, a),
                    true => {
                        let places = bit_reversed.convert(FOUR_STEP, degree, a);
                        FOUR_STEP.convert(bit_reversed, degree, &self.permute(modulus, element, values, &places))
                    }
                }
            }
            Function::Multiply { .. } => self.products(multiplier, a, b),
            Function::MultiplyConstant { constant, .. } => {
                self.products(multiplier, a, &same(multiplier.enter(u64::from(constant))))
            }
            Function::Add { .. } => self.sums(modulus, false, a, b),
            Function::Subtract { .. } => self.sums(modulus, true, a, b),
            Function::Negate { .. } => self.sums(modulus, true, &same(0), a),
            Function::AddConstant { constant, values, .. } => {
                self.lifted.set(self.lifted.get() || a.iter().any(|&word| word >= modulus.value()));
                let constant = u64::from(constant);
                self.sums(modulus, false, a, &same(if values { multiplier.enter(constant) } else { constant }))
            }
        }
        .into()
    }
}

impl Arithmetic for Units {
    fn execute(&self, step: &Step, operands: &[Words]) -> Result<Option<Vec<Words>>, ReplayError> {
        let (Step::One(function), [a, ..]) = (step, operands) else { return Ok(None) };
        Ok(Some(vec![self.function(*function, a, operands.get(1).unwrap_or(a))]))
    }

    // The host's conversion.
    fn enter(&self, limb: LimbId, domain: Domain, residues: Words) -> Words {
        let (multiplier, _) = self.limbs[limb.index()];
        match domain {
            Domain::Evaluation => residues.iter().map(|&residue| multiplier.enter(residue)).collect(),
            Domain::Coefficient => residues,
        }
    }

    fn leave(&self, limb: LimbId, domain: Domain, words: Words) -> Words {
        let (multiplier, _) = self.limbs[limb.index()];
        match domain {
            Domain::Evaluation => words.iter().map(|&word| multiplier.leave(word)).collect(),
            Domain::Coefficient => words,
        }
    }
}

/// A ciphertext rotated by three slots, with one digit per limb and one special limb.
pub(crate) fn rotation(ring: &Ring, gadget: &Gadget) -> (KernelBuilder, [ValueId; 2], ValueId) {
    let mut builder = KernelBuilder::new("permute", ring.degree(), ring.moduli()).expect("moduli");
    let (q, special) = (LimbSet::new(gadget.q().iter().copied()), LimbSet::new(gadget.special().iter().copied()));
    let all = q.union(&special);
    let [x0, x1] = [0, 1].map(|part| builder.input("x", part, ValueType::evaluation(q.clone())).expect("an input"));
    let element = GaloisElement::rotation(ring.degree(), 3);
    let [b, a] = [x0, x1].map(|part| builder.automorphism(part, element).expect("an automorphism"));
    let digit = |limbs: &Vec<_>| {
        builder.mod_up(a, LimbSet::new(limbs.iter().copied()), all.clone(), Conversion::Balanced).expect("a digit")
    };
    let digits: Vec<_> = gadget.digits().iter().map(digit).collect();
    let (u, v) = builder.inner_product(KeyId::GaloisAfter(element.value()), &digits).expect("a key");
    let [u, v] =
        [u, v].map(|sum| builder.mod_down(sum, special.clone(), Conversion::Balanced, None).expect("a division"));
    let rotated = builder.add(b, u).expect("a sum");
    (builder, [rotated, v], x0)
}

/// The rotated ciphertext negated, and the same automorphism of coefficients.
fn permutation(ring: &Ring, gadget: &Gadget) -> KernelProgram {
    let (mut builder, rotated, x0) = rotation(ring, gadget);
    for (part, value) in rotated.into_iter().enumerate() {
        let negated = builder.negate(value).expect("a negation");
        builder.output("z", part as u16, negated);
    }
    let coefficients = builder.inverse_ntt(x0).expect("coefficients");
    let moved = builder.automorphism(coefficients, GaloisElement::rotation(ring.degree(), 3));
    builder.output("moved", 0, moved.expect("an automorphism"));
    builder.finish().expect("a program")
}

/// A program with random inputs, keys, and the interpreter's results.
pub(crate) struct Case {
    pub(crate) program: KernelProgram,
    pub(crate) keys: KeySet,
    pub(crate) inputs: Vec<RnsPolynomial>,
    pub(crate) expected: Vec<RnsPolynomial>,
}

impl Case {
    /// Of a ring with two limbs and a special one.
    pub(crate) fn new(degree: usize, build: impl Fn(&Ring, &Gadget) -> KernelProgram) -> Self {
        let degree = RingDegree::new(degree).expect("a degree");
        // Of different lengths, so that a residue modulo one is rarely one modulo another.
        let moduli = [30, 31, 32].map(|bits| Modulus::new(primes(1 << 15, bits, 1)[0]).expect("a modulus"));
        let ring = Ring::new(degree, &moduli).expect("a ring");
        let gadget = Arc::new(Gadget::new(&ring, GadgetLiteral::hybrid(2, 1, 1)).expect("a gadget"));
        let program = build(&ring, &gadget);
        let secret = SecretKey::from_coefficients(degree, vec![1; degree.get()]).expect("a secret");
        let noise = NoiseDistribution::new(3.2, 1);
        let maker = KeyMaker { ring: &ring, secret: &secret, sparse: None, noise: &noise };
        let mut keys = KeySet::new(ring.clone());
        for key in program.keys().keys() {
            keys.insert(maker.switching_key(*key, &gadget).expect("a key"));
        }
        let mut rng = rng(7);
        let mut random = |value: &ValueType| {
            let mut polynomial = RnsPolynomial::zero(degree, value.limbs.as_slice(), Domain::Evaluation);
            for (limb, words) in polynomial.iter_mut() {
                words.iter_mut().for_each(|word| *word = rng.random_range(0..ring.modulus(limb).value()));
            }
            polynomial
        };
        let inputs: Vec<RnsPolynomial> = program.inputs().map(|(_, _, _, value)| random(value)).collect();
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &given, &NoProgress).expect("it runs");
        Self { program, keys, inputs, expected }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn simulated_units_execute_a_scheduled_permutation() {
    let Case { program, keys, inputs, expected } = Case::new(DEGREE, permutation);
    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
    let machine = F1 { register_file: 16 << 10, bank_bytes: 16 << 10, ..f1(LANES) };
    let accepted = compile(&machine, &program).expect("it compiles");
    let units = Units::new(&accepted.geometry, &accepted.translation.moduli);
    let given = Given { program: &program, keys: &keys, inputs: &inputs };
    let found = replay(&accepted.events(&machine), &accepted.labels(), &units, &given).expect("it runs");
    assert!(found == expected, "simulated units and the interpreter give different words");
    let seen: Vec<&str> = units.seen.into_inner().into_iter().collect();
    assert_eq!(seen, ["add", "addc", "aut", "intt", "mul", "mulc", "neg", "ntt", "sub"]);
    assert!(units.lifted.get());
}
