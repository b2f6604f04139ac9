use super::parameters::base_coefficients;
use super::transforms::Parts;
use super::{Bootstrapping, real};
use crate::rns::approximation::modular_reduction::Method;
use crate::rns::homomorphic::Complex;
use crate::rns::levels::Scale;
use crate::rns::lowering::{CiphertextValue, Lowering, LoweringError, Points, Result, monomial_to_chebyshev};

impl Lowering<'_> {
    /// Reduces every part. `message_scale` is the scale of the ciphertext before raising; the result encrypts its coefficients.
    pub(super) fn reduce_parts(&mut self, parts: Parts, plan: &Bootstrapping, message_scale: f64) -> Result<Parts> {
        Ok(match parts {
            Parts::One(part) => Parts::One(self.reduce(&part, plan, message_scale)?),
            Parts::Two(both) => {
                let [first, second] = *both;
                let first = self.reduce(&first, plan, message_scale)?;
                Parts::Two(Box::new([first, self.reduce(&second, plan, message_scale)?]))
            }
        })
    }

    /// Maps x/K in [−1, 1] to sin(2πx), which approximates 2π times x modulo 1; the scale absorbs the factor 2π·Δ/q_0.
    fn reduce(&mut self, a: &CiphertextValue, plan: &Bootstrapping, message_scale: f64) -> Result<CiphertextValue> {
        let reduction = plan.reduction();
        let literal = *reduction.literal();
        let coefficients = base_coefficients(reduction);
        let depth = crate::rns::lowering::polynomial_depth(coefficients.len() - 1);
        let last = plan.reduction_level() - plan.reduction_levels();
        let arcsine = reduction.arcsine().map(|series| {
            let (_, end) = series.interval();
            unit_interval_coefficients(series.coefficients(), end)
        });
        let target = plan.reduced_scale(self.chain(), message_scale);
        let chain = self.chain();
        let scale = |target| plan.scale_above(chain, target, last, plan.reduction_level() - depth);
        let mut a = a.clone();
        a.noise = a.noise.at_points(self.integer_points(plan), self.source());
        let a = &a;
        let mut value = match literal.method {
            Method::Cosine => {
                let scale = scale(target);
                let variable = self.add_real(a, -0.25 / literal.range as f64)?;
                let mut value = self.chebyshev(&variable, &coefficients, scale)?;
                for _ in 0..literal.doublings {
                    value = self.double_angle(&value)?;
                }
                value
            }
            Method::Exponential => {
                let scale = scale(target / 2.0);
                let mut value = self.chebyshev(a, &coefficients, scale)?;
                for _ in 0..literal.doublings {
                    let square = self.square(&value)?;
                    value = self.relinearise_and_rescale(&square)?;
                }
                self.imaginary_part(&value)?
            }
            Method::Tables { .. } => {
                let problem = "the parameters have lookup tables and no modular reduction; choose another set";
                return Err(LoweringError::NotLowered { op: "bootstrap", problem });
            }
        };
        if let Some(coefficients) = arcsine {
            value = self.chebyshev(&value, &coefficients, target)?;
        }
        value.scale = Scale::Real(real(value.scale) * plan.message_factor(self.chain(), message_scale));
        value.noise = value.noise.settled();
        value.noise.magnitude = 1.0;
        Ok(value)
    }

    /// The arguments x/K of the reduction, with x the integer part: the message is small in comparison.
    fn integer_points(&self, plan: &Bootstrapping) -> Points {
        let range = plan.literal().reduction.range as i64;
        let variance = (plan.literal().secret.hamming_weight() as f64 + 1.0) / 12.0;
        let weight = |whole: i64| (-((whole * whole) as f64) / (2.0 * variance)).exp();
        let all: f64 = (1 - range..range).map(weight).sum();
        let values = (1 - range..range).map(|whole| (whole as f64 / range as f64, weight(whole) / all)).collect();
        // As improbable as an error beyond its bound.
        Points::Random { values, count: 2 * plan.literal().slots, beyond: self.model().tail().powi(2) }
    }

    /// (w − w̄)/2i, at twice the scale.
    fn imaginary_part(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        let conjugate = self.conjugate(a)?;
        let difference = self.sub(a, &conjugate)?;
        let mut part = self.times_imaginary(&difference, true)?;
        part.scale = Scale::Real(2.0 * real(part.scale));
        Ok(part)
    }
}

/// Converts Chebyshev coefficients on [−end, end] to [−1, 1].
fn unit_interval_coefficients(coefficients: &[f64], end: f64) -> Vec<Complex> {
    // Via monomials, since degrees are small: T_(k+1) = 2t·T_k − T_(k−1), t = x/end.
    let mut monomial = vec![0.0; coefficients.len()];
    let (mut before, mut current) = (vec![0.0; coefficients.len()], vec![0.0; coefficients.len()]);
    current[0] = 1.0;
    for (k, &coefficient) in coefficients.iter().enumerate() {
        monomial.iter_mut().zip(&current).for_each(|(sum, &value)| *sum += coefficient * value);
        let factor = if k == 0 { 1.0 } else { 2.0 };
        let mut next: Vec<f64> = before.iter().map(|&value| if k == 0 { 0.0 } else { -value }).collect();
        for (power, &value) in current.iter().enumerate().take(coefficients.len() - 1) {
            next[power + 1] += factor * value / end;
        }
        (before, current) = (current, next);
    }
    monomial_to_chebyshev(&monomial.into_iter().map(Complex::from).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    //! Is the polynomial the same on the other interval?

    use super::*;

    #[test]
    fn the_interval_changes_only_the_basis() {
        let coefficients = [0.3, 1.0, -0.5, 0.25, 0.0, 0.125];
        let chebyshev = |index: usize, t: f64| (index as f64 * t.acos()).cos();
        let unit = unit_interval_coefficients(&coefficients, 0.25);
        for x in [-0.24, -0.1, 0.03, 0.2] {
            let wanted: f64 = coefficients.iter().enumerate().map(|(k, c)| c * chebyshev(k, x / 0.25)).sum();
            let found: f64 = unit.iter().enumerate().map(|(k, c)| c.re * chebyshev(k, x)).sum();
            assert!((wanted - found).abs() < 1e-9, "{wanted} {found}");
        }
    }
}
