//! CKKS and BGV keys, ciphertexts, and execution.

use super::files;
use super::parameters::PySlotParameters;
use super::plan::PySlotPlan;
use super::program::{PyValues, read_all};
use super::signature::{PySlotSignature, key_ids};
use crate::card::SlotsOnCard;
use crate::failure::{Failure, Kind};
use crate::progress::Callback;
use crate::storage::{Source, written};
use crate::workers::detached;
use polyfabric_planner::slots::MOST_PREPARED_BYTES;
use polyfabric_program::rns::homomorphic::{Complex, NodeId, OBSERVED, Values, centred, evaluate};
use polyfabric_program::rns::lowering::check_keys;
use polyfabric_program::rns::signature::{Encoding, Signature, Terminal};
use polyfabric_runtime::Progress;
use polyfabric_runtime::rns::cpu::Executor;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::ckks::CkksCiphertext;
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::gsw::GswCiphertext;
use polyfabric_schemes::progress::KeyProgress;
use polyfabric_schemes::rns::{Ciphertext, KeySet, KeyStorage, LimbId, RnsPolynomial};
use polyfabric_schemes::serial::FileError;
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

enum Client {
    Ckks(ckks::ClientKey),
    Bgv(bgv::ClientKey),
}

impl Client {
    fn parameters(&self) -> ParameterSet {
        match self {
            Self::Ckks(client) => ParameterSet::Ckks(client.parameters().clone()),
            Self::Bgv(client) => ParameterSet::Bgv(client.parameters().clone()),
        }
    }

    fn generation(&self) -> KeyGeneration {
        match self {
            Self::Ckks(client) => client.generation(),
            Self::Bgv(client) => client.generation(),
        }
    }
}

/// Origin of keys or ciphertexts: set, key generation, and name in errors.
#[derive(Clone)]
pub struct Origin {
    pub set: ParameterSet,
    pub generation: KeyGeneration,
    /// A file path or a description.
    pub name: String,
}

impl Origin {
    /// Fails unless `other` has the same set and key generation.
    pub fn expect(&self, other: &Self) -> Result<(), Failure> {
        if self.set != other.set {
            let (own, others) = (self.set.name(), other.set.name());
            let message = format!(
                "{} is of parameter set {own}, {} of {others}; use files of one key generation",
                self.name, other.name
            );
            return Err(Failure::new(Kind::File, message));
        }
        let same = self.generation.expect(&self.name, other.generation, &other.name, self.set.name());
        same.map_err(Failure::of(Kind::File))
    }

    /// Fails unless this is the set `wanted` of a program.
    pub fn expect_set(&self, wanted: &ParameterSet) -> Result<(), Failure> {
        if self.set == *wanted {
            return Ok(());
        }
        let (name, own, wanted) = (&self.name, self.set.name(), wanted.name());
        let message = format!("{name} is of parameter set {own}, the program is lowered for {wanted}; use one set");
        Err(Failure::new(Kind::Input, message))
    }
}

/// The client's secret key.
#[pyclass(name = "SlotClient", frozen)]
pub struct PySlotClient {
    client: Client,
    origin: Origin,
}

pub(super) enum Public {
    Ckks(ckks::PublicEncryptionKey),
    Bgv(bgv::BgvPublicKey),
}

/// A public key, with which anybody encrypts for the client.
#[pyclass(name = "SlotPublicKey", frozen)]
pub struct PySlotPublicKey {
    key: Public,
    origin: Origin,
}

impl PySlotPublicKey {
    pub(super) fn new(key: Public, name: String) -> Self {
        let (set, generation) = match &key {
            Public::Ckks(key) => (ParameterSet::Ckks(key.parameters().clone()), key.generation()),
            Public::Bgv(key) => (ParameterSet::Bgv(key.parameters().clone()), key.generation()),
        };
        Self { key, origin: Origin { set, generation, name } }
    }
}

