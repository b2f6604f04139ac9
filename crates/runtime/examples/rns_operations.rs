//! Times the operations of CKKS and BGV on one core, and compares them with the processor's peak.
//!
//! `cargo run --release -p polyfabric-runtime --example rns_operations [set] [threads] [runs] [seeded]`
//!
//! Sets: `a` (N = 2^14, 8 limbs of 40 bits, dnum 4), `b` (N = 2^16, 25 limbs, dnum 5, P of 6 limbs), `b5` (P of 5, as large as a digit), `bgv12`, `bgv13`,
//! `bgv14`; all by default. "8 multiplications" and "8 equal rotations" are of different ciphertexts with one key; "4 times 4 hoisted" rotates four
//! ciphertexts by the same four amounts. Keys and ciphertexts are random words, because timing does not depend on them. `ms` is the minimum time of many
//! runs, `mean cpu ms` the mean processor time of the thread. The lower bound counts three word products per butterfly, and two per product of base
//! conversions and inner products, at the measured IFMA peak of one core.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::{Modulus, peak};
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::kernel::{
    Conversion, KernelBuilder, KernelError, KernelProgram, LimbSet, ValueId, ValueType,
};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::random::MaskSeed;
use polyfabric_schemes::rns::{
    Domain, Gadget, GadgetLiteral, KeyId, KeySet, KeyStorage, LimbId, Ring, RnsPolynomial, SwitchingKey,
};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

/// A ring and a gadget.
struct Set {
    name: &'static str,
    log2_degree: u32,
    /// Limbs of Q: (bits, count).
    q: (u32, usize),
    /// Limbs of P.
    p: (u32, usize),
    dnum: usize,
    /// t, for BGV.
    plaintext_modulus: Option<u64>,
}

const SETS: [Set; 6] = [
    Set { name: "a", log2_degree: 14, q: (40, 8), p: (37, 3), dnum: 4, plaintext_modulus: None },
    Set { name: "b", log2_degree: 16, q: (50, 25), p: (50, 6), dnum: 5, plaintext_modulus: None },
    Set { name: "b5", log2_degree: 16, q: (49, 25), p: (50, 5), dnum: 5, plaintext_modulus: None },
    Set { name: "bgv12", log2_degree: 12, q: (36, 2), p: (37, 1), dnum: 2, plaintext_modulus: Some(65_537) },
    Set { name: "bgv13", log2_degree: 13, q: (43, 4), p: (46, 1), dnum: 4, plaintext_modulus: Some(65_537) },
    Set { name: "bgv14", log2_degree: 14, q: (48, 6), p: (50, 3), dnum: 3, plaintext_modulus: Some(786_433) },
];

/// Pseudo-random words below q: enough for timing.
fn fill(ring: &Ring, polynomial: &mut RnsPolynomial, seed: &mut u64) {
    for (limb, words) in polynomial.iter_mut() {
        let q = ring.modulus(limb).value();
        for word in words {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *word = (*seed >> 3) % q;
        }
    }
}

struct Bench {
    ring: Arc<Ring>,
    gadget: Arc<Gadget>,
    t: Option<u64>,
    q: LimbSet,
    qp: LimbSet,
    special: LimbSet,
}

type Built = Result<KernelProgram, KernelError>;

impl Bench {
    fn new(set: &Set) -> Result<Self, Box<dyn Error>> {
        let degree = RingDegree::new(1 << set.log2_degree)?;
        let class = PrimeClass::of_degree(degree);
        let (q_count, p_count) = (set.q.1, set.p.1);
        let mut primes = class.of_bits(set.q.0, q_count + if set.q.0 == set.p.0 { p_count } else { 0 })?;
        if set.q.0 != set.p.0 {
            primes.extend(class.of_bits(set.p.0, p_count)?);
        }
        let moduli = primes.into_iter().map(Modulus::new).collect::<Result<Vec<_>, _>>()?;
        let ring = Ring::new(degree, &moduli)?;
        let literal = GadgetLiteral::hybrid(q_count, q_count.div_ceil(set.dnum), p_count);
        let gadget = Arc::new(Gadget::new(&ring, literal)?);
        let (q, all) = (q_count as u16, (q_count + p_count) as u16);
        let (qp, special) = (LimbSet::range(0..all), LimbSet::range(q..all));
        Ok(Self { ring, gadget, t: set.plaintext_modulus, q: LimbSet::range(0..q), qp, special })
    }

