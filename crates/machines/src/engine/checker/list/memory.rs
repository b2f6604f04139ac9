//! What memories hold, and what their ports move.

use super::waits::Accessor;
use super::{EventList, Ready, Violation};
use crate::engine::checker::content::NEVER;
use crate::engine::checker::hold::hold_event;
use crate::engine::checker::plan::{LOAD_SCALE, malformed};
use crate::engine::schedule::{Access, Event, Lines, MemoryKind, Order, Resource, Resources, Value};
use std::collections::{BTreeSet, VecDeque};
use std::ops::{ControlFlow, Range};

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub value: Option<Value>,
    pub ready: Ready,
    /// Latest cycles in which the first and the last element are read.
    pub read_first: i64,
    pub read_last: i64,
    /// The cycles in which it was last read for a network, from the first element to the last.
    pub given: (i64, i64),
}

impl Held {
    pub const EMPTY: Self =
        Self { value: None, ready: Ready::NEVER, read_first: NEVER, read_last: NEVER, given: (NEVER, NEVER) };
}

/// A memory as it is addressed.
pub(super) enum Memory {
    Lines(OfLines),
    Bytes(OfBytes),
    Wire(Wire),
    /// By value, without a port.
    ByValue,
}

/// Whole lines, and streams that load accesses.
pub(super) struct OfLines {
    base: usize,
    line: u64,
    /// Lines of a bank.
    depth: usize,
    stripes: usize,
    accesses: usize,
    multicast: bool,
    /// Units whose reads and writes pass the ports at the network.
    passes_out: Vec<bool>,
    passes_into: Vec<bool>,
    /// Of every part of every bank, when its streams end.
    ends: Vec<Vec<i64>>,
    /// Of every bank, until when the ports at the network move a stream.
    out: Vec<i64>,
    into: Vec<i64>,
}

/// Bytes, cut at every boundary of a place, and ports with a width.
pub(super) struct OfBytes {
    base: usize,
    cuts: Vec<u64>,
    bank_bytes: u64,
    banks: u64,
    read: Vec<Port>,
    write: Vec<Port>,
}

/// A port: its width, and until when each stream loads it by how much.
#[derive(Clone, Debug)]
pub(super) struct Port {
    capacity: u64,
    streams: Vec<(i64, u64)>,
}

impl Port {
    fn new(bytes_per_cycle: f64) -> Self {
        Self { capacity: (bytes_per_cycle * LOAD_SCALE) as u64, streams: Vec::new() }
    }

    fn pass(&mut self, first: i64, last: i64, load: u64) -> bool {
        self.streams.retain(|&(end, _)| end > first);
        self.streams.push((last + 1, load));
        self.streams.iter().fold(0_u64, |loaded, &(_, load)| loaded.saturating_add(load)) <= self.capacity
    }
}

/// What passes on a wire.
#[derive(Clone, Debug)]
pub(super) struct Passing {
    value: Value,
    first: i64,
    pub last: i64,
    pub path_first: i64,
    pub writer: Option<Accessor>,
}

/// A wire.
pub(super) struct Wire {
    pub delay: i64,
    passing: VecDeque<Passing>,
    far: Port,
    near: Port,
}

impl Wire {
    /// Takes `value` up in cycle `cycle`.
    pub fn take(&mut self, value: Value, cycle: i64) -> Option<Passing> {
        let found =
            self.passing.iter().position(|passing| passing.value == value && passing.first + self.delay == cycle);
        found.and_then(|place| self.passing.remove(place))
    }

    /// Puts a value on the wire; gives one that nobody has taken, with the cycle in which it was put there.
    pub fn put(&mut self, value: Value, ready: &Ready, writer: Option<Accessor>) -> Option<(Value, i64)> {
        let lost = self.passing.front().filter(|passing| passing.first + self.delay < ready.first);
        let lost = lost.map(|passing| (passing.value, passing.first));
        let &Ready { first, last, path_first, .. } = ready;
        self.passing.push_back(Passing { value, first, last, path_first, writer });
        lost
    }

    /// What nobody has taken up.
    pub fn left(&self) -> Option<(Value, i64)> {
        self.passing.front().map(|passing| (passing.value, passing.first))
    }
}

