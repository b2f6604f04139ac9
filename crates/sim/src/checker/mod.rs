//! The checker: it replays a schedule without asking the mapper.
//!
//! First it checks every event against its unit's rate and latency (`hold`). Then it checks the events against each
//! other, in order of time (`judge`). A unit starts an operation only when it is free. A value is read only at its
//! place, each element after it was written. A place is overwritten only after its last read. Accesses stay within the
//! capacity of memories and the width of ports. From the same state the checker computes the longest chain of
//! dependences, and an `observer` finds the cause of each gap of a unit.
//!
//! A schedule is a list of events in order of time (`list`), or a tree whose items are visited in that order (`walk`).
//! Rounds of a loop are checked until its state repeats, and then skipped (`fold`). A schedule gives the same result
//! folded and unrolled.

mod blame;
mod content;
mod explain;
mod fold;
mod hold;
mod judge;
mod list;
mod memory;
mod observer;
mod state;
mod violation;
mod waits;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub use violation::{Hazard, Violation};

use super::list::Source;
use super::schedule::Schedule;
use super::stalls::ClassStalls;
use judge::Judge;
use observer::{Nobody, Observer};
use waits::Waits;
use walk::Tree;

/// Result for a legal schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Total cycles.
    pub cycles: u64,
    /// Stalls of the requested unit classes, in the order of the request.
    pub stalls: Vec<ClassStalls>,
    /// Length in cycles of the longest chain of dependent events.
    pub critical_path: u64,
    /// Events that were checked one by one; the others were skipped by folding.
    pub replayed_events: u64,
}

/// Checks a schedule, and counts stalls of the given unit classes. Loops are folded.
pub fn check<'a>(schedule: impl Into<Source<'a>>, primary_classes: &[String]) -> Result<Checked, Violation> {
    run(schedule.into(), primary_classes, true)
}

/// Like [`check`], without folding: for tests, and to confirm a result.
pub fn check_every_round(schedule: &Schedule, primary_classes: &[String]) -> Result<Checked, Violation> {
    run(schedule.into(), primary_classes, false)
}

fn run(source: Source<'_>, primary_classes: &[String], fold: bool) -> Result<Checked, Violation> {
    match primary_classes {
        [] => observed(source, Nobody, fold),
        classes => observed(source, Waits::new(source.resources(), classes), fold),
    }
}

fn observed<O: Observer>(source: Source<'_>, observer: O, fold: bool) -> Result<Checked, Violation> {
    hold::hold_resources(source.resources())?;
    let ((tree, layout), fold) = match source {
        Source::Loops(schedule) => (Tree::new(schedule)?, fold),
        Source::List(list) => ((Tree::default(), list::layout(list)?), false),
    };
    let mut judge = Judge::new(source, &layout, &tree, observer, fold);
    let cycles = match source {
        Source::Loops(schedule) => judge.run().map(|()| schedule.cycles())?,
        Source::List(list) => judge.list(list)?,
    };
    Ok(Checked {
        cycles: cycles as u64,
        critical_path: judge.critical_path as u64,
        replayed_events: judge.events,
        stalls: judge.observer.finish(&judge.busy, cycles),
    })
}
