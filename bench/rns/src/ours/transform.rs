//! The transform of one limb.

use super::{OursError, Place, Prepared, timed};
use crate::protocol::{Answer, Chain, Work};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::primes::PrimeClass;
use rand::Rng;

/// Transforms per measured time: a single one is close to the clock's resolution.
const BATCH: usize = 32;

struct Transform {
    ntt: Ntt<u64>,
    polynomial: Vec<u64>,
}

/// Prepares one limb with the largest prime of the first width of `chain`.
pub fn prepare(log_n: u32, chain: &Chain) -> Result<(Box<dyn Prepared>, Answer), OursError> {
    let degree = RingDegree::new(1 << log_n)?;
    let bits = chain.log_q.first().copied().unwrap_or(49);
    let primes = PrimeClass::of_degree(degree).of_bits(bits, 1)?;
    let modulus = Modulus::new(primes[0])?;
    let ntt = Ntt::new(degree, modulus)?;
    let mut random = rand::rng();
    let polynomial = (0..1 << log_n).map(|_| random.random_range(0..modulus.value())).collect();
    let answer = Answer { log_q: (modulus.value() as f64).log2(), ..Answer::default() };
    Ok((Box::new(Transform { ntt, polynomial }), answer))
}

impl Prepared for Transform {
    fn measure(&mut self, op: &str, repetitions: usize, _: &Place) -> Result<Answer, OursError> {
        if op != "ntt" {
            return Err(OursError::UnknownOp { op: op.to_owned(), scheme: "a transform" });
        }
        // The transform works in place on its previous output: its time does not depend on the values.
        let mut values = self.polynomial.clone();
        let ms = timed(repetitions, || (0..BATCH).for_each(|_| self.ntt.forward(&mut values)));
        let mut back = self.polynomial.clone();
        self.ntt.forward(&mut back);
        self.ntt.inverse(&mut back);
        let wrong = back.iter().zip(&self.polynomial).filter(|(a, b)| a != b).count();
        let ms = ms.into_iter().map(|ms| ms / BATCH as f64).collect();
        let bytes = size_of_val(&values[..]);
        let butterflies = u64::from(values.len().ilog2()) * values.len() as u64 / 2;
        let work = Some(Work { butterflies, products: 0, bytes });
        Ok(Answer { ms, error: wrong as f64, work, ..Answer::default() })
    }
}
