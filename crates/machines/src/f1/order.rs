//! Phase 1: the order of homomorphic operations, of the instructions of each, and the cluster of each (section 4.2).
//!
//! Homomorphic operations that are independent and use the same hint form a group; groups are list-scheduled, the one with the operation
//! that stands first in the program first: what is begun is finished before more is begun. A group with fewer operations than
//! there is room for lets full groups go first, and wider ones. What uses no hint joins the group that it follows.
//!
//! Within a group instructions are cut into stages, between which values change limbs (a digit that is lifted to every other
//! limb), as late as the group allows. In a stage, what one operation does in one limb is a task: it holds a few vectors and reads the
//! hint's vectors of that limb. What lifts a digit of several limbs to others is a stage of its own, and a cluster does the limbs of a digit one
//! behind the other (`lift.rs`). What reads the hint comes first in a stage, and is dealt out by itself. Operations that read each other's results are a lane. Tasks are dealt out lane by lane in contiguous
//! shares of equal load, so that clusters take the same limb of different operations at the same time, and a vector of the hint that
//! comes to one of them is passed on to the others. Whose turn it is to take it from the scratchpad changes from vector to vector.
//! Without a hint there is nothing to share, and what matters is that lanes stay in their clusters and go side by side, so that one
//! works while another waits for a unit's latency.

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

/// Polynomials of a limb that an operation of a group holds on chip, about: inputs, digits, sums of both parts. What is lifted from several limbs is
/// held beside them.
const HELD: usize = 6;

/// The same where all clusters do the same at once, limb by limb: a result takes the place of what it is made of.
const HELD_IN_STEP: usize = 4;

/// Clusters by which the turn to go first moves with each digit and with each instruction of a digit: odd numbers, so that all clusters
/// have theirs.
const TURN: [u32; 2] = [5, 3];

/// Operations that use one hint in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The hint.
    pub hint: Option<KeyId>,
    /// Homomorphic operations.
    pub operations: usize,
    /// Its instructions.
    pub instructions: u32,
}

/// How far ahead of its turn an instruction comes, in this order and in phase 2. Results that are early wait in registers or take a port twice;
/// those that are late are waited for. Which costs more nobody knows before phase 3. The shares of [`Pace::Close`] were found by trial on a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// By its reader's pipeline, if that is long.
    Early,
    /// By half of it, and by a quarter of a vector if it is short; phase 2 looks half as far ahead.
    Close,
}

/// A program in order.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// The program, its instructions in order of priority.
    pub translation: Translation,
    /// The cluster of every instruction.
    pub home: Vec<u16>,
    /// The groups, in order.
    pub groups: Vec<Group>,
    /// Groups in a row whose operations are equal and as many as there are clusters.
    pub runs: Vec<Run>,
    /// How far ahead of their turns instructions come.
    pub pace: Pace,
}

/// A homomorphic operation: instructions that stand together in the translation.
struct Operation {
    instructions: Range<u32>,
    hint: Option<KeyId>,
    limbs: usize,
    /// Digits that are lifted from several limbs each: all of them wait for the hint.
    digits: usize,
    /// Operations that read its results.
    readers: Vec<u32>,
    /// Operations that it waits for.
    waits: u32,
}

/// How many operations that share a hint are a group, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// As many as there is room for, one for each cluster.
    Full,
    /// Of those so many that clusters share them evenly: fewer use the hint at a time, and no cluster has more to do than another.
    Even,
    /// The same of as many as there is room for if they go in step, beside a hint that comes and goes.
    InStep,
}

/// Orders `translation` for `machine`, with groups as wide as there is room for.
pub fn order(translation: Translation, machine: &F1, geometry: &Geometry) -> Ordered {
    let sources = sources_of(&translation);
    let (operations, groups) = grouped(&translation, &sources, Width::Full, machine, geometry);
    arranged(&translation, &sources, &operations, &groups, machine)
}

/// The orders in which a program is tried: groups as wide as there is room for, and, where these are others and the program has at most
/// so many instructions as are `tried`, groups that clusters share evenly, with instructions close to their turns, and wider ones whose operations can go in step. Which is better nobody
/// knows before phase 3: narrow groups spill less and load hints more often.
pub fn orders(translation: Translation, tried: usize, machine: &F1, geometry: &Geometry) -> (Ordered, Vec<Ordered>) {
    let sources = sources_of(&translation);
    let (operations, full) = grouped(&translation, &sources, Width::Full, machine, geometry);
    let first = arranged(&translation, &sources, &operations, &full, machine);
    let mut others = Vec::new();
    if translation.graph.len() <= tried {
        let (operations, even) = grouped(&translation, &sources, Width::Even, machine, geometry);
        if even != full {
            let ordered = arranged(&translation, &sources, &operations, &even, machine);
            // What goes in step has its own rules of when it begins.
            let pace = if ordered.runs.is_empty() { Pace::Close } else { Pace::Early };
            others.push(Ordered { pace, ..ordered });
        }
        let (operations, in_step) = grouped(&translation, &sources, Width::InStep, machine, geometry);
        if ![&full, &even].contains(&&in_step) {
            let ordered = arranged(&translation, &sources, &operations, &in_step, machine);
            // Where it is for a small part of the program it is not worth a third schedule.
            let in_step = ordered.runs.iter().map(Run::instructions).sum::<usize>();
            others.extend((2 * in_step >= translation.graph.len()).then_some(ordered));
        }
    }
    (first, others)
}

