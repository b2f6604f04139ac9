//! TFHE keys and ciphertexts.

use crate::card::AnyOnCard;
use crate::failure::{Failure, Kind};
use crate::parameters::PyParameters;
use crate::progress::Callback;
use crate::signature::PySignature;
use crate::storage::{Source, borrowed, bytes, written};
use crate::workers::detached;
use polyfabric_client::tfhe::{AnyBatches, Batches, Ciphertexts, decrypt, encrypt, evaluation_key, own};
use polyfabric_kernels::Torus;
use polyfabric_runtime::tfhe::cpu::TransformedKey;
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::Direction;
use polyfabric_schemes::serial::Storable;
use polyfabric_schemes::tfhe::{
    AnyClientKey, AnyCompressedServerKey, AnyServerKey, KeyProgress, KeyUnrolling, Parameters,
};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// TFHE secret keys.
#[pyclass(name = "TfheClientKey", frozen)]
pub struct PyClientKey {
    pub(crate) key: Arc<AnyClientKey>,
    /// Name in errors: the file path.
    name: String,
}

/// TFHE evaluation keys, expanded and in their transport form.
#[pyclass(name = "TfheServerKey", frozen)]
pub struct PyServerKey {
    compressed: Arc<AnyCompressedServerKey>,
    expanded: Arc<AnyServerKey>,
    /// Transforms cached by executions.
    transformed: Arc<TransformedKey>,
    /// Keys in GPU memory.
    on_card: Arc<AnyOnCard>,
    /// Name in errors: the file path.
    name: String,
}

impl PyServerKey {
    pub fn key(&self) -> &AnyServerKey {
        &self.expanded
    }

    pub fn transformed(&self) -> &Arc<TransformedKey> {
        &self.transformed
    }

    pub fn on_card(&self) -> &AnyOnCard {
        &self.on_card
    }

    /// Fails unless `inputs` are encrypted with the secret key of these evaluation keys.
    pub fn expect_own(&self, inputs: &PyCiphertexts) -> Result<(), Failure> {
        let (key, set) = (&self.expanded, self.expanded.parameters().name());
        let same = key.generation().expect(&self.name, inputs.0.generation, &inputs.0.name, set);
        same.map_err(Failure::of(Kind::File))
    }

    fn expand(compressed: AnyCompressedServerKey, name: String, callback: &Callback) -> Self {
        let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
        let expanded = match &compressed {
            AnyCompressedServerKey::Torus32(key) => AnyServerKey::Torus32(key.expand(&hook)),
            AnyCompressedServerKey::Torus64(key) => AnyServerKey::Torus64(key.expand(&hook)),
        };
        Self {
            compressed: Arc::new(compressed),
            expanded: Arc::new(expanded),
            transformed: Arc::default(),
            on_card: Arc::default(),
            name,
        }
    }
}

/// The outputs of an execution on inputs of `generation`.
pub fn outputs_of(batches: AnyBatches, generation: KeyGeneration) -> PyCiphertexts {
    PyCiphertexts(Ciphertexts { batches, generation, name: "the outputs".to_owned() })
}

/// Ciphertext batches of one key generation.
#[pyclass(name = "TfheCiphertexts", frozen)]
pub struct PyCiphertexts(pub Ciphertexts);

/// The transport form of the evaluation keys of `client`.
fn compressed(
    client: &AnyClientKey,
    unrolling: KeyUnrolling,
    callback: &Callback,
) -> Result<AnyCompressedServerKey, Failure> {
    let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
    Ok(evaluation_key(client, unrolling, &hook)?)
}

