//! Assigns each step a level and its results buffers.
//!
//! A level has independent tasks that may run in parallel: one per limb, with all the level's steps on that limb in order, or one per base conversion. A limb stays cached from
//! one step to the next: a transform, its inner product, the final subtraction of a key switch. Steps go to the earliest possible level, within windows of a bounded number
//! of limbs, which bounds the memory.
//!
//! Buffers are shared by liveness. If the operation permits it, a result reuses the buffer of an operand that dies.

use super::Tuning;
use crate::rns::steps::{Place, Register, Step, StepKind, Steps};
use polyfabric_kernels::memory::NextUse;
use polyfabric_schemes::rns::LimbId;
use std::collections::{BTreeMap, HashSet};

/// A buffer of N words. The first ones are the outputs' limbs.
pub(super) type Slot = u32;

/// A step with its buffers.
#[derive(Debug)]
pub(super) struct Placed {
    /// Index into [`Steps::steps`].
    pub step: u32,
    /// Buffers of the results.
    pub results: Vec<Slot>,
    /// Buffers of the operands; `None` for inputs and plaintexts.
    pub operands: Vec<Option<Slot>>,
    /// For a [`StepKind::Forward`]: whether the first user of the result computes its last passes.
    pub open: bool,
    /// Operands from such a step: their last passes are computed here, region by region.
    pub finish: Vec<bool>,
    /// When the results are used next.
    pub next_use: NextUse,
    /// The words that a later step of the level reads first, to be prefetched.
    pub ahead: Option<Ahead>,
    /// For a [`StepKind::InnerProduct`]: whether it is computed together with the previous step.
    pub joined: bool,
}

/// N words that no step of this level writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    Slot(Slot),
    Input(u32, LimbId),
}

/// Sequential steps.
pub(super) type Task = Vec<Placed>;

/// Maximum inner products per group: the regions of their sums and the keys' words should fit the second-level cache.
const MOST_MEMBERS: usize = 32;

/// Tasks that may run in parallel.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub tasks: Vec<Task>,
}

/// The complete schedule.
#[derive(Debug)]
pub(super) struct ExecutionPlan {
    pub levels: Vec<Level>,
    /// Buffers beyond the outputs'.
    pub slots: usize,
}

/// The last use of a register, or its definition if it is unused.
#[derive(Clone, Copy, Debug)]
struct Life {
    last_level: usize,
    /// The step that is its last use.
    last_step: usize,
    /// Whether all uses in the last level are in one task.
    one_task: bool,
    last_task: LimbId,
}

fn is_conversion(step: &Step) -> bool {
    matches!(step.kind, StepKind::Convert { .. })
}

/// Whether a step of kind `kind` may overwrite operand `operand` with its result.
fn in_place(kind: &StepKind, operand: usize) -> bool {
    match kind {
        StepKind::Add | StepKind::Sub | StepKind::Multiply | StepKind::SubScale(_) => operand < 2,
        StepKind::MultiplyAdd => operand == 2,
        StepKind::Copy
        | StepKind::Negate
        | StepKind::Scale(_)
        | StepKind::AddConstant(..)
        | StepKind::Forward
        | StepKind::Inverse
        | StepKind::Weigh { .. } => operand == 0,
        _ => false,
    }
}

/// The level of each step: even for limbs, odd for conversions.
fn levels(steps: &Steps, window: usize) -> Vec<usize> {
    let mut defined: Vec<(usize, LimbId)> = vec![(0, LimbId(0)); steps.registers as usize];
    let (mut floor, mut top, mut fresh) = (0, 0, 0);
    let mut levels = Vec::with_capacity(steps.steps.len());
    for step in &steps.steps {
        let conversion = is_conversion(step);
        let mut level = floor + usize::from(conversion);
        for operand in &step.operands {
            let Place::Register(register) = *operand else { continue };
            let (of, limb) = defined[register as usize];
            let after = match (conversion, of % 2 == 1) {
                (true, true) => of + 2,
                (true, false) | (false, true) => of + 1,
                (false, false) if limb == step.limb => of,
                (false, false) => of + 2,
            };
            level = level.max(after);
        }
        step.results.iter().for_each(|&register| defined[register as usize] = (level, step.limb));
        levels.push(level);
        top = top.max(level);
        fresh += step.results.len();
        if fresh > window {
            (floor, fresh) = (top + top % 2, 0);
        }
    }
    levels
}

