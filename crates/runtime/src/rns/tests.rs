//! Does the CPU runtime give the interpreter's words for any program, ring, keys and options?

use super::cpu::{Executor, ExecutorOptions, Prepared, Tuning, buffer_bytes};
use super::{RunError, interpreter};
use crate::NoProgress;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::modular::{Modulus, reference};
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::kernel::{
    Conversion, DigitWindow, KernelBuilder, KernelProgram, LimbSet, OpKind, PublicPolynomial, ValueId, ValueType,
};
use polyfabric_program::rns::text::{Fhetch, FhetchError, Given};
use polyfabric_schemes::random::MaskSeed;
use polyfabric_schemes::rns::{
    Domain, Gadget, GadgetLiteral, KeyId, KeySet, KeyStorage, LimbId, Part, Ring, RnsPolynomial, SwitchingKey,
};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const CONVERSIONS: [Conversion; 3] = [Conversion::Approximate, Conversion::Balanced, Conversion::Centred];

/// A ring of `q` limbs and `p` special ones, of mixed sizes.
pub(crate) fn ring(log2_degree: u32, q: usize, p: usize, generator: &mut StdRng) -> Arc<Ring> {
    let degree = RingDegree::new(1 << log2_degree).unwrap();
    let mut moduli: Vec<Modulus> = Vec::new();
    while moduli.len() < q + p {
        let bits = [30, 40, 46, 50, 60][generator.random_range(0..5)];
        let primes = PrimeClass::of_degree(degree).of_bits(bits, q + p).unwrap();
        let modulus = Modulus::new(primes[generator.random_range(0..primes.len())]).unwrap();
        if !moduli.contains(&modulus) {
            moduli.push(modulus);
        }
    }
    Ring::new(degree, &moduli).unwrap()
}

pub(crate) fn random(ring: &Ring, limbs: &[LimbId], domain: Domain, generator: &mut StdRng) -> RnsPolynomial {
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, domain);
    for (limb, words) in polynomial.iter_mut() {
        let q = ring.modulus(limb).value();
        // Occasional corner cases.
        words.iter_mut().for_each(|word| {
            *word = match generator.random_range(0..20) {
                0 => 0,
                1 => q - 1,
                2 => q / 2,
                _ => generator.random_range(0..q),
            }
        });
    }
    polynomial
}

/// Random words instead of keys, each in another storage; the arithmetic is the same.
pub(crate) fn keys(ring: &Arc<Ring>, literal: GadgetLiteral, ids: &[KeyId], generator: &mut StdRng) -> KeySet {
    let gadget = Arc::new(Gadget::new(ring, literal).unwrap());
    let mut keys = KeySet::new(Arc::clone(ring));
    for &id in ids {
        let mut half = || {
            gadget.terms().iter().map(|_| random(ring, gadget.qp(), Domain::Evaluation, generator)).collect::<Vec<_>>()
        };
        let (bodies, masks) = (half(), half());
        let (ring, gadget) = (Arc::clone(ring), Arc::clone(&gadget));
        let key = if generator.random() {
            SwitchingKey::new(ring, id, gadget, bodies, masks)
        } else {
            SwitchingKey::from_seed(ring, id, gadget, bodies, MaskSeed(generator.random()))
        };
        let storage = KeyStorage { packed: generator.random_bool(0.2), seeded: generator.random() };
        keys.insert(key.stored(storage));
    }
    keys
}

pub(crate) const IDS: [KeyId; 2] = [KeyId::Relinearisation, KeyId::Galois(5)];

/// A random program over a ring whose keys have `rows` rows.
struct Random<'a> {
    builder: KernelBuilder,
    values: Vec<ValueId>,
    all: LimbSet,
    rows: usize,
    generator: &'a mut StdRng,
}

