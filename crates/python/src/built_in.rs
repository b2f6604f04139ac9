//! The built-in programs.

use crate::failure::{Failure, Kind, detached};
use crate::kernel::{PyKernelProgram, lowering_of};
use crate::machine::PyMachine;
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use polyfabric_program::tfhe::builtin::{NAMES, build};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering};
use pyo3::prelude::*;
use std::sync::Arc;

/// Names of the built-in programs.
#[pyfunction]
pub fn built_in_names() -> Vec<&'static str> {
    NAMES.to_vec()
}

/// (program, kernel program, message bits, log2 of one ciphertext's failure probability).
#[pyfunction]
#[pyo3(signature = (name, parameters, batch, machine = None, key_unrolling = 1))]
pub fn built_in(
    py: Python<'_>,
    name: &str,
    parameters: &PyParameters,
    batch: usize,
    machine: Option<&PyMachine>,
    key_unrolling: u32,
) -> PyResult<(PyProgram, PyKernelProgram, u32, f64)> {
    // The program decides the place of the key switch.
    let choice = lowering_of(machine, parameters, KeySwitchOrder::None)?;
    let choice = TfheLowering { key_unrolling, ..choice };
    let transform = choice.arithmetic.transform(&parameters.0);
    detached(py, || {
        let built = build(name, &parameters.0, batch, &choice, transform).map_err(Failure::of(Kind::Program))?;
        let (program, kernel) = (PyProgram(Arc::new(built.program)), PyKernelProgram(Arc::new(built.kernel)));
        Ok((program, kernel, built.message_bits, built.log2_failure))
    })
}
