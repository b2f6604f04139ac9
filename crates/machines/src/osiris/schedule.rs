//! From work to the engine's schedule.
//!
//! A task is a pipeline of units that hand tiles on through registers ([`super::layout`]). Tasks are taken one after the other, each as early
//! as units, operands and room allow: of those whose operands are on their way, among the next `WINDOW` in the order of the program, the one that
//! can begin first, or of those that would keep it from beginning, the one with the longest way to the end. So branches of a program that
//! have nothing to do with each other fill each other's gaps.
//!
//! Memory brings what is read as soon as the channel and a place are free. Each limb of a polynomial has a place of its own. Where room is
//! short, what is needed last gives its place up: what lies off chip too at once, else after a store. A task ahead of the oldest one
//! takes only places that are free, and leaves enough for the oldest.
//!
//! What is needed last is often what was read last, as a key in a program that repeats: its place is free when its reader ends, and a load that
//! waits for that keeps the channel from running ahead. So of what lies off chip too and is needed after the task at hand, that gives its place up
//! which is needed last of those whose place may be written by then; if there is none, the one whose place is free first.
//!
//! How much room tasks ahead may take is a choice without a best answer: what they give waits in the scratchpads, and may push out what the oldest
//! ones need. So a program is scheduled by either rule of `Ahead`, and the shorter schedule is taken.

use super::chip::Chip;
use super::layout::{Cycle, Layout, Planner, Port, Tap};
use super::machine::Osiris;
use super::mod_change::ModChangeUnits;
use super::tasks::{MapError, Residue, Task, Tasks};
use super::tiling::Tiling;
use crate::engine::schedule::{Access, Event, KindId, MemoryId, OpRef, Order, Place, Schedule, ScheduleBuilder, Value};
use polyfabric_kernels::cancel;
use polyfabric_program::rns::kernel::KernelProgram;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Tasks in the order of the program among which the next is chosen.
const WINDOW: usize = 1024;

/// How much room a task ahead of the oldest one may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// All that the oldest does not need.
    Free,
    /// What all tasks up to it leave, if they came in the order of the program.
    InOrder,
}

/// A program on the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// The schedule.
    pub schedule: Schedule,
    /// What its names stand for; an event's `body_op` is the number of its task.
    pub chip: Chip,
    /// The work.
    pub tasks: Tasks,
    /// Limbs of each stream on a wire, by its number.
    pub streams: Vec<u16>,
    /// Ring and units.
    pub units: ModChangeUnits,
    /// How limbs pass.
    pub tiling: Tiling,
}

/// A limb on its way through the program.
#[derive(Clone, Debug)]
struct State {
    frame: Option<usize>,
    /// Whether it is on its way, or lies in memory from the start.
    known: bool,
    /// The cycle in which the event begins that writes it: what reads it begins later, so that events in order of their start follow the data.
    begun: Cycle,
    /// Cycles in which its first and its last tile are there, at the place.
    first: Cycle,
    last: Cycle,
    last_read: Cycle,
    /// From when on it lies off chip; nothing if it does not.
    off_chip: Option<Cycle>,
    /// Tasks that are still to read it, in order.
    uses: Vec<u32>,
    output: bool,
}

struct Scheduler<'a> {
    planner: Planner<'a>,
    program: &'a KernelProgram,
    tasks: &'a Tasks,
    builder: ScheduleBuilder,
    /// By resource: from when on it may begin, and give its first result.
    free: Vec<(Cycle, Cycle)>,
    /// From when on a place may be written; nothing while it holds something.
    frames: Vec<Option<Cycle>>,
    /// How many hold nothing.
    empty: usize,
    /// By place: the limb that it holds.
    holders: Vec<Option<Residue>>,
    frame_bytes: u64,
    states: Vec<State>,
    /// Limbs of each stream on a wire so far.
    streams: Vec<u16>,
    rule: Ahead,
    /// By task: limbs that are of use while it is done, if tasks come in the order of the program.
    live: &'a [usize],
    /// Tasks that came before their turn, with the limbs that they gave.
    early: BTreeMap<usize, usize>,
    /// By task: operands that are not on their way yet.
    unknown: Vec<u32>,
    /// Tasks of the window whose operands all are.
    open: BTreeSet<usize>,
    /// The first task that is not in the window yet.
    next: usize,
    /// The task at hand.
    current: usize,
}

