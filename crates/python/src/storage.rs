//! Sources of keys and ciphertexts in Python.

use crate::failure::Failure;
use crate::workers::detached;
use polyfabric_client as client;
use polyfabric_schemes::port::Direction;
use polyfabric_schemes::serial::{Family, FileError, FormatError, Reader, Storable};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A source of keys or ciphertexts.
#[derive(FromPyObject)]
pub enum Source {
    /// A file's bytes.
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

impl Source {
    pub fn borrowed(&self) -> client::Source<'_> {
        match self {
            Self::Bytes(bytes) => client::Source::Bytes(bytes),
            Self::Path(path) => client::Source::Path(path),
        }
    }

    /// Reads and parses its content.
    pub fn read<S: Storable>(&self) -> Result<S, FileError> {
        self.borrowed().read()
    }

    /// Reads its content with `read` if it belongs to the set `expected`; otherwise fails before reading the payload.
    pub fn read_of<S: Storable>(
        &self,
        expected: &<S::Family as Family>::Parameters,
        read: impl FnOnce(<S::Family as Family>::Parameters, u64, &mut Reader<'_>) -> Result<S, FormatError>,
    ) -> Result<S, Failure> {
        Ok(self.borrowed().read_of(expected, read)?)
    }

    /// Name in errors.
    pub fn name(&self) -> String {
        self.borrowed().name()
    }
}

/// Sources by name.
pub fn borrowed(sources: &BTreeMap<String, Source>) -> client::Sources<'_> {
    sources.iter().map(|(name, source)| (name.clone(), source.borrowed())).collect()
}

/// Writes `content` to `path` atomically; returns its bytes if `path` is `None`.
pub fn written<S: Storable>(content: &S, path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    Ok(client::written(content, path)?)
}

/// The bytes of `content`.
pub fn bytes<S: Storable>(content: &S) -> Result<Vec<u8>, Failure> {
    Ok(client::bytes(content)?)
}

/// The kind of a file by its first 16 bytes: identifier and description. `None` for files of other software.
#[pyfunction]
pub fn file_kind(head: &[u8]) -> Option<(String, String)> {
    client::file_kind(head)
}

fn direction(outputs: bool) -> Direction {
    if outputs { Direction::Output } else { Direction::Input }
}

/// The archive of the files of a program's inputs or outputs, by name.
#[pyfunction]
pub fn pack_ciphertexts(py: Python<'_>, parts: Vec<(String, PyBackedBytes)>, outputs: bool) -> PyResult<Py<PyBytes>> {
    let archive = detached(py, || client::pack(&parts, direction(outputs)).map_err(Failure::from))?;
    Ok(PyBytes::new(py, &archive).unbind())
}

/// Files by name.
type Files = Vec<(String, Py<PyBytes>)>;

/// Whether an archive has outputs, and its files by name.
#[pyfunction]
pub fn unpack_ciphertexts(py: Python<'_>, archive: PyBackedBytes) -> PyResult<(bool, Files)> {
    let (found, parts) = detached(py, || client::unpack(&archive).map_err(Failure::from))?;
    let files = parts.into_iter().map(|(name, data)| (name, PyBytes::new(py, data).unbind()));
    Ok((found == Direction::Output, files.collect()))
}