/// The memories of a list's machine, and the number of their cells.
pub(super) fn memories(list: &dyn EventList) -> Result<(Vec<Memory>, usize), Violation> {
    let resources = list.resources();
    let mut cuts = boundaries(list)?.into_iter();
    let mut cells = 0;
    let mut memories = Vec::new();
    for memory in &resources.memories {
        let base = cells;
        memories.push(match &memory.kind {
            MemoryKind::Lines(lines) => {
                cells += (lines.capacity / lines.line.max(1)) as usize;
                Memory::Lines(OfLines::new(lines, &memory.name, resources, base)?)
            }
            &MemoryKind::OnChip { capacity, banks, read_bytes_per_cycle, write_bytes_per_cycle } => {
                if banks == 0 || !(read_bytes_per_cycle > 0.0 && write_bytes_per_cycle > 0.0) {
                    return Err(malformed(format!("memory {} has no bank or no port", memory.name)));
                }
                let cuts: Vec<u64> = cuts.next().unwrap_or_default().into_iter().collect();
                cells += cuts.len();
                Memory::Bytes(OfBytes {
                    base,
                    cuts,
                    bank_bytes: (capacity / u64::from(banks)).max(1),
                    banks: u64::from(banks),
                    read: vec![Port::new(read_bytes_per_cycle); banks as usize],
                    write: vec![Port::new(write_bytes_per_cycle); banks as usize],
                })
            }
            &MemoryKind::Wire { bytes_per_cycle, delay } => {
                if delay == 0 || bytes_per_cycle.is_nan() || bytes_per_cycle <= 0.0 {
                    let name = &memory.name;
                    return Err(malformed(format!(
                        "wire {name} has no width or no delay: an element passes a cycle later"
                    )));
                }
                let port = Port::new(bytes_per_cycle);
                Memory::Wire(Wire { delay: delay.into(), passing: VecDeque::new(), far: port.clone(), near: port })
            }
            MemoryKind::OffChip | MemoryKind::Scoreboard => Memory::ByValue,
        });
    }
    Ok((memories, cells))
}

/// Where places of the memories that are addressed by byte begin and end: a list that has none is not gone through for it.
fn boundaries(list: &dyn EventList) -> Result<Vec<BTreeSet<u64>>, Violation> {
    let resources = list.resources();
    let by_byte = |memory: usize| matches!(resources.memories[memory].kind, MemoryKind::OnChip { .. });
    let numbers: Vec<usize> = (0..resources.memories.len()).filter(|&memory| by_byte(memory)).collect();
    let mut cuts = vec![BTreeSet::new(); numbers.len()];
    if numbers.is_empty() {
        return Ok(cuts);
    }
    let mut found = Ok(());
    list.visit(&mut |event: &Event| {
        found = hold_event(resources, event);
        if found.is_err() {
            return ControlFlow::Break(());
        }
        for place in event.reads.iter().chain(&event.writes).map(|access| access.place) {
            if let Some(of) = numbers.iter().position(|&number| number == usize::from(place.memory.0)) {
                cuts[of].extend([place.offset, place.offset + place.bytes]);
            }
        }
        ControlFlow::Continue(())
    });
    found.map(|()| cuts)
}

impl OfLines {
    fn new(lines: &Lines, name: &str, resources: &Resources, base: usize) -> Result<Self, Violation> {
        let depth = lines.capacity / u64::from(lines.banks.max(1)) / lines.line.max(1);
        if [lines.banks, lines.stripes, lines.accesses].contains(&0) || lines.line == 0 || depth == 0 {
            return Err(malformed(format!("memory {name} has no bank, no part of one, no access, or no line in it")));
        }
        let class = |index: usize| resources.class(Resource(index as u32));
        let passes = |port: &Option<crate::engine::schedule::BankPort>| -> Vec<bool> {
            let of = port.as_ref().map(|port| &*port.class);
            (0..resources.len()).map(|index| of == Some(class(index))).collect()
        };
        let banks = lines.banks as usize;
        Ok(Self {
            base,
            line: lines.line,
            depth: depth as usize,
            stripes: lines.stripes as usize,
            accesses: lines.accesses as usize,
            multicast: lines.out.as_ref().is_some_and(|port| port.multicast),
            passes_out: passes(&lines.out),
            passes_into: passes(&lines.into),
            ends: vec![Vec::new(); banks * lines.stripes as usize],
            out: vec![NEVER; banks],
            into: vec![NEVER; banks],
        })
    }

