//! Errors in a machine file: the place, the value, the cause and the remedy.

use super::literal::LARGEST_FILE;

/// A machine file that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DescriptionError {
    #[error("{file}: more than {LARGEST_FILE} bytes, and a machine file has fewer. Is this the right file?")]
    Size { file: String },
    #[error("{file}: {cause}")]
    Form { file: String, cause: String },
    #[error("{file}: `{key}` is missing. Add `{key} = {value}` above the first `[table]`: {meaning}")]
    MissingLine { file: String, key: &'static str, value: &'static str, meaning: &'static str },
    #[error("{file}, `{key}` = {value}: {cause}. {remedy}")]
    Figure { file: String, key: String, value: String, cause: String, remedy: String },
    #[error(
        "{file}: `{key}` is missing. Add `{} = {{ value = …, unit = \"{unit}\", source = … }}` below `[{}]`: {meaning}",
        key.rsplit('.').next().unwrap_or_default(), key.rsplit_once('.').map_or("", |(table, _)| table)
    )]
    Missing { file: String, key: String, unit: String, meaning: String },
    #[error(
        "{file}: `{key}` is unknown ({source_text}), and what was asked for needs it. Give it a value with a source"
    )]
    Unknown { file: String, key: String, source_text: String },
    #[error("{file}: `{key}` is no figure of `{mapper}`. {remedy}")]
    UnexpectedKey { file: String, key: String, mapper: String, remedy: String },
    #[error("{file}: {what} `{name}` does not exist. Choose one of: {known}")]
    Reading { file: String, what: String, name: String, known: String },
}

/// Figures that contradict each other.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FigureError {
    #[error(transparent)]
    Description(#[from] DescriptionError),
    #[error("{file}: `{key}` is {value} and at least {needed} are needed, {cause}")]
    TooSmall { file: String, key: String, value: f64, needed: f64, cause: &'static str },
    #[error("{file}: `{first}` is {first_value} and `{second}` is {second_value}: {cause}")]
    Together {
        file: String,
        first: &'static str,
        first_value: u64,
        second: &'static str,
        second_value: u64,
        cause: &'static str,
    },
}
