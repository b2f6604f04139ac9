//! The versioned file format of all schemes.
//!
//! A file is little-endian throughout:
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic of the family |
//! | 4 | format version |
//! | 4 | kind |
//! | 4 | length of the parameter block |
//! | – | parameter block |
//! | 8 | length of the payload |
//! | – | payload |
//! | 32 | BLAKE3 of everything before |
//!
//! Readers treat files as hostile. The header is bounded and parameters are checked. Before a large allocation, the payload's length must
//! match both the parameters and the rest of the file. The checksum is verified before anything is returned. It detects damage, not forgery.
//!
//! [`from_bytes_of`] and [`load_of`] read a file that must have a known parameter set; they compare the parameter block before decoding it.
//!
//! Writing goes to a temporary file next to the target, which is flushed and then renamed, so that readers see the old file or the new one.
//! The directory is flushed too. Files of secret keys are readable by their owner only.

mod error;
mod fields;
mod file;
mod kinds;

pub use error::{FileError, FormatError};
pub(crate) use fields::Fields;
pub use file::{Reader, Sink, from_bytes, from_bytes_of, load, load_of, save, to_bytes};
#[cfg(test)]
pub(crate) use file::{read_from, write_to};
pub(crate) use kinds::file_kinds;

/// The content of a file of a family.
pub trait FileKind: Copy + PartialEq + std::fmt::Debug + std::fmt::Display + 'static {
    /// Its number in the file.
    fn code(self) -> u32;

    /// The kind with a number.
    fn from_code(code: u32) -> Option<Self>;

    /// Whether only its owner may read the file.
    fn is_private(self) -> bool;
}

/// The files of one scheme: their magic and their encoding of parameters.
pub trait Family {
    /// Kinds of files.
    type Kind: FileKind;
    /// Checked parameters.
    type Parameters;
    /// First bytes of every file.
    const MAGIC: [u8; 8];
    /// The format version that is written, and the only one that is read.
    const VERSION: u32;
    /// Maximum length of the parameter block.
    const MAX_PARAMETERS: u32;

    /// Encodes the parameter block.
    fn encode(parameters: &Self::Parameters) -> Vec<u8>;

    /// Decodes and checks a parameter block.
    ///
    /// # Errors
    /// [`FormatError::ParameterBlock`], [`FormatError::Parameters`].
    fn decode(block: &[u8]) -> Result<Self::Parameters, FormatError>;
}

/// A value with a file format.
pub trait Storable: Sized {
    type Family: Family;

    /// The kind written in the file.
    const KIND: <Self::Family as Family>::Kind;

    /// The parameter set of the content.
    fn parameters(&self) -> &<Self::Family as Family>::Parameters;

    #[doc(hidden)]
    fn payload_bytes(&self) -> u64;

    #[doc(hidden)]
    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()>;

    /// Reads a payload of `length` bytes, which the file is known to have.
    #[doc(hidden)]
    fn read_payload(
        parameters: <Self::Family as Family>::Parameters,
        length: u64,
        reader: &mut Reader<'_>,
    ) -> Result<Self, FormatError>;
}

/// Fails unless a payload has the length that its parameters require.
pub(crate) fn expect_length(what: &'static str, found: u64, expected: u64) -> Result<(), FormatError> {
    if found == expected { Ok(()) } else { Err(FormatError::Length { what, found, expected }) }
}
