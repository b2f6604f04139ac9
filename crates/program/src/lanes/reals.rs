//! Real numbers next to integers.
//!
//! A program on integers may read rounded real numbers as inputs, and some of its outputs may be read as real numbers again. The steps between
//! them ([`RealOp`]) are sums and products, which CKKS computes on the lanes. Example, ⌊x + 0.5⌋ > 2 of a real x up to 4:
//!
//! 1. `Input x`, up to 4.
//! 2. `Round` of 1 in steps of 1, with the table (0, 1, 2, 3, 4): the input r of the program `r > 2`.
//!
//! A slot holds a real number over its *unit*, so that its parts are usually at most 1/2. Units are chosen to save levels: those of inputs and sums
//! that are rounded are the roundings' own.

use super::emit::{Emitter, from_slots};
use super::{LaneErrorCause as Cause, RealEnd, Result, refuse};
use crate::rns::homomorphic::{Builder, Complex, NodeId as Vector, ProgramError as SlotError, Table, Values};
use std::collections::{BTreeSet, HashMap};

/// One step on the real numbers of all lanes. Operands are indices of earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub enum RealOp {
    /// An encrypted input up to `bound`.
    Input { name: String, bound: f64 },
    /// An element of an output of the program on integers.
    Integer { output: String, element: usize },
    /// Σ weight · operand + bias.
    Linear { terms: Vec<(usize, f64)>, bias: f64 },
    /// The product of two.
    Product { operands: [usize; 2] },
    /// Element `element` of the input `input` of the program on integers: `entries[round((x − offset)/step)]`, in `stages` stages.
    Round { of: usize, step: f64, offset: f64, entries: Vec<i64>, stages: u32, input: String, element: usize },
    /// Returned to the caller.
    Output { of: usize, name: String },
}

impl RealOp {
    fn operands(&self) -> Vec<usize> {
        match self {
            Self::Input { .. } | Self::Integer { .. } => Vec::new(),
            Self::Linear { terms, .. } => terms.iter().map(|term| term.0).collect(),
            Self::Product { operands } => operands.to_vec(),
            Self::Round { of, .. } | Self::Output { of, .. } => vec![*of],
        }
    }

    /// The problem of a step that others wrote, if any.
    fn problem(&self, index: usize, most_entries: u32) -> Option<&'static str> {
        if self.operands().iter().any(|&operand| operand >= index) {
            return Some("it reads itself or a later step");
        }
        let sound = match self {
            Self::Input { bound, .. } => bound.is_finite() && *bound > 0.0,
            Self::Linear { terms, bias } => bias.is_finite() && terms.iter().all(|term| term.1.is_finite()),
            Self::Round { step, offset, entries, stages, .. } => {
                let counts =
                    (2..=most_entries as usize).contains(&entries.len()) && (1..=Table::MOST_STAGES).contains(stages);
                counts && step.is_normal() && *step > 0.0 && offset.is_finite()
            }
            _ => true,
        };
        (!sound).then_some("it has a number that is not finite, or a table of the wrong length")
    }
}

/// The steps on real numbers of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reals(pub Vec<RealOp>);

impl Reals {
    /// Checks what others wrote.
    ///
    /// # Errors
    /// [`Cause::Real`].
    pub(super) fn check(&self, most_entries: u32) -> Result<()> {
        for (step, op) in self.0.iter().enumerate() {
            if let Some(problem) = op.problem(step, most_entries) {
                return refuse(Cause::Real { step, problem }, None);
            }
        }
        Ok(())
    }

    /// Whether an output of the program on integers is read as real numbers.
    pub(super) fn reads(&self, output: &str) -> bool {
        self.0.iter().any(|op| matches!(op, RealOp::Integer { output: own, .. } if own == output))
    }

    /// Whether it rounds.
    pub(super) fn rounds(&self) -> bool {
        self.0.iter().any(|op| matches!(op, RealOp::Round { .. }))
    }
}

