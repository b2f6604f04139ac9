//! Reservations of a scratchpad bank: accesses, and one port at each crossbar.

use super::machine::F1;
use super::reservations::Reservations;

/// Number of busy intervals to remember: loads are scheduled between the accesses of a run.
const REMEMBERED: usize = 4096;

/// Direction of a bank's transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the clusters; one vector at a time, for any number of receivers.
    Leave,
    /// From the clusters, one at a time.
    Enter,
    /// To or from a memory stack.
    Memory,
}

#[derive(Clone, Debug)]
pub struct Bank {
    accesses: Vec<Reservations>,
    leave: Reservations,
    enter: Reservations,
}

impl Bank {
    /// An idle bank.
    pub fn new(machine: &F1) -> Self {
        let idle = || Reservations::remembering(REMEMBERED);
        Self {
            accesses: std::iter::repeat_with(idle).take(machine.accesses_per_cycle).collect(),
            leave: idle(),
            enter: idle(),
        }
    }

    fn port(&self, way: Way) -> Option<&Reservations> {
        match way {
            Way::Leave => Some(&self.leave),
            Way::Enter => Some(&self.enter),
            Way::Memory => None,
        }
    }

    /// The first cycle from `from` on in which a vector of `duration` can be transferred in direction `way`.
    pub fn earliest(&self, way: Way, from: u64, duration: u64) -> u64 {
        let port = self.port(way);
        let mut at = from;
        loop {
            let free = port.map_or(at, |port| port.earliest(at, duration));
            let access = self.accesses.iter().map(|access| access.earliest(free, duration)).min().unwrap_or(free);
            if access == at {
                return at;
            }
            at = access;
        }
    }

    /// Whether all accesses are free for a vector that starts in `at`.
    pub fn is_idle(&self, at: u64, duration: u64) -> bool {
        self.accesses.iter().all(|access| access.is_free(at, duration))
    }

    /// Reserves the access and the port of a transfer from `at` on; they must be free.
    pub fn reserve(&mut self, way: Way, at: u64, duration: u64) {
        match way {
            Way::Leave => self.leave.reserve(at, duration),
            Way::Enter => self.enter.reserve(at, duration),
            Way::Memory => {}
        }
        if let Some(access) = self.accesses.iter_mut().find(|access| access.is_free(at, duration)) {
            access.reserve(at, duration);
        }
    }

    /// Like [`Self::reserve`] for a transfer from or to the clusters, if possible. A read uses the first free
    /// access and a write the last one, so that neither is split over several accesses if reservations are out
    /// of order.
    pub fn reserve_apart(&mut self, way: Way, at: u64, duration: u64) -> bool {
        let port = match way {
            Way::Leave => &mut self.leave,
            Way::Enter => &mut self.enter,
            Way::Memory => return false,
        };
        let free = |access: &&mut Reservations| access.is_free(at, duration);
        let access = match way {
            Way::Enter => self.accesses.iter_mut().rev().find(free),
            _ => self.accesses.iter_mut().find(free),
        };
        let Some(access) = access.filter(|_| port.is_free(at, duration)) else { return false };
        port.reserve(at, duration);
        access.reserve(at, duration);
        true
    }
}
