//! The modulus of every integer.
//!
//! Values that linear operations connect are represented modulo one p. A lookup of p entries reads them, so values that are equal modulo p must
//! have equal results, and the values of an input or output must differ. p is the smallest such number: for the equality of two digits from 0 to 15,
//! a lookup on their difference from −15 to 15, it is 16.

use super::elements::Elements;
use super::{Form, LaneErrorCause as Cause, Result, nodes, refuse};
use crate::rns::homomorphic::Table as SlotTable;
use crate::tfhe::homomorphic::{ElementType, Gate, Node, NodeId, Op, Program, Range, Table, op_name, steps};
use std::collections::HashSet;

/// The representation of integers that linear operations connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Modulus {
    pub p: u32,
    /// Whether fractions are those of the integers themselves, not of their residues.
    pub whole: bool,
}

/// The modulus of every node.
pub(super) struct Moduli {
    roots: Vec<u32>,
    moduli: Vec<Modulus>,
}

/// The least p with which the fractions in (−1/2, 1/2] of a range are those of its integers.
fn whole(range: Range) -> u64 {
    (2 * range.hi()).max(1 - 2 * range.lo()).max(2) as u64
}

/// A function of the integers that occur.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Function {
    /// Value and result.
    pairs: Vec<(i64, i64)>,
}

impl Function {
    fn new(values: impl Iterator<Item = i64>, result: impl Fn(i64) -> i64) -> Self {
        Self { pairs: values.map(|value| (value, result(value))).collect() }
    }

    /// `table` on the values of `element`.
    pub fn of_table(table: &Table, element: ElementType) -> Self {
        Self::new(values_of(element).values(), |value| table.get(value).unwrap_or(0))
    }

    /// 1 for values of at least 0, otherwise `negative`.
    pub fn sign(element: ElementType, negative: i64) -> Self {
        let threshold = i64::from(element == ElementType::Boolean);
        Self::new(values_of(element).values(), |value| if value >= threshold { 1 } else { negative })
    }

    /// `gate`, on the sum of its operands.
    pub fn gate(gate: Gate) -> Self {
        Self::new(0..=2, |sum| {
            i64::from(match gate {
                Gate::And => sum == 2,
                Gate::Nand => sum != 2,
                Gate::Or => sum != 0,
                Gate::Nor => sum == 0,
                Gate::Xor => sum == 1,
                Gate::Xnor => sum != 1,
            })
        })
    }

    /// `condition ? then : otherwise`, on [`SELECTED`] times these.
    pub fn mux() -> Self {
        Self::new(0..=7, |packed| if packed >= 4 { packed >> 1 & 1 } else { packed & 1 })
    }

    fn identity(range: Range) -> Self {
        Self::new(range.values(), |value| value)
    }

    /// The result for a value; 0 for one that does not occur.
    pub fn of(&self, value: i64) -> i64 {
        self.pairs.iter().find(|pair| pair.0 == value).map_or(0, |pair| pair.1)
    }

    /// The results by residue of the operand modulo p; `None` where no value has it. `None` if two values of a residue differ.
    pub fn residues(&self, p: u32) -> Option<Vec<Option<i64>>> {
        let mut entries = vec![None; p as usize];
        for &(value, result) in &self.pairs {
            let entry = &mut entries[value.rem_euclid(p.into()) as usize];
            if entry.is_some_and(|known| known != result) {
                return None;
            }
            *entry = Some(result);
        }
        Some(entries)
    }
}

/// Weights of condition, value if true and value if false, in the operand of a multiplexer's table.
pub(super) const SELECTED: [i64; 3] = [4, 2, 1];

/// The values that an element takes; those of a Boolean are 0 and 1.
pub(super) fn values_of(element: ElementType) -> Range {
    match element {
        ElementType::Integer(range) => range,
        _ => Range::point(0).union(Range::point(1)),
    }
}

