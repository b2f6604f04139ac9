//! Keys, inputs and outputs of CKKS and BGV programs.

mod files;
mod values;

pub use files::{expect_own, write};
pub use values::{Encrypted, Encrypter, Reader, decrypt, encrypt, encrypt_one, gathered, of_output};

use crate::failure::{Failure, Kind};
use crate::storage::{Source, written};
use polyfabric_program::rns::signature::Signature;
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::progress::OnProgress;
use polyfabric_schemes::rns::{KeySet, RnsPolynomial};
use polyfabric_schemes::serial::FileError;
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks};
use std::path::Path;

fn run_failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Run, error)
}

/// The error for keys of another scheme.
pub fn foreign() -> Failure {
    Failure::new(Kind::Input, "the keys belong to another scheme than the program; generate keys for this program")
}

/// A secret key.
pub enum SecretKey {
    Ckks(ckks::ClientKey),
    Bgv(bgv::ClientKey),
}

/// A public key, with which anybody encrypts for the client.
pub enum PublicKey {
    Ckks(ckks::PublicEncryptionKey),
    Bgv(bgv::BgvPublicKey),
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

/// Polynomials in the order of a kernel program's inputs or outputs.
#[derive(Clone)]
pub struct Ciphertexts {
    pub polynomials: Vec<RnsPolynomial>,
    pub origin: Origin,
}

impl SecretKey {
    /// Generates a key of a program's parameter set.
    pub fn generate(signature: &Signature) -> Result<Self, Failure> {
        match signature.set() {
            ParameterSet::Ckks(parameters) => {
                ckks::ClientKey::generate(parameters).map(Self::Ckks).map_err(run_failure)
            }
            ParameterSet::Bgv(parameters) => bgv::ClientKey::generate(parameters).map(Self::Bgv).map_err(run_failure),
        }
    }

    /// Reads a key of BGV, or of CKKS.
    pub fn load(source: &Source<'_>, bgv: bool) -> Result<Self, FileError> {
        if bgv { source.read().map(Self::Bgv) } else { source.read().map(Self::Ckks) }
    }

    /// Writes the key atomically, readable only by the owner; returns its bytes if `path` is `None`.
    pub fn save(&self, path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Ckks(key) => written(key, path),
            Self::Bgv(key) => written(key, path),
        }
    }

    /// Its set and generation; errors call it `name`.
    pub fn origin(&self, name: String) -> Origin {
        let (set, generation) = match self {
            Self::Ckks(client) => (ParameterSet::Ckks(client.parameters().clone()), client.generation()),
            Self::Bgv(client) => (ParameterSet::Bgv(client.parameters().clone()), client.generation()),
        };
        Origin { set, generation, name }
    }

    /// Generates a public key.
    pub fn public(&self) -> Result<PublicKey, Failure> {
        match self {
            Self::Ckks(client) => client.public_key().map(PublicKey::Ckks).map_err(run_failure),
            Self::Bgv(client) => client.public_key().map(PublicKey::Bgv).map_err(run_failure),
        }
    }

    /// Generates the switching keys that a program needs.
    pub fn evaluation_keys(&self, signature: &Signature, hook: OnProgress<'_>) -> Result<KeySet, Failure> {
        match self {
            Self::Ckks(client) => {
                let wanted = signature.keys().iter();
                let wanted: Vec<_> = wanted.map(|key| (key.id, key.limbs.clone(), key.storage)).collect();
                client.evaluation_keys_over(&wanted, None, hook).map_err(run_failure)
            }
            Self::Bgv(client) => {
                client.switching_keys(signature.keys().iter().map(|key| key.id), hook).map_err(run_failure)
            }
        }
    }
}

impl PublicKey {
    /// Its set and generation; errors call it `name`.
    pub fn origin(&self, name: String) -> Origin {
        let (set, generation) = match self {
            Self::Ckks(key) => (ParameterSet::Ckks(key.parameters().clone()), key.generation()),
            Self::Bgv(key) => (ParameterSet::Bgv(key.parameters().clone()), key.generation()),
        };
        Origin { set, generation, name }
    }

    /// Reads a key of BGV, or of CKKS.
    pub fn load(source: &Source<'_>, bgv: bool) -> Result<Self, FileError> {
        if bgv { source.read().map(Self::Bgv) } else { source.read().map(Self::Ckks) }
    }

    /// Writes the key atomically; returns its bytes if `path` is `None`.
    pub fn save(&self, path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Ckks(key) => written(key, path),
            Self::Bgv(key) => written(key, path),
        }
    }
}

/// The file of the switching keys of `origin`, in transport form: written to `path` atomically, or returned.
pub fn save_evaluation_keys(keys: &KeySet, origin: &Origin, path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    let (keys, generation) = (keys.clone(), origin.generation);
    match origin.set.clone() {
        ParameterSet::Ckks(parameters) => written(&ckks::serial::EvaluationKeys { parameters, generation, keys }, path),
        ParameterSet::Bgv(parameters) => written(&bgv::serial::EvaluationKeys { parameters, generation, keys }, path),
    }
}
