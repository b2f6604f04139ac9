//! Evaluates a program in the clear, as the reference for encrypted execution.

use super::{Basis, Complex, Diagonals, NodeId, Op, Polynomial, Program, Scheme, Table, Values, op_name};
use crate::location::place;
use polyfabric_kernels::modular::Modulus;
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// Why a program cannot be evaluated on the given values.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ClearError {
    #[error("no values for input {name:?}; give {slots} values")]
    Missing { name: String, slots: usize },
    #[error("values for {name:?}, which is no input of the program; its inputs are {known}")]
    Unknown { name: String, known: String },
    #[error("input {name:?}: {found} values, but the program has {slots} slots; give {slots} values, or one for all")]
    Length { name: String, found: usize, slots: usize },
    #[error("input {name:?}: {problem}")]
    Value { name: String, problem: &'static str },
    #[error("plaintext modulus {modulus} is beyond the arithmetic's range; choose a prime below 2^60")]
    PlaintextModulus { modulus: u64 },
    #[error("{place}{op} {node}: a result is not finite: numbers reach {:.1e}; give smaller inputs", f64::MAX)]
    NotFinite {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
    },
}

#[derive(Clone, Debug)]
pub struct Evaluation {
    values: Vec<Values>,
}

impl Evaluation {
    /// Values of a node, one per slot; [`centred`] for BGV.
    pub fn values(&self, node: NodeId) -> &Values {
        &self.values[node.index()]
    }

    pub fn outputs<'a>(&'a self, program: &'a Program) -> HashMap<&'a str, &'a Values> {
        program.outputs().map(|(id, name)| (name, self.values(id))).collect()
    }
}

/// Representative of `value` modulo t in (−t/2, t/2\], as shown to users; modulo 2 it is 0 or 1.
pub fn centred(value: u64, t: u64) -> i64 {
    if value > t / 2 { value as i64 - t as i64 } else { value as i64 }
}

/// Evaluates `program` on clear values: complex numbers for CKKS, integers modulo t for BGV.
///
/// # Errors
/// [`ClearError`] if the values do not fit the inputs.
pub fn evaluate(program: &Program, inputs: &HashMap<String, Values>) -> Result<Evaluation, ClearError> {
    let mut all = vec![None; program.nodes().len()];
    evaluate_each(program, inputs, |id, values| all[id.index()] = Some(values))?;
    Ok(Evaluation { values: all.into_iter().flatten().collect() })
}

/// As [`evaluate`], but passes each node's values to the callback after their last use, and then drops them. So a long program
/// needs little memory.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_each(
    program: &Program,
    inputs: &HashMap<String, Values>,
    done: impl FnMut(NodeId, Values),
) -> Result<(), ClearError> {
    evaluate_changed(program, inputs, |_, _| (), done)
}

/// As [`evaluate_each`], for CKKS; `change` may replace the values of a node before others read them, to model approximations.
///
/// # Errors
/// As [`evaluate`]. [`ClearError::NotFinite`] comes after the last node, so that the callbacks have seen all.
pub fn evaluate_changed(
    program: &Program,
    inputs: &HashMap<String, Values>,
    mut change: impl FnMut(NodeId, &mut [Complex]),
    mut done: impl FnMut(NodeId, Values),
) -> Result<(), ClearError> {
    let known: Vec<_> = program.inputs().map(|(_, name)| name).collect();
    if let Some(name) = inputs.keys().find(|name| !known.contains(&name.as_str())) {
        let known = known.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        return Err(ClearError::Unknown { name: name.clone(), known });
    }
    let given: Vec<_> =
        program.inputs().map(|(id, name)| Ok((id, input(program, name, inputs)?))).collect::<Result<_, _>>()?;
    let given: HashMap<_, _> = given.into_iter().collect();
    match program.scheme() {
        Scheme::Ckks => {
            let arithmetic = ComplexSlots { slots: program.slots() };
            let done = |id, values: Vec<Complex>| done(id, Values::Complex(values.into()));
            let mut infinite = None;
            let checked = |id: NodeId, values: &mut [Complex]| {
                change(id, values);
                if infinite.is_none() && values.iter().any(|value| !(value.re.is_finite() && value.im.is_finite())) {
                    infinite = Some(id);
                }
            };
            run(program, &arithmetic, |id| arithmetic.read(&given[&id]), checked, done);
            if let Some(id) = infinite {
                let node = program.node(id);
                return Err(ClearError::NotFinite {
                    place: place(node.location.as_ref()),
                    op: op_name(&node.op),
                    node: id,
                });
            }
        }
        Scheme::Bgv { plaintext_modulus } => {
            let modulus = Modulus::new(plaintext_modulus)
                .map_err(|_| ClearError::PlaintextModulus { modulus: plaintext_modulus })?;
            let arithmetic = ModularSlots { slots: program.slots(), modulus };
            let done = |id, values: Vec<u64>| {
                let values = values.into_iter().map(|value| centred(value, plaintext_modulus));
                done(id, Values::Integer(values.collect()));
            };
            run(program, &arithmetic, |id| arithmetic.read(&given[&id]), |_, _| (), done);
        }
    }
    Ok(())
}

