//! Values of TFHE programs, as elements with one ciphertext each.
//!
//! A specification says which elements are the digits of wider integers, and which vectors are single numbers: 27 of `pf.UInt(5)` is the digits
//! 3, 2, 1. A vector has the first digits of all its values, then the second ones, and so on.

use super::integer::{Integer, Rounding};
use super::{FLOAT_BITS, Named, damaged, expect_names, gathered, integer, listed, refused, shown, written};
use crate::failure::Failure;
use serde::Deserialize;
use serde_json::{Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Most bits of an integer in digits.
const MOST_BITS: usize = 4096;

/// An integer in digits, as a specification describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IntegerLiteral {
    bits: usize,
    signed: bool,
    /// Least value, greatest value and step; `None` for all integers of the width.
    range: Option<(i64, i64, i64)>,
    length: usize,
    scalar: bool,
    text: bool,
    /// Whether its digits have one bit, not two.
    bitwise: bool,
    #[serde(default)]
    fixed: Option<FixedLiteral>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FixedLiteral {
    point: u32,
    rounding: Rounding,
    // Overflow concerns results only.
    #[serde(rename = "overflow")]
    _overflow: Overflow,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Overflow {
    Wrap,
    Saturate,
    Refuse,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapesLiteral {
    scalars: BTreeSet<String>,
    integers: BTreeMap<String, IntegerLiteral>,
    /// Number of copies of the program, for a batch of inputs.
    #[serde(default)]
    copies: Option<usize>,
}

/// Name and number of elements of an input or output.
pub type End = (String, usize);

/// The type of an input or output.
pub struct Shape {
    pub name: String,
    pub scalar: bool,
    /// Number of values.
    pub length: usize,
    kind: ShapeKind,
}

#[derive(PartialEq)]
enum ShapeKind {
    /// Each value is one element.
    Element,
    /// Each value is `size` elements.
    Digits(Digits),
}

#[derive(PartialEq)]
struct Digits {
    bits: usize,
    signed: bool,
    range: Option<(i64, i64, i64)>,
    text: bool,
    /// Bits of a digit.
    each: usize,
    fixed: Option<FixedLiteral>,
}

impl Digits {
    fn check(literal: &IntegerLiteral) -> Option<Self> {
        let &IntegerLiteral { bits, signed, range, text, bitwise, fixed, .. } = literal;
        let sound = (1..=MOST_BITS).contains(&bits)
            && (!text || (bits == 8 && !signed && range.is_none() && !literal.scalar))
            && fixed.is_none_or(|fixed| fixed.point as usize <= bits)
            && range.is_none_or(|(lo, hi, stride)| {
                let end = |end| Integer::from(end).fits(bits, signed);
                lo <= hi && stride >= 1 && end(lo) && end(hi)
            });
        sound.then_some(Self { bits, signed, range, text, each: if bitwise { 1 } else { 2 }, fixed })
    }

    /// Number of digits of a value.
    fn size(&self) -> usize {
        self.bits.div_ceil(self.each)
    }

    /// The integer of a value, if it is of the type.
    fn whole(&self, value: &Value) -> Option<Integer> {
        let number = match (self.fixed, value) {
            (Some(FixedLiteral { point, rounding, .. }), Value::String(text)) => {
                Integer::parse_steps(text, point, rounding)?
            }
            (Some(FixedLiteral { point, rounding, .. }), Value::Number(number)) => match integer(value) {
                Some(whole) => Integer::parse_steps(&whole.to_string(), point, rounding)?,
                None => Integer::steps(number.as_f64()?, point, rounding),
            },
            _ => integer(value)?,
        };
        let in_range = |(lo, hi, stride): (i64, i64, i64)| {
            let number = number.to_i64()?;
            (lo <= number && number <= hi && (i128::from(number) - i128::from(lo)) % i128::from(stride) == 0)
                .then_some(())
        };
        (number.fits(self.bits, self.signed) && self.range.is_none_or(|range| in_range(range).is_some()))
            .then_some(number)
    }

    /// The digits of an integer, least significant first.
    fn split(&self, whole: &Integer) -> Vec<i64> {
        let mut own = whole.bits(self.bits);
        own.resize(self.size() * self.each, 0);
        own.chunks(self.each).map(|digit| digit.iter().rev().fold(0, |all, &bit| all << 1 | i64::from(bit))).collect()
    }

    fn joined(&self, digits: impl Iterator<Item = i64>) -> Integer {
        let bits = digits.flat_map(|digit| (0..self.each).map(move |at| (digit >> at & 1) as u8));
        Integer::of_bits(&bits.take(self.bits).collect::<Vec<_>>(), self.signed)
    }

    fn value(&self, whole: &Integer) -> Value {
        let Some(FixedLiteral { point, .. }) = self.fixed else { return written(whole, self.bits) };
        let text = whole.decimal(point);
        let float = text.parse().ok().filter(|_| self.bits <= FLOAT_BITS).and_then(Number::from_f64);
        float.map_or_else(|| Value::from(text), Value::Number)
    }

    fn name(&self) -> String {
        let (bits, sign) = (self.bits, if self.signed { "with" } else { "without" });
        match (self.fixed, self.range) {
            (Some(FixedLiteral { point, .. }), _) => {
                format!("a fixed-point number of {bits} bits {sign} sign, {point} after the point")
            }
            (None, Some((lo, hi, 1))) => format!("an integer from {lo} to {hi}"),
            (None, Some((lo, hi, stride))) => format!("an integer from {lo} to {hi} in steps of {stride}"),
            (None, None) => format!("an integer of {bits} bits {sign} sign"),
        }
    }
}

impl Shape {
    fn check((name, elements): &End, literal: &ShapesLiteral, key: &str) -> Result<Self, Failure> {
        let wrong = || damaged(format!("the type of {name} contradicts its {elements} elements"));
        let (kind, length, scalar) = match literal.integers.get(key) {
            None => (ShapeKind::Element, *elements, literal.scalars.contains(key)),
            Some(integer) => {
                let digits = Digits::check(integer).ok_or_else(wrong)?;
                if integer.length.checked_mul(digits.size()) != Some(*elements) {
                    return Err(wrong());
                }
                (ShapeKind::Digits(digits), integer.length, integer.scalar)
            }
        };
        if scalar && length != 1 {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), scalar, length, kind })
    }

    /// Whether `other` has the same type.
    fn same(&self, other: &Self) -> bool {
        (self.scalar, self.length, &self.kind) == (other.scalar, other.length, &other.kind)
    }

    /// The elements of a value.
    pub fn flatten(&self, given: &Value) -> Result<Vec<i64>, Failure> {
        let name = &self.name;
        let wrong = |value: &Value, wanted: &str| {
            refused(format!("input {name:?} holds {}, but it takes {wanted}; correct it", shown(value)))
        };
        match &self.kind {
            ShapeKind::Element => {
                let values = listed(name, given, self.length, self.scalar)?.into_iter();
                // Ranges are checked where they are encoded.
                let number =
                    |value| integer(value).and_then(|own| own.to_i64()).ok_or_else(|| wrong(value, "integers"));
                values.map(number).collect()
            }
            ShapeKind::Digits(digits) => {
                let bytes = match given {
                    Value::String(text) if digits.text => Some(self.padded(text)?),
                    _ => None,
                };
                let values = match &bytes {
                    Some(bytes) => bytes.iter().collect(),
                    None => listed(name, given, self.length, self.scalar)?,
                };
                let whole = |value| digits.whole(value).ok_or_else(|| wrong(value, &digits.name()));
                let split = values.into_iter().map(|value| Ok(digits.split(&whole(value)?)));
                let split = split.collect::<Result<Vec<_>, Failure>>()?;
                Ok((0..digits.size()).flat_map(|place| split.iter().map(move |own| own[place])).collect())
            }
        }
    }

    /// The bytes of a text, padded with zeros.
    fn padded(&self, text: &str) -> Result<Vec<Value>, Failure> {
        let (name, most, size) = (&self.name, self.length, text.len());
        if size > most {
            return Err(refused(format!("input {name:?} is a text of {size} bytes, but it takes {most}; shorten it")));
        }
        if text.contains('\0') {
            return Err(refused(format!("input {name:?} has a zero byte, which ends a text; remove it")));
        }
        let bytes = text.bytes().chain(std::iter::repeat(0)).take(most);
        Ok(bytes.map(Value::from).collect())
    }

    /// The value with these elements.
    pub fn shaped(&self, values: &[i64]) -> Value {
        let digits = match &self.kind {
            ShapeKind::Element => return gathered(values.iter().map(|&value| value.into()).collect(), self.scalar),
            ShapeKind::Digits(digits) => digits,
        };
        let whole = |at: usize| digits.joined(values.iter().skip(at).step_by(self.length).copied());
        let wholes = (0..self.length).map(whole);
        if digits.text {
            let mut bytes: Vec<u8> = wholes.map(|own| own.to_i64().unwrap_or(0) as u8).collect();
            bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
            return Value::from(String::from_utf8_lossy(&bytes));
        }
        gathered(wholes.map(|own| digits.value(&own)).collect(), self.scalar)
    }
}

/// The types of a program's inputs and outputs.
pub struct ElementShapes {
    inputs: Vec<Shape>,
    outputs: Vec<Shape>,
    copies: Option<usize>,
}

impl ElementShapes {
    /// From a specification, for the `inputs` and `outputs` of its signature.
    pub fn check(data: &Value, inputs: &[End], outputs: &[End]) -> Result<Self, Failure> {
        let literal = ShapesLiteral::deserialize(data).map_err(damaged)?;
        let shapes = |all: &[End], sign: &str| {
            let shape = |own: &End| Shape::check(own, &literal, &format!("{sign}{}", own.0));
            all.iter().map(shape).collect::<Result<Vec<_>, _>>()
        };
        let ends =
            inputs.iter().map(|(name, _)| name.clone()).chain(outputs.iter().map(|(name, _)| format!("->{name}")));
        let ends: BTreeSet<String> = ends.collect();
        if let Some(name) = literal.scalars.iter().chain(literal.integers.keys()).find(|&name| !ends.contains(name)) {
            return Err(damaged(format!("{name:.80?} has a type, but is no input or output")));
        }
        let made = Self { inputs: shapes(inputs, "")?, outputs: shapes(outputs, "->")?, copies: literal.copies };
        if let Some(copies) = made.copies {
            for own in [&made.inputs, &made.outputs] {
                let (names, bases) = (by_name(own), bases(own));
                let same = |base: &str, at: usize| {
                    let copy = |at| names.get(&*format!("{base}.{at}")).copied();
                    copy(0).zip(copy(at)).is_some_and(|(first, own)| first.same(own))
                };
                let all = || bases.iter().all(|base| (0..copies).all(|at| same(base, at)));
                // Counted first: the number may come from others.
                if Some(own.len()) != bases.len().checked_mul(copies) || !all() {
                    return Err(damaged(format!("its inputs and outputs are not those of {copies} copies")));
                }
            }
        }
        Ok(made)
    }

    pub fn inputs(&self) -> &[Shape] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[Shape] {
        &self.outputs
    }

    /// The elements of all inputs.
    pub fn flatten(&self, given: &Named) -> Result<BTreeMap<String, Vec<i64>>, Failure> {
        let Some(copies) = self.copies else {
            expect_names(given, self.inputs.iter().map(|own| &*own.name))?;
            let flat = |own: &Shape| Ok((own.name.clone(), own.flatten(&given[&own.name])?));
            return self.inputs.iter().map(flat).collect();
        };
        let names = bases(&self.inputs);
        expect_names(given, names.iter().copied())?;
        let shapes = by_name(&self.inputs);
        let mut flat = BTreeMap::new();
        for name in names {
            for (at, value) in listed(name, &given[name], copies, false)?.into_iter().enumerate() {
                let copy = format!("{name}.{at}");
                let elements = shapes[&*copy].flatten(value)?;
                flat.insert(copy, elements);
            }
        }
        Ok(flat)
    }

    /// The outputs with these elements.
    pub fn shaped(&self, values: &BTreeMap<String, Vec<i64>>) -> Named {
        let own = |own: &Shape| own.shaped(values.get(&own.name).map_or(&[], |found| found));
        let Some(copies) = self.copies else {
            return self.outputs.iter().map(|shape| (shape.name.clone(), own(shape))).collect();
        };
        let shapes = by_name(&self.outputs);
        let all = |name: &str| (0..copies).map(|at| own(shapes[&*format!("{name}.{at}")])).collect::<Vec<_>>();
        bases(&self.outputs).iter().map(|name| ((*name).to_owned(), all(name).into())).collect()
    }
}

fn by_name(shapes: &[Shape]) -> BTreeMap<&str, &Shape> {
    shapes.iter().map(|own| (&*own.name, own)).collect()
}

/// The names of one copy's inputs or outputs: "x" of "x.0", "x.1", ..
fn bases(shapes: &[Shape]) -> Vec<&str> {
    shapes.iter().filter_map(|own| own.name.strip_suffix(".0")).collect()
}
