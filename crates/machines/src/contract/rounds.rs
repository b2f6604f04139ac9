//! Programs on residue polynomials that repeat, on machines whose schedules may.
//!
//! Each body is lowered, scheduled and held against its program by itself, and nothing but its events is kept. The schedule of all rounds is a tree of
//! loops over them, which the checker goes through as one.

use super::MachineError;
use super::options::{Given, check as check_options};
use super::residue::mapper;
use crate::audit::residue::rounds::{BodyMeaning, HeldBody, audit_rounds, changes};
use crate::audit::{AuditError, same_resources};
use crate::engine::description::Description;
use crate::engine::energy::{Energy, utilisation};
use crate::engine::list::Source;
use crate::engine::report::{SimulationError, SimulationReport, Subject};
use crate::engine::schedule::{Item, Resources, Schedule};
use crate::engine::totals::Totals;
use crate::engine::trace::{Trace, TraceOptions, trace};
use crate::rns::leaf::Leaf;
use crate::rns::rounds::{SharedKeys, Timed, schedule};
use crate::rns::traffic::{RoundTraffic, Traffic};
use polyfabric_kernels::cancel;
use polyfabric_program::rns::kernel::{KernelProgram, OpKind, Ports, Round};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A body on a machine, as its mapper has left it.
pub trait MappedBody: BodyMeaning {
    /// Its events, with the names of round 0: of a program's first round, or of a later one.
    fn items(&self, first: bool) -> Arc<Vec<Item>>;

    /// Cycles from its first load until everything of it is over.
    fn cycles(&self) -> u64;

    /// Units, channels and memories of its schedule.
    fn resources(&self) -> &Resources;
}

/// A body's share of a schedule of rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Name of its program.
    pub program: String,
    /// Rounds of it.
    pub rounds: u64,
    /// Of one round.
    pub cycles: u64,
    /// The same.
    pub seconds: f64,
    /// Events of one round.
    pub events: u64,
    /// Bytes between chip and memory of one round.
    pub traffic_bytes: u64,
    /// Energy of one round.
    pub energy_j: Option<f64>,
}

/// Maps the bodies of a program one by one.
pub struct RoundsMapper {
    machine: Description,
    name: Arc<str>,
    parameters: String,
    options: Given,
    rounds: Vec<Round>,
    keys: SharedKeys,
    bodies: Vec<Mapped>,
    resources: Option<Resources>,
    held: Vec<HeldBody>,
}

/// What is kept of a body.
struct Mapped {
    part: Part,
    /// What passes between rounds.
    ports: Ports,
    /// Of a program's first round, and of later ones: where it has such.
    forms: [Option<(Timed, RoundTraffic)>; 2],
    switches: u64,
}

/// A program's rounds on a machine, held against both, with their report.
pub struct SimulatedRounds {
    /// The report of the schedule of all rounds.
    pub report: SimulationReport,
    /// By body.
    pub parts: Vec<Part>,
    /// Events that the schedule holds: those of each body once.
    pub held_events: u64,
    schedule: Schedule,
    clock_hz: f64,
}

impl SimulatedRounds {
    /// The timeline of the schedule.
    pub fn trace(&self, options: TraceOptions) -> Trace {
        trace(Source::Loops(&self.schedule), self.clock_hz, options)
    }
}

impl RoundsMapper {
    /// For `rounds` of bodies that are given one after the other ([`Self::body`]).
    ///
    /// # Errors
    /// [`MachineError`] if an option is wrong, or programs on residue polynomials do not run on the machine.
    pub fn new(
        machine: &Description,
        name: &str,
        parameters: &str,
        options: &Given,
        rounds: Vec<Round>,
    ) -> Result<Self, MachineError> {
        check_options(mapper(machine, name)?.0, machine, options)?;
        Ok(Self {
            machine: machine.clone(),
            name: name.into(),
            parameters: parameters.to_owned(),
            options: options.clone(),
            rounds,
            keys: SharedKeys::default(),
            bodies: Vec::new(),
            resources: None,
            held: Vec::new(),
        })
    }

    fn failed(&self, cause: AuditError) -> MachineError {
        let (program, machine) = (self.name.to_string(), self.machine.name().to_owned());
        MachineError::Audit { program, machine, cause: Box::new(cause) }
    }

    fn of_body(&self, number: usize) -> impl Iterator<Item = (usize, &Round)> {
        self.rounds.iter().enumerate().filter(move |(_, round)| round.body == number)
    }

