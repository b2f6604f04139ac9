//! Programs on integers as CKKS programs.

use crate::failure::{Failure, Kind};
use crate::program::PyProgram;
use crate::rns::PySlotProgram;
use crate::workers::detached;
use polyfabric_program::MemoryBudget;
use polyfabric_program::lanes::{Element, Form, Terminal, convert};
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

#[pymethods]
impl PyProgram {
    /// The program on slots that computes this one on `batch` inputs, with its inputs and outputs. Its tables have at most `entries` entries,
    /// outputs in `summed` are summed over the batch, and it has at most `memory` bytes.
    #[pyo3(signature = (batch, entries, summed, memory = None))]
    fn on_slots(
        &self,
        py: Python<'_>,
        batch: usize,
        entries: u32,
        summed: BTreeSet<String>,
        memory: Option<u64>,
    ) -> PyResult<(PySlotProgram, Vec<PyTerminal>, Vec<PyTerminal>)> {
        detached(py, || {
            let form = Form { batch, entries, summed };
            let made = convert(&self.0, &form, MemoryBudget::of(memory)).map_err(Failure::of(Kind::Program))?;
            let terminals = |all: Vec<Terminal>| all.into_iter().map(terminal).collect();
            Ok((PySlotProgram(Arc::new(made.program)), terminals(made.inputs), terminals(made.outputs)))
        })
    }
}
