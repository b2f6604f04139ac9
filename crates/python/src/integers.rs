//! Integers of any width in a program under construction.

use crate::failure::{Failure, Kind};
use crate::program::PyProgramBuilder;
use crate::workers::detached;
use polyfabric_program::tfhe::homomorphic::{Builder, NodeId};
use polyfabric_program::tfhe::integers::{
    Amount, BitOperation, Comparison, Direction, IntegerError, IntegerId, IntegerType, Integers, Weighted,
};
use pyo3::prelude::*;

impl PyProgramBuilder {
    /// Runs a construction step without the interpreter's lock, since an operation on wide integers adds thousands of nodes.
    fn with<R: Send>(
        &mut self,
        step: impl FnOnce(&mut Integers, &mut Builder) -> Result<R, IntegerError> + Send,
    ) -> PyResult<R> {
        let place = self.place.clone();
        let (integers, builder) = self.integers()?;
        let refused = |error: IntegerError| {
            let message = match &error {
                // These have a location already.
                IntegerError::Program(_) => error.to_string(),
                _ => format!("{place}{error}"),
            };
            Failure::new(Kind::Program, message)
        };
        Python::attach(|py| detached(py, || step(integers, builder).map_err(refused)))
    }

    fn integer(
        &mut self,
        step: impl FnOnce(&mut Integers, &mut Builder) -> Result<IntegerId, IntegerError> + Send,
    ) -> PyResult<u32> {
        self.with(step).map(|id| id.0)
    }
}

fn unknown(what: &str, name: &str) -> PyErr {
    Failure::new(Kind::Internal, format!("there is no {what} {name:?}")).into()
}

#[pymethods]
impl PyProgramBuilder {
    /// Sets how many lookups take the time of one on the target, for the following operations.
    fn integer_lanes(&mut self, lanes: usize) -> PyResult<()> {
        self.with(|integers, _| {
            integers.set_lanes(lanes);
            Ok(())
        })
    }

    /// The following operations are for tables of `entries` entries on slots.
    fn integer_slot_tables(&mut self, entries: i64) -> PyResult<()> {
        self.with(|integers, _| {
            integers.set_slot_tables(entries);
            Ok(())
        })
    }

    /// The following tables are read by circuit bootstrapping; with `operations` also products, powers, quotients and shifts if that costs less.
    fn integer_wide_tables(&mut self, operations: bool) -> PyResult<()> {
        self.with(|integers, _| {
            integers.set_wide_tables(operations);
            Ok(())
        })
    }

    /// Whether a wide table would take less than lookups that were built.
    fn integer_lookups_replaceable(&mut self) -> PyResult<bool> {
        self.with(|integers, _| Ok(integers.has_replaceable_lookups()))
    }

    /// Whether an operation became a wide table.
    fn integer_operations_by_table(&mut self) -> PyResult<bool> {
        self.with(|integers, _| Ok(integers.has_operations_by_table()))
    }

    fn integer_type(&mut self, a: u32) -> PyResult<(u32, bool, usize)> {
        self.with(|integers, _| {
            let kind = integers.kind(IntegerId(a))?;
            Ok((kind.bits, kind.signed, integers.count(IntegerId(a))?))
        })
    }

    fn integer_input(&mut self, name: &str, bits: u32, signed: bool, count: usize) -> PyResult<u32> {
        self.integer(|integers, builder| integers.input(builder, name, IntegerType { bits, signed }, count))
    }

    /// Public numbers, given by base-4 digits, least significant first.
    fn integer_public(&mut self, bits: u32, signed: bool, elements: Vec<Vec<u8>>) -> PyResult<u32> {
        self.integer(|integers, builder| integers.public(builder, IntegerType { bits, signed }, &elements))
    }

    /// Converts a vector of small integers or Booleans.
    fn integer_from(&mut self, node: u32, bits: u32, signed: bool) -> PyResult<u32> {
        self.integer(|integers, builder| integers.from_node(builder, NodeId(node), IntegerType { bits, signed }))
    }

    fn integer_output(&mut self, name: &str, a: u32) -> PyResult<u32> {
        self.with(|integers, builder| integers.output(builder, name, IntegerId(a))).map(|node| node.0)
    }

    /// Σ weight · value.
    fn integer_sum(&mut self, addends: Vec<(i64, u32)>) -> PyResult<u32> {
        let weighted = addends.into_iter().map(|(weight, value)| Weighted { weight, value: IntegerId(value) });
        let addends: Vec<Weighted> = weighted.collect();
        self.integer(|integers, builder| integers.sum(builder, "sum", &addends))
    }

