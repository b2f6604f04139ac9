//! A client with slow, simple encoding, and a run from clear inputs to decrypted outputs.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::homomorphic::{Complex, NodeId, Program, Values, evaluate};
use polyfabric_program::rns::kernel::PublicPolynomial;
use polyfabric_program::rns::levels::{Chain, Scale};
use polyfabric_program::rns::lowering::{Lowered, PlaintextEncoder, Port, RnsLowering, Target, lower};
use polyfabric_program::rns::noise::{NodeReport, NoiseModel, NoiseReport};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::random::{Purpose, Seeds};
use polyfabric_schemes::rns::encryption::phase;
use polyfabric_schemes::rns::key_maker::{KeyMaker, NoiseDistribution};
use polyfabric_schemes::rns::secret::{SecretDistribution, SecretKey};
use polyfabric_schemes::rns::{Ciphertext, Domain, Gadget, GadgetLiteral, KeyId, KeySet, Ring, RnsPolynomial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, HashMap};
use std::f64::consts::PI;
use std::sync::Arc;

/// The sum with compensation of the roundings of partial sums (A. Neumaier, 1974).
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (sum, lost) = terms.fold((0.0f64, 0.0f64), |(sum, lost), term| {
        let next = sum + term;
        let (large, small) = if sum.abs() >= term.abs() { (sum, term) } else { (term, sum) };
        (next, lost + ((large - next) + small))
    });
    sum + lost
}

/// exp(iπ·`exponent`/N), reduced to angles of at most π/4: a larger one would be rounded.
fn root(exponent: usize, degree: usize) -> Complex {
    let eighth = degree / 4;
    let (octant, rest) = (exponent / eighth % 8, exponent % eighth);
    let angle = |steps: usize| PI * steps as f64 / degree as f64;
    let (near, far) = (angle(rest), angle(eighth - rest));
    match octant {
        0 => Complex::new(near.cos(), near.sin()),
        1 => Complex::new(far.sin(), far.cos()),
        2 => Complex::new(-near.sin(), near.cos()),
        3 => Complex::new(-far.cos(), far.sin()),
        4 => Complex::new(-near.cos(), -near.sin()),
        5 => Complex::new(-far.sin(), -far.cos()),
        6 => Complex::new(near.sin(), -near.cos()),
        _ => Complex::new(far.cos(), -far.sin()),
    }
}

/// Encodes by definition: the polynomial whose value at ζ^(5^k) is slot k times the scale.
#[derive(Debug)]
pub struct Embedding {
    degree: usize,
    /// cos and sin of π·e/N, ζ = exp(iπ/N).
    roots: Vec<Complex>,
    /// 5^k modulo 2N.
    powers: Vec<usize>,
}

impl Embedding {
    pub fn new(degree: RingDegree) -> Self {
        let degree = degree.get();
        let roots = (0..2 * degree).map(|exponent| root(exponent, degree)).collect();
        let powers = std::iter::successors(Some(1), |power| Some(power * 5 % (2 * degree))).take(degree / 2).collect();
        Self { degree, roots, powers }
    }

    fn root(&self, slot: usize, coefficient: usize) -> Complex {
        self.roots[self.powers[slot] * coefficient % (2 * self.degree)]
    }

    /// m_j = 2/N · Re Σ_k slot_k · ζ^(−j·5^k), times the scale, rounded.
    pub fn coefficients(&self, slots: &[Complex], scale: f64) -> Vec<i128> {
        let slot = |k: usize| slots[k % slots.len()];
        let coefficient = |j: usize| {
            let sum = sum((0..self.degree / 2).map(|k| (slot(k) * self.root(k, j).conjugate()).re));
            (2.0 / self.degree as f64 * sum * scale).round() as i128
        };
        (0..self.degree).map(coefficient).collect()
    }

    pub fn slots(&self, coefficients: &[f64], count: usize) -> Vec<Complex> {
        let slot = |k: usize| {
            let terms = || coefficients.iter().enumerate().map(|(j, &c)| self.root(k, j) * Complex::from(c));
            Complex::new(sum(terms().map(|term| term.re)), sum(terms().map(|term| term.im)))
        };
        (0..count).map(slot).collect()
    }
}

