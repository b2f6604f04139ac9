//! Keys, ciphertexts, execution.

use super::plan::{BgvPlan, CkksPlan, Lowering, MOST_PREPARED_BYTES, NODE_OUTPUT, PySlotPlan, SlotPlan};
use super::program::{PyValues, read_all};
use crate::failure::{Failure, Kind, detached};
use crate::progress::Callback;
use polyfabric_program::rns::homomorphic::{Complex, NodeId, Values, centred, evaluate};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_runtime::Progress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::ckks::CkksCiphertext;
use polyfabric_schemes::progress::KeyProgress;
use polyfabric_schemes::rns::{Ciphertext, KeySet, KeyStorage, RnsPolynomial};
use polyfabric_schemes::serial::{FileError, load, save};
use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

enum Client {
    Ckks(ckks::ClientKey),
    Bgv(bgv::ClientKey),
}

/// The client's secret key and the server's switching keys.
#[pyclass(name = "SlotKeys", frozen)]
pub struct PySlotKeys {
    client: Client,
    pub server: Arc<KeySet>,
}

/// Polynomials in the order of a kernel program's inputs or outputs.
#[pyclass(name = "SlotCiphertexts", frozen)]
pub struct PySlotCiphertexts(pub Vec<RnsPolynomial>);

fn other_parameters(keys: &str, plan: &str) -> Failure {
    let message = format!("the keys are of parameter set {keys}, the program is lowered for {plan}; use one set");
    Failure::new(Kind::Input, message)
}

fn run_failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Run, error)
}

#[pymethods]
impl PySlotKeys {
    /// Fresh keys: those that `plan` asks for.
    #[staticmethod]
    #[pyo3(signature = (plan, progress = None))]
    fn generate(py: Python<'_>, plan: &PySlotPlan, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let plan = &*plan.0;
        let callback = Callback::new(progress);
        detached(py, || {
            let hook = |progress: KeyProgress| callback.tell(progress.stage, progress.done, progress.total);
            match &plan.lowering {
                Lowering::Ckks(CkksPlan { parameters, .. }) => {
                    let client = ckks::ClientKey::generate(parameters).map_err(run_failure)?;
                    let (limbs, storage) = (plan.key_limbs(), plan.key_storage());
                    let server = client.evaluation_keys_over(&limbs, storage, None, &hook).map_err(run_failure)?;
                    Ok(Self { client: Client::Ckks(client), server: Arc::new(server) })
                }
                Lowering::Bgv(BgvPlan { parameters, .. }) => {
                    let client = bgv::ClientKey::generate(parameters).map_err(run_failure)?;
                    let server = client.switching_keys(plan.keys().keys().copied(), &hook).map_err(run_failure)?;
                    Ok(Self { client: Client::Bgv(client), server: Arc::new(server) })
                }
            }
        })
    }

    /// Writes the secret key, readable by its owner alone, and the switching keys in their transport form; each whole or not at all.
    fn save(&self, py: Python<'_>, client: PathBuf, server: PathBuf) -> PyResult<()> {
        detached(py, || {
            let keys = (*self.server).clone();
            match &self.client {
                Client::Ckks(key) => {
                    let parameters = key.parameters().clone();
                    save(key, &client).and_then(|()| save(&ckks::serial::EvaluationKeys { parameters, keys }, &server))
                }
                Client::Bgv(key) => {
                    let parameters = key.parameters().clone();
                    save(key, &client).and_then(|()| save(&bgv::serial::EvaluationKeys { parameters, keys }, &server))
                }
            }
            .map_err(Failure::of(Kind::File))
        })
    }

    /// Reads what `save` wrote; `scheme` is "ckks" or "bgv".
    #[staticmethod]
    fn load(py: Python<'_>, scheme: &str, client: PathBuf, server: PathBuf) -> PyResult<Self> {
        let file = |error: FileError| Failure::new(Kind::File, error);
        detached(py, || {
            let (key, name, keys) = if scheme == "bgv" {
                let key: bgv::ClientKey = load(&client).map_err(file)?;
                let set: bgv::serial::EvaluationKeys = load(&server).map_err(file)?;
                let other = (*key.parameters() != set.parameters).then(|| set.parameters.name().to_owned());
                (Client::Bgv(key), other, set.keys)
            } else {
                let key: ckks::ClientKey = load(&client).map_err(file)?;
                let set: ckks::serial::EvaluationKeys = load(&server).map_err(file)?;
                let other = (*key.parameters() != set.parameters).then(|| set.parameters.name().to_owned());
                (Client::Ckks(key), other, set.keys)
            };
            // They were packed for the way; now they are read for every operation.
            let storage = KeyStorage { seeded: 2 * keys.bytes() > MOST_PREPARED_BYTES, ..KeyStorage::WORDS };
            let loaded = Self { client: key, server: Arc::new(keys.stored(storage)) };
            match name {
                None => Ok(loaded),
                Some(other) => {
                    let own = loaded.parameters();
                    let message = format!(
                        "{} is of parameter set {own}, {} of {other}; use the two files of one key generation",
                        client.display(),
                        server.display()
                    );
                    Err(Failure::new(Kind::File, message))
                }
            }
        })
    }

