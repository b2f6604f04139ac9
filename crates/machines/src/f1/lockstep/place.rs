//! Places equal operations row by row, in one cluster per column.

use super::Columns;
use super::given::{Given, Ready};
use super::pattern::{Operand, Pattern};
use super::reserve::Table;
use super::residence::Residence;
use super::search::Choice;
use super::stagger::{Latencies, Stagger};
use crate::f1::graph::UnitKind;
use polyfabric_kernels::cancel;
use std::cell::Cell;
use std::collections::HashMap;

mod abreast;

pub use abreast::place_by_limb;

/// The port from the scratchpad.
const SCRATCHPAD: usize = 0;
/// The port from the other clusters.
const CLUSTERS: usize = 1;
/// The port to the scratchpad.
const OUT: usize = 2;
/// The port to the other clusters.
const SEND: usize = 3;
/// Register banks, by start of the stream; the units follow them.
const BANKS: usize = 4;

/// Beats that a vector may stay in a register for a second reading unit.
const LINGER: u64 = 2;

/// Beats after a transform within which its products follow.
const WINDOW: u64 = 3;

/// Beats that a vector may stay in a register because another column receives it already.
const JOIN: u64 = 1;

/// Beats before its reader that a vector is fetched to a register.
const FETCH: u64 = 8;

/// Lifetime of a value in a register.
#[derive(Clone, Copy, Debug)]
pub struct LiveRange {
    /// The cycle of its write.
    pub from: u64,
    /// The cycle of its last read.
    pub last: u64,
    /// The column of the clusters.
    pub column: usize,
}

/// The source of an operand.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// A register of the same cluster.
    LiveRange(u32),
    Scratchpad,
    /// A register with a hint vector, in the cluster with this number in the column.
    Cluster(usize, u32),
    /// A register of the operation's cluster in another column.
    Column(u32),
}

/// An action of all clusters of a column in the same cycle, that of its first chunk.
#[derive(Clone, Debug)]
pub enum Move {
    /// Fetches an operand to a register.
    Fetch(Operand, u32),
    /// Also writes a result to the scratchpad.
    WriteBack(u32, u32),
    /// Fetches hint vectors to registers, one per cluster, for all.
    Spread(usize),
    /// An instruction: place, unit among those of its kind, operands, and the register of the result, if any.
    Execute(u32, usize, [Option<From>; 2], Option<u32>),
}

/// Hint vectors that clusters store for each other.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Indices of the hint vectors, by cluster.
    pub values: Vec<u32>,
    /// Their common live range, that of the longest.
    pub live_range: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Value {
    live_range: Option<u32>,
    readers: usize,
    /// The cycle from which it can arrive from the scratchpad.
    arrives: u64,
}

enum Done {
    Value(usize, Value),
    LiveRange(u32, LiveRange),
    Brought(usize, Option<u32>),
    Joined(usize),
    Left(usize, u64),
    Sent(usize, u64),
}

struct Checkpoint {
    tables: Vec<usize>,
    outlets: usize,
    done: usize,
    live_ranges: usize,
    spreads: usize,
    moves: usize,
}

struct Unit {
    kind: UnitKind,
    number: usize,
    track: usize,
    begins: u64,
}

/// The partial schedule of all rows of equal operations.
pub struct Placer<'a> {
    pattern: &'a Pattern,
    /// Whether each result is used outside its operation.
    leaves: &'a [bool],
    ready: &'a [Vec<Ready>],
    columns: &'a Columns,
    /// The column of the current instruction.
    here: usize,
    residence: Residence,
    eager: bool,
    patient: u64,
    prompt: bool,
    banks: u64,
    beat: u64,
    latencies: Latencies,
    stagger: Stagger,
    units: Vec<Unit>,
    /// For each column, the reservations of its clusters.
    tables: Vec<Table>,
    /// The scratchpad's ports to the clusters, by the banks of each column.
    outlets: Table,
    /// Reads through these ports, by number and cycle; equal reads in the same cycle are shared.
    left: HashMap<(usize, u64), usize>,
    /// Likewise for transfers between columns, by the sending column.
    sent: HashMap<(usize, u64), usize>,
    values: Vec<Value>,
    /// The latest register copy of each operand from the scratchpad, by row and place; those from outside
    /// follow the pattern's own.
    brought: Vec<Option<u32>>,
    live_ranges: Vec<LiveRange>,
    spreads: Vec<Spread>,
    moves: Vec<(u64, usize, Move)>,
    done: Vec<Done>,
    settled: Vec<bool>,
    /// Nothing is placed before this cycle.
    floor: u64,
    /// Maximum number of beats to search for a place.
    patience: u64,
    /// For each column, the current row and the position of its last product with the hint.
    turns: Vec<(usize, u64)>,
    /// Whether an instruction found too few registers after all reservations.
    stuck: bool,
    /// Whether to count registers only when several instructions have been placed.
    together: bool,
    attempts: &'a Cell<u64>,
}

