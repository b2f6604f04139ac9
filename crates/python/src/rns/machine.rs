//! Machines that execute CKKS and BGV: compilation, report, timeline, replay.

use super::run::{PySlotCiphertexts, PySlotServer};
use crate::failure::{Failure, Kind, detached};
use crate::machine::{PyMachine, json, refused};
use polyfabric_machines::engine::trace::TraceOptions;
use polyfabric_machines::f1::compile::Scheduler;
use polyfabric_machines::f1::machine::LowThroughput;
use polyfabric_machines::f1::stream::{encode, text};
use polyfabric_machines::residue::{Mapped, Options, load, map};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::RnsPolynomial;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// A kernel program on residue polynomials.
#[pyclass(name = "ResidueKernel", frozen)]
pub struct PyResidueKernel {
    pub kernel: Arc<KernelProgram>,
    /// Name of its parameter set.
    pub parameters: String,
}

#[pymethods]
impl PyResidueKernel {
    /// `rounds` of an operation (ntt, automorphism, multiply, permute) on each of `ciphertexts`, of `limbs` limbs and a special one
    /// for key switches; random words do, so it has no parameter set.
    #[staticmethod]
    fn microbenchmark(name: &str, log2_degree: u32, limbs: usize, ciphertexts: usize, rounds: usize) -> PyResult<Self> {
        let refused = Failure::of(Kind::Program);
        let operation: Operation = name.parse().map_err(&refused)?;
        let shape = Shape { log2_degree, limbs, special: 1, ciphertexts, rounds };
        let kernel = build(operation, shape).map_err(refused)?;
        Ok(Self { kernel: Arc::new(kernel), parameters: shape.to_string() })
    }

    /// The kernel program as text.
    fn text(&self) -> String {
        self.kernel.to_string()
    }
}

/// A kernel program on a machine.
#[pyclass(name = "MappedProgram", frozen)]
pub struct PyMapped {
    mapped: Mapped,
    kernel: Arc<KernelProgram>,
}

#[pymethods]
impl PyMachine {
    /// Compiles `kernel` for the machine and checks the schedule. `scheduler` is "priority" or "csr", which gives up after
    /// `time_limit` seconds; `low_throughput` is a kind of unit.
    #[pyo3(signature = (kernel, scheduler="priority", time_limit=None, low_throughput=None))]
    fn compile(
        &self,
        py: Python<'_>,
        kernel: &PyResidueKernel,
        scheduler: &str,
        time_limit: Option<f64>,
        low_throughput: Option<&str>,
    ) -> PyResult<PyMapped> {
        let (program, parameters) = (&kernel.kernel, &kernel.parameters);
        let options = options(scheduler, time_limit, low_throughput)?;
        detached(py, || {
            let mapped = map(self.description(), program, parameters, options).map_err(refused)?;
            Ok(PyMapped { mapped, kernel: Arc::clone(program) })
        })
    }
}

#[pymethods]
impl PyMachine {
    /// `kernel` as [`PyMapped::save`] wrote it, checked again.
    #[pyo3(signature = (kernel, data, low_throughput=None))]
    fn load(
        &self,
        py: Python<'_>,
        kernel: &PyResidueKernel,
        data: &[u8],
        low_throughput: Option<&str>,
    ) -> PyResult<PyMapped> {
        let (program, parameters) = (&kernel.kernel, &kernel.parameters);
        let Options { low_throughput, .. } = options("priority", None, low_throughput)?;
        detached(py, || {
            let mapped = load(self.description(), program, parameters, low_throughput, data).map_err(refused)?;
            Ok(PyMapped { mapped, kernel: Arc::clone(program) })
        })
    }
}

fn options(scheduler: &str, time_limit: Option<f64>, low_throughput: Option<&str>) -> Result<Options, Failure> {
    let refused = |what| Err(Failure::new(Kind::Input, what));
    let limit = match time_limit.map(Duration::try_from_secs_f64).transpose() {
        Ok(limit) => limit,
        Err(error) => return refused(format!("a time limit in seconds is needed: {error}")),
    };
    let scheduler = match scheduler {
        "priority" => Scheduler::Priority,
        "csr" => Scheduler::Csr { limit },
        _ => return refused(format!("there is no scheduler {scheduler:?}; choose from: priority, csr")),
    };
    let kind = |name: &str| LowThroughput::ALL.into_iter().find(|variant| variant.kind().name() == name);
    let low_throughput = match low_throughput.map(|name| kind(name).ok_or(name)).transpose() {
        Ok(variant) => variant,
        Err(name) => {
            return refused(format!("there are no {name:?} units of low throughput; choose from: ntt, automorphism"));
        }
    };
    Ok(Options { scheduler, low_throughput })
}

#[pymethods]
impl PyMapped {
    /// The report of the schedule, as JSON.
    fn report(&self) -> PyResult<String> {
        Ok(json(&self.mapped.report)?)
    }

    /// The schedule as Chrome trace-event JSON; of a long one, its beginning and its end.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || json(&self.mapped.trace(TraceOptions::default())))
    }

    /// What the compiler found out, for `Machine.load`.
    fn save(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(self.mapped.save()))
    }

    /// The instruction streams of all components, in the binary form.
    fn streams(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || Ok(encode(&self.mapped.streams())))
    }

    /// The same as text.
    fn streams_text(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(text(&self.mapped.streams())))
    }

    /// The compiler's first phase: the groups of operations that share a hint, as JSON.
    fn groups(&self) -> PyResult<String> {
        let groups = self.mapped.compiled.groups.iter().map(|group| {
            serde_json::json!({
                "hint": group.hint.map(|hint| hint.to_string()),
                "operations": group.operations,
                "instructions": group.instructions,
            })
        });
        Ok(serde_json::Value::Array(groups.collect()).to_string())
    }

    /// Carries out the schedule on ciphertexts.
    fn replay(&self, py: Python<'_>, keys: &PySlotServer, inputs: &PySlotCiphertexts) -> PyResult<PySlotCiphertexts> {
        detached(py, || {
            keys.origin.expect(&inputs.origin)?;
            let inputs: Vec<&RnsPolynomial> = inputs.polynomials.iter().collect();
            let outputs = self.mapped.replay(&self.kernel, &keys.keys, &inputs).map_err(refused)?;
            Ok(keys.results(outputs))
        })
    }
}
