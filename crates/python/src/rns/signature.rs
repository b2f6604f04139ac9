//! The client's interface of a CKKS or BGV program.

use super::parameters::PyRnsParameters;
use crate::failure::{Failure, Kind};
use crate::keys::direction;
use crate::storage::{Source, borrowed};
use crate::workers::detached;
use polyfabric_client::rns::expect_own;
use polyfabric_program::rns::signature::{Signature, SignatureLiteral};
use polyfabric_schemes::set_file::ParameterSet;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parameter set, encodings of inputs and outputs, and required keys of a program; no operations.
#[pyclass(name = "RnsSignature", frozen)]
pub struct PyRnsSignature(pub Arc<Signature>);

#[pymethods]
impl PyRnsSignature {
    /// Parses the result of `to_json`.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let refused = |error| {
            let remedy = "get it again from the program's server";
            Failure::new(Kind::File, format!("the signature of a program cannot be read: {error}; {remedy}"))
        };
        detached(py, || {
            let literal: SignatureLiteral = serde_json::from_str(text).map_err(refused)?;
            Ok(Self(Arc::new(Signature::check(literal).map_err(Failure::of(Kind::File))?)))
        })
    }

    fn to_json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(self.0.literal()).map_err(Failure::of(Kind::Internal))?)
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// "ckks" or "bgv".
    #[getter]
    fn scheme(&self) -> String {
        self.0.set().scheme().to_lowercase()
    }

    #[getter]
    fn parameters(&self) -> PyRnsParameters {
        PyRnsParameters(self.0.set().clone())
    }

    /// t of BGV.
    #[getter]
    fn plaintext_modulus(&self) -> Option<u64> {
        match self.0.set() {
            ParameterSet::Ckks(_) => None,
            ParameterSet::Bgv(set) => Some(set.plaintext_modulus().value()),
        }
    }

    /// Fails if one of the `files`, inputs by name or with `outputs` outputs, belongs to another program, whatever its set.
    fn expect_own(&self, py: Python<'_>, outputs: bool, files: BTreeMap<String, Source>) -> PyResult<()> {
        detached(py, || Ok(expect_own(&self.0, direction(outputs), &borrowed(&files))?))
    }

    /// Bytes of the switching keys that the program needs.
    #[getter]
    fn key_bytes(&self) -> usize {
        self.0.key_bytes()
    }

    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    #[getter]
    fn inputs(&self) -> Vec<&str> {
        self.0.terminals(false).iter().map(|own| own.name.as_str()).collect()
    }

    #[getter]
    fn outputs(&self) -> Vec<&str> {
        self.0.terminals(true).iter().map(|own| own.name.as_str()).collect()
    }
}
