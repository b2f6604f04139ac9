//! Comparisons.
//!
//! A lookup on the whole torus reads the difference of two packed digits, from −15 to 15, and gives its sign −1, 0 or 1: values half a
//! torus (16) apart have negated signs. Signs s_j, from the least significant up, have the sign of Σ 2^j s_j. So further lookups
//! combine four signs at a time, and the last one combines three and gives the answer. Without the whole torus, a lookup reads the difference of
//! single digits, and combines three signs.

use super::digit::{Circuit, Digit};
use super::{BASE, CAPACITY, IntegerId, IntegerType, Integers, Operands, Result};
use crate::tfhe::homomorphic::Builder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Signs that one lookup on the whole torus combines.
const SIGNS: usize = 4;
/// Signs that one lookup on half the torus combines, as the last one: its answers are not negatives of each other.
const LAST_SIGNS: usize = 3;

impl Integers {
    /// Whether the comparison is true, as a condition.
    ///
    /// # Errors
    /// [`super::IntegerError::Types`], [`super::IntegerError::Lengths`].
    pub fn compare(
        &mut self,
        builder: &mut Builder,
        comparison: Comparison,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<IntegerId> {
        let (a, b, Operands { kind, count }) = self.matched(builder, "comparison", a, b)?;
        if matches!(comparison, Comparison::Equal | Comparison::NotEqual)
            && let Some(equal) = self.equal_but_for_one_bit(builder, (a, b), count)?
        {
            let answer = self.add_forms(IntegerType::unsigned(1), count, None, Some(vec![equal]));
            return if comparison == Comparison::Equal { Ok(answer) } else { self.not(builder, answer) };
        }
        let (x, y) = (self.carried(builder, a)?, self.carried(builder, b)?);
        let mut circuit = self.circuit(builder, count);
        let answer = match comparison {
            Comparison::Equal => circuit.equal(&x, &y)?,
            Comparison::NotEqual => {
                let equal = circuit.equal(&x, &y)?;
                Digit::combine(&[(-1, &equal)], 1)
            }
            Comparison::Less => circuit.order(kind, &x, &y, &|sign| sign < 0)?,
            Comparison::LessOrEqual => circuit.order(kind, &x, &y, &|sign| sign <= 0)?,
            Comparison::Greater => circuit.order(kind, &x, &y, &|sign| sign > 0)?,
            Comparison::GreaterOrEqual => circuit.order(kind, &x, &y, &|sign| sign >= 0)?,
        };
        Ok(self.add_value(IntegerType::unsigned(1), count, vec![answer]))
    }

    /// The elementwise maximum, or the minimum with `least`.
    ///
    /// # Errors
    /// As [`Self::compare`].
    pub fn extreme(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId, least: bool) -> Result<IntegerId> {
        let comparison = if least { Comparison::LessOrEqual } else { Comparison::GreaterOrEqual };
        let condition = self.compare(builder, comparison, a, b)?;
        self.select(builder, condition, a, b)
    }
}

/// Differences of `packed` digits each (the last may have fewer), as weighted terms.
fn differences(x: &[Digit], y: &[Digit], packed: usize) -> Vec<Vec<(i64, Digit)>> {
    let side_by_side = |(x, y): (&[Digit], &[Digit])| {
        let weight = |index: usize| BASE.pow(index as u32);
        let left = x.iter().enumerate().map(|(index, digit)| (weight(index), digit.clone()));
        let right = y.iter().enumerate().map(|(index, digit)| (-weight(index), digit.clone()));
        left.chain(right).collect()
    };
    x.chunks(packed).zip(y.chunks(packed)).map(side_by_side).collect()
}

fn borrowed(parts: &[(i64, Digit)]) -> Vec<(i64, &Digit)> {
    parts.iter().map(|(weight, digit)| (*weight, digit)).collect()
}

impl Circuit<'_> {
    /// 1 if all digits are equal.
    pub(super) fn equal(&mut self, x: &[Digit], y: &[Digit]) -> Result<Digit> {
        let mut equal = Vec::new();
        for parts in differences(x, y, 2) {
            let difference = self.read(&borrowed(&parts), 0)?;
            equal.push(self.lookup_whole(&difference, &|value| i64::from(value == 0))?);
        }
        self.all(equal)
    }

