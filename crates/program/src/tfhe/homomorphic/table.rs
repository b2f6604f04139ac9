use super::Range;
use thiserror::Error;

/// A function on consecutive integers: `values[i]` is the result for operand `first + i`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    first: i64,
    values: Vec<i64>,
}

/// Why a lookup table is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TableError {
    #[error("the lookup table is empty; give one entry for each value of the operand")]
    Empty,
    #[error(
        "the lookup table has {entries} entries, more than the {limit} that any parameter set can tell apart; narrow the operand's range"
    )]
    TooLong { entries: usize, limit: usize },
    #[error("the lookup table holds {value}, beyond ±2^40; no parameter set carries it")]
    Beyond { value: i64 },
    #[error(
        "the operand ranges from {lo} to {hi}, but the lookup table covers {first} to {last}; extend the table or narrow the operand"
    )]
    Uncovered { lo: i64, hi: i64, first: i64, last: i64 },
}

impl Table {
    /// Maximum number of entries: the largest ring distinguishes 2^17 slots.
    pub const MAX_ENTRIES: usize = 1 << 17;

    /// The table with entry i for operand `first + i`.
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

    /// Tabulates `function` over `domain`; entries between strides are 0 and never read.
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

    pub fn first(&self) -> i64 {
        self.first
    }

    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// The entry for `operand`; `None` outside the table.
    pub fn get(&self, operand: i64) -> Option<i64> {
        let index = usize::try_from(operand.checked_sub(self.first)?).ok()?;
        self.values.get(index).copied()
    }

    /// The range of the entries that `domain` reaches.
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
