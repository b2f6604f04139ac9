//! Why a file could not be read or written.

use std::path::PathBuf;

use thiserror::Error;

/// A failure to read or write one file.
#[derive(Debug, Error)]
#[error("{}: {cause}", path.display())]
pub struct FileError {
    pub path: PathBuf,
    pub cause: FormatError,
}

/// Why a file is unreadable, unwritable or invalid.
#[derive(Debug, Error)]
pub enum FormatError {
    #[error("cannot {action} ({error}); check the path, its permissions and the free disk space")]
    Io { action: &'static str, error: std::io::Error },
    #[error("this is not a Polyfabric file (it does not start with {expected}); give one that Polyfabric wrote")]
    Magic { expected: String },
    #[error(
        "this is a file of {found}, but one of {expected} is needed; bring the file that was written for this program"
    )]
    Scheme { found: &'static str, expected: &'static str },
    #[error(
        "format version {found}, but this Polyfabric reads version {read} only; write the file again with this version, or read it with the one that wrote it"
    )]
    Version { found: u32, read: u32 },
    #[error("this file holds {found}, not {expected}; give the other file")]
    Kind { found: String, expected: String },
    #[error("the file has parameter set {found}, but {expected} is needed; bring a file of that set")]
    Set { found: String, expected: String },
    #[error("{0}; make the keys from the program's own specification")]
    Keys(String),
    #[error("unknown kind of content {0}; the file is damaged, bring a fresh copy")]
    UnknownKind(u32),
    #[error("the file has {available} bytes left, but {what} needs {needed}; it was cut off, bring a fresh copy")]
    Truncated { what: &'static str, needed: u64, available: u64 },
    #[error(
        "{what} is {found} bytes long, but the parameters require {expected}; the file is damaged, bring a fresh copy"
    )]
    Length { what: &'static str, found: u64, expected: u64 },
    #[error(
        "{0} bytes follow the end of the content; the file is damaged or something was appended, bring a fresh copy"
    )]
    Trailing(u64),
    #[error("the checksum does not match: the content was damaged; bring a fresh copy")]
    Checksum,
    #[error("its parameter set is not usable: {0}")]
    Parameters(Box<dyn std::error::Error + Send + Sync>),
    #[error("its parameter block is malformed ({0}); the file is damaged, bring a fresh copy")]
    ParameterBlock(&'static str),
    #[error("its content is malformed ({0}); the file is damaged, bring a fresh copy")]
    Content(&'static str),
}

impl FormatError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Io { action, error }
    }
}
