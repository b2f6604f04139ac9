//! The checker of schedules that are lists: the same rules as for loops, in one pass over millions of events.
//!
//! Nothing is folded, so nothing has to be compared with itself a round later: events come in order of their starts, what they will
//! read and write later waits in a calendar, and each event is held against the state that all before it have left. Within a cycle
//! events start first, then everything that is due is read, then written. Random schedules are judged by this pass and by the
//! replay of loops alike.

mod fetch;
mod memory;
mod waits;

use super::Checked;
use super::content::{Content, NEVER};
use super::diagnose::not_empty;
use super::hold::hold_event;
use super::plan::{hold_resources, malformed};
use super::replay::waited_for;
use super::violation::{Description, Hazard, NamedValue, Violation};
use crate::engine::calendar::Calendar;
use crate::engine::list::EventList;
use crate::engine::schedule::{Access, Event, MemoryKind, OpRef, Order, Resource, Resources, Shift, Value};
use memory::{Held, Memory};
use polyfabric_kernels::cancel;
use std::collections::HashMap;
use std::ops::ControlFlow;
use waits::{Accessor, Waits};

/// Judges a list, with stalls accounted for the given unit classes.
///
/// # Errors
/// The first hazard.
pub(super) fn check(list: &dyn EventList, primary_classes: &[String]) -> Result<Checked, Violation> {
    hold_resources(list.resources())?;
    let instructions = list.instructions();
    if list.resources().instructed && instructions.is_none() {
        return Err(malformed("the machine is given instructions, and the schedule has none".into()));
    }
    let mut judge = Judge::new(list, primary_classes, instructions.is_some())?;
    let mut found = Ok(());
    list.visit(&mut |event| {
        found = judge.event(event);
        if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found?;
    judge.until(i64::MAX)?;
    judge.nothing_left()?;
    if let Some(instructions) = instructions {
        fetch::check(list.resources(), instructions, &judge.transfers)?;
        fetch::instructed(instructions, &judge.starts)?;
    }
    let cycles = judge.end;
    let stalls = judge.waits.map_or_else(Vec::new, |waits| waits.finish(list.resources(), cycles));
    Ok(Checked {
        cycles: cycles as u64,
        stalls,
        critical_path: judge.critical_path as u64,
        replayed_events: judge.events,
    })
}

/// When a value is written, and what it would take if nothing were ever busy.
#[derive(Clone, Copy, Debug)]
struct Ready {
    first: i64,
    last: i64,
    path_first: i64,
    path_last: i64,
}

impl Ready {
    const NEVER: Self = Self { first: NEVER, last: NEVER, path_first: NEVER, path_last: NEVER };
}

/// A unit or channel.
#[derive(Clone, Copy, Debug)]
struct Busy {
    until: i64,
    holder: Option<(OpRef, i64)>,
    content: Content,
}

/// An event whose accesses are not all done.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    resource: Resource,
    op: OpRef,
    start: i64,
    occupancy: i64,
    path: i64,
    remaining: usize,
}

/// A value in a memory that is addressed by value, and who put it there.
type ByValue = (Ready, Option<Box<Accessor>>);

/// An access that is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    access: Access,
    write: bool,
    in_flight: usize,
}

struct Judge<'a> {
    list: &'a dyn EventList,
    resources: &'a Resources,
    busy: Vec<Busy>,
    memories: Vec<Memory>,
    cells: Vec<Held>,
    /// Values in memories that are addressed by value.
    by_value: HashMap<(u16, Value), ByValue>,
    due: Calendar<Due>,
    due_now: Vec<Due>,
    in_flight: Vec<InFlight>,
    free: Vec<usize>,
    waits: Option<Waits>,
    /// Of every channel, what it moves when.
    transfers: Vec<Vec<(u64, u64)>>,
    /// Whether those are asked for.
    fetches: bool,
    /// Cycles in which units start, in order, if instructions are.
    starts: Vec<i64>,
    now: i64,
    end: i64,
    critical_path: i64,
    events: u64,
}

