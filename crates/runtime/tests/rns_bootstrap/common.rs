//! Keys, encoding and decryption for the tests, built from the schemes crate.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::approximation::embedding::bit_reverse;
use polyfabric_program::rns::homomorphic::{Complex, Values};
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, PublicPolynomial};
use polyfabric_program::rns::levels::{Chain, Scale};
use polyfabric_program::rns::lowering::CiphertextValue;
use polyfabric_program::rns::lowering::bootstrap::Bootstrapping;
use polyfabric_program::rns::lowering::{Hoisting, Lowering, PlaintextEncoder, RnsLowering};
use polyfabric_program::rns::noise::{Encryption, NoiseModel};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::random::{Purpose, Seeds};
use polyfabric_schemes::rns::encryption::{encrypt_zero, phase};
use polyfabric_schemes::rns::key_maker::{KeyMaker, KeyRequest, NoiseDistribution};
use polyfabric_schemes::rns::sample::signed_polynomial;
use polyfabric_schemes::rns::secret::{SecretDistribution, SecretKey};
use polyfabric_schemes::rns::{
    Ciphertext, Domain, Gadget, GadgetLiteral, KeyId, KeySet, KeyStorage, LimbId, Ring, RnsPolynomial,
};
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Encodes slots by the butterflies of the special transform.
#[derive(Debug)]
pub struct Encoder {
    pub degree: RingDegree,
}

impl Encoder {
    fn roots(len: usize) -> Vec<Complex> {
        let mut power = 1;
        let root = |_| {
            let angle = TAU * power as f64 / (4 * len) as f64;
            power = power * 5 % (4 * len);
            Complex::new(angle.cos(), angle.sin())
        };
        (0..len / 2).map(root).collect()
    }

    /// Slots to real coefficients of a polynomial in X^(N/2n).
    pub fn coefficients(&self, slots: &[Complex]) -> Vec<f64> {
        let count = slots.len();
        let mut values = slots.to_vec();
        let mut len = count;
        while len > 1 {
            let (half, roots) = (len / 2, Self::roots(len));
            for block in values.chunks_exact_mut(len) {
                for j in 0..half {
                    let (u, v) = (block[j], block[j + half]);
                    block[j] = (u + v) * 0.5.into();
                    block[j + half] = (u - v) * 0.5.into() * roots[j].conjugate();
                }
            }
            len /= 2;
        }
        bit_reverse(&mut values);
        let gap = self.degree.get() / (2 * count);
        let mut coefficients = vec![0.0; self.degree.get()];
        for (k, value) in values.iter().enumerate() {
            coefficients[k * gap] = value.re;
            coefficients[(k + count) * gap] = value.im;
        }
        coefficients
    }

    /// Coefficients to the first `count` slots; ignores coefficients between multiples of N/2n.
    pub fn slots(&self, coefficients: &[f64], count: usize) -> Vec<Complex> {
        let gap = self.degree.get() / (2 * count);
        let value = |k: usize| Complex::new(coefficients[k * gap], coefficients[(k + count) * gap]);
        let mut values: Vec<Complex> = (0..count).map(value).collect();
        bit_reverse(&mut values);
        let mut len = 2;
        while len <= count {
            let (half, roots) = (len / 2, Self::roots(len));
            for block in values.chunks_exact_mut(len) {
                for j in 0..half {
                    let (u, v) = (block[j], block[j + half] * roots[j]);
                    (block[j], block[j + half]) = (u + v, u - v);
                }
            }
            len *= 2;
        }
        values
    }
}

impl PlaintextEncoder for Encoder {
    fn encode(&self, values: &Values, scale: Scale) -> Result<PublicPolynomial, String> {
        let Values::Complex(values) = values else { return Err("integers".to_owned()) };
        let scaled: Vec<f64> =
            self.coefficients(values).into_iter().map(|value| (value * scale.real()).round()).collect();
        if scaled.iter().any(|value| value.abs() >= 2f64.powi(63)) {
            return Ok(PublicPolynomial::Wide(scaled.into_iter().map(|value| value as i128).collect()));
        }
        Ok(PublicPolynomial::Narrow(scaled.into_iter().map(|value| value as i64).collect()))
    }
}

