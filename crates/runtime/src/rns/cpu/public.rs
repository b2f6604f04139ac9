//! Public polynomials in the form that steps read.
//!
//! A vector that repeats after p slots is encoded as a polynomial in X^(N/2p). Only its transform in the ring of degree 2p is made and stored: its values in the ring of degree
//! N are the same, each N/2p times in a row, and a product repeats them in the first-level cache.

use super::Executor;
use super::execute::{Buffers, Words};
use super::schedule::Placed;
use crate::rns::steps::{Place, PlaintextLimb, Step, StepKind, plaintext, write_plaintext};
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::{cancel, ntt};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::Ring;
use rayon::prelude::*;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Words of a product for which public factors are repeated at a time.
const PIECE: usize = 1024;

/// Limbs of `program`'s public polynomials with each value once, computed on the threads of `pool` or on this one; `apart` as in [`crate::rns::steps::log2_apart`].
pub(super) fn prepared(
    program: &KernelProgram,
    ring: &Ring,
    limbs: &[PlaintextLimb],
    apart: &[u32],
    pool: Option<&rayon::ThreadPool>,
) -> Vec<AlignedTorus<u64>> {
    let prepare = |(&limb, &apart): (&PlaintextLimb, &u32)| {
        cancel::check();
        if apart == 0 {
            return plaintext(program, ring, limb);
        }
        let mut words = AlignedTorus::zeros(program.degree.get() >> apart);
        write_plaintext(program, ring, limb, apart, &mut words);
        words
    };
    match pool {
        Some(pool) => pool.install(|| limbs.par_iter().zip(apart).map(prepare).collect()),
        None => limbs.iter().zip(apart).map(prepare).collect(),
    }
}

/// A limb of a public polynomial made at its use, and its index. It is returned afterwards: the next use is often of the same limb, for the ciphertext's other part, and
/// otherwise reuses its pages.
#[derive(Debug, Default)]
pub(super) struct Made {
    index: Option<u32>,
    words: Option<AlignedTorus<u64>>,
    /// Number of valid words.
    length: usize,
}

/// A [`Made`] in use.
pub(super) struct InUse<'b> {
    made: Made,
    unused: &'b Mutex<Vec<Made>>,
}

impl Deref for InUse<'_> {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        self.made.words.as_deref().map_or(&[], |words| &words[..self.made.length])
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.made));
    }
}

impl Executor {
    /// Limb `index` of the public polynomials, each value once.
    fn public<'b, 'a>(&'b self, index: u32) -> Words<'b, 'a> {
        match self.prepared.plaintexts.get(index as usize) {
            Some(words) => Words::Slice(words),
            None => Words::Made(self.made(index)),
        }
    }

    /// Limb `index` of the public polynomials, all N words.
    pub(super) fn whole<'b, 'a>(&'b self, index: u32) -> Words<'b, 'a> {
        let words = self.public(index);
        if self.prepared.apart[index as usize] == 0 {
            return words;
        }
        let mut whole = AlignedTorus::zeros(self.prepared.program.degree.get());
        ntt::repeat(&words, &mut whole);
        Words::Repeated(whole)
    }

