//! Memories: the cells of a place, when each cell is accessed, and the load on ports.
//!
//! A memory that is addressed by byte is cut at the boundaries of all places. So a place is a run of cells, and two
//! places overlap if and only if they share a cell. A memory of lines has one cell a line, and a wire has one cell.

use super::content::NEVER;
use super::violation::{Violation, malformed};
use crate::schedule::{Access, BankPort, Lines, MemoryKind, Order, Place, Resource, Resources, Value};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Port loads are multiples of 2^-16 bytes a cycle, rounded down. This is far finer than any port, and additions stay
/// exact.
pub(super) const LOAD_SCALE: f64 = 65536.0;

/// The boundaries of places in each memory that is addressed by byte.
pub(super) struct Cuts(Vec<BTreeSet<u64>>);

impl Cuts {
    pub fn new(resources: &Resources) -> Self {
        Self(vec![BTreeSet::new(); resources.memories.len()])
    }

    pub fn add(&mut self, place: &Place) {
        self.0[usize::from(place.memory.0)].extend([place.offset, place.offset.saturating_add(place.bytes)]);
    }
}

/// How a memory is addressed.
pub(super) enum Addressing {
    Lines(OfLines),
    Bytes(OfBytes),
    /// The index among the wires, the cell, the delay, and the first of two ports.
    Wire {
        wire: usize,
        cell: usize,
        delay: i64,
        ports: usize,
    },
    /// By value, without a port.
    ByValue,
}

/// A memory that is addressed by whole lines.
pub(super) struct OfLines {
    /// Index among the memories of lines.
    pub number: usize,
    base: usize,
    line: u64,
    /// Lines in a bank.
    depth: usize,
    /// Whether one read serves all units that begin it in the same cycle.
    multicast: bool,
    /// For each unit, whether its reads use the port to the network; `passes_into` likewise for writes.
    passes_out: Vec<bool>,
    passes_into: Vec<bool>,
}

impl OfLines {
    fn cell(&self, access: &Access) -> usize {
        self.base + (access.place.offset / self.line) as usize
    }
}

/// A memory that is addressed by byte, cut at the boundaries of all places.
pub(super) struct OfBytes {
    base: usize,
    cuts: Vec<u64>,
    bank_bytes: u64,
    banks: u64,
    /// The first port; each bank has two.
    ports: usize,
    /// Whether the first of a bank's two ports serves reads and writes together.
    dual_port: bool,
}

impl OfBytes {
    fn cells(&self, place: &Place) -> Range<usize> {
        let cell = |byte: u64| self.base + self.cuts.partition_point(|&cut| cut < byte);
        cell(place.offset)..cell(place.offset + place.bytes)
    }

    /// Cycles in which the first and last element of one cell of a stream are accessed.
    fn interval(&self, access: &Access, cell: usize, first: i64, last: i64) -> (i64, i64) {
        let Place { offset, bytes: length, .. } = access.place;
        let at = |cut: u64| match cut - offset {
            0 => first,
            passed if passed == length => last,
            passed => first + (i128::from(last - first) * i128::from(passed) / i128::from(length)) as i64,
        };
        (at(self.cuts[cell - self.base]), at(self.cuts[cell - self.base + 1]))
    }

    /// Banks that a place spans.
    fn banks(&self, place: &Place) -> Range<usize> {
        let bank = |byte: u64| (byte / self.bank_bytes).min(self.banks - 1) as usize;
        bank(place.offset)..bank(place.offset + place.bytes - 1) + 1
    }
}

/// All memories of a machine, for one schedule.
pub(super) struct Layout {
    pub memories: Vec<Addressing>,
    pub cells: usize,
    /// Width of every port of memories that are addressed by byte, and of both ends of wires.
    pub widths: Vec<u64>,
}

