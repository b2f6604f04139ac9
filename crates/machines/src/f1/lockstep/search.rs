//! The way to place an operation that gives the shortest schedule: a search from a good one on.

use super::place::{Choice, Given, Order, place};

/// Beats in which the products of a transform follow it.
const WINDOW: u64 = 3;

/// Beats that a vector of the hint waits for the port from the clusters before it takes the one from the scratchpad.
const PREFER: [u64; 3] = [0, 1, 2];

/// Where in an operation the preparation of the next one begins and ends, at first, as parts of it.
const AHEAD: [[f64; 2]; 3] = [[1.0, 1.0], [0.85, 0.9], [0.6, 1.0]];

/// How far the preparation of a limb is moved at once.
const STEP: f64 = 0.08;

/// What is varied.
#[derive(Clone, Debug)]
struct Way {
    registers: usize,
    prefer: u64,
    /// For each limb that is prepared, where in the operation before, as a part of it.
    ahead: Vec<f64>,
    /// The order of the last stage's limbs.
    limbs: Vec<usize>,
}

/// The search for one operation.
pub struct Search<'a> {
    given: &'a Given<'a>,
    rows: usize,
    stages: Vec<Vec<Vec<u32>>>,
    best: Option<(u64, Way)>,
    tried: usize,
    state: u64,
}

impl<'a> Search<'a> {
    /// A search that tries ways on so many rows.
    pub fn new(given: &'a Given<'a>, rows: usize) -> Self {
        // The state of a generator of steps, any number: the same search each time.
        Self { given, rows, stages: given.pattern.stages(), best: None, tried: 0, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Tries ways on about as many instructions in all as `work`, but all first ones.
    pub fn run(&mut self, work: usize) -> Option<()> {
        let prepared = if self.stages.len() > 1 { self.stages[0].len() } else { 0 };
        let limbs: Vec<usize> = (0..self.stages.last()?.len()).collect();
        let registers = self.given.geometry.registers;
        for registers in (0..registers).step_by((registers / 16).max(1)) {
            for [begin, end] in AHEAD {
                let part =
                    |index: usize| begin + (end - begin) * index as f64 / prepared.max(2).saturating_sub(1) as f64;
                let ahead = (0..prepared).map(part).collect();
                self.attempt(Way { registers, prefer: 1, ahead, limbs: limbs.clone() });
            }
        }
        let (_, first) = self.best.clone()?;
        for prefer in PREFER {
            self.attempt(Way { prefer, ..first.clone() });
        }
        while self.tried < work {
            let (_, way) = self.best.clone()?;
            let next = self.varied(way);
            self.attempt(next);
        }
        Some(())
    }

    /// The best way found.
    pub fn best(&self) -> Option<Choice> {
        self.best.as_ref().map(|(_, way)| self.choice(way))
    }

    fn attempt(&mut self, way: Way) {
        self.tried += self.rows * self.given.pattern.len();
        if let Some(placed) = place(self.given, self.rows, &self.choice(&way))
            && self.best.as_ref().is_none_or(|(end, _)| placed.end <= *end)
        {
            self.best = Some((placed.end, way));
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
        match self.number(4) {
            0 if way.limbs.len() > 1 => {
                let (a, b) = (self.number(way.limbs.len()), self.number(way.limbs.len()));
                way.limbs.swap(a, b);
            }
            1 => way.registers = (way.registers + self.number(3)).saturating_sub(1).min(self.given.geometry.registers),
            _ if !way.ahead.is_empty() => {
                let index = self.number(way.ahead.len());
                let step = STEP * (self.number(201) as f64 / 100.0 - 1.0);
                way.ahead[index] = (way.ahead[index] + step).clamp(0.0, 1.0);
                way.ahead.sort_by(f64::total_cmp);
            }
            _ => way.prefer = self.number(PREFER.len()) as u64,
        }
        way
    }

    fn choice(&self, way: &Way) -> Choice {
        let prepared = way.ahead.len();
        let (first, rest) = self.stages.split_at(usize::from(prepared > 0));
        let (middle, last) = rest.split_at(rest.len().saturating_sub(1));
        let last = way.limbs.iter().flat_map(|&limb| &last[0][limb]);
        let own: Vec<u32> = middle.iter().flatten().flatten().chain(last).copied().collect();
        let mut order: Order = Vec::with_capacity(self.given.pattern.len());
        let mut next = 0;
        for (index, &place) in own.iter().enumerate() {
            while next < prepared && way.ahead[next] * own.len() as f64 <= index as f64 {
                order.extend(first[0][next].iter().map(|&place| (true, place)));
                next += 1;
            }
            order.push((false, place));
        }
        order.extend(first.iter().flat_map(|tasks| &tasks[next..]).flatten().map(|&place| (true, place)));
        Choice { order, registers: way.registers, prefer: way.prefer, window: WINDOW }
    }
}
