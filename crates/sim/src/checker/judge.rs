//! The rules of time: when an event may start, and the state that its reads and writes find.
//!
//! Within a cycle, events start first; then all due reads happen, then all due writes. Outstanding accesses wait in a
//! calendar. Each access is checked against the state that all earlier ones left.

use super::content::Content;
use super::fold::ByValue;
use super::memory::{Addressing, Held, Layout, LineStreams, Passing, Ports, Ready, Wire};
use super::observer::{Begin, Observer, Step as Stepped, Wait};
use super::state::{Busy, Due, DueAt, InFlight, Next, Who};
use super::violation::Violation;
use super::walk::{Instance, Tree};
use crate::calendar::Calendar;
use crate::list::Source;
use crate::schedule::{Access, Event, MemoryId, MemoryKind, Order, Resources, Shift, Value};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::iter::repeat_n;

/// Result of a step. `false`: a folded loop was unfolded, and the step must be repeated.
pub(super) type Step = Result<bool, Violation>;
pub(super) const DONE: Step = Ok(true);
pub(super) const AGAIN: Step = Ok(false);

/// Position of an event in a tree. Events of a list are at the top.
#[derive(Clone, Copy, Default)]
pub(super) struct Position {
    pub node: usize,
    pub instance: usize,
    pub shift: Shift,
}

pub(super) struct Judge<'a, O: Observer> {
    pub source: Source<'a>,
    pub resources: &'a Resources,
    pub layout: &'a Layout,
    pub observer: O,
    pub busy: Vec<Busy>,
    pub cells: Vec<Held<O::Mark>>,
    pub wires: Vec<Wire<O::Mark>>,
    lines: Vec<LineStreams>,
    pub ports: Ports,
    pub by_value: HashMap<(u16, Value), (Ready, O::Mark)>,
    pub due: Calendar<Due>,
    due_now: Vec<Due>,
    /// Accesses due in cycles that have passed already, from loops that were unfolded.
    pub late: BTreeMap<DueAt, Due>,
    pub in_flight: Vec<InFlight<O::Flight>>,
    /// Accesses of each event under way, with the values of its round: reads, then writes.
    pub accesses: Vec<Vec<Access>>,
    free: Vec<usize>,
    over: Vec<usize>,
    pub critical_path: i64,
    /// Events that were checked one by one.
    pub events: u64,
    /// The tree, if the schedule is one, and its running loops. Instance 0 is the top of the schedule.
    pub tree: &'a Tree<'a>,
    pub instances: Vec<Instance<O>>,
    pub running: Vec<usize>,
    pub next: BinaryHeap<Reverse<Next>>,
    pub fold: bool,
    pub freezes: u64,
}

impl<'a, O: Observer> Judge<'a, O> {
    pub fn new(source: Source<'a>, layout: &'a Layout, tree: &'a Tree<'a>, observer: O, fold: bool) -> Self {
        let resources = source.resources();
        let lines = resources.memories.iter().filter_map(|memory| match &memory.kind {
            MemoryKind::Lines(lines) => Some(LineStreams::new(lines)),
            _ => None,
        });
        let wires = layout.memories.iter().filter(|of| matches!(of, Addressing::Wire { .. })).count();
        Self {
            source,
            resources,
            layout,
            observer,
            busy: vec![Busy { until: 0, holder: None, content: Content::NONE }; resources.len()],
            cells: vec![Held::EMPTY; layout.cells],
            wires: vec![Wire::new(); wires],
            lines: lines.collect(),
            ports: Ports::new(layout),
            by_value: HashMap::new(),
            due: Calendar::new(0),
            due_now: Vec::new(),
            late: BTreeMap::new(),
            in_flight: Vec::new(),
            accesses: Vec::new(),
            free: Vec::new(),
            over: Vec::new(),
            critical_path: 0,
            events: 0,
            tree,
            instances: vec![Instance::new(usize::MAX, None, 0, Shift::default())],
            running: Vec::new(),
            next: BinaryHeap::new(),
            fold,
            freezes: 0,
        }
    }

