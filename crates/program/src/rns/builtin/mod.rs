//! Applications, as programs.

pub mod database;
pub mod matrix_vector;
pub mod microbenchmark;
