//! Accesses of all instructions except blind rotations, as events relative to their start. The hardware scheduler uses
//! them to reserve banks, and the emitter writes them into the schedule.

use super::GroupPlace;
use super::resources::Chip;
use crate::morphling::instruction::{Instruction, Opcode};
use crate::morphling::layout::{positions_in_bank, stored_before};
use crate::morphling::machine::Morphling;
use crate::morphling::software::{Node, Streams, Unit, wave_range};
use crate::tfhe::channels::Part;
use crate::tfhe::labels::{Labeler, Meaning};
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Ring};
use crate::tfhe::transfers::{Piece, access, part_of};
use crate::tfhe::workload::{Item, Work, distinct};
use polyfabric_program::tfhe::kernel::{BodyValue, KernelProgram};
use polyfabric_sim::schedule::{Access, Event, KindId, MemoryId, OpRef, Order, Resource, Value};

/// A program mapped to a chip.
pub(crate) struct Places<'a> {
    pub machine: &'a Morphling,
    pub program: &'a KernelProgram,
    pub streams: &'a Streams,
    pub chip: Chip,
    pub labels: Labeler,
}

/// The order in which a lane group reads the rows of a tile of the key-switch key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyRows {
    /// One set of banks after another, starting this many sets after the group's own.
    Rotated(u8),
    /// In order, multicast to this group and the groups whose bits are set, which start in the same cycle.
    Multicast(u64),
    /// None; another group multicasts them.
    Received,
}

impl KeyRows {
    /// For a lone group, and for instructions that read no key.
    pub const OWN: Self = Self::Rotated(0);
}

/// The accesses of a transfer, item by item.
pub(crate) struct Transfer {
    /// Reads that must precede every part.
    pub tokens: Vec<Access>,
    pub pieces: Vec<Piece>,
}

/// Accesses of an instruction, before their cycles are set.
pub(super) struct Moves {
    pub resource: Resource,
    pub kind: KindId,
    pub work: u64,
    pub reads: Vec<Access>,
    pub writes: Vec<Access>,
}

pub(super) fn op_ref(kind: KindId, i: &Instruction) -> OpRef {
    OpRef {
        kind,
        kernel_op: i.operation,
        body_op: Value::NONE,
        ciphertext: i.first,
        // In a linear layer, the block of operands is the iteration.
        iteration: match i.opcode {
            Opcode::Linear => u32::from(i.part),
            _ => Value::NONE,
        },
    }
}

