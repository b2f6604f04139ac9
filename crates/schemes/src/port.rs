//! Identifies the input or output of a program that a ciphertext belongs to.
//!
//! A ciphertext file of another program with the same types has the same format and would decrypt to unrelated numbers. So every file names
//! its program, by a hash of its text, and its input or output; readers compare these.

use std::fmt;
use std::io::{BufWriter, Write};

use blake3::Hasher;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::serial::{FormatError, Reader, Sink};

/// The hash of a program: the first 16 bytes of BLAKE3 of its text without source locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProgramHash([u8; 16]);

impl ProgramHash {
    /// Hashes a program's text.
    pub fn of(text: impl fmt::Display) -> Self {
        // A program prints many short pieces, and a hash of long ones is several times as fast.
        let mut pieces = BufWriter::with_capacity(1 << 16, Hasher::new());
        // Writing to a hasher cannot fail.
        let _ = write!(pieces, "{text}");
        let _ = pieces.flush();
        let mut first = [0; 16];
        first.copy_from_slice(&pieces.get_ref().finalize().as_bytes()[..16]);
        Self(first)
    }
}

impl fmt::Display for ProgramHash {
    /// The first eight bytes, enough to distinguish programs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Which way a ciphertext goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the program.
    Input,
    /// From the program to the client.
    Output,
}

/// An input or an output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub program: ProgramHash,
    /// The program's name, for messages.
    pub program_name: String,
    /// Input or output.
    pub direction: Direction,
    pub name: String,
}

/// A ciphertext belongs to another program, or to another input or output.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: it is {found}, but {needed} is needed; bring the file that was written for this program")]
pub struct OtherPort {
    pub file: String,
    pub found: Box<Port>,
    pub needed: Box<Port>,
}

/// Longest name, in bytes.
const MAX_NAME: usize = 256;

/// The rule for names of programs, inputs and outputs: names become file names and appear verbatim in messages.
pub const NAMES: &str = "one has up to 256 letters, digits and _ - + . alone";

/// Why a name is invalid, if it is.
pub fn name_problem(name: &str) -> Option<&'static str> {
    let printable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > MAX_NAME {
        Some("is longer than 256 bytes")
    } else if !name.chars().all(printable) {
        Some("has characters other than letters, digits and _ - + .")
    } else {
        None
    }
}

/// The part of a name that fits a file.
fn written(name: &str) -> &str {
    let end = (0..=name.len().min(MAX_NAME)).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Input => "input",
            Direction::Output => "output",
        };
        write!(f, "{direction} {:?} of program {} ({})", self.name, self.program_name, self.program)
    }
}

impl Port {
    /// Bytes in a file.
    pub(crate) fn bytes(&self) -> u64 {
        16 + 4 + [&self.program_name, &self.name].map(|name| 4 + written(name).len() as u64).iter().sum::<u64>()
    }

    pub(crate) fn write(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        sink.bytes(&self.program.0)?;
        let direction: u32 = match self.direction {
            Direction::Input => 0,
            Direction::Output => 1,
        };
        sink.bytes(&direction.to_le_bytes())?;
        [&self.program_name, &self.name].into_iter().try_for_each(|name| {
            let name = written(name).as_bytes();
            sink.bytes(&(name.len() as u32).to_le_bytes())?;
            sink.bytes(name)
        })
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let mut program = [0; 16];
        reader.bytes("the program's hash", &mut program)?;
        let direction = match reader.u32("whether it is an input")? {
            0 => Direction::Input,
            1 => Direction::Output,
            _ => return Err(FormatError::Content("a ciphertext is neither an input nor an output")),
        };
        let mut name = || {
            let length = reader.u32("the length of a name")? as usize;
            if length > MAX_NAME {
                return Err(FormatError::Content("a name is longer than 256 bytes"));
            }
            let mut bytes = vec![0; length];
            reader.bytes("a name", &mut bytes)?;
            // Names appear in messages, so they must not contain control characters.
            let name = String::from_utf8(bytes).ok().filter(|name| name_problem(name).is_none());
            name.ok_or(FormatError::Content(
                "a name is empty, or has characters other than letters, digits and _ - + .",
            ))
        };
        let (program_name, name) = (name()?, name()?);
        Ok(Self { program: ProgramHash(program), program_name, direction, name })
    }

    /// Fails unless `found`, read from `file`, is this port.
    pub fn expect(&self, found: &Self, file: &str) -> Result<(), OtherPort> {
        let same = self.program == found.program
            && self.direction == found.direction
            && written(&self.name) == written(&found.name);
        if same {
            return Ok(());
        }
        Err(OtherPort { file: file.to_owned(), found: Box::new(found.clone()), needed: Box::new(self.clone()) })
    }

    /// A port for tests of files.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        let (program, program_name) = (ProgramHash::of("a program"), "sample".to_owned());
        Self { program, program_name, direction: Direction::Input, name: "x".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    //! Are files of another program, step or name rejected with a clear message?
    use super::*;

    #[test]
    fn another_program_step_or_name_is_refused() {
        let port = Port::for_tests();
        assert_eq!(port.expect(&port.clone(), "x.in.ct"), Ok(()));
        let others = [
            Port { program: ProgramHash::of("another"), ..port.clone() },
            Port { direction: Direction::Output, ..port.clone() },
            Port { name: "y".to_owned(), ..port.clone() },
        ];
        for other in &others {
            assert!(port.expect(other, "x.in.ct").is_err(), "{other}");
        }
        let hash = ProgramHash::of("a program").to_string();
        assert_eq!(
            port.expect(&others[1], "x.in.ct").expect_err("another step").to_string(),
            format!(
                "x.in.ct: it is output \"x\" of program sample ({hash}), but input \"x\" of program sample ({hash}) is needed; bring the file that was written for this program"
            )
        );
        // A program's name is not part of the comparison: the hashed text contains it.
        assert_eq!(port.expect(&Port { program_name: "renamed".to_owned(), ..port.clone() }, ""), Ok(()));
        assert_ne!(ProgramHash::of("a"), ProgramHash::of("b"));
    }
}
