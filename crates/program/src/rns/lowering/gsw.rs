//! Ring-GSW: external product, CMUX, internal product.
//!
//! All three consist of a key switch's decompositions and inner products: the rows of a ring-GSW ciphertext are those of two switching
//! keys ([`polyfabric_schemes::gsw`]). Both inner products are added before a single ModDown.

use super::{CiphertextValue, Lowering, LoweringError, Result};
use crate::rns::kernel::{LimbSet, ValueId};
use polyfabric_schemes::gsw::GswId;
use polyfabric_schemes::rns::{KeyId, Part};

/// The rows of a ring-GSW ciphertext in a program: (b, a) for each gadget term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GswRows {
    /// Rows of g·m.
    pub body: Vec<(ValueId, ValueId)>,
    /// Rows of g·m·s.
    pub mask: Vec<(ValueId, ValueId)>,
}

impl Lowering<'_> {
    /// a ⊡ `gsw`: the product of the messages. a's noise is multiplied by the message of the ring-GSW ciphertext.
    ///
    /// # Errors
    /// [`LoweringError::NotLinear`], [`LoweringError::Kernel`] if the gadget does not fit a's limbs.
    pub fn external_product(&mut self, a: &CiphertextValue, gsw: GswId) -> Result<CiphertextValue> {
        self.linear("external_product", a)?;
        let (body, mask) = self.external_parts(a.parts[0], a.parts[1], gsw)?;
        Ok(CiphertextValue { parts: vec![body, mask], ..a.clone() })
    }

    fn external_parts(&mut self, body: ValueId, mask: ValueId, gsw: GswId) -> Result<(ValueId, ValueId)> {
        let mut sums: Option<(ValueId, ValueId)> = None;
        for (part, key) in [(body, gsw.body_key()), (mask, gsw.mask_key())] {
            let digits = self.digits(part)?;
            let (b, a) = self.inner_product(&digits, key)?;
            sums = Some(match sums {
                None => (b, a),
                Some((sum_b, sum_a)) => (self.builder.add(sum_b, b)?, self.builder.add(sum_a, a)?),
            });
        }
        let special = self.special.clone();
        let (b, a) = sums.unwrap_or((body, mask));
        Ok((self.divide(b, &special)?, self.divide(a, &special)?))
    }

    /// `zero` if the bit in `gsw` is 0, `one` if it is 1: zero + (one − zero) ⊡ gsw.
    ///
    /// # Errors
    /// As [`Self::external_product`], and [`LoweringError::Mismatch`].
    pub fn cmux(&mut self, gsw: GswId, zero: &CiphertextValue, one: &CiphertextValue) -> Result<CiphertextValue> {
        let difference = self.sub(one, zero)?;
        let chosen = self.external_product(&difference, gsw)?;
        self.add(zero, &chosen)
    }

    /// The rows of the ring-GSW encryption of the product of both messages: each row of `a`, over all limbs of Q, times `b`.
    ///
    /// # Errors
    /// [`LoweringError::InternalProduct`] if the gadget has special primes: the rows are then ciphertexts modulo Q·P, but the gadget has
    /// no digits for P.
    pub fn internal_product(&mut self, a: GswId, b: GswId) -> Result<GswRows> {
        if !self.special.is_empty() {
            return Err(LoweringError::InternalProduct { special: self.special.len() });
        }
        let limbs = self.chain.limbs(self.chain.top());
        Ok(GswRows { body: self.rows_times(a.body_key(), b, &limbs)?, mask: self.rows_times(a.mask_key(), b, &limbs)? })
    }

    fn rows_times(&mut self, rows: KeyId, b: GswId, limbs: &LimbSet) -> Result<Vec<(ValueId, ValueId)>> {
        let gadget = &self.choice.gadget;
        let terms: u32 = match gadget.sub_digit_bits {
            None => gadget.digits.len() as u32,
            Some(bits) => {
                gadget.digits.iter().flatten().map(|&limb| self.chain.modulus(limb).bits().div_ceil(bits)).sum()
            }
        };
        let row = |row: u32| {
            let body = self.builder.key(rows, row as u16, Part::Body, limbs.clone())?;
            let mask = self.builder.key(rows, row as u16, Part::Mask, limbs.clone())?;
            self.external_parts(body, mask, b)
        };
        (0..terms).map(row).collect()
    }

    /// Declares the rows as outputs `name`.body and `name`.mask: row r's b is part 2r and its a is part 2r + 1.
    pub fn output_rows(&mut self, name: &str, rows: &GswRows) {
        for (half, rows) in [("body", &rows.body), ("mask", &rows.mask)] {
            for (row, &(body, mask)) in rows.iter().enumerate() {
                let name = format!("{name}.{half}");
                self.builder.output(&*name, 2 * row as u16, body);
                self.builder.output(&*name, 2 * row as u16 + 1, mask);
            }
        }
    }
}
