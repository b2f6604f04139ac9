//! List scheduling of tasks onto units, memory and scratchpads.
//!
//! A task is a pipeline of units connected by registers ([`super::layout`]). Tasks are scheduled one by one,
//! each as early as units, operands and scratchpad space allow. The candidates are the next `WINDOW` tasks in
//! program order whose operands are scheduled. Take the candidate that can start first, and all candidates
//! whose units would delay it. The one with the longest path to the end is scheduled. So independent branches
//! of a program fill each other's gaps.
//!
//! Memory loads operands as soon as the channel and a place are free. Each limb of a polynomial has a separate
//! place. If no place is free, the limb needed last is evicted: immediately if it is also off chip, otherwise
//! after a store. A task ahead of the oldest one uses only free places and leaves enough for the oldest.
//!
//! With sums in place, a result overwrites an operand that no later task reads, if a unit reads and writes both in
//! stream order: a sum takes the place of its previous value and needs no other.
//!
//! The limb needed last is often the one read last, such as a key in a program that repeats. Its place is free
//! only when its reader ends, and a load that waits for that stalls the channel. So among limbs that are also
//! off chip and needed after the current task, the scheduler evicts the one needed last whose place is free in
//! time. If there is none, it evicts the one whose place is free first.
//!
//! The scratchpad space for tasks ahead has no best choice: their results occupy places and may evict operands
//! of the oldest tasks. So each program is scheduled with both rules of `Ahead`, and the shorter schedule wins.

use super::chip::Chip;
use super::flow::{Flow, WINDOW};
use super::layout::{Cycle, Free, Layout, Planner, Port, Tap};
use super::limb_order;
use super::machine::{Dataflow, Osiris, Tiling};
use super::room::{Held, Room};
use super::tasks::{MapError, Residue, Task, Tasks};
use super::units::ModChangeUnits;
use polyfabric_kernels::cancel;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_sim::schedule::{
    Access, Event, KindId, MemoryId, OpRef, Order, Place, Schedule, ScheduleBuilder, Value,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Scratchpad space that tasks ahead of the oldest one may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// All space that the oldest task does not need.
    Free,
    /// The space that all tasks up to it would leave in program order.
    InOrder,
}

/// A program mapped to the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    pub schedule: Schedule,
    /// An event's `body_op` is the index of its task.
    pub chip: Chip,
    pub tasks: Tasks,
    /// Number of limbs of each stream on a wire.
    pub streams: Vec<u16>,
    pub units: ModChangeUnits,
    pub tiling: Tiling,
}

/// The state of a limb during scheduling.
#[derive(Clone, Debug)]
struct State {
    frame: Option<usize>,
    /// Whether its producer or load is scheduled, or it is in memory from the start.
    known: bool,
    /// Start of the event that writes it. Readers start later, so events in order of their start follow the
    /// data.
    begun: Cycle,
    /// Cycles in which its first and last tile are in place.
    first: Cycle,
    last: Cycle,
    last_read: Cycle,
    /// Cycle from which it is off chip, if it is.
    off_chip: Option<Cycle>,
    /// Remaining readers, in order.
    uses: Vec<u32>,
    output: bool,
}

impl State {
    /// Cycle from which the place of a limb without remaining readers may be written.
    fn free(&self) -> Cycle {
        self.last_read.max(self.last + 1)
    }
}

/// A candidate task with the quantities that [`Scheduler::choose`] compares. Quantities that depend on operands
/// are recomputed only if an operand is loaded or evicted, as few tasks change between choices.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: usize,
    /// Number of limbs that need a place.
    missing: usize,
    /// Number of operands to load from memory.
    loads: Cycle,
    /// First cycle in which the operands in the scratchpads allow it to start.
    ready: Cycle,
}

struct Scheduler<'a> {
    planner: Planner<'a>,
    program: &'a KernelProgram,
    tasks: &'a Tasks,
    flow: &'a Flow,
    builder: ScheduleBuilder,
    /// By resource.
    free: Vec<Free>,
    room: Room,
    frame_bytes: u64,
    /// Cycles of a limb and of a tile on the channel.
    transfer: Cycle,
    tile: Cycle,
    states: Vec<State>,
    /// Number of limbs of each stream so far.
    streams: Vec<u16>,
    rule: Ahead,
    /// Tasks scheduled ahead of the oldest one.
    early: BTreeSet<usize>,
    /// Number of limbs that those tasks produced.
    waiting: usize,
    /// By task, the number of operands not yet scheduled.
    unknown: Vec<u32>,
    /// Unscheduled tasks of the window, each with all its layouts.
    window: BTreeMap<usize, Vec<Layout>>,
    /// Candidates, in program order.
    open: Vec<Open>,
    /// By task, whether its entry in `open` is outdated.
    stale: Vec<bool>,
    /// The first task after the window.
    next: usize,
    current: usize,
}

