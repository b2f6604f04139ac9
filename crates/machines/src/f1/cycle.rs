//! Phase 3: clusters, registers, crossbars and banks, cycle by cycle (section 4.4).
//!
//! Processes the steps of phase 2 in order and gives each the first cycle in which all its resources are free.
//! It adds no loads or stores, but moves loads to their earliest cycle. Phase 1 has assigned each instruction
//! to a cluster. An operand comes from a register, or streams into the unit from the scratchpad or from another
//! cluster's register, whichever is sooner. It is also written to a register if it is read again before the
//! register's current value. A result stays in a register if it is read there soon; otherwise it streams to the
//! scratchpad. Instructions are in the order in which their results are needed, so a long pipeline reads its
//! operands long before other uses of the registers. Its operands therefore stream, unless another cluster
//! needs them at the same time. Clusters that need a vector in the same cycle share one read, if the crossbars
//! can multicast (`delivery`). Every transfer and every unit processes one chunk per cycle, so a reader may
//! follow its writer by one cycle. Lockstep runs of equal operations use their own plan (`run`).

use super::action::{Action, Destination, Frame, Register, Source, Timed};
use super::bank::{Bank, Way};
use super::cluster::{Cell, Cluster, NONE};
use super::graph::Graph;
use super::lockstep::{Planned, Run};
use super::machine::{F1, Geometry};
use super::movement::{Movement, Step};
use super::reservations::Reservations;
use polyfabric_kernels::cancel;
use spread::Spread;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

mod delivery;
mod execute;
mod room;
mod run;
mod spread;

/// Look-ahead, in instructions of a cluster, within which a vector deserves a register.
const HERE: usize = 64;

/// Look-ahead, in instructions of a cluster, within which another cluster is expected to fetch a vector from a
/// register.
const ELSEWHERE: usize = 2;

/// Vectors by which a result may precede those of earlier instructions. Earlier results would occupy registers
/// that those need.
const EARLY: u64 = 2;

/// Number of readers examined for a value's next use in a cluster.
const LOOKED_AT: usize = 48;

/// A value's copy in the scratchpad.
#[derive(Clone, Copy, Debug)]
struct Held {
    frame: Frame,
    /// The cycle in which its first chunk is written.
    at: u64,
    /// The first cycle in which another value may be written.
    free_from: u64,
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    #[error("instruction {instruction} finds no register in cluster {cluster}: its register file has too few vectors")]
    Registers { instruction: u32, cluster: usize },
    #[error(
        "instruction {instruction} finds no cycle in cluster {cluster}, although nothing is reserved. This is a bug in the compiler"
    )]
    Ports { instruction: u32, cluster: usize },
    #[error("phase 2 schedules value {value} wrongly: {what}. This is a bug in the compiler")]
    Movement { value: u32, what: &'static str },
}

pub struct Scheduled {
    /// In the order of the steps, not of time.
    pub actions: Vec<Timed>,
    /// The cycle in which all of it is done.
    pub end: u64,
}

struct Scheduler<'a> {
    graph: &'a Graph,
    geometry: &'a Geometry,
    network: u64,
    load_latency: u64,
    clusters: Vec<Cluster>,
    banks: Vec<Bank>,
    stacks: Vec<Reservations>,
    /// For each bank, its free frames by the cycle from which they can be written.
    free: Vec<BinaryHeap<Reverse<(u64, u16)>>>,
    held: Vec<Option<Held>>,
    /// Clusters with the value in a register, as a bit set.
    copies: Vec<u32>,
    remaining: Vec<u32>,
    issued: Vec<bool>,
    output: Vec<bool>,
    cursor: Vec<u32>,
    /// The cycle from which a computed value is in off-chip memory.
    stored: HashMap<u32, u64>,
    /// The cluster of every instruction.
    home: &'a [u16],
    /// The last start of an instruction with short latency, by cluster.
    front: Vec<u64>,
    /// For every place, numbered by [`Geometry::line`], the cycles of its last reads for a crossbar; further
    /// clusters can join them.
    given: Vec<VecDeque<u64>>,
    multicast: bool,
    register_banks: u64,
    /// The bank in which a value should be stored.
    preferred: HashMap<u32, u16>,
    /// Times at which vectors are read from each bank.
    spread: Spread,
    /// The cycle in which the last chunk of all actions so far arrives.
    end: u64,
    /// The same without loads and stores.
    idle: u64,
    actions: Vec<Timed>,
}

