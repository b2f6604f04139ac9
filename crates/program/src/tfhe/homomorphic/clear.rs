//! Evaluates a homomorphic program in the clear.

use super::{ElementType, Gate, Node, NodeId, Op, Program, Table, op_name};
use crate::Location;
use std::collections::BTreeMap;
use thiserror::Error;

/// Clear values of every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    values: Vec<Vec<i64>>,
}

impl Evaluation {
    /// The values of `node`: 0 or 1 for a Boolean, multiples of 2^-bits in [-2^(bits-1), 2^(bits-1)) for a torus value.
    pub fn node(&self, node: NodeId) -> &[i64] {
        &self.values[node.index()]
    }

    pub fn outputs(&self, program: &Program) -> BTreeMap<String, Vec<i64>> {
        program.outputs().map(|(id, name)| (name.to_owned(), self.node(id).to_vec())).collect()
    }
}

/// Why a program cannot be evaluated in the clear.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClearError {
    #[error("input {name:?} is missing; give {length} values of type {element}")]
    MissingInput { name: String, length: usize, element: ElementType },
    #[error("there is no input {name:?}; the inputs are {known}")]
    UnknownInput { name: String, known: String },
    #[error("input {name:?} has {found} values, but the program takes {expected}; give {expected}")]
    Length { name: String, found: usize, expected: usize },
    #[error("input {name:?}: value {value} at index {index} is no {element}; correct the value")]
    Value { name: String, value: i64, index: usize, element: ElementType },
    #[error(
        "{place}{node} is promised to be {element}, but element {index} is {value} for these inputs; widen the promised range"
    )]
    BrokenPromise {
        node: NodeId,
        element: ElementType,
        value: i64,
        index: usize,
        /// "file:line: ", or nothing.
        place: String,
    },
}

/// # Errors
/// [`ClearError::Length`], [`ClearError::Value`].
pub(super) fn check_input(element: ElementType, length: usize, name: &str, values: &[i64]) -> Result<(), ClearError> {
    if values.len() != length {
        return Err(ClearError::Length { name: name.to_owned(), found: values.len(), expected: length });
    }
    match values.iter().position(|&value| !element.holds(value)) {
        Some(index) => Err(ClearError::Value { name: name.to_owned(), value: values[index], index, element }),
        None => Ok(()),
    }
}

fn place(location: Option<&Location>) -> String {
    location.map_or(String::new(), |location| format!("{location}: "))
}

/// All values of `program` on `inputs`.
///
/// # Errors
/// [`ClearError`]: missing, unknown or invalid inputs, or an [`Op::Assume`] that they violate.
pub fn evaluate(program: &Program, inputs: &BTreeMap<String, Vec<i64>>) -> Result<Evaluation, ClearError> {
    if let Some(name) = inputs.keys().find(|name| program.inputs().all(|(_, known)| known != *name)) {
        let known: Vec<_> = program.inputs().map(|(_, name)| format!("{name:?}")).collect();
        return Err(ClearError::UnknownInput { name: name.clone(), known: known.join(", ") });
    }
    let mut values: Vec<Vec<i64>> = Vec::with_capacity(program.nodes().len());
    for (index, node) in program.nodes().iter().enumerate() {
        let value = evaluate_node(program.nodes(), node, &values, inputs)?;
        if node.op == Op::Assume
            && let Some(at) = value.iter().position(|&value| !node.element.holds(value))
        {
            return Err(ClearError::BrokenPromise {
                node: NodeId(index as u32),
                element: node.element,
                value: value[at],
                index: at,
                place: place(node.location.as_ref()),
            });
        }
        assert!(
            value.iter().all(|&value| node.element.holds(value)),
            "{} {index}: {:?} holds {value:?}",
            op_name(&node.op),
            node.element
        );
        values.push(value);
    }
    Ok(Evaluation { values })
}