impl<'a> Judge<'a> {
    fn new(list: &'a dyn EventList, primary_classes: &[String], fetches: bool) -> Result<Self, Violation> {
        let resources = list.resources();
        let (memories, cells) = memory::memories(list)?;
        let waits = (!primary_classes.is_empty()).then(|| Waits::new(resources, primary_classes, cells));
        Ok(Self {
            list,
            resources,
            busy: vec![Busy { until: 0, holder: None, content: Content::NONE }; resources.len()],
            memories,
            cells: vec![Held::EMPTY; cells],
            by_value: HashMap::new(),
            due: Calendar::new(0),
            due_now: Vec::new(),
            in_flight: Vec::new(),
            free: Vec::new(),
            waits,
            transfers: vec![Vec::new(); resources.channels.len()],
            fetches,
            starts: Vec::new(),
            now: 0,
            end: 0,
            critical_path: 0,
            events: 0,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Violation> {
        cancel::check();
        hold_event(self.resources, event)?;
        if event.start < self.now {
            return Err(malformed("an event starts before cycle 0, or before the one ahead of it in the list".into()));
        }
        self.until(event.start)?;
        self.now = event.start;
        self.start(event)
    }

    /// Does all that is due before cycle `until`.
    fn until(&mut self, until: i64) -> Result<(), Violation> {
        while self.due.next_before(until).is_some() {
            let mut due = std::mem::take(&mut self.due_now);
            self.due.take(&mut due);
            for due in due.iter().filter(|due| !due.write) {
                self.read(&due.access, due.in_flight)?;
            }
            for due in due.iter().filter(|due| due.write) {
                self.write(&due.access, due.in_flight)?;
            }
            self.due_now = due;
        }
        Ok(())
    }

    fn start(&mut self, event: &Event) -> Result<(), Violation> {
        let (start, occupancy) = (event.start, i64::from(event.occupancy));
        let resource = event.resource.0 as usize;
        let busy = self.busy[resource];
        let remaining = event.reads.len() + event.writes.len();
        let index =
            self.enter(InFlight { resource: event.resource, op: event.op, start, occupancy, path: 0, remaining });
        if start < busy.until {
            return Err(self.unit_busy(index, busy));
        }
        let kind = &self.resources.kinds[usize::from(event.op.kind.0)];
        let legal = busy.content.legal_start(kind);
        if start < legal {
            let holder = busy.holder.map(|(op, start)| self.named(event.resource, op, start)).unwrap_or_default();
            return Err(not_empty((self.describe(index), start), (holder, busy.content), kind));
        }
        self.events += 1;
        if let Some(waits) = &mut self.waits {
            let on_wire = event
                .reads
                .iter()
                .chain(&event.writes)
                .any(|access| matches!(self.memories[access.place.memory.0 as usize], Memory::Wire(_)));
            let gap = (start - busy.until, legal - busy.until);
            waits.start(self.resources, event, index, gap, busy.holder.is_none(), on_wire);
        }
        self.busy[resource] = Busy {
            until: start + occupancy,
            holder: Some((event.op, start)),
            content: busy.content.with(kind, event, start),
        };
        if self.fetches {
            match resource.checked_sub(self.resources.units.len()) {
                Some(channel) => self.transfers[channel].push((start as u64, (start + occupancy) as u64)),
                None if self.starts.last() != Some(&start) => self.starts.push(start),
                None => {}
            }
        }
        self.end = self.end.max(event.end());
        self.critical_path = self.critical_path.max(occupancy);
        if remaining == 0 {
            self.over(index);
        }
        let reads = event.reads.iter().map(|access| (access, false));
        for (access, write) in reads.chain(event.writes.iter().map(|access| (access, true))) {
            self.due.push(start + i64::from(access.first), Due { access: *access, write, in_flight: index });
        }
        Ok(())
    }

    fn enter(&mut self, in_flight: InFlight) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.in_flight[index] = in_flight;
                index
            }
            None => {
                self.in_flight.push(in_flight);
                self.in_flight.len() - 1
            }
        }
    }

    /// An access is done; after the last, the event is over.
    fn accessed(&mut self, index: usize) {
        self.in_flight[index].remaining -= 1;
        if self.in_flight[index].remaining == 0 {
            let InFlight { path, occupancy, .. } = self.in_flight[index];
            self.critical_path = self.critical_path.max(path + occupancy);
            self.over(index);
        }
    }

    fn over(&mut self, index: usize) {
        if let Some(waits) = &mut self.waits {
            waits.over(index);
        }
        self.free.push(index);
    }

