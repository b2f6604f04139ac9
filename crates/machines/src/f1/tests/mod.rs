//! The compiler's phases together.

mod areas;
mod csr;
mod descriptions;
mod full;
mod lockstep;
mod orders;
mod programs;
mod reports;
mod saved;
mod schedules;
mod streams;

use super::action::Timed;
use super::expand::Expansion;
use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry, PipelineDepth, WORD_BYTES};
use super::order::Pace;
use super::{cycle, fetch, movement};
use polyfabric_kernels::RingDegree;
use polyfabric_sim::list::Source;
use polyfabric_sim::totals::Totals;

/// The paper's machine (sections 3 and 6).
pub(in crate::f1) fn paper() -> F1 {
    F1 {
        clock_hz: 1e9,
        clusters: 16,
        lanes: 128,
        units: [1, 1, 2, 2],
        register_file: 512 << 10,
        register_banks: 8,
        accesses_per_cycle: 2,
        multicast: true,
        banks: 16,
        bank_bytes: 4 << 20,
        stacks: 2,
        stack_bytes: 512.0,
        memory_latency: 200,
        depth: PipelineDepth { multiplier: 4, adder: 1, network: 3 },
        low_throughput: None,
    }
}

pub(in crate::f1) fn geometry(machine: &F1, degree: usize) -> Geometry {
    machine.geometry(RingDegree::new(degree).expect("a degree")).expect("it fits")
}

/// Phases 2 and 3, after the fetch of the instructions, with every instruction in the cluster of its limb.
fn compile(graph: &Graph, machine: &F1, geometry: &Geometry) -> Vec<Timed> {
    let movement = movement::schedule(graph, machine, geometry, Pace::Early);
    let limb = |index| usize::from(graph.function(index).limb());
    let home: Vec<u16> = (0..graph.len()).map(|index| (limb(index) % machine.clusters) as u16).collect();
    let scheduled = cycle::schedule(graph, &home, &movement, &[], machine, geometry).expect("registers suffice");
    fetch::behind(scheduled.actions, graph, machine, geometry)
}

/// Totals of a schedule.
struct Sums {
    /// Busy cycles of the units of each kind.
    busy: [u64; 4],
    /// Vectors loaded and stored.
    off_chip: [u64; 2],
    /// Vectors read and written by register files and scratchpad banks.
    on_chip: u64,
}

fn sums(graph: &Graph, actions: &[Timed], machine: &F1, geometry: &Geometry) -> Sums {
    let events = Expansion::of_existing(graph, actions, machine, geometry);
    let totals = Totals::of(Source::List(&events));
    let resources = crate::f1::expand::resources(machine, geometry);
    let busy = UnitKind::ALL.map(|kind| {
        let own = resources.units.iter().zip(&totals.occupied).filter(|(unit, _)| unit.class == kind.name());
        own.map(|(_, &cycles)| cycles).sum()
    });
    let vector = geometry.vector.get() as u64 * WORD_BYTES;
    let moved = |memory: usize| [totals.read[memory] / vector, totals.written[memory] / vector];
    let on_chip = [1, 2].map(|memory| moved(memory).iter().sum::<u64>()).iter().sum();
    Sums { busy, off_chip: moved(0), on_chip }
}