    /// Limb `index` of the public polynomials, reused or made again.
    fn made(&self, index: u32) -> InUse<'_> {
        let mut free = self.prepared.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let same = free.iter().position(|made| made.index == Some(index));
        // Replace the oldest: others may still be wanted.
        let made = if free.is_empty() { Made::default() } else { free.remove(same.unwrap_or(0)) };
        drop(free);
        let mut limb = InUse { made, unused: &self.prepared.unused };
        if limb.made.index != Some(index) {
            // Invalid while it is overwritten.
            limb.made.index = None;
            let (degree, log2_apart) = (self.prepared.program.degree.get(), self.prepared.apart[index as usize]);
            limb.made.length = degree >> log2_apart;
            let words = limb.made.words.get_or_insert_with(|| AlignedTorus::zeros(degree));
            let words = &mut words[..limb.made.length];
            write_plaintext(
                &self.prepared.program,
                &self.prepared.ring,
                self.prepared.steps.plaintexts[index as usize],
                log2_apart,
                words,
            );
            limb.made.index = Some(index);
        }
        limb
    }

    /// The factor of a product that is a public polynomial with repeated values.
    pub(super) fn repeated_factor(&self, step: &Step) -> Option<usize> {
        let repeats =
            |place: &Place| matches!(*place, Place::Plaintext(index) if self.prepared.apart[index as usize] > 0);
        match step.kind {
            StepKind::Multiply | StepKind::MultiplyAdd => step.operands[..2].iter().position(repeats),
            _ => None,
        }
    }

    /// A product with repeated factor `factor`, possibly added to another limb, chunk by chunk.
    ///
    /// # Panics
    /// If the schedule overwrites a factor with the sum.
    pub(super) fn repeated_product(
        &self,
        factor: usize,
        step: &Step,
        placed: &Placed,
        buffers: &Buffers<'_>,
        result: &mut [u64],
    ) {
        let Place::Plaintext(index) = step.operands[factor] else { return };
        let limb = self.prepared.ring.limb(step.limb);
        let values = self.public(index);
        let own = |operand: usize| placed.operands[operand] == Some(placed.results[0]);
        let other = |operand: usize| (!own(operand)).then(|| self.words(step, placed, buffers, operand));
        let (a, addend) = (other(1 - factor), (step.operands.len() > 2).then(|| other(2)));
        let mut piece = [0; PIECE];
        for (number, result) in result.chunks_mut(PIECE).enumerate() {
            let at = number * PIECE..number * PIECE + result.len();
            let factors = &mut piece[..result.len()];
            // A value's row may be longer than the chunk.
            let log2 = self.prepared.apart[index as usize];
            ntt::repeat(&values[at.start >> log2..((at.end - 1) >> log2) + 1], factors);
            let a = a.as_ref().map(|a| &a[at.clone()]);
            match (a, &addend) {
                (Some(a), None) => limb.multiply(result, a, factors),
                (None, None) => limb.multiply_assign(result, factors),
                (Some(a), Some(Some(c))) => limb.multiply_add(result, a, factors, &c[at]),
                (Some(a), Some(None)) => limb.multiply_add_assign(result, a, factors),
                (None, Some(_)) => unreachable!("a sum overwrites only its addend"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Are public polynomials prepared on the given threads until cancelled?

    use super::prepared;
    use crate::rns::cpu::{Executor, ExecutorOptions};
    use crate::rns::steps::{Steps, log2_apart};
    use crate::rns::tests::{in_a_power, keys, ring};
    use polyfabric_kernels::cancel::{Cancelled, Token};
    use polyfabric_program::rns::kernel::{KernelBuilder, KernelProgram, LimbSet, ValueType};
    use polyfabric_schemes::rns::{GadgetLiteral, Ring};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use std::sync::Arc;

    /// Products with 32 public polynomials of three limbs.
    fn products(ring: &Ring, generator: &mut StdRng) -> KernelProgram {
        let mut builder = KernelBuilder::new("p", ring.degree(), ring.moduli()).unwrap();
        let kind = ValueType::evaluation(LimbSet::range(0..3));
        let x = builder.input("x", 0, kind.clone()).unwrap();
        for part in 0..32 {
            let p = builder.plaintext(&Arc::new(in_a_power(ring.degree().get(), 0, generator)), kind.clone()).unwrap();
            let product = builder.multiply(x, p).unwrap();
            builder.output("y", part, product);
        }
        builder.finish().unwrap()
    }

    fn cancelled() -> Token {
        let token = Token::new();
        token.cancel();
        token
    }

    #[test]
    fn one_thread_prepares_alone() {
        let generator = &mut StdRng::seed_from_u64(1);
        let ring = ring(13, 3, 0, generator);
        let (program, keys) = (products(&ring, generator), keys(&ring, GadgetLiteral::hybrid(3, 1, 0), &[], generator));
        // In the caller's pool, whose other thread unwinds at its first polynomial.
        let begin = |_| cancelled().attach();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(begin).build().unwrap();
        pool.install(|| {
            Token::new().attach();
            Executor::with_options(&program, &keys, ExecutorOptions { threads: 1, compact_plaintexts: false }).unwrap();
        });
    }

    #[test]
    fn cancellation_ends_between_two_polynomials() {
        let generator = &mut StdRng::seed_from_u64(2);
        let ring = ring(6, 3, 0, generator);
        let program = products(&ring, generator);
        let limbs = Steps::new(&program, usize::MAX).plaintexts;
        let apart = log2_apart(&program, &limbs);
        for threads in [1, 2] {
            let ended = |token: Token| {
                let of_own = || {
                    token.attach();
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(Token::on_threads());
                    let pool = (threads > 1).then(|| pool.build().unwrap());
                    prepared(&program, &ring, &limbs, &apart, pool.as_ref()).len()
                };
                std::thread::scope(|scope| scope.spawn(of_own).join())
            };
            assert_eq!(ended(Token::new()).unwrap(), 96, "{threads} threads");
            assert!(ended(cancelled()).unwrap_err().is::<Cancelled>(), "{threads} threads");
        }
    }
}
