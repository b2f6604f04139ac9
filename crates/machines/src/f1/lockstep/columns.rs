//! Which cluster takes which limb of an operation, and which scratchpad bank holds what it reads.
//!
//! Where there are fewer equal operations than clusters, several clusters share an operation: the chip is a table of as many rows as there are
//! operations, and every cluster has the limbs of its column. A digit of one limb reaches the others through the scratchpad anyway. Each
//! operation has as many banks as columns; a value lies in that of its limb's column, so what the columns write never meets in a bank.

use super::pattern::{Operand, Pattern};

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
        Self { count, operations, column, outside, hint }
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