    fn builder(&self, name: &str) -> Result<KernelBuilder, KernelError> {
        KernelBuilder::new(name, self.ring.degree(), self.ring.moduli())
    }

    fn input(&self, builder: &mut KernelBuilder, name: &str) -> Result<[ValueId; 2], KernelError> {
        let mut part = |part| builder.input(name, part, ValueType::evaluation(self.q.clone()));
        Ok([part(0)?, part(1)?])
    }

    fn digits(&self, builder: &mut KernelBuilder, x: ValueId) -> Result<Vec<ValueId>, KernelError> {
        let digit = |limbs: &Vec<LimbId>| {
            let limbs = LimbSet::new(limbs.iter().copied());
            builder.mod_up(x, limbs, self.qp.clone(), Conversion::Balanced)
        };
        self.gadget.digits().iter().map(digit).collect()
    }

    /// `count` products: multiply, relinearise and drop the last limb, in one division.
    fn multiply(&self, count: u16) -> Built {
        let mut builder = self.builder("multiply")?;
        // P·d is added before the division.
        let drop = self.special.union(&LimbSet::new(self.q.last()));
        for number in 0..count {
            let mut input = |name| self.input(&mut builder, &format!("{name}{number}"));
            let ([b0, a0], [b1, a1]) = (input("x")?, input("y")?);
            let d0 = builder.multiply(b0, b1)?;
            let cross = builder.multiply(b0, a1)?;
            let d1 = builder.multiply_add(a0, b1, cross)?;
            let d2 = builder.multiply(a0, a1)?;
            let digits = self.digits(&mut builder, d2)?;
            let (b, a) = builder.inner_product(KeyId::Relinearisation, &digits)?;
            for (part, (d, k)) in [(d0, b), (d1, a)].into_iter().enumerate() {
                let p = self.scaled_by_p(&mut builder, d)?;
                let upper = builder.select_limbs(k, self.q.clone())?;
                let sum = builder.add(upper, p)?;
                let special = builder.select_limbs(k, self.special.clone())?;
                let joined = builder.concat(&[sum, special])?;
                let result = builder.mod_down(joined, drop.clone(), Conversion::Balanced, self.t)?;
                builder.output(format!("z{number}"), part as u16, result);
            }
        }
        builder.finish()
    }

    /// P·d, for the limbs of d.
    fn scaled_by_p(&self, builder: &mut KernelBuilder, d: ValueId) -> Result<ValueId, KernelError> {
        let factor = |limb: LimbId| {
            let q = self.ring.modulus(limb);
            self.special.iter().fold(1, |product, p| q.multiply(product, q.reduce(self.ring.modulus(p).value())))
        };
        let factors: Vec<u64> = self.q.iter().map(factor).collect();
        builder.scale(d, &factors)
    }

    /// Rotates each of `count` ciphertexts by each of `elements`.
    fn rotate(&self, count: u16, elements: &[GaloisElement]) -> Built {
        let mut builder = self.builder("rotate")?;
        for turned in 0..count {
            let [b, a] = self.input(&mut builder, &format!("x{turned}"))?;
            let digits = self.digits(&mut builder, a)?;
            for (number, &element) in elements.iter().enumerate() {
                let (k0, k1) = builder.inner_product(KeyId::Galois(element.value()), &digits)?;
                let k0 = builder.mod_down(k0, self.special.clone(), Conversion::Balanced, self.t)?;
                let k1 = builder.mod_down(k1, self.special.clone(), Conversion::Balanced, self.t)?;
                let sum = builder.add(b, k0)?;
                for (part, value) in [sum, k1].into_iter().enumerate() {
                    let value = builder.automorphism(value, element)?;
                    builder.output(format!("y{turned}-{number}"), part as u16, value);
                }
            }
        }
        builder.finish()
    }

    fn keys(&self, ids: impl Iterator<Item = KeyId>, seeded: bool) -> KeySet {
        let mut keys = KeySet::new(Arc::clone(&self.ring));
        let mut seed = 1;
        for id in ids {
            let mut body = |_| {
                let mut body = RnsPolynomial::zero(self.ring.degree(), self.gadget.qp(), Domain::Evaluation);
                fill(&self.ring, &mut body, &mut seed);
                body
            };
            let bodies = self.gadget.terms().iter().map(&mut body).collect();
            let (ring, gadget) = (Arc::clone(&self.ring), Arc::clone(&self.gadget));
            let key = SwitchingKey::from_seed(ring, id, gadget, bodies, MaskSeed([7; 32]));
            keys.insert(key.stored(KeyStorage { seeded, ..KeyStorage::BYTES }));
        }
        keys
    }

