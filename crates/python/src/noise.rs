//! Noise of programs, and the choice of a parameter set.

use crate::failure::{Failure, Kind, detached};
use crate::kernel::{order_name, order_of};
use crate::parameters::PyParameters;
use crate::program::PyProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, TfheLowering};
use polyfabric_program::tfhe::noise::{Encryption, NoiseError, NoiseReport, choose_parameters, report_encrypted};
use polyfabric_schemes::tfhe::noise::{Keys, Transform};
use pyo3::prelude::*;

/// Noise of one program with one parameter set.
#[pyclass(name = "NoiseReport", frozen)]
pub struct PyNoiseReport {
    report: NoiseReport,
    parameters: PyParameters,
}

/// "f64", "exact", or the variance of one output coefficient of one external product, a fraction of the torus squared.
#[derive(FromPyObject, IntoPyObject)]
pub enum TransformName {
    /// By name.
    Name(String),
    /// By its error.
    Variance(f64),
}

impl TransformName {
    /// The transform that is meant.
    pub fn transform(self) -> Result<Transform, Failure> {
        match self {
            Self::Name(name) if name == "f64" => Ok(Transform::f64_here()),
            Self::Name(name) if name == "exact" => Ok(Transform::Exact),
            Self::Name(name) => {
                let message = format!("there is no transform {name:?}; write f64, exact, or a variance");
                Err(Failure::new(Kind::Noise, message))
            }
            Self::Variance(coefficient_variance) => Ok(Transform::Measured { coefficient_variance }),
        }
    }
}

fn encryption(public: bool) -> Encryption {
    if public { Encryption::Public } else { Encryption::Secret }
}

fn noisy(error: NoiseError) -> Failure {
    Failure::new(Kind::Noise, error)
}

#[pymethods]
impl PyNoiseReport {
    /// log2 of the probability that the program fails.
    #[getter]
    fn log2_failure(&self) -> f64 {
        self.report.log2_failure
    }

    /// The same program's noise where every output hides with `bits` bits how it was computed; refused where one then fails with a probability
    /// over 2^`target`.
    fn with_circuit_privacy(&self, bits: f64, target: f64) -> PyResult<Self> {
        let report = self.report.with_circuit_privacy(&self.parameters.0, bits, target).map_err(noisy)?;
        Ok(Self { report, parameters: self.parameters.clone() })
    }

    /// Refuses the program if it fails with a probability over 2^`target`, and says where.
    fn check(&self, target: f64) -> PyResult<()> {
        Ok(self.report.check(&self.parameters.0, target).map_err(noisy)?)
    }

    /// The whole report.
    fn to_json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&self.report).map_err(Failure::of(Kind::Internal))?)
    }
}

#[pymethods]
impl PyProgram {
    /// The program's noise with `parameters`, the key switch "none", "before" or "after", and keys for `key_unrolling` secret bits an
    /// iteration, lowered for a `processor` or for a machine; with inputs of a `public` key, or the client's.
    #[pyo3(signature = (parameters, key_switch, transform, key_unrolling = 1, processor = true, public = false))]
    #[expect(clippy::too_many_arguments, reason = "named ones in Python")]
    fn noise(
        &self,
        py: Python<'_>,
        parameters: &PyParameters,
        key_switch: &str,
        transform: TransformName,
        key_unrolling: u32,
        processor: bool,
        public: bool,
    ) -> PyResult<PyNoiseReport> {
        let (order, transform) = (order_of(key_switch)?, transform.transform()?);
        let choice = match processor {
            true => TfheLowering::processor(order),
            false => TfheLowering::new(order, Arithmetic::F64),
        };
        let choice = TfheLowering { key_unrolling, ..choice };
        detached(py, || {
            let inputs = (Keys::Accepted, encryption(public));
            let report = report_encrypted(&self.0, &parameters.0, &choice, transform, inputs).map_err(noisy)?;
            Ok(PyNoiseReport { report, parameters: parameters.clone() })
        })
    }

    /// (set, key switch, noise): the cheapest default set with which the program fails with probability 2^`target` at most, its outputs hiding
    /// with `circuit_privacy` bits how they were computed.
    #[pyo3(signature = (target, torus_bits, transform, circuit_privacy = None, public = false))]
    fn choose_parameters(
        &self,
        py: Python<'_>,
        target: f64,
        torus_bits: Option<u32>,
        transform: TransformName,
        circuit_privacy: Option<f64>,
        public: bool,
    ) -> PyResult<(PyParameters, &'static str, PyNoiseReport)> {
        let transform = transform.transform()?;
        detached(py, || {
            let chosen =
                choose_parameters(&self.0, target, torus_bits, transform, (encryption(public), circuit_privacy));
            let chosen = chosen.map_err(noisy)?;
            let parameters = PyParameters(chosen.parameters);
            let report = PyNoiseReport { report: chosen.report, parameters: parameters.clone() };
            Ok((parameters, order_name(chosen.key_switch), report))
        })
    }
}