/// A real number of every lane.
#[derive(Clone, Copy, Debug)]
enum Real {
    Public(f64),
    /// `unit` times the slots' parts, up to `bound` in magnitude.
    Slots {
        vector: Vector,
        unit: f64,
        bound: f64,
    },
}

/// The written steps.
#[derive(Debug, Default)]
pub(super) struct Written {
    values: HashMap<usize, Real>,
    /// The rounding of each input of the program on integers.
    rounds: HashMap<(String, usize), usize>,
    /// The unit that saves a level, by step.
    wanted: HashMap<usize, f64>,
    /// Vectors that were scaled for a rounding, by vector, factor and number added.
    scaled: HashMap<(Vector, u64, u64), Vector>,
    /// The integers that roundings gave.
    rounded: HashMap<Vector, Rounding>,
}

/// Where the integers of a vector come from: `entries` of the rounded parts of `of`.
#[derive(Debug)]
struct Rounding {
    of: Vector,
    entries: Vec<i64>,
    stages: u32,
}

impl Written {
    pub fn new(reals: &Reals) -> Self {
        let mut made = Self::default();
        for (index, op) in reals.0.iter().enumerate() {
            if let RealOp::Round { of, step, entries, input, element, .. } = op {
                made.rounds.insert((input.clone(), *element), index);
                made.wanted.entry(*of).or_insert(step * entries.len() as f64);
            }
        }
        made
    }

    /// The rounding that gives an element of an input.
    pub fn round_of(&self, input: &str, element: usize) -> Option<usize> {
        self.rounds.get(&(input.to_owned(), element)).copied()
    }

    /// The table of residues, `table` modulo `modulus`, of the integers `a`, if a rounding gave them: a table of the same rounding, and its operand.
    /// It takes no bootstrapping more, and its operand's error is smaller than that of `a`.
    pub fn of_rounded(&self, a: Vector, table: &[u32], modulus: u32) -> Option<(Vector, Option<Table>)> {
        let Rounding { of, entries, stages } = self.rounded.get(&a)?;
        let residue = |entry: &i64| table[entry.rem_euclid(table.len() as i64) as usize];
        let residues: Vec<u32> = entries.iter().map(residue).collect();
        Some((*of, Table::new(&residues, modulus).and_then(|table| table.of_rounded(*stages))))
    }
}

/// Whether a product with `factor` uses no level.
fn is_free(factor: f64) -> bool {
    factor.fract() == 0.0 && factor.abs() <= 1024.0
}

