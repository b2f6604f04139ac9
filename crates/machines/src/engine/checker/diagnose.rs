//! Hazards in words: both events, the value, the cycles, and what to do.

use super::content::Content;
use super::plan::AccessPlan;
use super::replay::{ByValue, Replay};
use super::state::{Action, Busy, Ready, Who};
use super::violation::{Description, Hazard, NamedValue, Violation};
use crate::engine::schedule::{MemoryKind, OpKind, Place, Placed, Value};

use super::plan::{LOAD_SCALE, Node};

/// Events of the unrolled schedule that are searched for the reason of a missing value.
const SEARCHED_EVENTS: usize = 4_000_000;

/// An event, with its start, on a unit that has to be empty, or whose elements it would overtake; with the one before it and what the unit holds.
pub(super) fn not_empty(
    (event, start): (String, i64),
    (holder, content): (String, Content),
    kind: &OpKind,
) -> Violation {
    let (legal, empty) = (content.legal_start(kind), content.empty);
    let why = match content.changes(kind) {
        true => "the unit has to be set up anew, and is empty of",
        false => "its elements would overtake those of",
    };
    let until = if content.changes(kind) { format!(" from cycle {empty} on") } else { String::new() };
    let message = format!("{event}: {why} {holder}{until}; start at {legal} or later");
    Violation { hazard: Hazard::NotEmpty, cycle: start, legal_start: Some(legal), message }
}

