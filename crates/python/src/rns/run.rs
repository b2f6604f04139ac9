//! CKKS and BGV keys, ciphertexts, and execution.

use super::parameters::PyRnsParameters;
use super::plan::PyRnsPlan;
use super::program::{PyValues, read_all};
use super::signature::PyRnsSignature;
use crate::card::SlotsOnCard;
use crate::failure::{Failure, Kind};
use crate::keys::direction;
use crate::progress::Callback;
use crate::storage::{Source, borrowed};
use crate::workers::detached;
use polyfabric_client::rns::{
    Ciphertexts, Encrypter, Origin, PublicKey, Reader, SecretKey, decrypt, encrypt, encrypt_one, foreign,
    save_evaluation_keys, write,
};
use polyfabric_planner::rns::MOST_PREPARED_BYTES;
use polyfabric_program::rns::homomorphic::{NodeId, OBSERVED, Values, evaluate};
use polyfabric_program::rns::lowering::check_keys;
use polyfabric_program::rns::signature::Signature;
use polyfabric_runtime::Progress;
use polyfabric_runtime::rns::cpu::Executor;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::port::Direction;
use polyfabric_schemes::progress::KeyProgress;
use polyfabric_schemes::rns::{KeySet, KeyStorage, RnsPolynomial};
use polyfabric_schemes::serial::FileError;
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The client's secret key.
#[pyclass(name = "RnsClientKey", frozen)]
pub struct PyRnsClient {
    client: SecretKey,
    origin: Origin,
}

/// A public key, with which anybody encrypts for the client.
#[pyclass(name = "RnsPublicKey", frozen)]
pub struct PyRnsPublicKey {
    key: PublicKey,
    origin: Origin,
}

impl PyRnsPublicKey {
    pub(super) fn new(key: PublicKey, name: String) -> Self {
        let origin = key.origin(name);
        Self { key, origin }
    }
}

#[pymethods]
impl PyRnsPublicKey {
    /// Writes the key atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || Ok(self.key.save(path.as_deref())?))
    }

    /// Reads the key from a file or bytes written by `save`; `scheme` is "ckks" or "bgv".
    #[staticmethod]
    fn load(py: Python<'_>, scheme: &str, source: Source) -> PyResult<Self> {
        detached(py, || {
            let key = PublicKey::load(&source.borrowed(), scheme == "bgv").map_err(Failure::of(Kind::File))?;
            Ok(Self::new(key, source.name()))
        })
    }

    /// Fails unless it belongs to the key generation of `client`.
    fn expect_client(&self, client: &PyRnsClient) -> PyResult<()> {
        Ok(client.origin.expect(&self.origin).map_err(Failure::from)?)
    }

    #[getter]
    fn parameters(&self) -> PyRnsParameters {
        PyRnsParameters(self.origin.set.clone())
    }

    /// Encodes and encrypts a program's inputs.
    fn encrypt(
        &self,
        py: Python<'_>,
        signature: &PyRnsSignature,
        inputs: BTreeMap<String, PyValues>,
    ) -> PyResult<PyRnsCiphertexts> {
        encrypted(py, &self.key, &self.origin, signature, inputs)
    }

    /// Encodes and encrypts one input of a program and writes it atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (signature, name, values, path = None))]
    fn encrypt_to(
        &self,
        py: Python<'_>,
        signature: &PyRnsSignature,
        name: &str,
        values: PyValues,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Vec<u8>>> {
        let signature = &*signature.0;
        let values = values.read()?;
        detached(py, || {
            self.origin.expect_set(signature.set())?;
            let ciphertext = encrypt_one(&self.key, signature, name, &values)?;
            Ok(write(signature, self.origin.generation, Direction::Input, name, ciphertext, path.as_deref())?)
        })
    }
}

/// The evaluation (switching) keys.
#[pyclass(name = "RnsServerKey", frozen)]
pub struct PyRnsServer {
    pub keys: Arc<KeySet>,
    pub origin: Origin,
    pub on_card: SlotsOnCard,
}

impl PyRnsServer {
    pub fn new(keys: KeySet, origin: Origin) -> Self {
        Self { keys: Arc::new(keys), origin, on_card: SlotsOnCard::default() }
    }
}