/// Moves products and sums of inputs from their earliest level to that of their first use, where they are still cached.
fn sink(steps: &Steps, levels: &mut [usize]) {
    let mut defined = vec![usize::MAX; steps.registers as usize];
    let mut uses = vec![0; steps.registers as usize];
    for (index, step) in steps.steps.iter().enumerate() {
        step.results.iter().for_each(|&register| defined[register as usize] = index);
        for operand in &step.operands {
            if let Place::Register(register) = *operand {
                uses[register as usize] += 1;
            }
        }
    }
    // Steps whose operands have no buffer, or one that nothing else needs.
    let mut sinks = vec![false; steps.steps.len()];
    for (index, step) in steps.steps.iter().enumerate() {
        let wordwise = matches!(
            step.kind,
            StepKind::Add
                | StepKind::Sub
                | StepKind::Negate
                | StepKind::Multiply
                | StepKind::MultiplyAdd
                | StepKind::Scale(_)
        );
        sinks[index] = wordwise
            && step.operands.iter().all(|operand| match *operand {
                Place::Register(register) => uses[register as usize] == 1 && sinks[defined[register as usize]],
                Place::Input(..) | Place::Plaintext(_) => true,
            });
    }
    let mut latest = vec![usize::MAX; steps.registers as usize];
    for (index, step) in steps.steps.iter().enumerate().rev() {
        if let (true, Some(level)) =
            (sinks[index], Some(latest[step.results[0] as usize]).filter(|&level| level != usize::MAX))
        {
            levels[index] = levels[index].max(level);
        }
        for operand in &step.operands {
            let Place::Register(register) = *operand else { continue };
            let limb = steps.steps[defined[register as usize]].limb;
            let before = match levels[index] {
                level if level % 2 == 1 => level - 1,
                level if limb == step.limb => level,
                level => level - 2,
            };
            let latest = &mut latest[register as usize];
            *latest = before.min(*latest);
        }
    }
}

/// Orders the steps of a task so that inner products of the same digits or with the same key are adjacent and read both once.
///
/// The inputs of a group come before all of it. A group has at most `most` sets of digits.
fn grouped(steps: &Steps, mut rest: Vec<usize>, most: usize) -> Vec<Vec<usize>> {
    let mut groups = Vec::with_capacity(rest.len());
    while let Some(&first) = rest.first() {
        if product_key(steps, first).is_none() {
            groups.push(vec![rest.remove(0)]);
            continue;
        }
        let members = group(steps, &rest, most);
        // Their inputs within this task, transitively.
        let mut needed: HashSet<Place> = HashSet::new();
        let before: HashSet<usize> = rest
            .iter()
            .rev()
            .copied()
            .filter(|index| {
                let step = &steps.steps[*index];
                let member = members.contains(index);
                let read = !member && step.results.iter().any(|&register| needed.contains(&Place::Register(register)));
                if member || read {
                    needed.extend(step.operands.iter().copied());
                }
                read
            })
            .collect();
        groups.extend(rest.iter().filter(|index| before.contains(index)).map(|&index| vec![index]));
        rest.retain(|index| !before.contains(index) && !members.contains(index));
        groups.push(members);
    }
    groups
}

/// The key of an inner product.
fn product_key(steps: &Steps, index: usize) -> Option<u32> {
    match steps.steps[index].kind {
        StepKind::InnerProduct { key, .. } => Some(key),
        _ => None,
    }
}

