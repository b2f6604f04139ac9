//! Compares a paper's published figures with the model's.

use crate::failure::{Failure, Kind};
use crate::progress::Callback;
use crate::workers::released;
use pyo3::prelude::*;

/// JSON rows of the comparison with a paper. `applications` is a JSON list of the measured figures of the paper's applications, `null` for
/// those without.
#[pyfunction]
#[pyo3(signature = (paper, applications, progress = None))]
pub fn reproduce(py: Python<'_>, paper: &str, applications: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let callback = Callback::new(progress);
    let (paper, applications) = (paper.to_owned(), applications.to_owned());
    released(py, move || {
        let applications = serde_json::from_str(&applications).map_err(Failure::of(Kind::Internal))?;
        let rows =
            polyfabric_machines::reproduce(&paper, applications, &callback).map_err(Failure::of(Kind::Machine))?;
        serde_json::to_string(&rows).map_err(Failure::of(Kind::Internal))
    })
}
