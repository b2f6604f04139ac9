//! The instruction set of the kernels.

use crate::failure::{Failure, Kind};
use polyfabric_kernels::isa::Isa;
use pyo3::prelude::*;

/// The instruction set that kernels use, in words; an error if the environment asks for one that is not there.
#[pyfunction]
pub fn instruction_set() -> PyResult<String> {
    Ok(Isa::selected().map_err(Failure::of(Kind::Run))?.description())
}
