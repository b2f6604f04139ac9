//! An independent forward simulation of the compiled streams (section 7: the simulator "acts more as a checker").
//!
//! It knows the machine and the graph, and nothing of the compiler: it moves names of values through memories in the order
//! of time and finds every place that does not hold what is read, every value overwritten while it is still being read, every
//! unit, port or channel that is used twice, every instruction that starts before it has been fetched, and every result that never
//! reaches off-chip memory.

use super::action::{Action, Destination, Register, Slot, Source, Timed};
use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry};
use super::stream::streams;
use std::collections::HashMap;
use std::fmt;

/// Something that can be used once at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Unit of a kind in a cluster.
    Unit(UnitKind, u16, u8),
    /// Register file of a cluster, in the bank that a stream starts in.
    RegisterPort(u16, u16),
    /// Accesses of a scratchpad bank.
    Bank(u16),
    /// Port of a scratchpad bank at the crossbar that a stream passes: one vector leaves for the clusters, and one comes from them.
    BankPort(Way, u16),
    /// Port of a cluster at a crossbar.
    Crossbar(Way, u16),
    /// Channel of a memory stack.
    Stack(u16),
}

/// A cluster's four ports at the crossbars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// In, from the scratchpad.
    FromScratchpad,
    /// Out, to the scratchpad.
    ToScratchpad,
    /// In, from another cluster.
    FromClusters,
    /// Out, to another cluster.
    ToClusters,
}

/// A place of a vector on chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A register.
    Register(Register),
    /// A scratchpad slot.
    Slot(Slot),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(kind, cluster, unit) => write!(f, "{} unit {unit} of cluster {cluster}", kind.name()),
            Self::RegisterPort(cluster, bank) => write!(f, "bank {bank} of cluster {cluster}'s register file"),
            Self::Bank(bank) => write!(f, "scratchpad bank {bank}"),
            Self::BankPort(way, bank) => write!(f, "scratchpad bank {bank}'s crossbar port {way:?}"),
            Self::Crossbar(way, cluster) => write!(f, "cluster {cluster}'s crossbar port {way:?}"),
            Self::Stack(stack) => write!(f, "memory stack {stack}"),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(Register { cluster, index }) => write!(f, "register {index} of cluster {cluster}"),
            Self::Slot(Slot { bank, index }) => write!(f, "slot {index} of bank {bank}"),
        }
    }
}

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Used by more at a time than it serves.
    #[error("cycle {cycle}: {part} is in use")]
    Hazard {
        /// Cycle.
        cycle: u64,
        /// What is used twice.
        part: Part,
    },
    /// A place does not hold what is read from it, or not yet.
    #[error("cycle {cycle}: {location} is read for value {wanted} and holds {}", found.map_or("nothing yet".to_owned(), |value| format!("value {value}")))]
    Missing {
        /// Cycle.
        cycle: u64,
        /// Place.
        location: Location,
        /// Value that is meant.
        wanted: u32,
        /// Value that is there.
        found: Option<u32>,
    },
    /// A place is overwritten in the cycle in which it is last read, or before.
    #[error("cycle {cycle}: {location} is overwritten while it is read")]
    Clobber {
        /// Cycle.
        cycle: u64,
        /// Place.
        location: Location,
    },
    /// A place, unit or value that does not exist.
    #[error("cycle {cycle}: there is no {what}")]
    Nothing {
        /// Cycle.
        cycle: u64,
        /// What.
        what: &'static str,
    },
    /// An instruction starts, and its stream has not come so far.
    #[error(
        "cycle {cycle}: {bytes} bytes of instructions must have come from memory, whose idle cycles have brought {brought}"
    )]
    NotFetched {
        /// Cycle.
        cycle: u64,
        /// Bytes of all instructions that start by then.
        bytes: u64,
        /// Bytes that the stacks can have brought.
        brought: u64,
    },
    /// A value is loaded that off-chip memory does not hold.
    #[error("cycle {cycle}: value {value} is loaded, and off-chip memory does not hold it yet")]
    NotStored {
        /// Cycle.
        cycle: u64,
        /// Value.
        value: u32,
    },
    /// An instruction is executed another number of times than once.
    #[error("instruction {instruction} is executed {times} times")]
    Times {
        /// Instruction.
        instruction: u32,
        /// How often.
        times: u32,
    },
    /// A result of the program is not in off-chip memory at the end.
    #[error("value {value} is a result of the program and never stored")]
    Lost {
        /// Value.
        value: u32,
    },
}

