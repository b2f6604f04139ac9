//! Area and power of the parts of a chip, and how they scale with the machine's figures.
//!
//! A machine file gives the area and the power of one part, as its source states them. The number of parts and their
//! size relative to the source's are sums of products of figures: `count = "units.cluster.count * units.add.count"`. So
//! a file with a changed figure has the area and power of the machine that it describes. Area and power grow linearly
//! with size, by a factor between 1/16 and 16; beyond that they are unknown. Power also scales with the clock, at a
//! fixed voltage. A clock above that of the source's parts is an error, because nothing shows that they reach it.
//!
//! Where no law is known, `holds_for` lists figures and the values for which area and power hold. With another value
//! both are unknown, and so is the energy; the time follows the figure. A file with a `holds_for` must cover every
//! figure.

use super::{
    ComponentLiteral, CountLiteral, DescriptionError, Dimension, Figure, FigureSpec, HeldLiteral, SizeLiteral, Written,
    check_figure, dimension::decimal,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest ratio, in either direction, between the size of a part and that of the source's.
pub const FURTHEST: f64 = 16.0;

/// Most parts of a kind.
const MOST_PARTS: f64 = 1e6;

/// The sum over parts. `None` if one is unknown or there are none, because then nothing is known of the chip.
pub fn sum_of_parts(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    values.into_iter().reduce(|sum, value| Some(sum? + value?)).flatten()
}

/// A part of the chip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Component {
    pub name: String,
    /// Number of such parts.
    pub count: f64,
    /// Area of all of them in mm²; `None` if unknown.
    pub area_mm2: Option<f64>,
    /// Power of all of them at full activity in W; `None` if unknown.
    pub power_w: Option<f64>,
    /// Whether area or power is a published result that the model takes as input.
    pub input: bool,
    /// Size of a part relative to the source's.
    pub size: f64,
    /// Clock relative to the one that the source's power is for.
    pub clock: f64,
    /// Channels whose off-chip memory is part of this component's power.
    pub includes: Vec<String>,
    /// Share of the power that is drawn without activity.
    pub idle_share: f64,
    /// Source of the share.
    pub idle_source: String,
    /// Classes and memories whose mean utilisation is its activity.
    pub activity: Vec<String>,
    /// Why area and power are unknown although the file gives them: they do not hold for the value of a figure.
    pub unknown: Option<String>,
}

/// Makes components from the checked figures of a file.
pub(super) struct Maker<'a> {
    pub file: &'a str,
    pub mapper: &'a str,
    pub specs: &'a [FigureSpec],
    pub figures: &'a BTreeMap<String, Figure>,
    /// Clock relative to the one that the file's components are for.
    pub clock: f64,
    /// Why area and power of all parts are unknown: a figure that no component covers.
    pub uncovered: Option<String>,
}

