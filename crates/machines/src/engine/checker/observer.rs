//! What looks on while a schedule is checked, and asks what everything waited for.
//!
//! The checker calls an observer when an event starts, finds an operand or a place, and is over. What the observer wants to know later of
//! an event ([`Observer::Flight`]) and of who has moved a value ([`Observer::Mark`]) lies in the checker's state. A loop is folded when all
//! that can be seen of these repeats from round to round.

use super::state::Busy;
use crate::engine::schedule::{Access, Event, Resource, Resources};
use crate::engine::stalls::ClassStalls;

/// An event that starts.
pub(super) struct Begin<'a> {
    pub resources: &'a Resources,
    /// As written; it starts in cycle `start`.
    pub event: &'a Event,
    pub start: i64,
    /// Running loop that it belongs to.
    pub instance: usize,
    pub busy: &'a Busy,
    /// The first cycle in which what is in the unit lets it start.
    pub legal: i64,
    /// Whether it is linked with other units by wires.
    pub on_wire: bool,
}

/// An operand, or a place, that was there `slack` cycles earlier than needed.
pub(super) struct Wait {
    /// Now.
    pub time: i64,
    /// Start of the event.
    pub start: i64,
    pub slack: i64,
    pub streams: bool,
}

/// See the module's documentation.
pub(super) trait Observer {
    /// Who has moved a value.
    type Mark: Clone;
    /// An event under way.
    type Flight: Clone;
    /// What is known of a mark, a unit or an operand, for comparison.
    type Seen: Clone + PartialEq;
    /// What is known of an event under way, for comparison a round later.
    type View;
    /// What a loop's round adds up to.
    type Round;

    fn begin(&mut self, begin: &Begin<'_>) -> Self::Flight;

    /// The event takes a value off a wire, where `writer` has put it.
    fn take(&mut self, flight: &Self::Flight, writer: &Self::Mark);

    /// The event puts a value on a wire.
    fn hand_on(&mut self, flight: &Self::Flight);

    /// Who the event is to those that wait for what it reads or writes.
    fn mark(&self, flight: &Self::Flight, resources: &Resources, resource: Resource, access: &Access) -> Self::Mark;

    /// An operand that `writer` has written.
    fn operand(&mut self, flight: &Self::Flight, writer: &Self::Mark, wait: &Wait) -> Option<Self::Seen>;

    /// A place that `holder` was the last to use.
    fn room(&mut self, flight: &Self::Flight, holder: &Self::Mark, wait: &Wait);

    /// A step of an event is over; `last` if all of them are. Adds to `over` the running loops, by number, of events of which nothing more comes.
    fn step(&mut self, step: Step<'_, Self::Flight>, over: &mut Vec<usize>);

    /// A running loop is over.
    fn forget(&mut self, _instance: usize) {}

    /// What one waits for in cycle `time` who waits for a unit.
    fn unit(&self, resource: usize, time: i64) -> Self::Seen;

    /// What a value's writer or reader has waited for, as known at the start of cycle `time`.
    fn seen(&self, mark: &Self::Mark, time: i64) -> Self::Seen;

    fn view(&self, flight: &Self::Flight) -> Self::View;

    /// Whether `later` is `view` some cycles on.
    fn repeats(view: &Self::View, later: &Self::View, cycles: i64) -> bool;

    /// Whether `later` is `mark` some cycles on.
    fn marks_alike(mark: &Self::Mark, later: &Self::Mark, cycles: i64) -> bool;

    /// Moves a mark on by some cycles.
    fn move_mark(mark: &mut Self::Mark, cycles: i64);

    /// Moves events on by some cycles, each once, however many of its accesses are under way: those in `flights`, and those of `writers` that are not over.
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

    /// So many rounds of a running loop were skipped; `parents` gives the loop around each.
    fn book(&mut self, instance: usize, round: &Self::Round, rounds: i64, parents: &dyn Fn(usize) -> Option<usize>);

    /// The result for a schedule of so many cycles.
    fn finish(self, busy: &[Busy], cycles: i64) -> Vec<ClassStalls>;
}

/// See [`Observer::step`].
pub(super) struct Step<'a, F> {
    pub flight: &'a F,
    pub instance: usize,
    pub last: bool,
    /// The loop around each running loop.
    pub parents: &'a dyn Fn(usize) -> Option<usize>,
}

/// Nobody asks.
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