fn input(program: &Program, name: &str, inputs: &HashMap<String, Values>) -> Result<Values, ClearError> {
    let slots = program.slots();
    let Some(values) = inputs.get(name) else {
        return Err(ClearError::Missing { name: name.to_owned(), slots });
    };
    if values.len() != slots && !values.is_scalar() {
        return Err(ClearError::Length { name: name.to_owned(), found: values.len(), slots });
    }
    let selector = program.inputs().any(|(id, own)| own == name && program.node(id).is_selector());
    let problem = match (program.scheme(), values) {
        _ if selector && values.bit().is_none() => Some("a selector is one bit; give 0 or 1"),
        (Scheme::Ckks, Values::Complex(values)) => {
            let finite = values.iter().all(|value| value.re.is_finite() && value.im.is_finite());
            if finite { None } else { Some("a value is not finite; correct the data") }
        }
        (Scheme::Bgv { .. }, Values::Integer(_)) => None,
        (Scheme::Ckks, Values::Integer(_)) => Some("integers modulo t, but CKKS takes real or complex values"),
        (Scheme::Bgv { .. }, Values::Complex(_)) => Some("real or complex values, but BGV takes integers"),
    };
    match problem {
        Some(problem) => Err(ClearError::Value { name: name.to_owned(), problem }),
        None => Ok(values.clone()),
    }
}

/// Slotwise arithmetic of one scheme.
trait Slots {
    type Value: Copy;
    fn read(&self, values: &Values) -> Vec<Self::Value>;
    fn add(&self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn neg(&self, a: Self::Value) -> Self::Value;
    fn mul(&self, a: Self::Value, b: Self::Value) -> Self::Value;
    /// The polynomial at `x`, with coefficients from [`Self::read_all`].
    fn polynomial(&self, basis: Basis, coefficients: &[Self::Value], x: Self::Value) -> Self::Value;
    fn read_all(&self, values: &Values) -> Vec<Self::Value>;
    fn conjugate(&self, values: &[Self::Value]) -> Vec<Self::Value>;
    fn lookup(&self, table: &Table, x: Self::Value) -> Self::Value;
}

fn run<S: Slots>(
    program: &Program,
    slots: &S,
    input: impl Fn(NodeId) -> Vec<S::Value>,
    mut change: impl FnMut(NodeId, &mut [S::Value]),
    mut done: impl FnMut(NodeId, Vec<S::Value>),
) {
    // Last reader of each node; the node itself if nothing reads it.
    let mut last: Vec<NodeId> = program.iter().map(|(id, _)| id).collect();
    for (id, node) in program.iter() {
        node.operands.iter().for_each(|operand| last[operand.index()] = id);
    }
    let mut all: Vec<Vec<S::Value>> = Vec::with_capacity(program.nodes().len());
    for (id, node) in program.iter() {
        let operand = |index: usize| all[node.operands[index].index()].as_slice();
        let zip = |f: &dyn Fn(S::Value, S::Value) -> S::Value| -> Vec<S::Value> {
            operand(0).iter().zip(operand(1)).map(|(&a, &b)| f(a, b)).collect()
        };
        let mut value = match &node.op {
            Op::Input { .. } | Op::Selector { .. } => input(id),
            Op::Constant { values } => slots.read(values),
            Op::Add | Op::AddPlain => zip(&|a, b| slots.add(a, b)),
            Op::Sub | Op::SubPlain => zip(&|a, b| slots.add(a, slots.neg(b))),
            Op::Mul | Op::MulPlain | Op::MulPlainScaled { .. } => zip(&|a, b| slots.mul(a, b)),
            Op::Neg => operand(0).iter().map(|&a| slots.neg(a)).collect(),
            Op::Rotate { steps } => rotate(operand(0), program.row(), *steps),
            Op::Conjugate => slots.conjugate(operand(0)),
            Op::LinearTransform { diagonals } => linear_transform(slots, operand(0), program.row(), diagonals),
            Op::Polynomial { polynomial } => {
                let Polynomial { basis, coefficients } = &**polynomial;
                let coefficients = slots.read_all(coefficients);
                operand(0).iter().map(|&x| slots.polynomial(*basis, &coefficients, x)).collect()
            }
            Op::Rescale
            | Op::ModSwitch { .. }
            | Op::Relinearise
            | Op::Bootstrap { slots: None }
            | Op::Output { .. } => operand(0).to_vec(),
            Op::Select => {
                let choices = operand(1).iter().zip(operand(2));
                let choose = |(&bit, (&one, &zero))| slots.add(zero, slots.mul(bit, slots.add(one, slots.neg(zero))));
                operand(0).iter().zip(choices).map(choose).collect()
            }
            Op::Lookup { table } => operand(0).iter().map(|&x| slots.lookup(table, x)).collect(),
            Op::Bootstrap { slots: Some(period) } => repeated(slots, operand(0), *period),
        };
        change(id, &mut value);
        all.push(value);
        for (position, &read) in node.operands.iter().enumerate() {
            if last[read.index()] == id && !node.operands[..position].contains(&read) {
                done(read, std::mem::take(&mut all[read.index()]));
            }
        }
        if last[id.index()] == id {
            done(id, std::mem::take(&mut all[id.index()]));
        }
    }
}

fn rotate<V: Copy>(values: &[V], row: usize, steps: i64) -> Vec<V> {
    let shift = steps.rem_euclid(row as i64) as usize;
    values.chunks(row).flat_map(|row| row[shift..].iter().chain(&row[..shift])).copied().collect()
}

/// Replaces every value by the mean of the values at multiples of `period` from it.
fn repeated<S: Slots>(slots: &S, values: &[S::Value], period: usize) -> Vec<S::Value> {
    let (mut sums, mut step) = (values.to_vec(), period);
    while step < values.len() {
        let others = rotate(&sums, values.len(), step as i64);
        sums = sums.iter().zip(others).map(|(&a, b)| slots.add(a, b)).collect();
        step *= 2;
    }
    let share = slots.read(&Values::real(&[period as f64 / values.len() as f64]));
    sums.into_iter().zip(share).map(|(sum, share)| slots.mul(sum, share)).collect()
}

fn linear_transform<S: Slots>(slots: &S, values: &[S::Value], row: usize, diagonals: &Diagonals) -> Vec<S::Value> {
    let mut sum: Option<Vec<S::Value>> = None;
    for (&offset, diagonal) in &diagonals.by_offset {
        let factors = slots.read(diagonal);
        let rotated = rotate(values, row, offset);
        let terms = rotated.iter().zip(&factors).map(|(&a, &b)| slots.mul(a, b));
        sum = Some(match sum {
            None => terms.collect(),
            Some(sum) => sum.iter().zip(terms).map(|(&a, b)| slots.add(a, b)).collect(),
        });
    }
    sum.unwrap_or_else(|| values.to_vec())
}

struct ComplexSlots {
    slots: usize,
}

impl Slots for ComplexSlots {
    type Value = Complex;