/// The inner products of `rest`, steps of a task, that are grouped with the first of them: none depends on another one's result. Those with one key are adjacent.
fn group(steps: &Steps, rest: &[usize], most: usize) -> Vec<usize> {
    let mut members: Vec<usize> = Vec::new();
    let (mut keys, mut sets): (Vec<u32>, Vec<&[Place]>) = (Vec::new(), Vec::new());
    // Dependents of a member.
    let mut after: HashSet<Place> = HashSet::new();
    for &index in rest {
        let step = &steps.steps[index];
        let independent = !step.operands.iter().any(|operand| after.contains(operand));
        if let (Some(key), true) = (product_key(steps, index), independent && members.len() < MOST_MEMBERS) {
            let digits = &step.operands[..];
            let known = sets.contains(&digits);
            // Sets share no register: transforms are finished set by set.
            let apart = || {
                let shared =
                    |place: &&Place| matches!(place, Place::Register(_)) && sets.iter().any(|set| set.contains(place));
                sets.len() < most && !digits.iter().any(|place| shared(&place))
            };
            if members.is_empty() || known || keys.contains(&key) && apart() {
                members.push(index);
                if !known {
                    sets.push(digits);
                }
                if !keys.contains(&key) {
                    keys.push(key);
                }
                after.extend(step.results.iter().map(|&register| Place::Register(register)));
                continue;
            }
        }
        if !independent {
            after.extend(step.results.iter().map(|&register| Place::Register(register)));
        }
    }
    let place = |key| keys.iter().position(|&other| Some(other) == key);
    members.sort_by_key(|&index| place(product_key(steps, index)));
    members
}

fn lives(steps: &Steps, levels: &[usize], order: &[usize]) -> Vec<Life> {
    let none = Life { last_level: 0, last_step: usize::MAX, one_task: true, last_task: LimbId(0) };
    let mut lives = vec![none; steps.registers as usize];
    for &index in order {
        let (step, level) = (&steps.steps[index], levels[index]);
        for &register in &step.results {
            lives[register as usize] = Life { last_level: level, last_task: step.limb, ..none };
        }
        for operand in &step.operands {
            let Place::Register(register) = *operand else { continue };
            let life = &mut lives[register as usize];
            let unused = life.last_step == usize::MAX;
            if unused || level > life.last_level {
                (life.last_level, life.last_task, life.one_task) = (level, step.limb, true);
            } else if level == life.last_level && step.limb != life.last_task {
                life.one_task = false;
            }
            if level == life.last_level {
                life.last_step = index;
            }
        }
    }
    lives
}

/// For each step, whether it is a transform that its first user finishes.
///
/// The user must be in the same task, so that nothing comes in between, work region by region, and use the operand once.
fn open_transforms(steps: &Steps, levels: &[usize], order: &[usize]) -> Vec<bool> {
    let mut first: Vec<Option<usize>> = vec![None; steps.registers as usize];
    for &index in order {
        for operand in &steps.steps[index].operands {
            if let Place::Register(register) = *operand {
                first[register as usize].get_or_insert(index);
            }
        }
    }
    let is_open = |(index, step): (usize, &Step)| {
        let register = step.results[0];
        let Some(user) = first[register as usize] else { return false };
        if !matches!(step.kind, StepKind::Forward) || levels[user] != levels[index] {
            return false;
        }
        let user = &steps.steps[user];
        let mut places = user.operands.iter().enumerate().filter(|&(_, &place)| place == Place::Register(register));
        match (&user.kind, places.next(), places.next()) {
            (StepKind::InnerProduct { .. }, Some(_), None) => true,
            (StepKind::SubScale(_), Some((place, _)), None) => place == 1,
            _ => false,
        }
    };
    steps.steps.iter().enumerate().map(is_open).collect()
}

/// For each step whether none of its results is used in its own level.
fn used_late(steps: &Steps, levels: &[usize]) -> Vec<bool> {
    let mut soon = vec![false; steps.steps.len()];
    let mut defined = vec![0; steps.registers as usize];
    for (index, step) in steps.steps.iter().enumerate() {
        step.results.iter().for_each(|&register| defined[register as usize] = index);
        for operand in &step.operands {
            if let Place::Register(register) = *operand {
                let definition = defined[register as usize];
                soon[definition] |= levels[definition] == levels[index];
            }
        }
    }
    soon.into_iter().map(|soon| !soon).collect()
}

