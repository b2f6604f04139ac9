//! Tables with an encrypted index.
//!
//! The index is read in groups of two digits. The lowest group becomes 16 bits, one per value. A row of 16 entries is a combination
//! of these bits with public weights, or a lookup if the weights are too large. Each further group selects one of 16 rows: one
//! lookup per row, and a sum.
//!
//! If the program asks for wide tables, all digits of the index are read at once by circuit bootstrapping, or its bits if it has them, for all digits
//! of the entries and for all their bits.
//!
//! On slots an index with as many values as a table has entries is read at once: all lookups are of the packed index, and share a bootstrap.

use super::digit::{Circuit, Digit, NORM_LIMIT};
use super::{BASE, CAPACITY, DIGIT_BITS, IntegerError, IntegerId, IntegerType, Integers, Result};
use crate::tfhe::homomorphic::{Builder, Table};
use polyfabric_schemes::tfhe::noise::SHARED_TABLES;

/// Maximum width of an index.
pub const MAX_INDEX_BITS: u32 = 16;

impl Integers {
    /// `entries[index]` for 2^bits entries of type `kind`, given by their digits, least significant first.
    ///
    /// # Errors
    /// [`IntegerError::Bits`], [`IntegerError::Entries`], [`IntegerError::Public`], [`IntegerError::Needs`] for a signed index.
    pub fn table(
        &mut self,
        builder: &mut Builder,
        index: IntegerId,
        kind: IntegerType,
        entries: &[Vec<u8>],
    ) -> Result<IntegerId> {
        let found = self.kind(index)?;
        if found.bits > MAX_INDEX_BITS {
            return Err(IntegerError::Bits { op: "index", bits: found.bits, least: 1, most: MAX_INDEX_BITS });
        }
        if found.signed {
            return Err(IntegerError::Needs { op: "table", expected: "an unsigned index", found });
        }
        if entries.len() != 1 << found.bits {
            return Err(IntegerError::Entries { entries: entries.len(), bits: found.bits });
        }
        if let Some(wrong) = entries.iter().find(|entry| entry.len() != kind.digits()) {
            return Err(IntegerError::Public { digits: wrong.len(), kind });
        }
        if self.wide_tables && !self.is_public(index)? {
            return self.wide_table(builder, index, kind, entries);
        }
        self.by_lookups(builder, found.bits, |own, builder| own.table_of_lookups(builder, index, kind, entries))
    }

    /// [`Self::table`] by lookups.
    fn table_of_lookups(
        &mut self,
        builder: &mut Builder,
        index: IntegerId,
        kind: IntegerType,
        entries: &[Vec<u8>],
    ) -> Result<IntegerId> {
        let (found, count) = (self.kind(index)?, self.count(index)?);
        let digits = self.carried(builder, index)?;
        let at_once = self.slot_tables.is_some_and(|most| entries.len() as i64 <= most);
        let mut circuit = self.circuit(builder, count);
        let columns = digits_of_entries(kind, entries);
        let read = if at_once {
            let index = Digit::combine(&weighted(&digits), 0);
            let entry = |column: &[i64], value: i64| column.get(value as usize).copied().unwrap_or(0);
            let each = columns.iter().map(|column| circuit.lookup(&index, &|value| entry(column, value)));
            each.collect::<Result<Vec<_>>>()?
        } else {
            let groups = circuit.groups(found, &digits)?;
            columns.iter().map(|column| circuit.entry(&groups, column)).collect::<Result<Vec<_>>>()?
        };
        let read = read.into_iter().enumerate();
        let result = read.map(|(position, digit)| digit.within(0, kind.base(position) - 1)).collect();
        Ok(self.add_value(kind, count, result))
    }

    /// [`Self::table`] by circuit bootstrapping.
    fn wide_table(
        &mut self,
        builder: &mut Builder,
        index: IntegerId,
        kind: IntegerType,
        entries: &[Vec<u8>],
    ) -> Result<IntegerId> {
        let count = self.count(index)?;
        let read = self.wide_index(builder, index)?;
        self.wide_entries(builder, &read, (kind, count), entries)
    }

