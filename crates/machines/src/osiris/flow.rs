//! Properties of tasks that do not depend on the schedule: operands, results, units, and the longest path to
//! the program's end.

use super::layout::{Cycle, Free, Layout, Planner};
use super::tasks::{MapError, Residue, Task, Tasks};
use polyfabric_sim::schedule::Mode;
use std::collections::HashMap;

/// Number of the next tasks in program order that the scheduler considers.
pub const WINDOW: usize = 1024;

/// Concatenated lists of residues.
#[derive(Debug, Default)]
struct Lists {
    residues: Vec<Residue>,
    /// End of each list.
    ends: Vec<usize>,
}

impl Lists {
    fn of(lists: impl Iterator<Item = Vec<Residue>>) -> Self {
        let mut all = Self::default();
        for list in lists {
            all.residues.extend(list);
            all.ends.push(all.residues.len());
        }
        all
    }

    fn get(&self, index: usize) -> &[Residue] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.residues[start..self.ends[index]]
    }
}

/// A unit that a task uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Passed {
    /// Index of the unit.
    unit: usize,
    /// Mode of the unit.
    mode: Option<Mode>,
    /// Cycles from the task's start to its first tile in the unit; negative for masks, which are generated
    /// ahead.
    enters: Cycle,
    /// Latency of the first tile in the unit.
    latency: Cycle,
}

/// The units that a kind of task uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Units of each alternative.
    ways: Vec<Vec<Passed>>,
    /// Duration of the last unit, the same in all alternatives.
    cycles: Cycle,
}

impl Form {
    /// The first cycle in which `free` units ([`Layout::units`]) allow such a task to start, and the duration
    /// of its last unit.
    pub fn units(&self, free: &[Free]) -> (Cycle, Cycle) {
        (self.ways.iter().map(|way| begin(way, free)).min().unwrap_or(0), self.cycles)
    }
}

/// Dependences between tasks.
#[derive(Debug)]
pub struct Flow {
    operands: Lists,
    results: Lists,
    /// By task, the index of its form.
    pub forms: Vec<usize>,
    pub by_form: Vec<Form>,
    /// By task, the longest path to the program's end, with unlimited units and instant memory.
    pub ways: Vec<Cycle>,
    /// By task, the number of live limbs in program order.
    pub live: Vec<usize>,
}

impl Flow {
    /// From `tasks`; `planner` lays them out.
    pub fn of(tasks: &Tasks, planner: &Planner<'_>) -> Result<Self, MapError> {
        let operands = Lists::of(tasks.tasks.iter().map(|task| task.kernel.operands()));
        let results = Lists::of(tasks.tasks.iter().map(|task| task.kernel.results()));
        let (mut known, mut by_form) = (HashMap::<Form, usize>::new(), Vec::new());
        let last = last_readers(tasks, &operands);
        let mut in_place = Vec::with_capacity(tasks.tasks.len());
        let mut form = |task: &Task| {
            let layouts = planner.layouts(task)?;
            let span = layouts.first().map_or((0, 0), Layout::span);
            let number = Some(in_place.len());
            let pairs = |layout: &Layout| layout.in_place(|operand| last[operand.0 as usize] == number).len();
            let first = layouts.first().filter(|_| planner.machine.sums_in_place);
            in_place.push(first.map_or(0, pairs));
            let own = Form { ways: layouts.iter().map(passed).collect(), cycles: span.1 };
            let number = *known.entry(own).or_insert_with_key(|form| {
                by_form.push(form.clone());
                by_form.len() - 1
            });
            Ok::<_, MapError>((number, span))
        };
        let formed: Vec<(usize, (Cycle, Cycle))> = tasks.tasks.iter().map(&mut form).collect::<Result<_, _>>()?;
        let forms = formed.iter().map(|&(form, _)| form).collect();
        let spans = formed.into_iter().map(|(_, span)| span).collect();
        let mut flow = Self { operands, results, forms, by_form, ways: Vec::new(), live: Vec::new() };
        flow.ways = flow.longest(spans, tasks.leaves.len());
        flow.live = flow.in_order(tasks, &in_place);
        Ok(flow)
    }

