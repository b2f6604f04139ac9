//! The compiler's phases together.

mod csr;
mod descriptions;
mod full;
mod lockstep;
mod network;
mod orders;
mod programs;
mod reports;
mod saved;
mod schedules;
mod streams;

use super::action::Timed;
use super::graph::Graph;
use super::machine::{F1, Geometry, PipelineDepth};
use super::{cycle, fetch, movement};
use polyfabric_kernels::RingDegree;

/// The paper's machine (sections 3 and 6).
fn paper() -> F1 {
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

fn geometry(machine: &F1, degree: usize) -> Geometry {
    machine.geometry(RingDegree::new(degree).expect("a degree")).expect("it fits")
}

/// Phases 2 and 3, behind the fetch of the instructions, with every instruction in the cluster of its limb.
fn compile(graph: &Graph, machine: &F1, geometry: &Geometry) -> Vec<Timed> {
    let movement = movement::schedule(graph, machine, geometry);
    let limb = |index| usize::from(graph.function(index).limb());
    let home: Vec<u16> = (0..graph.len()).map(|index| (limb(index) % machine.clusters) as u16).collect();
    let scheduled = cycle::schedule(graph, &home, &movement, &[], machine, geometry).expect("registers suffice");
    fetch::behind(scheduled.actions, graph, machine, geometry)
}
