//! Public keys of TFHE.

use crate::failure::{Failure, Kind};
use crate::keys::PyClientKey;
use crate::parameters::PyParameters;
use crate::signature::PySignature;
use crate::storage::{Source, written};
use crate::workers::detached;
use polyfabric_client::tfhe::encrypt_publicly;
use polyfabric_schemes::tfhe::AnyPublicKey;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A TFHE public key: anybody can encrypt with it, but only the client decrypts.
#[pyclass(name = "TfhePublicKey", frozen)]
pub struct PyPublicKey(AnyPublicKey);

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
            let content = encrypt_publicly(&self.0, signature, name, &values)?;
            written(&content, path.as_deref())
        })
    }
}
