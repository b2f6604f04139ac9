//! Machine files: as written ([`DescriptionLiteral`]) and after checking ([`Description`]).
//!
//! Every figure is a value with a unit and a source. A mapper lists the figures that it reads ([`FigureSpec`]). A file
//! is checked against that list, so a missing, misspelt or impossible figure is found before anything is computed. A
//! figure may be `"unknown"`: then reading it is an error, and never gives 0. Where a source is ambiguous, the file
//! names the possible readings and a default.

mod component;
mod dimension;
mod dram;
mod error;
mod literal;
mod table;
#[cfg(test)]
mod tests;

pub use component::{Component, FURTHEST, sum_of_parts};
pub use dimension::Dimension;
pub use dram::SPECS as DRAM;
pub use error::{DescriptionError, FigureError};
pub use literal::{
    ComponentLiteral, CountLiteral, DescriptionLiteral, FigureLiteral, HeldLiteral, LARGEST_FILE, OptionLiteral,
    ReadingLiteral, SizeLiteral, Written,
};
pub use table::FigureValue;

use component::Maker;
use dimension::decimal;
use serde::Serialize;
use std::collections::BTreeMap;

/// A figure that a mapper reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureSpec {
    /// Key, for example `units.fft.points`. For numbered figures, the part before the number.
    pub key: &'static str,
    pub dimension: Dimension,
    /// Smallest possible value in the base unit.
    pub least: f64,
    /// Largest value, in the base unit, that the mapper can handle.
    pub most: f64,
    /// Meaning, in a phrase.
    pub meaning: &'static str,
    /// Whether a file may leave it out.
    pub optional: bool,
    /// For figures that are numbered from 1, the largest number.
    pub numbered: Option<usize>,
}

impl FigureSpec {
    /// Whether it is the spec of figure `key`.
    fn covers(&self, key: &str) -> bool {
        match self.numbered {
            None => self.key == key,
            Some(most) => (1..=most).any(|number| key.strip_prefix(self.key) == Some(&number.to_string())),
        }
    }

    /// The key as users write it.
    fn written(&self) -> String {
        self.numbered.map_or(self.key.to_owned(), |most| format!("{}1 to {most}", self.key))
    }
}

/// A figure that every file of a mapper must give.
pub const fn figure(
    key: &'static str,
    dimension: Dimension,
    least: f64,
    most: f64,
    meaning: &'static str,
) -> FigureSpec {
    FigureSpec { key, dimension, least, most, meaning, optional: false, numbered: None }
}

/// A choice that every file of a mapper must make.
pub const fn flag(key: &'static str, meaning: &'static str) -> FigureSpec {
    figure(key, Dimension::Flag, 0.0, 1.0, meaning)
}

/// The energy of a channel's off-chip memory: at least a thousandth of a pJ a bit, because no memory takes none.
pub const fn energy(key: &'static str) -> FigureSpec {
    figure(key, Dimension::EnergyPerBit, 1e-15, 1e-6, "the memory's energy")
}

/// A figure that a file may leave out.
pub const fn optional(
    key: &'static str,
    dimension: Dimension,
    least: f64,
    most: f64,
    meaning: &'static str,
) -> FigureSpec {
    FigureSpec { key, dimension, least, most, meaning, optional: true, numbered: None }
}

/// Joins lists of figures; `N` is their total length.
pub const fn joined<const N: usize>(parts: &[&[FigureSpec]]) -> [FigureSpec; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[at] = parts[part][index];
            (index, at) = (index + 1, at + 1);
        }
        part += 1;
    }
    assert!(at == N, "as many as the parts have");
    all
}

/// A checked figure in its base unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Value; `None` if unknown.
    pub value: Option<f64>,
    pub dimension: Dimension,
    pub written: FigureLiteral,
}

/// A checked machine file under one choice of readings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    #[serde(skip)]
    file: String,
    literal: DescriptionLiteral,
    figures: BTreeMap<String, Figure>,
    components: Vec<Component>,
    readings: BTreeMap<String, String>,
}