/// Bits of the primes of each level and of P.
#[derive(Clone)]
pub struct ChainLiteral {
    pub log_degree: u32,
    pub levels: Vec<Vec<u32>>,
    pub special: Vec<u32>,
    pub digit: usize,
    pub scale_log2: f64,
    pub hoisting: Hoisting,
}

impl ChainLiteral {
    /// Limbs of Q.
    pub fn limbs(&self) -> usize {
        self.levels.iter().map(Vec::len).sum()
    }
}

/// A parameter set with its secrets.
pub struct Client {
    pub chain: Chain,
    pub choice: RnsLowering,
    pub ring: Arc<Ring>,
    pub encoder: Encoder,
    pub model: NoiseModel,
    secret: SecretKey,
    sparse: SecretKey,
    noise: NoiseDistribution,
}

impl Client {
    pub fn new(literal: &ChainLiteral, hamming_weight: usize, ephemeral_weight: usize) -> Self {
        let degree = RingDegree::new(1 << literal.log_degree).unwrap();
        let class = PrimeClass::of_degree(degree);
        // Primes of one size are used in order of distance from the power of two.
        let mut pools = HashMap::<u32, Vec<u64>>::new();
        let mut next = |bits: u32| {
            let pool = pools.entry(bits).or_insert_with(|| {
                let mut primes: Vec<u64> = class.around(1 << bits).take(64).collect();
                primes.reverse();
                primes
            });
            Modulus::new(pool.pop().unwrap()).unwrap()
        };
        let mut moduli: Vec<Modulus> = literal.levels.iter().flatten().map(|&bits| next(bits)).collect();
        let q_limbs = moduli.len();
        moduli.extend(literal.special.iter().map(|&bits| next(bits)));
        let mut limbs_at = Vec::new();
        let mut limbs = 0;
        for level in &literal.levels {
            limbs += level.len();
            limbs_at.push(limbs);
        }
        let chain = Chain::ckks(degree, &moduli, &limbs_at, literal.scale_log2.exp2()).unwrap();
        let gadget = GadgetLiteral::hybrid(q_limbs, literal.digit, literal.special.len());
        let choice = RnsLowering {
            hoisting: literal.hoisting,
            conversion: Conversion::Centred,
            division: Conversion::Centred,
            ..RnsLowering::new(gadget)
        };
        let ring = Ring::new(degree, &moduli).unwrap();
        let seeds = Seeds::for_tests(literal.log_degree.into());
        let draw = |weight, row| {
            let mut stream = seeds.secret.stream(Purpose::SecretKey, row);
            SecretKey::generate(degree, SecretDistribution::SparseTernary(weight), &mut stream)
        };
        let model = NoiseModel {
            secret_weight: hamming_weight as f64,
            encryption: Encryption::Secret,
            ..NoiseModel::ternary(degree)
        };
        Self {
            chain,
            choice,
            ring,
            encoder: Encoder { degree },
            model,
            secret: draw(hamming_weight, 0),
            sparse: draw(ephemeral_weight, 1),
            noise: NoiseDistribution::new(3.2, 1),
        }
    }

    /// Bits of the bounds of a value's error: for messages with similar coefficients, and for every message.
    pub fn bounds(&self, value: &CiphertextValue) -> [f64; 2] {
        let bound = value.noise.bound(self.model.tail());
        [bound - value.noise.concentrated, bound].map(|bound| -(bound / value.scale.real()).log2())
    }

