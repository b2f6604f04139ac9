//! Events of the channels and the links.

use super::super::hardware::link_latency;
use super::super::software::{Action, Epoch, Task, bytes_of, core_rows};
use super::Emitter;
use crate::tfhe::labels::Meaning;
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::transfers::{Piece, access, between, part_of};
use crate::tfhe::workload::{Item, Work, distinct};
use polyfabric_program::tfhe::kernel::BodyValue;
use polyfabric_sim::schedule::{Access, Event, KindId, MemoryId, OpRef, Order, Resource, Value};

/// Accesses of an event.
struct Moves {
    reads: Vec<Access>,
    writes: Vec<Access>,
}

impl Emitter<'_> {
    /// Bytes between the ciphertexts of two cores in an entry of the global scratchpad.
    fn stride(&self) -> u64 {
        self.tasks.layout.incoming.entry_bytes / self.machine.cores
    }

    fn event(&mut self, (resource, op): (Resource, OpRef), start: i64, cycles: i64, moves: Moves, work: u64) {
        let Moves { reads, writes } = moves;
        self.builder.event(Event { resource, start, occupancy: cycles as u32, work, parts: 1, op, reads, writes });
    }

    fn in_hbm(&self, bytes: u64, value: Value) -> Access {
        access(self.chip.hbm, 0, bytes, value, (0, 0), Order::Any)
    }

    fn in_global(&self, at: u64, bytes: u64, value: Value) -> Access {
        access(self.chip.global, at, bytes, value, (0, 0), Order::Any)
    }

    fn op(&self, kind: KindId, kernel_op: u32, ciphertext: u32) -> OpRef {
        OpRef { kind, kernel_op, body_op: Value::NONE, ciphertext, iteration: Value::NONE }
    }

    fn table(&self, table: u32) -> Value {
        self.labels.value(self.chip.classes.table, [Meaning::Table { index: table }])
    }

    /// The tables of an epoch, with their places in the global scratchpad.
    fn epoch_tables(&self, epoch: &Epoch) -> Vec<(u32, u64)> {
        let layout = self.tasks.layout;
        let at = layout.tables.entry(epoch.sequence % layout.tables.entries);
        let tables = distinct(self.tables(epoch)).into_iter().zip(0..);
        tables.map(|(table, number)| (table, at + number * layout.sizes.polynomial)).collect()
    }

    /// Reads and writes of a transfer, item by item.
    fn pieces(&self, epoch: &Epoch, task: &Task) -> Vec<Piece> {
        let layout = self.tasks.layout;
        let bytes = task.items.bytes;
        let elements = task.first as usize..(task.first + task.count) as usize;
        let load = |at, item: Item| {
            let value = self.lwe(item);
            Piece { read: self.in_hbm(bytes, value), write: self.in_global(at, bytes, value), items: 1 }
        };
        let store = |at, item: Item| {
            let value = self.lwe(item);
            Piece { read: self.in_global(at, bytes, value), write: self.in_hbm(bytes, value), items: 1 }
        };
        match (task.action, &self.tasks.works[epoch.work]) {
            (Action::Load, _) => {
                let first = elements.start - epoch.first as usize;
                let items = &self.sources(epoch)[first..first + elements.len()];
                let at = layout.incoming.entry(task.entry);
                items.iter().zip(0..).map(|(&item, core)| load(at + core * self.stride(), item)).collect()
            }
            (Action::LoadTables, _) => {
                let polynomial = layout.sizes.polynomial;
                let piece = |(table, at)| {
                    let value = self.table(table);
                    let (read, write) = (self.in_hbm(polynomial, value), self.in_global(at, polynomial, value));
                    Piece { read, write, items: polynomial / bytes }
                };
                self.epoch_tables(epoch).into_iter().map(piece).collect()
            }
            (Action::LoadOperands, Work::Linear(layer)) => {
                let at = layout.operands.entry(task.entry);
                let items = &layer.sources[task.columns.clone()];
                items.iter().zip(0..).map(|(&item, number)| load(at + number * bytes, item)).collect()
            }
            (Action::Store, work) => {
                let items = work.results(task.ends.0);
                let at = layout.outgoing.entry(task.entry);
                items[elements].iter().zip(0..).map(|(&item, core)| store(at + core * self.stride(), item)).collect()
            }
            (Action::StoreSums, Work::Linear(layer)) => {
                let at = layout.outgoing.entry(task.entry);
                let of = |core| core_rows(self.machine, elements.clone(), core).nth(task.wave as usize);
                let rows = (0..self.machine.cores).filter_map(|core| Some((core, of(core)?)));
                let item = |row: usize| Item { op: layer.op, element: row as u32 };
                rows.map(|(core, row)| store(at + core * self.stride(), item(row))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The parts of a transfer, relative to cycle `base`.
    pub(super) fn transfer(&mut self, epoch: &Epoch, index_of: u32, base: i64) {
        let (tasks, timeline) = (self.tasks, self.timeline);
        let task = &tasks.tasks[index_of as usize];
        let pieces = self.pieces(epoch, task);
        let latency = self.machine.memory_latency as i64;
        let bytes = task.items.bytes;
        for part in timeline.parts.get(&index_of).into_iter().flatten() {
            let work = part.count * bytes;
            let cycles = self.machine.channel_cycles(work);
            let (reads, writes) = part_of(&pieces, part, bytes);
            let reads = reads.into_iter().map(|read| between(read, (0, cycles - 1))).collect();
            let arrives = (latency, latency + cycles - 1);
            let writes = writes.into_iter().map(|write| between(write, arrives)).collect();
            let op = self.op(self.chip.kinds.transfer, tasks.works[epoch.work].operation(), task.first);
            let resource = self.chip.channels[part.channel as usize];
            self.event((resource, op), part.start - base, cycles, Moves { reads, writes }, work);
        }
    }

    fn admission(&self, cycles: i64) -> ((i64, i64), (i64, i64)) {
        let late = link_latency(self.machine);
        ((0, cycles - 1), (late, late + cycles - 1))
    }

    /// Admits a wave to the local scratchpads: rotation amounts first, then the accumulators.
    pub(super) fn admit(&mut self, epoch: &Epoch, index_of: u32, start: i64) {
        let tasks = self.tasks;
        let task = &tasks.tasks[index_of as usize];
        let Work::Bootstraps(work) = &tasks.works[epoch.work] else { return };
        let layout = tasks.layout;
        let sizes = layout.sizes;
        let tables = self.epoch_tables(epoch);
        let incoming = layout.incoming.entry(task.entry);
        let chip = self.chip.clone();
        for (c, element) in self.assignments(epoch, task.wave) {
            let core = &chip.cores[c];
            let lookup = self.lookups.first(work.blind_rotation) + element;
            let amounts = self.amounts(work.blind_rotation, element);
            let at = layout.rotations(task.wave);
            let cycles = sizes.small.div_ceil(self.machine.link) as i64;
            let (span, late) = self.admission(cycles);
            let source = self.lwe(work.sources[element as usize]);
            let from = incoming + c as u64 * self.stride();
            let reads = vec![between(self.in_global(from, sizes.small, source), span)];
            let writes = vec![access(core.local, at, sizes.rotations, amounts, late, Order::Any)];
            let op = self.op(chip.kinds.modulus_switch, work.modulus_switch, element);
            self.event((core.admission, op), start, cycles, Moves { reads, writes }, sizes.lwe_dimension + 1);

            let start = start + cycles;
            let cycles = sizes.polynomial.div_ceil(self.machine.link) as i64;
            let (span, late) = self.admission(cycles);
            let wanted = work.tables[element as usize];
            let mut reads = Vec::new();
            for &(table, at) in tables.iter().filter(|&&(table, _)| table == wanted) {
                reads.push(between(self.in_global(at, sizes.polynomial, self.table(table)), span));
            }
            // The body's amount rotates the test polynomial.
            let mut body = access(core.local, at, sizes.rotations, amounts, (late.0, late.0), Order::Any);
            body.bytes = COEFFICIENT_BYTES;
            reads.push(body);
            let polynomials = (0..sizes.polynomials).map(|polynomial| {
                let meaning = Meaning::Body { value: BodyValue(polynomial as u32), lookup, iteration: 0 };
                let value = self.labels.value(chip.classes.accumulator, [meaning]);
                let at = layout.resident.entry(task.wave) + polynomial * sizes.polynomial;
                access(core.local, at, sizes.polynomial, value, (late.0 + 1, late.1 + 1), Order::Any)
            });
            let writes = polynomials.collect();
            let op = self.op(chip.kinds.load_accumulators, work.blind_rotation, element);
            self.event((core.admission, op), start, cycles, Moves { reads, writes }, sizes.accumulator);
        }
    }

    /// Admits a wave under the large key to the local scratchpads.
    pub(super) fn admit_large(&mut self, epoch: &Epoch, index_of: u32, start: i64) {
        let tasks = self.tasks;
        let task = &tasks.tasks[index_of as usize];
        let Work::KeySwitches(work) = &tasks.works[epoch.work] else { return };
        let layout = tasks.layout;
        let large = layout.sizes.large;
        let cycles = large.div_ceil(self.machine.link) as i64;
        let (span, late) = self.admission(cycles);
        for (c, element) in self.assignments(epoch, task.wave) {
            let (admission, local) = (self.chip.cores[c].admission, self.chip.cores[c].local);
            let value = self.lwe(work.sources[element as usize]);
            let from = layout.incoming.entry(task.entry) + c as u64 * self.stride();
            let reads = vec![between(self.in_global(from, large, value), span)];
            let writes = vec![access(local, layout.large.entry(task.wave), large, value, late, Order::Any)];
            let op = self.op(self.chip.kinds.admit, work.results[element as usize].op, element);
            self.event((admission, op), start, cycles, Moves { reads, writes }, large);
        }
    }

    /// Sends a wave of results, or one row of sums per core, to the global scratchpad.
    pub(super) fn send(&mut self, epoch: &Epoch, index_of: u32, start: i64) {
        let tasks = self.tasks;
        let task = &tasks.tasks[index_of as usize];
        let layout = tasks.layout;
        let work = &tasks.works[epoch.work];
        let local = |c: usize| self.chip.cores[c].local;
        let sent: Vec<(usize, Item, MemoryId, u64, u64)> = match (task.action, work) {
            (Action::ReturnSums, Work::Linear(layer)) => {
                let rows = task.first as usize..(task.first + task.count) as usize;
                let bytes = bytes_of(layer);
                let at = layout.linear.offset + task.wave * bytes;
                let of = |core: usize| core_rows(self.machine, rows.clone(), core as u64).nth(task.wave as usize);
                let rows = (0..self.machine.cores as usize).filter_map(|core| Some((core, of(core)?)));
                let item = |row: usize| Item { op: layer.op, element: row as u32 };
                rows.map(|(core, row)| (core, item(row), local(core), at, bytes)).collect()
            }
            (action, work) => {
                let small = action == Action::ReturnSmall;
                let items = work.results(small);
                let (ring, bytes) =
                    if small { (layout.sums, layout.sizes.small) } else { (layout.large, layout.sizes.large) };
                let at = ring.entry(task.wave);
                let assignments = self.assignments(epoch, task.wave);
                assignments.map(|(core, element)| (core, items[element as usize], local(core), at, bytes)).collect()
            }
        };
        for (core, item, local, at, bytes) in sent {
            let cycles = bytes.div_ceil(self.machine.link) as i64;
            let (span, late) = self.admission(cycles);
            let value = self.lwe(item);
            let to = layout.outgoing.entry(task.entry) + core as u64 * self.stride();
            let reads = vec![access(local, at, bytes, value, span, Order::Any)];
            let writes = vec![between(self.in_global(to, bytes, value), late)];
            let op = self.op(self.chip.kinds.send, item.op, item.element);
            self.event((self.chip.cores[core].returns, op), start, cycles, Moves { reads, writes }, bytes);
        }
    }
}