/// `program` on `machine`.
///
/// # Errors
/// [`MapError`] if the program does not fit.
pub fn schedule(machine: &Osiris, program: &KernelProgram) -> Result<Scheduled, MapError> {
    let units = machine.units(program.degree)?;
    for (limb, modulus) in program.moduli.iter().enumerate() {
        if u64::from(modulus.bits()) > machine.word_bits {
            let (modulus, bits) = (modulus.value(), modulus.bits());
            return Err(MapError::Word { limb, modulus, bits, word_bits: machine.word_bits });
        }
    }
    let tasks = Tasks::of(program, machine.limb_extension, (machine.tiling, machine.limbs))?;
    let live = live(&tasks);
    let (eager, end) = by_rule(machine, program, units, &tasks, (Ahead::Free, &live))?;
    // Where nothing is ever short of room, both are the same.
    if live.iter().copied().max().unwrap_or(0) * 8 < (machine.scratchpad / machine.limb_bytes(program.degree)) as usize
    {
        return Ok(eager);
    }
    let (careful, other) = by_rule(machine, program, units, &tasks, (Ahead::InOrder, &live))?;
    Ok(if other < end { careful } else { eager })
}

/// By task: limbs that are of use while it is done, if tasks come in the order of the program. A limb that lies in memory anyway is so only from
/// one use to the next.
fn live(tasks: &Tasks) -> Vec<usize> {
    let count = tasks.tasks.len();
    let mut last: Vec<Option<usize>> = vec![None; tasks.leaves.len()];
    // Where each begins and ends to be of use, one behind.
    let mut change = vec![0i64; count + 2];
    let mut hold = |from: usize, to: usize| {
        change[from] += 1;
        change[to + 1] -= 1;
    };
    for (number, task) in tasks.tasks.iter().enumerate() {
        let results = task.work.results();
        for residue in task.work.operands().into_iter().chain(results) {
            let index = residue.0 as usize;
            match last[index].replace(number) {
                Some(before) if before == number => {}
                Some(before) if tasks.leaves[index].is_none() || number - before < WINDOW => hold(before + 1, number),
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

/// `program` by one rule, and the cycle in which its last store ends.
fn by_rule(
    machine: &Osiris,
    program: &KernelProgram,
    units: ModChangeUnits,
    tasks: &Tasks,
    (rule, live): (Ahead, &[usize]),
) -> Result<(Scheduled, Cycle), MapError> {
    let mut builder = ScheduleBuilder::new();
    let chip = Chip::declare(&mut builder, machine, &units);
    let frame_bytes = machine.limb_bytes(program.degree);
    let planner = Planner { machine, units, chip: &chip };
    let frames = (machine.scratchpad / frame_bytes) as usize;
    let states = states(tasks);
    let unknown = |task: &Task| task.work.operands().iter().filter(|operand| !states[operand.0 as usize].known).count();
    let mut scheduler = Scheduler {
        unknown: tasks.tasks.iter().map(|task| unknown(task) as u32).collect(),
        planner,
        program,
        free: vec![(0, 0); builder.resources().len()],
        frames: vec![Some(0); frames],
        empty: frames,
        holders: vec![None; frames],
        frame_bytes,
        states,
        tasks,
        builder,
        streams: Vec::new(),
        rule,
        live,
        early: BTreeMap::new(),
        open: BTreeSet::new(),
        next: 0,
        current: 0,
    };
    scheduler.run()?;
    scheduler.store()?;
    let Scheduler { builder, streams, free, .. } = scheduler;
    let end = free.iter().map(|&(free, _)| free).max().unwrap_or(0);
    Ok((
        Scheduled { schedule: builder.finish(), chip, tasks: tasks.clone(), streams, units, tiling: machine.tiling },
        end,
    ))
}

/// Every limb before the program begins.
fn states(tasks: &Tasks) -> Vec<State> {
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
    for (number, task) in (0..).zip(&tasks.tasks) {
        task.work.operands().into_iter().for_each(|operand| states[operand.0 as usize].uses.push(number));
    }
    tasks.outputs.iter().flatten().for_each(|(_, residue)| states[residue.0 as usize].output = true);
    states
}

/// The ways to do a task, and what it needs.
struct Candidate {
    layouts: Vec<Layout>,
    operands: Vec<Residue>,
    results: usize,
}

impl Scheduler<'_> {
    fn state(&self, residue: Residue) -> &State {
        &self.states[residue.0 as usize]
    }

    fn state_mut(&mut self, residue: Residue) -> &mut State {
        &mut self.states[residue.0 as usize]
    }

    /// Every task.
    fn run(&mut self) -> Result<(), MapError> {
        let ways = self.ways()?;
        let stage = cancel::stage("scheduling", self.tasks.tasks.len());
        let mut window: BTreeMap<usize, Candidate> = BTreeMap::new();
        while self.next < self.tasks.tasks.len() || !window.is_empty() {
            stage.step();
            while window.len() < WINDOW && self.next < self.tasks.tasks.len() {
                window.insert(self.next, self.candidate(self.next)?);
                if self.unknown[self.next] == 0 {
                    self.open.insert(self.next);
                }
                self.next += 1;
            }
            let Some(chosen) = self.choose(&window, &ways) else { break };
            self.open.remove(&chosen);
            if let Some(candidate) = window.remove(&chosen) {
                let oldest = window.first_key_value().map_or(usize::MAX, |(&number, _)| number);
                if chosen > oldest {
                    self.early.insert(chosen, candidate.results);
                }
                self.take(chosen, candidate)?;
                self.early = self.early.split_off(&oldest);
            }
        }
        Ok(())
    }

    fn candidate(&self, number: usize) -> Result<Candidate, MapError> {
        let task = &self.tasks.tasks[number];
        let layouts = self.planner.layouts(task)?;
        Ok(Candidate { layouts, operands: task.work.operands(), results: task.work.results().len() })
    }

    /// Of every task the cycles from its begin to the program's end, if units were never busy and memory took no time.
    fn ways(&self) -> Result<Vec<Cycle>, MapError> {
        let span = |task: &Task| Ok::<_, MapError>(self.planner.layouts(task)?.first().map_or((0, 0), Layout::span));
        let mut ways: Vec<(Cycle, Cycle)> = self.tasks.tasks.iter().map(span).collect::<Result<_, _>>()?;
        let mut behind: Vec<Cycle> = vec![0; self.states.len()];
        for (task, way) in self.tasks.tasks.iter().zip(&mut ways).rev() {
            let results = task.work.results();
            let longest = results.iter().map(|result| behind[result.0 as usize]).fold(way.1, Cycle::max);
            way.0 += longest;
            for operand in task.work.operands() {
                let behind = &mut behind[operand.0 as usize];
                *behind = (*behind).max(way.0);
            }
        }
        Ok(ways.into_iter().map(|(way, _)| way).collect())
    }

    /// The task that comes next.
    fn choose(&self, window: &BTreeMap<usize, Candidate>, ways: &[Cycle]) -> Option<usize> {
        let (&oldest, first) = window.first_key_value()?;
        let places = self.empty;
        let missing = |candidate: &Candidate| {
            let operands = candidate.operands.iter();
            candidate.results + operands.filter(|&&operand| self.state(operand).frame.is_none()).count()
        };
        let reserve = missing(first);
        let waiting: usize = self.early.values().sum();
        // Tasks that do not fit even in their order leave a quarter to those ahead.
        let most = self.frames.len() - self.frames.len() / 4;
        let (mut peak, mut seen) = (0, oldest);
        let mut open = Vec::new();
        for &number in &self.open {
            let candidate = &window[&number];
            if self.rule == Ahead::InOrder {
                peak = self.live[seen..=number].iter().copied().fold(peak, usize::max);
                seen = number;
            }
            let fits = |candidate: &Candidate| match self.rule {
                Ahead::Free => missing(candidate) + reserve <= places,
                Ahead::InOrder => {
                    let more = missing(candidate);
                    more + reserve <= places && waiting + more + peak.min(most) <= self.frames.len()
                }
            };
            if number == oldest || fits(candidate) {
                let found = candidate.layouts.iter().map(|layout| (self.earliest(layout), layout.span().1));
                open.extend(found.min().map(|(start, cycles)| (start, start + cycles, number)));
            }
        }
        let soonest = open.iter().map(|&(_, end, _)| end).min()?;
        let competing = open.iter().filter(|&&(start, ..)| start < soonest);
        competing.max_by_key(|&&(_, _, number)| (ways[number], std::cmp::Reverse(number))).map(|&(.., number)| number)
    }

    /// The first cycle in which a task may begin, as far as units and operands go; what has to come from memory comes over a free channel.
    fn earliest(&self, layout: &Layout) -> Cycle {
        let mut start = 0;
        let mut loads = 0;
        for segment in &layout.segments {
            let (free, out) = self.free[segment.resource.0 as usize];
            start = start.max(free - segment.offset).max(out - segment.offset - segment.latency);
            for port in &segment.reads {
                let Port::Place(tap) = port else { continue };
                let state = self.state(tap.residue);
                if state.frame.is_some() {
                    start = start.max(readable(state, tap) - segment.offset);
                } else {
                    loads += 1;
                }
            }
        }
        if loads > 0 {
            let channel = self.free[self.planner.chip.channel.0 as usize].0;
            start = start.max(channel + self.planner.machine.memory_latency as Cycle + loads * self.transfer_cycles());
        }
        start
    }

    /// Does task `number`.
    fn take(&mut self, number: usize, candidate: Candidate) -> Result<(), MapError> {
        self.current = number;
        let task = &self.tasks.tasks[number];
        let pinned: HashSet<Residue> = candidate.operands.iter().copied().collect();
        for &operand in &candidate.operands {
            self.fetch(task.op, operand, &pinned)?;
        }
        let Some(layout) = candidate.layouts.into_iter().min_by_key(|layout| self.earliest(layout)) else {
            return Ok(());
        };
        let mut start = self.earliest(&layout);
        for segment in &layout.segments {
            for port in &segment.writes {
                let Port::Place(tap) = port else { continue };
                let wanted = start + segment.offset + tap.first;
                let free = self.place(task.op, tap.residue, &pinned, wanted)?;
                start = start.max(free - segment.offset - tap.first);
            }
        }
        self.emit(number, task, start, layout);
        for operand in candidate.operands {
            let state = self.state_mut(operand);
            state.uses.retain(|&other| other as usize != number);
            self.leave(operand);
        }
        task.work.results().into_iter().for_each(|result| self.leave(result));
        Ok(())
    }

    /// What nobody reads any more gives its place up.
    fn leave(&mut self, residue: Residue) {
        let state = &mut self.states[residue.0 as usize];
        if state.uses.is_empty() && !state.output {
            let free = state.last_read.max(state.last + 1);
            if let Some(frame) = state.frame.take() {
                self.frames[frame] = Some(free);
                self.empty += 1;
                self.holders[frame] = None;
            }
        }
    }

    /// The events of a task that begins in cycle `start`.
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
                    if !known {
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
            self.free[resource.0 as usize] = (end, end + segment.latency);
        }
    }

    /// `residue` is on its way: one operand less is missing for each task that reads it.
    fn open_for(&mut self, residue: Residue) {
        for &reader in &self.states[residue.0 as usize].uses {
            let reader = reader as usize;
            self.unknown[reader] -= 1;
            if self.unknown[reader] == 0 && reader < self.next {
                self.open.insert(reader);
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
        MapError::Capacity { op, frames: self.frames.len(), bytes: self.frame_bytes }
    }

    /// A place for `residue`, and from when on it may be written: one that is free when it is `wanted`, as late as possible, so that those
    /// that are free earlier remain for what comes earlier; else the one given up by then that is needed last; else the first of both. `pinned` stay
    /// where they are.
    fn place(
        &mut self,
        op: u32,
        residue: Residue,
        pinned: &HashSet<Residue>,
        wanted: Cycle,
    ) -> Result<Cycle, MapError> {
        let empty = self.frames.iter().enumerate().filter_map(|(index, frame)| Some(((*frame)?, index)));
        let in_time = |&(free, _): &(Cycle, usize)| free <= wanted;
        let (free, index) = match empty.clone().filter(in_time).max() {
            Some(found) => found,
            None => {
                let spare = || self.spare(pinned).map(|(_, free, index)| (free, index));
                let given_up = self.spare(pinned).filter(|&(_, free, _)| free <= wanted).max();
                let best = given_up.map(|(_, free, index)| (free, index)).or_else(|| spare().chain(empty).min());
                match best {
                    Some(found) => found,
                    None => self.evict(op, pinned)?,
                }
            }
        };
        if let Some(holder) = self.holders[index].replace(residue) {
            self.state_mut(holder).frame = None;
        }
        self.empty -= usize::from(self.frames[index].take().is_some());
        self.state_mut(residue).frame = Some(index);
        Ok(free)
    }

    /// Places of what lies off chip too and is needed after the task at hand: by which task, and from when on they may be written.
    fn spare<'a>(&'a self, pinned: &'a HashSet<Residue>) -> impl Iterator<Item = (u32, Cycle, usize)> + 'a {
        self.holders.iter().enumerate().filter_map(|(index, holder)| {
            let residue = (*holder)?;
            let state = self.state(residue);
            let next = state.uses.first().copied().unwrap_or(u32::MAX);
            // What is not known yet is a result of the task at hand.
            let there = state.known && state.off_chip.is_some() && !pinned.contains(&residue);
            (there && next as usize > self.current).then(|| (next, state.last_read.max(state.last + 1), index))
        })
    }

    /// Gives up the place of what is needed last; if it lies nowhere else, it goes to memory first.
    fn evict(&mut self, op: u32, pinned: &HashSet<Residue>) -> Result<(Cycle, usize), MapError> {
        let candidates = self.holders.iter().flatten().map(|&residue| (residue, self.state(residue)));
        // What is placed and not yet known is a result of the task at hand.
        let candidates = candidates.filter(|(residue, state)| state.known && !pinned.contains(residue));
        let next = |state: &State| (state.uses.first().copied().unwrap_or(u32::MAX), state.off_chip.is_some());
        let victim = candidates.max_by_key(|&(residue, state)| (next(state), residue)).map(|(residue, _)| residue);
        let Some(victim) = victim else { return Err(self.full(op)) };
        let (start, free) = (self.free[self.planner.chip.channel.0 as usize].0, self.state(victim).last + 1);
        if self.state(victim).off_chip.is_none() {
            self.save(op, victim, start.max(free));
        }
        let state = self.state_mut(victim);
        let free = state.last_read.max(state.last + 1);
        state.frame.map(|frame| (free, frame)).ok_or_else(|| self.full(op))
    }

    /// A limb to memory.
    fn save(&mut self, op: u32, residue: Residue, start: Cycle) {
        let (cycles, chip) = (self.transfer_cycles(), self.planner.chip);
        let reads = vec![self.access(chip.scratchpad, residue, (0, cycles - 1), Order::Stream)];
        let writes = vec![self.access(chip.off_chip, residue, (0, cycles - 1), Order::Any)];
        self.transfer(chip.kinds.store, op, start, reads, writes);
        let state = self.state_mut(residue);
        state.off_chip = Some(start + cycles);
        state.last_read = state.last_read.max(start + cycles - 1);
    }

    /// Brings what does not lie in the scratchpads.
    fn fetch(&mut self, op: u32, residue: Residue, pinned: &HashSet<Residue>) -> Result<(), MapError> {
        let Some(there) = self.state(residue).off_chip.filter(|_| self.state(residue).frame.is_none()) else {
            return Ok(());
        };
        let (cycles, chip) = (self.transfer_cycles(), self.planner.chip);
        let latency = self.planner.machine.memory_latency as Cycle;
        let channel = self.free[chip.channel.0 as usize].0.max(there);
        let free = self.place(op, residue, pinned, channel + latency)?;
        // A store for its place has taken the channel.
        let start = self.free[chip.channel.0 as usize].0.max(there).max(free - latency);
        let reads = vec![self.access(chip.off_chip, residue, (0, cycles - 1), Order::Any)];
        let writes = vec![self.access(chip.scratchpad, residue, (latency, latency + cycles - 1), Order::Stream)];
        self.transfer(chip.kinds.load, op, start, reads, writes);
        let state = self.state_mut(residue);
        (state.begun, state.first) = (start, start + latency);
        (state.last, state.last_read) = (start + latency + cycles - 1, 0);
        Ok(())
    }

    fn transfer_cycles(&self) -> Cycle {
        let chip = self.planner.chip;
        self.builder.resources().cycles(chip.channel, chip.kinds.load, self.frame_bytes) as Cycle
    }

    /// A limb over the channel.
    fn transfer(&mut self, kind: KindId, kernel_op: u32, start: Cycle, reads: Vec<Access>, writes: Vec<Access>) {
        let op = OpRef { kind, kernel_op, body_op: Value::NONE, ciphertext: Value::NONE, iteration: Value::NONE };
        let (cycles, work, resource) = (self.transfer_cycles(), self.frame_bytes, self.planner.chip.channel);
        self.builder.event(Event { resource, start, occupancy: cycles as u32, work, parts: 1, op, reads, writes });
        self.free[resource.0 as usize].0 = start + cycles;
    }

    /// Every output to memory, in the order in which they are there.
    fn store(&mut self) -> Result<(), MapError> {
        let op = self.program.ops.len() as u32;
        let mut outputs: Vec<Residue> = self.tasks.outputs.iter().flatten().map(|&(_, residue)| residue).collect();
        outputs.sort_unstable();
        outputs.dedup();
        // What has made room lies there already, and so does what the caller gave.
        outputs.retain(|&output| self.state(output).off_chip.is_none());
        outputs.sort_by_key(|&output| self.state(output).first);
        let cycles = self.transfer_cycles();
        for output in outputs {
            let state = self.state(output);
            // As fast as memory takes it, behind the last tile in the end.
            let ready = (state.first + 1).max(state.last + 1 - (cycles - 1));
            let start = self.free[self.planner.chip.channel.0 as usize].0.max(ready);
            self.save(op, output, start);
        }
        Ok(())
    }
}

/// The first cycle in which a segment that reads `tap` may begin.
fn readable(state: &State, tap: &Tap) -> Cycle {
    let there = match tap.order {
        Order::Any => state.last + 1 - tap.first,
        Order::Stream => (state.first + 1 - tap.first).max(state.last + 1 - tap.last),
    };
    there.max(state.begun + 1)
}
