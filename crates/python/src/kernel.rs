//! Kernel programs.

use crate::failure::{Failure, Kind};
use crate::parameters::PyParameters;
use polyfabric_planner::elements::{Memory, multiplications};
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use pyo3::prelude::*;
use std::sync::Arc;

/// A kernel program: what runtimes and machines execute.
#[pyclass(name = "KernelProgram", frozen)]
pub struct PyKernelProgram(pub Arc<KernelProgram>);

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

    /// Place of the key switch: "none", "before" or "after" the blind rotation.
    #[getter]
    fn key_switch(&self) -> &'static str {
        match self.0.choice.key_switch {
            KeySwitchOrder::None => "none",
            KeySwitchOrder::Before => "before",
            KeySwitchOrder::After => "after",
        }
    }

    /// Bytes of keys and ciphertexts, as JSON.
    fn memory(&self) -> PyResult<String> {
        let memory = Memory::of(&self.0).map_err(Failure::from)?;
        Ok(serde_json::to_string(&memory).map_err(Failure::of(Kind::Internal))?)
    }

    /// Real multiplications of all products.
    #[getter]
    fn multiplications(&self) -> f64 {
        multiplications(&self.0)
    }

    /// Look-ups of each batch.
    #[getter]
    fn rotation_batches(&self) -> Vec<usize> {
        self.batches(|kind| matches!(kind, OpKind::BlindRotation { .. }))
    }

    /// Key switches of each batch: look-ups that read the same share one.
    #[getter]
    fn key_switch_batches(&self) -> Vec<usize> {
        self.batches(|kind| matches!(kind, OpKind::KeySwitch { .. }))
    }

    /// The kernel program as text.
    fn text(&self) -> String {
        self.0.to_string()
    }

    /// Look-ups on single ciphertexts.
    #[getter]
    fn lookups(&self) -> usize {
        self.0.lookups()
    }
}

impl PyKernelProgram {
    /// How many ciphertexts each operation of a kind gives.
    fn batches(&self, of: impl Fn(&OpKind) -> bool) -> Vec<usize> {
        self.0.ops.iter().filter(|op| of(&op.kind)).map(|op| op.result.count()).collect()
    }
}