/// Polynomials in the order of a kernel program's inputs or outputs.
#[pyclass(name = "RnsCiphertexts", frozen)]
pub struct PyRnsCiphertexts(pub Ciphertexts);

fn run_failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Run, error)
}

impl PyRnsClient {
    fn new(client: SecretKey, name: String) -> Self {
        let origin = client.origin(name);
        Self { client, origin }
    }
}

#[pymethods]
impl PyRnsClient {
    /// Generates a secret key of a program's parameter set.
    #[staticmethod]
    fn generate(py: Python<'_>, signature: &PyRnsSignature) -> PyResult<Self> {
        detached(py, || Ok(Self::new(SecretKey::generate(&signature.0)?, "the client key".to_owned())))
    }

    /// Writes the key atomically, readable only by the owner; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || Ok(self.client.save(path.as_deref())?))
    }

    /// Reads the key from a file or bytes written by `save`; `scheme` is "ckks" or "bgv".
    #[staticmethod]
    fn load(py: Python<'_>, scheme: &str, source: Source) -> PyResult<Self> {
        detached(py, || {
            let client = SecretKey::load(&source.borrowed(), scheme == "bgv").map_err(Failure::of(Kind::File))?;
            Ok(Self::new(client, source.name()))
        })
    }

    #[getter]
    fn parameters(&self) -> PyRnsParameters {
        PyRnsParameters(self.origin.set.clone())
    }

    /// Generates a public key.
    fn public(&self, py: Python<'_>) -> PyResult<PyRnsPublicKey> {
        detached(py, || Ok(PyRnsPublicKey::new(self.client.public()?, "the public key".to_owned())))
    }

    /// Generates the switching keys that a program needs.
    #[pyo3(signature = (signature, progress = None))]
    fn server(&self, py: Python<'_>, signature: &PyRnsSignature, progress: Option<Py<PyAny>>) -> PyResult<PyRnsServer> {
        let signature = &*signature.0;
        let callback = Callback::new(progress);
        detached(py, || {
            self.origin.expect_set(signature.set())?;
            let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
            let keys = self.client.evaluation_keys(signature, &hook)?;
            let origin = Origin { name: "the switching keys".to_owned(), ..self.origin.clone() };
            Ok(PyRnsServer::new(keys, origin))
        })
    }

    /// Encodes and encrypts a program's inputs.
    fn encrypt(
        &self,
        py: Python<'_>,
        signature: &PyRnsSignature,
        inputs: BTreeMap<String, PyValues>,
    ) -> PyResult<PyRnsCiphertexts> {
        encrypted(py, &self.client, &self.origin, signature, inputs)
    }

    /// Decrypts and decodes a program's outputs, all slots of each. CKKS outputs named in `real` must be real. Rejects values that no execution
    /// produces; without `real`, which is for measuring errors, accepts all.
    fn decrypt(
        &self,
        py: Python<'_>,
        signature: &PyRnsSignature,
        outputs: &PyRnsCiphertexts,
        real: Option<Vec<String>>,
    ) -> PyResult<BTreeMap<String, PyValues>> {
        let signature = &*signature.0;
        detached(py, || Ok(of_user(&self.decrypted(signature, outputs, real.as_deref(), &mut Reader::Own)?)))
    }

    /// As `decrypt`, for sharing CKKS results: adds noise of `deviation` in every slot (0 for none) and returns warnings for the client.
    fn decrypt_to_share(
        &self,
        py: Python<'_>,
        signature: &PyRnsSignature,
        outputs: &PyRnsCiphertexts,
        real: Vec<String>,
        deviation: f64,
    ) -> PyResult<(BTreeMap<String, PyValues>, Vec<String>)> {
        let signature = &*signature.0;
        detached(py, || {
            let mut reader = Reader::Others { deviation, warnings: Vec::new() };
            let values = of_user(&self.decrypted(signature, outputs, Some(&real), &mut reader)?);
            Ok((values, if let Reader::Others { warnings, .. } = reader { warnings } else { Vec::new() }))
        })
    }

    /// For a measured plan: the largest error of every node compared with the clear evaluation; for BGV, the number of wrong slots.
    fn errors(
        &self,
        py: Python<'_>,
        plan: &PyRnsPlan,
        inputs: BTreeMap<String, PyValues>,
        outputs: &PyRnsCiphertexts,
    ) -> PyResult<BTreeMap<u32, f64>> {
        let plan = &*plan.plan;
        let inputs = read_all(inputs)?;
        detached(py, || {
            let clear = evaluate(plan.program(), &inputs).map_err(Failure::of(Kind::Input))?;
            let values = self.decrypted(&*plan.signature()?, outputs, None, &mut Reader::Own)?;
            let nodes = values.iter().filter_map(|(name, values)| {
                let node = name.strip_prefix(OBSERVED)?.parse().ok()?;
                Some((node, difference(values, clear.values(NodeId(node)))))
            });
            Ok(nodes.collect())
        })
    }
}

