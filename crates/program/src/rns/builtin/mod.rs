//! Applications as homomorphic or kernel programs.

pub mod database;
pub mod matrix_vector;
pub mod microbenchmark;