/// What a schedule that holds was found to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Cycles until the last chunk of the last action.
    pub cycles: u64,
    /// Cycles in which units of each kind are occupied, summed over the units.
    pub busy: [u64; 4],
    /// Vectors through the crossbars: fetched, written back, forwarded.
    pub transfers: [u64; 3],
    /// Vectors loaded and stored.
    pub off_chip: [u64; 2],
    /// Vectors that register files gave and took.
    pub register_streams: u64,
    /// Vectors that scratchpad banks gave and took.
    pub bank_streams: u64,
}

/// A vector's place and what happens to it.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: Option<u32>,
    /// Cycle in which its first chunk is written.
    at: u64,
    /// First cycle in which it may be overwritten.
    free_from: u64,
}

struct Simulation<'a> {
    graph: &'a Graph,
    machine: &'a F1,
    geometry: &'a Geometry,
    registers: Vec<Vec<Cell>>,
    slots: Vec<Vec<Cell>>,
    /// End of the last use of units, crossbar ports and stacks.
    exclusive: HashMap<(u8, u16, u8), u64>,
    /// Ends of the uses of register ports and banks.
    shared: HashMap<(bool, u16, u16), Vec<u64>>,
    /// The last read of a place for a crossbar.
    given: HashMap<Location, u64>,
    /// From when off-chip memory holds a computed value.
    stored: HashMap<u32, u64>,
    executed: Vec<u32>,
    checked: Checked,
}

/// What happens to an action at a moment; in the same cycle in this order, so that reads come before writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// Operands leave the scratchpad or another cluster on their way to a unit.
    Depart,
    /// It takes its first chunk.
    Start,
    /// A unit's result enters the crossbar to the scratchpad.
    Leave,
    /// Its first chunk is written.
    Write,
}

/// Every action's moments, as (cycle, moment, its index), in the order of time.
pub(super) fn in_time_order(
    graph: &Graph,
    actions: &[Timed],
    machine: &F1,
    geometry: &Geometry,
) -> Result<Vec<(u64, Moment, usize)>, Violation> {
    let network = machine.depth.network;
    let mut order = Vec::with_capacity(2 * actions.len());
    for (index, timed) in actions.iter().enumerate() {
        let start = timed.cycle;
        let end = match timed.action {
            Action::Load { .. } => start + geometry.load_latency,
            Action::Store { .. } => start + geometry.transfer.max(geometry.occupancy),
            Action::Fetch { .. } | Action::WriteBack { .. } | Action::Forward { .. } => start + network,
            Action::Execute { instruction, operands, result, .. } => {
                if instruction as usize >= graph.len() {
                    return Err(Violation::Nothing { cycle: start, what: "such instruction" });
                }
                if operands.iter().any(|operand| !matches!(operand, Source::Register(_))) {
                    let depart = start.checked_sub(network);
                    let what = "time for an operand to pass the crossbar";
                    let depart = depart.ok_or(Violation::Nothing { cycle: start, what })?;
                    order.push((depart, Moment::Depart, index));
                }
                let end = start + geometry.latency(graph.function(instruction as usize));
                match result {
                    Destination::Register(_) => end,
                    Destination::Scratchpad(_) => {
                        order.push((end, Moment::Leave, index));
                        end + network
                    }
                }
            }
        };
        order.push((start, Moment::Start, index));
        order.push((end, Moment::Write, index));
    }
    order.sort_unstable();
    Ok(order)
}

/// Simulates `actions` forward.
///
/// # Errors
/// The first [`Violation`] in time.
pub fn check(graph: &Graph, actions: &[Timed], machine: &F1, geometry: &Geometry) -> Result<Checked, Violation> {
    let mut simulation = Simulation {
        graph,
        machine,
        geometry,
        registers: vec![vec![Cell::default(); geometry.registers]; machine.clusters],
        slots: vec![vec![Cell::default(); geometry.slots]; machine.banks],
        exclusive: HashMap::new(),
        shared: HashMap::new(),
        given: HashMap::new(),
        stored: HashMap::new(),
        executed: vec![0; graph.len()],
        checked: Checked::default(),
    };
    let order = in_time_order(graph, actions, machine, geometry)?;
    // What an action has read, until it writes.
    let mut carried: HashMap<usize, u32> = HashMap::new();
    // What has left for a unit, until the unit takes it.
    let mut under_way: HashMap<usize, [Option<u32>; 2]> = HashMap::new();
    for (cycle, moment, index) in order {
        let action = actions[index].action;
        match moment {
            Moment::Depart => drop(under_way.insert(index, simulation.depart(cycle, action)?)),
            Moment::Start => {
                let streamed = under_way.remove(&index).unwrap_or_default();
                carried.insert(index, simulation.read(cycle, action, streamed)?);
            }
            Moment::Leave => simulation.leave(cycle, action)?,
            Moment::Write => {
                if let Some(value) = carried.remove(&index) {
                    simulation.write(cycle, action, value)?;
                }
            }
        }
    }
    fetched(graph, actions, machine, geometry)?;
    simulation.finish()
}

