//! Numerical approximation: polynomials for functions, and matrices for the embedding. Clear numbers only.
//!
//! - [`ChebyshevSeries`]: a polynomial in the Chebyshev basis of an interval, by interpolation.
//! - [`modular_reduction`]: the functions that remove multiples of q_0 in CKKS bootstrapping.
//! - [`minimax`]: composite odd polynomials for the sign, and ReLU made from it.
//! - [`embedding`]: the encoding's transform as a product of sparse matrices.

mod chebyshev;
mod double_double;
pub mod embedding;
pub mod minimax;
pub mod modular_reduction;

pub use chebyshev::{ApproximationError, ChebyshevSeries};