/// Assigns prefetches of the first inputs of later steps in the level to steps that are not memory-bound: one buffer each, and not across steps that would evict it again.
fn fetch_ahead<'a>(steps: &Steps, level: impl Iterator<Item = &'a mut Placed>) {
    let mut written = HashSet::new();
    let mut carriers: Vec<&mut Placed> = Vec::new();
    for placed in level {
        let step = &steps.steps[placed.step as usize];
        let reads = match step.kind {
            StepKind::Forward | StepKind::Inverse => &step.operands[..1],
            // The minuend is read region by region.
            StepKind::SubScale(_) => &[],
            StepKind::InnerProduct { .. } | StepKind::Convert { .. } => {
                carriers.clear();
                &[]
            }
            _ => &step.operands[..],
        };
        for (operand, place) in reads.iter().enumerate() {
            let ahead = match (*place, placed.operands[operand]) {
                (Place::Register(_), Some(slot)) if !written.contains(&slot) => Ahead::Slot(slot),
                (Place::Input(input, limb), _) => Ahead::Input(input, limb),
                _ => continue,
            };
            if let Some(carrier) = carriers.pop() {
                carrier.ahead = Some(ahead);
            }
        }
        written.extend(placed.results.iter().copied());
        if placed.open || placed.finish.contains(&true) && matches!(step.kind, StepKind::SubScale(_)) {
            carriers.push(placed);
        }
    }
}

/// Allocates buffers.
#[derive(Default)]
struct Buffers {
    /// Free for any task.
    free: Vec<Slot>,
    /// Free for the current task.
    local: Vec<Slot>,
    /// Free for the current task after the current group.
    freed: Vec<Slot>,
    /// Free after this level.
    later: Vec<Slot>,
    next: Slot,
}