    fn read(&mut self, access: &Access, index: usize) -> Result<(), Violation> {
        let start = self.in_flight[index].start;
        let (first, last) = (start + i64::from(access.first), start + i64::from(access.last));
        let memory = usize::from(access.place.memory.0);
        let kind = &self.resources.memories[memory].kind;
        if kind.by_value() {
            let input = self.resources.value_classes[access.value.class.0 as usize].input;
            if !(input && *kind == MemoryKind::OffChip) {
                let found = self.by_value.get(&(access.place.memory.0, access.value));
                let Some((ready, writer)) = found.map(|(ready, writer)| (*ready, writer.clone())) else {
                    return Err(self.not_there(access, index, None));
                };
                self.use_value(access, index, &ready, (first, last), writer.as_deref())?;
            }
        } else if let Memory::Wire(wire) = &mut self.memories[memory] {
            let Some(passing) = wire.take(access.value, first) else {
                return Err(self.not_there(access, index, None));
            };
            if passing.last + wire.delay != last {
                return Err(self.not_in_step(access, index, passing.last));
            }
            let ahead = passing.path_first + wire.delay - i64::from(access.first);
            self.in_flight[index].path = self.in_flight[index].path.max(ahead);
            if let (Some(waits), Some(writer)) = (&mut self.waits, &passing.writer) {
                waits.constrain(index, writer.blame);
            }
        } else {
            for cell in self.memories[memory].cells(access) {
                let held = self.cells[cell];
                if held.value != Some(access.value) {
                    return Err(self.not_there(access, index, held.value));
                }
                let interval = self.memories[memory].interval(access, cell, first, last);
                let writer = self.waits.as_ref().and_then(|waits| waits.writer(cell));
                self.use_value(access, index, &held.ready, interval, writer.as_ref())?;
            }
        }
        self.pass(access, index, first, last, false)?;
        if !kind.by_value() && !matches!(self.memories[memory], Memory::Wire(_)) {
            let reader = self.accessor(access, index);
            for cell in self.memories[memory].cells(access) {
                let (begin, finish) = self.memories[memory].interval(access, cell, first, last);
                let held = &mut self.cells[cell];
                held.read_first = held.read_first.max(if access.order == Order::Any { finish } else { begin });
                if finish >= held.read_last {
                    held.read_last = finish;
                    if let Some(waits) = &mut self.waits {
                        waits.read(cell, reader);
                    }
                }
            }
        }
        self.accessed(index);
        Ok(())
    }

    /// An operand: there in time, and the earliest start that it allows.
    fn use_value(
        &mut self,
        access: &Access,
        index: usize,
        ready: &Ready,
        (first, last): (i64, i64),
        writer: Option<&Accessor>,
    ) -> Result<(), Violation> {
        let streams = access.order == Order::Stream;
        let earlier = |first: i64, last: i64, ready_first: i64, ready_last: i64| match streams {
            true => (first - ready_first - 1).min(last - ready_last - 1),
            false => first - ready_last - 1,
        };
        let slack = earlier(first, last, ready.first, ready.last);
        if slack < 0 {
            return Err(self.too_early(access, index, ready, slack));
        }
        let InFlight { start, path, .. } = self.in_flight[index];
        let ahead = -earlier(first - start, last - start, ready.path_first, ready.path_last);
        self.in_flight[index].path = path.max(ahead);
        if let (Some(waits), Some(writer)) = (&mut self.waits, writer) {
            waits.operand(index, writer, slack, start, streams);
        }
        Ok(())
    }

