//! Polynomials of a ciphertext, in the Chebyshev basis or in powers, by baby steps and giant steps.
//!
//! A polynomial of degree d takes ceil(log2(d + 1)) levels, the minimum (J.-P. Bossuat et al., EUROCRYPT 2021, section 4). It is
//! repeatedly divided by the largest possible T_(2^k) or x^(2^k) until the rest is a sum of multiples available early enough. Scales are
//! exact: every sum has a target level and scale, and every constant in it is encoded at the scale that brings its term there. So
//! nothing is lost to primes that differ from the scale, and each sum is rescaled once.

mod plan;

use super::profile::Points;
use super::{CiphertextValue, Lowering, LoweringError, Result};
use crate::rns::homomorphic::{Basis, Complex, Polynomial, Values};
use crate::rns::levels::Scale;
use plan::{Family, Joint, Node};
use std::collections::BTreeMap;

/// Levels that a polynomial of degree `degree` (as written) takes on its interval.
pub fn polynomial_depth(degree: usize) -> usize {
    // One level for multiplying by constants, and one per doubling of the degree.
    plan::depth_of(degree + 1).max(1)
}

/// Converts monomial coefficients to Chebyshev coefficients on [−1, 1], by x·T_k = (T_(k+1) + T_|k−1|)/2.
pub fn monomial_to_chebyshev(coefficients: &[Complex]) -> Vec<Complex> {
    let mut result: Vec<Complex> = Vec::new();
    // Horner's scheme.
    for &coefficient in coefficients.iter().rev() {
        let mut shifted = vec![Complex::default(); result.len() + 1];
        for (k, &value) in result.iter().enumerate() {
            let half = value * 0.5.into();
            if k == 0 {
                shifted[1] = shifted[1] + value;
            } else {
                shifted[k + 1] = shifted[k + 1] + half;
                shifted[k - 1] = shifted[k - 1] + half;
            }
        }
        shifted[0] = shifted[0] + coefficient;
        result = shifted;
    }
    result
}

/// How far beyond \[−1, 1] a polynomial of `degree` is followed: 2^-10, where T_16 is 1.3, or as far as T_d = cosh(d·√(2u)) stays below 28.
fn beyond_interval(degree: usize) -> f64 {
    (1.0f64 / 1024.0).max(8.0 / (degree * degree) as f64)
}

/// A sum before its rescaling.
struct Raw {
    /// The encrypted part; `None` for a constant.
    encrypted: Option<CiphertextValue>,
    /// The constant still to be added.
    constant: Complex,
}

