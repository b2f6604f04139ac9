use super::super::hardware::{latency, rate};
use super::super::machine::{ELEMENT_BYTES, Shape};
use super::super::software::{Action, BUFFERS, Batch, Task};
use super::Emitter;
use crate::tfhe::channels;
use crate::tfhe::labels::Meaning;
use crate::tfhe::transfers::{access, between};
use crate::tfhe::workload::{Item, Work};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_sim::schedule::{Access, Event, KindId, OpRef, Order, Resource, Value};

impl Emitter<'_> {
    /// Element `number` of a batch in the pseudo-channel: its rotation amounts, or its result.
    fn in_hbm(&self, batch: &Batch, number: u64, value: Value, result: bool) -> Access {
        let s: &Shape = &self.shape;
        let position = batch.sequence % BUFFERS * s.in_flight + number;
        let (at, bytes) = match result {
            false => (position * s.amounts(), s.amounts()),
            true => (BUFFERS * s.in_flight * s.amounts() + position * s.large(), s.large()),
        };
        access(self.chip.hbm, at, bytes, value, (0, 0), Order::Any)
    }

    fn in_host(&self, entry: u64, number: u64, bytes: u64, value: Value) -> Access {
        let at = self.tasks.host.entry(entry) + number * (self.tasks.host.entry_bytes / self.shape.in_flight);
        access(self.chip.host_buffer, at, bytes, value, (0, 0), Order::Any)
    }

    fn in_memory(&self, bytes: u64, value: Value) -> Access {
        access(self.chip.memory, 0, bytes, value, (0, 0), Order::Any)
    }

    /// Reads and writes of a transfer, item by item.
    fn moves(&self, batch: &Batch, task: &Task) -> Vec<(Access, Access)> {
        let s = self.shape;
        let numbered = || (0u64..).zip(batch.elements());
        let work = &self.tasks.works[batch.work];
        match (task.action, work) {
            (Action::Send | Action::Prefetch, Work::Bootstraps(work)) => {
                let one = |(number, element)| {
                    let value = self.amounts(work.blind_rotation, element);
                    let hbm = self.in_hbm(batch, number, value, false);
                    if task.action == Action::Send {
                        (self.in_host(task.entry, number, s.amounts(), value), hbm)
                    } else {
                        let at = (batch.sequence % BUFFERS * s.in_flight + number) * s.amounts();
                        (hbm, access(self.chip.fifo, at, s.amounts(), value, (0, 0), Order::Any))
                    }
                };
                numbered().map(one).collect()
            }
            (Action::LoadTable, _) => {
                let value = self.table(task.table);
                let at = task.entry * s.polynomial;
                let write = access(self.chip.tables, at, s.polynomial, value, (0, 0), Order::Any);
                vec![(self.in_memory(s.polynomial, value), write)]
            }
            (Action::Drain | Action::Return, Work::Bootstraps(work)) => {
                let one = |(number, element): (u64, u32)| {
                    let value = self.lwe(work.extracted[element as usize]);
                    let hbm = self.in_hbm(batch, number, value, true);
                    if task.action == Action::Drain {
                        let at = (batch.sequence % BUFFERS * s.in_flight + number) * s.large();
                        (access(self.chip.outputs, at, s.large(), value, (0, 0), Order::Any), hbm)
                    } else {
                        (hbm, self.in_memory(s.large(), value))
                    }
                };
                numbered().map(one).collect()
            }
            (Action::Store, work) => {
                let one = |(number, element): (u64, u32)| {
                    let (item, bytes) = match work {
                        Work::Linear(layer) => {
                            (Item { op: layer.op, element }, (layer.dimension as u64 + 1) * ELEMENT_BYTES)
                        }
                        _ => (work.results(true)[element as usize], s.small()),
                    };
                    let value = self.lwe(item);
                    (self.in_host(task.entry, number, bytes, value), self.in_memory(bytes, value))
                };
                numbered().map(one).collect()
            }
            _ => Vec::new(),
        }
    }

    fn channel(&self, action: Action) -> (Resource, KindId) {
        let (chip, kinds) = (&self.chip, &self.chip.kinds);
        match action {
            Action::Send => (chip.link_in, kinds.send),
            Action::Return => (chip.link_out, kinds.receive),
            Action::Store => (chip.host_memory, kinds.store),
            _ => (chip.hbm_channel, kinds.hbm),
        }
    }

    pub(super) fn transfer(&mut self, batch: &Batch, index_of: u32, start: i64) {
        let tasks = self.tasks;
        let task = &tasks.tasks[index_of as usize];
        let cycles = channels::cycles(task.amount, rate(self.machine, task.unit));
        let late = latency(self.machine, task.unit);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (read, write) in self.moves(batch, task) {
            reads.push(between(read, (0, cycles - 1)));
            writes.push(between(write, (late, late + cycles - 1)));
        }
        let (resource, kind) = self.channel(task.action);
        let op = self.op(kind, tasks.works[batch.work].operation(), batch.first);
        let (occupancy, work) = (cycles as u32, task.amount);
        self.builder.event(Event { resource, start, occupancy, work, parts: 1, op, reads, writes });
    }

    /// Host computations of a batch, one ciphertext at a time.
    pub(super) fn on_host(&mut self, batch: &Batch, index_of: u32, start: i64) {
        let tasks = self.tasks;
        let task = &tasks.tasks[index_of as usize];
        let s = self.shape;
        let kinds = self.chip.kinds;
        let cycles = task.amount as i64;
        for (number, element) in (0u64..).zip(batch.elements()) {
            let (op, work, reads, result, bytes): (OpRef, u64, Vec<Access>, Value, u64) =
                match (task.action, &tasks.works[batch.work]) {
                    (Action::ModulusSwitch, Work::Bootstraps(work)) => {
                        let source = self.in_memory(s.small(), self.lwe(work.sources[element as usize]));
                        let op = self.op(kinds.modulus_switch, work.modulus_switch, element);
                        (op, s.lwe_dimension + 1, vec![source], self.amounts(work.blind_rotation, element), s.amounts())
                    }
                    (Action::KeySwitch, work) => {
                        let source = match work {
                            Work::Bootstraps(work) => work.extracted[element as usize],
                            Work::KeySwitches(work) => work.sources[element as usize],
                            Work::Linear(_) => continue,
                        };
                        let result = work.results(true)[element as usize];
                        let levels =
                            self.program.parameters.key_switch_gadget().map_or(0, |gadget| u64::from(gadget.levels));
                        let key = Meaning::SwitchKey { from: 0, length: s.large_dimension as u32 };
                        let key = self.labels.value(self.chip.classes.switch_key, [key]);
                        let reads = vec![
                            self.in_memory(s.large(), self.lwe(source)),
                            self.in_memory(s.large_dimension * levels * s.small(), key),
                        ];
                        let op = self.op(kinds.key_switch, result.op, element);
                        (op, s.large_dimension * levels * (s.lwe_dimension + 2), reads, self.lwe(result), s.small())
                    }
                    (Action::Linear, Work::Linear(layer)) => {
                        let OpKind::Linear { matrix, .. } = &self.program.ops[layer.op as usize].kind else { continue };
                        let bytes = (layer.dimension as u64 + 1) * ELEMENT_BYTES;
                        let reads: Vec<Access> = matrix
                            .row(element as usize)
                            .map(|(column, _)| self.in_memory(bytes, self.lwe(layer.sources[column])))
                            .collect();
                        let work = (reads.len() as u64 + 1) * (layer.dimension as u64 + 1);
                        let result = self.lwe(Item { op: layer.op, element });
                        (self.op(kinds.linear, layer.op, element), work, reads, result, bytes)
                    }
                    _ => continue,
                };
            let reads = reads.into_iter().map(|read| between(read, (0, cycles - 1))).collect();
            let write = between(self.in_host(task.entry, number, bytes, result), (1, cycles));
            let (resource, occupancy, start) = (self.chip.host, cycles as u32, start + number as i64 * cycles);
            self.builder.event(Event { resource, start, occupancy, work, parts: 1, op, reads, writes: vec![write] });
        }
    }
}
