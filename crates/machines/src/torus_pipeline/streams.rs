//! The stream of a blind-rotation iteration through a PBS cluster: which rows of the key pass in parallel, and which
//! sums the inverse transforms receive.
//!
//! A step passes PLP polynomials through the FFT units in parallel. The adder tree sums their products with one column
//! of the key in the transform domain. Two designs exist. Either the column's IFFT transforms each step's sum, and the
//! accumulator adds it in the coefficient domain (Strix, section IV-B); then FFT and IFFT units transform equally many
//! polynomials. Or buffers after the multipliers accumulate all steps, and each column is transformed once, after the
//! last step (FPT, section 3.3).

use super::machine::{Pipeline, StepCycles};
use crate::tfhe::iteration::{Forward, Inverse, IterationPlan};
use polyfabric_program::tfhe::lowering::Accumulation;

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
    fn new(plan: &IterationPlan, steps: Vec<Step>, drains: Vec<Drain>) -> Self {
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
    /// Polynomials of the step's digits.
    pub fn polynomials(&self) -> Vec<u32> {
        let mut polynomials: Vec<u32> = self.rows.iter().map(|row| row.polynomial).collect();
        polynomials.sort_unstable();
        polynomials.dedup();
        polynomials
    }
}

/// Why a body does not fit the PBS cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    #[error(
        "the blind rotation sums {rows} rows of the key in the transform domain, and its steps pass {expected}: lower the \
         program for the machine (accumulation `split`, {polynomials} polynomials and {levels} levels at a time, shared input \
         transforms)"
    )]
    Sums { rows: usize, expected: usize, polynomials: u32, levels: u32 },
    #[error(
        "the blind rotation has {forwards} forward transforms and {chains} sums in the transform domain, and the machine forms one sum \
         per column of {rows} rows: lower the program for the machine (accumulation `transform-domain`, shared input transforms)"
    )]
    Whole { forwards: usize, chains: usize, rows: u32 },
    #[error(
        "a polynomial of set `{set}` takes {stream} cycles on its path, and {path} pass from the rotator's read to the accumulator's write: \
         the sum would overwrite coefficients that the rotator still reads. Use more lanes, or a latency of at least {stream} cycles"
    )]
    Short { set: String, stream: i64, path: i64 },
}

/// Where `machine` sums the products of k + 1 = `width` polynomials with l = `levels`. Accumulating multipliers sum all
/// of them. Otherwise the PLP units process whole polynomials first, and several levels of each if there are more units
/// than polynomials.
pub fn accumulation(machine: &Pipeline, width: u32, levels: u32) -> Accumulation {
    if machine.accumulates {
        return Accumulation::TransformDomain;
    }
    let units = machine.rows as u32;
    let polynomials = units.min(width);
    Accumulation::Split { polynomials, levels: (units / width).clamp(1, levels) }
}

/// Whether a polynomial leaves the rotator before its sum is written to the same place.
pub fn passes(cycles: &StepCycles, set: &str) -> Result<(), StepsError> {
    let path = cycles.rotate + cycles.to_accumulator() + cycles.accumulate;
    if path >= cycles.polynomial {
        return Ok(());
    }
    Err(StepsError::Short { set: set.to_owned(), stream: cycles.polynomial, path })
}