pub fn schedule(machine: &Osiris, program: &KernelProgram) -> Result<Scheduled, MapError> {
    let units = machine.units(program.degree)?;
    for (limb, modulus) in program.moduli.iter().enumerate() {
        if u64::from(modulus.bits()) > machine.word_bits {
            let (modulus, bits) = (modulus.value(), modulus.bits());
            return Err(MapError::Word { limb, modulus, bits, word_bits: machine.word_bits });
        }
    }
    let mut tasks = Tasks::of(program, machine)?;
    let places = (machine.scratchpad / machine.limb_bytes(program.degree)) as usize;
    if machine.dataflow == Dataflow::LimbGroups {
        limb_order::by_groups(&mut tasks, places);
    }
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &units);
    let made = {
        let planner = Planner { machine, units, chip: &chip };
        let flow = Flow::of(&tasks, &planner)?;
        let by = |rule| by_rule(planner, program, &builder, (&tasks, &flow), rule);
        let eager = by(Ahead::Free)?;
        // Without any shortage of space, both rules give the same schedule.
        if flow.most_live() * 8 < places {
            eager
        } else {
            let careful = by(Ahead::InOrder)?;
            if careful.end < eager.end { careful } else { eager }
        }
    };
    let Made { schedule, streams, .. } = made;
    Ok(Scheduled { schedule, chip, tasks, streams, units, tiling: machine.tiling })
}

/// The result of one rule.
struct Made {
    schedule: Schedule,
    streams: Vec<u16>,
    /// End of its last store.
    end: Cycle,
}

/// Schedules `program` by one rule; `builder` has the units.
fn by_rule(
    planner: Planner<'_>,
    program: &KernelProgram,
    builder: &ScheduleBuilder,
    (tasks, flow): (&Tasks, &Flow),
    rule: Ahead,
) -> Result<Made, MapError> {
    let frame_bytes = planner.machine.limb_bytes(program.degree);
    let states = states(tasks, flow);
    let unknown = |task: usize| flow.operands(task).iter().filter(|operand| !states[operand.0 as usize].known).count();
    let resources = builder.resources();
    let transfer = resources.cycles(planner.chip.channel, planner.chip.kinds.load, frame_bytes);
    let mut scheduler = Scheduler {
        unknown: (0..tasks.tasks.len()).map(|task| unknown(task) as u32).collect(),
        program,
        free: vec![Free::default(); resources.len()],
        room: Room::new((planner.machine.scratchpad / frame_bytes) as usize),
        frame_bytes,
        transfer: transfer as Cycle,
        tile: transfer.div_ceil(planner.units.shape.tiles() as u64) as Cycle,
        planner,
        states,
        tasks,
        flow,
        builder: builder.clone(),
        streams: Vec::new(),
        rule,
        early: BTreeSet::new(),
        waiting: 0,
        window: BTreeMap::new(),
        open: Vec::new(),
        stale: vec![true; tasks.tasks.len()],
        next: 0,
        current: 0,
    };
    scheduler.run()?;
    scheduler.store()?;
    let Scheduler { builder, streams, free, .. } = scheduler;
    let end = free.iter().map(|free| free.input).max().unwrap_or(0);
    Ok(Made { schedule: builder.finish(), streams, end })
}

/// Initial states of all limbs.
fn states(tasks: &Tasks, flow: &Flow) -> Vec<State> {
    let state = |leaf: bool| State {
        frame: None,
        known: leaf,
        begun: 0,
        first: 0,
        last: 0,
        last_read: 0,
        off_chip: leaf.then_some(Cycle::MIN / 2),
        uses: Vec::new(),
        output: false,
    };
    let mut states: Vec<State> = tasks.leaves.iter().map(|leaf| state(leaf.is_some())).collect();
    for number in 0..tasks.tasks.len() {
        flow.operands(number).iter().for_each(|operand| states[operand.0 as usize].uses.push(number as u32));
    }
    tasks.outputs.iter().flatten().for_each(|(_, residue)| states[residue.0 as usize].output = true);
    states
}

