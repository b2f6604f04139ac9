//! F1 under the contract of a machine.

use super::compile::{CompileError, Compiled, Scheduler, compile_with};
use super::estimate::{Estimate as GroupEstimate, RESOURCES};
use super::machine::{F1, GeometryError, LowThroughput, WORD_BYTES};
use super::order::order;
use super::replay::{ReplayError, Words, replay as replay_words};
use super::report::{Work, report};
use super::saved::{SavedError, load as load_saved, save};
use super::stream::{encode, text};
use super::trace::trace;
use super::translate::{Leaf, LeafPiece, translate};
use super::{reproduce, specs};
use crate::contract::options::{Given, OptionError, OptionSpec, OptionValues, seconds};
use crate::contract::residue::{Estimate, Group, MappedResidue, ResidueMachine};
use crate::contract::{Machine, MachineError, Mapper};
use crate::engine::description::{Description, FigureSpec};
use crate::engine::report::SimulationReport;
use crate::engine::trace::{Trace, TraceOptions};
use crate::reproduce::{Prediction, ReproduceError};
use polyfabric_kernels::ntt::Ntt;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, OpKind};
use polyfabric_program::rns::lowering::{Hoisting, Rescaling, RnsLowering, RotationOrder};
use polyfabric_runtime::Progress;
use polyfabric_schemes::rns::{GadgetLiteral, KeySet, RnsPolynomial};

/// Machines of F1's kind.
pub static KIND: F1Kind = F1Kind;

/// See [`KIND`].
pub struct F1Kind;

/// Name of the option for who decides what is on chip when.
pub const SCHEDULER: &str = "scheduler";
/// Name of the option for when that gives up.
pub const TIME_LIMIT: &str = "time-limit";
/// Name of the option for slower units, as many more.
pub const LOW_THROUGHPUT: &str = "low-throughput";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: SCHEDULER,
        values: OptionValues::Words(&["priority", "csr"]),
        help: "who decides what is on chip when: by priority, as the paper has it, or csr, Goodman and Hsu's that minimises register \
               usage, for comparison",
    },
    OptionSpec {
        name: TIME_LIMIT,
        values: OptionValues::Seconds,
        help: "when --scheduler csr gives up; never without it",
    },
    OptionSpec {
        name: LOW_THROUGHPUT,
        values: OptionValues::Words(&["ntt", "automorphism"]),
        help: "slower units of this kind, as many more (section 8.3)",
    },
];

/// How a program is compiled, beside what the machine file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Who decides what is on chip when.
    pub scheduler: Scheduler,
    /// Units of low throughput in the place of the machine's own.
    pub low_throughput: Option<LowThroughput>,
}

impl Options {
    /// What `given` says; its values are those of the options' lists.
    fn of(given: &Given) -> Result<Self, OptionError> {
        let limit = given.get(TIME_LIMIT).and_then(|text| seconds(text));
        let scheduler = match given.get(SCHEDULER).map(String::as_str) {
            Some("csr") => Scheduler::Csr { limit },
            _ if limit.is_some() => {
                let message = "--time-limit is of --scheduler csr; the other scheduler needs none";
                return Err(OptionError::Together(message));
            }
            _ => Scheduler::Priority,
        };
        let kind = given.get(LOW_THROUGHPUT);
        let low_throughput =
            kind.and_then(|name| LowThroughput::ALL.into_iter().find(|variant| variant.kind().name() == name));
        Ok(Self { scheduler, low_throughput })
    }
}

/// A program on a machine: what every question about it is answered from.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The compiled program.
    pub compiled: Compiled,
    /// The report of its schedule.
    pub report: SimulationReport,
    machine: F1,
}

impl Machine for F1Kind {
    fn name(&self) -> &'static str {
        "f1"
    }

    fn file(&self) -> &'static str {
        include_str!("../../../../machines/f1.toml")
    }

    fn published(&self) -> &'static str {
        reproduce::PUBLISHED
    }

    fn specs(&self) -> &'static [FigureSpec] {
        specs::SPECS
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn family(&self) -> Mapper {
        Mapper::Residue(&KIND)
    }

    fn predictions(&self, progress: &dyn Progress) -> Result<Vec<Prediction>, ReproduceError> {
        reproduce::predictions(progress)
    }
}

