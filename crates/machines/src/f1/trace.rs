//! The timeline of a compiled program: a track for each unit, crossbar port and memory stack.

use super::action::Action;
use super::compile::Compiled;
use super::graph::UnitKind;
use super::machine::F1;
use crate::engine::trace::{Drawn, Trace, TraceOptions, draw, utilisation};

/// Windows over which utilisation is counted (figure 10).
const WINDOWS: u64 = 400;

/// Draws the schedule at a clock in Hz, of a long one its beginning and its end, and the utilisation over time of all of it.
pub fn trace(compiled: &Compiled, machine: &F1, clock_hz: f64, options: TraceOptions) -> Trace {
    let (graph, geometry) = (&compiled.translation.graph, &compiled.geometry);
    let mut tracks: Vec<(String, String)> = Vec::new();
    let mut first = [0; 4];
    for kind in UnitKind::ALL {
        first[kind as usize] = tracks.len();
        for cluster in 0..machine.clusters {
            let units =
                (0..machine.units[kind as usize]).map(|unit| format!("cluster {cluster} {} {unit}", kind.name()));
            tracks.extend(units.map(|name| (kind.name().to_owned(), name)));
        }
    }
    let ports = tracks.len();
    for way in ["from scratchpad", "to scratchpad", "between clusters"] {
        tracks.extend((0..machine.clusters).map(|cluster| (way.to_owned(), format!("cluster {cluster} {way}"))));
    }
    let memory = tracks.len();
    tracks.extend((0..machine.stacks).map(|stack| ("hbm".to_owned(), format!("hbm{stack}"))));
    let crossbar = |way: usize, cluster: u16| ports + way * machine.clusters + usize::from(cluster);
    let mut slices: Vec<Drawn> = compiled
        .actions
        .iter()
        .map(|timed| {
            let (track, duration, name) = match timed.action {
                Action::Load { stack, value, .. } => {
                    (memory + usize::from(stack), geometry.transfer, format!("load {value}"))
                }
                Action::Store { stack, value, .. } => {
                    (memory + usize::from(stack), geometry.transfer, format!("store {value}"))
                }
                Action::Fetch { register, slot } => {
                    (crossbar(0, register.cluster), geometry.occupancy, format!("from bank {}", slot.bank))
                }
                Action::WriteBack { register, slot } => {
                    (crossbar(1, register.cluster), geometry.occupancy, format!("to bank {}", slot.bank))
                }
                Action::Forward { from, to } => {
                    (crossbar(2, to.cluster), geometry.occupancy, format!("from cluster {}", from.cluster))
                }
                Action::Execute { instruction, cluster, unit, .. } => {
                    let function = graph.function(instruction as usize);
                    let kind = function.unit() as usize;
                    let track = first[kind] + usize::from(cluster) * machine.units[kind] + usize::from(unit);
                    (track, geometry.occupancy_of(function.unit()), format!("{} {instruction}", function.name()))
                }
            };
            Drawn { track, start: timed.cycle, duration, name }
        })
        .collect();
    slices.sort_by_key(|slice| slice.start);
    let mut trace = draw(&tracks, &slices, clock_hz, options);
    trace.trace_events.extend(utilisation(&tracks, &slices, clock_hz, WINDOWS));
    trace
}
