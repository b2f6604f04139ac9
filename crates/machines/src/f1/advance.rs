//! Phase 1's last step: instructions in the order in which their results are wanted.
//!
//! Units are pipelines of a hundred cycles and more, and in a key switch several stand one behind the other: an automorphism, an inverse
//! transform, the transforms of its digits. Ordered by dependencies alone, such a chain begins when its end is due. Here what a long
//! pipeline reads is due that pipeline's latency before its result is, or half of it ([`Pace`]). How many instructions that are, the estimate of each group
//! says: what takes its longest resource so long has so many instructions.

use super::estimate::Estimate;
use super::machine::{F1, Geometry};
use super::order::{Ordered, Pace, places, reordered};

/// Puts the instructions of `ordered` in the order in which their results are wanted. They stay in their clusters, and groups overlap where
/// a chain of the later one begins.
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
    // What is wanted at the same time stays in order, so an operand comes before its reader.
    order.sort_by(|&a, &b| wanted[a as usize].total_cmp(&wanted[b as usize]));
    let home = order.iter().map(|&old| ordered.home[old as usize]).collect();
    let mut runs = ordered.runs;
    let new = places(&order);
    runs.iter_mut().for_each(|run| run.renumber(&new));
    Ordered { translation: reordered(&ordered.translation, &order), home, runs, ..ordered }
}

/// The cycle in which each instruction's turn comes, if every group takes as long as its longest resource.
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
