//! Hazard messages: both events, the value, the cycles, and the remedy.
//!
//! The checker stores only as much of an event as its rules need. The other event of a hazard is found by searching the
//! schedule again.

use super::content::Content;
use super::fold::ByValue;
use super::hold::LARGEST;
use super::judge::Judge;
use super::memory::{LOAD_SCALE, Ready};
use super::observer::Observer;
use super::state::{Busy, Who};
use super::violation::{Description, Hazard, NamedValue, Violation};
use crate::list::Source;
use crate::schedule::{Access, Event, MemoryId, MemoryKind, OpKind, Order, Shift, Value};
use std::ops::ControlFlow;

/// Most events of an unrolled tree that a search visits.
const SEARCHED_EVENTS: usize = 4_000_000;

impl<O: Observer> Judge<'_, O> {
    fn describe(&self, who: Who) -> String {
        let Who { resource, op, start } = who;
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

    /// Calls `visit` with the events in order of time, until it breaks.
    fn search(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>) {
        match self.source {
            Source::Loops(schedule) => {
                let mut events = schedule.events().take(SEARCHED_EVENTS);
                let _ = events.try_for_each(|placed| visit(&placed.to_event()));
            }
            Source::List(list) => list.visit(visit),
        }
    }

    /// Whether `other` accesses `value` at a place that overlaps that of `access`.
    fn meets(&self, access: &Access, other: &Access, value: Value) -> bool {
        let (place, by) = (access.place, other.place);
        let by_value = self.resources.memories[usize::from(place.memory.0)].kind.by_value();
        let apart =
            by.offset >= place.offset.saturating_add(place.bytes) || place.offset >= by.offset.saturating_add(by.bytes);
        other.value == value && by.memory == place.memory && (by_value || !apart)
    }

    /// Describes the last event up to cycle `until` that read or wrote `value` at the place of `access`.
    fn last(&self, access: &Access, value: Value, write: bool, until: i64) -> String {
        let mut found = None;
        self.search(&mut |event| {
            let accesses = if write { &event.writes } else { &event.reads };
            if event.start > until {
                return ControlFlow::Break(());
            }
            if accesses.iter().any(|other| self.meets(access, other, value)) {
                found = Some(Who { resource: event.resource, op: event.op, start: event.start });
            }
            ControlFlow::Continue(())
        });
        found.map(|who| self.describe(who)).unwrap_or_default()
    }

    pub fn unit_busy(&self, who: Who, busy: &Busy) -> Violation {
        let holder = busy.holder.map(|holder| self.describe(holder)).unwrap_or_default();
        let (event, until) = (self.describe(who), busy.until);
        let message = format!("{event}: the unit is taken by {holder}, until cycle {until}; start at {until} or later");
        Violation { hazard: Hazard::UnitBusy, cycle: who.start, legal_start: Some(until), message }
    }

    /// An event that starts before its unit is empty, or whose elements would overtake others.
    pub fn not_empty(&self, who: Who, busy: &Busy, kind: &OpKind) -> Violation {
        let Busy { holder, content, .. } = busy;
        let holder = holder.map(|holder| self.describe(holder)).unwrap_or_default();
        let (legal, Content { empty, .. }) = (content.legal_start(kind), content);
        let why = match content.changes(kind) {
            true => "the unit has to be set up anew, and is empty of",
            false => "its elements would overtake those of",
        };
        let until = if content.changes(kind) { format!(" from cycle {empty} on") } else { String::new() };
        let event = self.describe(who);
        let message = format!("{event}: {why} {holder}{until}; start at {legal} or later");
        Violation { hazard: Hazard::NotEmpty, cycle: who.start, legal_start: Some(legal), message }
    }

    pub fn port_overloaded(&self, who: Who, cycle: i64, port: usize, load: u64) -> Violation {
        let (event, name) = (self.describe(who), self.layout.port_name(self.resources, port));
        let (load, width) = (load as f64 / LOAD_SCALE, self.layout.widths[port] as f64 / LOAD_SCALE);
        let message = format!(
            "{event}: with this access the {name} moves {load:.1} bytes a cycle, it can move {width:.1}; \
             spread the accesses over time or banks"
        );
        Violation { hazard: Hazard::Port, cycle, legal_start: None, message }
    }

    pub fn port_in_use(&self, access: &Access, who: Who, cycle: i64, port: &str) -> Violation {
        let (event, name) = (self.describe(who), &self.resources.memories[usize::from(access.place.memory.0)].name);
        let message = format!("{event}: {port} of {name} is in use in cycle {cycle}; move one of the streams");
        Violation { hazard: Hazard::Port, cycle, legal_start: None, message }
    }

    pub fn too_early(&self, access: &Access, who: Who, ready: &Ready, slack: i64) -> Violation {
        let start = who.start;
        let (legal, Ready { first, last, .. }) = (start - slack, ready);
        let (event, value, location) = (self.describe(who), self.name(access.value), self.location(access));
        let writer = self.last(access, access.value, true, start + i64::from(access.last));
        let message = format!(
            "{event}: reads {value} from {location}, which {writer} writes from cycle {first} to {last}; start at {legal} or later"
        );
        Violation { hazard: Hazard::UseBeforeReady, cycle: start, legal_start: Some(legal), message }
    }

    /// A read from a wire in the cycles `taken`, while the value passes in the cycles `passes`.
    pub fn not_in_step(&self, access: &Access, who: Who, passes: (i64, i64), taken: (i64, i64)) -> Violation {
        let legal = passes.0 - i64::from(access.first);
        let (event, value, wire) = (self.describe(who), self.name(access.value), self.location(access));
        let (first, last) = passes;
        let early = taken.0 < first || taken.1 < last;
        let hazard = if early { Hazard::UseBeforeReady } else { Hazard::Stream };
        let message = format!(
            "{event}: takes {value} off {wire} in another cycle than it passes, {first} to {last}; start at {legal}"
        );
        Violation { hazard, cycle: who.start, legal_start: Some(legal), message }
    }

    /// A value on a wire that no event reads.
    pub fn passed_by(&self, wire: MemoryId, value: Value, cycle: i64) -> Violation {
        let mut writer = None;
        self.search(&mut |event| {
            let puts = |write: &Access| {
                let first = event.start.checked_add(i64::from(write.first));
                write.place.memory == wire && write.value == value && first == Some(cycle)
            };
            if event.writes.iter().any(puts) {
                writer = Some(Who { resource: event.resource, op: event.op, start: event.start });
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        let writer = writer.map(|who| self.describe(who)).unwrap_or_default();
        let (value, wire) = (self.name(value), &self.resources.memories[usize::from(wire.0)].name);
        let message = format!("{writer} puts {value} on {wire} and nobody takes it up when it passes; add its reader");
        Violation { hazard: Hazard::Stream, cycle, legal_start: None, message }
    }

    pub fn overwrites(&self, access: &Access, who: Who, cell: usize, (readers, writers): (i64, i64)) -> Violation {
        let legal = who.start - readers.min(writers);
        let (event, new, location) = (self.describe(who), self.name(access.value), self.location(access));
        let old = self.cells[cell].value;
        let now = who.start + i64::from(access.first);
        let (write, doing) = if readers <= writers { (false, "still reads") } else { (true, "still writes") };
        let other = old.map(|old| self.last(access, old, write, now)).unwrap_or_default();
        let old = old.map(|old| self.name(old)).unwrap_or_default();
        let message =
            format!("{event}: writes {new} over {old} in {location}, which {other} {doing}; start at {legal} or later");
        Violation { hazard: Hazard::Overwrite, cycle: who.start, legal_start: Some(legal), message }
    }

    /// A read that finds another value: the wanted one is written later, was overwritten, or is never written.
    pub fn not_there(&self, access: &Access, who: Who, cell: Option<usize>) -> Violation {
        let start = who.start;
        let cycle = start + i64::from(access.first);
        let mut written = None;
        self.search(&mut |event| {
            let write = event.writes.iter().find(|write| self.meets(access, write, access.value));
            written = write.map(|write| {
                // An event that has not been checked may start in any cycle.
                let at = |cycle: u32| event.start.min(LARGEST as i64) + i64::from(cycle);
                let writer = Who { resource: event.resource, op: event.op, start: event.start };
                (at(write.first), at(write.last), writer)
            });
            if written.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let (event, wanted, location) = (self.describe(who), self.name(access.value), self.location(access));
        let held = cell.and_then(|cell| self.cells[cell].value);
        let found = held.map_or_else(|| "nothing".to_owned(), |held| self.name(held));
        let wire = self.resources.memories[usize::from(access.place.memory.0)].kind.wire_delay().is_some();
        let (hazard, legal_start, message) = match written {
            Some((first, last, writer)) if first >= cycle => {
                let legal = match access.order {
                    Order::Any => last + 1 - i64::from(access.first),
                    Order::Stream => (first + 1 - i64::from(access.first)).max(last + 1 - i64::from(access.last)),
                };
                let writer = self.describe(writer);
                let message = format!(
                    "{event}: reads {wanted} from {location}, which {writer} writes from cycle {first} to {last}; \
                     start at {legal} or later"
                );
                (Hazard::UseBeforeReady, Some(legal), message)
            }
            Some((_, _, writer)) if wire => {
                let writer = self.describe(writer);
                let message = format!(
                    "{event}: takes {wanted} off {location}, where {writer} has put it and another has taken it; one wire has one \
                     reader"
                );
                (Hazard::Stream, None, message)
            }
            Some((_, _, writer)) => {
                let overwriter = held.map(|held| self.last(access, held, true, cycle)).unwrap_or_default();
                let writer = self.describe(writer);
                let message = format!(
                    "{event}: reads {wanted} from {location}, written by {writer}, but {overwriter} has put {found} \
                     there; delay that event or use another place"
                );
                (Hazard::Overwrite, None, message)
            }
            None => {
                let message = format!(
                    "{event}: reads {wanted} from {location}, which nothing writes there (it holds {found}); \
                     add the transfer or correct the place"
                );
                (Hazard::NeverWritten, None, message)
            }
        };
        Violation { hazard, cycle: start, legal_start, message }
    }

    /// Checks a read by value in a booked round.
    pub fn book_read(&self, read: &ByValue<O>) -> Result<(), Violation> {
        let (who, cycle) = (read.who, read.who.start);
        let (event, wanted) = (self.describe(who), self.name(read.value));
        let memory = &self.resources.memories[usize::from(read.memory)].name;
        let Some((ready, _)) = self.by_value.get(&(read.memory, read.value)) else {
            let message = format!("{event}: reads {wanted} from {memory}, which nothing has written there");
            return Err(Violation { hazard: Hazard::NeverWritten, cycle, legal_start: None, message });
        };
        let slack = (read.ready.first - ready.first - 1).min(read.ready.last - ready.last - 1);
        if slack >= 0 {
            return Ok(());
        }
        let (legal, Ready { first, last, .. }) = (cycle - slack, ready);
        let message = format!(
            "{event}: reads {wanted} from {memory}, which is written from cycle {first} to {last}; start at {legal} or later"
        );
        Err(Violation { hazard: Hazard::UseBeforeReady, cycle, legal_start: Some(legal), message })
    }
}
