//! Lockstep runs: phase 3 for equal operations in all clusters at once.
//!
//! If as many equal operations share a hint as there are clusters, each cluster executes one, in lockstep, and
//! every hint vector is read once for all. With half or a quarter as many operations, several clusters share
//! each operation (`columns`), and all clusters of a column are in lockstep. Alternatively each cluster
//! processes one limb of two operations (`place::abreast`). One schedule serves all clusters of a column, so it
//! can use methods that are too slow for the list scheduler. Units start on a beat that avoids register bank
//! conflicts (`stagger`). An instruction is placed together with its immediate successors, in any gap
//! (`place`). Registers are allocated to intervals of time (`reserve`). The next row's transforms fill gaps of
//! the current row. The shortest of several schedules wins.

mod columns;
mod given;
mod pattern;
mod place;
mod reserve;
mod residence;
mod search;
mod stagger;

use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry};
use given::{Given, Ready};
use pattern::{Pattern, Values};
use place::{place, place_by_limb};
use search::Search;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

pub use columns::Columns;
pub use pattern::Operand;
pub use place::{From, LiveRange, Move, Placed, Spread};

/// Approximate number of instructions with which a choice is compared.
const TRIED: usize = 1500;

/// Number of placements to try per program in the search: one or two seconds.
const EFFORT: u64 = 8_000_000;

/// Equal operations, one per cluster of a column.
#[derive(Clone, Debug)]
pub struct Row {
    /// For each operation, its instructions in the pattern's order.
    pub instructions: Vec<Vec<u32>>,
    /// For each operation, its operands from outside in the pattern's order.
    pub outside: Vec<Vec<u32>>,
}

/// Consecutive rows of equal operations with one hint.
#[derive(Clone, Debug)]
pub struct Run {
    pattern: Pattern,
    pub columns: Columns,
    /// Whether each result is used outside its operation.
    leaves: Vec<bool>,
    ready: Vec<Vec<Ready>>,
    /// The hint vectors, in the pattern's order.
    pub hint: Vec<u32>,
    /// In order.
    pub rows: Vec<Row>,
}

/// The schedule of a run.
pub struct Plan {
    pub placed: Placed,
    /// The register of each live range.
    pub registers: Vec<u16>,
}

/// A run with a schedule.
pub struct Planned<'a> {
    pub run: Cow<'a, Run>,
    /// Several runs may share a schedule.
    pub plan: Rc<Plan>,
}

/// The schedules of `runs`, in each alternative worth trying. The first has the shortest schedule of every
/// run. If some of these are by limb, another has the schedules by operation, as the scratchpad may fail to
/// serve either. The search runs once per kind of run.
pub fn planned<'a>(runs: &'a [Run], machine: &F1, geometry: &Geometry) -> Vec<Vec<Planned<'a>>> {
    let first: Vec<usize> = (0..runs.len())
        .map(|number| runs[..number].iter().position(|other| other.is_like(&runs[number])).unwrap_or(number))
        .collect();
    let kinds = (0..runs.len()).filter(|&number| first[number] == number).count();
    // By operation, and by limb if that is shorter.
    let mut plans: Vec<[Option<Rc<Plan>>; 2]> = Vec::with_capacity(runs.len());
    for (number, run) in runs.iter().enumerate() {
        let plan = plans.get(first[number]).cloned().unwrap_or_else(|| {
            let effort = EFFORT / kinds as u64;
            let by_operation = run.plan(machine, geometry, effort);
            let by_limb = run.by_limb(machine.clusters).and_then(|run| run.plan_by_limb(machine, geometry, effort));
            let end = by_operation.as_ref().map_or(u64::MAX, |plan| plan.placed.end);
            [by_operation, by_limb.filter(|plan| plan.placed.end < end)].map(|plan| plan.map(Rc::new))
        });
        plans.push(plan);
    }
    let by_operation = |(run, [plan, _]): (&'a Run, &[Option<Rc<Plan>>; 2])| {
        plan.clone().map(|plan| Planned { run: Cow::Borrowed(run), plan })
    };
    let shortest = |(run, plans): (&'a Run, &[Option<Rc<Plan>>; 2])| match &plans[1] {
        Some(plan) => Some(Planned { run: Cow::Owned(run.by_limb(machine.clusters)?), plan: plan.clone() }),
        None => by_operation((run, plans)),
    };
    let mut ways = vec![runs.iter().zip(&plans).filter_map(shortest).collect()];
    if plans.iter().any(|[_, by_limb]| by_limb.is_some()) {
        ways.push(runs.iter().zip(&plans).filter_map(by_operation).collect());
    }
    ways.retain(|way: &Vec<Planned>| !way.is_empty());
    ways
}

