//! Versioned files: client keys, public keys, sets of switching keys, ciphertexts.
//!
//! The layout is [`crate::serial`]'s; the parameter block is the literal and the primes that it gave (`literal`), the payloads are in
//! `payload`, residues packed. What a reader allocates beyond a file's own length is the ring's tables: at most 0.8 GiB, for the largest
//! chain that parameters can have.
//!
//! Keys whose masks come from a seed are stored with the seed alone.

mod literal;
mod payload;
#[cfg(test)]
mod tests;

pub use crate::serial::{FileError, FormatError, Storable, load, save};
pub use payload::{Ciphertexts, EvaluationKeys};

use super::Parameters;
use crate::serial::{Family, FileKind};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// [`ClientKey`](super::ClientKey).
    ClientKey = 1,
    /// [`PublicEncryptionKey`](super::PublicEncryptionKey).
    PublicKey = 2,
    /// [`EvaluationKeys`].
    EvaluationKeys = 3,
    /// [`Ciphertexts`].
    Ciphertexts = 4,
}

impl FileKind for Kind {
    fn code(self) -> u32 {
        self as u32
    }

    fn from_code(code: u32) -> Option<Self> {
        [Self::ClientKey, Self::PublicKey, Self::EvaluationKeys, Self::Ciphertexts]
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
            Self::ClientKey => "a CKKS client key",
            Self::PublicKey => "a CKKS public key",
            Self::EvaluationKeys => "CKKS evaluation keys",
            Self::Ciphertexts => "CKKS ciphertexts",
        })
    }
}

/// CKKS's files.
#[derive(Clone, Copy, Debug)]
pub struct Ckks;

impl Family for Ckks {
    type Kind = Kind;
    type Parameters = Parameters;
    const MAGIC: [u8; 8] = *b"PLYFCKKS";
    const VERSION: u32 = 2;
    const MAX_PARAMETERS: u32 = literal::MAX_LENGTH;

    fn encode(parameters: &Parameters) -> Vec<u8> {
        literal::encode(parameters)
    }

    fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
        literal::decode(block)
    }
}
