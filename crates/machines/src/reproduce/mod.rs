//! Comparison of the models with the published results. Nothing else reads the files of published figures.

pub mod prediction;
mod published;
#[cfg(test)]
mod tests;

use self::prediction::{Kind, Point, Prediction, Range, Reading, ReproduceError};
use self::published::{Cell, Figures};
use crate::registry::{MACHINES, description, names};
use polyfabric_runtime::Progress;
use serde::Serialize;

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
        kind: Some(prediction.basis.kind()).filter(|&kind| prediction.value.is_some() || kind == Kind::NotModelled),
        readings: prediction.basis.readings().to_vec(),
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
