//! CKKS, client side: parameters, security, encoding, keys, encryption, decryption, noise, files.
//!
//! A vector of up to N/2 complex numbers is encoded as a polynomial at a *scale*. A ciphertext of *level* ℓ is over the limbs of levels 0
//! to ℓ; rescaling drops the limbs of level ℓ and divides the scale by their product. [`CkksCiphertext`] records level and scale.

pub mod ciphertext;
pub mod client_key;
pub mod encoding;
pub mod expected;
pub mod parameters;
pub mod precision;
pub mod serial;
pub mod sets;
pub mod table;
#[cfg(test)]
mod tests;

pub use ciphertext::{CiphertextError, CkksCiphertext};
pub use client_key::{ClientError, ClientKey, MeasuredNoise, PublicEncryptionKey, SharedDecryption};
pub use encoding::{Complex, Encoder, EncodingError, MAX_COEFFICIENT};
pub use expected::{Expected, Implausible};
pub use parameters::{
    BootstrapLiteral, BootstrapMethod, BootstrapOrder, GadgetChoice, ParameterError, Parameters, ParametersLiteral,
    PrimeKind,
};
pub use precision::Precision;
pub use table::{SetRow, table};
