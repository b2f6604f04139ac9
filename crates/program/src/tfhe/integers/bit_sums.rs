//! Bits as sums that count modulo 2, for wide tables.
//!
//! Circuit bootstrapping reads a digit modulo its base, so a digit of one bit may be an unreduced sum: an exclusive or takes no lookup. A wide table
//! therefore gives its results twice, in digits of two bits and in single bits; what no one reads is never computed. AES is such tables
//! and exclusive ors of their bits, with no lookup in between:
//!
//!     s = table(x); y = s ^ rotated(s) ^ key      bits of y: sums of three bits, from 0 to 3
//!     table(y)                                    reads each sum modulo 2

use super::digit::{Circuit, Digit};
use super::{DIGIT_BITS, IntegerId, IntegerType, Integers, Result};
use crate::tfhe::homomorphic::{Builder, ElementType, Range};

/// Maximum Σ w² of a sum. Bits are half a torus apart, so it may exceed that of lookups.
const NORM_LIMIT: f64 = 224.0;

impl Integers {
    pub(super) fn has_digits(&self, id: IntegerId) -> Result<bool> {
        let found = self.get(id)?;
        Ok(found.digits.is_some() || found.carried.is_some())
    }

    /// Whether exclusive ors with `id` take no lookup: it has bits, or is public.
    fn gives_bits(&self, id: IntegerId) -> Result<bool> {
        Ok(self.get(id)?.bits.is_some() || self.public.contains_key(&id) || self.is_public(id)?)
    }

    /// Whether all of `ids` have bits or are public, and one has bits.
    pub(super) fn all_in_bits(&self, ids: &[IntegerId]) -> Result<bool> {
        let mut any = false;
        for &id in ids {
            any |= self.get(id)?.bits.is_some();
            if !self.gives_bits(id)? {
                return Ok(false);
            }
        }
        Ok(any)
    }

    /// The bits of `id`, which [`Self::gives_bits`], least significant first.
    pub(super) fn bits(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<Digit>> {
        let found = self.get(id)?.clone();
        if let Some(bits) = found.bits {
            return Ok(bits);
        }
        let (width, places) = (found.kind.bits, |bit: u32| ((bit / DIGIT_BITS) as usize, bit % DIGIT_BITS));
        if let Some(elements) = self.public.get(&id).cloned() {
            let circuit = self.circuit(builder, found.count);
            let (mut bits, range) = (Vec::new(), Range::new(0, 1).unwrap_or(Range::point(0)));
            for (digit, place) in (0..width).map(places) {
                let values: Vec<i64> = elements.iter().map(|digits| i64::from(digits[digit] >> place & 1)).collect();
                let node = circuit.builder.constant(ElementType::Integer(range), &values)?;
                bits.push(circuit.existing(node)?);
            }
            return Ok(bits);
        }
        let digits = self.digits(builder, id)?;
        let bit = |(digit, place): (usize, u32)| digits[digit].public().unwrap_or(0) >> place & 1;
        Ok((0..width).map(places).map(|at| Digit::constant(bit(at))).collect())
    }

    /// `a ^ b` of operands that give bits.
    pub(super) fn exclusive_or(
        &mut self,
        builder: &mut Builder,
        (a, b): (IntegerId, IntegerId),
        (kind, count): (IntegerType, usize),
    ) -> Result<IntegerId> {
        let (x, y) = (self.bits(builder, a)?, self.bits(builder, b)?);
        let mut circuit = self.circuit(builder, count);
        let bits = x.iter().zip(&y).map(|(x, y)| circuit.sum_of_bits(x, y)).collect::<Result<_>>()?;
        Ok(self.add_forms(kind, count, None, Some(bits)))
    }
}

impl Circuit<'_> {
    /// x + y modulo 2, with fresh noise if the sum is too noisy.
    pub(super) fn sum_of_bits(&mut self, x: &Digit, y: &Digit) -> Result<Digit> {
        let sum = Digit::combine(&[(1, x), (1, y)], 0).modulo_two(|node| self.existing(node).map(|own| own.hi()))?;
        if self.norm(&sum) <= NORM_LIMIT {
            return Ok(sum);
        }
        let fresh = self.wide(&[(1, sum)], &[vec![0, 1]])?;
        Ok(fresh.into_iter().next().unwrap_or(Digit::constant(0)))
    }

    /// The digits of an integer with these bits.
    pub(super) fn digits_of(&mut self, kind: IntegerType, bits: &[Digit]) -> Result<Vec<Digit>> {
        let mut digits = Vec::new();
        for (index, pair) in bits.chunks(DIGIT_BITS as usize).enumerate() {
            let most = kind.base(index) - 1;
            let index: Vec<(u32, Digit)> = pair.iter().map(|bit| (1, bit.clone())).collect();
            digits.extend(self.wide(&index, &[(0..=most).collect()])?);
        }
        Ok(digits)
    }
}
