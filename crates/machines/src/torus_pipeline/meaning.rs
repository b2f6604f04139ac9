//! What the names in the schedules stand for, for the audit.

use super::emit::resources::{Chip, Kinds};
use super::replay::{Passes, columns};
use super::software::Tasks;
use super::streams::{Drain, Steps};
use crate::audit::{Datum, Function, Meaning, Step};
use crate::engine::schedule::{KindId, Value};
use crate::torus::iteration::Inverse;
use crate::torus::names::{added, in_body, operand, result, summed};
use crate::torus::workload::Work;
use polyfabric_program::tfhe::kernel::{Body, BodyValue, KernelProgram};

/// See the module's documentation.
pub(crate) struct Names<'a> {
    chip: &'a Chip,
    tasks: &'a Tasks,
    program: &'a KernelProgram,
    passes: Passes,
}

impl<'a> Names<'a> {
    pub fn new(program: &'a KernelProgram, tasks: &'a Tasks, chip: &'a Chip) -> Self {
        Self { chip, tasks, program, passes: columns(tasks) }
    }

    fn in_body(&self, value: Value, values: impl Fn(&Body, &Steps, usize) -> Option<Vec<BodyValue>>) -> Vec<Datum> {
        in_body(self.program, &self.tasks.steps, value, values)
    }

    /// The sources of a pass of a linear layer.
    fn operands(&self, op: u32, pass: u32) -> Vec<Datum> {
        let layer = self.tasks.works.iter().find_map(|work| match work {
            Work::Linear(layer) if layer.op == op => Some(layer),
            _ => None,
        });
        let (Some(layer), Some(columns)) = (layer, self.passes.get(&(op, pass))) else { return Vec::new() };
        let sources = layer.sources[columns.clone()].iter();
        sources.map(|item| Datum::Lwe { op: item.op, element: item.element }).collect()
    }
}

/// For each column of a drain: the value that `of` makes of its inverse transform.
fn by_column(drain: &Drain, of: impl Fn(u32) -> Option<BodyValue>) -> Option<Vec<BodyValue>> {
    drain.inverses.iter().map(|inverse| of(inverse.operation)).collect()
}

impl Meaning for Names<'_> {
    fn function(&self, kind: KindId) -> Function {
        let Kinds {
            rotate,
            decompose,
            forward,
            multiply,
            inverse,
            accumulate,
            extract,
            key_switch,
            linear,
            modulus_switch,
            load_accumulators,
            ..
        } = self.chip.kinds;
        let functions = [
            (rotate, Function::Body(&[Step::Rotate, Step::Subtract])),
            (decompose, Function::Body(&[Step::Digit])),
            (forward, Function::Body(&[Step::ForwardTransform])),
            (multiply, Function::Body(&[Step::Multiply])),
            (inverse, Function::Body(&[Step::InverseTransform])),
            (accumulate, Function::Body(&[Step::Add])),
            (extract, Function::SampleExtract),
            (key_switch, Function::KeySwitch),
            (linear, Function::Linear),
            (modulus_switch, Function::ModulusSwitch),
            (load_accumulators, Function::Initialise),
        ];
        // All others move.
        let found = functions.into_iter().find(|(known, _)| *known == kind);
        found.map_or(Function::Move { element_bytes: 1 }, |(_, function)| function)
    }

    fn data(&self, value: Value) -> Vec<Datum> {
        let classes = &self.chip.classes;
        let Value { class, ciphertext: element, iteration, index } = value;
        let op = index >> 8;
        let tile = self.tasks.layout.tile_elements as u32;
        match class {
            class if class == classes.input || class == classes.lwe => vec![Datum::Lwe { op: index, element }],
            class if class == classes.rotations => vec![Datum::Amounts { op, element }],
            class if class == classes.accumulator => {
                self.in_body(value, |_, _, polynomial| Some(vec![BodyValue(polynomial as u32)]))
            }
            class if class == classes.rotated => self.in_body(value, |body, steps, polynomial| {
                let mut rows = steps.steps.iter().flat_map(|step| &step.rows);
                let row = rows.find(|row| row.polynomial as usize == polynomial)?;
                Some(vec![operand(body, operand(body, result(body, row.operation))?)?])
            }),
            class if class == classes.digits => self.in_body(value, |body, steps, step| {
                steps.steps.get(step)?.rows.iter().map(|row| operand(body, result(body, row.operation))).collect()
            }),
            class if class == classes.spectrum => self.in_body(value, |body, steps, step| {
                Some(steps.steps.get(step)?.rows.iter().map(|row| result(body, row.operation)).collect())
            }),
            class if class == classes.running => self.in_body(value, |body, steps, step| {
                let last = steps.steps.get(step)?.rows.last()?;
                (0..steps.polynomials).map(|column| summed(body, last.row, column)).collect()
            }),
            class if class == classes.sum => self.in_body(value, |body, steps, drain| {
                by_column(steps.drains.get(drain)?, |inverse| operand(body, result(body, inverse)))
            }),
            class if class == classes.product => self.in_body(value, |body, steps, drain| {
                by_column(steps.drains.get(drain)?, |inverse| Some(result(body, inverse)))
            }),
            class if class == classes.partial => self.in_body(value, |body, steps, number| {
                let (order, column) = (number / steps.polynomials as usize, number as u32 % steps.polynomials);
                let of_column = |inverse: &&Inverse| inverse.column == column;
                let inverse = steps.drains.iter().flat_map(|drain| &drain.inverses).filter(of_column).nth(order)?;
                Some(vec![added(body, inverse.operation)?])
            }),
            class if class == classes.switch_sum => {
                vec![Datum::SwitchSum { op, element, done: iteration.saturating_mul(tile) }]
            }
            class if class == classes.switch_key => {
                let [from, to] = [iteration, iteration.saturating_add(1)].map(|tiles| tiles.saturating_mul(tile));
                vec![Datum::SwitchKey { from, to }]
            }
            class if class == classes.linear_sum => {
                let columns = iteration.checked_sub(1).and_then(|pass| self.passes.get(&(op, pass)));
                vec![Datum::LinearSum { op, row: element, done: columns.map_or(0, |columns| columns.end as u32) }]
            }
            class if class == classes.operands => self.operands(op, iteration),
            class if class == classes.bootstrap_key => {
                // The rows of all rotations pass in the same steps.
                let Some(steps) = self.tasks.steps.values().next() else { return Vec::new() };
                let rows = steps.steps.get(index as usize).map_or(&[][..], |step| &step.rows);
                let columns =
                    |row: u32| (0..steps.polynomials).map(move |column| Datum::Key { iteration, row, column });
                rows.iter().flat_map(|row| columns(row.row)).collect()
            }
            class if class == classes.table => vec![Datum::Table { index }],
            _ => Vec::new(),
        }
    }
}
