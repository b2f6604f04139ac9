//! Writes the program on slots.

use super::elements::{Elements, Term, terms};
use super::modulus::{Function, Moduli, Modulus, SELECTED, values_of};
use super::reals::Written;
use super::{Element, Form, LaneError, LaneErrorCause as Cause, OnSlots, RealEnd, Result, Terminal, nodes, refuse};
use crate::rns::homomorphic::{
    Builder, Complex, NodeId as Vector, ProgramError as SlotError, Scheme, Table, Values, centred,
};
use crate::tfhe::homomorphic::{ElementType, Node, NodeId, Op, Program, op_name};
use crate::{Located, MemoryBudget};
use std::collections::HashMap;
use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::Arc;

/// An element of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Public(i64),
    Slots(Vector),
}

/// An operation that may already have been written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Done {
    Add(Vector, Vector),
    Sub(Vector, Vector),
    Mul(Vector, i64),
    /// Plus a number over p.
    Plus(Vector, i64, u32),
    Lookup(Vector, Vec<u32>, u32),
}

pub(super) struct Emitter<'p> {
    program: &'p Program,
    elements: &'p Elements,
    moduli: &'p Moduli,
    pub(super) form: &'p Form,
    pub(super) builder: Builder,
    pub(super) written: Written,
    done: HashMap<Done, Vector>,
    /// The vectors that are another one plus a number over p.
    shifted: HashMap<Vector, (Vector, i64, u32)>,
    /// The number that a vector has, in steps, in lanes without an input. All inputs are 0 there.
    unused: HashMap<Vector, i64>,
    /// By node and element; `None` if no output depends on it.
    values: Vec<Vec<Option<Value>>>,
}

impl<'p> Emitter<'p> {
    pub fn new(
        program: &'p Program,
        elements: &'p Elements,
        moduli: &'p Moduli,
        form: &'p Form,
        memory: MemoryBudget,
    ) -> Result<Self> {
        let batch = form.batch;
        let slots = batch.div_ceil(2).next_power_of_two();
        let mut builder = Builder::new(program.name(), Scheme::Ckks, slots).map_err(from_slots)?;
        builder.of_batch(batch).map_err(from_slots)?.within(memory);
        let (done, shifted, unused) = (HashMap::new(), HashMap::new(), HashMap::new());
        let written = Written::new(&form.reals);
        Ok(Self { program, elements, moduli, form, builder, written, done, shifted, unused, values: Vec::new() })
    }

    pub fn run(mut self) -> Result<OnSlots> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let real_inputs = self.real_inputs()?;
        for (id, node) in nodes(self.program) {
            self.builder.at(node.location.clone());
            let mut values = Vec::with_capacity(node.length);
            match &node.op {
                Op::Input { name } if self.written.round_of(name, 0).is_some() => {
                    for index in 0..node.length {
                        let needed = self.elements.is_needed(id, index);
                        let round = self.written.round_of(name, index).filter(|_| needed);
                        values.push(match round {
                            Some(round) => Some(self.round(round, self.moduli.of(id).p)?),
                            None => None,
                        });
                    }
                }
                Op::Output { name } if self.form.reals.reads(name) => {}
                Op::Input { name } => {
                    let mut elements = Vec::with_capacity(node.length);
                    for index in 0..node.length {
                        let vector = vector_name(name, index, node.length);
                        let input = self.builder.input_with(&vector, None, FRAC_1_SQRT_2).map_err(from_slots)?;
                        self.unused.insert(input, 0);
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
                            Value::Slots(mut value) => {
                                let vector = vector_name(name, index, node.length);
                                if self.form.summed.contains(&**name) {
                                    value = self.summed(value, self.moduli.of(node.operands[0]))?;
                                }
                                self.builder.output(&vector, value).map_err(from_slots)?;
                                Element::Vector(vector)
                            }
                        });
                    }
                    let terminal = self.terminal(node.operands[0], name, elements);
                    outputs.push(Terminal { summed: self.form.summed.contains(&**name), ..terminal });
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
        let real_outputs = self.real_outputs()?;
        let are_public = real_outputs.iter().all(|(_, end)| matches!(end, RealEnd::Public(_)));
        let is_public = |terminal: &Terminal| terminal.elements.iter().all(|one| matches!(one, Element::Public(_)));
        if are_public && outputs.iter().all(is_public) {
            return refuse(Cause::AllPublic { name: self.program.name().to_owned() }, None);
        }
        let program = self.builder.finish().map_err(from_slots)?;
        Ok(OnSlots { program, inputs, outputs, real_inputs, real_outputs })
    }

    /// An element of an output, and of integers on slots p and the bound of their magnitudes. `None` if it does not exist yet.
    pub(super) fn integer(&self, output: &str, element: usize) -> Option<(Value, (u32, f64))> {
        let (id, _) = self.program.outputs().find(|&(_, name)| name == output)?;
        let operand = *self.program.node(id).operands.first()?;
        let value = (*self.values.get(operand.index())?.get(element)?)?;
        let range = values_of(self.program.node(operand).element);
        let bound = range.lo().unsigned_abs().max(range.hi().unsigned_abs()).max(1);
        Some((value, (self.moduli.of(operand).p, bound as f64)))
    }