impl Layout {
    pub fn new(resources: &Resources, cuts: Cuts) -> Result<Self, Violation> {
        let mut layout = Self { memories: Vec::new(), cells: 0, widths: Vec::new() };
        let (mut wires, mut of_lines) = (0, 0);
        for (memory, cuts) in resources.memories.iter().zip(cuts.0) {
            let (name, base, ports) = (&memory.name, layout.cells, layout.widths.len());
            let width = |bytes_per_cycle: f64| (bytes_per_cycle * LOAD_SCALE) as u64;
            layout.memories.push(match &memory.kind {
                MemoryKind::Lines(lines) => {
                    hold_lines(lines, name)?;
                    layout.cells += (lines.capacity / lines.line) as usize;
                    of_lines += 1;
                    Addressing::Lines(OfLines {
                        number: of_lines - 1,
                        base,
                        line: lines.line,
                        depth: (lines.capacity / u64::from(lines.banks) / lines.line) as usize,
                        multicast: lines.out.as_ref().is_some_and(|port| port.multicast),
                        passes_out: passes(resources, lines.out.as_ref()),
                        passes_into: passes(resources, lines.into.as_ref()),
                    })
                }
                &MemoryKind::OnChip { capacity, banks, read_bytes_per_cycle, write_bytes_per_cycle, dual_port } => {
                    if banks == 0 || !(read_bytes_per_cycle > 0.0 && write_bytes_per_cycle > 0.0) {
                        return Err(malformed(format!("memory {name} has no bank or no port")));
                    }
                    let mut of_bank = [width(read_bytes_per_cycle), width(write_bytes_per_cycle)];
                    if dual_port {
                        of_bank = [of_bank[0] + of_bank[1], 0];
                    }
                    layout.widths.extend((0..banks).flat_map(|_| of_bank));
                    layout.cells += cuts.len();
                    let (bank_bytes, banks) = ((capacity / u64::from(banks)).max(1), u64::from(banks));
                    let cuts = cuts.into_iter().collect();
                    Addressing::Bytes(OfBytes { base, cuts, bank_bytes, banks, ports, dual_port })
                }
                &MemoryKind::Wire { bytes_per_cycle, delay } => {
                    if delay == 0 || bytes_per_cycle.is_nan() || bytes_per_cycle <= 0.0 {
                        return Err(malformed(format!(
                            "wire {name} has no width or no delay: an element passes a cycle later"
                        )));
                    }
                    layout.widths.extend([width(bytes_per_cycle); 2]);
                    layout.cells += 1;
                    wires += 1;
                    Addressing::Wire { wire: wires - 1, cell: base, delay: delay.into(), ports }
                }
                MemoryKind::OffChip | MemoryKind::Scoreboard => Addressing::ByValue,
            });
        }
        Ok(layout)
    }

    #[inline]
    pub fn of(&self, access: &Access) -> &Addressing {
        &self.memories[usize::from(access.place.memory.0)]
    }

    /// Cells of an access; none on wires and in memories that are addressed by value.
    #[inline]
    pub fn cells(&self, access: &Access) -> Range<usize> {
        match self.of(access) {
            Addressing::Lines(lines) => {
                let cell = lines.cell(access);
                cell..cell + 1
            }
            Addressing::Bytes(bytes) => bytes.cells(&access.place),
            Addressing::Wire { .. } | Addressing::ByValue => 0..0,
        }
    }

    /// Cells that decide whether loops interfere: those of an access, or that of its wire.
    pub fn touched(&self, access: &Access) -> Range<usize> {
        match *self.of(access) {
            Addressing::Wire { cell, .. } => cell..cell + 1,
            _ => self.cells(access),
        }
    }

    /// Cycles in which the first and last element of one cell are accessed.
    #[inline]
    pub fn interval(&self, access: &Access, cell: usize, first: i64, last: i64) -> (i64, i64) {
        match self.of(access) {
            Addressing::Bytes(bytes) if access.order == Order::Stream => bytes.interval(access, cell, first, last),
            _ => (first, last),
        }
    }

    /// Ports that an access loads, and by how much.
    fn loads(&self, access: &Access, write: bool) -> Loads {
        let way = usize::from(write);
        let (first, count) = match self.of(access) {
            Addressing::Bytes(bytes) => {
                let banks = bytes.banks(&access.place);
                (bytes.ports + 2 * banks.start + if bytes.dual_port { 0 } else { way }, banks.len())
            }
            Addressing::Wire { ports, .. } => (*ports + way, 1),
            Addressing::Lines(_) | Addressing::ByValue => return Loads { first: 0, count: 0, load: 0 },
        };
        let cycles = (u64::from(access.last - access.first) + 1) * count as u64;
        let load = (access.bytes as f64 * LOAD_SCALE / cycles as f64) as u64;
        Loads { first, count, load }
    }

    /// Name of a port in messages.
    pub fn port_name(&self, resources: &Resources, port: usize) -> String {
        let (number, way) = (port / 2, port % 2);
        let base = |of: &Addressing| match of {
            Addressing::Bytes(bytes) => Some(bytes.ports),
            Addressing::Wire { ports, .. } => Some(*ports),
            _ => None,
        };
        let of = self.memories.iter().zip(&resources.memories).rev();
        let found = of.filter_map(|(of, memory)| Some((base(of)?, of, memory))).find(|(base, ..)| *base <= port);
        match found {
            Some((_, Addressing::Wire { .. }, memory)) => {
                format!("{} end of wire {}", ["far", "near"][way], memory.name)
            }
            Some((base, of, memory)) => {
                let dual_port = matches!(of, Addressing::Bytes(bytes) if bytes.dual_port);
                let way = if dual_port { "read and write" } else { ["read", "write"][way] };
                format!("{way} port of {} bank {}", memory.name, number - base / 2)
            }
            None => "port".to_owned(),
        }
    }
}

/// For each unit, whether its accesses use a bank's port to the network.
fn passes(resources: &Resources, port: Option<&BankPort>) -> Vec<bool> {
    let class = |index: usize| resources.class(Resource(index as u32));
    (0..resources.len()).map(|index| port.is_some_and(|port| port.class == class(index))).collect()
}

fn hold_lines(lines: &Lines, name: &str) -> Result<(), Violation> {
    let none = [lines.banks, lines.stripes, lines.accesses].contains(&0) || lines.line == 0;
    if none || lines.capacity / u64::from(lines.banks) < lines.line {
        return Err(malformed(format!("memory {name} has no bank, no part of one, no access, or no line in it")));
    }
    Ok(())
}