/// Determines the cycles of all steps and the registers of instructions in their clusters, `home`. Instructions
/// of `runs` that the scratchpad cannot serve are scheduled like all others.
pub fn schedule(
    graph: &Graph,
    home: &[u16],
    movement: &Movement,
    runs: &[Planned],
    machine: &F1,
    geometry: &Geometry,
) -> Result<Scheduled, CycleError> {
    let mut scheduler = Scheduler::new(graph, home, machine, geometry);
    let mut run_of = HashMap::new();
    for (number, Planned { run, .. }) in runs.iter().enumerate() {
        scheduler.prefer(run);
        run_of.extend(run.rows.iter().flat_map(|row| row.instructions.iter().flatten().map(|&i| (i, number))));
    }
    let mut tried = vec![false; runs.len()];
    let mut next = 0;
    let stage = cancel::stage("giving every step its cycle", movement.steps.len());
    while let Some(&step) = movement.steps.get(next) {
        stage.reach(next);
        let run = match step {
            Step::Execute(instruction) => run_of.get(&instruction).copied().filter(|&number| !tried[number]),
            _ => None,
        };
        let behind = match run {
            Some(number) => {
                tried[number] = true;
                scheduler.run(&runs[number], &movement.steps, next)?
            }
            None => None,
        };
        if behind.is_none() {
            scheduler.step(step)?;
        }
        next = behind.unwrap_or(next + 1);
    }
    Ok(Scheduled { actions: scheduler.actions, end: scheduler.end })
}

impl<'a> Scheduler<'a> {
    fn new(graph: &'a Graph, home: &'a [u16], machine: &F1, geometry: &'a Geometry) -> Self {
        let values = graph.values();
        let mut output = vec![false; values];
        graph.outputs().iter().for_each(|&vector| output[graph.number(vector)] = true);
        let frames = (0..geometry.frames as u16).map(|index| Reverse((0, index))).collect();
        Self {
            graph,
            geometry,
            network: machine.depth.network,
            load_latency: geometry.load_latency,
            clusters: vec![Cluster::new(machine, geometry); machine.clusters],
            banks: vec![Bank::new(machine); machine.banks],
            stacks: vec![Reservations::default(); machine.stacks],
            free: vec![frames; machine.banks],
            held: vec![None; values],
            copies: vec![0; values],
            remaining: (0..values).map(|number| graph.users(number).len() as u32).collect(),
            issued: vec![false; graph.len()],
            output,
            cursor: vec![0; values],
            stored: HashMap::new(),
            home,
            front: vec![0; machine.clusters],
            given: vec![VecDeque::new(); geometry.lines(machine)],
            multicast: machine.multicast,
            register_banks: machine.register_banks as u64,
            preferred: HashMap::new(),
            spread: Spread::new(machine.banks, machine.clusters, graph.len()),
            end: 0,
            idle: 0,
            actions: Vec::new(),
        }
    }

    /// Records the banks in which a run needs its values: those of the reading operation; hint vectors are
    /// spread over all banks.
    fn prefer(&mut self, run: &Run) {
        let columns = &run.columns;
        let hint = (0..).zip(&run.hint).map(|(index, &value)| (value, columns.bank_of_hint(index)));
        let operations = run.rows.iter().flat_map(|row| row.outside.iter().enumerate());
        let alone = operations.flat_map(|(operation, values)| {
            let of = move |(index, &value)| (value, columns.cluster(operation, columns.of_outside(index)));
            (0..).zip(values).map(of)
        });
        for (value, bank) in hint.chain(alone) {
            self.preferred.entry(value).or_insert((bank % self.banks.len()) as u16);
        }
    }

