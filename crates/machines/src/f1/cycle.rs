//! Phase 3: clusters, registers, crossbars and banks, cycle by cycle (section 4.4).
//!
//! Takes the steps of phase 2 in order and gives each the first cycle in which everything that it needs is free. It adds
//! no load and no store; it moves loads to their earliest cycle. Instructions that hand values to each other form tasks, and a
//! task stays in one cluster. Operands that are not in its registers come from the scratchpad or from another cluster; a result stays in its
//! register and is written back only when the register is needed and no other place holds it.
//! Every transfer and every unit moves a chunk a cycle, so a reader may follow its writer by a cycle.

use super::action::{Action, Register, Slot, Timed};
use super::cluster::{Cell, Cluster, NONE};
use super::graph::Graph;
use super::machine::{F1, Geometry};
use super::movement::{Movement, Step};
use super::tasks::Tasks;
use super::timeline::Timeline;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A value's copy in the scratchpad.
#[derive(Clone, Copy, Debug)]
struct Held {
    slot: Slot,
    /// The cycle in which its first chunk is written.
    at: u64,
    /// The first cycle in which another value may start to be written.
    free_from: u64,
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    /// All registers of a cluster are taken by operands.
    #[error(
        "instruction {instruction} finds no register in cluster {cluster}: its register file holds too few vectors"
    )]
    Registers {
        /// Instruction.
        instruction: u32,
        /// Cluster.
        cluster: usize,
    },
    /// Phase 2 asked for more than fits, or for what is not there: a fault of the compiler.
    #[error("phase 2 asks for value {value} in a way that does not hold: {what}. This is a fault of the compiler")]
    Movement {
        /// Value.
        value: u32,
        /// What does not hold.
        what: &'static str,
    },
}

struct Scheduler<'a> {
    graph: &'a Graph,
    geometry: &'a Geometry,
    network: u64,
    memory_latency: u64,
    clusters: Vec<Cluster>,
    banks: Vec<Vec<Timeline>>,
    stacks: Vec<Timeline>,
    /// Free slots by the cycle from which they can be written; banks in turn.
    free: BinaryHeap<Reverse<(u64, u16, u16)>>,
    held: Vec<Option<Held>>,
    /// Clusters whose registers hold the value, one bit each.
    copies: Vec<u32>,
    remaining: Vec<u32>,
    issued: Vec<bool>,
    output: Vec<bool>,
    cursor: Vec<u32>,
    /// The cycle in which off-chip memory holds a computed value.
    stored: HashMap<u32, u64>,
    tasks: Tasks,
    /// Cluster of each task that has begun.
    home: HashMap<u32, usize>,
    /// Instructions given to each cluster.
    given: Vec<u64>,
    actions: Vec<Timed>,
}

/// Gives every step its cycle. The actions come out in the order of the steps, not of time.
///
/// # Errors
/// [`CycleError`] if the register files are too small.
pub fn schedule(
    graph: &Graph,
    movement: &Movement,
    machine: &F1,
    geometry: &Geometry,
) -> Result<Vec<Timed>, CycleError> {
    let mut scheduler = Scheduler::new(graph, machine, geometry);
    for &step in &movement.steps {
        match step {
            Step::Load(value) => scheduler.load(value)?,
            Step::Drop(value) => scheduler.release(value),
            Step::Spill(value) => {
                scheduler.store(value)?;
                scheduler.release(value);
            }
            Step::Store(value) => {
                scheduler.store(value)?;
                if scheduler.remaining[value as usize] == 0 {
                    scheduler.release(value);
                }
            }
            Step::Execute(instruction) => scheduler.execute(instruction)?,
        }
    }
    Ok(scheduler.actions)
}

impl<'a> Scheduler<'a> {
    fn new(graph: &'a Graph, machine: &F1, geometry: &'a Geometry) -> Self {
        let values = graph.values();
        let mut output = vec![false; values];
        graph.outputs().iter().for_each(|&vector| output[graph.number(vector)] = true);
        let slots =
            (0..geometry.slots as u16).flat_map(|index| (0..machine.banks as u16).map(move |bank| (index, bank)));
        Self {
            graph,
            geometry,
            network: machine.depth.network,
            memory_latency: machine.memory_latency,
            clusters: vec![Cluster::new(machine, geometry); machine.clusters],
            banks: vec![vec![Timeline::default(); machine.accesses_per_cycle]; machine.banks],
            stacks: vec![Timeline::default(); machine.stacks],
            free: slots.map(|(index, bank)| Reverse((0, index, bank))).collect(),
            held: vec![None; values],
            copies: vec![0; values],
            remaining: (0..values).map(|number| graph.users(number).len() as u32).collect(),
            issued: vec![false; graph.len()],
            output,
            cursor: vec![0; values],
            stored: HashMap::new(),
            tasks: Tasks::of(graph),
            home: HashMap::new(),
            given: vec![0; machine.clusters],
            actions: Vec::new(),
        }
    }

