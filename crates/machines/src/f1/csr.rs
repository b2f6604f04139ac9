//! Register-pressure-aware scheduling as an alternative to phase 2 (section 8.3): Goodman and Hsu, "Code
//! scheduling and register allocation in large basic blocks", 1988. It schedules the whole dataflow graph, with
//! scratchpad frames as registers.
//!
//! Integrated prepass scheduling is list scheduling that switches between two rules. While the number of
//! available registers exceeds a threshold, CSP selects the ready instruction with the longest path to the end.
//! Otherwise CSR selects the one that leaves the fewest live values; ties are broken by completing another
//! instruction's operands, then by the longest path. Registers are allocated afterwards in the resulting order.
//! If they do not suffice, the value with the furthest next use is spilled.
//!
//! The article assumes processors that issue one instruction per cycle, with loads as instructions. Our
//! interpretation for F1: a leaf's load is an instruction of the memory channel. Every unit issues. The
//! threshold is the number of units, each of which may have a result in flight. Without an available register,
//! no instruction that adds a live value is issued while a result is in flight.

use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry};
use super::movement::{Movement, Step};
use polyfabric_kernels::cancel;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Index of the memory channel, after the kinds of unit.
const CHANNEL: usize = 4;

/// Number of instructions between checks of the time limit.
const LOOK: usize = 1024;

/// The time limit was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "CSR is intractable for this program within the time limit: after {:.1} s, {placed} of {of} loads and instructions are \
     scheduled. Raise the limit, or use the priority scheduler", spent.as_secs_f64()
)]
pub struct Intractable {
    /// Time spent.
    pub spent: Duration,
    /// Loads and instructions scheduled.
    pub placed: usize,
    /// All loads and instructions.
    pub of: usize,
}

/// The order that the scheduler chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Values by number, in the order in which they are loaded (leaves) or computed (results).
    pub values: Vec<u32>,
    /// Maximum number of live values with unlimited registers.
    pub alive: usize,
    /// Length of the schedule on the simplified machine without spills, in cycles.
    pub cycles: u64,
}

/// Rank of a choice under CSR; smaller is better.
type Pressure = (i32, bool, Reverse<u64>);

struct Scheduler<'a> {
    graph: &'a Graph,
    capacity: usize,
    threshold: usize,
    /// Latency of a value, by kind of unit and for the channel.
    latency: Vec<u64>,
    /// Longest path from a value's start to the end of the program.
    path: Vec<u64>,
    placed: Vec<bool>,
    /// Number of operands that an instruction lacks.
    missing: Vec<u8>,
    /// Unscheduled users of a value.
    remaining: Vec<u32>,
    /// Whether some user lacks only this value.
    completes: Vec<bool>,
    /// Ready values by path and by pressure; entries may be outdated, but never better than the truth.
    by_path: [BinaryHeap<(u64, Reverse<u32>)>; 5],
    by_pressure: [BinaryHeap<Reverse<(Pressure, u32)>>; 5],
    under_way: BinaryHeap<Reverse<(u64, u32)>>,
    /// First free cycle of each unit and the channel.
    free: [BinaryHeap<Reverse<u64>>; 5],
    occupancy: [u64; 5],
    alive: usize,
    sequence: Sequence,
}

/// The order of all loads and instructions of `graph`.
pub fn order(
    graph: &Graph,
    machine: &F1,
    geometry: &Geometry,
    limit: Option<Duration>,
) -> Result<Sequence, Intractable> {
    let begin = Instant::now();
    let mut scheduler = Scheduler::new(graph, machine, geometry);
    let (mut now, of) = (0, graph.values());
    loop {
        cancel::check();
        scheduler.arrivals(now);
        if let Some((resource, value)) = scheduler.choose(now) {
            scheduler.place(resource, value, now);
            let placed = scheduler.sequence.values.len();
            let spent = begin.elapsed();
            if placed.is_multiple_of(LOOK) && limit.is_some_and(|limit| spent > limit) {
                return Err(Intractable { spent, placed, of });
            }
            continue;
        }
        match scheduler.next_event(now) {
            Some(next) => now = next,
            None => break,
        }
    }
    scheduler.sequence.cycles = now;
    Ok(scheduler.sequence)
}

