//! Does the interpreter compute what a program says, on real ciphertexts?

mod builtin;
mod common;
mod gates;
#[path = "../../../program/tests/support/random_program.rs"]
mod random_program;
mod random_programs;