impl<'a> Places<'a> {
    pub fn place(&self, node: u32) -> GroupPlace<'a> {
        let index = self.streams.groups.partition_point(|group| group.nodes.end <= node);
        GroupPlace::new(self.streams, &self.streams.groups[index])
    }

    /// The events of node `info`, relative to its start. The node is neither a transfer nor a blind rotation.
    pub fn events(&self, place: &GroupPlace<'_>, info: &Node, rows: KeyRows) -> Vec<Event> {
        let i = &info.instruction;
        let occupancy = i64::from(info.occupancy.max(1));
        let moves = match (i.opcode, info.unit) {
            (_, Unit::Lanes(lane)) => return self.vector_events(place, info, u64::from(lane), rows),
            (Opcode::FillTwiddles, _) => vec![self.fill_twiddles()],
            (Opcode::LoadAccumulators, _) => self.load_accumulators(place, i),
            (Opcode::StoreAccumulators, _) => self.store_accumulators(place, i),
            // Transfers have parts; the array's emitter writes blind rotations.
            _ => Vec::new(),
        };
        let event = |mut moves: Moves| {
            for read in &mut moves.reads {
                (read.first, read.last) = (0, (occupancy - 1) as u32);
            }
            for write in &mut moves.writes {
                (write.first, write.last) = (info.latency, info.latency + (occupancy - 1) as u32);
            }
            Event {
                resource: moves.resource,
                start: 0,
                occupancy: occupancy as u32,
                work: moves.work,
                parts: if i.opcode == Opcode::FillTwiddles { self.machine.columns as u32 } else { 1 },
                op: op_ref(moves.kind, i),
                reads: moves.reads,
                writes: moves.writes,
            }
        };
        moves.into_iter().map(event).collect()
    }

    /// One part of the transfer of node `info`, relative to its start.
    pub fn part(&self, info: &Node, transfer: &Transfer, part: &Part, item_bytes: u64) -> Event {
        let work = part.count * item_bytes;
        let occupancy = self.machine.channel_cycles(work);
        let mut reads = transfer.tokens.clone();
        let (from, mut writes) = part_of(&transfer.pieces, part, item_bytes);
        reads.extend(from);
        for read in &mut reads {
            (read.first, read.last) = (0, (occupancy - 1) as u32);
        }
        for write in &mut writes {
            (write.first, write.last) = (info.latency, info.latency + (occupancy - 1) as u32);
        }
        let kinds = &self.chip.kinds;
        let kind = if info.unit == Unit::KeyDma { kinds.load_twiddles } else { kinds.transfer };
        Event {
            resource: self.chip.channels[part.channel as usize],
            start: 0,
            occupancy: occupancy as u32,
            work,
            parts: 1,
            op: op_ref(kind, &info.instruction),
            reads,
            writes,
        }
    }

    pub fn lwe(&self, item: Item) -> Value {
        self.labels.ciphertext(self.program, (self.chip.classes.input, self.chip.classes.lwe), item)
    }

    pub(super) fn lwe_bytes(&self, i: &Instruction) -> u64 {
        u64::from(i.length) * COEFFICIENT_BYTES
    }

    /// Ciphertext `number` in set `set` of Private-B, in entry `entry` of a ring.
    pub(super) fn in_set(&self, ring: Ring, entry: u64, (set, number): (u64, u64), bytes: u64, value: Value) -> Access {
        let at = self.streams.layout.in_set(set, ring.entry(entry) + number * bytes);
        access(self.chip.private_b, at, bytes, value, (0, 0), Order::Any)
    }

    /// The set of Private-B for a position of a wave, and the position's index in the set.
    pub(super) fn set_of(&self, position: u64) -> (u64, u64) {
        let served = self.machine.group_positions();
        (position / served, position % served)
    }

    pub(super) fn in_hbm(&self, bytes: u64, value: Value) -> Access {
        access(self.chip.hbm, 0, bytes, value, (0, 0), Order::Any)
    }

    /// First byte of the Shared buffer's bank for a position of a wave.
    pub(super) fn shared_bank(&self, position: u64) -> u64 {
        position / positions_in_bank(self.machine) * self.streams.layout.shared_bank
    }

    /// The rotation amounts of a position in entry `entry` of the Shared buffer's input ring.
    pub(super) fn amounts_in(&self, place: &GroupPlace<'_>, wave: u64, entry: u64, position: u64) -> Access {
        let layout = &self.streams.layout;
        let number = position % positions_in_bank(self.machine);
        let bytes = layout.sizes.rotations;
        let at = self.shared_bank(position) + layout.shared_in.entry(entry) + number * bytes;
        access(self.chip.shared, at, bytes, self.rotations(place, wave, position), (0, 0), Order::Any)
    }

    pub(super) fn table(&self, table: u32) -> Value {
        self.labels.value(self.chip.classes.table, [Meaning::Table { index: table }])
    }

    /// The tables of a wave; each is striped over the banks of the Shared buffer's entry `entry`.
    pub(super) fn wave_tables(&self, place: &GroupPlace<'_>, wave: u8, entry: u64) -> Vec<(u32, Vec<Access>)> {
        let layout = &self.streams.layout;
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return Vec::new() };
        let range = wave_range(self.machine, place.group, u64::from(wave));
        let amounts = positions_in_bank(self.machine) * layout.sizes.rotations;
        let stripes = |(table, number): (u32, u64)| {
            let (value, stripe) = (self.table(table), layout.table_stripe(self.machine));
            let at = layout.shared_in.entry(entry) + amounts + number * stripe;
            let in_bank = |bank: u64| {
                let bytes = layout.sizes.polynomial.saturating_sub(bank * stripe).min(stripe);
                access(self.chip.shared, bank * layout.shared_bank + at, bytes, value, (0, 0), Order::Any)
            };
            (table, (0..self.machine.shared_banks).map(in_bank).filter(|access| access.bytes > 0).collect())
        };
        distinct(&work.tables[range]).into_iter().zip(0..).map(stripes).collect()
    }

    pub(super) fn rotations(&self, place: &GroupPlace<'_>, wave: u64, position: u64) -> Value {
        let lookup = place.ciphertext(self.machine, wave, position);
        self.labels.value(self.chip.classes.rotations, [Meaning::Amounts { lookup }])
    }

    /// The ring entry of the group's instruction `opcode` for wave `wave`.
    pub(super) fn entry_of(&self, place: &GroupPlace<'_>, wave: u8, opcode: Opcode) -> u64 {
        let mut nodes = place.group.nodes.clone().map(|node| &self.streams.nodes[node as usize].instruction);
        nodes.find(|i| i.opcode == opcode && i.wave == wave).map_or(0, |i| u64::from(i.entry))
    }

    pub(super) fn accumulator(
        &self,
        place: &GroupPlace<'_>,
        wave: u64,
        position: u64,
        polynomial: u64,
        iteration: u32,
    ) -> Value {
        let (value, lookup) = (BodyValue(polynomial as u32), place.ciphertext(self.machine, wave, position));
        self.labels.value(self.chip.classes.accumulator, [Meaning::Body { value, lookup, iteration }])
    }

    /// Place of `position`'s rotated accumulator in the Shared buffer.
    pub(super) fn rotated_at(&self, entry: u64, position: u64) -> u64 {
        let layout = &self.streams.layout;
        let number = stored_before(self.machine, layout.store_rows, position);
        self.shared_bank(position) + layout.shared_out.entry(entry) + number * layout.sizes.accumulator
    }

    pub(super) fn tile(&self, tile: u16) -> Value {
        let length = self.streams.layout.tile_elements as u32;
        let meaning = Meaning::SwitchKey { from: u32::from(tile) * length, length };
        self.labels.value(self.chip.classes.key_switch_key, [meaning])
    }

    /// Twiddle factors of the program's ring.
    pub(super) fn twiddles(&self) -> Value {
        let ring_degree = self.streams.layout.sizes.ring_degree as u32;
        self.labels.value(self.chip.classes.twiddles, [Meaning::Twiddles { ring_degree }])
    }

    pub(super) fn token(&self, value: Value) -> Access {
        let mut token = access(self.chip.scheduler, 0, 1, value, (0, 0), Order::Any);
        token.bytes = 0;
        token
    }

    pub(super) fn words(&self, place: &GroupPlace<'_>) -> Value {
        let token = Meaning::Token { number: place.group.work as u32, ciphertext: place.group.first };
        self.labels.value(self.chip.classes.words, [token])
    }

    /// Orders an instruction after the fetch of the scheduler's instruction words, if nothing else does.
    pub(super) fn dispatched(&self, place: &GroupPlace<'_>) -> Access {
        self.token(self.words(place))
    }

    /// The token that XPU `xpu` has loaded its ciphertexts of a wave.
    pub(super) fn loaded(&self, place: &GroupPlace<'_>, wave: u64, xpu: u64) -> Access {
        let token = Meaning::Token { number: xpu as u32, ciphertext: place.ciphertext(self.machine, wave, 0) };
        self.token(self.labels.value(self.chip.classes.loaded, [token]))
    }

    /// A vector register of lane group `lane`.
    pub(super) fn register(&self, lane: u64, register: u64, value: Value, bytes: u64, span: (i64, i64)) -> Access {
        self.vector((self.chip.registers[lane as usize], register), value, bytes, span)
    }

    /// The result register of lane group `lane`.
    pub(super) fn result(&self, lane: u64, value: Value, bytes: u64, span: (i64, i64)) -> Access {
        self.vector((self.chip.results[lane as usize], 0), value, bytes, span)
    }

    /// A stream of vectors through register `number` of a memory.
    fn vector(&self, (memory, number): (MemoryId, u64), value: Value, bytes: u64, span: (i64, i64)) -> Access {
        let vector = self.machine.vector_bytes();
        let mut whole = access(memory, number * vector, vector, value, span, Order::Stream);
        whole.bytes = bytes;
        whole
    }
}
