//! Machines that execute TFHE.

use super::{Machine, MachineError};
use crate::audit::{audit, same_resources};
use crate::tfhe::figures::{STAGES, WIDTHS, fixed_point};
use crate::tfhe::labels::Labels;
use crate::tfhe::replay::{self, Replay};
use crate::tfhe::widths::{Derived, Judge, Setting, derive};
use polyfabric_kernels::cancel;
use polyfabric_kernels::fixed::Structure;
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind, count};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::{LweBatch, Parameters, ServerKey};
use polyfabric_sim::checker::check;
use polyfabric_sim::description::{Description, DescriptionLiteral, FigureLiteral, Written};
use polyfabric_sim::report::{SimulationError, SimulationReport, Subject};
use polyfabric_sim::schedule::{Resources, Schedule};
use serde::Serialize;
use std::collections::BTreeMap;

/// A machine that executes TFHE programs.
pub trait TfheMachine: Send + Sync {
    /// The machine file.
    fn description(&self) -> &Description;

    fn torus_bits(&self) -> Result<u32, MachineError> {
        Ok(self.description().count("machine.arithmetic.coefficient")? as u32)
    }

    /// The structure of the machine's fixed-point transforms.
    fn structure(&self) -> Result<Structure, MachineError> {
        Ok(Structure::Merged)
    }

    /// The arithmetic with the machine's widths for a parameter set. A program lowered with it gives the same bits in the replay and in the
    /// interpreter.
    fn arithmetic(&self, parameters: &Parameters) -> Result<Arithmetic, MachineError> {
        self.holds(parameters)?;
        Ok(Arithmetic::Fixed(Box::new(fixed_point(self.description(), parameters)?)))
    }

    /// Checks that the machine's words hold the torus of a parameter set.
    fn holds(&self, parameters: &Parameters) -> Result<(), MachineError> {
        let bits = self.torus_bits()?;
        if parameters.torus_bits() != bits {
            return Err(MachineError::Torus {
                set: parameters.name().to_owned(),
                torus_bits: parameters.torus_bits(),
                machine: self.description().name().to_owned(),
                machine_bits: bits,
            });
        }
        Ok(())
    }

    /// The units, channels and memories of the machine for programs with `parameters`: rates, latencies, ports and bandwidths. They follow
    /// from the file alone, and every schedule has exactly these.
    fn resources(&self, parameters: &Parameters) -> Result<Resources, MachineError>;

    /// How programs for a parameter set are lowered for the machine; `key_switch` is the position of the key switch.
    fn lowering(&self, parameters: &Parameters, key_switch: KeySwitchOrder) -> Result<TfheLowering, MachineError> {
        Ok(TfheLowering::new(key_switch, self.arithmetic(parameters)?))
    }

    /// Bytes that mapping takes for each blind rotation, in addition to those for a ciphertext: 0 if loops stay loops.
    fn rotation_bytes(&self, _parameters: &Parameters) -> u64 {
        0
    }

    /// Maps `program` onto the machine.
    fn map(&self, program: &KernelProgram) -> Result<MappedTfhe, MachineError>;

    /// The mapper's decisions for `program`, to be reported.
    fn decisions(&self, program: &KernelProgram) -> Result<Decisions, MachineError>;
}

/// An executed instruction of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// The class of its unit.
    pub unit: &'static str,
    /// Its operation.
    pub action: &'static str,
    /// Its first cycle.
    pub start: i64,
    /// The cycle in which its last result is in place.
    pub end: i64,
}

/// A mapper's decisions for a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Decisions {
    /// By name: sizes of batches, cycles and bytes of the pipeline.
    pub quantities: BTreeMap<&'static str, f64>,
    /// The instructions, if the machine has any.
    pub instructions: Vec<Instruction>,
}

/// A program mapped to a machine.
#[derive(Clone, Debug)]
pub struct MappedTfhe {
    /// All events.
    pub schedule: Schedule,
    /// The meaning of its values.
    pub labels: Labels,
    /// Unit classes whose stalls are reported, the headline first.
    pub primary: &'static [&'static str],
}

