//! State of the checker: units, events under way and next items, and their shift by rounds of a loop.

use super::content::Content;
use crate::schedule::{Access, OpRef, Resource, Shift};

/// A shift by some rounds of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    pub rounds: i64,
    pub cycles: i64,
    pub shift: Shift,
}

impl Advance {
    pub fn new(rounds: i64, period: i64, step: Shift) -> Self {
        Self { rounds, cycles: rounds * period, shift: Shift::default().advanced(step, rounds) }
    }
}

/// An event, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub resource: Resource,
    pub op: OpRef,
    pub start: i64,
}

impl Who {
    pub fn advance(&mut self, by: &Advance) {
        self.start += by.cycles;
        self.op = self.op.shifted(by.shift);
    }
}

/// State of a unit or channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// First cycle in which it is free.
    pub until: i64,
    pub holder: Option<Who>,
    /// Content of the unit, if its operations have modes.
    pub content: Content,
}

/// An event under way: it has started, and some of its accesses have not begun.
#[derive(Clone, Debug)]
pub(super) struct InFlight<F> {
    pub who: Who,
    /// Index of its node in the tree.
    pub node: usize,
    /// Running loop of the event.
    pub instance: usize,
    pub occupancy: i64,
    /// Start on the dependence path.
    pub path: i64,
    /// Number of outstanding accesses.
    pub remaining: usize,
    /// The observer's record of it.
    pub flight: F,
}

impl<F> InFlight<F> {
    /// Cycles of the first and last element of an access.
    pub fn cycles(&self, access: &Access) -> (i64, i64) {
        (self.who.start + i64::from(access.first), self.who.start + i64::from(access.last))
    }

    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        self.node == later.node && self.who.start + one.cycles == later.who.start && self.remaining == later.remaining
    }
}

/// An access whose first element is due: the event and the number of the access. The calendar holds one for each
/// access, so it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub in_flight: usize,
    pub number: u32,
    pub write: bool,
}

/// Order of late accesses: by cycle, then reads before writes, which a read of the same cycle does not see. Then the
/// event's node, the number of the access, and the event.
pub(super) type DueAt = (i64, bool, usize, u32, usize);

/// The next step of an item of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// A folded loop starts its last rounds.
    Resume,
    /// A loop starts a round.
    Round,
    /// An event starts.
    Start,
}

/// The next step of an item of a tree, in order of time, then phase, then position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Next {
    pub time: i64,
    pub phase: Phase,
    pub node: usize,
    /// Start of the enclosing round.
    pub base: i64,
    /// Shift of the enclosing rounds.
    pub shift: Shift,
    /// For [`Phase::Round`], the number of the round. For [`Phase::Resume`], the number of the fold that it ends.
    pub round: u64,
    pub instance: usize,
}

impl Next {
    pub fn advance(&mut self, by: &Advance) {
        self.time += by.cycles;
        self.base += by.cycles;
        self.shift = self.shift.advanced(by.shift, 1);
    }

    /// Whether `later` equals this step, shifted by `one`. The running loop may differ.
    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        let mut moved = *self;
        moved.advance(one);
        moved.instance = later.instance;
        moved == *later
    }
}
