//! Multisets of (ciphertext, iteration) as one number: Σ x^ciphertext · y^iteration modulo 2^61 - 1.
//!
//! Two different multisets of numbers below d have equal sums for at most 2d of the 2^61 choices of x, by the degree of
//! their difference. Two independent points are used.

use polyfabric_sim::schedule::{Repeat, Shift};
use std::ops::Range;

const P: u64 = (1 << 61) - 1;

/// Generators of large order, fixed so that equal schedules give equal results.
const POINTS: [(u64, u64); 2] =
    [(0x0d6e_8feb_8665_9fd9, 0x1a5c_3f6e_52d1_9c37), (0x03c6_ef37_2fe9_4f82, 0x1b54_a32d_192e_d03b)];

/// A sum at both points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint([u64; 2]);

/// Product of two numbers below P: 2^61 is 1 modulo P, so the product's halves are added.
fn mul(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    reduced((product as u64 & P) + (product >> 61) as u64)
}

/// Sum of two numbers below P.
fn add(a: u64, b: u64) -> u64 {
    reduced(a + b)
}

/// A number up to 2 P, modulo P.
fn reduced(sum: u64) -> u64 {
    if sum >= P { sum - P } else { sum }
}

fn pow(base: u64, exponent: i64) -> u64 {
    let mut exponent = exponent.rem_euclid(P as i64 - 1) as u64;
    let (mut base, mut result) = (base % P, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul(result, base);
        }
        base = mul(base, base);
        exponent >>= 1;
    }
    result
}

/// 1 + g + .. + g^(count - 1).
fn series(g: u64, count: u64) -> u64 {
    match g {
        1 => count % P,
        g => mul(add(pow(g, count as i64), P - 1), pow(add(g, P - 1), -1)),
    }
}

/// The factor, at both points, by which nested loops multiply an element of their first rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds([u64; 2]);

impl Rounds {
    /// Outside all loops.
    pub const ONE: Self = Self([1; 2]);

    /// The same with one more loop inside.
    pub fn of(self, repeat: &Repeat) -> Self {
        let Shift { ciphertext, iteration, .. } = repeat.shift;
        let mut factors = self.0;
        for (factor, (x, y)) in factors.iter_mut().zip(POINTS) {
            *factor = mul(*factor, series(mul(pow(x, ciphertext), pow(y, iteration)), repeat.count));
        }
        Self(factors)
    }
}

impl Fingerprint {
    /// One element in all rounds of the enclosing loops. Its coordinates are those of their first rounds.
    pub fn of(ciphertext: u32, iteration: u32, rounds: Rounds) -> Self {
        let mut sums = rounds.0;
        for (sum, (x, y)) in sums.iter_mut().zip(POINTS) {
            *sum = mul(*sum, mul(pow(x, i64::from(ciphertext)), pow(y, i64::from(iteration))));
        }
        Self(sums)
    }

    /// Every ciphertext of one range with every iteration of another.
    pub fn all(ciphertexts: Range<u32>, iterations: Range<u32>) -> Self {
        let sum = |g: u64, range: &Range<u32>| {
            mul(pow(g, i64::from(range.start)), series(g, u64::from(range.end.saturating_sub(range.start))))
        };
        Self(POINTS.map(|(x, y)| mul(sum(x, &ciphertexts), sum(y, &iterations))))
    }

    /// The sum of both.
    pub fn add(&mut self, other: Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = add(*sum, more);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Does the closed form equal the sum, and is an additional or missing element detected?

    use super::*;
    use std::sync::Arc;

    fn repeat(count: u64, ciphertext: i64, iteration: i64) -> Repeat {
        let shift = Shift { ciphertext, iteration, ..Shift::default() };
        Repeat { start: 0, count, period: 1, origin: Shift::default(), shift, body: Arc::default() }
    }

    fn of(ciphertext: u32, iteration: u32, loops: &[&Repeat]) -> Fingerprint {
        let rounds = loops.iter().fold(Rounds::ONE, |rounds, repeat| rounds.of(repeat));
        Fingerprint::of(ciphertext, iteration, rounds)
    }

    #[test]
    fn products_are_those_of_long_numbers() {
        for a in [0, 1, 2, P / 3, P - 2, P - 1].into_iter().chain(POINTS.map(|(x, _)| x)) {
            for b in [0, 1, P / 2, P - 1, POINTS[0].1] {
                assert_eq!(u128::from(mul(a, b)), u128::from(a) * u128::from(b) % u128::from(P), "{a} by {b}");
                assert_eq!(u128::from(add(a, b)), (u128::from(a) + u128::from(b)) % u128::from(P), "{a} and {b}");
            }
        }
    }

    #[test]
    fn nested_loops_are_their_elements() {
        let (outer, inner) = (repeat(7, 64, 0), repeat(250, 0, 2));
        let mut unrolled = Fingerprint::default();
        for round in 0..7 {
            for step in 0..250 {
                unrolled.add(of(3 + 64 * round, 2 * step, &[]));
            }
        }
        assert_eq!(of(3, 0, &[&outer, &inner]), unrolled);
        // A loop without a shift counts each round, and so does one that runs backwards.
        let back = repeat(4, -1, 0);
        let mut fourfold = Fingerprint::default();
        (0..4).for_each(|_| fourfold.add(of(5, 9, &[])));
        assert_eq!(of(5, 9, &[&repeat(4, 0, 0)]), fourfold);
        assert_eq!(of(3, 0, &[&back]), Fingerprint::all(0..4, 0..1));
    }

    #[test]
    fn a_missing_or_doubled_element_shows() {
        let whole = Fingerprint::all(0..100, 0..500);
        let mut loops = of(0, 0, &[&repeat(100, 1, 0), &repeat(500, 0, 1)]);
        assert_eq!(loops, whole);
        loops.add(of(99, 499, &[]));
        assert_ne!(loops, whole);
        let mut moved = of(0, 0, &[&repeat(100, 1, 0), &repeat(499, 0, 1)]);
        moved.add(of(0, 500, &[&repeat(100, 1, 0)]));
        assert_ne!(moved, whole);
    }
}