impl Lowering<'_> {
    /// `polynomial` of `a` (CKKS), rescaled to its level's scale.
    ///
    /// For a Chebyshev basis on an interval other than [−1, 1], the variable is first mapped to [−1, 1], which takes a level.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] if a has too few levels, [`LoweringError::Encoding`] for integer coefficients.
    pub fn polynomial(&mut self, a: &CiphertextValue, polynomial: &Polynomial) -> Result<CiphertextValue> {
        let Values::Complex(coefficients) = &polynomial.coefficients else {
            return Err(LoweringError::Encoding {
                op: "polynomial",
                magnitude: polynomial.coefficients.magnitude(),
                scale: a.scale.to_string(),
                problem: "CKKS coefficients are real or complex numbers; give those".to_owned(),
            });
        };
        let a = if a.parts.len() > 2 { self.relinearise(a)? } else { a.clone() };
        let a = if a.rescale_due { self.rescale(&a)? } else { a };
        let (variable, coefficients) = match polynomial.basis {
            Basis::Monomial => (a, monomial_to_chebyshev(coefficients)),
            Basis::Chebyshev { lo, hi } => {
                let slack = beyond_interval(coefficients.len().max(2) - 1);
                (self.mapped_to_unit_interval(&a, (lo, hi), slack)?, coefficients.to_vec())
            }
        };
        if coefficients.len() <= 1 {
            let zero = self.multiply_integer(&variable, 0)?;
            return self.add_plain(&zero, &Values::Complex(coefficients.into()), false);
        }
        let depth = polynomial_depth(coefficients.len() - 1);
        let level = variable
            .level
            .checked_sub(depth)
            .ok_or(LoweringError::LevelExhausted { op: "polynomial", top: self.chain().top() })?;
        let scale = self.chain().scale(level).real();
        self.chebyshev(&variable, &coefficients, scale)
    }

    /// (2a − lo − hi)/(hi − lo), followed at points up to `slack` beyond \[−1, 1].
    fn mapped_to_unit_interval(
        &mut self,
        a: &CiphertextValue,
        (lo, hi): (f64, f64),
        slack: f64,
    ) -> Result<CiphertextValue> {
        let factor = 2.0 / (hi - lo);
        let mut variable = a.clone();
        if lo != -1.0 || hi != 1.0 {
            if a.level == 0 {
                return Err(LoweringError::LevelExhausted { op: "polynomial", top: self.chain().top() });
            }
            let target = self.chain().scale(a.level - 1).real();
            let scale = target * self.chain().dropped_product(a.level) / a.scale.real();
            let product = self.multiply_real(a, factor, scale)?;
            variable = self.rescale(&product)?;
            variable.scale = Scale::Real(target);
        }
        let shift = -(lo + hi) / (hi - lo);
        if shift != 0.0 {
            variable = self.add_real(&variable, shift)?;
        }
        // A profile outside the interval is meaningless, since inputs are known to stay inside.
        if variable.noise.profile.as_ref().is_some_and(|profile| !profile.is_within_one(slack)) {
            variable.noise = variable.noise.settled();
        }
        variable.noise.magnitude = 1.0;
        Ok(variable)
    }

    /// Σ c_k·T_k(a) for |a| ≤ 1, at ceil(log2(degree + 1)) levels below a's, with exactly the scale `scale`.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] if a has too few levels.
    pub fn chebyshev(&mut self, a: &CiphertextValue, coefficients: &[Complex], scale: f64) -> Result<CiphertextValue> {
        let whole = a.noise.profile.is_none();
        let mut a = a.clone();
        if whole {
            let error = a.noise.bound(self.model().tail()) / a.scale.real();
            let real = coefficients.iter().all(|coefficient| coefficient.im == 0.0);
            let points = Points::interval(coefficients.len() - 1).around(error, real);
            a.noise = a.noise.at_points(points, self.source());
        }
        let mut results = self.sums(&a, Family::Chebyshev, &[coefficients], scale)?;
        let mut result = results.pop().expect("one result for one polynomial");
        if whole {
            result.noise = result.noise.settled();
        }
        Ok(result)
    }

    /// Σ c_k·a^k for |a| ≤ 1 and each of `polynomials`, with exactly the scale `scale`: each at ceil(log2(degree + 1)) levels below a's. The
    /// polynomials share the powers of a. For complex a on the unit circle this basis is as stable as Chebyshev's on \[−1, 1].
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] if a has too few levels.
    pub fn power_sums(
        &mut self,
        a: &CiphertextValue,
        polynomials: &[&[Complex]],
        scale: f64,
    ) -> Result<Vec<CiphertextValue>> {
        self.sums(a, Family::Powers, polynomials, scale)
    }

    /// The polynomials of a, in members of `family`, with exactly the scale `scale`.
    fn sums(
        &mut self,
        a: &CiphertextValue,
        family: Family,
        polynomials: &[&[Complex]],
        scale: f64,
    ) -> Result<Vec<CiphertextValue>> {
        let joint = Joint::new(polynomials, family);
        let exhausted = LoweringError::LevelExhausted { op: "polynomial", top: self.chain().top() };
        if joint.plans.iter().any(|plan| plan.depth > a.level) {
            return Err(exhausted);
        }
        let powers = self.powers(a, &joint)?;
        let sum = |plan: &plan::Plan| {
            let level = a.level - plan.depth;
            let above = scale * self.chain().dropped_product(level + 1);
            let raw = self.sum_of(&plan.root, &powers, level + 1, above)?;
            let raw = self.completed(raw, &powers, level + 1, above)?;
            let mut result = self.relinearise_and_rescale(&raw)?;
            result.scale = Scale::Real(scale);
            Ok(result)
        };
        joint.plans.iter().map(sum).collect()
    }

    /// 2a² − 1, rescaled: T_2, or the cosine of the doubled angle.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`].
    pub fn double_angle(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        let square = self.square(a)?;
        let twice = self.add(&square, &square)?;
        let shifted = self.add_real(&twice, -1.0)?;
        self.relinearise_and_rescale(&shifted)
    }

    /// b_1 = a and the b_i of the plans, each at the highest possible level.
    fn powers(&mut self, a: &CiphertextValue, joint: &Joint) -> Result<BTreeMap<usize, CiphertextValue>> {
        let mut powers = BTreeMap::from([(1, a.clone())]);
        for &index in &joint.powers {
            let (left, right) = plan::factors(index);
            // In ascending order, both factors and their difference exist already.
            let power = match joint.family {
                Family::Chebyshev if left == right => self.double_angle(&powers[&left].clone())?,
                Family::Powers if left == right => {
                    let square = self.square(&powers[&left].clone())?;
                    self.relinearise_and_rescale(&square)?
                }
                family => {
                    let (a, b) = (powers[&left].clone(), powers[&right].clone());
                    let level = a.level.min(b.level);
                    let (a, b) = (self.lowered_near(&a, level, b.scale)?, self.lowered_near(&b, level, a.scale)?);
                    let mut product = self.multiply(&a, &b)?;
                    if family == Family::Chebyshev {
                        let twice = self.add(&product, &product)?;
                        let difference = self.drop_to(&powers[&(left - right)].clone(), level)?;
                        let scale = product.scale.real() / difference.scale.real();
                        let mut difference = self.multiply_real(&difference, 1.0, scale)?;
                        difference.scale = product.scale;
                        product = self.sub(&twice, &difference)?;
                    }
                    self.relinearise_and_rescale(&product)?
                }
            };
            powers.insert(index, power);
        }
        Ok(powers)
    }

    /// a at `level`, with a scale near `scale`. Levels may drop different prime products, so their scales differ, and a product of powers
    /// from different levels would have a scale far from its level's. Adjusting the scale uses one of the levels in between; the rounded
    /// factor determines the exact result scale.
    fn lowered_near(&mut self, a: &CiphertextValue, level: usize, scale: Scale) -> Result<CiphertextValue> {
        /// Scales closer than this many bits are left unchanged.
        const NEAR_BITS: f64 = 2.0;
        if a.level == level || (a.scale.real() / scale.real()).log2().abs() < NEAR_BITS {
            return self.drop_to(a, level);
        }
        let above = self.drop_to(a, level + 1)?;
        let factor = (scale.real() * self.chain().dropped_product(level + 1) / above.scale.real()).round();
        let product = self.multiply_real(&above, 1.0, factor)?;
        self.rescale(&product)
    }

    /// The sum of a node at `level` with `scale`, not rescaled, possibly of three parts.
    fn sum_of(
        &mut self,
        node: &Node,
        powers: &BTreeMap<usize, CiphertextValue>,
        level: usize,
        scale: f64,
    ) -> Result<Raw> {
        match node {
            Node::Sum(terms) => {
                let mut raw = Raw { encrypted: None, constant: Complex::default() };
                for (&index, &coefficient) in terms {
                    if index == 0 {
                        raw.constant = coefficient;
                    } else {
                        let term = self.constant_multiple(&powers[&index], coefficient, level, scale)?;
                        raw.encrypted = Some(match raw.encrypted {
                            None => term,
                            Some(sum) => self.add(&sum, &term)?,
                        });
                    }
                }
                Ok(raw)
            }
            Node::Split { giant, quotient, remainder } => {
                // Near the square root of the sum's scale, so that the quotient's scale is close to its level's too.
                let power = self.lowered_near(&powers[giant].clone(), level, Scale::Real(scale.sqrt()))?;
                let below = scale / power.scale.real();
                let above = below * self.chain().dropped_product(level + 1);
                let raw = self.sum_of(quotient, powers, level + 1, above)?;
                let quotient = if raw.encrypted.is_some() {
                    let raw = self.completed(raw, powers, level + 1, above)?;
                    let mut quotient = self.relinearise_and_rescale(&raw)?;
                    quotient.scale = Scale::Real(below);
                    let mut product = self.multiply(&quotient, &power)?;
                    product.scale = Scale::Real(scale);
                    product
                } else {
                    self.constant_multiple(&power, raw.constant, level, scale)?
                };
                let mut raw = self.sum_of(remainder, powers, level, scale)?;
                raw.encrypted = Some(match raw.encrypted {
                    None => quotient,
                    Some(rest) => self.add(&quotient, &rest)?,
                });
                Ok(raw)
            }
        }
    }

    /// c·b_i at `level` with `scale`.
    fn constant_multiple(
        &mut self,
        power: &CiphertextValue,
        coefficient: Complex,
        level: usize,
        scale: f64,
    ) -> Result<CiphertextValue> {
        let power = self.drop_to(power, level)?;
        let factor = scale / power.scale.real();
        let mut term = if coefficient.im == 0.0 {
            self.multiply_real(&power, coefficient.re, factor)?
        } else {
            self.multiply_plain_at(&power, &Values::Complex([coefficient].into()), Scale::Real(factor))?
        };
        term.scale = Scale::Real(scale);
        term.rescale_due = true;
        Ok(term)
    }

    /// Adds the constant of a sum. A sum that is only a constant starts from 0·b_1.
    fn completed(
        &mut self,
        raw: Raw,
        powers: &BTreeMap<usize, CiphertextValue>,
        level: usize,
        scale: f64,
    ) -> Result<CiphertextValue> {
        let encrypted = match raw.encrypted {
            Some(encrypted) => encrypted,
            None => self.constant_multiple(&powers[&1].clone(), Complex::default(), level, scale)?,
        };
        if raw.constant == Complex::default() {
            return Ok(encrypted);
        }
        if raw.constant.im != 0.0 {
            return self.add_plain(&encrypted, &Values::Complex([raw.constant].into()), false);
        }
        self.add_real(&encrypted, raw.constant.re)
    }

    /// a + `value` at any scale: products before rescaling may have scales beyond 2^127.
    pub(super) fn add_real(&mut self, a: &CiphertextValue, value: f64) -> Result<CiphertextValue> {
        let scaled = value * a.scale.real();
        // A 53-bit number times a power of two: exact from 2^53 on, rounded below.
        let shift = (scaled.abs().max(1.0).log2() as i32 - 52).max(0);
        let mantissa = (scaled / f64::from(shift).exp2()).round() as i64;
        let limbs = self.builder.limbs(a.parts[0]).clone();
        let residue = |limb| {
            let modulus = self.chain.modulus(limb);
            modulus.multiply(modulus.reduce_signed(mantissa), modulus.power(2, shift as u64))
        };
        let residues: Vec<u64> = limbs.iter().map(residue).collect();
        let mut sum = a.clone();
        sum.parts[0] = self.builder.add_constant(a.parts[0], &residues)?;
        let rounding = 0.5f64.max(scaled.abs() * self.model.f64_rounding());
        sum.noise = a.noise.clone().plus_number(value.into()).with_systematic(rounding, self.source());
        Ok(sum)
    }
}
