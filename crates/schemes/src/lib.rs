//! Schemes, client side: parameters, security, keys, encoding, encryption, noise.

pub mod bgv;
pub mod ckks;
pub mod estimates;
pub mod gaussian;
pub mod generation;
pub mod gsw;
pub mod joint;
pub mod level;
mod names;
pub mod port;
pub mod progress;
pub mod random;
pub mod rns;
pub mod serial;
pub mod set_file;
pub mod tfhe;
pub mod toml_text;