    /// Handles all accesses due before cycle `until`, in a schedule without folded loops.
    pub fn until(&mut self, until: i64) -> Result<(), Violation> {
        while self.due.next_before(until).is_some() {
            self.due_in_this_cycle()?;
        }
        Ok(())
    }

    /// Handles the accesses due in the calendar's current cycle. If a folded loop must be unfolded first, the rest is
    /// late.
    pub fn due_in_this_cycle(&mut self) -> Result<(), Violation> {
        let mut due = std::mem::take(&mut self.due_now);
        self.due.take(&mut due);
        if !self.tree.nodes.is_empty() {
            due.sort_unstable_by_key(|due| (self.in_flight[due.in_flight].node, due.number, due.in_flight));
        }
        let mut waits = false;
        for write in [false, true] {
            for due in due.iter().filter(|due| due.write == write) {
                waits = waits || !self.access(due)?;
                if waits {
                    self.late(*due);
                }
            }
        }
        self.due_now = due;
        Ok(())
    }

    /// Handles one access.
    pub fn access(&mut self, due: &Due) -> Step {
        if due.write { self.write(due) } else { self.read(due) }
    }

    /// Adds an access to the late ones.
    pub fn late(&mut self, due: Due) {
        let (cycle, node) = (self.cycle(&due), self.in_flight[due.in_flight].node);
        self.late.insert((cycle, due.write, node, due.number, due.in_flight), due);
    }

    /// Adds an access to its cycle of the calendar, or to the late ones.
    pub fn push(&mut self, due: Due, cycle: i64) {
        if cycle < self.due.now() { self.late(due) } else { self.due.push(cycle, due) }
    }

    pub fn due_access(&self, due: &Due) -> &Access {
        &self.accesses[due.in_flight][due.number as usize]
    }

    /// The cycle of its first element.
    pub fn cycle(&self, due: &Due) -> i64 {
        self.in_flight[due.in_flight].cycles(self.due_access(due)).0
    }

    /// Starts an event in cycle `start`.
    pub fn begin(&mut self, event: &Event, start: i64, at: Position) -> Step {
        let Position { node, instance, shift } = at;
        let resource = event.resource.0 as usize;
        let wired = |access: &&Access| matches!(self.layout.of(access), Addressing::Wire { .. });
        let on_wire = event.reads.iter().chain(&event.writes).any(|access| wired(&access));
        if !self.running.is_empty() && !self.disturb(instance, start, Some(resource), 0..0)? {
            return AGAIN;
        }
        if on_wire && !self.running.is_empty() {
            for read in event.reads.iter().filter(wired) {
                if !self.disturb(instance, start, None, self.layout.touched(read))? {
                    return AGAIN;
                }
            }
        }
        let who = Who { resource: event.resource, op: event.op.shifted(shift), start };
        let busy = self.busy[resource];
        if start < busy.until {
            return Err(self.unit_busy(who, &busy));
        }
        let kind = &self.resources.kinds[usize::from(event.op.kind.0)];
        let legal = busy.content.legal_start(kind);
        if start < legal {
            return Err(self.not_empty(who, &busy, kind));
        }
        self.events += 1;
        let begin = Begin { resources: self.resources, event, start, instance, busy: &busy, legal, on_wire };
        let flight = self.observer.begin(&begin);
        let occupancy = i64::from(event.occupancy);
        self.busy[resource] =
            Busy { until: start + occupancy, holder: Some(who), content: busy.content.with(kind, event, start) };
        if on_wire {
            for read in &event.reads {
                let Addressing::Wire { wire, delay, .. } = *self.layout.of(read) else { continue };
                let value = read.value.shifted(shift);
                let comes = |passing: &&Passing<O::Mark>| passing.value == value && passing.first + delay == start;
                if let Some(passing) = self.wires[wire].iter().find(comes) {
                    self.observer.take(&flight, &passing.writer);
                }
            }
        }
        let remaining = event.reads.len() + event.writes.len();
        let entered = InFlight { who, node, instance, occupancy, path: 0, remaining, flight };
        let index = match self.free.pop() {
            Some(index) => {
                self.in_flight[index] = entered;
                index
            }
            None => {
                self.in_flight.push(entered);
                self.accesses.push(Vec::new());
                self.in_flight.len() - 1
            }
        };
        self.instances[instance].pending += 1;
        self.critical_path = self.critical_path.max(occupancy);
        let accesses = &mut self.accesses[index];
        accesses.clear();
        accesses.extend_from_slice(&event.reads);
        accesses.extend_from_slice(&event.writes);
        if shift != Shift::default() {
            accesses.iter_mut().for_each(|access| access.value = access.value.shifted(shift));
        }
        let firsts = event.reads.iter().map(|read| (read.first, false));
        let firsts = firsts.chain(event.writes.iter().map(|write| (write.first, true)));
        for (number, (first, write)) in (0..).zip(firsts) {
            self.push(Due { in_flight: index, number, write }, start + i64::from(first));
        }
        self.step(index, remaining == 0);
        DONE
    }

