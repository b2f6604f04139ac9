//! Lookup in an encrypted key-value store, with BGV.
//!
//! The task is F1's benchmark (section 7), after HElib's country lookup demo. Keys, values and query are all encrypted; the server
//! finds the entry whose key equals the query and returns its value.
//!
//! # Layout
//! Each entry has one slot. Vector `key.i` contains character i of all keys, and `value.j` character j of all values. Character i of
//! the query fills all slots of `query.i`. So one computation compares all entries:
//! match = Π_i equal(key_i, query_i), result_j = Σ over all slots of match·value_j,
//!
//! Each slot of `result.j` is character j of the value, or 0 if no key matches. Keys are distinct.

use crate::rns::homomorphic::{Basis, Builder, NodeId, Polynomial, Program, ProgramError, Scheme, Values};
use polyfabric_kernels::modular::Modulus;
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// Largest alphabet.
pub const MAX_LETTERS: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Equality {
    /// For any residues modulo a prime t: 1 − (x − y)^(t−1) (Fermat). Takes about log2 t squarings.
    Fermat,
    /// For letters below s ≤ t/2: the polynomial that is 1 at difference 0 and 0 at all other differences,
    /// Π_(0 < j < s) (1 − (x − y)²/j²). Depth about 1 + log2 s.
    Alphabet(u64),
    /// For bits: 1 − (x − y)².
    Bits,
}

/// The shape of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Slots, the maximum number of entries.
    pub slots: usize,
    /// Characters per key.
    pub key: usize,
    /// Characters per value.
    pub value: usize,
    /// How characters are compared.
    pub equality: Equality,
}

/// Why a store or its inputs are invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StoreError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("keys of {key} and values of {value} characters; give both at least one")]
    Empty { key: usize, value: usize },
    #[error(
        "an alphabet of {size} letters with plaintext modulus {t}; take 2 letters to half of the modulus and at most {MAX_LETTERS}, or compare by Fermat"
    )]
    Alphabet { size: u64, t: u64 },
    #[error("{entries} entries, but the store has {slots} slots; take more slots, or several stores")]
    Entries { entries: usize, slots: usize },
    #[error("{what} has {found} characters, the store's have {expected}; pad it")]
    Length { what: String, found: usize, expected: usize },
    #[error("{what} has the character {character}, but characters must be below {bound}; split it into several")]
    Character { what: String, character: u64, bound: u64 },
    #[error("entry {entry}: its key is 0 in all characters, or an earlier entry's; make keys distinct and not 0")]
    Key { entry: usize },
}

/// The characters of a key and of its value.
pub type Entry = (Vec<u64>, Vec<u64>);

impl Store {
    /// The program of one lookup modulo `t`.
    ///
    /// # Errors
    /// [`StoreError::Empty`], [`StoreError::Program`] if slots or t are not usable.
    pub fn program(&self, t: u64) -> Result<Program, StoreError> {
        if self.key == 0 || self.value == 0 {
            return Err(StoreError::Empty { key: self.key, value: self.value });
        }
        let mut builder = Builder::new("database_lookup", Scheme::Bgv { plaintext_modulus: t }, self.slots)?;
        let one = builder.constant(Values::integer(&[1]))?;
        let mut equal = Vec::new();
        for index in 0..self.key {
            let key = builder.input(&format!("key.{index}"))?;
            let query = builder.input(&format!("query.{index}"))?;
            let difference = builder.sub(key, query)?;
            equal.push(match self.equality {
                Equality::Fermat => {
                    let power = power(&mut builder, difference, t - 1)?;
                    builder.sub(one, power)?
                }
                Equality::Alphabet(size) => {
                    let square = builder.square(difference)?;
                    builder.polynomial(square, Arc::new(letters(size, t)?))?
                }
                Equality::Bits => {
                    let square = builder.square(difference)?;
                    builder.sub(one, square)?
                }
            });
        }
        // Multiply in pairs for logarithmic depth.
        while equal.len() > 1 {
            let pairs = equal.chunks(2).map(|pair| match *pair {
                [a, b] => builder.mul(a, b),
                ref one => Ok(one[0]),
            });
            equal = pairs.collect::<Result<_, _>>()?;
        }
        let found = equal[0];
        for index in 0..self.value {
            let value = builder.input(&format!("value.{index}"))?;
            let mut sum = builder.mul(found, value)?;
            let mut step = 1;
            while step < self.slots / 2 {
                let moved = builder.rotate(sum, step as i64)?;
                sum = builder.add(sum, moved)?;
                step *= 2;
            }
            let swapped = builder.conjugate(sum)?;
            sum = builder.add(sum, swapped)?;
            builder.output(&format!("result.{index}"), sum)?;
        }
        Ok(builder.finish()?)
    }