    /// 1 if all bits are 1.
    pub(super) fn all(&mut self, mut bits: Vec<Digit>) -> Result<Digit> {
        while bits.len() > 1 {
            let mut next = Vec::new();
            for group in bits.chunks(CAPACITY as usize - 1) {
                let most = group.len() as i64;
                let sum = self.read(&group.iter().map(|bit| (1, bit)).collect::<Vec<_>>(), 0)?;
                next.push(if most == 1 { group[0].clone() } else { self.lookup(&sum, &|v| i64::from(v == most))? });
            }
            bits = next;
        }
        Ok(bits.pop().unwrap_or(Digit::constant(1)))
    }

    /// 1 if any digit is nonzero.
    pub(super) fn any(&mut self, mut digits: Vec<Digit>) -> Result<Digit> {
        loop {
            let most = digits.iter().map(Digit::hi).max().unwrap_or(0);
            if digits.len() <= 1 && most <= 1 {
                return Ok(digits.pop().unwrap_or(Digit::constant(0)));
            }
            let mut next = Vec::new();
            for group in digits.chunks(((CAPACITY - 1) / most.max(1)) as usize) {
                let sum = self.read(&group.iter().map(|digit| (1, digit)).collect::<Vec<_>>(), 0)?;
                next.push(if sum.hi() <= 1 { sum } else { self.lookup(&sum, &|value| i64::from(value > 0))? });
            }
            digits = next;
        }
    }

    /// `answer` applied to the sign of x − y.
    pub(super) fn order(
        &mut self,
        kind: IntegerType,
        x: &[Digit],
        y: &[Digit],
        answer: &dyn Fn(i64) -> bool,
    ) -> Result<Digit> {
        let last = x.len() - 1;
        let (mut x, mut y) = (x.to_vec(), y.to_vec());
        let mut top = None;
        if kind.signed {
            // Pack the top digits as signed ones, since their difference alone does not determine the order.
            let base = kind.base(last);
            let (left, right) = (x.remove(last), y.remove(last));
            let both = self.read(&[(BASE, &left), (1, &right)], 0)?;
            let signed = move |value: i64| if value >= base / 2 { value - base } else { value };
            top = Some((both, signed));
        }
        let (packed, most_signs) = if self.whole_torus { (2, SIGNS) } else { (1, LAST_SIGNS) };
        let alone = x.is_empty();
        let only = x.len() <= packed && top.is_none();
        let mut signs = Vec::new();
        for parts in differences(&x, &y, packed) {
            let difference = self.read(&borrowed(&parts), 0)?;
            if only && difference.hi() - difference.lo() < CAPACITY {
                return self.lookup(&difference, &|value| i64::from(answer(value.signum())));
            }
            signs.push(self.lookup_whole(&difference, &|value| value.signum())?);
        }
        if let Some((both, signed)) = top {
            let difference = |value: i64| signed(value / BASE) - signed(value % BASE);
            if alone {
                return self.lookup(&both, &|value| i64::from(answer(difference(value))));
            }
            signs.push(self.lookup(&both, &|value| difference(value).signum())?);
        }
        while signs.len() > LAST_SIGNS {
            let mut surplus = signs.len() - LAST_SIGNS;
            let mut next = Vec::new();
            let mut rest = &signs[..];
            while !rest.is_empty() {
                let (group, after) = rest.split_at((surplus + 1).min(most_signs).min(rest.len()));
                surplus -= (group.len() - 1).min(surplus);
                next.push(if let [one] = group {
                    one.clone()
                } else {
                    let sum = self.read(&powers(group), 0)?;
                    self.lookup_whole(&sum, &|value| value.signum())?
                });
                rest = after;
            }
            signs = next;
        }
        let sum = self.read(&powers(&signs), 0)?;
        self.lookup(&sum, &|value| i64::from(answer(value.signum())))
    }
}

fn powers(signs: &[Digit]) -> Vec<(i64, &Digit)> {
    signs.iter().enumerate().map(|(index, sign)| (1 << index, sign)).collect()
}