    /// The bits of an integer, or else its digits, as the index of a wide table: each with its number of bits.
    pub(super) fn wide_index(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<(u32, Digit)>> {
        if let Some(bits) = &self.get(id)?.bits {
            return Ok(bits.iter().map(|bit| (1, bit.clone())).collect());
        }
        let (kind, count, digits) = (self.kind(id)?, self.count(id)?, self.carried(builder, id)?);
        let mut circuit = self.circuit(builder, count);
        let width = |at: usize| kind.base(at).ilog2();
        let read = digits.iter().enumerate().map(|(at, digit)| Ok((width(at), circuit.read(&[(1, digit)], 0)?)));
        read.collect()
    }

    /// The entries of a wide table, in digits and in bits.
    pub(super) fn wide_entries(
        &mut self,
        builder: &mut Builder,
        index: &[(u32, Digit)],
        (kind, count): (IntegerType, usize),
        entries: &[Vec<u8>],
    ) -> Result<IntegerId> {
        let columns = digits_of_entries(kind, entries);
        let mut circuit = self.circuit(builder, count);
        let digits = circuit.wide(index, &columns)?;
        let bit = |bit: u32| {
            let (column, place) = (&columns[(bit / DIGIT_BITS) as usize], bit % DIGIT_BITS);
            column.iter().map(|entry| entry >> place & 1).collect()
        };
        let bits = circuit.wide(index, &(0..kind.bits).map(bit).collect::<Vec<_>>())?;
        Ok(self.add_forms(kind, count, Some(digits), Some(bits)))
    }

    /// Whether all digits are public numbers, the same for all elements.
    pub(super) fn is_public(&self, id: IntegerId) -> Result<bool> {
        let public = |digits: &Vec<Digit>| digits.iter().all(|digit| digit.public().is_some());
        Ok(self.get(id)?.digits.as_ref().is_some_and(public))
    }
}

/// Each digit of all entries.
fn digits_of_entries(kind: IntegerType, entries: &[Vec<u8>]) -> Vec<Vec<i64>> {
    let digit = |position: usize| entries.iter().map(|entry| i64::from(entry[position])).collect();
    (0..kind.digits()).map(digit).collect()
}

/// Digits with their weights, from [`BASE`]^0.
fn weighted(digits: &[Digit]) -> Vec<(i64, &Digit)> {
    digits.iter().enumerate().map(|(at, digit)| (BASE.pow(at as u32), digit)).collect()
}

/// Two digits of an index.
struct Group {
    /// Both digits packed.
    value: Digit,
    /// Bit v is 1 if the value is v.
    bits: Vec<Digit>,
}

impl Circuit<'_> {
    /// The entries of all `columns` at once, for an index in digits of so many bits each.
    pub(super) fn wide(&mut self, index: &[(u32, Digit)], columns: &[Vec<i64>]) -> Result<Vec<Digit>> {
        let nodes = index.iter().map(|(_, digit)| self.node(digit)).collect::<Result<Vec<_>>>()?;
        let all = self.builder.concat(&nodes)?;
        let widths: Vec<u32> = index.iter().map(|(bits, _)| *bits).collect();
        let mut results: Vec<Digit> = columns.iter().map(|column| Digit::constant(column[0])).collect();
        let varied: Vec<usize> =
            (0..columns.len()).filter(|&at| columns[at].iter().any(|entry| *entry != columns[at][0])).collect();
        for positions in varied.chunks(SHARED_TABLES) {
            let tables = positions.iter().map(|&at| Table::new(0, columns[at].clone()));
            let read = self.builder.lookup_wide(all, widths.clone(), tables.collect::<std::result::Result<_, _>>()?)?;
            for (part, &at) in positions.iter().enumerate() {
                let elements: Vec<u32> = (part * self.count..(part + 1) * self.count).map(|i| i as u32).collect();
                let own = self.builder.select(read, &elements)?;
                // The node has the range of all tables.
                let (lo, hi) = columns[at].iter().fold((i64::MAX, 0), |(lo, hi), &own| (lo.min(own), hi.max(own)));
                results[at] = self.existing(own)?.within(lo, hi);
            }
        }
        Ok(results)
    }

    fn groups(&mut self, kind: IntegerType, digits: &[Digit]) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        for (index, pair) in digits.chunks(2).enumerate() {
            let value = self.read(&weighted(pair), 0)?;
            let values: i64 = (0..pair.len()).map(|at| kind.base(index * 2 + at)).product();
            let bits =
                (0..values).map(|v| self.lookup(&value, &|value| i64::from(value == v))).collect::<Result<_>>()?;
            groups.push(Group { value, bits });
        }
        Ok(groups)
    }

    /// One digit of the entry that `groups` select; `column` contains that digit of all entries.
    fn entry(&mut self, groups: &[Group], column: &[i64]) -> Result<Digit> {
        let Some((highest, lower)) = groups.split_last() else { return Ok(Digit::constant(column[0])) };
        if lower.is_empty() {
            return self.row(highest, column);
        }
        let size = column.len() / highest.bits.len();
        let mut sum = Vec::new();
        for (rows, bit) in column.chunks(size).zip(&highest.bits) {
            let entry = self.entry(lower, rows)?;
            sum.push(match entry.public() {
                Some(value) => Digit::combine(&[(value, bit)], 0),
                None => {
                    let both = self.read(&[(1, &entry), (BASE, bit)], 0)?;
                    self.lookup(&both, &|value| (value - BASE).max(0))?
                }
            });
        }
        let sum = Digit::combine(&sum.iter().map(|part| (1, part)).collect::<Vec<_>>(), 0);
        Ok(sum.within(0, BASE - 1))
    }

    /// The entry of `row` that the group selects.
    fn row(&mut self, group: &Group, row: &[i64]) -> Result<Digit> {
        let weights: Vec<(i64, &Digit)> = row.iter().zip(&group.bits).map(|(entry, bit)| (*entry, bit)).collect();
        let sum = Digit::combine(&weights, 0);
        // Leave margin for a reader that adds a condition of weight BASE.
        if row.iter().all(|entry| *entry == row[0]) {
            Ok(Digit::constant(row[0]))
        } else if self.norm(&sum) <= NORM_LIMIT - CAPACITY as f64 {
            Ok(sum.within(0, BASE - 1))
        } else {
            let entry = |value: i64| row.get(value as usize).copied().unwrap_or(0);
            self.lookup(&group.value, &entry)
        }
    }
}