impl Random<'_> {
    fn limbs(&mut self, of: &LimbSet) -> LimbSet {
        let chosen: Vec<LimbId> = of.iter().filter(|_| self.generator.random_bool(0.6)).collect();
        if chosen.is_empty() { of.first(1) } else { LimbSet::new(chosen) }
    }

    fn some(&mut self) -> LimbSet {
        let all = self.all.clone();
        self.limbs(&all)
    }

    fn any(&mut self) -> ValueId {
        // Prefers recent values, so that programs are deep.
        let count = self.values.len();
        let at = self.generator.random_range(0..count).max(self.generator.random_range(0..count));
        self.values[at]
    }

    /// A value of exactly the type of `like`.
    fn like(&mut self, like: ValueId) -> ValueId {
        let value = self.builder.value(like).clone();
        let found: Vec<ValueId> = self.values.iter().copied().filter(|&v| *self.builder.value(v) == value).collect();
        found[self.generator.random_range(0..found.len())]
    }

    fn in_domain(&mut self, domain: Domain) -> ValueId {
        let a = self.any();
        let a = match (self.builder.value(a).domain, domain) {
            (Domain::Coefficient, Domain::Evaluation) => self.builder.forward_ntt(a).unwrap(),
            (Domain::Evaluation, Domain::Coefficient) => self.builder.inverse_ntt(a).unwrap(),
            _ => a,
        };
        self.values.push(a);
        a
    }

    fn constants(&mut self, a: ValueId) -> Vec<u64> {
        let limbs = self.builder.limbs(a).clone();
        let integer: i64 = self.generator.random();
        self.builder.residues(i128::from(integer), &limbs)
    }

    fn op(&mut self) {
        let conversion = CONVERSIONS[self.generator.random_range(0..3)];
        let window = DigitWindow { bits: 9, index: self.generator.random_range(0..3), count: 3 };
        let new = match self.generator.random_range(0..20) {
            0 | 1 => {
                let a = self.any();
                let b = self.like(a);
                if self.generator.random() { self.builder.add(a, b) } else { self.builder.sub(a, b) }
            }
            2 => {
                let a = self.any();
                self.builder.negate(a)
            }
            3 => {
                let a = self.in_domain(Domain::Evaluation);
                let b = self.like(a);
                self.builder.multiply(a, b)
            }
            4 => {
                let a = self.in_domain(Domain::Evaluation);
                let (b, c) = (self.like(a), self.like(a));
                self.builder.multiply_add(a, b, c)
            }
            5 => {
                let a = self.any();
                let factors = self.constants(a);
                self.builder.scale(a, &factors)
            }
            6 => {
                let a = self.any();
                let addends = self.constants(a);
                self.builder.add_constant(a, &addends)
            }
            7 => {
                let a = self.in_domain(Domain::Coefficient);
                self.builder.forward_ntt(a)
            }
            8 => {
                let a = self.in_domain(Domain::Evaluation);
                self.builder.inverse_ntt(a)
            }
            9 => {
                let (a, degree) = (self.any(), self.builder.degree());
                let element = GaloisElement::new(degree, self.generator.random_range(0..degree.get()) * 2 + 1);
                self.builder.automorphism(a, element.unwrap())
            }
            10 => {
                let a = self.any();
                let limbs = self.builder.limbs(a).clone();
                let limbs = self.limbs(&limbs);
                self.builder.select_limbs(a, limbs)
            }
            11 => {
                let a = self.any();
                let limbs = self.builder.limbs(a).clone();
                let some = self.limbs(&limbs);
                let rest = limbs.difference(&some);
                let upper = self.builder.select_limbs(a, some).unwrap();
                if rest.is_empty() {
                    Ok(upper)
                } else {
                    let lower = self.builder.select_limbs(a, rest).unwrap();
                    self.builder.concat(&[lower, upper])
                }
            }
            12 => {
                let a = self.in_domain(Domain::Coefficient);
                let others = self.all.difference(self.builder.limbs(a));
                let to = self.limbs(&others);
                if to.is_empty() { Ok(a) } else { self.builder.base_conversion(a, to, conversion) }
            }
            13 => {
                let a = self.in_domain(Domain::Coefficient);
                let one = self.builder.limbs(a).first(1);
                let a = self.builder.select_limbs(a, one).unwrap();
                let to = self.some();
                self.builder.sub_digit(a, window, to)
            }
            14 | 15 => {
                let a = self.any();
                let limbs = self.builder.limbs(a).clone();
                let digit = self.limbs(&limbs);
                let to = self.some().union(&digit);
                self.builder.mod_up(a, digit, to, conversion)
            }
            16 => {
                let a = self.any();
                let limb = self.builder.limbs(a).as_slice()[0];
                let to = self.some().union(&LimbSet::one(limb));
                self.builder.mod_up_window(a, limb, window, to)
            }
            17 => {
                let a = self.in_domain(Domain::Evaluation);
                let count = self.generator.random_range(1..=self.rows);
                let digits: Vec<ValueId> = (0..count).map(|_| self.like(a)).collect();
                let rows: Vec<u16> = digits.iter().map(|_| self.generator.random_range(0..self.rows as u16)).collect();
                let key = IDS[self.generator.random_range(0..2)];
                let (b, a) = self.builder.inner_product_of_rows(key, &rows, &digits).unwrap();
                self.values.push(b);
                Ok(a)
            }
            18 => {
                let a = self.in_domain(Domain::Evaluation);
                let limbs = self.builder.limbs(a).clone();
                let drop = self.limbs(&limbs);
                let t = [None, Some(65_537), Some(2)][self.generator.random_range(0..3)];
                if drop == limbs { Ok(a) } else { self.builder.mod_down(a, drop, conversion, t) }
            }
            _ => {
                let limbs = self.some();
                if self.generator.random_bool(0.5) {
                    let row = self.generator.random_range(0..self.rows as u16);
                    self.builder.key(IDS[0], row, Part::Mask, limbs)
                } else {
                    let count = self.builder.degree().get();
                    let log2_apart = self.generator.random_range(0..=count.ilog2());
                    let polynomial = in_a_power(count, log2_apart, self.generator);
                    let domain = [Domain::Coefficient, Domain::Evaluation][self.generator.random_range(0..2)];
                    self.builder.plaintext(&Arc::new(polynomial), ValueType { limbs, domain })
                }
            }
        };
        self.values.push(new.unwrap());
    }
}

