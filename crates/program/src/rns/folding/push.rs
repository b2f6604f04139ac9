//! Pushes one factor or matrix toward the inputs.

use super::values::Arithmetic;
use super::{Fold, MOST_VISITS, cost, is_linear};
use crate::Location;
use crate::rns::homomorphic::{Diagonals, Node, NodeId, Op, Values};
use crate::rns::levels::integer_factor;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A linear map by its diagonals, by offset within a row; with offset 0 only, a factor of each slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Map {
    diagonals: BTreeMap<i64, Values>,
}

impl Map {
    pub fn factor(values: Values) -> Self {
        Self { diagonals: BTreeMap::from([(0, values)]) }
    }

    pub fn matrix(arithmetic: Arithmetic, diagonals: &Diagonals) -> Self {
        let mut map = Self::default();
        for (&offset, values) in &diagonals.by_offset {
            map.add(arithmetic, arithmetic.offset(offset), values);
        }
        map
    }

    fn as_factor(&self) -> Option<&Values> {
        self.diagonals.get(&0).filter(|_| self.diagonals.len() == 1)
    }

    fn add(&mut self, arithmetic: Arithmetic, offset: i64, values: &Values) {
        let sum = match self.diagonals.get(&offset) {
            Some(held) => arithmetic.add(held, values),
            None => values.clone(),
        };
        self.diagonals.insert(offset, sum);
    }

    /// The matrix product: `first`, then `self`.
    fn after(&self, arithmetic: Arithmetic, first: &Self) -> Self {
        let mut product = Self::default();
        for (&outer, by) in &self.diagonals {
            for (&inner, values) in &first.diagonals {
                let values = arithmetic.multiply(by, &arithmetic.rotate(values, outer));
                product.add(arithmetic, arithmetic.offset(outer + inner), &values);
            }
        }
        product
    }

    /// A rotation, then `self`.
    fn after_rotation(&self, arithmetic: Arithmetic, steps: i64) -> Self {
        let moved = |(&offset, values): (&i64, &Values)| (arithmetic.offset(offset + steps), values.clone());
        Self { diagonals: self.diagonals.iter().map(moved).collect() }
    }

    fn negated(&self, arithmetic: Arithmetic) -> Self {
        let negated = |(&offset, values): (&i64, &Values)| (offset, arithmetic.negate(values));
        Self { diagonals: self.diagonals.iter().map(negated).collect() }
    }

    /// Applies the map to a public vector.
    fn apply(&self, arithmetic: Arithmetic, to: &Values) -> Values {
        let terms = self.diagonals.iter();
        let terms = terms.map(|(&offset, by)| arithmetic.multiply(by, &arithmetic.rotate(to, offset)));
        terms.reduce(|a, b| arithmetic.add(&a, &b)).unwrap_or_else(|| arithmetic.integer(0))
    }
}

/// Maximum scalar products of one matrix product: about a second.
const MOST_PRODUCTS: usize = 1 << 28;

/// A sum under construction.
#[derive(Default)]
struct Sum {
    /// Maps by operand.
    maps: BTreeMap<NodeId, Map>,
    nodes: Vec<NodeId>,
    constant: Option<Values>,
}

/// Bits of a factor that is the same number in all slots.
type Scalar = (u64, u64);

fn scalar(map: &Map) -> Option<Scalar> {
    match map.as_factor()? {
        Values::Complex(values) => match **values {
            [value] => Some((value.re.to_bits(), value.im.to_bits())),
            _ => None,
        },
        Values::Integer(values) => match **values {
            [value] => Some((value as u64, 0)),
            _ => None,
        },
    }
}

/// Pushes one factor or matrix toward the inputs, within a budget.
pub(super) struct Push<'f, 'a> {
    fold: &'f mut Fold<'a>,
    arithmetic: Arithmetic,
    budget: u64,
    visits: usize,
    location: Option<Location>,
    /// Products with a scalar, shared between readers.
    done: HashMap<(NodeId, Scalar), NodeId>,
    rotated: HashMap<(NodeId, i64), NodeId>,
    levels: usize,
}

impl<'f, 'a> Push<'f, 'a> {
    pub fn new(fold: &'f mut Fold<'a>, budget: u64, location: Option<Location>) -> Self {
        let arithmetic = fold.arithmetic;
        let (done, rotated) = (HashMap::new(), HashMap::new());
        Self { fold, arithmetic, budget, visits: 0, location, done, rotated, levels: 0 }
    }

    /// Applies `map` to the original node `operand`. Returns the new node and its levels, or `None` if it exceeds the budget.
    pub fn run(mut self, map: &Map, operand: NodeId) -> Option<(NodeId, usize)> {
        let mut sum = Sum::default();
        self.push(map, operand, &mut sum)?;
        let node = self.emit(sum)?;
        Some((node, self.levels))
    }

    fn node(&mut self, op: Op, operands: Vec<NodeId>) -> Option<NodeId> {
        self.budget = self.budget.checked_sub(cost(&op))?;
        Some(self.fold.push(Node { op, operands, location: self.location.clone() }))
    }

    /// Adds `map` of the original node `id` to `sum`.
    fn push(&mut self, map: &Map, id: NodeId, sum: &mut Sum) -> Option<()> {
        self.visits += 1;
        if self.visits > MOST_VISITS {
            return None;
        }
        let written = self.fold.written[id.index()];
        if written.levels == 0 {
            self.at_leaf(map, id, sum);
            return Some(());
        }
        match scalar(map) {
            Some(scalar) if written.users > 1 => {
                let done = match self.done.get(&(id, scalar)) {
                    Some(&done) => done,
                    None => {
                        let mut own = Sum::default();
                        self.through(map, id, &mut own)?;
                        let done = self.emit(own)?;
                        self.done.insert((id, scalar), done);
                        done
                    }
                };
                sum.nodes.push(done);
                Some(())
            }
            _ => self.through(map, id, sum),
        }
    }

