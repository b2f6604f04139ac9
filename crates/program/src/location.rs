//! Source locations of nodes, for error messages.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Where the user's source defines a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// File name, as the user's language reports it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A cause of an error, and where the user's source has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<C> {
    pub cause: C,
    pub location: Option<Location>,
}

impl<C: fmt::Display> fmt::Display for Located<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", place(self.location.as_ref()), self.cause)
    }
}

impl<C: Error + 'static> Error for Located<C> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

/// "file:line: ", or an empty string.
pub(crate) fn place(location: Option<&Location>) -> String {
    location.map_or(String::new(), |location| format!("{location}: "))
}
