//! Estimates a program after phase 1, before data movement and cycles are decided (section 4.2, algorithmic
//! choice).
//!
//! The order of the groups determines how often a hint is used before it is evicted. So the traffic is that of
//! a scratchpad filled group by group: a group loads absent operands, and values with the furthest next use are
//! evicted. Within a group, each unit, crossbar port and channel is busy for its share of instructions and
//! vectors, and the group takes as long as the busiest. The program's time is the sum. The estimate ignores
//! that loads overlap with the previous group, which shortens a schedule, and that registers are few, which
//! lengthens it. So it serves only to compare programs.

use super::graph::{Graph, LeafClass, UnitKind};
use super::machine::{F1, Geometry, WORD_BYTES};
use super::order::Ordered;
use polyfabric_kernels::cancel;
use polyfabric_schemes::rns::KeyId;
use std::collections::{BinaryHeap, HashMap};

/// The loaded resources: kinds of units in their order, crossbar ports, channels.
pub const RESOURCES: [&str; 8] =
    ["ntt", "automorphism", "multiply", "add", "from scratchpad", "between clusters", "to scratchpad", "hbm"];

const FROM_SCRATCHPAD: usize = 4;
const BETWEEN: usize = 5;
const TO_SCRATCHPAD: usize = 6;
const HBM: usize = 7;

/// Busy cycles of each of [`RESOURCES`].
pub type Cycles = [f64; RESOURCES.len()];

/// Load of a program on a machine, for a given order of its operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Load of each group, with its hint.
    pub groups: Vec<(Option<KeyId>, Cycles)>,
    /// Bytes of hints from memory.
    pub hint_bytes: u64,
    /// Bytes of hints if each is loaded once.
    pub hint_bytes_once: u64,
    /// All other bytes to and from memory.
    pub other_bytes: u64,
}

impl Estimate {
    pub fn new(ordered: &Ordered, machine: &F1, geometry: &Geometry) -> Self {
        let graph = &ordered.translation.graph;
        let group_of = group_of(ordered);
        let mut vectors = vec![[0u64; RESOURCES.len()]; ordered.groups.len()];
        for (index, &group) in group_of.iter().enumerate() {
            vectors[group as usize][graph.function(index).unit() as usize] += 1;
        }
        ports(graph, &group_of, &ordered.home, &mut vectors);
        let [hints, others] =
            Scratchpad::new(graph, &group_of, geometry.frames * machine.banks).run(graph, &group_of, &mut vectors);
        let cycles = |(index, vectors): (usize, u64)| {
            let (each, places) = match UnitKind::ALL.get(index) {
                Some(&kind) => (geometry.occupancy_of(kind), machine.unit_count(kind)),
                None if index == HBM => (geometry.transfer, machine.stacks),
                None => (geometry.occupancy, machine.clusters),
            };
            vectors as f64 * each as f64 / places as f64
        };
        let loads = ordered.groups.iter().zip(vectors).map(|(group, vectors)| {
            let mut load = Cycles::default();
            load.iter_mut().zip(vectors.into_iter().enumerate()).for_each(|(load, of)| *load = cycles(of));
            (group.hint, load)
        });
        let bytes = geometry.vector.get() as u64 * WORD_BYTES;
        let once = graph.leaves().iter().filter(|&&class| class == LeafClass::Hint).count() as u64;
        Self {
            groups: loads.collect(),
            hint_bytes: hints * bytes,
            hint_bytes_once: once * bytes,
            other_bytes: others * bytes,
        }
    }

    /// Load of the whole program.
    pub fn cycles(&self) -> Cycles {
        let mut sum = Cycles::default();
        for (_, load) in &self.groups {
            sum.iter_mut().zip(load).for_each(|(sum, more)| *sum += more);
        }
        sum
    }

    /// Busy cycles of each group's busiest resource.
    pub fn longest(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().map(|(_, load)| load.iter().copied().fold(0.0, f64::max))
    }

    /// The estimated cycles: the sum over groups of the busiest resource.
    pub fn total(&self) -> f64 {
        self.longest().sum()
    }

    /// The busiest resource of the whole program.
    pub fn busiest(&self) -> &'static str {
        let named = RESOURCES.into_iter().zip(self.cycles());
        named.max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(name, _)| name)
    }
}

/// The group of every instruction.
fn group_of(ordered: &Ordered) -> Vec<u32> {
    let groups = (0..).zip(&ordered.groups);
    groups.flat_map(|(number, group)| std::iter::repeat_n(number, group.instructions as usize)).collect()
}

