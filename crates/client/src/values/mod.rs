//! Values of inputs and outputs: as JSON, and as a program's elements or slots.

mod elements;
mod integer;
mod lanes;
mod reals;
mod slots;

pub use elements::ElementShapes;
pub use lanes::LaneShapes;
pub use slots::SlotShapes;

use crate::failure::{Failure, Kind};
use integer::Integer;
use serde_json::{Map, Value};

/// Widest type whose values are JSON numbers, which most readers keep as floats. Wider ones are decimal texts.
const FLOAT_BITS: usize = 53;

/// Inputs or outputs by name.
pub type Named = Map<String, Value>;

/// A short form of a value, for errors.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// The integer that a value gives: a number, a truth value or a decimal text.
fn integer(value: &Value) -> Option<Integer> {
    match value {
        Value::Bool(bit) => Some(Integer::from(i64::from(*bit))),
        Value::Number(number) => number.as_i64().map(Integer::from).or_else(|| number.as_u64().map(Integer::from)),
        Value::String(text) => Integer::parse(text),
        _ => None,
    }
}

/// An integer of a type of `bits` bits.
fn written(integer: &Integer, bits: usize) -> Value {
    let small = integer.to_i64().filter(|_| bits <= FLOAT_BITS);
    small.map_or_else(|| Value::from(integer.to_string()), Value::from)
}

fn refused(message: String) -> Failure {
    Failure::new(Kind::Input, message)
}

/// The error for a specification whose parts contradict each other.
fn damaged(what: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::File, format!("the specification is damaged: {what}; get it again from the program's server"))
}

/// Whether these vectors are those of a program's inputs or outputs, each once. Inputs that no result depends on have no ciphertext.
fn holds(mut own: Vec<String>, needed: &[String], outputs: bool) -> bool {
    own.sort_unstable();
    let distinct = own.windows(2).all(|pair| pair[0] != pair[1]);
    distinct && needed.iter().all(|name| own.binary_search(name).is_ok()) && (!outputs || own.len() == needed.len())
}

/// Fails if an input is missing or unknown.
fn expect_names<'a>(given: &Named, known: impl Iterator<Item = &'a str> + Clone) -> Result<(), Failure> {
    let names = || known.clone().collect::<Vec<_>>().join(", ");
    if let Some(name) = given.keys().find(|name| !known.clone().any(|own| own == *name)) {
        return Err(refused(format!("there is no input {name:.80?}; the inputs are {}", names())));
    }
    match known.clone().find(|name| !given.contains_key(*name)) {
        Some(name) => Err(refused(format!("input {name:?} is missing; the inputs are {}", names()))),
        None => Ok(()),
    }
}

/// The values of an input: itself if it is `scalar`, else `length` of a list.
fn listed<'a>(name: &str, given: &'a Value, length: usize, scalar: bool) -> Result<Vec<&'a Value>, Failure> {
    let wrong = |wanted: String| refused(format!("input {name:?} is {}; give {wanted}", shown(given)));
    if scalar {
        return if given.is_array() { Err(wrong("one value".to_owned())) } else { Ok(vec![given]) };
    }
    let values = given.as_array().filter(|values| values.len() == length);
    values.map(|values| values.iter().collect()).ok_or_else(|| wrong(format!("a list of {length} values")))
}

/// A list, or the only value if it is `scalar`.
fn gathered(mut values: Vec<Value>, scalar: bool) -> Value {
    if scalar && values.len() == 1 { values.remove(0) } else { Value::from(values) }
}
