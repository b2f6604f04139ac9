//! Serializes a compiled program: the compiler's decisions, without program and machine.
//!
//! The bytes contain the order of the instructions, the groups and the actions. The reader supplies the
//! program, which determines the instructions, and the machine. Nothing that affects time or results is
//! trusted: the order must be a permutation of the instructions that respects their dependences, and the
//! checker simulates the actions. So a file for another program or machine, or a forged one, is rejected unless
//! its schedule is valid. A report's data on groups and phase 2's estimate come from the file unchecked.
//!
//! The format is `PFF1`, a version byte, then numbers as in the streams:
//! - N, the number of instructions, the number of leaves;
//! - for each instruction in order, its number in the translation;
//! - the number of groups, and for each its hint, its operations and its instructions;
//! - peak and cycles of phase 2;
//! - the number of actions, and for each its kind, cycle and fields.
//!
//! A group's hint is the index of one of its leaves plus 1, or 0 if there is no hint.

use super::action::{Action, Destination, Frame, Register, Source, Timed};
use super::bytes::{BytesError, Reader, put};
use super::compile::{Accepted, Compiled};
use super::expand::check;
use super::graph::Graph;
use super::machine::{F1, GeometryError};
use super::movement::Movement;
use super::order::{Group, reordered};
use super::translate::{Translation, TranslationError, translate};
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_sim::checker::Violation;

const MAGIC: &[u8; 4] = b"PFF1";
const VERSION: u8 = 4;

/// Upper bound on cycles: days at any clock.
const LATEST: u64 = 1 << 48;

