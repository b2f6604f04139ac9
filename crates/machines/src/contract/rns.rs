//! Machines that execute CKKS and BGV.

use super::estimate::Estimate;
use super::options::{Given, check};
use super::{Machine, MachineError};
use crate::audit::rns::audit;
use crate::audit::same_resources;
use crate::rns::arithmetic::{Arithmetic, ReplayError};
use crate::rns::labels::Labels;
use crate::rns::replay::{Given as Operands, replay};
use crate::rns::traffic::Traffic;
use polyfabric_kernels::cancel;
use polyfabric_program::rns::kernel::{KernelProgram, OpKind};
use polyfabric_program::rns::lowering::RnsLowering;
use polyfabric_schemes::rns::{GadgetLiteral, KeySet, RnsPolynomial};
use polyfabric_sim::description::Description;
use polyfabric_sim::list::{EventList, Source};
use polyfabric_sim::report::{SimulationReport, Subject};
use polyfabric_sim::schedule::{Resources, Traffic as Class};
use polyfabric_sim::trace::{Trace, TraceOptions, trace};
use serde::Serialize;

/// A machine that executes CKKS and BGV programs.
pub trait RnsMachine: Send + Sync {
    /// The machine file.
    fn description(&self) -> &Description;

    /// Bits of a machine word, which a residue must fit.
    fn word_bits(&self) -> Result<u32, MachineError>;

    /// How BGV programs are lowered for the machine; `gadget` is the decomposition of key switches.
    fn bgv_lowering(&self, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError>;

    /// The same for CKKS.
    fn ckks_lowering(&self, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError>;

    /// The estimated cost of `program`, from the order of its operations alone. It serves to compare lowerings.
    fn estimate(&self, program: &KernelProgram) -> Result<Estimate, MachineError>;

    /// An upper bound of the bytes that an estimate takes, and mapping and checking.
    fn mapping_bytes(&self, program: &KernelProgram) -> Result<u64, MachineError> {
        let results = program.ops.iter().flat_map(|op| &op.results);
        let limbs: u64 = results.map(|&value| program.value(value).limbs.len() as u64).sum();
        Ok(MAPPER_BYTES + limbs * LIMB_BYTES)
    }

    /// The units, channels and memories of the machine with `options`, for rings like that of `program`: rates, latencies, ports and
    /// bandwidths. They follow from the file alone, and every schedule has exactly these.
    fn resources(&self, program: &KernelProgram, options: &Given) -> Result<Resources, MachineError>;

    fn map(&self, program: &KernelProgram, options: &Given) -> Result<Box<dyn MappedRns>, MachineError>;

    /// Unit classes whose stalls are reported, the headline first; the same for all schedules.
    fn primary(&self) -> &'static [&'static str];

    /// Reads a program that [`Instructed::save`] wrote; `program` is its kernel program.
    fn load(
        &self,
        _program: &KernelProgram,
        _options: &Given,
        _bytes: &[u8],
    ) -> Result<Box<dyn MappedRns>, MachineError> {
        Err(MachineError::NoInstructions { machine: self.description().name().to_owned() })
    }
}

/// A program mapped to a machine: the compiler's output.
pub trait MappedRns: Send + Sync {
    /// All events, in order of time.
    fn events(&self) -> Box<dyn EventList + '_>;

    /// The meaning of the values in the events.
    fn labels(&self) -> &Labels;

    /// The units' arithmetic, for replays.
    fn arithmetic(&self) -> Result<Box<dyn Arithmetic + '_>, ReplayError>;

    /// Replays `events`, the program's own or changed ones. `inputs` are in the order of [`KernelProgram::inputs`]. Returns the outputs of
    /// `program`, in order.
    fn replay(
        &self,
        events: &dyn EventList,
        program: &KernelProgram,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
    ) -> Result<Vec<RnsPolynomial>, MachineError> {
        let given = Operands { program, keys, inputs };
        let arithmetic = self.arithmetic();
        let replayed = arithmetic.and_then(|arithmetic| replay(events, self.labels(), &*arithmetic, &given));
        replayed.map_err(|error| MachineError::Replay(Box::new(error)))
    }

    /// The component of the machine file whose units an option replaces. Its area and power are then unknown.
    fn replaced(&self) -> Option<&'static str> {
        None
    }

    /// The program's instructions, if the machine has any.
    fn instructed(&self) -> Option<&dyn Instructed> {
        None
    }
}

/// A program as instructions of its machine.
pub trait Instructed: Send + Sync {
    /// Number of instructions.
    fn instructions(&self) -> u64;

    /// The compiler's decisions, for [`RnsMachine::load`].
    fn save(&self) -> Vec<u8>;

    /// The instruction streams of all components, in binary form.
    fn streams(&self) -> Vec<u8>;

    /// The instruction streams as text.
    fn streams_text(&self) -> String;

    /// Groups of operations that share a switching key, in order of execution.
    fn groups(&self) -> Vec<Group>;
}

/// A program on a machine, checked and audited, with its report.
pub struct Simulated {
    mapped: Box<dyn MappedRns>,
    report: SimulationReport,
    clock_hz: f64,
}

impl Simulated {
    /// The compiler's output.
    pub fn mapped(&self) -> &dyn MappedRns {
        &*self.mapped
    }

    /// The program's instructions.
    pub fn instructed(&self) -> Result<&dyn Instructed, MachineError> {
        let none = || MachineError::NoInstructions { machine: self.report.machine.clone() };
        self.mapped.instructed().ok_or_else(none)
    }

    /// The report of the schedule.
    pub fn report(&self) -> &SimulationReport {
        &self.report
    }

    /// The timeline of the schedule.
    pub fn trace(&self, options: TraceOptions) -> Trace {
        trace(Source::List(&*self.mapped.events()), self.clock_hz, options)
    }