    fn read(&self, values: &Values) -> Vec<Complex> {
        let values = self.read_all(values);
        if values.len() == 1 { vec![values[0]; self.slots] } else { values }
    }

    fn read_all(&self, values: &Values) -> Vec<Complex> {
        match values {
            Values::Complex(values) => values.to_vec(),
            Values::Integer(values) => values.iter().map(|&value| Complex::from(value as f64)).collect(),
        }
    }

    fn add(&self, a: Complex, b: Complex) -> Complex {
        a + b
    }

    fn neg(&self, a: Complex) -> Complex {
        -a
    }

    fn mul(&self, a: Complex, b: Complex) -> Complex {
        a * b
    }

    fn polynomial(&self, basis: Basis, coefficients: &[Complex], x: Complex) -> Complex {
        match basis {
            Basis::Monomial => coefficients.iter().rev().fold(Complex::default(), |sum, &c| sum * x + c),
            Basis::Chebyshev { lo, hi } => {
                // Clenshaw's recurrence on [-1, 1].
                let unit = (x + x - Complex::from(lo + hi)) * Complex::from(1.0 / (hi - lo));
                let (mut next, mut after) = (Complex::default(), Complex::default());
                for &c in coefficients[1..].iter().rev() {
                    (next, after) = (c + (unit + unit) * next - after, next);
                }
                coefficients[0] + unit * next - after
            }
        }
    }

    fn conjugate(&self, values: &[Complex]) -> Vec<Complex> {
        values.iter().map(|value| value.conjugate()).collect()
    }

    fn lookup(&self, table: &Table, x: Complex) -> Complex {
        Complex::new(table.apply(x.re), table.apply(x.im))
    }
}

struct ModularSlots {
    slots: usize,
    modulus: Modulus,
}

impl Slots for ModularSlots {
    type Value = u64;

    fn read(&self, values: &Values) -> Vec<u64> {
        let values = self.read_all(values);
        if values.len() == 1 { vec![values[0]; self.slots] } else { values }
    }

    fn read_all(&self, values: &Values) -> Vec<u64> {
        let values: Arc<[i64]> = match values {
            Values::Integer(values) => values.clone(),
            Values::Complex(values) => values.iter().map(|value| value.re as i64).collect(),
        };
        values.iter().map(|&value| value.rem_euclid(self.modulus.value() as i64) as u64).collect()
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        self.modulus.add(a, b)
    }

    fn neg(&self, a: u64) -> u64 {
        self.modulus.neg(a)
    }

    fn mul(&self, a: u64, b: u64) -> u64 {
        self.modulus.multiply(a, b)
    }

    fn polynomial(&self, _: Basis, coefficients: &[u64], x: u64) -> u64 {
        coefficients.iter().rev().fold(0, |sum, &c| self.add(self.mul(sum, x), c))
    }

    fn conjugate(&self, values: &[u64]) -> Vec<u64> {
        let (first, second) = values.split_at(values.len() / 2);
        second.iter().chain(first).copied().collect()
    }

    fn lookup(&self, _: &Table, x: u64) -> u64 {
        unreachable!("the builder rejects lookups of BGV; the operand is {x}")
    }
}
