//! Rings larger than a unit's vectors: residue polynomials of several vectors (section 3: 32K elements and more).
//!
//! With M = N / subpolynomials elements in a vector, X^N + 1 = Π_k (X^M − ω_k). Subpolynomial j of the coefficients is those of X^(jM) to
//! X^(jM + M − 1). Subpolynomial k of the values is those at the roots of X^M − ω_k; in bit-reversed order they stand in a row.
//! log2 subpolynomials layers of butterflies on whole vectors lead from a polynomial to its remainders modulo the X^M − ω_k, and a unit from
//! each remainder to its values: it multiplies by the powers of a root of −ω_k before a transform of M elements, as it does by
//! those of ψ where a polynomial is one vector. Automorphisms exchange subpolynomials, and permute each by an affine map of its places, as
//! the automorphism unit does anyway.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt, NttError};
use std::ops::Range;

/// How the polynomials of a ring are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subpolynomials {
    degree: RingDegree,
    vector: RingDegree,
}

impl Subpolynomials {
    /// Polynomials of `degree` N in vectors of `vector` M elements, which divides N.
    pub fn new(degree: RingDegree, vector: RingDegree) -> Self {
        Self { degree, vector }
    }

    /// Vectors of a polynomial.
    pub fn count(self) -> usize {
        self.degree.get() / self.vector.get()
    }

    /// The transform of the whole ring, which gives the subpolynomials' roots.
    ///
    /// # Errors
    /// [`NttError`] if the modulus has none.
    pub fn transform(self, modulus: Modulus) -> Result<Ntt<u64>, NttError> {
        Ntt::new(self.degree, modulus)
    }

    /// x^(`vectors`·M) for the roots x of the subpolynomials from `subpolynomial` on, of which `vectors` have it in common.
    pub fn power(self, transform: &Ntt<u64>, subpolynomial: usize, vectors: usize) -> u64 {
        let number = EvaluationOrder::BitReversed.value_at(self.degree, subpolynomial * self.vector.get());
        let exponent = (2 * number + 1) * vectors * self.vector.get() % (2 * self.degree.get());
        transform.modulus().power(transform.root(), exponent as u64)
    }

    /// The subpolynomial whose values an automorphism brings to `subpolynomial`.
    pub fn source(self, element: GaloisElement, subpolynomial: usize) -> usize {
        let order = EvaluationOrder::BitReversed;
        let from = element.source(order.value_at(self.degree, subpolynomial * self.vector.get()));
        // Reversing bits is its own inverse.
        order.value_at(self.degree, from) / self.vector.get()
    }

    /// The values of a remainder modulo X^M − ω_`subpolynomial`: those of the polynomial of as many coefficients.
    pub fn forward(self, transform: &Ntt<u64>, subpolynomial: usize, remainder: Vec<u64>) -> Vec<u64> {
        let mut whole = remainder;
        whole.resize(self.degree.get(), 0);
        transform.forward(&mut whole);
        self.cut(whole, subpolynomial)
    }

    /// The remainder modulo X^M − ω_`subpolynomial` that has `values`.
    pub fn inverse(self, transform: &Ntt<u64>, subpolynomial: usize, values: Vec<u64>) -> Vec<u64> {
        // The polynomial that has them, and 0 at the other subpolynomials' roots, is the remainder times Σ_j (X^M / ω)^j / subpolynomials.
        let mut whole = self.laid(values, subpolynomial);
        transform.inverse(&mut whole);
        let (modulus, count) = (transform.modulus(), self.count() as u64);
        let mut remainder = self.cut(whole, 0);
        if count > 1 {
            remainder.iter_mut().for_each(|word| *word = modulus.multiply(*word, count));
        }
        remainder
    }

    /// Subpolynomial `subpolynomial` after an automorphism, of its source's values.
    pub fn permute(self, element: GaloisElement, subpolynomial: usize, source: &[u64]) -> Vec<u64> {
        let whole = self.laid(source.to_vec(), self.source(element, subpolynomial));
        let mut moved = vec![0; self.degree.get()];
        ValuePermutation::new(element).apply(&whole, &mut moved, NextUse::Soon);
        self.cut(moved, subpolynomial)
    }

    /// A polynomial's words that are 0 but for one subpolynomial.
    fn laid(self, words: Vec<u64>, subpolynomial: usize) -> Vec<u64> {
        let mut whole = words;
        let before = self.range(subpolynomial).start;
        whole.resize(self.degree.get() - before, 0);
        whole.splice(0..0, std::iter::repeat_n(0, before));
        whole
    }

    /// A subpolynomial of a polynomial's words.
    fn cut(self, mut whole: Vec<u64>, subpolynomial: usize) -> Vec<u64> {
        let Range { start, end } = self.range(subpolynomial);
        whole.truncate(end);
        whole.drain(..start);
        whole
    }

    /// Places of a subpolynomial in a polynomial's words.
    pub fn range(self, subpolynomial: usize) -> Range<usize> {
        subpolynomial * self.vector.get()..(subpolynomial + 1) * self.vector.get()
    }
}

#[cfg(test)]
mod tests {
    //! Are the values of a subpolynomial what a unit's own transform gives after another multiplication?
    use super::*;
    use polyfabric_kernels::ntt::four_step::FourStep;
    use polyfabric_kernels::primes::PrimeClass;

    #[test]
    fn a_four_step_transform_after_the_subpolynomials_powers_gives_its_values() {
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
                // A root of X^M - omega over one of X^M + 1: of the values, one after the other comes.
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
