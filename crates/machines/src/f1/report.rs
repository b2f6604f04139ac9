//! What a compiled program takes on F1, in the fields that every machine's report has.

use super::action::Action;
use super::compile::Compiled;
use super::graph::{Graph, LeafClass, UnitKind};
use super::machine::{F1, Geometry, WORD_BYTES};
use super::stalls::stalls;
use super::stream::encode;
use crate::engine::description::Description;
use crate::engine::energy::Energy;
use crate::engine::report::{SimulationError, SimulationReport, StallReport};
use std::collections::BTreeMap;

/// Bytes between chip and memory, as figure 9a divides them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Hints, once each.
    pub hints: u64,
    /// Hints that had to come again.
    pub hints_again: u64,
    /// Inputs once each, and results.
    pub inputs_outputs: u64,
    /// Inputs that had to come again.
    pub inputs_again: u64,
    /// Intermediate values that came back.
    pub intermediate_loads: u64,
    /// Intermediate values that made room.
    pub intermediate_stores: u64,
}

impl Traffic {
    /// Of a compiled program.
    pub fn of(compiled: &Compiled) -> Self {
        let graph = &compiled.translation.graph;
        let bytes = compiled.geometry.vector.get() as u64 * WORD_BYTES;
        let mut loaded = vec![false; graph.values()];
        let mut results = vec![false; graph.values()];
        graph.outputs().iter().for_each(|&output| results[graph.number(output)] = true);
        let mut traffic = Self::default();
        for timed in &compiled.actions {
            match timed.action {
                Action::Load { value, .. } => {
                    let again = std::mem::replace(&mut loaded[value as usize], true);
                    let class = graph.vector(value as usize).as_leaf().map(|leaf| graph.leaves()[leaf]);
                    *match (class, again) {
                        (Some(LeafClass::Hint), false) => &mut traffic.hints,
                        (Some(LeafClass::Hint), true) => &mut traffic.hints_again,
                        (Some(LeafClass::Input), false) => &mut traffic.inputs_outputs,
                        (Some(LeafClass::Input), true) => &mut traffic.inputs_again,
                        (None, _) => &mut traffic.intermediate_loads,
                    } += bytes;
                }
                Action::Store { value, .. } if results[value as usize] => traffic.inputs_outputs += bytes,
                Action::Store { .. } => traffic.intermediate_stores += bytes,
                _ => {}
            }
        }
        traffic
    }

