//! Division with remainder.
//!
//! Long division, one base-4 digit at a time from the top: the remainder takes the dividend's next digit, then subtracts twice the
//! divisor and the divisor, each if it fits. A subtraction with borrows (one lookup with two results per digit) decides whether it
//! fits, and a selection applies it. Early remainders are short, so their subtractions are too.

use super::digit::{Circuit, Digit};
use super::{BASE, BitOperation, Comparison, IntegerId, IntegerType, Integers, Operands, Result};
use crate::tfhe::homomorphic::Builder;

impl Integers {
    /// Quotient and remainder rounded down, as in Python: the remainder has the divisor's sign. Unsigned division by 0 gives the
    /// largest integer and the dividend.
    ///
    /// # Errors
    /// [`super::IntegerError::Types`], [`super::IntegerError::Lengths`].
    pub fn divide(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<(IntegerId, IntegerId)> {
        let (a, b, _) = self.matched(builder, "//", a, b)?;
        let both = |own: &mut Self, builder: &mut Builder, x: &[IntegerId]| {
            own.divide_digits(builder, x[0], x[1]).map(<[_; 2]>::from)
        };
        Ok(self.by_table(builder, "//", &[a, b], both)?.into())
    }

    fn divide_digits(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<(IntegerId, IntegerId)> {
        let (kind, count) = (self.kind(a)?, self.count(a)?);
        if !kind.signed {
            return self.divide_unsigned(builder, a, b);
        }
        let magnitude = IntegerType::unsigned(kind.bits);
        let (negative, divisor_negative) = (self.bit(builder, a, kind.bits - 1)?, self.bit(builder, b, kind.bits - 1)?);
        let (left, right) = (self.abs(builder, a)?, self.abs(builder, b)?);
        let (left, right) = (self.cast(builder, left, magnitude)?, self.cast(builder, right, magnitude)?);
        let (quotient, remainder) = self.divide_unsigned(builder, left, right)?;
        let differ = self.bitwise(builder, BitOperation::Xor, negative, divisor_negative)?;
        let zero = self.public(builder, magnitude, &vec![vec![0; kind.digits()]; count])?;
        let rest = self.compare(builder, Comparison::NotEqual, remainder, zero)?;
        // If signs differ and the remainder is nonzero, the quotient is one less, and the remainder is completed to the divisor.
        let down = self.bitwise(builder, BitOperation::And, differ, rest)?;
        let down_wide = self.cast(builder, down, magnitude)?;
        let quotient = self.add(builder, quotient, down_wide)?;
        let quotient = self.negated_if(builder, differ, quotient)?;
        let missing = self.sub(builder, right, remainder)?;
        let remainder = self.select(builder, down, missing, remainder)?;
        let remainder = self.negated_if(builder, divisor_negative, remainder)?;
        Ok((self.cast(builder, quotient, kind)?, self.cast(builder, remainder, kind)?))
    }

    fn divide_unsigned(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<(IntegerId, IntegerId)> {
        let (Operands { kind, count }, x, y) = self.pair(builder, "//", a, b)?;
        let mut circuit = self.circuit(builder, count);
        let twice = circuit.doubled(&y)?;
        let (fits_twice, fits_once) = (circuit.zeros_from(&twice)?, circuit.zeros_from(&y)?);
        let mut quotient = Vec::new();
        let mut remainder: Vec<Digit> = Vec::new();
        for digit in x.iter().rev() {
            remainder.insert(0, digit.clone());
            let length = remainder.len();
            let two = circuit.take_off(&mut remainder, &twice[..length], &fits_twice[length])?;
            let one = circuit.take_off(&mut remainder, &y[..length], &fits_once[length])?;
            quotient.insert(0, Digit::combine(&[(2, &two), (1, &one)], 0));
        }
        let last = kind.digits() - 1;
        let top = quotient.pop().unwrap_or(Digit::constant(0));
        // The quotient by 0 has one bit too many for an odd width.
        quotient.push(top);
        let mut quotient = circuit.fitted(kind, quotient)?;
        quotient[last] = quotient[last].clone().within(0, kind.base(last) - 1);
        let within = |(index, digit): (usize, Digit)| digit.within(0, kind.base(index) - 1);
        let remainder = remainder.into_iter().enumerate().map(within).collect();
        Ok((self.add_value(kind, count, quotient), self.add_value(kind, count, remainder)))
    }
}

impl Circuit<'_> {
    /// Twice the number, with one more digit.
    fn doubled(&mut self, digits: &[Digit]) -> Result<Vec<Digit>> {
        let mut result = Vec::new();
        let mut carry = Digit::constant(0);
        for digit in digits {
            let mut both = self.lookup_each(digit, &[&|value| value * 2 % BASE, &|value| value * 2 / BASE])?;
            let next = both.pop().unwrap_or(Digit::constant(0));
            let own = both.pop().unwrap_or(Digit::constant(0));
            result.push(Digit::combine(&[(1, &own), (1, &carry)], 0).within(0, BASE - 1));
            carry = next;
        }
        result.push(carry);
        Ok(result)
    }

    /// For each position, whether all digits from it upward are 0.
    fn zeros_from(&mut self, digits: &[Digit]) -> Result<Vec<Digit>> {
        let mut zeros = vec![Digit::constant(1)];
        for digit in digits.iter().rev() {
            let above = &zeros[zeros.len() - 1];
            let both = self.read(&[(1, digit), (BASE, above)], 0)?;
            zeros.push(self.lookup(&both, &|value| i64::from(value == BASE))?);
        }
        zeros.reverse();
        Ok(zeros)
    }

    /// Subtracts `other` from `from` if it fits and `fits` is 1; returns whether it did.
    fn take_off(&mut self, from: &mut [Digit], other: &[Digit], fits: &Digit) -> Result<Digit> {
        let mut borrow = Digit::constant(0);
        let mut differences = Vec::new();
        for (digit, other) in from.iter().zip(other) {
            let sum = self.read(&[(1, digit), (-1, other), (-1, &borrow)], BASE)?;
            let mut both = self.lookup_each(&sum, &[&|value| value % BASE, &|value| i64::from(value < BASE)])?;
            borrow = both.pop().unwrap_or(Digit::constant(0));
            differences.push(both.pop().unwrap_or(Digit::constant(0)));
        }
        let sum = self.read(&[(2, &borrow), (1, fits)], 0)?;
        let taken = self.lookup(&sum, &|value| i64::from(value == 1))?;
        for (digit, difference) in from.iter_mut().zip(&differences) {
            *digit = self.chosen(&taken, difference, digit)?.within(0, BASE - 1);
        }
        Ok(taken)
    }
}
