//! Folds linear code: merges consecutive public factors, so that they use one level.
//!
//! Each product with a public vector or matrix uses a level, but a sequence of linear steps (sums, rotations, public factors and
//! matrices) needs only one. Folding pushes a later factor through its operand's definition, down to the factors there:
//! - a factor passes a sum to both sides, a rotation by being rotated itself, and joins a factor or the diagonals of a matrix;
//! - a factor distributes over a sum, rotates when it passes a rotation, and multiplies another factor or the diagonals of a matrix;
//! - a matrix passes sums and factors likewise, adds a rotation to its offsets, and multiplies another matrix by diagonals;
//! - steps that use no level stay: a sum over all slots by log₂ rotations does not become a matrix.
//!
//! Products of factors with rotations of one operand become one matrix, evaluated with baby steps and giant steps. The interval of a
//! polynomial folds into a factor before it and uses no level.
//!
//! Folding stops where it costs too much: the cost may grow at most by the factor by which levels shrink. It does not cross nodes
//! with a level chosen by the author ([`Op::Rescale`], [`Op::ModSwitch`], [`Op::Relinearise`], [`Op::MulPlainScaled`]), conjugations,
//! or nonlinear operations.

mod push;
mod values;

#[cfg(test)]
mod tests;

use super::homomorphic::{Basis, Builder, Node, NodeId, Op, Polynomial, Program, ProgramError, Values};
use super::levels::levels_used;
use super::noise::Interval;
use polyfabric_kernels::cancel;
use push::Push;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use values::Arithmetic;

/// A folded program, and the mapping of the original nodes.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The folded program, or the original if nothing folds.
    pub program: Arc<Program>,
    /// For each original node, the folded node with its value, if it still exists.
    nodes: Option<Vec<Option<NodeId>>>,
    /// Intervals, by original polynomial, that folding mapped to \[−1, 1\] within the preceding factors.
    mapped: BTreeMap<NodeId, Interval>,
}

impl Folded {
    /// The folded node with the value of the original node `written`.
    pub fn node(&self, written: NodeId) -> Option<NodeId> {
        match &self.nodes {
            None => Some(written),
            Some(nodes) => nodes.get(written.index()).copied().flatten(),
        }
    }

    /// Translates `mapped` from original to folded nodes. If the vector that an interval refers to is gone, the polynomial's operand,
    /// mapped to \[−1, 1\], replaces it.
    pub fn intervals(&self, mapped: &BTreeMap<NodeId, Interval>) -> BTreeMap<NodeId, Interval> {
        let moved = |(&polynomial, interval): (&NodeId, &Interval)| {
            let polynomial = self.node(polynomial)?;
            let here = match self.node(interval.operand) {
                Some(operand) => Interval { operand, ..*interval },
                None => Interval { operand: self.program.node(polynomial).operands[0], lo: -1.0, hi: 1.0, ..*interval },
            };
            Some((polynomial, here))
        };
        mapped.iter().filter_map(moved).collect()
    }

    /// All intervals mapped to \[−1, 1\], by original polynomial: `mapped` by the author, and the others by folding.
    pub fn mapped(&self, mapped: BTreeMap<NodeId, Interval>) -> BTreeMap<NodeId, Interval> {
        self.mapped.iter().map(|(&polynomial, &interval)| (polynomial, interval)).chain(mapped).collect()
    }

    /// Composes with a further transformation to `program`, in which node i of this program is `nodes[i]`.
    #[must_use]
    pub fn then(self, program: Program, nodes: &[NodeId]) -> Self {
        let moved = |here: Option<NodeId>| here.map(|here| nodes[here.index()]);
        let written = match self.nodes {
            None => nodes.iter().copied().map(Some).collect(),
            Some(written) => written.into_iter().map(moved).collect(),
        };
        Self { program: Arc::new(program), nodes: Some(written), mapped: self.mapped }
    }

    pub fn is_changed(&self) -> bool {
        self.nodes.is_some()
    }
}

/// Maximum nodes that one factor is pushed through.
const MOST_VISITS: usize = 1 << 16;

