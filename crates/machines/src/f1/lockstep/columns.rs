//! Which cluster takes which limb of an operation, and which scratchpad bank holds what it reads.
//!
//! Where there are fewer equal operations than clusters, several clusters share an operation: the chip is a table of as many rows as there are
//! operations, and every cluster has the limbs of its column. A digit of one limb reaches the others through the scratchpad anyway. Each
//! operation has as many banks as columns; a value lies in that of its limb's column, so what the columns write never meets in a bank.
//!
//! Where there are more clusters than limbs, each limb can have a column of its own. What makes an operation's digits is dealt out to the columns
//! that are left.

use super::pattern::{Operand, Pattern};
use std::collections::HashSet;

/// The columns of clusters, by the limbs of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    count: usize,
    operations: usize,
    /// The column of every instruction, by its place.
    column: Vec<u16>,
    /// The column whose banks hold each value from outside: that of its first reader.
    outside: Vec<u16>,
    /// The bank of each vector of the hint.
    hint: Vec<usize>,
    /// Where each limb has a column of its own, how many are left: none where columns have several.
    spare: usize,
}

impl Columns {
    /// Of `clusters` clusters for as many `operations` as divide them; limbs are dealt out in turn.
    pub fn new(pattern: &Pattern, clusters: usize, operations: usize) -> Self {
        let count = clusters / operations;
        let mut limbs: Vec<u16> = pattern.functions.iter().map(|function| function.limb()).collect();
        limbs.sort_unstable();
        limbs.dedup();
        let of = |limb: u16| limbs.partition_point(|&other| other < limb) % count;
        let column: Vec<u16> = pattern.functions.iter().map(|function| of(function.limb()) as u16).collect();
        let mut outside = Vec::new();
        let mut hint = Vec::new();
        // Vectors that follow each other in a column lie in banks that can give them all at once to its clusters, one to each.
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

    /// A column for each limb of an operation, of the fewest that divide `clusters` and leave at least one: what those that are left do is to
    /// prepare. None where there are too many limbs, or nothing to prepare.
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
            // What is multiplied by a vector of the hint may come from the clusters that prepare, and their banks have less to give.
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

    /// Whether each limb has a column of its own.
    pub fn is_by_limb(&self) -> bool {
        self.spare > 0
    }

    /// Columns that only prepare.
    pub fn spare(&self) -> usize {
        self.spare
    }

    /// Vectors of the hint.
    pub fn hint(&self) -> usize {
        self.hint.len()
    }

    /// Operations, one for each cluster of a column.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Columns.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The column of an instruction.
    pub fn of(&self, place: u32) -> usize {
        usize::from(self.column[place as usize])
    }

    /// The column whose banks hold a value from outside.
    pub fn of_outside(&self, index: u32) -> usize {
        usize::from(self.outside[index as usize])
    }

    /// The cluster of an operation in a column.
    pub fn cluster(&self, operation: usize, column: usize) -> usize {
        operation * self.count + column
    }

    /// The bank of a vector of the hint, if there are as many banks as clusters.
    pub fn bank_of_hint(&self, index: u32) -> usize {
        self.hint[index as usize]
    }

    /// Whether another vector of the hint can leave the scratchpad with those that `together` do, to a cluster of its own.
    pub fn leave_together(&self, together: &[u32], another: u32) -> bool {
        let bank = self.bank_of_hint(another);
        let apart = |&of: &u32| {
            let other = self.bank_of_hint(of);
            other != bank && other % self.count == bank % self.count
        };
        together.len() < self.operations && together.iter().all(apart)
    }
}