    /// Name and bytes of each class.
    pub fn classes(&self) -> [(&'static str, u64); 6] {
        [
            ("hints", self.hints),
            ("hints_again", self.hints_again),
            ("inputs_outputs", self.inputs_outputs),
            ("inputs_again", self.inputs_again),
            ("intermediate_loads", self.intermediate_loads),
            ("intermediate_stores", self.intermediate_stores),
        ]
    }

    /// Everything.
    pub fn total(&self) -> u64 {
        self.classes().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Cycles that no schedule of the same instructions and transfers falls below, by what sets them.
pub fn limits(compiled: &Compiled, machine: &F1) -> BTreeMap<String, u64> {
    let (graph, geometry) = (&compiled.translation.graph, &compiled.geometry);
    let counts = graph.counts();
    let mut limits: BTreeMap<String, u64> = UnitKind::ALL
        .into_iter()
        .map(|kind| {
            let units = machine.unit_count(kind) as u64;
            (kind.name().to_owned(), counts[kind as usize].div_ceil(units) * geometry.occupancy_of(kind))
        })
        .collect();
    let [loads, stores] = compiled.checked.off_chip;
    limits.insert("hbm".to_owned(), (loads + stores).div_ceil(machine.stacks as u64) * geometry.transfer);
    limits.insert("critical path".to_owned(), critical_path(graph, geometry, machine));
    limits
}

/// Cycles of the longest chain of instructions, from memory to memory.
fn critical_path(graph: &Graph, geometry: &Geometry, machine: &F1) -> u64 {
    let network = machine.depth.network;
    // A leaf comes through the scratchpad and a crossbar; each reader of a memory follows its writer by a cycle.
    let leaf = geometry.load_latency + 1 + network;
    let mut ready = vec![0; graph.len()];
    for index in 0..graph.len() {
        let operands = graph.operands(index).iter();
        let start = operands.map(|operand| operand.as_result().map_or(leaf, |result| ready[result])).max();
        ready[index] = start.unwrap_or(0) + geometry.latency(graph.function(index)) + 1;
    }
    let last = graph.outputs().iter().filter_map(|output| output.as_result()).map(|result| ready[result]).max();
    // To the scratchpad, and from there to memory.
    last.map_or(0, |ready| ready + network + geometry.occupancy)
}

/// Shares of the time at work.
fn utilisation(compiled: &Compiled, machine: &F1) -> BTreeMap<String, f64> {
    let (checked, geometry) = (&compiled.checked, &compiled.geometry);
    let cycles = checked.cycles.max(1) as f64;
    let share = |busy: u64, capacity: usize| busy as f64 / (capacity as f64 * cycles);
    let mut shares: BTreeMap<String, f64> = UnitKind::ALL
        .into_iter()
        .map(|kind| (kind.name().to_owned(), share(checked.busy[kind as usize], machine.unit_count(kind))))
        .collect();
    let vectors = |count: u64| count * geometry.occupancy;
    let transfers: u64 = checked.transfers.iter().sum();
    shares.insert("crossbars".to_owned(), share(vectors(transfers), 3 * machine.clusters));
    shares.insert("hbm".to_owned(), share(checked.off_chip.iter().sum::<u64>() * geometry.transfer, machine.stacks));
    let ports = machine.register_banks * machine.accesses_per_cycle * machine.clusters;
    shares.insert("memory:register_file".to_owned(), share(vectors(checked.register_streams), ports));
    let ports = machine.accesses_per_cycle * machine.banks;
    shares.insert("memory:scratchpad".to_owned(), share(vectors(checked.bank_streams), ports));
    shares
}

/// Cycles from the first load to the end of the last store.
fn latency_cycles(compiled: &Compiled) -> u64 {
    let loads = compiled.actions.iter().filter(|timed| matches!(timed.action, Action::Load { .. }));
    compiled.checked.cycles - loads.map(|timed| timed.cycle).min().unwrap_or(0)
}

/// What is counted for the throughput: key switches, or instructions of a program that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// How many.
    pub count: u64,
    /// Of what.
    pub of: &'static str,
}

/// The report of a compiled program.
///
/// # Errors
/// [`SimulationError`] when a figure of the machine file is unknown.
pub fn report(
    compiled: &Compiled,
    machine: &F1,
    description: &Description,
    (program, parameters): (&str, &str),
    work: Work,
) -> Result<SimulationReport, SimulationError> {
    let cycles = compiled.checked.cycles;
    let clock = description.clock_hz()?;
    let seconds = cycles as f64 / clock;
    let utilisation = utilisation(compiled, machine);
    let traffic = Traffic::of(compiled);
    let instructions = encode(&compiled.streams(machine)).len() as u64;
    let total = traffic.total() + instructions;
    let mut energy = Energy::of(description, total, &utilisation, cycles)?;
    if let Some(variant) = machine.low_throughput {
        // The machine file's area and power are of the full units.
        (energy.total_j, energy.area_mm2) = (None, None);
        for part in energy.components.iter_mut().filter(|part| part.name == variant.kind().name()) {
            (part.area_mm2, part.full_power_w, part.energy_j) = (None, None, None);
        }
    }
    let limits = limits(compiled, machine);
    let (critical, bound) = limits.iter().max_by_key(|&(_, &cycles)| cycles).map_or(("", 0), |(name, &c)| (name, c));
    let stalls: Vec<StallReport> = stalls(compiled, machine).iter().map(StallReport::from).collect();
    let mut traffic_bytes: BTreeMap<&'static str, u64> = traffic.classes().into();
    traffic_bytes.insert("instructions", instructions);
    traffic_bytes.insert("total", total);
    Ok(SimulationReport {
        machine: description.name().to_owned(),
        readings: description.readings().clone(),
        program: program.to_owned(),
        parameters: parameters.to_owned(),
        operations: work.count,
        operation: work.of.to_owned(),
        cycles,
        seconds,
        latency_s: latency_cycles(compiled) as f64 / clock,
        throughput_per_s: if seconds > 0.0 { work.count as f64 / seconds } else { 0.0 },
        lower_bound_cycles: bound,
        efficiency: if cycles > 0 { bound as f64 / cycles as f64 } else { 1.0 },
        critical_resource: critical.to_owned(),
        utilisation,
        stalls: stalls.first().map(|stalls| stalls.cycles.clone()).unwrap_or_default(),
        stalls_by_class: stalls,
        traffic_bytes,
        area_mm2: energy.area_mm2,
        power_w: energy.total_j.filter(|_| seconds > 0.0).map(|joule| joule / seconds),
        energy_j: energy.total_j,
        off_chip_energy_j: energy.off_chip_j,
        components: energy.components,
        events: compiled.actions.len() as u64,
        replayed_events: compiled.actions.len() as u64,
        limits,
    })
}