    /// Name of their parameter set.
    #[getter]
    fn parameters(&self) -> &str {
        match &self.client {
            Client::Ckks(client) => client.parameters().name(),
            Client::Bgv(client) => client.parameters().name(),
        }
    }

    /// Bytes of the switching keys in memory.
    #[getter]
    fn bytes(&self) -> usize {
        self.server.bytes()
    }

    /// Encodes and encrypts the inputs of `plan`.
    fn encrypt(
        &self,
        py: Python<'_>,
        plan: &PySlotPlan,
        inputs: BTreeMap<String, PyValues>,
    ) -> PyResult<PySlotCiphertexts> {
        let plan = &*plan.0;
        let inputs = read_all(inputs)?;
        detached(py, || {
            // What the server would miss is told before anything is encrypted.
            if let Lowering::Ckks(ckks) = &plan.lowering {
                ckks.lowered.check_keys(&plan.program, &self.server).map_err(Failure::of(Kind::Input))?;
            }
            Ok(PySlotCiphertexts(encrypt(&self.client, plan, &inputs)?))
        })
    }

    /// Runs the kernel program of `plan`, on `threads` threads or, without a number, by the interpreter.
    #[pyo3(signature = (plan, inputs, threads = None, progress = None))]
    fn execute(
        &self,
        py: Python<'_>,
        plan: &PySlotPlan,
        inputs: &PySlotCiphertexts,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PySlotCiphertexts> {
        let (kernel, server) = (plan.0.kernel(), &*self.server);
        let compact = plan.0.compact_plaintexts();
        let callback = Callback::new(progress);
        detached(py, || {
            let inputs: Vec<&RnsPolynomial> = inputs.0.iter().collect();
            let outputs = match threads {
                Some(threads) => {
                    let options = ExecutorOptions { threads, compact_plaintexts: compact };
                    let executor = Executor::with_options(kernel, server, options).map_err(run_failure)?;
                    executor.run(&inputs, &Told(&callback))
                }
                None => interpreter::run(kernel, server, &inputs, &Told(&callback)),
            };
            Ok(PySlotCiphertexts(outputs.map_err(run_failure)?))
        })
    }

    /// Decrypts and decodes the outputs of `plan`, all slots of each.
    fn decrypt(
        &self,
        py: Python<'_>,
        plan: &PySlotPlan,
        outputs: &PySlotCiphertexts,
    ) -> PyResult<BTreeMap<String, PyValues>> {
        let plan = &*plan.0;
        detached(py, || {
            let values = decrypt(&self.client, plan, &outputs.0)?;
            let user = values.iter().filter(|(name, _)| !name.starts_with(NODE_OUTPUT));
            Ok(user.map(|(name, values)| (name.clone(), values.into())).collect())
        })
    }

    /// Of a plan that is measured: the largest error of every node, against the program in the clear; wrong slots with BGV.
    fn errors(
        &self,
        py: Python<'_>,
        plan: &PySlotPlan,
        inputs: BTreeMap<String, PyValues>,
        outputs: &PySlotCiphertexts,
    ) -> PyResult<BTreeMap<u32, f64>> {
        let plan = &*plan.0;
        let inputs = read_all(inputs)?;
        detached(py, || {
            let clear = evaluate(&plan.program, &inputs).map_err(Failure::of(Kind::Input))?;
            let values = decrypt(&self.client, plan, &outputs.0)?;
            let nodes = values.iter().filter_map(|(name, values)| {
                let node = name.strip_prefix(NODE_OUTPUT)?.parse().ok()?;
                Some((node, difference(values, clear.values(NodeId(node)))))
            });
            Ok(nodes.collect())
        })
    }
}

#[pymethods]
impl PySlotCiphertexts {
    /// Their size in memory.
    #[getter]
    fn bytes(&self) -> usize {
        self.0.iter().map(RnsPolynomial::bytes).sum()
    }
}

struct Told<'a>(&'a Callback);

impl Progress for Told<'_> {
    fn update(&self, stage: &str, done: u64, total: u64) {
        self.0.tell(stage, done, total);
    }
}

fn difference(found: &Values, expected: &Values) -> f64 {
    match (found, expected) {
        (Values::Complex(found), Values::Complex(expected)) => {
            found.iter().zip(expected.iter()).map(|(a, b)| (*a - *b).abs()).fold(0.0, f64::max)
        }
        (Values::Integer(found), Values::Integer(expected)) => {
            found.iter().zip(expected.iter()).filter(|(a, b)| a != b).count() as f64
        }
        _ => f64::NAN,
    }
}

fn missing(name: &str) -> Failure {
    Failure::new(Kind::Input, format!("input {name:?} is missing"))
}