    /// A table applied to rounded numbers.
    pub(super) fn rounded(&mut self, a: Vector, table: Table) -> Result<Vector> {
        let made = self.builder.lookup(a, Arc::new(table)).map_err(from_slots)?;
        // Lanes without an input are not summed if numbers are rounded.
        self.unused.insert(made, 0);
        Ok(made)
    }

    fn terminal(&self, id: NodeId, name: &str, elements: Vec<Element>) -> Terminal {
        Terminal { name: name.to_owned(), modulus: self.moduli.of(id).p, elements, summed: false }
    }

    /// Element `element` of `operand`, an operand of `node`.
    fn read(&self, node: &Node, operand: NodeId, element: usize) -> Result<Value> {
        let unread = || converted(node, "an element that it reads is missing");
        self.values[operand.index()][element].ok_or_else(unread)
    }

    fn element(&mut self, id: NodeId, node: &Node, index: usize) -> Result<Value> {
        let program = self.program;
        let to = self.moduli.of(id);
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
            Op::Add => self.add(operand(0), operand(1), to),
            Op::Sub => self.subtract(operand(0), operand(1), to),
            Op::Neg => self.multiply(operand(0), -1),
            Op::Not => {
                let negated = self.multiply(operand(0), -1)?;
                self.add(negated, Value::Public(1), to)
            }
            Op::AddClear { values } => self.add(operand(0), Value::Public(values[index]), to),
            Op::MulClear { values } => self.multiply(operand(0), values[index]),
            Op::Linear { bias, .. } => self.sum(&read, bias[index], to),
            Op::Lookup { tables, choice, .. } => {
                let table = choice.as_ref().map_or(0, |choice| choice[index] as usize);
                self.lookup(node, operand(0), &Function::of_table(&tables[table], operand_type()), from, to)
            }
            Op::LookupEach { tables } => {
                let table = index / program.node(node.operands[0]).length;
                self.lookup(node, operand(0), &Function::of_table(&tables[table], operand_type()), from, to)
            }
            Op::LookupWide { .. } => Err(converted(node, "a wide table")),
            Op::Sign => {
                let negative = if node.element == ElementType::Boolean { 0 } else { -1 };
                self.lookup(node, operand(0), &Function::sign(operand_type(), negative), from, to)
            }
            Op::Gate(gate) => {
                let sum = self.add(operand(0), operand(1), from)?;
                self.lookup(node, sum, &Function::gate(*gate), from, to)
            }
            Op::Mux => {
                let weighted: Vec<_> = read.iter().zip(SELECTED).map(|(&(value, _), weight)| (value, weight)).collect();
                let packed = self.sum(&weighted, 0, from)?;
                self.lookup(node, packed, &Function::mux(), from, to)
            }
            Op::Select { .. } | Op::Concat | Op::Assume | Op::Input { .. } | Op::Output { .. } => Ok(operand(0)),
        }
    }

    /// The result of `step`, written once.
    fn once(
        &mut self,
        key: Done,
        unused: i64,
        step: impl FnOnce(&mut Builder) -> std::result::Result<Vector, SlotError>,
    ) -> Result<Value> {
        if let Some(&known) = self.done.get(&key) {
            return Ok(Value::Slots(known));
        }
        let made = step(&mut self.builder).map_err(from_slots)?;
        self.done.insert(key, made);
        self.unused.insert(made, unused);
        Ok(Value::Slots(made))
    }

    /// The sums of the real parts and of the imaginary parts of all slots, in every slot, without the lanes that have no input.
    fn summed(&mut self, a: Vector, modulus: Modulus) -> Result<Vector> {
        let slots = self.builder.slots();
        let mut sum = a;
        for steps in (0..slots.ilog2()).map(|log2| 1i64 << log2) {
            let turned = self.builder.rotate(sum, steps).map_err(from_slots)?;
            sum = self.builder.add(sum, turned).map_err(from_slots)?;
        }
        // Inputs fill all real parts.
        let number = self.unused[&a].wrapping_mul((2 * slots - self.form.batch) as i64);
        if number == 0 {
            return Ok(sum);
        }
        let part = Complex::new(0.0, -number as f64 / f64::from(modulus.p));
        let constant = self.builder.constant(Values::Complex([part].into())).map_err(from_slots)?;
        self.builder.add(sum, constant).map_err(from_slots)
    }

    fn add(&mut self, a: Value, b: Value, modulus: Modulus) -> Result<Value> {
        match (a, b) {
            (Value::Public(a), Value::Public(b)) => Ok(Value::Public(a.wrapping_add(b))),
            (Value::Slots(a), Value::Slots(b)) => {
                let (a, b) = (a.min(b), a.max(b));
                let unused = self.unused[&a].wrapping_add(self.unused[&b]);
                self.once(Done::Add(a, b), unused, |builder| builder.add(a, b))
            }
            (Value::Slots(a), Value::Public(b)) | (Value::Public(b), Value::Slots(a)) => {
                let p = modulus.p;
                let number = if modulus.whole { b } else { centred(b.rem_euclid(p.into()) as u64, p.into()) };
                if number == 0 {
                    return Ok(Value::Slots(a));
                }
                let part = number as f64 / f64::from(p);
                let unused = self.unused[&a].wrapping_add(number);
                let sum = self.once(Done::Plus(a, number, p), unused, |builder| {
                    let constant = builder.constant(Values::Complex([Complex::new(part, part)].into()))?;
                    builder.add(a, constant)
                })?;
                if let Value::Slots(sum) = sum {
                    self.shifted.insert(sum, (a, number, p));
                }
                Ok(sum)
            }
        }
    }

    fn subtract(&mut self, a: Value, b: Value, modulus: Modulus) -> Result<Value> {
        match (a, b) {
            (Value::Slots(a), Value::Slots(b)) => {
                let unused = self.unused[&a].wrapping_sub(self.unused[&b]);
                self.once(Done::Sub(a, b), unused, |builder| builder.sub(a, b))
            }
            (a, b) => {
                let negated = self.multiply(b, -1)?;
                self.add(a, negated, modulus)
            }
        }
    }

    fn multiply(&mut self, a: Value, factor: i64) -> Result<Value> {
        match (a, factor) {
            (Value::Public(a), _) => Ok(Value::Public(a.wrapping_mul(factor))),
            (_, 0) => Ok(Value::Public(0)),
            (a, 1) => Ok(a),
            (Value::Slots(a), _) => {
                let unused = self.unused[&a].wrapping_mul(factor);
                self.once(Done::Mul(a, factor), unused, |builder| match factor {
                    -1 => builder.neg(a),
                    _ => {
                        let constant = builder.constant(Values::real(&[factor as f64]))?;
                        builder.mul(a, constant)
                    }
                })
            }
        }
    }

    /// Σ weight · value + bias.
    fn sum(&mut self, terms: &[(Value, i64)], bias: i64, modulus: Modulus) -> Result<Value> {
        let mut sum = Value::Public(0);
        for &(value, weight) in terms {
            sum = match (sum, weight) {
                (Value::Slots(_), -1) => self.subtract(sum, value, modulus)?,
                _ => {
                    let term = self.multiply(value, weight)?;
                    self.add(sum, term, modulus)?
                }
            };
        }
        self.add(sum, Value::Public(bias), modulus)
    }

    /// `function` of `a` modulo `from`, modulo `to`, for `node`.
    fn lookup(&mut self, node: &Node, a: Value, function: &Function, from: Modulus, to: Modulus) -> Result<Value> {
        match a {
            Value::Public(value) => Ok(Value::Public(function.of(value))),
            Value::Slots(a) => {
                let ambiguous = || converted(node, "two values of one residue have different entries");
                let residues = function.residues(from.p).ok_or_else(ambiguous)?;
                // Residues that no value has repeat the entry before, which keeps the table smooth.
                let last = residues.iter().flatten().next_back().copied().unwrap_or(0);
                let entries = residues.iter().scan(last, |last, entry| {
                    *last = entry.unwrap_or(*last);
                    Some(last.rem_euclid(to.p.into()) as u32)
                });
                let mut entries: Vec<u32> = entries.collect();
                // Tables of one vector share most of their work, so a table of a + c becomes one of a.
                let mut a = a;
                while let Some(&(other, number, p)) = self.shifted.get(&a).filter(|shifted| shifted.2 == from.p) {
                    entries.rotate_left(number.rem_euclid(p.into()) as usize);
                    a = other;
                }
                if let Some((of, table)) = self.written.of_rounded(a, &entries, to.p) {
                    let table = table.ok_or_else(|| converted(node, "its table has wrong entries"))?;
                    return self.rounded(of, table).map(Value::Slots);
                }
                let entry = entries[self.unused[&a].rem_euclid(from.p.into()) as usize];
                let unused = centred(entry.into(), to.p.into());
                let key = Done::Lookup(a, entries.clone(), to.p);
                let table = Table::new(&entries, to.p).ok_or_else(|| converted(node, "its table has wrong entries"))?;
                self.once(key, unused, |builder| builder.lookup(a, Arc::new(table)))
            }
        }
    }
}

pub(super) fn from_slots(error: SlotError) -> LaneError {
    Located { cause: error.cause.into(), location: error.location }
}

/// An error of the conversion of `node` that no program causes.
fn converted(node: &Node, problem: &'static str) -> LaneError {
    Located { cause: Cause::Converted { op: op_name(&node.op), problem }, location: node.location.clone() }
}

fn vector_name(name: &str, index: usize, length: usize) -> String {
    if length == 1 { name.to_owned() } else { format!("{name}.{index}") }
}
