//! What can be wrong with a machine file: the place, the value, the cause and the remedy.

use super::literal::LARGEST_FILE;

/// A machine file that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DescriptionError {
    /// The file is too large to be one.
    #[error("{file}: more than {LARGEST_FILE} bytes, and a machine file has fewer. Is this the right file?")]
    Size {
        /// File.
        file: String,
    },
    /// The text does not have the form of a machine file.
    #[error("{file}: {cause}")]
    Form {
        /// File.
        file: String,
        /// What the reader found, with line and column.
        cause: String,
    },
    /// A line that every file begins with is not there.
    #[error("{file}: `{key}` is missing. Add `{key} = {value}` above the first `[table]`: {meaning}")]
    MissingLine {
        /// File.
        file: String,
        /// Key.
        key: &'static str,
        /// How its value is written.
        value: &'static str,
        /// What it is.
        meaning: &'static str,
    },
    /// One figure is impossible.
    #[error("{file}, `{key}` = {value}: {cause}. {remedy}")]
    Figure {
        /// File.
        file: String,
        /// Key of the figure.
        key: String,
        /// Value as written.
        value: String,
        /// What is wrong with it.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// A figure that the machine needs is not there.
    #[error(
        "{file}: `{key}` is missing. Add `{} = {{ value = …, unit = \"{unit}\", source = … }}` below `[{}]`: {meaning}",
        key.rsplit('.').next().unwrap_or_default(), key.rsplit_once('.').map_or("", |(table, _)| table)
    )]
    Missing {
        /// File.
        file: String,
        /// Key.
        key: String,
        /// A unit that it could have.
        unit: String,
        /// What the figure is.
        meaning: String,
    },
    /// A figure is there, but nobody knows it.
    #[error(
        "{file}: `{key}` is unknown ({source_text}), and what was asked for needs it. Give it a value with a source"
    )]
    Unknown {
        /// File.
        file: String,
        /// Key.
        key: String,
        /// Source as written.
        source_text: String,
    },
    /// A key that the machine does not have.
    #[error("{file}: `{key}` is no figure of `{mapper}`. {remedy}")]
    UnexpectedKey {
        /// File.
        file: String,
        /// Key as written.
        key: String,
        /// Mapper of the file.
        mapper: String,
        /// The nearest key, or all of them.
        remedy: String,
    },
    /// A reading or an option of one that does not exist.
    #[error("{file}: {what} `{name}` does not exist. Choose one of: {known}")]
    Reading {
        /// File.
        file: String,
        /// `reading` or `option of reading …`.
        what: String,
        /// Name as given.
        name: String,
        /// Names that exist.
        known: String,
    },
}

/// Figures that contradict each other.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FigureError {
    /// Missing or unknown.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A figure that is less than the others want.
    #[error("{file}: `{key}` is {value} and at least {needed} are needed, {cause}")]
    TooSmall {
        /// Machine file.
        file: String,
        /// The figure.
        key: String,
        /// Its value.
        value: f64,
        /// The least that it can be.
        needed: f64,
        /// In what unit, why, and what to do.
        cause: &'static str,
    },
    /// Two figures that cannot both be.
    #[error("{file}: `{first}` is {first_value} and `{second}` is {second_value}: {cause}")]
    Together {
        /// Machine file.
        file: String,
        /// One figure.
        first: &'static str,
        /// Its value.
        first_value: u64,
        /// The other.
        second: &'static str,
        /// Its value.
        second_value: u64,
        /// Why not, and what to do.
        cause: &'static str,
    },
}