/// How programs are lowered, with key switches as `gadget` cuts them: rotations with the automorphism first, each with digits of its
/// own (listing 1), lifted as they are. Divisions round to the nearest: what they cut off from 0 up has a mean, which the secret
/// multiplies at the root next to 1; that of a digit only meets the key's errors.
pub fn lowering(gadget: GadgetLiteral) -> RnsLowering {
    RnsLowering {
        conversion: Conversion::Approximate,
        division: Conversion::Balanced,
        rotation: RotationOrder::AutomorphismFirst,
        hoisting: Hoisting::None,
        ..RnsLowering::new(gadget)
    }
}

impl ResidueMachine for F1Kind {
    fn word_bits(&self, machine: &Description) -> Result<u32, MachineError> {
        F1::new(machine)?;
        Ok(8 * WORD_BYTES as u32)
    }

    fn bgv_lowering(&self, _machine: &Description, gadget: GadgetLiteral) -> RnsLowering {
        lowering(gadget)
    }

    /// CKKS's scales are near the machine's words: rotations come before rescalings, so that the error of a key switch is not felt at
    /// the smaller scale.
    fn ckks_lowering(&self, _machine: &Description, gadget: GadgetLiteral) -> RnsLowering {
        RnsLowering { rescaling: Rescaling::AfterRotations, ..lowering(gadget) }
    }

    fn estimate(&self, machine: &Description, program: &KernelProgram) -> Result<Estimate, MachineError> {
        let figures = F1::new(machine)?;
        let failed = |cause: CompileError| MachineError::mapping(machine, &program.name, cause);
        let geometry = figures.geometry(program.degree).map_err(|cause| failed(cause.into()))?;
        let translation = translate(program, geometry.pieces()).map_err(|cause| failed(cause.into()))?;
        let estimate = GroupEstimate::new(&order(translation, &figures, &geometry), &figures, &geometry);
        Ok(Estimate {
            loads: RESOURCES.into_iter().zip(estimate.cycles()).collect(),
            cycles: estimate.total(),
            hint_bytes: estimate.hint_bytes,
            hint_bytes_once: estimate.hint_bytes_once,
            other_bytes: estimate.other_bytes,
        })
    }

    fn map(
        &self,
        machine: &Description,
        program: &KernelProgram,
        parameters: &str,
        options: &Given,
    ) -> Result<Box<dyn MappedResidue>, MachineError> {
        Ok(Box::new(map(machine, program, parameters, Options::of(options)?)?))
    }

    fn load(
        &self,
        machine: &Description,
        program: &KernelProgram,
        parameters: &str,
        options: &Given,
        bytes: &[u8],
    ) -> Result<Box<dyn MappedResidue>, MachineError> {
        let Options { low_throughput, .. } = Options::of(options)?;
        let figures = variant(machine, program, low_throughput)?;
        let failed =
            |cause: SavedError| MachineError::Saved { program: program.name.to_string(), cause: Box::new(cause) };
        let compiled = load_saved(bytes, &figures, program).map_err(failed)?;
        Ok(Box::new(mapped(machine, program, parameters, figures, compiled)?))
    }
}

/// Compiles `program` for `machine`, checks the schedule and reports on it.
///
/// # Errors
/// [`MachineError`] when the program does not fit, or the schedule breaks a rule.
pub fn map(
    machine: &Description,
    program: &KernelProgram,
    parameters: &str,
    options: Options,
) -> Result<Mapped, MachineError> {
    let figures = variant(machine, program, options.low_throughput)?;
    let failed = |cause| MachineError::mapping(machine, &program.name, cause);
    let compiled = compile_with(&figures, program, options.scheduler).map_err(failed)?;
    mapped(machine, program, parameters, figures, compiled)
}

/// The figures of `machine`, with units of low throughput if they are wanted.
fn variant(
    machine: &Description,
    program: &KernelProgram,
    low_throughput: Option<LowThroughput>,
) -> Result<F1, MachineError> {
    let figures = F1::new(machine)?;
    let Some(variant) = low_throughput else { return Ok(figures) };
    let failed = |cause: GeometryError| MachineError::mapping(machine, &program.name, CompileError::from(cause));
    figures.with_low_throughput(variant, program.degree).map_err(failed)
}

