//! Sums over a schedule: work, occupancy and traffic. Loops are counted, not unrolled.

use super::list::Source;
use super::schedule::{Access, Event, MemoryKind, Resource, Resources, Traffic};
use std::collections::HashMap;

/// Sums over all events of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Number of events.
    pub events: u64,
    /// For each resource, the cycles that its work needs at its own rate.
    pub needed: Vec<u64>,
    /// For each resource, the cycles that its events occupy it.
    pub occupied: Vec<u64>,
    /// For each memory, the bytes read from it.
    pub read: Vec<u64>,
    /// For each memory, the bytes written to it.
    pub written: Vec<u64>,
    /// Bytes between the chip and off-chip memory, in the order of [`Traffic::ALL`].
    pub traffic: [u64; Traffic::ALL.len()],
    /// For each channel, the bytes that it moves between the chip and off-chip memory; 0 for units. Any channel may
    /// bring instructions while it is idle; they count with the first.
    pub off_chip: Vec<u64>,
}

impl Totals {
    /// Totals of a schedule without events.
    pub fn none(resources: &Resources) -> Self {
        Self {
            events: 0,
            needed: vec![0; resources.len()],
            occupied: vec![0; resources.len()],
            read: vec![0; resources.memories.len()],
            written: vec![0; resources.memories.len()],
            traffic: [0; Traffic::ALL.len()],
            off_chip: vec![0; resources.len()],
        }
    }

    /// Sums up a schedule whose indices are valid (a checked one).
    pub fn of<'a>(source: impl Into<Source<'a>>) -> Self {
        let source = source.into();
        let resources = source.resources();
        let mut totals = Self::none(resources);
        let mut given = Given::new(resources);
        source.each(&mut |event, times| totals.event(resources, &mut given, event, times));
        if let Source::List(list) = source {
            let bytes = list.instructions().map_or(0, |instructions| instructions.bytes);
            totals.carries(Traffic::Instructions, bytes, 1);
            if let Some(first) = totals.off_chip.get_mut(resources.channel(0).0 as usize) {
                add(first, bytes, 1);
            }
        }
        totals
    }

    fn event(&mut self, resources: &Resources, given: &mut Given, event: &Event, times: u64) {
        let resource = event.resource.0 as usize;
        let needed = resources.cycles(event.resource, event.op.kind, event.work).max(1);
        add(&mut self.events, 1, times);
        add(&mut self.needed[resource], needed, times);
        add(&mut self.occupied[resource], u64::from(event.occupancy), times);
        let channel = resources.as_channel(event.resource).is_some();
        for (access, write) in event.reads.iter().map(|a| (a, false)).chain(event.writes.iter().map(|a| (a, true))) {
            let memory = access.place.memory.0 as usize;
            if !write && given.again(event, access) {
                continue;
            }
            add(if write { &mut self.written[memory] } else { &mut self.read[memory] }, access.bytes, times);
            if channel && resources.memories[memory].kind == MemoryKind::OffChip {
                add(&mut self.off_chip[resource], access.bytes, times);
                self.carries(resources.value_classes[access.value.class.0 as usize].traffic, access.bytes, times);
            }
        }
    }

    fn carries(&mut self, class: Traffic, bytes: u64, times: u64) {
        if let Some(index) = Traffic::ALL.iter().position(|&traffic| traffic == class) {
            add(&mut self.traffic[index], bytes, times);
        }
    }

    /// Bandwidth, in bytes a cycle, of all channels that move anything between the chip and off-chip memory.
    pub fn off_chip_bytes_per_cycle(&self, resources: &Resources) -> f64 {
        let used = (0..).zip(&self.off_chip).filter(|&(_, &bytes)| bytes > 0);
        used.filter_map(|(index, _)| resources.as_channel(Resource(index))).map(|channel| channel.bytes_per_cycle).sum()
    }

    /// Bytes of all classes.
    pub fn traffic_bytes(&self) -> u64 {
        self.traffic.iter().copied().fold(0, u64::saturating_add)
    }
}

fn add(sum: &mut u64, amount: u64, times: u64) {
    *sum = sum.saturating_add(amount.saturating_mul(times));
}

/// Multicast reads that a network has delivered already.
struct Given {
    /// For each memory with multicast, which units share its reads.
    shared: Vec<Option<Vec<bool>>>,
    /// Cycle of the latest shared read of each place.
    last: HashMap<(u16, u64), i64>,
}

impl Given {
    fn new(resources: &Resources) -> Self {
        let shared = |kind: &MemoryKind| match kind {
            MemoryKind::Lines(lines) => {
                let port = lines.out.as_ref().filter(|port| port.multicast)?;
                Some((0..resources.len()).map(|index| resources.class(Resource(index as u32)) == port.class).collect())
            }
            _ => None,
        };
        let shared = resources.memories.iter().map(|memory| shared(&memory.kind)).collect();
        Self { shared, last: HashMap::new() }
    }

    /// Whether an event of the same cycle has made the same read already.
    fn again(&mut self, event: &Event, access: &Access) -> bool {
        let memory = access.place.memory;
        let joins = self.shared[usize::from(memory.0)].as_ref().is_some_and(|units| units[event.resource.0 as usize]);
        let cycle = event.start + i64::from(access.first);
        joins && self.last.insert((memory.0, access.place.offset), cycle) == Some(cycle)
    }
}

/// Classes of units and channels in the order of their first unit, each with the indices of its units.
pub fn classes(resources: &Resources) -> Vec<(String, Vec<usize>)> {
    let mut classes: Vec<(String, Vec<usize>)> = Vec::new();
    for index in 0..resources.len() {
        let class = resources.class(Resource(index as u32));
        match classes.iter_mut().find(|(name, _)| name == class) {
            Some((_, members)) => members.push(index),
            None => classes.push((class.to_owned(), vec![index])),
        }
    }
    classes
}
