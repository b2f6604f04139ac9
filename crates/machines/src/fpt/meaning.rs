//! What the names in FPT's schedules stand for, for the audit.

use super::emit::chip::{Chip, Kinds};
use super::software::Tasks;
use crate::audit::{Datum, Function, Meaning, Step};
use crate::engine::schedule::{KindId, Value};
use crate::torus::iteration::IterationPlan;
use crate::torus::names::{in_body, operand, result, summed};
use polyfabric_program::tfhe::kernel::{Body, BodyValue, KernelProgram};

/// See the module's documentation.
pub(crate) struct Names<'a> {
    chip: &'a Chip,
    tasks: &'a Tasks,
    program: &'a KernelProgram,
}

impl<'a> Names<'a> {
    pub fn new(program: &'a KernelProgram, tasks: &'a Tasks, chip: &'a Chip) -> Self {
        Self { chip, tasks, program }
    }

    fn in_body(
        &self,
        value: Value,
        values: impl Fn(&Body, &IterationPlan, usize) -> Option<Vec<BodyValue>>,
    ) -> Vec<Datum> {
        in_body(self.program, &self.tasks.plans, value, values)
    }

    fn polynomials(&self, group: usize) -> std::ops::Range<u32> {
        let side = self.tasks.shape.side as u32;
        group as u32 * side..(group as u32 + 1) * side
    }
}

/// The inverse transform of a column.
fn inverse(plan: &IterationPlan, column: u32) -> Option<u32> {
    plan.drains.iter().flatten().find(|inverse| inverse.column == column).map(|inverse| inverse.operation)
}

impl Meaning for Names<'_> {
    fn function(&self, kind: KindId) -> Function {
        let Kinds {
            load,
            rotate,
            decompose,
            forward,
            multiply,
            inverse,
            accumulate,
            extract,
            modulus_switch,
            key_switch,
            linear,
            ..
        } = self.chip.kinds;
        let functions = [
            (load, Function::Initialise),
            (rotate, Function::Body(&[Step::Rotate, Step::Subtract])),
            (decompose, Function::Body(&[Step::Digit])),
            (forward, Function::Body(&[Step::ForwardTransform])),
            (multiply, Function::Body(&[Step::Multiply])),
            (inverse, Function::Body(&[Step::InverseTransform])),
            (accumulate, Function::Body(&[Step::Add])),
            (extract, Function::SampleExtract),
            (modulus_switch, Function::ModulusSwitch),
            (key_switch, Function::KeySwitch),
            (linear, Function::Linear),
        ];
        // All others move.
        let found = functions.into_iter().find(|(known, _)| *known == kind);
        found.map_or(Function::Move { element_bytes: 1 }, |(_, function)| function)
    }

    fn data(&self, value: Value) -> Vec<Datum> {
        let classes = &self.chip.classes;
        let shape = &self.tasks.shape;
        let Value { class, ciphertext: element, iteration, index } = value;
        let rows = shape.side_rows as usize;
        match class {
            class if class == classes.input || class == classes.lwe => vec![Datum::Lwe { op: index, element }],
            class if class == classes.rotations => vec![Datum::Amounts { op: index >> 8, element }],
            class if class == classes.accumulator => {
                self.in_body(value, |_, _, polynomial| Some(vec![BodyValue(polynomial as u32)]))
            }
            class if class == classes.rotated => self.in_body(value, |body, plan, polynomial| {
                let forward = plan.forwards.iter().find(|forward| forward.polynomial as usize == polynomial)?;
                Some(vec![operand(body, operand(body, result(body, forward.operation))?)?])
            }),
            class if class == classes.digits => self.in_body(value, |body, plan, step| {
                let forwards = plan.forwards.chunks(rows).nth(step)?;
                forwards.iter().map(|forward| operand(body, result(body, forward.operation))).collect()
            }),
            class if class == classes.spectrum => self.in_body(value, |body, plan, step| {
                let forwards = plan.forwards.chunks(rows).nth(step)?;
                Some(forwards.iter().map(|forward| result(body, forward.operation)).collect())
            }),
            class if class == classes.partial => self.in_body(value, |body, plan, step| {
                let last = plan.forwards.chunks(rows).nth(step)?.last()?;
                let column = |product: &crate::torus::iteration::Product| summed(body, product.row, product.column);
                last.products.iter().map(column).collect()
            }),
            class if class == classes.sum => self.in_body(value, |body, plan, group| {
                let column = |column| operand(body, result(body, inverse(plan, column)?));
                self.polynomials(group).map(column).collect()
            }),
            class if class == classes.product => self.in_body(value, |body, plan, group| {
                self.polynomials(group).map(|column| Some(result(body, inverse(plan, column)?))).collect()
            }),
            class if class == classes.bootstrap_key => {
                // The rows of all rotations pass in the same steps.
                let plan = self.tasks.plans.values().next();
                let forwards = plan.and_then(|plan| plan.forwards.chunks(rows).nth(index as usize)).unwrap_or(&[]);
                let products = forwards.iter().flat_map(|forward| &forward.products);
                products.map(|product| Datum::Key { iteration, row: product.row, column: product.column }).collect()
            }
            class if class == classes.switch_key => {
                vec![Datum::SwitchKey { from: 0, to: shape.large_dimension as u32 }]
            }
            class if class == classes.table => vec![Datum::Table { index }],
            _ => Vec::new(),
        }
    }
}
