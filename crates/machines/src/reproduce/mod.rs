//! Comparison of the models with the published results. Nothing else reads the files of published figures.

mod published;
#[cfg(test)]
mod tests;

use self::published::{Cell, Figures};
use crate::contract::MachineError;
use crate::registry::{MACHINES, description, names};
use polyfabric_kernels::cancel::Cancelled;
use polyfabric_runtime::Progress;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a model's number is worth as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It follows from the architecture.
    Predicted,
    /// It follows from the architecture under a reading of what the paper leaves open.
    PredictedUnderReading,
    /// It follows from another published result or another row: no second piece of evidence.
    Identity,
    /// A choice that it hangs on was made after seeing the result, whatever else speaks for it.
    Calibrated,
    /// A published result that the machine file takes in, or a sum of such.
    Input,
    /// The model has no such number.
    NotModelled,
}

/// A reading under which a number holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The reading: `fact=option` of a machine file, or a few words.
    pub name: String,
    /// What speaks for it besides the result; absent if nothing does.
    pub evidence: Option<String>,
}

/// A kind, and the readings if it is [`Kind::PredictedUnderReading`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BasisLiteral")]
pub struct Basis {
    kind: Kind,
    readings: Vec<Reading>,
}

#[derive(Deserialize)]
struct BasisLiteral {
    kind: Kind,
    #[serde(default)]
    readings: Vec<Reading>,
}

impl TryFrom<BasisLiteral> for Basis {
    type Error = String;

    fn try_from(written: BasisLiteral) -> Result<Self, String> {
        let BasisLiteral { kind, readings } = written;
        if (kind == Kind::PredictedUnderReading) == readings.is_empty() {
            return Err(format!(
                "{kind:?} with {} readings: only what is predicted under readings has some",
                readings.len()
            ));
        }
        Ok(Self { kind, readings })
    }
}

impl Basis {
    /// It follows from the architecture.
    pub const PREDICTED: Self = Self::plain(Kind::Predicted);
    /// It follows from another row.
    pub const IDENTITY: Self = Self::plain(Kind::Identity);
    /// A choice that it hangs on was made after seeing the result.
    pub const CALIBRATED: Self = Self::plain(Kind::Calibrated);
    /// The machine file takes it in.
    pub const INPUT: Self = Self::plain(Kind::Input);

    const fn plain(kind: Kind) -> Self {
        Self { kind, readings: Vec::new() }
    }

    /// Predicted under `readings`: each with what speaks for it besides the result, if anything does. Without any, predicted.
    pub fn under(readings: &[(&str, Option<&str>)]) -> Self {
        let reading = |&(name, evidence): &(&str, Option<&str>)| Reading {
            name: name.to_owned(),
            evidence: evidence.map(str::to_owned),
        };
        let kind = if readings.is_empty() { Kind::Predicted } else { Kind::PredictedUnderReading };
        Self { kind, readings: readings.iter().map(reading).collect() }
    }

    /// What the number is worth.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// Where a number stands on a curve that a figure draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Which of the figure's curves.
    pub curve: String,
    /// What is varied.
    pub axis: String,
    /// Unit of `at`.
    pub unit: String,
    /// Its value here.
    pub at: f64,
}

/// Between which numbers a cell's lies over all choices that the paper leaves open, the one of the cell included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The least number.
    pub least: f64,
    /// The choice that gives it.
    pub least_of: String,
    /// The greatest number.
    pub most: f64,
    /// The choice that gives that.
    pub most_of: String,
    /// How many choices have a number.
    pub choices: u32,
}

