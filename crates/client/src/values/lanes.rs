//! Values of integer programs on CKKS, as lanes of slots: a batch of inputs at once.
//!
//! Every element is a vector of slots, whose lanes (the real parts, then the imaginary ones) hold the inputs of the batch. An integer v modulo p
//! in a lane is the fraction v/p in (-1/2, 1/2]. An output that is summed over the batch has two such fractions in every slot. Real numbers may stand next
//! to integers.

use super::elements::{ElementShapes, End, Shape};
use super::reals::Reals;
use super::{Named, damaged, expect_names, gathered, holds, listed, refused, shown};
use crate::failure::Failure;
use polyfabric_program::rns::homomorphic::{Complex, Values};
use polyfabric_program::tfhe::homomorphic::{ElementType, Range};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Largest modulus of a lookup table on slots.
const MOST_MODULUS: i64 = 1 << 12;

/// Distance from an integer, in steps of 1/p, from which on a fraction may stand for another one.
const HALF: f64 = 0.5;

/// The part of a batch that may be far from integers, if real numbers are rounded.
const MOST_UNDECIDED: f64 = 0.5;

const DAMAGED: &str = "The ciphertext was damaged or altered, or belongs to another computation or other keys, so its values are not shown; use the outputs of one execution of this program";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapesLiteral {
    integers: Value,
    ends: EndsLiteral,
    batch: usize,
    inputs: Vec<TerminalLiteral>,
    outputs: Vec<TerminalLiteral>,
    /// By vector of the outputs: the largest distance from an integer, in steps, in any run.
    bounds: BTreeMap<String, f64>,
    #[serde(default)]
    reals: Reals,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndsLiteral {
    inputs: Vec<EndLiteral>,
    outputs: Vec<EndLiteral>,
}

/// Name, bounds and step (`None` for truth values), and number of elements.
type EndLiteral = (String, Option<(i64, i64, i64)>, usize);

/// The same, checked.
type LaneEnd = (String, ElementType, usize);

/// Name, modulus, elements, and whether it is summed over the batch.
type TerminalLiteral = (String, i64, Vec<Element>, bool);

#[derive(Deserialize)]
#[serde(untagged)]
enum Element {
    /// The vector of slots that holds it.
    Vector(String),
    /// Its value, if it is public.
    Public(i64),
}

/// An input or output, and the vectors that hold it.
struct Terminal {
    name: String,
    element: ElementType,
    modulus: i64,
    elements: Vec<Element>,
    summed: bool,
}

/// The types of a program's inputs and outputs, and the vectors of slots that hold them.
pub struct LaneShapes {
    integers: ElementShapes,
    slots: usize,
    batch: usize,
    inputs: Vec<Terminal>,
    outputs: Vec<Terminal>,
    bounds: BTreeMap<String, f64>,
    reals: Reals,
}

/// The values of an element type.
fn range_of(element: ElementType) -> Option<Range> {
    match element {
        ElementType::Boolean => Range::new(0, 1),
        ElementType::Integer(range) => Some(range),
        ElementType::Torus { .. } => None,
    }
}

impl Terminal {
    fn check((name, modulus, elements, summed): TerminalLiteral, (own, element, length): &LaneEnd) -> Option<Self> {
        let sound = name == *own
            && elements.len() == *length
            && (2..=MOST_MODULUS).contains(&modulus)
            && elements.iter().all(|own| !matches!(own, Element::Public(value) if !element.holds(*value)));
        let made = Self { name, element: *element, modulus, elements, summed };
        // Equal residues of two values would be ambiguous.
        let vectors = made.vectors().next().is_some();
        (sound && (summed || !vectors || made.by_residue().is_some())).then_some(made)
    }

    fn vectors(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().filter_map(|own| if let Element::Vector(name) = own { Some(&**name) } else { None })
    }

    /// The value of the type with each residue; `None` if two values have one residue.
    fn by_residue(&self) -> Option<Vec<Option<i64>>> {
        let range = range_of(self.element).filter(|own| own.count() <= self.modulus as u64)?;
        let mut found = vec![None; self.modulus as usize];
        for value in range.values() {
            let own = &mut found[value.rem_euclid(self.modulus) as usize];
            if own.replace(value).is_some() {
                return None;
            }
        }
        Some(found)
    }
}

impl LaneShapes {
    /// From a specification, for a program of `slots` slots with these vectors as inputs and outputs.
    pub fn check(data: &Value, slots: usize, (inputs, outputs): (Vec<String>, Vec<String>)) -> Result<Self, Failure> {
        let literal = ShapesLiteral::deserialize(data).map_err(damaged)?;
        let wrong = || damaged("its vectors do not hold the program's inputs and outputs");
        let ends = |own: Vec<EndLiteral>| {
            let end = |(name, bounds, length): EndLiteral| {
                let element = match bounds {
                    None => ElementType::Boolean,
                    Some((lo, hi, stride)) => {
                        ElementType::Integer(Range::with_stride(lo, hi, stride.max(1)).ok_or_else(wrong)?)
                    }
                };
                Ok((name, element, length))
            };
            own.into_iter().map(end).collect::<Result<Vec<LaneEnd>, Failure>>()
        };
        let (in_ends, out_ends) = (ends(literal.ends.inputs)?, ends(literal.ends.outputs)?);
        let plain = |own: &[LaneEnd]| own.iter().map(|(name, _, length)| (name.clone(), *length)).collect::<Vec<End>>();
        let integers = ElementShapes::check(&literal.integers, &plain(&in_ends), &plain(&out_ends))?;
        let terminals = |own: Vec<TerminalLiteral>, ends: &[LaneEnd]| {
            if own.len() != ends.len() {
                return Err(wrong());
            }
            let made = own.into_iter().zip(ends).map(|(own, end)| Terminal::check(own, end));
            made.collect::<Option<Vec<_>>>().ok_or_else(wrong)
        };
        let made = Self {
            integers,
            slots,
            batch: literal.batch,
            inputs: terminals(literal.inputs, &in_ends)?,
            outputs: terminals(literal.outputs, &out_ends)?,
            bounds: literal.bounds,
            reals: literal.reals,
        };
        let names = |own: &[Terminal]| own.iter().map(|own| own.name.clone()).collect::<Vec<_>>();
        let (own_inputs, own_outputs) = (names(&made.inputs), names(&made.outputs));
        made.reals.expect([&own_inputs, &own_outputs])?;
        let sorted = |own: &[Terminal]| {
            let mut own: Vec<String> = own.iter().flat_map(Terminal::vectors).map(str::to_owned).collect();
            own.sort_unstable();
            own
        };
        for (outputs, mut own, needed) in
            [(false, sorted(&made.inputs), inputs), (true, sorted(&made.outputs), outputs)]
        {
            own.extend(made.reals.vectors(outputs).map(str::to_owned));
            if !holds(own, &needed, outputs) {
                return Err(wrong());
            }
        }
        let public = |own: &Terminal| own.summed || own.vectors().count() != own.elements.len();
        let bounds = made.bounds.keys().cloned().collect::<Vec<_>>() == sorted(&made.outputs)
            && made.bounds.values().all(|bound| (0.0..HALF).contains(bound));
        if made.inputs.iter().any(public) || !bounds || !(1..=2 * slots).contains(&made.batch) {
            return Err(wrong());
        }
        Ok(made)
    }

    /// The slots of all vectors of inputs, which are lists of the batch's values.
    pub fn flatten(&self, given: &Named) -> Result<HashMap<String, Values>, Failure> {
        expect_names(given, self.inputs.iter().map(|own| &*own.name).chain(self.reals.inputs()))?;
        let mut vectors = HashMap::new();
        for (terminal, shape) in self.inputs.iter().zip(self.integers.inputs()) {
            let mut lanes = vec![vec![0.0; 2 * self.slots]; terminal.elements.len()];
            let column = listed(&terminal.name, &given[&terminal.name], self.batch, false)?;
            for (lane, value) in column.into_iter().enumerate() {
                for (vector, element) in shape.flatten(value)?.into_iter().enumerate() {
                    if !terminal.element.holds(element) {
                        let name = &terminal.name;
                        let message = format!(
                            "input {name:?} holds {}, but it takes {}; correct it",
                            shown(value),
                            terminal.element
                        );
                        return Err(refused(message));
                    }
                    let residue = element.rem_euclid(terminal.modulus);
                    let centred = if residue > terminal.modulus / 2 { residue - terminal.modulus } else { residue };
                    lanes[vector][lane] = centred as f64 / terminal.modulus as f64;
                }
            }
            for (name, own) in terminal.vectors().zip(&lanes) {
                let (re, im) = own.split_at(self.slots);
                let slots = re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect();
                vectors.insert(name.to_owned(), Values::Complex(slots));
            }
        }
        self.reals.flatten(given, (self.slots, self.batch), &mut vectors)?;
        Ok(vectors)
    }

    /// The outputs in these slots, rounded: a list of the batch's values, or their sum. Rejects a value that is farther from an integer than in
    /// any run, and a residue that no value of its type has.
    pub fn shaped(&self, vectors: &BTreeMap<String, Values>) -> Result<Named, Failure> {
        let outputs = self.outputs.iter().zip(self.integers.outputs());
        let outputs = outputs.filter(|(terminal, _)| self.reals.returns(&terminal.name));
        let output = |(terminal, shape): (&Terminal, &Shape)| {
            let columns = terminal.elements.iter().map(|element| match element {
                Element::Public(value) => Ok(Column::Public(*value)),
                Element::Vector(name) => Ok(Column::Steps(self.steps(name, terminal.modulus, vectors)?)),
            });
            let columns = columns.collect::<Result<Vec<_>, Failure>>()?;
            let value = if terminal.summed {
                self.sum(terminal, shape, &columns)?
            } else {
                self.each(terminal, shape, &columns)?
            };
            Ok((terminal.name.clone(), value))
        };
        let mut shaped = outputs.map(output).collect::<Result<Named, Failure>>()?;
        shaped.extend(self.reals.shaped(self.batch, vectors)?);
        Ok(shaped)
    }

    /// The lanes of a vector, in steps of 1/`modulus`, rounded. If real numbers are rounded, those near a border may be anything, and so may lanes without an input.
    fn steps(&self, name: &str, modulus: i64, vectors: &BTreeMap<String, Values>) -> Result<Vec<i64>, Failure> {
        let Some(Values::Complex(slots)) = vectors.get(name) else {
            return Err(refused(format!("output {name:?} is missing")));
        };
        let lanes = slots.iter().map(|own| own.re).chain(slots.iter().map(|own| own.im));
        let bound = self.bounds.get(name).copied().unwrap_or(0.0);
        let exact: Vec<f64> = lanes.map(|lane| lane * modulus as f64).collect();
        let distance = |exact: &f64| (exact - exact.round_ties_even()).abs();
        let beyond = |exact: &&f64| {
            let own = distance(exact);
            own > bound || own.is_nan()
        };
        if self.reals.rounds {
            let undecided = exact[..self.batch].iter().filter(beyond).count();
            if undecided as f64 > MOST_UNDECIDED * self.batch as f64 {
                let message = format!(
                    "output {name:?}: {undecided} of {} values are not near an integer, so that not only real numbers near a border can be the cause. {DAMAGED}",
                    self.batch
                );
                return Err(refused(message));
            }
        } else if let Some(far) = exact.iter().find(beyond) {
            let message = format!(
                "output {name:?}: a value is {:.3} from the nearest integer, but at most {bound:.3} in every run of this program. {DAMAGED}",
                distance(far)
            );
            return Err(refused(message));
        }
        Ok(exact.iter().map(|exact| exact.round_ties_even() as i64).collect())
    }

    fn each(&self, terminal: &Terminal, shape: &Shape, columns: &[Column]) -> Result<Value, Failure> {
        let values = terminal.by_residue().unwrap_or_default();
        // Any value, for a number near a border.
        let any = values.iter().copied().flatten().next().filter(|_| self.reals.rounds);
        let item = |lane: usize| {
            let element = |column: &Column| match column {
                Column::Public(value) => Ok(*value),
                Column::Steps(steps) => {
                    let residue = steps[lane].rem_euclid(terminal.modulus) as usize;
                    let name = &terminal.name;
                    let other = || refused(format!("output {name:?}: a value is not of the output's type. {DAMAGED}"));
                    values.get(residue).copied().flatten().or(any).ok_or_else(other)
                }
            };
            Ok(shape.shaped(&columns.iter().map(element).collect::<Result<Vec<_>, Failure>>()?))
        };
        Ok(Value::from((0..self.batch).map(item).collect::<Result<Vec<_>, Failure>>()?))
    }

    /// The sums over the batch. All slots have them.
    fn sum(&self, terminal: &Terminal, shape: &Shape, columns: &[Column]) -> Result<Value, Failure> {
        let sum = |column: &Column| match column {
            Column::Public(value) => Ok(i128::from(*value) * self.batch as i128),
            Column::Steps(steps) => {
                let (re, im) = steps.split_at(self.slots);
                let differ = |own: &[i64]| own.iter().any(|value| *value != own[0]);
                if !self.reals.rounds && (differ(re) || differ(im)) {
                    let name = &terminal.name;
                    return Err(refused(format!("output {name:?}: its slots have several sums. {DAMAGED}")));
                }
                Ok(i128::from(re[0]) + i128::from(im[0]))
            }
        };
        let sums = columns.iter().map(sum).collect::<Result<Vec<_>, Failure>>()?;
        // The sums of the digits of an element, least significant first.
        let digits = |element: usize| sums.iter().skip(element).step_by(shape.length);
        let total = |element| digits(element).rev().fold(0_i128, |all, sum| (all << 2) + sum);
        let value = |total: i128| i64::try_from(total).map_or_else(|_| Value::from(total.to_string()), Value::from);
        Ok(gathered((0..shape.length).map(|element| value(total(element))).collect(), shape.scalar))
    }
}

/// An element of an output in all lanes.
enum Column {
    Public(i64),
    Steps(Vec<i64>),
}
