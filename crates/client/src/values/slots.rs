//! Values of CKKS and BGV programs, as vectors of slots.
//!
//! A vector of `pf.Real.vector(3)` is the first three slots of a ciphertext, and 0 follows; a single number is in all slots. A specification may
//! also place the numbers of an input in slots of several vectors (`packings`).

use super::{Named, damaged, expect_names, gathered, holds, integer, listed, refused, shown};
use crate::failure::Failure;
use polyfabric_program::rns::homomorphic::{Complex, Values};
use polyfabric_program::rns::signature::{Encoding, Signature, Terminal};
use polyfabric_schemes::set_file::ParameterSet;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SlotKind {
    Real,
    Complex,
    Residue,
    /// A bit as a ring-GSW ciphertext.
    Selector,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    kind: SlotKind,
    /// The plaintext modulus t of BGV.
    modulus: Option<u64>,
    length: usize,
    scalar: bool,
    /// Greatest absolute value of an input of CKKS.
    bound: f64,
    /// Rows and columns.
    shape: Option<(usize, usize)>,
}

type Shapes = BTreeMap<String, Shape>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapesLiteral {
    inputs: Shapes,
    outputs: Shapes,
    #[serde(default)]
    vectors: Option<VectorsLiteral>,
    #[serde(default)]
    packings: Option<BTreeMap<String, Packing>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorsLiteral {
    inputs: Shapes,
    outputs: Shapes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packing {
    vectors: Vec<String>,
    /// Of an input: for each slot of each vector the index of its number, -1 for 0. Of an output: for each number its slot, counted through the
    /// vectors. `None` if the numbers are in the first slots of one vector, or a single number is in all.
    sources: Option<Vec<i64>>,
    dimensions: Vec<usize>,
}

/// The types of a program's inputs and outputs, and the vectors that hold them.
pub struct SlotShapes {
    slots: usize,
    inputs: BTreeMap<String, (Shape, Packing)>,
    outputs: BTreeMap<String, (Shape, Packing)>,
    /// Vectors of the outputs that hold real numbers.
    real: Vec<String>,
}

/// One number in a slot.
#[derive(Clone, Copy)]
enum Number {
    Complex(Complex),
    Integer(i64),
}

impl Shape {
    /// Fails unless a program with these `slots` and `modulus` can have it.
    fn expect(&self, name: &str, slots: usize, modulus: Option<u64>) -> Result<(), Failure> {
        let kind = match self.kind {
            SlotKind::Real | SlotKind::Complex => modulus.is_none(),
            SlotKind::Residue => modulus.is_some(),
            SlotKind::Selector => self.scalar && self.length == 1,
        };
        let sound = kind
            && self.modulus == modulus
            && self.bound > 0.0
            && self.bound.is_finite()
            && (1..=slots).contains(&self.length)
            && (!self.scalar || self.length == 1 || self.length == slots)
            && self.shape.is_none_or(|(rows, columns)| rows.checked_mul(columns) == Some(self.length));
        if sound { Ok(()) } else { Err(damaged(format!("the type of {name} is not one of its program"))) }
    }

    /// Fails unless inputs of this type have the encoding of `input`.
    fn expect_encoding(&self, input: &Terminal) -> Result<(), Failure> {
        let sound = match input.encoding {
            Encoding::Ckks { magnitude, .. } => {
                matches!(self.kind, SlotKind::Real | SlotKind::Complex) && self.bound == magnitude
            }
            Encoding::Bgv { .. } => self.kind == SlotKind::Residue,
            Encoding::Selector {} => self.kind == SlotKind::Selector,
        };
        if sound { Ok(()) } else { Err(damaged(format!("the type of {} is not that of its encoding", input.name))) }
    }

    /// The packing of a vector that shares its slots with no other: it fills the first slots, and a single number fills all.
    fn own_packing(&self, name: &str) -> Packing {
        let dimensions = match self.shape {
            Some((rows, columns)) => vec![rows, columns],
            None if self.scalar => Vec::new(),
            None => vec![self.length],
        };
        Packing { vectors: vec![name.to_owned()], sources: None, dimensions }
    }

    fn number(&self, name: &str, value: &Value) -> Result<Number, Failure> {
        let wrong =
            |wanted: &str| refused(format!("input {name:?} holds {}, but it takes {wanted}; correct it", shown(value)));
        let real = |value: &Value| value.as_f64().or_else(|| value.as_bool().map(|bit| f64::from(u8::from(bit))));
        let number = match (self.kind, self.modulus) {
            (SlotKind::Selector, _) => {
                let bit = integer(value).and_then(|own| own.to_i64()).filter(|bit| (0..2).contains(bit));
                let bit = bit.ok_or_else(|| wrong("one bit, 0 or 1"))?;
                return Ok(Number::Integer(bit));
            }
            (SlotKind::Residue, modulus) => {
                let own = integer(value).ok_or_else(|| wrong("integers"))?;
                return Ok(Number::Integer(own.modulo(modulus.unwrap_or(1)) as i64));
            }
            (SlotKind::Real, _) => Complex::new(real(value).ok_or_else(|| wrong("real numbers"))?, 0.0),
            (SlotKind::Complex, _) => {
                let pair = value.as_array().filter(|pair| pair.len() == 2);
                let parts = match pair {
                    Some(pair) => real(&pair[0]).zip(real(&pair[1])),
                    None => real(value).map(|real| (real, 0.0)),
                };
                let (re, im) = parts.ok_or_else(|| wrong("numbers, or pairs of real and imaginary part"))?;
                Complex::new(re, im)
            }
        };
        if number.abs() <= self.bound {
            return Ok(Number::Complex(number));
        }
        Err(wrong(&format!("absolute values up to {}", self.bound)))
    }

    fn value(&self, number: Number) -> Value {
        match (number, self.kind) {
            (Number::Integer(value), _) => value.into(),
            (Number::Complex(value), SlotKind::Complex) => Value::from(vec![value.re, value.im]),
            (Number::Complex(value), _) => value.re.into(),
        }
    }
}

impl Packing {
    fn expect(&self, name: &str, length: usize, slots: usize, output: bool) -> Result<(), Failure> {
        let all = self.vectors.len().saturating_mul(slots);
        let (wanted, least, most) = if output { (length, 0, all) } else { (all, -1, length) };
        let product = self.dimensions.iter().try_fold(1_usize, |all, &own| all.checked_mul(own));
        let sound = !self.vectors.is_empty()
            && product == Some(length)
            && self
                .sources
                .as_ref()
                .is_some_and(|own| own.len() == wanted && own.iter().all(|&at| least <= at && at < most as i64));
        if sound {
            Ok(())
        } else {
            Err(damaged(format!("the places of the numbers of {name} are not those of its type")))
        }
    }
}

/// The numbers of nested lists, row by row.
fn flat<'a>(name: &str, given: &'a Value, dimensions: &[usize]) -> Result<Vec<&'a Value>, Failure> {
    match dimensions {
        [] => Ok(vec![given]),
        [length] => listed(name, given, *length, false),
        [rows, inner @ ..] => {
            let length: usize = dimensions.iter().product();
            // A list of all numbers is taken too.
            if given.as_array().is_some_and(|own| own.len() == length && !own.iter().all(Value::is_array)) {
                return listed(name, given, length, false);
            }
            let rows = listed(name, given, *rows, false)?;
            let rows = rows.into_iter().map(|row| flat(name, row, inner)).collect::<Result<Vec<_>, _>>()?;
            Ok(rows.concat())
        }
    }
}