impl Buffers {
    fn take(&mut self) -> Slot {
        self.local.pop().or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl ExecutionPlan {
    /// Schedules `steps`; `parallel` if the tasks of a level may run simultaneously.
    pub(super) fn new(steps: &Steps, tuning: Tuning, parallel: bool) -> Self {
        let mut levels_of = levels(steps, tuning.window);
        sink(steps, &mut levels_of);
        let late = used_late(steps, &levels_of);
        let outputs: Vec<Register> = steps.outputs.iter().flatten().copied().collect();
        let mut slots: Vec<Option<Slot>> = vec![None; steps.registers as usize];
        let mut is_output = vec![false; steps.registers as usize];
        for (slot, &register) in outputs.iter().enumerate() {
            slots[register as usize] = Some(slot as Slot);
            is_output[register as usize] = true;
        }
        // Registers with an unfinished transform.
        let mut unfinished = vec![false; steps.registers as usize];
        let mut order: Vec<BTreeMap<(LimbId, usize), Vec<usize>>> =
            vec![BTreeMap::new(); levels_of.iter().max().map_or(0, |&top| top + 1)];
        for (index, (step, &level)) in steps.steps.iter().zip(&levels_of).enumerate() {
            // Each conversion is a separate task, in program order.
            let task = (step.limb, if is_conversion(step) { index } else { 0 });
            order[level].entry(task).or_default().push(index);
        }
        let order: Vec<Vec<Vec<Vec<usize>>>> = order
            .into_iter()
            .map(|tasks| tasks.into_values().map(|indices| grouped(steps, indices, tuning.digit_sets)).collect())
            .collect();
        let flat: Vec<usize> = order.iter().flatten().flatten().flatten().copied().collect();
        let lives = lives(steps, &levels_of, &flat);
        let open = open_transforms(steps, &levels_of, &flat);
        let mut buffers = Buffers { next: outputs.len() as Slot, ..Buffers::default() };
        let mut levels = Vec::new();
        for tasks in order {
            let mut level = Level::default();
            for groups in tasks {
                let mut task = Task::new();
                for group in groups {
                    for (number, index) in group.into_iter().enumerate() {
                        let step = &steps.steps[index];
                        let mut placed = place(steps, &lives, &is_output, &mut slots, &mut buffers, index);
                        let finished = |operand: &Place| match *operand {
                            Place::Register(register) => std::mem::take(&mut unfinished[register as usize]),
                            _ => false,
                        };
                        placed.finish = step.operands.iter().map(finished).collect();
                        placed.open = open[index];
                        placed.joined = number > 0;
                        if late[index] {
                            placed.next_use = NextUse::Late;
                        }
                        unfinished[step.results[0] as usize] = open[index];
                        task.push(placed);
                    }
                    // Steps of a group run simultaneously.
                    let freed = std::mem::take(&mut buffers.freed);
                    buffers.local.extend(freed);
                }
                level.tasks.push(task);
                let local = std::mem::take(&mut buffers.local);
                if parallel { buffers.later.extend(local) } else { buffers.free.extend(local) }
            }
            let later = std::mem::take(&mut buffers.later);
            buffers.free.extend(later);
            if !level.tasks.is_empty() {
                levels.push(level);
            }
        }
        for level in &mut levels {
            if parallel {
                level.tasks.iter_mut().for_each(|task| fetch_ahead(steps, task.iter_mut()));
            } else {
                fetch_ahead(steps, level.tasks.iter_mut().flatten());
            }
        }
        if (buffers.next as usize) < tuning.spilling {
            levels
                .iter_mut()
                .flat_map(|level| &mut level.tasks)
                .flatten()
                .for_each(|placed| placed.next_use = NextUse::Soon);
        }
        Self { levels, slots: buffers.next as usize - outputs.len() }
    }

    /// Number of key limbs read, where each group reads a key once.
    pub(super) fn key_limbs_read(&self, steps: &Steps) -> usize {
        let key = |placed: &Placed| product_key(steps, placed.step as usize);
        let tasks = self.levels.iter().flat_map(|level| &level.tasks);
        // In a group, products with one key are adjacent.
        let runs = tasks.map(|task| {
            let starts = |index: usize| !task[index].joined || key(&task[index]) != key(&task[index - 1]);
            (0..task.len()).filter(|&index| key(&task[index]).is_some() && starts(index)).count()
        });
        runs.sum()
    }
}

/// Assigns the buffers of step `index`.
fn place(
    steps: &Steps,
    lives: &[Life],
    is_output: &[bool],
    slots: &mut [Option<Slot>],
    buffers: &mut Buffers,
    index: usize,
) -> Placed {
    let step = &steps.steps[index];
    let slot_of = |operand: &Place| match *operand {
        Place::Register(register) => slots[register as usize],
        _ => None,
    };
    let operands: Vec<Option<Slot>> = step.operands.iter().map(slot_of).collect();
    // Operands that die here, without repetition.
    let mut dying: Vec<(usize, Register)> = Vec::new();
    for (position, operand) in step.operands.iter().enumerate() {
        if let Place::Register(register) = *operand
            && lives[register as usize].last_step == index
            && !is_output[register as usize]
            && !dying.iter().any(|&(_, other)| other == register)
        {
            dying.push((position, register));
        }
    }
    if matches!(step.kind, StepKind::SubScale(_)) {
        // The subtrahend was just computed and is cached.
        dying.reverse();
    }
    let conversion = is_conversion(step);
    let mut results = Vec::new();
    for &register in &step.results {
        let slot = slots[register as usize].unwrap_or_else(|| {
            let reusable = dying.iter().position(|&(position, register)| {
                let once = step.operands.iter().filter(|&&operand| operand == Place::Register(register)).count() == 1;
                lives[register as usize].one_task && once && in_place(&step.kind, position)
            });
            match reusable {
                Some(found) => {
                    let (position, _) = dying.swap_remove(found);
                    operands[position].unwrap_or_else(|| buffers.take())
                }
                None => buffers.take(),
            }
        });
        slots[register as usize] = Some(slot);
        results.push(slot);
    }
    for (_, register) in dying {
        if let Some(slot) = slots[register as usize] {
            // A conversion may run in parallel with others of its level.
            if lives[register as usize].one_task && !conversion {
                buffers.freed.push(slot);
            } else {
                buffers.later.push(slot);
            }
        }
    }
    for &register in &step.results {
        let unused = lives[register as usize].last_step == usize::MAX;
        if let (true, false, Some(slot)) = (unused, is_output[register as usize], slots[register as usize]) {
            if conversion { buffers.later.push(slot) } else { buffers.freed.push(slot) }
        }
    }
    Placed {
        step: index as u32,
        results,
        operands,
        open: false,
        finish: Vec::new(),
        next_use: NextUse::Soon,
        ahead: None,
        joined: false,
    }
}