    fn integer_binary(&mut self, op: &str, a: u32, b: u32) -> PyResult<u32> {
        let (a, b) = (IntegerId(a), IntegerId(b));
        let comparison = match op {
            "==" => Some(Comparison::Equal),
            "!=" => Some(Comparison::NotEqual),
            "<" => Some(Comparison::Less),
            "<=" => Some(Comparison::LessOrEqual),
            ">" => Some(Comparison::Greater),
            ">=" => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if let Some(comparison) = comparison {
            return self.integer(|integers, builder| integers.compare(builder, comparison, a, b));
        }
        match op {
            "+" => self.integer(|integers, builder| integers.add(builder, a, b)),
            "-" => self.integer(|integers, builder| integers.sub(builder, a, b)),
            "*" => self.integer(|integers, builder| integers.mul(builder, a, b)),
            "&" => self.integer(|integers, builder| integers.bitwise(builder, BitOperation::And, a, b)),
            "|" => self.integer(|integers, builder| integers.bitwise(builder, BitOperation::Or, a, b)),
            "^" => self.integer(|integers, builder| integers.bitwise(builder, BitOperation::Xor, a, b)),
            "min" => self.integer(|integers, builder| integers.extreme(builder, a, b, true)),
            "max" => self.integer(|integers, builder| integers.extreme(builder, a, b, false)),
            other => Err(unknown("operation of two integers", other)),
        }
    }

    fn integer_unary(&mut self, op: &str, a: u32) -> PyResult<u32> {
        let a = IntegerId(a);
        match op {
            "~" => self.integer(|integers, builder| integers.not(builder, a)),
            "-" => self.integer(|integers, builder| integers.neg(builder, a)),
            "abs" => self.integer(|integers, builder| integers.abs(builder, a)),
            "leading_zeros" => self.integer(|integers, builder| integers.leading_zeros(builder, a)),
            "total" => self.integer(|integers, builder| integers.total(builder, a)),
            other => Err(unknown("operation of one integer", other)),
        }
    }

    /// Quotient and remainder, rounded down.
    fn integer_divide(&mut self, a: u32, b: u32) -> PyResult<(u32, u32)> {
        let made = self.with(|integers, builder| integers.divide(builder, IntegerId(a), IntegerId(b)))?;
        Ok((made.0.0, made.1.0))
    }

    /// (sum, difference or product; whether it is outside the type's range).
    fn integer_overflowing(&mut self, op: &str, a: u32, b: u32) -> PyResult<(u32, u32)> {
        let (a, b) = (IntegerId(a), IntegerId(b));
        let made = match op {
            "+" => self.with(|integers, builder| integers.overflowing(builder, a, b, false)),
            "-" => self.with(|integers, builder| integers.overflowing(builder, a, b, true)),
            "*" => self.with(|integers, builder| integers.overflowing_mul(builder, a, b)),
            other => return Err(unknown("operation of two integers", other)),
        }?;
        Ok((made.0.0, made.1.0))
    }

    fn integer_pow(&mut self, a: u32, exponent: u64) -> PyResult<u32> {
        self.integer(|integers, builder| integers.pow(builder, IntegerId(a), exponent))
    }

    fn integer_select(&mut self, condition: u32, then: u32, otherwise: u32) -> PyResult<u32> {
        let [condition, then, otherwise] = [condition, then, otherwise].map(IntegerId);
        self.integer(|integers, builder| integers.select(builder, condition, then, otherwise))
    }

    /// `direction` is "<<", ">>", "rotate_left" or "rotate_right". The amount is the public `amount`, or the integer `by`.
    #[pyo3(signature = (direction, a, amount, by))]
    fn integer_shift(&mut self, direction: &str, a: u32, amount: u64, by: Option<u32>) -> PyResult<u32> {
        let direction = match direction {
            "<<" => Direction::Left,
            ">>" => Direction::Right,
            "rotate_left" => Direction::RotateLeft,
            "rotate_right" => Direction::RotateRight,
            other => return Err(unknown("direction", other)),
        };
        let amount = by.map_or(Amount::Public(amount), |by| Amount::Encrypted(IntegerId(by)));
        self.integer(|integers, builder| integers.shift(builder, direction, IntegerId(a), amount))
    }

    fn integer_cast(&mut self, a: u32, bits: u32, signed: bool) -> PyResult<u32> {
        self.integer(|integers, builder| integers.cast(builder, IntegerId(a), IntegerType { bits, signed }))
    }

    fn integer_bit(&mut self, a: u32, index: u32) -> PyResult<u32> {
        self.integer(|integers, builder| integers.bit(builder, IntegerId(a), index))
    }

    /// Entry `index` of a table of 2^bits entries, given by their digits.
    fn integer_table(&mut self, index: u32, bits: u32, signed: bool, entries: Vec<Vec<u8>>) -> PyResult<u32> {
        let kind = IntegerType { bits, signed };
        self.integer(|integers, builder| integers.table(builder, IntegerId(index), kind, &entries))
    }

    fn integer_take(&mut self, a: u32, indices: Vec<usize>) -> PyResult<u32> {
        self.integer(|integers, builder| integers.take(builder, IntegerId(a), &indices))
    }

    fn integer_concat(&mut self, parts: Vec<u32>) -> PyResult<u32> {
        let parts: Vec<_> = parts.into_iter().map(IntegerId).collect();
        self.integer(|integers, builder| integers.concat(builder, &parts))
    }

    /// For each row of element indices: whether all of these conditions are true, or any.
    fn integer_holds(&mut self, a: u32, rows: Vec<Vec<usize>>, any_of: bool) -> PyResult<u32> {
        self.integer(|integers, builder| integers.holds(builder, IntegerId(a), &rows, any_of))
    }
}
