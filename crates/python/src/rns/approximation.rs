//! Polynomial approximations of functions.

use crate::failure::{Failure, Kind};
use crate::workers::detached;
use polyfabric_program::rns::approximation::minimax::CompositeSign;
use pyo3::prelude::*;

/// The end of a polynomial's interval around 0, and its Chebyshev coefficients.
type Stage = (f64, Vec<f64>);

/// Odd polynomials, in order of application, that approximate the sign outside (-gap, gap), and the largest error of their composition.
#[pyfunction]
pub fn composite_sign(py: Python<'_>, gap: f64, degrees: Vec<usize>) -> PyResult<(Vec<Stage>, f64)> {
    detached(py, || {
        let sign = CompositeSign::new(gap, &degrees).map_err(Failure::of(Kind::Program))?;
        let stages = sign.stages().iter().map(|stage| (stage.interval().1, stage.coefficients().to_vec())).collect();
        Ok((stages, sign.error()))
    })
}
