//! What a schedule goes by and no decision of it changes: what tasks read and give, the units that they pass, and how long the way to the end is.

use super::layout::{Cycle, Free, Layout, Planner};
use super::tasks::{MapError, Residue, Task, Tasks};
use crate::engine::schedule::Mode;
use std::collections::HashMap;

/// Tasks in the order of the program among which the next is chosen.
pub const WINDOW: usize = 1024;

/// Lists of residues, one behind the other.
#[derive(Debug, Default)]
struct Lists {
    residues: Vec<Residue>,
    /// Where each ends.
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

/// A unit that is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Passed {
    /// Its number.
    unit: usize,
    /// How it is set up.
    mode: Option<Mode>,
    /// Cycles from the task's start until the first tile enters it; less than none of what is drawn ahead.
    enters: Cycle,
    /// Cycles until that is through.
    latency: Cycle,
}

/// The units of a kind of task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Of each way to do it.
    ways: Vec<Vec<Passed>>,
    /// Cycles of the last one, which are the same of all ways.
    cycles: Cycle,
}

impl Form {
    /// The first cycle in which such a task may begin, as far as units go that are `free` ([`Layout::units`]), and cycles of its last one.
    pub fn units(&self, free: &[Free]) -> (Cycle, Cycle) {
        (self.ways.iter().map(|way| begin(way, free)).min().unwrap_or(0), self.cycles)
    }
}

/// Tasks as they depend on each other.
#[derive(Debug)]
pub struct Flow {
    operands: Lists,
    results: Lists,
    /// By task: the number of its form.
    pub forms: Vec<usize>,
    /// Every form.
    pub by_form: Vec<Form>,
    /// By task: the cycles from its begin to the program's end, if units were never busy and memory took no time.
    pub ways: Vec<Cycle>,
    /// By task: limbs that are of use while it is done, if tasks come in the order of the program.
    pub live: Vec<usize>,
}

impl Flow {
    /// Of `tasks`, laid out by `planner`.
    ///
    /// # Errors
    /// [`MapError`] if no unit can do a task.
    pub fn of(tasks: &Tasks, planner: &Planner<'_>) -> Result<Self, MapError> {
        let operands = Lists::of(tasks.tasks.iter().map(|task| task.kernel.operands()));
        let results = Lists::of(tasks.tasks.iter().map(|task| task.kernel.results()));
        let (mut known, mut by_form) = (HashMap::<Form, usize>::new(), Vec::new());
        let mut form = |task: &Task| {
            let layouts = planner.layouts(task)?;
            let span = layouts.first().map_or((0, 0), Layout::span);
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
        flow.live = flow.in_order(tasks);
        Ok(flow)
    }

    /// What task `number` reads from the scratchpads, each limb once.
    pub fn operands(&self, number: usize) -> &[Residue] {
        self.operands.get(number)
    }

    /// What task `number` computes.
    pub fn results(&self, number: usize) -> &[Residue] {
        self.results.get(number)
    }

    /// The most limbs that are of use at once, if tasks come in the order of the program.
    pub fn most_live(&self) -> usize {
        self.live.iter().copied().max().unwrap_or(0)
    }

    /// Of every task the cycles from its begin to the program's end; `spans` are their own.
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

    /// By task: limbs that are of use while it is done, if tasks come in the order of the program. A limb that lies in memory anyway is so only from
    /// one use to the next.
    fn in_order(&self, tasks: &Tasks) -> Vec<usize> {
        let count = tasks.tasks.len();
        let mut last: Vec<Option<usize>> = vec![None; tasks.leaves.len()];
        // Where each begins and ends to be of use, one behind.
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
        let running = change.iter().take(count).map(|more| {
            sum += more;
            sum as usize
        });
        running.collect()
    }
}

/// The units that a way passes, each once: what is first to enter one that is passed more than once has to wait for it.
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

/// The first cycle in which a task may begin that passes those units.
fn begin(way: &[Passed], free: &[Free]) -> Cycle {
    way.iter()
        .fold(0, |start, &Passed { unit, mode, enters, latency }| start.max(free[unit].begin(mode, latency) - enters))
}
