//! The report of a simulation, as data.

use super::bound::Bound;
use super::checker::{Violation, check};
use super::description::{Description, DescriptionError};
use super::energy::{ComponentEnergy, Energy, EnergyError, utilisation};
use super::list::Source;
use super::schedule::Traffic;
use super::stalls::{ClassStalls, Stall};
use super::totals::Totals;
use polyfabric_kernels::cancel;
use serde::Serialize;
use std::collections::BTreeMap;

/// The input of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub machine: &'a Description,
    /// The mapper's schedule.
    pub schedule: Source<'a>,
    /// Name of the kernel program.
    pub program: &'a str,
    /// Name of the parameter set.
    pub parameters: &'a str,
    /// Units of throughput in the program.
    pub operations: u64,
    /// Kind of these units.
    pub operation: &'a str,
    /// Unit classes whose stalls are reported; the first is the headline.
    pub primary: &'a [String],
}

/// Stalls of one unit class, in cycles averaged over its units; they sum to the total.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StallReport {
    /// Unit class.
    pub class: String,
    /// Units of the class.
    pub units: u64,
    /// Cycles by category, in the order of [`Stall::ALL`].
    pub cycles: BTreeMap<&'static str, f64>,
}

impl From<&ClassStalls> for StallReport {
    fn from(stalls: &ClassStalls) -> Self {
        let cycles = Stall::ALL.into_iter().map(|stall| (stall.name(), stalls.mean(stall))).collect();
        Self { class: stalls.class.clone(), units: stalls.units, cycles }
    }
}

/// Result of a simulation. Absent numbers are unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationReport {
    pub machine: String,
    /// Chosen option of every open fact of the machine file.
    pub readings: BTreeMap<String, String>,
    /// Kernel program.
    pub program: String,
    /// Parameter set.
    pub parameters: String,
    /// Units of throughput in the program.
    pub operations: u64,
    /// Kind of these units: lookups, key switches, instructions.
    pub operation: String,
    /// Total cycles.
    pub cycles: u64,
    /// Total time.
    pub seconds: f64,
    /// Time from the first load to the last store of the whole program.
    pub latency_s: f64,
    /// Units of throughput a second.
    pub throughput_per_s: f64,
    /// No schedule of the same events takes fewer cycles.
    pub lower_bound_cycles: u64,
    /// Lower bound over cycles.
    pub efficiency: f64,
    /// Unit class, channel class or `critical path` that sets the bound.
    pub critical_resource: String,
    /// Lower bound by each class and by the critical path.
    pub limits: BTreeMap<String, u64>,
    /// Share of the time at work, by class and by memory.
    pub utilisation: BTreeMap<String, f64>,
    /// Cycles of the first primary class, by stall category.
    pub stalls: BTreeMap<&'static str, f64>,
    /// The same for every primary class.
    pub stalls_by_class: Vec<StallReport>,
    /// Bytes between chip and memory, by class, with their sum as `total`. Without `instructions` if the machine has no
    /// model of them.
    pub traffic_bytes: BTreeMap<&'static str, u64>,
    /// The part of these bytes that is moved because on-chip memory is too small. It excludes one load of each key and
    /// input, results and instructions. Absent if it is not known which loads are repeated.
    pub not_compulsory_bytes: Option<u64>,
    /// Bandwidth of the channels to off-chip memory that the schedule uses.
    pub off_chip_bytes_per_s: f64,
    /// Area of all components.
    pub area_mm2: Option<f64>,
    /// Mean power: energy over time.
    pub power_w: Option<f64>,
    /// Energy of chip and memory.
    pub energy_j: Option<f64>,
    /// Energy of off-chip memory that is not part of a component's.
    pub off_chip_energy_j: Option<f64>,
    pub components: Vec<ComponentEnergy>,
    /// Events of the schedule when unrolled.
    pub events: u64,
    /// Events that the checker replayed one by one.
    pub replayed_events: u64,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulationError {
    #[error("the schedule of `{program}` on `{machine}` is illegal, {violation}. This is a fault of the mapper")]
    Schedule { program: String, machine: String, violation: Box<Violation> },
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error(transparent)]
    Energy(#[from] EnergyError),
}

impl SimulationReport {
    /// Checks a schedule and reports on it.
    pub fn of(subject: &Subject) -> Result<Self, SimulationError> {
        let Subject { machine, schedule, .. } = *subject;
        let checking = cancel::stage("checking every event", 0);
        let checked = check(schedule, subject.primary).map_err(|violation| SimulationError::Schedule {
            program: subject.program.to_owned(),
            machine: machine.name().to_owned(),
            violation: Box::new(violation),
        })?;
        drop(checking);
        let totals = Totals::of(schedule);
        let bound = Bound::of(schedule.resources(), &totals, &checked);
        let utilisation = utilisation(schedule.resources(), &totals, checked.cycles);
        let energy = Energy::of(machine, (schedule.resources(), &totals), &utilisation, checked.cycles)?;
        let clock = machine.clock_hz()?;
        let seconds = checked.cycles as f64 / clock;
        let stalls_by_class: Vec<StallReport> = checked.stalls.iter().map(StallReport::from).collect();
        let mut traffic_bytes: BTreeMap<&'static str, u64> =
            Traffic::ALL.into_iter().zip(totals.traffic).map(|(class, bytes)| (class.name(), bytes)).collect();
        // Zero bytes mean that the machine has no model of instructions.
        if totals.traffic[Traffic::Instructions as usize] == 0 {
            traffic_bytes.remove(Traffic::Instructions.name());
        }
        traffic_bytes.insert("total", totals.traffic_bytes());
        Ok(Self {
            machine: machine.name().to_owned(),
            readings: machine.readings().clone(),
            program: subject.program.to_owned(),
            parameters: subject.parameters.to_owned(),
            operations: subject.operations,
            operation: subject.operation.to_owned(),
            cycles: checked.cycles,
            seconds,
            latency_s: latency_cycles(schedule, checked.cycles) as f64 / clock,
            throughput_per_s: if seconds > 0.0 { subject.operations as f64 / seconds } else { 0.0 },
            lower_bound_cycles: bound.cycles,
            efficiency: bound.efficiency(checked.cycles),
            critical_resource: bound.critical,
            limits: bound.limits.into_iter().collect(),
            utilisation,
            stalls: stalls_by_class.first().map(|stalls| stalls.cycles.clone()).unwrap_or_default(),
            stalls_by_class,
            traffic_bytes,
            not_compulsory_bytes: None,
            off_chip_bytes_per_s: totals.off_chip_bytes_per_cycle(schedule.resources()) * clock,
            area_mm2: energy.area_mm2,
            power_w: energy.total_j.filter(|_| seconds > 0.0).map(|joule| joule / seconds),
            energy_j: energy.total_j,
            off_chip_energy_j: energy.off_chip_j,
            components: energy.components,
            events: totals.events,
            replayed_events: checked.replayed_events,
        })
    }
}

/// Cycles from the first transfer to the end of a schedule of `cycles` cycles. It ends with its last store or, without
/// stores, with its last event.
pub(super) fn latency_cycles(schedule: Source<'_>, cycles: u64) -> u64 {
    cycles - schedule.first_transfer().map_or(0, |start| start.max(0) as u64)
}
