//! Plans of TFHE programs.

use crate::failure::{Failure, Kind};
use crate::kernel::PyKernelProgram;
use crate::machine::PyMachine;
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use crate::workers::{detached, released};
use polyfabric_planner::DEFAULT_FAILURE_LOG2;
use polyfabric_planner::tfhe::{self as planner, Request, TfhePlan};
use polyfabric_program::tfhe::builtin::NAMES;
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_program::tfhe::noise::Encryption;
use pyo3::prelude::*;
use std::sync::Arc;

fn order_of(name: &str) -> Result<KeySwitchOrder, Failure> {
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
impl PyProgram {
    /// Plans the program; returns (kernel program, noise as JSON).
    ///
    /// Without `parameters`, chooses the cheapest default set that fails with probability at most 2^`max_failure`. `key_switch` is "none",
    /// "before" or "after"; without it, the first feasible order. `key_unrolling` is the number of secret bits per iteration. `blocks`: without
    /// `parameters`, chooses among sets with block-binary keys. `public`:
    /// inputs are encrypted with the public key. `circuit_privacy`: bits with which outputs hide their computation. `memory`: maximum
    /// bytes for planning. With `machine`, uses its arithmetic and its accumulation; otherwise the CPU's.
    /// arithmetic and the sums that it forms; else as a processor executes programs.
    #[pyo3(signature = (
        parameters = None, key_switch = None, machine = None, max_failure = DEFAULT_FAILURE_LOG2, key_unrolling = None, blocks = false,
        public = false, circuit_privacy = None, memory = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "named ones in Python")]
    fn plan(
        &self,
        py: Python<'_>,
        parameters: Option<&PyParameters>,
        key_switch: Option<&str>,
        machine: Option<&PyMachine>,
        max_failure: f64,
        key_unrolling: Option<u32>,
        blocks: bool,
        public: bool,
        circuit_privacy: Option<f64>,
        memory: Option<u64>,
    ) -> PyResult<(PyKernelProgram, String)> {
        let parameters = parameters.map(|parameters| parameters.0.clone());
        let machine = machine.map(|machine| Arc::clone(machine.description()));
        let key_switch = key_switch.map(order_of).transpose()?;
        let program = Arc::clone(&self.0);
        released(py, move || {
            let request = Request {
                parameters: parameters.as_ref(),
                key_switch,
                machine: machine.as_deref(),
                max_failure,
                unrolling: key_unrolling,
                blocks,
                encryption: if public { Encryption::Public } else { Encryption::Secret },
                circuit_privacy,
                memory,
            };
            let TfhePlan { kernel, noise } = TfhePlan::new(&program, &request)?;
            let noise = serde_json::to_string(&noise).map_err(Failure::of(Kind::Internal))?;
            Ok((PyKernelProgram(Arc::new(kernel)), noise))
        })
    }
}

#[pyfunction]
pub fn built_in_names() -> Vec<&'static str> {
    NAMES.to_vec()
}

/// (program, kernel program, message bits, log2 failure probability of a ciphertext, bound of a result's phase error).
#[pyfunction]
#[pyo3(signature = (name, parameters, batch, machine = None, key_unrolling = None))]
pub fn built_in(
    py: Python<'_>,
    name: &str,
    parameters: &PyParameters,
    batch: usize,
    machine: Option<&PyMachine>,
    key_unrolling: Option<u32>,
) -> PyResult<(PyProgram, PyKernelProgram, u32, f64, f64)> {
    let executed = (machine.map(|machine| &**machine.description()), key_unrolling);
    detached(py, || {
        let built = planner::built_in(name, &parameters.0, batch, executed)?;
        let (program, kernel) = (PyProgram(Arc::new(built.program)), PyKernelProgram(Arc::new(built.kernel)));
        Ok((program, kernel, built.message_bits, built.log2_failure, built.error_bound))
    })
}
