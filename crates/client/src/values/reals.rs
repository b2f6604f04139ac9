//! Real numbers next to integers in lanes of slots. In a lane, a number is a fraction of its vector's unit.

use super::{Named, damaged, gathered, listed, refused, shown};
use crate::failure::Failure;
use polyfabric_program::rns::homomorphic::{Complex, Values};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reals {
    inputs: Vec<Terminal>,
    outputs: Vec<Terminal>,
    /// All inputs and outputs of the program, those of integers too. Integers that it lacks are hidden.
    names: (Vec<String>, Vec<String>),
    /// Whether real numbers are rounded, so that those near a border may be rounded either way.
    pub rounds: bool,
}

/// Name, lengths (none for a single number, two for a matrix), bound, and elements, row by row.
#[derive(Deserialize)]
struct Terminal(String, Vec<usize>, f64, Vec<Element>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Element {
    /// The vector of slots that holds it, and its unit.
    Vector(String, f64),
    /// Its value, if it is public.
    Public(f64),
}

impl Terminal {
    fn vectors(&self) -> impl Iterator<Item = &str> {
        self.3.iter().filter_map(|own| if let Element::Vector(name, _) = own { Some(&**name) } else { None })
    }

    fn is_sound(&self) -> bool {
        let Self(_, lengths, bound, elements) = self;
        let finite = |own: &Element| match own {
            Element::Vector(_, unit) => unit.is_normal(),
            Element::Public(value) => value.is_finite(),
        };
        let count = lengths.iter().try_fold(1_usize, |count, &length| count.checked_mul(length));
        lengths.len() <= 2
            && count == Some(elements.len())
            && !elements.is_empty()
            && *bound > 0.0
            && elements.iter().all(finite)
    }
}

/// The numbers of an item with these lengths, row by row.
fn numbers_of<'a>(name: &str, item: &'a Value, lengths: &[usize]) -> Result<Vec<&'a Value>, Failure> {
    let [first, rest @ ..] = lengths else { return Ok(vec![item]) };
    let mut all = Vec::new();
    for row in listed(name, item, *first, false)? {
        all.extend(numbers_of(name, row, rest)?);
    }
    Ok(all)
}

/// An item with these lengths, none of which is 0.
fn item_of(numbers: Vec<Value>, lengths: &[usize]) -> Value {
    match lengths {
        [_, columns] => Value::from(numbers.chunks(*columns).map(|row| Value::from(row.to_vec())).collect::<Vec<_>>()),
        _ => gathered(numbers, lengths.is_empty()),
    }
}

impl Reals {
    /// Fails unless they and the integers' inputs and outputs are those of a program.
    pub fn expect(&self, integers: [&[String]; 2]) -> Result<(), Failure> {
        let ends = [(&self.inputs, &self.names.0), (&self.outputs, &self.names.1)];
        for ((own, names), integers) in ends.into_iter().zip(integers) {
            let known = || own.iter().map(|own| &*own.0).chain(integers.iter().map(|own| &**own));
            let twice = |at: usize, name: &String| names[..at].contains(name);
            let sound = own.iter().all(|own| own.is_sound() && names.contains(&own.0))
                && names.iter().enumerate().all(|(at, name)| known().any(|own| own == name) && !twice(at, name));
            if !sound {
                return Err(damaged("its real numbers are not those of the program"));
            }
        }
        let public = |own: &Terminal| own.vectors().count() != own.3.len();
        if self.inputs.iter().any(public) { Err(damaged("an input is public")) } else { Ok(()) }
    }

    /// The vectors of slots of inputs, or of outputs.
    pub fn vectors(&self, outputs: bool) -> impl Iterator<Item = &str> {
        let own = if outputs { &self.outputs } else { &self.inputs };
        own.iter().flat_map(Terminal::vectors)
    }

    /// Names of the inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &str> + Clone {
        self.inputs.iter().map(|own| &*own.0)
    }

    /// Whether the program returns this output of integers.
    pub fn returns(&self, name: &str) -> bool {
        self.names.1.is_empty() || self.names.1.iter().any(|own| own == name)
    }

    /// Adds the vectors of all inputs, which are lists of the batch's values.
    pub fn flatten(
        &self,
        given: &Named,
        (slots, batch): (usize, usize),
        vectors: &mut HashMap<String, Values>,
    ) -> Result<(), Failure> {
        for Terminal(name, lengths, bound, elements) in &self.inputs {
            let mut lanes = vec![vec![0.0; 2 * slots]; elements.len()];
            for (lane, item) in listed(name, &given[name], batch, false)?.into_iter().enumerate() {
                let numbers = numbers_of(name, item, lengths)?;
                for ((own, element), number) in lanes.iter_mut().zip(elements).zip(numbers) {
                    let Some(number) = number.as_f64().filter(|number| number.abs() <= *bound) else {
                        let message = format!(
                            "input {name:?} holds {}, but it takes real numbers with absolute values up to {bound}; correct it",
                            shown(number)
                        );
                        return Err(refused(message));
                    };
                    let Element::Vector(_, unit) = element else { continue };
                    own[lane] = number / unit;
                }
            }
            for (element, own) in elements.iter().zip(lanes) {
                let Element::Vector(vector, _) = element else { continue };
                let (re, im) = own.split_at(slots);
                let values = re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect();
                vectors.insert(vector.clone(), Values::Complex(values));
            }
        }
        Ok(())
    }

    /// The outputs in these slots, as lists of the batch's values.
    pub fn shaped(&self, batch: usize, vectors: &BTreeMap<String, Values>) -> Result<Named, Failure> {
        let number = |element: &Element, lane: usize| match element {
            Element::Public(value) => Some(*value),
            Element::Vector(name, unit) => {
                let Values::Complex(slots) = vectors.get(name)? else { return None };
                let own = if lane < slots.len() { slots[lane].re } else { slots.get(lane - slots.len())?.im };
                Some(own * unit)
            }
        };
        let output = |Terminal(name, lengths, _, elements): &Terminal| {
            let item = |lane: usize| {
                let numbers = elements.iter().map(|element| Some(Value::from(number(element, lane)?)));
                Some(item_of(numbers.collect::<Option<Vec<_>>>()?, lengths))
            };
            let items: Option<Vec<Value>> = (0..batch).map(item).collect();
            let items = items.ok_or_else(|| refused(format!("output {name:?} is missing")))?;
            Ok((name.clone(), Value::from(items)))
        };
        self.outputs.iter().map(output).collect()
    }
}
