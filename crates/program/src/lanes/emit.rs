//! Writes the program on slots.

use super::elements::{Elements, Term, terms};
use super::modulus::{Function, Moduli, SELECTED};
use super::{Element, LaneError, LaneErrorCause as Cause, OnSlots, Result, Terminal, nodes, refuse};
use crate::rns::homomorphic::{Builder, Complex, NodeId as Vector, ProgramError as SlotError, Scheme, Table, Values};
use crate::tfhe::homomorphic::{ElementType, Node, NodeId, Op, Program, op_name};
use crate::{Located, MemoryBudget};
use std::collections::HashMap;
use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::Arc;

/// An element of a vector.
#[derive(Clone, Copy, Debug)]
enum Value {
    Public(i64),
    Slots(Vector),
}

/// An operation that may already have been written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Done {
    Add(Vector, Vector),
    Sub(Vector, Vector),
    Mul(Vector, i64),
    /// Plus a number modulo p.
    Plus(Vector, i64, u32),
    Lookup(Vector, Vec<u32>, u32),
}

pub(super) struct Emitter<'p> {
    program: &'p Program,
    elements: &'p Elements,
    moduli: &'p Moduli,
    builder: Builder,
    done: HashMap<Done, Vector>,
    /// By node and element; `None` if no output depends on it.
    values: Vec<Vec<Option<Value>>>,
}

impl<'p> Emitter<'p> {
    pub fn new(
        program: &'p Program,
        elements: &'p Elements,
        moduli: &'p Moduli,
        batch: usize,
        memory: MemoryBudget,
    ) -> Result<Self> {
        let slots = batch.div_ceil(2).next_power_of_two();
        let mut builder = Builder::new(program.name(), Scheme::Ckks, slots).map_err(from_slots)?;
        builder.of_batch(batch).map_err(from_slots)?.within(memory);
        Ok(Self { program, elements, moduli, builder, done: HashMap::new(), values: Vec::new() })
    }