/// The functions that must be unique modulo p: those that a node applies to its operand. For an input, the identity.
fn functions(program: &Program, node: &Node) -> Vec<Function> {
    let operand = || program.node(node.operands[0]).element;
    match &node.op {
        Op::Lookup { tables, .. } | Op::LookupEach { tables } => {
            tables.iter().map(|table| Function::of_table(table, operand())).collect()
        }
        Op::Sign => vec![Function::sign(operand(), -1)],
        Op::Gate(gate) => vec![Function::gate(*gate)],
        Op::Mux => vec![Function::mux()],
        Op::Input { .. } => vec![Function::identity(values_of(node.element))],
        Op::Output { .. } => vec![Function::identity(values_of(operand()))],
        _ => Vec::new(),
    }
}

/// Whether the operation reads each value of its operand, or is an input.
fn is_read(op: &Op) -> bool {
    matches!(op, Op::Input { .. } | Op::Lookup { .. } | Op::LookupEach { .. } | Op::Sign | Op::Output { .. })
}

/// Whether all operands must have one modulus, since the operation adds them.
fn adds(op: &Op) -> bool {
    steps::is_linear(op) || matches!(op, Op::Gate(_) | Op::Mux)
}

fn find(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}

impl Moduli {
    /// A table's is at most its most entries.
    pub fn new(program: &Program, elements: &Elements, form: &Form) -> Result<Self> {
        let most = form.entries;
        let is_summed = |op: &Op| matches!(op, Op::Output { name } if form.is_whole(name));
        let mut parents: Vec<u32> = (0..program.nodes().len() as u32).collect();
        let used = |id: NodeId| elements.is_used(id);
        for (id, node) in nodes(program).filter(|&(id, _)| used(id)) {
            let own = steps::is_linear(&node.op).then_some(id);
            let operands = node.operands.iter().copied().filter(|&operand| used(operand) && adds(&node.op));
            let mut first = None;
            for one in own.into_iter().chain(operands) {
                let root = find(&mut parents, one.0);
                let to = *first.get_or_insert(root);
                let to = find(&mut parents, to);
                parents[root.max(to) as usize] = root.min(to);
            }
        }
        let roots: Vec<u32> = (0..parents.len() as u32).map(|node| find(&mut parents, node)).collect();
        let mut readers: Vec<HashSet<Function>> = vec![HashSet::new(); roots.len()];
        let mut moduli = vec![Modulus { p: 2, whole: false }; roots.len()];
        for (_, node) in nodes(program).filter(|(id, node)| is_summed(&node.op) && used(*id)) {
            moduli[roots[node.operands[0].index()] as usize].whole = true;
        }
        // The integers of linear operations are sums of others.
        for (id, node) in nodes(program).filter(|&(id, node)| used(id) && !steps::is_linear(&node.op)) {
            let own = &mut moduli[roots[id.index()] as usize];
            if own.whole && !matches!(node.op, Op::Output { .. }) {
                let needed = whole(values_of(node.element));
                if needed > SlotTable::MOST as u64 {
                    let cause = Cause::TooLarge { element: node.element, most: SlotTable::MOST as u32 / 2 };
                    return refuse(cause, node.location.as_ref());
                }
                own.p = own.p.max(needed as u32);
            }
        }
        for (id, node) in nodes(program).filter(|(_, node)| !is_summed(&node.op)) {
            // Clients decode inputs too, so the values of all of them differ.
            let read = match node.op {
                Op::Input { .. } => Some(id),
                _ if used(id) => node.operands.iter().copied().find(|&operand| used(operand)),
                _ => None,
            };
            let Some(read) = read else { continue };
            let root = roots[read.index()] as usize;
            let element = program.node(read).element;
            let too_many = || {
                let op = op_name(&node.op);
                refuse(Cause::TooManyValues { op, element, most }, node.location.as_ref())
            };
            if is_read(&node.op) && values_of(element).count() > Table::MAX_ENTRIES as u64 {
                return too_many();
            }
            for function in functions(program, node) {
                if !readers[root].insert(function) {
                    continue;
                }
                let fits = |p: u32| readers[root].iter().all(|function| function.residues(p).is_some());
                match (moduli[root].p..=most).find(|&p| fits(p)) {
                    Some(p) => moduli[root].p = p,
                    None => return too_many(),
                }
            }
        }
        Ok(Self { roots, moduli })
    }

    /// The modulus of `node`.
    pub fn of(&self, node: NodeId) -> Modulus {
        self.moduli[self.roots[node.index()] as usize]
    }
}