/// A polynomial in X^(2^`log2_apart`), with one-word or two-word coefficients.
pub(crate) fn in_a_power(count: usize, log2_apart: u32, generator: &mut StdRng) -> PublicPolynomial {
    let (apart, wide) = (1 << log2_apart, generator.random());
    let mut coefficient = |place: usize| match (place.is_multiple_of(apart), wide) {
        (false, _) => 0,
        (true, false) => i128::from(generator.random::<i64>()),
        (true, true) => generator.random::<i128>() >> 1,
    };
    if wide {
        PublicPolynomial::Wide((0..count).map(coefficient).collect())
    } else {
        PublicPolynomial::Narrow((0..count).map(|place| coefficient(place) as i64).collect())
    }
}

pub(crate) fn program(ring: &Ring, rows: usize, ops: usize, generator: &mut StdRng) -> KernelProgram {
    let builder = KernelBuilder::new("random", ring.degree(), ring.moduli()).unwrap();
    let all = LimbSet::new(ring.limb_ids());
    let mut random = Random { builder, values: Vec::new(), all: all.clone(), rows, generator };
    for (part, domain) in [Domain::Evaluation, Domain::Coefficient, Domain::Evaluation].into_iter().enumerate() {
        let input = random.builder.input("x", part as u16, ValueType { limbs: all.clone(), domain }).unwrap();
        random.values.push(input);
    }
    (0..ops).for_each(|_| random.op());
    for part in 0..3 {
        let value = random.any();
        random.builder.output("y", part, value);
        random.builder.output("z", part, value);
    }
    random.builder.finish().unwrap()
}

/// Random inputs of a program.
pub(crate) fn inputs(program: &KernelProgram, ring: &Ring, generator: &mut StdRng) -> Vec<RnsPolynomial> {
    let types = program.inputs().map(|(_, _, _, value)| value);
    types.map(|value| random(ring, value.limbs.as_slice(), value.domain, generator)).collect()
}