    /// The next body: maps `program` and holds the schedule against it. No more of it is kept than its events.
    ///
    /// # Errors
    /// [`MachineError`] if it does not fit, or the machine's schedules do not repeat.
    pub fn body(&mut self, program: &Arc<KernelProgram>) -> Result<(), MachineError> {
        let number = self.bodies.len();
        let (_, residue) = mapper(&self.machine, &program.name)?;
        for (_, round) in self.of_body(number) {
            let fits = round.check(&self.name, program);
            fits.map_err(|cause| MachineError::mapping(&self.machine, &self.name, cause))?;
        }
        let stage = cancel::stage("compiling", 0);
        let rounds = &self.rounds;
        let changes = |leaf: &Leaf| changes(rounds, number, leaf);
        let body = residue.body(&self.machine, program, &self.options, &changes, &mut self.keys)?;
        drop(stage);
        let own = residue.resources(&self.machine, program, &self.options)?;
        same_resources(&own, body.resources()).map_err(|cause| self.failed(cause))?;
        let holding = cancel::stage("holding the schedule against the program", 0);
        let rounds = self.of_body(number).count() as u64;
        let wanted =
            [self.of_body(number).any(|(round, _)| round == 0), self.of_body(number).any(|(round, _)| round > 0)];
        let mut forms = [None, None];
        for (form, first) in [(0, true), (1, false)].into_iter().filter(|&(form, _)| wanted[form]) {
            let items = body.items(first);
            let held = HeldBody::new((number, program), &own, &items, (&*body as &dyn BodyMeaning, first), &changes);
            self.held.push(held.map_err(|cause| self.failed(cause))?);
            let traffic = RoundTraffic::of(&own, &items);
            forms[form] = Some(((items, body.cycles()), traffic));
        }
        drop(holding);
        let part = self.part(program, &own, (&*body, rounds), &forms)?;
        let switches = program.ops.iter().filter(|op| matches!(op.kind, OpKind::InnerProduct { .. })).count() as u64;
        self.bodies.push(Mapped { part, ports: Ports::of(program), forms, switches });
        self.resources.get_or_insert(own);
        Ok(())
    }

    fn part(
        &self,
        program: &KernelProgram,
        resources: &Resources,
        (body, rounds): (&dyn MappedBody, u64),
        forms: &[Option<(Timed, RoundTraffic)>; 2],
    ) -> Result<Part, MachineError> {
        let cycles = body.cycles();
        let alone = forms.iter().flatten().map(|((items, _), _)| items).next();
        let alone = schedule(resources.clone(), &[0], &[(alone.map(Arc::clone).unwrap_or_default(), cycles)]);
        let totals = Totals::of(&alone);
        let used = utilisation(resources, &totals, cycles);
        let energy = Energy::of(&self.machine, totals.traffic_bytes(), &used, cycles).map_err(SimulationError::from)?;
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
    ///
    /// # Errors
    /// [`MachineError`] if a body is missing, a round does not take what the one before gives, or the schedule breaks a rule.
    pub fn finish(self) -> Result<SimulatedRounds, MachineError> {
        let order: Vec<usize> = self.rounds.iter().map(|round| round.body).collect();
        let ports: Vec<Ports> = self.bodies.iter().map(|body| body.ports.clone()).collect();
        let fit = Ports::check(&self.name, &order, &ports);
        fit.map_err(|cause| MachineError::mapping(&self.machine, &self.name, cause))?;
        let mut timed: Vec<Timed> = Vec::new();
        let mut places = BTreeMap::new();
        for (number, body) in self.bodies.iter().enumerate() {
            for (form, (own, _)) in body.forms.iter().enumerate().filter_map(|(form, own)| Some((form, own.as_ref()?)))
            {
                places.insert((number, form), timed.len());
                timed.push(own.clone());
            }
        }
        let form = |round: usize| usize::from(round > 0);
        let sequence: Vec<usize> =
            order.iter().enumerate().map(|(round, &body)| places[&(body, form(round))]).collect();
        let resources = self.resources.clone().unwrap_or_default();
        let schedule = schedule(resources, &sequence, &timed);
        audit_rounds(&order, &schedule, &self.held).map_err(|cause| self.failed(cause))?;
        let primary = mapper(&self.machine, &self.name)?.1.primary();
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
        let last = order.len() - 1;
        let of_rounds = order.iter().enumerate().filter_map(|(round, &body)| {
            let (_, traffic) = self.bodies[body].forms[form(round)].as_ref()?;
            Some((traffic, round == last))
        });
        let traffic = Traffic::of_rounds(of_rounds);
        report.traffic_bytes.extend(traffic.classes());
        report
            .traffic_bytes
            .retain(|name, _| traffic.classes().contains_key(name) || matches!(*name, "instructions" | "total"));
        report.not_compulsory_bytes = Some(traffic.not_compulsory());
        let held_events = timed.iter().map(|(items, _)| items.len() as u64).sum();
        let parts = self.bodies.iter().map(|body| body.part.clone()).collect();
        let clock_hz = self.machine.clock_hz()?;
        Ok(SimulatedRounds { report, parts, held_events, schedule, clock_hz })
    }
}