impl Maker<'_> {
    pub fn component(&self, name: &str, component: &ComponentLiteral) -> Result<Component, DescriptionError> {
        let count = match &component.count {
            None => 1.0,
            Some(CountLiteral::Figure(written)) => {
                let figure =
                    self.check(name, "count", written, Dimension::Count, (1.0, MOST_PARTS), "the number of parts")?;
                self.needed(name, "count", &figure)?
            }
            Some(CountLiteral::Of(text)) => self.parts(name, text)?,
        };
        let (size, too_far) = component.size.as_ref().map_or(Ok((1.0, None)), |size| self.size(name, size))?;
        let area = self.check(name, "area", &component.area, Dimension::Area, (0.0, 1e6), "the area of a part")?;
        let power = self.check(name, "power", &component.power, Dimension::Power, (0.0, 1e6), "the power of a part")?;
        let share = (&component.idle_share, "the idle share of the power");
        let idle = self.check(name, "idle_share", share.0, Dimension::Ratio, (0.0, 1.0), share.1)?;
        let unknown = self.other_value(name, &component.holds_for)?.or(too_far).or_else(|| self.uncovered.clone());
        let of_this = |value: Option<f64>| value.filter(|_| unknown.is_none());
        Ok(Component {
            name: name.to_owned(),
            count,
            area_mm2: of_this(area.value).map(|area| area * count * size),
            power_w: of_this(power.value).map(|power| power * count * size * self.clock),
            input: component.area.input || component.power.input,
            size,
            clock: self.clock,
            includes: self.includes(name, &component.includes)?,
            idle_share: self.needed(name, "idle_share", &idle)?,
            idle_source: component.idle_share.source.clone(),
            activity: component.activity.clone(),
            unknown,
        })
    }

    /// The number of parts by its law. All factors must be plain numbers.
    fn parts(&self, name: &str, text: &str) -> Result<f64, DescriptionError> {
        let key = format!("components.{name}.count");
        let amount = self.amount(&key, text)?;
        let cause = match amount.of.iter().find(|dimension| !dimension.is_number()) {
            Some(other) => format!("{} are no number of parts", other.units().join(", ")),
            None if (0.0..=MOST_PARTS).contains(&amount.value) => return Ok(amount.value),
            None => format!("{} is no number of parts", decimal(amount.value)),
        };
        let (file, value) = (self.file.to_owned(), format!("{text:?}"));
        let remedy = format!("Write a sum of products of counts that is between 0 and {MOST_PARTS}");
        Err(DescriptionError::Figure { file, key, value, cause, remedy })
    }

    /// Checks the channels whose memory is part of a component's power: they exist, and have no energy a bit that would
    /// count twice.
    fn includes(&self, name: &str, channels: &[String]) -> Result<Vec<String>, DescriptionError> {
        let place = format!("components.{name}.includes");
        for channel in channels {
            let energy = format!("{channel}.energy");
            let fail = |cause: String, remedy: &str| {
                let (file, key, value) = (self.file.to_owned(), place.clone(), format!("{channel:?}"));
                Err(DescriptionError::Figure { file, key, value, cause, remedy: remedy.to_owned() })
            };
            let known = channel.starts_with("channels.");
            if !(known && self.figures.keys().any(|key| key.starts_with(&format!("{channel}.")))) {
                return fail("the file has no such channel".to_owned(), "Name one as `channels.hbm`");
            }
            if self.figures.contains_key(&energy) {
                let cause = format!("`{energy}` would count the energy of its memory twice");
                return fail(cause, "Remove the one or the other");
            }
        }
        Ok(channels.to_vec())
    }

    /// The reason why area and power of a component do not hold: the first figure with another value than in
    /// `holds_for`.
    fn other_value(
        &self,
        name: &str,
        holds_for: &BTreeMap<String, HeldLiteral>,
    ) -> Result<Option<String>, DescriptionError> {
        for (key, held) in holds_for {
            let place = format!("components.{name}.holds_for");
            let figure = self.figures.get(key);
            let values = match held {
                HeldLiteral::One(value) => std::slice::from_ref(value),
                HeldLiteral::Several(values) => values,
            };
            if values.is_empty() {
                let (file, cause) = (self.file.to_owned(), "no value is given".to_owned());
                let remedy = format!("Give the values of `{key}` that area and power are of");
                return Err(DescriptionError::Figure { file, key: place, value: "[]".to_owned(), cause, remedy });
            }
            let values = values.iter().map(|value| self.held(&place, key, value)).collect::<Result<Vec<_>, _>>()?;
            let same = |value: &f64| {
                figure.and_then(|figure| figure.value).is_some_and(|own| (own - value).abs() <= 1e-9 * own.abs())
            };
            if !values.iter().any(same) {
                let written = match held {
                    HeldLiteral::One(value) => value.to_string(),
                    HeldLiteral::Several(values) => {
                        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
                    }
                };
                let own = figure.map(|Figure { written, .. }| match &*written.unit {
                    "1" | "flag" => written.value.to_string(),
                    unit => format!("{} {unit}", written.value),
                });
                let own = own.unwrap_or_else(|| "what the mapper takes where it is not given".to_owned());
                return Ok(Some(format!(
                    "area and power of component `{name}` are those of `{key}` = {written}, not of {own}, and no law says how they follow it"
                )));
            }
        }
        Ok(None)
    }

    /// A value for figure `key` in `holds_for`, in the base unit.
    fn held(&self, place: &str, key: &str, value: &Written) -> Result<f64, DescriptionError> {
        let found = match value {
            Written::Text(text) => number(text),
            Written::Flag(flag) => Some((f64::from(*flag), Some(Dimension::Flag))),
            other => other.as_f64().map(|value| (value, None)),
        };
        let own = self.specs.iter().find(|spec| spec.covers(key)).map(|spec| spec.dimension);
        let cause = match found {
            Some((value, unit)) if unit.is_none() || unit == own => return Ok(value),
            Some(_) => format!("`{key}` is in {}", own.map_or_else(Vec::new, Dimension::units).join(", ")),
            None => "it is no value of a figure".to_owned(),
        };
        Err(DescriptionError::Figure {
            file: self.file.to_owned(),
            key: place.to_owned(),
            value: value.to_string(),
            cause,
            remedy: "Write a number in the base unit, a number with its unit as text, as \"640 KiB\", true or false"
                .to_owned(),
        })
    }

    /// The figure that a component names.
    fn figure(&self, place: &str, key: &str) -> Result<&Figure, DescriptionError> {
        self.figures.get(key).ok_or_else(|| {
            let (file, mapper) = (self.file.to_owned(), self.mapper.to_owned());
            let known = self.figures.keys().cloned().collect::<Vec<_>>().join(", ");
            let remedy = format!("`{place}` takes figures of the file: {known}");
            DescriptionError::UnexpectedKey { file, key: key.to_owned(), mapper, remedy }
        })
    }

    fn check(
        &self,
        name: &str,
        key: &str,
        written: &super::FigureLiteral,
        dimension: Dimension,
        (least, most): (f64, f64),
        meaning: &'static str,
    ) -> Result<Figure, DescriptionError> {
        let spec = FigureSpec { key: "", dimension, least, most, meaning, optional: false, numbered: None };
        check_figure(self.file, &format!("components.{name}.{key}"), written, &spec, None)
    }

    fn needed(&self, name: &str, key: &str, figure: &Figure) -> Result<f64, DescriptionError> {
        figure.value.ok_or_else(|| DescriptionError::Unknown {
            file: self.file.to_owned(),
            key: format!("components.{name}.{key}"),
            source_text: figure.written.source.clone(),
        })
    }

    /// Size of the part relative to the source's. Also the reason if the law does not hold for that size.
    fn size(&self, name: &str, size: &SizeLiteral) -> Result<(f64, Option<String>), DescriptionError> {
        let key = format!("components.{name}.size");
        let fail = |value: String, cause: String, remedy: &str| {
            let (file, key, remedy) = (self.file.to_owned(), key.clone(), remedy.to_owned());
            Err(DescriptionError::Figure { file, key, value, cause, remedy })
        };
        if size.source.trim().is_empty() {
            let remedy = "Say why area and power grow with it, or write a sentence that begins with `assumption`";
            return fail(format!("{:?}", size.of), "no source is given".to_owned(), remedy);
        }
        let (of, at) = (self.amount(&key, &size.of)?, self.amount(&key, &size.at)?);
        for (text, amount) in [(&size.of, &of), (&size.at, &at)] {
            if !(amount.value.is_finite() && amount.value > 0.0) {
                let remedy = "Write `of` and `at` in figures and numbers above 0, in base units or with their unit";
                return fail(text.clone(), format!("{} is no size", decimal(amount.value)), remedy);
            }
        }
        if let Some(other) = at.of.iter().find(|&dimension| !(dimension.is_number() || of.of.contains(dimension))) {
            let cause = format!("{:?} has nothing in {}", size.of, other.units().join(", "));
            return fail(size.at.clone(), cause, "Write `at` in the units of the figures in `of`");
        }
        let ratio = of.value / at.value;
        // Not an error here: if the machine is too small for any program, the part that does not fit is reported.
        let too_far = || {
            format!(
                "component `{name}` would be {ratio:.3} times as large as the one whose area and power are known (`{key}`), and its law ({}) is not \
                 taken beyond a factor of {FURTHEST}: give area and power of a part of about that size, and its `at`",
                size.source
            )
        };
        Ok((ratio, (!(1.0 / FURTHEST..=FURTHEST).contains(&ratio)).then(too_far)))
    }

    /// A sum of products of figures and numbers, in base units. A number may have a unit: `64 MiB`.
    fn amount(&self, key: &str, text: &str) -> Result<Amount, DescriptionError> {
        let mut sum = Amount { value: 0.0, of: Vec::new() };
        for product in text.split('+') {
            let mut value = 1.0;
            for factor in product.split('*').map(str::trim) {
                let (number, dimension) = match number(factor) {
                    Some(number) => number,
                    None => self.known(key, factor)?,
                };
                value *= number;
                sum.of.extend(dimension);
            }
            sum.value += value;
        }
        Ok(sum)
    }

    /// The value of figure `factor` of a law.
    fn known(&self, place: &str, factor: &str) -> Result<(f64, Option<Dimension>), DescriptionError> {
        let figure = self.figure(place, factor)?;
        let value = figure.value.ok_or_else(|| DescriptionError::Unknown {
            file: self.file.to_owned(),
            key: factor.to_owned(),
            source_text: figure.written.source.clone(),
        })?;
        Ok((value, Some(figure.dimension)))
    }
}

