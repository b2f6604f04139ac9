//! Does the interpreter compute what a program says, on real ciphertexts?

mod arithmetic;
mod builtin;
mod common;
mod damage;
mod failures;
mod gates;
mod integers;
mod noise;
#[path = "../../../program/tests/tfhe/random_program.rs"]
mod random_program;
mod random_programs;
mod unrolling;
mod wide;