    fn step(&mut self, step: Step) -> Result<(), CycleError> {
        match step {
            Step::Load(value) => self.load(value)?,
            Step::Drop(value) => self.release(value),
            Step::Spill(value) => {
                self.store(value)?;
                self.release(value);
            }
            Step::Store(value) => {
                self.store(value)?;
                if self.remaining[value as usize] == 0 {
                    self.release(value);
                }
            }
            Step::Execute(instruction) => self.execute(instruction)?,
        }
        Ok(())
    }

    fn push(&mut self, cycle: u64, action: Action) {
        let vector = self.geometry.occupancy;
        let through = match action {
            Action::Load { .. } | Action::Store { .. } => self.load_latency + self.geometry.transfer.max(vector),
            Action::Execute { instruction, .. } => {
                self.geometry.latency(self.graph.function(instruction as usize)) + self.network + vector
            }
            _ => self.network + vector,
        };
        self.end = self.end.max(cycle + through);
        if !matches!(action, Action::Load { .. } | Action::Store { .. }) {
            self.idle = self.idle.max(cycle + through);
        }
        self.actions.push(Timed { cycle, action });
    }

    /// A free frame for a value, and the cycle from which it can be written. It is in the preferred bank, or
    /// else in the bank with the fewest reads at the time of the value's reads. The `busy` bank is used only if
    /// all others are full.
    fn take_frame(&mut self, value: u32, busy: Option<u16>) -> Result<(Frame, u64), CycleError> {
        let first = |bank: u16| self.free[bank as usize].peek().map(|&Reverse((from, index))| (from, index, bank));
        let mut places: Vec<_> = (0..self.free.len() as u16).filter_map(first).collect();
        if places.iter().any(|&(.., bank)| Some(bank) != busy) {
            places.retain(|&(.., bank)| Some(bank) != busy);
        }
        let wanted = self.preferred.get(&value).copied();
        let wanted = places.iter().copied().find(|&(.., bank)| Some(bank) == wanted);
        let found = wanted.or_else(|| self.least_read(value, &places));
        let (from, index, bank) = found.ok_or(CycleError::Movement { value, what: "the scratchpad is full" })?;
        self.free[bank as usize].pop();
        Ok((Frame { bank, index }, from))
    }

    /// Whether some bank has a free frame.
    fn has_free_frame(&self) -> bool {
        self.free.iter().any(|frames| !frames.is_empty())
    }

    /// The first cycle from `from` on in which a bank can transfer a vector in direction `way`.
    fn through_bank(&self, bank: u16, way: Way, from: u64) -> u64 {
        self.banks[bank as usize].earliest(way, from, self.geometry.occupancy)
    }

    fn load(&mut self, value: u32) -> Result<(), CycleError> {
        let place = self.take_frame(value, None)?;
        let arrival = self.load_to(value, place)?;
        self.held[value as usize] = Some(Held { frame: place.0, at: arrival, free_from: arrival + 1 });
        Ok(())
    }

    /// Loads a value to a frame that can be written from a given cycle on; returns the cycle of arrival.
    fn load_to(&mut self, value: u32, (frame, from): (Frame, u64)) -> Result<u64, CycleError> {
        let duration = self.geometry.transfer;
        // A spilled value is reloaded only after its store.
        let stored = self.stored.get(&value).copied().unwrap_or(0);
        let mut start = from.saturating_sub(self.load_latency).max(stored);
        let (stack, start) = loop {
            let stacks = self.stacks.iter().enumerate();
            let Some((stack, at)) = stacks.map(|(s, t)| (s, t.earliest(start, duration))).min_by_key(|&(_, at)| at)
            else {
                return Err(CycleError::Movement { value, what: "the machine has no memory" });
            };
            let arrival = at + self.load_latency;
            let free = self.through_bank(frame.bank, Way::Memory, arrival);
            if free == arrival {
                break (stack, at);
            }
            start = free - self.load_latency;
        };
        let arrival = start + self.load_latency;
        self.stacks[stack].reserve(start, duration);
        self.banks[frame.bank as usize].reserve(Way::Memory, arrival, self.geometry.occupancy);
        self.push(start, Action::Load { stack: stack as u16, frame, value });
        Ok(arrival)
    }

