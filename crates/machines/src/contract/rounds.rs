//! Repeated RNS programs, on machines whose schedules have loops.
//!
//! Each body is lowered, scheduled and audited separately, and only its events are kept ([`RoundsMapper`]). The schedule of all rounds is a
//! tree of loops over these bodies, which the checker processes as a whole. [`WholeRounds`] keeps all bodies. It is for small programs: any
//! schedule can be audited against it and replayed.

use super::options::{Given, check as check_options};
use super::{Machine, MachineError};
use crate::audit::rns::rounds::{HeldBody, audit_rounds, audit_whole, changes};
use crate::audit::{AuditError, same_resources};
use crate::rns::arithmetic::ReplayError;
use crate::rns::leaf::Leaf;
use crate::rns::replay::{Given as Operands, replay};
use crate::rns::rounds::{AllRounds, MappedBody, SharedKeys, Timed, schedule};
use crate::rns::traffic::{RoundTraffic, Traffic};
use polyfabric_kernels::cancel;
use polyfabric_program::rns::kernel::{KernelProgram, OpKind, Ports, Round, Rounds};
use polyfabric_schemes::rns::{KeySet, RnsPolynomial};
use polyfabric_sim::energy::{Energy, utilisation};
use polyfabric_sim::list::Source;
use polyfabric_sim::report::{SimulationError, SimulationReport, Subject};
use polyfabric_sim::schedule::{Resources, Schedule};
use polyfabric_sim::totals::Totals;
use polyfabric_sim::trace::{Trace, TraceOptions, trace};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Index of a round's form: 0 for a program's first round, 1 for later rounds.
fn form(round: usize) -> usize {
    usize::from(round > 0)
}

/// The schedule of rounds of bodies in `order`; `own` returns a body's events in one of its forms.
fn composed(resources: Resources, order: &[usize], own: impl Fn(usize, usize) -> Option<Timed>) -> Schedule {
    let (mut timed, mut places) = (Vec::new(), BTreeMap::new());
    let place = |(round, &body): (usize, &usize)| {
        *places.entry((body, form(round))).or_insert_with(|| {
            timed.push(own(body, form(round)).unwrap_or_default());
            timed.len() - 1
        })
    };
    let sequence: Vec<usize> = order.iter().enumerate().map(place).collect();
    schedule(resources, &sequence, &timed)
}

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
    keys: SharedKeys,
    bodies: Vec<Mapped>,
    resources: Option<Resources>,
    held: Vec<HeldBody>,
}

/// The kept data of a body.
struct Mapped {
    part: Part,
    /// The values that pass between rounds.
    ports: Ports,
    /// The forms for a program's first round and for later rounds, if needed.
    forms: [Option<(Timed, RoundTraffic)>; 2],
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