    /// Minimum number of word products of the program.
    fn products(&self, program: &KernelProgram) -> Result<f64, KernelError> {
        let ops = program.counts()?.limb_ops;
        let degree = self.ring.degree();
        let butterflies = ops.ntts() as f64 * f64::from(degree.log2()) / 2.0;
        Ok((3.0 * butterflies + 2.0 * (ops.multiplies + ops.multiply_adds) as f64) * degree.get() as f64)
    }
}

/// Processor milliseconds of this thread, where available; excludes other programs.
fn processor_ms() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let threads = arguments.next().map_or(Ok(1), |number| number.parse())?;
    let runs: usize = arguments.next().map_or(Ok(0), |number| number.parse())?;
    let seeded = arguments.next().as_deref() == Some("seeded");
    let rounds = 20_000;
    let per_millisecond = peak::word_products(rounds).then(|| {
        let time = |_| {
            let start = Instant::now();
            peak::word_products(rounds);
            start.elapsed().as_secs_f64() * 1e3
        };
        (rounds * peak::PRODUCTS_PER_ROUND) as f64 / (0..50).map(time).fold(f64::INFINITY, f64::min)
    });
    println!(
        "{:>6} {:>22} {:>9} {:>12} {:>9} {:>12} {:>12} {:>15}",
        "set", "operation", "ms", "mean cpu ms", "of floor", "buffers MiB", "keys MiB", "key limbs read"
    );
    for set in SETS.iter().filter(|set| wanted.is_empty() || set.name == wanted) {
        let bench = Bench::new(set)?;
        let degree = bench.ring.degree();
        let elements: Vec<GaloisElement> = (1..=8).map(|steps| GaloisElement::rotation(degree, steps)).collect();
        let galois = elements.iter().map(|element| KeyId::Galois(element.value()));
        let keys = bench.keys(galois.chain([KeyId::Relinearisation]), seeded);
        let operations = [
            ("multiply", bench.multiply(1)?),
            ("8 multiplications", bench.multiply(8)?),
            ("rotate", bench.rotate(1, &elements[..1])?),
            ("8 equal rotations", bench.rotate(8, &elements[..1])?),
            ("8 hoisted rotations", bench.rotate(1, &elements)?),
            ("4 times 4 hoisted", bench.rotate(4, &elements[..4])?),
        ];
        for (name, program) in operations {
            let executor =
                Executor::with_options(&program, &keys, ExecutorOptions { threads, ..ExecutorOptions::default() })?;
            let mut seed = 7;
            let input = |(_, _, _, value): (&str, u16, ValueId, &ValueType)| {
                let mut polynomial = RnsPolynomial::zero(degree, value.limbs.as_slice(), value.domain);
                fill(&bench.ring, &mut polynomial, &mut seed);
                polynomial
            };
            let inputs: Vec<RnsPolynomial> = program.inputs().map(input).collect();
            let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
            let mut outputs = executor.outputs();
            let mut least = f64::INFINITY;
            executor.run_into(&inputs, &mut outputs, &NoProgress)?;
            let (begin, before) = (Instant::now(), processor_ms());
            let mut done = 0;
            while done < runs || (runs == 0 && (done < 5 || begin.elapsed().as_secs_f64() < 2.0)) {
                let start = Instant::now();
                executor.run_into(&inputs, &mut outputs, &NoProgress)?;
                least = least.min(start.elapsed().as_secs_f64() * 1e3);
                done += 1;
            }
            let cpu = before.zip(processor_ms()).map(|(before, after)| (after - before) / done as f64);
            let cpu = cpu.map_or(String::new(), |cpu| format!("{cpu:12.3}"));
            let share = match per_millisecond {
                Some(peak) => format!("{:5.1} %", 100.0 * bench.products(&program)? / peak / least),
                None => String::new(),
            };
            let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
            println!(
                "{:>6} {name:>22} {least:>9.3} {cpu:>12} {share:>9} {:>12.1} {:>12.1} {:>15}",
                set.name,
                mebibytes(executor.buffer_bytes()),
                mebibytes(program.counts()?.key_bytes as usize),
                executor.key_limbs_read()
            );
        }
    }
    Ok(())
}
