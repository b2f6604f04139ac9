//! One program of tests for the crate, since each is linked with all of its dependencies.

mod rns_programs;
mod tfhe;
mod tfhe_integers;
