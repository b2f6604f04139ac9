//! The checker: an independent replay of a schedule, which trusts nothing that the mapper says.
//!
//! It holds every event against its unit's rate and latency, and then replays all of them in order of time: a unit takes up
//! an operation only when it is free, a value is read only where it is and after it was written, element by element, a
//! place is overwritten only after its last reader, memories and ports are not asked for more than they have. From the same
//! state it computes what each gap of a unit waited for, and the longest chain of dependences.
//!
//! Loops are replayed until their state has settled, and then skipped (see `fold`). Checking a schedule folded and
//! unrolled gives the same result.

mod agenda;
mod blame;
mod content;
mod diagnose;
mod fold;
mod hold;
mod list;
mod plan;
mod replay;
mod state;
mod violation;

#[cfg(test)]
pub(crate) mod tests;

pub use violation::{Hazard, Violation};

use super::list::Source;
use super::schedule::{Resource, Schedule};
use super::stalls::{ClassStalls, Stall};

/// What a legal schedule turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Total cycles.
    pub cycles: u64,
    /// Stalls of the unit classes that were asked for, in that order.
    pub stalls: Vec<ClassStalls>,
    /// Length in cycles of the longest chain of dependent events.
    pub critical_path: u64,
    /// Events that were replayed one by one; the others follow from them.
    pub replayed_events: u64,
}

/// Replays a schedule, with stalls accounted for the given unit classes. Loops are folded; a list is gone through once.
///
/// # Errors
/// The first hazard.
pub fn check<'a>(schedule: impl Into<Source<'a>>, primary_classes: &[String]) -> Result<Checked, Violation> {
    match schedule.into() {
        Source::Loops(schedule) => run(schedule, primary_classes, true),
        Source::List(list) => list::check(list, primary_classes),
    }
}

/// Like [`check`], without skipping any round: for tests and doubts.
///
/// # Errors
/// The first hazard.
pub fn check_every_round(schedule: &Schedule, primary_classes: &[String]) -> Result<Checked, Violation> {
    run(schedule, primary_classes, false)
}

fn run(schedule: &Schedule, primary_classes: &[String], fold: bool) -> Result<Checked, Violation> {
    let plan = plan::Plan::new(schedule)?;
    let mut replay = replay::Replay::new(schedule, plan, primary_classes, fold);
    replay.run()?;
    let cycles = schedule.cycles();
    let mut stalls = Vec::new();
    for (class, name) in primary_classes.iter().enumerate() {
        let mut tally = replay.tallies[class];
        let units: Vec<usize> =
            (0..replay.busy.len()).filter(|&i| schedule.resources.class(Resource(i as u32)) == name).collect();
        for &unit in &units {
            match replay.busy[unit].holder {
                Some(_) => tally.add(Stall::FillDrain, cycles - replay.busy[unit].until),
                None => tally.add(Stall::Unused, cycles),
            }
        }
        stalls.push(ClassStalls { class: name.clone(), units: units.len() as u64, tally });
    }
    Ok(Checked {
        cycles: cycles as u64,
        stalls,
        critical_path: replay.critical_path as u64,
        replayed_events: replay.expanded,
    })
}
