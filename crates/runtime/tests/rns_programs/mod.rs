//! Do CKKS programs, lowered and executed on ciphertexts, match the clear result within the predicted error?

mod common;
mod first_beyond;
mod key_switch_choice;
mod operations;
mod random_programs;
