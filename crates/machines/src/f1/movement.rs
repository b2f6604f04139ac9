//! Phase 2: decides when vectors are loaded and which ones are evicted (section 4.3).
//!
//! The machine is simplified to a scratchpad with all units attached; a vector occupies a unit for its
//! duration. Instructions are scheduled one at a time, by priority among those whose operands are on chip. A
//! load has the priority of its most urgent user, and is issued as soon as bandwidth and space allow. A load
//! long before its use must not occupy space that results will need. Dead vectors are evicted first, then the
//! vector with the furthest next use, if this is later than the loaded vector's. A vector without a copy off
//! chip is stored first.

use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry};
use super::order::Pace;
use polyfabric_kernels::cancel;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Look-ahead, in instructions, within which a load may evict another value, in addition to the number of
/// results that the register files can store. Loads come in bursts, and a burst that starts late takes longer
/// than the instructions meanwhile. With a longer look-ahead, loads would evict values that are used again, or
/// results, which cost two transfers.
const NEAR: u32 = 128;

/// Number of instructions per span of a [`Profile`].
const SPAN: usize = 256;

/// One step of the schedule, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Loads a value.
    Load(u32),
    /// Evicts a value that has a copy off chip.
    Drop(u32),
    /// Stores a value without a copy off chip, then evicts it.
    Spill(u32),
    Execute(u32),
    /// Stores a result of the program.
    Store(u32),
}

/// The instructions in order with all loads, spills and stores.
#[derive(Clone, Debug, Default)]
pub struct Movement {
    /// In order.
    pub steps: Vec<Step>,
    /// Maximum number of values on chip.
    pub peak: usize,
    /// Length of the schedule on the simplified machine, in cycles.
    pub cycles: u64,
}

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Undefined,
    /// Off chip only.
    Away,
    /// On chip from this cycle on.
    Present(u64),
    Dead,
}

/// Next use of a value without remaining readers.
const NEVER: u32 = u32::MAX;

struct Scheduler<'a> {
    graph: &'a Graph,
    capacity: usize,
    transfer: u64,
    occupancy: [u64; 4],
    load_latency: u64,
    state: Vec<State>,
    /// Whether the value has a copy off chip.
    saved: Vec<bool>,
    output: Vec<bool>,
    issued: Vec<bool>,
    /// First user not known to be issued, as an index into the value's users.
    cursor: Vec<u32>,
    /// Number of users not issued yet.
    remaining: Vec<u32>,
    missing: Vec<u8>,
    /// Values on chip by next use, furthest first; entries may be outdated.
    victims: BinaryHeap<(u32, u32)>,
    /// Values off chip by next use, soonest first.
    loads: BinaryHeap<Reverse<(u32, u32)>>,
    /// Instructions whose operands are on chip from a cycle on.
    arriving: BinaryHeap<Reverse<(u64, u32)>>,
    ready: [BinaryHeap<Reverse<u32>>; 4],
    /// Instructions with a free unit but without space for the result.
    waiting: Vec<u32>,
    units: [BinaryHeap<Reverse<u64>>; 4],
    channel_free: u64,
    /// Number of results in the register files.
    results_held: u32,
    /// Maximum distance of instructions ahead of the most urgent open one: the number of results that fit the register
    /// files, or half of it. Without this limit, idle units run ahead through the whole program, and phase 3 has no
    /// space for their results.
    window: u32,
    present: usize,
    first_open: u32,
    results: Profile,
    movement: Movement,
}

/// Number of live results if instructions are executed in order.
struct Profile {
    /// After each instruction.
    behind: Vec<u32>,
    /// The maximum over 1, 2, 4, ... spans of [`SPAN`] instructions, from each span on.
    most: Vec<Vec<u32>>,
}

impl Profile {
    fn new(graph: &Graph) -> Self {
        let mut ends = vec![0_u32; graph.len()];
        let mut waiting = 0;
        let mut behind = Vec::with_capacity(graph.len());
        for index in 0..graph.len() {
            cancel::check();
            if let Some(&last) = graph.users(index).last() {
                ends[last as usize] += 1;
                waiting += 1;
            }
            waiting -= ends[index];
            behind.push(waiting);
        }
        let mut most: Vec<Vec<u32>> =
            vec![behind.chunks(SPAN).map(|span| span.iter().copied().max().unwrap_or(0)).collect()];
        let mut spans = 1;
        while let Some(shorter) = most.last().filter(|shorter| shorter.len() > spans) {
            let longer = shorter.iter().zip(&shorter[spans..]).map(|(a, b)| *a.max(b)).collect();
            most.push(longer);
            spans *= 2;
        }
        Self { behind, most }
    }

