//! Phase 1: orders homomorphic operations and their instructions, and assigns instructions to clusters (section
//! 4.2).
//!
//! Independent homomorphic operations with the same hint form a group. Groups are list-scheduled; the group
//! with the first operation in program order comes first, so that started work is finished. A group with fewer
//! operations than fit lets full and wider groups go first. Operations without a hint join the group that they
//! follow.
//!
//! Within a group, instructions are divided into stages, as late as possible; between stages, values change
//! limbs (a digit is lifted to all other limbs). In a stage, the work of one operation in one limb is a task:
//! it needs a few vectors and the hint vectors of that limb. Lifting a digit with several limbs is a separate
//! stage, and a cluster processes all target limbs of a digit in sequence (`lift.rs`). Instructions that read
//! the hint come first in a stage, and are assigned separately. Operations that read each other's results are a
//! lane. Tasks are assigned lane by lane in contiguous shares of equal load. So clusters process the same limb
//! of different operations at the same time, and pass hint vectors to each other. The cluster that reads a hint
//! vector from the scratchpad rotates from vector to vector. Without a hint there is nothing to share. Then
//! lanes stay in their clusters and run in parallel, to hide the latency of units.

use super::graph::{Graph, GraphBuilder, UnitKind, Vector};
use super::lift::{NONE, digits, reads_hint, sources};
use super::lockstep::{Run, runs};
use super::machine::{F1, Geometry};
use super::translate::Translation;
use crate::rns::leaf::Leaf;
use polyfabric_kernels::cancel;
use polyfabric_schemes::rns::KeyId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::ops::Range;

/// Approximate number of polynomials per limb that an operation of a group needs on chip: inputs, digits, sums
/// of both parts. Values lifted from several limbs come in addition.
const HELD: usize = 6;

/// The same for lockstep runs, where results replace their operands limb by limb.
const HELD_IN_STEP: usize = 4;

/// Rotation, in clusters, of the first position with each digit and with each instruction of a digit: odd, so
/// that all clusters get it.
const TURN: [u32; 2] = [5, 3];

/// Consecutive operations with one hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub hint: Option<KeyId>,
    /// Number of homomorphic operations.
    pub operations: usize,
    /// Number of instructions.
    pub instructions: u32,
}

/// How early instructions are scheduled, in this order and in phase 2. Early results occupy registers or use a
/// port twice; late results stall their readers. Only phase 3 shows which costs more. The fractions of
/// [`Pace::Close`] were tuned on the database lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// By the latency of its reader's pipeline, if that is long.
    Early,
    /// By half of this latency, or a quarter of a vector if it is short; phase 2 looks half as far ahead.
    Close,
}

/// A program in order.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// The program, with its instructions in order of priority.
    pub translation: Translation,
    /// The cluster of every instruction.
    pub home: Vec<u16>,
    /// In order.
    pub groups: Vec<Group>,
    /// Consecutive groups with equal operations, one per cluster.
    pub runs: Vec<Run>,
    pub pace: Pace,
}

/// A homomorphic operation: consecutive instructions in the translation.
struct Operation {
    instructions: Range<u32>,
    hint: Option<KeyId>,
    limbs: usize,
    /// Digits that are lifted from several limbs each; all of them wait for the hint.
    digits: usize,
    /// Operations that read its results.
    readers: Vec<u32>,
    /// Number of operations that it waits for.
    waits: u32,
}

/// Maximum number of operations in a group with one hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// As many as fit, one per cluster.
    Full,
    /// The largest number that fits and divides evenly among the clusters: fewer share the hint, but loads are
    /// balanced.
    Even,
    /// Likewise, with the space that lockstep operations need, and a hint that may be evicted.
    InStep,
}

/// Orders `translation` for `machine`, with the widest groups that fit.
pub fn order(translation: Translation, machine: &F1, geometry: &Geometry) -> Ordered {
    let sources = sources_of(&translation);
    let (operations, groups) = grouped(&translation, &sources, Width::Full, machine, geometry);
    arranged(&translation, &sources, &operations, &groups, machine)
}

