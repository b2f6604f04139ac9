//! Addition, negation, integer factors, rescaling, and dropping levels.

use super::value::{Rounding, rounding_of};
use super::{CiphertextValue, Lowering, LoweringError, Result};
use crate::rns::kernel::ValueId;
use crate::rns::levels::Scale;

impl Lowering<'_> {
    /// a + b, at one level and scale. An unrelinearized product may be added to a relinearized value.
    ///
    /// # Errors
    /// [`LoweringError::Mismatch`].
    pub fn add(&mut self, a: &CiphertextValue, b: &CiphertextValue) -> Result<CiphertextValue> {
        self.matched("add", a, b)?;
        self.combine(a, b, false)
    }

    /// a − b, as [`Self::add`].
    ///
    /// # Errors
    /// [`LoweringError::Mismatch`].
    pub fn sub(&mut self, a: &CiphertextValue, b: &CiphertextValue) -> Result<CiphertextValue> {
        self.matched("sub", a, b)?;
        self.combine(a, b, true)
    }

    fn combine(&mut self, a: &CiphertextValue, b: &CiphertextValue, subtract: bool) -> Result<CiphertextValue> {
        let mut parts = Vec::new();
        for index in 0..a.parts.len().max(b.parts.len()) {
            let part = match (a.parts.get(index), b.parts.get(index)) {
                (Some(&a), Some(&b)) if subtract => self.builder.sub(a, b)?,
                (Some(&a), Some(&b)) => self.builder.add(a, b)?,
                (None, Some(&b)) if subtract => self.builder.negate(b)?,
                (Some(&one), None) | (None, Some(&one)) => one,
                (None, None) => continue,
            };
            parts.push(part);
        }
        let sign = if subtract { -1.0 } else { 1.0 };
        let noise = a.noise.plus(&b.noise, sign, self.ring_slots());
        Ok(CiphertextValue { parts, noise, rescale_due: a.rescale_due || b.rescale_due, ..a.clone() })
    }

    /// −a.
    ///
    /// # Errors
    /// [`LoweringError::Kernel`] if the value belongs to another program.
    pub fn negate(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        let mut negated = self.map(a, |lowering, _, part| Ok(lowering.builder.negate(part)?))?;
        negated.noise = negated.noise.times((-1.0).into(), (-1.0).into());
        Ok(negated)
    }

    /// `factor`·a, without using a level or changing the scale.
    ///
    /// # Errors
    /// [`LoweringError::Kernel`] if the value belongs to another program.
    pub fn multiply_integer(&mut self, a: &CiphertextValue, factor: i128) -> Result<CiphertextValue> {
        let mut product = self.scale_parts(a, factor)?;
        product.noise = a.noise.clone().times((factor as f64).into(), (factor as f64).into());
        Ok(product)
    }

    /// Multiplies the parts; the caller updates noise, message and scale.
    fn scale_parts(&mut self, a: &CiphertextValue, factor: i128) -> Result<CiphertextValue> {
        self.map(a, |lowering, _, part| lowering.scale_polynomial(part, factor))
    }

    /// `factor`·value for one polynomial.
    fn scale_polynomial(&mut self, value: ValueId, factor: i128) -> Result<ValueId> {
        match factor {
            1 => Ok(value),
            -1 => Ok(self.builder.negate(value)?),
            _ => {
                let limbs = self.builder.limbs(value).clone();
                let factors = self.builder.residues(factor, &limbs);
                Ok(self.builder.scale(value, &factors)?)
            }
        }
    }

    /// a times the real number `factor`, rounded to an integer at scale `scale`. The result's scale is a's times `scale`.
    ///
    /// # Errors
    /// [`LoweringError::Encoding`] if the scaled factor is beyond 2^120.
    pub fn multiply_real(&mut self, a: &CiphertextValue, factor: f64, scale: f64) -> Result<CiphertextValue> {
        let scaled = factor * scale;
        if scaled.is_nan() || scaled.abs() >= 2f64.powi(120) {
            return Err(LoweringError::Encoding {
                op: "mul_plain",
                magnitude: factor.abs(),
                scale: Scale::Real(scale).to_string(),
                problem: "beyond 2^120; use a smaller factor or scale".to_owned(),
            });
        }
        let mut product = self.scale_parts(a, scaled.round() as i128)?;
        product.scale = Scale::Real(a.scale.real() * scale);
        let rounding =
            Rounding { error: rounding_of(scaled, &self.model), scale: a.scale.real(), tail: self.model.tail() };
        product.noise = a.noise.times_rounded(factor.into(), scale, rounding, self.source());
        Ok(product)
    }

    /// Divides a and its scale by the primes between a's level and the one below.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] at level 0.
    pub fn rescale(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        if a.level == 0 {
            return Err(LoweringError::LevelExhausted { op: "rescale", top: self.chain.top() });
        }
        self.next_step();
        let dropped = self.chain.dropped(a.level);
        let quotient = self.map(a, |lowering, _, part| lowering.divide(part, &dropped))?;
        Ok(self.rescaled(quotient, a.level - 1, dropped.len()))
    }

    /// The state after ModDown from the value's level to `level`, with one division by `primes` primes.
    pub(super) fn rescaled(&mut self, mut value: CiphertextValue, level: usize, primes: usize) -> CiphertextValue {
        let dropped = self.chain.limbs(value.level).difference(&self.chain.limbs(level));
        let rounding = self.model.division(primes, self.choice.division, value.parts.len());
        let part = (-self.chain.log2_product(&dropped)).exp2();
        value.noise = value.noise.times(1.0.into(), part.into()).with_error(rounding, self.source());
        let scale = self.chain.divided(value.scale, &dropped);
        value.scale = if self.chain.alike(scale, self.chain.scale(level)) { self.chain.scale(level) } else { scale };
        value.level = level;
        value.rescale_due = false;
        value
    }

    /// a at a lower level with unchanged scale: drops limbs.
    ///
    /// # Errors
    /// [`LoweringError::LevelRaised`] if `level` is above a's.
    pub fn drop_to(&mut self, a: &CiphertextValue, level: usize) -> Result<CiphertextValue> {
        if level > a.level {
            return Err(LoweringError::LevelRaised { op: "mod_switch", wanted: level, level: a.level });
        }
        let limbs = self.chain.limbs(level);
        let dropped = self.map(a, |lowering, _, part| lowering.select(part, &limbs))?;
        Ok(CiphertextValue { level, ..dropped })
    }

    /// a at a lower level with that level's scale: drops limbs down to the level above, then multiplies by a constant and rescales.
    ///
    /// # Errors
    /// [`LoweringError::LevelRaised`] if `level` is above a's.
    pub fn lower_to(&mut self, a: &CiphertextValue, level: usize) -> Result<CiphertextValue> {
        let a = if a.rescale_due { self.rescale(a)? } else { a.clone() };
        if a.level == level && self.chain.alike(a.scale, self.chain.scale(level)) {
            return Ok(a);
        }
        if level >= a.level {
            return Err(LoweringError::LevelRaised { op: "mod_switch", wanted: level, level: a.level });
        }
        let above = self.drop_to(&a, level + 1)?;
        let dropped = self.chain.dropped(level + 1);
        let adjusted = match self.chain.ratio(self.chain.divided(a.scale, &dropped), self.chain.scale(level)) {
            Scale::Factor(factor) => {
                let t = self.chain.plaintext_modulus().unwrap_or(1);
                let centred = if factor > t / 2 { i128::from(factor) - i128::from(t) } else { i128::from(factor) };
                let mut product = self.scale_parts(&above, centred)?;
                product.scale = self.chain.product(a.scale, Scale::Factor(factor));
                product
            }
            Scale::Real(ratio) => self.multiply_real(&above, 1.0, ratio)?,
        };
        let mut lowered = self.rescale(&adjusted)?;
        lowered.scale = self.chain.scale(level);
        Ok(lowered)
    }
}
