//! Comparison of the models with the published results. Nothing else reads the files of published figures.

use crate::contract::MachineError;
use crate::registry::{MACHINES, names};
use polyfabric_runtime::Progress;
use serde::{Deserialize, Serialize};

/// Where a model's number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It follows from the architecture.
    Predicted,
    /// A published result that the machine file takes in, or a sum of such.
    Input,
    /// A constant was chosen after seeing the result.
    Calibrated,
}

/// One cell of a published table or figure beside the model's number.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// The model's; absent if the project cannot compute it yet.
    pub model: Option<f64>,
    /// model / published - 1.
    pub deviation: Option<f64>,
    /// Where the model's number comes from.
    pub kind: Kind,
    /// Cause of the deviation, or reading and assumption behind the number.
    pub reason: String,
}

/// A cell of a file of published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    id: String,
    table: String,
    cell: String,
    unit: String,
    value: Option<f64>,
    upper_bound: Option<f64>,
    /// What the number is, where the model has none.
    kind: Option<Kind>,
    /// Why the model has no number.
    unmodelled: Option<String>,
}

/// A file of published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    paper: String,
    #[serde(rename = "title")]
    _title: String,
    figure: Vec<Cell>,
}

/// A number of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Identifier of the published cell, or of a number beside it.
    pub id: String,
    /// Table, cell and unit of a number that stands beside the published ones.
    #[serde(default)]
    pub beside: Option<(String, String, String)>,
    /// The number.
    pub value: f64,
    /// Where it comes from.
    pub kind: Kind,
    /// Cause of a deviation, reading, assumption.
    pub reason: String,
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
/// programs that the caller simulated, the paper's applications, in addition to the model's own.
///
/// # Errors
/// [`ReproduceError`] when the paper is unknown or a model cannot run.
pub fn reproduce(
    name: &str,
    applications: Vec<Prediction>,
    progress: &dyn Progress,
) -> Result<Vec<Row>, ReproduceError> {
    let Some(machine) = MACHINES.iter().find(|machine| machine.name() == name) else {
        return Err(ReproduceError::Paper { name: name.to_owned(), known: names().join(", ") });
    };
    let file = |cause: String| ReproduceError::File { name: name.to_owned(), cause };
    let figures: Figures = toml::from_str(machine.published()).map_err(|error| file(error.to_string()))?;
    let mut predictions = machine.predictions(progress)?;
    predictions.extend(applications);
    let mut rows = Vec::new();
    for cell in &figures.figure {
        let found = predictions.iter().find(|prediction| prediction.id == cell.id && prediction.beside.is_none());
        rows.push(row(&figures.paper, cell, found));
        let beside = predictions.iter().filter(|p| p.beside.is_some() && p.id == cell.id);
        rows.extend(beside.filter_map(|prediction| beside_row(&figures.paper, prediction)));
    }
    let known = |prediction: &&Prediction| figures.figure.iter().all(|cell| cell.id != prediction.id);
    rows.extend(predictions.iter().filter(known).filter_map(|prediction| beside_row(&figures.paper, prediction)));
    Ok(rows)
}

fn row(paper: &str, cell: &Cell, prediction: Option<&Prediction>) -> Row {
    let model = prediction.map(|prediction| prediction.value);
    let published = cell.value.or(cell.upper_bound);
    Row {
        paper: paper.to_owned(),
        table: cell.table.clone(),
        cell: cell.cell.clone(),
        unit: cell.unit.clone(),
        published,
        model,
        deviation: model.zip(published).map(|(model, published)| model / published - 1.0),
        kind: prediction.map_or(cell.kind.unwrap_or(Kind::Predicted), |prediction| prediction.kind),
        reason: prediction.map_or_else(
            || {
                let application =
                    "an application: `polyfabric reproduce PAPER --applications` times it, which takes minutes";
                cell.unmodelled.clone().unwrap_or_else(|| application.to_owned())
            },
            |prediction| match cell.upper_bound {
                Some(_) => format!("published as an upper bound; {}", prediction.reason),
                None => prediction.reason.clone(),
            },
        ),
    }
}

fn beside_row(paper: &str, prediction: &Prediction) -> Option<Row> {
    let (table, cell, unit) = prediction.beside.as_ref()?;
    Some(Row {
        paper: paper.to_owned(),
        table: table.clone(),
        cell: cell.clone(),
        unit: unit.clone(),
        published: None,
        model: Some(prediction.value),
        deviation: None,
        kind: prediction.kind,
        reason: prediction.reason.clone(),
    })
}