/// The orders to try. The first has the widest groups that fit. Programs of at most `tried` instructions have
/// up to two more, if different: evenly divided groups at a close pace, and wider groups that can run in
/// lockstep. Only phase 3 shows which is best: narrow groups spill less but reload hints more often.
pub fn orders(translation: Translation, tried: usize, machine: &F1, geometry: &Geometry) -> (Ordered, Vec<Ordered>) {
    let sources = sources_of(&translation);
    let (operations, full) = grouped(&translation, &sources, Width::Full, machine, geometry);
    let first = arranged(&translation, &sources, &operations, &full, machine);
    let mut others = Vec::new();
    if translation.graph.len() <= tried {
        let (operations, even) = grouped(&translation, &sources, Width::Even, machine, geometry);
        if even != full {
            let ordered = arranged(&translation, &sources, &operations, &even, machine);
            // Lockstep runs determine their own starts.
            let pace = if ordered.runs.is_empty() { Pace::Close } else { Pace::Early };
            others.push(Ordered { pace, ..ordered });
        }
        let (operations, in_step) = grouped(&translation, &sources, Width::InStep, machine, geometry);
        if ![&full, &even].contains(&&in_step) {
            let ordered = arranged(&translation, &sources, &operations, &in_step, machine);
            // A third schedule is worthwhile only if lockstep runs cover much of the program.
            let in_step = ordered.runs.iter().map(Run::instructions).sum::<usize>();
            others.extend((2 * in_step >= translation.graph.len()).then_some(ordered));
        }
    }
    (first, others)
}

/// Operations, and the groups by operation number.
type Grouped = (Vec<Operation>, Vec<Vec<u32>>);

/// The source of each instruction.
fn sources_of(translation: &Translation) -> Vec<u32> {
    sources(&translation.graph, &operation_of(&operations(translation), translation.graph.len()))
}

/// The homomorphic operations, and their groups in order.
fn grouped(translation: &Translation, sources: &[u32], width: Width, machine: &F1, geometry: &Geometry) -> Grouped {
    let mut operations = operations(translation);
    for operation in &mut operations {
        operation.digits = digits(&translation.graph, sources, operation.instructions.clone());
    }
    let capacity = geometry.frames * machine.banks / geometry.subpolynomials().count();
    let groups = group(&mut operations, width, capacity, machine.clusters);
    (operations, groups)
}

/// The instructions of these groups in order, with their clusters.
fn arranged(
    translation: &Translation,
    sources: &[u32],
    operations: &[Operation],
    groups: &[Vec<u32>],
    machine: &F1,
) -> Ordered {
    let graph = &translation.graph;
    let mut arranger = Arranger {
        graph,
        operation: operation_of(operations, graph.len()),
        stage: vec![0; graph.len()],
        source: sources.to_vec(),
        digit: vec![0; graph.len()],
        group: vec![u32::MAX; operations.len()],
        task: vec![0; graph.len()],
        waits: vec![0; graph.len()],
        place: vec![0; graph.len()],
        home: vec![0; graph.len()],
        clusters: machine.clusters as u32,
    };
    let mut order: Vec<u32> = Vec::with_capacity(graph.len());
    let mut described = Vec::with_capacity(groups.len());
    let mut lanes = Vec::with_capacity(groups.len());
    for (number, members) in (0..).zip(groups) {
        let begin = order.len() as u32;
        arranger.arrange(number, members, operations, &mut order);
        lanes.push(arranger.in_lanes(members, operations));
        described.push(Group {
            hint: members.iter().find_map(|&member| operations[member as usize].hint),
            operations: members.len(),
            instructions: order.len() as u32 - begin,
        });
    }
    let home = order.iter().map(|&old| arranger.home[old as usize]).collect();
    let mut runs = runs(graph, &lanes, machine.clusters);
    let new = places(&order);
    runs.iter_mut().for_each(|run| run.renumber(&new));
    Ordered { translation: reordered(translation, &order), home, groups: described, runs, pace: Pace::Early }
}