/// [`TfheMachine::arithmetic`] of `machine`.
pub fn arithmetic(machine: &Machine, parameters: &Parameters) -> Result<Arithmetic, MachineError> {
    machine.tfhe(parameters.name())?.arithmetic(parameters)
}

/// [`TfheMachine::lowering`] of `machine`.
pub fn lowering(
    machine: &Machine,
    parameters: &Parameters,
    key_switch: KeySwitchOrder,
) -> Result<TfheLowering, MachineError> {
    machine.tfhe(parameters.name())?.lowering(parameters, key_switch)
}

/// [`TfheMachine::torus_bits`] of `machine`.
pub fn torus_bits(machine: &Machine, program: &str) -> Result<u32, MachineError> {
    machine.tfhe(program)?.torus_bits()
}

/// Derives widths of `machine` for `parameters`; `judge` is the criterion.
///
/// # Errors
/// [`MachineError::Mapping`] for a set whose torus leaves no room; [`MachineError::Family`] for a machine of another family.
pub fn derive_widths(
    machine: &Machine,
    parameters: &Parameters,
    judge: Judge,
    progress: &dyn Progress,
) -> Result<Derived, MachineError> {
    let structure = machine.tfhe(parameters.name())?.structure()?;
    let setting = Setting { structure, overflow_log2: machine.value("machine.arithmetic.overflow_log2")? };
    derive(parameters, judge, setting, progress)
        .map_err(|cause| MachineError::mapping(machine, parameters.name(), cause))
}

/// The text of `machine`'s file with derived widths in place of the file's. Named alternatives that set only these widths are dropped.
pub fn with_widths(machine: &Machine, derived: &Derived) -> Result<String, MachineError> {
    let mut literal: DescriptionLiteral = machine.literal().clone();
    let widths = derived.widths();
    let [key, forward, inverse, forward_twiddle, inverse_twiddle] = WIDTHS;
    let (point, first_step) = ("machine.arithmetic.point", "machine.arithmetic.first_step");
    let named = machine.figures().contains_key(point);
    let bits = [
        (key, widths.key),
        (forward, widths.digits.input()),
        (inverse, widths.inverse.input()),
        (forward_twiddle, widths.twiddle),
        (inverse_twiddle, widths.inverse_twiddle),
    ];
    let source = format!("derived: `polyfabric widths --params {}`, by {}", derived.set, derived.judge.name());
    let figure = |value: Written, unit: &str| FigureLiteral {
        value,
        unit: unit.to_owned(),
        source: source.clone(),
        input: false,
    };
    let mut figures: BTreeMap<&str, FigureLiteral> =
        bits.into_iter().map(|(key, bits)| (key, figure(Written::Integer(bits.into()), "bits"))).collect();
    figures.insert(first_step, figure(Written::Number(derived.judge.first_step()), "1"));
    if named {
        figures.insert(point, figure(Written::Integer((2 * widths.key).into()), "bits"));
    }
    let of_stage = |key: &str| STAGES.iter().any(|stages| key.starts_with(stages));
    for reading in literal.readings.values_mut() {
        for option in reading.options.values_mut() {
            option.figures.retain(|key, _| !(figures.contains_key(key.as_str()) || of_stage(key)));
        }
    }
    literal.readings.retain(|_, reading| reading.options.values().any(|option| !option.figures.is_empty()));
    let arithmetic = literal.machine.entry("arithmetic".to_owned()).or_default();
    arithmetic.retain(|key, _| !of_stage(&format!("machine.arithmetic.{key}")));
    for (key, figure) in figures {
        arithmetic.insert(key.trim_start_matches("machine.arithmetic.").to_owned(), figure);
    }
    toml::to_string(&literal).map_err(|error| MachineError::mapping(machine, &derived.set, error))
}

/// Bytes that mapping and checking take for any program. Measured: 60 to 150 MiB.
const MAPPER_BYTES: u64 = 192 << 20;

/// Further bytes for each ciphertext that an operation computes. Measured: 450 to 720.
const CIPHERTEXT_BYTES: u64 = 900;

