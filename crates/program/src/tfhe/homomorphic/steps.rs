//! Infers the torus step 1/P of every value.
//!
//! Values connected by linear operations share one step; a lookup starts a new component. P is the smallest even number that
//! satisfies every reader of the component. With the read range [lo, hi] and its stride s (at least 1):
//! - a lookup table on half the torus needs P ≥ 2(hi - lo + s);
//! - a lookup on the whole torus needs P ≥ hi - lo + s and negated results for values P/2 apart; otherwise it needs
//!   2(hi - lo + s) too;
//! - a sign, with the threshold t between the largest negative and the smallest other value, needs
//!   P ≥ 2·max(hi - t, t - lo) + s;
//! - a wide table needs P ≥ 2^b for its digits of most bits b, and a power of two;
//! - decryption of an output needs P ≥ hi - lo + s.
//!
//! Booleans always have P = 8, torus values of b bits P = 2^b.

use super::{ElementType, Node, NodeId, Op, ProgramError, ProgramErrorCause, Range, Table};
use crate::Location;

/// P of Booleans, which are ±1/8.
pub const BOOLEAN_STEP: u32 = 8;

/// Largest P.
pub const MAX_STEP: u32 = 1 << 30;

/// Twice the threshold of a sign on `range`: midway between its largest negative and its smallest other value, or where those
/// would be.
pub fn twice_sign_threshold(range: Range) -> i64 {
    2 * range.lo().rem_euclid(range.slot()) - range.slot()
}

/// Smallest even P for a lookup table on half the torus.
pub fn table_requirement(range: Range) -> u64 {
    2 * (range.hi() - range.lo() + range.slot()) as u64
}

/// Smallest even P for a sign.
pub fn sign_requirement(range: Range) -> u64 {
    let threshold = twice_sign_threshold(range);
    let need = (2 * range.hi() - threshold).max(threshold - 2 * range.lo()) + range.slot();
    (need as u64).next_multiple_of(2)
}

/// Smallest even P to decrypt `range`.
pub fn output_requirement(range: Range) -> u64 {
    ((range.hi() - range.lo() + range.slot()) as u64).next_multiple_of(2)
}

/// Whether step 1/`step` fits a lookup on the whole torus. `entries` are the results in units, one for each value of `range`,
/// ascending. The second half of the torus gives the first half's results negated. So values half a torus apart must have
/// negated results, and no other two values' slots may overlap.
pub fn whole_torus_fits(range: Range, entries: &[i64], step: u64) -> bool {
    if step >= table_requirement(range) {
        return true;
    }
    if !step.is_multiple_of(2) || step < output_requirement(range) {
        return false;
    }
    let (step, slot) = (step as i64, range.slot());
    entries.iter().enumerate().all(|(index, entry)| {
        // The value that lies in the other half of the torus, as a distance above the lowest value.
        let opposite = (index as i64 * slot + step / 2) % step;
        let (at, off) = ((opposite / slot) as usize, opposite % slot);
        match off {
            0 => entries.get(at).is_none_or(|other| *other == -entry),
            _ => at >= entries.len() && opposite + slot <= step,
        }
    })
}

/// The entries of `table` in units of `result`, for each value of the operand's type, ascending.
pub fn entries_in_units(table: &Table, operand: ElementType, result: ElementType) -> Vec<i64> {
    let domain = operand.units().unwrap_or(Range::point(0));
    let entry = |unit: i64| {
        let value = if operand == ElementType::Boolean { (unit + 1) / 2 } else { unit };
        result.to_units(table.get(value).unwrap_or(0))
    };
    domain.values().map(entry).collect()
}

/// Constraints on the step of one component.
#[derive(Clone)]
struct Component {
    required: u64,
    reader: Option<u32>,
    pinned: Option<(u32, u32)>,
    /// Readers that use the whole torus.
    whole: Vec<u32>,
    /// Whether P must be a power of two.
    binary: bool,
}

fn find(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}

/// Returns P of every node.
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
    let mut components =
        vec![Component { required: 2, reader: None, pinned: None, whole: Vec::new(), binary: false }; nodes.len()];
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
            Op::Lookup { whole: false, .. } | Op::LookupEach { .. } => table_requirement(range),
            Op::Lookup { whole: true, .. } => output_requirement(range),
            Op::LookupWide { ref widths, .. } => 1 << widths.iter().copied().max().unwrap_or(1),
            Op::Sign => sign_requirement(range),
            Op::Output { .. } => output_requirement(range),
            _ => continue,
        };
        let root = find(&mut parents, operand.0) as usize;
        if matches!(node.op, Op::Lookup { whole: true, .. }) {
            components[root].whole.push(index as u32);
        }
        components[root].binary |= matches!(node.op, Op::LookupWide { .. });
        if required > components[root].required {
            components[root].required = required;
            components[root].reader = Some(index as u32);
        }
    }
    let mut steps = Vec::with_capacity(nodes.len());
    let mut chosen: Vec<Option<u32>> = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        let root = find(&mut parents, index as u32) as usize;
        let component = &mut components[root];
        steps.push(match (node.element, chosen[root]) {
            (ElementType::Boolean, _) => fixed(component, nodes, BOOLEAN_STEP)?,
            (ElementType::Torus { bits }, _) => fixed(component, nodes, 1 << bits)?,
            (ElementType::Integer(_), Some(step)) => step,
            (ElementType::Integer(_), None) => {
                suit_whole(component, nodes);
                *chosen[root].insert(choose(component, nodes)?)
            }
        });
    }
    Ok(steps)
}

/// Whether the operation's result has its operands' step.
pub(crate) fn is_linear(op: &Op) -> bool {
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
        Op::Input { .. }
        | Op::Constant { .. }
        | Op::Lookup { .. }
        | Op::LookupEach { .. }
        | Op::LookupWide { .. }
        | Op::Sign
        | Op::Gate(_)
        | Op::Mux => false,
    }
}

/// Raises the requirement of `component` until every lookup on the whole torus fits.
fn suit_whole(component: &mut Component, nodes: &[Node]) {
    let power = |component: &Component| match component.binary {
        true => component.required.next_power_of_two(),
        false => component.required,
    };
    component.required = power(component);
    let mut functions = std::collections::HashMap::new();
    for &index in &component.whole {
        let node = &nodes[index as usize];
        let (Op::Lookup { tables, .. }, Some(&operand)) = (&node.op, node.operands.first()) else { continue };
        let read = nodes[operand.index()].element;
        let ElementType::Integer(range) = read else { continue };
        for table in tables.iter() {
            functions.entry((range, entries_in_units(table, read, node.element))).or_insert(index);
        }
    }
    let pinned = component.pinned.map_or(0, |(pinned, _)| u64::from(pinned));
    let start = component.required;
    let fits = |step: u64, range: Range, entries: &[i64]| whole_torus_fits(range, entries, step.max(pinned));
    while let Some((_, &reader)) =
        functions.iter().find(|((range, entries), _)| !fits(component.required, *range, entries))
    {
        // Terminates: every lookup fits from its half-torus requirement on. `fixed` rejects a pinned step that does not fit.
        component.required += 2;
        component.required = power(component);
        component.reader = Some(reader);
        if component.required > start && component.required < pinned {
            component.required = pinned + 2;
            component.required = power(component);
        }
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
        Some((pinned, node))
            if u64::from(pinned) < required
                || pinned % 2 != 0
                || pinned > MAX_STEP
                || (component.binary && !pinned.is_power_of_two()) =>
        {
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
