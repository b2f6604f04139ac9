//! BGV, client side: parameters, packed slots, encryption, decryption, noise.

pub mod encoding;
pub mod noise;
pub mod phase;

pub use encoding::{Encoder, EncodingError, PlaintextModulus, PlaintextModulusLiteral};
pub use noise::{Noise, NoiseModel};
