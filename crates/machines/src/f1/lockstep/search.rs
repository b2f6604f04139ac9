//! The way to place an operation that gives the shortest schedule: a search from a good one on.

use super::given::Given;
use super::place::{Placed, place};

/// Where in an operation the preparation of the next one begins and ends, at first, as parts of it.
const AHEAD: [[f64; 2]; 3] = [[1.0, 1.0], [0.85, 0.9], [0.6, 1.0]];

/// Limbs abreast, and the patience with the port from the clusters, that are tried beside one and one beat.
const SIDES: [(usize, u64); 3] = [(1, 3), (1, 6), (2, 1)];

/// How far the preparation of a limb is moved at once, at most.
const STEP: f64 = 0.08;

/// Rows that follow those that are tried, at their pace, when ways are compared: so the pace counts for more than the beginning.
const FURTHER: u64 = 12;

/// Beats by which a way may come behind the current one in any row before it is given up.
const SLACK: u64 = 2;

/// Beats by which a way may be worse than the current one and still take its place, at first; fewer later, and none in the end.
const ALLOWANCE: u64 = 4;

/// The order in which instructions get their places: those of one operation, and among them, marked, those that prepare the next.
pub type Order = Vec<(bool, u32)>;

/// How a schedule is sought.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The order.
    pub order: Order,
    /// Registers for values that wait long.
    pub registers: usize,
    /// Whether only products with the hint wait for their turn, and not everything.
    pub eager: bool,
    /// Beats that a vector of the hint waits for the port from the clusters before it takes the one from the scratchpad.
    pub patient: u64,
    /// Whether what prepares the next operation waits for its turn in this one. Where nothing else holds it back it may come so early
    /// that its results take the registers of this operation.
    pub prompt: bool,
}

/// What is varied.
#[derive(Clone, Debug)]
struct Way {
    registers: usize,
    eager: bool,
    /// For each limb that is prepared, where in the operation before, as a part of it.
    ahead: Vec<f64>,
    /// The order of the last stage's limbs.
    limbs: Vec<usize>,
    /// How many of them go abreast in a column, digit by digit: so a digit's coefficients come to a register once for all.
    abreast: usize,
    /// Beats that a vector of the hint waits for the port from the clusters.
    patient: u64,
    /// Whether the preparation of the next operation waits for its turn.
    prompt: bool,
}

/// A way, and what comes of it.
#[derive(Clone, Debug)]
struct Tried {
    way: Way,
    /// Cycles until the end, and of some more rows.
    cost: u64,
    /// Cycles of a row.
    pace: u64,
    /// The cycle of each row's last product with the hint.
    reached: Vec<u64>,
}

/// The search for one operation.
pub struct Search<'a> {
    given: &'a Given<'a>,
    rows: usize,
    stages: Vec<Vec<Vec<u32>>>,
    /// What each instruction reads of the row before.
    reads: Vec<Vec<u32>>,
    best: Option<Tried>,
    current: Option<Tried>,
    state: u64,
}

impl<'a> Search<'a> {
    /// A search that tries ways on so many rows.
    pub fn new(given: &'a Given<'a>, rows: usize) -> Self {
        // The state of a generator of steps, any number: the same search each time.
        let state = 0x9e37_79b9_7f4a_7c15;
        let reads = (0..given.pattern.len() as u32).map(|place| given.reads_of_the_row_before(place)).collect();
        Self { given, rows, stages: given.pattern.stages(), reads, best: None, current: None, state }
    }

    /// Tries the first ways, and steps from the best of them, as long as instructions have been tried in fewer places than `effort` and
    /// a faster pace is possible; the best way of all, if one was found.
    pub fn run(&mut self, effort: u64) -> Option<Choice> {
        let prepared = if self.stages.len() > 1 { self.stages[0].len() } else { 0 };
        let limbs: Vec<usize> = (0..self.stages.last()?.len()).collect();
        let registers = self.given.geometry.registers;
        let held = || (0..registers).step_by((registers / 16).max(1));
        // The preparation waits for its turn where there is no schedule otherwise.
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

    /// Tries a way; it is the current one from then on if it is worse by no more than `allowance` cycles.
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

    /// A number below `below`.
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

    /// The instructions of tasks side by side: each task as far as the others are, by the part of it.
    fn merged<'b>(tasks: impl Iterator<Item = &'b Vec<u32>>) -> Vec<u32> {
        let mut places: Vec<(f64, u32)> = Vec::new();
        for task in tasks {
            let part = |index: usize| index as f64 / task.len() as f64;
            places.extend(task.iter().enumerate().map(|(index, &place)| (part(index), place)));
        }
        // Of equal parts, the first task's comes first.
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        places.into_iter().map(|(_, place)| place).collect()
    }

    fn choice(&self, way: &Way) -> Choice {
        let prepared = way.ahead.len();
        let (first, rest) = self.stages.split_at(usize::from(prepared > 0));
        let (middle, last) = rest.split_at(rest.len().saturating_sub(1));
        // So many limbs of each column abreast.
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
        // What prepares the next operation comes no sooner than what it reads of this one; of two limbs the one whose values come first.
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
