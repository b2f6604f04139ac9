//! The homomorphic program, the kernel program, and the lowering between them.
//!
//! A user writes a [`homomorphic::Program`]: vectors of encrypted Booleans, integers or torus values, linear
//! layers, look-ups and gates. [`lowering`] turns it into a [`kernel::KernelProgram`]: operations on
//! ciphertexts and single polynomials, which every runtime and every machine executes.

pub mod builtin;
mod dataflow;
pub mod homomorphic;
pub mod kernel;
pub mod lowering;
pub mod matrix;
pub mod noise;
pub mod text;

pub use dataflow::DataflowError;
pub use matrix::{Matrix, MatrixBuilder, MatrixError};
