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
    /// The sum of this many uniformly ternary secrets, each of which one party has ([`crate::joint`]).
    JointTernary(usize),
}

/// Most parties of a joint secret.
pub const MOST_PARTIES: usize = 64;

impl SecretDistribution {
    /// Expected number of coefficients that are not 0, of N: the variance of N·s_i.
    pub fn expected_weight(self, degree: RingDegree) -> f64 {
        match self {
            Self::UniformTernary => 2.0 * degree.get() as f64 / 3.0,
            Self::SparseTernary(weight) => weight as f64,
            Self::JointTernary(parties) => parties as f64 * 2.0 * degree.get() as f64 / 3.0,
        }
    }

    /// How many parties have a part of the secret.
    pub fn parties(self) -> usize {
        match self {
            Self::UniformTernary | Self::SparseTernary(_) => 1,
            Self::JointTernary(parties) => parties,
        }
    }

    /// The distribution of the sum of `parties` such secrets, or why there is none.
    pub(crate) fn for_parties(self, parties: usize) -> Result<Self, String> {
        match self {
            Self::UniformTernary => Ok(Self::JointTernary(parties)),
            other => {
                Err(format!("each party's secret is uniform ternary, and this set's is {other}; take another set"))
            }
        }
    }

    /// The distribution of one party's part, which the security of all of it rests on: other parties may know the rest.
    pub fn of_party(self) -> Self {
        match self {
            Self::JointTernary(_) => Self::UniformTernary,
            alone => alone,
        }
    }
}

impl std::fmt::Display for SecretDistribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UniformTernary => f.write_str("uniform ternary"),
            Self::SparseTernary(weight) => write!(f, "ternary of weight {weight}"),
            Self::JointTernary(parties) => write!(f, "uniform ternary, of each of {parties} parties"),
        }
    }
}

/// A set's name without its suffix for several parties, and their number; `None` without one.
pub fn parties_in(name: &str) -> Option<(&str, usize)> {
    let (base, parties) = name.rsplit_once("-parties-")?;
    Some((base, parties.parse().ok()?))
}

/// Why a set cannot have a secret of `parties` parties; `refused` names a part of the set that is only for one owner.
pub(crate) fn joint_problem(parties: usize, refused: Option<&str>) -> Option<String> {
    if !(2..=MOST_PARTIES).contains(&parties) {
        return Some(format!("a secret of {parties} parties; there are 2 to {MOST_PARTIES}"));
    }
    let part = refused?;
    Some(format!(
        "{part} needs a secret of one owner, and this one has {parties}; take a set without it, or keys of one owner"
    ))
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
    /// Draws a secret from `distribution`: of a joint secret, one party's part.
    ///
    /// # Panics
    /// If a sparse secret's weight is above N; checked parameters exclude that.
    pub fn generate(degree: RingDegree, distribution: SecretDistribution, stream: &mut Stream) -> Self {
        let coefficients = match distribution {
            SecretDistribution::UniformTernary | SecretDistribution::JointTernary(_) => {
                sample::uniform_ternary(stream, degree.get())
            }
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

    /// A polynomial to be wiped.
    pub(crate) fn new(polynomial: RnsPolynomial) -> Self {
        Self(polynomial)
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

    /// The difference, for both in the evaluation domain over the same limbs.
    ///
    /// # Panics
    /// If their limbs differ.
    pub fn minus(&self, ring: &Ring, other: &Self) -> Self {
        let mut difference = self.clone();
        difference.0.sub_assign(ring, &other.0);
        difference
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