/// Arranges `plan` in steps of `machine`.
pub fn steps(machine: &Pipeline, plan: &IterationPlan) -> Result<Steps, StepsError> {
    let width = plan.polynomials;
    let levels = plan.forwards.iter().map(|forward| forward.level + 1).max().unwrap_or(1);
    let Accumulation::Split { polynomials, levels: at_a_time } = accumulation(machine, width, levels) else {
        return accumulated(machine, plan);
    };
    let place = |polynomial: u32, level: u32| (polynomial / polynomials, level / at_a_time);
    let mut places: Vec<(u32, u32)> = plan.forwards.iter().map(|f| place(f.polynomial, f.level)).collect();
    places.sort_unstable();
    places.dedup();
    let inverses: Vec<Inverse> = plan.drains.iter().flatten().copied().collect();
    let (mut steps, mut drains) = (Vec::new(), Vec::new());
    for &(block, part) in &places {
        let here: Vec<usize> = (0..plan.forwards.len())
            .filter(|&f| place(plan.forwards[f].polynomial, plan.forwards[f].level) == (block, part))
            .collect();
        let wrong = |rows| StepsError::Sums { rows, expected: here.len(), polynomials, levels: at_a_time };
        let first = &plan.forwards[here[0]];
        let mut columns = Vec::new();
        for product in &first.products {
            let members: Vec<usize> = (0..plan.forwards.len())
                .filter(|&f| plan.forwards[f].products.iter().any(|other| other.chain == product.chain))
                .collect();
            let inverse = inverses.iter().find(|inverse| inverse.chain == product.chain);
            match inverse {
                Some(inverse) if members == here => columns.push(*inverse),
                _ => return Err(wrong(members.len())),
            }
        }
        columns.sort_by_key(|inverse| inverse.column);
        if columns.len() != width as usize || here.iter().any(|&f| plan.forwards[f].products.len() != columns.len()) {
            return Err(wrong(1));
        }
        let rows = here.iter().map(|&f| {
            let forward = &plan.forwards[f];
            let (polynomial, level, operation) = (forward.polynomial, forward.level, forward.operation);
            StepRow { operation, row: forward.products[0].row, polynomial, level }
        });
        let mut rows: Vec<StepRow> = rows.collect();
        // In the body's order of summation.
        rows.sort_unstable_by_key(|row| (row.level, row.polynomial));
        let mut rotates: Vec<u32> = rows.iter().filter(|_| part == 0).map(|row| row.polynomial).collect();
        rotates.sort_unstable();
        rotates.dedup();
        drains.push(Drain { step: steps.len(), inverses: columns });
        steps.push(Step { rows, rotates });
    }
    Ok(Steps::new(plan, steps, drains))
}

