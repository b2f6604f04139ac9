//! Keys and ciphertexts.

use crate::failure::{Failure, Kind, detached};
use crate::kernel::PyKernelProgram;
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use crate::progress::Callback;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::{Program, decode_output, encode_input};
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::{Direction, Port};
use polyfabric_schemes::tfhe::serial::{self, AnyCiphertexts, Ciphertexts};
use polyfabric_schemes::tfhe::{
    AnyClientKey, AnyCompressedServerKey, AnyServerKey, ClientKey, CompressedServerKey, KeyProgress, KeyUnrolling,
    LweBatch, LweKind, Parameters,
};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Named batches of ciphertexts.
pub type Batches<T> = BTreeMap<String, LweBatch<T>>;

/// The secret keys.
#[pyclass(name = "ClientKey", frozen)]
pub struct PyClientKey {
    key: Arc<AnyClientKey>,
    /// What errors call it: its file.
    name: String,
}

/// The public keys that a server computes with, and their transport form.
#[pyclass(name = "ServerKey", frozen)]
pub struct PyServerKey {
    compressed: Arc<AnyCompressedServerKey>,
    expanded: Arc<AnyServerKey>,
    /// What errors call it: its file.
    name: String,
}

impl PyServerKey {
    /// The keys that a runtime reads.
    pub fn key(&self) -> &AnyServerKey {
        &self.expanded
    }

    /// Fails unless `inputs` are under the client key that the server's keys were made with.
    pub fn expect_own(&self, inputs: &PyCiphertexts) -> Result<(), Failure> {
        let (key, set) = (&self.expanded, self.expanded.parameters().name());
        let same = key.generation().expect(&self.name, inputs.generation, &inputs.name, set);
        same.map_err(Failure::of(Kind::File))
    }

    fn expand(compressed: AnyCompressedServerKey, name: String, callback: &Callback) -> Self {
        let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
        let expanded = match &compressed {
            AnyCompressedServerKey::Torus32(key) => AnyServerKey::Torus32(key.expand(&hook)),
            AnyCompressedServerKey::Torus64(key) => AnyServerKey::Torus64(key.expand(&hook)),
        };
        Self { compressed: Arc::new(compressed), expanded: Arc::new(expanded), name }
    }
}

/// What errors call ciphertexts that were computed.
pub const OUTPUTS: &str = "the outputs";

/// Named ciphertexts, over either torus.
#[derive(Clone, Debug)]
pub enum AnyBatches {
    /// q = 2^32.
    Torus32(Batches<u32>),
    /// q = 2^64.
    Torus64(Batches<u64>),
}

