//! The checker: it goes through a schedule by itself and trusts nothing that the mapper says.
//!
//! It holds every event against its unit's rate and latency (`hold`), and then against all others, in order of time (`judge`): a unit
//! takes up an operation only when it is free, a value is read only where it is and after it was written, element by element, a place is
//! overwritten only after its last reader, memories and ports are not asked for more than they have. From the same state it computes the
//! longest chain of dependences, and an `observer` what each gap of a unit waited for.
//!
//! A schedule is a list, whose events come in order of time (`list`), or a tree, whose items are put in that order on the way (`walk`).
//! Loops of a tree are gone through until their state has settled, and then skipped (`fold`). Checking a schedule folded and unrolled
//! gives the same result.

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

/// What a legal schedule turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Total cycles.
    pub cycles: u64,
    /// Stalls of the unit classes that were asked for, in that order.
    pub stalls: Vec<ClassStalls>,
    /// Length in cycles of the longest chain of dependent events.
    pub critical_path: u64,
    /// Events that were looked at one by one; the others follow from them.
    pub replayed_events: u64,
}

/// Goes through a schedule, with stalls accounted for the given unit classes. Loops are folded.
///
/// # Errors
/// The first hazard.
pub fn check<'a>(schedule: impl Into<Source<'a>>, primary_classes: &[String]) -> Result<Checked, Violation> {
    run(schedule.into(), primary_classes, true)
}

/// Like [`check`], without skipping any round: for tests and doubts.
///
/// # Errors
/// The first hazard.
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
