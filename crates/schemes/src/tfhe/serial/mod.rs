//! Versioned files: client keys, server keys in both forms, batches of ciphertexts.
//!
//! The layout is [`crate::serial`]'s; the parameter block is name, torus bits, n, k, N, gadgets, noise (`literal`).

mod literal;
mod payload;
#[cfg(test)]
mod tests;

use super::Parameters;
use crate::serial::{Family, FileKind};

pub use crate::serial::{FileError, FormatError, Storable, load, save};
pub use payload::{AnyCiphertexts, Ciphertexts};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// [`AnyClientKey`](super::AnyClientKey).
    ClientKey = 1,
    /// [`AnyServerKey`](super::AnyServerKey).
    ServerKey = 2,
    /// [`AnyCompressedServerKey`](super::AnyCompressedServerKey).
    CompressedServerKey = 3,
    /// [`AnyCiphertexts`].
    Ciphertexts = 4,
}

impl FileKind for Kind {
    fn code(self) -> u32 {
        self as u32
    }

    fn from_code(code: u32) -> Option<Self> {
        [Self::ClientKey, Self::ServerKey, Self::CompressedServerKey, Self::Ciphertexts]
            .into_iter()
            .find(|&kind| kind as u32 == code)
    }

    fn is_private(self) -> bool {
        self == Self::ClientKey
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ClientKey => "a client key",
            Self::ServerKey => "a server key",
            Self::CompressedServerKey => "a compressed server key",
            Self::Ciphertexts => "ciphertexts",
        })
    }
}

/// TFHE's files.
#[derive(Clone, Copy, Debug)]
pub struct Tfhe;

impl Family for Tfhe {
    type Kind = Kind;
    type Parameters = Parameters;
    const MAGIC: [u8; 8] = *b"PLYFTFHE";
    const VERSION: u32 = 2;
    const MAX_PARAMETERS: u32 = literal::MAX_LENGTH;

    fn encode(parameters: &Parameters) -> Vec<u8> {
        literal::encode(parameters)
    }

    fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
        literal::decode(block)
    }
}