    pub fn run(mut self) -> Result<OnSlots> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (id, node) in nodes(self.program) {
            self.builder.at(node.location.clone());
            let mut values = Vec::with_capacity(node.length);
            match &node.op {
                Op::Input { name } => {
                    let mut elements = Vec::with_capacity(node.length);
                    for index in 0..node.length {
                        let vector = vector_name(name, index, node.length);
                        let input = self.builder.input_with(&vector, None, FRAC_1_SQRT_2).map_err(from_slots)?;
                        values.push(Some(Value::Slots(input)));
                        elements.push(Element::Vector(vector));
                    }
                    inputs.push(self.terminal(id, name, elements));
                }
                Op::Output { name } => {
                    let mut elements = Vec::with_capacity(node.length);
                    for index in 0..node.length {
                        elements.push(match self.read(node, node.operands[0], index)? {
                            Value::Public(value) => Element::Public(value),
                            Value::Slots(value) => {
                                let vector = vector_name(name, index, node.length);
                                self.builder.output(&vector, value).map_err(from_slots)?;
                                Element::Vector(vector)
                            }
                        });
                    }
                    outputs.push(self.terminal(id, name, elements));
                }
                _ => {
                    for index in 0..node.length {
                        let needed = self.elements.is_needed(id, index);
                        values.push(if needed { Some(self.element(id, node, index)?) } else { None });
                    }
                }
            }
            self.values.push(values);
        }
        let is_public = |terminal: &Terminal| terminal.elements.iter().all(|one| matches!(one, Element::Public(_)));
        if outputs.iter().all(is_public) {
            return refuse(Cause::AllPublic { name: self.program.name().to_owned() }, None);
        }
        Ok(OnSlots { program: self.builder.finish().map_err(from_slots)?, inputs, outputs })
    }

    fn terminal(&self, id: NodeId, name: &str, elements: Vec<Element>) -> Terminal {
        Terminal { name: name.to_owned(), modulus: self.moduli.of(id), elements }
    }

    /// Element `element` of `operand`, an operand of `node`.
    fn read(&self, node: &Node, operand: NodeId, element: usize) -> Result<Value> {
        let unread = || converted(node, "an element that it reads is missing");
        self.values[operand.index()][element].ok_or_else(unread)
    }

    fn element(&mut self, id: NodeId, node: &Node, index: usize) -> Result<Value> {
        let program = self.program;
        let p = self.moduli.of(id);
        let read: Vec<(Value, i64)> = terms(program, node, index)
            .into_iter()
            .map(|Term { operand, element, weight }| Ok((self.read(node, operand, element)?, weight)))
            .collect::<Result<_>>()?;
        let operand = |at: usize| read[at].0;
        let used = node.operands.iter().copied().find(|&operand| self.elements.is_used(operand));
        let from = self.moduli.of(used.unwrap_or(id));
        let operand_type = || program.node(node.operands[0]).element;
        match &node.op {
            Op::Constant { values } => Ok(Value::Public(values[index])),
            Op::Add => self.add(operand(0), operand(1), p),
            Op::Sub => self.subtract(operand(0), operand(1), p),
            Op::Neg => self.multiply(operand(0), -1),
            Op::Not => {
                let negated = self.multiply(operand(0), -1)?;
                self.add(negated, Value::Public(1), p)
            }
            Op::AddClear { values } => self.add(operand(0), Value::Public(values[index]), p),
            Op::MulClear { values } => self.multiply(operand(0), values[index]),
            Op::Linear { bias, .. } => self.sum(&read, bias[index], p),
            Op::Lookup { tables, choice, .. } => {
                let table = choice.as_ref().map_or(0, |choice| choice[index] as usize);
                self.lookup(node, operand(0), &Function::of_table(&tables[table], operand_type()), from, p)
            }
            Op::LookupEach { tables } => {
                let table = index / program.node(node.operands[0]).length;
                self.lookup(node, operand(0), &Function::of_table(&tables[table], operand_type()), from, p)
            }
            Op::Sign => {
                let negative = if node.element == ElementType::Boolean { 0 } else { -1 };
                self.lookup(node, operand(0), &Function::sign(operand_type(), negative), from, p)
            }
            Op::Gate(gate) => {
                let sum = self.add(operand(0), operand(1), from)?;
                self.lookup(node, sum, &Function::gate(*gate), from, p)
            }
            Op::Mux => {
                let weighted: Vec<_> = read.iter().zip(SELECTED).map(|(&(value, _), weight)| (value, weight)).collect();
                let packed = self.sum(&weighted, 0, from)?;
                self.lookup(node, packed, &Function::mux(), from, p)
            }
            Op::Select { .. } | Op::Concat | Op::Assume | Op::Input { .. } | Op::Output { .. } => Ok(operand(0)),
        }
    }

    /// The result of `step`, written once.
    fn once(
        &mut self,
        key: Done,
        step: impl FnOnce(&mut Builder) -> std::result::Result<Vector, SlotError>,
    ) -> Result<Value> {
        if let Some(&known) = self.done.get(&key) {
            return Ok(Value::Slots(known));
        }
        let made = step(&mut self.builder).map_err(from_slots)?;
        self.done.insert(key, made);
        Ok(Value::Slots(made))
    }

    fn add(&mut self, a: Value, b: Value, p: u32) -> Result<Value> {
        match (a, b) {
            (Value::Public(a), Value::Public(b)) => Ok(Value::Public(a.wrapping_add(b))),
            (Value::Slots(a), Value::Slots(b)) => {
                let (a, b) = (a.min(b), a.max(b));
                self.once(Done::Add(a, b), |builder| builder.add(a, b))
            }
            (Value::Slots(a), Value::Public(b)) | (Value::Public(b), Value::Slots(a)) => {
                let number = b.rem_euclid(p.into());
                if number == 0 {
                    return Ok(Value::Slots(a));
                }
                let part = Table::fraction(number as u32, p);
                self.once(Done::Plus(a, number, p), |builder| {
                    let constant = builder.constant(Values::Complex([Complex::new(part, part)].into()))?;
                    builder.add(a, constant)
                })
            }
        }
    }

    fn subtract(&mut self, a: Value, b: Value, p: u32) -> Result<Value> {
        match (a, b) {
            (Value::Slots(a), Value::Slots(b)) => self.once(Done::Sub(a, b), |builder| builder.sub(a, b)),
            (a, b) => {
                let negated = self.multiply(b, -1)?;
                self.add(a, negated, p)
            }
        }
    }

    fn multiply(&mut self, a: Value, factor: i64) -> Result<Value> {
        match (a, factor) {
            (Value::Public(a), _) => Ok(Value::Public(a.wrapping_mul(factor))),
            (_, 0) => Ok(Value::Public(0)),
            (a, 1) => Ok(a),
            (Value::Slots(a), _) => self.once(Done::Mul(a, factor), |builder| match factor {
                -1 => builder.neg(a),
                _ => {
                    let constant = builder.constant(Values::real(&[factor as f64]))?;
                    builder.mul(a, constant)
                }
            }),
        }
    }

    /// Σ weight · value + bias.
    fn sum(&mut self, terms: &[(Value, i64)], bias: i64, p: u32) -> Result<Value> {
        let mut sum = Value::Public(0);
        for &(value, weight) in terms {
            sum = match (sum, weight) {
                (Value::Slots(_), -1) => self.subtract(sum, value, p)?,
                _ => {
                    let term = self.multiply(value, weight)?;
                    self.add(sum, term, p)?
                }
            };
        }
        self.add(sum, Value::Public(bias), p)
    }

    /// `function` of `a` modulo `from`, modulo `to`, for `node`.
    fn lookup(&mut self, node: &Node, a: Value, function: &Function, from: u32, to: u32) -> Result<Value> {
        match a {
            Value::Public(value) => Ok(Value::Public(function.of(value))),
            Value::Slots(a) => {
                let ambiguous = || converted(node, "two values of one residue have different entries");
                let residues = function.residues(from).ok_or_else(ambiguous)?;
                // Residues that no value has repeat the entry before, which keeps the table smooth.
                let last = residues.iter().flatten().next_back().copied().unwrap_or(0);
                let entries = residues.iter().scan(last, |last, entry| {
                    *last = entry.unwrap_or(*last);
                    Some(last.rem_euclid(to.into()) as u32)
                });
                let entries: Vec<u32> = entries.collect();
                let key = Done::Lookup(a, entries.clone(), to);
                let table = Table::new(&entries, to).ok_or_else(|| converted(node, "its table has wrong entries"))?;
                self.once(key, |builder| builder.lookup(a, Arc::new(table)))
            }
        }
    }
}

fn from_slots(error: SlotError) -> LaneError {
    Located { cause: error.cause.into(), location: error.location }
}

/// An error of the conversion of `node` that no program causes.
fn converted(node: &Node, problem: &'static str) -> LaneError {
    Located { cause: Cause::Converted { op: op_name(&node.op), problem }, location: node.location.clone() }
}

fn vector_name(name: &str, index: usize, length: usize) -> String {
    if length == 1 { name.to_owned() } else { format!("{name}.{index}") }
}
