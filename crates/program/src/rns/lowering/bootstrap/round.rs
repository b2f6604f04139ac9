//! Rounds real numbers to integers, so that tables can be applied to them.
//!
//! A slot holds x/p turns, x a number of steps. Slots become coefficients modulo q_0, which removes whole turns, so p times the slot is the
//! fractional part of x for free. One bootstrapping with the [sawtooth](crate::rns::approximation::sawtooth) of degree p − 1 gives x − round(x),
//! and the difference is an integer up to the ripple. The tables of the lookup that follows remove the ripple.
//!
//! Near x = 1/2 the sawtooth is steep, and the difference lies between both integers. A stage before narrows this interval R times: it rounds
//! R·x to the nearest odd multiple of 1/2, so that the next stage meets no number in its steep part, unless R·x itself was. Example, x = 0.49
//! with R = 6: 6x = 2.94 becomes 2.5, x becomes 0.4167, and the last stage removes it. Without the first stage, 0.49 would be in the steep part,
//! which begins at 0.45.

use super::lookup::Root;
use super::{Bootstrapping, real};
use crate::rns::approximation::sawtooth::Sawtooth;
use crate::rns::homomorphic::Complex;
use crate::rns::lowering::{CiphertextValue, Lowering, LoweringError, Noise, Points, Result};
use std::f64::consts::{SQRT_2, TAU};

/// Integers as fractions.
pub(super) struct Rounded {
    pub value: CiphertextValue,
    /// Bound of the distance of a part from its integer, in turns.
    pub error: f64,
    /// Distance of x from a border, in steps, up to which it may be rounded either way; the error of x is to be added.
    pub border: f64,
}

impl Lowering<'_> {
    /// The parts of a, fractions x/`entries`, with x rounded to integers in `stages` stages. Polynomials have degree `most` − 1. The result
    /// is at the level of a, the input level.
    ///
    /// # Errors
    /// [`LoweringError::Table`] if polynomials are too short, or errors too large.
    pub(super) fn rounded(
        &mut self,
        a: &CiphertextValue,
        plan: &Bootstrapping,
        entries: usize,
        stages: u32,
        most: usize,
    ) -> Result<Rounded> {
        let Some(sawtooth) = Sawtooth::new(most - 1) else {
            let problem = format!("tables of {most} entries are too short to round; choose a set for 8 or more");
            return Err(LoweringError::Table { entries, problem });
        };
        let radix = sawtooth.radix();
        let (mut value, mut border, mut error) = (a.clone(), 0.0, 0.0);
        // Fractions below 1/2 in both parts; the difference to a is below 1.
        let magnitude = a.noise.magnitude + 1.0;
        for stage in (0..stages).rev() {
            let finer = radix.pow(stage);
            let factor = entries * finer;
            let turns = self.multiply_integer(&value, factor as i128)?;
            let shift = if stage == 0 { 0.0 } else { 0.5 };
            let (own, bound, angle) = self.distances(&turns, plan, &sawtooth, factor as f64, shift)?;
            // Numbers that are this close to a border may be steep.
            let steep = sawtooth.edge() + angle;
            if stage + 1 == stages {
                border = (steep + bound) / finer as f64;
            } else if steep + bound > (0.5 - sawtooth.edge() - sawtooth.ripple() - bound) / radix as f64 {
                let problem = format!(
                    "the error of a rounding's steps is up to {bound:.4}; round in one step, or choose a set with more bits"
                );
                return Err(LoweringError::Table { entries, problem });
            }
            error = (sawtooth.ripple() + bound) / entries as f64;
            let own = if own.level > value.level { self.lower_to(&own, value.level)? } else { own };
            value = self.sub(&value, &own)?;
            value.noise = Noise { magnitude, ..Noise::none() };
        }
        Ok(Rounded { value, error, border })
    }

    /// The sawtooth of the parts of a, in turns, plus `shift`, over `factor`. Also the bound of its error times `factor`, outside of the steep
    /// part, and that of a's angle, in turns.
    fn distances(
        &mut self,
        a: &CiphertextValue,
        plan: &Bootstrapping,
        sawtooth: &Sawtooth,
        factor: f64,
        shift: f64,
    ) -> Result<(CiphertextValue, f64, f64)> {
        let tail = self.model().tail();
        let coefficients = sawtooth.coefficients(1.0 / factor, shift);
        let points = 8 * coefficients.len();
        let on_circle = |k: usize| {
            let (sine, cosine) = (TAU * k as f64 / points as f64).sin_cos();
            Complex::new(cosine, sine)
        };
        let (mut sums, mut largest) = (Vec::new(), 0.0f64);
        for part in self.raised_parts(a, plan)? {
            let Root { value: root, radial: (deviation, systematic), angle } = self.root(&part, plan, 0.0)?;
            let scale = self.chain().scale(plan.output_level()).real();
            let mut variable = root;
            let everywhere = Points::Each((0..points).map(on_circle).collect());
            variable.noise = Noise { magnitude: 1.0, ..Noise::none() }.at_points(everywhere, self.source());
            let sum = self.power_sums(&variable, &[&coefficients], scale)?;
            let Some(mut sum) = sum.into_iter().next() else { continue };
            let radial = tail * deviation + systematic;
            let rest = sawtooth.radial() * radial
                + sawtooth.steepness() / TAU * (angle + radial)
                + sawtooth.curvature() * (angle + radial).powi(2);
            // A slot has two such errors, each of the real part doubled.
            let own = 2.0 * sum.noise.deviation;
            sum.noise = Noise {
                deviation: own,
                systematic: SQRT_2 * (rest / factor * scale + 2.0 * sum.noise.systematic),
                ..Noise::new(0.0, 1.0, self.source())
            };
            largest = largest.max(angle / TAU);
            sums.push(sum);
        }
        let [x, y] = &sums[..] else {
            let problem = "a sum has no term; build the program anew";
            return Err(LoweringError::NotLowered { op: "lookup", problem });
        };
        let joined = self.twice_real_parts(x, y)?;
        let bound = joined.noise.bound(tail) / real(joined.scale) * factor;
        Ok((joined, bound, largest))
    }
}