impl Emitter<'_> {
    /// Writes the inputs.
    pub(super) fn real_inputs(&mut self) -> Result<Vec<(String, f64)>> {
        let mut made = Vec::new();
        let form = self.form;
        for (index, op) in form.reals.0.iter().enumerate() {
            let RealOp::Input { name, bound } = op else { continue };
            let wanted = self.written.wanted.get(&index).copied().filter(|unit| *bound <= *unit);
            let unit = wanted.unwrap_or(2.0 * bound);
            // Two parts of at most bound/unit.
            let magnitude = bound / unit * std::f64::consts::SQRT_2;
            let vector = self.builder.input_with(name, None, magnitude).map_err(from_slots)?;
            self.written.values.insert(index, Real::Slots { vector, unit, bound: *bound });
            made.push((name.clone(), unit));
        }
        Ok(made)
    }

    /// Writes the outputs.
    pub(super) fn real_outputs(&mut self) -> Result<Vec<(String, RealEnd)>> {
        let mut made = Vec::new();
        let form = self.form;
        for op in &form.reals.0 {
            let RealOp::Output { of, name } = op else { continue };
            let end = match self.real(*of)? {
                Real::Public(value) => RealEnd::Public(value),
                Real::Slots { vector, unit, bound } => {
                    // Larger slots may wrap around the modulus of level 0.
                    let fits = bound <= unit.abs();
                    let to = if fits { unit } else { 2.0 * bound };
                    let vector = self.scaled(vector, unit / to)?;
                    self.builder.output(name, vector).map_err(from_slots)?;
                    RealEnd::Unit(to)
                }
            };
            made.push((name.clone(), end));
        }
        Ok(made)
    }

    /// The step `index`, after those that it needs.
    fn real(&mut self, index: usize) -> Result<Real> {
        let form = self.form;
        let (mut needed, mut open) = (BTreeSet::new(), vec![index]);
        while let Some(step) = open.pop() {
            if !self.written.values.contains_key(&step) && needed.insert(step) {
                open.extend(form.reals.0[step].operands());
            }
        }
        for step in needed {
            let value = self.real_step(step, &form.reals.0[step])?;
            self.written.values.insert(step, value);
        }
        Ok(self.written.values[&index])
    }

    fn real_step(&mut self, index: usize, op: &RealOp) -> Result<Real> {
        let problem = |problem| refuse(Cause::Real { step: index, problem }, None);
        let known = |emitter: &Self, operand: usize| emitter.written.values[&operand];
        match op {
            RealOp::Integer { output, element } => match self.integer(output, *element) {
                Some((super::emit::Value::Public(value), _)) => Ok(Real::Public(value as f64)),
                Some((super::emit::Value::Slots(vector), (p, bound))) => {
                    Ok(Real::Slots { vector, unit: p.into(), bound })
                }
                None => problem("it reads an integer that is missing, or computed later"),
            },
            RealOp::Linear { terms, bias } => {
                let terms: Vec<_> = terms.iter().map(|&(operand, weight)| (known(self, operand), weight)).collect();
                self.real_sum(index, &terms, *bias)
            }
            RealOp::Product { operands: [left, right] } => match (known(self, *left), known(self, *right)) {
                (Real::Public(a), Real::Public(b)) => Ok(Real::Public(a * b)),
                (Real::Public(factor), value) | (value, Real::Public(factor)) => {
                    self.real_sum(index, &[(value, factor)], 0.0)
                }
                (Real::Slots { vector: a, unit, bound }, Real::Slots { vector: b, unit: other, bound: most }) => {
                    let vector = self.part_products(a, b).map_err(from_slots)?;
                    Ok(Real::Slots { vector, unit: unit * other / 4.0, bound: bound * most })
                }
            },
            RealOp::Input { .. } | RealOp::Round { .. } | RealOp::Output { .. } => problem("it is no real number"),
        }
    }

    /// Four times the product of the real parts, plus i times four times that of the imaginary parts: (a + ā)(b + b̄) − i·(a − ā)(b − b̄).
    fn part_products(&mut self, a: Vector, b: Vector) -> std::result::Result<Vector, SlotError> {
        let builder: &mut Builder = &mut self.builder;
        let (other, conjugate) = (builder.conjugate(a)?, builder.conjugate(b)?);
        let (real, imaginary) = (builder.add(a, other)?, builder.sub(a, other)?);
        let (first, second) = (builder.add(b, conjugate)?, builder.sub(b, conjugate)?);
        let turn = builder.constant(Values::Complex([Complex::new(0.0, -1.0)].into()))?;
        let turned = builder.mul(second, turn)?;
        let (first, second) = (builder.mul(real, first)?, builder.mul(imaginary, turned)?);
        builder.add(first, second)
    }

    /// Σ weight · value + bias, in a unit in which all factors are integers if there is one: then it uses no level.
    fn real_sum(&mut self, index: usize, terms: &[(Real, f64)], bias: f64) -> Result<Real> {
        let (mut bias, mut largest) = (bias, 0.0);
        let mut parts: Vec<(Vector, f64)> = Vec::new();
        for &(value, weight) in terms {
            match value {
                Real::Public(value) => bias += weight * value,
                Real::Slots { .. } if weight == 0.0 => {}
                Real::Slots { vector, unit, bound } => {
                    largest += weight.abs() * bound;
                    match parts.iter_mut().find(|part| part.0 == vector) {
                        Some(part) => part.1 += weight * unit,
                        None => parts.push((vector, weight * unit)),
                    }
                }
            }
        }
        let least = parts.iter().map(|part| part.1.abs()).filter(|&size| size > 0.0).fold(f64::INFINITY, f64::min);
        if least.is_infinite() {
            return Ok(Real::Public(bias));
        }
        let bound = largest + bias.abs();
        let whole = |&(_, size): &(Vector, f64)| {
            let factor = size / least;
            (factor - factor.round()).abs() <= 1e-13 * factor.abs() && is_free(factor.round())
        };
        let (unit, free) = match parts.iter().all(whole) {
            true => (least, true),
            false => {
                (self.written.wanted.get(&index).copied().filter(|&unit| bound <= unit).unwrap_or(2.0 * bound), false)
            }
        };
        let mut sum: Option<Vector> = None;
        for (vector, size) in parts {
            let factor = if free { (size / unit).round() } else { size / unit };
            if factor == 0.0 {
                continue;
            }
            let term = self.scaled(vector, factor)?;
            sum = Some(match sum {
                Some(sum) => self.builder.add(sum, term).map_err(from_slots)?,
                None => term,
            });
        }
        let Some(vector) = sum else { return Ok(Real::Public(bias)) };
        let vector = self.plus(vector, bias / unit)?;
        Ok(Real::Slots { vector, unit, bound })
    }

    fn scaled(&mut self, a: Vector, factor: f64) -> Result<Vector> {
        let made = match factor {
            1.0 => Ok(a),
            -1.0 => self.builder.neg(a),
            _ => self.builder.constant(Values::real(&[factor])).and_then(|constant| self.builder.mul(a, constant)),
        };
        made.map_err(from_slots)
    }

    /// a plus `number` in both parts.
    fn plus(&mut self, a: Vector, number: f64) -> Result<Vector> {
        if number == 0.0 {
            return Ok(a);
        }
        let constant = Values::Complex([Complex::new(number, number)].into());
        let sum = self.builder.constant(constant).and_then(|constant| self.builder.add(a, constant));
        sum.map_err(from_slots)
    }

    /// The integers of the rounding `index`, modulo `modulus`.
    pub(super) fn round(&mut self, index: usize, modulus: u32) -> Result<super::emit::Value> {
        let form = self.form;
        let RealOp::Round { of, step, offset, entries, stages, .. } = &form.reals.0[index] else {
            return refuse(Cause::Real { step: index, problem: "it does not round" }, None);
        };
        let turn = step * entries.len() as f64;
        match self.real(*of)? {
            Real::Public(value) => {
                let at = ((value - offset) / step).round().clamp(0.0, (entries.len() - 1) as f64);
                Ok(super::emit::Value::Public(entries[at as usize]))
            }
            Real::Slots { vector, unit, .. } => {
                let ratio = unit / turn;
                let near = (ratio - ratio.round()).abs() <= 1e-13 * ratio.abs() && is_free(ratio.round());
                let (factor, number) = (if near { ratio.round() } else { ratio }, -offset / turn);
                let key = (vector, factor.to_bits(), number.to_bits());
                let operand = match self.written.scaled.get(&key) {
                    Some(&known) => known,
                    None => {
                        let scaled = self.scaled(vector, factor)?;
                        let made = self.plus(scaled, number)?;
                        self.written.scaled.insert(key, made);
                        made
                    }
                };
                let residues: Vec<u32> = entries.iter().map(|entry| entry.rem_euclid(modulus.into()) as u32).collect();
                let table = Table::new(&residues, modulus).and_then(|table| table.of_rounded(*stages));
                let Some(table) = table else {
                    return refuse(Cause::Real { step: index, problem: "its table has wrong entries" }, None);
                };
                let made = self.rounded(operand, table)?;
                let rounding = Rounding { of: operand, entries: entries.clone(), stages: *stages };
                self.written.rounded.insert(made, rounding);
                Ok(super::emit::Value::Slots(made))
            }
        }
    }
}
