//! Places two operations at a time, with a cluster for each limb.
//!
//! A key switch multiplies every digit, lifted to every limb, by two hint vectors, and sums the products. With
//! a cluster for each limb, a digit is multicast from its cluster to all others, over the port between
//! clusters, directly into their NTT units. The other port fetches the two hint vectors, which serve both
//! operations. Registers contain four sums, two hint vectors, a transform and a product. So one port needs only
//! one vector per transform.

use super::{
    BANKS, CLUSTERS, Choice, Columns, Done, From, Given, Operand, Pattern, Placed, Placer, Residence, SEND, Stagger,
    UnitKind, WINDOW,
};
use polyfabric_kernels::cancel;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Digits per operation by which a preparing cluster is ahead.
const AHEAD: usize = 2;

/// Number of rows with which beats are compared.
const TRIED: usize = 5;

/// The computation from one digit, for all parallel operations, in one column.
#[derive(Clone, Debug, Default)]
struct Part {
    column: usize,
    transforms: Vec<u32>,
    /// By hint vector.
    products: Vec<(u32, u32)>,
    sums: Vec<u32>,
}

/// An instruction outside the steps.
#[derive(Clone, Copy, Debug)]
struct Rest {
    place: u32,
    /// If its result could be computed at any time: another operand of its reader, and the number of instructions up
    /// to the reader.
    beside: Option<(u32, u64)>,
}

/// An operation, digit by digit.
struct Steps {
    /// The instructions that compute each digit.
    prepare: Vec<Vec<u32>>,
    /// The computation from each digit, in groups of columns that do it at the same time.
    groups: Vec<[Vec<Part>; 3]>,
    /// All other instructions, in order.
    rest: Vec<Rest>,
}

impl Steps {
    /// For an operation that lifts digits of one limb each; otherwise `None`.
    fn new(given: &Given) -> Option<Self> {
        let &Given { pattern, columns, .. } = given;
        let stages = pattern.stages();
        let (first, others) = stages.split_first()?;
        let mut prepare: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for &place in first.iter().flatten() {
            prepare.entry(pattern.functions[place as usize].limb()).or_default().push(place);
        }
        let (parts, digit_of) = parts(pattern, columns, &first.concat())?;
        let mut by_digit: BTreeMap<u16, Vec<Part>> = prepare.keys().map(|&digit| (digit, Vec::new())).collect();
        for ((digit, _), part) in parts {
            by_digit.get_mut(&digit)?.push(part);
        }
        let is_rest = |place: &u32| digit_of[*place as usize].is_none();
        let rest: Vec<u32> = others.iter().flatten().flatten().copied().filter(is_rest).collect();
        Some(Self {
            prepare: prepare.into_values().collect(),
            groups: groups(by_digit.into_values().collect(), columns.count()),
            rest: just_in_time(pattern, &rest),
        })
    }

    /// The schedule of `rows` rows with this beat, if any.
    fn placed(&self, given: &Given, rows: usize, stagger: Stagger) -> Option<Placed> {
        let &Given { pattern, columns, .. } = given;
        let residence = Residence::by_limb(pattern, columns);
        let choice = Choice { order: Vec::new(), registers: 0, eager: false, patient: 1, prompt: false };
        let mut placer = Placer::new(given, rows, &choice, residence, stagger);
        let (digits, ahead) = (self.groups.len(), AHEAD * columns.spare());
        let mut prepared = 0;
        let mut reached = Vec::with_capacity(rows);
        for row in 0..rows {
            cancel::check();
            for (digit, groups) in self.groups.iter().enumerate() {
                let until = (row * digits + digit + ahead + 1).min(rows * digits);
                while prepared < until {
                    for &place in &self.prepare[prepared % digits] {
                        placer.settle(prepared / digits, place)?;
                    }
                    prepared += 1;
                }
                groups.iter().try_for_each(|group| placer.step(row, group))?;
            }
            for &of in &self.rest {
                placer.settle_rest(row, of)?;
            }
            placer.forget(row);
            reached.push(placer.turns.iter().map(|&(_, turn)| turn).max().unwrap_or(0));
        }
        Some(placer.placed(reached))
    }
}