/// `values` as nested lists.
fn nested(values: Vec<Value>, dimensions: &[usize]) -> Value {
    match dimensions {
        [] | [_] => gathered(values, dimensions.is_empty()),
        [_, inner @ ..] => {
            let rows = values.chunks(inner.iter().product()).map(|row| nested(row.to_vec(), inner));
            Value::from(rows.collect::<Vec<_>>())
        }
    }
}

/// Fails unless each encrypted vector of the inputs has a type, and its encoding is of that type.
fn expect_encodings<'a>(signature: &Signature, shape: impl Fn(&str) -> Option<&'a Shape>) -> Result<(), Failure> {
    signature.terminals(false).iter().try_for_each(|input| {
        let missing = || damaged(format!("the type of {} is missing", input.name));
        shape(&input.name).ok_or_else(missing)?.expect_encoding(input)
    })
}

impl SlotShapes {
    /// From a specification with this `signature`.
    pub fn check(data: &Value, signature: &Signature) -> Result<Self, Failure> {
        let slots = signature.slots();
        let modulus = match signature.set() {
            ParameterSet::Ckks(_) => None,
            ParameterSet::Bgv(set) => Some(set.plaintext_modulus().value()),
        };
        let literal = ShapesLiteral::deserialize(data).map_err(damaged)?;
        let packed = literal.vectors.is_some();
        let mut packings = literal.packings.unwrap_or_default();
        let mut joined = |shapes: Shapes, output: bool| {
            let sign = if output { "->" } else { "" };
            let one = |(name, shape): (String, Shape)| {
                let most = if packed { usize::MAX } else { slots };
                shape.expect(&name, most, modulus)?;
                let packing = match packings.remove(&format!("{sign}{name}")) {
                    Some(packing) if packed => {
                        packing.expect(&name, shape.length, slots, output)?;
                        packing
                    }
                    None if !packed => shape.own_packing(&name),
                    _ => return Err(damaged(format!("the places of the numbers of {name} are missing"))),
                };
                Ok((name, (shape, packing)))
            };
            shapes.into_iter().map(one).collect::<Result<BTreeMap<_, _>, Failure>>()
        };
        let (own_inputs, own_outputs) = (joined(literal.inputs, false)?, joined(literal.outputs, true)?);
        for (own, output) in [(&own_inputs, false), (&own_outputs, true)] {
            let held = own.values().flat_map(|(_, own)| &own.vectors).cloned().collect();
            if !holds(held, &signature.names(output), output) {
                return Err(damaged("its types are not those of the program's inputs and outputs"));
            }
        }
        let real = match literal.vectors {
            Some(VectorsLiteral { inputs, outputs }) => {
                inputs.iter().chain(&outputs).try_for_each(|(name, own)| own.expect(name, slots, modulus))?;
                expect_encodings(signature, |name| inputs.get(name))?;
                outputs.iter().filter(|(_, own)| own.kind == SlotKind::Real).map(|(name, _)| name.clone()).collect()
            }
            None => {
                expect_encodings(signature, |name| own_inputs.get(name).map(|(own, _)| own))?;
                let real = own_outputs.iter().filter(|(_, (own, _))| own.kind == SlotKind::Real);
                real.map(|(name, _)| name.clone()).collect()
            }
        };
        Ok(Self { slots, inputs: own_inputs, outputs: own_outputs, real })
    }

