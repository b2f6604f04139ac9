//! A run of equal operations in the schedule: all clusters are idle when it begins and when it ends.

use super::super::lockstep::{From, Move, Operand, Plan, Planned, Row, Run};
use super::{
    Action, Bank, Cell, Cluster, CycleError, Destination, Held, NONE, Register, Reservations, Scheduler, Slot, Source,
    Step, Way,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Starts of a run that are tried until all loads come in time and no bank of the scratchpad is in the way.
const ATTEMPTS: usize = 32;

/// The delay after which something fits that never will.
const NEVER: u64 = u64::MAX;

/// What there is before a run, to begin it again, or not at all.
struct Before {
    clusters: Vec<Cluster>,
    banks: Vec<Bank>,
    stacks: Vec<Reservations>,
    free: Vec<BinaryHeap<Reverse<(u64, u16)>>>,
    front: Vec<u64>,
    /// Values with where they are, the registers that hold them, and the readers that remain.
    values: Vec<(u32, Option<Held>, u32, u32)>,
    end: u64,
    idle: u64,
    actions: usize,
}

impl Before {
    /// Of all that a run with these `steps` beside it can change.
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

/// The steps between a run's first instruction and its last that are not its own.
#[derive(Default)]
struct Beside {
    /// What is stored before it.
    stores: Vec<u32>,
    /// What is loaded meanwhile.
    loads: Vec<u32>,
    /// What comes behind it.
    later: Vec<Step>,
}

impl Scheduler<'_> {
    /// A run whose first instruction is that of `steps`\[`first`\], if values come and go as it wants them: where the steps behind it
    /// begin. Otherwise nothing has happened.
    pub(super) fn run(
        &mut self,
        Planned { run, plan }: &Planned,
        steps: &[Step],
        first: usize,
    ) -> Result<Option<usize>, CycleError> {
        let Some((beside, next)) = self.beside(run, steps, first) else { return Ok(None) };
        let before = Before::new(self, run, &beside);
        // Without the run every value comes as early as it can.
        self.clear(&beside)?;
        beside.loads.iter().try_for_each(|&value| self.load(value))?;
        let beat = self.geometry.occupancy.max(self.register_banks);
        let wanted = first_reads(run, plan, self.network);
        let mut start = self.idle.next_multiple_of(beat) + beat;
        let late = wanted.iter().map(|(&value, &cycle)| {
            let at = self.held[value as usize].map_or(0, |held| held.at);
            (at + 1).saturating_sub(start + cycle)
        });
        start = (start + late.max().unwrap_or(0)).next_multiple_of(beat);
        for _ in 0..ATTEMPTS {
            before.restore(self, run, &beside);
            let delay = self.with_loads((run, plan), &beside, start, &wanted)?;
            if delay == 0 {
                beside.later.into_iter().try_for_each(|step| self.step(step))?;
                return Ok(Some(next));
            }
            if delay == NEVER {
                break;
            }
            start += delay.next_multiple_of(beat);
        }
        before.restore(self, run, &beside);
        Ok(None)
    }

    /// What stands between the run's steps, and where those behind it begin; `None` if values leave the scratchpad meanwhile, or if
    /// instructions of the run have come before.
    fn beside(&self, run: &Run, steps: &[Step], first: usize) -> Option<(Beside, usize)> {
        let own: HashSet<u32> = run.rows.iter().flat_map(|row| row.instructions.iter().flatten().copied()).collect();
        if own.iter().any(|&instruction| self.issued[instruction as usize]) {
            return None;
        }
        let mut left = own.len();
        let mut behind: HashSet<u32> = HashSet::new();
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
                Step::Drop(_) | Step::Spill(_) => return None,
                Step::Load(value) => beside.loads.push(value),
                Step::Store(value) => beside.stores.push(value),
            }
        }
        Some((beside, next))
    }

    /// Stores what comes before a run, and empties the registers.
    fn clear(&mut self, beside: &Beside) -> Result<(), CycleError> {
        beside.stores.iter().try_for_each(|&value| self.step(Step::Store(value)))?;
        self.empty_registers()
    }

    /// The run from `start` on, and what is loaded meanwhile: by how many cycles it begins too early.
    fn with_loads(
        &mut self,
        (run, plan): (&Run, &Plan),
        beside: &Beside,
        start: u64,
        wanted: &HashMap<u32, u64>,
    ) -> Result<u64, CycleError> {
        self.clear(beside)?;
        let mut places = Vec::with_capacity(beside.loads.len());
        for &value in &beside.loads {
            let place = self.take_slot(value)?;
            self.held[value as usize] = Some(Held { slot: place.0, at: 0, free_from: place.1 });
            places.push((value, place));
        }
        if let Err(delay) = self.follow(run, plan, start) {
            return Ok(delay);
        }
        let mut delay = 0;
        for (value, place) in places {
            let arrival = self.load_to(value, place)?;
            if let Some(held) = &mut self.held[value as usize] {
                *held = Held { at: arrival, free_from: held.free_from.max(arrival + 1), ..*held };
            }
            let first = wanted.get(&value).map_or(u64::MAX, |cycle| start + cycle);
            delay = delay.max((arrival + 1).saturating_sub(first));
        }
        Ok(delay)
    }

    /// Everything that is still wanted goes to the scratchpad.
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

    /// Puts the plan into the schedule, from `start` on. If a bank of the scratchpad is in the way, the cycles after which it is not;
    /// [`NEVER`] if the scratchpad has no room.
    fn follow(&mut self, run: &Run, plan: &Plan, start: u64) -> Result<(), u64> {
        let network = self.network;
        let mut order: Vec<usize> = (0..plan.placed.moves.len()).collect();
        order.sort_by_key(|&index| plan.placed.moves[index].0);
        let mut left: HashSet<(u32, u64)> = HashSet::new();
        let register = |operation: usize, live_range: u32| {
            let cluster = run.columns.cluster(operation, plan.placed.live_ranges[live_range as usize].column) as u16;
            Register { cluster, index: plan.registers[live_range as usize] }
        };
        for index in order {
            let (cycle, row, what) = &plan.placed.moves[index];
            let (at, row) = (start + cycle, &run.rows[*row]);
            match what {
                Move::Fetch(operand, live_range) => {
                    for operation in 0..row.instructions.len() {
                        let value = value(run, row, operation, *operand);
                        let slot = self.leave(value, at - network, &mut left)?;
                        let register = register(operation, *live_range);
                        self.push(at - network, Action::Fetch { slot, register, value });
                    }
                }
                Move::Spread(spread) => {
                    let spread = &plan.placed.spreads[*spread];
                    for (operation, &place) in spread.values.iter().enumerate() {
                        let value = run.hint[place as usize];
                        let slot = self.leave(value, at - network, &mut left)?;
                        let register = register(operation, spread.live_range);
                        self.push(at - network, Action::Fetch { slot, register, value });
                    }
                }
                Move::WriteBack(place, live_range) => {
                    for (operation, instructions) in row.instructions.iter().enumerate() {
                        let value = instructions[*place as usize];
                        let register = register(operation, *live_range);
                        let slot = self.enter(value, usize::from(register.cluster), at + network)?;
                        self.push(at, Action::WriteBack { register, slot, value });
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
                                From::Scratchpad => {
                                    let value = value(run, row, operation, operand);
                                    Source::Scratchpad(self.leave(value, at - network, &mut left)?)
                                }
                            };
                        }
                        if operands.len() == 1 {
                            from[1] = from[0];
                        }
                        let instruction = row.instructions[operation][*place as usize];
                        let cluster = run.columns.cluster(operation, run.columns.of(*place));
                        self.run_one(instruction, (cluster, *unit), at, from, result)?;
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
        operands: [Source; 2],
        register: Option<u16>,
    ) -> Result<(), u64> {
        let graph = self.graph;
        self.issued[instruction as usize] = true;
        let result = match register {
            Some(index) => Destination::Register(index),
            None => {
                let write = at + self.geometry.latency(graph.function(instruction as usize)) + self.network;
                Destination::Scratchpad(self.enter(instruction, cluster, write)?)
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

    /// A value leaves the scratchpad in `at`, from its slot: once for all that receive it, as `left` says.
    fn leave(&mut self, value: u32, at: u64, left: &mut HashSet<(u32, u64)>) -> Result<Slot, u64> {
        let held = self.held[value as usize].ok_or(NEVER)?;
        if held.at >= at {
            return Err(held.at + 1 - at);
        }
        if left.insert((value, at)) {
            self.touch(value, at);
            self.reserve_bank(held.slot.bank, Way::Leave, at)?;
        }
        Ok(held.slot)
    }

    /// A value enters the scratchpad in `at`, in the bank of its cluster.
    fn enter(&mut self, value: u32, cluster: usize, at: u64) -> Result<Slot, u64> {
        self.preferred.insert(value, (cluster % self.banks.len()) as u16);
        let (slot, from) = self.take_slot(value).map_err(|_| NEVER)?;
        if from > at {
            return Err(from - at);
        }
        self.reserve_bank(slot.bank, Way::Enter, at)?;
        self.held[value as usize] = Some(Held { slot, at, free_from: at + 1 });
        Ok(slot)
    }

    fn reserve_bank(&mut self, bank: u16, way: Way, at: u64) -> Result<(), u64> {
        if self.banks[bank as usize].reserve_apart(way, at, self.geometry.occupancy) {
            return Ok(());
        }
        Err((self.through_bank(bank, way, at) - at).max(1))
    }
}

/// Of every value that a run reads from the scratchpad, the cycle of the run in which it leaves there first.
fn first_reads(run: &Run, plan: &Plan, network: u64) -> HashMap<u32, u64> {
    let mut first: HashMap<u32, u64> = HashMap::new();
    let mut read = |value: u32, cycle: u64| {
        let leaves = cycle.saturating_sub(network);
        first.entry(value).and_modify(|first| *first = leaves.min(*first)).or_insert(leaves);
    };
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
    first
}

fn value(run: &Run, row: &Row, operation: usize, operand: Operand) -> u32 {
    match operand {
        Operand::Own(place) => row.instructions[operation][place as usize],
        Operand::Outside(index) => row.outside[operation][index as usize],
        Operand::Shared(index) => run.hint[index as usize],
    }
}
