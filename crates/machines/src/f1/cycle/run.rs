//! Schedules a lockstep run of equal operations; all clusters are idle before and after it.

use super::super::lockstep::{From, Move, Operand, Plan, Planned, Row, Run};
use super::room::{NEVER, Room};
use super::spread::Spread;
use super::{
    Action, Bank, Cell, Cluster, CycleError, Destination, Frame, Held, NONE, Register, Reservations, Scheduler, Source,
    Step, Way,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

/// Attempts to start a run such that all loads arrive in time and no bank conflicts.
const ATTEMPTS: usize = 32;

/// A snapshot before a run, to retry or abandon it.
struct Before {
    clusters: Vec<Cluster>,
    banks: Vec<Bank>,
    stacks: Vec<Reservations>,
    free: Vec<BinaryHeap<Reverse<(u64, u16)>>>,
    front: Vec<u64>,
    spread: Spread,
    /// Values with their places, the registers with copies, and the remaining readers.
    values: Vec<(u32, Option<Held>, u32, u32)>,
    end: u64,
    idle: u64,
    actions: usize,
}

impl Before {
    /// Of everything that a run with the interleaved `steps` can change.
    fn new(scheduler: &Scheduler, run: &Run, steps: &Beside) -> Self {
        let rows = run.rows.iter().flat_map(|row| row.instructions.iter().chain(&row.outside)).flatten();
        let cells = scheduler.clusters.iter().flat_map(|cluster| &cluster.cells).map(|cell| cell.value);
        let others = cells.filter(|&value| value != NONE).chain(steps.stores.iter().copied());
        let values = rows.chain(&run.hint).chain(&steps.loads).copied().chain(others).map(|value| {
            let index = value as usize;
            (value, scheduler.held[index], scheduler.copies[index], scheduler.remaining[index])
        });
        Self {
            clusters: scheduler.clusters.clone(),
            banks: scheduler.banks.clone(),
            stacks: scheduler.stacks.clone(),
            free: scheduler.free.clone(),
            front: scheduler.front.clone(),
            spread: scheduler.spread.clone(),
            values: values.collect(),
            end: scheduler.end,
            idle: scheduler.idle,
            actions: scheduler.actions.len(),
        }
    }

    fn restore(&self, scheduler: &mut Scheduler, run: &Run, steps: &Beside) {
        scheduler.clusters.clone_from(&self.clusters);
        scheduler.banks.clone_from(&self.banks);
        scheduler.stacks.clone_from(&self.stacks);
        scheduler.free.clone_from(&self.free);
        scheduler.front.clone_from(&self.front);
        scheduler.spread.clone_from(&self.spread);
        for &(value, held, copies, remaining) in &self.values {
            scheduler.held[value as usize] = held;
            scheduler.copies[value as usize] = copies;
            scheduler.remaining[value as usize] = remaining;
        }
        for &instruction in run.rows.iter().flat_map(|row| &row.instructions).flatten() {
            scheduler.issued[instruction as usize] = false;
        }
        for value in &steps.stores {
            scheduler.stored.remove(value);
        }
        (scheduler.end, scheduler.idle) = (self.end, self.idle);
        scheduler.actions.truncate(self.actions);
    }
}

/// The steps between a run's first and last instruction that are not part of it.
#[derive(Default)]
struct Beside {
    /// Stores before the run.
    stores: Vec<u32>,
    /// Loads during the run.
    loads: Vec<u32>,
    /// Values that phase 2 evicts and reloads during the run, without a copy in memory; they stay.
    stayed: Vec<u32>,
    /// Steps after the run.
    later: Vec<Step>,
}

impl Scheduler<'_> {
    /// Schedules a run whose first instruction is `steps`\[`first`\], if its values can be provided in time.
    /// Returns the index of the next steps. Otherwise nothing changes.
    pub(super) fn run(
        &mut self,
        Planned { run, plan }: &Planned,
        steps: &[Step],
        first: usize,
    ) -> Result<Option<usize>, CycleError> {
        let Some((mut beside, next)) = self.beside(run, steps, first) else { return Ok(None) };
        let reads = reads(run, plan, self.network);
        // Loads in the order of their first reads.
        beside.loads.sort_by_key(|value| reads.get(value).map_or(NEVER, |cycles| cycles[0]));
        let before = Before::new(self, run, &beside);
        // There may be no frames for everything that phase 2 evicts for.
        if !self.begun((run, plan), &beside, &before, &reads).unwrap_or(false) {
            before.restore(self, run, &beside);
            return Ok(None);
        }
        // Phase 2 assumes a copy in memory from its store on.
        for &value in &beside.stayed {
            if self.remaining[value as usize] > 0 {
                self.store(value)?;
            }
        }
        beside.later.into_iter().try_for_each(|step| self.step(step))?;
        Ok(Some(next))
    }

    /// Schedules the run as early as its values allow; returns whether such a cycle exists.
    fn begun(
        &mut self,
        (run, plan): (&Run, &Plan),
        beside: &Beside,
        before: &Before,
        reads: &HashMap<u32, Vec<u64>>,
    ) -> Result<bool, CycleError> {
        // Loads every value as early as possible without the run.
        self.clear(beside)?;
        beside.loads.iter().try_for_each(|&value| self.load(value))?;
        let beat = self.geometry.occupancy.max(self.register_banks);
        let mut start = self.idle.next_multiple_of(beat) + beat;
        let late = reads.iter().map(|(&value, cycles)| {
            let at = self.held[value as usize].map_or(0, |held| held.at);
            (at + 1).saturating_sub(start + cycles[0])
        });
        start = (start + late.max().unwrap_or(0)).next_multiple_of(beat);
        for _ in 0..ATTEMPTS {
            before.restore(self, run, beside);
            match self.with_loads((run, plan), beside, start, reads)? {
                0 => return Ok(true),
                NEVER => break,
                delay => start += delay.next_multiple_of(beat),
            }
        }
        Ok(false)
    }

    /// The interleaved steps, and the index of the steps after the run; `None` if some of the run's
    /// instructions were issued earlier.
    fn beside(&self, run: &Run, steps: &[Step], first: usize) -> Option<(Beside, usize)> {
        let own: HashSet<u32> = run.rows.iter().flat_map(|row| row.instructions.iter().flatten().copied()).collect();
        if own.iter().any(|&instruction| self.issued[instruction as usize]) {
            return None;
        }
        let mut left = own.len();
        let mut behind: HashSet<u32> = HashSet::new();
        let mut gone: BTreeMap<u32, Step> = BTreeMap::new();
        let mut beside = Beside::default();
        let mut next = first;
        while left > 0 {
            let &step = steps.get(next)?;
            next += 1;
            match step {
                Step::Execute(instruction) if own.contains(&instruction) => left -= 1,
                Step::Execute(instruction) => {
                    behind.insert(instruction);
                    beside.later.push(step);
                }
                Step::Store(value) if own.contains(&value) || behind.contains(&value) => beside.later.push(step),
                // A reloaded value stays; other evictions follow the run, which evicts by itself.
                Step::Drop(value) | Step::Spill(value) => drop(gone.insert(value, step)),
                Step::Load(value) => match gone.remove(&value) {
                    Some(Step::Spill(_)) => beside.stayed.push(value),
                    Some(_) => {}
                    None => beside.loads.push(value),
                },
                Step::Store(value) => beside.stores.push(value),
            }
        }
        beside.later.extend(gone.into_values());
        Some((beside, next))
    }

    /// Performs the stores before a run and empties the registers.
    fn clear(&mut self, beside: &Beside) -> Result<(), CycleError> {
        beside.stores.iter().try_for_each(|&value| self.step(Step::Store(value)))?;
        self.empty_registers()
    }

    /// Schedules the run from `start` on with its loads; returns the cycles by which it starts too early.
    fn with_loads(
        &mut self,
        (run, plan): (&Run, &Plan),
        beside: &Beside,
        start: u64,
        reads: &HashMap<u32, Vec<u64>>,
    ) -> Result<u64, CycleError> {
        self.clear(beside)?;
        let mut room = Room::new(run, reads, start);
        for &value in &beside.loads {
            let place = self.take_frame(value, None)?;
            self.held[value as usize] = Some(Held { frame: place.0, at: 0, free_from: place.1 });
            let first = reads.get(&value).and_then(|reads| reads.first()).map_or(NEVER, |cycle| start + cycle);
            room.await_load(value, place, first);
        }
        if let Err(delay) = self.follow(run, plan, start, &mut room) {
            return Ok(delay);
        }
        self.load_awaited(room)
    }

    /// Writes all live values back to the scratchpad.
    fn empty_registers(&mut self) -> Result<(), CycleError> {
        for cluster in 0..self.clusters.len() {
            for index in 0..self.clusters[cluster].cells.len() {
                let value = self.clusters[cluster].cells[index].value;
                if value != NONE && self.held[value as usize].is_none() {
                    self.write_back(Register { cluster: cluster as u16, index: index as u16 })?;
                }
            }
        }
        for cluster in 0..self.clusters.len() {
            for index in 0..self.clusters[cluster].cells.len() {
                let cell = &mut self.clusters[cluster].cells[index];
                let value = std::mem::replace(&mut cell.value, NONE);
                if value != NONE {
                    self.copies[value as usize] = 0;
                }
            }
        }
        Ok(())
    }

    /// Adds the plan to the schedule from `start` on. The error is the delay after which a conflicting bank is
    /// free, or [`NEVER`] if the scratchpad is full.
    fn follow(&mut self, run: &Run, plan: &Plan, start: u64, room: &mut Room) -> Result<(), u64> {
        let network = self.network;
        let mut order: Vec<usize> = (0..plan.placed.moves.len()).collect();
        order.sort_by_key(|&index| plan.placed.moves[index].0);
        let register = |operation: usize, live_range: u32| {
            let cluster = run.columns.cluster(operation, plan.placed.live_ranges[live_range as usize].column) as u16;
            Register { cluster, index: plan.registers[live_range as usize] }
        };
        for index in order {
            let (cycle, row, what) = &plan.placed.moves[index];
            let (at, row) = (start + cycle, &run.rows[*row]);
            self.bring_back(room, at);
            match what {
                Move::Fetch(operand, live_range) => {
                    for operation in 0..row.instructions.len() {
                        let value = value(run, row, operation, *operand);
                        let frame = self.leave(value, at - network, room)?;
                        let register = register(operation, *live_range);
                        self.push(at - network, Action::Fetch { frame, register, value });
                    }
                }
                Move::Spread(spread) => {
                    let spread = &plan.placed.spreads[*spread];
                    for (operation, &place) in spread.values.iter().enumerate() {
                        let value = run.hint[place as usize];
                        let frame = self.leave(value, at - network, room)?;
                        let register = register(operation, spread.live_range);
                        self.push(at - network, Action::Fetch { frame, register, value });
                    }
                }
                Move::WriteBack(place, live_range) => {
                    for (operation, instructions) in row.instructions.iter().enumerate() {
                        let value = instructions[*place as usize];
                        let register = register(operation, *live_range);
                        let frame = self.enter(value, usize::from(register.cluster), at + network, room)?;
                        self.push(at, Action::WriteBack { register, frame, value });
                    }
                }
                Move::Execute(place, unit, sources, live_range) => {
                    let operands = run.operands(*place);
                    let result = live_range.map(|live_range| plan.registers[live_range as usize]);
                    for operation in 0..row.instructions.len() {
                        let mut from = [Source::Register(0); 2];
                        for ((from, source), &operand) in from.iter_mut().zip(sources).zip(operands) {
                            *from = match source.ok_or(NEVER)? {
                                From::LiveRange(live_range) => Source::Register(plan.registers[live_range as usize]),
                                From::Cluster(holder, live_range) => Source::Cluster(register(holder, live_range)),
                                From::Column(live_range) => Source::Cluster(register(operation, live_range)),
                                From::Scratchpad => {
                                    let value = value(run, row, operation, operand);
                                    Source::Scratchpad(self.leave(value, at - network, room)?)
                                }
                            };
                        }
                        if operands.len() == 1 {
                            from[1] = from[0];
                        }
                        let instruction = row.instructions[operation][*place as usize];
                        let cluster = run.columns.cluster(operation, run.columns.of(*place));
                        self.run_one(instruction, (cluster, *unit), at, (from, result), room)?;
                    }
                }
            }
        }
        let end = start + plan.placed.end;
        for cluster in &mut self.clusters {
            cluster.close(end);
            cluster.cells.iter_mut().for_each(|cell| *cell = Cell { value: NONE, at: 0, free_from: end });
        }
        self.front.fill(end);
        Ok(())
    }

    fn run_one(
        &mut self,
        instruction: u32,
        (cluster, unit): (usize, usize),
        at: u64,
        (operands, register): ([Source; 2], Option<u16>),
        room: &mut Room,
    ) -> Result<(), u64> {
        let graph = self.graph;
        self.issued[instruction as usize] = true;
        let result = match register {
            Some(index) => Destination::Register(index),
            None => {
                let write = at + self.geometry.latency(graph.function(instruction as usize)) + self.network;
                Destination::Scratchpad(self.enter(instruction, cluster, write, room)?)
            }
        };
        let (cluster, unit) = (cluster as u16, unit as u8);
        self.push(at, Action::Execute { instruction, cluster, unit, operands, result });
        for &vector in graph.distinct_operands(instruction as usize) {
            let value = graph.number(vector) as u32;
            self.remaining[value as usize] -= 1;
            if self.remaining[value as usize] == 0 {
                self.release(value);
            }
        }
        Ok(())
    }

    /// Reads a value from its frame in `at`, once for all receivers in these cycles.
    fn leave(&mut self, value: u32, at: u64, room: &mut Room) -> Result<Frame, u64> {
        let held = self.held[value as usize].ok_or(NEVER)?;
        if held.at >= at {
            return Err(held.at + 1 - at);
        }
        if room.leaves(value, at) {
            self.touch(value, at);
            self.reserve_bank(held.frame.bank, Way::Leave, at)?;
        }
        Ok(held.frame)
    }

    /// Writes a value to the scratchpad in `at`, in the bank of its cluster.
    fn enter(&mut self, value: u32, cluster: usize, at: u64, room: &mut Room) -> Result<Frame, u64> {
        let bank = (cluster % self.banks.len()) as u16;
        self.preferred.insert(value, bank);
        let (frame, from) = match self.room_in(bank, at, at, room) {
            Some(place) => place,
            None => self.take_frame(value, None).map_err(|_| NEVER)?,
        };
        if from > at {
            return Err(from - at);
        }
        self.reserve_bank(frame.bank, Way::Enter, at)?;
        self.held[value as usize] = Some(Held { frame, at, free_from: at + 1 });
        Ok(frame)
    }

    fn reserve_bank(&mut self, bank: u16, way: Way, at: u64) -> Result<(), u64> {
        if self.banks[bank as usize].reserve_apart(way, at, self.geometry.occupancy) {
            return Ok(());
        }
        Err((self.through_bank(bank, way, at) - at).max(1))
    }
}