impl PlaintextEncoder for Embedding {
    fn encode(&self, values: &Values, scale: Scale) -> Result<PublicPolynomial, String> {
        let (Values::Complex(slots), Scale::Real(scale)) = (values, scale) else {
            return Err("this encoder is of CKKS".to_owned());
        };
        Ok(PublicPolynomial::Wide(self.coefficients(slots, scale).into()))
    }
}

/// Parameters with their ring and encoder.
pub struct World {
    pub ring: Arc<Ring>,
    pub chain: Chain,
    pub gadget: GadgetLiteral,
    pub embedding: Embedding,
}

/// `count` distinct primes of `bits` bits that are not in `taken`.
fn primes(degree: RingDegree, bits: u32, count: usize, taken: &[Modulus]) -> Vec<Modulus> {
    let found = PrimeClass::of_degree(degree).of_bits(bits, count + taken.len()).expect("primes");
    let moduli = found.into_iter().map(|prime| Modulus::new(prime).expect("a modulus"));
    moduli.filter(|modulus| !taken.contains(modulus)).take(count).collect()
}

impl World {
    /// N = 2^`log2_degree`; level 0 of `base` bits in `base_limbs` limbs, then `levels` levels of `limbs` primes of `bits` bits each, and `special` primes of `special_bits`;
    /// `gadget` maps the limbs of Q and P to a literal.
    pub fn new(
        log2_degree: u32,
        (base_bits, base_limbs): (u32, usize),
        (bits, limbs, levels): (u32, usize, usize),
        (special_bits, special): (u32, usize),
        log2_scale: f64,
        gadget: impl Fn(usize, usize) -> GadgetLiteral,
    ) -> Self {
        let degree = RingDegree::new(1 << log2_degree).expect("a degree");
        let mut moduli = primes(degree, base_bits, base_limbs, &[]);
        moduli.extend(primes(degree, bits, levels * limbs, &moduli));
        let q = moduli.len();
        moduli.extend(primes(degree, special_bits, special, &moduli));
        let limbs_at: Vec<usize> = (0..=levels).map(|level| base_limbs + level * limbs).collect();
        let chain = Chain::ckks(degree, &moduli, &limbs_at, log2_scale.exp2()).expect("a chain");
        let ring = Ring::new(degree, &moduli).expect("a ring");
        Self { ring, chain, gadget: gadget(q, special), embedding: Embedding::new(degree) }
    }

    /// One-limb scales of 40 bits, digits of two limbs.
    pub fn hybrid(levels: usize) -> Self {
        Self::new(10, (50, 1), (40, 1, levels), (50, 2), 40.0, |q, p| GadgetLiteral::hybrid(q, 2, p))
    }

    pub fn model(&self) -> NoiseModel {
        NoiseModel::ternary(self.chain.degree())
    }

    pub fn choice(&self) -> RnsLowering {
        RnsLowering::new(self.gadget.clone())
    }