/// Rotations of several polynomials by few amounts: inner products that share digits, keys, both or neither, at all depths.
pub(crate) fn rotations(ring: &Ring, gadget: &Gadget, ops: usize, generator: &mut StdRng) -> KernelProgram {
    let mut builder = KernelBuilder::new("rotations", ring.degree(), ring.moduli()).unwrap();
    let all = LimbSet::new(ring.limb_ids());
    let input = |part| builder.input("x", part, ValueType::evaluation(all.clone())).unwrap();
    let mut values: Vec<ValueId> = (0..4).map(input).collect();
    let mut cut: Vec<Vec<ValueId>> = Vec::new();
    for _ in 0..ops {
        if cut.is_empty() || generator.random_bool(0.6) {
            let value = values[generator.random_range(0..values.len())];
            let digit = |limbs: &Vec<LimbId>| {
                let limbs = LimbSet::new(limbs.iter().copied());
                builder.mod_up(value, limbs, all.clone(), Conversion::Balanced).unwrap()
            };
            cut.push(gadget.digits().iter().map(digit).collect());
        }
        let digits = &cut[generator.random_range(0..cut.len())];
        let (b, a) = builder.inner_product(IDS[generator.random_range(0..2)], digits).unwrap();
        let turned = builder.automorphism(a, GaloisElement::rotation(ring.degree(), 1)).unwrap();
        values.push(builder.add(b, turned).unwrap());
    }
    for (part, &value) in values.iter().enumerate().skip(4) {
        builder.output("y", part as u16, value);
    }
    builder.finish().unwrap()
}

