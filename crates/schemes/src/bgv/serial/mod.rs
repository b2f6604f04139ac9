//! Versioned files: client keys, public keys, sets of switching keys, ciphertexts.
//!
//! [`crate::serial`] defines the layout, `literal` the parameter block, and `payload` the payloads with packed residues. Reading
//! parameters makes no transform tables; those are made at first use, so a reader allocates little more than the file's length.

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
    ClientKey = 1, "a BGV client key";
    /// [`EvaluationKeys`].
    EvaluationKeys = 2, "BGV evaluation keys";
    /// [`Ciphertexts`].
    Ciphertexts = 3, "BGV ciphertexts";
    /// [`BgvPublicKey`](super::BgvPublicKey).
    PublicKey = 4, "a BGV public key";
    /// [`Selector`].
    Selector = 5, "a selector of BGV";
}

/// BGV's files.
#[derive(Clone, Copy, Debug)]
pub struct Bgv;

impl Family for Bgv {
    type Kind = Kind;
    type Parameters = Parameters;
    const MAGIC: [u8; 8] = *b"PLYF_BGV";
    const VERSION: u32 = 3;
    const MAX_PARAMETERS: u32 = literal::MAX_LENGTH;

    fn encode(parameters: &Parameters) -> Vec<u8> {
        literal::encode(parameters)
    }

    fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
        literal::decode(block)
    }
}
