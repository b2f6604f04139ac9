//! One program of tests for the crate, since each is linked with all of its dependencies.

mod rns_bgv;
mod rns_bootstrap;
mod rns_exact;
mod rns_programs;
mod tfhe_interpreter;
