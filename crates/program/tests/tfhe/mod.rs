//! Do TFHE programs print and parse back, are wrong ones refused with their place, and do large ones stay cheap?

mod errors;
mod random_program;
mod scale;
mod text;
