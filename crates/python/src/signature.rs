//! The client's interface of a TFHE program.

use crate::failure::{Failure, Kind};
use crate::kernel::PyKernelProgram;
use crate::program::{PyElementType, PyProgram};
use polyfabric_program::tfhe::homomorphic::{Signature, Terminal};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names, types and encodings of a program's inputs and outputs; no operations.
#[pyclass(name = "TfheSignature", frozen)]
pub struct PySignature(pub Arc<Signature>);

fn listed(terminals: &[Terminal]) -> Vec<(String, PyElementType, usize)> {
    terminals.iter().map(|own| (own.name.clone(), PyElementType(own.element), own.length)).collect()
}

#[pymethods]
impl PySignature {
    /// The signature of `program`, lowered to `kernel`, with bounds on its outputs' errors; `public` if planned for public-key inputs.
    #[staticmethod]
    fn of(
        program: &PyProgram,
        kernel: &PyKernelProgram,
        bounds: BTreeMap<String, f64>,
        public: bool,
    ) -> PyResult<Self> {
        let missing = || Failure::new(Kind::Internal, "an input or an output of the program is no LWE ciphertext");
        let signature = Signature::of(&program.0, &kernel.0, &bounds).ok_or_else(missing)?;
        Ok(Self(Arc::new(signature.with_public_inputs(public))))
    }

    /// Parses the result of `to_json`.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let refused = |error| Failure::new(Kind::File, format!("the signature of a program cannot be read: {error}"));
        Ok(Self(Arc::new(Signature::from_json(text).map_err(refused)?)))
    }

    fn to_json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&*self.0).map_err(Failure::of(Kind::Internal))?)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.program
    }

    /// Whether inputs may be encrypted with the client's public key.
    #[getter]
    fn public(&self) -> bool {
        self.0.public
    }

    /// Name, element type and length of each input.
    #[getter]
    fn inputs(&self) -> Vec<(String, PyElementType, usize)> {
        listed(&self.0.inputs)
    }

    /// Name, element type and length of each output.
    #[getter]
    fn outputs(&self) -> Vec<(String, PyElementType, usize)> {
        listed(&self.0.outputs)
    }
}
