//! Kernel programs.

use crate::failure::{Failure, Kind};
use crate::parameters::PyParameters;
use crate::workers::detached;
use polyfabric_planner::ClientSeconds;
use polyfabric_planner::tfhe::{self as planner, Memory, multiplications};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::{KernelProgram, blind_rotation_body, count};
use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::noise::Transform;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A TFHE kernel program.
#[pyclass(name = "TfheKernel", frozen)]
pub struct PyKernelProgram(pub Arc<KernelProgram>);

/// A lowering with exact arithmetic whose products share input transforms, and are summed in the transform domain, or not.
fn lowering(shared_inputs: bool, transformed_sums: bool) -> TfheLowering {
    let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    choice.input_transform = if shared_inputs { InputTransform::Shared } else { InputTransform::PerProduct };
    choice.accumulation =
        if transformed_sums { Accumulation::TransformDomain } else { Accumulation::CoefficientDomain };
    choice
}

/// Forward and inverse transforms of one blind-rotation iteration.
#[pyfunction]
pub fn rotation_transforms(
    glwe_dimension: usize,
    levels: u32,
    shared_inputs: bool,
    transformed_sums: bool,
) -> (u64, u64) {
    let body = blind_rotation_body(glwe_dimension, levels, 1, &lowering(shared_inputs, transformed_sums));
    let counts = count::iteration(&body);
    (counts.forward_transforms, counts.inverse_transforms)
}

#[pymethods]
impl PyKernelProgram {
    /// A built-in program on exact arithmetic whose products share input transforms, and are summed in the transform domain, or not.
    #[staticmethod]
    fn of_transforms(
        name: &str,
        parameters: &PyParameters,
        batch: usize,
        shared_inputs: bool,
        transformed_sums: bool,
    ) -> PyResult<Self> {
        let choice = lowering(shared_inputs, transformed_sums);
        let built = builtin::build(name, &parameters.0, batch, &choice, Transform::Exact);
        Ok(Self(Arc::new(built.map_err(Failure::of(Kind::Program))?.kernel)))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.0.parameters.clone())
    }

    /// Secret bits per iteration of blind rotation.
    #[getter]
    fn key_unrolling(&self) -> u32 {
        self.0.choice.key_unrolling
    }

    /// Key-switch order: "none", "before" or "after" the blind rotation.
    #[getter]
    fn key_switch(&self) -> &'static str {
        match self.0.choice.key_switch {
            KeySwitchOrder::None => "none",
            KeySwitchOrder::Before => "before",
            KeySwitchOrder::After => "after",
        }
    }

    /// Sizes in bytes, as JSON, for an execution on the inputs of so many requests.
    #[pyo3(signature = (requests = 1))]
    fn memory(&self, requests: usize) -> PyResult<String> {
        let memory = if requests == 1 {
            Memory::of(&self.0)
        } else {
            Memory::of(&self.0.repeated(requests).map_err(Failure::of(Kind::Run))?)
        };
        let memory = memory.map_err(Failure::from)?;
        Ok(serde_json::to_string(&memory).map_err(Failure::of(Kind::Internal))?)
    }

    /// CPU seconds of an execution on this computer, including a first execution's key transforms.
    fn execution_seconds(&self, py: Python<'_>) -> PyResult<f64> {
        detached(py, || Ok(planner::execution_seconds(&self.0)?))
    }

    /// CPU seconds of a client on this computer: (generation of secret and evaluation keys, encryption, decryption).
    fn client_seconds(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        detached(py, || {
            let ClientSeconds { keys, encrypt, decrypt } = planner::client_seconds(&self.0)?;
            Ok((keys, encrypt, decrypt))
        })
    }

    #[getter]
    fn multiplications(&self) -> f64 {
        multiplications(&self.0)
    }

    /// Number of lookups in each batch.
    #[getter]
    fn rotation_batches(&self) -> Vec<usize> {
        planner::rotation_batches(&self.0)
    }

    /// Number of key switches in each batch; lookups of one value share one.
    #[getter]
    fn key_switch_batches(&self) -> Vec<usize> {
        planner::key_switch_batches(&self.0)
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    /// Number of blind rotations over all ciphertexts.
    #[getter]
    fn lookups(&self) -> usize {
        self.0.lookups()
    }

    /// Primitive operations of an execution, by name.
    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = count::program(&self.0);
        [
            ("rotations", counts.rotations + counts.product_rotations),
            ("digits", counts.digits),
            ("transforms", counts.transforms()),
            ("products", counts.multiplies),
            ("key_switch_products", counts.key_switch_products),
        ]
        .into()
    }
}
