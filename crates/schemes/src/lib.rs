//! Schemes, client side: parameters, security, keys, encoding, encryption, noise.

pub mod tfhe;
