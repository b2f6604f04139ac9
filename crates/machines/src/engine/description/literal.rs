//! What a machine file says, word for word: nothing in it is checked beyond its form.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// A yes or no.
    Flag(bool),
    /// The word `unknown`; any other text is an error.
    Text(String),
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Written::Integer(value) => write!(f, "{value}"),
            Written::Number(value) => write!(f, "{value}"),
            Written::Flag(value) => write!(f, "{value}"),
            Written::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// One figure of a machine file: `{ value = 1.2, unit = "GHz", source = "section VI-B" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureLiteral {
    /// The value, or `"unknown"`.
    pub value: Written,
    /// Its unit (see [`super::Dimension`]); `"1"` for a ratio, `"flag"` for a yes or no.
    pub unit: String,
    /// Paper and place, a synthesis run, a measurement, or a sentence that begins with the word `assumption`.
    pub source: String,
    /// Whether the figure is a published result that the model takes in (a component's area or power).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input: bool,
}

/// One part of the chip, with area and power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentLiteral {
    /// Number of such parts that `area` and `power` are for one of; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<FigureLiteral>,
    /// Area of one.
    pub area: FigureLiteral,
    /// Power of one at full activity.
    pub power: FigureLiteral,
    /// Share of `power` that flows without activity.
    pub idle_share: FigureLiteral,
    /// Unit classes, channel classes or memories (`memory:NAME`) whose mean utilisation is the part's activity.
    pub activity: Vec<String>,
}

/// One possible reading of a fact that the source leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionLiteral {
    /// The reading in a sentence.
    pub meaning: String,
    /// What speaks for it.
    pub source: String,
    /// Figures that the reading sets, by their key.
    pub figures: BTreeMap<String, FigureLiteral>,
}

/// A fact that the source leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingLiteral {
    /// What is open.
    pub question: String,
    /// Option that holds unless another is chosen.
    pub default: String,
    /// The options, by name.
    pub options: BTreeMap<String, OptionLiteral>,
}

/// A machine file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescriptionLiteral {
    /// Name on the command line.
    pub name: String,
    /// Name of the mapper that understands this file: `morphling` for every machine of Morphling's kind.
    pub mapper: String,
    /// What it is, in a line.
    pub title: String,
    /// Where it was published.
    pub paper: String,
    /// Clock.
    pub clock: FigureLiteral,
    /// Functional units: class, then figure.
    #[serde(default)]
    pub units: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// On-chip memories: name, then figure.
    #[serde(default)]
    pub memories: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// Channels: name, then figure.
    #[serde(default)]
    pub channels: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// Anything else of the machine's own: topic, then figure.
    #[serde(default)]
    pub machine: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// Parts with area and power.
    #[serde(default)]
    pub components: BTreeMap<String, ComponentLiteral>,
    /// Open facts.
    #[serde(default)]
    pub readings: BTreeMap<String, ReadingLiteral>,
}

/// Largest machine file that is read.
pub const LARGEST_FILE: usize = 1 << 20;

impl DescriptionLiteral {
    /// Reads TOML text.
    ///
    /// # Errors
    /// [`super::DescriptionError::Size`] or [`super::DescriptionError::Form`], with line and column.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, super::DescriptionError> {
        if text.len() > LARGEST_FILE {
            let (file, bytes) = (file.to_owned(), text.len());
            return Err(super::DescriptionError::Size { file, bytes, largest: LARGEST_FILE });
        }
        toml::from_str(text).map_err(|error| super::DescriptionError::Form {
            file: file.to_owned(),
            cause: error.to_string().trim_end().to_owned(),
        })
    }
}
