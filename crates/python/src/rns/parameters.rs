//! CKKS and BGV parameter sets, built-in and user-defined, as objects and as JSON.

use crate::failure::{Failure, Kind};
use crate::workers::{detached, released};
use polyfabric_planner::rns as planner;
use polyfabric_planner::rns::parameters::{of_bgv, of_ckks};
use polyfabric_program::rns::parameters::longest_table;
use polyfabric_schemes::set_file::{ParameterSet, load, parse};
use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A checked user-defined parameter set, from a file, fields, or keys.
#[pyclass(name = "RnsParameters", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PyRnsParameters(pub ParameterSet);

#[pymethods]
impl PyRnsParameters {
    /// Loads a set from a TOML file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        released(py, move || Ok(Self(load(&path).map_err(Failure::of(Kind::Parameter))?)))
    }

    /// The built-in set `name`, or one with another key switch as machines' compilers choose it (`SET-d2` has two digits); `None` if unknown.
    #[staticmethod]
    fn named(name: &str) -> Option<Self> {
        let ckks = ckks::sets::parameters(name).ok().map(ParameterSet::Ckks);
        ckks.or_else(|| bgv::sets::named(name).ok().map(ParameterSet::Bgv)).map(Self)
    }

    /// A set of `scheme` with the fields of the JSON object `text`, named as in a file.
    #[staticmethod]
    fn of_fields(py: Python<'_>, scheme: &str, text: &str) -> PyResult<Self> {
        detached(py, || {
            let fields: Value = serde_json::from_str(text).map_err(Failure::of(Kind::Parameter))?;
            // Convert to file text, so that errors name the field and line as for a file.
            let file = toml::to_string(&json!({ scheme: fields })).map_err(Failure::of(Kind::Parameter))?;
            Ok(Self(parse("the parameter set", &file).map_err(Failure::of(Kind::Parameter))?))
        })
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// "ckks" or "bgv".
    #[getter]
    fn scheme(&self) -> String {
        self.0.scheme().to_lowercase()
    }

    /// Most entries of a lookup table; 0 without tables.
    #[getter]
    fn longest_table(&self) -> usize {
        match &self.0 {
            ParameterSet::Ckks(set) => longest_table(set),
            ParameterSet::Bgv(_) => 0,
        }
    }

    /// JSON facts, as for a built-in set.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.json()))
    }
}

impl PyRnsParameters {
    fn json(&self) -> String {
        match &self.0 {
            ParameterSet::Ckks(set) => match ckks::sets::entry(set.name()) {
                Ok((entry, known)) if known == set => with_entry(of_ckks(set), entry.family, &entry.note),
                _ if ckks::sets::parameters(set.name()).is_ok_and(|known| known == *set) => {
                    with_entry(of_ckks(set), OWN, OTHER_KEY_SWITCH)
                }
                _ => with_entry(of_ckks(set), OWN, ""),
            },
            ParameterSet::Bgv(set) => match bgv::sets::entry(set.name()) {
                Ok(entry) if bgv::Parameters::check(&entry.parameters).is_ok_and(|known| known == *set) => {
                    with_entry(of_bgv(set), entry.family, &entry.note)
                }
                _ if bgv::sets::named(set.name()).is_ok_and(|known| known == *set) => {
                    with_entry(of_bgv(set), OWN, OTHER_KEY_SWITCH)
                }
                _ => with_entry(of_bgv(set), OWN, ""),
            },
        }
        .to_string()
    }
}

/// Family of user-defined sets.
const OWN: &str = "own";

/// Note for a built-in set with another key switch.
const OTHER_KEY_SWITCH: &str = "a named set with another key switch (--key-switch), which the end of its name says";

/// A requested parameter set.
#[derive(FromPyObject)]
pub enum ParameterRequest {
    /// The user's own set.
    Set(PyRnsParameters),
    /// A built-in set's name.
    Name(String),
}

impl ParameterRequest {
    /// Converts to the planner's type.
    pub fn as_ref(&self) -> planner::ParameterRequest<'_> {
        match self {
            Self::Set(set) => planner::ParameterRequest::Set(&set.0),
            Self::Name(name) => planner::ParameterRequest::Name(name),
        }
    }
}

fn with_entry(mut facts: Value, family: impl serde::Serialize, note: &str) -> Value {
    facts["family"] = json!(family);
    facts["note"] = json!(note);
    facts
}

/// JSON of all built-in CKKS and BGV sets.
#[pyfunction]
pub fn slot_parameter_sets() -> String {
    let ckks = ckks::sets::all().map(|(entry, set)| with_entry(of_ckks(set), entry.family, &entry.note));
    let bgv = bgv::sets::all().iter().filter_map(|entry| {
        // Committed sets pass the check, as a test of their table ensures.
        let set = bgv::Parameters::check(&entry.parameters).ok()?;
        Some(with_entry(of_bgv(&set), entry.family, &entry.note))
    });
    Value::Array(ckks.chain(bgv).collect()).to_string()
}
