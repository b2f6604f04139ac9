//! Files of keys and ciphertexts, and their bytes in memory.

use crate::failure::{Failure, Kind};
use polyfabric_schemes::bgv::serial::Bgv;
use polyfabric_schemes::ckks::serial::Ckks;
use polyfabric_schemes::serial::{
    Family, FileError, FileKind, FormatError, Reader, Storable, from_bytes, from_bytes_of, load, load_of, save,
    to_bytes,
};
use polyfabric_schemes::tfhe::serial::Tfhe;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::path::{Path, PathBuf};

/// Where keys or ciphertexts are read from.
#[derive(FromPyObject)]
pub enum Source {
    /// The bytes of a file.
    Bytes(PyBackedBytes),
    /// A file.
    Path(PathBuf),
}

impl Source {
    /// What it holds.
    pub fn read<S: Storable>(&self) -> Result<S, FileError> {
        match self {
            Self::Bytes(bytes) => from_bytes(bytes, &self.name()),
            Self::Path(path) => load(path),
        }
    }

    /// Reads its content with `read`, if it is of the set `expected`; another set is refused before the payload is touched.
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

    /// What errors call it.
    pub fn name(&self) -> String {
        match self {
            Self::Bytes(bytes) => format!("{} bytes in memory", bytes.len()),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Writes `content` to `path`, whole or not at all; without one, gives its bytes.
pub fn written<S: Storable>(content: &S, path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    let result = match path {
        Some(path) => save(content, path).map(|()| None),
        None => to_bytes(content, "memory").map(Some),
    };
    result.map_err(Failure::of(Kind::File))
}

/// The kind of a file with these first bytes: its name in Rust, and in words. `None` if it is no file of `F`.
fn kind_of<F: Family>(head: &[u8]) -> Option<(String, String)> {
    let code = head.strip_prefix(&F::MAGIC)?.get(4..8)?;
    let kind = F::Kind::from_code(u32::from_le_bytes(code.try_into().ok()?))?;
    Some((format!("{kind:?}"), kind.to_string()))
}

/// The kind of a file that begins with `head` (16 bytes): its name, and the same in words. `None` for files of other software.
#[pyfunction]
pub fn file_kind(head: &[u8]) -> Option<(String, String)> {
    kind_of::<Tfhe>(head).or_else(|| kind_of::<Ckks>(head)).or_else(|| kind_of::<Bgv>(head))
}