/// Holds that the stacks, in the cycles in which they move no vector, bring every instruction before it starts, in the order of the starts.
fn fetched(graph: &Graph, actions: &[Timed], machine: &F1, geometry: &Geometry) -> Result<(), Violation> {
    let mut starts: Vec<(u64, u64)> = Vec::new();
    for stream in streams(graph, actions, machine, geometry) {
        let mut cycle = stream.begin;
        for instruction in &stream.instructions {
            starts.push((cycle, instruction.bytes()));
            cycle += instruction.wait;
        }
    }
    starts.sort_unstable();
    let moves = actions.iter().filter(|timed| matches!(timed.action, Action::Load { .. } | Action::Store { .. }));
    let mut moves: Vec<u64> = moves.map(|timed| timed.cycle).collect();
    moves.sort_unstable();
    // Stacks at work from the cycle of the last change on, and the cycles in which they were idle until then.
    let (mut working, mut since, mut idle, mut bytes) = (0, 0, 0, 0);
    let (mut begun, mut ended) = (0, 0);
    for same in starts.chunk_by(|a, b| a.0 == b.0) {
        let cycle = same[0].0;
        bytes += same.iter().map(|&(_, bytes)| bytes).sum::<u64>();
        let until = cycle.saturating_sub(machine.memory_latency);
        loop {
            let begins = moves.get(begun).copied().unwrap_or(u64::MAX);
            let ends = moves.get(ended).map_or(u64::MAX, |begin| begin + geometry.transfer);
            let now = begins.min(ends).min(until);
            idle += (now - since) * (machine.stacks as u64 - working);
            since = now;
            match now {
                _ if now == until => break,
                _ if now == ends => (working, ended) = (working - 1, ended + 1),
                _ => (working, begun) = (working + 1, begun + 1),
            }
        }
        let brought = (idle as f64 * machine.stack_bytes) as u64;
        if bytes > brought {
            return Err(Violation::NotFetched { cycle, bytes, brought });
        }
    }
    Ok(())
}