impl Description {
    /// Checks a file against the figures that its mapper reads, with every reading at its default.
    ///
    /// # Errors
    /// The first error. All options of all readings are checked, not only the chosen ones.
    pub fn check(file: &str, literal: &DescriptionLiteral, specs: &[FigureSpec]) -> Result<Self, DescriptionError> {
        let clock = clock_of(file, literal, specs, &literal.clock)?;
        for (name, reading) in &literal.readings {
            for (option, choice) in &reading.options {
                for (key, figure) in &choice.figures {
                    let place = format!("readings.{name}.options.{option}.figures.\"{key}\"");
                    let spec = spec_of(file, literal, specs, key)?;
                    check_figure(file, &place, figure, spec, clock)?;
                }
            }
        }
        let choice = literal.readings.iter().map(|(name, reading)| (name.clone(), reading.default.clone())).collect();
        Self::with(file, literal, specs, choice)
    }

    /// The same machine with some readings chosen: pairs of reading and option.
    pub fn choose(&self, specs: &[FigureSpec], choices: &[(&str, &str)]) -> Result<Self, DescriptionError> {
        let mut readings = self.readings.clone();
        for &(name, option) in choices {
            match readings.get_mut(name) {
                Some(chosen) => *chosen = option.to_owned(),
                None => return Err(unknown_reading(&self.file, "reading", name, self.literal.readings.keys())),
            }
        }
        Self::with(&self.file, &self.literal, specs, readings)
    }

    fn with(
        file: &str,
        literal: &DescriptionLiteral,
        specs: &[FigureSpec],
        readings: BTreeMap<String, String>,
    ) -> Result<Self, DescriptionError> {
        let mut written = BTreeMap::from([("clock".to_owned(), literal.clock.clone())]);
        let sections = [
            ("units", &literal.units),
            ("memories", &literal.memories),
            ("channels", &literal.channels),
            ("machine", &literal.machine),
        ];
        for (section, groups) in sections {
            for (group, figures) in groups {
                for (name, figure) in figures {
                    written.insert(format!("{section}.{group}.{name}"), figure.clone());
                }
            }
        }
        for (name, option) in &readings {
            let reading = &literal.readings[name];
            let Some(choice) = reading.options.get(option) else {
                return Err(unknown_reading(
                    file,
                    &format!("option of reading `{name}`"),
                    option,
                    reading.options.keys(),
                ));
            };
            written.extend(choice.figures.iter().map(|(key, figure)| (key.clone(), figure.clone())));
        }
        let clock = clock_of(file, literal, specs, &written["clock"])?;
        let mut figures = BTreeMap::new();
        for (key, figure) in &written {
            let spec = spec_of(file, literal, specs, key)?;
            figures.insert(key.clone(), check_figure(file, key, figure, spec, clock)?);
        }
        // A component's power may include a channel's memory, which then needs no energy a bit.
        let included = |key: &str| {
            let channel = key.strip_suffix(".energy");
            channel.is_some_and(|channel| {
                literal.components.values().any(|part| part.includes.iter().any(|own| own == channel))
            })
        };
        let missing = |spec: &&FigureSpec| !(spec.optional || figures.contains_key(spec.key) || included(spec.key));
        if let Some(spec) = specs.iter().find(missing) {
            let unit = spec.dimension.units().first().copied().unwrap_or("1").to_owned();
            let (key, meaning) = (spec.key.to_owned(), spec.meaning.to_owned());
            return Err(DescriptionError::Missing { file: file.to_owned(), key, unit, meaning });
        }
        for key in literal.components.values().flat_map(|component| component.holds_for.keys()) {
            spec_of(file, literal, specs, key)?;
        }
        let clock = clock_of_components(file, literal, &figures)?;
        let uncovered = uncovered(literal, &figures);
        let maker = Maker { file, mapper: &literal.mapper, specs, figures: &figures, clock, uncovered };
        let components = literal.components.iter().map(|(name, component)| maker.component(name, component));
        let components = components.collect::<Result<_, _>>()?;
        Ok(Self { file: file.to_owned(), literal: literal.clone(), figures, components, readings })
    }

