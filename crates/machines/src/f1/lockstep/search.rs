//! Local search for the placement order with the shortest schedule.

use super::given::Given;
use super::place::{Placed, place};

/// Initial start and end of the next operation's preparation, as fractions of an operation.
const AHEAD: [[f64; 2]; 3] = [[1.0, 1.0], [0.85, 0.9], [0.6, 1.0]];

/// Alternatives to try: limbs abreast, and patience with the port from the clusters.
const SIDES: [(usize, u64); 3] = [(1, 3), (1, 6), (2, 1)];

/// Maximum shift of the preparation of a limb in one step.
const STEP: f64 = 0.08;

/// Number of further rows, at the current pace, in the cost of a candidate, so that the pace counts more than
/// the start.
const FURTHER: u64 = 12;

/// Beats by which a candidate may lag behind the current one in any row.
const SLACK: u64 = 2;

/// Initial number of beats by which a worse candidate is accepted; it decreases to 0.
const ALLOWANCE: u64 = 4;

/// The order of placement: instructions of one operation, mixed with marked ones that prepare the next.
pub type Order = Vec<(bool, u32)>;

/// Parameters of a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub order: Order,
    /// Registers for values with long lifetimes.
    pub registers: usize,
    /// Whether only products with the hint are delayed to their position, instead of all instructions.
    pub eager: bool,
    /// Beats that a hint vector waits for the port from the clusters before it uses the one from the
    /// scratchpad.
    pub patient: u64,
    /// Whether the next operation's preparation is delayed to its position. Without the delay it may be so early that
    /// its results occupy registers of this operation.
    pub prompt: bool,
}

/// The variables of the search.
#[derive(Clone, Debug)]
struct Way {
    registers: usize,
    eager: bool,
    /// For each prepared limb, its position in the previous operation, as a fraction.
    ahead: Vec<f64>,
    /// The order of the last stage's limbs.
    limbs: Vec<usize>,
    /// Number of limbs processed together per column, digit by digit, so that a digit's coefficients are
    /// fetched once.
    abreast: usize,
    /// Beats that a hint vector waits for the port from the clusters.
    patient: u64,
    /// Whether the next operation's preparation is delayed to its position.
    prompt: bool,
}

/// A candidate with its result.
#[derive(Clone, Debug)]
struct Tried {
    way: Way,
    /// Cycles of the schedule and some further rows.
    cost: u64,
    /// Cycles per row.
    pace: u64,
    /// The cycle of each row's last product with the hint.
    reached: Vec<u64>,
}

/// The search for one operation.
pub struct Search<'a> {
    given: &'a Given<'a>,
    rows: usize,
    stages: Vec<Vec<Vec<u32>>>,
    /// The results of the previous row that each instruction reads.
    reads: Vec<Vec<u32>>,
    best: Option<Tried>,
    current: Option<Tried>,
    state: u64,
}

impl<'a> Search<'a> {
    /// A search that compares candidates on `rows` rows.
    pub fn new(given: &'a Given<'a>, rows: usize) -> Self {
        // A fixed seed, so that the search is deterministic.
        let state = 0x9e37_79b9_7f4a_7c15;
        let reads = (0..given.pattern.len() as u32).map(|place| given.reads_of_the_row_before(place)).collect();
        Self { given, rows, stages: given.pattern.stages(), reads, best: None, current: None, state }
    }

    /// Tries the initial candidates, then steps from the best one, until `effort` placements have been tried or
    /// the pace is optimal. Returns the best candidate, if any.
    pub fn run(&mut self, effort: u64) -> Option<Choice> {
        let prepared = if self.stages.len() > 1 { self.stages[0].len() } else { 0 };
        let limbs: Vec<usize> = (0..self.stages.last()?.len()).collect();
        let registers = self.given.geometry.registers;
        let held = || (0..registers).step_by((registers / 16).max(1));
        // The preparation is delayed only if there is no schedule otherwise.
        for (prompt, registers) in [false, true].into_iter().flat_map(|prompt| held().map(move |held| (prompt, held))) {
            if prompt && self.best.as_ref().is_some_and(|best| !best.way.prompt) {
                break;
            }
            for [begin, end] in AHEAD {
                let part =
                    |index: usize| begin + (end - begin) * index as f64 / prepared.max(2).saturating_sub(1) as f64;
                let ahead: Vec<f64> = (0..prepared).map(part).collect();
                for eager in [false, true] {
                    if self.given.attempts.get() < effort / 2 {
                        let (ahead, limbs) = (ahead.clone(), limbs.clone());
                        self.attempt(Way { registers, eager, ahead, limbs, abreast: 1, patient: 1, prompt }, 0);
                    }
                }
            }
        }
        let bound = self.given.bound();
        for (abreast, patient) in SIDES {
            let Some(Tried { way, .. }) = self.best.clone().filter(|best| best.pace > bound) else { break };
            for registers in held() {
                self.attempt(Way { registers, abreast, patient, ..way.clone() }, 0);
            }
        }
        while self.best.as_ref()?.pace > bound {
            let left = effort.saturating_sub(self.given.attempts.get());
            if left == 0 {
                break;
            }
            let way = self.varied(self.current.clone()?.way);
            self.attempt(way, ALLOWANCE * self.given.geometry.occupancy * left / effort);
        }
        self.best.as_ref().map(|best| self.choice(&best.way))
    }

