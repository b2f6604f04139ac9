//! The negacyclic NTT in the order of a bidirectional multi-delay commutator (Osiris, section IV-B).
//!
//! A radix-2 pipeline of p lanes has log2 N stages of p/2 butterflies. Data flowing one way are transformed inversely, data flowing the other way
//! forward. The inverse decimates in frequency. The N values enter in natural order: in cycle c lane r gets value c + r·(N/p), p evenly spaced values
//! per cycle, as permuted by an automorphism network of p inputs. Index bits from the highest to the lowest are combined stage by stage:
//!
//! - the first log2 p stages combine lanes of one cycle;
//! - each later stage follows a commutator, which exchanges lane bit 0 with one bit of the cycle number, the highest first. Exchanging bit b needs a
//!   delay of 2^b on every lane; over all stages N − p words.
//!
//! Coefficients leave in [`StreamingNtt::coefficient_at`]'s order, and enter in that order in the forward direction.
//!
//! Each butterfly computes its factor from two tables of about √N entries by one more multiplication (OF-Twiddle). L limbs are interleaved by mapping
//! limb l's cycle c to the unit's cycle c·L + l, which makes the delays L times as long. For N below the unit's largest the first stages are skipped.
//!
//! Osiris's replay has its limbs in this order, and the tests of its units compare with this transform.

use super::order::reverse_bits;
use super::{EvaluationOrder, NttError};
use crate::modular::Modulus;
use crate::primes::{is_prime, primitive_root};
use crate::ring::RingDegree;
use thiserror::Error;

/// Why a shape has no streaming transform.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StreamingError {
    #[error("{lanes} lanes cannot stream degree {degree}; use a power of two from 2 to {degree}")]
    Lanes { degree: usize, lanes: usize },
    #[error(transparent)]
    Ntt(#[from] NttError),
}

/// ψ^e for e < N as the product of two table entries.
#[derive(Clone, Debug)]
struct Twiddles {
    low: Vec<u64>,
    high: Vec<u64>,
}

impl Twiddles {
    fn new(modulus: Modulus, root: u64, degree: RingDegree) -> Self {
        let low = 1usize << degree.log2().div_ceil(2);
        let power = |exponent: usize| modulus.power(root, exponent as u64);
        Self {
            low: (0..low).map(power).collect(),
            high: (0..degree.get() / low).map(|index| power(index * low)).collect(),
        }
    }

    fn power(&self, modulus: Modulus, exponent: usize) -> u64 {
        modulus.multiply(self.low[exponent % self.low.len()], self.high[exponent / self.low.len()])
    }
}

/// The streaming transform of one modulus, degree and number of lanes.
#[derive(Clone, Debug)]
pub struct StreamingNtt {
    degree: RingDegree,
    modulus: Modulus,
    lanes: usize,
    /// Powers of ψ.
    forward: Twiddles,
    /// Powers of ψ^-1.
    inverse: Twiddles,
    /// 1/N.
    scale: u64,
}

impl StreamingNtt {
    /// The transform of `degree` modulo `modulus` on `lanes` lanes, p (Osiris: 512).
    ///
    /// # Errors
    /// [`StreamingError`] unless p is a power of two from 2 to N and the modulus is a prime ≡ 1 mod 2N.
    pub fn new(degree: RingDegree, modulus: Modulus, lanes: usize) -> Result<Self, StreamingError> {
        let count = degree.get();
        if !lanes.is_power_of_two() || !(2..=count).contains(&lanes) {
            return Err(StreamingError::Lanes { degree: count, lanes });
        }
        if !is_prime(modulus.value()) {
            return Err(NttError::Composite(modulus.value()).into());
        }
        let missing = NttError::NoRoot { modulus: modulus.value(), degree: count };
        let root = primitive_root(modulus, 2 * count as u64).ok_or(missing)?;
        let backward = modulus.inverse(root).ok_or(missing)?;
        let scale = modulus.inverse(count as u64).ok_or(missing)?;
        let forward = Twiddles::new(modulus, root, degree);
        let inverse = Twiddles::new(modulus, backward, degree);
        Ok(Self { degree, modulus, lanes, forward, inverse, scale })
    }

    /// Cycles for a polynomial: N/p.
    pub fn cycles(&self) -> usize {
        self.degree.get() / self.lanes
    }

    /// Words of delay in all commutators, for `limbs` interleaved polynomials: limbs·(N − p).
    pub fn buffer_words(&self, limbs: usize) -> usize {
        limbs * (self.degree.get() - self.lanes)
    }

    /// Words of the two factor tables of one direction.
    pub fn twiddle_words(&self) -> usize {
        self.forward.low.len() + self.forward.high.len()
    }

