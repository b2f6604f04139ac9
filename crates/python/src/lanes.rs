//! Programs on integers as CKKS programs.

use crate::failure::{Failure, Kind};
use crate::program::PyProgram;
use crate::rns::PyRnsProgram;
use crate::workers::detached;
use polyfabric_program::MemoryBudget;
use polyfabric_program::lanes::{Element, Form, RealEnd, RealOp, Reals, Terminal, convert};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One element of an input or output.
#[derive(IntoPyObject)]
enum PyElement {
    /// The vector of slots that holds it.
    Vector(String),
    /// Its value, if it is public.
    Public(i64),
}

/// Name, modulus, and elements of an input or output, and whether it is summed over the batch.
type PyTerminal = (String, u32, Vec<PyElement>, bool);

fn terminal(own: Terminal) -> PyTerminal {
    let element = |element| match element {
        Element::Vector(name) => PyElement::Vector(name),
        Element::Public(value) => PyElement::Public(value),
    };
    (own.name, own.modulus, own.elements.into_iter().map(element).collect(), own.summed)
}

/// A step on real numbers.
#[derive(FromPyObject)]
enum PyRealOp {
    /// Of, step, offset, entries, stages, input, element.
    Round(usize, f64, f64, Vec<i64>, u32, String, usize),
    /// Terms and bias.
    Linear(Vec<(usize, f64)>, f64),
    Product(usize, usize),
    /// Output and element. Before inputs, as integers are numbers too.
    Integer(String, usize),
    /// Name and bound.
    Input(String, f64),
    /// Of and name.
    Output(usize, String),
}

impl From<PyRealOp> for RealOp {
    fn from(op: PyRealOp) -> Self {
        match op {
            PyRealOp::Round(of, step, offset, entries, stages, input, element) => {
                Self::Round { of, step, offset, entries, stages, input, element }
            }
            PyRealOp::Linear(terms, bias) => Self::Linear { terms, bias },
            PyRealOp::Product(left, right) => Self::Product { operands: [left, right] },
            PyRealOp::Input(name, bound) => Self::Input { name, bound },
            PyRealOp::Integer(output, element) => Self::Integer { output, element },
            PyRealOp::Output(of, name) => Self::Output { of, name },
        }
    }
}

/// An output of real numbers: its name, its unit or `None`, and its value if it is public.
type PyRealEnd = (String, Option<f64>, Option<f64>);

/// The program on slots, inputs and outputs of integers, inputs of real numbers with their units, and outputs of real numbers.
type PyOnSlots = (PyRnsProgram, Vec<PyTerminal>, Vec<PyTerminal>, Vec<(String, f64)>, Vec<PyRealEnd>);

#[pymethods]
impl PyProgram {
    /// The program on slots that computes this one on `batch` inputs, with its inputs and outputs. Its tables have at most `entries` entries,
    /// outputs in `summed` are summed over the batch, it has the steps `reals` on real numbers, and at most `memory` bytes.
    #[pyo3(signature = (batch, entries, summed, reals, memory = None))]
    fn on_slots(
        &self,
        py: Python<'_>,
        batch: usize,
        entries: u32,
        summed: BTreeSet<String>,
        reals: Vec<PyRealOp>,
        memory: Option<u64>,
    ) -> PyResult<PyOnSlots> {
        detached(py, || {
            let reals = Reals(reals.into_iter().map(RealOp::from).collect());
            let form = Form { batch, entries, summed, reals };
            let made = convert(&self.0, &form, MemoryBudget::of(memory)).map_err(Failure::of(Kind::Program))?;
            let terminals = |all: Vec<Terminal>| all.into_iter().map(terminal).collect();
            let end = |(name, end)| match end {
                RealEnd::Unit(unit) => (name, Some(unit), None),
                RealEnd::Public(value) => (name, None, Some(value)),
            };
            let real_outputs = made.real_outputs.into_iter().map(end).collect();
            let program = PyRnsProgram(Arc::new(made.program));
            Ok((program, terminals(made.inputs), terminals(made.outputs), made.real_inputs, real_outputs))
        })
    }
}