    /// Tries a candidate; it becomes the current one if it is worse by at most `allowance` cycles.
    fn attempt(&mut self, way: Way, allowance: u64) {
        let slack = SLACK * self.given.geometry.occupancy;
        let limit: Vec<u64> = self.current.iter().flat_map(|way| &way.reached).map(|reached| reached + slack).collect();
        let Some(Placed { reached, end, .. }) = place(self.given, self.rows, &self.choice(&way), &limit) else {
            return;
        };
        let half = (reached.len() - 1) / 2;
        let pace = (reached[reached.len() - 1] - reached[half]) / (reached.len() - 1 - half).max(1) as u64;
        let tried = Tried { way, cost: end + FURTHER * pace, pace, reached };
        if self.best.as_ref().is_none_or(|best| tried.cost < best.cost) {
            self.best = Some(tried.clone());
        }
        if self.current.as_ref().is_none_or(|current| tried.cost <= current.cost + allowance) {
            self.current = Some(tried);
        }
    }

    /// A pseudo-random number below `below`.
    fn number(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % below as u64) as usize
    }

    fn varied(&mut self, mut way: Way) -> Way {
        match self.number(10) {
            0..3 => {
                let (a, b) = (self.number(way.limbs.len()), self.number(way.limbs.len()));
                way.limbs.swap(a, b);
            }
            3..5 => {
                way.registers = (way.registers + self.number(3)).saturating_sub(1).min(self.given.geometry.registers);
            }
            5 => way.eager = !way.eager,
            _ if way.ahead.is_empty() => {}
            _ => {
                let index = self.number(way.ahead.len());
                let step = STEP * (self.number(201) as f64 / 100.0 - 1.0);
                way.ahead[index] = (way.ahead[index] + step).clamp(0.0, 1.0);
                way.ahead.sort_by(f64::total_cmp);
            }
        }
        way
    }

    /// Merges tasks in proportion to their lengths.
    fn merged<'b>(tasks: impl Iterator<Item = &'b Vec<u32>>) -> Vec<u32> {
        let mut places: Vec<(f64, u32)> = Vec::new();
        for task in tasks {
            let part = |index: usize| index as f64 / task.len() as f64;
            places.extend(task.iter().enumerate().map(|(index, &place)| (part(index), place)));
        }
        // The sort is stable, so earlier tasks come first in ties.
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        places.into_iter().map(|(_, place)| place).collect()
    }

    fn choice(&self, way: &Way) -> Choice {
        let prepared = way.ahead.len();
        let (first, rest) = self.stages.split_at(usize::from(prepared > 0));
        let (middle, last) = rest.split_at(rest.len().saturating_sub(1));
        // Merges this many limbs of each column.
        let columns = self.given.columns;
        let tasks = |column: usize| {
            let own = move |task: &&Vec<u32>| columns.of(task[0]) == column;
            way.limbs.iter().map(|&limb| &last[0][limb]).filter(own).collect::<Vec<_>>()
        };
        let tasks: Vec<Vec<&Vec<u32>>> = (0..columns.count()).map(tasks).collect();
        let turns = tasks.iter().map(|own| own.len().div_ceil(way.abreast)).max().unwrap_or(0);
        let last = (0..turns).flat_map(|turn| {
            let own = tasks.iter().flat_map(|own| own.iter().skip(turn * way.abreast).take(way.abreast));
            Self::merged(own.copied())
        });
        let own: Vec<u32> = middle.iter().flatten().flatten().copied().chain(last).collect();
        // The preparation of the next operation follows its operands in this one; limbs are ordered by their
        // operands.
        let mut index = vec![0; self.given.pattern.len()];
        own.iter().zip(1..).for_each(|(&place, behind)| index[place as usize] = behind);
        let read = |task: &Vec<u32>| {
            let made = task.iter().flat_map(|&place| &self.reads[place as usize]);
            made.map(|&place| index[place as usize]).max().unwrap_or(0)
        };
        let mut ahead: Vec<(usize, &Vec<u32>)> = first.iter().flatten().map(|task| (read(task), task)).collect();
        ahead.sort_by_key(|&(read, _)| read);
        let wanted = way.ahead.iter().map(|part| (part * own.len() as f64).ceil() as usize);
        let mut ahead = ahead.iter().zip(wanted).map(|(&(read, task), wanted)| (read.max(wanted), task)).peekable();
        let mut order: Order = Vec::with_capacity(self.given.pattern.len());
        for (index, &place) in own.iter().enumerate() {
            while let Some((_, task)) = ahead.next_if(|&(begin, _)| begin <= index) {
                order.extend(task.iter().map(|&place| (true, place)));
            }
            order.push((false, place));
        }
        order.extend(ahead.flat_map(|(_, task)| task).map(|&place| (true, place)));
        Choice { order, registers: way.registers, eager: way.eager, patient: way.patient, prompt: way.prompt }
    }
}
