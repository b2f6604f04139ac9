//! From a kernel program to a schedule, through all phases, optionally checked.

use super::action::{Action, Timed};
use super::advance::advance;
use super::csr::{self, Intractable, Sequence};
use super::cycle::{self, CycleError, Scheduled};
use super::expand::{Expansion, check};
use super::fetch;
use super::lockstep::planned;
use super::machine::{F1, Geometry, GeometryError};
use super::movement::{self, Movement};
use super::order::{Group, Ordered, order, orders, reordered};
use super::stream::{Stream, streams};
use super::translate::{Translation, TranslationError, translate};
use crate::rns::labels::Labels;
use crate::rns::traffic::Traffic;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_sim::checker::{Checked, Violation};
use std::ops::Deref;
use std::time::Duration;

/// Maximum number of instructions for which several orders are tried; longer programs take minutes and
/// gigabytes per order.
const TRIED: usize = 1 << 22;

/// Algorithm of phase 2, which decides what is on chip when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Phase 2 of the paper: instructions and loads by priority (section 4.3).
    #[default]
    Priority,
    /// Code scheduling to minimize register usage, on the whole graph (section 8.3).
    Csr {
        /// Time limit, if any.
        limit: Option<Duration>,
    },
}

/// A program compiled for F1.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The machine on the program's ring.
    pub geometry: Geometry,
    /// The instructions, and the meaning of leaves and results.
    pub translation: Translation,
    /// Phase 1: operations that share a hint, in order; empty if the scheduler mixes them.
    pub groups: Vec<Group>,
    /// Phase 2: loads, stores and evictions.
    pub movement: Movement,
    /// Phase 3: actions of every component with their cycles.
    pub actions: Vec<Timed>,
}

/// A compiled program that the checker has accepted.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub compiled: Compiled,
    /// The checker's results.
    pub checked: Checked,
}

impl Deref for Accepted {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        &self.compiled
    }
}

impl Compiled {
    /// The instruction streams of all components of `machine`.
    pub fn streams(&self, machine: &F1) -> Vec<Stream> {
        streams(&self.translation.graph, &self.actions, machine, &self.geometry)
    }

    pub fn events<'a>(&'a self, machine: &'a F1) -> Expansion<'a> {
        Expansion::of_existing(&self.translation.graph, &self.actions, machine, &self.geometry)
    }

    /// The meaning of the events' values.
    pub fn labels(&self) -> Labels {
        self.translation.labels(self.geometry.subpolynomials())
    }

    pub fn traffic(&self, machine: &F1) -> Traffic {
        Traffic::of(&self.events(machine), &self.labels())
    }

    /// Number of vectors loaded and stored.
    pub fn off_chip(&self) -> [u64; 2] {
        let count = |of: fn(&Action) -> bool| self.actions.iter().filter(|timed| of(&timed.action)).count() as u64;
        [count(|action| matches!(action, Action::Load { .. })), count(|action| matches!(action, Action::Store { .. }))]
    }
}

