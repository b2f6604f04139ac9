//! Parameter sets.

use crate::failure::{Failure, Kind};
use polyfabric_schemes::tfhe::{Parameters, ParametersLiteral, sets};
use pyo3::prelude::*;

/// A checked parameter set.
#[pyclass(name = "Parameters", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PyParameters(pub Parameters);

#[pymethods]
impl PyParameters {
    /// The set called `name`.
    #[staticmethod]
    fn named(name: &str) -> PyResult<Self> {
        Ok(Self(sets::parameters(name).map_err(Failure::of(Kind::Parameter))?))
    }

    /// Checks a set written as JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let unreadable = |error| Failure::new(Kind::Parameter, format!("the parameter set cannot be read: {error}"));
        let literal: ParametersLiteral = serde_json::from_str(text).map_err(unreadable)?;
        Ok(Self(Parameters::check(&literal).map_err(Failure::of(Kind::Parameter))?))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn torus_bits(&self) -> u32 {
        self.0.torus_bits()
    }

    #[getter]
    fn security_bits(&self) -> f64 {
        self.0.security_bits()
    }

    /// What to tell the user of a set under 128 bits.
    #[getter]
    fn security_warning(&self) -> Option<String> {
        self.0.security_warning()
    }

    /// The figures as written, with their sources, as JSON.
    fn to_json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(self.0.literal()).map_err(Failure::of(Kind::Internal))?)
    }

    fn __repr__(&self) -> String {
        format!("Parameters({:?})", self.0.name())
    }
}

/// Names of all sets, in the order of the table.
#[pyfunction]
pub fn parameter_names() -> Vec<&'static str> {
    sets::names()
}