    /// Finishes an access; after the last one, the event is over.
    fn accessed(&mut self, index: usize) {
        let of = &mut self.in_flight[index];
        of.remaining -= 1;
        let last = of.remaining == 0;
        if last {
            self.critical_path = self.critical_path.max(of.path + of.occupancy);
        }
        self.step(index, last);
    }

    fn step(&mut self, index: usize, last: bool) {
        let Self { observer, in_flight, instances, over, .. } = self;
        let InFlight { flight, instance, .. } = &in_flight[index];
        let parents = |instance: usize| instances[instance].parent;
        observer.step(Stepped { flight, instance: *instance, last, parents: &parents }, over);
        for place in 0..self.over.len() {
            self.settle(self.over[place]);
        }
        self.over.clear();
        if last {
            self.free.push(index);
        }
    }

    fn read(&mut self, due: &Due) -> Step {
        let (access, index) = (&{ *self.due_access(due) }, due.in_flight);
        let layout = self.layout;
        let InFlight { who, instance, .. } = self.in_flight[index];
        let (first, last) = self.in_flight[index].cycles(access);
        if !self.running.is_empty() && !self.disturb(instance, first, None, layout.touched(access))? {
            return AGAIN;
        }
        let mut taken = None;
        let cells = layout.cells(access);
        match *layout.of(access) {
            Addressing::ByValue => {
                if !self.read_by_value((access, index), (first, last))? {
                    return AGAIN;
                }
            }
            Addressing::Wire { wire, delay, .. } => {
                let place = self.on_wire((access, index), wire, delay)?;
                let ahead = self.wires[wire][place].path_first + delay - i64::from(access.first);
                let of = &mut self.in_flight[index];
                of.path = of.path.max(ahead);
                taken = Some((wire, place));
            }
            Addressing::Lines(_) | Addressing::Bytes(_) => {
                for cell in cells.clone() {
                    if self.cells[cell].value != Some(access.value) {
                        return Err(self.not_there(access, who, Some(cell)));
                    }
                    let interval = layout.interval(access, cell, first, last);
                    let Self { cells, in_flight, observer, .. } = self;
                    let Held { ready, writer, .. } = &cells[cell];
                    let found = operand(observer, &mut in_flight[index], access, (ready, writer.as_ref()), interval);
                    if let Err(slack) = found {
                        let ready = *ready;
                        return Err(self.too_early(access, who, &ready, slack));
                    }
                }
            }
        }
        if !self.pass((access, index, due.write), (first, last))? {
            return AGAIN;
        }
        if let Some((wire, place)) = taken {
            self.wires[wire].remove(place);
        }
        if !cells.is_empty() {
            let reader = self.observer.mark(&self.in_flight[index].flight, self.resources, who.resource, access);
            let readers = repeat_n(reader, cells.len());
            for (cell, reader) in cells.zip(readers) {
                let (begin, finish) = layout.interval(access, cell, first, last);
                let held = &mut self.cells[cell];
                held.read_first = held.read_first.max(if access.order == Order::Any { finish } else { begin });
                if finish >= held.read_last {
                    held.read_last = finish;
                    held.reader = Some(reader);
                }
            }
        }
        self.accessed(index);
        DONE
    }

