//! Port reservations for the banks of Private-B and the Shared buffer.
//!
//! A bank reads one vector and writes one vector per cycle, for all lane groups, links and channels together. An
//! instruction or a part of a transfer that would exceed a port waits.

use super::emit::places::Places;
use polyfabric_sim::schedule::{Access, Event, MemoryId};
use std::collections::HashMap;

/// Rates are in units of 2^-16 bytes per cycle, rounded down, as in the checker.
const SCALE: u64 = 1 << 16;

/// Bytes per cycle on one port of a bank, in cycles relative to an event's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    port: usize,
    first: i64,
    last: i64,
    load: u64,
}

/// Reserved bytes per cycle, in absolute cycles.
#[derive(Clone, Copy, Debug)]
struct Booking {
    first: i64,
    last: i64,
    load: u64,
}

/// The read and write ports of all banks.
pub(crate) struct Banks {
    /// For each memory, its first port, and the bytes of a bank.
    memories: HashMap<MemoryId, (usize, u64)>,
    capacity: u64,
    booked: Vec<Vec<Booking>>,
}

impl Banks {
    pub fn new(places: &Places<'_>) -> Self {
        let machine = places.machine;
        let (b, shared) = (machine.private_b_banks, machine.shared_banks);
        let memories = [
            (places.chip.private_b, (0, machine.private_b / b)),
            (places.chip.shared, (2 * b as usize, machine.shared / shared)),
        ];
        Self {
            memories: memories.into(),
            capacity: machine.bank_bytes() * SCALE,
            booked: vec![Vec::new(); 2 * (b + shared) as usize],
        }
    }

    /// The demands of `events`, relative to cycle 0.
    pub fn demands<'e>(&self, events: impl IntoIterator<Item = &'e Event>) -> Vec<Demand> {
        let mut demands: Vec<Demand> = Vec::new();
        for event in events {
            let reads = event.reads.iter().map(|read| (read, 0));
            for (access, direction) in reads.chain(event.writes.iter().map(|write| (write, 1))) {
                for demand in self.of(access, direction, event.start) {
                    let same = |other: &&mut Demand| {
                        (other.port, other.first, other.last) == (demand.port, demand.first, demand.last)
                    };
                    match demands.iter_mut().find(same) {
                        Some(other) => other.load += demand.load,
                        None => demands.push(demand),
                    }
                }
            }
        }
        demands
    }

    /// An access spreads evenly over the banks of its place.
    fn of(&self, access: &Access, direction: usize, start: i64) -> impl Iterator<Item = Demand> + use<> {
        let place = access.place;
        let banks = self.memories.get(&place.memory).filter(|_| access.bytes > 0).map(|&(port, bank)| {
            let (low, high) = (place.offset / bank, (place.offset + place.bytes - 1) / bank);
            (port, low, high)
        });
        let (first, last) = (start + i64::from(access.first), start + i64::from(access.last));
        let bytes = access.bytes;
        banks.into_iter().flat_map(move |(port, low, high)| {
            let load = bytes * SCALE / ((last - first + 1) as u64 * (high - low + 1));
            (low..=high).map(move |bank| Demand { port: port + 2 * bank as usize + direction, first, last, load })
        })
    }

    /// First cycle from `now` on in which `demands` fit.
    pub fn earliest(&self, demands: &[Demand], now: i64) -> i64 {
        let mut start = now;
        while let Some(free) = demands.iter().find_map(|demand| self.retry_at(demand, demands, start)) {
            start = free;
        }
        start
    }

    /// The next cycle to try if `demand`, one of `all`, does not fit from `start` on. A demand that exceeds the port by
    /// itself does not wait; the checker rejects it.
    fn retry_at(&self, demand: &Demand, all: &[Demand], start: i64) -> Option<i64> {
        let (first, last) = (start + demand.first, start + demand.last);
        let own = all.iter().filter(|other| other.port == demand.port);
        let own: Vec<Booking> = own
            .map(|other| Booking { first: start + other.first, last: start + other.last, load: other.load })
            .collect();
        let others = || self.booked[demand.port].iter().filter(|other| other.first <= last && first <= other.last);
        let covers = |booking: &&Booking, cycle: i64| booking.first <= cycle && cycle <= booking.last;
        let over = |&cycle: &i64| {
            let load: u64 = others().chain(&own).filter(|one| covers(one, cycle)).map(|one| one.load).sum();
            load > self.capacity && others().any(|other| covers(&other, cycle))
        };
        let begins = others().chain(&own).map(|one| one.first.max(first)).filter(|&cycle| cycle <= last);
        let over = begins.into_iter().find(over)?;
        others().filter(|other| covers(other, over)).map(|other| other.last + 1 - demand.first).min()
    }

    /// Reserves `demands` for a start in cycle `start`. No later call starts before `now`, so older reservations are
    /// dropped.
    pub fn book(&mut self, demands: &[Demand], start: i64, now: i64) {
        for demand in demands {
            let booked = &mut self.booked[demand.port];
            booked.retain(|other| other.last >= now);
            let (first, last) = (start + demand.first, start + demand.last);
            booked.push(Booking { first, last, load: demand.load });
        }
    }
}
