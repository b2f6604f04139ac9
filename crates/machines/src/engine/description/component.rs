//! Area and power of the parts of a chip, and how they follow the figures that the parts are made for.
//!
//! A machine file gives the area and the power of one part as its source has them. How many parts there are, and how large one
//! is beside the source's, are products and sums of figures: `count = "units.cluster.count * units.add.count"`. So a file
//! with a changed figure has the area and power of what it describes. A part grows linearly with its size, at most to 16 times and at
//! least to a 16th of the source's: beyond that the file is refused. Power goes with the clock too, at a fixed voltage; a clock above the one
//! that the source's parts are for is refused, as nothing says that they reach it.

use super::{
    ComponentLiteral, CountLiteral, DescriptionError, Dimension, Figure, FigureSpec, SizeLiteral, check_figure,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Factor by which a part may be larger or smaller than its source's.
pub const FURTHEST: f64 = 16.0;

/// The sum over parts; `None` if one is unknown, and without any part, since nothing is then said of the chip.
pub fn sum_of_parts(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    values.into_iter().reduce(|sum, value| Some(sum? + value?)).flatten()
}

/// A part of the chip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Component {
    /// Name.
    pub name: String,
    /// Number of such parts.
    pub count: f64,
    /// Area of all of them in mm²; `None` if unknown.
    pub area_mm2: Option<f64>,
    /// Power of all of them at full activity in W; `None` if unknown.
    pub power_w: Option<f64>,
    /// Whether area and power are published results that the model takes in.
    pub input: bool,
    /// Size of a part beside the source's: 1 if it is the source's own.
    pub size: f64,
    /// Clock beside the one that the source's power is for.
    pub clock: f64,
    /// Share of the power that flows without activity.
    pub idle_share: f64,
    /// Source of the share.
    pub idle_source: String,
    /// What its activity is measured on.
    pub activity: Vec<String>,
}

/// What components are made from: the checked figures of a file.
pub(super) struct Maker<'a> {
    pub file: &'a str,
    pub mapper: &'a str,
    pub figures: &'a BTreeMap<String, Figure>,
    /// Clock beside the one that the file's components are for.
    pub clock: f64,
}

impl Maker<'_> {
    /// # Errors
    /// The first thing that is wrong with `component`.
    pub fn component(&self, name: &str, component: &ComponentLiteral) -> Result<Component, DescriptionError> {
        let count = match &component.count {
            None => 1.0,
            Some(CountLiteral::Figure(written)) => {
                let figure = self.check(name, "count", written, Dimension::Count, (1.0, 1e6), "the number of parts")?;
                self.needed(name, "count", &figure)?
            }
            Some(CountLiteral::Of(text)) => self.amount(&format!("components.{name}.count"), text)?,
        };
        let size = component.size.as_ref().map_or(Ok(1.0), |size| self.size(name, size))?;
        let area = self.check(name, "area", &component.area, Dimension::Area, (0.0, 1e6), "the area of a part")?;
        let power = self.check(name, "power", &component.power, Dimension::Power, (0.0, 1e6), "the power of a part")?;
        let share = (&component.idle_share, "the idle share of the power");
        let idle = self.check(name, "idle_share", share.0, Dimension::Ratio, (0.0, 1.0), share.1)?;
        Ok(Component {
            name: name.to_owned(),
            count,
            area_mm2: area.value.map(|area| area * count * size),
            power_w: power.value.map(|power| power * count * size * self.clock),
            input: component.area.input || component.power.input,
            size,
            clock: self.clock,
            idle_share: self.needed(name, "idle_share", &idle)?,
            idle_source: component.idle_share.source.clone(),
            activity: component.activity.clone(),
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
        let spec = FigureSpec { key: "", dimension, least, most, meaning, optional: false };
        check_figure(self.file, &format!("components.{name}.{key}"), written, &spec)
    }

    fn needed(&self, name: &str, key: &str, figure: &Figure) -> Result<f64, DescriptionError> {
        figure.value.ok_or_else(|| DescriptionError::Unknown {
            file: self.file.to_owned(),
            key: format!("components.{name}.{key}"),
            source_text: figure.written.source.clone(),
        })
    }

    fn size(&self, name: &str, size: &SizeLiteral) -> Result<f64, DescriptionError> {
        let key = format!("components.{name}.size");
        let fail = |value: String, cause: String, remedy: &str| {
            let (file, key, remedy) = (self.file.to_owned(), key.clone(), remedy.to_owned());
            Err(DescriptionError::Figure { file, key, value, cause, remedy })
        };
        if size.source.trim().is_empty() {
            let remedy = "Say why area and power grow with it, or write a sentence that begins with `assumption`";
            return fail(format!("{:?}", size.of), "no source is given".to_owned(), remedy);
        }
        let at = self.amount(&key, &size.at)?;
        if at.is_nan() || at <= 0.0 {
            let remedy = "Write the size of the part whose area and power the file gives, in base units";
            return fail(size.at.clone(), format!("{at} is no size"), remedy);
        }
        let ratio = self.amount(&key, &size.of)? / at;
        if (1.0 / FURTHEST..=FURTHEST).contains(&ratio) {
            return Ok(ratio);
        }
        let cause = format!(
            "the part would be {ratio:.3} times as large as the one whose area and power are known, and its law ({}) is not taken \
             beyond a factor of {FURTHEST}",
            size.source
        );
        fail(size.of.clone(), cause, "Give area and power of a part of about that size, and its `at`")
    }

    /// The value of a sum of products of figures and numbers, in base units; a number may have a unit: `64 MiB`.
    fn amount(&self, key: &str, text: &str) -> Result<f64, DescriptionError> {
        let mut sum = 0.0;
        for product in text.split('+') {
            let mut value = 1.0;
            for factor in product.split('*').map(str::trim) {
                value *= match (number(factor), self.figures.get(factor)) {
                    (Some(number), _) => number,
                    (None, Some(figure)) => figure.value.ok_or_else(|| DescriptionError::Unknown {
                        file: self.file.to_owned(),
                        key: factor.to_owned(),
                        source_text: figure.written.source.clone(),
                    })?,
                    (None, None) => {
                        let (file, mapper) = (self.file.to_owned(), self.mapper.to_owned());
                        let known = self.figures.keys().cloned().collect::<Vec<_>>().join(", ");
                        let remedy = format!("`{key}` takes numbers and figures of the file, with * and +: {known}");
                        return Err(DescriptionError::UnexpectedKey { file, key: factor.to_owned(), mapper, remedy });
                    }
                };
            }
            sum += value;
        }
        Ok(sum)
    }
}

/// The value of a number in its base unit, where one follows it.
fn number(text: &str) -> Option<f64> {
    let (value, scale) = match text.split_once(' ') {
        Some((value, unit)) => (value, Dimension::of_unit(unit.trim())?.1),
        None => (text, 1.0),
    };
    value.parse::<f64>().ok().map(|value| value * scale)
}

/// The figures that a law names.
pub(super) fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(['+', '*']).map(str::trim).filter(|factor| number(factor).is_none())
}