    /// The increase in live results between two instructions, rounded to whole spans, relative to the first of
    /// them.
    fn growth(&self, from: u32, to: u32) -> u32 {
        let (first, last) = (from as usize / SPAN, to as usize / SPAN);
        let level = (last - first + 1).ilog2() as usize;
        let spans = &self.most[level];
        let before = from.checked_sub(1).map_or(0, |before| self.behind[before as usize]);
        spans[first].max(spans[last + 1 - (1 << level)]).saturating_sub(before)
    }
}

/// Schedules all data movement of `graph` on `machine`.
pub fn schedule(graph: &Graph, machine: &F1, geometry: &Geometry, pace: Pace) -> Movement {
    let mut scheduler = Scheduler::new(graph, machine, geometry);
    if pace == Pace::Close {
        scheduler.window /= 2;
    }
    scheduler.run();
    scheduler.movement
}

impl<'a> Scheduler<'a> {
    fn new(graph: &'a Graph, machine: &F1, geometry: &Geometry) -> Self {
        let values = graph.values();
        let mut output = vec![false; values];
        graph.outputs().iter().for_each(|&vector| output[graph.number(vector)] = true);
        let mut missing = vec![0; graph.len()];
        for (index, missing) in missing.iter_mut().enumerate() {
            *missing = graph.distinct_operands(index).len() as u8;
        }
        let mut scheduler = Self {
            graph,
            capacity: geometry.frames * machine.banks,
            transfer: geometry.transfer.div_ceil(machine.stacks as u64),
            occupancy: UnitKind::ALL.map(|kind| geometry.occupancy_of(kind)),
            load_latency: geometry.load_latency,
            state: vec![State::Undefined; values],
            saved: vec![false; values],
            output,
            issued: vec![false; graph.len()],
            cursor: vec![0; values],
            remaining: (0..values).map(|number| graph.users(number).len() as u32).collect(),
            missing,
            victims: BinaryHeap::new(),
            loads: BinaryHeap::new(),
            arriving: BinaryHeap::new(),
            ready: Default::default(),
            waiting: Vec::new(),
            units: UnitKind::ALL.map(|kind| (0..machine.unit_count(kind)).map(|_| Reverse(0)).collect()),
            channel_free: 0,
            results_held: (geometry.registers * machine.clusters) as u32,
            window: (geometry.registers * machine.clusters) as u32,
            present: 0,
            first_open: 0,
            results: Profile::new(graph),
            movement: Movement::default(),
        };
        for number in graph.len()..values {
            scheduler.state[number] = State::Away;
            scheduler.saved[number] = true;
            if let Some(&user) = graph.users(number).first() {
                scheduler.loads.push(Reverse((user, number as u32)));
            }
        }
        scheduler
    }

    fn run(&mut self) {
        let mut now = 0;
        let stage = cancel::stage("scheduling data movement", self.graph.len());
        while (self.first_open as usize) < self.graph.len() {
            stage.reach(self.first_open as usize);
            let mut progress = false;
            while self.channel_free <= now && self.load(now) {
                progress = true;
            }
            while let Some(&Reverse((at, instruction))) = self.arriving.peek() {
                if at > now {
                    break;
                }
                self.arriving.pop();
                self.ready[self.graph.function(instruction as usize).unit() as usize].push(Reverse(instruction));
            }
            for kind in 0..4 {
                while self.units[kind].peek().is_some_and(|&Reverse(free)| free <= now) {
                    let Some(&Reverse(instruction)) = self.ready[kind].peek() else { break };
                    if instruction > self.first_open.saturating_add(self.window) {
                        break;
                    }
                    self.ready[kind].pop();
                    if self.execute(instruction, now) {
                        progress = true;
                    } else {
                        self.waiting.push(instruction);
                    }
                }
            }
            if progress {
                // There may now be space for waiting instructions.
                for instruction in std::mem::take(&mut self.waiting) {
                    self.ready[self.graph.function(instruction as usize).unit() as usize].push(Reverse(instruction));
                }
                continue;
            }
            now = self.next_event(now);
        }
        self.movement.cycles = now;
    }

