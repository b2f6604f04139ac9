//! Numerical approximation in the clear: polynomials for functions, and matrices for the encoding's transform.
//!
//! - [`ChebyshevSeries`]: interpolation in the Chebyshev basis of an interval.
//! - [`modular_reduction`]: functions that remove multiples of q_0 in CKKS bootstrapping.
//! - [`minimax`]: composite odd polynomials for the sign and ReLU.
//! - [`lookup`]: lookup tables of integers as trigonometric polynomials.
//! - [`sawtooth`]: the distance to the nearest integer as a trigonometric polynomial.
//! - [`embedding`]: the encoding's transform as a product of sparse matrices.

mod chebyshev;
mod double_double;
pub mod embedding;
pub mod lookup;
pub mod minimax;
pub mod modular_reduction;
pub mod sawtooth;

pub use chebyshev::{ApproximationError, ChebyshevSeries};
