//! Keys of several owners of CKKS and BGV programs: parties, their messages, and what the messages give.

use super::program::PyValues;
use super::run::{PyRnsCiphertexts, PyRnsPublicKey, PyRnsServer, of_user};
use super::signature::PyRnsSignature;
use crate::failure::{Failure, Kind};
use crate::storage::{Source, bytes, written};
use crate::workers::detached;
use polyfabric_client::rns::{Origin, PublicKey, gathered, of_output};
use polyfabric_program::rns::homomorphic::{Complex, Values, centred};
use polyfabric_program::rns::signature::{Encoding, Signature, Terminal};
use polyfabric_schemes::joint::{
    Deal, JointError, JointKeys, JointPublicKey, Message, Party, Session, Smudging, phases,
};
use polyfabric_schemes::rns::{Ciphertext, RnsPolynomial};
use polyfabric_schemes::serial::Storable;
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

fn refused(error: JointError) -> Failure {
    let kind = match error {
        JointError::Alone(_) | JointError::Key(_) | JointError::Smudging { .. } | JointError::Points { .. } => {
            Kind::Parameter
        }
        JointError::Index { .. }
        | JointError::Count { .. }
        | JointError::Answered(_)
        | JointError::Unfinished(_)
        | JointError::Threshold { .. }
        | JointError::Among { .. }
        | JointError::Undealt(_) => Kind::Input,
        JointError::Round { .. }
        | JointError::Twice { .. }
        | JointError::Session { .. }
        | JointError::Subject { .. }
        | JointError::Form { .. }
        | JointError::Receiver { .. }
        | JointError::OtherThreshold { .. }
        | JointError::Parts(_)
        | JointError::Generation(_) => Kind::File,
        _ => Kind::Run,
    };
    Failure::new(kind, error)
}

/// The data that all parties of a program share.
#[pyclass(name = "JointSession", frozen)]
pub struct PyJointSession {
    session: Session,
    signature: Arc<Signature>,
}

/// A party, with its secret.
#[pyclass(name = "JointParty", frozen)]
pub struct PyJointParty {
    /// The second message changes it.
    party: Mutex<Party>,
    signature: Arc<Signature>,
}

impl PyJointSession {
    fn party_of(&self, party: Party) -> PyJointParty {
        PyJointParty { party: Mutex::new(party), signature: Arc::clone(&self.signature) }
    }
}

fn messages(session: &Session, sources: &[Source]) -> Result<Vec<Message>, Failure> {
    sources.iter().map(|source| source.read_of(session.set(), Message::read_payload)).collect()
}

#[pymethods]
impl PyJointSession {
    /// For a program's signature and the reference that the parties agreed on.
    #[new]
    fn new(py: Python<'_>, signature: &PyRnsSignature, reference: Vec<u8>) -> PyResult<Self> {
        let signature = Arc::clone(&signature.0);
        detached(py, || {
            let interface = serde_json::to_vec(signature.literal()).map_err(Failure::of(Kind::Internal))?;
            let keys: Vec<_> = signature.keys().iter().map(|key| (key.id, key.limbs.clone(), key.storage)).collect();
            let session = Session::new(signature.set(), &keys, &interface, &reference).map_err(refused)?;
            Ok(Self { session, signature })
        })
    }

    #[getter]
    fn parties(&self) -> usize {
        self.session.parties()
    }

    /// Draws the secrets of party `index`.
    fn party(&self, py: Python<'_>, index: usize) -> PyResult<PyJointParty> {
        detached(py, || Ok(self.party_of(Party::new(&self.session, index).map_err(refused)?)))
    }

    /// Reads a party that `save` wrote.
    fn load_party(&self, py: Python<'_>, source: Source) -> PyResult<PyJointParty> {
        detached(py, || {
            let session = &self.session;
            let read = source.read_of(session.set(), |_, length, reader| Party::read(session, length, reader));
            Ok(self.party_of(read?))
        })
    }

    /// The joint public and evaluation keys from the messages of both rounds.
    fn keys(&self, py: Python<'_>, first: Vec<Source>, second: Vec<Source>) -> PyResult<(PyRnsPublicKey, PyRnsServer)> {
        detached(py, || {
            let (first, second) = (messages(&self.session, &first)?, messages(&self.session, &second)?);
            let keys = JointKeys::new(&self.session, &first, &second).map_err(refused)?;
            let public = match keys.public {
                JointPublicKey::Ckks(key) => PublicKey::Ckks(key),
                JointPublicKey::Bgv(key) => PublicKey::Bgv(key),
            };
            let name = "the joint switching keys".to_owned();
            let origin = Origin { set: self.session.set().clone(), generation: keys.generation, name };
            let public = PyRnsPublicKey::new(public, "the joint public key".to_owned());
            Ok((public, PyRnsServer::new(keys.evaluation, origin)))
        })
    }

