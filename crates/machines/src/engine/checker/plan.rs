//! The schedule as the checker walks it: nodes numbered, memories cut into cells, ports turned into loads, and every
//! promise that one event alone can break held against the operation's kind.
//!
//! Because places do not move from round to round, all of this is known before the first cycle: a memory is cut at every
//! boundary of any place, and a place is then a run of consecutive cells; two places overlap if and only if they share a
//! cell. The footprint of a loop is the set of units and cells of its body.

use super::hold::hold_event;
use super::violation::{Hazard, Violation};
use crate::engine::schedule::{
    Access, Event, Item, MemoryKind, OpKind, Order, Place, Repeat, Resources, Schedule, earliest,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Port loads are multiples of 2^-16 bytes a cycle, rounded down: far finer than any port, and additions stay exact.
pub(super) const LOAD_SCALE: f64 = 65536.0;

/// Banks of a memory: an access keeps their number in 16 bits.
const MOST_BANKS: u32 = u16::MAX as u32;

/// Set of small integers.
#[derive(Clone, Debug, Default)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    fn with_size(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, member: usize) {
        self.0[member / 64] |= 1 << (member % 64);
    }

    pub(super) fn contains(&self, member: usize) -> bool {
        self.0[member / 64] >> (member % 64) & 1 == 1
    }

    /// Whether any of `members` is one: a word at a time.
    pub(super) fn contains_any(&self, members: Range<usize>) -> bool {
        if members.is_empty() {
            return false;
        }
        let (first, last) = (members.start / 64, (members.end - 1) / 64);
        self.0[first..=last].iter().enumerate().any(|(position, word)| {
            let from = if position == 0 { members.start % 64 } else { 0 };
            let to = if first + position == last { (members.end - 1) % 64 } else { 63 };
            word & (u64::MAX << from) & (u64::MAX >> (63 - to)) != 0
        })
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn members(&self) -> Vec<usize> {
        (0..self.0.len() * 64).filter(|&member| self.contains(member)).collect()
    }
}

/// One access, ready to replay. Schedules have tens of millions of them: what follows from the access is not kept here.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessPlan<'a> {
    pub access: &'a Access,
    pub write: bool,
    /// First cell of the place and the one after the last.
    cells: (u32, u32),
    /// First port and their number: in a memory of several banks every other one, as each bank has one a direction.
    first_port: u32,
    banks: u16,
    /// Whether the place is a wire.
    pub on_wire: bool,
}

impl AccessPlan<'_> {
    /// Cells of the place; empty in a memory that is addressed by value.
    pub fn cells(&self) -> Range<usize> {
        self.cells.0 as usize..self.cells.1 as usize
    }

    /// Ports that the access loads.
    pub fn ports(&self) -> impl Iterator<Item = usize> + use<> {
        let first = self.first_port as usize;
        (0..usize::from(self.banks)).map(move |bank| first + 2 * bank)
    }

    /// Load on each port, which share the access's bytes evenly.
    pub fn load(&self) -> u64 {
        let Access { bytes, first, last, .. } = *self.access;
        let cycles = (u64::from(last) - u64::from(first) + 1) * u64::from(self.banks);
        (bytes as f64 * LOAD_SCALE / cycles as f64) as u64
    }
}

/// One event or loop. Schedules have millions of events, and few loops.
#[derive(Debug)]
pub(super) enum Node<'a> {
    /// An event, and the first of its accesses.
    Event {
        event: &'a Event,
        accesses: usize,
    },
    Repeat(Box<Loop<'a>>),
}

/// A loop, with its body's nodes.
#[derive(Debug)]
pub(super) struct Loop<'a> {
    pub repeat: &'a Repeat,
    pub children: Range<usize>,
    pub earliest: i64,
    pub footprint: Rc<Footprint>,
}

/// What a loop touches.
#[derive(Clone, Debug)]
pub(super) struct Footprint {
    pub resources: BitSet,
    pub cells: BitSet,
    /// Cells that the loop itself writes.
    pub written: BitSet,
    pub resource_list: Vec<usize>,
    pub cell_list: Vec<usize>,
}

/// One bank's read or write port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub name: String,
    pub capacity: u64,
}

/// Where a cell lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPlace {
    pub memory: usize,
    pub offset: u64,
}

/// The compiled schedule.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub resources: &'a Resources,
    pub nodes: Vec<Node<'a>>,
    /// The accesses of all events, in the order of the events.
    accesses: Vec<AccessPlan<'a>>,
    pub top: Range<usize>,
    pub cells: Vec<CellPlace>,
    pub ports: Vec<Port>,
    /// Whether anything reads the value class from a memory that is addressed by value: otherwise what is written there
    /// need not be remembered.
    pub read_by_value: Vec<bool>,
}