impl<'a> Scheduler<'a> {
    fn new(graph: &'a Graph, machine: &F1, geometry: &Geometry) -> Self {
        let values = graph.values();
        let mut latency = vec![geometry.load_latency + 1; values];
        let mut path = vec![0; values];
        for (index, latency) in latency[..graph.len()].iter_mut().enumerate() {
            *latency = geometry.latency(graph.function(index)) + 1;
        }
        // Only results read leaves, and only later results read results.
        for number in (0..graph.len()).rev().chain(graph.len()..values) {
            let behind = graph.users(number).iter().map(|&user| path[user as usize]).max().unwrap_or(0);
            path[number] = latency[number] + behind;
        }
        let missing: Vec<u8> = (0..graph.len()).map(|index| distinct(graph, index).count() as u8).collect();
        let completes =
            (0..values).map(|number| graph.users(number).iter().any(|&user| missing[user as usize] == 1)).collect();
        let units = UnitKind::ALL.map(|kind| machine.unit_count(kind));
        let free = |count: usize| (0..count).map(|_| Reverse(0)).collect::<BinaryHeap<_>>();
        let [ntt, automorphism, multiply, add] = units;
        let [a, b, c, d] = UnitKind::ALL.map(|kind| geometry.occupancy_of(kind));
        let mut scheduler = Self {
            graph,
            capacity: geometry.frames * machine.banks,
            threshold: units.iter().sum(),
            latency,
            path,
            placed: vec![false; values],
            missing,
            remaining: (0..values).map(|number| graph.users(number).len() as u32).collect(),
            completes,
            by_path: Default::default(),
            by_pressure: Default::default(),
            under_way: BinaryHeap::new(),
            free: [ntt, automorphism, multiply, add, 1].map(free),
            occupancy: [a, b, c, d, geometry.transfer.div_ceil(machine.stacks as u64)],
            alive: 0,
            sequence: Sequence { values: Vec::with_capacity(values), alive: 0, cycles: 0 },
        };
        for leaf in graph.len()..values {
            if !graph.users(leaf).is_empty() {
                scheduler.offer(leaf as u32);
            }
        }
        scheduler
    }

    /// The unit that computes a value, or the channel that loads it.
    fn resource(&self, value: u32) -> usize {
        match self.graph.vector(value as usize).as_result() {
            Some(index) => self.graph.function(index).unit() as usize,
            None => CHANNEL,
        }
    }

    /// Change in live values, whether no other instruction becomes ready, and the path.
    fn pressure(&self, value: u32) -> Pressure {
        let number = value as usize;
        let born = i32::from(!self.graph.users(number).is_empty());
        let dying = match self.graph.vector(number).as_result() {
            Some(index) => distinct(self.graph, index).filter(|&o| self.remaining[o as usize] == 1).count(),
            None => 0,
        };
        (born - dying as i32, !self.completes[number], Reverse(self.path[number]))
    }

    /// Inserts a ready value into the queues, or reinserts it after its pressure has improved.
    fn offer(&mut self, value: u32) {
        let resource = self.resource(value);
        self.by_path[resource].push((self.path[value as usize], Reverse(value)));
        self.by_pressure[resource].push(Reverse((self.pressure(value), value)));
    }

    fn improve(&mut self, value: u32) {
        self.by_pressure[self.resource(value)].push(Reverse((self.pressure(value), value)));
    }

    fn ready(&self, value: u32) -> bool {
        let operands = self.graph.vector(value as usize).as_result().map_or(0, |index| self.missing[index]);
        !self.placed[value as usize] && operands == 0
    }

    /// Values that arrive by `now` complete operands of their users.
    fn arrivals(&mut self, now: u64) {
        while let Some(&Reverse((at, value))) = self.under_way.peek() {
            if at > now {
                return;
            }
            self.under_way.pop();
            for &user in self.graph.users(value as usize) {
                self.missing[user as usize] -= 1;
                if self.missing[user as usize] == 0 {
                    self.offer(user);
                    continue;
                }
                let other = distinct(self.graph, user as usize).find(|&operand| operand != value);
                if let Some(other) = other.filter(|&other| !self.completes[other as usize]) {
                    self.completes[other as usize] = true;
                    if self.ready(other) {
                        self.improve(other);
                    }
                }
            }
        }
    }

    /// The best ready value with a free unit, by the current rule.
    fn choose(&mut self, now: u64) -> Option<(usize, u32)> {
        let available = self.capacity.saturating_sub(self.alive);
        let free: Vec<usize> =
            (0..5).filter(|&resource| self.free[resource].peek().is_some_and(|&Reverse(at)| at <= now)).collect();
        if available > self.threshold {
            let mut best: Option<((u64, Reverse<u32>), usize)> = None;
            for &resource in &free {
                let queue = &mut self.by_path[resource];
                while queue.peek().is_some_and(|&(_, Reverse(value))| self.placed[value as usize]) {
                    queue.pop();
                }
                best = best.max(queue.peek().map(|&top| (top, resource)));
            }
            return best.map(|((_, Reverse(value)), resource)| (resource, value));
        }
        let mut best: Option<((Pressure, u32), usize)> = None;
        for resource in free {
            let queue = &mut self.by_pressure[resource];
            while queue.peek().is_some_and(|&Reverse((_, value))| self.placed[value as usize]) {
                queue.pop();
            }
            if let Some(&Reverse(top)) = queue.peek()
                && best.is_none_or(|(held, _)| top < held)
            {
                best = Some((top, resource));
            }
        }
        let (((more, ..), value), resource) = best?;
        let waits = more > 0 && available == 0 && !self.under_way.is_empty();
        (!waits).then_some((resource, value))
    }