/// By digit and column.
type Parts = BTreeMap<(u16, usize), Part>;

/// The parts of the digits that `first` prepares, and the digit of every instruction; `None` if a factor of the
/// hint is not a digit of one limb.
fn parts(pattern: &Pattern, columns: &Columns, first: &[u32]) -> Option<(Parts, Vec<Option<u16>>)> {
    let mut prepared = vec![false; pattern.len()];
    first.iter().for_each(|&place| prepared[place as usize] = true);
    let limb = |place: u32| pattern.functions[place as usize].limb();
    let mut digit_of: Vec<Option<u16>> = vec![None; pattern.len()];
    let mut parts = Parts::new();
    for place in 0..pattern.len() as u32 {
        let operands = &pattern.operands[place as usize];
        let column = columns.of(place);
        let vector = operands.iter().find_map(|operand| match *operand {
            Operand::Shared(index) => Some(index),
            _ => None,
        });
        if let Some(vector) = vector {
            let read = made(pattern, place).next().filter(|_| !prepared[place as usize])?;
            let lifted = made(pattern, read).next().filter(|&digit| prepared[digit as usize]);
            let digit = match prepared[read as usize] {
                true => limb(read),
                false => limb(lifted.filter(|_| pattern.unit(read) == UnitKind::Ntt)?),
            };
            let part = parts.entry((digit, column)).or_insert_with(|| Part { column, ..Part::default() });
            if !prepared[read as usize] && digit_of[read as usize].is_none() {
                part.transforms.push(read);
                digit_of[read as usize] = Some(digit);
            }
            part.products.push((vector, place));
            digit_of[place as usize] = Some(digit);
        } else if pattern.unit(place) == UnitKind::Add {
            let digits = operands.iter().map(|operand| match *operand {
                Operand::Own(of) => digit_of[of as usize],
                _ => None,
            });
            if let Some(digit) = digits.collect::<Option<Vec<u16>>>().and_then(|digits| digits.into_iter().max()) {
                parts.get_mut(&(digit, column))?.sums.push(place);
                digit_of[place as usize] = Some(digit);
            }
        }
    }
    // By hint vector, then by operation.
    parts.values_mut().for_each(|part| part.products.sort_unstable());
    Some((parts, digit_of))
}

/// Groups the columns of each digit that process it at the same time. Columns whose own digit is still to come
/// are ahead of the others, as their step takes longer: both factors arrive over one port.
fn groups(parts: Vec<Vec<Part>>, columns: usize) -> Vec<[Vec<Part>; 3]> {
    let own = |column: usize| {
        let of = |parts: &Vec<Part>| parts.iter().any(|part| part.column == column && part.transforms.is_empty());
        parts.iter().position(of).unwrap_or(parts.len())
    };
    let own: Vec<usize> = (0..columns).map(own).collect();
    let grouped = |(digit, parts): (usize, &Vec<Part>)| {
        [Ordering::Less, Ordering::Equal, Ordering::Greater]
            .map(|order| parts.iter().filter(|part| digit.cmp(&own[part.column]) == order).cloned().collect())
    };
    parts.iter().enumerate().map(grouped).collect()
}