    fn push(&mut self, cycle: u64, action: Action) {
        self.actions.push(Timed { cycle, action });
    }

    fn take_slot(&mut self, value: u32) -> Result<(Slot, u64), CycleError> {
        let Reverse((from, index, bank)) =
            self.free.pop().ok_or(CycleError::Movement { value, what: "the scratchpad is full" })?;
        Ok((Slot { bank, index }, from))
    }

    /// The first cycle from `from` on in which a bank has an access free, and which.
    fn bank_port(&self, bank: u16, from: u64) -> (usize, u64) {
        let ports = self.banks[bank as usize].iter().enumerate();
        let starts = ports.map(|(port, timeline)| (port, timeline.earliest(from, self.geometry.occupancy)));
        starts.min_by_key(|&(_, at)| at).unwrap_or((0, from))
    }

    fn load(&mut self, value: u32) -> Result<(), CycleError> {
        let (slot, from) = self.take_slot(value)?;
        let duration = self.geometry.transfer;
        // A value that was spilled is read back after its store.
        let stored = self.stored.get(&value).copied().unwrap_or(0);
        let mut start = from.saturating_sub(self.memory_latency).max(stored);
        let (stack, start, port) = loop {
            let stacks = self.stacks.iter().enumerate();
            let Some((stack, at)) = stacks.map(|(s, t)| (s, t.earliest(start, duration))).min_by_key(|&(_, at)| at)
            else {
                return Err(CycleError::Movement { value, what: "the machine has no memory" });
            };
            let arrival = at + self.memory_latency;
            let (port, free) = self.bank_port(slot.bank, arrival);
            if free == arrival {
                break (stack, at, port);
            }
            start = free - self.memory_latency;
        };
        let arrival = start + self.memory_latency;
        self.stacks[stack].reserve(start, duration);
        self.banks[slot.bank as usize][port].reserve(arrival, self.geometry.occupancy);
        self.held[value as usize] = Some(Held { slot, at: arrival, free_from: arrival + 1 });
        self.push(start, Action::Load { stack: stack as u16, slot, value });
        Ok(())
    }

