//! Bitwise operations, single bits, leading zeros, and selection.

use super::carry::Columns;
use super::digit::Digit;
use super::{BASE, CAPACITY, DIGIT_BITS, IntegerError, IntegerId, IntegerType, Integers, Operands, Result};
use crate::tfhe::homomorphic::Builder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOperation {
    And,
    Or,
    Xor,
}

impl BitOperation {
    pub(super) fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

impl Integers {
    /// `a & b`, `a | b` or `a ^ b`.
    ///
    /// # Errors
    /// [`IntegerError::Types`], [`IntegerError::Lengths`].
    pub fn bitwise(
        &mut self,
        builder: &mut Builder,
        operation: BitOperation,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<IntegerId> {
        let (a, b, Operands { kind, count }) = self.matched(builder, "bitwise operation", a, b)?;
        if self.is_on_bits(operation, a, b)? {
            return self.bitwise_on_bits(builder, operation, (a, b), (kind, count));
        }
        let (x, y) = (self.carried(builder, a)?, self.carried(builder, b)?);
        let mut circuit = self.circuit(builder, count);
        let mut digits = Vec::new();
        for (index, (x, y)) in x.iter().zip(&y).enumerate() {
            let most = kind.base(index) - 1;
            let (read, public) = if x.public().is_some() { (y, x) } else { (x, y) };
            digits.push(match public.public() {
                // Public bits that keep all or clear all bits need no lookup.
                Some(public) if (0..=most).all(|v| operation.of(v, public) & most == v) => read.clone(),
                Some(public) => circuit.lookup(read, &|value| operation.of(value, public) & most)?,
                None => {
                    let both = circuit.read(&[(BASE, x), (1, y)], 0)?;
                    circuit.lookup(&both, &|value| operation.of(value / BASE, value % BASE))?
                }
            });
        }
        Ok(self.add_value(kind, count, digits))
    }

    /// `~a`; no lookup.
    ///
    /// # Errors
    /// [`IntegerError::Unknown`].
    pub fn not(&mut self, builder: &mut Builder, a: IntegerId) -> Result<IntegerId> {
        let (kind, count, bits) = (self.kind(a)?, self.count(a)?, self.get(a)?.bits.clone());
        let digits = if self.has_digits(a)? { Some(self.carried(builder, a)?) } else { None };
        let turned = |(index, digit): (usize, &Digit)| Digit::combine(&[(-1, digit)], kind.base(index) - 1);
        let digits = digits.map(|digits| digits.iter().enumerate().map(turned).collect());
        let mut circuit = self.circuit(builder, count);
        let mut turned = |mut bits: Vec<Digit>| -> Result<_> {
            bits.iter_mut().map(|bit| circuit.sum_of_bits(bit, &mut Digit::constant(1))).collect()
        };
        let bits = bits.map(&mut turned).transpose()?;
        Ok(self.add_forms(kind, count, digits, bits))
    }

    /// Bit `index` of `a` as a condition.
    ///
    /// # Errors
    /// [`IntegerError::Index`].
    pub fn bit(&mut self, builder: &mut Builder, a: IntegerId, index: u32) -> Result<IntegerId> {
        let (kind, count) = (self.kind(a)?, self.count(a)?);
        if index >= kind.bits {
            return Err(IntegerError::Index { index: index as usize, length: kind.bits as usize });
        }
        if self.keeps_bits() && self.get(a)?.bits.is_some() {
            let bit = self.bits(builder, a)?[index as usize].clone();
            return Ok(self.add_forms(IntegerType::unsigned(1), count, None, Some(vec![bit])));
        }
        let digit = self.carried(builder, a)?[(index / DIGIT_BITS) as usize].clone();
        let place = index % DIGIT_BITS;
        let mut circuit = self.circuit(builder, count);
        let bit = if digit.hi() <= 1 && place == 0 { digit } else { circuit.lookup(&digit, &|v| (v >> place) & 1)? };
        Ok(self.add_value(IntegerType::unsigned(1), count, vec![bit]))
    }

    /// Number of zeros above the highest 1 of `a`; the width if `a` is 0.
    ///
    /// # Errors
    /// [`IntegerError::Unknown`].
    pub fn leading_zeros(&mut self, builder: &mut Builder, a: IntegerId) -> Result<IntegerId> {
        let (kind, count, lanes) = (self.kind(a)?, self.count(a)?, self.lanes);
        let digits = self.carried(builder, a)?;
        let result = IntegerType::unsigned(u32::BITS - kind.bits.leading_zeros());
        let mut circuit = self.circuit(builder, count);
        let mut columns = Columns::new(result.digits());
        let mut zeros_above = Digit::constant(1);
        for (index, digit) in digits.iter().enumerate().rev() {
            let bits = if kind.base(index) == BASE { 2 } else { 1 };
            let sum = circuit.read(&[(1, digit), (BASE, &zeros_above)], 0)?;
            let zeros = |value: i64| match value - BASE {
                0 => bits,
                1 => bits - 1,
                _ => 0,
            };
            let mut both = circuit.lookup_each(&sum, &[&zeros, &|value| i64::from(value == BASE)])?;
            zeros_above = both.pop().unwrap_or(zeros_above);
            both.into_iter().for_each(|zeros| columns.add(0, zeros));
        }
        let digits = circuit.carried(columns, lanes)?;
        let digits = circuit.fitted(result, digits)?;
        Ok(self.add_value(result, count, digits))
    }

    /// `then` if the bit `condition` is 1, otherwise `otherwise`.
    ///
    /// # Errors
    /// [`IntegerError::Types`], [`IntegerError::Lengths`], [`IntegerError::Needs`] unless `condition` is a bit.
    pub fn select(
        &mut self,
        builder: &mut Builder,
        condition: IntegerId,
        then: IntegerId,
        otherwise: IntegerId,
    ) -> Result<IntegerId> {
        let op = "select";
        let (then, otherwise, Operands { kind, .. }) = self.matched(builder, op, then, otherwise)?;
        let (then, condition_wide, count) = self.stretched(builder, op, then, condition)?;
        let (otherwise, ..) = self.stretched(builder, op, otherwise, then)?;
        self.expect_condition(op, condition)?;
        if let Some(chosen) = self.chosen_bits(builder, condition_wide, (then, otherwise), (kind, count))? {
            return Ok(chosen);
        }
        let condition = self.condition(builder, op, condition_wide, count)?;
        let (x, y) = (self.carried(builder, then)?, self.carried(builder, otherwise)?);
        let mut circuit = self.circuit(builder, count);
        let mut digits = Vec::new();
        for (index, (x, y)) in x.iter().zip(&y).enumerate() {
            digits.push(circuit.chosen(&condition, x, y)?.within(0, kind.base(index) - 1));
        }
        Ok(self.add_value(kind, count, digits))
    }
}

impl super::Circuit<'_> {
    /// `then` if `condition` is 1, otherwise `otherwise`, as `otherwise` + (condition ? then − otherwise : 0). One lookup reads the
    /// difference and the condition, packed together.
    pub(super) fn chosen(&mut self, condition: &Digit, then: &Digit, otherwise: &Digit) -> Result<Digit> {
        let (lo, hi) = (then.lo().min(otherwise.lo()), then.hi().max(otherwise.hi()));
        let difference = Digit::combine(&[(1, then), (-1, otherwise)], 0);
        if let Some(difference) = difference.public() {
            let sum = Digit::combine(&[(1, otherwise), (difference, condition)], 0);
            return Ok(if otherwise.public().is_some() { sum } else { sum.within(lo, hi) });
        }
        let (least, span) = (difference.lo(), difference.hi() - difference.lo() + 1);
        if 2 * span > CAPACITY {
            return Err(IntegerError::Range { lo: difference.lo(), hi: difference.hi(), most: CAPACITY });
        }
        let both = self.read(&[(1, then), (-1, otherwise), (span, condition)], -least)?;
        let change = self.lookup(&both, &|value| if value < span { 0 } else { value - span + least })?;
        Ok(Digit::combine(&[(1, otherwise), (1, &change)], 0).within(lo, hi))
    }
}