/// The runs among groups of lanes. A lane has the instructions of operations that read each other's results.
pub fn runs(graph: &Graph, groups: &[Vec<Vec<u32>>], clusters: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut open = false;
    // The row and the place of every result of the open run.
    let mut made: HashMap<u32, (usize, u32)> = HashMap::new();
    for lanes in groups {
        let Some((pattern, hint, row)) = row(graph, lanes, clusters) else {
            open = false;
            continue;
        };
        let columns = Columns::new(&pattern, clusters, lanes.len());
        let alike = |run: &Run| run.pattern == pattern && run.columns == columns && run.hint == hint;
        let alike = open && runs.last().is_some_and(alike);
        let ready = alike.then(|| row.ready(&made)).flatten().unwrap_or_else(|| {
            made.clear();
            let leaves = vec![false; pattern.len()];
            runs.push(Run { pattern, columns, leaves, ready: Vec::new(), hint, rows: Vec::new() });
            vec![Ready::Now; row.outside[0].len()]
        });
        if let Some(run) = runs.last_mut() {
            for instructions in &row.instructions {
                made.extend(instructions.iter().zip(0_u32..).map(|(&made, place)| (made, (run.rows.len(), place))));
            }
            run.ready.push(ready);
            run.rows.push(row);
        }
        open = true;
    }
    runs.retain(|run| run.rows.len() > 1);
    let outputs: HashSet<usize> = graph.outputs().iter().map(|&output| graph.number(output)).collect();
    for Run { pattern, leaves, rows, .. } in &mut runs {
        for instructions in rows.iter().flat_map(|row| &row.instructions) {
            for ((leaves, users), &instruction) in leaves.iter_mut().zip(&pattern.users).zip(instructions) {
                let others = graph.users(instruction as usize).len() > users.len();
                *leaves |= others || outputs.contains(&(instruction as usize));
            }
        }
    }
    runs
}

/// The row of these lanes, with its pattern and hint, if they are equal and their number fits the columns.
fn row(graph: &Graph, lanes: &[Vec<u32>], clusters: usize) -> Option<(Pattern, Vec<u32>, Row)> {
    let first =
        lanes.first().filter(|_| clusters.is_multiple_of(lanes.len()) && clusters / lanes.len() <= lanes.len())?;
    let (pattern, Values { hint, .. }) = pattern::pattern(graph, first);
    let mut outside = Vec::with_capacity(clusters);
    for lane in lanes {
        let (other, values) = pattern::pattern(graph, lane);
        if other != pattern || values.hint != hint {
            return None;
        }
        outside.push(values.outside);
    }
    (!hint.is_empty()).then(|| (pattern, hint, Row { instructions: lanes.to_vec(), outside }))
}

impl Row {
    /// Availability of its operands, if equal for all operations; `made` has the results of earlier rows with
    /// row and place.
    fn ready(&self, made: &HashMap<u32, (usize, u32)>) -> Option<Vec<Ready>> {
        let when = |value: &u32| made.get(value).map_or(Ready::Now, |&(row, place)| Ready::From(row, place));
        let ready: Vec<Ready> = self.outside[0].iter().map(when).collect();
        self.outside.iter().all(|values| values.iter().map(when).eq(ready.iter().copied())).then_some(ready)
    }
}

impl Run {
    /// Number of instructions.
    pub fn instructions(&self) -> usize {
        self.rows.iter().flat_map(|row| &row.instructions).map(Vec::len).sum()
    }

    /// Renumbers the instructions; `new` is the number of each.
    pub fn renumber(&mut self, new: &[u32]) {
        let moved = |value: &mut u32| {
            if let Some(&number) = new.get(*value as usize) {
                *value = number;
            }
        };
        for row in &mut self.rows {
            row.instructions.iter_mut().flatten().for_each(moved);
            row.outside.iter_mut().flatten().for_each(moved);
        }
    }

