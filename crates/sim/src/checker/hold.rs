//! Checks single events against the machine: every rule that an event can break by itself.

use super::violation::{Description, Hazard, Violation, malformed};
use crate::schedule::{Access, Event, Lines, Memory, MemoryKind, OpKind, Order, Place, Resources, Shift};
use polyfabric_kernels::cancel;

/// Checks that every rate and bandwidth is a positive number.
pub(super) fn hold_resources(resources: &Resources) -> Result<(), Violation> {
    for channel in &resources.channels {
        if !(channel.bytes_per_cycle.is_finite() && channel.bytes_per_cycle > 0.0) {
            let given = channel.bytes_per_cycle;
            return Err(malformed(format!("channel {} has a bandwidth of {given} bytes a cycle", channel.name)));
        }
    }
    for kind in &resources.kinds {
        if kind.elements_per_cycle.is_nan() || kind.elements_per_cycle <= 0.0 {
            let given = kind.elements_per_cycle;
            return Err(malformed(format!("operation `{}` has a rate of {given} elements a cycle", kind.name)));
        }
        if kind.parts == 0 {
            return Err(malformed(format!("operation `{}` is of a unit without parts", kind.name)));
        }
        let of_unit = || resources.kinds.iter().find(|other| other.class == kind.class);
        if let Some(other) = of_unit().filter(|other| other.mode.is_some() != kind.mode.is_some()) {
            let (one, other, class) = (&kind.name, &other.name, &kind.class);
            return Err(malformed(format!(
                "of the operations of a `{class}`, either `{one}` or `{other}` alone has a mode: all have one, or none"
            )));
        }
    }
    Ok(())
}

/// The largest cycle and number of bytes of an event, so that sums of some of them do not overflow.
pub(super) const LARGEST: u64 = 1 << 60;

/// Checks an event against its unit or channel, and its accesses against their memories.
pub(super) fn hold_event(resources: &Resources, event: &Event) -> Result<(), Violation> {
    cancel::check();
    let sizes = event.reads.iter().chain(&event.writes).flat_map(|access| [access.bytes, access.place.bytes]);
    let start = u64::try_from(event.start).unwrap_or(0);
    if let Some(largest) = sizes.chain([start, event.work]).find(|&number| number > LARGEST) {
        return fail(resources, event, Hazard::Malformed, format!("{largest} is beyond the largest number, {LARGEST}"));
    }
    let (kind, needed) = hold_unit(resources, event)?;
    let results = || event.writes.iter().filter(|write| holds_elements(resources, write));
    let (begin, end) = (results().map(|write| write.first).max(), results().map(|write| write.last).max());
    let channel = resources.as_channel(event.resource).is_some();
    let held = Held { resources, event, kind, needed, results: begin.zip(end), channel };
    let mut moved = Moved::default();
    for (access, write) in event.reads.iter().map(|a| (a, false)).chain(event.writes.iter().map(|a| (a, true))) {
        let target = held.existing(access)?;
        held.time(access, write)?;
        held.place(target, access, write, &mut moved)?;
        held.memory(target, access, write, &mut moved)?;
    }
    if channel { held.transfer(&moved) } else { Ok(()) }
}

fn fail<T>(resources: &Resources, event: &Event, hazard: Hazard, message: String) -> Result<T, Violation> {
    let what = Description { resources, event, start: event.start, shift: Shift::default() };
    Err(Violation { hazard, cycle: event.start, legal_start: None, message: format!("{what}: {message}") })
}

/// Checks that the unit supports the operation at its rate. Returns the operation kind and the cycles that the work
/// needs.
fn hold_unit<'a>(resources: &'a Resources, event: &Event) -> Result<(&'a OpKind, u64), Violation> {
    let fail = |hazard, message| fail(resources, event, hazard, message);
    let Some(kind) = resources.kinds.get(event.op.kind.0 as usize) else {
        return fail(Hazard::Malformed, format!("operation kind {} does not exist", event.op.kind.0));
    };
    if event.resource.0 as usize >= resources.len() {
        return fail(Hazard::Malformed, format!("unit {} does not exist", event.resource.0));
    }
    let (class, expected) = (resources.class(event.resource), &kind.class);
    if class != expected {
        return fail(Hazard::Malformed, format!("the unit is a `{class}`, the operation needs a `{expected}`"));
    }
    let (given, most) = (event.parts, kind.parts);
    if given == 0 || given > most {
        return fail(Hazard::Malformed, format!("{given} parts of the unit take part, it has {most}"));
    }
    let needed = resources.cycles_on(event.resource, event.op.kind, event.work, event.parts);
    let (work, given) = (event.work, event.occupancy);
    if u64::from(given) < needed.max(1) {
        return fail(Hazard::Rate, format!("{work} of work need {needed} cycles, the event takes {given}"));
    }
    Ok((kind, needed))
}

