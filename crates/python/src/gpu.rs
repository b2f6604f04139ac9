//! Execution on an NVIDIA GPU.

use crate::card::card;
use crate::failure::{Failure, Kind};
use crate::kernel::PyKernelProgram;
use crate::keys::{PyCiphertexts, PyServerKey, outputs_of};
use crate::parameters::PyParameters;
use crate::progress::Callback;
use crate::rns::{PyRnsCiphertexts, PyRnsPlan, PyRnsServer};
use crate::workers::detached;
use polyfabric_client::tfhe::{AnyBatches, torus_mismatch};
use polyfabric_kernels::RingDegree;
use polyfabric_runtime::gpu::{Card, Device, GpuError, Shape, multiply_adds, rns};
use polyfabric_schemes::rns::RnsPolynomial;
use polyfabric_schemes::tfhe::AnyServerKey;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Name of the GPU for programs of `parameters` with `unroll` secret bits per iteration. Fails if there is none, or if the kernels do not
/// support the parameters.
#[pyfunction]
pub fn gpu(py: Python<'_>, parameters: &PyParameters, unroll: Option<u32>) -> PyResult<String> {
    let parameters = &parameters.0;
    detached(py, || {
        let unrolling = parameters.unrolling(unroll).map_err(Failure::of(Kind::Parameter))?;
        let card = card().map_err(Failure::of(Kind::Run))?;
        card.serves(parameters, unrolling).map_err(Failure::of(Kind::Run))?;
        Ok(card.name().to_owned())
    })
}

/// Name of the GPU, and its maximum shared memory per block in bytes. Fails if there is none.
#[pyfunction]
pub fn gpu_card(py: Python<'_>) -> PyResult<(String, usize)> {
    detached(py, || {
        let card = card().map_err(Failure::of(Kind::Run))?;
        Ok((card.name().to_owned(), card.shared_bytes()))
    })
}

/// Manufacturer's figures of the GPU used in estimates: name, shared memory per block in bytes, double multiply-adds per second.
#[pyfunction]
pub fn gpu_peak() -> (&'static str, usize, f64) {
    let card = Card::H200;
    (card.name, card.shared_bytes, card.multiply_adds)
}

/// Layout of bootstraps of `parameters` with `unroll` secret bits per iteration, on a GPU with `shared_bytes` bytes of shared memory per
/// block: counts by name. Fails if the kernels do not support it.
#[pyfunction]
pub fn gpu_layout(
    parameters: &PyParameters,
    unroll: Option<u32>,
    shared_bytes: usize,
) -> Result<BTreeMap<&'static str, usize>, Failure> {
    let (set, unrolling) = (&parameters.0, parameters.0.unrolling(unroll).map_err(Failure::of(Kind::Parameter))?);
    let shape = Shape::new(set, unrolling, shared_bytes).map_err(Failure::of(Kind::Run))?;
    shape.source(set).map_err(Failure::of(Kind::Run))?;
    Ok(BTreeMap::from([
        ("ciphertexts", shape.most_ciphertexts()),
        ("shared_bytes", shape.most_shared_bytes()),
        ("bootstrap_key_bytes", shape.bootstrap_key_bytes(set)),
        ("multiply_adds", multiply_adds(set, unrolling)),
    ]))
}

/// CUDA source of the kernels for `parameters`, `unroll` secret bits per iteration, and `shared_bytes` bytes of shared memory per block; and
/// the largest shared memory of a blind-rotation block.
#[pyfunction]
pub fn gpu_kernels(
    parameters: &PyParameters,
    unroll: Option<u32>,
    shared_bytes: usize,
) -> Result<(String, usize), Failure> {
    let unrolling = parameters.0.unrolling(unroll).map_err(Failure::of(Kind::Parameter))?;
    let shape = Shape::new(&parameters.0, unrolling, shared_bytes).map_err(Failure::of(Kind::Run))?;
    let source = shape.source(&parameters.0).map_err(Failure::of(Kind::Run))?;
    Ok((source.text(None), shape.most_shared_bytes()))
}

/// Name of the GPU for the CKKS or BGV program of `plan`. Fails if there is none, or if the program is unsupported or does not fit.
#[pyfunction]
pub fn gpu_for_slots(py: Python<'_>, plan: &PyRnsPlan) -> PyResult<String> {
    let plan = &*plan.plan;
    detached(py, || {
        let card = card().map_err(Failure::of(Kind::Run))?;
        let needed = rns::needs(plan.kernel()).map_err(Failure::of(Kind::Run))?.bytes() as u64;
        let total = card.memory_bytes().map_err(Failure::of(Kind::Run))?;
        if needed > total {
            return Err(Failure::of(Kind::Run)(GpuError::Program { needed, total }));
        }
        Ok(card.name().to_owned())
    })
}