fn agree(seed: u64, log2_degree: u32, q: usize, p: usize, ops: usize) -> Result<(), TestCaseError> {
    let generator = &mut StdRng::seed_from_u64(seed);
    let ring = ring(log2_degree, q, p, generator);
    let literal = GadgetLiteral::hybrid(q + p, 2, 0);
    let rows = literal.digits.len();
    let keys = keys(&ring, literal, &IDS, generator);
    let program = if generator.random_bool(0.3) {
        rotations(&ring, keys.get(IDS[0]).unwrap().gadget(), ops.div_ceil(3), generator)
    } else {
        program(&ring, rows, ops, generator)
    };
    let inputs = inputs(&program, &ring, generator);
    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
    let expected = interpreter::run(&program, &keys, &inputs, &NoProgress).unwrap();
    let options = ExecutorOptions { threads: generator.random_range(1..=3), compact_plaintexts: generator.random() };
    let window = [2, 20, 1000][generator.random_range(0..3)];
    let combine_bytes = if generator.random() { 0 } else { usize::MAX };
    let spilling = if generator.random() { 0 } else { usize::MAX };
    let digit_sets = generator.random_range(1..=4);
    let tuning = Tuning { window, combine_bytes, spilling, digit_sets };
    let executor = Executor::with_tuning(&program, &keys, options, tuning).unwrap();
    // Twice: the second run reuses the first one's buffers.
    for run in 0..2 {
        let found = executor.run(&inputs, &NoProgress).unwrap();
        for (output, (found, expected)) in program.outputs.iter().zip(found.iter().zip(&expected)) {
            prop_assert!(found == expected, "output {output:?} of run {run}, {options:?}, {tuning:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_programs(seed: u64, log2_degree in 4u32..=9, q in 1usize..6, p in 1usize..4, ops in 1usize..60) {
        agree(seed, log2_degree, q, p, ops)?;
    }
}

/// Large enough for transforms that are finished region by region.
#[test]
fn random_programs_of_a_larger_ring() {
    for seed in 0..8 {
        agree(seed, 12, 3, 2, 30).unwrap();
    }
}

/// Keys of two owners, each with another ring, also at the same time.
#[test]
fn a_prepared_program_serves_several_keys() {
    let generator = &mut StdRng::seed_from_u64(21);
    let own = |generator: &mut StdRng| {
        let ring = ring(10, 3, 2, &mut StdRng::seed_from_u64(22));
        let keys = keys(&ring, GadgetLiteral::hybrid(5, 2, 0), &IDS, generator);
        (ring, keys)
    };
    let owners = [own(generator), own(generator)];
    let rows = owners[0].1.get(IDS[0]).unwrap().gadget().terms().len();
    let program = program(&owners[0].0, rows, 30, generator);
    let inputs = inputs(&program, &owners[0].0, generator);
    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
    for compact_plaintexts in [false, true] {
        let options = ExecutorOptions { threads: 2, compact_plaintexts };
        let prepared = Arc::new(Prepared::new(&program, &owners[0].0, options).unwrap());
        std::thread::scope(|scope| {
            for (_, keys) in &owners {
                let (prepared, program, inputs) = (&prepared, &program, &inputs);
                scope.spawn(move || {
                    let expected = interpreter::run(program, keys, inputs, &NoProgress).unwrap();
                    for _ in 0..3 {
                        let executor = Executor::of(Arc::clone(prepared), keys).unwrap();
                        assert!(executor.run(inputs, &NoProgress).unwrap() == expected);
                    }
                });
            }
        });
    }
}

/// Of eight polynomials rotated by one amount, four are grouped, so a limb of the key is read twice instead of eight times. Rotations that depend on each other are not
/// grouped, and the maximum number of digit sets limits a group.
#[test]
fn keys_are_read_once_for_several() {
    let generator = &mut StdRng::seed_from_u64(3);
    let ring = ring(12, 4, 1, generator);
    let keys = keys(&ring, GadgetLiteral::hybrid(5, 2, 0), &IDS, generator);
    let gadget = Arc::clone(keys.get(IDS[0]).unwrap().gadget());
    let all = LimbSet::new(ring.limb_ids());
    let turn = |builder: &mut KernelBuilder, value| {
        let digit = |limbs: &Vec<LimbId>| {
            let limbs = LimbSet::new(limbs.iter().copied());
            builder.mod_up(value, limbs, all.clone(), Conversion::Balanced).unwrap()
        };
        let digits: Vec<ValueId> = gadget.digits().iter().map(digit).collect();
        builder.inner_product(IDS[0], &digits).unwrap().0
    };
    let program = |chained: bool| {
        let mut builder = KernelBuilder::new("equal", ring.degree(), ring.moduli()).unwrap();
        let mut value = builder.input("x", 0, ValueType::evaluation(all.clone())).unwrap();
        for part in 0..8 {
            let new = turn(&mut builder, value);
            builder.output("y", part, new);
            value =
                if chained { new } else { builder.input("x", part + 1, ValueType::evaluation(all.clone())).unwrap() };
        }
        builder.output("z", 0, value);
        builder.finish().unwrap()
    };
    let tuning = Tuning { window: 10_000, combine_bytes: usize::MAX, spilling: 0, digit_sets: 4 };
    for (program, digit_sets, times) in
        [(program(false), 4, 2), (program(false), 1, 8), (program(false), 8, 1), (program(true), 4, 8)]
    {
        let inputs = inputs(&program, &ring, generator);
        let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &inputs, &NoProgress).unwrap();
        for threads in [1, 2] {
            let options = ExecutorOptions { threads, compact_plaintexts: false };
            let tuning = Tuning { digit_sets, ..tuning };
            let executor = Executor::with_tuning(&program, &keys, options, tuning).unwrap();
            assert_eq!(executor.key_limbs_read(), times * all.len());
            assert!(executor.run(&inputs, &NoProgress).unwrap() == expected, "{digit_sets} sets, {threads} threads");
        }
    }
}

/// In a ring whose limbs span several chunks of repeated values, with rows of a value from one word to more than a chunk.
#[test]
fn polynomials_in_a_power_of_x_are_kept_small() {
    let generator = &mut StdRng::seed_from_u64(9);
    let ring = ring(12, 2, 1, generator);
    let keys = keys(&ring, GadgetLiteral::hybrid(3, 1, 0), &IDS[..1], generator);
    let (count, limbs) = (ring.degree().get(), LimbSet::range(0..2));
    for log2_apart in 0..=count.ilog2() {
        let mut builder = KernelBuilder::new("p", ring.degree(), ring.moduli()).unwrap();
        let kind = ValueType::evaluation(limbs.clone());
        let [x, y] = [0, 1].map(|part| builder.input("x", part, kind.clone()).unwrap());
        let public = Arc::new(in_a_power(count, log2_apart, generator));
        let p = builder.plaintext(&public, kind.clone()).unwrap();
        let mut results = vec![builder.multiply(x, p).unwrap(), builder.multiply(p, y).unwrap()];
        results.push(builder.multiply(p, p).unwrap());
        results.push(builder.multiply_add(x, p, y).unwrap());
        results.push(builder.multiply_add(p, results[0], results[1]).unwrap());
        results.push(builder.multiply_add(p, p, p).unwrap());
        results.push(builder.add(p, results[4]).unwrap());
        results.push(builder.sub(y, p).unwrap());
        // Overwrites the product's buffer.
        let negated = builder.negate(x).unwrap();
        results.push(builder.multiply(negated, p).unwrap());
        for (part, value) in results.into_iter().enumerate() {
            builder.output("y", part as u16, value);
        }
        let program = builder.finish().unwrap();
        let inputs = inputs(&program, &ring, generator);
        let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &inputs, &NoProgress).unwrap();
        for compact_plaintexts in [false, true] {
            let options = ExecutorOptions { threads: 1, compact_plaintexts };
            let executor = Executor::with_options(&program, &keys, options).unwrap();
            let kept = (count >> log2_apart).max(RingDegree::MIN) * limbs.len() * size_of::<u64>();
            assert_eq!(executor.plaintext_bytes(), if compact_plaintexts { 0 } else { kept });
            let found = executor.run(&inputs, &NoProgress).unwrap();
            assert!(found == expected, "2^{log2_apart} apart, {options:?}");
        }
    }
}