    /// The next cycle in which something changes.
    fn next_event(&self, now: u64) -> u64 {
        let channel = (self.channel_free > now && !self.loads.is_empty()).then_some(self.channel_free);
        let arrival = self.arriving.peek().map(|&Reverse((at, _))| at);
        let unit = self
            .units
            .iter()
            .zip(&self.ready)
            .filter(|(_, ready)| !ready.is_empty())
            .filter_map(|(units, _)| units.peek().map(|&Reverse(free)| free));
        channel.into_iter().chain(arrival).chain(unit).filter(|&at| at > now).min().unwrap_or(now + 1)
    }

    /// The next instruction that reads a value, or [`NEVER`].
    fn next_use(&mut self, number: u32) -> u32 {
        let users = self.graph.users(number as usize);
        let cursor = &mut self.cursor[number as usize];
        while users.get(*cursor as usize).is_some_and(|&user| self.issued[user as usize]) {
            *cursor += 1;
        }
        users.get(*cursor as usize).copied().unwrap_or(NEVER)
    }

    /// Makes space for a value next used by `user`, by evicting values used later. `urgent`: the most urgent
    /// instruction needs the space.
    fn make_room(&mut self, user: u32, urgent: bool) -> bool {
        while self.present >= self.capacity {
            let Some(&(claimed, number)) = self.victims.peek() else { return false };
            if !matches!(self.state[number as usize], State::Present(_)) {
                self.victims.pop();
                continue;
            }
            let next = self.next_use(number);
            if next != claimed {
                // A newer entry is in the heap.
                self.victims.pop();
                continue;
            }
            if next <= user && !(urgent && next > self.first_open) {
                return false;
            }
            self.victims.pop();
            let saved = std::mem::replace(&mut self.saved[number as usize], true);
            self.movement.steps.push(if saved { Step::Drop(number) } else { Step::Spill(number) });
            self.remove(number, State::Away);
            self.loads.push(Reverse((next, number)));
            // Its users lose an operand.
            for &user in self.graph.users(number as usize) {
                if !self.issued[user as usize] {
                    self.missing[user as usize] += 1;
                }
            }
        }
        true
    }

    fn remove(&mut self, number: u32, state: State) {
        self.state[number as usize] = state;
        self.present -= 1;
    }

    fn insert(&mut self, number: u32, at: u64) {
        self.state[number as usize] = State::Present(at);
        self.present += 1;
        self.movement.peak = self.movement.peak.max(self.present);
        let next = self.next_use(number);
        self.victims.push((next, number));
        for &user in self.graph.users(number as usize) {
            if self.issued[user as usize] {
                continue;
            }
            self.missing[user as usize] -= 1;
            if self.missing[user as usize] == 0 {
                let ready = self.operands_ready(user);
                self.arriving.push(Reverse((ready, user)));
            }
        }
    }

    /// The cycle from which all operands of an instruction are on chip; `u64::MAX` if one is not.
    fn operands_ready(&self, instruction: u32) -> u64 {
        let arrival = |&vector: &_| match self.state[self.graph.number(vector)] {
            State::Present(at) => at,
            _ => u64::MAX,
        };
        self.graph.operands(instruction as usize).iter().map(arrival).max().unwrap_or(0)
    }

    /// Issues the most urgent load, if there is space for it.
    fn load(&mut self, now: u64) -> bool {
        let Some(&Reverse((user, number))) = self.loads.peek() else { return false };
        let near = user <= self.first_open.saturating_add(NEAR * self.results_held);
        let room = match near {
            true => self.make_room(user, user == self.first_open),
            false => self.present + (self.results.growth(self.first_open, user) as usize) < self.capacity,
        };
        if !room {
            return false;
        }
        self.loads.pop();
        self.movement.steps.push(Step::Load(number));
        self.channel_free = now + self.transfer;
        self.insert(number, now + self.load_latency);
        true
    }

