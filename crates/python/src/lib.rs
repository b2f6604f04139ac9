//! Python bindings: the Rust links as `polyfabric._native`. Nothing is decided here; `python/polyfabric` is the public face.

mod failure;
mod kernel;
mod keys;
mod parameters;
mod program;
mod progress;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::kernel::PyKernelProgram;
    #[pymodule_export]
    use crate::keys::{PyCiphertexts, PyClientKey, PyServerKey};
    #[pymodule_export]
    use crate::parameters::{PyParameters, parameter_names};
    #[pymodule_export]
    use crate::program::{PyElementType, PyProgram, PyProgramBuilder};
}
