//! Parameter sets of CKKS and BGV: named ones, and those of the user, as objects and as data.

use crate::failure::{Failure, Kind};
use crate::workers::{detached, released};
use polyfabric_planner::slots;
use polyfabric_planner::slots::parameters::{of_bgv, of_ckks};
use polyfabric_schemes::set_file::{ParameterSet, load, parse};
use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A checked set that is no named one: of a file, of fields, or of keys.
#[pyclass(name = "SlotParameters", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PySlotParameters(pub ParameterSet);

#[pymethods]
impl PySlotParameters {
    /// The set of a TOML file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        released(py, move || Ok(Self(load(&path).map_err(Failure::of(Kind::Parameter))?)))
    }

    /// The named set of that name, or one with another key switch, as machines' compilers choose it: `SET-d2` has two digits; nothing if there is none.
    #[staticmethod]
    fn named(name: &str) -> Option<Self> {
        let ckks = ckks::sets::parameters(name).ok().map(ParameterSet::Ckks);
        ckks.or_else(|| bgv::sets::named(name).ok().map(ParameterSet::Bgv)).map(Self)
    }

    /// The set of `scheme` with the fields of `text`, a JSON object: what a file would have.
    #[staticmethod]
    fn of_fields(py: Python<'_>, scheme: &str, text: &str) -> PyResult<Self> {
        detached(py, || {
            let fields: Value = serde_json::from_str(text).map_err(Failure::of(Kind::Parameter))?;
            // Through a file's text, so that what is wrong is told as of a file, with the line of the field.
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

    /// What is known of it, as of a named set, as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(self.json()))
    }
}

impl PySlotParameters {
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

/// The family of a set that does not come with the project.
const OWN: &str = "own";

/// Of a named set with the key switch that a name's end says.
const OTHER_KEY_SWITCH: &str = "a named set with another key switch (--key-switch), which the end of its name says";

/// A set that is asked for.
#[derive(FromPyObject)]
pub enum ParameterRequest {
    /// One of the user.
    Set(PySlotParameters),
    /// A named one.
    Name(String),
}

impl ParameterRequest {
    /// As the planner takes it.
    pub fn as_ref(&self) -> slots::ParameterRequest<'_> {
        match self {
            Self::Set(set) => slots::ParameterRequest::Set(&set.0),
            Self::Name(name) => slots::ParameterRequest::Name(name),
        }
    }
}

fn with_entry(mut facts: Value, family: impl serde::Serialize, note: &str) -> Value {
    facts["family"] = json!(family);
    facts["note"] = json!(note);
    facts
}

/// All named sets of CKKS and BGV, as JSON.
#[pyfunction]
pub fn slot_parameter_sets() -> String {
    let ckks = ckks::sets::all().map(|(entry, set)| with_entry(of_ckks(set), entry.family, &entry.note));
    let bgv = bgv::sets::all().iter().filter_map(|entry| {
        // A committed set passes the check; a test of its own table holds it.
        let set = bgv::Parameters::check(&entry.parameters).ok()?;
        Some(with_entry(of_bgv(&set), entry.family, &entry.note))
    });
    Value::Array(ckks.chain(bgv).collect()).to_string()
}