    /// Executes an instruction at `now`; returns false if there is no space for its result.
    fn execute(&mut self, instruction: u32, now: u64) -> bool {
        if self.issued[instruction as usize] || self.missing[instruction as usize] > 0 {
            // An operand was evicted; reloading it makes the instruction ready again.
            return true;
        }
        let arrival = self.operands_ready(instruction);
        if arrival > now {
            self.arriving.push(Reverse((arrival, instruction)));
            return true;
        }
        let operands = self.graph.distinct_operands(instruction as usize);
        // An operand that dies here gives its space to the result.
        let dying = operands.iter().any(|&vector| self.remaining[self.graph.number(vector)] == 1);
        // A result without readers leaves when it is stored.
        let next = self.graph.users(instruction as usize).first().copied().unwrap_or(instruction);
        if !dying && !self.make_room(next, instruction == self.first_open) {
            return false;
        }
        self.issued[instruction as usize] = true;
        self.movement.steps.push(Step::Execute(instruction));
        for &vector in operands {
            let number = self.graph.number(vector);
            self.remaining[number] -= 1;
            if self.remaining[number] == 0 {
                self.remove(number as u32, State::Dead);
            } else {
                let next = self.next_use(number as u32);
                self.victims.push((next, number as u32));
            }
        }
        let kind = self.graph.function(instruction as usize).unit() as usize;
        self.units[kind].pop();
        self.units[kind].push(Reverse(now + self.occupancy[kind]));
        // Pipelines have no latency here. Otherwise transforms would run ahead of their readers and fill all
        // registers.
        self.insert(instruction, now + 1);
        if self.output[instruction as usize] {
            self.movement.steps.push(Step::Store(instruction));
            self.saved[instruction as usize] = true;
        }
        if self.remaining[instruction as usize] == 0 {
            self.remove(instruction, State::Dead);
        }
        while self.issued.get(self.first_open as usize).copied().unwrap_or(false) {
            self.first_open += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    //! Is the future space of results predicted, and do loads leave it free?
    use super::*;
    use crate::f1::graph::{Function, GraphBuilder, LeafClass, Vector};
    use crate::f1::tests::{geometry, paper};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_profile_has_the_most_of_all_spans(
            reads in prop::collection::vec((0_usize..1500, 0_usize..1500), 1..1500), ends in (0_usize..1500, 0_usize..1500),
        ) {
            let mut builder = GraphBuilder::default();
            let leaf = builder.leaf(LeafClass::Input);
            let mut results: Vec<Vector> = Vec::new();
            for (first, second) in reads {
                let of = |place: usize| if results.is_empty() { leaf } else { results[place % results.len()] };
                let operands = [of(first), of(second)];
                results.push(builder.push(Function::Add { limb: 0 }, &operands));
            }
            let graph = builder.finish();
            let (a, b) = (ends.0 % graph.len(), ends.1 % graph.len());
            let (from, to) = (a.min(b), a.max(b));
            let waits = |of: usize, at: usize| graph.users(of).last().is_some_and(|&user| user as usize > at);
            let waiting = |at: usize| (0..=at).filter(|&of| waits(of, at)).count();
            let spans = from / SPAN * SPAN..((to / SPAN + 1) * SPAN).min(graph.len());
            let most = spans.map(waiting).max().unwrap_or(0);
            let growth = Profile::new(&graph).growth(from as u32, to as u32) as usize;
            let before = from.checked_sub(1).map_or(0, waiting);
            prop_assert_eq!(growth, most.saturating_sub(before));
        }
    }

    #[test]
    fn early_loads_leave_space_for_results() {
        // Each entry is an input with polynomials of it in sequence, with 12 live powers. All inputs could be
        // loaded at the start, and are three times as many as fit.
        let (entries, depth, polynomials) = (60, 12, 20);
        let mut builder = GraphBuilder::default();
        for _ in 0..entries {
            let mut value = builder.leaf(LeafClass::Input);
            for _ in 0..polynomials {
                let mut powers = vec![value];
                for power in 1..depth {
                    powers.push(builder.push(Function::Multiply { limb: 0 }, &[powers[power - 1], value]));
                }
                for power in powers {
                    value = builder.push(Function::Add { limb: 0 }, &[value, power]);
                }
            }
            builder.output(value);
        }
        let graph = builder.finish();
        let machine = F1 { clusters: 1, banks: 4, bank_bytes: 20 << 10, register_file: 16 << 10, ..paper() };
        let movement = schedule(&graph, &machine, &geometry(&machine, 1024), Pace::Early);
        let loads = movement.steps.iter().filter(|step| matches!(step, Step::Load(_))).count();
        let others = movement.steps.iter().filter(|step| matches!(step, Step::Drop(_) | Step::Spill(_))).count();
        assert_eq!((loads, others), (entries, 0), "loads, and evicted values");
    }
}
