//! Accesses of transfers, and of the links between the Shared buffer and the XPUs.

use super::GroupPlace;
use super::places::{Moves, Places, Transfer};
use super::resources::Xpu;
use crate::morphling::instruction::{Instruction, Opcode};
use crate::morphling::layout::{TwiddlePiece, twiddle_bytes};
use crate::morphling::machine::POINT_BYTES;
use crate::morphling::software::wave_range;
use crate::tfhe::channels::BURST_BYTES;
use crate::tfhe::transfers::{Piece, access};
use crate::tfhe::workload::{Item, Work};
use polyfabric_sim::schedule::{Access, MemoryId, Order};

impl Places<'_> {
    /// Accesses of a DMA instruction.
    pub fn transfer(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        match i.opcode {
            Opcode::LoadSmall | Opcode::LoadLarge => self.load_ciphertexts(place, i),
            Opcode::LoadTables => self.load_tables(place, i),
            Opcode::LoadTile => self.load_tile(i),
            Opcode::LoadOperands => self.load_operands(place, i),
            Opcode::LoadTwiddles => self.load_twiddles(place),
            Opcode::StoreLarge | Opcode::StoreSmall | Opcode::StoreSums => self.store_ciphertexts(i),
            _ => self.fetch(place, i),
        }
    }

    fn fetch(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let read = self.in_hbm(u64::from(i.amount).max(1), self.words(place));
        // The scheduler's instruction store is not modeled as an off-chip memory.
        let write = self.dispatched(place);
        Transfer { tokens: vec![], pieces: vec![Piece { read, write, items: 1 }] }
    }

    fn load_ciphertexts(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let layout = &self.streams.layout;
        let ring = if i.opcode == Opcode::LoadSmall { layout.small_in } else { layout.large };
        let range = wave_range(self.machine, place.group, u64::from(i.wave));
        let items = self.streams.works[place.group.work].sources(range);
        let bytes = self.lwe_bytes(i);
        let to = |(&item, position): (&Item, u64)| {
            self.in_set(ring, u64::from(i.entry), self.set_of(position), bytes, self.lwe(item))
        };
        self.load_into_b(place, items.iter().zip(0..).map(to))
    }

    /// Ciphertexts from HBM to places in Private-B.
    fn load_into_b(&self, place: &GroupPlace<'_>, writes: impl Iterator<Item = Access>) -> Transfer {
        let piece = |write: Access| Piece { read: self.in_hbm(write.bytes, write.value), write, items: 1 };
        Transfer { tokens: vec![self.dispatched(place)], pieces: writes.map(piece).collect() }
    }

    fn load_tables(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let piece = |write: Access| {
            let read = self.in_hbm(write.bytes, write.value);
            Piece { read, write, items: write.bytes / BURST_BYTES }
        };
        let stripes = self.wave_tables(place, i.wave, u64::from(i.entry)).into_iter().flat_map(|(_, stripes)| stripes);
        Transfer { tokens: vec![self.dispatched(place)], pieces: stripes.map(piece).collect() }
    }

    /// The twiddle factors in Private-A2, with the number of bursts of each piece.
    fn twiddles_in_a2(&self) -> impl Iterator<Item = (Access, u64)> {
        let value = self.twiddles();
        let pieces = self.streams.layout.twiddles().into_iter();
        pieces.map(move |TwiddlePiece { offset, bursts }| {
            let bytes = bursts * BURST_BYTES;
            (access(self.chip.private_a2, offset, bytes, value, (0, 0), Order::Any), bursts)
        })
    }

    fn load_twiddles(&self, place: &GroupPlace<'_>) -> Transfer {
        let piece = |(write, items): (Access, u64)| {
            let read = self.in_hbm(write.bytes, write.value);
            Piece { read, write, items }
        };
        Transfer { tokens: vec![self.dispatched(place)], pieces: self.twiddles_in_a2().map(piece).collect() }
    }

    pub(super) fn fill_twiddles(&self) -> Moves {
        let sizes = &self.streams.layout.sizes;
        let (bytes, value) = (twiddle_bytes(sizes), self.twiddles());
        let buffer = |&memory: &MemoryId| access(memory, 0, bytes, value, (0, 0), Order::Any);
        let reads: Vec<Access> = self.twiddles_in_a2().map(|(access, _)| access).collect();
        Moves {
            resource: self.chip.multicast,
            kind: self.chip.kinds.fill_twiddles,
            work: reads.iter().map(|read| read.bytes).sum::<u64>() / POINT_BYTES,
            reads,
            writes: self.chip.xpus.iter().map(|xpu| buffer(&xpu.twiddles)).collect(),
        }
    }

    /// Positions of XPU `xpu` among the first `count` of a wave.
    fn assignments(&self, xpu: u64, count: u64) -> std::ops::Range<u64> {
        let rows = self.machine.rows;
        (xpu * rows).min(count)..((xpu + 1) * rows).min(count)
    }

    pub(super) fn load_accumulators(&self, place: &GroupPlace<'_>, i: &Instruction) -> Vec<Moves> {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let wave = u64::from(i.wave);
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return Vec::new() };
        let range = wave_range(self.machine, place.group, wave);
        let shared_entry = self.entry_of(place, i.wave, Opcode::LoadTables);
        let tables = self.wave_tables(place, i.wave, shared_entry);
        let resident = u64::from(i.entry) * layout.resident_bytes;
        let mut moves = Vec::new();
        for (xpu, Xpu { rows, link, .. }) in self.chip.xpus.iter().enumerate() {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let assignments = self.assignments(xpu as u64, range.len() as u64);
            let mut used: Vec<u32> = Vec::new();
            for position in assignments.clone() {
                let bank = rows[(position % self.machine.rows) as usize].bank;
                let table = work.tables[range.start + position as usize];
                if !used.contains(&table) {
                    used.push(table);
                }
                let amounts = self.amounts_in(place, wave, shared_entry, position);
                reads.push(amounts);
                let to = resident + layout.accumulators * sizes.accumulator;
                writes.push(access(bank, to, sizes.rotations, amounts.value, (0, 0), Order::Any));
                for polynomial in 0..sizes.polynomials {
                    let at = resident + polynomial * sizes.polynomial;
                    let value = self.accumulator(place, wave, position, polynomial, 0);
                    writes.push(access(bank, at, sizes.polynomial, value, (0, 0), Order::Any));
                }
            }
            for (_, stripes) in tables.iter().filter(|(table, _)| used.contains(table)) {
                reads.extend(stripes);
            }
            if !assignments.is_empty() {
                writes.push(self.loaded(place, wave, xpu as u64));
                let work = (assignments.end - assignments.start) * (sizes.accumulator + sizes.rotations);
                moves.push(Moves { resource: *link, kind: self.chip.kinds.link_load, work, reads, writes });
            }
        }
        moves
    }

    pub(super) fn store_accumulators(&self, place: &GroupPlace<'_>, i: &Instruction) -> Vec<Moves> {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let wave = u64::from(i.wave);
        let Work::Bootstraps(_) = &self.streams.works[place.group.work] else { return Vec::new() };
        let count = place.wave_count(self.machine, wave);
        let iterations = sizes.lwe_dimension as u32;
        let half = u64::from(iterations) % layout.accumulators * sizes.accumulator;
        let resident = (place.half * layout.waves + wave) * layout.resident_bytes + half;
        let mut moves = Vec::new();
        for (xpu, Xpu { rows, link, .. }) in self.chip.xpus.iter().enumerate() {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let mut served = 0;
            for position in self.assignments(xpu as u64, count) {
                let row = position % self.machine.rows;
                if row / layout.store_rows != u64::from(i.part) {
                    continue;
                }
                served += 1;
                let to = self.rotated_at(u64::from(i.entry), position);
                let bank = rows[row as usize].bank;
                for polynomial in 0..sizes.polynomials {
                    let value = self.accumulator(place, wave, position, polynomial, iterations);
                    let at = polynomial * sizes.polynomial;
                    reads.push(access(bank, resident + at, sizes.polynomial, value, (0, 0), Order::Any));
                    writes.push(access(self.chip.shared, to + at, sizes.polynomial, value, (0, 0), Order::Any));
                }
            }
            if served > 0 {
                let work = served * sizes.accumulator;
                moves.push(Moves { resource: *link, kind: self.chip.kinds.link_store, work, reads, writes });
            }
        }
        moves
    }

    /// Each set of banks gets a share of the tile's rows.
    fn load_tile(&self, i: &Instruction) -> Transfer {
        let layout = &self.streams.layout;
        let piece = |set: u64| {
            let rows = layout.tile_rows(set);
            let items = rows.end - rows.start;
            let write =
                self.in_set(layout.tiles, u64::from(i.entry), (set, 0), items * layout.sizes.small, self.tile(i.part));
            Piece { read: self.in_hbm(write.bytes, write.value), write, items }
        };
        let pieces = (0..layout.sets).map(piece).filter(|piece| piece.items > 0).collect();
        Transfer { tokens: vec![], pieces }
    }

    fn store_ciphertexts(&self, i: &Instruction) -> Transfer {
        let layout = &self.streams.layout;
        let bytes = self.lwe_bytes(i);
        let piece = |number: u64| {
            let value = self.lwe(Item { op: i.operation, element: i.first + number as u32 });
            let read = match i.opcode {
                Opcode::StoreLarge => self.in_set(layout.large, u64::from(i.entry), self.set_of(number), bytes, value),
                Opcode::StoreSmall => self.switched(number, value),
                _ => {
                    let share = u64::from(i.count).div_ceil(layout.sets);
                    self.linear_sum((number / share, number % share), bytes, value)
                }
            };
            Piece { read, write: self.in_hbm(bytes, value), items: 1 }
        };
        Transfer { tokens: vec![], pieces: (0..u64::from(i.count)).map(piece).collect() }
    }

    fn load_operands(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        self.load_into_b(place, self.operands(place, i).into_iter())
    }
}
