//! The content of a machine file as written. Only its form is checked.

use super::dimension::decimal;
use polyfabric_schemes::toml_text::{fault, is_order, shortened};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, true, false or \"unknown\"")]
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

impl Written {
    /// The number, or 1 and 0 of a yes or no.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Written::Integer(value) => Some(*value as f64),
            Written::Number(value) => Some(*value),
            Written::Flag(value) => Some(f64::from(*value)),
            Written::Text(_) => None,
        }
    }
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Written::Integer(value) => write!(f, "{value}"),
            Written::Number(value) => write!(f, "{}", decimal(*value)),
            Written::Flag(value) => write!(f, "{value}"),
            Written::Text(value) => write!(f, "{:?}", shortened(value, LONGEST_TEXT)),
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

/// Number of parts of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a law, as \"units.cluster.count * units.add.count\", or a number as { value, unit, source }"
)]
pub enum CountLiteral {
    /// A sum of products of figures and numbers: `"units.cluster.count * units.add.count"`.
    Of(String),
    /// A number that depends on no figure.
    Figure(FigureLiteral),
}

/// The size with which a part's area and power grow linearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeLiteral {
    /// The size: a sum of products of figures and numbers, in base units.
    pub of: String,
    /// Size of the part whose area and power the file gives, in the same form.
    pub at: String,
    /// Source of the law, or a sentence that begins with the word `assumption`.
    pub source: String,
}

/// The values of a figure for which a part's area and power hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a value of the figure, or a list of its values")]
pub enum HeldLiteral {
    /// One value: a number in the base unit, a number with its unit as text (`"640 KiB"`), or a yes or no.
    One(Written),
    /// Several values, one of which must match.
    Several(Vec<Written>),
}

/// One part of the chip, with area and power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentLiteral {
    /// Number of such parts; 1 if not given. `area` and `power` are those of one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<CountLiteral>,
    /// Size of a part; fixed if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<SizeLiteral>,
    /// Figures with the only values for which area and power hold, because no law is known. With another value they are
    /// unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub holds_for: BTreeMap<String, HeldLiteral>,
    pub area: FigureLiteral,
    /// Power of one at full activity.
    pub power: FigureLiteral,
    /// Channels, as `channels.hbm`, whose off-chip memory is part of `power`. The file gives no energy a bit for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<String>,
    /// Share of `power` that is drawn without activity.
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
    /// Evidence for it.
    pub source: String,
    /// Figures that the reading sets, by their key.
    pub figures: BTreeMap<String, FigureLiteral>,
}

/// A fact that the source leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingLiteral {
    /// The open question.
    pub question: String,
    /// The option that applies by default.
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
    /// Name of the mapper for this file.
    pub mapper: String,
    /// Title, in a line.
    pub title: String,
    /// Place of publication.
    pub paper: String,
    pub clock: FigureLiteral,
    /// The clock that the power of the components is for, and that their pipelines are known to reach. The machine's
    /// own if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_clock: Option<FigureLiteral>,
    /// Functional units: class, then figure.
    #[serde(default)]
    pub units: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// On-chip memories: name, then figure.
    #[serde(default)]
    pub memories: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// Channels: name, then figure.
    #[serde(default)]
    pub channels: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// Other figures of the machine: topic, then figure.
    #[serde(default)]
    pub machine: BTreeMap<String, BTreeMap<String, FigureLiteral>>,
    /// Parts with area and power.
    #[serde(default)]
    pub components: BTreeMap<String, ComponentLiteral>,
    /// Open facts.
    #[serde(default)]
    pub readings: BTreeMap<String, ReadingLiteral>,
    /// Axes of the machine's sweep: values of figures, by key. Figures of one axis change together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<BTreeMap<String, Vec<Written>>>,
    /// Programs of that sweep, each `PROGRAM` or `PROGRAM@SET`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep_programs: Vec<String>,
}

/// Largest machine file that is read.
pub const LARGEST_FILE: usize = 1 << 20;

/// Most characters of a text of the file that a message shows.
const LONGEST_TEXT: usize = 80;

/// Keys that every file needs, each with the form of its value and its meaning.
const HEAD: [(&str, &str, &str); 5] = [
    ("name", "\"…\"", "what the machine is called on the command line"),
    ("mapper", "\"…\"", "what schedules programs on it, such as torus-pipeline or rns-vector"),
    ("title", "\"…\"", "what it is, in a line"),
    ("paper", "\"…\"", "where it was published, or none"),
    ("clock", "{ value = …, unit = \"MHz\", source = … }", "the clock"),
];

impl DescriptionLiteral {
    /// Every place of a figure: `clock`, `units.x.count`, `components.x.area`. A figure that a reading sets has one in
    /// each option.
    pub(super) fn places(&mut self, key: &str) -> Vec<&mut FigureLiteral> {
        if key == "clock" {
            return vec![&mut self.clock];
        }
        let mut parts = key.splitn(3, '.');
        let (Some(section), Some(group), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Vec::new();
        };
        if section == "components" {
            let component = self.components.get_mut(group);
            let figure = component.and_then(|component| match name {
                "area" => Some(&mut component.area),
                "power" => Some(&mut component.power),
                "idle_share" => Some(&mut component.idle_share),
                _ => None,
            });
            return figure.into_iter().collect();
        }
        let groups = match section {
            "units" => Some(&mut self.units),
            "memories" => Some(&mut self.memories),
            "channels" => Some(&mut self.channels),
            "machine" => Some(&mut self.machine),
            _ => None,
        };
        let own = groups.and_then(|groups| groups.get_mut(group)).and_then(|figures| figures.get_mut(name));
        let options = self.readings.values_mut().flat_map(|reading| reading.options.values_mut());
        own.into_iter().chain(options.filter_map(|option| option.figures.get_mut(key))).collect()
    }

    /// Reads TOML text.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, super::DescriptionError> {
        if text.len() > LARGEST_FILE {
            return Err(super::DescriptionError::Size { file: file.to_owned() });
        }
        let form = |cause| super::DescriptionError::Form { file: file.to_owned(), cause };
        let wrong = |error: toml::de::Error| {
            let fault = fault(&error, text);
            form(format!("{fault}\ncorrect it; docs/your-own-machine.md says what a machine file has"))
        };
        let table: toml::Table = toml::from_str(text).map_err(wrong)?;
        if let Some(text) = steers(&toml::Value::Table(table.clone())) {
            let text = shortened(text, LONGEST_TEXT);
            return Err(form(format!("{text:?} has a character that steers a terminal; remove it")));
        }
        for (key, value, meaning) in HEAD {
            if !table.contains_key(key) {
                return Err(super::DescriptionError::MissingLine { file: file.to_owned(), key, value, meaning });
            }
        }
        toml::from_str(text).map_err(wrong)
    }
}

/// The first key or text with a control character that a terminal would execute.
fn steers(value: &toml::Value) -> Option<&str> {
    match value {
        toml::Value::String(text) => text.contains(is_order).then_some(text),
        toml::Value::Array(values) => values.iter().find_map(steers),
        toml::Value::Table(table) => table.iter().find_map(|(key, value)| match key.contains(is_order) {
            true => Some(&**key),
            false => steers(value),
        }),
        _ => None,
    }
}
