//! Programs on residue polynomials on the machines that execute them.

use crate::engine::description::Description;
use crate::engine::report::SimulationReport;
use crate::engine::trace::{Trace, TraceOptions};
use crate::f1::compile::{CompileError, Compiled, Scheduler, compile_with};
use crate::f1::estimate::Estimate;
use crate::f1::machine::{F1, GeometryError, LowThroughput};
use crate::f1::order::order;
use crate::f1::replay::{ReplayError, Words, replay as replay_words};
use crate::f1::report::{Work, report};
use crate::f1::saved::{SavedError, load as load_saved, save};
use crate::f1::stream::Stream;
use crate::f1::trace::trace;
use crate::f1::translate::{Leaf, LeafPiece, translate};
use crate::machine::{Family, MachineError};
use polyfabric_kernels::ntt::Ntt;
use polyfabric_program::rns::kernel::{Conversion, KernelProgram, OpKind};
use polyfabric_program::rns::lowering::{Hoisting, Rescaling, RnsLowering, RotationOrder};
use polyfabric_schemes::rns::{GadgetLiteral, KeySet, RnsPolynomial};

/// How a program is compiled, beside what the machine file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Who decides what is on chip when.
    pub scheduler: Scheduler,
    /// Units of low throughput in the place of the machine's own.
    pub low_throughput: Option<LowThroughput>,
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

/// How programs are lowered for `machine`, with key switches as `gadget` cuts them: rotations with the automorphism first,
/// each with digits of its own (F1, listing 1), lifted as they are. Divisions round to the nearest: what they cut off from 0 up has a
/// mean, which the secret multiplies at the root next to 1; that of a digit only meets the key's errors.
///
/// # Errors
/// [`MachineError::Family`] for a machine of another family.
pub fn lowering(machine: &Description, program: &str, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
    Family::Residue.require(machine, program)?;
    Ok(RnsLowering {
        conversion: Conversion::Approximate,
        division: Conversion::Balanced,
        rotation: RotationOrder::AutomorphismFirst,
        hoisting: Hoisting::None,
        ..RnsLowering::new(gadget)
    })
}

/// The same for CKKS, whose scales are near the machine's words: rotations come before rescalings, so that the error of a key switch
/// is not felt at the smaller scale.
///
/// # Errors
/// As [`lowering`].
pub fn ckks_lowering(machine: &Description, program: &str, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
    let choice = lowering(machine, program, gadget)?;
    Ok(RnsLowering { rescaling: Rescaling::AfterRotations, ..choice })
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
    let failed = |cause| refused(machine, program, cause);
    let compiled = compile_with(&figures, program, options.scheduler).map_err(failed)?;
    mapped(machine, program, parameters, figures, compiled)
}

/// What `program` will take on `machine` by the order of its operations alone, for a choice between ways to lower it.
///
/// # Errors
/// [`MachineError`] when the program does not fit.
pub fn estimate(machine: &Description, program: &KernelProgram) -> Result<Estimate, MachineError> {
    let figures = figures(machine, &program.name)?;
    let failed = |cause| refused(machine, program, cause);
    let geometry = figures.geometry(program.degree).map_err(|cause| failed(cause.into()))?;
    let translation = translate(program, geometry.pieces()).map_err(|cause| failed(cause.into()))?;
    Ok(Estimate::new(&order(translation, &figures, &geometry), &figures, &geometry))
}

/// `program` as [`Mapped::save`] wrote it, checked again, with a new report.
///
/// # Errors
/// [`MachineError::Saved`] if the bytes are of another program, or the schedule breaks a rule.
pub fn load(
    machine: &Description,
    program: &KernelProgram,
    parameters: &str,
    low_throughput: Option<LowThroughput>,
    bytes: &[u8],
) -> Result<Mapped, MachineError> {
    let figures = variant(machine, program, low_throughput)?;
    let failed = |cause: SavedError| MachineError::Saved { program: program.name.to_string(), cause: Box::new(cause) };
    let compiled = load_saved(bytes, &figures, program).map_err(failed)?;
    mapped(machine, program, parameters, figures, compiled)
}

fn refused(machine: &Description, program: &KernelProgram, cause: CompileError) -> MachineError {
    let (program, machine) = (program.name.to_string(), machine.name().to_owned());
    MachineError::Compilation { program, machine, cause: Box::new(cause) }
}

/// The figures of `machine`, if `program` runs on such machines.
pub(crate) fn figures(machine: &Description, program: &str) -> Result<F1, MachineError> {
    Family::Residue.require(machine, program)?;
    Ok(F1::new(machine)?)
}

/// The same with units of low throughput, if they are wanted.
fn variant(
    machine: &Description,
    program: &KernelProgram,
    low_throughput: Option<LowThroughput>,
) -> Result<F1, MachineError> {
    let figures = figures(machine, &program.name)?;
    let Some(variant) = low_throughput else { return Ok(figures) };
    let failed = |cause: GeometryError| refused(machine, program, cause.into());
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

impl Mapped {
    /// The timeline of the schedule.
    pub fn trace(&self, options: TraceOptions) -> Trace {
        trace(&self.compiled, &self.machine, self.machine.clock_hz, options)
    }

    /// What the compiler found out, for [`load`].
    pub fn save(&self) -> Vec<u8> {
        save(&self.compiled)
    }

    /// The instruction streams of all components.
    pub fn streams(&self) -> Vec<Stream> {
        self.compiled.streams(&self.machine)
    }

    /// Carries out the schedule on `inputs`, in the order of [`KernelProgram::inputs`], and the switching keys; the outputs of
    /// `program`, in order.
    ///
    /// # Errors
    /// [`MachineError::ResidueReplay`] if a key or an input is not there.
    pub fn replay(
        &self,
        program: &KernelProgram,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
    ) -> Result<Vec<RnsPolynomial>, MachineError> {
        let failed = |error| MachineError::ResidueReplay(Box::new(error));
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
