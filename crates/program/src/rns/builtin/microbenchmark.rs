//! Microbenchmarks of F1's table 4: kernel programs that repeat a single operation.
//!
//! Each ciphertext goes through rounds of one operation, each on the previous result. Inputs are loaded and results stored only
//! once, so more rounds make memory traffic negligible; the time per additional round is pure compute.
//!
//! Key switches use the sets that table 4 names by log Q: the largest modulus with 128 bits of security at the degree, including one
//! special prime, and one limb per digit. Without the special prime they are F1's listing 1.

use crate::rns::homomorphic::NodeId;
use crate::rns::kernel::{Conversion, KernelBuilder, KernelError, KernelProgram, LimbSet, ValueId, ValueType};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::{Modulus, ModulusError};
use polyfabric_kernels::primes::{PrimeClass, PrimeShortage};
use polyfabric_kernels::{RingDegree, RingDegreeError};
use polyfabric_schemes::rns::{GadgetLiteral, KeyId};
use std::fmt;
use std::str::FromStr;

/// The repeated operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The NTT of both polynomials, alternately forward and inverse.
    Ntt,
    /// An automorphism of both polynomials, without a key switch.
    Automorphism,
    /// The product with another ciphertext, relinearized but not rescaled.
    Multiply,
    Permute,
}

impl Operation {
    /// All operations, by name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("ntt", Self::Ntt),
        ("automorphism", Self::Automorphism),
        ("multiply", Self::Multiply),
        ("permute", Self::Permute),
    ];
}

impl FromStr for Operation {
    type Err = MicrobenchmarkError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|&(_, operation)| operation).ok_or_else(|| MicrobenchmarkError::Name(name.to_owned()))
    }
}

/// Size of a microbenchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// log2 N.
    pub log2_degree: u32,
    /// Limbs per ciphertext.
    pub limbs: usize,
    /// Special limbs of key switches: 0 or 1.
    pub special: usize,
    pub ciphertexts: usize,
    /// Consecutive operations on each ciphertext.
    pub rounds: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log2_degree, limbs, special, .. } = self;
        write!(f, "N = {}, {limbs} + {special} limbs of 32 bits", 1u64 << log2_degree)
    }
}

