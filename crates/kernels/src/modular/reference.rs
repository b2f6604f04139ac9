//! Reference multipliers: 128-bit integers and the remainder of a division.

use super::Modulus;

/// a + b mod q.
pub fn add(q: Modulus, a: u64, b: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(q.value())) as u64
}

/// a − b mod q, of residues.
pub fn sub(q: Modulus, a: u64, b: u64) -> u64 {
    add(q, a, q.value() - b % q.value())
}

/// a · b mod q.
pub fn multiply(q: Modulus, a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q.value())) as u64
}

/// base^exponent mod q, one multiplication at a time; for small exponents.
pub fn power(q: Modulus, base: u64, exponent: u64) -> u64 {
    (0..exponent).fold(1 % q.value(), |product, _| multiply(q, product, base))
}

/// Σ a_i · b_i mod q, reduced after every term.
pub fn inner_product(q: Modulus, terms: &[(u64, u64)]) -> u64 {
    terms.iter().fold(0, |sum, &(a, b)| add(q, sum, multiply(q, a, b)))
}
