//! Scratchpad frames during a run: hint vectors are evicted if frames are short, and reloaded in time.
//!
//! A run determines the cycles of all reads. So the evicted vector is the hint vector in the same bank with the
//! latest next read; off-chip memory has a copy. It is reloaded shortly before that read, to the bank that the
//! run expects.

use super::super::lockstep::Run;
use super::{CycleError, Frame, Held, Scheduler};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// The cycle, or the delay, of an event that never happens.
pub(super) const NEVER: u64 = u64::MAX;

/// Maximum number of vector times before its read at which a vector gets a frame again.
const AHEAD: u64 = 16;

/// A vector to be loaded by a given cycle.
struct Awaited {
    first: u64,
    value: u32,
    place: (Frame, u64),
    /// Whether this is its first load; the run may then be delayed for it.
    new: bool,
}

/// A run's vectors and its requests to memory.
pub(super) struct Room {
    /// For each hint vector, the cycles of its remaining reads.
    reads: HashMap<u32, VecDeque<u64>>,
    /// Vectors read from the scratchpad, with their cycles.
    left: HashSet<(u32, u64)>,
    /// Evicted hint vectors, by the cycle of their next read.
    away: BTreeSet<(u64, u32)>,
    awaited: Vec<Awaited>,
}

impl Room {
    /// For a run that starts in `start`; `reads` are relative to it.
    pub(super) fn new(run: &Run, reads: &HashMap<u32, Vec<u64>>, start: u64) -> Self {
        let of = |value: &u32| {
            let cycles = reads.get(value).map_or(&[][..], Vec::as_slice);
            (*value, cycles.iter().map(|cycle| start + cycle).collect())
        };
        let reads = run.hint.iter().map(of).collect();
        Self { reads, left: HashSet::new(), away: BTreeSet::new(), awaited: Vec::new() }
    }

    /// Requests a load to a place, before the first read.
    pub(super) fn await_load(&mut self, value: u32, place: (Frame, u64), first: u64) {
        self.awaited.push(Awaited { first, value, place, new: true });
    }

    /// Records the read of a value; returns whether no other cluster shares it.
    pub(super) fn leaves(&mut self, value: u32, at: u64) -> bool {
        if let Some(reads) = self.reads.get_mut(&value) {
            while reads.front().is_some_and(|&cycle| cycle <= at) {
                reads.pop_front();
            }
        }
        self.left.insert((value, at))
    }

    fn next(&self, value: u32) -> u64 {
        self.reads[&value].front().copied().unwrap_or(NEVER)
    }
}

impl Scheduler<'_> {
    /// A frame of a bank that can be written from `at` on, and the first such cycle. It is a free frame, or
    /// that of the hint vector with the latest next read, if this is after `than`.
    pub(super) fn room_in(&mut self, bank: u16, at: u64, than: u64, room: &mut Room) -> Option<(Frame, u64)> {
        let free = self.free[bank as usize].peek().copied();
        if let Some(Reverse((from, index))) = free.filter(|&Reverse((from, _))| from <= at) {
            self.free[bank as usize].pop();
            return Some((Frame { bank, index }, from));
        }
        // A vector with an early read could not be reloaded in time.
        let than = than + AHEAD * self.geometry.occupancy;
        let here =
            |value: u32| self.held[value as usize].filter(|held| held.frame.bank == bank && held.free_from <= at);
        let others = room.reads.keys().filter_map(|&value| here(value).map(|held| (room.next(value), value, held)));
        let (next, value, held) =
            others.filter(|&(next, ..)| next > than).max_by_key(|&(next, value, _)| (next, value))?;
        self.held[value as usize] = None;
        room.away.insert((next, value));
        // A vector that has not been read need not be loaded before.
        room.awaited.retain(|awaited| awaited.value != value || awaited.first < next);
        Some((held.frame, held.free_from))
    }

    /// Allocates frames for evicted hint vectors that are read soon after `at`, as far as possible.
    pub(super) fn bring_back(&mut self, room: &mut Room, at: u64) {
        while let Some(&(first, value)) = room.away.first() {
            if first > at + AHEAD * self.geometry.occupancy {
                break;
            }
            let bank = self.preferred.get(&value).copied().unwrap_or(0);
            let Some(place) = self.room_in(bank, at, first, room) else { break };
            room.away.remove(&(first, value));
            self.held[value as usize] = Some(Held { frame: place.0, at: 0, free_from: place.1 });
            room.awaited.push(Awaited { first, value, place, new: false });
        }
    }

    /// Performs the requested loads in the order of their reads; returns the cycles by which the run starts too
    /// early. Evicted vectors that are read after the run come last.
    pub(super) fn load_awaited(&mut self, room: Room) -> Result<u64, CycleError> {
        let Room { mut awaited, away, .. } = room;
        awaited.sort_by_key(|awaited| awaited.first);
        let mut delay = 0;
        for Awaited { first, value, place, new } in awaited {
            let arrival = self.load_to(value, place)?;
            if let Some(held) = self.held[value as usize].as_mut().filter(|held| held.frame == place.0) {
                *held = Held { at: arrival, free_from: held.free_from.max(arrival + 1), ..*held };
            }
            let late = (arrival + 1).saturating_sub(first);
            delay = delay.max(if new || late == 0 { late } else { NEVER });
        }
        for (_, value) in away {
            if self.remaining[value as usize] > 0 {
                self.load(value)?;
            }
        }
        Ok(delay)
    }
}