/// Why a program does not run on F1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    #[error(transparent)]
    Translation(#[from] TranslationError),
    #[error(transparent)]
    Cycle(#[from] CycleError),
    #[error(transparent)]
    Intractable(#[from] Intractable),
    #[error("the schedule is illegal, {0}. This is a bug in the compiler")]
    Violation(#[from] Violation),
}

/// Compiles and checks `program` as in the paper.
pub fn compile(machine: &F1, program: &KernelProgram) -> Result<Accepted, CompileError> {
    compile_with(machine, program, Scheduler::Priority)
}

/// Compiles and checks `program` with `scheduler` as phase 2.
pub fn compile_with(machine: &F1, program: &KernelProgram, scheduler: Scheduler) -> Result<Accepted, CompileError> {
    let compiled = scheduled(machine, program, scheduler)?;
    let checked = check(&compiled.translation.graph, &compiled.actions, machine, &compiled.geometry)?;
    Ok(Accepted { compiled, checked })
}

/// Compiles `program` without the checker; the caller checks and audits the schedule.
pub fn scheduled(machine: &F1, program: &KernelProgram, scheduler: Scheduler) -> Result<Compiled, CompileError> {
    let geometry = machine.geometry(program.degree)?;
    let translation = translate(program, geometry.subpolynomials())?;
    let (ordered, movement, Scheduled { actions, .. }) = match scheduler {
        Scheduler::Priority => soonest(orders(translation, TRIED, machine, &geometry), machine, &geometry)?,
        Scheduler::Csr { limit } => {
            let mut ordered = advance(order(translation, machine, &geometry), machine, &geometry);
            let sequence = csr::order(&ordered.translation.graph, machine, &geometry, limit)?;
            let sequence = renumber(&mut ordered, sequence);
            let movement = csr::allocate(&ordered.translation.graph, &sequence, machine, &geometry);
            let scheduled = shortest(&ordered, &movement, machine, &geometry)?;
            (ordered, movement, scheduled)
        }
    };
    let Ordered { translation, groups, .. } = ordered;
    let actions = fetch::behind(actions, &translation.graph, machine, &geometry);
    Ok(Compiled { geometry, translation, groups, movement, actions })
}

/// Schedules several orders with phases 2 and 3; returns the shortest schedule.
fn soonest(
    (first, others): (Ordered, Vec<Ordered>),
    machine: &F1,
    geometry: &Geometry,
) -> Result<(Ordered, Movement, Scheduled), CompileError> {
    let scheduled = |ordered| {
        let ordered = advance(ordered, machine, geometry);
        let movement = movement::schedule(&ordered.translation.graph, machine, geometry, ordered.pace);
        let scheduled = shortest(&ordered, &movement, machine, geometry)?;
        Ok::<_, CompileError>((ordered, movement, scheduled))
    };
    let mut best = scheduled(first)?;
    for ordered in others {
        let other = scheduled(ordered)?;
        if other.2.end < best.2.end {
            best = other;
        }
    }
    Ok(best)
}

/// Phase 3 with and without lockstep runs of equal operations; returns the shorter schedule.
fn shortest(
    ordered: &Ordered,
    movement: &Movement,
    machine: &F1,
    geometry: &Geometry,
) -> Result<Scheduled, CycleError> {
    let apart = cycle::schedule(&ordered.translation.graph, &ordered.home, movement, &[], machine, geometry)?;
    // If runs leave no registers for later instructions, there is no such schedule.
    let together = together(ordered, movement, machine, geometry).unwrap_or(None);
    Ok(together.filter(|together| together.end < apart.end).unwrap_or(apart))
}

/// Phase 3 with lockstep runs of equal operations; `None` if no run has a schedule.
pub(super) fn together(
    ordered: &Ordered,
    movement: &Movement,
    machine: &F1,
    geometry: &Geometry,
) -> Result<Option<Scheduled>, CycleError> {
    let mut best: Option<Scheduled> = None;
    let mut failed = None;
    for planned in planned(&ordered.runs, machine, geometry) {
        let mut home = ordered.home.clone();
        for run in planned.iter().map(|planned| &planned.run) {
            for (operation, instructions) in run.rows.iter().flat_map(|row| row.instructions.iter().enumerate()) {
                for (place, &instruction) in (0..).zip(instructions) {
                    home[instruction as usize] = run.columns.cluster(operation, run.columns.of(place)) as u16;
                }
            }
        }
        match cycle::schedule(&ordered.translation.graph, &home, movement, &planned, machine, geometry) {
            Ok(found) if best.as_ref().is_none_or(|best| found.end < best.end) => best = Some(found),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
    }
    match (best, failed) {
        (None, Some(error)) => Err(error),
        (best, _) => Ok(best),
    }
}

/// Renumbers the instructions in the order of `sequence`, as phase 3 expects.
fn renumber(ordered: &mut Ordered, sequence: Sequence) -> Sequence {
    let graph = &ordered.translation.graph;
    let is_result = |&value: &u32| graph.vector(value as usize).as_result().is_some();
    let order: Vec<u32> = sequence.values.iter().copied().filter(is_result).collect();
    let mut place: Vec<u32> = (0..graph.values() as u32).collect();
    for (new, &old) in order.iter().enumerate() {
        place[old as usize] = new as u32;
    }
    let values = sequence.values.iter().map(|&value| place[value as usize]).collect();
    ordered.home = order.iter().map(|&old| ordered.home[old as usize]).collect();
    ordered.translation = reordered(&ordered.translation, &order);
    ordered.groups.clear();
    ordered.runs.clear();
    Sequence { values, ..sequence }
}