/// When a value is written, in the schedule and on the dependence path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    /// Cycles in which the first and last element are written.
    pub first: i64,
    pub last: i64,
    /// The same on the dependence path, where no unit, buffer or channel is ever busy.
    pub path_first: i64,
    pub path_last: i64,
}

impl Ready {
    pub const NEVER: Self = Self { first: NEVER, last: NEVER, path_first: NEVER, path_last: NEVER };
}

/// Content of a cell, with its last writer and reader.
#[derive(Clone, Debug)]
pub(super) struct Held<M> {
    pub value: Option<Value>,
    pub ready: Ready,
    pub writer: Option<M>,
    /// Latest cycles in which the first and the last element are read. `reader` reads the last one.
    pub read_first: i64,
    pub read_last: i64,
    pub reader: Option<M>,
}

impl<M> Held<M> {
    pub const EMPTY: Self =
        Self { value: None, ready: Ready::NEVER, writer: None, read_first: NEVER, read_last: NEVER, reader: None };
}

/// A value on a wire.
#[derive(Clone, Debug)]
pub(super) struct Passing<M> {
    pub value: Value,
    pub first: i64,
    pub last: i64,
    pub path_first: i64,
    pub writer: M,
}

/// Values on a wire, in the order in which they were written.
pub(super) type Wire<M> = VecDeque<Passing<M>>;

/// Load of a port by one access until its end, and the running loop of the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stream {
    pub end: i64,
    pub load: u64,
    pub instance: usize,
}

/// Ports that an access loads, one a bank. They share its bytes evenly.
#[derive(Clone, Copy)]
pub(super) struct Loads {
    first: usize,
    count: usize,
    load: u64,
}

impl Loads {
    pub fn ports(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |bank| self.first + 2 * bank)
    }
}

/// Streams through the ports of memories that are addressed by byte, and of wires.
pub(super) struct Ports {
    pub streams: Vec<Vec<Stream>>,
}

impl Ports {
    pub fn new(layout: &Layout) -> Self {
        Self { streams: vec![Vec::new(); layout.widths.len()] }
    }

    /// Loads the ports of an access from cycle `first` to `last`, all of them or none.
    pub fn pass(
        &mut self,
        layout: &Layout,
        (access, write): (&Access, bool),
        (first, last): (i64, i64),
        instance: usize,
    ) -> Result<Loads, (usize, u64)> {
        let loads = layout.loads(access, write);
        for port in loads.ports() {
            let streams = &mut self.streams[port];
            streams.retain(|stream| stream.end > first);
            let with = streams.iter().fold(loads.load, |sum, stream| sum.saturating_add(stream.load));
            if with > layout.widths[port] {
                return Err((port, with));
            }
        }
        for port in loads.ports() {
            self.streams[port].push(Stream { end: last + 1, load: loads.load, instance });
        }
        Ok(loads)
    }

    /// Load of a port by the streams that end at cycle `time` or later and that `counts`.
    pub fn load(&self, port: usize, time: i64, counts: impl Fn(&Stream) -> bool) -> u64 {
        self.streams[port].iter().filter(|stream| stream.end >= time && counts(stream)).map(|stream| stream.load).sum()
    }
}

/// Streams through the parts of a memory of lines, and through its ports to the network.
pub(super) struct LineStreams {
    accesses: usize,
    stripes: usize,
    /// For each part of each bank, when its streams end.
    ends: Vec<Vec<i64>>,
    /// For each bank, the first cycle in which its port to the network is free.
    out: Vec<i64>,
    into: Vec<i64>,
    /// For each line, the cycles of the first and last element of its latest read over the network.
    given: Vec<(i64, i64)>,
}

impl LineStreams {
    pub fn new(lines: &Lines) -> Self {
        let banks = lines.banks as usize;
        Self {
            accesses: lines.accesses as usize,
            stripes: lines.stripes as usize,
            ends: vec![Vec::new(); banks * lines.stripes as usize],
            out: vec![NEVER; banks],
            into: vec![NEVER; banks],
            given: vec![(NEVER, NEVER); (lines.capacity / lines.line) as usize],
        }
    }

    /// Adds a stream of a line from cycle `first` to `last`. The error names what is in use.
    pub fn pass(
        &mut self,
        lines: &OfLines,
        (access, write): (&Access, bool),
        (first, last): (i64, i64),
        resource: Resource,
    ) -> Result<(), String> {
        let line = (access.place.offset / lines.line) as usize;
        let (bank, unit) = (line / lines.depth, resource.0 as usize);
        if !write && lines.passes_out[unit] {
            let again = std::mem::replace(&mut self.given[line], (first, last)) == (first, last);
            if again && lines.multicast {
                return Ok(());
            }
        }
        let (port, passes, way) = match write {
            true => (&mut self.into, lines.passes_into[unit], "into the network's port to"),
            false => (&mut self.out, lines.passes_out[unit], "out of the network's port from"),
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