#[pymethods]
impl PySlotPublicKey {
    /// Writes the key atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || match &self.key {
            Public::Ckks(key) => written(key, path.as_deref()),
            Public::Bgv(key) => written(key, path.as_deref()),
        })
    }

    /// Reads the key from a file or bytes written by `save`; `scheme` is "ckks" or "bgv".
    #[staticmethod]
    fn load(py: Python<'_>, scheme: &str, source: Source) -> PyResult<Self> {
        detached(py, || {
            let key = if scheme == "bgv" { source.read().map(Public::Bgv) } else { source.read().map(Public::Ckks) };
            Ok(Self::new(key.map_err(Failure::of(Kind::File))?, source.name()))
        })
    }

    /// Fails unless it belongs to the key generation of `client`.
    fn expect_client(&self, client: &PySlotClient) -> PyResult<()> {
        Ok(client.origin.expect(&self.origin)?)
    }

    #[getter]
    fn parameters(&self) -> PySlotParameters {
        PySlotParameters(self.origin.set.clone())
    }

    /// Encodes and encrypts a program's inputs.
    fn encrypt(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        inputs: BTreeMap<String, PyValues>,
    ) -> PyResult<PySlotCiphertexts> {
        encrypt(py, &self.key, &self.origin, signature, inputs)
    }

    /// Encodes and encrypts one input of a program and writes it atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (signature, name, values, path = None))]
    fn encrypt_to(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        name: &str,
        values: PyValues,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Vec<u8>>> {
        let signature = &*signature.0;
        let values = values.read()?;
        detached(py, || {
            self.origin.expect_set(signature.set())?;
            let ciphertext = encrypt_one(&self.key, signature, name, &values)?;
            files::write(signature, self.origin.generation, false, name, ciphertext, path.as_deref())
        })
    }
}

/// The evaluation (switching) keys.
#[pyclass(name = "SlotServer", frozen)]
pub struct PySlotServer {
    pub keys: Arc<KeySet>,
    pub origin: Origin,
    pub on_card: SlotsOnCard,
}

impl PySlotServer {
    pub fn new(keys: KeySet, origin: Origin) -> Self {
        Self { keys: Arc::new(keys), origin, on_card: SlotsOnCard::default() }
    }
}

/// Polynomials in the order of a kernel program's inputs or outputs.
#[pyclass(name = "SlotCiphertexts", frozen)]
pub struct PySlotCiphertexts {
    pub polynomials: Vec<RnsPolynomial>,
    pub origin: Origin,
}

fn run_failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Run, error)
}

impl PySlotClient {
    fn new(client: Client, name: String) -> Self {
        let origin = Origin { set: client.parameters(), generation: client.generation(), name };
        Self { client, origin }
    }
}

#[pymethods]
impl PySlotClient {
    /// Generates a secret key of a program's parameter set.
    #[staticmethod]
    fn generate(py: Python<'_>, signature: &PySlotSignature) -> PyResult<Self> {
        detached(py, || {
            let client = match signature.0.set() {
                ParameterSet::Ckks(parameters) => {
                    ckks::ClientKey::generate(parameters).map(Client::Ckks).map_err(run_failure)
                }
                ParameterSet::Bgv(parameters) => {
                    bgv::ClientKey::generate(parameters).map(Client::Bgv).map_err(run_failure)
                }
            };
            Ok(Self::new(client?, "the client key".to_owned()))
        })
    }