/// Why bytes are not a compiled form of the program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SavedError {
    #[error("this is not a compiled program; `simulate --save` writes them")]
    Magic,
    #[error("a compiled program of version {0}, but this package reads version {VERSION}: compile it again")]
    Version(u8),
    #[error("{0}; the compiled program is damaged: compile it again")]
    Bytes(#[from] BytesError),
    #[error("it has {found} {what}, but the program has {expected}: it was compiled from another program")]
    Program { what: &'static str, found: u64, expected: u64 },
    #[error("position {place} of its order is invalid: it was compiled from another program, or is damaged")]
    Order { place: usize },
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    #[error(transparent)]
    Translation(#[from] TranslationError),
    #[error("the schedule is illegal on this machine: {0}")]
    Violation(#[from] Violation),
}

pub fn save(compiled: &Compiled) -> Vec<u8> {
    let Translation { graph, leaves, numbers, .. } = &compiled.translation;
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    for count in [compiled.geometry.degree.get(), graph.len(), leaves.len()] {
        put(&mut bytes, count as u64);
    }
    numbers.iter().for_each(|&number| put(&mut bytes, number.into()));
    put(&mut bytes, compiled.groups.len() as u64);
    for group in &compiled.groups {
        let of_hint = |of: &LeafSubpolynomial| matches!(of.leaf, Leaf::Hint { key, .. } if Some(key) == group.hint);
        let hint = leaves.iter().position(of_hint).map_or(0, |leaf| leaf as u64 + 1);
        for number in [hint, group.operations as u64, group.instructions.into()] {
            put(&mut bytes, number);
        }
    }
    for number in [compiled.movement.peak as u64, compiled.movement.cycles, compiled.actions.len() as u64] {
        put(&mut bytes, number);
    }
    for timed in &compiled.actions {
        let (kind, fields) = fields(timed.action);
        bytes.push(kind);
        put(&mut bytes, timed.cycle);
        fields.into_iter().flatten().for_each(|field| put(&mut bytes, field));
    }
    bytes
}

/// The kind of an action, and its fields.
fn fields(action: Action) -> (u8, [Option<u64>; 7]) {
    let frame = |frame: Frame| [frame.bank, frame.index].map(u64::from);
    let register = |register: Register| [register.cluster, register.index].map(u64::from);
    let list = |fields: &[u64]| {
        let mut found = [None; 7];
        found.iter_mut().zip(fields).for_each(|(place, &field)| *place = Some(field));
        found
    };
    let pair = |[a, b]: [u64; 2], [c, d]: [u64; 2]| list(&[a, b, c, d]);
    let moved = |[a, b]: [u64; 2], [c, d]: [u64; 2], value: u32| list(&[a, b, c, d, value.into()]);
    match action {
        Action::Load { stack, frame: place, value } => (0, pair([stack.into(), value.into()], frame(place))),
        Action::Store { stack, frame: place, value } => (1, pair([stack.into(), value.into()], frame(place))),
        Action::Fetch { frame: from, register: to, value } => (2, moved(frame(from), register(to), value)),
        Action::WriteBack { register: from, frame: to, value } => (3, moved(register(from), frame(to), value)),
        Action::Forward { from, to, value } => (4, moved(register(from), register(to), value)),
        Action::Execute { instruction, cluster, unit, operands, result } => {
            // A place is one number: its kind in the lowest two bits, then two fields of 16 bits.
            let place = |kind: u64, [a, b]: [u64; 2]| kind | a << 2 | b << 18;
            let [first, second] = operands.map(|operand| match operand {
                Source::Register(index) => place(0, [0, index.into()]),
                Source::Scratchpad(from) => place(1, frame(from)),
                Source::Cluster(from) => place(2, register(from)),
            });
            let result = match result {
                Destination::Register(index) => place(0, [0, index.into()]),
                Destination::Scratchpad(to) => place(1, frame(to)),
            };
            (5, list(&[instruction.into(), cluster.into(), unit.into(), first, second, result]))
        }
    }
}

/// Reads and checks a program written by [`save`]. Phase 2's steps are not included.
pub fn load(bytes: &[u8], machine: &F1, program: &KernelProgram) -> Result<Accepted, SavedError> {
    let [header @ .., version] = bytes.get(..5).ok_or(SavedError::Magic)? else { return Err(SavedError::Magic) };
    if header != MAGIC {
        return Err(SavedError::Magic);
    }
    if *version != VERSION {
        return Err(SavedError::Version(*version));
    }
    let geometry = machine.geometry(program.degree)?;
    let translation = translate(program, geometry.subpolynomials())?;
    let reader = &mut Reader::new(&bytes[5..]);
    let expected = [program.degree.get(), translation.graph.len(), translation.leaves.len()];
    for (what, expected) in ["residues in a vector", "instructions", "loads"].into_iter().zip(expected) {
        let (found, expected) = (reader.number()?, expected as u64);
        if found != expected {
            return Err(SavedError::Program { what, found, expected });
        }
    }
    let order = order(reader, &translation.graph)?;
    let translation = reordered(&translation, &order);
    let groups = groups(reader, &translation)?;
    let movement = Movement { peak: reader.narrow()?, cycles: reader.number()?, ..Movement::default() };
    let count = reader.count(4)?;
    let mut actions = Vec::with_capacity(count);
    for _ in 0..count {
        actions.push(timed(reader)?);
    }
    reader.finish()?;
    let checked = check(&translation.graph, &actions, machine, &geometry)?;
    let compiled = Compiled { geometry, translation, groups, movement, actions };
    Ok(Accepted { compiled, checked })
}

/// An order of all instructions in which each follows its operands.
fn order(reader: &mut Reader<'_>, graph: &Graph) -> Result<Vec<u32>, SavedError> {
    let mut placed = vec![false; graph.len()];
    let mut order = Vec::with_capacity(graph.len());
    for place in 0..graph.len() {
        let number: u32 = reader.narrow()?;
        let index = number as usize;
        let known = placed.get(index).is_some_and(|&placed| !placed);
        let follows = || graph.operands(index).iter().filter_map(|operand| operand.as_result()).all(|of| placed[of]);
        if !known || !follows() {
            return Err(SavedError::Order { place });
        }
        placed[index] = true;
        order.push(number);
    }
    Ok(order)
}

fn groups(reader: &mut Reader<'_>, translation: &Translation) -> Result<Vec<Group>, SavedError> {
    let count = reader.count(3)?;
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        let hint = match reader.narrow::<usize>()? {
            0 => None,
            place => match translation.leaves.get(place - 1) {
                Some(&LeafSubpolynomial { leaf: Leaf::Hint { key, .. }, .. }) => Some(key),
                _ => return Ok(reader.fail("no such hint")?),
            },
        };
        let operations = reader.narrow()?;
        let instructions = reader.narrow()?;
        groups.push(Group { hint, operations, instructions });
    }
    Ok(groups)
}

fn timed(reader: &mut Reader<'_>) -> Result<Timed, BytesError> {
    let kind = reader.byte()?;
    let cycle = reader.number()?;
    if cycle >= LATEST {
        return reader.fail("a cycle that no schedule reaches");
    }
    let action = match kind {
        0 | 1 => {
            let (stack, value) = (reader.narrow()?, reader.narrow()?);
            let frame = frame(reader)?;
            if kind == 0 { Action::Load { stack, frame, value } } else { Action::Store { stack, frame, value } }
        }
        2 => Action::Fetch { frame: frame(reader)?, register: register(reader)?, value: reader.narrow()? },
        3 => Action::WriteBack { register: register(reader)?, frame: frame(reader)?, value: reader.narrow()? },
        4 => Action::Forward { from: register(reader)?, to: register(reader)?, value: reader.narrow()? },
        5 => {
            let (instruction, cluster, unit) = (reader.narrow()?, reader.narrow()?, reader.narrow()?);
            let mut operands = [Source::Register(0); 2];
            for operand in &mut operands {
                *operand = match place(reader)? {
                    (0, _, index) => Source::Register(index),
                    (1, bank, index) => Source::Scratchpad(Frame { bank, index }),
                    (2, cluster, index) => Source::Cluster(Register { cluster, index }),
                    _ => return reader.fail("no such operand"),
                };
            }
            let result = match place(reader)? {
                (0, _, index) => Destination::Register(index),
                (1, bank, index) => Destination::Scratchpad(Frame { bank, index }),
                _ => return reader.fail("no such place for a result"),
            };
            Action::Execute { instruction, cluster, unit, operands, result }
        }
        _ => return reader.fail("no such action"),
    };
    Ok(Timed { cycle, action })
}

fn frame(reader: &mut Reader<'_>) -> Result<Frame, BytesError> {
    Ok(Frame { bank: reader.narrow()?, index: reader.narrow()? })
}

fn register(reader: &mut Reader<'_>) -> Result<Register, BytesError> {
    Ok(Register { cluster: reader.narrow()?, index: reader.narrow()? })
}

/// Kind, and two numbers.
fn place(reader: &mut Reader<'_>) -> Result<(u64, u16, u16), BytesError> {
    let packed = reader.number()?;
    if packed >> 34 != 0 {
        return reader.fail("no such place");
    }
    Ok((packed & 3, (packed >> 2) as u16, (packed >> 18) as u16))
}