    /// Decrypts with the shares of all parties. Rejects values that no execution produces; outputs named in `real` must be real.
    fn decrypt(
        &self,
        py: Python<'_>,
        outputs: &PyRnsCiphertexts,
        real: Vec<String>,
        shares: Vec<Source>,
    ) -> PyResult<BTreeMap<String, PyValues>> {
        let signature = &*self.signature;
        detached(py, || {
            outputs.0.origin.expect_set(signature.set())?;
            let shares = messages(&self.session, &shares)?;
            let ciphertexts = gathered(signature, &outputs.0.polynomials)?;
            let phases = phases(&self.session, outputs.0.origin.generation, &ciphertexts, &shares).map_err(refused)?;
            let mut values = BTreeMap::new();
            for (terminal, phase) in signature.terminals(true).iter().zip(&phases) {
                let found = self.decoded(terminal, phase, &real).map_err(of_output(&terminal.name))?;
                values.insert(terminal.name.clone(), found);
            }
            Ok(of_user(&values))
        })
    }
}

impl PyJointSession {
    /// The values of an output from its phase.
    fn decoded(&self, terminal: &Terminal, phase: &RnsPolynomial, real: &[String]) -> Result<Values, String> {
        let slots = self.signature.slots();
        match (self.session.set(), terminal.encoding) {
            (ParameterSet::Ckks(set), Encoding::Ckks { scale, magnitude, error, .. }) => {
                let expected = ckks::Expected { magnitude, error, real: real.contains(&terminal.name) };
                let encoder = ckks::Encoder::new(set.ring_degree());
                let values = expected.decode(&encoder, self.session.ring(), phase, (scale, slots));
                let values = values.map_err(|error| error.to_string())?;
                Ok(Values::Complex(values.iter().map(|value| Complex::new(value.re, value.im)).collect()))
            }
            (ParameterSet::Bgv(set), Encoding::Bgv { factor, log2_phase }) => {
                let values = bgv::decode_phase(set, phase, factor, slots, log2_phase);
                let (values, t) = (values.map_err(|error| error.to_string())?, set.plaintext_modulus().value());
                Ok(Values::Integer(values.iter().map(|&value| centred(value, t)).collect()))
            }
            _ => Err("its encoding is of another scheme".to_owned()),
        }
    }
}

impl PyJointParty {
    /// Runs `work` on the party while no other thread does.
    fn with<R>(&self, work: impl FnOnce(&mut Party) -> Result<R, Failure>) -> Result<R, Failure> {
        work(&mut self.party.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyJointParty {
    #[getter]
    fn index(&self) -> usize {
        self.party.lock().unwrap_or_else(PoisonError::into_inner).index()
    }

    /// Writes the party's secret atomically, readable only by its owner; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || {
            self.with(|party| {
                // A copy from before the second message could answer other first messages.
                party.generation().map_err(refused)?;
                written(party, path.as_deref())
            })
        })
    }

    /// The message of the first round.
    fn first(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || self.with(|party| bytes(&party.first().map_err(refused)?)))
    }

    /// The message of the second round, for the first messages of all parties.
    fn second(&self, py: Python<'_>, first: Vec<Source>) -> PyResult<Vec<u8>> {
        detached(py, || {
            self.with(|party| {
                let first = messages(party.session(), &first)?;
                bytes(&party.second(&first).map_err(refused)?)
            })
        })
    }

    /// A secret for each party, such that any `threshold` of them decrypt.
    fn deal(&self, py: Python<'_>, threshold: usize) -> PyResult<Vec<Vec<u8>>> {
        detached(py, || {
            self.with(|party| party.deal(threshold).map_err(refused)?.iter().map(bytes).collect::<Result<_, _>>())
        })
    }

    /// Keeps the secrets that all parties dealt to this one.
    fn take(&self, py: Python<'_>, deals: Vec<Source>) -> PyResult<()> {
        detached(py, || {
            self.with(|party| {
                let set = party.session().set();
                let deals = deals.iter().map(|source| source.read_of(set, Deal::read_payload));
                let deals = deals.collect::<Result<Vec<_>, Failure>>()?;
                party.take(&deals).map_err(refused)
            })
        })
    }

    /// The share of a decryption of a program's outputs, by all parties or by those `among` them.
    #[pyo3(signature = (outputs, among = None))]
    fn share(&self, py: Python<'_>, outputs: &PyRnsCiphertexts, among: Option<Vec<usize>>) -> PyResult<Vec<u8>> {
        let signature = &*self.signature;
        detached(py, || {
            outputs.0.origin.expect_set(signature.set())?;
            let terminals = signature.terminals(true).iter();
            let smudged = |(ciphertext, terminal): (Ciphertext, &Terminal)| {
                let none = Smudging { bits: 0.0, log2_deviation: 0.0 };
                (ciphertext, terminal.smudging.unwrap_or(none))
            };
            let outputs_of: Vec<_> =
                gathered(signature, &outputs.0.polynomials)?.into_iter().zip(terminals).map(smudged).collect();
            self.with(|party| {
                let (own, set) = (party.generation().map_err(refused)?, signature.set().name());
                let (name, of) = (format!("party {}", party.index()), &outputs.0.origin);
                own.expect(&name, of.generation, &of.name, set).map_err(Failure::of(Kind::File))?;
                bytes(&party.share(&outputs_of, among.as_deref()).map_err(refused)?)
            })
        })
    }
}
