//! The quotient of Σ y_i·(Q/q_i) by Q, rounded to nearest.

use super::RnsBasis;
use std::cmp::Ordering;

/// Computes v = floor(Σ y_i/q_i + 1/2) for one basis.
#[derive(Debug)]
pub(super) struct ExactQuotient {
    /// 1/q_i.
    reciprocals: Vec<f64>,
    /// Error bound of the sum in f64.
    error: f64,
    /// Q/q_i, least word first.
    cofactors: Vec<Vec<u64>>,
    /// Q, least word first.
    product: Vec<u64>,
}

/// sum += words·factor; `sum` is long enough for the result.
fn add_scaled(sum: &mut [u64], words: &[u64], factor: u64) {
    let mut carry = 0u128;
    for (index, sum) in sum.iter_mut().enumerate() {
        let word = words.get(index).copied().unwrap_or(0);
        carry += u128::from(word) * u128::from(factor) + u128::from(*sum);
        *sum = carry as u64;
        carry >>= 64;
    }
}

/// The product of `factors`, in `words` words.
fn multiply_all(factors: impl Iterator<Item = u64>, words: usize) -> Vec<u64> {
    let mut product = vec![0; words];
    product[0] = 1;
    for factor in factors {
        let mut next = vec![0; words];
        add_scaled(&mut next, &product, factor);
        product = next;
    }
    product
}

impl ExactQuotient {
    pub(super) fn new(basis: &RnsBasis) -> Self {
        let values: Vec<u64> = basis.moduli().iter().map(|modulus| modulus.value()).collect();
        let count = values.len();
        // One word more than Q needs, for a factor below 2α.
        let words = count + 1;
        let but = |index: usize| values.iter().enumerate().filter(move |&(other, _)| other != index).map(|(_, &q)| q);
        Self {
            reciprocals: values.iter().map(|&q| 1.0 / q as f64).collect(),
            // y_i and q_i as f64, the reciprocal and the product each have a relative error of 2^-53, and a term is below 1: 4·2^-53 per
            // term, plus second-order terms. Each of the α + 1 additions has a result below α + 1 and an error of up to (α + 1)·2^-53.
            error: (5 * count + (count + 1) * (count + 1)) as f64 * f64::EPSILON / 2.0,
            cofactors: (0..count).map(|index| multiply_all(but(index), words)).collect(),
            product: multiply_all(values.iter().copied(), words),
        }
    }

    /// The quotient of each column of `residues`, rows of `stride` words y_i. `vectors` selects AVX-512, for IFMA's moduli only.
    pub(super) fn quotients(&self, residues: &[u64], stride: usize, quotients: &mut [u64], vectors: bool) {
        let y = |index: usize, column: usize| residues[index * stride + column];
        let decide =
            |column: usize, nearest: u64| nearest - u64::from(!self.reaches(|index| y(index, column), nearest));
        let done = match vectors {
            #[cfg(target_arch = "x86_64")]
            true => {
                let (reciprocals, error) = (&self.reciprocals, self.error);
                // SAFETY: the caller has limbs that use AVX-512.
                unsafe { super::ifma::quotients(reciprocals, error, residues, stride, quotients, decide) }
            }
            _ => 0,
        };
        for (column, quotient) in quotients.iter_mut().enumerate().skip(done) {
            let terms = self.reciprocals.iter().enumerate();
            let sum = terms.fold(0.5, |sum, (index, reciprocal)| sum + y(index, column) as f64 * reciprocal);
            let nearest = sum.round();
            let close = (sum - nearest).abs() <= self.error;
            *quotient = if close { decide(column, nearest as u64) } else { sum as u64 };
        }
    }

    /// Whether Σ y_i/q_i + 1/2 ≥ `bound`, in big integers: 2·Σ y_i·(Q/q_i) ≥ (2·bound − 1)·Q. `bound` ≥ 1.
    fn reaches(&self, y: impl Fn(usize) -> u64, bound: u64) -> bool {
        let mut left = vec![0; self.product.len()];
        for (index, cofactor) in self.cofactors.iter().enumerate() {
            add_scaled(&mut left, cofactor, 2 * y(index));
        }
        let mut right = vec![0; self.product.len()];
        add_scaled(&mut right, &self.product, 2 * bound - 1);
        left.iter().rev().cmp(right.iter().rev()) != Ordering::Less
    }
}
