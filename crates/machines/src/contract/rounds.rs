//! Repeated RNS programs, on machines whose schedules are lists of events without instructions.
//!
//! Each body is mapped and audited as any other program, and only its events are kept. The schedule of all rounds is a tree of
//! loops over these bodies ([`crate::rns::rounds`]), which the checker processes as a whole.

use super::options::{Given, check as check_options};
use super::rns::hold;
use super::{Machine, MachineError};
use crate::rns::leaf::Leaf;
use crate::rns::rounds::{Timed, body, schedule};
use crate::rns::traffic::{RoundTraffic, Traffic};
use polyfabric_kernels::cancel;
use polyfabric_program::rns::kernel::{KernelProgram, OpKind, Ports, Round, RoundsError};
use polyfabric_sim::energy::{Energy, utilisation};
use polyfabric_sim::list::Source;
use polyfabric_sim::report::{SimulationError, SimulationReport, Subject};
use polyfabric_sim::schedule::{Resources, Schedule};
use polyfabric_sim::totals::Totals;
use polyfabric_sim::trace::{Trace, TraceOptions, trace};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A body's share of a schedule of rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Name of its program.
    pub program: String,
    /// Number of its rounds.
    pub rounds: u64,
    /// Cycles of one round.
    pub cycles: u64,
    /// Seconds of one round.
    pub seconds: f64,
    /// Events of one round.
    pub events: u64,
    /// Off-chip traffic of one round.
    pub traffic_bytes: u64,
    /// Energy of one round.
    pub energy_j: Option<f64>,
}

/// Maps the bodies of a program one by one.
pub struct RoundsMapper {
    machine: Machine,
    name: Arc<str>,
    parameters: String,
    options: Given,
    rounds: Vec<Round>,
    bodies: Vec<Mapped>,
    /// The events by body, and whether they are those of the program's first round.
    forms: BTreeMap<(usize, bool), Timed>,
    resources: Resources,
}

/// The kept data of a body.
struct Mapped {
    part: Part,
    /// The values that pass between rounds.
    ports: Ports,
    traffic: RoundTraffic,
    switches: u64,
}

/// A program's rounds on a machine, checked and audited, with their report.
pub struct SimulatedRounds {
    /// The report of the schedule of all rounds.
    pub report: SimulationReport,
    /// One entry per body.
    pub parts: Vec<Part>,
    /// Number of stored events; each body's events count once.
    pub held_events: u64,
    schedule: Schedule,
    clock_hz: f64,
}

impl SimulatedRounds {
    /// The schedule of all rounds.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The timeline of the schedule.
    pub fn trace(&self, options: TraceOptions) -> Trace {
        trace(Source::Loops(&self.schedule), self.clock_hz, options)
    }
}

impl RoundsMapper {
    /// For `rounds` of bodies, which [`Self::body`] adds one by one.
    pub fn new(
        machine: &Machine,
        name: &str,
        parameters: &str,
        options: &Given,
        rounds: Vec<Round>,
    ) -> Result<Self, MachineError> {
        machine.rns(name)?;
        check_options(machine.mapped_by(), machine, options)?;
        Ok(Self {
            machine: machine.clone(),
            name: name.into(),
            parameters: parameters.to_owned(),
            options: options.clone(),
            rounds,
            bodies: Vec::new(),
            forms: BTreeMap::new(),
            resources: Resources::default(),
        })
    }

