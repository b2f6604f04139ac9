//! Versioned files, whatever their scheme.
//!
//! A file is little-endian throughout:
//!
//! | bytes | what |
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
//! A reader takes a file to be hostile. The header is bounded; parameters are checked; the payload's length must be both what the parameters
//! call for and what is left of the file, before anything of that size is allocated; the checksum is verified before anything is
//! handed out. It finds damage, not forgery: who can write a file can also write its checksum.
//!
//! A file that must be of one parameter set is read by [`from_bytes_of`] or [`load_of`], which compare the parameter block before it is decoded.
//!
//! Writing goes to a temporary file next to the target, is flushed to the disk, and takes the target's name at the end, so that a reader sees the
//! old file or the new one. The folder is flushed too. Secret keys are readable by their owner alone.

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

/// What a file of a family holds.
pub trait FileKind: Copy + PartialEq + std::fmt::Debug + std::fmt::Display + 'static {
    /// Its number in the file.
    fn code(self) -> u32;

    /// The kind of a number.
    fn from_code(code: u32) -> Option<Self>;

    /// Whether only its owner may read the file.
    fn is_private(self) -> bool;
}

/// Files of one scheme: how they start, and how parameters are written in them.
pub trait Family {
    /// What files hold.
    type Kind: FileKind;
    /// Checked parameters.
    type Parameters;
    /// First bytes of every file.
    const MAGIC: [u8; 8];
    /// The format written, and the only one read.
    const VERSION: u32;
    /// Greatest length of the parameter block taken.
    const MAX_PARAMETERS: u32;

    /// The parameter block.
    fn encode(parameters: &Self::Parameters) -> Vec<u8>;

    /// The parameters of a block, checked.
    ///
    /// # Errors
    /// [`FormatError::ParameterBlock`], [`FormatError::Parameters`].
    fn decode(block: &[u8]) -> Result<Self::Parameters, FormatError>;
}

/// What can be a file.
pub trait Storable: Sized {
    /// Its family.
    type Family: Family;

    /// The kind written in the file.
    const KIND: <Self::Family as Family>::Kind;

    /// The parameter set of the content.
    fn parameters(&self) -> &<Self::Family as Family>::Parameters;

    /// Bytes of the payload.
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

/// Fails unless a payload has the length that its content calls for.
pub(crate) fn expect_length(what: &'static str, found: u64, expected: u64) -> Result<(), FormatError> {
    if found == expected { Ok(()) } else { Err(FormatError::Length { what, found, expected }) }
}
