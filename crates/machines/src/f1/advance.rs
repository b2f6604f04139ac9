//! Phase 1's last step: sorts instructions by the time at which their results are needed.
//!
//! Units are pipelines of a hundred cycles and more, and a key switch uses several in sequence: an
//! automorphism, an inverse transform, the transforms of its digits. In an order by dependences alone, such a
//! chain starts when its end is due. Here an operand of a long pipeline is due earlier than the result, by the
//! pipeline's latency or half of it ([`Pace`]). The estimate of each group converts cycles to numbers of
//! instructions: the time on its busiest resource divided by its instructions.

use super::estimate::Estimate;
use super::machine::{F1, Geometry};
use super::order::{Ordered, Pace, places, reordered};

/// Sorts the instructions of `ordered` by the time at which their results are needed. They keep their clusters.
/// Groups overlap if a chain of the later one starts early.
pub fn advance(ordered: Ordered, machine: &F1, geometry: &Geometry) -> Ordered {
    let graph = &ordered.translation.graph;
    let mut wanted = due(&ordered, machine, geometry);
    for index in (0..graph.len()).rev() {
        for &user in graph.users(index) {
            let latency = geometry.latency(graph.function(user as usize));
            let ahead = match (ordered.pace, latency >= geometry.occupancy) {
                (Pace::Early, true) => latency as f64,
                (Pace::Early, false) => 0.0,
                (Pace::Close, true) => latency as f64 / 2.0,
                (Pace::Close, false) => geometry.occupancy as f64 / 4.0,
            };
            wanted[index] = wanted[index].min(wanted[user as usize] - ahead);
        }
    }
    let mut order: Vec<u32> = (0..graph.len() as u32).collect();
    // The sort is stable, so an operand stays before its reader.
    order.sort_by(|&a, &b| wanted[a as usize].total_cmp(&wanted[b as usize]));
    let home = order.iter().map(|&old| ordered.home[old as usize]).collect();
    let mut runs = ordered.runs;
    let new = places(&order);
    runs.iter_mut().for_each(|run| run.renumber(&new));
    Ordered { translation: reordered(&ordered.translation, &order), home, runs, ..ordered }
}

/// The cycle in which each instruction is due, if every group takes as long as its busiest resource.
fn due(ordered: &Ordered, machine: &F1, geometry: &Geometry) -> Vec<f64> {
    let mut due = Vec::with_capacity(ordered.home.len());
    let mut now = 0.0;
    for (group, cycles) in ordered.groups.iter().zip(Estimate::new(ordered, machine, geometry).longest()) {
        let each = cycles / f64::from(group.instructions.max(1));
        due.extend((0..group.instructions).map(|place| now + f64::from(place) * each));
        now += cycles;
    }
    due
}
