//! A budget of memory, so that a program too large for the machine is rejected before the memory is allocated.
//!
//! ```
//! use polyfabric_program::MemoryBudget;
//!
//! let mut budget = MemoryBudget::of(Some(1 << 30));
//! assert!(budget.spend(1 << 29).is_ok());
//! assert!(budget.spend(1 << 30).is_err());
//! ```

use std::fmt;
use thiserror::Error;

/// A limit in bytes, and the bytes spent so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryBudget {
    most: Option<u64>,
    spent: u64,
}

/// The budget does not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("up to {} of memory, but the limit is {}", Bytes(*needed), Bytes(*most))]
pub struct MemoryExceeded {
    pub needed: u64,
    pub most: u64,
}

impl MemoryBudget {
    /// A budget of `most` bytes, or without limit.
    pub fn of(most: Option<u64>) -> Self {
        Self { most, spent: 0 }
    }

    /// Bytes spent so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Checks that `bytes` more are available, without spending them.
    ///
    /// # Errors
    /// [`MemoryExceeded`] if not.
    pub fn expect(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let needed = self.spent.saturating_add(bytes);
        match self.most {
            Some(most) if needed > most => Err(MemoryExceeded { needed, most }),
            _ => Ok(()),
        }
    }

    /// Spends `bytes`.
    ///
    /// # Errors
    /// [`MemoryExceeded`] if fewer are available.
    pub fn spend(&mut self, bytes: u64) -> Result<(), MemoryExceeded> {
        self.expect(bytes)?;
        self.spent += bytes;
        Ok(())
    }
}

/// Formats bytes in powers of 1024.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = (63 - self.0.max(1).leading_zeros() as usize) / 10;
        let digits = usize::from(power > 0);
        write!(f, "{:.digits$} {}", self.0 as f64 / 2f64.powi(10 * power as i32), units[power])
    }
}
