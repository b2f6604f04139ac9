//! Transfers of vectors to clusters, from the scratchpad or from another cluster's register; a crossbar
//! multicasts one read to several clusters.

use super::{Action, Cell, CycleError, Register, Scheduler, Source, Way};

/// Number of recent reads of a place that other clusters may still join.
const JOINABLE: usize = 8;

impl Scheduler<'_> {
    /// Possible sources of a value for a cluster, each with the first cycle in which it can be read.
    pub(super) fn origins(&self, value: u32, cluster: usize) -> Vec<(Source, u64)> {
        let mut origins: Vec<(Source, u64)> =
            self.held[value as usize].iter().map(|held| (Source::Scratchpad(held.frame), held.at + 1)).collect();
        let copies = self.copies[value as usize];
        for other in (0..self.clusters.len()).filter(|&other| other != cluster && copies >> other & 1 == 1) {
            if let Some(index) = self.clusters[other].find(value) {
                let register = Register { cluster: other as u16, index: index as u16 };
                origins.push((Source::Cluster(register), self.clusters[other].cells[index].at + 1));
            }
        }
        origins
    }

    /// The first cycle from `from` on in which a vector from `origin` can arrive in a cluster, in a register if
    /// `stored`, otherwise in a unit.
    pub(super) fn arrival(&self, (origin, ready): (Source, u64), cluster: usize, from: u64, stored: bool) -> u64 {
        let duration = self.geometry.occupancy;
        let receiver = &self.clusters[cluster];
        let mut at = from.max(ready + self.network);
        loop {
            let mut next = match origin {
                Source::Register(_) => at,
                Source::Scratchpad(frame) => {
                    let depart = receiver.from_scratchpad.earliest(at, duration) - self.network;
                    let joined = self.joined(origin, depart);
                    joined.unwrap_or(u64::MAX).min(self.through_bank(frame.bank, Way::Leave, depart)) + self.network
                }
                Source::Cluster(register) => {
                    let sender = &self.clusters[register.cluster as usize];
                    let depart = receiver.from_clusters.earliest(at, duration) - self.network;
                    let joined = self.joined(origin, depart);
                    let alone = sender.to_clusters.earliest(depart, duration);
                    let alone = alone + u64::from(sender.free_ports(alone, duration) == 0);
                    joined.unwrap_or(u64::MAX).min(alone) + self.network
                }
            };
            if stored && next == at && receiver.free_ports(at, duration) == 0 {
                next += 1;
            }
            if next == at {
                return at;
            }
            at = next;
        }
    }

    /// Rank of an arrival; smaller is better. The scratchpad's crossbar is scarcer, so another cluster may be
    /// one vector later.
    pub(super) fn preference(&self, origin: Source, arrival: u64) -> u64 {
        match origin {
            Source::Scratchpad(_) => arrival + self.geometry.occupancy,
            _ => arrival,
        }
    }

    /// Reserves the path of a vector from `origin` to `cluster` that arrives in cycle `at`.
    pub(super) fn send(&mut self, origin: Source, cluster: usize, at: u64) {
        let (duration, depart) = (self.geometry.occupancy, at - self.network);
        let joins = self.give(origin, depart);
        match origin {
            Source::Register(_) => {}
            Source::Scratchpad(frame) => {
                if !joins {
                    self.banks[frame.bank as usize].reserve(Way::Leave, depart, duration);
                }
                self.clusters[cluster].from_scratchpad.reserve(at, duration);
            }
            Source::Cluster(register) => {
                if !joins {
                    let sender = &mut self.clusters[register.cluster as usize];
                    sender.to_clusters.reserve(depart, duration);
                    sender.take_port(depart, duration);
                    let cell = &mut sender.cells[register.index as usize];
                    cell.free_from = cell.free_from.max(depart + 1);
                }
                self.clusters[cluster].from_clusters.reserve(at, duration);
            }
        }
    }

    /// The first read of `origin` from `from` on that another cluster can join.
    fn joined(&self, origin: Source, from: u64) -> Option<u64> {
        let reads = &self.given[self.geometry.line(origin, self.banks.len())?];
        reads.iter().copied().filter(|&at| at >= from).min()
    }

    /// Adds a receiver to the read of `origin` in `at`; returns whether another cluster already shares this
    /// read.
    fn give(&mut self, origin: Source, at: u64) -> bool {
        let Some(line) = self.geometry.line(origin, self.banks.len()).filter(|_| self.multicast) else { return false };
        let reads = &mut self.given[line];
        if reads.contains(&at) {
            return true;
        }
        reads.push_back(at);
        if reads.len() > JOINABLE {
            reads.pop_front();
        }
        false
    }

    /// Records a read of a value's frame from `at` on.
    pub(super) fn touch(&mut self, value: u32, at: u64) {
        if let Some(held) = &mut self.held[value as usize] {
            held.free_from = held.free_from.max(at + 1);
        }
    }

    /// Copies an operand to a register, if it deserves one; returns its source and the first cycle in which it
    /// can be read.
    pub(super) fn bring(
        &mut self,
        value: u32,
        cluster: usize,
        target: u64,
        pinned: &[u32],
        until: (u32, u32),
    ) -> Result<Option<(usize, u64)>, CycleError> {
        let origins = self.origins(value, cluster);
        let ready = origins.iter().map(|&(_, ready)| ready + self.network).min();
        let ready = ready.ok_or(CycleError::Movement { value, what: "it is read, but not on chip" })?;
        let Some((index, from)) = self.take_register(cluster, ready.max(target), pinned, until)? else {
            return Ok(None);
        };
        let arrivals = origins.iter().map(|&origin| (self.arrival(origin, cluster, from, true), origin.0));
        let Some((at, origin)) = arrivals.min_by_key(|&(at, origin)| self.preference(origin, at)) else {
            return Ok(None);
        };
        let index = self.freed_last(cluster, index, at);
        self.send(origin, cluster, at);
        let (depart, register) = (at - self.network, Register { cluster: cluster as u16, index: index as u16 });
        match origin {
            Source::Scratchpad(frame) => {
                self.touch(value, depart);
                self.push(depart, Action::Fetch { frame, register, value });
            }
            Source::Cluster(from) => self.push(depart, Action::Forward { from, to: register, value }),
            Source::Register(_) => {}
        }
        self.clusters[cluster].take_port(at, self.geometry.occupancy);
        self.clusters[cluster].cells[index] = Cell { value, at, free_from: at + 1 };
        self.copies[value as usize] |= 1 << cluster;
        Ok(Some((index, at + 1)))
    }
}
