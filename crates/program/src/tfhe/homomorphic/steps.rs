//! The torus step 1/P of every value.
//!
//! Values joined by linear operations share one step; a look-up starts a new component. P is the smallest even
//! number that satisfies every reader of the component (lo, hi: the read range; s: its stride, 1 at least):
//! - a look-up by table needs half the torus for the range: P ≥ 2(hi - lo + s);
//! - a sign look-up needs the whole torus, centred on the threshold t between the largest negative and the
//!   smallest other value: P ≥ 2·max(hi - t, t - lo) + s;
//! - decryption of an output needs the whole torus: P ≥ hi - lo + s.
//!
//! Booleans always have P = 8, torus values of b bits P = 2^b.

use super::{ElementType, Node, NodeId, Op, ProgramError, ProgramErrorCause, Range};
use crate::Location;

/// P of Booleans: ±1/8.
pub const BOOLEAN_STEP: u32 = 8;

/// Largest P.
pub const MAX_STEP: u32 = 1 << 30;

/// Twice the threshold of a sign look-up on `range`: midway between its largest negative and smallest other value
/// (or where those would be).
pub fn twice_sign_threshold(range: Range) -> i64 {
    2 * range.lo().rem_euclid(range.slot()) - range.slot()
}

/// Smallest even P for a look-up by table on `range`.
pub fn table_requirement(range: Range) -> u64 {
    2 * (range.hi() - range.lo() + range.slot()) as u64
}

/// Smallest even P for a sign look-up on `range`.
pub fn sign_requirement(range: Range) -> u64 {
    let threshold = twice_sign_threshold(range);
    let need = (2 * range.hi() - threshold).max(threshold - 2 * range.lo()) + range.slot();
    (need as u64).next_multiple_of(2)
}

/// Smallest even P to decrypt `range`.
pub fn output_requirement(range: Range) -> u64 {
    ((range.hi() - range.lo() + range.slot()) as u64).next_multiple_of(2)
}

/// What decides the step of one component so far.
#[derive(Clone)]
struct Component {
    required: u64,
    reader: Option<u32>,
    pinned: Option<(u32, u32)>,
}

fn find(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}

/// P of every node.
pub(super) fn infer(nodes: &[Node]) -> Result<Vec<u32>, ProgramError> {
    let mut parents: Vec<u32> = (0..nodes.len() as u32).collect();
    for (index, node) in nodes.iter().enumerate() {
        if is_linear(&node.op) {
            for operand in &node.operands {
                let (a, b) = (find(&mut parents, operand.0), find(&mut parents, index as u32));
                parents[a.max(b) as usize] = a.min(b);
            }
        }
    }
    let mut components = vec![Component { required: 2, reader: None, pinned: None }; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        if let Some(pinned) = node.pinned_step {
            let root = find(&mut parents, index as u32) as usize;
            match components[root].pinned {
                Some((first, _)) if first != pinned => {
                    let cause = ProgramErrorCause::StepConflict { first, second: pinned };
                    return Err(ProgramError { cause, location: node.location.clone() });
                }
                Some(_) => {}
                None => components[root].pinned = Some((pinned, index as u32)),
            }
        }
        let Some(operand) = node.operands.first() else { continue };
        let ElementType::Integer(range) = nodes[operand.index()].element else { continue };
        let required = match node.op {
            Op::Lookup { .. } => table_requirement(range),
            Op::Sign => sign_requirement(range),
            Op::Output { .. } => output_requirement(range),
            _ => continue,
        };
        let root = find(&mut parents, operand.0) as usize;
        if required > components[root].required {
            components[root].required = required;
            components[root].reader = Some(index as u32);
        }
    }
    let mut steps = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let component = &components[find(&mut parents, index as u32) as usize];
        steps.push(match node.element {
            ElementType::Boolean => fixed(component, nodes, BOOLEAN_STEP)?,
            ElementType::Torus { bits } => fixed(component, nodes, 1 << bits)?,
            ElementType::Integer(_) => choose(component, nodes)?,
        });
    }
    Ok(steps)
}

/// Whether the operation keeps its operands' step.
fn is_linear(op: &Op) -> bool {
    match op {
        Op::Add
        | Op::Sub
        | Op::Neg
        | Op::AddClear { .. }
        | Op::MulClear { .. }
        | Op::Linear { .. }
        | Op::Not
        | Op::Select { .. }
        | Op::Concat
        | Op::Assume
        | Op::Output { .. } => true,
        Op::Input { .. } | Op::Constant { .. } | Op::Lookup { .. } | Op::Sign | Op::Gate(_) | Op::Mux => false,
    }
}

fn fixed(component: &Component, nodes: &[Node], step: u32) -> Result<u32, ProgramError> {
    match component.pinned {
        Some((pinned, node)) if pinned != step => Err(ProgramError {
            cause: ProgramErrorCause::StepConflict { first: step, second: pinned },
            location: nodes[node as usize].location.clone(),
        }),
        _ => Ok(step),
    }
}

fn choose(component: &Component, nodes: &[Node]) -> Result<u32, ProgramError> {
    let reader = component.reader.map(|index| &nodes[index as usize]);
    let need = || match (component.reader, reader) {
        (Some(index), Some(node)) => describe(index, node, nodes),
        _ => "any value".to_owned(),
    };
    let location = |node: Option<&Node>| -> Option<Location> { node?.location.clone() };
    let required = component.required;
    if required > u64::from(MAX_STEP) {
        let cause = ProgramErrorCause::TooFine { need: need(), required, limit: MAX_STEP };
        return Err(ProgramError { cause, location: location(reader) });
    }
    match component.pinned {
        Some((pinned, node)) if u64::from(pinned) < required || pinned % 2 != 0 || pinned > MAX_STEP => {
            let cause = ProgramErrorCause::Step { pinned, required, need: need() };
            Err(ProgramError { cause, location: location(nodes.get(node as usize)) })
        }
        Some((pinned, _)) => Ok(pinned),
        None => Ok(required as u32),
    }
}

fn describe(index: u32, node: &Node, nodes: &[Node]) -> String {
    let operand = node.operands[0];
    let place = node.location.as_ref().map_or(String::new(), |location| format!(" ({location})"));
    let element = nodes[operand.index()].element;
    format!("{} {}{place} of {element} {operand}", super::op_name(&node.op), NodeId(index))
}
