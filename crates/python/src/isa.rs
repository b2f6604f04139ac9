use crate::failure::{Failure, Kind};
use polyfabric_kernels::isa::Isa;
use pyo3::prelude::*;

/// Description of the instruction set that kernels use; an error if the environment requests an unavailable one.
#[pyfunction]
pub fn instruction_set() -> PyResult<String> {
    Ok(Isa::selected().map_err(Failure::of(Kind::Run))?.description())
}
