//! The negacyclic NTT by its definition.

use crate::modular::Modulus;

/// X_k = Σ_j x_j·ψ^((2k+1)j) for k = 0 … N−1, in natural order: N evaluations of N terms.
pub fn forward(modulus: Modulus, root: u64, polynomial: &[u64]) -> Vec<u64> {
    (0..polynomial.len()).map(|k| evaluate(modulus, polynomial, modulus.power(root, 2 * k as u64 + 1))).collect()
}

/// x_j = N^-1·ψ^-j·Σ_k X_k·ψ^(−2kj) for values in natural order. `None` if ψ or N has no inverse.
pub fn inverse(modulus: Modulus, root: u64, values: &[u64]) -> Option<Vec<u64>> {
    let root = modulus.inverse(root)?;
    let count = modulus.inverse(values.len() as u64)?;
    let square = modulus.multiply(root, root);
    let coefficient = |j: u64| {
        let sum = evaluate(modulus, values, modulus.power(square, j));
        modulus.multiply(modulus.multiply(sum, modulus.power(root, j)), count)
    };
    Some((0..values.len() as u64).map(coefficient).collect())
}

/// Σ_j x_j·point^j, by Horner's rule.
pub fn evaluate(modulus: Modulus, polynomial: &[u64], point: u64) -> u64 {
    polynomial.iter().rev().fold(0, |sum, &x| modulus.add(modulus.multiply(sum, point), x))
}

/// a·b mod X^N + 1, coefficient by coefficient.
pub fn multiply(modulus: Modulus, a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0; a.len()];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = modulus.multiply(x, y);
            let slot = &mut product[(i + j) % a.len()];
            *slot = if i + j < a.len() { modulus.add(*slot, term) } else { modulus.sub(*slot, term) };
        }
    }
    product
}