    /// Stores a value; a value that is only in a register is first written back.
    fn store(&mut self, value: u32) -> Result<(), CycleError> {
        if self.held[value as usize].is_none() {
            let register =
                self.any_copy(value).ok_or(CycleError::Movement { value, what: "it is stored, but not on chip" })?;
            self.write_back(register)?;
        }
        let Some(held) = self.held[value as usize] else {
            return Err(CycleError::Movement { value, what: "it is stored, but not in the scratchpad" });
        };
        let duration = self.geometry.transfer;
        let mut from = held.at + 1;
        let (stack, start) = loop {
            let free = self.through_bank(held.frame.bank, Way::Memory, from);
            let stacks = self.stacks.iter().enumerate();
            let Some((stack, at)) = stacks.map(|(s, t)| (s, t.earliest(free, duration))).min_by_key(|&(_, at)| at)
            else {
                return Err(CycleError::Movement { value, what: "the machine has no memory" });
            };
            if at == free {
                break (stack, at);
            }
            from = at;
        };
        self.stacks[stack].reserve(start, duration);
        self.banks[held.frame.bank as usize].reserve(Way::Memory, start, self.geometry.occupancy);
        self.held[value as usize] = Some(Held { free_from: held.free_from.max(start + 1), ..held });
        // Readable one cycle after it is complete.
        self.stored.insert(value, start + duration.max(self.geometry.occupancy) + 1);
        self.push(start, Action::Store { stack: stack as u16, frame: held.frame, value });
        Ok(())
    }

    /// The oldest register copy of a value.
    fn any_copy(&self, value: u32) -> Option<Register> {
        let copies = self.copies[value as usize];
        let holders = (0..self.clusters.len()).filter(|cluster| copies >> cluster & 1 == 1);
        let found = holders.filter_map(|cluster| self.clusters[cluster].find(value).map(|index| (cluster, index)));
        found
            .min_by_key(|&(cluster, index)| self.clusters[cluster].cells[index].at)
            .map(|(cluster, index)| Register { cluster: cluster as u16, index: index as u16 })
    }

    /// Drops a value from the chip.
    fn release(&mut self, value: u32) {
        if let Some(held) = self.held[value as usize].take() {
            self.free[held.frame.bank as usize].push(Reverse((held.free_from, held.frame.index)));
        }
        let copies = std::mem::take(&mut self.copies[value as usize]);
        for (index, cluster) in self.clusters.iter_mut().enumerate() {
            if copies >> index & 1 == 1
                && let Some(register) = cluster.find(value)
            {
                cluster.cells[register].value = NONE;
            }
        }
    }

    /// Copies a register to the scratchpad.
    fn write_back(&mut self, register: Register) -> Result<(), CycleError> {
        let (cluster, index) = (register.cluster as usize, register.index as usize);
        let cell = self.clusters[cluster].cells[index];
        let (frame, frame_from) = self.take_frame(cell.value, None)?;
        let duration = self.geometry.occupancy;
        let mut at = (cell.at + 1).max(frame_from.saturating_sub(self.network));
        loop {
            let free = self.clusters[cluster].to_scratchpad.earliest(at, duration);
            let arrival = free + self.network;
            let bank_free = self.through_bank(frame.bank, Way::Enter, arrival);
            if free == at && bank_free == arrival && self.clusters[cluster].free_ports(at, duration) > 0 {
                break;
            }
            at = free.max(bank_free - self.network).max(at + 1);
        }
        let arrival = at + self.network;
        self.clusters[cluster].to_scratchpad.reserve(at, duration);
        self.clusters[cluster].take_port(at, duration);
        self.banks[frame.bank as usize].reserve(Way::Enter, arrival, duration);
        let cell = &mut self.clusters[cluster].cells[index];
        cell.free_from = cell.free_from.max(at + 1);
        let value = cell.value;
        self.held[value as usize] = Some(Held { frame, at: arrival, free_from: arrival + 1 });
        self.push(at, Action::WriteBack { register, frame, value });
        Ok(())
    }