    fn write(&mut self, access: &Access, index: usize) -> Result<(), Violation> {
        let InFlight { start, path, .. } = self.in_flight[index];
        let (first, last) = (start + i64::from(access.first), start + i64::from(access.last));
        let memory = usize::from(access.place.memory.0);
        let kind = &self.resources.memories[memory].kind;
        let addressed = !kind.by_value() && !matches!(self.memories[memory], Memory::Wire(_));
        if addressed {
            for cell in self.memories[memory].cells(access) {
                let (begin, finish) = self.memories[memory].interval(access, cell, first, last);
                let end = if access.order == Order::Any { begin } else { finish };
                let held = &self.cells[cell];
                // The first element may go where the old one was last read, or a cycle after it was written.
                let readers = (begin - held.read_first).min(end - held.read_last);
                let writers = (begin - held.ready.first - 1).min(end - held.ready.last - 1);
                if readers.min(writers) < 0 {
                    return Err(self.overwrites(access, index, cell, readers, writers));
                }
                if let Some(waits) = &mut self.waits {
                    waits.room(index, cell, readers, writers, start);
                }
            }
        }
        self.pass(access, index, first, last, true)?;
        let streams = access.order == Order::Stream;
        let writer = self.accessor(access, index);
        let ready = |first: i64, last: i64| {
            let first = if streams { first } else { last };
            Ready { first, last, path_first: first - start + path, path_last: last - start + path }
        };
        let whole = ready(first, last);
        self.critical_path = self.critical_path.max(whole.path_last + 1);
        if kind.by_value() {
            self.by_value.insert((access.place.memory.0, access.value), (whole, writer.map(Box::new)));
        } else if let Memory::Wire(wire) = &mut self.memories[memory] {
            if let Some(lost) = wire.put(access.value, &whole, writer) {
                return Err(self.passed_by(memory, lost));
            }
        } else {
            for cell in self.memories[memory].cells(access) {
                let (begin, finish) = self.memories[memory].interval(access, cell, first, last);
                self.cells[cell] = Held { value: Some(access.value), ready: ready(begin, finish), ..Held::EMPTY };
                if let Some(waits) = &mut self.waits {
                    waits.written(cell, writer);
                }
            }
        }
        self.accessed(index);
        Ok(())
    }

    /// Who an event is to those that wait for it, if anybody asks.
    fn accessor(&self, access: &Access, index: usize) -> Option<Accessor> {
        let waits = self.waits.as_ref()?;
        let InFlight { resource, start, .. } = self.in_flight[index];
        Some(waits.accessor(index, waited_for(self.resources, resource, access.value), start, access.order))
    }

    /// Loads the ports of a memory.
    fn pass(&mut self, access: &Access, index: usize, first: i64, last: i64, write: bool) -> Result<(), Violation> {
        let memory = usize::from(access.place.memory.0);
        let resource = self.in_flight[index].resource;
        let joined = match &self.memories[memory] {
            Memory::Lines(lines) if !write && lines.joins(resource) => {
                let cell = lines.cell(access);
                std::mem::replace(&mut self.cells[cell].given, (first, last)) == (first, last) && lines.multicast()
            }
            _ => false,
        };
        if joined {
            return Ok(());
        }
        match self.memories[memory].pass(access, resource, first, last, write) {
            Ok(()) => Ok(()),
            Err(port) => {
                let name = &self.resources.memories[memory].name;
                let event = self.describe(index);
                let message = format!("{event}: {port} of {name} is in use in cycle {first}; move one of the streams");
                Err(Violation { hazard: Hazard::Port, cycle: first, legal_start: None, message })
            }
        }
    }

    /// Nothing is left on a wire.
    fn nothing_left(&self) -> Result<(), Violation> {
        for (memory, of) in self.memories.iter().enumerate() {
            if let Memory::Wire(wire) = of
                && let Some(lost) = wire.left()
            {
                return Err(self.passed_by(memory, lost));
            }
        }
        Ok(())
    }

    fn describe(&self, index: usize) -> String {
        let InFlight { resource, op, start, .. } = self.in_flight[index];
        self.named(resource, op, start)
    }

    fn named(&self, resource: Resource, op: OpRef, start: i64) -> String {
        let (occupancy, work, parts) = (1, 0, 1);
        let event = Event { resource, start, occupancy, work, parts, op, reads: Vec::new(), writes: Vec::new() };
        Description { resources: self.resources, event: &event, start, shift: Shift::default() }.to_string()
    }

    fn name(&self, value: Value) -> String {
        NamedValue { resources: self.resources, value }.to_string()
    }

    fn location(&self, access: &Access) -> String {
        let memory = &self.resources.memories[usize::from(access.place.memory.0)];
        match memory.kind {
            MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => {
                format!("{} at byte {}", memory.name, access.place.offset)
            }
            _ => memory.name.clone(),
        }
    }

    fn unit_busy(&self, index: usize, Busy { until, holder, .. }: Busy) -> Violation {
        let InFlight { resource, start, .. } = self.in_flight[index];
        let holder = holder.map(|(op, start)| self.named(resource, op, start)).unwrap_or_default();
        let event = self.describe(index);
        let message = format!("{event}: the unit is taken by {holder}, until cycle {until}; start at {until} or later");
        Violation { hazard: Hazard::UnitBusy, cycle: start, legal_start: Some(until), message }
    }