/// Cost of a rotation in products with a public vector, as measured on CPUs (docs/rns-benchmark.md).
const ROTATION: u64 = 32;

/// Cost of a matrix with these diagonals: a product each, and the rotations of baby steps and giant steps.
fn matrix_cost(offsets: impl ExactSizeIterator<Item = i64>) -> u64 {
    let count = offsets.len() as u64;
    let rotations = offsets.filter(|&offset| offset != 0).count() as u64;
    let root = (count as f64).sqrt().ceil() as u64;
    count + ROTATION * rotations.min(2 * root.saturating_sub(1))
}

/// Cost of an operation in products with a public vector.
fn cost(op: &Op) -> u64 {
    match op {
        Op::MulPlain => 1,
        Op::Rotate { .. } => ROTATION,
        Op::LinearTransform { diagonals } => matrix_cost(diagonals.by_offset.keys().copied()),
        _ => 0,
    }
}

/// Whether factors can be pushed through.
fn is_linear(op: &Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Sub
            | Op::Neg
            | Op::AddPlain
            | Op::SubPlain
            | Op::MulPlain
            | Op::Rotate { .. }
            | Op::LinearTransform { .. }
    )
}

/// Folds the linear code of `program`.
///
/// # Errors
/// [`ProgramError`] if a folded value is not finite.
pub fn fold(program: &Arc<Program>) -> Result<Folded, ProgramError> {
    let mut fold = Fold::new(program);
    for (id, node) in program.iter() {
        fold.take(id, node);
        cancel::check();
    }
    if fold.changes == 0 {
        return Ok(Folded { program: Arc::clone(program), nodes: None, mapped: BTreeMap::new() });
    }
    fold.finish()
}

/// State of an original node.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// Levels from the last nonlinear or unfolded node, after folding.
    levels: usize,
    /// The same before folding.
    depth: usize,
    /// Number of readers.
    users: usize,
    /// The folded node with its value.
    node: NodeId,
}

struct Fold<'a> {
    program: &'a Program,
    arithmetic: Arithmetic,
    written: Vec<Written>,
    nodes: Vec<Node>,
    mapped: BTreeMap<NodeId, Interval>,
    changes: usize,
}

impl<'a> Fold<'a> {
    fn new(program: &'a Program) -> Self {
        let arithmetic = Arithmetic::new(program);
        let (written, nodes, mapped) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut fold = Self { program, arithmetic, written, nodes, mapped, changes: 0 };
        let users = program.users();
        let unknown = |users: &Vec<NodeId>| Written { levels: 0, depth: 0, users: users.len(), node: NodeId(0) };
        fold.written = users.iter().map(unknown).collect();
        fold
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn constant(&self, id: NodeId) -> Option<&'a Values> {
        match &self.program.node(id).op {
            Op::Constant { values } => Some(values),
            _ => None,
        }
    }

    /// Folds a node's factor into its operand, or copies the node.
    fn take(&mut self, id: NodeId, node: &Node) {
        let linear = is_linear(&node.op);
        let used = if linear { levels_used(self.program, id) } else { 0 };
        let operands = node.operands.iter().filter(|_| linear).map(|operand| self.written[operand.index()]);
        let below = operands.clone().map(|operand| operand.levels).max().unwrap_or(0);
        let depth = operands.map(|operand| operand.depth).max().unwrap_or(0) + used;
        self.written[id.index()].depth = depth;
        if used > 0 && below > 0 {
            if let Some((folded, levels)) = self.folded(id, node, depth) {
                self.changes += 1;
                let written = &mut self.written[id.index()];
                (written.node, written.levels) = (folded, levels);
                return;
            }
            // Later factors stop at its operand.
            self.written[node.operands[0].index()].levels = 0;
        }
        if let Some(polynomial) = self.without_interval(id, node) {
            self.changes += 1;
            self.written[id.index()].node = polynomial;
            return;
        }
        let levels = if used > 0 { 1 } else { below };
        let operands = node.operands.iter().map(|operand| self.written[operand.index()].node).collect();
        let node = self.push(Node { op: node.op.clone(), operands, location: node.location.clone() });
        let written = &mut self.written[id.index()];
        (written.node, written.levels) = (node, levels);
    }