/// Limit of squared limbs × ciphertexts × rounds, so that compilation fits a common computer.
const LARGEST: usize = 1 << 22;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MicrobenchmarkError {
    #[error("there is no microbenchmark {0:?}; take ntt, automorphism, multiply or permute")]
    Name(String),
    #[error(
        "{ciphertexts} ciphertexts of {limbs} + {special} limbs for {rounds} rounds; take at least 1 of each, at most one special \
         limb, and less than {LARGEST} squared limbs in all"
    )]
    Shape { ciphertexts: usize, limbs: usize, special: usize, rounds: usize },
    #[error(transparent)]
    Degree(#[from] RingDegreeError),
    #[error(transparent)]
    Primes(#[from] PrimeShortage),
    #[error(transparent)]
    Modulus(#[from] ModulusError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// # Errors
/// [`MicrobenchmarkError`].
pub fn build(operation: Operation, shape: Shape) -> Result<KernelProgram, MicrobenchmarkError> {
    let Shape { log2_degree, limbs, special, ciphertexts, rounds } = shape;
    let size = limbs.saturating_mul(limbs).saturating_mul(ciphertexts).saturating_mul(rounds);
    if size == 0 || size > LARGEST || special > 1 || limbs > 64 {
        return Err(MicrobenchmarkError::Shape { ciphertexts, limbs, special, rounds });
    }
    let degree = RingDegree::new(1usize.checked_shl(log2_degree).unwrap_or(0))?;
    let class = PrimeClass::of_degree(degree).and(PrimeClass::ONE_MOD_WORD);
    let primes = class.of_bits(32, limbs + special)?;
    let moduli: Vec<Modulus> = primes.into_iter().map(Modulus::new).collect::<Result<_, _>>()?;
    let name = Operation::ALL.iter().find(|&&(_, known)| known == operation).map_or("", |&(name, _)| name);
    let mut benchmark = Benchmark {
        builder: KernelBuilder::new(name, degree, &moduli)?,
        gadget: GadgetLiteral::hybrid(limbs, 1, special),
        q: LimbSet::range(0..limbs as u16),
    };
    let mut states: Vec<[ValueId; 2]> = Vec::with_capacity(ciphertexts);
    let mut factors = Vec::new();
    for ciphertext in 0..ciphertexts {
        states.push(benchmark.input(&format!("x{ciphertext}"))?);
        if operation == Operation::Multiply {
            factors.push(benchmark.input(&format!("y{ciphertext}"))?);
        }
    }
    let element = GaloisElement::rotation(degree, 1);
    let mut node = 0;
    for round in 0..rounds {
        for (ciphertext, state) in states.iter_mut().enumerate() {
            benchmark.builder.set_origin(Some(NodeId(node)));
            node += 1;
            *state = match operation {
                Operation::Ntt => {
                    let [b, a] = *state;
                    match round % 2 {
                        0 => [benchmark.builder.inverse_ntt(b)?, benchmark.builder.inverse_ntt(a)?],
                        _ => [benchmark.builder.forward_ntt(b)?, benchmark.builder.forward_ntt(a)?],
                    }
                }
                Operation::Automorphism => benchmark.moved(*state, element)?,
                Operation::Permute => {
                    let [b, a] = benchmark.moved(*state, element)?;
                    let [u, v] = benchmark.key_switch(a, KeyId::GaloisAfter(element.value()))?;
                    [benchmark.builder.add(b, u)?, v]
                }
                Operation::Multiply => benchmark.product(*state, factors[ciphertext])?,
            };
        }
    }
    for (ciphertext, state) in states.into_iter().enumerate() {
        for (part, value) in state.into_iter().enumerate() {
            benchmark.builder.output(format!("z{ciphertext}"), part as u16, value);
        }
    }
    Ok(benchmark.builder.finish()?)
}

struct Benchmark {
    builder: KernelBuilder,
    gadget: GadgetLiteral,
    q: LimbSet,
}

impl Benchmark {
    fn input(&mut self, name: &str) -> Result<[ValueId; 2], KernelError> {
        let value = ValueType::evaluation(self.q.clone());
        Ok([self.builder.input(name, 0, value.clone())?, self.builder.input(name, 1, value)?])
    }

    fn moved(&mut self, [b, a]: [ValueId; 2], element: GaloisElement) -> Result<[ValueId; 2], KernelError> {
        Ok([self.builder.automorphism(b, element)?, self.builder.automorphism(a, element)?])
    }

    fn key_switch(&mut self, a: ValueId, key: KeyId) -> Result<[ValueId; 2], KernelError> {
        let special = LimbSet::new(self.gadget.special.iter().copied());
        let all = self.q.union(&special);
        let conversion = Conversion::Approximate;
        let mut digits = Vec::new();
        for digit in &self.gadget.digits {
            digits.push(self.builder.mod_up(a, LimbSet::new(digit.iter().copied()), all.clone(), conversion)?);
        }
        let (u, v) = self.builder.inner_product(key, &digits)?;
        if special.is_empty() {
            return Ok([u, v]);
        }
        let u = self.builder.mod_down(u, special.clone(), conversion, None)?;
        Ok([u, self.builder.mod_down(v, special, conversion, None)?])
    }

    fn product(&mut self, [x0, x1]: [ValueId; 2], [y0, y1]: [ValueId; 2]) -> Result<[ValueId; 2], KernelError> {
        let d0 = self.builder.multiply(x0, y0)?;
        let cross = self.builder.multiply(x0, y1)?;
        let d1 = self.builder.multiply_add(x1, y0, cross)?;
        let d2 = self.builder.multiply(x1, y1)?;
        let [u, v] = self.key_switch(d2, KeyId::Relinearisation)?;
        Ok([self.builder.add(d0, u)?, self.builder.add(d1, v)?])
    }
}

#[cfg(test)]
mod tests {
    //! Are the operations those that table 4 counts?

    use super::*;

    fn ntts(operation: Operation, shape: Shape) -> u64 {
        build(operation, shape).expect("a program").counts().expect("counts").limb_ops.ntts()
    }

    #[test]
    fn a_key_switch_with_a_special_prime_takes_as_many_transforms_as_all_limbs_and_their_square() {
        for limbs in 2..7 {
            let shape = Shape { log2_degree: 10, limbs, special: 1, ciphertexts: 2, rounds: 1 };
            let all = limbs as u64 + 1;
            assert_eq!(ntts(Operation::Permute, shape), 2 * (all * all + all));
            assert_eq!(ntts(Operation::Multiply, shape), 2 * (all * all + all));
            assert_eq!(ntts(Operation::Ntt, shape), 2 * 2 * limbs as u64);
            assert_eq!(ntts(Operation::Permute, Shape { special: 0, ..shape }), 2 * (limbs * limbs) as u64);
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let shape = Shape { log2_degree: 10, limbs: 2, special: 1, ciphertexts: 1, rounds: 1 };
        for wrong in [
            Shape { ciphertexts: 0, ..shape },
            Shape { rounds: usize::MAX, ..shape },
            Shape { log2_degree: 70, ..shape },
            Shape { special: 2, ..shape },
        ] {
            assert!(build(Operation::Permute, wrong).is_err(), "{wrong:?}");
        }
        assert!("transform".parse::<Operation>().is_err());
    }
}
