//! Lower bound on time: no schedule of the same events on the same machine is shorter.
//!
//! There are two kinds of bound. A resource class needs at least its total work, spread evenly over its units, at their
//! rate. A chain of dependent events needs at least the sum of its latencies, however many units there are. The larger
//! is the lower bound. The rest of the schedule's time is due to resource conflicts or slack.

use super::checker::Checked;
use super::schedule::Resources;
use super::totals::{Totals, classes};
use serde::Serialize;

/// Name of the dependence bound in [`Bound::limits`].
pub const CRITICAL_PATH: &str = "critical path";

/// Lower bound of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// Cycles.
    pub cycles: u64,
    /// The class, or [`CRITICAL_PATH`], that sets the bound.
    pub critical: String,
    /// Lower bounds in cycles: of each class, then of the critical path.
    pub limits: Vec<(String, u64)>,
}

impl Bound {
    /// Bound of a checked schedule.
    pub fn of(resources: &Resources, totals: &Totals, checked: &Checked) -> Self {
        let mut limits: Vec<(String, u64)> = classes(resources)
            .into_iter()
            .map(|(class, members)| {
                let work: u64 = members.iter().map(|&unit| totals.needed[unit]).fold(0, u64::saturating_add);
                (class, work.div_ceil(members.len() as u64))
            })
            .collect();
        limits.push((CRITICAL_PATH.to_owned(), checked.critical_path));
        let (critical, cycles) =
            limits.iter().max_by_key(|(_, cycles)| *cycles).cloned().unwrap_or_else(|| (CRITICAL_PATH.to_owned(), 0));
        Self { cycles, critical, limits }
    }

    /// Bound divided by the time taken: 1 for a schedule that no other can beat.
    pub fn efficiency(&self, cycles: u64) -> f64 {
        if cycles == 0 { 1.0 } else { self.cycles as f64 / cycles as f64 }
    }
}
