//! A machine's numbers for the published ones, with what each is worth.

use crate::contract::error::MachineError;
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

    /// The readings under which it holds.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
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
    pub(super) fn new(
        id: String,
        beside: Option<(String, String, String)>,
        value: Number,
        basis: &Basis,
        reason: String,
    ) -> Self {
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
