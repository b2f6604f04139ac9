//! Which elements each element is computed from, which are encrypted, and which are used.

use super::nodes;
use crate::tfhe::homomorphic::{Node, NodeId, Op, Program};

/// A summand of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub operand: NodeId,
    pub element: usize,
    pub weight: i64,
}

/// The elements of the operands that element `index` of `node` is computed from. Only those of a linear layer have weights.
pub(super) fn terms(program: &Program, node: &Node, index: usize) -> Vec<Term> {
    let term = |(operand, element, weight)| Term { operand: node.operands[operand], element, weight };
    match &node.op {
        Op::Select { indices } => vec![term((0, indices[index] as usize, 1))],
        Op::LookupEach { .. } => vec![term((0, index % program.node(node.operands[0]).length, 1))],
        Op::Linear { matrix, .. } => {
            matrix.row(index).map(|(column, weight)| term((0, column, i64::from(weight)))).collect()
        }
        Op::Concat => {
            let mut element = index;
            for (operand, &part) in node.operands.iter().enumerate() {
                let length = program.node(part).length;
                if element < length {
                    return vec![term((operand, element, 1))];
                }
                element -= length;
            }
            Vec::new()
        }
        _ => (0..node.operands.len()).map(|operand| term((operand, index, 1))).collect(),
    }
}

/// The elements of all nodes.
pub(super) struct Elements {
    encrypted: Vec<Vec<bool>>,
    needed: Vec<Vec<bool>>,
}

impl Elements {
    pub fn new(program: &Program) -> Self {
        let mut encrypted: Vec<Vec<bool>> = Vec::with_capacity(program.nodes().len());
        for (_, node) in nodes(program) {
            let is_encrypted = |index: usize| match node.op {
                Op::Input { .. } => true,
                Op::Constant { .. } => false,
                _ => terms(program, node, index).iter().any(|term| encrypted[term.operand.index()][term.element]),
            };
            encrypted.push((0..node.length).map(is_encrypted).collect());
        }
        let mut needed: Vec<Vec<bool>> = program.nodes().iter().map(|node| vec![false; node.length]).collect();
        for (id, node) in nodes(program).rev() {
            if matches!(node.op, Op::Output { .. }) {
                needed[id.index()].fill(true);
            }
            for index in 0..node.length {
                if needed[id.index()][index] {
                    for term in terms(program, node, index) {
                        needed[term.operand.index()][term.element] = true;
                    }
                }
            }
        }
        Self { encrypted, needed }
    }

    /// Whether an output depends on the element.
    pub fn is_needed(&self, node: NodeId, element: usize) -> bool {
        self.needed[node.index()][element]
    }

    /// Whether an output depends on an encrypted element of `node`.
    pub fn is_used(&self, node: NodeId) -> bool {
        let (needed, encrypted) = (&self.needed[node.index()], &self.encrypted[node.index()]);
        needed.iter().zip(encrypted).any(|(needed, encrypted)| *needed && *encrypted)
    }
}
