//! Do CKKS programs, lowered and executed on ciphertexts, give what they give in the clear, within the error that is predicted?

mod common;
mod first_beyond;
mod key_switch_choice;
mod operations;
mod random_programs;
