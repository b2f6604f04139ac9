//! TFHE parameter sets.

use crate::failure::{Failure, Kind};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::table::capacities;
use polyfabric_schemes::tfhe::{LweKind, Parameters, ParametersLiteral, noise, sets};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// A checked TFHE parameter set.
#[pyclass(name = "TfheParameters", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub struct PyParameters(pub Parameters);

#[pymethods]
impl PyParameters {
    #[staticmethod]
    fn named(name: &str) -> PyResult<Self> {
        Ok(Self(sets::parameters(name).map_err(Failure::of(Kind::Parameter))?))
    }

    /// Parses and checks a set in JSON.
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

    /// The lattice estimator's result; `None` for a set that it was not run on.
    #[getter]
    fn estimated_bits(&self) -> Option<f64> {
        self.0.estimated_bits()
    }

    /// A warning for sets below 128 bits.
    #[getter]
    fn security_warning(&self) -> Option<String> {
        self.0.security_warning()
    }

    /// JSON of the set's origin: family, claimed security, note. `None` for a set outside the table.
    fn entry(&self) -> PyResult<Option<String>> {
        let Ok((entry, _)) = sets::entry(self.0.name()) else { return Ok(None) };
        let fields = serde_json::json!({
            "family": entry.family,
            "claimed_security_bits": entry.claimed_security_bits,
            "note": entry.note,
        });
        Ok(Some(fields.to_string()))
    }

    /// Bits of a block of the small key, of which at most one is 1; 1 for uniform bits.
    #[getter]
    fn block(&self) -> u32 {
        self.0.secret().block()
    }

    /// Bytes of the bootstrapping key in the coefficient domain.
    #[getter]
    fn bootstrap_key_bytes(&self) -> u64 {
        self.0.bootstrap_key_len() as u64 * u64::from(self.0.torus_bits() / 8)
    }

    /// Bytes of the key-switching key, if the set has one.
    #[getter]
    fn key_switch_key_bytes(&self) -> Option<u64> {
        self.0.key_switch_key_len().map(|length| length as u64 * u64::from(self.0.torus_bits() / 8))
    }

    /// Bytes of an evaluation key in transport form and expanded, for `key_unrolling` secret bits per iteration.
    fn key_bytes(&self, key_unrolling: Option<u32>) -> PyResult<(u64, u64)> {
        let unrolling = self.0.unrolling(key_unrolling).map_err(Failure::of(Kind::Program))?;
        Ok((self.0.compressed_key_bytes(unrolling), self.0.server_key_bytes(unrolling)))
    }

    /// Mean squared errors of the building blocks, over errors and keys, in torus fractions squared.
    fn variances(&self) -> BTreeMap<&'static str, Option<f64>> {
        let set = &self.0;
        BTreeMap::from([
            ("fresh_small", Some(noise::fresh(set, LweKind::Small))),
            ("fresh_large", Some(noise::fresh(set, LweKind::Large))),
            ("blind_rotation", Some(noise::blind_rotation_with(set, Transform::f64_here()))),
            ("modulus_switch", Some(noise::modulus_switch(set))),
            ("key_switch", noise::key_switch(set)),
        ])
        .into_iter()
        .map(|(name, noise)| (name, noise.map(noise::Noise::second_moment)))
        .collect()
    }

    /// JSON of the message bits that a lookup supports, for fresh ciphertexts and for key-switched results, and its failure probability, for
    /// [`noise::Keys::Accepted`].
    fn capacities(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&capacities(&self.0)).map_err(Failure::of(Kind::Internal))?)
    }

    /// JSON of the figures as written, with their sources.
    fn to_json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(self.0.literal()).map_err(Failure::of(Kind::Internal))?)
    }

    fn __repr__(&self) -> String {
        format!("Parameters({:?})", self.0.name())
    }
}

/// Names of all sets, in table order.
#[pyfunction]
pub fn parameter_names() -> Vec<&'static str> {
    sets::names()
}

/// Names of the sets that planning may choose: this project's own, with at least 128 bits.
#[pyfunction]
pub fn default_parameter_names() -> Vec<&'static str> {
    let ours = |(entry, _): &(&'static sets::Entry, _)| entry.family == sets::Family::Default;
    sets::secure().filter(ours).map(|(entry, _)| &*entry.parameters.name).collect()
}