impl PyRnsClient {
    fn decrypted(
        &self,
        signature: &Signature,
        outputs: &PyRnsCiphertexts,
        real: Option<&[String]>,
        reader: &mut Reader,
    ) -> Result<BTreeMap<String, Values>, Failure> {
        Ok(decrypt(&self.client, &self.origin, signature, &outputs.0, real, reader)?)
    }
}

/// The outputs that the user declared.
pub(super) fn of_user(values: &BTreeMap<String, Values>) -> BTreeMap<String, PyValues> {
    let user = values.iter().filter(|(name, _)| !name.starts_with(OBSERVED));
    user.map(|(name, values)| (name.clone(), values.into())).collect()
}

#[pymethods]
impl PyRnsServer {
    /// Writes the keys in transport form atomically; returns their bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || Ok(save_evaluation_keys(&self.keys, &self.origin, path.as_deref())?))
    }

    /// Reads keys from a file or bytes written by `save`; `scheme` is "ckks" or "bgv". With `expected`, the keys must be exactly those of its
    /// set that it lists; other keys are rejected before they are read.
    #[staticmethod]
    #[pyo3(signature = (scheme, source, expected = None))]
    fn load(py: Python<'_>, scheme: &str, source: Source, expected: Option<&PyRnsSignature>) -> PyResult<Self> {
        let file = |error: FileError| Failure::new(Kind::File, error);
        let expected = expected.map(|signature| &*signature.0);
        detached(py, || {
            let wanted = expected.map(|own| own.keys().iter().map(|key| (key.id, &*key.limbs)).collect());
            let (set, generation, keys) = if scheme == "bgv" {
                let set = match expected.map(Signature::set) {
                    Some(ParameterSet::Bgv(needed)) => source.read_of(needed, |parameters, length, reader| {
                        bgv::serial::EvaluationKeys::read(parameters, length, wanted.as_ref(), reader)
                    })?,
                    Some(ParameterSet::Ckks(_)) => return Err(foreign().into()),
                    None => source.read().map_err(file)?,
                };
                (ParameterSet::Bgv(set.parameters), set.generation, set.keys)
            } else {
                let set = match expected.map(Signature::set) {
                    Some(ParameterSet::Ckks(needed)) => source.read_of(needed, |parameters, length, reader| {
                        ckks::serial::EvaluationKeys::read(parameters, length, wanted.as_ref(), reader)
                    })?,
                    Some(ParameterSet::Bgv(_)) => return Err(foreign().into()),
                    None => source.read().map_err(file)?,
                };
                (ParameterSet::Ckks(set.parameters), set.generation, set.keys)
            };
            // Unpack the transport form, since every operation reads the keys.
            let storage = KeyStorage { seeded: 2 * keys.bytes() > MOST_PREPARED_BYTES, ..KeyStorage::BYTES };
            let origin = Origin { set, generation, name: source.name() };
            Ok(Self::new(keys.stored(storage), origin))
        })
    }

    /// Fails unless `client` belongs to the same key generation.
    fn expect_client(&self, client: &PyRnsClient) -> PyResult<()> {
        Ok(client.origin.expect(&self.origin).map_err(Failure::from)?)
    }

    /// Fails unless all keys that `plan` reads are present, before a run needs them.
    fn expect_keys(&self, plan: &PyRnsPlan) -> PyResult<()> {
        let plan = &*plan.plan;
        self.origin.expect_set(&plan.set()).map_err(Failure::from)?;
        Ok(check_keys(plan.program(), plan.kernel(), &self.keys).map_err(Failure::of(Kind::Input))?)
    }

    #[getter]
    fn parameters(&self) -> PyRnsParameters {
        PyRnsParameters(self.origin.set.clone())
    }

    /// Bytes in memory.
    #[getter]
    fn bytes(&self) -> usize {
        self.keys.bytes()
    }

    /// Runs the kernel program of `plan` on `threads` threads, or with the reference interpreter if `None`.
    #[pyo3(signature = (plan, inputs, threads = None, progress = None))]
    fn execute(
        &self,
        py: Python<'_>,
        plan: &PyRnsPlan,
        inputs: &PyRnsCiphertexts,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyRnsCiphertexts> {
        let (kept, plan, server) = (&plan.kept, &*plan.plan, &*self.keys);
        let callback = Callback::new(progress);
        detached(py, || {
            self.origin.expect(&inputs.0.origin)?;
            let inputs: Vec<&RnsPolynomial> = inputs.0.polynomials.iter().collect();
            let outputs = match threads {
                Some(threads) => {
                    let executor = Executor::of(kept.of(plan, server, threads)?, server).map_err(run_failure)?;
                    executor.run(&inputs, &CallbackProgress(&callback))
                }
                None => interpreter::run(plan.kernel(), server, &inputs, &CallbackProgress(&callback)),
            };
            Ok(self.results(outputs.map_err(run_failure)?))
        })
    }
}

