//! Source locations of nodes, for error messages.

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

/// "file:line: ", or an empty string.
pub(crate) fn place(location: Option<&Location>) -> String {
    location.map_or(String::new(), |location| format!("{location}: "))
}