/// Adds the vectors on each of the three crossbars, if a cluster keeps its operands until the group ends.
/// Clusters share operands from outside the group, so half of them use each crossbar.
fn ports(graph: &Graph, group_of: &[u32], home: &[u16], vectors: &mut [[u64; RESOURCES.len()]]) {
    let mut readers: Vec<(u32, u16)> = Vec::new();
    let mut outputs = graph.outputs().iter().filter_map(|output| output.as_result()).collect::<Vec<_>>();
    outputs.sort_unstable();
    for number in 0..graph.values() {
        cancel::check();
        let own = graph.vector(number).as_result().map(|result| (group_of[result], home[result]));
        readers.clear();
        readers.extend(graph.users(number).iter().map(|&user| (group_of[user as usize], home[user as usize])));
        readers.sort_unstable();
        readers.dedup();
        let mut stored = outputs.binary_search(&number).is_ok();
        for clusters in readers.chunk_by(|a, b| a.0 == b.0) {
            let vectors = &mut vectors[clusters[0].0 as usize];
            if own.is_some_and(|(group, _)| group == clusters[0].0) {
                vectors[BETWEEN] += clusters.iter().filter(|&&cluster| own != Some(cluster)).count() as u64;
            } else {
                stored = true;
                vectors[FROM_SCRATCHPAD] += clusters.len().div_ceil(2) as u64;
                vectors[BETWEEN] += clusters.len() as u64 / 2;
            }
        }
        if let Some((group, _)) = own.filter(|_| stored) {
            vectors[group as usize][TO_SCRATCHPAD] += 1;
        }
    }
}

/// Contents of the scratchpad between groups.
struct Scratchpad {
    capacity: usize,
    /// The groups that read a value from outside, in order, with the next one; only for values with such
    /// groups.
    uses: HashMap<u32, Uses>,
    /// Values on chip by the group of their next use, furthest first; entries may be outdated.
    held: BinaryHeap<(u32, u32)>,
    count: usize,
    /// Vectors loaded and stored: of hints, and of all others.
    moved: [u64; 2],
}

#[derive(Clone, Debug, Default)]
struct Uses {
    groups: Vec<u32>,
    next: usize,
    held: bool,
    saved: bool,
}

impl Scratchpad {
    fn new(graph: &Graph, group_of: &[u32], capacity: usize) -> Self {
        let mut uses: HashMap<u32, Uses> = HashMap::new();
        for index in 0..graph.len() {
            cancel::check();
            for &operand in graph.distinct_operands(index) {
                let inside = operand.as_result().is_some_and(|result| group_of[result] == group_of[index]);
                if !inside {
                    let saved = operand.as_leaf().is_some();
                    let uses = uses.entry(graph.number(operand) as u32).or_insert(Uses { saved, ..Uses::default() });
                    if uses.groups.last() != Some(&group_of[index]) {
                        uses.groups.push(group_of[index]);
                    }
                }
            }
        }
        Self { capacity, uses, held: BinaryHeap::new(), count: 0, moved: [0; 2] }
    }

    /// Adds the vectors on the channels; returns those of hints and all others.
    fn run(mut self, graph: &Graph, group_of: &[u32], vectors: &mut [[u64; RESOURCES.len()]]) -> [u64; 2] {
        let mut before = 0;
        for index in 0..graph.len() {
            cancel::check();
            for &operand in graph.distinct_operands(index) {
                let class = operand.as_leaf().map(|leaf| graph.leaves()[leaf]);
                self.read(graph.number(operand) as u32, group_of[index], class == Some(LeafClass::Hint));
            }
            self.made(index as u32);
            let now = self.moved.iter().sum();
            vectors[group_of[index] as usize][HBM] += now - before;
            before = now;
        }
        for output in graph.outputs() {
            self.moved[1] += 1;
            if let Some(group) =
                output.as_result().map(|result| group_of[result] as usize).or(vectors.len().checked_sub(1))
            {
                vectors[group][HBM] += 1;
            }
        }
        self.moved
    }

    fn read(&mut self, value: u32, group: u32, hint: bool) {
        let Some(uses) = self.uses.get_mut(&value) else { return };
        // A value that this group has computed, or has read before.
        if uses.groups.get(uses.next) != Some(&group) {
            return;
        }
        if !uses.held {
            self.moved[usize::from(!hint)] += 1;
        }
        uses.next += 1;
        self.hold(value);
    }

    fn made(&mut self, value: u32) {
        if self.uses.contains_key(&value) {
            self.hold(value);
        }
    }

    /// Keeps `value` until its next use, if there is one; evicts a value needed later if necessary.
    fn hold(&mut self, value: u32) {
        let Some(uses) = self.uses.get_mut(&value) else { return };
        let next = uses.groups.get(uses.next).copied();
        match (std::mem::replace(&mut uses.held, next.is_some()), next.is_some()) {
            (false, true) => self.count += 1,
            (true, false) => self.count -= 1,
            _ => {}
        }
        let Some(next) = next else { return };
        self.held.push((next, value));
        while self.count > self.capacity {
            let Some((next, victim)) = self.held.pop() else { return };
            let Some(uses) = self.uses.get_mut(&victim) else { continue };
            if !uses.held || uses.groups.get(uses.next) != Some(&next) {
                continue;
            }
            uses.held = false;
            self.count -= 1;
            if !std::mem::replace(&mut uses.saved, true) {
                self.moved[1] += 1;
            }
        }
    }
}