    /// The order of the values: place c·p + r is lane r in cycle c.
    pub fn order(&self) -> EvaluationOrder {
        EvaluationOrder::Streaming { lanes: self.lanes }
    }

    /// The coefficient at place c·p + r of the coefficient stream, lane r in cycle c: coefficient rev(i) for the index
    /// i = (r mod 2) + 2c + floor(r/2)·(2N/p).
    pub fn coefficient_at(&self, place: usize) -> usize {
        reverse_bits(self.index_at(self.degree.log2(), place), self.degree.log2())
    }

    /// log2 of the number of cycles.
    pub fn cycle_bits(&self) -> u32 {
        self.cycles().ilog2()
    }

    /// The index of the element at `place` after `stages` stages of the inverse.
    fn index_at(&self, stages: u32, place: usize) -> usize {
        let (cycle, lane) = (place / self.lanes, place % self.lanes);
        let bits = self.cycle_bits();
        let exchanged = stages.saturating_sub(self.lanes.ilog2());
        // Each of the highest `exchanged` cycle bits has the index bit above its own; lane bit 0 has the lowest of them.
        let kept = bits - exchanged;
        let low = cycle & ((1 << kept) - 1);
        let high = cycle >> kept;
        low | (lane & 1) << kept | high << (kept + 1) | (lane >> 1) << (bits + 1)
    }

    /// Exchanges lane bit 0 with cycle bit `bit`.
    pub fn commute(&self, stream: &[u64], bit: u32) -> Vec<u64> {
        let exchange = |place: usize| {
            let (cycle, lane) = (place / self.lanes, place % self.lanes);
            let (a, b) = (lane & 1, cycle >> bit & 1);
            (cycle ^ (a ^ b) << bit) * self.lanes + (lane ^ a ^ b)
        };
        (0..stream.len()).map(|place| stream[exchange(place)]).collect()
    }

    /// The lane bit combined by inverse stage `stage`, and the cycle bit exchanged before it.
    fn stage(&self, stage: u32) -> (u32, Option<u32>) {
        let lane_bits = self.lanes.ilog2();
        match stage.checked_sub(lane_bits) {
            None => (lane_bits - 1 - stage, None),
            Some(late) => (0, Some(self.cycle_bits() - 1 - late)),
        }
    }

    /// Applies `operate`(u, v, exponent) to the butterflies of inverse stage `stage`.
    ///
    /// The stage splits blocks of M = N/2^stage indices; the pair κ of a block has ψ^(±(2κ+1)·2^stage).
    fn butterflies(&self, stage: u32, stream: &mut [u64], operate: impl Fn(u64, u64, usize) -> (u64, u64)) {
        let (bit, _) = self.stage(stage);
        let half = self.degree.get() >> (stage + 1);
        for place in (0..stream.len()).filter(|place| place >> bit & 1 == 0) {
            let partner = place | 1 << bit;
            let pair = self.index_at(stage + 1, place) % half;
            (stream[place], stream[partner]) = operate(stream[place], stream[partner], (2 * pair + 1) << stage);
        }
    }

    /// Values in [`Self::order`] to coefficients in [`Self::coefficient_at`]'s order. Both are canonical.
    ///
    /// # Panics
    /// Unless `stream` has N words.
    pub fn inverse(&self, stream: &[u64]) -> Vec<u64> {
        assert_eq!(stream.len(), self.degree.get(), "a polynomial has N values");
        let q = self.modulus;
        let mut stream = stream.to_vec();
        for stage in 0..self.degree.log2() {
            if let (_, Some(bit)) = self.stage(stage) {
                stream = self.commute(&stream, bit);
            }
            self.butterflies(stage, &mut stream, |u, v, exponent| {
                (q.add(u, v), q.multiply(q.sub(u, v), self.inverse.power(q, exponent)))
            });
        }
        for word in &mut stream {
            *word = q.multiply(*word, self.scale);
        }
        stream
    }

    /// Coefficients in [`Self::coefficient_at`]'s order to values in [`Self::order`], through the same stages in reverse. Both are canonical.
    ///
    /// # Panics
    /// Unless `stream` has N words.
    pub fn forward(&self, stream: &[u64]) -> Vec<u64> {
        assert_eq!(stream.len(), self.degree.get(), "a polynomial has N coefficients");
        let q = self.modulus;
        let mut stream = stream.to_vec();
        for stage in (0..self.degree.log2()).rev() {
            self.butterflies(stage, &mut stream, |u, v, exponent| {
                let product = q.multiply(v, self.forward.power(q, exponent));
                (q.add(u, product), q.sub(u, product))
            });
            if let (_, Some(bit)) = self.stage(stage) {
                stream = self.commute(&stream, bit);
            }
        }
        stream
    }
}