/// For every value that a run reads from the scratchpad, the cycles of its reads in order, relative to the run.
fn reads(run: &Run, plan: &Plan, network: u64) -> HashMap<u32, Vec<u64>> {
    let mut reads: HashMap<u32, Vec<u64>> = HashMap::new();
    let mut read = |value: u32, cycle: u64| reads.entry(value).or_default().push(cycle.saturating_sub(network));
    for (cycle, row, what) in &plan.placed.moves {
        let row = &run.rows[*row];
        match what {
            Move::Fetch(operand, _) => {
                (0..row.instructions.len()).for_each(|operation| read(value(run, row, operation, *operand), *cycle));
            }
            Move::Spread(spread) => {
                let places = &plan.placed.spreads[*spread].values;
                places.iter().for_each(|&place| read(run.hint[place as usize], *cycle));
            }
            Move::Execute(place, _, sources, _) => {
                for (source, &operand) in sources.iter().zip(run.operands(*place)) {
                    if let Some(From::Scratchpad) = source {
                        (0..row.instructions.len())
                            .for_each(|operation| read(value(run, row, operation, operand), *cycle));
                    }
                }
            }
            Move::WriteBack(..) => {}
        }
    }
    for cycles in reads.values_mut() {
        cycles.sort_unstable();
        cycles.dedup();
    }
    reads
}

fn value(run: &Run, row: &Row, operation: usize, operand: Operand) -> u32 {
    match operand {
        Operand::Own(place) => row.instructions[operation][place as usize],
        Operand::Outside(index) => row.outside[operation][index as usize],
        Operand::Shared(index) => run.hint[index as usize],
    }
}
