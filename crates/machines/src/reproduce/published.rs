//! A file of published figures: its cells, and what a paper says of several of them together.

use super::prediction::{Basis, Number, Prediction, ReproduceError, RowFailure};
use serde::Deserialize;

/// A cell of a file of published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cell {
    pub(super) id: String,
    pub(super) table: String,
    pub(super) cell: String,
    pub(super) unit: String,
    pub(super) value: Option<f64>,
    pub(super) lower_bound: Option<f64>,
    pub(super) upper_bound: Option<f64>,
    /// From which other published numbers the bounds follow, where the cell's own is unknown.
    pub(super) derived: Option<String>,
    /// Why the model has no number.
    pub(super) unmodelled: Option<String>,
    /// Of which other cells' numbers the model's is made, where it has none of its own.
    quotient: Option<Quotient>,
}

/// Numbers of other cells, multiplied and divided: a speed-up over another machine, a price of so many operations. A cell that is `unmodelled`
/// gives what is published, every other one what the model says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quotient {
    /// Cells whose numbers are multiplied.
    #[serde(default)]
    of: Vec<String>,
    /// Cells by whose numbers is divided.
    #[serde(default)]
    over: Vec<String>,
    /// A factor of units, which the note names.
    #[serde(default = "one")]
    times: f64,
    /// What is to be said of it.
    note: Option<String>,
}

fn one() -> f64 {
    1.0
}

impl Quotient {
    fn factors(&self) -> impl Iterator<Item = &String> {
        self.of.iter().chain(&self.over)
    }

    /// What is made of what, in words.
    fn words(&self, named: impl Fn(&str) -> String) -> String {
        let product = |ids: &[String]| ids.iter().map(|id| named(id)).collect::<Vec<_>>().join(" times ");
        let of = if self.of.is_empty() { "1".to_owned() } else { product(&self.of) };
        let over = if self.over.is_empty() { String::new() } else { format!(" over {}", product(&self.over)) };
        let note = self.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
        format!("{of}{over}{note}")
    }
}

impl Cell {
    pub(super) fn deviation(&self, model: f64) -> Option<f64> {
        let beyond = |bound: Option<f64>, is: fn(f64, f64) -> bool| bound.filter(|&bound| is(model, bound));
        let bounded = self.lower_bound.is_some() || self.upper_bound.is_some();
        let against = self
            .value
            .or_else(|| beyond(self.lower_bound, |model, least| model < least))
            .or_else(|| beyond(self.upper_bound, |model, most| model > most));
        against.map(|published| model / published - 1.0).or(bounded.then_some(0.0))
    }
}

/// A file of published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figures {
    pub(super) paper: String,
    #[serde(rename = "title")]
    _title: String,
    pub(super) figure: Vec<Cell>,
}

impl Figures {
    /// Those of paper `name`, as its file has them.
    pub(super) fn of(name: &str, published: &str) -> Result<Self, ReproduceError> {
        let figures: Self = toml::from_str(published).map_err(|error| Self::fault(name, error.to_string()))?;
        for cell in &figures.figure {
            let mut factors = cell.quotient.iter().flat_map(Quotient::factors);
            if let Some((factor, wrong)) = factors.find_map(|id| Some((id, figures.no_factor(id)?))) {
                let cause = format!("cell {:?} is a quotient of {factor:?}, which {wrong}; correct it", cell.id);
                return Err(Self::fault(name, cause));
            }
        }
        Ok(figures)
    }

    fn cell(&self, id: &str) -> Option<&Cell> {
        self.figure.iter().find(|cell| cell.id == id)
    }

    /// Why no quotient can be made of cell `id`, if none can.
    fn no_factor(&self, id: &str) -> Option<&'static str> {
        match self.cell(id) {
            None => Some("is no cell"),
            Some(cell) if cell.quotient.is_some() => Some("is one itself"),
            Some(cell) if cell.unmodelled.is_some() && cell.value.is_none() => Some("nobody has a number of"),
            Some(_) => None,
        }
    }

    /// Whether every number of the model that is not beside another has a cell.
    pub(super) fn have(&self, name: &str, predictions: &[Prediction]) -> Result<(), ReproduceError> {
        let stray = predictions.iter().find(|p| p.beside.is_none() && self.cell(&p.id).is_none());
        stray.map_or(Ok(()), |p| {
            let cause = format!("there is no cell {:?}, of which the model has a number; add it", p.id);
            Err(Self::fault(name, cause))
        })
    }

    /// The numbers of the cells that are quotients, but those of which the model has not every factor.
    pub(super) fn quotients(&self, predictions: &[Prediction]) -> Vec<Prediction> {
        let made = self.figure.iter().filter_map(|cell| {
            let quotient = cell.quotient.as_ref()?;
            let product = |ids: &[String]| {
                let numbers = ids.iter().map(|id| self.number(id, predictions));
                numbers.collect::<Option<Result<Vec<f64>, _>>>().map(|all| all.map(|all| all.iter().product::<f64>()))
            };
            let (of, over): (Number, Number) = (product(&quotient.of)?, product(&quotient.over)?);
            let value = of.and_then(|of| over.map(|over| quotient.times * of / over));
            let named = |id: &str| {
                let cell = self.cell(id).map_or(id, |cell| &cell.cell);
                let whose = if self.published(id).is_some() { "published" } else { "model's" };
                format!("the {whose} \"{cell}\"")
            };
            Some(Prediction::new(cell.id.clone(), None, value, &Basis::IDENTITY, quotient.words(named)))
        });
        made.collect()
    }

    /// The published number of a cell that the model has none of.
    fn published(&self, id: &str) -> Option<f64> {
        self.cell(id).filter(|cell| cell.unmodelled.is_some()).and_then(|cell| cell.value)
    }

    /// The number of cell `id` for a quotient, if there is one.
    fn number(&self, id: &str, predictions: &[Prediction]) -> Option<Number> {
        if let Some(published) = self.published(id) {
            return Some(Ok(published));
        }
        let mut found = predictions.iter().filter(|prediction| prediction.id == id && prediction.beside.is_none());
        let first = found.next()?;
        Some(match (first.value, found.count()) {
            (_, 1..) => Err(RowFailure(format!("cell {id:?} has several numbers, of which a quotient is not one"))),
            (Some(value), 0) => Ok(value),
            (None, 0) => Err(RowFailure(first.failure.clone().unwrap_or_else(|| first.reason.clone()))),
        })
    }

    fn fault(name: &str, cause: String) -> ReproduceError {
        ReproduceError::File { name: name.to_owned(), cause }
    }
}
