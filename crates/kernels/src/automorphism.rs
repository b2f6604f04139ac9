//! The automorphism X → X^g of Z_q\[X\]/(X^N + 1), for odd g, on coefficients and on NTT values.
//!
//! On coefficients it is a signed permutation: X^j becomes X^(gj), with X^N = −1. On values it is a permutation without signs: the value at
//! ψ^(2k+1) becomes the one that was at ψ^(g(2k+1)).

#[cfg(target_arch = "x86_64")]
use crate::isa::Isa;
use crate::memory::NextUse;
use crate::modular::Modulus;
use crate::ntt::EvaluationOrder;
use crate::ring::RingDegree;
use crate::torus::Torus;
use thiserror::Error;

/// g, an odd number modulo 2N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GaloisElement {
    degree: RingDegree,
    value: usize,
}

/// Why a number is not a Galois element.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{value} is no automorphism of degree {degree}; use an odd number below {bound}", bound = 2 * .degree)]
pub struct GaloisElementError {
    pub value: usize,
    pub degree: usize,
}

impl GaloisElement {
    /// Checks `value`.
    ///
    /// # Errors
    /// [`GaloisElementError`] unless `value` is odd and below 2N.
    pub fn new(degree: RingDegree, value: usize) -> Result<Self, GaloisElementError> {
        if value % 2 == 1 && value < 2 * degree.get() {
            Ok(Self { degree, value })
        } else {
            Err(GaloisElementError { value, degree: degree.get() })
        }
    }

    /// 5^`steps`: rotates the slots of CKKS, and each row of BGV slots, by `steps`; negative steps rotate the other way.
    pub fn rotation(degree: RingDegree, steps: i64) -> Self {
        // 5 has order N/2.
        let steps = steps.rem_euclid(degree.get() as i64 / 2);
        let value = (0..steps).fold(1, |value, _| value * 5 % (2 * degree.get()));
        Self { degree, value }
    }

    /// 2N − 1: conjugates the slots of CKKS and exchanges the rows of BGV slots.
    pub fn conjugation(degree: RingDegree) -> Self {
        Self { degree, value: 2 * degree.get() - 1 }
    }

    /// g.
    pub fn value(self) -> usize {
        self.value
    }

    /// N.
    pub fn degree(self) -> RingDegree {
        self.degree
    }

    /// The composition: this automorphism, then `next`.
    ///
    /// # Panics
    /// If the degrees differ.
    pub fn then(self, next: Self) -> Self {
        assert_eq!(self.degree, next.degree, "automorphisms of one ring");
        Self { value: self.value * next.value % (2 * self.degree.get()), ..self }
    }

    /// g^-1 modulo 2N.
    pub fn inverse(self) -> Self {
        // Newton's iteration modulo a power of two: each step doubles the number of correct low bits, initially three.
        let mut inverse = self.value;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2usize.wrapping_sub(self.value.wrapping_mul(inverse)));
        }
        Self { value: inverse % (2 * self.degree.get()), ..self }
    }

    /// result ← polynomial(X^g), for canonical coefficients.
    ///
    /// # Panics
    /// Unless both have N words.
    pub fn apply(self, modulus: Modulus, polynomial: &[u64], result: &mut [u64]) {
        let count = self.degree.get();
        assert_eq!([polynomial.len(), result.len()], [count; 2], "a polynomial has N coefficients");
        let (step, mask) = (self.inverse().value, 2 * count - 1);
        let mut exponent = 0;
        for target in result {
            // Coefficient i comes from j = i·g^-1 mod 2N; j and j + N are the same place with opposite signs.
            let word = polynomial[exponent & (count - 1)];
            *target = if exponent < count || word == 0 { word } else { modulus.value() - word };
            exponent = (exponent + step) & mask;
        }
    }

    /// result ← polynomial(X^g), for torus coefficients.
    ///
    /// # Panics
    /// Unless both have N elements.
    pub fn apply_torus<T: Torus>(self, polynomial: &[T], result: &mut [T]) {
        let count = self.degree.get();
        assert_eq!([polynomial.len(), result.len()], [count; 2], "a polynomial has N coefficients");
        let mask = 2 * count - 1;
        let mut exponent = 0;
        for &element in polynomial {
            result[exponent & (count - 1)] = if exponent < count { element } else { element.wrapping_neg() };
            exponent = (exponent + self.value) & mask;
        }
    }

    /// polynomial(X^g) by definition, monomial by monomial.
    pub fn apply_reference(self, modulus: Modulus, polynomial: &[u64]) -> Vec<u64> {
        let count = self.degree.get();
        let mut result = vec![0; count];
        for (exponent, &word) in polynomial.iter().enumerate() {
            let exponent = exponent * self.value;
            let signed = if (exponent / count).is_multiple_of(2) { word } else { modulus.neg(word) };
            result[exponent % count] = modulus.add(result[exponent % count], signed);
        }
        result
    }

    /// The index of the value that moves to index `number`.
    pub fn source(self, number: usize) -> usize {
        (self.value * (2 * number + 1) % (2 * self.degree.get())) / 2
    }

    /// For each place in `order`, the place from which its value comes: a table for a machine's permutation network.
    pub fn places(self, order: EvaluationOrder) -> Vec<usize> {
        let places = order.places(self.degree);
        (0..self.degree.get()).map(|place| places[self.source(order.value_at(self.degree, place))]).collect()
    }
}

