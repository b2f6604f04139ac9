//! Machines for CKKS and BGV: compilation, report, trace, replay.

use super::run::{PySlotCiphertexts, PySlotServer};
use crate::failure::{Failure, Kind};
use crate::machine::{PyMachine, json, refused};
use crate::workers::{detached, released};
use polyfabric_machines::contract::residue::{Simulated, load, map, mapping_bytes};
use polyfabric_machines::engine::trace::TraceOptions;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::RnsPolynomial;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A CKKS or BGV kernel program.
#[pyclass(name = "ResidueKernel", frozen)]
pub struct PyResidueKernel {
    pub kernel: Arc<KernelProgram>,
    pub parameters: String,
}

#[pymethods]
impl PyResidueKernel {
    /// `rounds` of an operation (ntt, automorphism, multiply, permute) on each of `ciphertexts` with `limbs` limbs and one special limb for
    /// key switches. It runs on random words, so it has no parameter set.
    #[staticmethod]
    fn microbenchmark(name: &str, log2_degree: u32, limbs: usize, ciphertexts: usize, rounds: usize) -> PyResult<Self> {
        let refused = Failure::of(Kind::Program);
        let operation: Operation = name.parse().map_err(&refused)?;
        let shape = Shape { log2_degree, limbs, special: 1, ciphertexts, rounds };
        let kernel = build(operation, shape).map_err(refused)?;
        Ok(Self { kernel: Arc::new(kernel), parameters: shape.to_string() })
    }

    /// Upper bound of the bytes for mapping it.
    fn mapping_bytes(&self) -> u64 {
        mapping_bytes(&self.kernel)
    }

    fn text(&self) -> String {
        self.kernel.to_string()
    }
}

/// A kernel program mapped to a machine.
#[pyclass(name = "MappedProgram", frozen)]
pub struct PyMapped {
    simulated: Simulated,
    kernel: Arc<KernelProgram>,
}

#[pymethods]
impl PyMachine {
    /// Compiles `kernel` for the machine with its mapper's `options`, and checks the schedule.
    fn compile(
        &self,
        py: Python<'_>,
        kernel: &PyResidueKernel,
        options: BTreeMap<String, String>,
    ) -> PyResult<PyMapped> {
        let (program, parameters) = (Arc::clone(&kernel.kernel), kernel.parameters.clone());
        let machine = Arc::clone(self.description());
        released(py, move || {
            let simulated = map(&machine, &program, &parameters, &options).map_err(refused)?;
            Ok(PyMapped { simulated, kernel: program })
        })
    }

    /// Restores a compilation of `kernel` that [`PyMapped::save`] wrote, and checks it again.
    fn load(
        &self,
        py: Python<'_>,
        kernel: &PyResidueKernel,
        data: &[u8],
        options: BTreeMap<String, String>,
    ) -> PyResult<PyMapped> {
        let (program, parameters) = (&kernel.kernel, &kernel.parameters);
        detached(py, || {
            let simulated = load(self.description(), program, parameters, &options, data).map_err(refused)?;
            Ok(PyMapped { simulated, kernel: Arc::clone(program) })
        })
    }
}

#[pymethods]
impl PyMapped {
    /// JSON of the schedule's report.
    fn report(&self) -> PyResult<String> {
        Ok(json(self.simulated.report())?)
    }

    /// The schedule as Chrome trace-event JSON; only the beginning and end of a long one.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || json(&self.simulated.trace(TraceOptions::default())))
    }

    /// The compilation result, for `Machine.load`.
    fn save(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.simulated.instructed().map_err(refused)?.save()))
    }

    /// The instruction streams of all components in binary form.
    fn streams(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.simulated.instructed().map_err(refused)?.streams()))
    }

    /// The instruction streams as text.
    fn streams_text(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.simulated.instructed().map_err(refused)?.streams_text()))
    }

    /// JSON of the compiler's first phase: groups of operations that share a hint.
    fn groups(&self) -> PyResult<String> {
        Ok(json(&self.simulated.instructed().map_err(refused)?.groups())?)
    }

    /// Executes the schedule on ciphertexts.
    fn replay(&self, py: Python<'_>, keys: &PySlotServer, inputs: &PySlotCiphertexts) -> PyResult<PySlotCiphertexts> {
        detached(py, || {
            keys.origin.expect(&inputs.origin)?;
            let inputs: Vec<&RnsPolynomial> = inputs.polynomials.iter().collect();
            let outputs = self.simulated.replay(&self.kernel, &keys.keys, &inputs).map_err(refused)?;
            Ok(keys.results(outputs))
        })
    }
}
