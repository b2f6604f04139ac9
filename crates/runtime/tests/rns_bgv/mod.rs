//! Do BGV programs, bootstrapping and ring-GSW, lowered and executed on ciphertexts, decrypt to exactly the clear result, with the predicted noise?

mod bootstrap;
mod common;
mod gsw;
mod operations;
mod programs;