/// The value of a law.
struct Amount {
    /// In base units.
    value: f64,
    /// Dimensions of its figures, and of its numbers with a unit.
    of: Vec<Dimension>,
}

/// A number in its base unit, and its dimension if a unit follows.
fn number(text: &str) -> Option<(f64, Option<Dimension>)> {
    let (value, unit) = match text.split_once(' ') {
        Some((value, unit)) => (value, Some(Dimension::of_unit(unit.trim())?)),
        None => (text, None),
    };
    let (dimension, scale) = unit.map_or((None, 1.0), |(dimension, scale)| (Some(dimension), scale));
    value.parse::<f64>().ok().map(|value| (value * scale, dimension))
}

impl ComponentLiteral {
    /// Whether its area and power depend on figure `key`, by a law or by `holds_for`.
    pub(super) fn follows(&self, key: &str) -> bool {
        self.is_sized_by(key) || self.holds_for.contains_key(key)
    }

    /// Whether one of its laws names figure `key`.
    pub(super) fn is_sized_by(&self, key: &str) -> bool {
        let count = self.count.as_ref().and_then(|count| match count {
            CountLiteral::Of(text) => Some(text),
            CountLiteral::Figure(_) => None,
        });
        let size = self.size.iter().flat_map(|size| [&size.of, &size.at]);
        let laws = count.into_iter().chain(size);
        laws.flat_map(|law| law.split(['+', '*'])).any(|factor| factor.trim() == key)
    }
}