/// Operations, and the groups of their numbers.
type Grouped = (Vec<Operation>, Vec<Vec<u32>>);

/// Of each instruction what it lifts.
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

/// Where each instruction stands in `order`.
pub(super) fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &index) in (0..).zip(order) {
        places[index as usize] = place;
    }
    places
}

/// The homomorphic operations, and how they depend on each other.
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
        // As many as two thirds of the scratchpad hold, or all of it if they go in step; one for each cluster, if they share a hint.
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
        // The first in the program, unless it would use its hint for few: then one that is full or without a hint, or the widest.
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
        // What follows without a hint of its own joins.
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
    /// Changes of limb or source until the group's end; then the stage.
    stage: Vec<u32>,
    /// What an instruction lifts from several limbs, or [`NONE`] ([`sources`]).
    source: Vec<u32>,
    /// Place in the order of a task.
    digit: Vec<u32>,
    /// The group of every operation that is in one.
    group: Vec<u32>,
    /// The task of every instruction, by its number in its group.
    task: Vec<u32>,
    /// Operands from its group that an instruction waits for.
    waits: Vec<u32>,
    /// Its place in its group by its key alone.
    place: Vec<u32>,
    home: Vec<u16>,
    clusters: u32,
}

/// Work of one operation in one limb, in one stage.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    /// Stage, source, limb and operation.
    key: (u32, u32, u16, u32),
    /// Instructions by kind of unit.
    load: [u32; 4],
    cluster: u32,
    /// Place among the cluster's tasks of the stage.
    round: u32,
    /// Operations before it in its lane.
    depth: u32,
    /// Whether it reads a hint.
    hinted: bool,
}

impl Task {
    /// Its half of a stage: what reads the hint comes first, and is dealt out by itself, so that each operation has as many clusters for it
    /// as another one and those that want the same vector want it at the same time. What else there is to do differs from operation to operation.
    fn half(&self) -> (u32, bool) {
        (self.key.0, !self.hinted)
    }

    /// Vectors that its busiest unit takes.
    fn cost(&self) -> u64 {
        let [ntt, automorphism, multiply, add] = self.load;
        u64::from(ntt.max(automorphism).max(multiply.div_ceil(2)).max(add.div_ceil(2)).max(1))
    }
}

impl Arranger<'_> {
    /// Appends the instructions of the operations `members`, the group of this number, to `order`.
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

    /// Whether an instruction is of an operation of that group.
    fn is_in(&self, group: u32, index: usize) -> bool {
        self.group[self.operation[index] as usize] == group
    }

    /// The stage of each of a group's instructions: as late as what follows allows.
    fn cut_into_stages(&mut self, group: u32, instructions: &[u32]) {
        let graph = self.graph;
        // Backwards: how many changes of limb or source follow in this group.
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

    /// The digit of each of a group's instructions, which are in tasks: its place along the chain of sums of its task.
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
        // What is summed up comes just before its sum, and the sums of a chain one behind the other: of what is summed up first and transformed
        // then, no more waits than the next sum wants.
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

    /// A group's instructions by the order that their tasks want, dependencies apart. Each has its task's cluster then.
    fn keyed(&mut self, instructions: &[u32], tasks: &[Task]) -> Vec<u32> {
        // Of each task's instructions of a digit, so many have a key: there are no more digits than sums.
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

    /// Appends a group's instructions to `order` as they are `keyed`, as far as the dependencies between operations of the group allow.
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
            // Those of later groups wait for nobody yet.
            for &user in graph.users(index as usize) {
                let Some(left) = self.waits[user as usize].checked_sub(1) else { continue };
                self.waits[user as usize] = left;
                if left == 0 {
                    ready.push(Reverse(self.place[user as usize]));
                }
            }
        }
    }

    /// The tasks of a group's instructions, in the order in which they are dealt out: by stage, limb and operation.
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

    /// The instructions of every lane, if clusters can be dealt out to them evenly.
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

    /// The lane of every operation in `members`, and how many operations are before it there: what reads another one's result is in the
    /// lane of that one.
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

    /// Without a hint to share: what a lane does in a limb goes to the cluster that has least to do, all lanes of a cluster side by side.
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

    /// Gives every task its cluster, stage by stage: contiguous shares of equal load, lane by lane and in each limb by limb.
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
                // What the operations of a lane do in a limb is one round: a chain goes on where its values are.
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
        // The order follows the dependencies, so every operand has its place.
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
