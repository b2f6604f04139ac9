//! Keys and ciphertexts.

use crate::failure::{Failure, Kind, detached};
use crate::kernel::PyKernelProgram;
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use crate::progress::Callback;
use polyfabric_kernels::Torus;
use polyfabric_program::homomorphic::{Program, decode_output, encode_input};
use polyfabric_program::kernel::{KernelProgram, ValueType};
use polyfabric_schemes::tfhe::{AnyClientKey, AnyServerKey, ClientKey, LweBatch, LweKind};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Named batches of ciphertexts.
pub type Batches<T> = BTreeMap<String, LweBatch<T>>;

/// The secret keys.
#[pyclass(name = "ClientKey", frozen)]
pub struct PyClientKey(Arc<AnyClientKey>);

/// The public keys that a server computes with.
#[pyclass(name = "ServerKey", frozen)]
pub struct PyServerKey(pub Arc<AnyServerKey>);

/// Named ciphertexts, over either torus.
#[derive(Clone, Debug)]
pub enum AnyBatches {
    /// q = 2^32.
    Torus32(Batches<u32>),
    /// q = 2^64.
    Torus64(Batches<u64>),
}

/// Named ciphertexts.
#[pyclass(name = "Ciphertexts", frozen)]
pub struct PyCiphertexts(pub AnyBatches);

fn lwe_kind(result: ValueType) -> Result<LweKind, Failure> {
    match result {
        ValueType::Lwe { kind, .. } => Ok(kind),
        other => Err(Failure::new(Kind::Internal, format!("{other:?} is no LWE ciphertext"))),
    }
}

fn encrypt<T: Torus>(
    client: &ClientKey<T>,
    program: &Program,
    kernel: &KernelProgram,
    inputs: &BTreeMap<String, Vec<i64>>,
) -> Result<Batches<T>, Failure> {
    let mut batches = Batches::new();
    for (name, _, result) in kernel.inputs() {
        let missing = || Failure::new(Kind::Input, format!("input {name:?} is missing; give {} values", result.count()));
        let values = inputs.get(name).ok_or_else(missing)?;
        let plaintexts: Vec<T> = encode_input(program, name, values).map_err(Failure::of(Kind::Input))?;
        let batch = client.encrypt(lwe_kind(result)?, &plaintexts).map_err(Failure::of(Kind::Run))?;
        batches.insert(name.to_owned(), batch);
    }
    Ok(batches)
}

fn decrypt<T: Torus>(
    client: &ClientKey<T>,
    program: &Program,
    kernel: &KernelProgram,
    outputs: &Batches<T>,
) -> Result<BTreeMap<String, Vec<i64>>, Failure> {
    let mut values = BTreeMap::new();
    for output in &kernel.outputs {
        let name = &*output.name;
        let missing = || Failure::new(Kind::Input, format!("the ciphertexts of output {name:?} are missing"));
        let batch = outputs.get(name).ok_or_else(missing)?;
        let kind = lwe_kind(kernel.op(output.value).result)?;
        let phases = client.decrypt_phase(kind, batch).map_err(Failure::of(Kind::Input))?;
        values.insert(name.to_owned(), decode_output(program, name, &phases).map_err(Failure::of(Kind::Input))?);
    }
    Ok(values)
}

/// The error of ciphertexts, keys or programs over different toruses.
pub fn torus_mismatch() -> Failure {
    let message = "the keys and the ciphertexts are over toruses of different width; use keys and ciphertexts of one parameter set";
    Failure::new(Kind::Input, message)
}

#[pymethods]
impl PyClientKey {
    /// Fresh secret keys, from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, parameters: &PyParameters) -> PyResult<Self> {
        let parameters = &parameters.0;
        detached(py, || {
            let key = AnyClientKey::generate(parameters).map_err(Failure::of(Kind::Run))?;
            Ok(Self(Arc::new(key)))
        })
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.0.parameters().clone())
    }

    /// Encodes and encrypts the inputs of `program`, lowered to `kernel`.
    fn encrypt(
        &self,
        py: Python<'_>,
        program: &PyProgram,
        kernel: &PyKernelProgram,
        inputs: BTreeMap<String, Vec<i64>>,
    ) -> PyResult<PyCiphertexts> {
        let (client, program, kernel) = (&*self.0, &*program.0, &*kernel.0);
        detached(py, || {
            let batches = match client {
                AnyClientKey::Torus32(client) => AnyBatches::Torus32(encrypt(client, program, kernel, &inputs)?),
                AnyClientKey::Torus64(client) => AnyBatches::Torus64(encrypt(client, program, kernel, &inputs)?),
            };
            Ok(PyCiphertexts(batches))
        })
    }

    /// Decrypts and decodes the outputs of `program`, lowered to `kernel`.
    fn decrypt(
        &self,
        py: Python<'_>,
        program: &PyProgram,
        kernel: &PyKernelProgram,
        outputs: &PyCiphertexts,
    ) -> PyResult<BTreeMap<String, Vec<i64>>> {
        let (client, program, kernel, outputs) = (&*self.0, &*program.0, &*kernel.0, &outputs.0);
        detached(py, || match (client, outputs) {
            (AnyClientKey::Torus32(client), AnyBatches::Torus32(outputs)) => decrypt(client, program, kernel, outputs),
            (AnyClientKey::Torus64(client), AnyBatches::Torus64(outputs)) => decrypt(client, program, kernel, outputs),
            _ => Err(torus_mismatch()),
        })
    }
}

#[pymethods]
impl PyServerKey {
    /// The server's keys for `client`; `progress(stage, done, total)` is called now and then.
    #[staticmethod]
    #[pyo3(signature = (client, progress = None))]
    fn generate(py: Python<'_>, client: &PyClientKey, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let client = &*client.0;
        let callback = Callback::new(progress);
        detached(py, || {
            let hook = |progress: polyfabric_schemes::tfhe::KeyProgress| {
                callback.tell(progress.stage, progress.done, progress.total);
            };
            let key = AnyServerKey::generate(client, &hook).map_err(Failure::of(Kind::Run))?;
            Ok(Self(Arc::new(key)))
        })
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.0.parameters().clone())
    }

    /// Size in memory.
    #[getter]
    fn bytes(&self) -> u64 {
        match &*self.0 {
            AnyServerKey::Torus32(key) => key.bytes(),
            AnyServerKey::Torus64(key) => key.bytes(),
        }
    }
}

#[pymethods]
impl PyCiphertexts {
    /// Name and number of the ciphertexts of each batch.
    #[getter]
    fn counts(&self) -> BTreeMap<String, usize> {
        match &self.0 {
            AnyBatches::Torus32(batches) => counts(batches),
            AnyBatches::Torus64(batches) => counts(batches),
        }
    }
}

fn counts<T: Torus>(batches: &Batches<T>) -> BTreeMap<String, usize> {
    batches.iter().map(|(name, batch)| (name.clone(), batch.len())).collect()
}