#[test]
fn expanded_programs_are_the_same() {
    for seed in 0..6 {
        let generator = &mut StdRng::seed_from_u64(seed);
        let ring = ring(5, 3, 2, generator);
        let keys = keys(&ring, GadgetLiteral::hybrid(5, 2, 0), &IDS, generator);
        let program = program(&ring, 3, 30, generator);
        let expanded = program.expanded().unwrap();
        let is_composite =
            |kind: &OpKind| matches!(kind, OpKind::ModUp { .. } | OpKind::InnerProduct { .. } | OpKind::ModDown { .. });
        assert!(!expanded.ops.iter().any(|op| is_composite(&op.kind)));
        let inputs = inputs(&program, &ring, generator);
        let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
        let of = |program| Executor::new(program, &keys).unwrap().run(&inputs, &NoProgress).unwrap();
        assert_eq!(of(&program), of(&expanded), "seed {seed}");
    }
}

#[test]
fn mismatches_are_rejected() {
    let generator = &mut StdRng::seed_from_u64(1);
    let ring = ring(4, 2, 1, generator);
    let keys = keys(&ring, GadgetLiteral::hybrid(3, 1, 0), &IDS[..1], generator);
    let mut builder = KernelBuilder::new("p", ring.degree(), ring.moduli()).unwrap();
    let q = LimbSet::range(0..2);
    let x = builder.input("x", 0, ValueType::evaluation(q.clone())).unwrap();
    builder.output("x", 0, x);
    let program = builder.finish().unwrap();
    let executor = Executor::new(&program, &keys).unwrap();
    assert_eq!(executor.buffer_bytes(), buffer_bytes(&program, 1).unwrap());
    let error = executor.run(&[], &NoProgress).unwrap_err();
    assert_eq!(
        error.to_string(),
        "0 polynomials are given, but the program takes 1; give one for each of its inputs, in order"
    );
    let wrong = random(&ring, &[LimbId(0)], Domain::Evaluation, generator);
    assert!(matches!(executor.run(&[&wrong], &NoProgress), Err(RunError::InputType { .. })));
    let mut wild = random(&ring, q.as_slice(), Domain::Evaluation, generator);
    wild.limb_mut(1)[3] = u64::MAX;
    assert!(matches!(executor.run(&[&wild], &NoProgress), Err(RunError::NotCanonical { limb: LimbId(1), .. })));
    // A polynomial found canonical is checked again after any mutable access.
    let changes: [fn(&mut RnsPolynomial); 4] = [
        |x| x.limb_mut(1)[0] = u64::MAX,
        |x| *x.words_mut().last_mut().unwrap() = u64::MAX,
        |x| x.iter_mut().for_each(|(_, words)| words[1] = u64::MAX),
        |x| x.for_each_limb(|_, _, words| words[2] = u64::MAX),
    ];
    for change in changes {
        let mut changed = random(&ring, q.as_slice(), Domain::Evaluation, generator);
        assert!(executor.run(&[&changed], &NoProgress).is_ok());
        assert!(executor.run(&[&changed.clone()], &NoProgress).is_ok());
        change(&mut changed);
        assert!(matches!(executor.run(&[&changed], &NoProgress), Err(RunError::NotCanonical { .. })));
    }
    // Another order of the limbs is the same polynomial.
    let fine = random(&ring, q.as_slice(), Domain::Evaluation, generator);
    let turned = fine.select(&[LimbId(1), LimbId(0)]).unwrap();
    assert_eq!(executor.run(&[&turned], &NoProgress).unwrap(), [fine]);

    let mut builder = KernelBuilder::new("p", ring.degree(), ring.moduli()).unwrap();
    let x = builder.input("x", 0, ValueType::evaluation(q)).unwrap();
    let (b, _) = builder.inner_product_of_rows(KeyId::Galois(5), &[7], &[x]).unwrap();
    builder.output("y", 0, b);
    let program = builder.finish().unwrap();
    assert!(matches!(Executor::new(&program, &keys).unwrap_err(), RunError::Key(_)));
}

