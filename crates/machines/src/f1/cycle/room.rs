//! Room in the scratchpad while a run goes: vectors of the hint leave it for what has none, and come back in time.
//!
//! A run says in which cycles it reads each vector, so what makes room is the vector of the hint that is read again last of those in the bank
//! where room is wanted. Off-chip memory has it already. It comes back some time before that, to a bank in which the run expects it.

use super::super::lockstep::Run;
use super::{CycleError, Frame, Held, Scheduler};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// The cycle, or the delay, of what never comes.
pub(super) const NEVER: u64 = u64::MAX;

/// How long before it is read a vector gets its place again, at most: as long as so many vectors take to pass a unit.
const AHEAD: u64 = 16;

/// A vector that is to come by a cycle.
struct Awaited {
    first: u64,
    value: u32,
    place: (Frame, u64),
    /// Whether it comes for the first time: before its first reader, for which the run may begin later.
    new: bool,
}

/// What a run knows of its vectors, and asks of the memory.
pub(super) struct Room {
    /// Of each vector of the hint, the cycles in which it is still read.
    reads: HashMap<u32, VecDeque<u64>>,
    /// What left the scratchpad in which cycle.
    left: HashSet<(u32, u64)>,
    /// Vectors of the hint that made room, by the cycle in which they are read next.
    away: BTreeSet<(u64, u32)>,
    awaited: Vec<Awaited>,
}

impl Room {
    /// For a run that begins in `start`; its `reads` are counted from there.
    pub(super) fn new(run: &Run, reads: &HashMap<u32, Vec<u64>>, start: u64) -> Self {
        let of = |value: &u32| {
            let cycles = reads.get(value).map_or(&[][..], Vec::as_slice);
            (*value, cycles.iter().map(|cycle| start + cycle).collect())
        };
        let reads = run.hint.iter().map(of).collect();
        Self { reads, left: HashSet::new(), away: BTreeSet::new(), awaited: Vec::new() }
    }

    /// A value comes to a place, and is first read in a cycle.
    pub(super) fn await_load(&mut self, value: u32, place: (Frame, u64), first: u64) {
        self.awaited.push(Awaited { first, value, place, new: true });
    }

    /// Notes that a value leaves; whether nobody has received it in this cycle yet.
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
    /// A frame of a bank that can be written from `at` on, with the cycle from which it can: a free one, or that of the vector of the hint
    /// that is read last, if that is later than `than`.
    pub(super) fn room_in(&mut self, bank: u16, at: u64, than: u64, room: &mut Room) -> Option<(Frame, u64)> {
        let free = self.free[bank as usize].peek().copied();
        if let Some(Reverse((from, index))) = free.filter(|&Reverse((from, _))| from <= at) {
            self.free[bank as usize].pop();
            return Some((Frame { bank, index }, from));
        }
        // What is read soon would not come back in time.
        let than = than + AHEAD * self.geometry.occupancy;
        let here =
            |value: u32| self.held[value as usize].filter(|held| held.frame.bank == bank && held.free_from <= at);
        let others = room.reads.keys().filter_map(|&value| here(value).map(|held| (room.next(value), value, held)));
        let (next, value, held) =
            others.filter(|&(next, ..)| next > than).max_by_key(|&(next, value, _)| (next, value))?;
        self.held[value as usize] = None;
        room.away.insert((next, value));
        // One that has not been read needs not come before.
        room.awaited.retain(|awaited| awaited.value != value || awaited.first < next);
        Some((held.frame, held.free_from))
    }

    /// Gives vectors of the hint that are read soon after `at` a place to come to, as far as there are places yet.
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

    /// Loads what is awaited, in the order in which it is read: by how many cycles the run begins too early. What is away and is read behind the
    /// run comes last.
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