/// Named ciphertexts of one key generation.
#[pyclass(name = "Ciphertexts", frozen)]
pub struct PyCiphertexts {
    /// The ciphertexts.
    pub batches: AnyBatches,
    /// The client key that they are under.
    pub generation: KeyGeneration,
    /// What errors call them: the first of their files.
    pub name: String,
}

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
        let missing =
            || Failure::new(Kind::Input, format!("input {name:?} is missing; give {} values", result.count()));
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
    bounds: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, Vec<i64>>, Failure> {
    let mut values = BTreeMap::new();
    for output in &kernel.outputs {
        let name = &*output.name;
        let missing = || Failure::new(Kind::Input, format!("the ciphertexts of output {name:?} are missing"));
        let batch = outputs.get(name).ok_or_else(missing)?;
        let kind = lwe_kind(kernel.op(output.value).result)?;
        let phases = client.decrypt_phase(kind, batch).map_err(Failure::of(Kind::Input))?;
        let bound = bounds.get(name).copied();
        values.insert(name.to_owned(), decode_output(program, name, &phases, bound).map_err(Failure::of(Kind::Input))?);
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
            Ok(Self { key: Arc::new(key), name: "the client key".to_owned() })
        })
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.key.parameters().clone())
    }

    /// Writes the secret keys, whole or not at all, readable by their owner alone.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || serial::save(&*self.key, &path).map_err(Failure::of(Kind::File)))
    }

    /// Reads the secret keys.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        detached(py, || {
            let key = Arc::new(serial::load(&path).map_err(Failure::of(Kind::File))?);
            Ok(Self { key, name: path.display().to_string() })
        })
    }

    /// Encodes and encrypts the inputs of `program`, lowered to `kernel`.
    fn encrypt(
        &self,
        py: Python<'_>,
        program: &PyProgram,
        kernel: &PyKernelProgram,
        inputs: BTreeMap<String, Vec<i64>>,
    ) -> PyResult<PyCiphertexts> {
        let (client, program, kernel) = (&*self.key, &*program.0, &*kernel.0);
        detached(py, || {
            let batches = match client {
                AnyClientKey::Torus32(client) => AnyBatches::Torus32(encrypt(client, program, kernel, &inputs)?),
                AnyClientKey::Torus64(client) => AnyBatches::Torus64(encrypt(client, program, kernel, &inputs)?),
            };
            Ok(PyCiphertexts { batches, generation: client.generation(), name: "the ciphertexts".to_owned() })
        })
    }

    /// Decrypts and decodes the outputs of `program`, lowered to `kernel`. Refuses an output whose error is above its bound in `bounds`, a fraction
    /// of the torus, or which is no value of its type.
    fn decrypt(
        &self,
        py: Python<'_>,
        program: &PyProgram,
        kernel: &PyKernelProgram,
        outputs: &PyCiphertexts,
        bounds: BTreeMap<String, f64>,
    ) -> PyResult<BTreeMap<String, Vec<i64>>> {
        let (client, program, kernel) = (&*self.key, &*program.0, &*kernel.0);
        let set = client.parameters().name();
        let same = client.generation().expect(&self.name, outputs.generation, &outputs.name, set);
        same.map_err(Failure::of(Kind::File))?;
        detached(py, || match (client, &outputs.batches) {
            (AnyClientKey::Torus32(client), AnyBatches::Torus32(outputs)) => {
                decrypt(client, program, kernel, outputs, &bounds)
            }
            (AnyClientKey::Torus64(client), AnyBatches::Torus64(outputs)) => {
                decrypt(client, program, kernel, outputs, &bounds)
            }
            _ => Err(torus_mismatch()),
        })
    }
}

#[pymethods]
impl PyServerKey {
    /// The server's keys for `client`, for `key_unrolling` secret bits an iteration; `progress(stage, done, total)` is called now and
    /// then.
    #[staticmethod]
    #[pyo3(signature = (client, progress = None, key_unrolling = 1))]
    fn generate(
        py: Python<'_>,
        client: &PyClientKey,
        progress: Option<Py<PyAny>>,
        key_unrolling: u32,
    ) -> PyResult<Self> {
        let unrolling = KeyUnrolling::new(key_unrolling).map_err(Failure::of(Kind::Program))?;
        let client = &*client.key;
        let callback = Callback::new(progress);
        detached(py, || {
            let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
            let compressed = match client {
                AnyClientKey::Torus32(client) => CompressedServerKey::generate_unrolled(client, unrolling, &hook)
                    .map(AnyCompressedServerKey::Torus32),
                AnyClientKey::Torus64(client) => CompressedServerKey::generate_unrolled(client, unrolling, &hook)
                    .map(AnyCompressedServerKey::Torus64),
            };
            Ok(Self::expand(compressed.map_err(Failure::of(Kind::Run))?, "the server key".to_owned(), &callback))
        })
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.expanded.parameters().clone())
    }

    /// Fails unless the keys were made with `client`, or with a key of its generation.
    fn expect_client(&self, client: &PyClientKey) -> PyResult<()> {
        let set = client.key.parameters().name();
        let same = client.key.generation().expect(&client.name, self.expanded.generation(), &self.name, set);
        Ok(same.map_err(Failure::of(Kind::File))?)
    }

    /// Size in memory, as a runtime reads it in the coefficient domain.
    #[getter]
    fn bytes(&self) -> u64 {
        match &*self.expanded {
            AnyServerKey::Torus32(key) => key.bytes(),
            AnyServerKey::Torus64(key) => key.bytes(),
        }
    }

    /// Size of the transport form.
    #[getter]
    fn compressed_bytes(&self) -> u64 {
        match &*self.compressed {
            AnyCompressedServerKey::Torus32(key) => key.bytes(),
            AnyCompressedServerKey::Torus64(key) => key.bytes(),
        }
    }

    /// Writes the transport form, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || serial::save(&*self.compressed, &path).map_err(Failure::of(Kind::File)))
    }

    /// Reads the transport form, and expands it.
    #[staticmethod]
    #[pyo3(signature = (path, progress = None))]
    fn load(py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let callback = Callback::new(progress);
        detached(py, || {
            let compressed = serial::load(&path).map_err(Failure::of(Kind::File))?;
            Ok(Self::expand(compressed, path.display().to_string(), &callback))
        })
    }
}