impl Replay<'_> {
    fn describe(&self, who: Who) -> String {
        match &self.plan.nodes[who.node] {
            Node::Event { event, .. } => {
                let resources = self.plan.resources;
                Description { resources, event, start: who.start, shift: who.shift }.to_string()
            }
            Node::Repeat(_) => String::new(),
        }
    }

    fn placed(&self, placed: &Placed) -> String {
        let resources = self.plan.resources;
        Description { resources, event: placed.event, start: placed.start, shift: placed.shift }.to_string()
    }

    fn name(&self, value: Value) -> String {
        NamedValue { resources: self.plan.resources, value }.to_string()
    }

    fn location(&self, place: Place) -> String {
        let memory = &self.plan.resources.memories[place.memory.0 as usize];
        match memory.kind {
            MemoryKind::OffChip | MemoryKind::Scoreboard | MemoryKind::Wire { .. } => memory.name.clone(),
            MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => format!("{} at byte {}", memory.name, place.offset),
        }
    }

    pub(super) fn unit_busy(&self, who: Who, busy: &Busy) -> Violation {
        let holder = busy.holder.map(|holder| self.describe(holder)).unwrap_or_default();
        let event = self.describe(who);
        let until = busy.until;
        Violation {
            hazard: Hazard::UnitBusy,
            cycle: who.start,
            legal_start: Some(until),
            message: format!("{event}: the unit is taken by {holder}, until cycle {until}; start at {until} or later"),
        }
    }

    pub(super) fn not_empty(&self, who: Who, busy: &Busy, kind: &OpKind) -> Violation {
        let holder = busy.holder.map(|holder| self.describe(holder)).unwrap_or_default();
        not_empty((self.describe(who), who.start), (holder, busy.content), kind)
    }

    pub(super) fn port_overloaded(&self, action: &Action, plan: &AccessPlan, port: usize, load: u64) -> Violation {
        let start = action.time - i64::from(plan.access.first);
        let event = self.describe(Who { node: action.node, start, shift: action.shift });
        let port = &self.plan.ports[port];
        let (load, capacity) = (load as f64 / LOAD_SCALE, port.capacity as f64 / LOAD_SCALE);
        let name = &port.name;
        Violation {
            hazard: Hazard::Port,
            cycle: action.time,
            legal_start: None,
            message: format!(
                "{event}: with this access the {name} moves {load:.1} bytes a cycle, it can move {capacity:.1}; \
                 spread the accesses over time or banks"
            ),
        }
    }

    pub(super) fn too_early(&self, who: Who, value: Value, ready: &Ready, slack: i64) -> Violation {
        let legal = who.start - slack;
        let writer = ready.who.map(|writer| self.describe(writer)).unwrap_or_default();
        let (event, value) = (self.describe(who), self.name(value));
        Violation {
            hazard: Hazard::UseBeforeReady,
            cycle: who.start,
            legal_start: Some(legal),
            message: format!(
                "{event}: reads {value}, which {writer} writes from cycle {} to {}; start at {legal} or later",
                ready.first, ready.last
            ),
        }
    }

    pub(super) fn overwrites(&self, who: Who, cell: usize, value: Value, readers: i64, writers: i64) -> Violation {
        let state = &self.cells[cell];
        let legal = who.start - readers.min(writers);
        let old = state.value.map(|old| self.name(old)).unwrap_or_default();
        let (event, new) = (self.describe(who), self.name(value));
        let place = self.plan.cells[cell];
        let memory = &self.plan.resources.memories[place.memory].name;
        let (other, doing) = match state.reads {
            Some(reader) if readers <= writers => (self.describe(reader), "still reads"),
            _ => (state.ready.who.map(|writer| self.describe(writer)).unwrap_or_default(), "still writes"),
        };
        Violation {
            hazard: Hazard::Overwrite,
            cycle: who.start,
            legal_start: Some(legal),
            message: format!(
                "{event}: writes {new} over {old} in {memory} at byte {}, which {other} {doing}; start at {legal} or later",
                place.offset
            ),
        }
    }

    /// A reader that does not keep step with a wire.
    pub(super) fn not_in_step(&self, who: Who, plan: &AccessPlan, value: Value, ready: &Ready) -> Violation {
        let delay = self.plan.delay(plan);
        let legal = ready.first + delay - i64::from(plan.access.first);
        let (event, value) = (self.describe(who), self.name(value));
        let wire = self.location(plan.access.place);
        let (first, last) = (ready.first + delay, ready.last + delay);
        Violation {
            hazard: Hazard::Stream,
            cycle: who.start,
            legal_start: Some(legal),
            message: format!(
                "{event}: takes {value} off {wire} in another cycle than it passes, {first} to {last}; start at {legal}"
            ),
        }
    }

    pub(super) fn taken_twice(&self, who: Who, cell: usize, value: Value) -> Violation {
        let reader = self.cells[cell].reads.map(|reader| self.describe(reader)).unwrap_or_default();
        let (event, value) = (self.describe(who), self.name(value));
        let wire = &self.plan.resources.memories[self.plan.cells[cell].memory].name;
        Violation {
            hazard: Hazard::Stream,
            cycle: who.start,
            legal_start: None,
            message: format!("{event}: takes {value} off {wire}, where {reader} has taken it; one wire has one reader"),
        }
    }

    /// A value on a wire that nobody takes up.
    pub(super) fn passed_by(&self, cell: usize) -> Violation {
        let state = &self.cells[cell];
        let writer = state.ready.who.map(|writer| self.describe(writer)).unwrap_or_default();
        let value = state.value.map(|value| self.name(value)).unwrap_or_default();
        let wire = &self.plan.resources.memories[self.plan.cells[cell].memory].name;
        Violation {
            hazard: Hazard::Stream,
            cycle: state.ready.first,
            legal_start: None,
            message: format!("{writer} puts {value} on {wire} and nobody takes it up; add its reader"),
        }
    }

    /// A read found another value: not yet, not any more, or never.
    pub(super) fn not_there(
        &self,
        who: Who,
        plan: &AccessPlan,
        value: Value,
        time: i64,
        cell: Option<usize>,
    ) -> Violation {
        let place = plan.access.place;
        let (event, wanted, location) = (self.describe(who), self.name(value), self.location(place));
        let overlaps = |other: Place| {
            let by_value = self.plan.resources.memories[place.memory.0 as usize].kind.by_value();
            let apart = other.offset >= place.offset + place.bytes || place.offset >= other.offset + other.bytes;
            other.memory == place.memory && (by_value || !apart)
        };
        let mut written: Option<(i64, i64, String)> = None;
        for placed in self.schedule.events().take(SEARCHED_EVENTS) {
            for access in &placed.event.writes {
                if overlaps(access.place) && access.value.shifted(placed.shift) == value && written.is_none() {
                    let at = |cycle: u32| placed.start + i64::from(cycle);
                    written = Some((at(access.first), at(access.last), self.placed(&placed)));
                }
            }
        }
        let holds = cell.and_then(|cell| self.cells[cell].value).map(|held| self.name(held));
        let found = holds.map_or("nothing".to_owned(), |held| held.to_string());
        match written {
            Some((first, last, writer)) if first >= time => {
                let access = plan.access;
                let legal = if access.order == crate::engine::schedule::Order::Any {
                    last + 1 - i64::from(access.first)
                } else {
                    (first + 1 - i64::from(access.first)).max(last + 1 - i64::from(access.last))
                };
                let message = format!(
                    "{event}: reads {wanted} from {location}, which {writer} writes from cycle {first} to {last}; \
                     start at {legal} or later"
                );
                Violation { hazard: Hazard::UseBeforeReady, cycle: who.start, legal_start: Some(legal), message }
            }
            Some((_, _, writer)) => {
                let overwriter = cell.and_then(|cell| self.cells[cell].ready.who).map(|who| self.describe(who));
                let overwriter = overwriter.unwrap_or_default();
                let message = format!(
                    "{event}: reads {wanted} from {location}, written by {writer}, but {overwriter} has put {found} \
                     there; delay that event or use another place"
                );
                Violation { hazard: Hazard::Overwrite, cycle: who.start, legal_start: None, message }
            }
            None => {
                let message = format!(
                    "{event}: reads {wanted} from {location}, which nothing writes there (it holds {found}); \
                     add the transfer or correct the place"
                );
                Violation { hazard: Hazard::NeverWritten, cycle: who.start, legal_start: None, message }
            }
        }
    }

    /// A read by value in a booked round.
    pub(super) fn book_read(&self, read: &ByValue) -> Result<(), Violation> {
        let Some(who) = read.ready.who else { return Ok(()) };
        let wanted = self.name(read.value);
        let memory = &self.plan.resources.memories[read.memory].name;
        let Some(ready) = self.by_value.get(&(read.memory, read.value)) else {
            let event = self.describe(who);
            return Err(Violation {
                hazard: Hazard::NeverWritten,
                cycle: who.start,
                legal_start: None,
                message: format!("{event}: reads {wanted} from {memory}, which nothing has written there"),
            });
        };
        let slack = (read.ready.first - ready.first - 1).min(read.ready.last - ready.last - 1);
        if slack < 0 { Err(self.too_early(who, read.value, ready, slack)) } else { Ok(()) }
    }
}