fn evaluate_node(
    nodes: &[Node],
    node: &Node,
    values: &[Vec<i64>],
    inputs: &BTreeMap<String, Vec<i64>>,
) -> Result<Vec<i64>, ClearError> {
    let operand = |index: usize| -> &[i64] { &values[node.operands[index].index()] };
    let wrap = |value: i64| match node.element {
        // Centered representative modulo 2^bits.
        ElementType::Torus { bits } => value << (64 - bits) >> (64 - bits),
        _ => value,
    };
    let pairs = |f: fn(i64, i64) -> i64| -> Vec<i64> {
        operand(0).iter().zip(operand(1)).map(|(&a, &b)| wrap(f(a, b))).collect()
    };
    let with = |clear: &[i64], f: fn(i64, i64) -> i64| -> Vec<i64> {
        operand(0).iter().zip(clear).map(|(&a, &b)| wrap(f(a, b))).collect()
    };
    Ok(match &node.op {
        Op::Input { name } => {
            let missing =
                || ClearError::MissingInput { name: name.to_string(), length: node.length, element: node.element };
            let given = inputs.get(&**name).ok_or_else(missing)?;
            check_input(node.element, node.length, name, given)?;
            given.clone()
        }
        Op::Constant { values } => values.to_vec(),
        Op::Add => pairs(i64::wrapping_add),
        Op::Sub => pairs(i64::wrapping_sub),
        Op::Neg => operand(0).iter().map(|&a| wrap(a.wrapping_neg())).collect(),
        Op::AddClear { values } => with(values, i64::wrapping_add),
        Op::MulClear { values } => with(values, i64::wrapping_mul),
        Op::Linear { matrix, bias } => bias
            .iter()
            .enumerate()
            .map(|(row, &bias)| {
                let terms = matrix.row(row);
                let term = |(column, weight): (usize, i32)| i64::from(weight).wrapping_mul(operand(0)[column]);
                wrap(terms.map(term).fold(bias, i64::wrapping_add))
            })
            .collect(),
        Op::Lookup { tables, choice, .. } => operand(0)
            .iter()
            .enumerate()
            .map(|(index, &value)| {
                let table = choice.as_ref().map_or(0, |choice| choice[index] as usize);
                // The builder has checked that the table covers the operand's range.
                tables[table].get(value).unwrap_or(0)
            })
            .collect(),
        Op::LookupEach { tables } => {
            let results =
                |table: &Table| -> Vec<i64> { operand(0).iter().map(|&v| table.get(v).unwrap_or(0)).collect() };
            tables.iter().flat_map(results).collect()
        }
        Op::LookupWide { widths, tables } => {
            let count = operand(0).len() / widths.len();
            let index = |element: usize| {
                let mut place = 0;
                let mut index = 0;
                for (digit, &width) in operand(0).iter().skip(element).step_by(count).zip(widths.iter()) {
                    index |= (digit & ((1 << width) - 1)) << place;
                    place += width;
                }
                index
            };
            let results =
                |table: &Table| -> Vec<i64> { (0..count).map(|at| table.get(index(at)).unwrap_or(0)).collect() };
            tables.iter().flat_map(results).collect()
        }
        Op::Sign => {
            let negative = if node.element == ElementType::Boolean { 0 } else { -1 };
            let read = nodes[node.operands[0].index()].element;
            let sign = |&value: &i64| if read.to_units(value) >= 0 { 1 } else { negative };
            operand(0).iter().map(sign).collect()
        }
        Op::Gate(gate) => pairs(match gate {
            Gate::And => |a, b| a & b,
            Gate::Nand => |a, b| 1 - (a & b),
            Gate::Or => |a, b| a | b,
            Gate::Nor => |a, b| 1 - (a | b),
            Gate::Xor => |a, b| a ^ b,
            Gate::Xnor => |a, b| 1 - (a ^ b),
        }),
        Op::Not => operand(0).iter().map(|&a| 1 - a).collect(),
        Op::Mux => {
            let branches = operand(1).iter().zip(operand(2));
            operand(0).iter().zip(branches).map(|(&c, (&a, &b))| if c == 1 { a } else { b }).collect()
        }
        Op::Select { indices } => indices.iter().map(|&index| operand(0)[index as usize]).collect(),
        Op::Concat => (0..node.operands.len()).flat_map(operand).copied().collect(),
        Op::Assume | Op::Output { .. } => operand(0).to_vec(),
    })
}