/// A schedule of all rows, which all clusters follow.
pub struct Placed {
    /// Cycle, row and action, in no order.
    pub moves: Vec<(u64, usize, Move)>,
    pub live_ranges: Vec<LiveRange>,
    pub spreads: Vec<Spread>,
    /// For each row, the cycle of its last product with the hint.
    pub reached: Vec<u64>,
    /// The cycle from which all results can be read from the scratchpad.
    pub end: u64,
}

/// The schedule of the first `rows` rows, if any. Stops if a row's last product with the hint is later than
/// `limit`.
pub fn place(given: &Given, rows: usize, choice: &Choice, limit: &[u64]) -> Option<Placed> {
    let residence = Residence::new(given.pattern, given.columns, &choice.order, choice.registers);
    let stagger = given.staggers[usize::from(residence.transforms_bring(given.pattern))];
    let mut placer = Placer::new(given, rows, choice, residence, stagger);
    let mut reached = Vec::with_capacity(rows);
    for &(_, place) in choice.order.iter().filter(|(next, _)| *next) {
        placer.settle(0, place)?;
    }
    for row in 0..rows {
        cancel::check();
        for &(next, place) in &choice.order {
            if row + usize::from(next) < rows {
                placer.settle(row + usize::from(next), place)?;
            }
        }
        placer.forget(row);
        let turn = placer.turns.iter().map(|&(_, turn)| turn).max().unwrap_or(0);
        reached.push(turn);
        if limit.get(row).is_some_and(|&limit| limit < turn) {
            return None;
        }
    }
    Some(placer.placed(reached))
}

impl<'a> Placer<'a> {
    fn new(given: &'a Given<'a>, rows: usize, choice: &Choice, residence: Residence, stagger: Stagger) -> Self {
        let &Given { pattern, columns, leaves, ready, machine, geometry, latencies, .. } = given;
        let mut widths = vec![1; BANKS];
        widths.extend(std::iter::repeat_n(machine.accesses_per_cycle, machine.register_banks));
        let mut units = Vec::new();
        for kind in UnitKind::ALL {
            for number in 0..machine.units[kind as usize] {
                let begins = match (kind, number) {
                    (UnitKind::Ntt, _) => stagger.transform,
                    (UnitKind::Automorphism, _) => stagger.scratchpad,
                    (UnitKind::Multiply, number) => stagger.multipliers[number.min(1)],
                    (UnitKind::Add, number) => stagger.adders[number % 2],
                };
                units.push(Unit { kind, number, track: widths.len(), begins });
                widths.push(1);
            }
        }
        let places = pattern.len() + ready.first().map_or(0, Vec::len);
        let hint = if columns.is_by_limb() { columns.hint() } else { 0 };
        Self {
            pattern,
            leaves,
            ready,
            columns,
            here: 0,
            residence,
            eager: choice.eager,
            patient: choice.patient,
            prompt: choice.prompt,
            banks: machine.register_banks as u64,
            beat: geometry.occupancy,
            latencies,
            stagger,
            units,
            tables: vec![Table::new(geometry.occupancy, &widths, geometry.registers); columns.count()],
            outlets: Table::new(geometry.occupancy, &vec![1; columns.count()], 0),
            left: HashMap::new(),
            sent: HashMap::new(),
            values: vec![Value::default(); rows * pattern.len()],
            brought: vec![None; rows * (places + hint)],
            live_ranges: Vec::new(),
            spreads: Vec::new(),
            moves: Vec::new(),
            done: Vec::new(),
            settled: vec![false; rows * pattern.len()],
            floor: 0,
            patience: pattern.len() as u64,
            turns: vec![(0, 0); columns.count()],
            stuck: false,
            together: false,
            attempts: &given.attempts,
        }
    }

