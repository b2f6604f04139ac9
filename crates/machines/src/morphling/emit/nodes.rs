//! Events of everything but the blind rotation: transfers, links and lane groups.

use super::{Emitter, GroupPlace};
use crate::engine::schedule::{Access, Event, KindId, MemoryId, OpRef, Order, Resource, Value};
use crate::morphling::channels::items;
use crate::morphling::instruction::{Instruction, Opcode};
use crate::morphling::layout::{TwiddlePiece, twiddle_bytes};
use crate::morphling::machine::POINT_BYTES;
use crate::morphling::software::{Unit, lane_positions, linear_block, row_passes, slot_range};
use crate::torus::channels::BURST_BYTES;
use crate::torus::sizes::COEFFICIENT_BYTES;
use crate::torus::transfers::{Piece, access, part_of};
use crate::torus::workload::{Item, Work, distinct};
use polyfabric_program::tfhe::kernel::OpKind;

/// Reads and writes of an instruction, before their cycles are set.
struct Moves {
    resource: Resource,
    kind: KindId,
    work: u64,
    reads: Vec<Access>,
    writes: Vec<Access>,
}

/// What a transfer moves, item after item.
struct Transfer {
    /// What must have happened before any part.
    tokens: Vec<Access>,
    pieces: Vec<Piece>,
}

fn op_ref(kind: KindId, i: &Instruction) -> OpRef {
    OpRef {
        kind,
        kernel_op: i.operation,
        body_op: Value::NONE,
        ciphertext: i.first,
        // A block of a linear layer's operands is its iteration.
        iteration: match i.opcode {
            Opcode::Linear => u32::from(i.part),
            _ => Value::NONE,
        },
    }
}

/// A lane group replaces its sums in the order in which it reads them.
fn in_order(mut access: Access) -> Access {
    access.order = Order::Stream;
    access
}

