//! Linear layers: for each block of rows, loads the ciphertexts that the block needs, in blocks, and multiplies.

use super::super::instruction::{Instruction, Opcode};
use super::super::layout::Layout;
use super::super::machine::Morphling;
use super::{Buffer, Group, SoftwareError, Writer, part};
use crate::tfhe::dispatcher::{Priority, Wait};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::workload::{Item, LinearLayer};
use polyfabric_program::tfhe::Matrix;
use std::collections::BTreeMap;
use std::ops::Range;

impl Writer<'_> {
    pub(super) fn linear(&mut self, layer: &LinearLayer, matrix: &Matrix) -> Result<(), SoftwareError> {
        let layout = self.streams.layout;
        let bytes = (layer.dimension as u64 + 1) * COEFFICIENT_BYTES;
        let block = linear_block(&layout, bytes) as usize;
        let (first, number, sequence, rotation) = (0, 0, 0, None);
        let group = Group { work: 0, first, count: 0, number, sequence, nodes: 0..0, rotation };
        let mut operand_count = 0;
        let needs = LinearNeeds::new(matrix, block);
        for first_row in (0..matrix.rows()).step_by(block) {
            let rows = first_row..(first_row + block).min(matrix.rows());
            let mut last: Vec<Option<u32>> = vec![None; self.machine.lane_groups as usize];
            let shares: Vec<Range<usize>> =
                (0..self.machine.lane_groups).map(|lane| linear_rows(self.machine, rows.clone(), lane)).collect();
            // For each block of ciphertexts: products, ciphertexts and sums of each lane group. The first block of a
            // row also initializes its sum with the bias.
            let mut products: BTreeMap<usize, Vec<(usize, usize, usize)>> = BTreeMap::new();
            for (lane, share) in shares.iter().enumerate() {
                for pass in share.clone().flat_map(|row| needs.passes(matrix, row)) {
                    let lanes = products.entry(pass.block).or_insert_with(|| vec![(0, 0, 0); shares.len()]);
                    lanes[lane].0 += pass.columns.len() + usize::from(pass.before.is_none());
                    lanes[lane].1 += pass.columns.len() + usize::from(pass.before.is_some());
                    lanes[lane].2 += 1;
                }
            }
            let blocks = products.last_key_value().map_or(0, |(&last, _)| last as u64 + 1);
            for (number, products) in products {
                let columns = needs.block(first_row, number);
                let mut blank = self.blank(Opcode::LoadOperands, &group);
                blank.operation = layer.op;
                blank.part = part(layer.op, "blocks of ciphertexts", number as u64, blocks)?;
                blank.length = layer.dimension as u32 + 1;
                let entry = operand_count % 2;
                let mut loaded = self.fetch;
                if !columns.is_empty() {
                    operand_count += 1;
                    let mut load = blank;
                    load.entry = entry as u8;
                    load.first = first_row as u32;
                    load.count = columns.len() as u16;
                    load.amount = (columns.len() as u64 * bytes) as u32;
                    let mut waits = self.free(Buffer::Operands(entry));
                    let sources: Vec<Item> = columns.iter().map(|&column| layer.sources[column as usize]).collect();
                    waits.extend(self.producers(&sources));
                    waits.push(Wait::all(self.fetch));
                    loaded = self.dma(load, waits, Priority::Rest);
                }
                let mut readers = Vec::new();
                let busy = products.into_iter().enumerate().filter(|(_, (most, ..))| *most > 0);
                for (lane, (products, operands, sums)) in busy {
                    let mut work = Instruction { opcode: Opcode::Linear, unit: lane as u8, ..blank };
                    work.entry = entry as u8;
                    work.first = shares[lane].start as u32;
                    work.count = shares[lane].len() as u16;
                    work.amount = products as u32;
                    let mut waits = vec![Wait::all(loaded)];
                    match last[lane] {
                        Some(node) => waits.push(Wait::all(node)),
                        None => waits.extend(self.free(Buffer::LinearSums)),
                    }
                    // Operands and sums may all be in one bank, which reads one vector per cycle.
                    let vectors = self.vectors(layer.dimension as u64 + 1);
                    let occupancy = (products.max(operands) as u64 * vectors) as u32;
                    let moved = (occupancy, operands as u64 * vectors, sums as u64 * vectors);
                    let node = self.lanes(work, waits, moved, Priority::Rest);
                    last[lane] = Some(node);
                    readers.push(Wait::all(node));
                }
                self.users.insert(Buffer::Operands(entry), readers);
            }
            let done = last.into_iter().flatten().map(Wait::all).collect();
            let items: Vec<Item> = rows.map(|row| Item { op: layer.op, element: row as u32 }).collect();
            let node = self.store(Opcode::StoreSums, &group, 0, 0, &items, done, bytes);
            self.users.insert(Buffer::LinearSums, vec![Wait::all(node)]);
        }
        self.streams.needs.insert(layer.op, needs);
        Ok(())
    }
}

