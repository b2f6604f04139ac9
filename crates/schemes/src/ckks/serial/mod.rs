//! Versioned files: client keys, public keys, sets of switching keys, ciphertexts.
//!
//! [`crate::serial`] defines the layout, `literal` the parameter block, and `payload` the payloads with packed residues. Reading
//! parameters makes no transform tables; those are made at first use, so a reader allocates little more than the file's length.
//!
//! A key whose masks come from a seed is stored with the seed only.

mod literal;
mod payload;
#[cfg(test)]
mod tests;

pub use crate::serial::{FileError, FormatError, Storable, load, save};
pub use payload::{Ciphertexts, EvaluationKeys, Selector};

use super::Parameters;
use crate::serial::{Family, file_kinds};

file_kinds! {
    /// [`ClientKey`](super::ClientKey).
    ClientKey = 1, "a CKKS client key";
    /// [`PublicEncryptionKey`](super::PublicEncryptionKey).
    PublicKey = 2, "a CKKS public key";
    /// [`EvaluationKeys`].
    EvaluationKeys = 3, "CKKS evaluation keys";
    /// [`Ciphertexts`].
    Ciphertexts = 4, "CKKS ciphertexts";
    /// [`Selector`].
    Selector = 5, "a selector of CKKS";
}

/// CKKS's files.
#[derive(Clone, Copy, Debug)]
pub struct Ckks;

impl Family for Ckks {
    type Kind = Kind;
    type Parameters = Parameters;
    const MAGIC: [u8; 8] = *b"PLYFCKKS";
    const VERSION: u32 = 4;
    const MAX_PARAMETERS: u32 = literal::MAX_LENGTH;

    fn encode(parameters: &Parameters) -> Vec<u8> {
        literal::encode(parameters)
    }

    fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
        literal::decode(block)
    }
}