    /// The same machine with some figures changed. A change is a key and a value in the file's unit; 1 and 0 are yes
    /// and no. A figure that a reading sets is changed in all of its options.
    pub fn changed(&self, specs: &[FigureSpec], changes: &[(String, f64)]) -> Result<Self, DescriptionError> {
        self.with_values(specs, changes, |key| self.not_followed(key))
    }

    fn with_values(
        &self,
        specs: &[FigureSpec],
        changes: &[(String, f64)],
        refusal: impl Fn(&str) -> Option<DescriptionError>,
    ) -> Result<Self, DescriptionError> {
        let mut literal = self.literal.clone();
        for (key, value) in changes {
            let places = literal.places(key);
            if places.is_empty() {
                spec_of(&self.file, &self.literal, specs, key)?;
                let (file, key, value) = (self.file.clone(), key.clone(), value.to_string());
                let cause = "its mapper knows it, and the file leaves it out".to_owned();
                let remedy = "The file does not give it: add it there first".to_owned();
                return Err(DescriptionError::Figure { file, key, value, cause, remedy });
            }
            if let Some(refusal) = refusal(key) {
                return Err(refusal);
            }
            for figure in places {
                let whole = value.fract() == 0.0 && value.abs() < 1e15;
                figure.value = match figure.value {
                    Written::Flag(_) if [0.0, 1.0].contains(value) => Written::Flag(*value == 1.0),
                    _ if whole => Written::Integer(*value as i64),
                    _ => Written::Number(*value),
                };
                figure.source = format!("changed; {}", figure.source);
            }
        }
        let choices: Vec<(&str, &str)> = self.readings.iter().map(|(fact, option)| (&**fact, &**option)).collect();
        Self::check(&self.file, &literal, specs)?.choose(specs, &choices)
    }

    /// The same machine with any figures changed, in the file's units. Area and power of its components become unknown.
    pub fn varied(&self, specs: &[FigureSpec], changes: &[(String, f64)]) -> Result<Self, DescriptionError> {
        let mut varied = self.with_values(specs, changes, |_| None)?;
        for part in &mut varied.components {
            (part.area_mm2, part.power_w) = (None, None);
        }
        Ok(varied)
    }

    /// An error, if area and power of the components do not follow figure `key`.
    fn not_followed(&self, key: &str) -> Option<DescriptionError> {
        // A component's own figures may always be changed.
        if key.starts_with("components.") || self.literal.components.is_empty() || is_covered(&self.literal, key) {
            return None;
        }
        Some(DescriptionError::Figure {
            file: self.file.clone(),
            key: key.to_owned(),
            value: "another value".to_owned(),
            cause: format!("{UNCOVERED}, so they would not be those of the changed machine"),
            remedy: "Name it in the `count` or the `size` of the components that it changes, with a source, or in their `holds_for`"
                .to_owned(),
        })
    }

    /// Name on the command line.
    pub fn name(&self) -> &str {
        &self.literal.name
    }

    /// Mapper for the file.
    pub fn mapper(&self) -> &str {
        &self.literal.mapper
    }

    /// The file as written.
    pub fn literal(&self) -> &DescriptionLiteral {
        &self.literal
    }

    /// File that it came from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Chosen option of every reading.
    pub fn readings(&self) -> &BTreeMap<String, String> {
        &self.readings
    }

    /// Every figure, by key.
    pub fn figures(&self) -> &BTreeMap<String, Figure> {
        &self.figures
    }

    /// Parts with area and power.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Area of all parts in mm²; `None` if one is unknown, or none is described.
    pub fn area_mm2(&self) -> Option<f64> {
        sum_of_parts(self.components.iter().map(|part| part.area_mm2))
    }