    fn read_by_value(&mut self, (access, index): (&Access, usize), interval: (i64, i64)) -> Step {
        let memory = access.place.memory.0;
        let input = self.resources.value_classes[usize::from(access.value.class.0)].input;
        if input && self.resources.memories[usize::from(memory)].kind == MemoryKind::OffChip {
            return DONE;
        }
        let InFlight { who, instance, .. } = self.in_flight[index];
        let Some((ready, writer)) = self.by_value.get(&(memory, access.value)) else {
            // The writer may be a folded loop, whose rounds are not booked yet.
            if let Some(&frozen) = self.running.iter().find(|&&running| self.instances[running].frozen.is_some()) {
                self.thaw(frozen, interval.0)?;
                return AGAIN;
            }
            return Err(self.not_there(access, who, None));
        };
        let found = operand(&mut self.observer, &mut self.in_flight[index], access, (ready, Some(writer)), interval);
        match found {
            Ok(seen) => {
                let (first, last) = interval;
                let ready = Ready { first, last, ..Ready::NEVER };
                self.record(
                    instance,
                    ByValue { write: false, memory, value: access.value, ready, writer: None, who, seen },
                );
                DONE
            }
            Err(slack) => {
                let ready = *ready;
                Err(self.too_early(access, who, &ready, slack))
            }
        }
    }

    /// Index of the value on the wire. It must pass in the same cycles in which the access reads it.
    fn on_wire(&self, (access, index): (&Access, usize), wire: usize, delay: i64) -> Result<usize, Violation> {
        let of = &self.in_flight[index];
        let (first, last) = of.cycles(access);
        let mut other = None;
        for (place, passing) in self.wires[wire].iter().enumerate().filter(|(_, on)| on.value == access.value) {
            if (passing.first + delay, passing.last + delay) == (first, last) {
                return Ok(place);
            }
            other = Some((passing.first + delay, passing.last + delay));
        }
        Err(match other {
            Some(passes) => self.not_in_step(access, of.who, passes, (first, last)),
            None => self.not_there(access, of.who, None),
        })
    }

    fn write(&mut self, due: &Due) -> Step {
        let (access, index) = (&{ *self.due_access(due) }, due.in_flight);
        let layout = self.layout;
        let InFlight { who, instance, path, .. } = self.in_flight[index];
        let (first, last) = self.in_flight[index].cycles(access);
        if !self.running.is_empty() && !self.disturb(instance, first, None, layout.touched(access))? {
            return AGAIN;
        }
        if let Addressing::Wire { wire, delay, .. } = *layout.of(access)
            && let Some(lost) = self.wires[wire].front().filter(|passing| passing.first + delay < first)
        {
            return Err(self.passed_by(access.place.memory, lost.value, lost.first));
        }
        let cells = layout.cells(access);
        for cell in cells.clone() {
            let (begin, finish) = layout.interval(access, cell, first, last);
            let end = if access.order == Order::Any { begin } else { finish };
            let held = &self.cells[cell];
            // An element may be overwritten in the cycle of its last read, or one cycle after it was written.
            let readers = (begin - held.read_first).min(end - held.read_last);
            let writers = (begin - held.ready.first - 1).min(end - held.ready.last - 1);
            let slack = readers.min(writers);
            if slack < 0 {
                return Err(self.overwrites(access, who, cell, (readers, writers)));
            }
            if let Some(holder) = if readers <= writers { &held.reader } else { &held.writer } {
                let wait = Wait { time: first, start: who.start, slack, streams: false };
                self.observer.room(&self.in_flight[index].flight, holder, &wait);
            }
        }
        if !self.pass((access, index, due.write), (first, last))? {
            return AGAIN;
        }
        let flight = &self.in_flight[index].flight;
        let writer = self.observer.mark(flight, self.resources, who.resource, access);
        let streams = access.order == Order::Stream;
        let ready = |first: i64, last: i64| {
            let first = if streams { first } else { last };
            Ready { first, last, path_first: first - who.start + path, path_last: last - who.start + path }
        };
        let whole = ready(first, last);
        self.critical_path = self.critical_path.max(whole.path_last + 1);
        match *layout.of(access) {
            Addressing::ByValue if self.tree.read_by_value(access.value) => {
                let (memory, value) = (access.place.memory.0, access.value);
                self.by_value.insert((memory, value), (whole, writer.clone()));
                let seen = None;
                self.record(
                    instance,
                    ByValue { write: true, memory, value, ready: whole, writer: Some(writer), who, seen },
                );
            }
            Addressing::ByValue => {}
            Addressing::Wire { wire, .. } => {
                self.observer.hand_on(flight);
                let Ready { first, last, path_first, .. } = whole;
                self.wires[wire].push_back(Passing { value: access.value, first, last, path_first, writer });
            }
            Addressing::Lines(_) | Addressing::Bytes(_) => {
                let writers = repeat_n(writer, cells.len());
                for (cell, writer) in cells.zip(writers) {
                    let (begin, finish) = layout.interval(access, cell, first, last);
                    let (value, ready, writer) = (Some(access.value), ready(begin, finish), Some(writer));
                    self.cells[cell] = Held { value, ready, writer, ..Held::EMPTY };
                }
            }
        }
        self.accessed(index);
        DONE
    }

