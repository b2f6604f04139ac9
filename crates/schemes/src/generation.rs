//! Identifies the key generation of keys and ciphertexts.
//!
//! Files of two clients with the same parameter set have the same sizes, and mixing them decrypts to noise. So every file of keys and
//! ciphertexts names the generation of its client key, and readers of two files compare the names.

use thiserror::Error;

use crate::random::{MaskSeed, Purpose, Seeds};
use crate::serial::{FormatError, Reader, Sink};

/// The name of a key generation: 16 random bytes, independent of the secrets. It is never printed, because a server's errors go to
/// strangers and the name identifies a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyGeneration([u8; 16]);

/// Two files of different key generations.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{first} and {second} come from different key generations of parameter set {parameters}; use files of one key generation"
)]
pub struct OtherGeneration {
    pub first: String,
    pub second: String,
    pub parameters: String,
}

impl KeyGeneration {
    /// Bytes in a file.
    pub(crate) const BYTES: u64 = 16;

    /// Derived from the public seed of a client key.
    pub(crate) fn draw(seeds: &Seeds) -> Self {
        Self::of(&seeds.mask)
    }

    /// Derived from a public seed.
    pub(crate) fn of(seed: &MaskSeed) -> Self {
        let mut stream = seed.stream(Purpose::SecretKey, 0);
        let (low, high) = (u128::from(stream.word()), u128::from(stream.word()));
        Self((high << 64 | low).to_le_bytes())
    }

    pub(crate) fn bytes(self) -> [u8; Self::BYTES as usize] {
        self.0
    }

    pub(crate) fn write(self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        sink.bytes(&self.0)
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let mut bytes = [0; Self::BYTES as usize];
        reader.bytes("the key generation", &mut bytes)?;
        Ok(Self(bytes))
    }

    /// Fails unless the file `second` has the same generation as the file `first`, which has this one.
    pub fn expect(self, first: &str, of_second: Self, second: &str, parameters: &str) -> Result<(), OtherGeneration> {
        if self == of_second {
            return Ok(());
        }
        let (first, second, parameters) = (first.to_owned(), second.to_owned(), parameters.to_owned());
        Err(OtherGeneration { first, second, parameters })
    }
}
