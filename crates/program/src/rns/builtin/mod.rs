//! Applications, as programs.

pub mod database;
