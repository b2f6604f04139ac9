//! The published figures of a paper beside the model's.

use crate::failure::{Failure, Kind, detached};
use crate::progress::Callback;
use pyo3::prelude::*;

/// Rows of the comparison with a paper, as JSON.
#[pyfunction]
#[pyo3(signature = (paper, progress = None))]
pub fn reproduce(py: Python<'_>, paper: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let callback = Callback::new(progress);
    detached(py, || {
        let rows = polyfabric_machines::reproduce(paper, &callback).map_err(Failure::of(Kind::Machine))?;
        serde_json::to_string(&rows).map_err(Failure::of(Kind::Internal))
    })
}