    /// Replays the schedule. `inputs` are in the order of [`KernelProgram::inputs`]. Returns the outputs of `program`, in order.
    pub fn replay(
        &self,
        program: &KernelProgram,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
    ) -> Result<Vec<RnsPolynomial>, MachineError> {
        self.mapped.replay(&*self.mapped.events(), program, keys, inputs)
    }
}

/// Audits events against `program` and `machine`: they use exactly the machine's resources, and compute each operation of the program once,
/// from the right operands.
pub fn hold(
    machine: &Machine,
    program: &KernelProgram,
    options: &Given,
    labels: &Labels,
    events: &dyn EventList,
) -> Result<(), MachineError> {
    let own = machine.rns(&program.name)?.resources(program, options)?;
    let held = same_resources(&own, events.resources()).and_then(|()| audit(program, events, labels));
    held.map_err(|cause| MachineError::Audit {
        program: program.name.to_string(),
        machine: machine.name().to_owned(),
        cause: Box::new(cause),
    })
}

/// Audits a mapped program against `program` and `machine`, and reports on it.
fn simulated(
    machine: &Machine,
    program: &KernelProgram,
    parameters: &str,
    options: &Given,
    mapped: Box<dyn MappedRns>,
) -> Result<Simulated, MachineError> {
    let (events, labels) = (mapped.events(), mapped.labels());
    let holding = cancel::stage("holding the schedule against the program", 0);
    hold(machine, program, options, labels, &*events)?;
    drop(holding);
    let switches = program.ops.iter().filter(|op| matches!(op.kind, OpKind::InnerProduct { .. })).count() as u64;
    let (operations, operation) = match switches {
        0 => match mapped.instructed() {
            Some(instructed) => (instructed.instructions(), "instructions"),
            None => (program.ops.len() as u64, "kernel operations"),
        },
        count => (count, "key switches"),
    };
    let primary = machine.rns(&program.name)?.primary();
    let primary: Vec<String> = primary.iter().map(|&class| class.to_owned()).collect();
    let schedule = Source::List(&*events);
    let (name, primary) = (&*program.name, &*primary);
    let subject = Subject { machine, schedule, program: name, parameters, operations, operation, primary };
    let mut report = SimulationReport::of(&subject)?;
    let instructions = report.traffic_bytes.get(Class::Instructions.name()).copied();
    let traffic = Traffic::of(&*events, labels);
    report.traffic_bytes = traffic.classes();
    report.traffic_bytes.extend(instructions.map(|bytes| (Class::Instructions.name(), bytes)));
    report.traffic_bytes.insert("total", traffic.total() + instructions.unwrap_or(0));
    report.not_compulsory_bytes = Some(traffic.not_compulsory());
    if let Some(replaced) = mapped.replaced() {
        (report.energy_j, report.power_w, report.area_mm2) = (None, None, None);
        for part in report.components.iter_mut().filter(|part| part.name == replaced) {
            (part.area_mm2, part.full_power_w, part.energy_j) = (None, None, None);
        }
    }
    drop(events);
    Ok(Simulated { mapped, report, clock_hz: machine.clock_hz()? })
}

/// Operations that share a switching key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The key, if there is one.
    pub hint: Option<String>,
    /// Operations of the kernel program.
    pub operations: u64,
    /// Instructions of the machine.
    pub instructions: u64,
}

/// [`RnsMachine::word_bits`] of `machine`; also checks that its parts fit together.
pub fn word_bits(machine: &Machine, program: &str) -> Result<u32, MachineError> {
    machine.rns(program)?.word_bits()
}

/// [`RnsMachine::bgv_lowering`] of `machine`.
pub fn bgv_lowering(machine: &Machine, program: &str, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
    machine.rns(program)?.bgv_lowering(gadget)
}

/// [`RnsMachine::ckks_lowering`] of `machine`.
pub fn ckks_lowering(machine: &Machine, program: &str, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
    machine.rns(program)?.ckks_lowering(gadget)
}

/// [`RnsMachine::estimate`] of `program` on `machine`.
pub fn estimate(machine: &Machine, program: &KernelProgram) -> Result<Estimate, MachineError> {
    machine.rns(&program.name)?.estimate(program)
}

/// Bytes that mapping and checking take for any program.
pub const MAPPER_BYTES: u64 = 64 << 20;

/// Further bytes for each limb that an operation computes: instructions, events and the checker's data. Measured: 330 to 900.
const LIMB_BYTES: u64 = 1000;

/// [`RnsMachine::mapping_bytes`] of `program` on `machine`.
pub fn mapping_bytes(machine: &Machine, program: &KernelProgram) -> Result<u64, MachineError> {
    machine.rns(&program.name)?.mapping_bytes(program)
}

/// Maps `program` onto `machine` with `options`, checks and audits the schedule, and reports on it.
pub fn map(
    machine: &Machine,
    program: &KernelProgram,
    parameters: &str,
    options: &Given,
) -> Result<Simulated, MachineError> {
    let mapper = machine.rns(&program.name)?;
    check(machine.mapped_by(), machine, options)?;
    let stage = cancel::stage("compiling", 0);
    let mapped = mapper.map(program, options)?;
    drop(stage);
    simulated(machine, program, parameters, options, mapped)
}

/// Reads a program that [`Instructed::save`] wrote for `machine`, and checks it again.
pub fn load(
    machine: &Machine,
    program: &KernelProgram,
    parameters: &str,
    options: &Given,
    bytes: &[u8],
) -> Result<Simulated, MachineError> {
    let mapper = machine.rns(&program.name)?;
    check(machine.mapped_by(), machine, options)?;
    simulated(machine, program, parameters, options, mapper.load(program, options, bytes)?)
}