impl Simulation<'_> {
    fn occupy(&mut self, cycle: u64, part: Part, duration: u64) -> Result<(), Violation> {
        self.checked.cycles = self.checked.cycles.max(cycle + duration);
        let hazard = Violation::Hazard { cycle, part };
        let key = match part {
            Part::RegisterPort(cluster, bank) => {
                self.checked.register_streams += 1;
                return self.occupy_shared(cycle, (false, cluster, bank), hazard, duration);
            }
            Part::Bank(bank) => {
                self.checked.bank_streams += 1;
                return self.occupy_shared(cycle, (true, bank, 0), hazard, duration);
            }
            Part::Unit(kind, cluster, unit) => (kind as u8, cluster, unit),
            Part::Crossbar(way, cluster) => (10, cluster, way as u8),
            Part::Stack(stack) => (11, stack, 0),
            Part::BankPort(way, bank) => (12, bank, way as u8),
        };
        let end = self.exclusive.entry(key).or_default();
        if *end > cycle {
            return Err(hazard);
        }
        *end = cycle + duration;
        Ok(())
    }

    fn occupy_shared(
        &mut self,
        cycle: u64,
        key: (bool, u16, u16),
        hazard: Violation,
        duration: u64,
    ) -> Result<(), Violation> {
        let ends = self.shared.entry(key).or_default();
        ends.retain(|&end| end > cycle);
        if ends.len() >= self.machine.accesses_per_cycle {
            return Err(hazard);
        }
        ends.push(cycle + duration);
        Ok(())
    }

    fn cell(&mut self, cycle: u64, location: Location) -> Result<&mut Cell, Violation> {
        let found = match location {
            Location::Register(Register { cluster, index }) => {
                self.registers.get_mut(cluster as usize).and_then(|cells| cells.get_mut(index as usize))
            }
            Location::Slot(Slot { bank, index }) => {
                self.slots.get_mut(bank as usize).and_then(|cells| cells.get_mut(index as usize))
            }
        };
        found.ok_or(Violation::Nothing { cycle, what: "such place" })
    }

    /// Reads a place, for a certain value if one is meant.
    fn take(&mut self, cycle: u64, location: Location, wanted: Option<u32>) -> Result<u32, Violation> {
        let cell = self.cell(cycle, location)?;
        let there = cell.value.filter(|_| cell.at < cycle);
        let found = there.filter(|&value| wanted.is_none_or(|wanted| wanted == value));
        let Some(value) = found else {
            return Err(Violation::Missing { cycle, location, wanted: wanted.unwrap_or(u32::MAX), found: there });
        };
        cell.free_from = cell.free_from.max(cycle + 1);
        Ok(value)
    }

    fn put(&mut self, cycle: u64, location: Location, value: u32) -> Result<(), Violation> {
        let cell = self.cell(cycle, location)?;
        if cell.free_from > cycle {
            return Err(Violation::Clobber { cycle, location });
        }
        *cell = Cell { value: Some(value), at: cycle, free_from: cycle + 1 };
        Ok(())
    }

    /// Reads a place for a cluster. A crossbar can connect several clusters to what is read in one cycle from one place.
    fn give(&mut self, cycle: u64, location: Location) -> Result<u32, Violation> {
        let vector = self.geometry.occupancy;
        let joins = self.given.insert(location, cycle) == Some(cycle) && self.machine.multicast;
        if !joins {
            match location {
                Location::Slot(slot) => {
                    self.occupy(cycle, Part::BankPort(Way::FromScratchpad, slot.bank), vector)?;
                    self.occupy(cycle, Part::Bank(slot.bank), vector)?;
                }
                Location::Register(from) => {
                    self.occupy(cycle, Part::Crossbar(Way::ToClusters, from.cluster), vector)?;
                    self.occupy(cycle, self.register_port(from.cluster, cycle), vector)?;
                }
            }
        }
        self.take(cycle, location, None)
    }

    fn register_port(&self, cluster: u16, cycle: u64) -> Part {
        Part::RegisterPort(cluster, (cycle % self.machine.register_banks as u64) as u16)
    }

    /// Operands of a unit leave where they are, the same one once.
    fn depart(&mut self, cycle: u64, action: Action) -> Result<[Option<u32>; 2], Violation> {
        let mut values = [None; 2];
        let Action::Execute { operands, .. } = action else { return Ok(values) };
        for position in 0..2 {
            if position == 1 && operands[1] == operands[0] {
                values[1] = values[0];
                continue;
            }
            values[position] = match operands[position] {
                Source::Register(_) => None,
                Source::Scratchpad(slot) => Some(self.give(cycle, Location::Slot(slot))?),
                Source::Cluster(from) => Some(self.give(cycle, Location::Register(from))?),
            };
        }
        Ok(values)
    }

    /// A unit's result enters the crossbar to the scratchpad.
    fn leave(&mut self, cycle: u64, action: Action) -> Result<(), Violation> {
        let Action::Execute { cluster, .. } = action else { return Ok(()) };
        self.occupy(cycle, Part::Crossbar(Way::ToScratchpad, cluster), self.geometry.occupancy)
    }

    fn read(&mut self, cycle: u64, action: Action, streamed: [Option<u32>; 2]) -> Result<u32, Violation> {
        let (vector, transfer) = (self.geometry.occupancy, self.geometry.transfer);
        match action {
            Action::Load { stack, value, .. } => {
                if stack as usize >= self.machine.stacks || value as usize >= self.graph.values() {
                    return Err(Violation::Nothing { cycle, what: "such stack or value" });
                }
                let leaf = value as usize >= self.graph.len();
                if !leaf && self.stored.get(&value).is_none_or(|&from| from > cycle) {
                    return Err(Violation::NotStored { cycle, value });
                }
                self.occupy(cycle, Part::Stack(stack), transfer)?;
                Ok(value)
            }
            Action::Store { stack, slot, value } => {
                if stack as usize >= self.machine.stacks {
                    return Err(Violation::Nothing { cycle, what: "such stack" });
                }
                self.occupy(cycle, Part::Stack(stack), transfer)?;
                self.occupy(cycle, Part::Bank(slot.bank), vector)?;
                self.take(cycle, Location::Slot(slot), Some(value))
            }
            Action::Fetch { slot, .. } => self.give(cycle, Location::Slot(slot)),
            Action::WriteBack { register, .. } => {
                self.occupy(cycle, Part::Crossbar(Way::ToScratchpad, register.cluster), vector)?;
                self.occupy(cycle, self.register_port(register.cluster, cycle), vector)?;
                self.take(cycle, Location::Register(register), None)
            }
            Action::Forward { from, .. } => self.give(cycle, Location::Register(from)),
            Action::Execute { instruction, cluster, unit, operands, .. } => {
                let function = self.graph.function(instruction as usize);
                let kind = function.unit();
                if unit as usize >= self.machine.units[kind as usize] || usize::from(cluster) >= self.machine.clusters {
                    return Err(Violation::Nothing { cycle, what: "such unit" });
                }
                self.executed[instruction as usize] += 1;
                let busy = self.geometry.occupancy_of(kind);
                self.occupy(cycle, Part::Unit(kind, cluster, unit), busy)?;
                self.checked.busy[kind as usize] += busy;
                for (position, &vector_read) in self.graph.operands(instruction as usize).iter().enumerate() {
                    let value = self.graph.number(vector_read) as u32;
                    let again = position == 1 && operands[0] == operands[1];
                    let way = match operands[position] {
                        Source::Register(index) => {
                            if !again {
                                self.occupy(cycle, self.register_port(cluster, cycle), vector)?;
                            }
                            self.take(cycle, Location::Register(Register { cluster, index }), Some(value))?;
                            continue;
                        }
                        Source::Scratchpad(slot) => (Way::FromScratchpad, Location::Slot(slot), 0),
                        Source::Cluster(from) => (Way::FromClusters, Location::Register(from), 2),
                    };
                    let (way, location, crossbar) = way;
                    if streamed[position] != Some(value) {
                        let found = streamed[position];
                        return Err(Violation::Missing { cycle, location, wanted: value, found });
                    }
                    if !again {
                        self.checked.transfers[crossbar] += 1;
                        self.occupy(cycle, Part::Crossbar(way, cluster), vector)?;
                    }
                }
                Ok(instruction)
            }
        }
    }

    fn write(&mut self, cycle: u64, action: Action, value: u32) -> Result<(), Violation> {
        let vector = self.geometry.occupancy;
        match action {
            Action::Load { slot, .. } => {
                self.checked.off_chip[0] += 1;
                self.occupy(cycle, Part::Bank(slot.bank), vector)?;
                self.put(cycle, Location::Slot(slot), value)
            }
            Action::Store { .. } => {
                self.checked.off_chip[1] += 1;
                self.stored.insert(value, cycle);
                Ok(())
            }
            Action::Fetch { register, .. } => {
                self.checked.transfers[0] += 1;
                self.occupy(cycle, Part::Crossbar(Way::FromScratchpad, register.cluster), vector)?;
                self.occupy(cycle, self.register_port(register.cluster, cycle), vector)?;
                self.put(cycle, Location::Register(register), value)
            }
            Action::WriteBack { slot, .. } => {
                self.checked.transfers[1] += 1;
                self.occupy(cycle, Part::BankPort(Way::ToScratchpad, slot.bank), vector)?;
                self.occupy(cycle, Part::Bank(slot.bank), vector)?;
                self.put(cycle, Location::Slot(slot), value)
            }
            Action::Forward { to, .. } => {
                self.checked.transfers[2] += 1;
                self.occupy(cycle, Part::Crossbar(Way::FromClusters, to.cluster), vector)?;
                self.occupy(cycle, self.register_port(to.cluster, cycle), vector)?;
                self.put(cycle, Location::Register(to), value)
            }
            Action::Execute { cluster, result: Destination::Register(index), .. } => {
                self.occupy(cycle, self.register_port(cluster, cycle), vector)?;
                self.put(cycle, Location::Register(Register { cluster, index }), value)
            }
            Action::Execute { result: Destination::Scratchpad(slot), .. } => {
                self.checked.transfers[1] += 1;
                self.occupy(cycle, Part::BankPort(Way::ToScratchpad, slot.bank), vector)?;
                self.occupy(cycle, Part::Bank(slot.bank), vector)?;
                self.put(cycle, Location::Slot(slot), value)
            }
        }
    }

    fn finish(self) -> Result<Checked, Violation> {
        if let Some(instruction) = self.executed.iter().position(|&times| times != 1) {
            return Err(Violation::Times { instruction: instruction as u32, times: self.executed[instruction] });
        }
        for &output in self.graph.outputs() {
            let value = self.graph.number(output) as u32;
            if output.as_leaf().is_none() && !self.stored.contains_key(&value) {
                return Err(Violation::Lost { value });
            }
        }
        Ok(self.checked)
    }
}