/// One cell of a published table or figure beside the model's number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Paper.
    pub paper: String,
    /// Table or figure.
    pub table: String,
    /// What the cell states, and under which reading.
    pub cell: String,
    /// Its unit.
    pub unit: String,
    /// The published number; absent if it is unknown to the project or not published.
    pub published: Option<f64>,
    /// The least that the paper allows, where it gives no number but a bound.
    pub published_least: Option<f64>,
    /// The most that the paper allows.
    pub published_most: Option<f64>,
    /// The model's; absent if the project cannot compute it yet.
    pub model: Option<f64>,
    /// model / published - 1; of bounds, 0 within them and else from the nearer one.
    pub deviation: Option<f64>,
    /// What the model's number is worth; absent if there is none although the model could have it.
    pub kind: Option<Kind>,
    /// The readings under which it holds.
    pub readings: Vec<Reading>,
    /// Cause of the deviation, or assumption behind the number.
    pub reason: String,
    /// Why the model's number could not be computed this time: a fault.
    pub failure: Option<String>,
    /// Its place on a curve, if it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
    /// Where the model's number lies over other choices, if some were computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// A number of a model, or why there is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prediction {
    /// Identifier of the published cell, or of a number beside it.
    pub id: String,
    /// Table, cell and unit of a number that stands beside the published ones.
    #[serde(default)]
    pub beside: Option<(String, String, String)>,
    /// The number; absent if it could not be computed.
    pub value: Option<f64>,
    /// Why not.
    #[serde(default)]
    pub failure: Option<String>,
    /// What it is worth.
    #[serde(flatten)]
    pub basis: Basis,
    /// Cause of a deviation, assumption.
    pub reason: String,
    /// Its place on a curve, if it is of one.
    #[serde(default)]
    pub point: Option<Point>,
    /// Where it lies over other choices, if some were computed.
    #[serde(default)]
    pub range: Option<Range>,
}

impl Prediction {
    fn new(id: String, beside: Option<(String, String, String)>, value: Number, basis: &Basis, reason: String) -> Self {
        let (value, failure) = match value {
            Ok(value) => (Some(value), None),
            Err(RowFailure(cause)) => (None, Some(cause)),
        };
        Self { id, beside, value, failure, basis: basis.clone(), reason, point: None, range: None }
    }
}

/// Why one number could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RowFailure(pub String);

/// A number, or why there is none.
pub type Number = Result<f64, RowFailure>;

/// The numbers of a machine, collected one by one: one that fails says so, and the others stand.
pub struct Collector<'a> {
    rows: Vec<Prediction>,
    progress: &'a dyn Progress,
    /// Of all that collect for the same machine.
    done: Arc<AtomicU64>,
    steps: u64,
}

impl<'a> Collector<'a> {
    /// No number yet, of about `steps` simulations.
    pub fn new(steps: u64, progress: &'a dyn Progress) -> Self {
        Self { rows: Vec::new(), progress, done: Arc::default(), steps }
    }

    /// Collects numbers of the same machine on another thread, to be [taken up](Self::take).
    pub fn branch(&self) -> Self {
        Self { rows: Vec::new(), done: Arc::clone(&self.done), ..*self }
    }

    /// The numbers of a branch, behind those that are there.
    pub fn take(&mut self, branch: Self) {
        self.rows.extend(branch.rows);
    }