    pub fn lower(&self, program: &Program, choice: &RnsLowering) -> Lowered {
        let target = Target {
            chain: &self.chain,
            choice,
            model: self.model(),
            encoder: &self.embedding,
            bootstrapping: None,
            observed: true,
        };
        lower(program, &target).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The result of a run.
pub struct Outcome {
    /// The error bounds of all nodes.
    pub report: NoiseReport,
    /// The largest error of a slot relative to the clear program.
    pub measured: BTreeMap<NodeId, f64>,
}

/// The slots of a value.
pub fn complex(values: &Values) -> &[Complex] {
    match values {
        Values::Complex(values) => values,
        Values::Integer(_) => panic!("values of CKKS"),
    }
}

/// Random slots of absolute value up to 1.
pub fn random_slots(count: usize, generator: &mut StdRng) -> Values {
    let slot = |_| {
        let (radius, angle) = (generator.random_range(0.0..1.0f64), generator.random_range(0.0..2.0 * PI));
        Complex::new(radius * angle.cos(), radius * angle.sin())
    };
    Values::Complex((0..count).map(slot).collect())
}

/// Random values for all inputs of `program`.
pub fn random_inputs(program: &Program, seed: u64) -> HashMap<String, Values> {
    let mut generator = StdRng::seed_from_u64(seed);
    program.inputs().map(|(_, name)| (name.to_owned(), random_slots(program.slots(), &mut generator))).collect()
}

fn encrypt(world: &World, port: &Port, values: &Values, secret: &SecretKey, seed: u64) -> Ciphertext {
    let noise = NoiseDistribution::new(3.2, 1);
    let limbs = port.limbs.as_slice();
    let key = polyfabric_schemes::rns::encryption::PublicKey::generate(
        &world.ring,
        limbs,
        secret,
        &noise,
        &Seeds::for_tests(seed + 1),
    );
    let mut ciphertext = key.encrypt_zero(limbs, &noise, &Seeds::for_tests(seed)).expect("limbs of the key");
    let plaintext = PublicPolynomial::Wide(world.embedding.coefficients(complex(values), port.scale.real()).into());
    let mut message = RnsPolynomial::zero(world.ring.degree(), limbs, Domain::Coefficient);
    for (limb, words) in message.iter_mut() {
        plaintext.residues(world.ring.modulus(limb), words);
    }
    message.forward(&world.ring);
    ciphertext.parts[0].add_assign(&world.ring, &message);
    ciphertext
}

/// The phase as integers, centred modulo the product of its limbs: mixed-radix digits d_i with x = Σ d_i·q_0⋯q_(i−1).
fn centred(world: &World, phase: &RnsPolynomial) -> Vec<f64> {
    let moduli: Vec<Modulus> = phase.limbs().iter().map(|&limb| world.ring.modulus(limb)).collect();
    let digits = |residues: &[u64]| -> Vec<u64> {
        let mut digits: Vec<u64> = Vec::new();
        for (&q, &residue) in moduli.iter().zip(residues) {
            // The value of the digits so far modulo q, and the product of their moduli.
            let (mut value, mut product) = (0, 1);
            for (&digit, other) in digits.iter().zip(&moduli) {
                value = q.add(value, q.multiply(digit % q.value(), product));
                product = q.multiply(product, other.value() % q.value());
            }
            let inverse = q.inverse(product).expect("distinct primes");
            digits.push(q.multiply(q.sub(residue, value), inverse));
        }
        digits
    };
    let number = |digits: &[u64]| {
        digits.iter().zip(&moduli).rev().fold(0.0, |sum, (&digit, q)| sum * q.value() as f64 + digit as f64)
    };
    let one = |j: usize| {
        let residues: Vec<u64> = (0..moduli.len()).map(|limb| phase.limb(limb)[j]).collect();
        let negated: Vec<u64> = moduli.iter().zip(&residues).map(|(q, &residue)| q.neg(residue)).collect();
        let (plus, minus) = (digits(&residues), digits(&negated));
        // The smaller of x and Q − x, compared from the highest digit.
        if plus.iter().rev().le(minus.iter().rev()) { number(&plus) } else { -number(&minus) }
    };
    (0..world.ring.degree().get()).map(one).collect()
}

/// Encrypts `inputs`, runs the lowered program with the interpreter, decrypts, and evaluates in the clear.
pub fn run(
    world: &World,
    program: &Program,
    choice: &RnsLowering,
    inputs: &HashMap<String, Values>,
    seed: u64,
) -> Outcome {
    run_with_bad_key(world, program, choice, inputs, seed, None)
}

/// The same; if a key is named, its noise is 2^56 times too large.
pub fn run_with_bad_key(
    world: &World,
    program: &Program,
    choice: &RnsLowering,
    inputs: &HashMap<String, Values>,
    seed: u64,
    bad: Option<KeyId>,
) -> Outcome {
    let lowered = world.lower(program, choice);
    let secret = {
        let seeds = Seeds::for_tests(seed);
        let mut stream = seeds.secret.stream(Purpose::SecretKey, 0);
        SecretKey::generate(world.ring.degree(), SecretDistribution::UniformTernary, &mut stream)
    };
    let gadget = Arc::new(Gadget::new(&world.ring, choice.gadget.clone()).expect("a gadget"));
    let mut keys = KeySet::new(Arc::clone(&world.ring));
    for (index, &id) in lowered.keys.keys().enumerate() {
        let noise = NoiseDistribution::new(3.2, if bad == Some(id) { 1 << 56 } else { 1 });
        let maker = KeyMaker { ring: &world.ring, secret: &secret, sparse: None, noise: &noise };
        keys.insert(maker.for_tests(id, &gadget, seed + 100 + index as u64).expect("a key"));
    }
    let ciphertexts: Vec<Ciphertext> = (1u64..)
        .zip(&lowered.inputs)
        .map(|(index, port)| encrypt(world, port, &inputs[&port.name], &secret, seed + 1000 * index))
        .collect();
    let parts: Vec<&RnsPolynomial> = ciphertexts.iter().flat_map(|ciphertext| &ciphertext.parts).collect();
    let results =
        interpreter::run(&lowered.kernel, &keys, &parts, &NoProgress).unwrap_or_else(|error| panic!("{error}"));
    let mut results = results.into_iter();
    let mut decrypt = |port: &Port| {
        let ciphertext = Ciphertext::new(results.by_ref().take(port.parts).collect());
        assert_eq!(ciphertext.limbs(), port.limbs.as_slice(), "limbs of {}", port.name);
        let coefficients = centred(world, &phase(&world.ring, &ciphertext, &secret));
        let scaled: Vec<f64> = coefficients.iter().map(|c| c / port.scale.real()).collect();
        world.embedding.slots(&scaled, program.slots())
    };
    let outputs: HashMap<_, _> = lowered.outputs.iter().map(|port| (port.name.clone(), decrypt(port))).collect();
    let clear = evaluate(program, inputs).unwrap_or_else(|error| panic!("{error}"));
    let error = |id, found: &[Complex]| largest_difference(complex(clear.values(id)), found);
    let mut measured: BTreeMap<NodeId, f64> =
        lowered.observed.iter().map(|(id, port)| (*id, error(*id, &decrypt(port)))).collect();
    measured.extend(program.outputs().map(|(id, name)| (id, error(id, &outputs[name]))));
    let report = NoiseReport::new(program, &lowered, &world.chain, &world.model());
    Outcome { report, measured }
}

fn largest_difference(expected: &[Complex], found: &[Complex]) -> f64 {
    expected.iter().zip(found).map(|(&a, &b)| (a - b).abs()).fold(0.0, f64::max)
}

impl Outcome {
    /// The first node with a measured error above its bound.
    pub fn first_beyond(&self) -> Option<&NodeReport> {
        let error = |node: &NodeReport| self.measured.get(&node.node).copied();
        self.report.nodes.iter().find(|node| error(node).is_some_and(|error| error.is_nan() || error > node.bound))
    }

    /// Checks that every measured error is within its node's bound; `what` describes the case.
    pub fn expect_bounds(&self, what: &str) {
        if let Some(node) = self.first_beyond() {
            let (error, bound) = (self.measured[&node.node].log2(), node.bound.log2());
            panic!(
                "{what}{}{} {}: an error of 2^{error:.1} above 2^{bound:.1}\n{}",
                node.place, node.op, node.node, self.report
            );
        }
    }

    /// Checks that every node's error is below its bound, and the bound at most `slack` bits above it.
    pub fn check(&self, slack: f64) {
        self.expect_bounds("");
        for node in &self.report.nodes {
            let (Some(&error), bound) = (self.measured.get(&node.node), node.bound) else {
                panic!("{} was not measured", node.node)
            };
            assert!(
                bound.log2() - error.log2() <= slack,
                "{} {}: the bound 2^{:.1} is loose for an error of 2^{:.1}\n{}",
                node.op,
                node.node,
                bound.log2(),
                error.log2(),
                self.report
            );
        }
    }
}
