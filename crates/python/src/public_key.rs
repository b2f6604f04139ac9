//! Public keys of TFHE.

use crate::failure::{Failure, Kind};
use crate::keys::PyClientKey;
use crate::parameters::PyParameters;
use crate::signature::PySignature;
use crate::storage::{Source, written};
use crate::workers::detached;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::Signature;
use polyfabric_schemes::port::Direction;
use polyfabric_schemes::tfhe::serial::{AnyCiphertexts, Ciphertexts, Content};
use polyfabric_schemes::tfhe::{AnyPublicKey, PublicKey};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A TFHE public key: anybody can encrypt with it, but only the client decrypts.
#[pyclass(name = "PublicKey", frozen)]
pub struct PyPublicKey(AnyPublicKey);

fn encrypted<T: Torus>(
    key: &PublicKey<T>,
    signature: &Signature,
    name: &str,
    values: &[i64],
) -> Result<Ciphertexts<T>, Failure> {
    let plaintexts: Vec<T> = signature.encode(name, values).map_err(Failure::of(Kind::Input))?;
    let compact = key.encrypt(&plaintexts).map_err(Failure::of(Kind::Run))?;
    let (parameters, generation) = (key.parameters().clone(), key.generation());
    let port = signature.port(Direction::Input, name);
    Ok(Ciphertexts { parameters, generation, port, content: Content::Compact(compact) })
}

#[pymethods]
impl PyPublicKey {
    /// Generates a public key of `client`.
    #[staticmethod]
    fn generate(py: Python<'_>, client: &PyClientKey) -> PyResult<Self> {
        detached(py, || Ok(Self(AnyPublicKey::generate(&client.key).map_err(Failure::of(Kind::Run))?)))
    }

    /// Fails unless it belongs to the key generation of `client`.
    fn expect_client(&self, client: &PyClientKey) -> PyResult<()> {
        let (own, set) = (client.key.generation(), client.key.parameters().name());
        let same = own.expect("the client key", self.0.generation(), "the public key", set);
        Ok(same.map_err(Failure::of(Kind::File))?)
    }

    #[getter]
    fn parameters(&self) -> PyParameters {
        PyParameters(self.0.parameters().clone())
    }

    /// Writes the key atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Option<Vec<u8>>> {
        detached(py, || written(&self.0, path.as_deref()))
    }

    /// Reads the key from a file or bytes written by `save`.
    #[staticmethod]
    fn load(py: Python<'_>, source: Source) -> PyResult<Self> {
        detached(py, || Ok(Self(source.read().map_err(Failure::of(Kind::File))?)))
    }

    /// Encodes and encrypts the input `name` of a program and writes it atomically; returns its bytes if `path` is `None`.
    #[pyo3(signature = (signature, name, values, path = None))]
    fn encrypt_to(
        &self,
        py: Python<'_>,
        signature: &PySignature,
        name: &str,
        values: Vec<i64>,
        path: Option<PathBuf>,
    ) -> PyResult<Option<Vec<u8>>> {
        let signature = &*signature.0;
        detached(py, || {
            if !signature.public {
                let message = format!(
                    "{} is not planned for public-key inputs, which have more noise; plan it with public=True (--public)",
                    signature.program
                );
                return Err(Failure::new(Kind::Input, message));
            }
            let content = match &self.0 {
                AnyPublicKey::Torus32(key) => AnyCiphertexts::Torus32(encrypted(key, signature, name, &values)?),
                AnyPublicKey::Torus64(key) => AnyCiphertexts::Torus64(encrypted(key, signature, name, &values)?),
            };
            written(&content, path.as_deref())
        })
    }
}