    /// Writes the key atomically, readable only by the owner; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || match &self.client {
            Client::Ckks(key) => written(key, path.as_deref()),
            Client::Bgv(key) => written(key, path.as_deref()),
        })
    }

    /// Reads the key from a file or bytes written by `save`; `scheme` is "ckks" or "bgv".
    #[staticmethod]
    fn load(py: Python<'_>, scheme: &str, source: Source) -> PyResult<Self> {
        detached(py, || {
            let client = if scheme == "bgv" { source.read().map(Client::Bgv) } else { source.read().map(Client::Ckks) };
            Ok(Self::new(client.map_err(Failure::of(Kind::File))?, source.name()))
        })
    }

    #[getter]
    fn parameters(&self) -> PySlotParameters {
        PySlotParameters(self.origin.set.clone())
    }

    /// Generates a public key.
    fn public(&self, py: Python<'_>) -> PyResult<PySlotPublicKey> {
        detached(py, || {
            let key = match &self.client {
                Client::Ckks(client) => client.public_key().map(Public::Ckks).map_err(run_failure)?,
                Client::Bgv(client) => client.public_key().map(Public::Bgv).map_err(run_failure)?,
            };
            Ok(PySlotPublicKey::new(key, "the public key".to_owned()))
        })
    }

    /// Generates the switching keys that a program needs.
    #[pyo3(signature = (signature, progress = None))]
    fn server(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PySlotServer> {
        let signature = &*signature.0;
        let callback = Callback::new(progress);
        detached(py, || {
            self.origin.expect_set(signature.set())?;
            let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
            let keys = match &self.client {
                Client::Ckks(client) => {
                    let wanted = signature.keys().iter();
                    let wanted: Vec<_> = wanted.map(|key| (key.id, key.limbs.clone(), key.storage)).collect();
                    client.evaluation_keys_over(&wanted, None, &hook).map_err(run_failure)?
                }
                Client::Bgv(client) => client.switching_keys(key_ids(signature), &hook).map_err(run_failure)?,
            };
            let origin = Origin { name: "the switching keys".to_owned(), ..self.origin.clone() };
            Ok(PySlotServer::new(keys, origin))
        })
    }

    /// Encodes and encrypts a program's inputs.
    fn encrypt(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        inputs: BTreeMap<String, PyValues>,
    ) -> PyResult<PySlotCiphertexts> {
        encrypt(py, &self.client, &self.origin, signature, inputs)
    }

    /// Decrypts and decodes a program's outputs, all slots of each. CKKS outputs named in `real` must be real. Rejects values that no execution
    /// produces; without `real`, which is for measuring errors, accepts all.
    fn decrypt(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        outputs: &PySlotCiphertexts,
        real: Option<Vec<String>>,
    ) -> PyResult<BTreeMap<String, PyValues>> {
        let signature = &*signature.0;
        detached(py, || Ok(of_user(&self.decrypted(signature, outputs, real.as_deref(), &mut Reader::Own)?)))
    }

    /// As `decrypt`, for sharing CKKS results: adds noise of `deviation` in every slot (0 for none) and returns warnings for the client.
    fn decrypt_to_share(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        outputs: &PySlotCiphertexts,
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
        plan: &PySlotPlan,
        inputs: BTreeMap<String, PyValues>,
        outputs: &PySlotCiphertexts,
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

impl PySlotClient {
    fn decrypted(
        &self,
        signature: &Signature,
        outputs: &PySlotCiphertexts,
        real: Option<&[String]>,
        reader: &mut Reader,
    ) -> Result<BTreeMap<String, Values>, Failure> {
        self.origin.expect_set(signature.set())?;
        self.origin.expect(&outputs.origin)?;
        decrypt(&self.client, signature, &outputs.polynomials, real, reader)
    }
}

/// The recipient of a decryption.
enum Reader {
    /// Only the client.
    Own,
    /// Others too; noise of `deviation` is added in every slot unless it is 0.
    Others {
        deviation: f64,
        /// Warnings for the client.
        warnings: Vec<String>,
    },
}

impl Reader {
    fn decrypt(
        &mut self,
        client: &ckks::ClientKey,
        ciphertext: &CkksCiphertext,
        expected: &ckks::Expected,
    ) -> Result<Vec<ckks::Complex>, ckks::ClientError> {
        let Self::Others { deviation, warnings } = self else { return client.decrypt_expected(ciphertext, expected) };
        // Two coefficients per slot add up in each slot.
        let coefficient = *deviation * ciphertext.scale() / (2.0 * ciphertext.slots() as f64).sqrt();
        let flooding = (*deviation != 0.0).then(|| coefficient.log2());
        let shared = client.decrypt_to_share(ciphertext, flooding, Some(expected))?;
        warnings.push(shared.warning);
        Ok(shared.values)
    }
}

/// The outputs that the user declared.
pub(super) fn of_user(values: &BTreeMap<String, Values>) -> BTreeMap<String, PyValues> {
    let user = values.iter().filter(|(name, _)| !name.starts_with(OBSERVED));
    user.map(|(name, values)| (name.clone(), values.into())).collect()
}

#[pymethods]
impl PySlotServer {
    /// Writes the keys in transport form atomically; returns their bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            let (keys, generation) = ((*self.keys).clone(), self.origin.generation);
            match self.origin.set.clone() {
                ParameterSet::Ckks(parameters) => {
                    written(&ckks::serial::EvaluationKeys { parameters, generation, keys }, path.as_deref())
                }
                ParameterSet::Bgv(parameters) => {
                    written(&bgv::serial::EvaluationKeys { parameters, generation, keys }, path.as_deref())
                }
            }
        })
    }

    /// Reads keys from a file or bytes written by `save`; `scheme` is "ckks" or "bgv". With `expected`, the keys must be exactly those of its
    /// set that it lists; other keys are rejected before they are read.
    #[staticmethod]
    #[pyo3(signature = (scheme, source, expected = None))]
    fn load(py: Python<'_>, scheme: &str, source: Source, expected: Option<&PySlotSignature>) -> PyResult<Self> {
        let file = |error: FileError| Failure::new(Kind::File, error);
        let expected = expected.map(|signature| &*signature.0);
        detached(py, || {
            let wanted = expected.map(|own| own.keys().iter().map(|key| (key.id, &*key.limbs)).collect());
            let (set, generation, keys) = if scheme == "bgv" {
                let set = match expected.map(Signature::set) {
                    Some(ParameterSet::Bgv(needed)) => source.read_of(needed, |parameters, length, reader| {
                        bgv::serial::EvaluationKeys::read(parameters, length, wanted.as_ref(), reader)
                    })?,
                    Some(ParameterSet::Ckks(_)) => return Err(foreign()),
                    None => source.read().map_err(file)?,
                };
                (ParameterSet::Bgv(set.parameters), set.generation, set.keys)
            } else {
                let set = match expected.map(Signature::set) {
                    Some(ParameterSet::Ckks(needed)) => source.read_of(needed, |parameters, length, reader| {
                        ckks::serial::EvaluationKeys::read(parameters, length, wanted.as_ref(), reader)
                    })?,
                    Some(ParameterSet::Bgv(_)) => return Err(foreign()),
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
    fn expect_client(&self, client: &PySlotClient) -> PyResult<()> {
        Ok(client.origin.expect(&self.origin)?)
    }

    /// Fails unless all keys that `plan` reads are present, before a run needs them.
    fn expect_keys(&self, plan: &PySlotPlan) -> PyResult<()> {
        let plan = &*plan.plan;
        self.origin.expect_set(&plan.set())?;
        Ok(check_keys(plan.program(), plan.kernel(), &self.keys).map_err(Failure::of(Kind::Input))?)
    }

    #[getter]
    fn parameters(&self) -> PySlotParameters {
        PySlotParameters(self.origin.set.clone())
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
        plan: &PySlotPlan,
        inputs: &PySlotCiphertexts,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PySlotCiphertexts> {
        let (kept, plan, server) = (&plan.kept, &*plan.plan, &*self.keys);
        let callback = Callback::new(progress);
        detached(py, || {
            self.origin.expect(&inputs.origin)?;
            let inputs: Vec<&RnsPolynomial> = inputs.polynomials.iter().collect();
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

impl PySlotServer {
    /// Labels the polynomials as outputs of an execution with these keys.
    pub fn results(&self, polynomials: Vec<RnsPolynomial>) -> PySlotCiphertexts {
        PySlotCiphertexts { polynomials, origin: Origin { name: "the outputs".to_owned(), ..self.origin.clone() } }
    }
}

#[pymethods]
impl PySlotCiphertexts {
    /// Bytes in memory.
    #[getter]
    fn bytes(&self) -> usize {
        self.polynomials.iter().map(RnsPolynomial::bytes).sum()
    }

    /// Writes the ciphertext `name`, an input or (with `outputs`) an output, atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (signature, outputs, name, path = None))]
    fn save(
        &self,
        py: Python<'_>,
        signature: &PySlotSignature,
        outputs: bool,
        name: &str,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Vec<u8>>> {
        detached(py, || files::save_one(self, &signature.0, outputs, name, path.as_deref()))
    }

    /// Reads a program's inputs, or its `outputs`, from files or their bytes.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        signature: &PySlotSignature,
        outputs: bool,
        files: BTreeMap<String, Source>,
    ) -> PyResult<Self> {
        detached(py, || files::load_all(&signature.0, outputs, &files))
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

fn missing(name: &str) -> Failure {
    Failure::new(Kind::Input, format!("input {name:?} is missing"))
}

/// An encrypted input.
pub(super) enum Encrypted {
    Vector(Ciphertext),
    Selector(GswCiphertext),
}

impl Encrypted {
    pub fn into_polynomials(self) -> Vec<RnsPolynomial> {
        match self {
            Self::Vector(ciphertext) => ciphertext.parts,
            Self::Selector(ciphertext) => ciphertext.polynomials(),
        }
    }
}

/// The secret or the public key, for encryption.
trait Encrypter {
    fn ckks(&self, values: &[ckks::Complex], level: usize, scale: f64) -> Result<Ciphertext, Failure>;
    fn bgv(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, Failure>;
    fn selector(&self, name: &str, bit: bool, limbs: &[LimbId]) -> Result<GswCiphertext, Failure>;
}

fn foreign() -> Failure {
    Failure::new(Kind::Input, "the keys belong to another scheme than the program; generate keys for this program")
}

impl Encrypter for Client {
    fn ckks(&self, values: &[ckks::Complex], level: usize, scale: f64) -> Result<Ciphertext, Failure> {
        let Self::Ckks(key) = self else { return Err(foreign()) };
        Ok(key.encrypt_at(values, level, scale).map_err(run_failure)?.into_ciphertext())
    }

    fn bgv(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, Failure> {
        let Self::Bgv(key) = self else { return Err(foreign()) };
        key.encrypt(values, limbs).map_err(run_failure)
    }

    fn selector(&self, _: &str, bit: bool, limbs: &[LimbId]) -> Result<GswCiphertext, Failure> {
        match self {
            Self::Ckks(key) => key.encrypt_selector(bit, limbs).map_err(run_failure),
            Self::Bgv(key) => key.encrypt_selector(bit, limbs).map_err(run_failure),
        }
    }
}

impl Encrypter for Public {
    fn ckks(&self, values: &[ckks::Complex], level: usize, scale: f64) -> Result<Ciphertext, Failure> {
        let Self::Ckks(key) = self else { return Err(foreign()) };
        Ok(key.encrypt_at(values, level, scale).map_err(run_failure)?.into_ciphertext())
    }

    fn bgv(&self, values: &[u64], limbs: usize) -> Result<Ciphertext, Failure> {
        let Self::Bgv(key) = self else { return Err(foreign()) };
        key.encrypt(values, limbs).map_err(run_failure)
    }

    fn selector(&self, name: &str, _: bool, _: &[LimbId]) -> Result<GswCiphertext, Failure> {
        let message = format!(
            "input {name:?} is a selector, which the public key cannot encrypt: it has no limbs of P; encrypt it with the client's key"
        );
        Err(Failure::new(Kind::Input, message))
    }
}

/// `values` for all slots; a single value is repeated.
fn spread<T: Clone>(mut values: Vec<T>, slots: usize) -> Vec<T> {
    if let [value] = &values[..] {
        values = vec![value.clone(); slots];
    }
    values
}

/// Encodes and encrypts the input `name` in the format that the program reads.
fn encrypt_one(key: &impl Encrypter, signature: &Signature, name: &str, values: &Values) -> Result<Encrypted, Failure> {
    let slots = signature.slots();
    let terminal = signature.terminal(false, name).ok_or_else(|| missing(name))?;
    match (signature.set(), terminal.encoding, values) {
        (ParameterSet::Ckks(_), Encoding::Ckks { level, scale, .. }, Values::Complex(values)) => {
            let values = values.iter().map(|value| ckks::Complex::new(value.re, value.im)).collect();
            key.ckks(&spread(values, slots), level, scale).map(Encrypted::Vector)
        }
        (ParameterSet::Bgv(set), Encoding::Bgv { .. }, Values::Integer(values)) => {
            let t = set.plaintext_modulus().modulus();
            let values = values.iter().map(|&value| t.reduce_signed(value)).collect();
            key.bgv(&spread(values, slots), terminal.limbs.len()).map(Encrypted::Vector)
        }
        (_, Encoding::Selector {}, values) => {
            let found = format!("input {name:?} is a selector; give one bit, 0 or 1");
            let bit = values.bit().ok_or_else(|| Failure::new(Kind::Input, found))?;
            key.selector(name, bit, &terminal.limbs).map(Encrypted::Selector)
        }
        _ => Err(missing(name)),
    }
}

/// Encrypts a program's inputs with a key of `origin`.
fn encrypt(
    py: Python<'_>,
    key: &(impl Encrypter + Sync),
    origin: &Origin,
    signature: &PySlotSignature,
    inputs: BTreeMap<String, PyValues>,
) -> PyResult<PySlotCiphertexts> {
    let signature = &*signature.0;
    let inputs = read_all(inputs)?;
    detached(py, || {
        origin.expect_set(signature.set())?;
        let origin = Origin { name: "the inputs".to_owned(), ..origin.clone() };
        Ok(PySlotCiphertexts { polynomials: encrypt_all(key, signature, &inputs)?, origin })
    })
}

/// One ciphertext per input, with parts in the order of the kernel program's inputs.
fn encrypt_all(
    key: &impl Encrypter,
    signature: &Signature,
    inputs: &HashMap<String, Values>,
) -> Result<Vec<RnsPolynomial>, Failure> {
    let mut polynomials = Vec::new();
    for terminal in signature.terminals(false) {
        let name = &terminal.name;
        let values = inputs.get(name).ok_or_else(|| missing(name))?;
        let parts = encrypt_one(key, signature, name, values)?.into_polynomials();
        if parts.len() != terminal.parts {
            return Err(missing(name));
        }
        polynomials.extend(parts);
    }
    Ok(polynomials)
}

/// The parts of each output, by ascending power of the secret.
pub(super) fn gathered(signature: &Signature, polynomials: &[RnsPolynomial]) -> Result<Vec<Ciphertext>, Failure> {
    let terminals = signature.terminals(true);
    let needed: usize = terminals.iter().map(|terminal| terminal.parts).sum();
    if polynomials.len() != needed {
        let given = polynomials.len();
        let message = format!("{given} polynomials, but the program has {needed} outputs; give those of one execution");
        return Err(Failure::new(Kind::Input, message));
    }
    let mut rest = polynomials;
    let ciphertext = |terminal: &Terminal| {
        let (own, behind) = rest.split_at(terminal.parts);
        rest = behind;
        Ciphertext::new(own.to_vec())
    };
    Ok(terminals.iter().map(ciphertext).collect())
}

/// Adds the name of an output to an error.
pub(super) fn of_output<E: std::fmt::Display>(name: &str) -> impl Fn(E) -> Failure {
    move |error| run_failure(format!("output {name:?}: {error}"))
}

fn decrypt(
    client: &Client,
    signature: &Signature,
    polynomials: &[RnsPolynomial],
    real: Option<&[String]>,
    reader: &mut Reader,
) -> Result<BTreeMap<String, Values>, Failure> {
    let slots = signature.slots();
    let mut values = BTreeMap::new();
    for (terminal, ciphertext) in signature.terminals(true).iter().zip(gathered(signature, polynomials)?) {
        let name = &terminal.name;
        let found = match (client, terminal.encoding) {
            (Client::Ckks(client), Encoding::Ckks { scale, magnitude, error, .. }) => {
                let ciphertext = CkksCiphertext::new(client.parameters(), ciphertext, scale, slots);
                let ciphertext = ciphertext.map_err(run_failure)?;
                // Observed nodes are only for measurements.
                let own = &mut Reader::Own;
                let reader = if name.starts_with(OBSERVED) { own } else { &mut *reader };
                let decrypted = match real {
                    Some(real) => {
                        let expected = ckks::Expected { magnitude, error, real: real.contains(name) };
                        reader.decrypt(client, &ciphertext, &expected)
                    }
                    None => client.decrypt(&ciphertext),
                };
                let decrypted = decrypted.map_err(of_output(name))?;
                Values::Complex(decrypted.iter().map(|value| Complex::new(value.re, value.im)).collect())
            }
            (Client::Bgv(client), Encoding::Bgv { factor, log2_phase }) => {
                let t = client.parameters().plaintext_modulus().value();
                let bound = if real.is_some() { log2_phase } else { f64::INFINITY };
                let decrypted = client.decrypt_within(&ciphertext, factor, slots, bound);
                let decrypted = decrypted.map_err(of_output(name))?;
                Values::Integer(decrypted.iter().map(|&value| centred(value, t)).collect())
            }
            _ => return Err(foreign()),
        };
        values.insert(name.clone(), found);
    }
    Ok(values)
}