    /// The next instruction in a cluster that reads a value soon, or [`NONE`].
    fn next_use(&mut self, value: u32, cluster: usize) -> u32 {
        let users = self.unissued(value);
        let (issued, home) = (&self.issued, self.home);
        let here = |&&user: &&u32| !issued[user as usize] && usize::from(home[user as usize]) == cluster;
        users.iter().take(LOOKED_AT).find(here).copied().unwrap_or(NONE)
    }

    /// The readers of a value, from the first unissued one on.
    fn unissued(&mut self, value: u32) -> &'a [u32] {
        let users = self.graph.users(value as usize);
        let cursor = &mut self.cursor[value as usize];
        while users.get(*cursor as usize).is_some_and(|&user| self.issued[user as usize]) {
            *cursor += 1;
        }
        &users[*cursor as usize..]
    }

    /// The next reader of a value, if it is close enough to `instruction` for another cluster to fetch the
    /// value from a register.
    fn soon(&mut self, value: u32, instruction: u32) -> Option<u32> {
        let near = ELSEWHERE * self.clusters.len();
        self.unissued(value).first().copied().filter(|reader| reader.saturating_sub(instruction) as usize <= near)
    }

    /// The instruction until which a value read or computed by `instruction` in `cluster` deserves a register,
    /// if any.
    fn worth(&mut self, value: u32, cluster: usize, instruction: u32) -> Option<u32> {
        let next = self.next_use(value, cluster);
        if next != NONE && next.saturating_sub(instruction) as usize <= HERE * self.clusters.len() {
            return Some(next);
        }
        self.soon(value, instruction)
    }

    /// A register of a cluster for a value that arrives about `wanted` and is next used by `until`, and the
    /// cycle from which it can be written. Values in `pinned`, and values used sooner, are not displaced.
    fn take_register(
        &mut self,
        cluster: usize,
        wanted: u64,
        pinned: &[u32],
        (instruction, until): (u32, u32),
    ) -> Result<Option<(usize, u64)>, CycleError> {
        let cells = &self.clusters[cluster].cells;
        let empty = (0..cells.len()).filter(|&index| cells[index].value == NONE);
        let soonest = empty.min_by_key(|&index| cells[index].free_from);
        let patience = wanted + self.geometry.occupancy;
        if let Some(index) = soonest.filter(|&index| cells[index].free_from <= patience) {
            let index = self.freed_last(cluster, index, wanted);
            return Ok(Some((index, cells[index].free_from)));
        }
        let mut victims = Vec::new();
        for index in 0..self.clusters[cluster].cells.len() {
            let Cell { value, at, .. } = self.clusters[cluster].cells[index];
            if value == NONE || pinned.contains(&value) {
                continue;
            }
            let elsewhere = self.held[value as usize].is_some() || self.copies[value as usize].count_ones() > 1;
            let next = self.worth(value, cluster, instruction).unwrap_or(NONE);
            victims.push((next, elsewhere, Reverse(at), index));
        }
        let Some(&(_, elsewhere, _, index)) = victims.iter().max().filter(|&&(next, ..)| next > until) else {
            let cells = &self.clusters[cluster].cells;
            return Ok(soonest.map(|index| (index, cells[index].free_from)));
        };
        if !elsewhere {
            self.write_back(Register { cluster: cluster as u16, index: index as u16 })?;
        }
        let cell = &mut self.clusters[cluster].cells[index];
        let value = std::mem::replace(&mut cell.value, NONE);
        self.copies[value as usize] &= !(1 << cluster);
        Ok(Some((index, self.clusters[cluster].cells[index].free_from)))
    }

    /// Among a cluster's empty registers that can be written in `at`, the one freed last, to keep the others
    /// for earlier values; `index` if there is none.
    fn freed_last(&self, cluster: usize, index: usize, at: u64) -> usize {
        let cells = &self.clusters[cluster].cells;
        let empty = (0..cells.len()).filter(|&other| cells[other].value == NONE && cells[other].free_from <= at);
        empty.max_by_key(|&other| cells[other].free_from).unwrap_or(index)
    }

    /// Whether an instruction's result starts at least one vector after its operands.
    fn is_long(&self, instruction: u32) -> bool {
        self.geometry.latency(self.graph.function(instruction as usize)) >= self.geometry.occupancy
    }

    /// The operands of an instruction: registers, or sources of streams with their first cycle; and the first
    /// cycle in which the registers can be read.
    fn operands(
        &mut self,
        values: &[u32],
        cluster: usize,
        target: u64,
        instruction: u32,
    ) -> Result<(Vec<(Source, u64)>, u64), CycleError> {
        let mut found: Vec<Option<usize>> = values
            .iter()
            .map(|&value| self.copies[value as usize] >> cluster & 1)
            .map(|here| (here == 1).then_some(0))
            .collect();
        let mut ready = 0;
        for (place, &value) in found.iter_mut().zip(values) {
            if place.is_some() {
                *place = self.clusters[cluster].find(value);
            }
        }
        let long = self.is_long(instruction);
        for (place, &value) in found.iter_mut().zip(values).filter(|(place, _)| place.is_none()) {
            let home = self.home;
            let until = match long {
                true => self.soon(value, instruction).filter(|&reader| usize::from(home[reader as usize]) != cluster),
                false => self.worth(value, cluster, instruction),
            };
            // If half of the clusters have a copy, they can send it to the others.
            let given = self.copies[value as usize].count_ones() as usize * 2 >= self.clusters.len();
            let until = until.filter(|&reader| usize::from(home[reader as usize]) == cluster || !given);
            if let Some(until) = until {
                *place = self.bring(value, cluster, target, values, (instruction, until))?.map(|(index, _)| index);
            }
        }
        // Two streams must use different crossbars.
        let mut streams = Vec::with_capacity(values.len());
        for position in 0..values.len() {
            if let Some(index) = found[position] {
                ready = ready.max(self.clusters[cluster].cells[index].at + 1);
                streams.push((Source::Register(index as u16), 0));
                continue;
            }
            let value = values[position];
            let taken = streams.iter().any(|(source, _)| matches!(source, Source::Scratchpad(_)));
            let both = streams.iter().any(|(source, _)| matches!(source, Source::Cluster(_)));
            let origins = self.origins(value, cluster).into_iter().filter(|(source, _)| match source {
                Source::Scratchpad(_) => !taken,
                _ => !both,
            });
            let best =
                origins.min_by_key(|&origin| self.preference(origin.0, self.arrival(origin, cluster, target, false)));
            streams.push(match best {
                Some(origin) => origin,
                // If both are only in the scratchpad, the second one goes through a register, whatever that
                // displaces.
                None => {
                    let instead = self.bring(value, cluster, target, values, (instruction, 0))?;
                    let (index, at) = instead.ok_or(CycleError::Registers { instruction, cluster })?;
                    ready = ready.max(at);
                    (Source::Register(index as u16), 0)
                }
            });
        }
        Ok((streams, ready))
    }

    /// The first cycle in which every operand of an instruction can be read on chip.
    fn operands_exist(&self, values: &[u32]) -> u64 {
        let first = |&value: &u32| {
            let number = value as usize;
            let held = self.held[number].map(|held| held.at);
            let copies = (0..self.clusters.len()).filter(|cluster| self.copies[number] >> cluster & 1 == 1);
            let cells = copies.filter_map(|cluster| {
                let cluster = &self.clusters[cluster];
                cluster.find(value).map(|index| cluster.cells[index].at)
            });
            held.into_iter().chain(cells).min().map_or(0, |at| at + 1)
        };
        values.iter().map(first).max().unwrap_or(0)
    }
}