    /// The program's inputs for `entries` and `query`, modulo `t`.
    ///
    /// # Errors
    /// [`StoreError`] if they do not fit the store.
    pub fn inputs(&self, entries: &[Entry], query: &[u64], t: u64) -> Result<HashMap<String, Values>, StoreError> {
        if entries.len() > self.slots {
            return Err(StoreError::Entries { entries: entries.len(), slots: self.slots });
        }
        let bound = match self.equality {
            Equality::Fermat => t,
            Equality::Alphabet(size) => size,
            Equality::Bits => 2,
        };
        let check = |what: String, characters: &[u64], expected: usize, bound: u64| {
            if characters.len() != expected {
                return Err(StoreError::Length { what, found: characters.len(), expected });
            }
            match characters.iter().find(|&&character| character >= bound) {
                Some(&character) => Err(StoreError::Character { what, character, bound }),
                None => Ok(()),
            }
        };
        check("the query".to_owned(), query, self.key, bound)?;
        for (index, (key, value)) in entries.iter().enumerate() {
            check(format!("the key of entry {index}"), key, self.key, bound)?;
            check(format!("the value of entry {index}"), value, self.value, t)?;
            // A key of zeros marks an unused slot.
            if key.iter().all(|&character| character == 0) || entries[..index].iter().any(|(other, _)| other == key) {
                return Err(StoreError::Key { entry: index });
            }
        }
        let column = |of: &dyn Fn(&Entry) -> u64| {
            let mut slots = vec![0; self.slots];
            slots.iter_mut().zip(entries).for_each(|(slot, entry)| *slot = of(entry) as i64);
            Values::integer(&slots)
        };
        let keys = (0..self.key).map(|index| (format!("key.{index}"), column(&|entry| entry.0[index])));
        let values = (0..self.value).map(|index| (format!("value.{index}"), column(&|entry| entry.1[index])));
        let query = query.iter().enumerate().map(|(index, &character)| {
            (format!("query.{index}"), Values::integer(&vec![character as i64; self.slots]))
        });
        Ok(keys.chain(values).chain(query).collect())
    }
}

/// The lookup in the clear: the value of the entry with key `query`, or zeros.
pub fn look_up(entries: &[Entry], query: &[u64], characters: usize) -> Vec<u64> {
    let found = entries.iter().find(|(key, _)| key == query);
    found.map_or_else(|| vec![0; characters], |(_, value)| value.clone())
}

/// Π_(0 < j < s) (1 − u/j²) modulo t.
fn letters(size: u64, t: u64) -> Result<Polynomial, StoreError> {
    let refused = StoreError::Alphabet { size, t };
    let modulus = Modulus::new(t).map_err(|_| refused.clone())?;
    if size < 2 || size > t / 2 || size > MAX_LETTERS {
        return Err(refused);
    }
    let mut coefficients = vec![1];
    for j in 1..size {
        let factor = modulus.inverse(modulus.multiply(j, j)).ok_or_else(|| refused.clone())?;
        // Multiply by 1 − factor·u.
        coefficients.push(0);
        for place in (1..coefficients.len()).rev() {
            coefficients[place] = modulus.sub(coefficients[place], modulus.multiply(factor, coefficients[place - 1]));
        }
    }
    let coefficients: Vec<i64> = coefficients.into_iter().map(|c| modulus.centre(c)).collect();
    Ok(Polynomial { basis: Basis::Monomial, coefficients: Values::integer(&coefficients) })
}

/// base^exponent by square-and-multiply, from the exponent's highest bit.
fn power(builder: &mut Builder, base: NodeId, exponent: u64) -> Result<NodeId, ProgramError> {
    let mut result = base;
    for bit in (0..exponent.ilog2()).rev() {
        result = builder.square(result)?;
        if exponent >> bit & 1 == 1 {
            result = builder.mul(result, base)?;
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    //! Does the program, evaluated in the clear, agree with a search?

    use super::*;
    use crate::rns::homomorphic::evaluate;

    fn entries(count: u64, key: usize, bits: u32) -> Vec<Entry> {
        let character = |entry: u64, index: usize| (entry + 1) >> (bits as usize * index) & ((1 << bits) - 1);
        (0..count)
            .map(|entry| ((0..key).map(|index| character(entry, index)).collect(), vec![entry * 7 % 97, entry]))
            .collect()
    }

    #[test]
    fn agrees_with_a_search() {
        for (t, equality, key, bits) in
            [(257, Equality::Fermat, 2, 4), (257, Equality::Alphabet(16), 2, 4), (257, Equality::Bits, 7, 1)]
        {
            let store = Store { slots: 64, key, value: 2, equality };
            let program = store.program(t).unwrap();
            let entries = entries(50, key, bits);
            for wanted in [0, 13, 49, 60] {
                let query: Vec<u64> = self::entries(64, key, bits)[wanted].0.clone();
                let inputs = store.inputs(&entries, &query, t).unwrap();
                let evaluation = evaluate(&program, &inputs).unwrap();
                let outputs = evaluation.outputs(&program);
                let expected = look_up(&entries, &query, 2);
                for (index, &expected) in expected.iter().enumerate() {
                    let Values::Integer(slots) = outputs[&*format!("result.{index}")] else { panic!("integers") };
                    assert!(
                        slots.iter().all(|&slot| slot.rem_euclid(t as i64) as u64 == expected),
                        "{wanted} modulo {t}"
                    );
                }
            }
        }
    }

    #[test]
    fn invalid_inputs_are_rejected() {
        let store = Store { slots: 4, key: 1, value: 1, equality: Equality::Bits };
        let of = |entries: &[Entry], query: &[u64]| store.inputs(entries, query, 17).unwrap_err().to_string();
        let entry = |key: u64| (vec![key], vec![1]);
        assert!(of(&[entry(1)], &[2]).contains("the query has the character 2"));
        assert!(of(&[entry(1), entry(1)], &[1]).contains("entry 1: its key"));
        assert!(of(&vec![entry(1); 5], &[1]).contains("5 entries"));
        assert!(of(&[(vec![1, 0], vec![1])], &[1]).contains("has 2 characters"));
        assert!(Store { key: 0, ..store }.program(17).is_err());
        let letters = Store { equality: Equality::Alphabet(9), ..store };
        assert_eq!(letters.program(17), Err(StoreError::Alphabet { size: 9, t: 17 }));
    }
}
