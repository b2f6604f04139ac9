//! The negacyclic NTT in four steps, forward and inverse in one pipeline (F1, section 5.2).
//!
//! F1 composes N-point transforms, N = E·G with G ≤ E, from E-point ones: E-point transforms of G vectors, one multiplication of every element, a
//! transpose, and G-point transforms (in a second network, with layers bypassed if G < E). The first network is decimation in time, the second
//! decimation in frequency. Only the contents of the twiddle memories select forward or inverse, cyclic or negacyclic.
//!
//! Forward, with j = G·a + b and k = k_1 + E·k_2:
//!
//! X_k = Σ_b ω_G^(k_2·b) · ψ^((2k_1+1)·b) · \[Σ_a x_j · (ψ^G)^((2k_1+1)·a)\]
//!
//! a negacyclic transform (root ψ^G), the multiplication, merged with the second transform's pre-multiplication, and a cyclic transform
//! (ω_G = ψ^(2E)). Inverse, with k = G·a + b and j = j_1 + E·j_2:
//!
//! x_j = Σ_b (ψ^E)^(−(2b+1)·j_2) · ψ^(−(2b+1)·j_1)/N · \[Σ_a X_k · ω_E^(−j_1·a)\]
//!
//! a cyclic transform, the multiplication, merged with its post-multiplication, and an inverse negacyclic transform.
//!
//! # Order
//! In cycle b the unit reads the E elements b, b + G, b + 2G, … of its input ([`FourStep::input_at`]), element G·a + b in lane a. In cycle c it writes
//! places c·E to c·E + E − 1 of its output, where place p has element p / G + E·(p mod G) ([`FourStep::output_at`];
//! [`super::EvaluationOrder::FourStep`]). Both hold in either direction.

use super::order::reverse_bits;
use super::{EvaluationOrder, NttError};
use crate::modular::Modulus;
use crate::primes::{is_prime, primitive_root};
use crate::ring::RingDegree;
use thiserror::Error;

/// Why a shape has no four-step transform.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FourStepError {
    #[error("a unit of {vector} lanes cannot transform degree {degree}; it supports 2x to {vector}x its lanes")]
    Shape { degree: usize, vector: usize },
    #[error(transparent)]
    Ntt(#[from] NttError),
}

/// Contents of the twiddle memories for one direction.
#[derive(Clone, Debug)]
struct Direction {
    /// E factors of the first network.
    first: Vec<u64>,
    /// Factor of element k_1 of vector b, at b·E + k_1.
    middle: Vec<u64>,
    /// G factors of the second network.
    second: Vec<u64>,
}

/// The four-step transform of one modulus, degree and vector length.
#[derive(Clone, Debug)]
pub struct FourStep {
    degree: RingDegree,
    modulus: Modulus,
    vector: usize,
    forward: Direction,
    inverse: Direction,
}

/// ψ_n^rev(i), for a network of n points with ψ_n of order 2n: negacyclic.
fn negacyclic_factors(modulus: Modulus, root: u64, count: usize) -> Vec<u64> {
    let bits = count.ilog2();
    (0..count).map(|number| modulus.power(root, reverse_bits(number, bits) as u64)).collect()
}

/// ω^(rev(i)·n/2m) for group i of m, at m + i, for a network of n points with ω of order n: cyclic.
fn cyclic_factors(modulus: Modulus, root: u64, count: usize) -> Vec<u64> {
    let factor = |number: usize| {
        let bits = number.max(1).ilog2();
        let group = number - (1 << bits).min(number);
        modulus.power(root, (reverse_bits(group, bits) * (count >> (bits + 1))) as u64)
    };
    (0..count).map(factor).collect()
}

/// Decimation in time: natural to bit-reversed order, group i of a stage of m multiplied by factor m + i.
fn decimation_in_time(modulus: Modulus, factors: &[u64], data: &mut [u64]) {
    let mut groups = 1;
    while groups < data.len() {
        let apart = data.len() / (2 * groups);
        for (group, block) in data.chunks_exact_mut(2 * apart).enumerate() {
            let (upper, lower) = block.split_at_mut(apart);
            for (u, v) in upper.iter_mut().zip(lower) {
                let product = modulus.multiply(*v, factors[groups + group]);
                (*u, *v) = (modulus.add(*u, product), modulus.sub(*u, product));
            }
        }
        groups *= 2;
    }
}

/// Decimation in frequency: bit-reversed to natural order, group i of a stage of m multiplied by factor m + i.
fn decimation_in_frequency(modulus: Modulus, factors: &[u64], data: &mut [u64]) {
    let mut groups = data.len() / 2;
    while groups > 0 {
        let apart = data.len() / (2 * groups);
        for (group, block) in data.chunks_exact_mut(2 * apart).enumerate() {
            let (upper, lower) = block.split_at_mut(apart);
            for (u, v) in upper.iter_mut().zip(lower) {
                let difference = modulus.sub(*u, *v);
                (*u, *v) = (modulus.add(*u, *v), modulus.multiply(difference, factors[groups + group]));
            }
        }
        groups /= 2;
    }
}

