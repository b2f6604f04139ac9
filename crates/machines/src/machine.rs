//! The machines by name: file, mapper, simulation, replay. A further machine is one more arm in each match.

use crate::engine::description::{Description, DescriptionError, DescriptionLiteral, FigureError, FigureSpec};
use crate::engine::report::{SimulationError, SimulationReport, Subject};
use crate::engine::schedule::Schedule;
use crate::f1;
use crate::key_switch::NoVariant;
use crate::morphling::{self, machine::Morphling};
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::tfhe::kernel::{KernelProgram, count};
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_runtime::Progress;
use polyfabric_schemes::tfhe::{LweBatch, Parameters, ServerKey};
use std::collections::BTreeMap;

/// The machine files that come with the project: name and text.
pub const FILES: &[(&str, &str)] = &[
    ("f1", include_str!("../../../machines/f1.toml")),
    ("morphling", include_str!("../../../machines/morphling.toml")),
];

/// Why a machine cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// No machine of that name comes with the project.
    #[error("there is no machine {name:?}; the project has {known}, and takes the path of a machine file")]
    Name {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No mapper of that name.
    #[error("{file}: there is no mapper {mapper:?}; choose from: f1, morphling")]
    Mapper {
        /// Machine file.
        file: String,
        /// The mapper that it names.
        mapper: String,
    },
    /// The machine file.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// Figures of the machine file that contradict each other.
    #[error(transparent)]
    Figures(#[from] FigureError),
    /// The program does not fit the machine.
    #[error("`{program}` does not run on `{machine}`: {cause}")]
    Mapping {
        /// Program.
        program: String,
        /// Machine.
        machine: String,
        /// Why.
        cause: morphling::software::SoftwareError,
    },
    /// A machine of another family of schemes than the program.
    #[error(
        "`{machine}` executes programs of {runs}, and `{program}` is of {is}: name a machine of that family (`polyfabric machines`)"
    )]
    Family {
        /// Machine.
        machine: String,
        /// What it executes.
        runs: Family,
        /// Program.
        program: String,
        /// What that is.
        is: Family,
    },
    /// The program does not fit a machine of residue polynomials.
    #[error("`{program}` does not run on `{machine}`: {cause}")]
    Compilation {
        /// Program.
        program: String,
        /// Machine.
        machine: String,
        /// Why.
        cause: Box<f1::compile::CompileError>,
    },
    /// A compiled program from a file.
    #[error("the compiled `{program}` cannot be used: {cause}")]
    Saved {
        /// Program.
        program: String,
        /// Why.
        cause: Box<f1::saved::SavedError>,
    },
    /// No key switch that may be taken.
    #[error(transparent)]
    KeySwitch(Box<NoVariant>),
    /// The replay on residues.
    #[error(transparent)]
    ResidueReplay(Box<f1::replay::ReplayError>),
    /// The simulation.
    #[error(transparent)]
    Simulation(Box<SimulationError>),
    /// The replay.
    #[error(transparent)]
    Replay(#[from] morphling::replay::ReplayError),
    /// A torus that the machine's words cannot hold.
    #[error(
        "set `{set}` is on a torus of {torus_bits} bits and `{machine}` computes on {machine_bits}: choose a set of the \
         machine's width"
    )]
    Torus {
        /// Set.
        set: String,
        /// Its width.
        torus_bits: u32,
        /// Machine.
        machine: String,
        /// Its width.
        machine_bits: u32,
    },
}

impl From<SimulationError> for MachineError {
    fn from(error: SimulationError) -> Self {
        Self::Simulation(Box::new(error))
    }
}

/// What a machine computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Torus polynomials.
    Torus,
    /// Residue polynomials.
    Residue,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Torus => "TFHE",
            Self::Residue => "CKKS and BGV",
        })
    }
}