    fn too_early(&self, access: &Access, index: usize, ready: &Ready, slack: i64) -> Violation {
        let start = self.in_flight[index].start;
        let (event, value, location) = (self.describe(index), self.name(access.value), self.location(access));
        let (legal, Ready { first, last, .. }) = (start - slack, ready);
        let message = format!(
            "{event}: reads {value} from {location}, which is written from cycle {first} to {last}; start at {legal} or later"
        );
        Violation { hazard: Hazard::UseBeforeReady, cycle: start, legal_start: Some(legal), message }
    }

    fn not_in_step(&self, access: &Access, index: usize, last: i64) -> Violation {
        let (event, value, location) = (self.describe(index), self.name(access.value), self.location(access));
        let message = format!(
            "{event}: takes {value} off {location} at another pace than it is put there, until cycle {last}; an element on a wire \
             cannot wait"
        );
        Violation { hazard: Hazard::Stream, cycle: self.in_flight[index].start, legal_start: None, message }
    }

    fn passed_by(&self, memory: usize, (value, cycle): (Value, i64)) -> Violation {
        let (value, wire) = (self.name(value), &self.resources.memories[memory].name);
        let message = format!("{value} is put on {wire} and nobody takes it up when it passes; add its reader");
        Violation { hazard: Hazard::Stream, cycle, legal_start: None, message }
    }

    fn overwrites(&self, access: &Access, index: usize, cell: usize, readers: i64, writers: i64) -> Violation {
        let start = self.in_flight[index].start;
        let (event, value, location) = (self.describe(index), self.name(access.value), self.location(access));
        let old = self.cells[cell].value.map_or_else(|| "what is there".to_owned(), |value| self.name(value));
        let legal = start - readers.min(writers);
        let still = if readers <= writers { "read" } else { "written" };
        let message = format!(
            "{event}: writes {value} over {old} in {location}, which is still {still}; start at {legal} or later"
        );
        Violation { hazard: Hazard::Overwrite, cycle: start, legal_start: Some(legal), message }
    }

    /// A read found another value: not yet, not any more, or never. The list is gone through again for who writes it.
    fn not_there(&self, access: &Access, index: usize, held: Option<Value>) -> Violation {
        let start = self.in_flight[index].start;
        let cycle = start + i64::from(access.first);
        let by_value = self.resources.memories[usize::from(access.place.memory.0)].kind.by_value();
        let here = |other: &Access| {
            let (place, other_place) = (access.place, other.place);
            let apart = other_place.offset >= place.offset.saturating_add(place.bytes)
                || place.offset >= other_place.offset.saturating_add(other_place.bytes);
            other.value == access.value && other_place.memory == place.memory && (by_value || !apart)
        };
        let mut written = None;
        self.list.visit(&mut |event| {
            for write in event.writes.iter().filter(|write| here(write)) {
                let at = |cycle: u32| event.start + i64::from(cycle);
                written = Some((at(write.first), at(write.last), self.named(event.resource, event.op, event.start)));
            }
            if written.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let (event, value, location) = (self.describe(index), self.name(access.value), self.location(access));
        let found = held.map_or_else(|| "nothing".to_owned(), |held| self.name(held));
        let (hazard, legal_start, message) = match written {
            Some((first, last, writer)) if first >= cycle => {
                let legal = match access.order {
                    Order::Any => last + 1 - i64::from(access.first),
                    Order::Stream => (first + 1 - i64::from(access.first)).max(last + 1 - i64::from(access.last)),
                };
                let message = format!(
                    "{event}: reads {value} from {location}, which {writer} writes from cycle {first} to {last}; start at {legal} \
                     or later"
                );
                (Hazard::UseBeforeReady, Some(legal), message)
            }
            Some((_, _, writer)) => {
                let message = format!(
                    "{event}: reads {value} from {location}, written by {writer}, and finds {found} there; delay what has replaced \
                     it or use another place"
                );
                (Hazard::Overwrite, None, message)
            }
            None => {
                let message = format!(
                    "{event}: reads {value} from {location}, which nothing writes there (it holds {found}); add the transfer or \
                     correct the place"
                );
                (Hazard::NeverWritten, None, message)
            }
        };
        Violation { hazard, cycle: start, legal_start, message }
    }
}