/// Bytes of a transfer: reads, then writes.
#[derive(Default)]
struct Moved {
    /// Bytes from and to off-chip memory.
    beyond: [u64; 2],
    /// Sizes of the on-chip places that are read and written.
    places: [u64; 2],
    off_chip: bool,
}

/// An event that its unit can carry out.
struct Held<'a> {
    resources: &'a Resources,
    event: &'a Event,
    kind: &'a OpKind,
    /// Cycles that its work needs.
    needed: u64,
    /// Cycle in which its last result begins, and that of its last written element, if it writes any.
    results: Option<(u32, u32)>,
    channel: bool,
}

impl<'a> Held<'a> {
    fn fail<T>(&self, hazard: Hazard, message: String) -> Result<T, Violation> {
        fail(self.resources, self.event, hazard, message)
    }

    /// The memory of an access. Checks that the memory and the value class exist and that the times are in order.
    fn existing(&self, access: &Access) -> Result<&'a Memory, Violation> {
        let memory = access.place.memory.0 as usize;
        let Some(target) = self.resources.memories.get(memory) else {
            return self.fail(Hazard::Malformed, format!("memory {memory} does not exist"));
        };
        let class = access.value.class.0;
        if class as usize >= self.resources.value_classes.len() {
            return self.fail(Hazard::Malformed, format!("value class {class} does not exist"));
        }
        if access.first > access.last {
            return self.fail(Hazard::Malformed, format!("access from {} to {}", access.first, access.last));
        }
        Ok(target)
    }

    /// Results come as late as latency and rate require, and after every operand. Addends may be read later, up to the
    /// last result. Operands of sums begin before the results.
    fn time(&self, access: &Access, write: bool) -> Result<(), Violation> {
        let (first, last) = (access.first, access.last);
        let latency = self.kind.latency;
        if let (false, Some((begin, end))) = (write, self.results)
            && holds_elements(self.resources, access)
        {
            let behind = if self.kind.addends { 0 } else { latency };
            if u64::from(last) + behind > u64::from(end) {
                let text = format!(
                    "an operand is read until {last}, and the last result comes at {end}: the latency is {behind}"
                );
                return self.fail(Hazard::Latency, text);
            }
            if self.kind.sums() && u64::from(first) + behind > u64::from(begin) {
                let text = format!(
                    "an operand is read from {first} on, and results come from {begin} on: the latency is {behind}"
                );
                return self.fail(Hazard::Latency, text);
            }
        }
        if write && u64::from(first) < latency {
            let text = format!("first result after {first} cycles, the latency is {latency}");
            return self.fail(Hazard::Latency, text);
        }
        if write && u64::from(last) + 1 < latency + self.needed {
            let least = latency + self.needed - 1;
            return self.fail(Hazard::Latency, format!("last result after {last} cycles, the earliest is {least}"));
        }
        Ok(())
    }

    /// Sums the sizes of on-chip places, and checks that a write covers its whole place.
    fn place(&self, target: &Memory, access: &Access, write: bool, moved: &mut Moved) -> Result<(), Violation> {
        let elements = self.resources.value_classes[usize::from(access.value.class.0)].bits > 0;
        let addressed = matches!(target.kind, MemoryKind::OnChip { .. } | MemoryKind::Lines(_));
        let bytes = access.place.bytes;
        if elements && addressed {
            let places = &mut moved.places[usize::from(write)];
            *places = places.saturating_add(bytes);
        }
        let wire = matches!(target.kind, MemoryKind::Wire { .. });
        if elements && write && (addressed || wire) && access.bytes < bytes {
            let (written, name) = (access.bytes, &target.name);
            return self.fail(Hazard::Rate, format!("writes {written} bytes to a place of {bytes} in {name}"));
        }
        Ok(())
    }

    /// Checks that the memory supports the access.
    fn memory(&self, target: &Memory, access: &Access, write: bool, moved: &mut Moved) -> Result<(), Violation> {
        let name = &target.name;
        if target.ends.is_some_and(|ends| ends[usize::from(!write)] != self.event.resource) {
            let does = if write { "write" } else { "read" };
            return self.fail(Hazard::Malformed, format!("{name} connects two units, and this one does not {does} it"));
        }
        match &target.kind {
            MemoryKind::Scoreboard => Ok(()),
            MemoryKind::OffChip if !(self.channel || self.kind.off_chip) => {
                self.fail(Hazard::Malformed, format!("only channels reach {name}, and this is a unit on the chip"))
            }
            MemoryKind::OffChip if write && self.resources.value_classes[usize::from(access.value.class.0)].input => {
                let class = &self.resources.value_classes[usize::from(access.value.class.0)].name;
                self.fail(Hazard::Malformed, format!("{class} lies in {name} from the start, and is written there"))
            }
            MemoryKind::OffChip => {
                moved.off_chip = true;
                let beyond = &mut moved.beyond[usize::from(write)];
                *beyond = beyond.saturating_add(access.bytes);
                Ok(())
            }
            MemoryKind::Wire { .. } => {
                let late = !write && access.first != 0;
                if late || access.order != Order::Stream {
                    let why = if late { "starts to read it only later" } else { "does not stream" };
                    return self.fail(Hazard::Malformed, format!("the event is on wire {name} and {why}"));
                }
                Ok(())
            }
            MemoryKind::Lines(lines) => {
                hold_line(lines, access).or_else(|(hazard, why)| self.fail(hazard, format!("{why} of {name}")))
            }
            MemoryKind::OnChip { capacity, .. } => {
                if self.kind.shuffles[usize::from(write)] && access.order != Order::Any {
                    let text = format!("the unit fixes the order of its words, but the access to {name} streams");
                    return self.fail(Hazard::Malformed, text);
                }
                let Place { offset, bytes, .. } = access.place;
                if bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > *capacity) {
                    let text = format!("{bytes} bytes at {offset} of {name}, whose capacity is {capacity} bytes");
                    return self.fail(Hazard::Capacity, text);
                }
                Ok(())
            }
        }
    }

    /// Checks that a channel moves at most its work, and that the off-chip bytes cover the on-chip places.
    fn transfer(&self, moved: &Moved) -> Result<(), Violation> {
        let ([read, written], [from, to]) = (moved.beyond, moved.places);
        if moved.off_chip && (read < to || written < from) {
            let text = format!(
                "{read} bytes come from off the chip for places of {to}, {written} go there from places of {from}"
            );
            return self.fail(Hazard::Rate, text);
        }
        let (moved, work) = (read.saturating_add(written), self.event.work);
        if moved > work {
            return self.fail(Hazard::Rate, format!("moves {moved} bytes, its work is {work}"));
        }
        Ok(())
    }
}

