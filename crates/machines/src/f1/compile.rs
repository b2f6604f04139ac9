//! From a kernel program to a schedule that the checker has accepted: all phases in a row.

use super::action::Timed;
use super::checker::{Checked, Violation, check};
use super::cycle::{self, CycleError};
use super::machine::{F1, Geometry, GeometryError};
use super::movement::{self, Movement};
use super::order::{Group, Ordered, order};
use super::translate::{Translation, TranslationError, translate};
use polyfabric_program::rns::kernel::KernelProgram;

/// A program as F1 executes it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The machine on the program's ring.
    pub geometry: Geometry,
    /// The instructions, and what their leaves and results are.
    pub translation: Translation,
    /// Phase 1: operations that share a hint, in order.
    pub groups: Vec<Group>,
    /// Phase 2: what is on chip when.
    pub movement: Movement,
    /// Phase 3: what every component does in every cycle.
    pub actions: Vec<Timed>,
    /// What the checker saw.
    pub checked: Checked,
}

/// Why a program does not run on F1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// Its ring does not suit.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// An operation, or a modulus, that no unit serves.
    #[error(transparent)]
    Translation(#[from] TranslationError),
    /// The register files are too small.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// The checker refuses the schedule.
    #[error("the schedule is illegal, {0}. This is a fault of the compiler")]
    Violation(#[from] Violation),
}

/// Compiles and checks `program`.
///
/// # Errors
/// [`CompileError`].
pub fn compile(machine: &F1, program: &KernelProgram) -> Result<Compiled, CompileError> {
    let geometry = machine.geometry(program.degree)?;
    let Ordered { translation, home, groups } = order(translate(program)?, machine, &geometry);
    let movement = movement::schedule(&translation.graph, machine, &geometry);
    let actions = cycle::schedule(&translation.graph, &home, &movement, machine, &geometry)?;
    let checked = check(&translation.graph, &actions, machine, &geometry)?;
    Ok(Compiled { geometry, translation, groups, movement, actions, checked })
}