    fn place(&mut self, resource: usize, value: u32, now: u64) {
        self.placed[value as usize] = true;
        self.sequence.values.push(value);
        self.free[resource].pop();
        self.free[resource].push(Reverse(now + self.occupancy[resource]));
        self.under_way.push(Reverse((now + self.latency[value as usize], value)));
        if self.remaining[value as usize] > 0 {
            self.alive += 1;
        }
        self.sequence.alive = self.sequence.alive.max(self.alive);
        let Some(index) = self.graph.vector(value as usize).as_result() else { return };
        for operand in distinct(self.graph, index) {
            self.remaining[operand as usize] -= 1;
            match self.remaining[operand as usize] {
                0 => self.alive -= 1,
                1 => {
                    // Its last reader now frees it.
                    let last = self.graph.users(operand as usize).iter().find(|&&user| !self.placed[user as usize]);
                    if let Some(&last) = last.filter(|&&last| self.ready(last)) {
                        self.improve(last);
                    }
                }
                _ => {}
            }
        }
    }

    /// The next cycle in which a value arrives, or a unit with ready values is free.
    fn next_event(&self, now: u64) -> Option<u64> {
        let arrival = self.under_way.peek().map(|&Reverse((at, _))| at);
        let busy = (0..5).filter(|&resource| !self.by_pressure[resource].is_empty());
        let units = busy.filter_map(|resource| self.free[resource].peek().map(|&Reverse(at)| at));
        arrival.into_iter().chain(units).filter(|&at| at > now).min()
    }
}

/// Operands of instruction `index` by number, without duplicates.
fn distinct(graph: &Graph, index: usize) -> impl Iterator<Item = u32> + '_ {
    graph.distinct_operands(index).iter().map(|&operand| graph.number(operand) as u32)
}

struct Allocation<'a> {
    graph: &'a Graph,
    capacity: usize,
    present: Vec<bool>,
    saved: Vec<bool>,
    /// Values on chip by next use, furthest first; entries may be outdated.
    furthest: BinaryHeap<(u32, u32)>,
    /// First user not yet executed, as an index into the value's users.
    cursor: Vec<u32>,
    held: usize,
    movement: Movement,
}

/// Allocates frames to `sequence`, whose instructions are in order of their numbers, and spills values if
/// frames do not suffice.
pub fn allocate(graph: &Graph, sequence: &Sequence, machine: &F1, geometry: &Geometry) -> Movement {
    let values = graph.values();
    let mut output = vec![false; values];
    graph.outputs().iter().for_each(|&vector| output[graph.number(vector)] = true);
    let mut allocation = Allocation {
        graph,
        capacity: geometry.frames * machine.banks,
        present: vec![false; values],
        saved: (0..values).map(|number| number >= graph.len()).collect(),
        furthest: BinaryHeap::new(),
        cursor: vec![0; values],
        held: 0,
        movement: Movement { cycles: sequence.cycles, ..Movement::default() },
    };
    for &value in &sequence.values {
        let Some(index) = graph.vector(value as usize).as_result() else {
            if !allocation.present[value as usize] {
                allocation.load(value);
            }
            continue;
        };
        for operand in distinct(graph, index) {
            if !allocation.present[operand as usize] {
                allocation.load(operand);
            }
        }
        // A value that dies with this instruction gives its frame to the result.
        if !distinct(graph, index).any(|operand| allocation.last_use(operand)) {
            allocation.spill();
        }
        allocation.movement.steps.push(Step::Execute(value));
        for operand in distinct(graph, index) {
            allocation.cursor[operand as usize] += 1;
            match allocation.next_use(operand) {
                None => allocation.remove(operand),
                Some(next) => allocation.furthest.push((next, operand)),
            }
        }
        allocation.insert(value);
        if output[value as usize] {
            allocation.movement.steps.push(Step::Store(value));
            allocation.saved[value as usize] = true;
        }
        if allocation.next_use(value).is_none() {
            allocation.remove(value);
        }
    }
    allocation.movement
}

impl Allocation<'_> {
    fn next_use(&self, value: u32) -> Option<u32> {
        self.graph.users(value as usize).get(self.cursor[value as usize] as usize).copied()
    }

    fn last_use(&self, value: u32) -> bool {
        self.graph.users(value as usize).len() as u32 == self.cursor[value as usize] + 1
    }

    fn insert(&mut self, value: u32) {
        self.present[value as usize] = true;
        self.held += 1;
        self.movement.peak = self.movement.peak.max(self.held);
        if let Some(next) = self.next_use(value) {
            self.furthest.push((next, value));
        }
    }

    fn remove(&mut self, value: u32) {
        self.present[value as usize] = false;
        self.held -= 1;
    }

    fn load(&mut self, value: u32) {
        self.spill();
        self.movement.steps.push(Step::Load(value));
        self.insert(value);
    }

    /// Spills the value with the furthest next use, if no frame is free. The next instruction's operands have
    /// the nearest uses, and every machine has at least four frames.
    fn spill(&mut self) {
        while self.held >= self.capacity {
            let Some((claimed, value)) = self.furthest.pop() else { return };
            if !self.present[value as usize] || self.next_use(value) != Some(claimed) {
                continue;
            }
            let saved = std::mem::replace(&mut self.saved[value as usize], true);
            self.movement.steps.push(if saved { Step::Drop(value) } else { Step::Spill(value) });
            self.remove(value);
        }
    }
}
