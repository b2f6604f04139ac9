//! Approximations of functions that no polynomial is.

use crate::failure::{Failure, Kind, detached};
use polyfabric_program::rns::approximation::minimax::CompositeSign;
use pyo3::prelude::*;

/// The sign outside of (-gap, gap) as odd polynomials, the first applied first: the end of each one's interval and its
/// Chebyshev coefficients; and the largest error of their composition.
#[pyfunction]
pub fn composite_sign(py: Python<'_>, gap: f64, degrees: Vec<usize>) -> PyResult<(Vec<(f64, Vec<f64>)>, f64)> {
    detached(py, || {
        let sign = CompositeSign::new(gap, &degrees).map_err(Failure::of(Kind::Program))?;
        let stages = sign.stages().iter().map(|stage| (stage.interval().1, stage.coefficients().to_vec())).collect();
        Ok((stages, sign.error()))
    })
}