impl Family {
    /// The family of a machine.
    pub fn of(machine: &Description) -> Self {
        match machine.mapper() {
            "f1" => Self::Residue,
            _ => Self::Torus,
        }
    }

    /// Whether `machine` is of this family.
    ///
    /// # Errors
    /// [`MachineError::Family`] if it is not.
    pub fn require(self, machine: &Description, program: &str) -> Result<(), MachineError> {
        let runs = Self::of(machine);
        if runs == self {
            return Ok(());
        }
        let (machine, program) = (machine.name().to_owned(), program.to_owned());
        Err(MachineError::Family { machine, runs, program, is: self })
    }
}

/// Names of the machines that come with the project.
pub fn names() -> Vec<&'static str> {
    FILES.iter().map(|&(name, _)| name).collect()
}

/// Every machine that comes with the project, with its readings at their defaults.
///
/// # Errors
/// [`MachineError`] of the first file that is wrong.
pub fn descriptions() -> Result<Vec<Description>, MachineError> {
    FILES.iter().map(|&(name, _)| description(name)).collect()
}

/// The machine called `name`, with its readings at their defaults.
///
/// # Errors
/// [`MachineError::Name`] with the names that exist.
pub fn description(name: &str) -> Result<Description, MachineError> {
    let Some(&(_, text)) = FILES.iter().find(|&&(known, _)| known == name) else {
        return Err(MachineError::Name { name: name.to_owned(), known: names().join(", ") });
    };
    parse(&format!("machines/{name}.toml"), text)
}

/// The machine that `text`, from file `file`, describes.
///
/// # Errors
/// [`MachineError`] with the place and the remedy.
pub fn parse(file: &str, text: &str) -> Result<Description, MachineError> {
    let literal = DescriptionLiteral::from_toml(file, text)?;
    let specs = specs(file, &literal.mapper)?;
    Ok(Description::check(file, &literal, specs)?)
}

/// The figures that a mapper reads.
///
/// # Errors
/// [`MachineError::Mapper`] if there is no such mapper.
pub fn specs(file: &str, mapper: &str) -> Result<&'static [FigureSpec], MachineError> {
    match mapper {
        "f1" => Ok(f1::specs::SPECS),
        "morphling" => Ok(morphling::specs::SPECS),
        _ => Err(MachineError::Mapper { file: file.to_owned(), mapper: mapper.to_owned() }),
    }
}

/// The same machine with some readings chosen: pairs of reading and option.
///
/// # Errors
/// [`MachineError`] with the readings that exist.
pub fn choose(machine: &Description, choices: &[(&str, &str)]) -> Result<Description, MachineError> {
    let specs = specs(machine.file(), machine.mapper())?;
    Ok(machine.choose(specs, choices)?)
}

/// The arithmetic of the machine's widths for a parameter set: what a program is lowered with so that the replay and the
/// interpreter compute the same bits.
///
/// # Errors
/// [`MachineError::Torus`] for a set that is wider than the machine's words; a figure that is unknown.
pub fn arithmetic(machine: &Description, parameters: &Parameters) -> Result<Arithmetic, MachineError> {
    Family::Torus.require(machine, parameters.name())?;
    let bits = machine.count("machine.arithmetic.coefficient")? as u32;
    if parameters.torus_bits() != bits {
        return Err(MachineError::Torus {
            set: parameters.name().to_owned(),
            torus_bits: parameters.torus_bits(),
            machine: machine.name().to_owned(),
            machine_bits: bits,
        });
    }
    let transform = machine.count("machine.arithmetic.transform")? as u32;
    let widths =
        FixedWidths { twiddle: machine.count("machine.arithmetic.twiddle")? as u32, ..FixedWidths::uniform(transform) };
    let rule = RangeRule::OverflowProbability {
        log2: -machine.value("machine.arithmetic.overflow_log2")?,
        first_step: machine.value("machine.arithmetic.first_step")?,
    };
    let spec = FixedFftSpec::for_external_product(
        parameters.ring_degree(),
        parameters.bootstrap_gadget(),
        parameters.glwe_dimension().get(),
        bits,
        widths,
        Rounding::HalfEven,
        rule,
    );
    Ok(Arithmetic::Fixed(spec.into()))
}

