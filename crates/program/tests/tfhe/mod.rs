//! Do TFHE programs print and parse to themselves, are wrong ones rejected with their position, and do large ones stay small?

mod errors;
mod random_program;
mod scale;
mod text;