    /// Loads the ports of a memory for the duration of an access. `false`: a folded loop was unfolded first.
    fn pass(&mut self, (access, index, write): (&Access, usize, bool), (first, last): (i64, i64)) -> Step {
        let layout = self.layout;
        let InFlight { who, instance, .. } = self.in_flight[index];
        if let Addressing::Lines(lines) = layout.of(access) {
            let streams = &mut self.lines[lines.number];
            let passed = streams.pass(lines, (access, write), (first, last), who.resource);
            return passed.map(|()| true).map_err(|port| self.port_in_use(access, who, first, &port));
        }
        match self.ports.pass(layout, (access, write), (first, last), instance) {
            Ok(loads) => {
                self.note_peaks(instance, loads, first);
                DONE
            }
            Err((port, load)) => {
                // A folded loop counts with its largest load. Once it is unfolded, there may be room.
                let loads = |&&running: &&usize| {
                    self.instances[running].frozen.as_ref().is_some_and(|frozen| frozen.peaks[port] > 0)
                };
                if let Some(&instance) = self.running.iter().find(loads) {
                    self.thaw(instance, first)?;
                    return AGAIN;
                }
                Err(self.port_overloaded(who, first, port, load))
            }
        }
    }

    /// Checks that no value is left on a wire at the end.
    pub fn nothing_left(&self) -> Result<(), Violation> {
        for (memory, of) in (0..).zip(&self.layout.memories) {
            if let &Addressing::Wire { wire, .. } = of
                && let Some(lost) = self.wires[wire].front()
            {
                return Err(self.passed_by(MemoryId(memory), lost.value, lost.first));
            }
        }
        Ok(())
    }
}

/// Checks that an operand is ready, and records the earliest start that it allows.
///
/// # Errors
/// The slack, as a negative number: the event is too early by so many cycles.
fn operand<O: Observer>(
    observer: &mut O,
    of: &mut InFlight<O::Flight>,
    access: &Access,
    (ready, writer): (&Ready, Option<&O::Mark>),
    (first, last): (i64, i64),
) -> Result<Option<O::Seen>, i64> {
    let streams = access.order == Order::Stream;
    // Cycles by which this operand would let the event start earlier.
    let earlier = |first: i64, last: i64, ready_first: i64, ready_last: i64| match streams {
        true => (first - ready_first - 1).min(last - ready_last - 1),
        false => first - ready_last - 1,
    };
    let slack = earlier(first, last, ready.first, ready.last);
    if slack < 0 {
        return Err(slack);
    }
    let start = of.who.start;
    of.path = of.path.max(-earlier(first - start, last - start, ready.path_first, ready.path_last));
    let time = start + i64::from(access.first);
    Ok(writer.and_then(|writer| observer.operand(&of.flight, writer, &Wait { time, start, slack, streams })))
}
