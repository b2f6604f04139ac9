//! The stream of a blind-rotation iteration through a PBS cluster: which rows of the key pass in parallel, and which
//! sums the inverse transforms receive.
//!
//! A step passes PLP polynomials through the FFT units in parallel. The adder tree sums their products with one column
//! of the key in the transform domain. Two designs exist. Either the column's IFFT transforms each step's sum, and the
//! accumulator adds it in the coefficient domain (Strix, section IV-B); then FFT and IFFT units transform equally many
//! polynomials. Or buffers after the multipliers accumulate all steps, and each column is transformed once, after the
//! last step (FPT, section 3.3).

use super::machine::{Pipeline, StepCycles};
use crate::tfhe::iteration::{Inverse, IterationPlan};
use crate::tfhe::steps::{Drain, Step, StepRow, Steps, WholeError, accumulated};
use polyfabric_program::tfhe::lowering::Accumulation;

/// Why a body does not fit the PBS cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    #[error(
        "the blind rotation sums {rows} rows of the key in the transform domain, and its steps pass {expected}: lower the \
         program for the machine (accumulation `split`, {polynomials} polynomials and {levels} levels at a time, shared input \
         transforms)"
    )]
    Sums { rows: usize, expected: usize, polynomials: u32, levels: u32 },
    #[error(transparent)]
    Whole(#[from] WholeError),
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
        return Ok(accumulated(plan, machine.rows as usize, machine.inverses() as usize)?);
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
        steps.push(Step::new(rows, rotates, width));
    }
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