/// What the nodes are made with.
struct Parts {
    first_cell: HashMap<(usize, u64), usize>,
    port_base: Vec<usize>,
    nothing: Rc<Footprint>,
    /// Bodies that have their nodes: several loops may have one.
    bodies: HashMap<*const Vec<Item>, (Range<usize>, Rc<Footprint>)>,
}

pub(super) fn malformed(message: String) -> Violation {
    Violation { hazard: Hazard::Malformed, cycle: 0, legal_start: None, message }
}

impl<'a> Plan<'a> {
    /// # Errors
    /// A [`Violation`] that one event alone shows: unknown index, rate, latency, capacity, a start before cycle 0.
    pub fn new(schedule: &'a Schedule) -> Result<Self, Violation> {
        let resources = &schedule.resources;
        hold_resources(resources)?;
        let mut boundaries: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); resources.memories.len()];
        let mut read_by_value = vec![false; resources.value_classes.len()];
        visit(&schedule.items, &mut HashSet::new(), &mut |event| {
            check_event(resources, event, &mut boundaries, &mut read_by_value)
        })?;
        let mut cells = Vec::new();
        let mut first_cell: HashMap<(usize, u64), usize> = HashMap::new();
        for (memory, offsets) in boundaries.iter().enumerate() {
            for &offset in offsets {
                first_cell.insert((memory, offset), cells.len());
                cells.push(CellPlace { memory, offset });
            }
        }
        let (ports, port_base) = ports_of(resources)?;
        let size = (resources.len(), cells.len());
        let nothing = Rc::new(Footprint {
            resources: BitSet::with_size(size.0),
            cells: BitSet::with_size(size.1),
            written: BitSet::with_size(size.1),
            resource_list: Vec::new(),
            cell_list: Vec::new(),
        });
        let mut parts = Parts { first_cell, port_base, nothing, bodies: HashMap::new() };
        let (nodes, accesses) = (Vec::new(), Vec::new());
        let mut plan = Self { resources, nodes, accesses, top: 0..0, cells, ports, read_by_value };
        plan.top = plan.index(&schedule.items, &mut parts)?;
        if earliest(&schedule.items) < 0 {
            return Err(malformed("an event starts before cycle 0; shift the whole schedule".into()));
        }
        Ok(plan)
    }

    /// The cells that are wires.
    pub fn ends_of_wires(&self) -> impl Iterator<Item = usize> {
        let wire = |memory: usize| self.resources.memories[memory].kind.wire_delay().is_some();
        self.cells.iter().enumerate().filter(move |(_, cell)| wire(cell.memory)).map(|(index, _)| index)
    }

    /// The access that an entry of the agenda is about.
    pub fn access_of(&self, action: &super::state::Action) -> Option<&AccessPlan<'a>> {
        self.accesses_of(&self.nodes[action.node]).get(action.access)
    }

    /// What kind of operation an event is.
    pub fn kind(&self, event: &Event) -> &'a OpKind {
        &self.resources.kinds[usize::from(event.op.kind.0)]
    }

    /// The accesses of an event; a loop has none of its own.
    pub fn accesses_of(&self, node: &Node<'a>) -> &[AccessPlan<'a>] {
        match node {
            Node::Event { event, accesses } => {
                &self.accesses[*accesses..accesses + event.reads.len() + event.writes.len()]
            }
            Node::Repeat(_) => &[],
        }
    }

    /// The items of one level, in the order in which they begin.
    fn index(&mut self, items: &'a [Item], parts: &mut Parts) -> Result<Range<usize>, Violation> {
        let first = self.nodes.len();
        let mut items: Vec<&'a Item> = items.iter().collect();
        items.sort_by_cached_key(|item| (earliest(std::slice::from_ref(item)), matches!(item, Item::Event(_))));
        for &item in &items {
            self.nodes.push(match item {
                Item::Event(event) => {
                    let reads = event.reads.iter().map(|access| (access, false));
                    let writes = event.writes.iter().map(|access| (access, true));
                    let accesses = self.accesses.len();
                    for (access, write) in reads.chain(writes) {
                        let access = self.access(access, write, parts);
                        self.accesses.push(access);
                    }
                    Node::Event { event, accesses }
                }
                Item::Repeat(repeat) => {
                    let span = (repeat.count as i128) * (repeat.period as i128);
                    if repeat.count == 0 || repeat.period == 0 || span > i128::from(i64::MAX / 4) {
                        let (count, period) = (repeat.count, repeat.period);
                        return Err(malformed(format!("a loop of {count} rounds with a period of {period} cycles")));
                    }
                    let footprint = Rc::clone(&parts.nothing);
                    Node::Repeat(Box::new(Loop { repeat, children: 0..0, earliest: earliest(&repeat.body), footprint }))
                }
            });
        }
        let range = first..self.nodes.len();
        for (index, item) in (first..).zip(items) {
            if let Item::Repeat(repeat) = item {
                let body = Arc::as_ptr(&repeat.body);
                if !parts.bodies.contains_key(&body) {
                    let inner = self.index(&repeat.body, parts)?;
                    let print = Rc::new(self.footprint(inner.clone()));
                    parts.bodies.insert(body, (inner, print));
                }
                let (inner, print) = parts.bodies[&body].clone();
                if let Node::Repeat(own) = &mut self.nodes[index] {
                    (own.children, own.footprint) = (inner, print);
                }
            }
        }
        Ok(range)
    }

    fn footprint(&self, children: Range<usize>) -> Footprint {
        let mut resources = BitSet::with_size(self.resources.len());
        let mut cells = BitSet::with_size(self.cells.len());
        let mut written = BitSet::with_size(self.cells.len());
        for child in children {
            match &self.nodes[child] {
                node @ Node::Event { event, .. } => {
                    resources.insert(event.resource.0 as usize);
                    for access in self.accesses_of(node) {
                        for cell in access.cells() {
                            cells.insert(cell);
                            if access.write {
                                written.insert(cell);
                            }
                        }
                    }
                }
                Node::Repeat(inner) => {
                    let footprint = &inner.footprint;
                    resources.merge(&footprint.resources);
                    cells.merge(&footprint.cells);
                    written.merge(&footprint.written);
                }
            }
        }
        let (resource_list, cell_list) = (resources.members(), cells.members());
        Footprint { resources, cells, written, resource_list, cell_list }
    }

    fn access(&self, access: &'a Access, write: bool, Parts { first_cell, port_base, .. }: &Parts) -> AccessPlan<'a> {
        let memory = access.place.memory.0 as usize;
        let place = access.place;
        let direction = usize::from(write);
        let (capacity, banks) = match self.resources.memories[memory].kind {
            MemoryKind::OnChip { capacity, banks, .. } => (capacity, banks),
            MemoryKind::Wire { .. } => {
                // What passes is one value at a time, wherever the event says it lies.
                let cell = first_cell[&(memory, 0)] as u32;
                return AccessPlan {
                    access,
                    write,
                    cells: (cell, cell + 1),
                    first_port: (port_base[memory] + direction) as u32,
                    banks: 1,
                    on_wire: true,
                };
            }
            // A memory of lines has been refused.
            MemoryKind::OffChip | MemoryKind::Scoreboard | MemoryKind::Lines(_) => {
                return AccessPlan { access, write, cells: (0, 0), first_port: 0, banks: 0, on_wire: false };
            }
        };
        let end = place.offset + place.bytes;
        let bank_bytes = (capacity / u64::from(banks)).max(1);
        let bank_of = |byte: u64| (byte / bank_bytes).min(u64::from(banks) - 1);
        let (low, high) = (bank_of(place.offset), bank_of(end - 1));
        AccessPlan {
            access,
            write,
            cells: (first_cell[&(memory, place.offset)] as u32, first_cell[&(memory, end)] as u32),
            first_port: (port_base[memory] + 2 * low as usize + direction) as u32,
            banks: (high - low + 1) as u16,
            on_wire: false,
        }
    }

    /// Cycles from a write to the first read that it allows: on a wire, to the only one.
    pub fn delay(&self, plan: &AccessPlan<'_>) -> i64 {
        let memory = usize::from(plan.access.place.memory.0);
        self.resources.memories[memory].kind.wire_delay().map_or(1, i64::from)
    }

    /// The cycles of the first and last element of `cell`, one of the place's, relative to the event's start.
    pub fn interval(&self, plan: &AccessPlan<'_>, cell: usize) -> (i64, i64) {
        let access = plan.access;
        let (first, last) = (i64::from(access.first), i64::from(access.last));
        if plan.on_wire || access.order == Order::Any {
            return (first, last);
        }
        let Place { offset, bytes, .. } = access.place;
        let at = |byte: u64| match byte - offset {
            0 => first,
            passed if passed == bytes => last,
            passed => first + (i128::from(last - first) * i128::from(passed) / i128::from(bytes)) as i64,
        };
        (at(self.cells[cell].offset), at(self.cells[cell + 1].offset))
    }
}