    /// Power of all parts at full activity in W; `None` if one is unknown, or none is described.
    pub fn power_w(&self) -> Option<f64> {
        sum_of_parts(self.components.iter().map(|part| part.power_w))
    }

    /// Why the area is unknown although the file gives that of all parts: they do not hold for the value of a figure.
    pub fn area_cause(&self) -> Option<&str> {
        self.components.iter().find_map(|part| part.unknown.as_deref())
    }

    /// A figure in its base unit.
    ///
    /// # Errors
    /// [`DescriptionError::Unknown`], or [`DescriptionError::Missing`] for an optional figure that the file leaves out.
    pub fn value(&self, key: &str) -> Result<f64, DescriptionError> {
        let Some(figure) = self.figures.get(key) else {
            let (key, meaning) = (key.to_owned(), "what was asked for needs it".to_owned());
            return Err(DescriptionError::Missing { file: self.file.clone(), key, unit: "…".to_owned(), meaning });
        };
        figure.value.ok_or_else(|| DescriptionError::Unknown {
            file: self.file.clone(),
            key: key.to_owned(),
            source_text: figure.written.source.clone(),
        })
    }

    /// A whole-number figure, in its base unit.
    ///
    /// # Errors
    /// As [`Description::value`], and [`DescriptionError::Figure`] for a fraction: time would ignore it, area would
    /// not.
    pub fn count(&self, key: &str) -> Result<u64, DescriptionError> {
        let value = self.value(key)?;
        if is_whole(value) {
            return Ok(value.round() as u64);
        }
        let Figure { dimension, written, .. } = &self.figures[key];
        Err(DescriptionError::Figure {
            file: self.file.clone(),
            key: key.to_owned(),
            value: format!("{} {}", written.value, written.unit),
            cause: format!(
                "{} {} is no whole number, and a part of one is nothing here",
                decimal(value),
                dimension.units()[0]
            ),
            remedy: "Write a value that is a whole number of them".to_owned(),
        })
    }

    /// A yes or no.
    pub fn flag(&self, key: &str) -> Result<bool, DescriptionError> {
        self.value(key).map(|value| value != 0.0)
    }

    /// Requires that two figures fit together; the error has their values and `cause`. A figure that is left out counts as 0.
    ///
    /// # Errors
    /// [`FigureError::Together`] unless `holds`.
    pub fn together(
        &self,
        first: &'static str,
        second: &'static str,
        cause: &'static str,
        holds: bool,
    ) -> Result<(), FigureError> {
        let value = |key: &str| self.figures.get(key).and_then(|figure| figure.value).map_or(0, |it| it.round() as u64);
        let (first_value, second_value) = (value(first), value(second));
        let error =
            || FigureError::Together { file: self.file.clone(), first, first_value, second, second_value, cause };
        if holds { Ok(()) } else { Err(error()) }
    }

    pub fn clock_hz(&self) -> Result<f64, DescriptionError> {
        self.value("clock")
    }

    /// A bandwidth, or the width of a port, in bytes a cycle of the machine's clock. If the file describes the DRAM, its bandwidth is the
    /// sustained one.
    pub fn bytes_per_cycle(&self, key: &str) -> Result<f64, DescriptionError> {
        let value = self.value(key)?;
        match self.figures.get(key).map(|figure| figure.dimension) {
            Some(Dimension::Bandwidth) if key == dram::BANDWIDTH => Ok(value * dram::share(self)? / self.clock_hz()?),
            Some(Dimension::Bandwidth) => Ok(value / self.clock_hz()?),
            _ => Ok(value),
        }
    }
}

/// Why area and power are unknown: no component covers a figure.
const UNCOVERED: &str = "no component says how its area and power follow this figure";

