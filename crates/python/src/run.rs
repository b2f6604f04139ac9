//! TFHE execution with the reference interpreter and on the CPU.

use crate::failure::{Failure, Kind};
use crate::kernel::PyKernelProgram;
use crate::keys::{PyCiphertexts, PyServerKey, outputs_of};
use crate::progress::Callback;
use crate::workers::detached;
use polyfabric_client::tfhe::{AnyBatches, Batches, torus_mismatch};
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_runtime::Progress;
use polyfabric_runtime::tfhe::cpu::{Executor, TransformedKey};
use polyfabric_runtime::tfhe::{RunError, interpreter};
use polyfabric_schemes::tfhe::{AnyServerKey, ServerKey};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Progress for Callback {
    fn update(&self, stage: &str, done: u64, total: u64) {
        self.tell(stage, done, total);
    }
}

/// Transforms the key unless an execution has done so, and executes.
fn run_cpu<T: Torus>(
    kernel: &KernelProgram,
    (server, transformed): (&ServerKey<T>, &Arc<TransformedKey>),
    inputs: &Batches<T>,
    threads: usize,
    callback: &Callback,
) -> Result<Batches<T>, Failure> {
    let executor = Executor::sharing(server, transformed, threads).map_err(Failure::of(Kind::Run))?;
    executor.run(kernel, inputs, callback).map_err(failure)
}

/// The outputs of each request, or why its inputs are wrong.
type Outcomes = Vec<Result<AnyBatches, Failure>>;

fn run_together(
    kernel: &KernelProgram,
    (key, transformed): (&AnyServerKey, &Arc<TransformedKey>),
    requests: &[&PyCiphertexts],
    threads: usize,
    callback: &Callback,
) -> Result<Outcomes, Failure> {
    fn run<T: Torus>(
        kernel: &KernelProgram,
        (key, transformed): (&ServerKey<T>, &Arc<TransformedKey>),
        requests: Option<Vec<&Batches<T>>>,
        threads: usize,
        (callback, wrap): (&Callback, fn(Batches<T>) -> AnyBatches),
    ) -> Result<Outcomes, Failure> {
        let requests = requests.ok_or_else(torus_mismatch)?;
        let executor = Executor::sharing(key, transformed, threads).map_err(Failure::of(Kind::Run))?;
        let found = executor.run_together(kernel, &requests, callback).map_err(failure)?;
        Ok(found.into_iter().map(|outputs| outputs.map(wrap).map_err(failure)).collect())
    }
    let batches = requests.iter().map(|request| &request.0.batches);
    match key {
        AnyServerKey::Torus32(key) => {
            let own = batches.map(|batches| if let AnyBatches::Torus32(own) = batches { Some(own) } else { None });
            run(kernel, (key, transformed), own.collect(), threads, (callback, AnyBatches::Torus32))
        }
        AnyServerKey::Torus64(key) => {
            let own = batches.map(|batches| if let AnyBatches::Torus64(own) = batches { Some(own) } else { None });
            run(kernel, (key, transformed), own.collect(), threads, (callback, AnyBatches::Torus64))
        }
    }
}

/// Wrong inputs are input errors; anything else is an execution failure.
fn failure(error: RunError) -> Failure {
    use RunError::{InputShape, MissingInput, UnknownInput};
    let of_inputs = matches!(error, MissingInput { .. } | UnknownInput { .. } | InputShape { .. });
    Failure::new(if of_inputs { Kind::Input } else { Kind::Run }, error)
}

/// Re-randomizes the batches that have a deviation, and floods them with noise of this deviation.
fn rerandomise<T: Torus>(
    server: &ServerKey<T>,
    batches: &Batches<T>,
    deviations: &BTreeMap<String, f64>,
) -> Result<Batches<T>, Failure> {
    let mut hidden = batches.clone();
    for (name, &deviation) in deviations {
        let missing = || Failure::new(Kind::Internal, format!("there is no output {name:?} to re-randomise"));
        let batch = hidden.get_mut(name).ok_or_else(missing)?;
        server.rerandomise(batch, deviation).map_err(Failure::of(Kind::Run))?;
    }
    Ok(hidden)
}