impl FourStep {
    /// The transform of `degree` modulo `modulus` in a unit of `vector` lanes, E (F1: 128).
    ///
    /// # Errors
    /// [`FourStepError`] unless 2E ≤ N ≤ E², E a power of two, and the modulus is a prime ≡ 1 mod 2N.
    pub fn new(degree: RingDegree, modulus: Modulus, vector: usize) -> Result<Self, FourStepError> {
        let count = degree.get();
        if !vector.is_power_of_two() || count < 2 * vector || count / vector > vector {
            return Err(FourStepError::Shape { degree: count, vector });
        }
        if !is_prime(modulus.value()) {
            return Err(NttError::Composite(modulus.value()).into());
        }
        let missing = NttError::NoRoot { modulus: modulus.value(), degree: count };
        let root = primitive_root(modulus, 2 * count as u64).ok_or(missing)?;
        let backward = modulus.inverse(root).ok_or(missing)?;
        let scale = modulus.inverse(count as u64).ok_or(missing)?;
        let rows = count / vector;
        let power = |base: u64, exponent: usize| modulus.power(base, exponent as u64);
        let middle = |factor: &dyn Fn(usize, usize) -> u64| {
            (0..count).map(|place| factor(place / vector, place % vector)).collect::<Vec<u64>>()
        };
        let forward = Direction {
            first: negacyclic_factors(modulus, power(root, rows), vector),
            middle: middle(&|b, k1| power(root, (2 * k1 + 1) * b)),
            second: cyclic_factors(modulus, power(root, 2 * vector), rows),
        };
        let inverse = Direction {
            first: cyclic_factors(modulus, power(backward, 2 * rows), vector),
            middle: middle(&|b, j1| modulus.multiply(power(backward, (2 * b + 1) * j1), scale)),
            second: negacyclic_factors(modulus, power(backward, vector), rows),
        };
        Ok(Self { degree, modulus, vector, forward, inverse })
    }

    /// The element read in `cycle` by `lane`.
    pub fn input_at(&self, cycle: usize, lane: usize) -> usize {
        lane * (self.degree.get() / self.vector) + cycle
    }

    /// The element written in `cycle` by `lane`.
    pub fn output_at(&self, cycle: usize, lane: usize) -> usize {
        self.order().value_at(self.degree, cycle * self.vector + lane)
    }

    /// The order of the output.
    pub fn order(&self) -> EvaluationOrder {
        EvaluationOrder::FourStep { vector: self.vector }
    }

    /// Coefficients in natural order to values in [`Self::order`]. Both are canonical.
    ///
    /// # Panics
    /// Unless `polynomial` has N words.
    pub fn forward(&self, polynomial: &[u64]) -> Vec<u64> {
        self.pipeline(&self.forward, |element| polynomial[element], polynomial.len())
    }

    /// Values in [`Self::order`] to coefficients, where place p has coefficient p / G + E·(p mod G).
    ///
    /// # Panics
    /// Unless `values` has N words.
    pub fn inverse(&self, values: &[u64]) -> Vec<u64> {
        let rows = self.degree.get() / self.vector;
        // Value k = k_1 + E·k_2 is at place k_1·G + k_2.
        let place = |element: usize| element % self.vector * rows + element / self.vector;
        self.pipeline(&self.inverse, |element| values[place(element)], values.len())
    }

    fn pipeline(&self, memories: &Direction, element: impl Fn(usize) -> u64, length: usize) -> Vec<u64> {
        let count = self.degree.get();
        assert_eq!(length, count, "a polynomial has N coefficients");
        let rows = count / self.vector;
        let (vector_bits, row_bits) = (self.vector.ilog2(), rows.ilog2());
        let mut output = vec![0; count];
        for cycle in 0..rows {
            let mut lanes: Vec<u64> = (0..self.vector).map(|lane| element(self.input_at(cycle, lane))).collect();
            decimation_in_time(self.modulus, &memories.first, &mut lanes);
            for number in 0..self.vector {
                let factor = memories.middle[cycle * self.vector + number];
                let product = self.modulus.multiply(lanes[reverse_bits(number, vector_bits)], factor);
                // The transpose also brings the row into the order of the second network's input.
                output[number * rows + reverse_bits(cycle, row_bits)] = product;
            }
        }
        for row in output.chunks_exact_mut(rows) {
            decimation_in_frequency(self.modulus, &memories.second, row);
        }
        output
    }
}
