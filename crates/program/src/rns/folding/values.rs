//! Arithmetic on the public values of a program, for folding.

use crate::rns::homomorphic::{Complex, Program, Scheme, Values, centred};
use std::sync::Arc;

/// The arithmetic of one program's public values. A single value for all slots stays single where possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arithmetic {
    scheme: Scheme,
    slots: usize,
    row: usize,
}

/// Applies `f` elementwise, broadcasting single values.
fn zip<T: Copy>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> Arc<[T]> {
    match (a, b) {
        ([a], b) => b.iter().map(|&b| f(*a, b)).collect(),
        (a, [b]) => a.iter().map(|&a| f(a, *b)).collect(),
        (a, b) => a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect(),
    }
}

impl Arithmetic {
    pub fn new(program: &Program) -> Self {
        Self { scheme: program.scheme(), slots: program.slots(), row: program.row() }
    }

    fn combine(
        self,
        a: &Values,
        b: &Values,
        complex: impl Fn(Complex, Complex) -> Complex,
        integer: impl Fn(i128, i128) -> i128,
    ) -> Values {
        match (a, b, self.scheme) {
            (Values::Complex(a), Values::Complex(b), _) => Values::Complex(zip(a, b, complex)),
            (Values::Integer(a), Values::Integer(b), Scheme::Bgv { plaintext_modulus }) => {
                let t = i128::from(plaintext_modulus);
                let reduced = |a: i64, b: i64| {
                    centred(integer(i128::from(a), i128::from(b)).rem_euclid(t) as u64, plaintext_modulus)
                };
                Values::Integer(zip(a, b, reduced))
            }
            // A checked program has values of one kind only.
            (a, ..) => a.clone(),
        }
    }

    pub fn add(self, a: &Values, b: &Values) -> Values {
        self.combine(a, b, |a, b| a + b, |a, b| a + b)
    }

    pub fn multiply(self, a: &Values, b: &Values) -> Values {
        self.combine(a, b, |a, b| a * b, |a, b| a * b)
    }

    /// The integer `value` in all slots.
    pub fn integer(self, value: i64) -> Values {
        match self.scheme {
            Scheme::Ckks => Values::real(&[value as f64]),
            Scheme::Bgv { .. } => Values::integer(&[value]),
        }
    }

    pub fn negate(self, a: &Values) -> Values {
        self.multiply(a, &self.integer(-1))
    }

    /// Slot i takes slot i + `steps` of its row.
    pub fn rotate(self, a: &Values, steps: i64) -> Values {
        fn rotated<T: Copy>(values: &[T], row: usize, steps: i64) -> Arc<[T]> {
            let shift = steps.rem_euclid(row as i64) as usize;
            values.chunks(row).flat_map(|row| row[shift..].iter().chain(&row[..shift])).copied().collect()
        }
        match a {
            _ if a.len() != self.slots => a.clone(),
            Values::Complex(values) => Values::Complex(rotated(values, self.row, steps)),
            Values::Integer(values) => Values::Integer(rotated(values, self.row, steps)),
        }
    }

    pub fn is_zero(self, a: &Values) -> bool {
        a.magnitude() == 0.0
    }

    /// A single value if all slots are equal.
    pub fn compact(self, a: Values) -> Values {
        fn same<T: Copy + PartialEq>(values: &[T]) -> Option<T> {
            let (&first, rest) = values.split_first()?;
            rest.iter().all(|&value| value == first).then_some(first)
        }
        match &a {
            Values::Complex(values) => same(values).map(|value| Values::Complex([value].into())),
            Values::Integer(values) => same(values).map(|value| Values::Integer([value].into())),
        }
        .unwrap_or(a)
    }

    /// `steps` modulo the row length, in [−row/2, row/2).
    pub fn offset(self, steps: i64) -> i64 {
        let row = self.row as i64;
        (steps + row / 2).rem_euclid(row) - row / 2
    }

    /// Scalar products of `values` products of public vectors.
    pub fn products(self, values: usize) -> usize {
        values.saturating_mul(self.slots)
    }
}