/// The permutation of values moves blocks of this many words.
const BLOCK: usize = 8;

/// X → X^g on values in bit-reversed order ([`crate::ntt::Ntt`]).
///
/// The three low bits of a place are the three high bits of the value's index k, reversed. Since
/// g·(2(k + l·N/8) + 1) = g·(2k + 1) + g·l·N/4, the eight values of an aligned block come from one aligned block. Their order depends on g and
/// on one number in 0…7, so the table has one word per block and there are eight orders.
#[derive(Clone, Debug)]
pub struct ValuePermutation {
    element: GaloisElement,
    /// For each block: 8·(source block) + (index of the order).
    blocks: Vec<u32>,
    orders: [[u64; BLOCK]; BLOCK],
}

impl ValuePermutation {
    /// The permutation of `element`.
    pub fn new(element: GaloisElement) -> Self {
        let degree = element.degree;
        let order = EvaluationOrder::BitReversed;
        let eighth = degree.get() / BLOCK;
        let reversed = [0usize, 4, 2, 6, 1, 5, 3, 7];
        let block = |block: usize| {
            // The source's index is below an eighth of N plus `shift` eighths; bit reversal is its own inverse.
            let source = element.source(order.value_at(degree, block * BLOCK));
            let place = order.value_at(degree, source % eighth);
            (place / BLOCK * BLOCK + source / eighth) as u32
        };
        let shifted = |shift: usize, lane: usize| reversed[(shift + element.value * reversed[lane]) % BLOCK] as u64;
        Self {
            element,
            blocks: (0..eighth).map(block).collect(),
            orders: std::array::from_fn(|shift| std::array::from_fn(|lane| shifted(shift, lane))),
        }
    }

    /// g.
    pub fn element(&self) -> GaloisElement {
        self.element
    }

    /// result ← the values of polynomial(X^g), computed from those of the polynomial.
    ///
    /// # Panics
    /// Unless both have N words.
    pub fn apply(&self, values: &[u64], result: &mut [u64], next_use: NextUse) {
        assert_eq!([values.len(), result.len()], [self.element.degree.get(); 2], "a polynomial has N values");
        #[cfg(target_arch = "x86_64")]
        if Isa::best() == Isa::Avx512 {
            // SAFETY: the set is present.
            return unsafe { self.apply_avx512(values, result, next_use) };
        }
        // The portable code has no streaming stores.
        let _ = next_use;
        self.apply_portable(values, result);
    }

    /// [`Self::apply`] in portable code.
    pub fn apply_portable(&self, values: &[u64], result: &mut [u64]) {
        let values = values.as_chunks::<BLOCK>().0;
        for (target, &entry) in result.as_chunks_mut::<BLOCK>().0.iter_mut().zip(&self.blocks) {
            let (source, order) = (&values[entry as usize / BLOCK], &self.orders[entry as usize % BLOCK]);
            for (target, &lane) in target.iter_mut().zip(order) {
                *target = source[lane as usize % BLOCK];
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn apply_avx512(&self, values: &[u64], result: &mut [u64], next_use: NextUse) {
        use std::arch::x86_64::*;
        let late = next_use == NextUse::Late && result.as_ptr().addr().is_multiple_of(64);
        let values = values.as_chunks::<BLOCK>().0;
        for (target, &entry) in result.as_chunks_mut::<BLOCK>().0.iter_mut().zip(&self.blocks) {
            let (source, order) = (&values[entry as usize / BLOCK], &self.orders[entry as usize % BLOCK]);
            // SAFETY: the references cover the 64 bytes each.
            unsafe {
                let source = _mm512_loadu_si512(source.as_ptr().cast());
                let order = _mm512_loadu_si512(order.as_ptr().cast());
                let permuted = _mm512_permutexvar_epi64(order, source);
                if late {
                    // Aligned, as checked above.
                    _mm512_stream_si512(target.as_mut_ptr().cast(), permuted);
                } else {
                    _mm512_storeu_si512(target.as_mut_ptr().cast(), permuted);
                }
            }
        }
        if late {
            // Orders the streaming stores before all later accesses.
            _mm_sfence();
        }
    }
}