/// Whether area and power stay correct for any value of figure `key`. Either a law follows it, or another value makes
/// them unknown, or no component depends on it.
fn is_covered(literal: &DescriptionLiteral, key: &str) -> bool {
    let mut components = literal.components.values();
    // Off-chip memory is no component, nor is the number of channels that share a bandwidth.
    let outside = key.strip_prefix("channels.").and_then(|channel| channel.rsplit_once('.'));
    let outside = outside.is_some_and(|(channel, name)| match name {
        "latency" | "energy" => true,
        _ if channel == "dram" => true,
        "count" => {
            let bandwidth = format!("channels.{channel}.bandwidth");
            literal.components.values().any(|part| part.is_sized_by(&bandwidth))
        }
        _ => false,
    });
    outside || (key == "clock" && literal.component_clock.is_some()) || components.any(|part| part.follows(key))
}

/// The first figure that no component covers, as a cause. `None` if no component has a `holds_for`: then the file is
/// taken as it is.
fn uncovered(literal: &DescriptionLiteral, figures: &BTreeMap<String, Figure>) -> Option<String> {
    literal.components.values().find(|part| !part.holds_for.is_empty())?;
    let key = figures.keys().find(|key| !is_covered(literal, key))?;
    Some(format!("`{key}`: {UNCOVERED}; name it in a `count`, a `size` or a `holds_for`"))
}

/// The machine's clock relative to the one that the components are for.
fn clock_of_components(
    file: &str,
    literal: &DescriptionLiteral,
    figures: &BTreeMap<String, Figure>,
) -> Result<f64, DescriptionError> {
    let Some(written) = &literal.component_clock else { return Ok(1.0) };
    let (dimension, meaning) = (Dimension::Frequency, "the clock of the components");
    let spec = FigureSpec { key: "", dimension, least: 1e6, most: 1e11, meaning, optional: false, numbered: None };
    let theirs = check_figure(file, "component_clock", written, &spec, None)?.value;
    let own = figures.get("clock").and_then(|figure| figure.value);
    let Some((theirs, own)) = theirs.zip(own) else { return Ok(1.0) };
    if own > theirs * (1.0 + 1e-9) {
        return Err(DescriptionError::Figure {
            file: file.to_owned(),
            key: "clock".to_owned(),
            value: literal.clock.value.to_string(),
            cause: format!(
                "area, power and pipeline registers of the file are of parts at {} {}, and nothing says that they reach {} {}",
                written.value, written.unit, literal.clock.value, literal.clock.unit
            ),
            remedy:
                "Lower the clock, or give parts that reach it: their area, power and registers, and `component_clock`"
                    .to_owned(),
        });
    }
    Ok(own / theirs)
}

fn unknown_reading<'a>(
    file: &str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> DescriptionError {
    let known = known.map(String::as_str).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "(the file has none)".to_owned() } else { known };
    DescriptionError::Reading { file: file.to_owned(), what: what.to_owned(), name: name.to_owned(), known }
}

fn spec_of<'a>(
    file: &str,
    literal: &DescriptionLiteral,
    specs: &'a [FigureSpec],
    key: &str,
) -> Result<&'a FigureSpec, DescriptionError> {
    let of_dram = if specs.iter().any(|spec| spec.key == dram::BANDWIDTH) { DRAM } else { &[] };
    if let Some(spec) = specs.iter().chain(of_dram).find(|spec| spec.covers(key)) {
        return Ok(spec);
    }
    let nearest = specs.iter().min_by_key(|spec| distance(spec.key, key)).filter(|spec| distance(spec.key, key) <= 4);
    let remedy = match nearest {
        Some(spec) => format!("Did you mean `{}`?", spec.written()),
        None => {
            let keys = specs.iter().map(FigureSpec::written).collect::<Vec<_>>().join(", ");
            format!("Remove it; the figures are: {keys}")
        }
    };
    let (file, key, mapper) = (file.to_owned(), key.to_owned(), literal.mapper.clone());
    Err(DescriptionError::UnexpectedKey { file, key, mapper, remedy })
}

/// Edit distance; `usize::MAX` if the lengths differ by more than 8.
fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > 8 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substitution = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Whether a value is a whole number, except for the rounding error of a conversion of units.
fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() <= 1e-9 * value.abs()
}

