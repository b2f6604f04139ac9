//! Look-up tables of the homomorphic program.

use super::Range;
use thiserror::Error;

/// A function on consecutive integers: `values[i]` is the result for the operand `first + i`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    first: i64,
    values: Vec<i64>,
}

/// Why a look-up table is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TableError {
    /// The table has no entry.
    #[error("the look-up table is empty; give one entry for each value of the operand")]
    Empty,
    /// The table is larger than any parameter set can read.
    #[error(
        "the look-up table has {entries} entries, more than the {limit} that any parameter set can tell apart; narrow the operand's range"
    )]
    TooLong {
        /// Entries given.
        entries: usize,
        /// The limit.
        limit: usize,
    },
    /// An entry, or the first operand, is beyond ±2^40.
    #[error("the look-up table holds {value}, beyond ±2^40; no parameter set carries it")]
    Beyond {
        /// The entry or operand.
        value: i64,
    },
    /// The operand can take a value without entry.
    #[error(
        "the operand ranges from {lo} to {hi}, but the table covers {first} to {last}; extend the table or narrow the operand"
    )]
    Uncovered {
        /// Smallest value of the operand.
        lo: i64,
        /// Largest value of the operand.
        hi: i64,
        /// First value that the table covers.
        first: i64,
        /// Last value that the table covers.
        last: i64,
    },
}

impl Table {
    /// Most entries of one table: the ring of the largest degree tells at most 2^17 slots apart.
    pub const MAX_ENTRIES: usize = 1 << 17;

    /// The table whose entry i belongs to the operand `first + i`.
    ///
    /// # Errors
    /// [`TableError::Empty`], [`TableError::TooLong`], [`TableError::Beyond`].
    pub fn new(first: i64, values: Vec<i64>) -> Result<Self, TableError> {
        let entries = values.len();
        if entries == 0 {
            return Err(TableError::Empty);
        }
        if entries > Self::MAX_ENTRIES {
            return Err(TableError::TooLong { entries, limit: Self::MAX_ENTRIES });
        }
        match std::iter::once(&first).chain(&values).find(|&&value| !Range::point(value).contains(value)) {
            Some(&value) => Err(TableError::Beyond { value }),
            None => Ok(Self { first, values }),
        }
    }

    /// `function` tabulated over `domain`; entries between the strides are 0 and never read.
    ///
    /// # Errors
    /// [`TableError::TooLong`].
    pub fn tabulate(domain: Range, function: impl Fn(i64) -> i64) -> Result<Self, TableError> {
        let entries = (domain.hi() - domain.lo()) as u64 + 1;
        if entries > Self::MAX_ENTRIES as u64 {
            return Err(TableError::TooLong { entries: entries as usize, limit: Self::MAX_ENTRIES });
        }
        let entry = |value| if domain.contains(value) { function(value) } else { 0 };
        Self::new(domain.lo(), (domain.lo()..=domain.hi()).map(entry).collect())
    }

    /// The operand of the first entry.
    pub fn first(&self) -> i64 {
        self.first
    }

    /// The entries.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// The entry for `operand`; `None` outside the table.
    pub fn get(&self, operand: i64) -> Option<i64> {
        let index = usize::try_from(operand.checked_sub(self.first)?).ok()?;
        self.values.get(index).copied()
    }

    /// The range of the entries that operands in `domain` reach.
    ///
    /// # Errors
    /// [`TableError::Uncovered`] when `domain` exceeds the table.
    pub fn image(&self, domain: Range) -> Result<Range, TableError> {
        let uncovered = || TableError::Uncovered {
            lo: domain.lo(),
            hi: domain.hi(),
            first: self.first,
            last: self.first + self.values.len() as i64 - 1,
        };
        if self.get(domain.lo()).is_none() || self.get(domain.hi()).is_none() {
            return Err(uncovered());
        }
        let reached = domain.values().filter_map(|value| self.get(value));
        reached.map(Range::point).reduce(Range::union).ok_or_else(uncovered)
    }
}