/// Executes a `.fhetch` trace instruction by instruction, with the memory at its start.
fn traced(text: &str, ring: &Ring, mut memory: HashMap<u64, Vec<u64>>) -> HashMap<u64, Vec<u64>> {
    let n = ring.degree().get();
    for line in text.lines().filter(|line| line.starts_with("sr_")) {
        let (name, rest) = line.split_once(' ').unwrap();
        let cells: Vec<&str> = rest.split(", ").collect();
        let named = |key: &str| cells.iter().find_map(|cell| cell.strip_prefix(key)?.parse::<u64>().ok());
        let q = ring.modulus(LimbId(named("m=").unwrap() as u16 - 1));
        let mut addresses = cells.iter().filter_map(|cell| cell.strip_prefix('%')?.parse::<u64>().ok());
        let target = addresses.next().unwrap();
        // Residues modulo another prime are taken as they are.
        let read = |address| memory.get(&address).cloned().unwrap_or_else(|| vec![0; n]);
        let operands: Vec<Vec<u64>> = addresses.map(read).collect();
        let a: Vec<u64> = operands[0].iter().map(|&word| word % q.value()).collect();
        let scalar = cells.iter().find_map(|cell| cell.parse::<u64>().ok());
        let ntt = Ntt::<u64>::with_isa(ring.degree(), q, Isa::Portable).unwrap();
        assert!(named("omega=").is_none_or(|root| reference::power(q, root, n as u64) == q.value() - 1), "{line}");
        let with = |word: fn(Modulus, u64, u64) -> u64| match scalar {
            Some(scalar) => a.iter().map(|&x| word(q, x, scalar)).collect(),
            None => a.iter().zip(&operands[1]).map(|(&x, &y)| word(q, x, y)).collect::<Vec<u64>>(),
        };
        let turned = |words: &[u64]| {
            let element = GaloisElement::new(ring.degree(), named("k=").unwrap() as usize).unwrap();
            element.apply_reference(q, words)
        };
        let transformed = |words: &[u64], forward: bool| {
            let mut words = words.to_vec();
            if forward {
                ntt.forward(&mut words)
            } else {
                ntt.inverse(&mut words)
            }
            words
        };
        let made = match name {
            "sr_addp" | "sr_addps" => with(reference::add),
            "sr_subp" => with(reference::sub),
            "sr_mulp" | "sr_mulps" => with(reference::multiply),
            "sr_negp" => a.iter().map(|&x| reference::sub(q, 0, x)).collect(),
            "sr_addps_coeff" => {
                let mut a = a;
                a[0] = reference::add(q, a[0], scalar.unwrap());
                a
            }
            "sr_ntt" => transformed(&a, true),
            "sr_intt" => transformed(&a, false),
            "sr_automorph_coeff" => turned(&a),
            "sr_automorph_eval" => transformed(&turned(&transformed(&a, false)), true),
            _ => panic!("{line}"),
        };
        memory.insert(target, made);
    }
    memory
}

