//! BGV, client side: parameters, packed slots, encryption, decryption, noise, files.
//!
//! A ciphertext of the message m in R_t has the phase \[f·m\]_t + t·e: its errors are multiples of t. The correction factor f is 1 in a
//! fresh ciphertext; the lowering states the factor of each output of a program.

pub mod client_key;
pub mod encoding;
pub mod noise;
pub mod parameters;
pub mod phase;
pub mod serial;
pub mod sets;

pub use client_key::{BOOTSTRAP_SECRET, BgvPublicKey, ClientError, ClientKey, Decrypted, decode_phase};
pub use encoding::{Encoder, EncodingError, PlaintextModulus, PlaintextModulusLiteral, moduli_near};
pub use noise::{KAPPA, Noise, NoiseModel, RARE_KAPPA};
pub use parameters::{BootstrapLiteral, ParameterError, Parameters, ParametersLiteral};
