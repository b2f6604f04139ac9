//! Errors in a machine file: the place, the value, the cause and the remedy.

use super::literal::LARGEST_FILE;

/// A machine file that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DescriptionError {
    /// The file is too large for a machine file.
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
        /// The reader's message, with line and column.
        cause: String,
    },
    /// A line that every file needs is missing.
    #[error("{file}: `{key}` is missing. Add `{key} = {value}` above the first `[table]`: {meaning}")]
    MissingLine {
        /// File.
        file: String,
        /// Key.
        key: &'static str,
        /// How its value is written.
        value: &'static str,
        /// Its meaning.
        meaning: &'static str,
    },
    /// One figure has an invalid value.
    #[error("{file}, `{key}` = {value}: {cause}. {remedy}")]
    Figure {
        /// File.
        file: String,
        /// Key of the figure.
        key: String,
        /// Value as written.
        value: String,
        /// The problem.
        cause: String,
        /// The remedy.
        remedy: String,
    },
    /// A figure that the machine needs is missing.
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
        /// Meaning of the figure.
        meaning: String,
    },
    /// A figure that is needed is `unknown`.
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
    /// A reading, or an option of a reading, that does not exist.
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
    /// A figure is smaller than others require.
    #[error("{file}: `{key}` is {value} and at least {needed} are needed, {cause}")]
    TooSmall {
        /// Machine file.
        file: String,
        /// The figure.
        key: String,
        /// Its value.
        value: f64,
        /// The smallest possible value.
        needed: f64,
        /// The unit, the reason, and the remedy.
        cause: &'static str,
    },
    /// Two figures that exclude each other.
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
        /// The reason, and the remedy.
        cause: &'static str,
    },
}