    /// Stores a value; it is written back first if only a register holds it.
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
        let (stack, start, port) = loop {
            let (port, free) = self.bank_port(held.slot.bank, from);
            let stacks = self.stacks.iter().enumerate();
            let Some((stack, at)) = stacks.map(|(s, t)| (s, t.earliest(free, duration))).min_by_key(|&(_, at)| at)
            else {
                return Err(CycleError::Movement { value, what: "the machine has no memory" });
            };
            if at == free {
                break (stack, at, port);
            }
            from = at;
        };
        self.stacks[stack].reserve(start, duration);
        self.banks[held.slot.bank as usize][port].reserve(start, self.geometry.occupancy);
        self.held[value as usize] = Some(Held { free_from: held.free_from.max(start + 1), ..held });
        self.stored.insert(value, start + duration.max(self.geometry.occupancy));
        self.push(start, Action::Store { stack: stack as u16, slot: held.slot, value });
        Ok(())
    }

    /// A register that holds a value: the one that has held it longest.
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
            self.free.push(Reverse((held.free_from, held.slot.index, held.slot.bank)));
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
        let (slot, slot_from) = self.take_slot(cell.value)?;
        let duration = self.geometry.occupancy;
        let mut at = (cell.at + 1).max(slot_from.saturating_sub(self.network));
        let port = loop {
            let free = self.clusters[cluster].to_scratchpad.earliest(at, duration);
            let arrival = free + self.network;
            let (port, bank_free) = self.bank_port(slot.bank, arrival);
            if free == at && bank_free == arrival && self.clusters[cluster].free_ports(at, duration) > 0 {
                break port;
            }
            at = free.max(bank_free - self.network).max(at + 1);
        };
        let arrival = at + self.network;
        self.clusters[cluster].to_scratchpad.reserve(at, duration);
        self.clusters[cluster].take_port(at, duration);
        self.banks[slot.bank as usize][port].reserve(arrival, duration);
        let cell = &mut self.clusters[cluster].cells[index];
        cell.free_from = cell.free_from.max(at + 1);
        self.held[cell.value as usize] = Some(Held { slot, at: arrival, free_from: arrival + 1 });
        self.push(at, Action::WriteBack { register, slot });
        Ok(())
    }

    /// The instruction that reads a value next; [`NONE`] if none does.
    fn next_use(&mut self, value: u32) -> u32 {
        let users = self.graph.users(value as usize);
        let cursor = &mut self.cursor[value as usize];
        while users.get(*cursor as usize).is_some_and(|&user| self.issued[user as usize]) {
            *cursor += 1;
        }
        users.get(*cursor as usize).copied().unwrap_or(NONE)
    }

    /// A register of a cluster for a value that arrives about `wanted`, and the cycle from which it can be written. Values in
    /// `pinned` stay.
    fn take_register(
        &mut self,
        cluster: usize,
        wanted: u64,
        pinned: &[u32],
        instruction: u32,
    ) -> Result<(usize, u64), CycleError> {
        let cells = &self.clusters[cluster].cells;
        let empty = (0..cells.len()).filter(|&index| cells[index].value == NONE);
        let soonest = empty.clone().min_by_key(|&index| cells[index].free_from);
        // Of those free in time the one freed last, so that the others stay for those that come earlier.
        let in_time =
            empty.filter(|&index| cells[index].free_from <= wanted).max_by_key(|&index| cells[index].free_from);
        if let Some(index) = in_time {
            return Ok((index, cells[index].free_from));
        }
        let patience = wanted + self.geometry.occupancy;
        if let Some(index) = soonest.filter(|&index| cells[index].free_from <= patience) {
            return Ok((index, cells[index].free_from));
        }
        let mut victims = Vec::new();
        for index in 0..self.clusters[cluster].cells.len() {
            let value = self.clusters[cluster].cells[index].value;
            if value == NONE || pinned.contains(&value) {
                continue;
            }
            let elsewhere = self.held[value as usize].is_some() || self.copies[value as usize].count_ones() > 1;
            victims.push((self.next_use(value), elsewhere, index));
        }
        let Some(&(_, elsewhere, index)) = victims.iter().max() else {
            // Only operands are here: wait for the first empty one, if any.
            let index = soonest.ok_or(CycleError::Registers { instruction, cluster })?;
            return Ok((index, self.clusters[cluster].cells[index].free_from));
        };
        if !elsewhere {
            self.write_back(Register { cluster: cluster as u16, index: index as u16 })?;
        }
        let cell = &mut self.clusters[cluster].cells[index];
        let value = std::mem::replace(&mut cell.value, NONE);
        self.copies[value as usize] &= !(1 << cluster);
        Ok((index, self.clusters[cluster].cells[index].free_from))
    }

    /// Brings an operand into a cluster's registers; where it is, and from which cycle it can be read.
    fn operand(
        &mut self,
        value: u32,
        cluster: usize,
        target: u64,
        pinned: &[u32],
        instruction: u32,
    ) -> Result<(usize, u64), CycleError> {
        if self.copies[value as usize] >> cluster & 1 == 1
            && let Some(index) = self.clusters[cluster].find(value)
        {
            return Ok((index, self.clusters[cluster].cells[index].at + 1));
        }
        let duration = self.geometry.occupancy;
        let source = match self.held[value as usize] {
            Some(held) => Ok(held),
            None => {
                Err(self.any_copy(value).ok_or(CycleError::Movement { value, what: "it is read, but not on chip" })?)
            }
        };
        let ready = match source {
            Ok(held) => held.at + 1,
            Err(register) => self.clusters[register.cluster as usize].cells[register.index as usize].at + 1,
        };
        let (index, from) = self.take_register(cluster, (ready + self.network).max(target), pinned, instruction)?;
        let mut at = ready.max(from.saturating_sub(self.network));
        let bank_port = loop {
            let port_in = match source {
                Ok(_) => &self.clusters[cluster].from_scratchpad,
                Err(_) => &self.clusters[cluster].from_clusters,
            };
            let arrival = port_in.earliest(at + self.network, duration);
            let mut next = arrival - self.network;
            let mut bank_port = 0;
            match source {
                Ok(held) => (bank_port, next) = self.bank_port(held.slot.bank, next),
                Err(register) => {
                    let cluster = &self.clusters[register.cluster as usize];
                    next = cluster.to_clusters.earliest(next, duration);
                    if cluster.free_ports(next, duration) == 0 {
                        next += 1;
                    }
                }
            }
            if next == at && self.clusters[cluster].free_ports(at + self.network, duration) > 0 {
                break bank_port;
            }
            at = next.max(at + u64::from(next == at));
        };
        let arrival = at + self.network;
        let to = Register { cluster: cluster as u16, index: index as u16 };
        match source {
            Ok(held) => {
                self.banks[held.slot.bank as usize][bank_port].reserve(at, duration);
                self.held[value as usize] = Some(Held { free_from: held.free_from.max(at + 1), ..held });
                self.clusters[cluster].from_scratchpad.reserve(arrival, duration);
                self.push(at, Action::Fetch { slot: held.slot, register: to });
            }
            Err(from) => {
                let sender = &mut self.clusters[from.cluster as usize];
                sender.to_clusters.reserve(at, duration);
                sender.take_port(at, duration);
                let cell = &mut sender.cells[from.index as usize];
                cell.free_from = cell.free_from.max(at + 1);
                self.clusters[cluster].from_clusters.reserve(arrival, duration);
                self.push(at, Action::Forward { from, to });
            }
        }
        self.clusters[cluster].take_port(arrival, duration);
        self.clusters[cluster].cells[index] = Cell { value, at: arrival, free_from: arrival + 1 };
        self.copies[value as usize] |= 1 << cluster;
        Ok((index, arrival + 1))
    }

    /// The first cycle in which every operand of an instruction can be read somewhere on chip.
    fn operands_exist(&self, instruction: u32) -> u64 {
        let first = |number: usize| {
            let held = self.held[number].map(|held| held.at);
            let copies = (0..self.clusters.len()).filter(|cluster| self.copies[number] >> cluster & 1 == 1);
            let cells = copies.filter_map(|cluster| {
                let cluster = &self.clusters[cluster];
                cluster.find(number as u32).map(|index| cluster.cells[index].at)
            });
            held.into_iter().chain(cells).min().map_or(0, |at| at + 1)
        };
        let operands = self.graph.operands(instruction as usize).iter();
        operands.map(|&vector| first(self.graph.number(vector))).max().unwrap_or(0)
    }

    /// The cluster of an instruction's task; a new task goes to the one that has been given least.
    fn place(&mut self, instruction: u32) -> usize {
        let (task, size) = self.tasks.of_instruction(instruction);
        if let Some(&home) = self.home.get(&task) {
            return home;
        }
        let home = (0..self.clusters.len()).min_by_key(|&cluster| self.given[cluster]).unwrap_or(0);
        self.given[home] += u64::from(size);
        self.home.insert(task, home);
        home
    }

    fn execute(&mut self, instruction: u32) -> Result<(), CycleError> {
        let graph = self.graph;
        let function = graph.function(instruction as usize);
        let cluster = self.place(instruction);
        let duration = self.geometry.occupancy;
        let latency = self.geometry.latency(function);
        let values: Vec<u32> =
            graph.operands(instruction as usize).iter().map(|&vector| graph.number(vector) as u32).collect();
        let mut operands = [0; 2];
        let exist = self.operands_exist(instruction);
        let target = self.clusters[cluster].unit(function.unit(), exist, duration).map_or(0, |(_, at)| at);
        let mut ready = 0;
        for (position, &value) in values.iter().enumerate() {
            let (index, at) = self.operand(value, cluster, target, &values, instruction)?;
            operands[position] = index;
            ready = ready.max(at);
        }
        if values.len() == 1 {
            operands[1] = operands[0];
        }
        let distinct = if operands[0] == operands[1] { 1 } else { 2 };
        let read = &operands[..distinct];
        // Operands whose last reader this is leave their registers to the result.
        self.issued[instruction as usize] = true;
        let mut dying = Vec::new();
        for &value in &values[..distinct.min(values.len())] {
            self.remaining[value as usize] -= 1;
            if self.remaining[value as usize] == 0 {
                dying.push(value);
            }
        }
        let (result, from) = match dying.first() {
            Some(&value) => {
                let index = self.clusters[cluster].find(value).unwrap_or(operands[0]);
                // The result follows the read by the unit's latency, which is more than nothing.
                (index, self.clusters[cluster].cells[index].free_from)
            }
            None => self.take_register(cluster, ready + latency, &values, instruction)?,
        };
        let earliest = ready.max(from.saturating_sub(latency));
        let Some((unit, start)) = self.clusters[cluster].issue(function.unit(), earliest, distinct, latency, duration)
        else {
            return Err(CycleError::Movement { value: instruction, what: "the machine has no unit for it" });
        };
        let target = &mut self.clusters[cluster];
        target.units[function.unit() as usize][unit].reserve(start, duration);
        for &index in read {
            target.take_port(start, duration);
            target.cells[index].free_from = target.cells[index].free_from.max(start + 1);
        }
        target.take_port(start + latency, duration);
        for value in dying {
            self.release(value);
        }
        self.clusters[cluster].cells[result] =
            Cell { value: instruction, at: start + latency, free_from: start + latency + 1 };
        self.copies[instruction as usize] = 1 << cluster;
        self.push(
            start,
            Action::Execute {
                instruction,
                cluster: cluster as u16,
                unit: unit as u8,
                operands: [operands[0] as u16, operands[1] as u16],
                result: result as u16,
            },
        );
        if self.remaining[instruction as usize] == 0 && !self.output[instruction as usize] {
            self.release(instruction);
        }
        Ok(())
    }
}
