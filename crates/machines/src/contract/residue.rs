//! Machines that execute programs on residue polynomials.

use super::options::{Given, check};
use super::{Family, Machine, MachineError, Mapper};
use crate::engine::description::Description;
use crate::engine::report::SimulationReport;
use crate::engine::trace::{Trace, TraceOptions};
use crate::registry;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::RnsLowering;
use polyfabric_schemes::rns::{GadgetLiteral, KeySet, RnsPolynomial};
use serde::Serialize;

/// A mapper of programs on residue polynomials.
pub trait ResidueMachine: Sync {
    /// Bits of the machine's words: what residues fit in.
    ///
    /// # Errors
    /// [`MachineError`] when a figure is unknown or impossible.
    fn word_bits(&self, machine: &Description) -> Result<u32, MachineError>;

    /// How programs of BGV are lowered for the machine, with key switches as `gadget` cuts them.
    fn bgv_lowering(&self, machine: &Description, gadget: GadgetLiteral) -> RnsLowering;

    /// The same for CKKS.
    fn ckks_lowering(&self, machine: &Description, gadget: GadgetLiteral) -> RnsLowering;

    /// What `program` will take by the order of its operations alone, for a choice between ways to lower it.
    ///
    /// # Errors
    /// [`MachineError`] when the program does not fit.
    fn estimate(&self, machine: &Description, program: &KernelProgram) -> Result<Estimate, MachineError>;

    /// Maps `program`, checks the schedule and reports on it.
    ///
    /// # Errors
    /// [`MachineError`] when the program does not fit, or the schedule breaks a rule.
    fn map(
        &self,
        machine: &Description,
        program: &KernelProgram,
        parameters: &str,
        options: &Given,
    ) -> Result<Box<dyn MappedResidue>, MachineError>;

    /// `program` as [`MappedResidue::save`] wrote it, checked again, with a new report.
    ///
    /// # Errors
    /// [`MachineError::Saved`] if the bytes are of another program, or the schedule breaks a rule.
    fn load(
        &self,
        machine: &Description,
        program: &KernelProgram,
        parameters: &str,
        options: &Given,
        bytes: &[u8],
    ) -> Result<Box<dyn MappedResidue>, MachineError>;
}

/// A program on a machine: what every question about it is answered from.
pub trait MappedResidue: Send + Sync {
    /// The report of the schedule.
    fn report(&self) -> &SimulationReport;

    /// The timeline of the schedule.
    fn trace(&self, options: TraceOptions) -> Trace;

    /// What the compiler found out, for [`ResidueMachine::load`].
    fn save(&self) -> Vec<u8>;

    /// The instruction streams of all components, in binary form.
    fn streams(&self) -> Vec<u8>;

    /// The same as text.
    fn streams_text(&self) -> String;

    /// Groups of operations that share a switching key, in the order of their execution.
    fn groups(&self) -> Vec<Group>;

    /// Carries out the schedule on `inputs`, in the order of [`KernelProgram::inputs`], and the switching keys; the outputs of
    /// `program`, in order.
    ///
    /// # Errors
    /// [`MachineError::Replay`] if a key or an input is not there.
    fn replay(
        &self,
        program: &KernelProgram,
        keys: &KeySet,
        inputs: &[&RnsPolynomial],
    ) -> Result<Vec<RnsPolynomial>, MachineError>;
}

/// Operations that share a switching key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The key, if they read one.
    pub hint: Option<String>,
    /// Operations of the kernel program.
    pub operations: u64,
    /// Instructions of the machine.
    pub instructions: u64,
}

/// Load of a program on a machine, by the order of its operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Cycles that each resource is at work, by its name.
    pub loads: Vec<(&'static str, f64)>,
    /// Cycles of the program.
    pub cycles: f64,
    /// Bytes of switching keys from memory.
    pub hint_bytes: u64,
    /// Bytes of switching keys if each came once.
    pub hint_bytes_once: u64,
    /// All other bytes to memory and from it.
    pub other_bytes: u64,
}

impl Estimate {
    /// The resource that is longest at work over the whole program.
    pub fn busiest(&self) -> &'static str {
        self.loads.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(name, _)| name)
    }
}

/// The machine's kind and mapper, if programs like `program` run on it.
fn mapper(
    machine: &Description,
    program: &str,
) -> Result<(&'static dyn Machine, &'static dyn ResidueMachine), MachineError> {
    let kind = registry::of(machine)?;
    match kind.family() {
        Mapper::Residue(mapper) => Ok((kind, mapper)),
        other => Err(MachineError::family(machine, other.family(), program, Family::Residue)),
    }
}

/// [`ResidueMachine::word_bits`] of `machine`; also whether its parts fit together.
///
/// # Errors
/// As there; [`MachineError::Family`] for a machine of another family.
pub fn word_bits(machine: &Description, program: &str) -> Result<u32, MachineError> {
    mapper(machine, program)?.1.word_bits(machine)
}

/// [`ResidueMachine::bgv_lowering`] of `machine`.
///
/// # Errors
/// [`MachineError::Family`] for a machine of another family.
pub fn bgv_lowering(machine: &Description, program: &str, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
    Ok(mapper(machine, program)?.1.bgv_lowering(machine, gadget))
}

/// [`ResidueMachine::ckks_lowering`] of `machine`.
///
/// # Errors
/// [`MachineError::Family`] for a machine of another family.
pub fn ckks_lowering(machine: &Description, program: &str, gadget: GadgetLiteral) -> Result<RnsLowering, MachineError> {
    Ok(mapper(machine, program)?.1.ckks_lowering(machine, gadget))
}

/// [`ResidueMachine::estimate`] of `program` on `machine`.
///
/// # Errors
/// As there; [`MachineError::Family`] for a machine of another family.
pub fn estimate(machine: &Description, program: &KernelProgram) -> Result<Estimate, MachineError> {
    mapper(machine, &program.name)?.1.estimate(machine, program)
}

/// Maps `program` onto `machine` with `options` of its kind, checks the schedule and reports on it.
///
/// # Errors
/// [`MachineError`] when the program or an option does not fit, or the schedule breaks a rule.
pub fn map(
    machine: &Description,
    program: &KernelProgram,
    parameters: &str,
    options: &Given,
) -> Result<Box<dyn MappedResidue>, MachineError> {
    let (kind, mapper) = mapper(machine, &program.name)?;
    check(kind, machine, options)?;
    mapper.map(machine, program, parameters, options)
}

/// `program` as [`MappedResidue::save`] wrote it for `machine`, checked again.
///
/// # Errors
/// [`MachineError::Saved`] if the bytes are of another program, or the schedule breaks a rule.
pub fn load(
    machine: &Description,
    program: &KernelProgram,
    parameters: &str,
    options: &Given,
    bytes: &[u8],
) -> Result<Box<dyn MappedResidue>, MachineError> {
    let (kind, mapper) = mapper(machine, &program.name)?;
    check(kind, machine, options)?;
    mapper.load(machine, program, parameters, options, bytes)
}
