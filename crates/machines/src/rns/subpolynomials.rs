//! Rings larger than a unit's vectors: a limb of several vectors (F1, section 3: 32K elements and more).
//!
//! A vector has M = N / count elements, and X^N + 1 = Π_k (X^M − ω_k). In the coefficient domain, subpolynomial j has
//! the coefficients of X^(jM) to X^(jM + M − 1). In the evaluation domain, subpolynomial k has the values at the roots
//! of X^M − ω_k, which are contiguous in bit-reversed order. Butterflies on whole vectors, log2 count layers of them,
//! map a polynomial to its remainders modulo the X^M − ω_k. A unit then maps each remainder to its values: it
//! multiplies by the powers of a root of −ω_k before a transform of M elements. With one vector per polynomial these
//! are the powers of ψ. An automorphism exchanges subpolynomials and permutes each by an affine map, which the
//! automorphism unit supports.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt, NttError};
use std::ops::Range;

/// The split of a ring's polynomials into vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subpolynomials {
    degree: RingDegree,
    vector: RingDegree,
}

impl Subpolynomials {
    /// `vector` (M) must divide `degree` (N).
    pub fn new(degree: RingDegree, vector: RingDegree) -> Self {
        Self { degree, vector }
    }

    /// Vectors per polynomial.
    pub fn count(self) -> usize {
        self.degree.get() / self.vector.get()
    }

    /// The transform of the whole ring; its root yields the subpolynomials' roots.
    pub fn transform(self, modulus: Modulus) -> Result<Ntt<u64>, NttError> {
        Ntt::new(self.degree, modulus)
    }

    /// x^(`vectors`·M), the same for all roots x of the `vectors` subpolynomials from `subpolynomial` on.
    pub fn power(self, transform: &Ntt<u64>, subpolynomial: usize, vectors: usize) -> u64 {
        let number = EvaluationOrder::BitReversed.value_at(self.degree, subpolynomial * self.vector.get());
        let exponent = (2 * number + 1) * vectors * self.vector.get() % (2 * self.degree.get());
        transform.modulus().power(transform.root(), exponent as u64)
    }

    /// The subpolynomial whose values an automorphism moves to `subpolynomial`.
    pub fn source(self, element: GaloisElement, subpolynomial: usize) -> usize {
        let order = EvaluationOrder::BitReversed;
        let from = element.source(order.value_at(self.degree, subpolynomial * self.vector.get()));
        // Reversing bits is its own inverse.
        order.value_at(self.degree, from) / self.vector.get()
    }

    /// The values of a remainder modulo X^M − ω_`subpolynomial`.
    pub fn forward(self, transform: &Ntt<u64>, subpolynomial: usize, remainder: Vec<u64>) -> Vec<u64> {
        let mut whole = remainder;
        whole.resize(self.degree.get(), 0);
        transform.forward(&mut whole);
        self.cut(whole, subpolynomial)
    }

    /// Inverse of [`Self::forward`].
    pub fn inverse(self, transform: &Ntt<u64>, subpolynomial: usize, values: Vec<u64>) -> Vec<u64> {
        // The polynomial with `values`, and 0 at the roots of the other subpolynomials, is the remainder times Σ_j (X^M
        // / ω)^j / count.
        let mut whole = self.laid(values, subpolynomial);
        transform.inverse(&mut whole);
        let (modulus, count) = (transform.modulus(), self.count() as u64);
        let mut remainder = self.cut(whole, 0);
        if count > 1 {
            remainder.iter_mut().for_each(|word| *word = modulus.multiply(*word, count));
        }
        remainder
    }

    /// An automorphism's result in `subpolynomial`, from the values of its source.
    pub fn permute(self, element: GaloisElement, subpolynomial: usize, source: &[u64]) -> Vec<u64> {
        let whole = self.laid(source.to_vec(), self.source(element, subpolynomial));
        let mut moved = vec![0; self.degree.get()];
        ValuePermutation::new(element).apply(&whole, &mut moved, NextUse::Soon);
        self.cut(moved, subpolynomial)
    }

    /// Words of a polynomial that is 0 outside one subpolynomial.
    fn laid(self, words: Vec<u64>, subpolynomial: usize) -> Vec<u64> {
        let mut whole = words;
        let before = self.range(subpolynomial).start;
        whole.resize(self.degree.get() - before, 0);
        whole.splice(0..0, std::iter::repeat_n(0, before));
        whole
    }

    fn cut(self, mut whole: Vec<u64>, subpolynomial: usize) -> Vec<u64> {
        let Range { start, end } = self.range(subpolynomial);
        whole.truncate(end);
        whole.drain(..start);
        whole
    }

    /// Positions of a subpolynomial among a polynomial's words.
    pub fn range(self, subpolynomial: usize) -> Range<usize> {
        subpolynomial * self.vector.get()..(subpolynomial + 1) * self.vector.get()
    }
}

#[cfg(test)]
mod tests {
    //! Does a unit's own transform, after the extra multiplication, give the values of a subpolynomial?
    use super::*;
    use polyfabric_kernels::ntt::four_step::FourStep;
    use polyfabric_kernels::primes::PrimeClass;

    #[test]
    fn four_step_transform_after_scaling_gives_the_values() {
        for (degree, vector, lanes) in [(64, 16, 4), (128, 64, 8), (32_768, 16_384, 128)] {
            let [ring, short] = [degree, vector].map(|count| RingDegree::new(count).expect("a degree"));
            let prime = PrimeClass::of_degree(ring).and(PrimeClass::ONE_MOD_WORD).of_bits(32, 1).expect("a prime")[0];
            let modulus = Modulus::new(prime).expect("a modulus");
            let (subpolynomials, unit) =
                (Subpolynomials::new(ring, short), FourStep::new(short, modulus, lanes).expect("a unit"));
            let transform = subpolynomials.transform(modulus).expect("a transform");
            let own = Ntt::<u64>::new(short, modulus).expect("a transform").root();
            let remainder: Vec<u64> = (0..vector as u64).map(|i| modulus.reduce(i * 2_654_435_761 + 7)).collect();
            for subpolynomial in 0..subpolynomials.count() {
                // The ratio of a root of X^M − ω to a root of X^M + 1.
                let number = EvaluationOrder::BitReversed.value_at(ring, subpolynomial * vector) as u64;
                let root = modulus.power(transform.root(), 2 * number + 1);
                let ratio = modulus.multiply(root, modulus.inverse(own).expect("a root"));
                let mut power = 1;
                let mut turned = remainder.clone();
                for word in &mut turned {
                    *word = modulus.multiply(*word, power);
                    power = modulus.multiply(power, ratio);
                }
                let (mut found, mut values) =
                    (unit.forward(&turned), subpolynomials.forward(&transform, subpolynomial, remainder.clone()));
                assert_eq!(subpolynomials.inverse(&transform, subpolynomial, values.clone()), remainder);
                found.sort_unstable();
                values.sort_unstable();
                assert_eq!(found, values, "N {degree}, subpolynomial {subpolynomial}");
            }
        }
    }
}
