//! The stream of a blind-rotation iteration through a pipeline: which rows of the key pass in parallel, and which sums the inverse
//! transforms receive.
//!
//! A step passes several polynomials through the transform units in parallel, and their products with the key to the adders. A drain
//! passes complete sums of some columns through the inverse transforms.

use super::iteration::{Forward, Inverse, IterationPlan};

/// One row of the key in a step, processed by one FFT unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Index of the forward transform in the body.
    pub operation: u32,
    /// Row of the key's GGSW matrix.
    pub row: u32,
    /// Polynomial of the accumulator that is rotated and decomposed.
    pub polynomial: u32,
    /// Gadget level of the digits.
    pub level: u32,
}

/// Rows processed in parallel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub rows: Vec<StepRow>,
    /// Polynomials that the rotator reads at the start of the step; none if they are still in the decomposer's buffer.
    pub rotates: Vec<u32>,
    /// Row and column of the key's polynomials that multiply it.
    pub key: Vec<(u32, u32)>,
}

/// Columns that pass the inverse transforms in parallel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The step that completes their sums.
    pub step: usize,
    /// The inverse transform of each column's sum, in the order of columns.
    pub inverses: Vec<Inverse>,
}

/// All steps of an iteration, in stream order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Polynomials of the accumulator, k + 1.
    pub polynomials: u32,
    /// Number of iterations, n.
    pub iterations: usize,
    pub steps: Vec<Step>,
    /// In the order of the inverse transforms.
    pub drains: Vec<Drain>,
    /// Maximum number of polynomials in the decomposer's buffer.
    pub held: u32,
}

impl Steps {
    pub fn new(plan: &IterationPlan, steps: Vec<Step>, drains: Vec<Drain>) -> Self {
        let held = steps.iter().map(|step| step.polynomials().len() as u32).max().unwrap_or(1);
        Self { polynomials: plan.polynomials, iterations: plan.iterations, steps, drains, held }
    }

    /// The drains of the sums that step `step` completes, with their numbers.
    pub fn drained(&self, step: usize) -> impl Iterator<Item = (usize, &Drain)> {
        self.drains.iter().enumerate().filter(move |(_, drain)| drain.step == step)
    }

    /// Whether drain `number` is the last one of `column`, and the number of earlier drains of the column.
    pub fn order(&self, number: usize, column: u32) -> (bool, usize) {
        let has = |drain: &&Drain| drain.inverses.iter().any(|inverse| inverse.column == column);
        let before = self.drains[..number].iter().filter(has).count();
        (self.drains[number + 1..].iter().filter(has).count() == 0, before)
    }
}

impl Step {
    /// Rows that all of so many columns multiply.
    pub fn new(rows: Vec<StepRow>, rotates: Vec<u32>, columns: u32) -> Self {
        let key = rows.iter().flat_map(|row| (0..columns).map(move |column| (row.row, column))).collect();
        Self { rows, rotates, key }
    }

    /// Polynomials of the step's digits.
    pub fn polynomials(&self) -> Vec<u32> {
        let mut polynomials: Vec<u32> = self.rows.iter().map(|row| row.polynomial).collect();
        polynomials.sort_unstable();
        polynomials.dedup();
        polynomials
    }
}

/// The blind rotation does not form one sum per column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the blind rotation has {forwards} forward transforms and {chains} sums in the transform domain, and the machine forms one sum \
     per column of {rows} rows: lower the program for the machine (accumulation `transform-domain`, shared input transforms)"
)]
pub struct WholeError {
    forwards: usize,
    chains: usize,
    rows: u32,
}

/// Arranges `plan` for multipliers that accumulate all steps, with so many rows of the key and columns at a time.
pub fn accumulated(
    plan: &IterationPlan,
    rows_at_a_time: usize,
    inverses_at_a_time: usize,
) -> Result<Steps, WholeError> {
    let width = plan.polynomials as usize;
    let levels = plan.forwards.iter().map(|forward| forward.level + 1).max().unwrap_or(1);
    let rows = plan.polynomials * levels;
    let in_order = (0..).zip(&plan.forwards).all(|(row, forward)| {
        forward.products.len() == width && forward.products.iter().all(|product| product.row == row)
    });
    if plan.forwards.len() as u64 != u64::from(rows) || plan.chains != width || !in_order {
        return Err(WholeError { forwards: plan.forwards.len(), chains: plan.chains, rows });
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut seen = 0;
    for forwards in plan.forwards.chunks(rows_at_a_time) {
        let row = |(forward, row): (&Forward, u32)| {
            let (operation, polynomial, level) = (forward.operation, forward.polynomial, forward.level);
            StepRow { operation, row, polynomial, level }
        };
        let first = (steps.len() * rows_at_a_time) as u32;
        let mut step = Step::new(forwards.iter().zip(first..).map(row).collect(), Vec::new(), plan.polynomials);
        step.rotates = step.polynomials().into_iter().filter(|&polynomial| polynomial >= seen).collect();
        seen = step.rotates.last().map_or(seen, |last| last + 1);
        steps.push(step);
    }
    let mut inverses: Vec<Inverse> = plan.drains.iter().flatten().copied().collect();
    inverses.sort_by_key(|inverse| inverse.column);
    let step = steps.len().saturating_sub(1);
    let drains = inverses.chunks(inverses_at_a_time).map(|group| Drain { step, inverses: group.to_vec() });
    let drains = drains.collect();
    Ok(Steps::new(plan, steps, drains))
}

/// Arranges `plan` in steps of one forward transform, and drains of one column.
pub fn one_by_one(plan: &IterationPlan) -> Steps {
    let step = |forward: &Forward| {
        let &Forward { operation, polynomial, level, ref products } = forward;
        let key: Vec<(u32, u32)> = products.iter().map(|product| (product.row, product.column)).collect();
        let row = key.first().map_or(0, |&(row, _)| row);
        Step { rows: vec![StepRow { operation, row, polynomial, level }], rotates: Vec::new(), key }
    };
    let drain = |(step, inverses): (usize, &Vec<Inverse>)| {
        inverses.iter().map(move |&inverse| Drain { step, inverses: vec![inverse] }).collect::<Vec<_>>()
    };
    let steps = plan.forwards.iter().map(step).collect();
    Steps::new(plan, steps, plan.drains.iter().enumerate().flat_map(drain).collect())
}