#[pymethods]
impl PyClientKey {
    /// Generates secret keys with the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, parameters: &PyParameters) -> PyResult<Self> {
        let parameters = &parameters.0;
        detached(py, || {
            let key = AnyClientKey::generate(parameters).map_err(Failure::of(Kind::Run))?;
            Ok(Self { key: Arc::new(key), name: "the client key".to_owned() })
        })
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.key.parameters().clone())
    }

    /// Writes the secret keys atomically, readable only by the owner; returns their bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || written(&*self.key, path.as_deref()))
    }

    /// Reads secret keys from a file or its bytes.
    #[staticmethod]
    fn load(py: Python<'_>, source: Source) -> PyResult<Self> {
        detached(py, || {
            let key = Arc::new(source.read().map_err(Failure::of(Kind::File))?);
            Ok(Self { key, name: source.name() })
        })
    }

    /// The serialized evaluation key for `key_unrolling` secret bits per iteration. It is not expanded here, since only the server computes
    /// with it. Calls `progress(stage, done, total)` occasionally.
    #[pyo3(signature = (progress = None, key_unrolling = None))]
    fn evaluation_key(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        key_unrolling: Option<u32>,
    ) -> PyResult<Vec<u8>> {
        let unrolling = self.key.parameters().unrolling(key_unrolling).map_err(Failure::of(Kind::Program))?;
        let (client, callback) = (&*self.key, Callback::new(progress));
        detached(py, || bytes(&compressed(client, unrolling, &callback)?))
    }

    /// Encodes and encrypts a program's inputs.
    fn encrypt(
        &self,
        py: Python<'_>,
        signature: &PySignature,
        inputs: BTreeMap<String, Vec<i64>>,
    ) -> PyResult<PyCiphertexts> {
        let (client, signature) = (&*self.key, &*signature.0);
        detached(py, || Ok(PyCiphertexts(encrypt(client, signature, &inputs)?)))
    }

    /// Decrypts and decodes a program's outputs; rejects values that no execution produces.
    fn decrypt(
        &self,
        py: Python<'_>,
        signature: &PySignature,
        outputs: &PyCiphertexts,
    ) -> PyResult<BTreeMap<String, Vec<i64>>> {
        detached(py, || Ok(decrypt(&self.key, &self.name, &signature.0, &outputs.0)?))
    }
}

#[pymethods]
impl PyServerKey {
    /// Generates the evaluation keys of `client` for `key_unrolling` secret bits per iteration. Calls `progress(stage, done, total)`
    /// occasionally.
    #[staticmethod]
    #[pyo3(signature = (client, progress = None, key_unrolling = None))]
    fn generate(
        py: Python<'_>,
        client: &PyClientKey,
        progress: Option<Py<PyAny>>,
        key_unrolling: Option<u32>,
    ) -> PyResult<Self> {
        let unrolling = client.key.parameters().unrolling(key_unrolling).map_err(Failure::of(Kind::Program))?;
        let client = &*client.key;
        let callback = Callback::new(progress);
        detached(py, || {
            Ok(Self::expand(compressed(client, unrolling, &callback)?, "the server key".to_owned(), &callback))
        })
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.expanded.parameters().clone())
    }

    /// Fails unless the keys belong to the key generation of `client`.
    fn expect_client(&self, client: &PyClientKey) -> PyResult<()> {
        let set = client.key.parameters().name();
        let same = client.key.generation().expect(&client.name, self.expanded.generation(), &self.name, set);
        Ok(same.map_err(Failure::of(Kind::File))?)
    }

    /// Bytes in memory, in the coefficient domain.
    #[getter]
    fn bytes(&self) -> u64 {
        match &*self.expanded {
            AnyServerKey::Torus32(key) => key.bytes(),
            AnyServerKey::Torus64(key) => key.bytes(),
        }
    }

    /// Bytes of the cached transforms.
    #[getter]
    fn transformed_bytes(&self) -> u64 {
        self.transformed.bytes()
    }

    /// Bytes of the transport form.
    #[getter]
    fn compressed_bytes(&self) -> u64 {
        match &*self.compressed {
            AnyCompressedServerKey::Torus32(key) => key.bytes(),
            AnyCompressedServerKey::Torus64(key) => key.bytes(),
        }
    }

    /// Writes the transport form atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || written(&*self.compressed, path.as_deref()))
    }

    /// Reads the transport form from a file or its bytes and expands it, unless that needs more than `limit` bytes. `expected` is a parameter
    /// set and the secret bits per iteration; other keys are rejected, another set before the key is read.
    #[staticmethod]
    #[pyo3(signature = (source, progress = None, limit = None, expected = None))]
    fn load(
        py: Python<'_>,
        source: Source,
        progress: Option<Py<PyAny>>,
        limit: Option<u64>,
        expected: Option<(PyParameters, Option<u32>)>,
    ) -> PyResult<Self> {
        let callback = Callback::new(progress);
        detached(py, || {
            let compressed = match expected {
                Some((set, bits)) => of_set(&source, &set.0, bits)?,
                None => source.read().map_err(Failure::of(Kind::File))?,
            };
            let (set, wanted) = (compressed.parameters(), compressed.expanded_bytes());
            if let Some(left) = limit.filter(|&limit| wanted > limit) {
                let (name, set) = (source.name(), set.name());
                let [wanted, left] = [wanted, left].map(|bytes| bytes as f64 / f64::from(1 << 20));
                let message = format!(
                    "{name}: its keys, of parameter set {set}, expand to {wanted:.1} MiB, but only {left:.1} MiB of memory are free; use a computer \
                     with more memory, or keys of a smaller set"
                );
                return Err(Failure::new(Kind::Run, message));
            }
            Ok(Self::expand(compressed, source.name(), &callback))
        })
    }
}

