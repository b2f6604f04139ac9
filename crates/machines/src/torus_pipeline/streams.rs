//! A blind-rotation iteration as the PBS cluster streams it: which rows of the key pass the transforms side by side.
//!
//! PLP polynomials enter the FFT units at a time. Their products with one column of the key are summed in the adder tree,
//! in the transform domain; what one such step yields goes through the column's IFFT and is summed in the accumulator, in
//! the coefficient domain (section IV-B). So FFT and IFFT units have equally many polynomials to transform.

use super::machine::Pipeline;
use crate::torus::iteration::{Inverse, IterationPlan};
use polyfabric_program::tfhe::lowering::Accumulation;

/// One row of the key in a step: an FFT unit's polynomial.
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

/// Rows that pass side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rows.
    pub rows: Vec<StepRow>,
    /// For each column, the inverse transform of its sum.
    pub inverses: Vec<Inverse>,
    /// Polynomials that the rotator reads at the beginning of the step; none if the decomposer still holds them.
    pub rotates: Vec<u32>,
}

/// All steps of an iteration, in stream order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Polynomials of the accumulator: k + 1.
    pub polynomials: u32,
    /// Iterations: n.
    pub iterations: usize,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Why a body does not fit the PBS cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    /// Sums that no step forms.
    #[error(
        "the blind rotation sums {rows} rows of the key in the transform domain, and its steps pass {expected}: lower the \
         program for the machine (accumulation `split`, {polynomials} polynomials and {levels} levels at a time, shared input \
         transforms)"
    )]
    Sums {
        /// Rows of a sum.
        rows: usize,
        /// Rows of a step.
        expected: usize,
        /// Polynomials of a step.
        polynomials: u32,
        /// Levels of a step.
        levels: u32,
    },
}

/// Where a machine sums the products of k + 1 = `width` polynomials with l = `levels`: its PLP units take whole polynomials
/// first, and several levels of each if there are more units than polynomials.
pub fn accumulation(machine: &Pipeline, width: u32, levels: u32) -> Accumulation {
    let units = machine.rows as u32;
    let polynomials = units.min(width);
    Accumulation::Split { polynomials, levels: (units / width).clamp(1, levels) }
}

/// Arranges `plan` in steps of `machine`.
///
/// # Errors
/// [`StepsError`] when the body forms other sums than the steps do.
pub fn steps(machine: &Pipeline, plan: &IterationPlan) -> Result<Steps, StepsError> {
    let width = plan.polynomials;
    let levels = plan.forwards.iter().map(|forward| forward.level + 1).max().unwrap_or(1);
    let Accumulation::Split { polynomials, levels: at_a_time } = accumulation(machine, width, levels) else {
        return Ok(Steps { polynomials: width, iterations: plan.iterations, steps: Vec::new() });
    };
    let place = |polynomial: u32, level: u32| (polynomial / polynomials, level / at_a_time);
    let mut places: Vec<(u32, u32)> = plan.forwards.iter().map(|f| place(f.polynomial, f.level)).collect();
    places.sort_unstable();
    places.dedup();
    let inverses: Vec<Inverse> = plan.drains.iter().flatten().copied().collect();
    let mut steps = Vec::new();
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
        // In the order in which the body sums them.
        rows.sort_unstable_by_key(|row| (row.level, row.polynomial));
        let mut rotates: Vec<u32> = rows.iter().filter(|_| part == 0).map(|row| row.polynomial).collect();
        rotates.sort_unstable();
        rotates.dedup();
        steps.push(Step { rows, inverses: columns, rotates });
    }
    Ok(Steps { polynomials: width, iterations: plan.iterations, steps })
}

#[cfg(test)]
mod tests {
    //! Does every row of the key pass exactly once, beside the rows that it is summed with?

    use super::super::test_support::machine;
    use super::*;
    use crate::torus::iteration::plan;
    use polyfabric_program::tfhe::kernel::blind_rotation_body;
    use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};

    fn arranged(machine: &Pipeline, k: u32, l: u32, sums: Accumulation) -> Result<Steps, StepsError> {
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
                let steps = arranged(&machine, k, l, accumulation(&machine, k + 1, l)).expect("the machine's own sums");
                let mut seen: Vec<u32> = steps.steps.iter().flat_map(|s| s.rows.iter().map(|row| row.row)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..(k + 1) * l).collect::<Vec<_>>(), "PLP {rows}, k {k}, l {l}");
                assert!(
                    steps
                        .steps
                        .iter()
                        .all(|step| step.rows.len() as u64 <= rows && step.inverses.len() == k as usize + 1)
                );
                // Every polynomial is rotated once.
                let rotated: usize = steps.steps.iter().map(|step| step.rotates.len()).sum();
                assert_eq!(rotated, k as usize + 1);
            }
        }
    }

    #[test]
    fn set_one_takes_two_steps() {
        let machine = machine();
        let steps = arranged(&machine, 1, 2, accumulation(&machine, 2, 2)).expect("the machine's own sums");
        let rows: Vec<Vec<u32>> = steps.steps.iter().map(|s| s.rows.iter().map(|row| row.row).collect()).collect();
        assert_eq!(rows, [[0, 2], [1, 3]]);
        assert_eq!(steps.steps.iter().map(|step| step.rotates.len()).collect::<Vec<_>>(), [2, 0]);
    }

    #[test]
    fn other_sums_are_refused() {
        let error = arranged(&machine(), 1, 2, Accumulation::TransformDomain).expect_err("four rows in one sum");
        assert!(error.to_string().contains("sums 4 rows of the key"), "{error}");
    }
}
