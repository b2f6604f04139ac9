//! Reservations of a cluster: units, register file, ports.

use super::graph::UnitKind;
use super::machine::{F1, Geometry};
use super::reservations::Reservations;

/// No value.
pub const NONE: u32 = u32::MAX;

/// A vector register.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Its value, or [`NONE`].
    pub value: u32,
    /// The cycle in which the value's first chunk is written.
    pub at: u64,
    /// The first cycle in which another value may be written: one cycle after the start of the last read.
    pub free_from: u64,
}

#[derive(Clone, Debug)]
pub struct Cluster {
    /// By kind.
    pub units: [Vec<Reservations>; 4],
    /// Accesses of the register file, by the bank in which they start. A stream that starts in cycle t uses bank
    /// (c − t) mod `register_banks` in cycle c, so streams with different t mod `register_banks` never conflict.
    ports: Vec<Vec<Reservations>>,
    pub cells: Vec<Cell>,
    /// Port from the scratchpad's crossbar.
    pub from_scratchpad: Reservations,
    /// Port to the scratchpad's crossbar.
    pub to_scratchpad: Reservations,
    /// Port from the other clusters' crossbar.
    pub from_clusters: Reservations,
    /// Port to the other clusters' crossbar.
    pub to_clusters: Reservations,
}

impl Cluster {
    /// An idle cluster.
    pub fn new(machine: &F1, geometry: &Geometry) -> Self {
        Self {
            units: machine.units.map(|count| vec![Reservations::default(); count]),
            ports: vec![vec![Reservations::default(); machine.accesses_per_cycle]; machine.register_banks],
            cells: vec![Cell { value: NONE, at: 0, free_from: 0 }; geometry.registers],
            from_scratchpad: Reservations::default(),
            to_scratchpad: Reservations::default(),
            from_clusters: Reservations::default(),
            to_clusters: Reservations::default(),
        }
    }

    /// Drops reservations before `cycle`; no action will start earlier.
    pub fn close(&mut self, cycle: u64) {
        let ports =
            [&mut self.from_scratchpad, &mut self.to_scratchpad, &mut self.from_clusters, &mut self.to_clusters];
        let units = self.units.iter_mut().chain(&mut self.ports).flatten();
        units.chain(ports).for_each(|timeline| timeline.close(cycle));
    }

    /// Register of a value, if it is in this cluster.
    pub fn find(&self, value: u32) -> Option<usize> {
        self.cells.iter().position(|cell| cell.value == value)
    }

    /// Number of free ports for streams that start in `at`.
    pub fn free_ports(&self, at: u64, duration: u64) -> usize {
        let ports = &self.ports[at as usize % self.ports.len()];
        ports.iter().filter(|port| port.is_free(at, duration)).count()
    }

    /// Reserves one port for a stream that starts in `at`.
    pub fn take_port(&mut self, at: u64, duration: u64) {
        let banks = self.ports.len();
        if let Some(port) = self.ports[at as usize % banks].iter_mut().find(|port| port.is_free(at, duration)) {
            port.reserve(at, duration);
        }
    }

    /// Reserves the ports found by [`ports_for`](Self::ports_for). A result in the operands' bank is reserved
    /// first: some of the ports that are free for the operands may not be free long enough for it.
    pub fn take_ports(&mut self, at: u64, reads: usize, write: Option<u64>, duration: u64) {
        let (meeting, behind) = match write {
            Some(write) if self.meets(write - at, duration) => (Some(write), None),
            other => (None, other),
        };
        for start in meeting.into_iter().chain(std::iter::repeat_n(at, reads)).chain(behind) {
            self.take_port(start, duration);
        }
    }

    /// The unit of `kind` that is free first from `from` on, and that cycle.
    pub fn unit(&self, kind: UnitKind, from: u64, duration: u64) -> Option<(usize, u64)> {
        let starts = self.units[kind as usize].iter().enumerate();
        starts.map(|(index, unit)| (index, unit.earliest(from, duration))).min_by_key(|&(_, at)| at)
    }

    /// Whether a register file can accept a result `latency` cycles after `reads` reads. A result that starts
    /// in the operands' bank while they are read shares the bank with them in every cycle.
    pub fn takes_result(&self, reads: usize, latency: u64, duration: u64) -> bool {
        reads + usize::from(self.meets(latency, duration)) <= self.ports[0].len()
    }

    fn meets(&self, latency: u64, duration: u64) -> bool {
        latency.is_multiple_of(self.ports.len() as u64) && latency < duration
    }

    /// Whether an instruction that starts in `at` finds ports for its reads, and for a result written in
    /// `write`.
    pub fn ports_for(&self, at: u64, reads: usize, write: Option<u64>, duration: u64) -> bool {
        let Some(write) = write else { return self.free_ports(at, duration) >= reads };
        let same = self.meets(write - at, duration);
        self.free_ports(at, duration) >= reads + usize::from(same) && self.free_ports(write, duration) >= 1
    }
}