    /// Does `work`, which `what` names, and tells its progress. A panic in it is a failure like an error.
    ///
    /// # Errors
    /// [`RowFailure`] with the error's text.
    pub fn attempt<T, E: Display>(&mut self, what: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, RowFailure> {
        let done = 1 + self.done.fetch_add(1, Ordering::Relaxed);
        self.progress.update(what, done.min(self.steps), self.steps);
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(found) => found.map_err(|error| RowFailure(error.to_string())),
            // Whoever has cancelled it wants no further row either.
            Err(payload) if payload.is::<Cancelled>() => resume_unwind(payload),
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
                Err(RowFailure(format!("a defect of the model: {text}")))
            }
        }
    }

    /// The number of published cell `id`.
    pub fn add(&mut self, id: impl Into<String>, value: Number, basis: &Basis, reason: impl Into<String>) {
        self.push(id.into(), None, value, basis, reason.into());
    }

    /// A number beside cell `id`, with its table, name and unit.
    pub fn beside(
        &mut self,
        id: impl Into<String>,
        (table, cell, unit): (&str, String, &str),
        value: Number,
        basis: &Basis,
        reason: impl Into<String>,
    ) {
        let place = (table.to_owned(), cell, unit.to_owned());
        self.push(id.into(), Some(place), value, basis, reason.into());
    }

    /// As [`Self::beside`], for a point of a curve.
    pub fn point(
        &mut self,
        id: impl Into<String>,
        place: (&str, String, &str),
        point: Point,
        value: Number,
        basis: &Basis,
        reason: impl Into<String>,
    ) {
        self.beside(id, place, value, basis, reason);
        if let Some(row) = self.rows.last_mut() {
            row.point = Some(point);
        }
    }

    fn push(
        &mut self,
        id: String,
        beside: Option<(String, String, String)>,
        value: Number,
        basis: &Basis,
        reason: String,
    ) {
        self.rows.push(Prediction::new(id, beside, value, basis, reason));
    }

    /// Whether cell `id` has a number, or a failure, already.
    pub fn has(&self, id: &str) -> bool {
        self.rows.iter().any(|row| row.id == id && row.beside.is_none())
    }

    /// All of them.
    pub fn finish(self) -> Vec<Prediction> {
        self.rows
    }
}

/// Why nothing can be compared.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// No such paper.
    #[error("no published figures of {name:?} are in the project; it has {known}")]
    Paper {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The file of published figures.
    #[error("figures/{name}.toml: {cause}")]
    File {
        /// The paper.
        name: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The model.
    #[error(transparent)]
    Machine(Box<MachineError>),
    /// A built-in program that a table is about.
    #[error("table of `{name}`: {cause}")]
    Program {
        /// The paper.
        name: String,
        /// Why there is no program.
        cause: String,
    },
}

impl From<MachineError> for ReproduceError {
    fn from(error: MachineError) -> Self {
        Self::Machine(Box::new(error))
    }
}

/// Every published cell of paper `name` beside the model's number, with what stands beside them. `applications` are numbers of
/// programs that the caller simulated, the paper's applications, in addition to the model's own; `None` if it simulated none. Where it did, a
/// cell that nothing gives a number of and that does not say why is a failure.
///
/// # Errors
/// [`ReproduceError`] when the paper is unknown or a model cannot run.
pub fn reproduce(
    name: &str,
    applications: Option<Vec<Prediction>>,
    progress: &dyn Progress,
) -> Result<Vec<Row>, ReproduceError> {
    let Some(machine) = MACHINES.iter().find(|machine| machine.name() == name) else {
        return Err(ReproduceError::Paper { name: name.to_owned(), known: names().join(", ") });
    };
    let figures = Figures::of(name, machine.published())?;
    figures.have(name, applications.as_deref().unwrap_or_default())?;
    let mut predictions = machine.predictions(&description(name)?, progress)?;
    figures.have(name, &predictions)?;
    let missing = if applications.is_some() { Missing::Fault } else { Missing::Application };
    predictions.extend(applications.into_iter().flatten());
    Ok(compare(&figures, &predictions, missing))
}

/// The rows of paper `name` with numbers of some of its programs, each of which has to stand: with a reason, readings where it is predicted
/// under some, and a kind where it has a number.
#[cfg(test)]
pub(crate) fn standing(name: &str, predictions: &[Prediction]) -> Vec<Row> {
    let machine = MACHINES.iter().find(|machine| machine.name() == name).expect("a paper of the project");
    let figures = Figures::of(name, machine.published()).expect("the project's file");
    figures.have(name, predictions).expect("a cell of each number");
    let rows = compare(&figures, predictions, Missing::Application);
    for row in &rows {
        assert_eq!(row.failure, None, "{}", row.cell);
        assert!(!row.reason.is_empty(), "{}", row.cell);
        assert_eq!(row.kind == Some(Kind::PredictedUnderReading), !row.readings.is_empty(), "{}", row.cell);
        assert_eq!(row.kind.is_some_and(|kind| kind != Kind::NotModelled), row.model.is_some(), "{}", row.cell);
    }
    rows
}

/// What a cell is that nothing gives a number of, and that does not say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// An application's, none of which was timed.
    Application,
    /// A fault: all applications were timed.
    Fault,
}