/// Ciphertexts of `bytes` each that fit a third of Private-B's sections for linear layers: two blocks of operands and
/// one of sums. Each set of banks has equally many, and an instruction's field limits the number.
pub fn linear_block(layout: &Layout, bytes: u64) -> u64 {
    (layout.linear.entry_bytes / 3 / bytes).clamp(1, u64::from(u16::MAX) / layout.sets) * layout.sets
}

/// The share of `rows` that lane group `lane` computes.
pub fn linear_rows(machine: &Morphling, rows: Range<usize>, lane: u64) -> Range<usize> {
    let share = rows.len().div_ceil(machine.lane_groups as usize);
    let start = (rows.start + share * lane as usize).min(rows.end);
    start..(start + share).min(rows.end)
}

/// The part of a row that one block of ciphertexts computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPass<'a> {
    pub block: usize,
    /// Columns of the row's weights in the block. A row without weights has one pass without columns, for its bias.
    pub columns: &'a [u32],
    /// The block of the row's previous pass, whose sum this one continues.
    pub before: Option<usize>,
    /// Whether the row's sum is complete afterwards.
    pub last: bool,
}

/// The columns that each block of rows of a linear layer needs, in order, in blocks that fit Private-B.
#[derive(Clone, Debug)]
pub struct LinearNeeds {
    /// Rows per block, and ciphertexts per block.
    block: usize,
    /// By block of rows.
    columns: Vec<Vec<u32>>,
}

impl LinearNeeds {
    fn new(matrix: &Matrix, block: usize) -> Self {
        let of_rows = |first: usize| {
            let rows = first..(first + block).min(matrix.rows());
            let mut needed: Vec<u32> = rows.flat_map(|row| matrix.row_slices(row).0).copied().collect();
            needed.sort_unstable();
            needed.dedup();
            needed
        };
        Self { block, columns: (0..matrix.rows()).step_by(block).map(of_rows).collect() }
    }

    fn of(&self, row: usize) -> &[u32] {
        self.columns.get(row / self.block).map_or(&[], Vec::as_slice)
    }

    /// Block `number` of the columns that `row`'s block of rows needs.
    pub fn block(&self, row: usize, number: usize) -> &[u32] {
        self.of(row).chunks(self.block).nth(number).unwrap_or(&[])
    }

    /// Columns of the layer that the sum of `row` includes after block `number`.
    pub fn done(&self, row: usize, number: usize) -> u32 {
        self.block(row, number).last().map_or(0, |column| column + 1)
    }

    /// The passes of row `row` of `matrix` through the blocks, in order.
    pub fn passes<'a>(&'a self, matrix: &'a Matrix, row: usize) -> impl Iterator<Item = RowPass<'a>> {
        let (columns, _) = matrix.row_slices(row);
        let needed = self.of(row);
        let (mut at, mut before, mut done) = (0, None, false);
        std::iter::from_fn(move || {
            if done {
                return None;
            }
            let of = |column: &u32| needed.partition_point(|other| other < column) / self.block;
            let number = columns.get(at).map_or(0, of);
            let end = needed.get((number + 1) * self.block).copied().unwrap_or(u32::MAX);
            let length = columns[at..].partition_point(|&column| column < end);
            let taken = &columns[at..at + length];
            at += length;
            done = at == columns.len();
            Some(RowPass { block: number, columns: taken, before: before.replace(number), last: done })
        })
    }
}

#[cfg(test)]
mod tests {
    //! Do a row's passes use each weight once, in order, from the ciphertexts that its block of rows loads?

    use super::*;

    #[test]
    fn blocks_are_as_many_as_instructions_have_numbers_for() {
        let block = |number| part(3, "blocks of ciphertexts", number, 70_000);
        assert_eq!(block(65_535), Ok(65_535));
        let refused = block(65_536).expect_err("a block more").to_string();
        let says = "operation %3 needs 70000 blocks of ciphertexts, and an instruction can number at most 65536";
        assert!(refused.starts_with(says), "{refused}");
    }

    #[test]
    fn passes_of_a_row() {
        let rows = [vec![(1, 1), (3, 1), (9, 1), (11, -1)], vec![], vec![(7, 2)], vec![(0, 1), (2, 1)]];
        let matrix = Matrix::from_rows(12, &rows).expect("columns within the matrix");
        let needs = LinearNeeds::new(&matrix, 3);
        let passes = |row| needs.passes(&matrix, row).collect::<Vec<_>>();
        let pass = |block, columns, before, last| RowPass { block, columns, before, last };
        // Three rows need columns 1, 3, 7, 9 and 11, three at a time.
        assert_eq!((needs.block(0, 0), needs.block(2, 1)), ([1, 3, 7].as_slice(), [9, 11].as_slice()));
        assert_eq!(passes(0), [pass(0, &[1, 3], None, false), pass(1, &[9, 11], Some(0), true)]);
        assert_eq!(passes(1), [pass(0, &[], None, true)]);
        assert_eq!(passes(2), [pass(0, &[7], None, true)]);
        assert_eq!(passes(3), [pass(0, &[0, 2], None, true)]);
        assert_eq!((needs.done(0, 0), needs.done(2, 1), needs.done(3, 0)), (8, 12, 3));
    }
}
