//! What a schedule does in sum: work, occupancy and traffic, with every loop counted and none unrolled.

use super::schedule::{Event, Item, MemoryKind, Schedule, Traffic};

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
}

impl Totals {
    /// Sums up a schedule whose indices are valid (a checked one).
    pub fn of(schedule: &Schedule) -> Self {
        let resources = &schedule.resources;
        let mut totals = Self {
            events: 0,
            needed: vec![0; resources.len()],
            occupied: vec![0; resources.len()],
            read: vec![0; resources.memories.len()],
            written: vec![0; resources.memories.len()],
            traffic: [0; Traffic::ALL.len()],
        };
        totals.items(schedule, &schedule.items, 1);
        totals
    }

    fn items(&mut self, schedule: &Schedule, items: &[Item], times: u64) {
        for item in items {
            match item {
                Item::Event(event) => self.event(schedule, event, times),
                Item::Repeat(repeat) => self.items(schedule, &repeat.body, times.saturating_mul(repeat.count)),
            }
        }
    }

    fn event(&mut self, schedule: &Schedule, event: &Event, times: u64) {
        let resources = &schedule.resources;
        let resource = event.resource.0 as usize;
        let needed = resources.cycles(event.resource, event.op.kind, event.work).max(1);
        add(&mut self.events, 1, times);
        add(&mut self.needed[resource], needed, times);
        add(&mut self.occupied[resource], u64::from(event.occupancy), times);
        let off_chip = resources.as_channel(event.resource).is_some();
        for (access, write) in event.reads.iter().map(|a| (a, false)).chain(event.writes.iter().map(|a| (a, true))) {
            let memory = access.place.memory.0 as usize;
            add(if write { &mut self.written[memory] } else { &mut self.read[memory] }, access.bytes, times);
            if off_chip && resources.memories[memory].kind == MemoryKind::OffChip {
                let class = resources.value_classes[access.value.class.0 as usize].traffic;
                if let Some(index) = Traffic::ALL.iter().position(|&traffic| traffic == class) {
                    add(&mut self.traffic[index], access.bytes, times);
                }
            }
        }
    }

    /// Bytes of all classes.
    pub fn traffic_bytes(&self) -> u64 {
        self.traffic.iter().copied().fold(0, u64::saturating_add)
    }
}

fn add(sum: &mut u64, amount: u64, times: u64) {
    *sum = sum.saturating_add(amount.saturating_mul(times));
}

/// Classes of units and channels in the order of their first unit, each with the indices of its units.
pub fn classes(schedule: &Schedule) -> Vec<(String, Vec<usize>)> {
    let mut classes: Vec<(String, Vec<usize>)> = Vec::new();
    for index in 0..schedule.resources.len() {
        let class = schedule.resources.class(super::schedule::Resource(index as u32));
        match classes.iter_mut().find(|(name, _)| name == class) {
            Some((_, members)) => members.push(index),
            None => classes.push((class.to_owned(), vec![index])),
        }
    }
    classes
}