    /// Vectors of the outputs that hold real numbers.
    pub fn real(&self) -> &[String] {
        &self.real
    }

    /// The slots of all vectors of inputs.
    pub fn flatten(&self, given: &Named) -> Result<HashMap<String, Values>, Failure> {
        expect_names(given, self.inputs.keys().map(|name| &**name))?;
        let mut vectors = HashMap::new();
        for (name, (shape, packing)) in &self.inputs {
            let numbers = flat(name, &given[name], &packing.dimensions)?;
            let numbers = numbers.into_iter().map(|value| shape.number(name, value));
            let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
            for (place, vector) in packing.vectors.iter().enumerate() {
                let number = |slot: usize| {
                    let at = match &packing.sources {
                        Some(sources) => usize::try_from(sources[place * self.slots + slot]).ok()?,
                        None => {
                            if shape.scalar {
                                0
                            } else {
                                slot
                            }
                        }
                    };
                    numbers.get(at).copied()
                };
                let slots = if shape.kind == SlotKind::Selector { 1 } else { self.slots };
                let values = match numbers.first() {
                    Some(Number::Integer(_)) => {
                        Values::Integer((0..slots).map(|slot| integer_of(number(slot))).collect())
                    }
                    _ => Values::Complex((0..slots).map(|slot| complex_of(number(slot))).collect()),
                };
                vectors.insert(vector.clone(), values);
            }
        }
        Ok(vectors)
    }

    /// The outputs in these slots.
    pub fn shaped(&self, vectors: &BTreeMap<String, Values>) -> Named {
        let output = |(shape, packing): &(Shape, Packing)| {
            let number = |index: usize| {
                let at = packing.sources.as_ref().map_or(index, |own| own[index] as usize);
                let (vector, slot) = (at / self.slots, at % self.slots);
                let found = packing.vectors.get(vector).and_then(|name| vectors.get(name));
                shape.value(match found {
                    Some(Values::Integer(values)) => Number::Integer(values.get(slot).copied().unwrap_or(0)),
                    Some(Values::Complex(values)) => {
                        Number::Complex(values.get(slot).copied().unwrap_or(Complex::new(0.0, 0.0)))
                    }
                    None => Number::Integer(0),
                })
            };
            let count = packing.dimensions.iter().product();
            nested((0..count).map(number).collect(), &packing.dimensions)
        };
        self.outputs.iter().map(|(name, own)| (name.clone(), output(own))).collect()
    }
}

fn integer_of(number: Option<Number>) -> i64 {
    if let Some(Number::Integer(value)) = number { value } else { 0 }
}

fn complex_of(number: Option<Number>) -> Complex {
    if let Some(Number::Complex(value)) = number { value } else { Complex::new(0.0, 0.0) }
}