    /// Limbs that task `number` reads from the scratchpads, without duplicates.
    pub fn operands(&self, number: usize) -> &[Residue] {
        self.operands.get(number)
    }

    pub fn results(&self, number: usize) -> &[Residue] {
        self.results.get(number)
    }

    /// Maximum number of live limbs in program order.
    pub fn most_live(&self) -> usize {
        self.live.iter().copied().max().unwrap_or(0)
    }

    /// By task, the longest path to the program's end; `spans` are the tasks' latencies and durations.
    fn longest(&self, spans: Vec<(Cycle, Cycle)>, residues: usize) -> Vec<Cycle> {
        let mut behind: Vec<Cycle> = vec![0; residues];
        let mut ways = spans;
        for (number, way) in ways.iter_mut().enumerate().rev() {
            let results = self.results(number).iter();
            let longest = results.map(|result| behind[result.0 as usize]).fold(way.1, Cycle::max);
            way.0 += longest;
            for operand in self.operands(number) {
                let behind = &mut behind[operand.0 as usize];
                *behind = (*behind).max(way.0);
            }
        }
        ways.into_iter().map(|(way, _)| way).collect()
    }

    /// By task, the number of live limbs in program order; `in_place` is the number of operands that a task
    /// overwrites. A limb that is also off chip is live only from one use to the next.
    fn in_order(&self, tasks: &Tasks, in_place: &[usize]) -> Vec<usize> {
        let count = tasks.tasks.len();
        let mut last: Vec<Option<usize>> = vec![None; tasks.leaves.len()];
        // Differences of the live count, in program order.
        let mut change = vec![0i64; count + 2];
        let mut hold = |from: usize, to: usize| {
            change[from] += 1;
            change[to + 1] -= 1;
        };
        for number in 0..count {
            for residue in self.operands(number).iter().chain(self.results(number)) {
                let index = residue.0 as usize;
                match last[index].replace(number) {
                    Some(before) if before == number => {}
                    Some(before) if tasks.leaves[index].is_none() || number - before < WINDOW => {
                        hold(before + 1, number);
                    }
                    _ => hold(number, number),
                }
            }
        }
        let mut sum = 0;
        let running = change.iter().zip(in_place).map(|(more, &in_place)| {
            sum += more;
            sum as usize - in_place
        });
        running.collect()
    }
}

/// By residue, the last task that reads it; `None` for the program's outputs, whose places are never free.
fn last_readers(tasks: &Tasks, operands: &Lists) -> Vec<Option<usize>> {
    let mut last = vec![None; tasks.leaves.len()];
    for number in 0..tasks.tasks.len() {
        operands.get(number).iter().for_each(|operand| last[operand.0 as usize] = Some(number));
    }
    tasks.outputs.iter().flatten().for_each(|(_, residue)| last[residue.0 as usize] = None);
    last
}

/// The units that an alternative uses, without duplicates. If it uses one twice, the earliest entry counts.
fn passed(layout: &Layout) -> Vec<Passed> {
    let mut units: Vec<Passed> = Vec::new();
    for segment in &layout.segments {
        let (unit, mode, latency) = (segment.resource.0 as usize, segment.mode, segment.latency);
        let passed = Passed { unit, mode, enters: segment.offset, latency };
        match units.iter_mut().find(|known| known.unit == unit) {
            Some(known) => known.enters = known.enters.min(passed.enters),
            None => units.push(passed),
        }
    }
    units
}

/// The first cycle in which a task that uses these units may start.
fn begin(way: &[Passed], free: &[Free]) -> Cycle {
    way.iter()
        .fold(0, |start, &Passed { unit, mode, enters, latency }| start.max(free[unit].begin(mode, latency) - enters))
}