    /// Pushes the node's factor into its operand; returns the node with its value, and its levels.
    fn folded(&mut self, id: NodeId, node: &Node, depth: usize) -> Option<(NodeId, usize)> {
        let budget = self.cost_as_written(id)?.saturating_mul(depth as u64);
        let map = match &node.op {
            Op::MulPlain => push::Map::factor(self.constant(node.operands[1])?.clone()),
            Op::LinearTransform { diagonals } => push::Map::matrix(self.arithmetic, diagonals),
            _ => return None,
        };
        let start = self.nodes.len();
        let pushed = Push::new(self, budget, node.location.clone()).run(&map, node.operands[0]);
        if pushed.is_none() {
            self.nodes.truncate(start);
        }
        pushed
    }

    /// For a polynomial of an interval: folds the map to \[−1, 1\], which would use a level, into its operand's factors.
    fn without_interval(&mut self, id: NodeId, node: &Node) -> Option<NodeId> {
        let Op::Polynomial { polynomial } = &node.op else { return None };
        let Basis::Chebyshev { lo, hi } = polynomial.basis else { return None };
        let operand = *node.operands.first()?;
        if (lo, hi) == (-1.0, 1.0) || self.written[operand.index()].levels == 0 {
            return None;
        }
        let budget = self.cost_as_written(operand)?.saturating_mul(2);
        let start = self.nodes.len();
        let map = push::Map::factor(Values::real(&[2.0 / (hi - lo)]));
        let Some((mut mapped, _)) = Push::new(self, budget, node.location.clone()).run(&map, operand) else {
            self.nodes.truncate(start);
            return None;
        };
        let at = |op, operands| Node { op, operands, location: node.location.clone() };
        let middle = (lo + hi) / (hi - lo);
        if middle != 0.0 {
            let middle = self.push(at(Op::Constant { values: Values::real(&[middle]) }, vec![]));
            mapped = self.push(at(Op::SubPlain, vec![mapped, middle]));
        }
        let basis = Basis::Chebyshev { lo: -1.0, hi: 1.0 };
        let polynomial = Polynomial { basis, coefficients: polynomial.coefficients.clone() };
        self.mapped.insert(id, Interval { operand, lo, hi, slots: self.program.slots() });
        Some(self.push(at(Op::Polynomial { polynomial: Arc::new(polynomial) }, vec![mapped])))
    }

    /// Cost of the linear code that ends at `id`, each node once; `None` if there is too much of it.
    fn cost_as_written(&self, id: NodeId) -> Option<u64> {
        let (mut stack, mut seen, mut sum) = (vec![id], HashSet::from([id]), 0);
        while let Some(id) = stack.pop() {
            let node = self.program.node(id);
            sum += cost(&node.op);
            for &operand in &node.operands {
                let read = self.program.node(operand);
                if is_linear(&read.op) && seen.insert(operand) {
                    stack.push(operand);
                }
            }
            if seen.len() > MOST_VISITS {
                return None;
            }
        }
        Some(sum)
    }

    /// Keeps the inputs and the nodes that outputs depend on.
    fn finish(self) -> Result<Folded, ProgramError> {
        let mut live: Vec<bool> = self
            .nodes
            .iter()
            .map(|node| matches!(node.op, Op::Input { .. } | Op::Selector { .. } | Op::Output { .. }))
            .collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if live[index] {
                node.operands.iter().for_each(|operand| live[operand.index()] = true);
            }
        }
        let mut builder = Builder::like(self.program)?;
        let mut places: HashMap<NodeId, NodeId> = HashMap::new();
        for (index, node) in self.nodes.into_iter().enumerate().filter(|&(index, _)| live[index]) {
            builder.at(node.location);
            let operands: Vec<NodeId> = node.operands.iter().map(|operand| places[operand]).collect();
            places.insert(NodeId(index as u32), builder.push(node.op, &operands)?);
        }
        let nodes = self.written.iter().map(|written| places.get(&written.node).copied()).collect();
        Ok(Folded { program: Arc::new(builder.finish()?), nodes: Some(nodes), mapped: self.mapped })
    }
}