/// An upper bound of the bytes that mapping `program` onto `machine` and checking it take.
pub fn mapping_bytes(machine: &Machine, program: &KernelProgram) -> Result<u64, MachineError> {
    let rotation = machine.tfhe(&program.name)?.rotation_bytes(&program.parameters);
    let bytes = program.ops.iter().map(|op| {
        let each = if matches!(op.kind, OpKind::BlindRotation { .. }) { rotation } else { 0 };
        op.result.count() as u64 * (CIPHERTEXT_BYTES + each)
    });
    Ok(MAPPER_BYTES + bytes.sum::<u64>())
}

/// Maps `program` onto `machine`.
pub fn map(machine: &Machine, program: &KernelProgram) -> Result<MappedTfhe, MachineError> {
    let _stage = cancel::stage("scheduling", 0);
    machine.tfhe(&program.name)?.map(program)
}

/// [`TfheMachine::decisions`] of `machine`.
pub fn decisions(machine: &Machine, program: &KernelProgram) -> Result<Decisions, MachineError> {
    machine.tfhe(&program.name)?.decisions(program)
}

/// Maps `program` onto `machine`, checks the schedule and reports on it.
pub fn simulate(machine: &Machine, program: &KernelProgram) -> Result<SimulationReport, MachineError> {
    report(machine, program, &map(machine, program)?)
}

/// Audits a schedule against `program` and `machine`: it uses exactly the machine's resources, and computes each operation of the program
/// once, from the right operands.
pub fn hold(
    machine: &Machine,
    program: &KernelProgram,
    labels: &Labels,
    schedule: &Schedule,
) -> Result<(), MachineError> {
    let own = machine.tfhe(&program.name)?.resources(&program.parameters)?;
    let held = same_resources(&own, &schedule.resources).and_then(|()| audit(program, schedule, labels));
    held.map_err(|cause| MachineError::Audit {
        program: program.name.to_string(),
        machine: machine.name().to_owned(),
        cause: Box::new(cause),
    })
}

/// Audits the schedule against `program` and `machine`, and reports on it.
pub fn report(
    machine: &Machine,
    program: &KernelProgram,
    mapped: &MappedTfhe,
) -> Result<SimulationReport, MachineError> {
    let holding = cancel::stage("holding the schedule against the program", 0);
    hold(machine, program, &mapped.labels, &mapped.schedule)?;
    drop(holding);
    let classes: Vec<String> = mapped.primary.iter().map(|&class| class.to_owned()).collect();
    // A program without lookups counts key switches instead.
    let products = count::program(program).key_switch_products;
    let per_switch = program
        .parameters
        .key_switch_gadget()
        .map_or(1, |gadget| u64::from(gadget.levels) * program.parameters.large_lwe_dimension().get() as u64);
    let (operations, operation) = match program.lookups() as u64 {
        0 => (products / per_switch.max(1), "key switches"),
        lookups => (lookups, "lookups"),
    };
    let subject = Subject {
        machine,
        schedule: (&mapped.schedule).into(),
        program: &program.name,
        parameters: program.parameters.name(),
        operations,
        operation,
        primary: &classes,
    };
    Ok(SimulationReport::of(&subject)?)
}

/// Cycles of the schedule of `program` on `machine`. The schedule is checked but not audited, for lowerings that compute a value several
/// times.
pub fn cycles(machine: &Machine, program: &KernelProgram) -> Result<u64, MachineError> {
    let illegal = |violation| SimulationError::Schedule {
        program: program.name.to_string(),
        machine: machine.name().to_owned(),
        violation: Box::new(violation),
    };
    Ok(check(&map(machine, program)?.schedule, &[]).map_err(illegal)?.cycles)
}

/// Replays the schedule of `program` on real ciphertexts, event by event in the schedule's order.
pub fn replay(
    program: &KernelProgram,
    mapped: &MappedTfhe,
    key: &ServerKey<u32>,
    inputs: &BTreeMap<String, LweBatch<u32>>,
    progress: &dyn Progress,
) -> Result<Replay, MachineError> {
    let replayed = replay::replay(&mapped.schedule, &mapped.labels, program, key, inputs, progress);
    replayed.map_err(|error| MachineError::Replay(Box::new(error)))
}
