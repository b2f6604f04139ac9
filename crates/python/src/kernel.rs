//! Kernel programs.

use crate::failure::{Failure, Kind, detached};
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use polyfabric_program::kernel::KernelProgram;
use polyfabric_program::lowering::{Arithmetic, KeySwitchOrder, TfheLowering, lower};
use pyo3::prelude::*;
use std::sync::Arc;

/// A kernel program: what runtimes and machines execute.
#[pyclass(name = "KernelProgram", frozen)]
pub struct PyKernelProgram(pub Arc<KernelProgram>);

/// The order that a user names.
pub fn order_of(name: &str) -> Result<KeySwitchOrder, Failure> {
    Ok(match name {
        "none" => KeySwitchOrder::None,
        "before" => KeySwitchOrder::Before,
        "after" => KeySwitchOrder::After,
        other => {
            let message = format!("there is no key-switch order {other:?}; write none, before or after");
            return Err(Failure::new(Kind::Program, message));
        }
    })
}

#[pymethods]
impl PyKernelProgram {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.0.parameters.clone())
    }

    /// Look-ups on single ciphertexts.
    #[getter]
    fn lookups(&self) -> usize {
        self.0.lookups()
    }
}

#[pymethods]
impl PyProgram {
    /// Lowers the program; `key_switch` is "none", "before" or "after" the blind rotation.
    #[pyo3(name = "lower")]
    fn lower_to(&self, py: Python<'_>, parameters: &PyParameters, key_switch: &str) -> PyResult<PyKernelProgram> {
        let choice = TfheLowering::new(order_of(key_switch)?, Arithmetic::F64);
        let (program, parameters) = (&*self.0, &parameters.0);
        detached(py, || {
            let kernel = lower(program, parameters, &choice).map_err(Failure::of(Kind::Program))?;
            Ok(PyKernelProgram(Arc::new(kernel)))
        })
    }
}