impl PyRnsServer {
    /// Labels the polynomials as outputs of an execution with these keys.
    pub fn results(&self, polynomials: Vec<RnsPolynomial>) -> PyRnsCiphertexts {
        PyRnsCiphertexts(Ciphertexts {
            polynomials,
            origin: Origin { name: "the outputs".to_owned(), ..self.origin.clone() },
        })
    }
}

#[pymethods]
impl PyRnsCiphertexts {
    /// Bytes in memory.
    #[getter]
    fn bytes(&self) -> usize {
        self.0.polynomials.iter().map(RnsPolynomial::bytes).sum()
    }

    /// Writes the ciphertext `name`, an input or (with `outputs`) an output, atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (signature, outputs, name, path = None))]
    fn save(
        &self,
        py: Python<'_>,
        signature: &PyRnsSignature,
        outputs: bool,
        name: &str,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || Ok(self.0.save(&signature.0, direction(outputs), name, path.as_deref())?))
    }

    /// Reads a program's inputs, or its `outputs`, from files or their bytes.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        signature: &PyRnsSignature,
        outputs: bool,
        files: BTreeMap<String, Source>,
    ) -> PyResult<Self> {
        detached(py, || Ok(Self(Ciphertexts::load(&signature.0, direction(outputs), &borrowed(&files))?)))
    }
}

struct CallbackProgress<'a>(&'a Callback);

impl Progress for CallbackProgress<'_> {
    fn update(&self, stage: &str, done: u64, total: u64) {
        self.0.tell(stage, done, total);
    }
}

fn difference(found: &Values, expected: &Values) -> f64 {
    match (found, expected) {
        (Values::Complex(found), Values::Complex(expected)) => {
            let errors = found.iter().zip(expected.iter()).map(|(a, b)| (*a - *b).abs());
            // NaN counts as an infinite error.
            errors.map(|error| if error.is_nan() { f64::INFINITY } else { error }).fold(0.0, f64::max)
        }
        (Values::Integer(found), Values::Integer(expected)) => {
            found.iter().zip(expected.iter()).filter(|(a, b)| a != b).count() as f64
        }
        _ => f64::INFINITY,
    }
}

/// Encrypts a program's inputs with a key of `origin`.
fn encrypted(
    py: Python<'_>,
    key: &(impl Encrypter + Sync),
    origin: &Origin,
    signature: &PyRnsSignature,
    inputs: BTreeMap<String, PyValues>,
) -> PyResult<PyRnsCiphertexts> {
    let signature = &*signature.0;
    let inputs = read_all(inputs)?;
    detached(py, || Ok(PyRnsCiphertexts(encrypt(key, origin, signature, &inputs)?)))
}
