//! When the instructions themselves come: the streams lie in off-chip memory too (section 3).
//!
//! They are fetched in the order of their start, far ahead, over whatever the stacks have idle. The program starts when its first
//! instructions are there; where later ones cannot all come in idle time, it starts so much later that they can. Nothing else changes,
//! for every action moves by the same number of cycles.

use super::action::{Action, Timed};
use super::graph::Graph;
use super::machine::{F1, Geometry};
use super::stream::{Stream, starts, streams};

/// `actions` so much later that each of their instructions has come, in order of time.
pub fn behind(mut actions: Vec<Timed>, graph: &Graph, machine: &F1, geometry: &Geometry) -> Vec<Timed> {
    let delay = delay(&streams(graph, &actions, machine, geometry), &actions, machine, geometry);
    actions.iter_mut().for_each(|timed| timed.cycle += delay);
    actions.sort_by_key(|timed| timed.cycle);
    actions
}

/// Cycles by which `actions` must start later so that the stacks bring each instruction of their streams before it starts.
fn delay(streams: &[Stream], actions: &[Timed], machine: &F1, geometry: &Geometry) -> u64 {
    let needed = starts(streams);
    let busy = actions.iter().filter(|timed| matches!(timed.action, Action::Load { .. } | Action::Store { .. }));
    let mut starts: Vec<u64> = busy.map(|timed| timed.cycle).collect();
    starts.sort_unstable();
    let transfer = geometry.transfer;
    // Transfers that have ended, those that have begun, and the cycles of stacks that the instructions take.
    let (mut ended, mut begun, mut bytes, mut worst) = (0, 0, 0, 0_f64);
    for (cycle, more) in needed {
        bytes += more;
        // What starts within a latency of the first action is asked for before that one.
        let ahead = machine.memory_latency.saturating_sub(cycle);
        let until = cycle.saturating_sub(machine.memory_latency);
        while starts.get(begun).is_some_and(|&start| start <= until) {
            begun += 1;
        }
        while starts.get(ended).is_some_and(|&start| start + transfer <= until) {
            ended += 1;
        }
        let under_way: u64 = starts[ended..begun].iter().map(|start| until - start).sum();
        let idle = machine.stacks as u64 * until - (ended as u64 * transfer + under_way);
        let late = (ahead * machine.stacks as u64) as f64 + bytes as f64 / machine.stack_bytes;
        worst = worst.max(late - idle as f64);
    }
    (worst / machine.stacks as f64).ceil() as u64
}