    /// Adds the next body: maps `program`, audits the schedule, and keeps only its events. What the audit finds is true for all rounds,
    /// as inputs, public polynomials, keys and automorphisms are symbols to it.
    pub fn body(&mut self, program: &KernelProgram) -> Result<(), MachineError> {
        let number = self.bodies.len();
        let rounds: Vec<&Round> = self.rounds.iter().filter(|round| round.body == number).collect();
        let failed = |cause: RoundsError| MachineError::mapping(&self.machine, &self.name, cause);
        rounds.iter().try_for_each(|round| round.check(&self.name, program)).map_err(failed)?;
        let rns = self.machine.rns(&program.name)?;
        let resources = rns.resources(program, &self.options)?;
        if resources.instructed.is_some() {
            let (machine, program) = (self.machine.name().to_owned(), program.name.to_string());
            return Err(MachineError::NoRounds { machine, program });
        }
        let stage = cancel::stage("compiling", 0);
        let mapped = rns.map(program, &self.options)?;
        drop(stage);
        let (events, labels) = (mapped.events(), mapped.labels());
        let holding = cancel::stage("holding the schedule against the program", 0);
        hold(&self.machine, program, &self.options, labels, &*events)?;
        drop(holding);
        let changes = |leaf: &Leaf| match *leaf {
            Leaf::Hint { key, .. } => rounds.iter().any(|round| round.key(key) != key),
            Leaf::Input { .. } | Leaf::Plaintext { .. } => true,
        };
        let traffic = RoundTraffic::of(&*events, labels, &changes);
        let first = self.rounds.first().is_some_and(|round| round.body == number);
        let later = !first || rounds.len() > 1;
        for of_first in [first.then_some(true), later.then_some(false)].into_iter().flatten() {
            let timed = body(&*events, program, labels, of_first).map_err(failed)?;
            self.forms.insert((number, of_first), timed);
        }
        let cycles = self.forms.range((number, false)..).next().map_or(0, |(_, timed)| timed.1);
        let part = self.part(program, rounds.len() as u64, Source::List(&*events), cycles)?;
        let switches = program.ops.iter().filter(|op| matches!(op.kind, OpKind::InnerProduct { .. })).count() as u64;
        self.bodies.push(Mapped { part, ports: Ports::of(program), traffic, switches });
        self.resources = resources;
        Ok(())
    }

    fn part(
        &self,
        program: &KernelProgram,
        rounds: u64,
        events: Source<'_>,
        cycles: u64,
    ) -> Result<Part, MachineError> {
        let (resources, totals) = (events.resources(), Totals::of(events));
        let used = utilisation(resources, &totals, cycles);
        let energy = Energy::of(&self.machine, (resources, &totals), &used, cycles).map_err(SimulationError::from)?;
        Ok(Part {
            program: program.name.to_string(),
            rounds,
            cycles,
            seconds: cycles as f64 / self.machine.clock_hz()?,
            events: totals.events,
            traffic_bytes: totals.traffic_bytes(),
            energy_j: energy.total_j,
        })
    }

    /// The schedule of all rounds, checked.
    pub fn finish(self) -> Result<SimulatedRounds, MachineError> {
        let order: Vec<usize> = self.rounds.iter().map(|round| round.body).collect();
        let ports: Vec<Ports> = self.bodies.iter().map(|body| body.ports.clone()).collect();
        let fit = Ports::check(&self.name, &order, &ports);
        fit.map_err(|cause| MachineError::mapping(&self.machine, &self.name, cause))?;
        let held_events = self.forms.values().map(|(items, _)| items.len() as u64).sum();
        let form = |(round, &body)| self.forms.range(..(body, round == 0)).count();
        let sequence: Vec<usize> = order.iter().enumerate().map(form).collect();
        let schedule = schedule(self.resources, &sequence, &self.forms.into_values().collect::<Vec<_>>());
        let primary = self.machine.rns(&self.name)?.primary();
        let primary: Vec<String> = primary.iter().map(|&class| class.to_owned()).collect();
        let operations = order.iter().map(|&body| self.bodies[body].switches).sum();
        let subject = Subject {
            machine: &self.machine,
            schedule: Source::Loops(&schedule),
            program: &self.name,
            parameters: &self.parameters,
            operations,
            operation: "key switches",
            primary: &primary,
        };
        let mut report = SimulationReport::of(&subject)?;
        let traffic = Traffic::of_rounds(order.iter().map(|&body| &self.bodies[body].traffic));
        report.traffic_bytes.extend(traffic.classes());
        report
            .traffic_bytes
            .retain(|name, _| traffic.classes().contains_key(name) || matches!(*name, "instructions" | "total"));
        report.not_compulsory_bytes = Some(traffic.not_compulsory());
        let parts = self.bodies.iter().map(|body| body.part.clone()).collect();
        let clock_hz = self.machine.clock_hz()?;
        Ok(SimulatedRounds { report, parts, held_events, schedule, clock_hz })
    }
}
