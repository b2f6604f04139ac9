//! Programs on integers as CKKS programs.

use crate::failure::{Failure, Kind};
use crate::program::PyProgram;
use crate::rns::PySlotProgram;
use crate::workers::detached;
use polyfabric_program::MemoryBudget;
use polyfabric_program::lanes::{Element, Terminal, convert};
use pyo3::prelude::*;
use std::sync::Arc;

/// One element of an input or output.
#[derive(IntoPyObject)]
enum PyElement {
    /// The vector of slots that holds it.
    Vector(String),
    /// Its value, if it is public.
    Public(i64),
}

/// Name, modulus, and elements of an input or output.
type PyTerminal = (String, u32, Vec<PyElement>);

fn terminal(own: Terminal) -> PyTerminal {
    let element = |element| match element {
        Element::Vector(name) => PyElement::Vector(name),
        Element::Public(value) => PyElement::Public(value),
    };
    (own.name, own.modulus, own.elements.into_iter().map(element).collect())
}

#[pymethods]
impl PyProgram {
    /// The program on slots that computes this one on `batch` inputs, with its inputs and outputs. Its tables have at most `entries` entries,
    /// and it has at most `memory` bytes.
    #[pyo3(signature = (batch, entries, memory = None))]
    fn on_slots(
        &self,
        py: Python<'_>,
        batch: usize,
        entries: u32,
        memory: Option<u64>,
    ) -> PyResult<(PySlotProgram, Vec<PyTerminal>, Vec<PyTerminal>)> {
        detached(py, || {
            let made =
                convert(&self.0, batch, entries, MemoryBudget::of(memory)).map_err(Failure::of(Kind::Program))?;
            let terminals = |all: Vec<Terminal>| all.into_iter().map(terminal).collect();
            Ok((PySlotProgram(Arc::new(made.program)), terminals(made.inputs), terminals(made.outputs)))
        })
    }
}