fn ports_of(resources: &Resources) -> Result<(Vec<Port>, Vec<usize>), Violation> {
    let mut ports = Vec::new();
    let mut base = Vec::new();
    for memory in &resources.memories {
        base.push(ports.len());
        if let MemoryKind::Wire { bytes_per_cycle, delay } = memory.kind {
            if delay == 0 || bytes_per_cycle.is_nan() || bytes_per_cycle <= 0.0 {
                let name = &memory.name;
                return Err(malformed(format!(
                    "wire {name} has no width or no delay: an element passes a cycle later"
                )));
            }
            for end in ["far", "near"] {
                let name = format!("{end} end of wire {}", memory.name);
                ports.push(Port { name, capacity: (bytes_per_cycle * LOAD_SCALE) as u64 });
            }
        }
        if let MemoryKind::OnChip { banks, read_bytes_per_cycle, write_bytes_per_cycle, .. } = memory.kind {
            if banks == 0 || !(read_bytes_per_cycle > 0.0 && write_bytes_per_cycle > 0.0) {
                return Err(malformed(format!("memory {} has no bank or no port", memory.name)));
            }
            if banks > MOST_BANKS {
                let name = &memory.name;
                return Err(malformed(format!(
                    "memory {name} has {banks} banks, and one has at most {MOST_BANKS}: describe it as several memories"
                )));
            }
            for bank in 0..banks {
                for (direction, rate) in [("read", read_bytes_per_cycle), ("write", write_bytes_per_cycle)] {
                    let name = format!("{direction} port of {} bank {bank}", memory.name);
                    ports.push(Port { name, capacity: (rate * LOAD_SCALE) as u64 });
                }
            }
        }
    }
    Ok((ports, base))
}

