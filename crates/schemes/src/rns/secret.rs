//! Secret keys: ternary polynomials, wiped when dropped.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::limb::{Domain, LimbId};
use super::polynomial::RnsPolynomial;
use super::ring::Ring;
use super::sample;
use crate::random::Stream;

/// Distribution of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretDistribution {
    /// Coefficients −1, 0, 1 with equal probability.
    UniformTernary,
    /// Exactly this many coefficients ±1, the others 0.
    SparseTernary(usize),
}

impl SecretDistribution {
    /// Expected number of coefficients that are not 0, of N: the variance of N·s_i.
    pub fn expected_weight(self, degree: RingDegree) -> f64 {
        match self {
            Self::UniformTernary => 2.0 * degree.get() as f64 / 3.0,
            Self::SparseTernary(weight) => weight as f64,
        }
    }
}

impl std::fmt::Display for SecretDistribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UniformTernary => f.write_str("uniform ternary"),
            Self::SparseTernary(weight) => write!(f, "ternary of weight {weight}"),
        }
    }
}

/// s: N coefficients in −1, 0, 1. Wiped from memory when dropped; never printed.
#[derive(Clone, PartialEq)]
pub struct SecretKey {
    degree: RingDegree,
    coefficients: Zeroizing<Vec<i8>>,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretKey").field("degree", &self.degree).finish_non_exhaustive()
    }
}

impl SecretKey {
    /// Draws a secret from `distribution`.
    ///
    /// # Panics
    /// If a sparse secret's weight is above N; checked parameters exclude that.
    pub fn generate(degree: RingDegree, distribution: SecretDistribution, stream: &mut Stream) -> Self {
        let coefficients = match distribution {
            SecretDistribution::UniformTernary => sample::uniform_ternary(stream, degree.get()),
            SecretDistribution::SparseTernary(weight) => sample::sparse_ternary(stream, degree.get(), weight),
        };
        Self { degree, coefficients }
    }

    /// A secret with these coefficients. `None` unless they are N values of −1, 0, 1.
    pub fn from_coefficients(degree: RingDegree, coefficients: Vec<i8>) -> Option<Self> {
        let coefficients = Zeroizing::new(coefficients);
        let fits =
            coefficients.len() == degree.get() && coefficients.iter().all(|coefficient| (-1..=1).contains(coefficient));
        fits.then_some(Self { degree, coefficients })
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    pub fn coefficients(&self) -> &[i8] {
        &self.coefficients
    }

    /// Number of nonzero coefficients.
    pub fn hamming_weight(&self) -> usize {
        self.coefficients.iter().filter(|&&coefficient| coefficient != 0).count()
    }

    /// σ_g(s) = s(X^g).
    pub fn automorphism(&self, element: GaloisElement) -> Self {
        let count = self.degree.get();
        let mut coefficients = Zeroizing::new(vec![0; count]);
        for (exponent, &coefficient) in self.coefficients.iter().enumerate() {
            let place = exponent * element.value() % (2 * count);
            coefficients[place % count] = if place < count { coefficient } else { -coefficient };
        }
        Self { degree: self.degree, coefficients }
    }

    /// The secret over `limbs` in the evaluation domain.
    pub fn values(&self, ring: &Ring, limbs: &[LimbId]) -> SecretPolynomial {
        let wide: Zeroizing<Vec<i64>> =
            Zeroizing::new(self.coefficients.iter().map(|&coefficient| i64::from(coefficient)).collect());
        SecretPolynomial(sample::signed_polynomial(ring, limbs, Domain::Evaluation, &wide))
    }
}

/// A secret polynomial in residues. Wiped from memory when dropped; never printed.
#[derive(Clone)]
pub struct SecretPolynomial(RnsPolynomial);

impl SecretPolynomial {
    /// Small signed coefficients over `limbs`, in the evaluation domain.
    pub fn from_coefficients(ring: &Ring, limbs: &[LimbId], coefficients: &[i64]) -> Self {
        Self(sample::signed_polynomial(ring, limbs, Domain::Evaluation, coefficients))
    }

    /// The product, for both in the evaluation domain over the same limbs.
    ///
    /// # Panics
    /// If their limbs differ.
    pub fn product(&self, ring: &Ring, other: &Self) -> Self {
        let mut product = self.clone();
        product.0.multiply_assign(ring, &other.0);
        product
    }

    /// The polynomial.
    pub fn get(&self) -> &RnsPolynomial {
        &self.0
    }

    /// The square, in the evaluation domain.
    pub fn square(&self, ring: &Ring) -> Self {
        let mut square = self.clone();
        square.0.multiply_assign(ring, &self.0);
        square
    }
}

impl Drop for SecretPolynomial {
    fn drop(&mut self) {
        sample::wipe(&mut self.0);
    }
}