    pub fn operands(&self, place: u32) -> &[Operand] {
        &self.pattern.operands[place as usize]
    }

    /// Whether another run differs only in its hint.
    fn is_like(&self, other: &Self) -> bool {
        self.pattern == other.pattern
            && self.columns == other.columns
            && self.leaves == other.leaves
            && self.ready == other.ready
    }

    /// The same instructions with two operations per row and a cluster for each limb, if possible.
    pub fn by_limb(&self, clusters: usize) -> Option<Self> {
        let first = self.rows.first()?;
        let (operations, outside) = (first.instructions.len(), first.outside[0].len());
        let pattern = self.pattern.twice(outside);
        let columns = Columns::by_limb(&pattern, clusters)?;
        let side_by_side = 2 * columns.operations();
        if !operations.is_multiple_of(side_by_side) {
            return None;
        }
        let rows_of_one = operations / side_by_side;
        let mut ready = Vec::new();
        let mut rows = Vec::new();
        for (row, before) in self.rows.iter().zip(&self.ready) {
            for part in 0..rows_of_one {
                let of = |second: usize| {
                    before.iter().map(move |&ready| match ready {
                        Ready::Now => Ready::Now,
                        Ready::From(row, place) => {
                            Ready::From(row * rows_of_one + part, place + (second * self.pattern.len()) as u32)
                        }
                    })
                };
                ready.push(of(0).chain(of(1)).collect());
                let own = part * side_by_side..(part + 1) * side_by_side;
                let two = |values: &[Vec<u32>]| values[own.clone()].chunks(2).map(<[_]>::concat).collect();
                rows.push(Row { instructions: two(&row.instructions), outside: two(&row.outside) });
            }
        }
        let leaves = self.leaves.repeat(2);
        Some(Self { pattern, columns, leaves, ready, hint: self.hint.clone(), rows })
    }

    /// The schedule of a run by limb, if the search finds one within `effort`.
    fn plan_by_limb(&self, machine: &F1, geometry: &Geometry, effort: u64) -> Option<Plan> {
        if !machine.multicast || machine.low_throughput.is_some() || machine.units[UnitKind::Multiply as usize] < 2 {
            return None;
        }
        let given = Given::new((&self.pattern, &self.leaves, &self.ready), &self.columns, machine, geometry);
        let placed = place_by_limb(&given, self.rows.len(), effort)?;
        let registers = registers(&placed.live_ranges, geometry.registers)?;
        Some(Plan { placed, registers })
    }

    /// The shortest schedule found within `effort`; `None` if clusters lack resources, or crossbars cannot
    /// multicast.
    fn plan(&self, machine: &F1, geometry: &Geometry, effort: u64) -> Option<Plan> {
        if !machine.multicast || machine.low_throughput.is_some() || machine.units[UnitKind::Multiply as usize] < 2 {
            return None;
        }
        let given = Given::new((&self.pattern, &self.leaves, &self.ready), &self.columns, machine, geometry);
        let tried = (TRIED / self.pattern.len()).clamp(2, self.rows.len());
        let choice = Search::new(&given, tried).run(effort)?;
        let placed = place(&given, self.rows.len(), &choice, &[])?;
        let registers = registers(&placed.live_ranges, geometry.registers)?;
        Some(Plan { placed, registers })
    }
}

/// Allocates a free register to each live range, in the order of their starts.
fn registers(live_ranges: &[LiveRange], count: usize) -> Option<Vec<u16>> {
    let mut order: Vec<usize> = (0..live_ranges.len()).collect();
    order.sort_unstable_by_key(|&live_range| live_ranges[live_range].from);
    let columns = live_ranges.iter().map(|live_range| live_range.column + 1).max().unwrap_or(0);
    let mut free_from = vec![vec![0; count]; columns];
    let mut registers = vec![0; live_ranges.len()];
    for live_range in order {
        let LiveRange { from, last, column } = live_ranges[live_range];
        let register = free_from[column].iter().position(|&free| free <= from)?;
        free_from[column][register] = last + 1;
        registers[live_range] = register as u16;
    }
    Some(registers)
}