fn traces_agree(seed: u64, log2_degree: u32, q: usize, p: usize, ops: usize) -> Result<(), TestCaseError> {
    let generator = &mut StdRng::seed_from_u64(seed);
    let ring = ring(log2_degree, q, p, generator);
    let literal = GadgetLiteral::hybrid(q + p, 2, 0);
    let rows = literal.digits.len();
    let keys = keys(&ring, literal, &IDS, generator);
    let program = program(&ring, rows, ops, generator);
    let expanded = program.expanded().unwrap();
    let unsaid = expanded.ops.iter().any(|op| match &op.kind {
        OpKind::SubDigit { .. } => true,
        OpKind::BaseConversion { conversion, .. } => {
            *conversion == Conversion::Centred && expanded.value(op.operands[0]).limbs.len() > 1
        }
        _ => false,
    });
    let fhetch = Fhetch::of(&program, 1 << 20);
    prop_assert_eq!(fhetch.is_err(), unsaid);
    let Ok(fhetch) = fhetch else { return Ok(()) };
    let count = fhetch.text.lines().filter(|line| line.starts_with("sr_")).count();
    let again = Fhetch::of(&program, count);
    prop_assert_eq!(again.as_ref(), Ok(&fhetch));
    prop_assert_eq!(Fhetch::of(&program, count - 1), Err(FhetchError::Long { most: count - 1 }));
    let inputs = inputs(&program, &ring, generator);
    let memory = fhetch.given.iter().map(|(given, limb, address)| {
        let words = match given {
            Given::Input { part, .. } => {
                let input = &inputs[usize::from(*part)];
                input.limb(input.position(*limb).unwrap()).to_vec()
            }
            Given::Plaintext { plaintext, evaluation } => {
                let mut words = vec![0; ring.degree().get()];
                program.plaintexts[*plaintext as usize].residues(ring.modulus(*limb), &mut words);
                if *evaluation {
                    Ntt::<u64>::with_isa(ring.degree(), ring.modulus(*limb), Isa::Portable)
                        .unwrap()
                        .forward(&mut words);
                }
                words
            }
            Given::Key { key, row, mask } => {
                let key = keys.get(*key).unwrap();
                let part = if *mask { Part::Mask } else { Part::Body };
                let position = key.limbs().iter().position(|other| other == limb).unwrap();
                key.limb(part, usize::from(*row), position, &mut vec![0; ring.degree().get()]).to_vec()
            }
        };
        (*address, words)
    });
    let memory = traced(&fhetch.text, &ring, memory.collect());
    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
    let expected = interpreter::run(&program, &keys, &inputs, &NoProgress).unwrap();
    for ((name, part, addresses), expected) in fhetch.outputs.iter().zip(&expected) {
        for (position, address) in addresses.iter().enumerate() {
            prop_assert!(memory[address] == expected.limb(position), "limb {position} of {name} part {part}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Each instruction alone, by what it says, gives the interpreter's words. Programs that no instructions say are refused.
    #[test]
    fn random_programs_as_fhetch(seed: u64, log2_degree in 4u32..=8, q in 1usize..5, p in 1usize..4, ops in 1usize..16) {
        traces_agree(seed, log2_degree, q, p, ops)?;
    }
}
