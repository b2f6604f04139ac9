//! Ring-GSW: external product, CMUX, internal product.
//!
//! All three consist of a key switch's digits, sums of products and ModDown, with the rows of a ring-GSW ciphertext
//! ([`polyfabric_schemes::gsw`]) in place of a key's. Body and mask are added before a single ModDown.

use super::{CiphertextValue, Lowering, LoweringError, Noise, Result};
use crate::rns::homomorphic::Values;
use crate::rns::kernel::{LimbSet, ValueId, ValueType};
use polyfabric_schemes::rns::KeyErrors;
use std::sync::Arc;

/// The rows of a ring-GSW ciphertext in a program: (b, a) for each gadget term.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GswRows {
    /// Rows of g·m.
    pub body: Vec<(ValueId, ValueId)>,
    /// Rows of g·m·s.
    pub mask: Vec<(ValueId, ValueId)>,
}

impl Lowering<'_> {
    /// Number of gadget terms with one of the limbs `q`, the first of Q.
    fn gadget_terms(&self, q: &LimbSet) -> u16 {
        let gadget = &self.choice.gadget;
        let present = |digit: &[_]| LimbSet::new(digit.iter().copied()).intersection(q);
        match gadget.sub_digit_bits {
            None => gadget.digits.iter().filter(|digit| !present(digit).is_empty()).count() as u16,
            Some(bits) => {
                let limbs = gadget.digits.iter().flat_map(|digit| present(digit).iter().collect::<Vec<_>>());
                limbs.map(|limb| self.chain.modulus(limb).bits().div_ceil(bits) as u16).sum()
            }
        }
    }

    /// The ring-GSW input `name` for products with ciphertexts over the limbs `q`, the first of Q: the parts are those of
    /// [`polyfabric_schemes::gsw::GswCiphertext::polynomials`].
    ///
    /// # Errors
    /// [`LoweringError::Kernel`] if there are too many parts.
    pub fn gsw_input(&mut self, name: &str, q: &LimbSet) -> Result<GswRows> {
        let (name, value): (Arc<str>, _) = (name.into(), ValueType::evaluation(self.raised_limbs(q)));
        let terms = self.gadget_terms(q);
        let mut row = |row: u16| {
            let body = self.builder.input(name.clone(), 2 * row, value.clone())?;
            Ok((body, self.builder.input(name.clone(), 2 * row + 1, value.clone())?))
        };
        let body = (0..terms).map(&mut row).collect::<Result<_>>()?;
        Ok(GswRows { body, mask: (terms..2 * terms).map(row).collect::<Result<_>>()? })
    }

    /// a ⊡ `gsw`: the product of the messages. a's noise, which the caller updates, is multiplied by the message of the ring-GSW ciphertext. A
    /// public a has a body only.
    ///
    /// # Errors
    /// [`LoweringError::NotLinear`], [`LoweringError::Kernel`] if the gadget does not fit a's limbs.
    pub fn external_product(&mut self, a: &CiphertextValue, gsw: &GswRows) -> Result<CiphertextValue> {
        if a.parts.len() > 1 {
            self.linear("external_product", a)?;
        }
        let (body, mask) = self.external_parts(&a.parts, gsw)?;
        Ok(CiphertextValue { parts: vec![body, mask], ..a.clone() })
    }

    fn external_parts(&mut self, parts: &[ValueId], gsw: &GswRows) -> Result<(ValueId, ValueId)> {
        let mut sums = [None; 2];
        for (&part, rows) in parts.iter().zip([&gsw.body, &gsw.mask]) {
            let digits = self.digits(part)?;
            let limbs = self.raised_limbs(&digits.q);
            for (&digit, &row) in digits.values.iter().zip(&digits.rows) {
                let (body, mask) = rows[usize::from(row)];
                for (sum, factor) in sums.iter_mut().zip([body, mask]) {
                    let factor = self.select(factor, &limbs)?;
                    // The digit is the second operand: units that multiply two polynomials by one factor expect it there.
                    *sum = Some(self.builder.accumulate(factor, digit, *sum)?);
                }
            }
        }
        let special = self.special.clone();
        let mut quotient = |sum: Option<ValueId>| self.divide(sum.unwrap_or(parts[0]), &special);
        Ok((quotient(sums[0])?, quotient(sums[1])?))
    }

    /// `zero` if the bit in `gsw` is 0, `one` if it is 1: zero + (one − zero) ⊡ gsw. The caller updates the noise.
    ///
    /// # Errors
    /// As [`Self::external_product`], and [`LoweringError::Mismatch`].
    pub fn cmux(&mut self, gsw: &GswRows, zero: &CiphertextValue, one: &CiphertextValue) -> Result<CiphertextValue> {
        let difference = self.sub(one, zero)?;
        let chosen = self.external_product(&difference, gsw)?;
        self.add(&chosen, zero)
    }

    /// CKKS: `one` if the bit in `gsw` is 1, otherwise `zero`, or an encryption of zeros, with its noise.
    ///
    /// # Errors
    /// As [`Self::cmux`].
    pub fn select_slots(
        &mut self,
        gsw: &GswRows,
        one: &CiphertextValue,
        zero: Option<&CiphertextValue>,
    ) -> Result<CiphertextValue> {
        self.next_step();
        let (selected, noise) = match zero {
            None => (self.external_product(one, gsw)?, one.noise.clone().settled()),
            Some(zero) => (self.cmux(gsw, zero, one)?, one.noise.either(&zero.noise, self.ring_slots())),
        };
        let (inner, division) = self.key_switch_noise(&self.chain.limbs(one.level), KeyErrors::Drawn);
        // Of the body's digits and of the mask's.
        let added = (inner * 2f64.sqrt()).hypot(division);
        Ok(CiphertextValue { noise: noise.with_error(added, self.source()), ..selected })
    }

    /// CKKS: a public vector as a ciphertext without a mask at `level`.
    ///
    /// # Errors
    /// [`LoweringError::Encoding`].
    pub fn public(&mut self, values: &Values, level: usize) -> Result<CiphertextValue> {
        let (scale, limbs) = (self.chain.scale(level), self.chain.limbs(level));
        let parts = vec![self.plaintext("select", values, scale, &limbs)?];
        let magnitude = values.magnitude();
        let noise = Noise::new(self.model.encoding(scale.real() * magnitude), magnitude, self.source());
        Ok(CiphertextValue { parts, level, scale, rescale_due: false, noise })
    }

    /// The rows of the ring-GSW encryption of the product of both messages: each row of `a`, over all limbs of Q, times `b`.
    ///
    /// # Errors
    /// [`LoweringError::InternalProduct`] if the gadget has special primes: the rows are then ciphertexts modulo Q·P, but the gadget has
    /// no digits for P.
    pub fn internal_product(&mut self, a: &GswRows, b: &GswRows) -> Result<GswRows> {
        if !self.special.is_empty() {
            return Err(LoweringError::InternalProduct { special: self.special.len() });
        }
        let mut times = |rows: &[(ValueId, ValueId)]| -> Result<Vec<_>> {
            rows.iter().map(|&(body, mask)| self.external_parts(&[body, mask], b)).collect()
        };
        Ok(GswRows { body: times(&a.body)?, mask: times(&a.mask)? })
    }

    /// Declares the rows as the output `name`, with the parts of [`Self::gsw_input`].
    pub fn output_rows(&mut self, name: &str, rows: &GswRows) {
        let parts = rows.body.iter().chain(&rows.mask).flat_map(|&(body, mask)| [body, mask]);
        for (part, value) in parts.enumerate() {
            self.builder.output(name, part as u16, value);
        }
    }
}