/// The position of each instruction in `order`.
pub(super) fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &index) in (0..).zip(order) {
        places[index as usize] = place;
    }
    places
}

/// The homomorphic operations with their dependences.
fn operations(translation: &Translation) -> Vec<Operation> {
    let graph = &translation.graph;
    let mut operations: Vec<Operation> = Vec::new();
    let mut limbs: Vec<u16> = Vec::new();
    let mut own = vec![0u32; graph.len()];
    for index in 0..graph.len() {
        let new = index == 0 || translation.origins[index] != translation.origins[index - 1];
        if new {
            let instructions = index as u32..index as u32;
            operations.push(Operation { instructions, hint: None, limbs: 0, digits: 0, readers: Vec::new(), waits: 0 });
            limbs.clear();
        }
        let number = operations.len() as u32 - 1;
        own[index] = number;
        let mut makers = [u32::MAX; 2];
        for (maker, &operand) in makers.iter_mut().zip(graph.operands(index)) {
            let operation = &mut operations[number as usize];
            match (operand.as_leaf(), operand.as_result()) {
                (Some(leaf), _) => {
                    if let (None, Leaf::Hint { key, .. }) = (operation.hint, translation.leaves[leaf].leaf) {
                        operation.hint = Some(key);
                    }
                }
                (_, Some(result)) => *maker = own[result],
                _ => {}
            }
        }
        for maker in makers.into_iter().filter(|&maker| maker != u32::MAX && maker != number) {
            if operations[maker as usize].readers.last() != Some(&number) {
                operations[maker as usize].readers.push(number);
                operations[number as usize].waits += 1;
            }
        }
        let limb = graph.function(index).limb();
        if !limbs.contains(&limb) {
            limbs.push(limb);
        }
        let operation = &mut operations[number as usize];
        operation.instructions.end = index as u32 + 1;
        operation.limbs = limbs.len();
    }
    operations
}

fn operation_of(operations: &[Operation], instructions: usize) -> Vec<u32> {
    let mut of = vec![0; instructions];
    for (number, operation) in operations.iter().enumerate() {
        of[operation.instructions.start as usize..operation.instructions.end as usize].fill(number as u32);
    }
    of
}

/// List-schedules the operations in groups that share a hint.
fn group(operations: &mut [Operation], width: Width, capacity: usize, clusters: usize) -> Vec<Vec<u32>> {
    let mut waiting: BTreeMap<Option<KeyId>, BTreeSet<u32>> = BTreeMap::new();
    let mut ready: Vec<u32> = (0..operations.len() as u32).filter(|&o| operations[o as usize].waits == 0).collect();
    let mut groups = Vec::new();
    loop {
        cancel::check();
        for operation in ready.drain(..) {
            waiting.entry(operations[operation as usize].hint).or_default().insert(operation);
        }
        // As many as fit two thirds of the scratchpad, or all of it in lockstep; at most one per cluster, if
        // they share a hint.
        let most = |hint: Option<KeyId>, those: &BTreeSet<u32>| {
            let largest = |of: fn(&Operation) -> usize| those.iter().map(|&o| of(&operations[o as usize])).max();
            let limbs = largest(|operation| operation.limbs).unwrap_or(1);
            let held = HELD + largest(|operation| operation.digits).unwrap_or(0);
            let most = match width {
                Width::Full | Width::Even => capacity * 2 / 3 / (held * limbs),
                Width::InStep => capacity / (HELD_IN_STEP * limbs),
            };
            let most = most.max(1);
            match (hint, width) {
                (None, _) => most,
                (Some(_), Width::Full) => most.min(clusters),
                (Some(_), Width::Even | Width::InStep) => {
                    (1..=most.min(clusters)).rev().find(|&most| clusters.is_multiple_of(most)).unwrap_or(1)
                }
            }
        };
        // The first in program order; if its group is narrow, then one that is full or without a hint, or the
        // widest.
        let narrow = |hint: Option<KeyId>, those: &BTreeSet<u32>| hint.is_some() && those.len() < most(hint, those);
        let first = waiting.iter().min_by_key(|(_, those)| those.first());
        let Some((&hint, those)) = first.and_then(|(&hint, those)| {
            let others =
                waiting.iter().filter(|&(&hint, those)| !narrow(hint, those)).min_by_key(|(_, those)| those.first());
            let widest = || waiting.iter().min_by_key(|(_, those)| (Reverse(those.len()), those.first()));
            if narrow(hint, those) { others.or_else(widest) } else { first }
        }) else {
            return groups;
        };
        let most = most(hint, those);
        let mut chosen = waiting.remove(&hint).unwrap_or_default();
        if let Some(&next) = chosen.iter().nth(most) {
            waiting.insert(hint, chosen.split_off(&next));
        }
        let mut members: Vec<u32> = chosen.into_iter().collect();
        // Operations without a hint join the group that they follow.
        let mut next = 0;
        while next < members.len() {
            let member = members[next] as usize;
            next += 1;
            for reader in std::mem::take(&mut operations[member].readers) {
                let reading = &mut operations[reader as usize];
                reading.waits -= 1;
                if reading.waits == 0 {
                    match reading.hint {
                        None => members.push(reader),
                        Some(_) => ready.push(reader),
                    }
                }
            }
        }
        members.sort_unstable();
        groups.push(members);
    }
}

