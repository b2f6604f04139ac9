//! Why a file could not be read or written.

use std::path::PathBuf;

use thiserror::Error;

/// A failure to read or write one file.
#[derive(Debug, Error)]
#[error("{}: {cause}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    pub cause: FormatError,
}

/// What is wrong with a file, or with reading it.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The operating system refused.
    #[error(
        "cannot {action} ({error}); check that the path exists and that you may use it, and that the disk has room"
    )]
    Io {
        /// What was tried.
        action: &'static str,
        /// Its error.
        error: std::io::Error,
    },
    /// Another program's file.
    #[error("this is no Polyfabric file (it does not start with {expected}); give one that Polyfabric wrote")]
    Magic {
        /// How files of the wanted family start.
        expected: String,
    },
    /// A file of another scheme.
    #[error(
        "this is a file of {found}, and one of {expected} is needed; bring the file that was written for this program"
    )]
    Scheme {
        /// Its scheme.
        found: &'static str,
        /// The one that is read.
        expected: &'static str,
    },
    /// A format that this version does not read.
    #[error(
        "format version {found}, but this Polyfabric reads version {read} only; write the file again with this version, or read it with the one that wrote it"
    )]
    Version {
        /// The file's.
        found: u32,
        /// The one that is read.
        read: u32,
    },
    /// Another kind of object.
    #[error("this file holds {found}, not {expected}; give the other file")]
    Kind {
        /// What the file holds.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// Another parameter set than the one that the reader needs.
    #[error("it is of parameter set {found}, and {expected} is needed; bring a file of that set")]
    Set {
        /// The name of the file's.
        found: String,
        /// The name of the needed one.
        expected: String,
    },
    /// Other switching keys than a program reads.
    #[error("{0}; make the keys by the program's own specification")]
    Keys(String),
    /// A kind that no version wrote.
    #[error("unknown kind of content {0}; the file is damaged, bring a fresh copy")]
    UnknownKind(u32),
    /// The file ends early.
    #[error("the file has {available} bytes left where {what} takes {needed}; it was cut off, bring a fresh copy")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes it needs.
        needed: u64,
        /// Bytes left of the file.
        available: u64,
    },
    /// A length in the file is not what its content calls for.
    #[error(
        "{what} is {found} bytes long, but the parameters call for {expected}; the file is damaged, bring a fresh copy"
    )]
    Length {
        /// Which part.
        what: &'static str,
        /// What the file says.
        found: u64,
        /// What it must be.
        expected: u64,
    },
    /// Bytes after the end.
    #[error(
        "{0} bytes follow the end of the content; the file is damaged or something was appended, bring a fresh copy"
    )]
    Trailing(u64),
    /// The checksum does not match.
    #[error("the checksum does not match: the content was damaged; bring a fresh copy")]
    Checksum,
    /// The parameter block is not readable, or its set not usable.
    #[error("its parameter set is not usable: {0}")]
    Parameters(Box<dyn std::error::Error + Send + Sync>),
    /// The parameter block is malformed.
    #[error("its parameter block is malformed ({0}); the file is damaged, bring a fresh copy")]
    ParameterBlock(&'static str),
    /// A value in the payload that no writer produces.
    #[error("its content is malformed ({0}); the file is damaged, bring a fresh copy")]
    Content(&'static str),
}

impl FormatError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Io { action, error }
    }
}