    pub fn lowering(&self, name: &str) -> Lowering<'_> {
        Lowering::new(name, &self.chain, self.choice.clone(), self.model, &self.encoder).unwrap()
    }

    /// The keys that `program` reads, restricted to the limbs and rows that it reads.
    pub fn keys(&self, program: &KernelProgram, plan: Option<&Bootstrapping>, storage: KeyStorage) -> KeySet {
        let mut gadgets = HashMap::new();
        let requests: Vec<KeyRequest> = program
            .keys()
            .into_iter()
            .map(|(id, used)| {
                let literal = match (id, plan.and_then(Bootstrapping::encapsulation)) {
                    (KeyId::Encapsulate, Some(literal)) => literal.clone(),
                    _ => {
                        let mut literal = self.choice.gadget.clone();
                        for digit in &mut literal.digits {
                            digit.retain(|&limb| used.limbs.contains(limb));
                        }
                        literal.digits.retain(|digit| !digit.is_empty());
                        literal
                    }
                };
                let gadget = gadgets
                    .entry(literal.clone())
                    .or_insert_with(|| Arc::new(Gadget::new(&self.ring, literal).unwrap()));
                KeyRequest { id, gadget: Arc::clone(gadget), storage }
            })
            .collect();
        let maker = KeyMaker { ring: &self.ring, secret: &self.secret, sparse: Some(&self.sparse), noise: &self.noise };
        maker.key_set(&requests, &polyfabric_schemes::progress::no_progress).unwrap()
    }

    pub fn encrypt(&self, slots: &[Complex], level: usize, seed: u64) -> Ciphertext {
        let scale = self.chain.scale(level).real();
        let coefficients = self.encoder.coefficients(slots);
        let coefficients: Vec<i64> = coefficients.iter().map(|value| (value * scale).round() as i64).collect();
        let limbs: Vec<LimbId> = self.chain.limbs(level).iter().collect();
        let seeds = Seeds::for_tests(seed);
        let mut ciphertext = encrypt_zero(&self.ring, &limbs, &self.secret, &self.noise, &seeds, Purpose::Encryption);
        let message = signed_polynomial(&self.ring, &limbs, Domain::Evaluation, &coefficients);
        ciphertext.parts[0].add_assign(&self.ring, &message);
        ciphertext
    }

    /// The first `count` slots of a message that is small modulo the first prime.
    pub fn decrypt(&self, parts: Vec<RnsPolynomial>, scale: f64, count: usize) -> Vec<Complex> {
        let ciphertext = Ciphertext::new(parts).select(&[LimbId(0)]).unwrap();
        let mut message = phase(&self.ring, &ciphertext, &self.secret);
        message.inverse(&self.ring);
        let modulus = self.ring.modulus(LimbId(0));
        let coefficients: Vec<f64> = message.limb(0).iter().map(|&word| modulus.centre(word) as f64 / scale).collect();
        self.encoder.slots(&coefficients, count)
    }

    pub fn run(&self, program: &KernelProgram, keys: &KeySet, inputs: &[&Ciphertext]) -> Vec<RnsPolynomial> {
        let parts: Vec<&RnsPolynomial> = inputs.iter().flat_map(|ciphertext| &ciphertext.parts).collect();
        let options = ExecutorOptions { compact_plaintexts: true, ..ExecutorOptions::default() };
        Executor::with_options(program, keys, options).unwrap().run(&parts, &NoProgress).unwrap()
    }
}

/// Random slots in the unit square around 0.
pub fn random_slots(count: usize, seed: u64) -> Vec<Complex> {
    let mut state = seed.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / 2f64.powi(52) - 1.0
    };
    (0..count).map(|_| Complex::new(next(), next())).collect()
}

/// −log2 of the errors of real and imaginary parts: the worst, and the mean.
pub fn precision(found: &[Complex], wanted: &[Complex]) -> (f64, f64) {
    assert_eq!(found.len(), wanted.len());
    let errors = found.iter().zip(wanted).flat_map(|(&a, &b)| [(a.re - b.re).abs(), (a.im - b.im).abs()]);
    let errors: Vec<f64> = errors.map(|error| -error.max(1e-18).log2()).collect();
    let worst = errors.iter().copied().fold(f64::INFINITY, f64::min);
    (worst, errors.iter().sum::<f64>() / errors.len() as f64)
}
