//! Operations on vectors of integers: selection, concatenation, totals, and conditions over elements.

use super::arithmetic::Weighted;
use super::digit::Digit;
use super::{CAPACITY, IntegerError, IntegerId, IntegerType, Integers, Result};
use crate::tfhe::homomorphic::Builder;

impl Integers {
    /// # Errors
    /// [`IntegerError::Index`].
    pub fn take(&mut self, builder: &mut Builder, a: IntegerId, indices: &[usize]) -> Result<IntegerId> {
        let (kind, length) = (self.kind(a)?, self.count(a)?);
        if let Some(&index) = indices.iter().find(|&&index| index >= length) {
            return Err(IntegerError::Index { index, length });
        }
        let bits = self.get(a)?.bits.clone();
        let digits = if self.has_digits(a)? { Some(self.carried(builder, a)?) } else { None };
        let indices: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
        let mut circuit = self.circuit(builder, length);
        let mut taken = |digits: Vec<Digit>| digits.iter().map(|digit| circuit.take(digit, &indices)).collect();
        let (digits, bits) = (digits.map(&mut taken).transpose()?, bits.map(&mut taken).transpose()?);
        Ok(self.add_forms(kind, indices.len(), digits, bits))
    }

    /// Concatenates `parts`, which must have one type.
    ///
    /// # Errors
    /// [`IntegerError::Types`].
    pub fn concat(&mut self, builder: &mut Builder, parts: &[IntegerId]) -> Result<IntegerId> {
        let Some(&first) = parts.first() else { return Err(IntegerError::Unknown(u32::MAX)) };
        let kind = self.kind(first)?;
        for &part in parts {
            let right = self.kind(part)?;
            if right != kind {
                return Err(IntegerError::Types { op: "concat", left: kind, right });
            }
        }
        let (mut bits, mut digits) = (None, None);
        if self.all_in_bits(parts)? {
            let forms = parts.iter().map(|&part| self.bits(builder, part)).collect::<Result<Vec<_>>>()?;
            bits = Some(self.joined(builder, parts, forms)?);
        }
        let all = parts.iter().map(|&part| self.has_digits(part)).collect::<Result<Vec<_>>>()?;
        if bits.is_none() || all.iter().all(|has| *has) {
            let forms = parts.iter().map(|&part| self.carried(builder, part)).collect::<Result<Vec<_>>>()?;
            digits = Some(self.joined(builder, parts, forms)?);
        }
        let count = parts.iter().map(|&part| self.count(part)).sum::<Result<usize>>()?;
        Ok(self.add_forms(kind, count, digits, bits))
    }

    /// Concatenates the digits, or the bits, of `parts`, which are `forms`.
    fn joined(&mut self, builder: &mut Builder, parts: &[IntegerId], forms: Vec<Vec<Digit>>) -> Result<Vec<Digit>> {
        let mut columns = vec![Vec::new(); forms.first().map_or(0, Vec::len)];
        let mut count = 0;
        for (&part, digits) in parts.iter().zip(&forms) {
            let own = self.count(part)?;
            let mut circuit = self.circuit(builder, own);
            for (column, digit) in columns.iter_mut().zip(digits) {
                column.push((circuit.node(digit)?, circuit.norm(digit), digit.clone()));
            }
            count += own;
        }
        let mut digits = Vec::new();
        for column in columns {
            let nodes: Vec<_> = column.iter().map(|(node, ..)| *node).collect();
            let all = builder.concat(&nodes)?;
            self.norms.insert(all, column.iter().map(|(_, norm, _)| *norm).fold(0.0, f64::max));
            let lo = column.iter().map(|(.., digit)| digit.lo()).min().unwrap_or(0);
            let hi = column.iter().map(|(.., digit)| digit.hi()).max().unwrap_or(0);
            digits.push(self.circuit(builder, count).existing(all)?.within(lo, hi));
        }
        Ok(digits)
    }

    /// The sum of all elements of `a`, modulo 2^bits.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn total(&mut self, builder: &mut Builder, a: IntegerId) -> Result<IntegerId> {
        let elements = (0..self.count(a)?).map(|element| self.take(builder, a, &[element]));
        let addends: Vec<Weighted> =
            elements.map(|value| Ok(Weighted { weight: 1, value: value? })).collect::<Result<_>>()?;
        self.sum(builder, "sum", &addends)
    }

    /// For each of `rows` of element indices: whether all conditions of `a` are true there, or at least one with `any`.
    ///
    /// # Errors
    /// [`IntegerError::Needs`] unless `a` contains conditions, [`IntegerError::Index`].
    pub fn holds(&mut self, builder: &mut Builder, a: IntegerId, rows: &[Vec<usize>], any: bool) -> Result<IntegerId> {
        let length = self.count(a)?;
        if let Some(&index) = rows.iter().flatten().find(|&&index| index >= length) {
            return Err(IntegerError::Index { index, length });
        }
        let mut flags = self.condition(builder, if any { "any" } else { "all" }, a, length)?;
        // Count true conditions for `any`, false ones for `all`, and compare with 0.
        if !any {
            flags = Digit::combine(&[(-1, &flags)], 1);
        }
        let mut rows = rows.to_vec();
        let mut count = length;
        loop {
            let most = CAPACITY as usize - 1;
            let chunks: Vec<Vec<Vec<usize>>> =
                rows.iter().map(|row| row.chunks(most).map(<[usize]>::to_vec).collect()).collect();
            let mut start = 0;
            let next: Vec<Vec<usize>> = chunks
                .iter()
                .map(|chunks: &Vec<Vec<usize>>| {
                    start += chunks.len();
                    (start - chunks.len()..start).collect()
                })
                .collect();
            let sums = self.circuit(builder, count).sums(&flags, &chunks.concat())?;
            count = start;
            flags = self.circuit(builder, count).lookup(&sums, &|value| i64::from(value > 0))?;
            rows = next;
            if rows.iter().all(|row| row.len() <= 1) {
                break;
            }
        }
        if !any {
            flags = Digit::combine(&[(-1, &flags)], 1);
        }
        Ok(self.add_value(IntegerType::unsigned(1), count, vec![flags]))
    }
}