    pub fn cell(&self, access: &Access) -> usize {
        self.base + (access.place.offset / self.line) as usize
    }

    /// Whether what `resource` reads passes the ports at the network.
    pub fn joins(&self, resource: Resource) -> bool {
        self.passes_out[resource.0 as usize]
    }

    /// Whether one read serves all who begin it in the same cycle.
    pub fn multicast(&self) -> bool {
        self.multicast
    }

    fn pass(&mut self, access: &Access, resource: Resource, first: i64, last: i64, write: bool) -> Result<(), String> {
        let bank = (access.place.offset / self.line) as usize / self.depth;
        let unit = resource.0 as usize;
        let (port, passes, way) = match write {
            true => (&mut self.into, self.passes_into[unit], "into the network's port to"),
            false => (&mut self.out, self.passes_out[unit], "out of the network's port from"),
        };
        if passes {
            if port[bank] > first {
                return Err(format!("the way {way} bank {bank}"));
            }
            port[bank] = last + 1;
        }
        let part = first.rem_euclid(self.stripes as i64) as usize;
        let ends = &mut self.ends[bank * self.stripes + part];
        ends.retain(|&end| end > first);
        if ends.len() >= self.accesses {
            return Err(format!("every access of bank {bank}"));
        }
        ends.push(last + 1);
        Ok(())
    }
}

impl OfBytes {
    fn cells(&self, access: &Access) -> Range<usize> {
        let place = |byte: u64| self.base + self.cuts.partition_point(|&cut| cut < byte);
        place(access.place.offset)..place(access.place.offset + access.place.bytes)
    }

    fn pass(&mut self, access: &Access, first: i64, last: i64, write: bool) -> Result<(), String> {
        let bank = |byte: u64| (byte / self.bank_bytes).min(self.banks - 1);
        let (low, high) = (bank(access.place.offset), bank(access.place.offset + access.place.bytes - 1));
        let cycles = (last - first + 1) as u64 * (high - low + 1);
        let load = (access.bytes as f64 * LOAD_SCALE / cycles as f64) as u64;
        let (ports, way) = if write { (&mut self.write, "write") } else { (&mut self.read, "read") };
        match (low..=high).find(|&bank| !ports[bank as usize].pass(first, last, load)) {
            Some(bank) => Err(format!("the {way} port of bank {bank}")),
            None => Ok(()),
        }
    }
}

impl Memory {
    /// Cells of an access to an addressed memory.
    pub fn cells(&self, access: &Access) -> Range<usize> {
        match self {
            Self::Lines(lines) => {
                let cell = lines.cell(access);
                cell..cell + 1
            }
            Self::Bytes(bytes) => bytes.cells(access),
            Self::Wire(_) | Self::ByValue => 0..0,
        }
    }

    /// Cycles in which the first and the last element of one cell move.
    pub fn interval(&self, access: &Access, cell: usize, first: i64, last: i64) -> (i64, i64) {
        let Self::Bytes(bytes) = self else { return (first, last) };
        if access.order == Order::Any {
            return (first, last);
        }
        let span = i128::from(last - first);
        let place = access.place;
        let at = |cut: u64| first + (span * i128::from(cut - place.offset) / i128::from(place.bytes)) as i64;
        (at(bytes.cuts[cell - bytes.base]), at(bytes.cuts[cell - bytes.base + 1]))
    }

    /// Loads ports from `first` to `last`; the port that is in the way.
    pub fn pass(
        &mut self,
        access: &Access,
        resource: Resource,
        first: i64,
        last: i64,
        write: bool,
    ) -> Result<(), String> {
        match self {
            Self::Lines(lines) => lines.pass(access, resource, first, last, write),
            Self::Bytes(bytes) => bytes.pass(access, first, last, write),
            Self::Wire(wire) => {
                let load = (access.bytes as f64 * LOAD_SCALE / (last - first + 1) as f64) as u64;
                let (port, end) = if write { (&mut wire.far, "far") } else { (&mut wire.near, "near") };
                if port.pass(first, last, load) { Ok(()) } else { Err(format!("the {end} end")) }
            }
            Self::ByValue => Ok(()),
        }
    }
}
