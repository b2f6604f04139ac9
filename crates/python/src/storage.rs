//! Files of keys and ciphertexts, and their bytes in memory.

use crate::failure::{Failure, Kind};
use polyfabric_schemes::serial::{FileError, Storable, from_bytes, load, save, to_bytes};
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