    /// Stops at a node without levels; preceding rotations join the offsets.
    fn at_leaf(&mut self, map: &Map, mut id: NodeId, sum: &mut Sum) {
        let mut map = map.clone();
        while let Op::Rotate { steps } = self.fold.program.node(id).op {
            map = map.after_rotation(self.arithmetic, steps);
            id = self.fold.program.node(id).operands[0];
        }
        let held = sum.maps.entry(self.fold.written[id.index()].node).or_default();
        for (&offset, values) in &map.diagonals {
            held.add(self.arithmetic, offset, values);
        }
    }

    /// Adds `map` of a linear node that has levels below it to `sum`.
    fn through(&mut self, map: &Map, id: NodeId, sum: &mut Sum) -> Option<()> {
        let arithmetic = self.arithmetic;
        let node = self.fold.program.node(id);
        assert!(is_linear(&node.op));
        let (op, operands) = (&node.op, &node.operands);
        let public = |fold: &Fold<'a>| operands.get(1).and_then(|&id| fold.constant(id));
        match op {
            Op::Add => {
                self.push(map, operands[0], sum)?;
                self.push(map, operands[1], sum)
            }
            Op::Sub => {
                self.push(map, operands[0], sum)?;
                self.push(&map.negated(arithmetic), operands[1], sum)
            }
            Op::Neg => self.push(&map.negated(arithmetic), operands[0], sum),
            Op::AddPlain | Op::SubPlain => {
                let mut added = map.apply(arithmetic, public(self.fold)?);
                if matches!(op, Op::SubPlain) {
                    added = arithmetic.negate(&added);
                }
                sum.constant = Some(match &sum.constant {
                    Some(held) => arithmetic.add(held, &added),
                    None => added,
                });
                self.push(map, operands[0], sum)
            }
            Op::MulPlain => {
                let first = Map::factor(public(self.fold)?.clone());
                self.push(&map.after(arithmetic, &first), operands[0], sum)
            }
            Op::LinearTransform { diagonals } => {
                let first = Map::matrix(arithmetic, diagonals);
                if arithmetic.products(map.diagonals.len() * first.diagonals.len()) > MOST_PRODUCTS {
                    return None;
                }
                self.push(&map.after(arithmetic, &first), operands[0], sum)
            }
            Op::Rotate { steps } => match map.as_factor() {
                Some(values) => {
                    let first = Map::factor(arithmetic.rotate(values, -steps));
                    let mut own = Sum::default();
                    self.push(&first, operands[0], &mut own)?;
                    let own = self.emit(own)?;
                    let rotated = self.node(Op::Rotate { steps: *steps }, vec![own])?;
                    sum.nodes.push(rotated);
                    Some(())
                }
                None => self.push(&map.after_rotation(arithmetic, *steps), operands[0], sum),
            },
            _ => None,
        }
    }

    /// Emits the nodes of a sum.
    fn emit(&mut self, sum: Sum) -> Option<NodeId> {
        let Sum { maps, nodes, constant } = sum;
        let arithmetic = self.arithmetic;
        let mut terms = nodes;
        let count = maps.len();
        for (position, (operand, map)) in maps.into_iter().enumerate() {
            let compacted = map.diagonals.into_iter().map(|(offset, values)| (offset, arithmetic.compact(values)));
            let mut diagonals: BTreeMap<i64, Values> = compacted.collect();
            diagonals.retain(|_, values| !arithmetic.is_zero(values));
            if diagonals.is_empty() {
                // An empty sum is zero; express it as a multiple of an operand.
                if !terms.is_empty() || position + 1 < count {
                    continue;
                }
                diagonals.insert(0, arithmetic.integer(0));
            }
            terms.push(self.matrix(operand, diagonals)?);
        }
        let mut terms = terms.into_iter();
        let mut total = terms.next()?;
        for term in terms {
            total = self.node(Op::Add, vec![total, term])?;
        }
        match constant.filter(|values| !arithmetic.is_zero(values)) {
            Some(values) => {
                let constant = self.node(Op::Constant { values: arithmetic.compact(values) }, vec![])?;
                self.node(Op::AddPlain, vec![total, constant])
            }
            None => Some(total),
        }
    }

    fn matrix(&mut self, operand: NodeId, diagonals: BTreeMap<i64, Values>) -> Option<NodeId> {
        if diagonals.len() > 1 {
            self.levels = 1;
            return self
                .node(Op::LinearTransform { diagonals: Arc::new(Diagonals { by_offset: diagonals }) }, vec![operand]);
        }
        let (offset, values) = diagonals.into_iter().next()?;
        let rotated = match self.rotated.get(&(operand, offset)) {
            _ if offset == 0 => operand,
            Some(&rotated) => rotated,
            None => {
                let rotated = self.node(Op::Rotate { steps: offset }, vec![operand])?;
                self.rotated.insert((operand, offset), rotated);
                rotated
            }
        };
        if values == self.arithmetic.integer(1) {
            return Some(rotated);
        }
        if integer_factor(&values).is_none() {
            self.levels = 1;
        }
        let factor = self.node(Op::Constant { values }, vec![])?;
        self.node(Op::MulPlain, vec![rotated, factor])
    }
}