/// Reads the transport form of evaluation keys of the set `expected` with `bits` secret bits per iteration.
fn of_set(source: &Source, expected: &Parameters, bits: Option<u32>) -> Result<AnyCompressedServerKey, Failure> {
    let bits = expected.unrolling(bits).map_err(Failure::of(Kind::Program))?.bits();
    let compressed = source.read_of(expected, AnyCompressedServerKey::read_payload)?;
    let found = match &compressed {
        AnyCompressedServerKey::Torus32(key) => key.unrolling(),
        AnyCompressedServerKey::Torus64(key) => key.unrolling(),
    };
    if found.bits() != bits {
        let (name, found) = (source.name(), found.bits());
        let message = format!(
            "{name}: its key takes {found} secret bits an iteration, but {bits} are needed; generate the key from the program's own specification"
        );
        return Err(Failure::new(Kind::Parameter, message));
    }
    Ok(compressed)
}

pub fn direction(outputs: bool) -> Direction {
    if outputs { Direction::Output } else { Direction::Input }
}

#[pymethods]
impl PySignature {
    /// Fails if one of the `files`, inputs by name or with `outputs` outputs, belongs to another program, whatever its set.
    fn expect_own(&self, py: Python<'_>, outputs: bool, files: BTreeMap<String, Source>) -> PyResult<()> {
        detached(py, || {
            Ok(files
                .iter()
                .try_for_each(|(name, source)| own(&self.0, direction(outputs), name, &source.borrowed()).map(drop))?)
        })
    }
}

#[pymethods]
impl PyCiphertexts {
    /// Writes the batch `name`, an input or (with `outputs`) an output, atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (parameters, signature, outputs, name, path = None))]
    fn save(
        &self,
        py: Python<'_>,
        parameters: &PyParameters,
        signature: &PySignature,
        outputs: bool,
        name: &str,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let content = self.0.file(&parameters.0, &signature.0, direction(outputs), name)?;
            written(&content, path.as_deref())
        })
    }

    /// Reads a program's inputs, or its `outputs`, from files or bytes written by `save`. All must belong to `parameters`, to this program, and
    /// to one key generation. The keys of `server` switch public-key inputs to the key that the program expects.
    #[staticmethod]
    #[pyo3(signature = (parameters, signature, outputs, sources, server = None))]
    fn load(
        py: Python<'_>,
        parameters: &PyParameters,
        signature: &PySignature,
        outputs: bool,
        sources: BTreeMap<String, Source>,
        server: Option<&PyServerKey>,
    ) -> PyResult<Self> {
        let (sources, server) = (borrowed(&sources), server.map(PyServerKey::key));
        detached(py, || Ok(Self(Ciphertexts::load(&parameters.0, &signature.0, direction(outputs), sources, server)?)))
    }

    /// Renames batches, so that the outputs of one execution become inputs of another. The next kernel program checks number, key and
    /// dimension; the caller is responsible for the noise.
    fn carried(&self, names: BTreeMap<String, String>) -> PyResult<Self> {
        fn renamed<T: Torus>(batches: &Batches<T>, names: &BTreeMap<String, String>) -> Result<Batches<T>, Failure> {
            let missing = |name: &str| Failure::new(Kind::Input, format!("there are no ciphertexts {name:?}"));
            let one = |(from, to): (&String, &String)| {
                Ok((to.clone(), batches.get(from).ok_or_else(|| missing(from))?.clone()))
            };
            names.iter().map(one).collect()
        }
        let batches = match &self.0.batches {
            AnyBatches::Torus32(batches) => AnyBatches::Torus32(renamed(batches, &names)?),
            AnyBatches::Torus64(batches) => AnyBatches::Torus64(renamed(batches, &names)?),
        };
        Ok(Self(Ciphertexts { batches, generation: self.0.generation, name: self.0.name.clone() }))
    }

    /// Bytes of all batches.
    #[getter]
    fn bytes(&self) -> usize {
        match &self.0.batches {
            AnyBatches::Torus32(batches) => memory(batches),
            AnyBatches::Torus64(batches) => memory(batches),
        }
    }

    /// Name and number of ciphertexts of each batch.
    #[getter]
    fn counts(&self) -> BTreeMap<String, usize> {
        match &self.0.batches {
            AnyBatches::Torus32(batches) => counts(batches),
            AnyBatches::Torus64(batches) => counts(batches),
        }
    }
}

fn memory<T: Torus>(batches: &Batches<T>) -> usize {
    batches.values().map(|batch| size_of_val(batch.data())).sum()
}

fn counts<T: Torus>(batches: &Batches<T>) -> BTreeMap<String, usize> {
    batches.iter().map(|(name, batch)| (name.clone(), batch.len())).collect()
}
