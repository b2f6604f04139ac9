//! Observers of the checker, which find out what each event waited for.
//!
//! The checker calls an observer when an event starts, when it finds an operand or a free place, and when it ends. The
//! checker's state holds the observer's data: one record for each event under way ([`Observer::Flight`]), and one for
//! each writer or reader of a value ([`Observer::Mark`]). A loop is folded only if the visible part of this data
//! repeats from round to round.

use super::state::Busy;
use crate::schedule::{Access, Event, Resource, Resources};
use crate::stalls::ClassStalls;

/// An event at its start.
pub(super) struct Begin<'a> {
    pub resources: &'a Resources,
    /// As written; `start` is its absolute start.
    pub event: &'a Event,
    pub start: i64,
    /// Running loop of the event.
    pub instance: usize,
    pub busy: &'a Busy,
    /// The earliest start that the content of the unit allows.
    pub legal: i64,
    /// Whether wires link it to other units.
    pub on_wire: bool,
}

/// An operand or a place that was ready `slack` cycles before it was needed.
pub(super) struct Wait {
    /// Current cycle.
    pub time: i64,
    /// Start of the event.
    pub start: i64,
    pub slack: i64,
    pub streams: bool,
}

/// See the module's documentation.
pub(super) trait Observer {
    /// The writer or reader of a value.
    type Mark: Clone;
    /// An event under way.
    type Flight: Clone;
    /// The record of a mark, a unit or an operand. Rounds of a loop are compared by it.
    type Seen: Clone + PartialEq;
    /// The record of an event under way. Rounds of a loop are compared by it.
    type View;
    /// Sums over one round of a loop.
    type Round;

    fn begin(&mut self, begin: &Begin<'_>) -> Self::Flight;

    /// The event takes a value off a wire, on which `writer` has put it.
    fn take(&mut self, flight: &Self::Flight, writer: &Self::Mark);

    /// The event puts a value on a wire.
    fn hand_on(&mut self, flight: &Self::Flight);

    /// Identifies the event to others that wait for a value that it reads or writes.
    fn mark(&self, flight: &Self::Flight, resources: &Resources, resource: Resource, access: &Access) -> Self::Mark;

    /// The event reads an operand that `writer` has written.
    fn operand(&mut self, flight: &Self::Flight, writer: &Self::Mark, wait: &Wait) -> Option<Self::Seen>;

    /// The event writes to a place that `holder` was the last to use.
    fn room(&mut self, flight: &Self::Flight, holder: &Self::Mark, wait: &Wait);

    /// Finishes a step of an event; `last` marks its final one. Adds to `over` the running loop of each event that is
    /// complete.
    fn step(&mut self, step: Step<'_, Self::Flight>, over: &mut Vec<usize>);

    fn forget(&mut self, _instance: usize) {}

    /// The cause to which a wait for a unit is charged, as seen in cycle `time`.
    fn unit(&self, resource: usize, time: i64) -> Self::Seen;

    /// The cause of the wait of a value's writer or reader, as known at the start of cycle `time`.
    fn seen(&self, mark: &Self::Mark, time: i64) -> Self::Seen;

    fn view(&self, flight: &Self::Flight) -> Self::View;

    /// Whether `later` equals `view`, shifted by `cycles`.
    fn repeats(view: &Self::View, later: &Self::View, cycles: i64) -> bool;

    /// Whether `later` equals `mark`, shifted by `cycles`.
    fn marks_alike(mark: &Self::Mark, later: &Self::Mark, cycles: i64) -> bool;

    /// Shifts a mark by `cycles`.
    fn move_mark(mark: &mut Self::Mark, cycles: i64);

    /// Shifts events by `cycles`: those in `flights`, and those of `writers` that are not over. Each event is shifted
    /// once, even if several of its accesses are under way.
    fn move_events<'f>(
        &mut self,
        flights: impl Iterator<Item = &'f Self::Flight>,
        writers: impl Iterator<Item = &'f Self::Mark>,
        cycles: i64,
    ) where
        Self: 'f;

    /// A running loop begins a round.
    fn begin_round(&mut self, instance: usize);

    fn round(&self, instance: usize) -> Self::Round;

    /// Counts `rounds` skipped rounds of a running loop. `parents` gives the loop that encloses each loop.
    fn book(&mut self, instance: usize, round: &Self::Round, rounds: i64, parents: &dyn Fn(usize) -> Option<usize>);

    /// The result for a schedule of `cycles` cycles.
    fn finish(self, busy: &[Busy], cycles: i64) -> Vec<ClassStalls>;
}

/// See [`Observer::step`].
pub(super) struct Step<'a, F> {
    pub flight: &'a F,
    pub instance: usize,
    pub last: bool,
    /// The loop that encloses each running loop.
    pub parents: &'a dyn Fn(usize) -> Option<usize>,
}

/// An observer that records nothing.
pub(super) struct Nobody;

impl Observer for Nobody {
    type Mark = ();
    type Flight = ();
    type Seen = ();
    type View = ();
    type Round = ();

    fn begin(&mut self, _: &Begin<'_>) {}
    fn take(&mut self, (): &(), (): &()) {}
    fn hand_on(&mut self, (): &()) {}
    fn mark(&self, (): &(), _: &Resources, _: Resource, _: &Access) {}
    fn operand(&mut self, (): &(), (): &(), _: &Wait) -> Option<()> {
        None
    }
    fn room(&mut self, (): &(), (): &(), _: &Wait) {}
    fn step(&mut self, step: Step<'_, ()>, over: &mut Vec<usize>) {
        if step.last {
            over.push(step.instance);
        }
    }
    fn unit(&self, _: usize, _: i64) {}
    fn seen(&self, (): &(), _: i64) {}
    fn view(&self, (): &()) {}
    fn repeats((): &(), (): &(), _: i64) -> bool {
        true
    }
    fn marks_alike((): &(), (): &(), _: i64) -> bool {
        true
    }
    fn move_mark((): &mut (), _: i64) {}
    fn move_events<'f>(&mut self, _: impl Iterator<Item = &'f ()>, _: impl Iterator<Item = &'f ()>, _: i64) {}
    fn begin_round(&mut self, _: usize) {}
    fn round(&self, _: usize) {}
    fn book(&mut self, _: usize, (): &(), _: i64, _: &dyn Fn(usize) -> Option<usize>) {}
    fn finish(self, _: &[Busy], _: i64) -> Vec<ClassStalls> {
        Vec::new()
    }
}
