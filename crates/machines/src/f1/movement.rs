//! Phase 2: when a vector comes on chip and which one makes room (section 4.3).
//!
//! The machine is seen as a scratchpad with all units attached, each as long at work as a vector occupies it. One instruction at a time is scheduled, the one of highest
//! priority among those whose operands are on chip. A load has the priority of its most urgent user and is issued as soon as
//! bandwidth and space allow; one that comes long before its turn takes no room that results will need until then. Room is made by dropping dead vectors first, then the vector whose next use lies furthest
//! ahead, if it lies further ahead than that of the one that comes; a vector that off-chip memory does not hold is
//! stored first.

use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry};
use super::order::Pace;
use polyfabric_kernels::cancel;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instructions ahead within which a load may take another value's place, by as many as the register files hold results: loads come in
/// bursts, and a burst takes longer than what runs meanwhile if it begins late. Further ahead it would displace what is used
/// again, or results, which come back at the price of two transfers.
const NEAR: u32 = 128;

/// Instructions of which a [`Profile`] keeps the most alone.
const SPAN: usize = 256;

/// One step of the schedule, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bring a value on chip.
    Load(u32),
    /// Drop a value that off-chip memory holds too.
    Drop(u32),
    /// Store a value that off-chip memory does not hold, then drop it.
    Spill(u32),
    /// Execute an instruction.
    Execute(u32),
    /// Store a result of the program.
    Store(u32),
}

/// Order of the instructions with all loads, spills and stores.
#[derive(Clone, Debug, Default)]
pub struct Movement {
    /// Steps in order.
    pub steps: Vec<Step>,
    /// The most values on chip at a time.
    pub peak: usize,
    /// End of the schedule on the simplified machine, cycles.
    pub cycles: u64,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not computed yet.
    Undefined,
    /// Off chip only.
    Away,
    /// On chip from this cycle on.
    Present(u64),
    /// Without further use.
    Dead,
}

/// Next use of a value that no instruction reads any more.
const NEVER: u32 = u32::MAX;

struct Scheduler<'a> {
    graph: &'a Graph,
    capacity: usize,
    transfer: u64,
    occupancy: [u64; 4],
    load_latency: u64,
    state: Vec<State>,
    /// Whether off-chip memory holds the value.
    saved: Vec<bool>,
    output: Vec<bool>,
    issued: Vec<bool>,
    /// First user not known to be issued, as an index into the value's users.
    cursor: Vec<u32>,
    /// Users not issued yet.
    remaining: Vec<u32>,
    missing: Vec<u8>,
    /// Present values by next use, furthest first; entries may be out of date.
    victims: BinaryHeap<(u32, u32)>,
    /// Values off chip by next use, soonest first.
    loads: BinaryHeap<Reverse<(u32, u32)>>,
    /// Instructions whose operands are on chip from a cycle on.
    arriving: BinaryHeap<Reverse<(u64, u32)>>,
    ready: [BinaryHeap<Reverse<u32>>; 4],
    /// Instructions of which a unit was free and room for the result was not.
    waiting: Vec<u32>,
    units: [BinaryHeap<Reverse<u64>>; 4],
    channel_free: u64,
    /// Results that the register files hold.
    results_held: u32,
    /// How far instructions may run ahead of the most urgent open one: by as many as the register files hold results, or half of that. Without a limit
    /// units that have little to do work through the whole program, and phase 3 finds no room for what they make.
    window: u32,
    present: usize,
    first_open: u32,
    results: Profile,
    movement: Movement,
}

/// How many results wait for a reader while instructions go in order.
struct Profile {
    /// Behind each instruction.
    behind: Vec<u32>,
    /// The most in so many spans of [`SPAN`] instructions from each on: in one, two, four, ...
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

    /// By how many more results wait at some time between two instructions, with the rest of their spans, than before the first of them.
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
                // Room may have come up for those that found none.
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

    /// The instruction that reads the value next; [`NEVER`] if none does.
    fn next_use(&mut self, number: u32) -> u32 {
        let users = self.graph.users(number as usize);
        let cursor = &mut self.cursor[number as usize];
        while users.get(*cursor as usize).is_some_and(|&user| self.issued[user as usize]) {
            *cursor += 1;
        }
        users.get(*cursor as usize).copied().unwrap_or(NEVER)
    }

    /// Makes room for a value next used by `user`, if the furthest value present is used later than that.
    /// `urgent`: the most urgent instruction of all needs the room.
    fn make_room(&mut self, user: u32, urgent: bool) -> bool {
        while self.present >= self.capacity {
            let Some(&(claimed, number)) = self.victims.peek() else { return false };
            if !matches!(self.state[number as usize], State::Present(_)) {
                self.victims.pop();
                continue;
            }
            let next = self.next_use(number);
            if next != claimed {
                // A newer entry says so.
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

    /// Issues the most urgent load, if there is room for it.
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

    /// Executes an instruction at `now`; false if its result has no room.
    fn execute(&mut self, instruction: u32, now: u64) -> bool {
        if self.issued[instruction as usize] || self.missing[instruction as usize] > 0 {
            // An operand was dropped since; the instruction comes back with it.
            return true;
        }
        let arrival = self.operands_ready(instruction);
        if arrival > now {
            self.arriving.push(Reverse((arrival, instruction)));
            return true;
        }
        let operands = self.graph.distinct_operands(instruction as usize);
        // What dies with this instruction gives its place to the result.
        let dying = operands.iter().any(|&vector| self.remaining[self.graph.number(vector)] == 1);
        // A result that nobody reads leaves as soon as it is stored.
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
        // Pipelines have no depth here: else transforms would run ahead of what reads them, and registers hold all of them.
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
    //! Is the room that results will need known in advance, and is it left to them?
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
    fn loads_that_come_early_leave_room_to_results() {
        // Each entry is an input and polynomials of it, one behind the other, with 12 powers alive at a time. All inputs can come from the
        // start, and are three times as many as there is room for.
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
        assert_eq!((loads, others), (entries, 0), "loads, and values that made room");
    }
}