fn mapped(
    machine: &Description,
    program: &KernelProgram,
    parameters: &str,
    figures: F1,
    compiled: Compiled,
) -> Result<Mapped, MachineError> {
    let switches = program.ops.iter().filter(|op| matches!(op.kind, OpKind::InnerProduct { .. })).count() as u64;
    let work = match switches {
        0 => Work { count: compiled.translation.graph.len() as u64, of: "instructions" },
        count => Work { count, of: "key switches" },
    };
    let report = report(&compiled, &figures, machine, (&program.name, parameters), work)?;
    Ok(Mapped { compiled, report, machine: figures })
}

impl MappedResidue for Mapped {
    fn report(&self) -> &SimulationReport {
        &self.report
    }

    fn trace(&self, options: TraceOptions) -> Trace {
        trace(&self.compiled, &self.machine, self.machine.clock_hz, options)
    }

    fn save(&self) -> Vec<u8> {
        save(&self.compiled)
    }

    fn streams(&self) -> Vec<u8> {
        encode(&self.compiled.streams(&self.machine))
    }

    fn streams_text(&self) -> String {
        text(&self.compiled.streams(&self.machine))
    }

    fn groups(&self) -> Vec<Group> {
        let group = |group: &super::order::Group| Group {
            hint: group.hint.map(|hint| hint.to_string()),
            operations: group.operations as u64,
            instructions: group.instructions as u64,
        };
        self.compiled.groups.iter().map(group).collect()
    }

    fn replay(
        &self,
        program: &KernelProgram,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
    ) -> Result<Vec<RnsPolynomial>, MachineError> {
        let failed = |error: ReplayError| MachineError::Replay(Box::new(error));
        let Compiled { translation, geometry, actions, .. } = &self.compiled;
        let pieces = geometry.pieces();
        let leaf = |index: usize| {
            let LeafPiece { leaf, piece } = translation.leaves[index];
            Ok(self::leaf(program, keys, inputs, leaf)?[pieces.range(usize::from(piece))].into())
        };
        let words = replay_words(&translation.graph, actions, &self.machine, geometry, &translation.moduli, &leaf)
            .map_err(failed)?;
        let mut words = words.into_iter();
        let outputs = translation.outputs.iter().map(|output| {
            let limbs: Vec<_> = output.limbs.iter().map(|(limb, _)| *limb).collect();
            let mut polynomial = RnsPolynomial::zero(program.degree, &limbs, output.domain);
            for position in 0..limbs.len() {
                for (piece, words) in words.by_ref().take(pieces.count()).enumerate() {
                    polynomial.limb_mut(position)[pieces.range(piece)].copy_from_slice(&words);
                }
            }
            polynomial
        });
        Ok(outputs.collect())
    }
}

/// The words of a leaf.
fn leaf(program: &KernelProgram, keys: &KeySet, inputs: &[&RnsPolynomial], leaf: Leaf) -> Result<Words, ReplayError> {
    let degree = program.degree.get();
    match leaf {
        Leaf::Input { index, limb } => {
            let input = inputs.get(index).filter(|input| input.degree() == program.degree);
            let words = input.and_then(|input| input.position(limb).map(|position| input.limb(position)));
            words.map(Into::into).ok_or(ReplayError::Input { index, limb: limb.index() })
        }
        Leaf::Hint { key, row, part, limb } => {
            let key = keys.get(key)?;
            let position = key.limbs().iter().position(|&held| held == limb);
            let position = position.ok_or(ReplayError::Hint { limb: limb.index() })?;
            let mut scratch = vec![0; degree];
            Ok(key.limb(part, usize::from(row), position, &mut scratch).into())
        }
        Leaf::Plaintext { plaintext, limb, values } => {
            let modulus = program.modulus(limb);
            let mut words = vec![0; degree];
            program.plaintexts[plaintext as usize].residues(modulus, &mut words);
            if values {
                Ntt::<u64>::new(program.degree, modulus)?.forward(&mut words);
            }
            Ok(words.into())
        }
    }
}
