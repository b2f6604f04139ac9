//! What the checker keeps of units, of events under way and of what comes next, and how it looks some rounds later.

use super::content::Content;
use crate::engine::schedule::{Access, OpRef, Resource, Shift};

/// A move forward by some rounds of a loop.
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

/// An event, for messages.
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

/// A unit or channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// Free from here on.
    pub until: i64,
    pub holder: Option<Who>,
    /// What is still in it, if it has modes.
    pub content: Content,
}

/// An event that has started and whose accesses have not all begun.
#[derive(Clone, Debug)]
pub(super) struct InFlight<F> {
    pub who: Who,
    /// Number of the event in a tree.
    pub node: usize,
    /// Running loop that it belongs to.
    pub instance: usize,
    pub occupancy: i64,
    /// Start on the dependence path.
    pub path: i64,
    /// Accesses still to come.
    pub remaining: usize,
    /// What the observer keeps of it.
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

/// An access whose first element is due: which of which event's. The calendar holds one for each, so it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub in_flight: usize,
    pub number: u32,
    pub write: bool,
}

/// When a late access is due, and its place among those of one cycle: reads before writes, which they do not see. Then the event's node, which access, and
/// the event.
pub(super) type DueAt = (i64, bool, usize, u32, usize);

/// What an item of a tree does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// A folded loop starts its last rounds.
    Resume,
    /// A loop starts a round.
    Round,
    /// An event starts.
    Start,
}

/// An item of a tree that is next in its round: in order of time, then phase, then position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Next {
    pub time: i64,
    pub phase: Phase,
    pub node: usize,
    /// Cycle at which the enclosing round started.
    pub base: i64,
    /// What the enclosing rounds add to numbers.
    pub shift: Shift,
    /// The loop's round, for [`Phase::Round`]; the freeze that it ends, for [`Phase::Resume`].
    pub round: u64,
    pub instance: usize,
}

impl Next {
    pub fn advance(&mut self, by: &Advance) {
        self.time += by.cycles;
        self.base += by.cycles;
        self.shift = self.shift.advanced(by.shift, 1);
    }

    /// Equal apart from which running loop it is of.
    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        let mut moved = *self;
        moved.advance(one);
        moved.instance = later.instance;
        moved == *later
    }
}