/// Whether an access moves elements of a value. Tokens only order events.
fn holds_elements(resources: &Resources, access: &Access) -> bool {
    let memory = resources.memories.get(usize::from(access.place.memory.0));
    memory.is_some_and(|memory| memory.kind != MemoryKind::Scoreboard)
}

/// Checks that an access is a stream of one line, within the bandwidth of a stream.
fn hold_line(lines: &Lines, access: &Access) -> Result<(), (Hazard, String)> {
    let Place { offset, bytes, .. } = access.place;
    let end = offset.checked_add(bytes);
    if end.is_none_or(|end| end > lines.capacity) {
        return Err((Hazard::Capacity, format!("{bytes} bytes at {offset} of {} bytes", lines.capacity)));
    }
    if bytes != lines.line || !offset.is_multiple_of(lines.line) || access.order != Order::Stream {
        return Err((
            Hazard::Malformed,
            format!("{bytes} bytes at {offset} are no stream of a line of {}", lines.line),
        ));
    }
    let cycles = u64::from(access.last - access.first) + 1;
    if access.bytes as f64 > lines.bytes_per_cycle * cycles as f64 {
        let (bytes, most) = (access.bytes, lines.bytes_per_cycle);
        return Err((Hazard::Port, format!("{bytes} bytes in {cycles} cycles, at most {most} a cycle,")));
    }
    Ok(())
}