    /// Adds the next body: maps `program`, audits the schedule, and keeps only its events.
    pub fn body(&mut self, program: &Arc<KernelProgram>) -> Result<(), MachineError> {
        let number = self.bodies.len();
        let rns = self.machine.rns(&program.name)?;
        for (_, round) in self.of_body(number) {
            let fits = round.check(&self.name, program);
            fits.map_err(|cause| MachineError::mapping(&self.machine, &self.name, cause))?;
        }
        let stage = cancel::stage("compiling", 0);
        let rounds = &self.rounds;
        let changes = |leaf: &Leaf| changes(rounds, number, leaf);
        let body = rns.body(program, &self.options, &changes, &mut self.keys)?;
        drop(stage);
        let own = rns.resources(program, &self.options)?;
        same_resources(&own, body.resources()).map_err(|cause| self.failed(cause))?;
        let holding = cancel::stage("holding the schedule against the program", 0);
        let rounds = self.of_body(number).count() as u64;
        let wanted =
            [self.of_body(number).any(|(round, _)| round == 0), self.of_body(number).any(|(round, _)| round > 0)];
        let mut forms = [None, None];
        for (form, first) in [(0, true), (1, false)].into_iter().filter(|&(form, _)| wanted[form]) {
            let items = body.items(first);
            let held = HeldBody::new((number, program), &own, &items, (&*body, first), &changes);
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
        let resources = self.resources.clone().unwrap_or_default();
        let own = |body: usize, form: usize| self.bodies[body].forms[form].as_ref().map(|(own, _)| own.clone());
        let schedule = composed(resources, &order, own);
        audit_rounds(&order, &schedule, &self.held).map_err(|cause| self.failed(cause))?;
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
        let forms = self.bodies.iter().flat_map(|body| body.forms.iter().flatten());
        let held_events = forms.map(|((items, _), _)| items.len() as u64).sum();
        let parts = self.bodies.iter().map(|body| body.part.clone()).collect();
        let clock_hz = self.machine.clock_hz()?;
        Ok(SimulatedRounds { report, parts, held_events, schedule, clock_hz })
    }
}

/// A program's rounds on a machine, with all bodies. Any schedule can be audited against it and replayed.
pub struct WholeRounds {
    machine: Machine,
    rounds: Rounds,
    options: Given,
    bodies: Vec<Box<dyn MappedBody>>,
    schedule: Schedule,
}

impl WholeRounds {
    /// Maps every body of `rounds` and composes their schedules. Nothing is audited yet.
    pub fn map(machine: &Machine, rounds: Rounds, options: &Given) -> Result<Self, MachineError> {
        let rns = machine.rns(&rounds.name)?;
        check_options(machine.mapped_by(), machine, options)?;
        rounds.check().map_err(|cause| MachineError::mapping(machine, &rounds.name, cause))?;
        let mut keys = SharedKeys::default();
        let mut bodies = Vec::with_capacity(rounds.bodies.len());
        for (number, program) in rounds.bodies.iter().enumerate() {
            let changes = |leaf: &Leaf| changes(&rounds.rounds, number, leaf);
            bodies.push(rns.body(program, options, &changes, &mut keys)?);
        }
        let order: Vec<usize> = rounds.rounds.iter().map(|round| round.body).collect();
        let resources = rns.resources(&rounds.bodies[order[0]], options)?;
        let own = |body: usize, form: usize| Some((bodies[body].items(form == 0), bodies[body].cycles()));
        let schedule = composed(resources, &order, own);
        Ok(Self { machine: machine.clone(), rounds, options: options.clone(), bodies, schedule })
    }

    /// The program.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// The mapped bodies, by number.
    pub fn bodies(&self) -> &[Box<dyn MappedBody>] {
        &self.bodies
    }

    /// The schedule of all rounds.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The meaning of all values in `schedule`, the program's own or another one.
    pub fn meaning(&self, schedule: &Schedule) -> Result<AllRounds<'_>, ReplayError> {
        AllRounds::new(&self.rounds, &self.bodies, schedule)
    }

    /// Audits `schedule`, the program's own or another one, against program and machine. [`super::rns::hold`] does the same for a list of
    /// events.
    pub fn hold(&self, schedule: &Schedule) -> Result<(), MachineError> {
        let rns = self.machine.rns(&self.rounds.name)?;
        let own = rns.resources(&self.rounds.bodies[0], &self.options)?;
        let bodies: Vec<&dyn MappedBody> = self.bodies.iter().map(|body| &**body).collect();
        let held =
            same_resources(&own, &schedule.resources).and_then(|()| audit_whole(&self.rounds, schedule, &bodies));
        held.map_err(|cause| MachineError::Audit {
            program: self.rounds.name.to_string(),
            machine: self.machine.name().to_owned(),
            cause: Box::new(cause),
        })
    }

    /// Replays `schedule`, the program's own or another one. `inputs` are in the order of the first round's body. Returns the outputs of
    /// the last round, in order.
    pub fn replay(
        &self,
        schedule: &Schedule,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
    ) -> Result<Vec<RnsPolynomial>, MachineError> {
        let program = self.rounds.unrolled();
        let program = program.map_err(|cause| MachineError::mapping(&self.machine, &self.rounds.name, cause))?;
        let given = Operands { program: &program, keys, inputs };
        let replayed = self.meaning(schedule).and_then(|meaning| {
            // All rounds are modulo the same primes.
            replay(schedule, &meaning, &*self.bodies[0].arithmetic()?, &given)
        });
        replayed.map_err(|error| MachineError::Replay(Box::new(error)))
    }
}