fn map(machine: &Description, program: &KernelProgram) -> Result<morphling::Mapped, MachineError> {
    Family::Torus.require(machine, &program.name)?;
    let figures = Morphling::new(machine)?;
    morphling::map(&figures, program).map_err(|cause| MachineError::Mapping {
        program: program.name.to_string(),
        machine: machine.name().to_owned(),
        cause,
    })
}

/// Maps `program` onto `machine`.
///
/// # Errors
/// [`MachineError`] when the program does not fit.
pub fn schedule(machine: &Description, program: &KernelProgram) -> Result<Schedule, MachineError> {
    Ok(map(machine, program)?.schedule)
}

/// The instructions that `machine` executes for `program`, in the order of their issue.
///
/// # Errors
/// [`MachineError`] when the program does not fit.
pub fn instructions(
    machine: &Description,
    program: &KernelProgram,
) -> Result<Vec<morphling::instruction::Instruction>, MachineError> {
    Ok(map(machine, program)?.streams.instructions())
}

/// Unit classes whose stalls are accounted for, the headline first.
const PRIMARY: &[&str] = &["fft", "vpe", "lanes"];

/// Maps `program` onto `machine`, checks the schedule and reports on it.
///
/// # Errors
/// [`MachineError`] when the program does not fit, or the schedule breaks a rule.
pub fn simulate(machine: &Description, program: &KernelProgram) -> Result<SimulationReport, MachineError> {
    report(machine, program, &map(machine, program)?.schedule)
}

/// Reports on a schedule of `program` on `machine`; for those who need the schedule too.
///
/// # Errors
/// [`MachineError`] when the schedule breaks a rule.
pub fn report(
    machine: &Description,
    program: &KernelProgram,
    schedule: &Schedule,
) -> Result<SimulationReport, MachineError> {
    let classes: Vec<String> = PRIMARY.iter().map(|&class| class.to_owned()).collect();
    // A program without look-ups is measured in key switches.
    let products = count::program(program).key_switch_products;
    let per_switch = program
        .parameters
        .key_switch_gadget()
        .map_or(1, |gadget| u64::from(gadget.levels) * program.parameters.large_lwe_dimension().get() as u64);
    let (operations, operation) = match program.lookups() as u64 {
        0 => (products / per_switch.max(1), "key switches"),
        lookups => (lookups, "look-ups"),
    };
    let subject = Subject {
        machine,
        schedule,
        program: &program.name,
        parameters: program.parameters.name(),
        operations,
        operation,
        primary: &classes,
    };
    Ok(SimulationReport::of(&subject)?)
}

/// A replay with the report of the schedule that it followed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The program's outputs.
    pub outputs: BTreeMap<String, LweBatch<u32>>,
    /// Values that left their fixed-point width: anything but 0 means that outputs may be wrong.
    pub saturations: u64,
    /// The report, from the same schedule.
    pub report: SimulationReport,
}

/// Carries out `machine`'s schedule of `program` on real ciphertexts, event by event in the order of the schedule.
///
/// # Errors
/// [`MachineError`] when the program does not fit the machine, the key or the inputs, or the schedule is wrong.
pub fn replay(
    machine: &Description,
    program: &KernelProgram,
    key: &ServerKey<u32>,
    inputs: &BTreeMap<String, LweBatch<u32>>,
    progress: &dyn Progress,
) -> Result<Replayed, MachineError> {
    let mapped = map(machine, program)?;
    let report = report(machine, program, &mapped.schedule)?;
    let replay = mapped.replay(program, key, inputs, progress)?;
    Ok(Replayed { outputs: replay.outputs, saturations: replay.saturations, report })
}