impl Scheduler<'_> {
    fn state(&self, residue: Residue) -> &State {
        &self.states[residue.0 as usize]
    }

    fn state_mut(&mut self, residue: Residue) -> &mut State {
        &mut self.states[residue.0 as usize]
    }

    /// Schedules all tasks.
    fn run(&mut self) -> Result<(), MapError> {
        let stage = cancel::stage("scheduling", self.tasks.tasks.len());
        while self.next < self.tasks.tasks.len() || !self.window.is_empty() {
            stage.step();
            while self.window.len() < WINDOW && self.next < self.tasks.tasks.len() {
                self.window.insert(self.next, self.planner.layouts(&self.tasks.tasks[self.next])?);
                if self.unknown[self.next] == 0 {
                    self.open(self.next);
                }
                self.next += 1;
            }
            self.refresh();
            let Some(chosen) = self.choose() else { break };
            if let Ok(place) = self.open.binary_search_by_key(&chosen, |open| open.number) {
                self.open.remove(place);
            }
            if let Some(layouts) = self.window.remove(&chosen) {
                let oldest = self.window.first_key_value().map_or(usize::MAX, |(&number, _)| number);
                if chosen > oldest {
                    self.early.insert(chosen);
                    self.waiting += self.flow.results(chosen).len();
                }
                self.take(chosen, layouts)?;
                while let Some(&first) = self.early.first().filter(|&&first| first < oldest) {
                    self.early.remove(&first);
                    self.waiting -= self.flow.results(first).len();
                }
            }
        }
        Ok(())
    }

    /// Adds task `number` of the window to the candidates.
    fn open(&mut self, number: usize) {
        let place = self.open.partition_point(|open| open.number < number);
        self.open.insert(place, Open { number, missing: 0, loads: 0, ready: 0 });
    }

    /// Number of limbs that task `number` needs places for.
    fn missing(&self, number: usize, layout: &Layout) -> usize {
        let operands = self.flow.operands(number).iter();
        let loads = operands.filter(|&&operand| self.state(operand).frame.is_none()).count();
        self.flow.results(number).len() - self.in_place(number, layout).len() + loads
    }

    /// Results of task `number` that overwrite an operand without other readers, each with that operand.
    fn in_place(&self, number: usize, layout: &Layout) -> Vec<(Residue, Residue)> {
        if !self.planner.machine.sums_in_place {
            return Vec::new();
        }
        let own = Some(&(number as u32));
        layout.in_place(|operand| {
            let state = self.state(operand);
            !state.output && (state.uses.first(), state.uses.last()) == (own, own)
        })
    }

    /// Recomputes outdated candidates.
    fn refresh(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        for task in &mut open {
            if std::mem::take(&mut self.stale[task.number]) {
                // The alternatives of a task differ only in units.
                let layout = &self.window[&task.number][0];
                let (ready, loads) = self.operands_of(layout);
                *task = Open { missing: self.missing(task.number, layout), loads, ready, ..*task };
            }
        }
        self.open = open;
    }

    /// Marks the readers of a limb that was loaded or evicted.
    fn touched(&mut self, residue: Residue) {
        for &reader in &self.states[residue.0 as usize].uses {
            self.stale[reader as usize] = true;
        }
    }

    /// The task to schedule next.
    fn choose(&self) -> Option<usize> {
        let (&oldest, layouts) = self.window.first_key_value()?;
        let (places, all) = (self.room.empty(), self.room.places());
        let reserve = self.missing(oldest, &layouts[0]);
        // Even if tasks do not fit in program order, a quarter remains for tasks ahead.
        let most = all - all / 4;
        let (mut peak, mut seen) = (0, oldest);
        let mut units = vec![None; self.flow.by_form.len()];
        let mut fitting = Vec::with_capacity(self.open.len());
        for open in &self.open {
            let &Open { number, missing, .. } = open;
            let mut fits = || {
                missing + reserve <= places
                    && match self.rule {
                        Ahead::Free => true,
                        Ahead::InOrder => {
                            peak = self.flow.live[seen..=number].iter().copied().fold(peak, usize::max);
                            seen = number;
                            self.waiting + missing + peak.min(most) <= all
                        }
                    }
            };
            if number == oldest || fits() {
                let form = self.flow.forms[number];
                let (unit, cycles) = *units[form].get_or_insert_with(|| self.flow.by_form[form].units(&self.free));
                let start = unit.max(open.ready).max(self.loaded_from(open.loads));
                fitting.push((start, start + cycles, number));
            }
        }
        let soonest = fitting.iter().map(|&(_, end, _)| end).min()?;
        let competing = fitting.iter().filter(|&&(start, ..)| start < soonest);
        let way = |&&(.., number): &&(Cycle, Cycle, usize)| (self.flow.ways[number], std::cmp::Reverse(number));
        competing.max_by_key(way).map(|&(.., number)| number)
    }

    /// The first cycle in which units and operands allow a task to start; missing operands are loaded over a
    /// free channel.
    fn earliest(&self, layout: &Layout) -> Cycle {
        let (ready, loads) = self.operands_of(layout);
        layout.units(&self.free).max(ready).max(self.loaded_from(loads))
    }

    /// The first cycle in which the operands in the scratchpads allow a task to start, and the number of
    /// operands to load.
    fn operands_of(&self, layout: &Layout) -> (Cycle, Cycle) {
        let (mut ready, mut loads) = (0, 0);
        for segment in &layout.segments {
            for port in &segment.reads {
                let Port::Place(tap) = port else { continue };
                let state = self.state(tap.residue);
                if state.frame.is_some() {
                    ready = ready.max(readable(state, tap) - segment.offset);
                } else {
                    loads += 1;
                }
            }
        }
        (ready, loads)
    }

    /// First cycle in which `loads` limbs can be loaded; 0 if there are none.
    fn loaded_from(&self, loads: Cycle) -> Cycle {
        if loads == 0 {
            return 0;
        }
        let channel = self.free[self.planner.chip.channel.0 as usize].input;
        channel + self.planner.machine.memory_latency as Cycle + loads * self.transfer
    }

    /// Schedules task `number`.
    fn take(&mut self, number: usize, layouts: Vec<Layout>) -> Result<(), MapError> {
        self.current = number;
        let (task, flow) = (&self.tasks.tasks[number], self.flow);
        for &operand in flow.operands(number) {
            self.fetch(task.op, operand)?;
        }
        let Some(layout) = layouts.into_iter().min_by_key(|layout| self.earliest(layout)) else {
            return Ok(());
        };
        let mut start = self.earliest(&layout);
        let in_place: HashMap<Residue, Residue> = self.in_place(number, &layout).into_iter().collect();
        for segment in &layout.segments {
            for port in &segment.writes {
                let Port::Place(tap) = port else { continue };
                let first = segment.offset + tap.first;
                let free = match in_place.get(&tap.residue) {
                    Some(&operand) => {
                        self.state_mut(tap.residue).frame = self.state(operand).frame;
                        // Earlier readers have read each tile before it is overwritten.
                        self.state(operand).last_read
                    }
                    None => self.place(task.op, tap.residue, start + first)?,
                };
                start = start.max(free - first);
            }
        }
        self.emit(number, task, start, layout);
        in_place.values().for_each(|&operand| self.state_mut(operand).frame = None);
        for &operand in flow.operands(number) {
            let uses = &mut self.state_mut(operand).uses;
            let from = uses.partition_point(|&other| (other as usize) < number);
            let behind = uses.partition_point(|&other| other as usize <= number);
            uses.drain(from..behind);
            // Its last reader may overwrite it.
            if uses.len() == 1 && self.planner.machine.sums_in_place {
                self.touched(operand);
            }
            self.leave(operand);
        }
        flow.results(number).iter().for_each(|&result| self.leave(result));
        Ok(())
    }

    /// Frees the place of a limb without remaining readers.
    fn leave(&mut self, residue: Residue) {
        let state = &mut self.states[residue.0 as usize];
        if state.uses.is_empty() && !state.output {
            let free = state.free();
            if let Some(frame) = state.frame.take() {
                self.room.leave(frame, free);
            }
        }
        self.changed(residue);
    }

    /// Updates a limb's properties for eviction.
    fn changed(&mut self, residue: Residue) {
        if let Some(frame) = self.state(residue).frame {
            self.room.update(frame, self.held(residue));
        }
    }

    fn held(&self, residue: Residue) -> Held {
        let state = self.state(residue);
        let next = state.uses.first().copied().unwrap_or(u32::MAX);
        Held { residue, known: state.known, off_chip: state.off_chip.is_some(), next, free: state.free() }
    }

    /// Adds the events of a task that starts in cycle `start`.
    fn emit(&mut self, number: usize, task: &Task, start: Cycle, layout: Layout) {
        let first_stream = self.streams.len();
        self.streams.extend(layout.links.iter().map(|link| link.limbs as u16));
        for segment in layout.segments {
            let begin = start + segment.offset;
            let access = |scheduler: &Self, port: &Port, first: Cycle| match *port {
                Port::Place(tap) => scheduler.in_frame(&tap),
                Port::Wire(link) => {
                    let value = scheduler.planner.chip.stream((first_stream + link) as u32);
                    let link = layout.links[link];
                    let bytes = link.limbs as u64 * scheduler.frame_bytes;
                    let place = Place { memory: link.memory, offset: 0, bytes };
                    let (first, last) = (first as u32, (first + link.cycles - 1) as u32);
                    Access { place, value, first, last, order: Order::Stream, bytes }
                }
            };
            let reads: Vec<Access> = segment.reads.iter().map(|port| access(self, port, 0)).collect();
            let writes: Vec<Access> = segment.writes.iter().map(|port| access(self, port, segment.latency)).collect();
            for port in &segment.reads {
                if let Port::Place(tap) = port {
                    let state = self.state_mut(tap.residue);
                    state.last_read = state.last_read.max(begin + tap.last);
                }
            }
            for port in &segment.writes {
                if let Port::Place(tap) = port {
                    let first = if tap.order == Order::Any { tap.last } else { tap.first };
                    let state = self.state_mut(tap.residue);
                    let known = std::mem::replace(&mut state.known, true);
                    (state.begun, state.first) = (begin, begin + first);
                    (state.last, state.last_read) = (begin + tap.last, 0);
                    if known {
                        self.touched(tap.residue);
                    } else {
                        self.open_for(tap.residue);
                    }
                }
            }
            let iteration = segment.part.map_or(Value::NONE, |part| part as u32);
            let (kind, body_op) = (segment.kind, number as u32);
            let op = OpRef { kind, kernel_op: task.op, body_op, ciphertext: Value::NONE, iteration };
            let (resource, occupancy, work) = (segment.resource, segment.cycles as u32, segment.work);
            self.builder.event(Event { resource, start: begin, occupancy, work, parts: 1, op, reads, writes });
            let end = begin + segment.cycles;
            self.free[resource.0 as usize] = Free { input: end, output: end + segment.latency, mode: segment.mode };
        }
    }

    /// `residue` is scheduled: its readers miss one operand less.
    fn open_for(&mut self, residue: Residue) {
        for index in 0..self.state(residue).uses.len() {
            let reader = self.state(residue).uses[index] as usize;
            self.unknown[reader] -= 1;
            if self.unknown[reader] == 0 && reader < self.next {
                self.open(reader);
            }
        }
    }

    fn access(&self, memory: MemoryId, residue: Residue, (first, last): (Cycle, Cycle), order: Order) -> Access {
        let (frame, bytes) = (self.state(residue).frame.unwrap_or(0) as u64, self.frame_bytes);
        let offset = if memory == self.planner.chip.scratchpad { frame * bytes } else { 0 };
        let value = self.planner.chip.value(self.tasks, residue);
        let place = Place { memory, offset, bytes };
        Access { place, value, first: first as u32, last: last as u32, order, bytes }
    }

    fn in_frame(&self, tap: &Tap) -> Access {
        self.access(self.planner.chip.scratchpad, tap.residue, (tap.first, tap.last), tap.order)
    }

    fn full(&self, op: u32) -> MapError {
        MapError::Capacity { op, frames: self.room.places(), bytes: self.frame_bytes }
    }

    /// A place for `residue`, which is `wanted` in that cycle, and the first cycle in which it may be written
    /// ([`Room::find`]). Operands of the current task are not evicted.
    fn place(&mut self, op: u32, residue: Residue, wanted: Cycle) -> Result<Cycle, MapError> {
        let found = match self.room.find(wanted, self.current) {
            Some(found) => found,
            None => self.evict(op)?,
        };
        let (free, frame) = found;
        if let Some(holder) = self.room.put(found, self.held(residue)) {
            self.state_mut(holder).frame = None;
            self.touched(holder);
        }
        self.state_mut(residue).frame = Some(frame);
        self.touched(residue);
        Ok(free)
    }

    /// Evicts the limb needed last, after a store if it is not off chip.
    fn evict(&mut self, op: u32) -> Result<(Cycle, usize), MapError> {
        let current = self.current as u32;
        let pinned = |residue: Residue| self.state(residue).uses.binary_search(&current).is_ok();
        let Some(victim) = self.room.needed_last(pinned) else { return Err(self.full(op)) };
        let (start, free) = (self.free[self.planner.chip.channel.0 as usize].input, self.state(victim).last + 1);
        if self.state(victim).off_chip.is_none() {
            self.save(op, victim, start.max(free));
        }
        let state = self.state(victim);
        state.frame.map(|frame| (state.free(), frame)).ok_or_else(|| self.full(op))
    }

    /// Stores a limb to memory.
    fn save(&mut self, op: u32, residue: Residue, start: Cycle) {
        let (cycles, chip) = (self.transfer, self.planner.chip);
        // The last tile is read before it is sent.
        let last = cycles - self.tile;
        let reads = vec![self.access(chip.scratchpad, residue, (0, last), Order::Stream)];
        let writes = vec![self.access(chip.off_chip, residue, (0, cycles - 1), Order::Any)];
        self.transfer(chip.kinds.store, op, start, reads, writes);
        let state = self.state_mut(residue);
        state.off_chip = Some(start + cycles);
        state.last_read = state.last_read.max(start + last);
        self.changed(residue);
    }

    /// Loads a limb that is not in the scratchpads.
    fn fetch(&mut self, op: u32, residue: Residue) -> Result<(), MapError> {
        let Some(there) = self.state(residue).off_chip.filter(|_| self.state(residue).frame.is_none()) else {
            return Ok(());
        };
        let (cycles, chip) = (self.transfer, self.planner.chip);
        let latency = self.planner.machine.memory_latency as Cycle;
        let channel = self.free[chip.channel.0 as usize].input.max(there);
        let free = self.place(op, residue, channel + latency)?;
        // A store for its place may have occupied the channel.
        let start = self.free[chip.channel.0 as usize].input.max(there).max(free - latency);
        let reads = vec![self.access(chip.off_chip, residue, (0, cycles - 1), Order::Any)];
        // The first tile is there with its last bytes.
        let (first, last) = (latency + self.tile - 1, latency + cycles - 1);
        let writes = vec![self.access(chip.scratchpad, residue, (first, last), Order::Stream)];
        self.transfer(chip.kinds.load, op, start, reads, writes);
        let state = self.state_mut(residue);
        (state.begun, state.first) = (start, start + first);
        (state.last, state.last_read) = (start + last, 0);
        self.changed(residue);
        Ok(())
    }

    /// A transfer of a limb on the channel.
    fn transfer(&mut self, kind: KindId, kernel_op: u32, start: Cycle, reads: Vec<Access>, writes: Vec<Access>) {
        let op = OpRef { kind, kernel_op, body_op: Value::NONE, ciphertext: Value::NONE, iteration: Value::NONE };
        let (cycles, work, resource) = (self.transfer, self.frame_bytes, self.planner.chip.channel);
        self.builder.event(Event { resource, start, occupancy: cycles as u32, work, parts: 1, op, reads, writes });
        self.free[resource.0 as usize].input = start + cycles;
    }

    /// Stores all outputs in the order in which they are complete.
    fn store(&mut self) -> Result<(), MapError> {
        let op = self.program.ops.len() as u32;
        let mut outputs: Vec<Residue> = self.tasks.outputs.iter().flatten().map(|&(_, residue)| residue).collect();
        outputs.sort_unstable();
        outputs.dedup();
        // Evicted limbs and the caller's data are already there.
        outputs.retain(|&output| self.state(output).off_chip.is_none());
        outputs.sort_by_key(|&output| self.state(output).first);
        let cycles = self.transfer;
        for output in outputs {
            let state = self.state(output);
            // As fast as the channel allows; the last tile is sent after it is written.
            let ready = (state.first + 1).max(state.last + 1 - (cycles - self.tile));
            let start = self.free[self.planner.chip.channel.0 as usize].input.max(ready);
            self.save(op, output, start);
        }
        Ok(())
    }
}

/// The first start of a segment that reads `tap`.
fn readable(state: &State, tap: &Tap) -> Cycle {
    let there = match tap.order {
        Order::Any => state.last + 1 - tap.first,
        Order::Stream => (state.first + 1 - tap.first).max(state.last + 1 - tap.last),
    };
    there.max(state.begun + 1)
}