/// CUDA source of the CKKS and BGV kernels for `ring_degree`, and the largest shared memory of a block in bytes.
#[pyfunction]
pub fn gpu_slot_kernels(ring_degree: usize) -> Result<(String, usize), Failure> {
    let degree = RingDegree::new(ring_degree).map_err(Failure::of(Kind::Parameter))?;
    let tiles = rns::Tiles::new(degree).map_err(Failure::of(Kind::Run))?;
    Ok((tiles.source().text(None), tiles.most_shared_bytes()))
}

/// Name of the GPU, bytes and counts by name, and a lower bound of the run time in seconds.
type NeedsOfCard = (&'static str, BTreeMap<&'static str, usize>, f64);

#[pymethods]
impl PyRnsPlan {
    /// Estimated GPU resources of an execution, by manufacturer's figures; `None` if the kernels do not support the program.
    fn needs_of_card(&self, py: Python<'_>) -> PyResult<Option<NeedsOfCard>> {
        let (plan, card) = (&*self.plan, Card::H200);
        detached(py, || {
            Ok(rns::needs(plan.kernel()).ok().map(|needs| {
                let counts = BTreeMap::from([
                    ("memory_bytes", needs.bytes()),
                    ("key_bytes", needs.key_bytes),
                    ("plaintext_bytes", needs.plaintext_bytes),
                    ("value_bytes", needs.value_bytes),
                    ("moved_bytes", needs.moved_bytes),
                    ("launches", needs.launches),
                    ("levels", needs.levels),
                    ("butterflies", needs.butterflies),
                    ("products", needs.products),
                ]);
                (card.name, counts, card.seconds(&needs))
            }))
        })
    }
}

#[pymethods]
impl PyRnsServer {
    /// Runs the kernel program of `plan` on the first GPU. Returns the results and the seconds from inputs to results in GPU memory.
    #[pyo3(signature = (plan, inputs, progress = None))]
    fn execute_on_gpu(
        &self,
        py: Python<'_>,
        plan: &PyRnsPlan,
        inputs: &PyRnsCiphertexts,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(PyRnsCiphertexts, f64)> {
        let callback = Callback::new(progress);
        detached(py, || {
            self.origin.expect(&inputs.0.origin)?;
            let polynomials: Vec<&RnsPolynomial> = inputs.0.polynomials.iter().collect();
            let executor = self.on_card.of(&plan.plan, &self.keys)?;
            let ran = executor.run(&polynomials, &callback).map_err(Failure::of(Kind::Run))?;
            Ok((self.results(ran.outputs), ran.on_card.as_secs_f64()))
        })
    }
}

#[pymethods]
impl PyKernelProgram {
    /// Runs the program on the first GPU. Returns the results and the seconds from inputs to results in GPU memory.
    #[pyo3(signature = (server, inputs, progress = None))]
    fn run_on_gpu(
        &self,
        py: Python<'_>,
        server: &PyServerKey,
        inputs: &PyCiphertexts,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(PyCiphertexts, f64)> {
        server.expect_own(inputs)?;
        let (kernel, on_card, generation) = (&*self.0, server.on_card(), inputs.0.generation);
        let (server, inputs, callback) = (server.key(), &inputs.0.batches, Callback::new(progress));
        detached(py, || {
            let (batches, seconds) = match (server, inputs) {
                (AnyServerKey::Torus32(key), AnyBatches::Torus32(inputs)) => {
                    let ran = on_card.torus32.of(key)?.run(kernel, key, inputs, &callback);
                    let ran = ran.map_err(Failure::of(Kind::Run))?;
                    (AnyBatches::Torus32(ran.outputs), ran.on_card)
                }
                (AnyServerKey::Torus64(key), AnyBatches::Torus64(inputs)) => {
                    let ran = on_card.torus64.of(key)?.run(kernel, key, inputs, &callback);
                    let ran = ran.map_err(Failure::of(Kind::Run))?;
                    (AnyBatches::Torus64(ran.outputs), ran.on_card)
                }
                _ => return Err(torus_mismatch().into()),
            };
            Ok((outputs_of(batches, generation), seconds.as_secs_f64()))
        })
    }
}
