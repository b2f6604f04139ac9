//! Operations with public vectors.

use super::value::{Rounding, rounding_of};
use super::{CiphertextValue, Lowering, LoweringError, Result};
use crate::rns::homomorphic::Values;
use crate::rns::kernel::{LimbSet, PublicPolynomial, ValueId, ValueType};
use crate::rns::levels::Scale;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

pub trait PlaintextEncoder: fmt::Debug {
    /// The polynomial with slots `values`·`scale`. A vector shorter than the ring's slots repeats; a single value fills all slots.
    ///
    /// # Errors
    /// The problem and its fix, if the values cannot be encoded.
    fn encode(&self, values: &Values, scale: Scale) -> std::result::Result<PublicPolynomial, String>;

    /// An upper bound of the polynomial's coefficients.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn largest_coefficient(&self, values: &Values, scale: Scale) -> std::result::Result<f64, String> {
        Ok(self.encode(values, scale)?.largest_coefficient())
    }
}

/// Cache of encoded vectors, by address of the values and bits of the scale.
#[derive(Debug, Default)]
pub(super) struct PlaintextMemo {
    encoded: HashMap<(usize, usize, u64), (Values, Arc<PublicPolynomial>)>,
    placed: HashMap<(*const PublicPolynomial, LimbSet), ValueId>,
    /// Cache of coefficient bounds, which a bootstrapping's vectors request repeatedly.
    largest: HashMap<(usize, usize, u64), (Values, f64)>,
}

fn identity(values: &Values, scale: Scale) -> (usize, usize, u64) {
    let address = match values {
        Values::Complex(values) => values.as_ptr() as usize,
        Values::Integer(values) => values.as_ptr() as usize,
    };
    let bits = match scale {
        Scale::Real(scale) => scale.to_bits(),
        Scale::Factor(factor) => factor,
    };
    (address, values.len(), bits)
}

fn unencoded(op: &'static str, values: &Values, scale: Scale) -> impl FnOnce(String) -> LoweringError {
    move |problem| LoweringError::Encoding { op, magnitude: values.magnitude(), scale: scale.to_string(), problem }
}