/// One ciphertext an input, its parts in the order of the kernel program's inputs.
fn encrypt(client: &Client, plan: &SlotPlan, inputs: &HashMap<String, Values>) -> Result<Vec<RnsPolynomial>, Failure> {
    let slots = plan.program.slots();
    let mut ciphertexts: HashMap<&str, Ciphertext> = HashMap::new();
    match (client, &plan.lowering) {
        (Client::Ckks(client), Lowering::Ckks(lowering)) => {
            check_parameters(client.parameters().name(), lowering.parameters.name())?;
            for port in &lowering.lowered.inputs {
                let Some(Values::Complex(values)) = inputs.get(&port.name) else { return Err(missing(&port.name)) };
                let mut values: Vec<_> = values.iter().map(|value| ckks::Complex::new(value.re, value.im)).collect();
                if values.len() == 1 {
                    values.resize(slots, values[0]);
                }
                let made = client.encrypt_at(&values, port.level, port.scale.real()).map_err(run_failure)?;
                ciphertexts.insert(&port.name, made.into_ciphertext());
            }
        }
        (Client::Bgv(client), Lowering::Bgv(lowering)) => {
            check_parameters(client.parameters().name(), lowering.parameters.name())?;
            let t = client.parameters().plaintext_modulus().modulus();
            for port in &lowering.lowered.plan.inputs {
                let Some(Values::Integer(values)) = inputs.get(&port.name) else { return Err(missing(&port.name)) };
                let mut values: Vec<u64> = values.iter().map(|&value| t.reduce_signed(value)).collect();
                if values.len() == 1 {
                    values.resize(slots, values[0]);
                }
                let made = client.encrypt(&values, port.state.limbs).map_err(run_failure)?;
                ciphertexts.insert(&port.name, made);
            }
        }
        _ => return Err(Failure::new(Kind::Input, "the keys are of another scheme than the program; make its own")),
    }
    let parts = plan.kernel().inputs().map(|(name, part, _, _)| {
        let ciphertext = ciphertexts.get(name).ok_or_else(|| missing(name))?;
        ciphertext.parts.get(usize::from(part)).cloned().ok_or_else(|| missing(name))
    });
    parts.collect()
}

fn check_parameters(keys: &str, plan: &str) -> Result<(), Failure> {
    if keys == plan { Ok(()) } else { Err(other_parameters(keys, plan)) }
}

/// The parts of each output, in the order of their powers of the secret.
fn gathered(kernel: &KernelProgram, polynomials: &[RnsPolynomial]) -> Result<BTreeMap<String, Ciphertext>, Failure> {
    if polynomials.len() != kernel.outputs.len() {
        let (given, needed) = (polynomials.len(), kernel.outputs.len());
        let message = format!("{given} polynomials, but the program has {needed} outputs; give those of one execution");
        return Err(Failure::new(Kind::Input, message));
    }
    let mut parts: BTreeMap<String, BTreeMap<u16, RnsPolynomial>> = BTreeMap::new();
    for (output, polynomial) in kernel.outputs.iter().zip(polynomials) {
        parts.entry(output.name.to_string()).or_default().insert(output.part, polynomial.clone());
    }
    Ok(parts.into_iter().map(|(name, parts)| (name, Ciphertext::new(parts.into_values().collect()))).collect())
}

fn decrypt(
    client: &Client,
    plan: &SlotPlan,
    polynomials: &[RnsPolynomial],
) -> Result<BTreeMap<String, Values>, Failure> {
    let slots = plan.program.slots();
    let mut ciphertexts = gathered(plan.kernel(), polynomials)?;
    let mut values = BTreeMap::new();
    match (client, &plan.lowering) {
        (Client::Ckks(client), Lowering::Ckks(lowering)) => {
            let outputs = lowering.lowered.outputs.iter().map(|port| (port.name.clone(), port));
            let nodes = lowering.lowered.observed.iter();
            for (name, port) in outputs.chain(nodes.map(|(id, port)| (format!("{NODE_OUTPUT}{}", id.0), port))) {
                let ciphertext = ciphertexts.remove(&port.name).ok_or_else(|| missing(&port.name))?;
                let ciphertext = CkksCiphertext::new(client.parameters(), ciphertext, port.scale.real(), slots);
                let decrypted = client.decrypt(&ciphertext.map_err(run_failure)?).map_err(run_failure)?;
                let decrypted = decrypted.iter().map(|value| Complex::new(value.re, value.im)).collect();
                values.insert(name, Values::Complex(decrypted));
            }
        }
        (Client::Bgv(client), Lowering::Bgv(lowering)) => {
            let t = client.parameters().plaintext_modulus().value();
            for port in &lowering.lowered.plan.outputs {
                let ciphertext = ciphertexts.remove(&port.name).ok_or_else(|| missing(&port.name))?;
                let decrypted = client.decrypt(&ciphertext, port.state.factor, slots).map_err(run_failure)?;
                values.insert(port.name.clone(), Values::Integer(decrypted.iter().map(|&v| centred(v, t)).collect()));
            }
        }
        _ => return Err(Failure::new(Kind::Input, "the keys are of another scheme than the program; make its own")),
    }
    Ok(values)
}
