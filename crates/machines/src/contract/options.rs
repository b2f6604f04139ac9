//! Options of a machine in addition to the figures of its file.
//!
//! A machine lists its options. The command line and Python offer them by name, and the machine reads the given values. So each option is
//! defined once, and an unknown option is rejected with the list of known ones.

use super::Mapper;
use polyfabric_sim::description::Description;
use serde::Serialize;
use std::collections::BTreeMap;

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
    pub values: OptionValues,
    /// Help text.
    pub help: &'static str,
}

/// The given options: values by name.
pub type Given = BTreeMap<String, String>;

/// A rejected option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("`{machine}` has no option {name:?}; {known}")]
    Unknown { machine: String, name: String, known: String },
    #[error("option {name} of `{machine}` takes {takes}, not {value:?}")]
    Value { machine: String, name: String, takes: String, value: String },
    #[error("{0}")]
    Together(&'static str),
}

/// Checks `given` against the options of mapper `kind`; errors name `machine`.
pub fn check(kind: &Mapper, machine: &Description, given: &Given) -> Result<(), OptionError> {
    let specs = kind.options;
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

/// Parses a time above 0, in seconds.
pub fn seconds(text: &str) -> Option<std::time::Duration> {
    let seconds: f64 = text.parse().ok()?;
    std::time::Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}
