//! What a user may choose of a machine beside the figures of its file.
//!
//! A machine lists its options; the command line and Python offer what is listed, by name, and the machine reads what was given. So an
//! option exists in one place, and one that a machine does not have is refused with those that it has.

use super::Mapper;
use crate::engine::description::Description;
use serde::Serialize;
use std::collections::BTreeMap;

/// What values an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionValues {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A time in seconds, above 0.
    Seconds,
}

/// An option of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OptionSpec {
    /// Name, as after `--`.
    pub name: &'static str,
    /// Values.
    pub values: OptionValues,
    /// What it does.
    pub help: &'static str,
}

/// Options as given: values by name.
pub type Given = BTreeMap<String, String>;

/// An option that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The machine has no such option.
    #[error("`{machine}` has no option {name:?}; {known}")]
    Unknown {
        /// Machine.
        machine: String,
        /// Option.
        name: String,
        /// What it has.
        known: String,
    },
    /// The option does not take that.
    #[error("option {name} of `{machine}` takes {takes}, not {value:?}")]
    Value {
        /// Machine.
        machine: String,
        /// Option.
        name: String,
        /// What it takes.
        takes: String,
        /// What was given.
        value: String,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Together(&'static str),
}

/// Holds `given` against the options of `kind`, for messages about `machine`.
///
/// # Errors
/// [`OptionError`] for one that it does not have, or a value that it does not take.
pub fn check(kind: &dyn Mapper, machine: &Description, given: &Given) -> Result<(), OptionError> {
    check_against(kind.options(), machine, given)
}

/// Holds `given` against `specs`, for messages about `machine`.
///
/// # Errors
/// As [`check`].
pub fn check_against(specs: &[OptionSpec], machine: &Description, given: &Given) -> Result<(), OptionError> {
    for (name, value) in given {
        let machine = || machine.name().to_owned();
        let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
            let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
            let known = match names.is_empty() {
                true => "it has none; leave it out".to_owned(),
                false => format!("choose from: {}", names.join(", ")),
            };
            return Err(OptionError::Unknown { machine: machine(), name: name.clone(), known });
        };
        let takes = match spec.values {
            OptionValues::Words(words) if words.contains(&&**value) => continue,
            OptionValues::Words(words) => words.join(" or "),
            OptionValues::Seconds if seconds(value).is_some() => continue,
            OptionValues::Seconds => "a number of seconds above 0".to_owned(),
        };
        return Err(OptionError::Value { machine: machine(), name: name.clone(), takes, value: value.clone() });
    }
    Ok(())
}

/// A time above 0, in seconds.
pub fn seconds(text: &str) -> Option<std::time::Duration> {
    let seconds: f64 = text.parse().ok()?;
    std::time::Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}