impl Emitter<'_> {
    pub(super) fn node(&mut self, place: &GroupPlace<'_>, node: u32, start: i64) {
        let streams = self.streams;
        let info = &streams.nodes[node as usize];
        let instruction = info.instruction;
        for mut moves in self.moves(place, &instruction, info.unit) {
            let (occupancy, late) = (info.occupancy.max(1), info.latency);
            for read in &mut moves.reads {
                (read.first, read.last) = (0, (occupancy - 1) as u32);
            }
            for write in &mut moves.writes {
                (write.first, write.last) = (late as u32, (late + occupancy - 1) as u32);
            }
            self.builder.event(Event {
                resource: moves.resource,
                start,
                occupancy: occupancy as u32,
                work: moves.work,
                parts: self.builder.resources().kinds[moves.kind.0 as usize].parts,
                op: op_ref(moves.kind, &instruction),
                reads: moves.reads,
                writes: moves.writes,
            });
        }
    }

    /// The parts of a transfer, relative to cycle `base`.
    pub(super) fn transfer(&mut self, place: &GroupPlace<'_>, node: u32, base: i64) {
        let (streams, timeline) = (self.streams, self.timeline);
        let info = &streams.nodes[node as usize];
        let transfer = self.transfer_of(place, &info.instruction);
        let items = items(&info.instruction);
        for part in timeline.parts.get(&node).into_iter().flatten() {
            let work = part.count * items.bytes;
            let occupancy = self.machine.channel_cycles(work);
            let mut reads = transfer.tokens.clone();
            let (from, mut writes) = part_of(&transfer.pieces, part, items.bytes);
            reads.extend(from);
            for read in &mut reads {
                (read.first, read.last) = (0, (occupancy - 1) as u32);
            }
            for write in &mut writes {
                (write.first, write.last) = (info.latency as u32, (info.latency + occupancy - 1) as u32);
            }
            let kinds = &self.chip.kinds;
            let kind = if info.unit == Unit::KeyDma { kinds.load_twiddles } else { kinds.transfer };
            self.builder.event(Event {
                resource: self.chip.channels[part.channel as usize],
                start: part.start - base,
                occupancy: occupancy as u32,
                work,
                parts: 1,
                op: op_ref(kind, &info.instruction),
                reads,
                writes,
            });
        }
    }

    fn transfer_of(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
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

    fn moves(&self, place: &GroupPlace<'_>, i: &Instruction, unit: Unit) -> Vec<Moves> {
        match i.opcode {
            Opcode::FillTwiddles => vec![self.fill_twiddles()],
            Opcode::LoadAccumulators => self.load_accumulators(place, i),
            Opcode::StoreAccumulators => self.store_accumulators(place, i),
            Opcode::ModulusSwitch => vec![self.modulus_switch(place, i, unit)],
            Opcode::SampleExtract => vec![self.sample_extract(place, i, unit)],
            Opcode::KeySwitch => vec![self.key_switch(place, i, unit)],
            Opcode::Linear => vec![self.linear(place, i, unit)],
            // Transfers have parts; a blind rotation is emitted by the array's dispatch.
            _ => Vec::new(),
        }
    }

    fn words(&self, place: &GroupPlace<'_>, bytes: u64, memory: crate::engine::schedule::MemoryId) -> Access {
        let value = Value {
            class: self.chip.classes.words,
            ciphertext: place.group.first,
            iteration: Value::NONE,
            index: place.group.work as u32,
        };
        access(memory, 0, bytes.max(1), value, (0, 0), Order::Any)
    }

    fn fetch(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let read = self.words(place, u64::from(i.amount), self.chip.hbm);
        // The scheduler's own store is no memory off the chip.
        let write = self.dispatched(place);
        Transfer { tokens: vec![], pieces: vec![Piece { read, write, items: 1 }] }
    }

    /// The scheduler's words must have come before an instruction that nothing else orders.
    fn dispatched(&self, place: &GroupPlace<'_>) -> Access {
        let mut token = self.words(place, 1, self.chip.scheduler);
        token.bytes = 0;
        token
    }

    fn lwe_bytes(&self, i: &Instruction) -> u64 {
        u64::from(i.length) * COEFFICIENT_BYTES
    }

    /// Place in Private-B of the ciphertext at `position` of the entry that starts at `at`.
    fn in_b(&self, at: u64, position: u64, bytes: u64, value: Value) -> Access {
        access(self.chip.private_b, at + position * bytes, bytes, value, (0, 0), Order::Any)
    }

    fn in_hbm(&self, bytes: u64, value: Value) -> Access {
        access(self.chip.hbm, 0, bytes, value, (0, 0), Order::Any)
    }

    fn load_ciphertexts(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let layout = &self.streams.layout;
        let ring = if i.opcode == Opcode::LoadSmall { layout.small_in } else { layout.large };
        let at = ring.entry(u64::from(i.entry));
        let bytes = self.lwe_bytes(i);
        let range = slot_range(self.machine, place.group, u64::from(i.slot));
        let items: &[Item] = match &self.streams.works[place.group.work] {
            Work::Bootstraps(work) => &work.sources[range],
            Work::KeySwitches(work) => &work.sources[range],
            Work::Linear(_) => &[],
        };
        let values = items.iter().map(|&item| self.lwe(item));
        self.load_into_b(place, at, bytes, values)
    }

    /// Ciphertexts from HBM to consecutive places in Private-B.
    fn load_into_b(
        &self,
        place: &GroupPlace<'_>,
        at: u64,
        bytes: u64,
        values: impl IntoIterator<Item = Value>,
    ) -> Transfer {
        let piece = |(value, position)| {
            let (read, write) = (self.in_hbm(bytes, value), self.in_b(at, position, bytes, value));
            Piece { read, write, items: 1 }
        };
        Transfer { tokens: vec![self.dispatched(place)], pieces: values.into_iter().zip(0..).map(piece).collect() }
    }

    fn table(&self, table: u32) -> Value {
        Value { class: self.chip.classes.table, ciphertext: Value::NONE, iteration: Value::NONE, index: table }
    }

    /// The tables of a slot, with their places in the Shared buffer's entry `entry`.
    fn slot_tables(&self, place: &GroupPlace<'_>, i: &Instruction) -> Vec<(u32, u64)> {
        let layout = &self.streams.layout;
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return Vec::new() };
        let range = slot_range(self.machine, place.group, u64::from(i.slot));
        let at = layout.shared_in.entry(u64::from(i.entry)) + self.machine.positions() * layout.sizes.rotations;
        let tables = distinct(&work.tables[range]).into_iter().zip(0..);
        tables.map(|(table, number)| (table, at + number * layout.sizes.polynomial)).collect()
    }

    fn load_tables(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let bytes = self.streams.layout.sizes.polynomial;
        let piece = |(table, at)| {
            let value = self.table(table);
            let write = access(self.chip.shared, at, bytes, value, (0, 0), Order::Any);
            Piece { read: self.in_hbm(bytes, value), write, items: bytes / BURST_BYTES }
        };
        let pieces = self.slot_tables(place, i).into_iter().map(piece).collect();
        Transfer { tokens: vec![self.dispatched(place)], pieces }
    }

    /// The twiddle factors in Private-A2, with the bursts of each piece.
    fn twiddles_in_a2(&self) -> impl Iterator<Item = (Access, u64)> {
        let value = self.chip.ring(&self.streams.layout.sizes);
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

    fn fill_twiddles(&self) -> Moves {
        let sizes = &self.streams.layout.sizes;
        let (bytes, value) = (twiddle_bytes(sizes), self.chip.ring(sizes));
        let buffer = |&memory: &MemoryId| access(memory, 0, bytes, value, (0, 0), Order::Any);
        let reads: Vec<Access> = self.twiddles_in_a2().map(|(access, _)| access).collect();
        Moves {
            resource: self.chip.multicast,
            kind: self.chip.kinds.fill_twiddles,
            work: reads.iter().map(|read| read.bytes).sum::<u64>() / POINT_BYTES,
            reads,
            writes: self.chip.twiddles.iter().map(buffer).collect(),
        }
    }

    fn rotations(&self, place: &GroupPlace<'_>, slot: u64, position: u64) -> Value {
        Value {
            class: self.chip.classes.rotations,
            ciphertext: place.ciphertext(self.machine, slot, position),
            iteration: Value::NONE,
            index: 0,
        }
    }

    fn lane(&self, unit: Unit) -> Resource {
        match unit {
            Unit::Lanes(lane) => self.chip.lanes[lane as usize],
            _ => self.chip.lanes[0],
        }
    }

    fn modulus_switch(&self, place: &GroupPlace<'_>, i: &Instruction, unit: Unit) -> Moves {
        let layout = &self.streams.layout;
        let slot = u64::from(i.slot);
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return self.nothing(unit) };
        let range = slot_range(self.machine, place.group, slot);
        // The slot's ciphertexts were loaded into the entry that the same slot's load names.
        let small_at = layout.small_in.entry(self.small_entry(place, i.slot));
        let shared_at = layout.shared_in.entry(u64::from(i.entry));
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for position in lane_positions(self.machine, u64::from(i.unit), range.len() as u64) {
            let source = self.lwe(work.sources[range.start + position as usize]);
            reads.push(self.in_b(small_at, position, layout.sizes.small, source));
            let value = self.rotations(place, slot, position);
            let at = shared_at + position * layout.sizes.rotations;
            writes.push(access(self.chip.shared, at, layout.sizes.rotations, value, (0, 0), Order::Any));
        }
        let work = u64::from(i.count) * (layout.sizes.lwe_dimension + 1);
        Moves { resource: self.lane(unit), kind: self.chip.kinds.modulus_switch, work, reads, writes }
    }

    fn nothing(&self, unit: Unit) -> Moves {
        let kind = self.chip.kinds.modulus_switch;
        Moves { resource: self.lane(unit), kind, work: 0, reads: Vec::new(), writes: Vec::new() }
    }

    fn small_entry(&self, place: &GroupPlace<'_>, slot: u8) -> u64 {
        self.entry_of(place, slot, Opcode::LoadSmall)
    }

    fn entry_of(&self, place: &GroupPlace<'_>, slot: u8, opcode: Opcode) -> u64 {
        let mut nodes = place.group.nodes.clone().map(|node| &self.streams.nodes[node as usize].instruction);
        nodes.find(|i| i.opcode == opcode && i.slot == slot).map_or(0, |i| u64::from(i.entry))
    }

    fn accumulator(&self, place: &GroupPlace<'_>, slot: u64, position: u64, polynomial: u64, iteration: u32) -> Value {
        Value {
            class: self.chip.classes.accumulator,
            ciphertext: place.ciphertext(self.machine, slot, position),
            iteration,
            index: super::rotation::polynomial_index(0, polynomial as u32),
        }
    }

    /// Positions of XPU `xpu` among the first `count` of a slot.
    fn seats(&self, xpu: u64, count: u64) -> std::ops::Range<u64> {
        let rows = self.machine.rows;
        (xpu * rows).min(count)..((xpu + 1) * rows).min(count)
    }

    fn load_accumulators(&self, place: &GroupPlace<'_>, i: &Instruction) -> Vec<Moves> {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let slot = u64::from(i.slot);
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return Vec::new() };
        let range = slot_range(self.machine, place.group, slot);
        let shared_entry = self.entry_of(place, i.slot, Opcode::LoadTables);
        let tables = self.slot_tables(place, &Instruction { entry: shared_entry as u8, ..*i });
        let shared_at = layout.shared_in.entry(shared_entry);
        let resident = u64::from(i.entry) * layout.resident_bytes;
        let mut moves = Vec::new();
        for (xpu, &link) in self.chip.links.iter().enumerate() {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let seats = self.seats(xpu as u64, range.len() as u64);
            let mut used: Vec<u32> = Vec::new();
            for position in seats.clone() {
                let bank = self.chip.rows[xpu][(position % self.machine.rows) as usize].bank;
                let table = work.tables[range.start + position as usize];
                if !used.contains(&table) {
                    used.push(table);
                }
                let value = self.rotations(place, slot, position);
                let from = shared_at + position * sizes.rotations;
                reads.push(access(self.chip.shared, from, sizes.rotations, value, (0, 0), Order::Any));
                let to = resident + layout.accumulators * sizes.accumulator;
                writes.push(access(bank, to, sizes.rotations, value, (0, 0), Order::Any));
                for polynomial in 0..sizes.polynomials {
                    let at = resident + polynomial * sizes.polynomial;
                    let value = self.accumulator(place, slot, position, polynomial, 0);
                    writes.push(access(bank, at, sizes.polynomial, value, (0, 0), Order::Any));
                }
            }
            for (table, at) in tables.iter().filter(|(table, _)| used.contains(table)) {
                reads.push(access(self.chip.shared, *at, sizes.polynomial, self.table(*table), (0, 0), Order::Any));
            }
            if !seats.is_empty() {
                writes.push(self.loaded(place, slot, xpu as u64));
                let work = (seats.end - seats.start) * (sizes.accumulator + sizes.rotations);
                moves.push(Moves { resource: link, kind: self.chip.kinds.link_load, work, reads, writes });
            }
        }
        moves
    }

    /// The mark that XPU `xpu` has its ciphertexts of a slot.
    pub(super) fn loaded(&self, place: &GroupPlace<'_>, slot: u64, xpu: u64) -> Access {
        let value = Value {
            class: self.chip.classes.loaded,
            ciphertext: place.ciphertext(self.machine, slot, 0),
            iteration: Value::NONE,
            index: xpu as u32,
        };
        let mut mark = access(self.chip.scheduler, 0, 1, value, (0, 0), Order::Any);
        mark.bytes = 0;
        mark
    }

    fn store_accumulators(&self, place: &GroupPlace<'_>, i: &Instruction) -> Vec<Moves> {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let slot = u64::from(i.slot);
        let Work::Bootstraps(_) = &self.streams.works[place.group.work] else { return Vec::new() };
        let count = place.slot_count(self.machine, slot);
        let iterations = sizes.lwe_dimension as u32;
        let half = u64::from(iterations) % layout.accumulators * sizes.accumulator;
        let resident = (place.half * layout.slots + slot) * layout.resident_bytes + half;
        let mut moves = Vec::new();
        for (xpu, &link) in self.chip.links.iter().enumerate() {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let mut served = 0;
            for position in self.seats(xpu as u64, count) {
                let row = position % self.machine.rows;
                if row / layout.store_rows != u64::from(i.part) {
                    continue;
                }
                served += 1;
                let to = self.rotated_at(i.entry, position);
                let bank = self.chip.rows[xpu][row as usize].bank;
                for polynomial in 0..sizes.polynomials {
                    let value = self.accumulator(place, slot, position, polynomial, iterations);
                    let at = polynomial * sizes.polynomial;
                    reads.push(access(bank, resident + at, sizes.polynomial, value, (0, 0), Order::Any));
                    writes.push(access(self.chip.shared, to + at, sizes.polynomial, value, (0, 0), Order::Any));
                }
            }
            if served > 0 {
                let work = served * sizes.accumulator;
                moves.push(Moves { resource: link, kind: self.chip.kinds.link_store, work, reads, writes });
            }
        }
        moves
    }

    /// Place in the Shared buffer of the rotated accumulator of `position`.
    fn rotated_at(&self, entry: u8, position: u64) -> u64 {
        let layout = &self.streams.layout;
        let (xpu, row) = (position / self.machine.rows, position % self.machine.rows);
        let number = xpu * layout.store_rows + row % layout.store_rows;
        layout.shared_out.entry(u64::from(entry)) + number * layout.sizes.accumulator
    }

    fn sample_extract(&self, place: &GroupPlace<'_>, i: &Instruction, unit: Unit) -> Moves {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let slot = u64::from(i.slot);
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return self.nothing(unit) };
        let range = slot_range(self.machine, place.group, slot);
        let mut nodes = place.group.nodes.clone().map(|node| &self.streams.nodes[node as usize].instruction);
        let store = nodes.find(|s| s.opcode == Opcode::StoreAccumulators && s.slot == i.slot && s.part == i.part);
        let out_entry = store.map_or(0, |store| store.entry);
        let large_at = layout.large.entry(u64::from(i.entry));
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for position in lane_positions(self.machine, u64::from(i.unit), range.len() as u64) {
            if position % self.machine.rows / layout.store_rows != u64::from(i.part) {
                continue;
            }
            let from = self.rotated_at(out_entry, position);
            for polynomial in 0..sizes.polynomials {
                let iterations = sizes.lwe_dimension as u32;
                let value = self.accumulator(place, slot, position, polynomial, iterations);
                let at = from + polynomial * sizes.polynomial;
                let mut read = access(self.chip.shared, at, sizes.polynomial, value, (0, 0), Order::Any);
                // Of the body polynomial, the constant coefficient alone is read.
                if polynomial + 1 == sizes.polynomials {
                    read.bytes = COEFFICIENT_BYTES;
                }
                reads.push(read);
            }
            let value = self.lwe(work.extracted[range.start + position as usize]);
            writes.push(self.in_b(large_at, position, sizes.large, value));
        }
        let work = u64::from(i.count) * (sizes.large_dimension + 1);
        Moves { resource: self.lane(unit), kind: self.chip.kinds.sample_extract, work, reads, writes }
    }

    fn load_tile(&self, i: &Instruction) -> Transfer {
        let bytes = u64::from(i.amount);
        let value = self.tile(i.part);
        let at = self.streams.layout.tiles.entry(u64::from(i.entry));
        let write = access(self.chip.private_b, at, bytes, value, (0, 0), Order::Any);
        let piece = Piece { read: self.in_hbm(bytes, value), write, items: u64::from(i.count) };
        Transfer { tokens: vec![], pieces: vec![piece] }
    }

    fn tile(&self, tile: u16) -> Value {
        let class = self.chip.classes.key_switch_key;
        Value { class, ciphertext: Value::NONE, iteration: u32::from(tile), index: 0 }
    }

    fn key_switch(&self, place: &GroupPlace<'_>, i: &Instruction, unit: Unit) -> Moves {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let (sources, results) = match &self.streams.works[place.group.work] {
            Work::Bootstraps(work) => (&work.extracted, work.switched.as_ref().unwrap_or(&work.extracted)),
            Work::KeySwitches(work) => (&work.sources, &work.results),
            Work::Linear(_) => return self.nothing(unit),
        };
        let tiles = sizes.large_dimension / layout.tile_elements;
        let tile = u64::from(i.part);
        let tile_bytes = u64::from(i.amount) * sizes.small;
        let key_at = layout.tiles.entry(u64::from(i.entry));
        let mut key = access(self.chip.private_b, key_at, tile_bytes, self.tile(i.part), (0, 0), Order::Any);
        // The lane group streams the tile once for each of its ciphertexts.
        key.bytes = tile_bytes * u64::from(i.count);
        let (mut reads, mut writes) = (vec![key], Vec::new());
        let positions = self.machine.positions();
        for slot in 0..u64::from(place.group.count).div_ceil(positions) {
            let range = slot_range(self.machine, place.group, slot);
            let large_at = layout.large.entry(self.large_entry(place, slot as u8));
            for position in lane_positions(self.machine, u64::from(i.unit), range.len() as u64) {
                let element = range.start + position as usize;
                let mut source = self.in_b(large_at, position, sizes.large, self.lwe(sources[element]));
                source.bytes = layout.tile_elements * COEFFICIENT_BYTES;
                reads.push(source);
                let sum = |tile: u64| Value {
                    class: self.chip.classes.key_switch_sum,
                    ciphertext: element as u32,
                    iteration: tile as u32,
                    index: i.operation,
                };
                let at = layout.sums.entry(0);
                let number = slot * positions + position;
                if tile > 0 {
                    reads.push(in_order(self.in_b(at, number, sizes.small, sum(tile))));
                }
                let value = if tile + 1 == tiles { self.lwe(results[element]) } else { sum(tile + 1) };
                writes.push(in_order(self.in_b(at, number, sizes.small, value)));
            }
        }
        let products = u64::from(i.amount);
        let work = u64::from(i.count) * (products + products * (sizes.lwe_dimension + 1));
        Moves { resource: self.lane(unit), kind: self.chip.kinds.key_switch, work, reads, writes }
    }

    fn large_entry(&self, place: &GroupPlace<'_>, slot: u8) -> u64 {
        match &self.streams.works[place.group.work] {
            Work::Bootstraps(_) => self.entry_of(place, slot, Opcode::SampleExtract),
            _ => self.entry_of(place, slot, Opcode::LoadLarge),
        }
    }

    fn store_ciphertexts(&self, i: &Instruction) -> Transfer {
        let layout = &self.streams.layout;
        let bytes = self.lwe_bytes(i);
        let at = match i.opcode {
            Opcode::StoreLarge => layout.large.entry(u64::from(i.entry)),
            Opcode::StoreSmall => layout.sums.entry(0),
            _ => layout.linear.offset + 2 * linear_block(layout, bytes) * bytes,
        };
        let piece = |number: u32| {
            let value = self.lwe(Item { op: i.operation, element: i.first + number });
            let read = self.in_b(at, u64::from(number), bytes, value);
            Piece { read, write: self.in_hbm(bytes, value), items: 1 }
        };
        Transfer { tokens: vec![], pieces: (0..u32::from(i.count)).map(piece).collect() }
    }

    fn load_operands(&self, place: &GroupPlace<'_>, i: &Instruction) -> Transfer {
        let bytes = self.lwe_bytes(i);
        self.load_into_b(place, self.operands_at(i, bytes), bytes, self.operands(place, i, bytes))
    }

    fn operands_at(&self, i: &Instruction, bytes: u64) -> u64 {
        let layout = &self.streams.layout;
        layout.linear.offset + u64::from(i.entry) * linear_block(layout, bytes) * bytes
    }

    fn operands(&self, place: &GroupPlace<'_>, i: &Instruction, bytes: u64) -> Vec<Value> {
        let Work::Linear(layer) = &self.streams.works[place.group.work] else { return Vec::new() };
        let block = linear_block(&self.streams.layout, bytes) as usize;
        let first = usize::from(i.part) * block;
        let range = first..(first + block).min(layer.sources.len());
        layer.sources[range].iter().map(|&item| self.lwe(item)).collect()
    }

    fn linear(&self, place: &GroupPlace<'_>, i: &Instruction, unit: Unit) -> Moves {
        let layout = &self.streams.layout;
        let bytes = self.lwe_bytes(i);
        let (Work::Linear(layer), OpKind::Linear { matrix, .. }) =
            (&self.streams.works[place.group.work], &self.program.ops[i.operation as usize].kind)
        else {
            return self.nothing(unit);
        };
        let block = linear_block(layout, bytes) as usize;
        let first = usize::from(i.part) * block;
        let rows = i.first as usize..i.first as usize + usize::from(i.count);
        let passes: Vec<_> = rows
            .filter_map(|row| {
                row_passes(matrix, row, block).find(|pass| pass.block == usize::from(i.part)).map(|p| (row, p))
            })
            .collect();
        let mut uses = vec![0u64; (first + block).min(layer.sources.len()) - first];
        for &column in passes.iter().flat_map(|(_, pass)| pass.columns) {
            uses[column as usize - first] += 1;
        }
        let mut reads = Vec::new();
        if layer.sources.is_empty() {
            reads.push(self.dispatched(place));
        }
        let at = self.operands_at(i, bytes);
        for ((value, position), uses) in self.operands(place, i, bytes).into_iter().zip(0..).zip(uses) {
            if uses > 0 {
                let mut read = self.in_b(at, position, bytes, value);
                read.bytes *= uses;
                reads.push(read);
            }
        }
        let sums_at = layout.linear.offset + 2 * block as u64 * bytes;
        let mut writes = Vec::new();
        for (row, pass) in passes {
            // A sum is known by the block after which it stands.
            let sum = |after: usize| Value {
                class: self.chip.classes.linear_sum,
                ciphertext: row as u32,
                iteration: Value::NONE,
                index: (i.operation << 16) | after as u32,
            };
            let number = (row % block) as u64;
            if let Some(before) = pass.before {
                reads.push(in_order(self.in_b(sums_at, number, bytes, sum(before))));
            }
            let value =
                if pass.last { self.lwe(Item { op: i.operation, element: row as u32 }) } else { sum(pass.block) };
            writes.push(in_order(self.in_b(sums_at, number, bytes, value)));
        }
        let work = u64::from(i.amount) * (layer.dimension as u64 + 1);
        Moves { resource: self.lane(unit), kind: self.chip.kinds.linear, work, reads, writes }
    }
}