struct Arranger<'a> {
    graph: &'a Graph,
    operation: Vec<u32>,
    /// Number of changes of limb or source until the group's end; later the stage.
    stage: Vec<u32>,
    /// The source of an instruction, or [`NONE`] ([`sources`]).
    source: Vec<u32>,
    /// Position in the order of a task.
    digit: Vec<u32>,
    /// The group of every grouped operation.
    group: Vec<u32>,
    /// The index of each instruction's task in its group.
    task: Vec<u32>,
    /// Number of operands from its group that an instruction waits for.
    waits: Vec<u32>,
    /// Position in its group by its key alone.
    place: Vec<u32>,
    home: Vec<u16>,
    clusters: u32,
}

/// Work of one operation in one limb and stage.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    /// Stage, source, limb and operation.
    key: (u32, u32, u16, u32),
    /// Instructions by kind of unit.
    load: [u32; 4],
    cluster: u32,
    /// Position among the cluster's tasks of the stage.
    round: u32,
    /// Number of earlier operations in its lane.
    depth: u32,
    hinted: bool,
}

impl Task {
    /// Its half of a stage. Tasks that read the hint come first and are assigned separately. So all
    /// operations get equally many clusters for them, and clusters need the same vector at the same time. The
    /// other work differs between operations.
    fn half(&self) -> (u32, bool) {
        (self.key.0, !self.hinted)
    }

    /// Number of vectors on its busiest unit.
    fn cost(&self) -> u64 {
        let [ntt, automorphism, multiply, add] = self.load;
        u64::from(ntt.max(automorphism).max(multiply.div_ceil(2)).max(add.div_ceil(2)).max(1))
    }
}

