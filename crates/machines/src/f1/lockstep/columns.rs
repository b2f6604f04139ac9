//! Assigns limbs of an operation to clusters, and operands to scratchpad banks.
//!
//! If there are fewer equal operations than clusters, several clusters share an operation. The chip is then a
//! table with one row per operation; every cluster processes the limbs of its column. A digit of one limb
//! reaches the others through the scratchpad anyway. Each operation has as many banks as columns. A value is in
//! the bank of its limb's column, so writes of different columns never conflict.
//!
//! If there are more clusters than limbs, each limb can have a separate column. The remaining columns prepare
//! the operation's digits.

use super::pattern::{Operand, Pattern};
use std::collections::HashSet;

/// The columns of clusters, by the limbs of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    count: usize,
    operations: usize,
    /// The column of every instruction.
    column: Vec<u16>,
    /// The column whose banks contain each value from outside: that of its first reader.
    outside: Vec<u16>,
    /// The bank of each hint vector.
    hint: Vec<usize>,
    /// If each limb has a separate column, the number of remaining columns; otherwise 0.
    spare: usize,
}

impl Columns {
    /// For `clusters` clusters and `operations` operations, a divisor; limbs are assigned round-robin.
    pub fn new(pattern: &Pattern, clusters: usize, operations: usize) -> Self {
        let count = clusters / operations;
        let mut limbs: Vec<u16> = pattern.functions.iter().map(|function| function.limb()).collect();
        limbs.sort_unstable();
        limbs.dedup();
        let of = |limb: u16| limbs.partition_point(|&other| other < limb) % count;
        let column: Vec<u16> = pattern.functions.iter().map(|function| of(function.limb()) as u16).collect();
        let mut outside = Vec::new();
        let mut hint = Vec::new();
        // Consecutive hint vectors of a column are in banks that can send them at once, one to each of its
        // clusters.
        let mut given = vec![0; count];
        for (operands, &column) in pattern.operands.iter().zip(&column) {
            for operand in operands {
                match *operand {
                    Operand::Outside(index) if index as usize == outside.len() => outside.push(column),
                    Operand::Shared(index) if index as usize == hint.len() => {
                        let turn = &mut given[usize::from(column)];
                        hint.push(*turn % operations * count + *turn / operations % count);
                        *turn += 1;
                    }
                    _ => {}
                }
            }
        }
        Self { count, operations, column, outside, hint, spare: 0 }
    }

    /// A separate column for each limb of an operation. The number of columns divides `clusters` and leaves at
    /// least one column to prepare digits. `None` if there are too many limbs, or nothing to prepare.
    pub fn by_limb(pattern: &Pattern, clusters: usize) -> Option<Self> {
        let mut limbs: Vec<u16> = pattern.functions.iter().map(|function| function.limb()).collect();
        limbs.sort_unstable();
        limbs.dedup();
        let count = (limbs.len() + 1..=clusters).find(|&count| clusters.is_multiple_of(count))?;
        let spare = count - limbs.len();
        let stages = pattern.stages();
        let prepared: HashSet<u32> = stages.split_last()?.1.first()?.iter().flatten().copied().collect();
        let limb = |place: u32| limbs.partition_point(|&other| other < pattern.functions[place as usize].limb());
        let of = |place: u32| match prepared.contains(&place) {
            true => limbs.len() + limb(place) % spare,
            false => limb(place),
        };
        let column: Vec<u16> = (0..pattern.len() as u32).map(|place| of(place) as u16).collect();
        let operations = clusters / count;
        let mut outside = Vec::new();
        let mut hint = Vec::new();
        let mut given = vec![0; count];
        for (place, operands) in (0..).zip(&pattern.operands) {
            // A factor of a hint vector may come from a preparing cluster, whose banks are less busy.
            let elsewhere = operands.iter().find_map(|operand| match *operand {
                Operand::Own(made) if prepared.contains(&made) => Some(column[made as usize]),
                _ => None,
            });
            for operand in operands {
                match *operand {
                    Operand::Outside(index) if index as usize == outside.len() => outside.push(limb(place) as u16),
                    Operand::Shared(index) if index as usize == hint.len() => {
                        let column = usize::from(elsewhere.unwrap_or(column[place as usize]));
                        hint.push(given[column] % operations * count + column);
                        given[column] += 1;
                    }
                    _ => {}
                }
            }
        }
        Some(Self { count, operations, column, outside, hint, spare })
    }

    /// Whether each limb has a separate column.
    pub fn is_by_limb(&self) -> bool {
        self.spare > 0
    }

    /// Number of columns that only prepare.
    pub fn spare(&self) -> usize {
        self.spare
    }

    /// Number of hint vectors.
    pub fn hint(&self) -> usize {
        self.hint.len()
    }

    /// Number of operations, one per cluster of a column.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn of(&self, place: u32) -> usize {
        usize::from(self.column[place as usize])
    }

    /// The column whose banks contain a value from outside.
    pub fn of_outside(&self, index: u32) -> usize {
        usize::from(self.outside[index as usize])
    }

    pub fn cluster(&self, operation: usize, column: usize) -> usize {
        operation * self.count + column
    }

    /// The bank of a hint vector, if there are as many banks as clusters.
    pub fn bank_of_hint(&self, index: u32) -> usize {
        self.hint[index as usize]
    }

    /// Whether another hint vector can be read from the scratchpad together with `together`, for a different
    /// cluster.
    pub fn leave_together(&self, together: &[u32], another: u32) -> bool {
        let bank = self.bank_of_hint(another);
        let apart = |&of: &u32| {
            let other = self.bank_of_hint(of);
            other != bank && other % self.count == bank % self.count
        };
        together.len() < self.operations && together.iter().all(apart)
    }
}
