//! TFHE keys and ciphertexts.

use crate::card::AnyOnCard;
use crate::failure::{Failure, Kind};
use crate::parameters::PyParameters;
use crate::progress::Callback;
use crate::signature::PySignature;
use crate::storage::{Source, written};
use crate::workers::detached;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::{Signature, Terminal};
use polyfabric_runtime::tfhe::cpu::TransformedKey;
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::{Direction, Port};
use polyfabric_schemes::tfhe::serial::{self, AnyCiphertexts, Ciphertexts, Content, Storable};
use polyfabric_schemes::tfhe::{
    AnyClientKey, AnyCompressedServerKey, AnyServerKey, ClientKey, CompressedServerKey, KeyProgress, KeyUnrolling,
    LweBatch, LweKind, Parameters, ServerKey,
};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Ciphertext batches by name.
pub type Batches<T> = BTreeMap<String, LweBatch<T>>;

/// TFHE secret keys.
#[pyclass(name = "ClientKey", frozen)]
pub struct PyClientKey {
    pub(crate) key: Arc<AnyClientKey>,
    /// Name in errors: the file path.
    name: String,
}

/// TFHE evaluation keys, expanded and in their transport form.
#[pyclass(name = "ServerKey", frozen)]
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
        let same = key.generation().expect(&self.name, inputs.generation, &inputs.name, set);
        same.map_err(Failure::of(Kind::File))
    }

    /// The transport form of the evaluation keys of `client`.
    fn compressed(
        client: &AnyClientKey,
        unrolling: KeyUnrolling,
        callback: &Callback,
    ) -> Result<AnyCompressedServerKey, Failure> {
        let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
        let compressed =
            match client {
                AnyClientKey::Torus32(client) => CompressedServerKey::generate_unrolled(client, unrolling, &hook)
                    .map(AnyCompressedServerKey::Torus32),
                AnyClientKey::Torus64(client) => CompressedServerKey::generate_unrolled(client, unrolling, &hook)
                    .map(AnyCompressedServerKey::Torus64),
            };
        compressed.map_err(Failure::of(Kind::Run))
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

/// Name of computed ciphertexts in errors.
pub const OUTPUTS: &str = "the outputs";

/// Batches over either torus.
#[derive(Clone, Debug)]
pub enum AnyBatches {
    /// q = 2^32.
    Torus32(Batches<u32>),
    /// q = 2^64.
    Torus64(Batches<u64>),
}

/// Ciphertext batches of one key generation.
#[pyclass(name = "Ciphertexts", frozen)]
pub struct PyCiphertexts {
    pub batches: AnyBatches,
    /// The secret key that they are encrypted with.
    pub generation: KeyGeneration,
    /// Name in errors: the path of the first file.
    pub name: String,
}

fn encrypt<T: Torus>(
    client: &ClientKey<T>,
    signature: &Signature,
    inputs: &BTreeMap<String, Vec<i64>>,
) -> Result<Batches<T>, Failure> {
    let mut batches = Batches::new();
    for Terminal { name, length, key, .. } in &signature.inputs {
        let missing = || Failure::new(Kind::Input, format!("input {name:?} is missing; give {length} values"));
        let values = inputs.get(name).ok_or_else(missing)?;
        let plaintexts: Vec<T> = signature.encode(name, values).map_err(Failure::of(Kind::Input))?;
        let batch = client.encrypt(*key, &plaintexts).map_err(Failure::of(Kind::Run))?;
        batches.insert(name.clone(), batch);
    }
    Ok(batches)
}

fn decrypt<T: Torus>(
    client: &ClientKey<T>,
    signature: &Signature,
    outputs: &Batches<T>,
) -> Result<BTreeMap<String, Vec<i64>>, Failure> {
    let mut values = BTreeMap::new();
    for Terminal { name, key, .. } in &signature.outputs {
        let missing = || Failure::new(Kind::Input, format!("the ciphertexts of output {name:?} are missing"));
        let batch = outputs.get(name).ok_or_else(missing)?;
        let phases = client.decrypt_phase(*key, batch).map_err(Failure::of(Kind::Input))?;
        values.insert(name.clone(), signature.decode(name, &phases).map_err(Failure::of(Kind::Input))?);
    }
    Ok(values)
}

/// The error for ciphertexts, keys or programs over different toruses.
pub fn torus_mismatch() -> Failure {
    let message = "the keys and the ciphertexts are over toruses of different width; use keys and ciphertexts of one parameter set";
    Failure::new(Kind::Input, message)
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
        detached(py, || {
            let compressed = PyServerKey::compressed(client, unrolling, &callback)?;
            serial::to_bytes(&compressed, "memory").map_err(Failure::of(Kind::File))
        })
    }

    /// Encodes and encrypts a program's inputs.
    fn encrypt(
        &self,
        py: Python<'_>,
        signature: &PySignature,
        inputs: BTreeMap<String, Vec<i64>>,
    ) -> PyResult<PyCiphertexts> {
        let (client, signature) = (&*self.key, &*signature.0);
        detached(py, || {
            let batches = match client {
                AnyClientKey::Torus32(client) => AnyBatches::Torus32(encrypt(client, signature, &inputs)?),
                AnyClientKey::Torus64(client) => AnyBatches::Torus64(encrypt(client, signature, &inputs)?),
            };
            Ok(PyCiphertexts { batches, generation: client.generation(), name: "the ciphertexts".to_owned() })
        })
    }

    /// Decrypts and decodes a program's outputs; rejects values that no execution produces.
    fn decrypt(
        &self,
        py: Python<'_>,
        signature: &PySignature,
        outputs: &PyCiphertexts,
    ) -> PyResult<BTreeMap<String, Vec<i64>>> {
        let (client, signature) = (&*self.key, &*signature.0);
        let set = client.parameters().name();
        let same = client.generation().expect(&self.name, outputs.generation, &outputs.name, set);
        same.map_err(Failure::of(Kind::File))?;
        detached(py, || match (client, &outputs.batches) {
            (AnyClientKey::Torus32(client), AnyBatches::Torus32(outputs)) => decrypt(client, signature, outputs),
            (AnyClientKey::Torus64(client), AnyBatches::Torus64(outputs)) => decrypt(client, signature, outputs),
            _ => Err(torus_mismatch()),
        })
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
            let compressed = Self::compressed(client, unrolling, &callback)?;
            Ok(Self::expand(compressed, "the server key".to_owned(), &callback))
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

/// The content of one ciphertext file.
fn stored<T: Torus>(
    parameters: &Parameters,
    generation: KeyGeneration,
    batches: &Batches<T>,
    port: Port,
    wrap: impl Fn(Ciphertexts<T>) -> AnyCiphertexts,
) -> Result<AnyCiphertexts, Failure> {
    let missing = || Failure::new(Kind::Input, format!("there are no ciphertexts {:?}", port.name));
    let batch = batches.get(&port.name).ok_or_else(missing)?;
    let small = batch.dimension() == parameters.lwe_dimension();
    let kind = if small { LweKind::Small } else { LweKind::Large };
    let content = Content::Each { kind, batch: batch.clone() };
    Ok(wrap(Ciphertexts { parameters: parameters.clone(), generation, port, content }))
}

/// The ciphertexts of input or output `name` in the format that the program reads.
fn taken<T: Torus>(
    content: Content<T>,
    signature: &Signature,
    name: &str,
    server: Option<&ServerKey<T>>,
) -> Result<LweBatch<T>, Failure> {
    let compact = match content {
        Content::Each { batch, .. } => return Ok(batch),
        Content::Compact(compact) => compact,
    };
    let refused = |message: String| Err(Failure::new(Kind::File, message));
    let Some(server) = server else {
        return refused(format!(
            "{name:?} is encrypted with a public key, but results are not; use the server's response"
        ));
    };
    if !signature.public {
        return refused(format!(
            "input {name:?} is encrypted with a public key, but {} is not planned for its noise; plan it with public=True (--public)",
            signature.program
        ));
    }
    let terminal = signature.input(name).map_err(Failure::of(Kind::Input))?;
    // Check before unpacking, which enlarges a message a thousandfold.
    if compact.len() != terminal.length {
        let (found, length) = (compact.len(), terminal.length);
        return refused(format!("input {name:?} has {length} elements, but the file has {found}; use another file"));
    }
    server.receive(&compact, terminal.key).map_err(Failure::of(Kind::Run))
}

/// Key generation of the ciphertexts, and the input or output that they are for.
fn origin_of(content: &AnyCiphertexts) -> (KeyGeneration, &Port) {
    match content {
        AnyCiphertexts::Torus32(content) => (content.generation, &content.port),
        AnyCiphertexts::Torus64(content) => (content.generation, &content.port),
    }
}

#[pymethods]
impl PySignature {
    /// Fails if one of the `files`, inputs by name or with `outputs` outputs, belongs to another program, whatever its set.
    fn expect_own(&self, py: Python<'_>, outputs: bool, files: BTreeMap<String, Source>) -> PyResult<()> {
        detached(py, || {
            files.into_iter().try_for_each(|(name, source)| {
                let content: AnyCiphertexts = source.read().map_err(Failure::of(Kind::File))?;
                let needed = self.0.port(direction(outputs), &name);
                needed.expect(origin_of(&content).1, &source.name()).map_err(Failure::of(Kind::File))
            })
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
            let (set, generation) = (&parameters.0, self.generation);
            let port = signature.0.port(direction(outputs), name);
            let content = match &self.batches {
                AnyBatches::Torus32(batches) => stored(set, generation, batches, port, AnyCiphertexts::Torus32)?,
                AnyBatches::Torus64(batches) => stored(set, generation, batches, port, AnyCiphertexts::Torus64)?,
            };
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
        let (of32, of64) = match server.map(PyServerKey::key) {
            Some(AnyServerKey::Torus32(key)) => (Some(key), None),
            Some(AnyServerKey::Torus64(key)) => (None, Some(key)),
            None => (None, None),
        };
        detached(py, || {
            let (mut narrow, mut wide) = (Batches::new(), Batches::new());
            let mut first: Option<(String, KeyGeneration)> = None;
            for (name, source) in sources {
                let content: AnyCiphertexts = source.read().map_err(Failure::of(Kind::File))?;
                let path = source.name();
                let (generation, port) = origin_of(&content);
                // Check the program first: a different set follows from it.
                let needed = signature.0.port(direction(outputs), &name);
                needed.expect(port, &path).map_err(Failure::of(Kind::File))?;
                let found = Storable::parameters(&content);
                if *found != parameters.0 {
                    let (found, expected) = (found.name(), parameters.0.name());
                    let message = format!(
                        "{path}: the ciphertexts are of parameter set {found}, the keys of {expected}; use ciphertexts and keys of one set"
                    );
                    return Err(Failure::new(Kind::File, message));
                }
                match &first {
                    Some((of, own)) => {
                        own.expect(of, generation, &path, found.name()).map_err(Failure::of(Kind::File))?;
                    }
                    None => first = Some((path, generation)),
                }
                match content {
                    AnyCiphertexts::Torus32(own) => {
                        let batch = taken(own.content, &signature.0, &name, of32)?;
                        narrow.insert(name, batch);
                    }
                    AnyCiphertexts::Torus64(own) => {
                        let batch = taken(own.content, &signature.0, &name, of64)?;
                        wide.insert(name, batch);
                    }
                }
            }
            let torus32 = parameters.0.torus_bits() == 32;
            let batches = if torus32 { AnyBatches::Torus32(narrow) } else { AnyBatches::Torus64(wide) };
            let nothing = || Failure::new(Kind::Input, "no file of ciphertexts is named; name one for each batch");
            let (name, generation) = first.ok_or_else(nothing)?;
            Ok(Self { batches, generation, name })
        })
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
        let batches = match &self.batches {
            AnyBatches::Torus32(batches) => AnyBatches::Torus32(renamed(batches, &names)?),
            AnyBatches::Torus64(batches) => AnyBatches::Torus64(renamed(batches, &names)?),
        };
        Ok(Self { batches, generation: self.generation, name: self.name.clone() })
    }

    /// Bytes of all batches.
    #[getter]
    fn bytes(&self) -> usize {
        match &self.batches {
            AnyBatches::Torus32(batches) => bytes(batches),
            AnyBatches::Torus64(batches) => bytes(batches),
        }
    }

    /// Name and number of ciphertexts of each batch.
    #[getter]
    fn counts(&self) -> BTreeMap<String, usize> {
        match &self.batches {
            AnyBatches::Torus32(batches) => counts(batches),
            AnyBatches::Torus64(batches) => counts(batches),
        }
    }
}

fn bytes<T: Torus>(batches: &Batches<T>) -> usize {
    batches.values().map(|batch| size_of_val(batch.data())).sum()
}

fn counts<T: Torus>(batches: &Batches<T>) -> BTreeMap<String, usize> {
    batches.iter().map(|(name, batch)| (name.clone(), batch.len())).collect()
}