impl Lowering<'_> {
    /// `values` encoded with `scale` over `limbs`, in the evaluation domain. Repeated requests share the encoding.
    ///
    /// # Errors
    /// [`LoweringError::Encoding`].
    pub fn plaintext(&mut self, op: &'static str, values: &Values, scale: Scale, limbs: &LimbSet) -> Result<ValueId> {
        let key = identity(values, scale);
        let polynomial = match self.plaintexts.encoded.get(&key) {
            Some((_, known)) => known.clone(),
            None => {
                let encoded = self.encoder.encode(values, scale).map_err(unencoded(op, values, scale))?;
                let encoded = Arc::new(encoded);
                // Keeping the values keeps their address unique.
                self.plaintexts.encoded.insert(key, (values.clone(), encoded.clone()));
                encoded
            }
        };
        let key = (Arc::as_ptr(&polynomial), limbs.clone());
        if let Some(&known) = self.plaintexts.placed.get(&key) {
            return Ok(known);
        }
        let value = self.builder.plaintext(&polynomial, ValueType::evaluation(limbs.clone()))?;
        self.plaintexts.placed.insert(key, value);
        Ok(value)
    }

    /// An upper bound of the coefficients of `values` encoded with `scale`.
    pub(super) fn largest_coefficient(&mut self, op: &'static str, values: &Values, scale: Scale) -> Result<f64> {
        let key = identity(values, scale);
        if let Some(&(_, known)) = self.plaintexts.largest.get(&key) {
            return Ok(known);
        }
        let largest = self.encoder.largest_coefficient(values, scale).map_err(unencoded(op, values, scale))?;
        self.plaintexts.largest.insert(key, (values.clone(), largest));
        Ok(largest)
    }

    /// a ± `values` encoded with a's scale. A real constant for all slots needs no polynomial.
    ///
    /// # Errors
    /// [`LoweringError::Encoding`].
    pub fn add_plain(&mut self, a: &CiphertextValue, values: &Values, subtract: bool) -> Result<CiphertextValue> {
        let op = if subtract { "sub_plain" } else { "add_plain" };
        let limbs = self.builder.limbs(a.parts[0]).clone();
        let sign: i8 = if subtract { -1 } else { 1 };
        let body = match self.constant(values, a.scale) {
            Some(constant) => {
                let residues = self.builder.residues(i128::from(sign) * constant, &limbs);
                self.builder.add_constant(a.parts[0], &residues)?
            }
            None => {
                let plaintext = self.plaintext(op, values, a.scale, &limbs)?;
                if subtract {
                    self.builder.sub(a.parts[0], plaintext)?
                } else {
                    self.builder.add(a.parts[0], plaintext)?
                }
            }
        };
        let mut sum = a.clone();
        sum.parts[0] = body;
        let noise = a.noise.clone();
        sum.noise = match values {
            // The real and imaginary part of a single number are each off by at most half.
            Values::Complex(numbers) if numbers.len() == 1 => {
                noise.plus_number(numbers[0] * f64::from(sign).into()).with_systematic(1.0, self.source())
            }
            Values::Complex(_) => {
                let magnitude = values.magnitude();
                let encoding = self.model.encoding(a.scale.real() * magnitude);
                noise.plus_vector(values, magnitude, f64::from(sign)).with_error(encoding, self.source())
            }
            Values::Integer(_) => noise,
        };
        Ok(sum)
    }

    /// The constant polynomial of a single value: for CKKS if it is real and below 2^120 when scaled; for BGV centered modulo t.
    pub fn constant(&self, values: &Values, scale: Scale) -> Option<i128> {
        match (values, scale) {
            (Values::Complex(values), Scale::Real(scale)) => match **values {
                [value] if value.im == 0.0 && (value.re * scale).abs() < 2f64.powi(120) => {
                    Some((value.re * scale).round() as i128)
                }
                _ => None,
            },
            (Values::Integer(values), Scale::Factor(factor)) => {
                let t = i128::from(self.chain.plaintext_modulus()?);
                match **values {
                    [value] => {
                        let residue = (i128::from(value) * i128::from(factor)).rem_euclid(t);
                        Some(if residue > t / 2 { residue - t } else { residue })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// a·`values`, not rescaled yet. The values' scale is such that rescaling gives the level's scale.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] at level 0, [`LoweringError::Encoding`].
    pub fn multiply_plain(&mut self, a: &CiphertextValue, values: &Values) -> Result<CiphertextValue> {
        if a.level == 0 {
            return Err(LoweringError::LevelExhausted { op: "mul_plain", top: self.chain.top() });
        }
        let dropped = self.chain.dropped(a.level);
        let scale = self.chain.ratio(self.chain.divided(a.scale, &dropped), self.chain.scale(a.level - 1));
        self.multiply_plain_at(a, values, scale)
    }

    /// a·`values` with the values at `scale`; not rescaled yet.
    ///
    /// # Errors
    /// [`LoweringError::Encoding`].
    pub fn multiply_plain_at(&mut self, a: &CiphertextValue, values: &Values, scale: Scale) -> Result<CiphertextValue> {
        let limbs = self.builder.limbs(a.parts[0]).clone();
        let mut product = match self.constant(values, scale) {
            Some(constant) => {
                let residues = self.builder.residues(constant, &limbs);
                self.map(a, |lowering, _, part| Ok(lowering.builder.scale(part, &residues)?))?
            }
            None => {
                let plaintext = self.plaintext("mul_plain", values, scale, &limbs)?;
                self.map(a, |lowering, _, part| Ok(lowering.builder.multiply(part, plaintext)?))?
            }
        };
        product.scale = self.chain.product(a.scale, scale);
        product.rescale_due = true;
        let tail = self.model.tail();
        product.noise = match (values, scale) {
            // The rounding error of a single number is the same in every slot; for a complex one it is at most half in either part.
            (Values::Complex(numbers), Scale::Real(scale)) if numbers.len() == 1 => {
                let number = numbers[0];
                let error = if number.im == 0.0 { rounding_of(number.re * scale, &self.model) } else { 0.5f64.sqrt() };
                let rounding = Rounding { error, scale: a.scale.real(), tail };
                a.noise.times_rounded(number, scale, rounding, self.source())
            }
            (Values::Complex(_), Scale::Real(scale)) => {
                let magnitude = values.magnitude();
                let error = self.model.encoding(scale * magnitude);
                let rounding = Rounding { error, scale: a.scale.real(), tail };
                a.noise.times_vector(values, scale, rounding, self.source())
            }
            _ => a.noise.clone(),
        };
        Ok(product)
    }
}
