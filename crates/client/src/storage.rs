//! Reads and writes keys and ciphertexts, as files or bytes.

use crate::failure::{Failure, Kind};
use polyfabric_schemes::bgv::serial::Bgv;
use polyfabric_schemes::ckks::serial::Ckks;
use polyfabric_schemes::joint::Joint;
use polyfabric_schemes::serial::{
    Family, FileError, FileKind, FormatError, Reader, Storable, from_bytes, from_bytes_of, load, load_of, save,
    to_bytes,
};
use polyfabric_schemes::tfhe::serial::Tfhe;
use std::collections::BTreeMap;
use std::path::Path;

/// A source of keys or ciphertexts.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A file's bytes.
    Bytes(&'a [u8]),
    Path(&'a Path),
}

/// Sources by the name of the input or output.
pub type Sources<'a> = BTreeMap<String, Source<'a>>;

impl Source<'_> {
    /// Reads and parses its content.
    pub fn read<S: Storable>(&self) -> Result<S, FileError> {
        match self {
            Self::Bytes(bytes) => from_bytes(bytes, &self.name()),
            Self::Path(path) => load(path),
        }
    }

    /// Reads its content with `read` if it belongs to the set `expected`; otherwise fails before reading the payload.
    pub fn read_of<S: Storable>(
        &self,
        expected: &<S::Family as Family>::Parameters,
        read: impl FnOnce(<S::Family as Family>::Parameters, u64, &mut Reader<'_>) -> Result<S, FormatError>,
    ) -> Result<S, Failure> {
        let result = match self {
            Self::Bytes(bytes) => from_bytes_of(bytes, &self.name(), expected, read),
            Self::Path(path) => load_of(path, expected, read),
        };
        result.map_err(|error| {
            let other = matches!(error.cause, FormatError::Set { .. } | FormatError::Keys(_));
            Failure::new(if other { Kind::Parameter } else { Kind::File }, error)
        })
    }

    /// Name in errors.
    pub fn name(&self) -> String {
        match self {
            Self::Bytes(bytes) => format!("data of {} bytes", bytes.len()),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Writes `content` to `path` atomically; returns its bytes if `path` is `None`.
pub fn written<S: Storable>(content: &S, path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    let result = match path {
        Some(path) => save(content, path).map(|()| None),
        None => to_bytes(content, "memory").map(Some),
    };
    result.map_err(Failure::of(Kind::File))
}

/// The bytes of `content`.
pub fn bytes<S: Storable>(content: &S) -> Result<Vec<u8>, Failure> {
    to_bytes(content, "memory").map_err(Failure::of(Kind::File))
}

/// The kind of a file by its first bytes: identifier and description. `None` if it does not belong to family `F`.
fn kind_of<F: Family>(head: &[u8]) -> Option<(String, String)> {
    let code = head.strip_prefix(&F::MAGIC)?.get(4..8)?;
    let kind = F::Kind::from_code(u32::from_le_bytes(code.try_into().ok()?))?;
    Some((format!("{kind:?}"), kind.to_string()))
}

/// The kind of a file by its first 16 bytes: identifier and description. `None` for files of other software.
pub fn file_kind(head: &[u8]) -> Option<(String, String)> {
    kind_of::<Tfhe>(head)
        .or_else(|| kind_of::<Ckks>(head))
        .or_else(|| kind_of::<Bgv>(head))
        .or_else(|| kind_of::<Joint>(head))
}