    fn placed(self, reached: Vec<u64>) -> Placed {
        let arrived = self.values.iter().map(|value| value.arrives).max().unwrap_or(0);
        let read = self.live_ranges.iter().map(|range| range.last).max().unwrap_or(0);
        let end = arrived.max(read) + self.beat;
        Placed { moves: self.moves, live_ranges: self.live_ranges, spreads: self.spreads, reached, end }
    }

    fn value(&self, row: usize, place: u32) -> usize {
        row * self.pattern.len() + place as usize
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            tables: self.tables.iter().map(Table::checkpoint).collect(),
            outlets: self.outlets.checkpoint(),
            done: self.done.len(),
            live_ranges: self.live_ranges.len(),
            spreads: self.spreads.len(),
            moves: self.moves.len(),
        }
    }

    fn undo(&mut self, checkpoint: &Checkpoint) {
        self.tables.iter_mut().zip(&checkpoint.tables).for_each(|(table, &checkpoint)| table.undo(checkpoint));
        self.outlets.undo(checkpoint.outlets);
        while self.done.len() > checkpoint.done {
            match self.done.pop() {
                Some(Done::Value(index, value)) => self.values[index] = value,
                Some(Done::LiveRange(index, live_range)) => self.live_ranges[index as usize] = live_range,
                Some(Done::Brought(index, before)) => self.brought[index] = before,
                Some(Done::Left(column, at)) => drop(self.left.remove(&(column, at))),
                Some(Done::Sent(column, at)) => drop(self.sent.remove(&(column, at))),
                Some(Done::Joined(spread)) => drop(self.spreads[spread].values.pop()),
                None => {}
            }
        }
        self.live_ranges.truncate(checkpoint.live_ranges);
        self.spreads.truncate(checkpoint.spreads);
        self.moves.truncate(checkpoint.moves);
    }

    /// Drops reservations before the start of the previous row's operation.
    fn forget(&mut self, row: usize) {
        self.done.clear();
        let Some(before) = row.checked_sub(1) else { return };
        let begun = self.moves.iter().filter(|(_, of, _)| *of == before).map(|&(cycle, ..)| cycle).min();
        self.floor = begun.unwrap_or(0).max(self.floor);
        // Instructions that start there may fetch operands a few beats earlier.
        let kept = self.floor.saturating_sub((FETCH + 2) * self.beat);
        self.tables.iter_mut().chain([&mut self.outlets]).for_each(|table| table.forget(kept));
        [&mut self.left, &mut self.sent].into_iter().for_each(|those| those.retain(|&(_, at), _| at >= kept));
    }

    /// The cycle from which an operand can arrive from the scratchpad.
    fn arrives(&self, row: usize, operand: Operand) -> u64 {
        match operand {
            Operand::Own(place) => self.values[self.value(row, place)].arrives,
            Operand::Outside(index) => match self.ready[row][index as usize] {
                Ready::Now => self.latencies.network,
                Ready::From(row, place) => self.values[self.value(row, place)].arrives,
            },
            Operand::Shared(_) => self.latencies.network,
        }
    }

    fn in_register(&self, place: u32, operand: Operand) -> bool {
        matches!(operand, Operand::Own(of) if !self.residence.away(of, place))
    }

    /// The first cycle in which the operands of an instruction can be read.
    fn operands_ready(&self, row: usize, place: u32) -> u64 {
        let operands = self.pattern.operands[place as usize].iter();
        let ready = operands.map(|&operand| match operand {
            Operand::Own(of) if self.in_register(place, operand) => {
                let live_range = self.values[self.value(row, of)].live_range;
                let written = live_range.map_or(0, |live_range| self.live_ranges[live_range as usize].from + 1);
                written + if self.crosses(of, place) { self.latencies.network } else { 0 }
            }
            Operand::Shared(_) => 0,
            other => self.arrives(row, other),
        });
        ready.max().unwrap_or(0).max(self.floor)
    }

    /// Earliest cycle of an instruction; early results stay out of the registers.
    fn not_before(&self, row: usize, place: u32) -> u64 {
        let waits = |of: usize| of == row && (!self.eager || self.reads_hint(place)) || self.prompt && of + 1 == row;
        match self.turns[self.here] {
            (of, turn) if waits(of) => turn.saturating_sub(self.latencies.of(self.pattern.unit(place)) + self.beat),
            _ => 0,
        }
    }

    fn next(&self, begins: u64, from: u64) -> u64 {
        from + (begins + self.beat - from % self.beat) % self.beat
    }

    fn table(&self) -> &Table {
        &self.tables[self.here]
    }

    /// Number of values of an operation: its results and its operands from outside.
    fn places(&self) -> usize {
        self.pattern.len() + self.ready.first().map_or(0, Vec::len)
    }

    /// Whether a reader gets a result from a register of another column.
    fn crosses(&self, place: u32, user: u32) -> bool {
        self.columns.is_by_limb() && self.columns.of(place) != self.columns.of(user)
    }

    /// The number of an operand, and the column whose banks contain it.
    fn outlet(&self, row: usize, operand: Operand) -> (usize, usize) {
        let (rows, places) = (self.values.len() / self.pattern.len(), self.places());
        match operand {
            Operand::Own(place) => (row * places + place as usize, self.columns.of(place)),
            Operand::Outside(index) => {
                let number = row * places + self.pattern.len() + index as usize;
                (number, self.columns.of_outside(index))
            }
            Operand::Shared(index) => {
                (rows * places + index as usize, self.columns.bank_of_hint(index) % self.columns.count())
            }
        }
    }

    /// Whether an operand can be received from the scratchpad in `at`.
    fn can_receive(&self, row: usize, operand: Operand, at: u64) -> bool {
        let (number, column) = self.outlet(row, operand);
        self.table().is_free(SCRATCHPAD, at)
            && (self.left.get(&(column, at)) == Some(&number) || self.outlets.is_free(column, at))
    }

    /// Reserves the resources to receive it, if possible.
    fn receive(&mut self, row: usize, operand: Operand, at: u64) -> bool {
        let (number, column) = self.outlet(row, operand);
        if !self.can_receive(row, operand, at) {
            return false;
        }
        self.tables[self.here].take(SCRATCHPAD, at);
        if self.outlets.take(column, at) {
            self.left.insert((column, at), number);
            self.done.push(Done::Left(column, at));
        }
        true
    }

    fn access(&mut self, at: u64) -> bool {
        self.tables[self.here].take(BANKS + (at % self.banks) as usize, at)
    }

    fn reads_hint(&self, place: u32) -> bool {
        self.pattern.unit(place) == UnitKind::Multiply
            && self.pattern.operands[place as usize].iter().any(|operand| matches!(operand, Operand::Shared(_)))
    }

    /// Places an instruction that is not yet placed, and the products of a transform with the hint.
    fn settle(&mut self, row: usize, place: u32) -> Option<()> {
        if self.settled[self.value(row, place)] {
            return Some(());
        }
        if self.awaits(row, place) {
            return None;
        }
        self.here = self.columns.of(place);
        let users = &self.pattern.users[place as usize];
        let products = !users.is_empty() && users.iter().all(|&user| self.only_waits_for(user, place));
        let from = self.operands_ready(row, place).max(self.not_before(row, place));
        self.stuck = false;
        match self.pattern.unit(place) {
            UnitKind::Ntt if products => {
                let users = users.clone();
                self.transform(row, place, &users, from)?;
                users.iter().for_each(|&user| self.set_settled(row, user));
            }
            UnitKind::Multiply if self.reads_hint(place) => {
                let mut beats = 0..self.patience;
                beats.find_map(|beat| {
                    let from = from + beat * self.beat;
                    if self.stuck { None } else { self.product(row, place, from) }
                })?;
            }
            _ => drop(self.first(row, place, from, self.patience)?),
        }
        self.set_settled(row, place);
        Some(())
    }

    /// Whether it reads an unplaced result of an earlier row.
    fn awaits(&self, row: usize, place: u32) -> bool {
        self.pattern.operands[place as usize].iter().any(|operand| match *operand {
            Operand::Outside(index) => match self.ready[row][index as usize] {
                Ready::From(row, place) => !self.settled[self.value(row, place)],
                Ready::Now => false,
            },
            _ => false,
        })
    }

    fn set_settled(&mut self, row: usize, place: u32) {
        let index = self.value(row, place);
        self.settled[index] = true;
    }

    /// Whether a product reads only the hint and one result in a register.
    fn only_waits_for(&self, product: u32, result: u32) -> bool {
        self.reads_hint(product)
            && self.pattern.operands[product as usize].iter().all(|&operand| match operand {
                Operand::Shared(_) => true,
                own => own == Operand::Own(result) && self.in_register(product, own),
            })
    }

    /// Places a transform together with its products.
    fn transform(&mut self, row: usize, place: u32, products: &[u32], from: u64) -> Option<()> {
        let latency = self.latencies.of(UnitKind::Ntt);
        let unit = self.units.iter().position(|unit| unit.kind == UnitKind::Ntt)?;
        let first = self.next(self.units[unit].begins, from);
        for beat in 0..self.patience {
            if self.stuck {
                return None;
            }
            let at = first + beat * self.beat;
            let checkpoint = self.checkpoint();
            self.together = true;
            let from = at + latency + 1;
            let fits = self.execute(row, place, unit, at)
                && products.iter().all(|&product| self.product(row, product, from).is_some());
            self.together = false;
            if fits && self.registers_suffice() {
                return Some(());
            }
            self.undo(&checkpoint);
        }
        None
    }

    /// Places a product with a hint vector within a few beats; uses the port from the clusters unless the other
    /// one is much sooner.
    fn product(&mut self, row: usize, place: u32, from: u64) -> Option<()> {
        let checkpoint = self.checkpoint();
        let mut found = [None; 2];
        for (route, found) in found.iter_mut().enumerate() {
            for unit in 0..self.units.len() {
                let Unit { kind, number, .. } = self.units[unit];
                if kind != UnitKind::Multiply || (number == 0) != (route == 0) {
                    continue;
                }
                let first = self.next(self.units[unit].begins, from);
                for beat in 0..=WINDOW {
                    let at = first + beat * self.beat;
                    if found.is_some_and(|(sooner, _)| sooner <= at) {
                        break;
                    }
                    let fits = self.execute(row, place, unit, at);
                    self.undo(&checkpoint);
                    if fits {
                        *found = Some((at, unit));
                        break;
                    }
                }
            }
        }
        let [scratchpad, clusters] = found;
        let patience = self.patient * self.beat;
        let (at, unit) = match (scratchpad, clusters) {
            (Some(a), Some(b)) if a.0 + patience <= b.0 + self.beat / 2 => a,
            (_, Some(b)) => b,
            (a, None) => a?,
        };
        let turn = &mut self.turns[self.here];
        if turn.0 < row || turn.1 < at {
            *turn = (row, at);
        }
        self.execute(row, place, unit, at).then_some(())
    }

    /// The first cycle in which an instruction fits.
    fn first(&mut self, row: usize, place: u32, from: u64, patience: u64) -> Option<u64> {
        let kind = self.pattern.unit(place);
        let units = (0..self.units.len()).filter(|&unit| self.units[unit].kind == kind);
        let mut options: Vec<(u64, usize)> =
            units.map(|unit| (self.next(self.units[unit].begins, from), unit)).collect();
        options.sort_unstable();
        let checkpoint = self.checkpoint();
        for beat in 0..patience {
            if self.stuck {
                return None;
            }
            for &(first, unit) in &options {
                let at = first + beat * self.beat;
                if self.execute(row, place, unit, at) {
                    return Some(at);
                }
                self.undo(&checkpoint);
            }
        }
        None
    }

    /// Reserves the resources of an instruction in a cycle; on failure, the caller must undo.
    fn execute(&mut self, row: usize, place: u32, unit: usize, at: u64) -> bool {
        self.attempts.set(self.attempts.get() + 1);
        if !self.tables[self.here].take(self.units[unit].track, at) {
            return false;
        }
        let mut sources = [None; 2];
        for (index, source) in sources.iter_mut().enumerate().take(self.pattern.operands[place as usize].len()) {
            *source = self.deliver(row, place, index, unit, at);
            if source.is_none() {
                return false;
            }
        }
        let write = at + self.latencies.of(self.units[unit].kind);
        let readers = self.residence.near(self.pattern, place);
        let leaves = self.leaves[place as usize] || readers < self.pattern.users[place as usize].len();
        let network = self.latencies.network;
        let mut value = Value { live_range: None, readers, arrives: 0 };
        if readers == 0 {
            if !self.tables[self.here].take(OUT, write) {
                return false;
            }
            value.arrives = write + 2 * network + 1;
        } else {
            if !self.access(write) {
                return false;
            }
            self.tables[self.here].count(write, 1);
            let live_range = self.live_ranges.len() as u32;
            let mut last = write;
            if leaves {
                let back = write + 1..=write + self.beat;
                let free = |at: &u64| {
                    self.table().is_free(OUT, *at) && self.table().is_free(BANKS + (*at % self.banks) as usize, *at)
                };
                let Some(back) = back.into_iter().find(free) else { return false };
                self.tables[self.here].take(OUT, back);
                self.access(back);
                self.moves.push((back, row, Move::WriteBack(place, live_range)));
                value.arrives = back + 2 * network + 1;
                last = back;
            }
            self.live_ranges.push(LiveRange { from: write, last, column: self.here });
            value.live_range = Some(live_range);
        }
        let index = self.value(row, place);
        self.done.push(Done::Value(index, self.values[index]));
        self.values[index] = value;
        self.moves.push((at, row, Move::Execute(place, self.units[unit].number, sources, value.live_range)));
        self.together || self.registers_suffice()
    }

    fn registers_suffice(&mut self) -> bool {
        self.stuck = !self.table().registers_suffice_at_last();
        !self.stuck && self.table().registers_suffice()
    }

    /// Provides an operand of an instruction that starts in `at`.
    fn deliver(&mut self, row: usize, place: u32, index: usize, unit: usize, at: u64) -> Option<From> {
        let operand = self.pattern.operands[place as usize][index];
        let from_scratchpad = self.units[unit].begins == self.stagger.scratchpad;
        match operand {
            Operand::Own(of) if self.in_register(place, operand) && self.crosses(of, place) => self.cross(row, of, at),
            Operand::Own(of) if self.in_register(place, operand) => {
                let index = self.value(row, of);
                let value = self.values[index];
                let live_range = value.live_range?;
                if self.live_ranges[live_range as usize].from >= at || !self.access(at) {
                    return None;
                }
                self.extend(live_range, at);
                self.done.push(Done::Value(index, value));
                self.values[index].readers -= 1;
                if self.values[index].readers == 0 {
                    self.tables[self.here].count(self.live_ranges[live_range as usize].last + 1, -1);
                }
                Some(From::LiveRange(live_range))
            }
            Operand::Shared(_) if self.columns.is_by_limb() => self.bring(row, operand, false, at),
            Operand::Shared(value) if self.units[unit].kind == UnitKind::Multiply => {
                if from_scratchpad && self.units[unit].number == 0 {
                    return self.receive(row, operand, at).then_some(From::Scratchpad);
                }
                self.spread(value, at)
            }
            _ => self.bring(row, operand, from_scratchpad, at),
        }
    }

    /// A live range from one cycle to another.
    fn hold(&mut self, from: u64, last: u64) -> u32 {
        self.live_ranges.push(LiveRange { from, last, column: self.here });
        self.tables[self.here].count(from, 1);
        self.tables[self.here].count(last + 1, -1);
        self.live_ranges.len() as u32 - 1
    }

    fn extend(&mut self, live_range: u32, last: u64) {
        let before = self.live_ranges[live_range as usize];
        if before.last < last {
            self.done.push(Done::LiveRange(live_range, before));
            self.live_ranges[live_range as usize].last = last;
        }
    }

    /// Provides an operand from the scratchpad: as a stream if the unit's beat allows, otherwise through a
    /// register.
    fn bring(&mut self, row: usize, operand: Operand, streams: bool, at: u64) -> Option<From> {
        let arrives = self.arrives(row, operand);
        let hints = self.brought.len() / (self.values.len() / self.pattern.len()) - self.places();
        let key = row * (self.places() + hints)
            + match operand {
                Operand::Own(place) => place as usize,
                Operand::Outside(index) => self.pattern.len() + index as usize,
                Operand::Shared(index) => self.places() + index as usize,
            };
        if let Some(live_range) = self.brought[key] {
            let LiveRange { from, last, column } = self.live_ranges[live_range as usize];
            if column == self.here && from < at && at <= last + LINGER * self.beat && self.access(at) {
                if last < at {
                    self.tables[self.here].count(last + 1, 1);
                    self.tables[self.here].count(at + 1, -1);
                    self.extend(live_range, at);
                }
                return Some(From::LiveRange(live_range));
            }
        }
        if streams && arrives <= at && self.receive(row, operand, at) {
            return Some(From::Scratchpad);
        }
        let earliest = arrives.max(at.saturating_sub(FETCH * self.beat));
        let mut arrival = self.next(self.stagger.scratchpad, earliest);
        let mut found = None;
        while arrival < at {
            let bank = BANKS + (arrival % self.banks) as usize;
            // If another column also receives it, the read is free, so it may stay in a register longer.
            let (number, column) = self.outlet(row, operand);
            let joins = self.left.get(&(column, arrival)) == Some(&number);
            let near = joins && arrival + JOIN * self.beat >= at;
            if self.can_receive(row, operand, arrival) && self.table().is_free(bank, arrival) {
                found = Some(arrival);
                if near {
                    break;
                }
            }
            arrival += self.beat;
        }
        let arrival = found?;
        self.receive(row, operand, arrival);
        if !self.access(arrival) || !self.access(at) {
            return None;
        }
        let live_range = self.hold(arrival, at);
        self.done.push(Done::Brought(key, self.brought[key]));
        self.brought[key] = Some(live_range);
        self.moves.push((arrival, row, Move::Fetch(operand, live_range)));
        Some(From::LiveRange(live_range))
    }

    /// Provides a hint vector from the cluster that stores it for all. All vectors are fetched at once, in one
    /// beat of the scratchpad's port.
    fn spread(&mut self, value: u32, at: u64) -> Option<From> {
        let network = self.latencies.network;
        let depart = at.checked_sub(network)?;
        if !self.tables[self.here].take(CLUSTERS, at) || !self.access(depart) {
            return None;
        }
        // Only the newest; older ones have left their registers.
        let own = |&index: &usize| self.live_ranges[self.spreads[index].live_range as usize].column == self.here;
        let newest: Vec<usize> = (0..self.spreads.len()).rev().filter(own).take(3).collect();
        for index in newest {
            let Spread { values, live_range } = &self.spreads[index];
            let (live_range, LiveRange { from, last, .. }) = (*live_range, self.live_ranges[*live_range as usize]);
            let holder = values.iter().position(|&held| held == value);
            let joins = self.columns.leave_together(values, value);
            if from >= depart || (holder.is_none() && !joins) {
                continue;
            }
            if last < depart {
                let checkpoint = self.table().checkpoint();
                self.tables[self.here].count(last + 1, 1);
                self.tables[self.here].count(depart + 1, -1);
                if !self.table().registers_suffice() {
                    self.tables[self.here].undo(checkpoint);
                    continue;
                }
                self.extend(live_range, depart);
            }
            let holder = holder.unwrap_or_else(|| {
                self.spreads[index].values.push(value);
                self.done.push(Done::Joined(index));
                self.spreads[index].values.len() - 1
            });
            return Some(From::Cluster(holder, live_range));
        }
        let earliest = depart.saturating_sub(FETCH * self.beat).max(2 * network);
        let mut arrival = self.next(self.stagger.scratchpad, earliest);
        let mut found = None;
        while arrival < depart {
            let bank = BANKS + (arrival % self.banks) as usize;
            if self.can_receive(0, Operand::Shared(value), arrival) && self.table().is_free(bank, arrival) {
                found = Some(arrival);
            }
            arrival += self.beat;
        }
        let arrival = found?;
        self.receive(0, Operand::Shared(value), arrival);
        self.access(arrival);
        let live_range = self.hold(arrival, depart);
        self.moves.push((arrival, 0, Move::Spread(self.spreads.len())));
        self.spreads.push(Spread { values: vec![value], live_range });
        Some(From::Cluster(0, live_range))
    }
}