/// Orders `rest` such that results that could be computed at any time come just before their readers.
fn just_in_time(pattern: &Pattern, rest: &[u32]) -> Vec<Rest> {
    let mut among = vec![false; pattern.len()];
    rest.iter().for_each(|&place| among[place as usize] = true);
    // Whether it depends on no result from elsewhere. Readers follow their operands.
    let mut free = vec![false; pattern.len()];
    let mut in_order = rest.to_vec();
    in_order.sort_unstable();
    for &place in &in_order {
        free[place as usize] = made(pattern, place).all(|of| free[of as usize]);
    }
    let mut known = vec![false; pattern.len()];
    let mut chain = |last: u32| {
        let mut chain = Vec::new();
        let mut stack: Vec<Rest> = vec![Rest { place: last, beside: None }];
        while let Some(own @ Rest { place, beside }) = stack.pop() {
            if std::mem::replace(&mut known[place as usize], true) {
                continue;
            }
            chain.push(own);
            let late = made(pattern, place).find(|&of| !free[of as usize]);
            let read = made(pattern, place).filter(|&of| among[of as usize]);
            let read = read.map(|of| {
                let beside = beside.map(|(late, depth)| (late, depth + 1)).or(late.map(|late| (late, 1)));
                Rest { place: of, beside: beside.filter(|_| free[of as usize]) }
            });
            // The last instruction in order is popped first.
            let (free, late): (Vec<Rest>, Vec<Rest>) = read.partition(|of| of.beside.is_some());
            stack.extend(late.into_iter().chain(free));
        }
        chain.reverse();
        chain
    };
    let is_last = |&&place: &&u32| !pattern.users[place as usize].iter().any(|&user| among[user as usize]);
    rest.iter().filter(is_last).flat_map(|&last| chain(last)).collect()
}

fn made(pattern: &Pattern, place: u32) -> impl Iterator<Item = u32> {
    pattern.operands[place as usize].iter().filter_map(|operand| match *operand {
        Operand::Own(of) => Some(of),
        _ => None,
    })
}

/// The schedule of all rows, if any, with the beat that is fastest for a few rows, among those tried within
/// `effort` placements.
pub fn place_by_limb(given: &Given, rows: usize, effort: u64) -> Option<Placed> {
    let steps = Steps::new(given)?;
    let pace = |&stagger: &Stagger| {
        let Placed { reached, end, .. } = steps.placed(given, rows.min(TRIED), stagger)?;
        // The first row waits for its preparation.
        Some((reached.last()?.saturating_sub(*reached.get(1)?), end))
    };
    let tried = given.staggers.iter().take_while(|_| given.attempts.get() < effort);
    let paces = tried.filter_map(|stagger| Some((pace(stagger)?, stagger)));
    let (_, &stagger) = paces.min_by_key(|&(pace, _)| pace)?;
    steps.placed(given, rows, stagger)
}