/// Arranges `plan` for accumulating multipliers.
fn accumulated(machine: &Pipeline, plan: &IterationPlan) -> Result<Steps, StepsError> {
    let width = plan.polynomials as usize;
    let levels = plan.forwards.iter().map(|forward| forward.level + 1).max().unwrap_or(1);
    let rows = plan.polynomials * levels;
    let in_order = (0..).zip(&plan.forwards).all(|(row, forward)| {
        forward.products.len() == width && forward.products.iter().all(|product| product.row == row)
    });
    if plan.forwards.len() as u64 != u64::from(rows) || plan.chains != width || !in_order {
        return Err(StepsError::Whole { forwards: plan.forwards.len(), chains: plan.chains, rows });
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut seen = 0;
    for forwards in plan.forwards.chunks(machine.rows as usize) {
        let row = |(forward, row): (&Forward, u32)| {
            let (operation, polynomial, level) = (forward.operation, forward.polynomial, forward.level);
            StepRow { operation, row, polynomial, level }
        };
        let first = (steps.len() * machine.rows as usize) as u32;
        let mut step = Step { rows: forwards.iter().zip(first..).map(row).collect(), rotates: Vec::new() };
        step.rotates = step.polynomials().into_iter().filter(|&polynomial| polynomial >= seen).collect();
        seen = step.rotates.last().map_or(seen, |last| last + 1);
        steps.push(step);
    }
    let mut inverses: Vec<Inverse> = plan.drains.iter().flatten().copied().collect();
    inverses.sort_by_key(|inverse| inverse.column);
    let step = steps.len().saturating_sub(1);
    let drains = inverses.chunks(machine.inverses() as usize).map(|group| Drain { step, inverses: group.to_vec() });
    let drains = drains.collect();
    Ok(Steps::new(plan, steps, drains))
}

#[cfg(test)]
mod tests {
    //! Does every row of the key pass exactly once, in parallel with the rows of its sum?

    use super::super::test_support::machine;
    use super::*;
    use crate::tfhe::iteration::plan;
    use polyfabric_program::tfhe::kernel::blind_rotation_body;
    use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};

    fn of(machine: &Pipeline, k: u32, l: u32, sums: Accumulation) -> Result<Steps, StepsError> {
        let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
        choice.accumulation = sums;
        let body = blind_rotation_body(k as usize, l, 7, &choice);
        steps(machine, &plan(&body, 8).expect("a body of the lowering"))
    }

    #[test]
    fn every_row_once() {
        for rows in [1, 2, 3, 4, 8] {
            let machine = Pipeline { rows, ..machine() };
            for (k, l) in [(1, 2), (1, 3), (2, 2), (3, 1)] {
                let steps = of(&machine, k, l, accumulation(&machine, k + 1, l)).expect("the machine's own sums");
                let mut seen: Vec<u32> = steps.steps.iter().flat_map(|s| s.rows.iter().map(|row| row.row)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..(k + 1) * l).collect::<Vec<_>>(), "PLP {rows}, k {k}, l {l}");
                assert!(steps.steps.iter().all(|step| step.rows.len() as u64 <= rows));
                assert!(steps.drains.iter().all(|drain| drain.inverses.len() == k as usize + 1));
                // Every polynomial is rotated once.
                let rotated: usize = steps.steps.iter().map(|step| step.rotates.len()).sum();
                assert_eq!(rotated, k as usize + 1);
            }
        }
    }

    #[test]
    fn set_one_takes_two_steps() {
        let machine = machine();
        let steps = of(&machine, 1, 2, accumulation(&machine, 2, 2)).expect("the machine's own sums");
        let rows: Vec<Vec<u32>> = steps.steps.iter().map(|s| s.rows.iter().map(|row| row.row).collect()).collect();
        assert_eq!(rows, [[0, 2], [1, 3]]);
        assert_eq!(steps.steps.iter().map(|step| step.rotates.len()).collect::<Vec<_>>(), [2, 0]);
    }

    #[test]
    fn multipliers_that_accumulate_drain_every_column_once() {
        for (rows, inverses) in [(1, 1), (1, 2), (2, 1), (3, 2), (8, 8)] {
            let machine = Pipeline { rows, columns: 8, inverses: Some(inverses), accumulates: true, ..machine() };
            for (k, l) in [(1, 2), (1, 3), (2, 2), (3, 1)] {
                let steps = of(&machine, k, l, accumulation(&machine, k + 1, l)).expect("the machine's own sums");
                let seen: Vec<u32> = steps.steps.iter().flat_map(|s| s.rows.iter().map(|row| row.row)).collect();
                assert_eq!(seen, (0..(k + 1) * l).collect::<Vec<_>>(), "PLP {rows}, k {k}, l {l}");
                let rotated: Vec<u32> = steps.steps.iter().flat_map(|step| step.rotates.iter().copied()).collect();
                assert_eq!(rotated, (0..=k).collect::<Vec<_>>());
                let columns: Vec<u32> = steps.drains.iter().flat_map(|d| d.inverses.iter().map(|i| i.column)).collect();
                assert_eq!(columns, (0..=k).collect::<Vec<_>>());
                assert!(
                    steps.drains.iter().all(|d| d.inverses.len() as u64 <= inverses && d.step + 1 == steps.steps.len())
                );
                assert!(u64::from(steps.held) <= rows);
            }
        }
        let machine = Pipeline { accumulates: true, ..machine() };
        let error = of(&machine, 1, 2, Accumulation::Split { polynomials: 2, levels: 1 }).expect_err("four sums");
        assert!(error.to_string().contains("4 forward transforms and 4 sums"), "{error}");
    }

    #[test]
    fn other_sums_are_rejected() {
        let error = of(&machine(), 1, 2, Accumulation::TransformDomain).expect_err("four rows in one sum");
        assert!(error.to_string().contains("sums 4 rows of the key"), "{error}");
    }
}