/// Every published cell with its number and what stands beside it, then the numbers of no published cell.
fn compare(figures: &Figures, predictions: &[Prediction], missing: Missing) -> Vec<Row> {
    let mut rows = Vec::new();
    let quotients = figures.quotients(predictions);
    for cell in &figures.figure {
        // One row for each reading under which there is a number.
        let found = predictions.iter().chain(&quotients);
        let found = found.filter(|prediction| prediction.id == cell.id && prediction.beside.is_none());
        let found: Vec<Row> = found.map(|found| published_row(&figures.paper, cell, Some(found), missing)).collect();
        match found.is_empty() {
            true => rows.push(published_row(&figures.paper, cell, None, missing)),
            false => rows.extend(found),
        }
        let beside = predictions.iter().filter(|p| p.beside.is_some() && p.id == cell.id);
        rows.extend(beside.filter_map(|prediction| beside_row(&figures.paper, prediction)));
    }
    let known = |prediction: &&Prediction| figures.figure.iter().all(|cell| cell.id != prediction.id);
    rows.extend(predictions.iter().filter(known).filter_map(|prediction| beside_row(&figures.paper, prediction)));
    rows
}

fn published_row(paper: &str, cell: &Cell, prediction: Option<&Prediction>, missing: Missing) -> Row {
    let empty = Row {
        paper: paper.to_owned(),
        table: cell.table.clone(),
        cell: cell.cell.clone(),
        unit: cell.unit.clone(),
        published: cell.value,
        published_least: cell.lower_bound,
        published_most: cell.upper_bound,
        ..Row::default()
    };
    match (prediction, &cell.unmodelled) {
        (Some(prediction), _) => {
            let deviation = prediction.value.and_then(|model| cell.deviation(model));
            let row = with_number(empty, prediction);
            let reason = match &cell.derived {
                Some(derived) => format!("{}; published: {derived}", row.reason),
                None => row.reason,
            };
            Row { deviation, reason, ..row }
        }
        (None, Some(cause)) => Row { kind: Some(Kind::NotModelled), reason: cause.clone(), ..empty },
        (None, None) => match missing {
            Missing::Application => Row {
                reason: format!(
                    "an application: `polyfabric reproduce {} --applications` times it, which takes minutes",
                    paper.to_lowercase()
                ),
                ..empty
            },
            Missing::Fault => Row {
                reason: "it could not be computed".to_owned(),
                failure: Some(format!(
                    "neither the model nor an application has a number of cell {:?}, and it does not say why: have one give it, or write \
                     `unmodelled` in the file of published figures",
                    cell.id
                )),
                ..empty
            },
        },
    }
}

fn with_number(row: Row, prediction: &Prediction) -> Row {
    Row {
        model: prediction.value,
        kind: Some(prediction.basis.kind).filter(|&kind| prediction.value.is_some() || kind == Kind::NotModelled),
        readings: prediction.basis.readings.clone(),
        reason: prediction.reason.clone(),
        failure: prediction.failure.clone(),
        point: prediction.point.clone(),
        range: prediction.range.clone(),
        ..row
    }
}

fn beside_row(paper: &str, prediction: &Prediction) -> Option<Row> {
    let (table, cell, unit) = prediction.beside.clone()?;
    let empty = Row { paper: paper.to_owned(), table, cell, unit, ..Row::default() };
    Some(with_number(empty, prediction))
}