#[pymethods]
impl PyServerKey {
    /// `results` re-randomized: adds fresh encryptions of zero, and noise of the given deviations (torus fractions) to the outputs by name.
    fn rerandomise(
        &self,
        py: Python<'_>,
        results: &PyCiphertexts,
        deviations: BTreeMap<String, f64>,
    ) -> PyResult<PyCiphertexts> {
        self.expect_own(results)?;
        let (server, generation) = (self.key(), results.0.generation);
        detached(py, || {
            let batches = match (server, &results.0.batches) {
                (AnyServerKey::Torus32(server), AnyBatches::Torus32(batches)) => {
                    AnyBatches::Torus32(rerandomise(server, batches, &deviations)?)
                }
                (AnyServerKey::Torus64(server), AnyBatches::Torus64(batches)) => {
                    AnyBatches::Torus64(rerandomise(server, batches, &deviations)?)
                }
                _ => return Err(torus_mismatch().into()),
            };
            Ok(outputs_of(batches, generation))
        })
    }
}

#[pymethods]
impl PyKernelProgram {
    /// Executes the program on the CPU, with batched lookups.
    #[pyo3(signature = (server, inputs, threads, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        server: &PyServerKey,
        inputs: &PyCiphertexts,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyCiphertexts> {
        server.expect_own(inputs)?;
        let (kernel, transformed, generation) = (&*self.0, server.transformed(), inputs.0.generation);
        let (server, inputs, callback) = (server.key(), &inputs.0.batches, Callback::new(progress));
        detached(py, || {
            let batches = match (server, inputs) {
                (AnyServerKey::Torus32(server), AnyBatches::Torus32(inputs)) => {
                    AnyBatches::Torus32(run_cpu(kernel, (server, transformed), inputs, threads, &callback)?)
                }
                (AnyServerKey::Torus64(server), AnyBatches::Torus64(inputs)) => {
                    AnyBatches::Torus64(run_cpu(kernel, (server, transformed), inputs, threads, &callback)?)
                }
                _ => return Err(torus_mismatch().into()),
            };
            Ok(outputs_of(batches, generation))
        })
    }

    /// Executes the program on the CPU for several requests at once. Gives the outputs of each, or its error.
    #[pyo3(signature = (server, requests, threads, progress = None))]
    fn run_together(
        &self,
        py: Python<'_>,
        server: &PyServerKey,
        requests: Vec<Py<PyCiphertexts>>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let checked = |request: &Py<PyCiphertexts>| server.expect_own(request.get());
        let checks: Vec<Result<(), Failure>> = requests.iter().map(checked).collect();
        let own = requests.iter().zip(&checks).filter(|(_, check)| check.is_ok());
        let own: Vec<&PyCiphertexts> = own.map(|(request, _)| request.get()).collect();
        let (keys, callback) = ((server.key(), server.transformed()), Callback::new(progress));
        let mut found = detached(py, || run_together(&self.0, keys, &own, threads, &callback))?.into_iter();
        let generation = own.first().map(|first| first.0.generation);
        let outcome = |check: Result<(), Failure>| -> PyResult<Py<PyAny>> {
            let outputs = check.and_then(|()| found.next().unwrap_or_else(|| Err(torus_mismatch().into())));
            match (outputs, generation) {
                (Ok(batches), Some(generation)) => {
                    let outputs = outputs_of(batches, generation);
                    Ok(Py::new(py, outputs)?.into_any())
                }
                (Err(failure), _) => Ok(PyErr::from(failure).into_value(py).into_any()),
                (Ok(_), None) => unreachable!("outputs are of a request"),
            }
        };
        checks.into_iter().map(outcome).collect()
    }

    /// Executes the program with the reference interpreter, primitive by primitive.
    #[pyo3(signature = (server, inputs, progress = None))]
    fn interpret(
        &self,
        py: Python<'_>,
        server: &PyServerKey,
        inputs: &PyCiphertexts,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyCiphertexts> {
        server.expect_own(inputs)?;
        let (kernel, server, generation) = (&*self.0, server.key(), inputs.0.generation);
        let (inputs, callback) = (&inputs.0.batches, Callback::new(progress));
        detached(py, || {
            let outputs = match (server, inputs) {
                (AnyServerKey::Torus32(server), AnyBatches::Torus32(inputs)) => {
                    interpreter::run(kernel, server, inputs, &callback).map(AnyBatches::Torus32)
                }
                (AnyServerKey::Torus64(server), AnyBatches::Torus64(inputs)) => {
                    interpreter::run(kernel, server, inputs, &callback).map(AnyBatches::Torus64)
                }
                _ => return Err(torus_mismatch().into()),
            };
            let batches = outputs.map_err(failure)?;
            Ok(outputs_of(batches, generation))
        })
    }
}