/// The clock in Hz, if it is known.
fn clock_of(
    file: &str,
    literal: &DescriptionLiteral,
    specs: &[FigureSpec],
    written: &FigureLiteral,
) -> Result<Option<f64>, DescriptionError> {
    Ok(check_figure(file, "clock", written, spec_of(file, literal, specs, "clock")?, None)?.value)
}

/// Checks a figure and converts it to the base unit of its spec. With the machine's `clock` in Hz, a rate may be given
/// per second or per cycle. A time becomes cycles, rounded up.
fn check_figure(
    file: &str,
    key: &str,
    figure: &FigureLiteral,
    spec: &FigureSpec,
    clock: Option<f64>,
) -> Result<Figure, DescriptionError> {
    let fail = |cause: String, remedy: String| {
        let (file, key, value) = (file.to_owned(), key.to_owned(), figure.value.to_string());
        Err(DescriptionError::Figure { file, key, value, cause, remedy })
    };
    if figure.source.trim().is_empty() {
        return fail(
            "no source is given".into(),
            "Name the paper and place, or write a sentence that begins with `assumption`".into(),
        );
    }
    let Some((dimension, scale)) = Dimension::of_unit(&figure.unit) else {
        let known = Dimension::all_units().join(", ");
        return fail(format!("{:?} is no unit", figure.unit), format!("Units are: {known}"));
    };
    let given_as = spec.dimension.given_as();
    if !given_as.contains(&dimension) {
        let units = given_as.iter().flat_map(|dimension| dimension.units()).collect::<Vec<_>>().join(", ");
        return fail(
            format!("the unit {:?} does not fit {}", figure.unit, spec.meaning),
            format!("Use one of: {units}"),
        );
    }
    let value = match &figure.value {
        Written::Integer(value) if dimension != Dimension::Flag => *value as f64 * scale,
        Written::Number(value) if dimension != Dimension::Flag => value * scale,
        Written::Flag(value) if dimension == Dimension::Flag => f64::from(*value),
        Written::Text(text) if text == "unknown" => {
            return Ok(Figure { value: None, dimension, written: figure.clone() });
        }
        _ if dimension == Dimension::Flag => {
            return fail(format!("{} is a yes or no", spec.meaning), "Write true, false or \"unknown\"".into());
        }
        _ => return fail(format!("{} is a number", spec.meaning), "Write a number or \"unknown\"".into()),
    };
    let (value, scale) = match (dimension, clock) {
        _ if dimension == spec.dimension => (value, scale),
        (Dimension::Bandwidth, Some(clock)) => (value / clock, scale / clock),
        (Dimension::Time, Some(clock)) => {
            let cycles = value * clock;
            (if is_whole(cycles) { cycles.round() } else { cycles.ceil() }, scale * clock)
        }
        (_, Some(clock)) => (value * clock, scale * clock),
        (_, None) => {
            let units = spec.dimension.units().join(", ");
            return fail("it is converted with the clock, which is unknown".into(), format!("Use one of: {units}"));
        }
    };
    let dimension = spec.dimension;
    if dimension.whole() && value.is_finite() && !is_whole(value) {
        return fail(format!("{} is a whole number", spec.meaning), "Write a whole number".into());
    }
    if !(spec.least..=spec.most).contains(&value) {
        let written = |value: f64| match figure.unit.as_str() {
            "1" => decimal(value / scale),
            unit => format!("{} {unit}", decimal(value / scale)),
        };
        if spec.least == spec.most {
            let only = written(spec.most);
            return fail(format!("{} is {only} and nothing else", spec.meaning), format!("Write {only}"));
        }
        return fail(
            format!("{} lies between {} and {}", spec.meaning, decimal(spec.least / scale), written(spec.most)),
            "Correct the value, or write \"unknown\" if the source does not give it".into(),
        );
    }
    Ok(Figure { value: Some(value), dimension, written: figure.clone() })
}