impl Arranger<'_> {
    /// Appends the instructions of `members`, the operations of group `group`, to `order`.
    fn arrange(&mut self, group: u32, members: &[u32], operations: &[Operation], order: &mut Vec<u32>) {
        members.iter().for_each(|&member| self.group[member as usize] = group);
        let instructions: Vec<u32> =
            members.iter().flat_map(|&member| operations[member as usize].instructions.clone()).collect();
        let hinted = members.iter().any(|&member| operations[member as usize].hint.is_some());
        if !hinted {
            instructions.iter().for_each(|&index| self.source[index as usize] = NONE);
        }
        self.cut_into_stages(group, &instructions);
        let mut tasks = self.tasks(&instructions);
        self.count_digits(group, &instructions);
        let lanes = self.lanes(members, operations);
        match hinted {
            true => self.deal(&mut tasks, &lanes),
            false => self.deal_lanes(&mut tasks, &lanes),
        }
        let keyed = self.keyed(&instructions, &tasks);
        self.append(group, &keyed, order);
    }

    /// Whether an instruction belongs to an operation of the group.
    fn is_in(&self, group: u32, index: usize) -> bool {
        self.group[self.operation[index] as usize] == group
    }

    /// Determines the stage of each instruction of a group, as late as possible.
    fn cut_into_stages(&mut self, group: u32, instructions: &[u32]) {
        let graph = self.graph;
        // Backwards: the number of later changes of limb or source in this group.
        let mut last = 0;
        for &index in instructions.iter().rev() {
            let index = index as usize;
            let (limb, source) = (graph.function(index).limb(), self.source[index]);
            let changes = |user: usize| graph.function(user).limb() != limb || self.source[user] != source;
            let users = graph.users(index).iter().filter(|&&user| self.is_in(group, user as usize));
            let after = |&user: &u32| self.stage[user as usize] + u32::from(changes(user as usize));
            self.stage[index] = users.map(after).max().unwrap_or(0);
            last = last.max(self.stage[index]);
        }
        for &index in instructions {
            self.stage[index as usize] = last - self.stage[index as usize];
        }
    }

    /// Determines the digit of each instruction of a group: its position along its task's chain of sums.
    fn count_digits(&mut self, group: u32, instructions: &[u32]) {
        let graph = self.graph;
        let is_sum = |index: u32| graph.function(index as usize).unit() == UnitKind::Add;
        for &index in instructions {
            let own = self.task[index as usize];
            let operands = graph.operands(index as usize).iter().filter_map(|operand| operand.as_result());
            let made = operands.filter(|&operand| self.is_in(group, operand) && self.task[operand] == own);
            let before = made.map(|operand| self.digit[operand]).max().unwrap_or(0);
            self.digit[index as usize] = before + u32::from(is_sum(index));
        }
        // An addend comes just before its sum, and the sums of a chain are consecutive. So of values that are
        // summed and then transformed, only those for the next sum are live.
        for &index in instructions.iter().rev() {
            let task = self.task[index as usize];
            let users = graph.users(index as usize).iter();
            let own = users.filter(|&&user| self.is_in(group, user as usize) && self.task[user as usize] == task);
            let before = |&user: &u32| self.digit[user as usize] - u32::from(is_sum(index) && is_sum(user));
            if let Some(first) = own.map(before).min() {
                self.digit[index as usize] = first;
            }
        }
    }

    /// A group's instructions in the order of their tasks, ignoring dependences; also sets each instruction's
    /// cluster.
    fn keyed(&mut self, instructions: &[u32], tasks: &[Task]) -> Vec<u32> {
        // Each task gets a range of keys per digit; there are at most as many digits as sums.
        let mut first = 0;
        let mut starts: Vec<u32> = Vec::with_capacity(tasks.len());
        for task in tasks {
            starts.push(first);
            first += task.load[UnitKind::Add as usize] + 1;
        }
        let mut steps = vec![0_u32; first as usize];
        let mut keys = Vec::with_capacity(instructions.len());
        for &index in instructions {
            let number = self.task[index as usize] as usize;
            let task = tasks[number];
            self.home[index as usize] = task.cluster as u16;
            let digit = self.digit[index as usize];
            let step = &mut steps[(starts[number] + digit) as usize];
            *step += 1;
            let turn = (TURN[0] * digit + TURN[1] * *step + task.cluster) % self.clusters;
            keys.push((task.half(), [task.round, task.depth, digit, *step, turn, index]));
        }
        keys.sort_unstable();
        keys.into_iter().map(|(_, [.., index])| index).collect()
    }

    /// Appends a group's instructions to `order` as `keyed`, subject to the dependences between the group's
    /// operations.
    fn append(&mut self, group: u32, keyed: &[u32], order: &mut Vec<u32>) {
        let graph = self.graph;
        let mut ready: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
        for (place, &index) in (0..).zip(keyed) {
            let makers = graph.distinct_operands(index as usize).iter().filter_map(|operand| operand.as_result());
            let count = makers.filter(|&maker| self.is_in(group, maker)).count() as u32;
            (self.place[index as usize], self.waits[index as usize]) = (place, count);
            if count == 0 {
                ready.push(Reverse(place));
            }
        }
        while let Some(Reverse(place)) = ready.pop() {
            cancel::check();
            let index = keyed[place as usize];
            order.push(index);
            // Instructions of later groups are not counted yet.
            for &user in graph.users(index as usize) {
                let Some(left) = self.waits[user as usize].checked_sub(1) else { continue };
                self.waits[user as usize] = left;
                if left == 0 {
                    ready.push(Reverse(self.place[user as usize]));
                }
            }
        }
    }

    /// The tasks of a group's instructions, by stage, limb and operation.
    fn tasks(&mut self, instructions: &[u32]) -> Vec<Task> {
        let graph = self.graph;
        let key_of = |this: &Self, index: u32| {
            let (limb, index) = (graph.function(index as usize).limb(), index as usize);
            (this.stage[index], this.source[index], limb, this.operation[index])
        };
        let mut keys: Vec<(u32, u32, u16, u32)> = instructions.iter().map(|&index| key_of(self, index)).collect();
        keys.sort_unstable();
        keys.dedup();
        let task = |key: &(u32, u32, u16, u32)| Task { key: *key, ..Task::default() };
        let mut tasks: Vec<Task> = keys.iter().map(task).collect();
        for &index in instructions {
            let key = key_of(self, index);
            let number = keys.partition_point(|&other| other < key);
            self.task[index as usize] = number as u32;
            tasks[number].load[graph.function(index as usize).unit() as usize] += 1;
            tasks[number].hinted |= reads_hint(graph, index as usize);
        }
        tasks
    }

    /// The instructions of every lane, if clusters divide evenly among the lanes.
    fn in_lanes(&self, members: &[u32], operations: &[Operation]) -> Vec<Vec<u32>> {
        let lanes = self.lanes(members, operations);
        let count = lanes.values().map(|&(lane, _)| lane + 1).max().unwrap_or(0);
        if count == 0 || !self.clusters.is_multiple_of(count) {
            return Vec::new();
        }
        let mut instructions = vec![Vec::new(); count as usize];
        for member in members {
            instructions[lanes[member].0 as usize].extend(operations[*member as usize].instructions.clone());
        }
        instructions
    }

    /// The lane of each of `members`, with the number of earlier operations in it. An operation is in the lane
    /// of the operation whose result it reads.
    fn lanes(&self, members: &[u32], operations: &[Operation]) -> HashMap<u32, (u32, u32)> {
        let mut lanes: HashMap<u32, (u32, u32)> = HashMap::with_capacity(members.len());
        let mut next = 0;
        for &member in members {
            let instructions = operations[member as usize].instructions.clone();
            let made = instructions.flat_map(|index| self.graph.operands(index as usize)).filter_map(|v| v.as_result());
            let makers = made.map(|result| self.operation[result]).filter(|&maker| maker != member);
            let (mut lane, mut depth) = (None, 0);
            for &(of, before) in makers.filter_map(|maker| lanes.get(&maker)) {
                lane = lane.or(Some(of));
                depth = depth.max(before + 1);
            }
            let lane = lane.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            lanes.insert(member, (lane, depth));
        }
        lanes
    }

    /// Assigns lanes without a common hint: a lane's work in a limb goes to the least busy cluster, and all
    /// lanes of a cluster are interleaved.
    fn deal_lanes(&self, tasks: &mut [Task], lanes: &HashMap<u32, (u32, u32)>) {
        let mut loads: BTreeMap<(u32, u32, u16), u64> = BTreeMap::new();
        for task in &*tasks {
            let (stage, _, limb, operation) = task.key;
            *loads.entry((stage, lanes[&operation].0, limb)).or_default() += task.cost();
        }
        let mut taken = vec![0; self.clusters as usize];
        let mut homes: BTreeMap<(u32, u32, u16), u32> = BTreeMap::new();
        for (&key, &load) in &loads {
            let cluster = (0..taken.len()).min_by_key(|&cluster| taken[cluster]).unwrap_or(0);
            taken[cluster] += load;
            homes.insert(key, cluster as u32);
        }
        for task in tasks {
            let (stage, _, limb, operation) = task.key;
            let (lane, depth) = lanes[&operation];
            (task.cluster, task.depth) = (homes[&(stage, lane, limb)], depth);
        }
    }

    /// Assigns tasks to clusters, stage by stage, in contiguous shares of equal load, by lane and then by limb.
    fn deal(&self, tasks: &mut [Task], lanes: &HashMap<u32, (u32, u32)>) {
        let by_lane = |(number, task): (usize, &Task)| {
            let (_, source, limb, operation) = task.key;
            ((task.half(), lanes[&operation].0, source, limb, operation), number)
        };
        let mut order: Vec<_> = tasks.iter().enumerate().map(by_lane).collect();
        order.sort_unstable();
        for half in order.chunk_by(|a, b| a.0.0 == b.0.0) {
            let total: u64 = half.iter().map(|&(_, number)| tasks[number].cost()).sum();
            let (mut before, mut cluster, mut round, mut last) = (0, 0, 0, None);
            for &((_, lane, source, limb, _), number) in half {
                let task = &mut tasks[number];
                let cost = task.cost();
                let share = ((before + cost / 2) * u64::from(self.clusters) / total).min(u64::from(self.clusters) - 1);
                before += cost;
                // The operations of a lane in one limb form one round, so that a chain stays with its values.
                let chain = (lane, source, limb);
                if share as u32 != cluster {
                    (cluster, round) = (share as u32, 0);
                } else if last.is_some_and(|last| last != chain) {
                    round += 1;
                }
                last = Some(chain);
                (task.cluster, task.round) = (cluster, round);
            }
        }
    }
}