/// Which way ciphertexts go.
pub fn direction(outputs: bool) -> Direction {
    if outputs { Direction::Output } else { Direction::Input }
}

/// One file's content.
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
    Ok(wrap(Ciphertexts { parameters: parameters.clone(), generation, port, kind, batch: batch.clone() }))
}

#[pymethods]
impl PyCiphertexts {
    /// Writes the batch `name`, an input of `program` or one of its `outputs`; whole or not at all.
    fn save(
        &self,
        py: Python<'_>,
        parameters: &PyParameters,
        program: &PyProgram,
        outputs: bool,
        name: &str,
        path: PathBuf,
    ) -> PyResult<()> {
        detached(py, || {
            let (set, generation) = (&parameters.0, self.generation);
            let port = program.0.port(direction(outputs), name);
            let content = match &self.batches {
                AnyBatches::Torus32(batches) => stored(set, generation, batches, port, AnyCiphertexts::Torus32)?,
                AnyBatches::Torus64(batches) => stored(set, generation, batches, port, AnyCiphertexts::Torus64)?,
            };
            serial::save(&content, &path).map_err(Failure::of(Kind::File))
        })
    }

    /// Reads batches written with `save`: the inputs of `program`, or its `outputs`; all must be of the parameter set `parameters`, of this program,
    /// and of one key generation.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        parameters: &PyParameters,
        program: &PyProgram,
        outputs: bool,
        paths: BTreeMap<String, PathBuf>,
    ) -> PyResult<Self> {
        detached(py, || {
            let (mut narrow, mut wide) = (Batches::new(), Batches::new());
            let mut first: Option<(String, KeyGeneration)> = None;
            for (name, path) in paths {
                let content: AnyCiphertexts = serial::load(&path).map_err(Failure::of(Kind::File))?;
                let found = serial::Storable::parameters(&content);
                if *found != parameters.0 {
                    let (path, found, expected) = (path.display(), found.name(), parameters.0.name());
                    let message = format!(
                        "{path}: the ciphertexts are of parameter set {found}, the keys of {expected}; use ciphertexts and keys of one set"
                    );
                    return Err(Failure::new(Kind::File, message));
                }
                let (generation, port) = match &content {
                    AnyCiphertexts::Torus32(content) => (content.generation, &content.port),
                    AnyCiphertexts::Torus64(content) => (content.generation, &content.port),
                };
                let path = path.display().to_string();
                let needed = program.0.port(direction(outputs), &name);
                needed.expect(port, &path).map_err(Failure::of(Kind::File))?;
                match &first {
                    Some((of, own)) => {
                        own.expect(of, generation, &path, found.name()).map_err(Failure::of(Kind::File))?;
                    }
                    None => first = Some((path, generation)),
                }
                match content {
                    AnyCiphertexts::Torus32(content) => drop(narrow.insert(name, content.batch)),
                    AnyCiphertexts::Torus64(content) => drop(wide.insert(name, content.batch)),
                }
            }
            let torus32 = parameters.0.torus_bits() == 32;
            let batches = if torus32 { AnyBatches::Torus32(narrow) } else { AnyBatches::Torus64(wide) };
            let nothing = || Failure::new(Kind::Input, "no file of ciphertexts is named; name one for each batch");
            let (name, generation) = first.ok_or_else(nothing)?;
            Ok(Self { batches, generation, name })
        })
    }

    /// Size of all of them.
    #[getter]
    fn bytes(&self) -> usize {
        match &self.batches {
            AnyBatches::Torus32(batches) => bytes(batches),
            AnyBatches::Torus64(batches) => bytes(batches),
        }
    }

    /// Name and number of the ciphertexts of each batch.
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
