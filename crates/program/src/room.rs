//! Memory that a step may take: too large a program is refused before its memory is taken.
//!
//! ```
//! use polyfabric_program::Room;
//!
//! let mut room = Room::of(Some(1 << 30));
//! assert!(room.take(1 << 29).is_ok());
//! assert!(room.take(1 << 30).is_err());
//! ```

use std::fmt;
use thiserror::Error;

/// Bytes that may be taken, and those that were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    most: Option<u64>,
    taken: u64,
}

/// More memory than may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("up to {} of memory, but {} may be taken", Bytes(*needed), Bytes(*most))]
pub struct NoRoom {
    /// Bytes needed.
    pub needed: u64,
    /// Bytes that may be taken.
    pub most: u64,
}

impl Room {
    /// For `most` bytes; without it for any number.
    pub fn of(most: Option<u64>) -> Self {
        Self { most, taken: 0 }
    }

    /// Bytes taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Checks that `bytes` more are free.
    ///
    /// # Errors
    /// [`NoRoom`] if not.
    pub fn expect(&self, bytes: u64) -> Result<(), NoRoom> {
        let needed = self.taken.saturating_add(bytes);
        match self.most {
            Some(most) if needed > most => Err(NoRoom { needed, most }),
            _ => Ok(()),
        }
    }

    /// Takes `bytes`.
    ///
    /// # Errors
    /// [`NoRoom`] if fewer are free.
    pub fn take(&mut self, bytes: u64) -> Result<(), NoRoom> {
        self.expect(bytes)?;
        self.taken += bytes;
        Ok(())
    }
}

/// Bytes for people, in powers of 1024.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = (63 - self.0.max(1).leading_zeros() as usize) / 10;
        let digits = usize::from(power > 0);
        write!(f, "{:.digits$} {}", self.0 as f64 / 2f64.powi(10 * power as i32), units[power])
    }
}