/// Holds that every rate and bandwidth is a positive number.
///
/// # Errors
/// A [`Violation`] that names the first that is none.
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

/// Every event once, however many loops have its body.
fn visit<'a>(
    items: &'a [Item],
    seen: &mut HashSet<*const Vec<Item>>,
    check: &mut impl FnMut(&'a Event) -> Result<(), Violation>,
) -> Result<(), Violation> {
    for item in items {
        match item {
            Item::Event(event) => check(event)?,
            Item::Repeat(repeat) if seen.insert(Arc::as_ptr(&repeat.body)) => visit(&repeat.body, seen, check)?,
            Item::Repeat(_) => {}
        }
    }
    Ok(())
}

fn check_event(
    resources: &Resources,
    event: &Event,
    boundaries: &mut [BTreeSet<u64>],
    read_by_value: &mut [bool],
) -> Result<(), Violation> {
    hold_event(resources, event)?;
    for (access, write) in event.reads.iter().map(|a| (a, false)).chain(event.writes.iter().map(|a| (a, true))) {
        let memory = access.place.memory.0 as usize;
        match &resources.memories[memory].kind {
            kind if kind.by_value() => read_by_value[access.value.class.0 as usize] |= !write,
            MemoryKind::Lines(_) => {
                let name = &resources.memories[memory].name;
                return Err(malformed(format!(
                    "memory {name} is of lines, and those are for schedules that are lists"
                )));
            }
            MemoryKind::OnChip { .. } => {
                boundaries[memory].extend([access.place.offset, access.place.offset + access.place.bytes]);
            }
            _ => drop(boundaries[memory].insert(0)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Do words of a set say what its members do, and is an access small enough for tens of millions of them?

    use super::*;
    use crate::engine::schedule::Memory;

    #[test]
    fn an_access_is_small_and_no_memory_has_more_banks_than_it_counts() {
        assert_eq!(size_of::<AccessPlan<'_>>(), 24);
        let with = |banks: u32| {
            let (read_bytes_per_cycle, write_bytes_per_cycle) = (8.0, 8.0);
            let kind = MemoryKind::OnChip { capacity: 1 << 20, banks, read_bytes_per_cycle, write_bytes_per_cycle };
            let memories = vec![Memory { name: "buffer".to_owned(), kind }];
            ports_of(&Resources { memories, ..Resources::default() }).map(|(ports, _)| ports.len())
        };
        assert_eq!(with(MOST_BANKS).ok(), Some(2 * MOST_BANKS as usize));
        let refused = with(MOST_BANKS + 1).expect_err("too many").message;
        let says = "memory buffer has 65536 banks, and one has at most 65535: describe it as several memories";
        assert_eq!(refused, says);
    }

    #[test]
    fn a_range_meets_a_set_where_one_of_its_members_does() {
        let mut set = BitSet::with_size(260);
        [0, 63, 64, 130, 191, 255].into_iter().for_each(|member| set.insert(member));
        for start in 0..256 {
            for end in start..=256 {
                let expected = (start..end).any(|member| set.contains(member));
                assert_eq!(set.contains_any(start..end), expected, "{start}..{end}");
            }
        }
    }
}
