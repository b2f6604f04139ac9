//! Versioned files: client keys, server keys in both forms, batches of ciphertexts.
//!
//! A file is little-endian throughout:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic `PLYFTFHE` |
//! | 4 | format version |
//! | 4 | kind ([`Kind`]) |
//! | 4 | length of the parameter block |
//! | – | parameter block: name, torus bits, n, k, N, gadgets, noise (`literal`) |
//! | 8 | length of the payload |
//! | – | payload |
//! | 32 | BLAKE3 of everything before |
//!
//! A reader takes a file to be hostile. The header is bounded; parameters are checked; the payload's length must be both what the parameters
//! call for and what is left of the file, before anything of that size is allocated; the checksum is verified before anything is
//! handed out. It finds damage, not forgery: who can write a file can also write its checksum.
//!
//! Writing goes to a temporary file beside the target, is flushed to the disk, and takes the target's name at the end, so that a reader sees the
//! old file or the new one. Client keys are readable by their owner alone.

mod error;
mod file;
mod literal;
mod payload;
#[cfg(test)]
mod tests;

pub use error::{FileError, FormatError};
pub use file::{load, save};
pub use payload::{AnyCiphertexts, Ciphertexts, Storable};

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

impl Kind {
    const ALL: [Self; 4] = [Self::ClientKey, Self::ServerKey, Self::CompressedServerKey, Self::Ciphertexts];

    fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| kind as u32 == code)
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

/// First bytes of every file.
pub const MAGIC: [u8; 8] = *b"PLYFTFHE";
/// The format written, and the only one read.
pub const VERSION: u32 = 2;
