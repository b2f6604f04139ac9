//! Kernel programs.

use crate::failure::{Failure, Kind, detached};
use crate::machine::PyMachine;
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use polyfabric_program::tfhe::kernel::{KernelProgram, Op, OpKind, ValueType, count};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering, lower};
use pyo3::prelude::*;
use std::collections::BTreeMap;
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

/// The name of an order.
pub fn order_name(order: KeySwitchOrder) -> &'static str {
    match order {
        KeySwitchOrder::None => "none",
        KeySwitchOrder::Before => "before",
        KeySwitchOrder::After => "after",
    }
}

/// How programs are lowered for `machine`, or for this computer, with the key switch at `order`.
pub fn lowering_of(
    machine: Option<&PyMachine>,
    parameters: &PyParameters,
    order: KeySwitchOrder,
) -> Result<TfheLowering, Failure> {
    machine.map_or(Ok(TfheLowering::new(order, Arithmetic::F64)), |machine| machine.lowering(parameters, order))
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

    /// Bytes of the ciphertexts of all inputs and outputs, and of the client key, as JSON.
    fn sizes(&self) -> String {
        let kernel = &*self.0;
        let word = u64::from(kernel.parameters.torus_bits() / 8);
        let bytes = |result: ValueType| match result {
            ValueType::Lwe { count, dimension, .. } => count as u64 * (dimension as u64 + 1) * word,
            ValueType::Indices { .. } | ValueType::Glwe { .. } => 0,
        };
        let inputs: u64 = kernel.inputs().map(|(_, _, result)| bytes(result)).sum();
        let outputs: u64 = kernel.outputs.iter().map(|output| bytes(kernel.op(output.value).result)).sum();
        let client = kernel.parameters.lwe_dimension().get() + kernel.parameters.large_lwe_dimension().get();
        serde_json::json!({ "inputs": inputs, "outputs": outputs, "client_key": client }).to_string()
    }

    /// Primitive operations of the whole program, by kind.
    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = count::program(&self.0);
        BTreeMap::from([
            ("forward_transforms", counts.forward_transforms),
            ("inverse_transforms", counts.inverse_transforms),
            ("multiplies", counts.multiplies),
        ])
    }

    /// Look-ups of each batch.
    #[getter]
    fn rotation_batches(&self) -> Vec<usize> {
        let batch = |op: &Op| matches!(op.kind, OpKind::BlindRotation { .. }).then(|| op.result.count());
        self.0.ops.iter().filter_map(batch).collect()
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

#[pymethods]
impl PyProgram {
    /// Lowers the program; `key_switch` is "none", "before" or "after" the blind rotation, `key_unrolling` the secret bits an
    /// iteration. With `machine`, its arithmetic and the sums that it forms; else as a processor executes programs.
    #[pyo3(name = "lower", signature = (parameters, key_switch, machine = None, key_unrolling = 1))]
    fn lower_to(
        &self,
        py: Python<'_>,
        parameters: &PyParameters,
        key_switch: &str,
        machine: Option<&PyMachine>,
        key_unrolling: u32,
    ) -> PyResult<PyKernelProgram> {
        let choice = lowering_of(machine, parameters, order_of(key_switch)?)?;
        let choice = TfheLowering { key_unrolling, ..choice };
        let (program, parameters) = (&*self.0, &parameters.0);
        detached(py, || {
            let kernel = lower(program, parameters, &choice).map_err(Failure::of(Kind::Program))?;
            Ok(PyKernelProgram(Arc::new(kernel)))
        })
    }
}
