//! Versioned files: client keys, server keys in both forms, batches of ciphertexts.
//!
//! [`crate::serial`] defines the layout; the parameter block is name, torus bits, n, bits of a block of the small key (1: uniform), k, N, gadgets and noise (`literal`).

mod literal;
mod payload;
#[cfg(test)]
mod tests;

use super::Parameters;
use crate::serial::{Family, file_kinds};

pub use crate::serial::{FileError, FormatError, Storable, from_bytes, load, save, to_bytes};
pub use payload::{AnyCiphertexts, Ciphertexts, Content};

file_kinds! {
    /// [`AnyClientKey`](super::AnyClientKey).
    ClientKey = 1, "a client key";
    /// [`AnyServerKey`](super::AnyServerKey).
    ServerKey = 2, "a server key";
    /// [`AnyCompressedServerKey`](super::AnyCompressedServerKey).
    CompressedServerKey = 3, "a compressed server key";
    /// [`AnyCiphertexts`].
    Ciphertexts = 4, "ciphertexts";
    /// [`AnyPublicKey`](super::AnyPublicKey).
    PublicKey = 5, "a public key";
}

/// TFHE's files.
#[derive(Clone, Copy, Debug)]
pub struct Tfhe;

impl Family for Tfhe {
    type Kind = Kind;
    type Parameters = Parameters;
    const MAGIC: [u8; 8] = *b"PLYFTFHE";
    const VERSION: u32 = 7;
    const MAX_PARAMETERS: u32 = literal::MAX_LENGTH;

    fn encode(parameters: &Parameters) -> Vec<u8> {
        literal::encode(parameters)
    }

    fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
        literal::decode(block)
    }
}