impl Placer<'_> {
    /// Places an instruction outside the steps.
    fn settle_rest(&mut self, row: usize, Rest { place, beside }: Rest) -> Option<()> {
        let Some((late, depth)) = beside else { return self.settle(row, place) };
        let value = self.values[self.value(row, late)];
        let ready = value.live_range.map_or(value.arrives, |live_range| self.live_ranges[live_range as usize].from);
        let ahead = self.latencies.of(self.pattern.unit(place)) + depth * self.beat;
        self.settle_from(row, place, ready.saturating_sub(ahead))
    }

    /// Places an instruction at `from` or later.
    fn settle_from(&mut self, row: usize, place: u32, from: u64) -> Option<()> {
        if self.awaits(row, place) {
            return None;
        }
        self.here = self.columns.of(place);
        self.stuck = false;
        let from = self.operands_ready(row, place).max(from);
        self.first(row, place, from, self.patience)?;
        self.set_settled(row, place);
        Some(())
    }

    /// Places the computation from a digit, in all columns at once.
    fn step(&mut self, row: usize, parts: &[Part]) -> Option<()> {
        if parts.is_empty() {
            return Some(());
        }
        let transforms = || parts.iter().flat_map(|part| &part.transforms);
        let from = transforms().map(|&place| self.operands_ready(row, place)).max().unwrap_or(self.floor);
        let own = parts.iter().flat_map(|part| &part.products).map(|&(_, place)| {
            let away = made(self.pattern, place).map(|of| self.values[self.value(row, of)].arrives).max().unwrap_or(0);
            away.saturating_sub(self.latencies.of(UnitKind::Ntt))
        });
        let from = from.max(own.max().unwrap_or(0));
        let first = self.next(self.stagger.transform, from);
        for beat in 0..self.patience {
            let checkpoint = self.checkpoint();
            let turns = self.turns.clone();
            if self.step_at(row, parts, first + beat * self.beat) {
                for part in parts {
                    let products = part.products.iter().map(|&(_, place)| place);
                    for place in part.transforms.iter().copied().chain(products).chain(part.sums.iter().copied()) {
                        self.set_settled(row, place);
                    }
                }
                return Some(());
            }
            self.turns = turns;
            self.undo(&checkpoint);
        }
        None
    }

    /// Places a step with its first transform at `at`; on failure, the caller must undo.
    fn step_at(&mut self, row: usize, parts: &[Part], at: u64) -> bool {
        // Start of each operation's transform, in all columns.
        let mut starts: Vec<u64> = Vec::new();
        self.together = true;
        self.stuck = false;
        let fits = parts.iter().all(|part| {
            self.here = part.column;
            self.part_at(row, part, at, &mut starts) && self.registers_suffice()
        });
        self.together = false;
        fits
    }

    /// Places one column's part of a step.
    fn part_at(&mut self, row: usize, part: &Part, at: u64, starts: &mut Vec<u64>) -> bool {
        let unit = |kind, number| self.units.iter().position(|unit| unit.kind == kind && unit.number == number);
        let (Some(ntt), Some(first), Some(second)) =
            (unit(UnitKind::Ntt, 0), unit(UnitKind::Multiply, 0), unit(UnitKind::Multiply, 1))
        else {
            return false;
        };
        for (operation, &place) in part.transforms.iter().enumerate() {
            let known = starts.get(operation).copied();
            let (from, further) = match known {
                Some(start) => (start, 0),
                None => (starts.last().map_or(at, |last| last + self.beat), WINDOW),
            };
            let Some(start) = self.within(row, place, ntt, from, further) else { return false };
            if known.is_none() {
                starts.push(start);
            }
        }
        for (products, unit) in part.products.chunk_by(|a, b| a.0 == b.0).zip([first, second].into_iter().cycle()) {
            for (operation, &(_, place)) in (0..).zip(products) {
                let begins = starts.get(operation as usize).copied().unwrap_or(at + operation * self.beat);
                let after = self.operands_ready(row, place).max(begins + self.latencies.of(UnitKind::Ntt) + 1);
                let from = self.next(self.units[unit].begins, after);
                let Some(start) = self.within(row, place, unit, from, WINDOW) else { return false };
                let turn = &mut self.turns[self.here];
                *turn = (*turn).max((row, start));
            }
        }
        part.sums.iter().all(|&place| {
            let from = self.operands_ready(row, place);
            self.first(row, place, from, WINDOW).is_some()
        })
    }

    /// The first of `further` beats from `from` on in which a unit can execute an instruction.
    fn within(&mut self, row: usize, place: u32, unit: usize, from: u64, further: u64) -> Option<u64> {
        let checkpoint = self.checkpoint();
        for beat in 0..=further {
            let at = from + beat * self.beat;
            if self.execute(row, place, unit, at) {
                return Some(at);
            }
            self.undo(&checkpoint);
        }
        None
    }

    /// Sends a result from a register of another column's cluster, once for all receivers in these cycles.
    pub(super) fn cross(&mut self, row: usize, of: u32, at: u64) -> Option<From> {
        let (number, holder) = self.outlet(row, Operand::Own(of));
        let depart = at.checked_sub(self.latencies.network)?;
        let index = self.value(row, of);
        let value = self.values[index];
        let live_range = value.live_range?;
        if self.live_ranges[live_range as usize].from >= depart || !self.tables[self.here].take(CLUSTERS, at) {
            return None;
        }
        if self.sent.get(&(holder, depart)) != Some(&number) {
            let table = &mut self.tables[holder];
            if !table.take(SEND, depart) || !table.take(BANKS + (depart % self.banks) as usize, depart) {
                return None;
            }
            self.sent.insert((holder, depart), number);
            self.done.push(Done::Sent(holder, depart));
        }
        self.extend(live_range, depart);
        self.done.push(Done::Value(index, value));
        self.values[index].readers -= 1;
        if self.values[index].readers == 0 {
            self.tables[holder].count(self.live_ranges[live_range as usize].last + 1, -1);
        }
        Some(From::Column(live_range))
    }
}
