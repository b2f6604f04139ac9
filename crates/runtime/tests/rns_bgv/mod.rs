//! Do BGV programs, bootstrapping and ring-GSW, lowered and executed on ciphertexts, decrypt to exactly what they give in the
//! clear, with noise that stays as predicted?

mod bootstrap;
mod common;
mod gsw;
mod operations;
mod programs;