/// The same program with its instructions in another order.
pub(super) fn reordered(translation: &Translation, order: &[u32]) -> Translation {
    let graph = &translation.graph;
    let mut builder = GraphBuilder::default();
    let leaves: Vec<Vector> = graph.leaves().iter().map(|&class| builder.leaf(class)).collect();
    let mut place: Vec<Option<Vector>> = vec![None; graph.len()];
    let moved = |place: &[Option<Vector>], vector: Vector| match (vector.as_leaf(), vector.as_result()) {
        (Some(leaf), _) => Some(leaves[leaf]),
        (None, Some(result)) => place[result],
        _ => None,
    };
    let mut origins = Vec::with_capacity(order.len());
    for &old in order {
        // The order respects dependences, so every operand has a position.
        let operands: Vec<Vector> =
            graph.operands(old as usize).iter().filter_map(|&operand| moved(&place, operand)).collect();
        place[old as usize] = Some(builder.push(graph.function(old as usize), &operands));
        origins.push(translation.origins[old as usize]);
    }
    for &output in graph.outputs() {
        if let Some(output) = moved(&place, output) {
            builder.output(output);
        }
    }
    let outputs = translation.outputs.iter().map(|output| {
        let limbs = output
            .limbs
            .iter()
            .map(|(limb, vectors)| (*limb, vectors.iter().filter_map(|&vector| moved(&place, vector)).collect()));
        super::translate::Output { limbs: limbs.collect(), ..output.clone() }
    });
    Translation {
        outputs: outputs.collect(),
        graph: builder.finish(),
        leaves: translation.leaves.clone(),
        moduli: translation.moduli.clone(),
        origins,
        numbers: order.iter().map(|&old| translation.numbers[old as usize]).collect(),
    }
}
