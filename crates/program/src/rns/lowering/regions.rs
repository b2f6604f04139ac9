//! Finds the values of a program that are slotwise functions of one other value.
//!
//! A rectifier is x·(1 + sign(x))/2, and the sign a composition of polynomials that is steep where x is small. Bounds that take every
//! factor at its maximum multiply the slope at 0 by x = 1, and lose all precision after two rectifiers. So the error of a value that
//! polynomials read, the *variable*, is followed at points through everything computed from it alone ([`super::Profile`]), including
//! bootstraps: the slope of x·sign(x) is then correct.

use super::{Behind, Points};
use crate::rns::homomorphic::{Basis, Complex, NodeId, Op, Program, Values};
use polyfabric_kernels::cancel;
use std::collections::BTreeMap;

/// Maximum degree of a followed function; beyond it, the polynomial's operand becomes a new variable.
const MOST_DEGREE: usize = 4096;

/// Maximum number of points over all variables; later variables are followed through one polynomial at a time.
const MOST_POINTS: usize = 1 << 19;

/// A value that others are functions of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variable {
    /// Interval on which the polynomials that read it are approximations.
    inside: (f64, f64),
    /// The interval of slots behind the end; `None` if they are not read.
    behind: Option<(f64, f64)>,
    /// The first slot behind the end, if functions differ there.
    end: Option<usize>,
    /// Maximum degree of its functions.
    degree: usize,
}

impl Variable {
    /// The points at which it is followed, for values up to `magnitude`.
    pub(super) fn points(&self, magnitude: f64) -> Points {
        let within = |(lo, hi): (f64, f64)| {
            let both = (lo.max(-magnitude), hi.min(magnitude));
            if both.0 <= both.1 { both } else { (lo, hi) }
        };
        let ends = self.behind.map_or((-magnitude, magnitude), within);
        let behind = self.end.map(|first| Behind { first, ends });
        Points::between(within(self.inside), behind, self.degree)
    }
}

/// The variable and the degree of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Function {
    variable: NodeId,
    degree: usize,
}

/// The variables of a program, and each node's function.
#[derive(Debug)]
pub(super) struct Regions {
    functions: Vec<Option<Function>>,
    variables: BTreeMap<NodeId, Variable>,
    /// Last reader of each node.
    last_read: Vec<Option<NodeId>>,
}

/// A public vector that is constant, or constant before an end and behind it.
fn pieces(values: &Values) -> Option<(Complex, Option<(usize, Complex)>)> {
    let Values::Complex(values) = values else { return None };
    let first = *values.first()?;
    let Some(end) = values.iter().position(|&value| value != first) else { return Some((first, None)) };
    let behind = values[end];
    values[end..].iter().all(|&value| value == behind).then_some((first, Some((end, behind))))
}

/// factor·x + shift.
#[derive(Clone, Copy)]
struct Affine {
    factor: f64,
    shift: f64,
}

impl Affine {
    const IDENTITY: Self = Self { factor: 1.0, shift: 0.0 };

    /// This map followed by the operation `op` with a public number.
    fn after(self, op: &Op, number: Complex) -> Option<Self> {
        let number = (number.im == 0.0).then_some(number.re)?;
        let Self { factor, shift } = self;
        Some(match op {
            Op::AddPlain => Self { factor, shift: shift + factor * number },
            Op::SubPlain => Self { factor, shift: shift - factor * number },
            Op::MulPlain | Op::MulPlainScaled { .. } => Self { factor: factor * number, shift },
            _ => return None,
        })
    }

    /// The preimage of the interval.
    fn inverse(self, (lo, hi): (f64, f64)) -> Option<(f64, f64)> {
        let (a, b) = ((lo - self.shift) / self.factor, (hi - self.shift) / self.factor);
        (a.is_finite() && b.is_finite()).then(|| (a.min(b), a.max(b)))
    }
}

/// The value that `operand` is derived from by public numbers alone, and its interval if `operand` is in `interval`.
fn source(program: &Program, mut operand: NodeId, interval: (f64, f64)) -> (NodeId, Variable) {
    let (mut inside, mut behind) = (Affine::IDENTITY, Affine::IDENTITY);
    let mut end = None;
    let mut variable = Variable { inside: interval, behind: Some(interval), end: None, degree: 1 };
    loop {
        let node = program.node(operand);
        let (own, rest) = match &node.op {
            Op::Neg => ((-1.0).into(), None),
            Op::AddPlain | Op::SubPlain | Op::MulPlain | Op::MulPlainScaled { .. } => {
                let Op::Constant { values } = &program.node(node.operands[1]).op else { break };
                let Some(pieces) = pieces(values) else { break };
                pieces
            }
            _ => break,
        };
        if let Some((first, _)) = rest {
            if end.is_some_and(|end| end != first) {
                break;
            }
            end = Some(first);
        }
        let op = if node.op == Op::Neg { &Op::MulPlain } else { &node.op };
        let (Some(more_inside), Some(more_behind)) =
            (inside.after(op, own), behind.after(op, rest.map_or(own, |(_, number)| number)))
        else {
            break;
        };
        let Some(ends) = more_inside.inverse(interval) else { break };
        (inside, behind, operand) = (more_inside, more_behind, node.operands[0]);
        variable = Variable { inside: ends, behind: behind.inverse(interval), ..variable };
    }
    (operand, variable)
}

impl Regions {
    /// Analyzes `program`.
    pub(super) fn new(program: &Program) -> Self {
        let count = program.nodes().len();
        let mut last_read = vec![None; count];
        for (id, node) in program.iter() {
            for operand in &node.operands {
                last_read[operand.index()] = Some(id);
            }
        }
        let mut regions = Self { functions: vec![None; count], variables: BTreeMap::new(), last_read };
        let mut next = 0;
        while next < count {
            cancel::check();
            let id = NodeId(next as u32);
            next += 1;
            if regions.variables.contains_key(&id) {
                regions.functions[id.index()] = Some(Function { variable: id, degree: 1 });
                continue;
            }
            let function = regions.function_of(program, id);
            regions.functions[id.index()] = function;
            let node = program.node(id);
            if let (None, Op::Polynomial { polynomial }) = (function, &node.op)
                && let Basis::Chebyshev { lo, hi } = polynomial.basis
            {
                let (found, variable) = source(program, node.operands[0], (lo, hi));
                if let std::collections::btree_map::Entry::Vacant(free) = regions.variables.entry(found) {
                    free.insert(variable);
                    // Revisit everything derived from it.
                    next = found.index();
                }
            }
        }
        regions.limited()
    }

    /// The function of `id`, given those of its operands; records where the function has a second piece.
    fn function_of(&mut self, program: &Program, id: NodeId) -> Option<Function> {
        let node = program.node(id);
        let of = |index: usize| node.operands.get(index).and_then(|operand| self.functions[operand.index()]);
        let limited = |function: Function| (function.degree <= MOST_DEGREE).then_some(function);
        let function = match &node.op {
            Op::Neg
            | Op::Rescale
            | Op::ModSwitch { .. }
            | Op::Relinearise
            | Op::Bootstrap { slots: None }
            | Op::Output { .. } => of(0)?,
            Op::AddPlain | Op::SubPlain | Op::MulPlain | Op::MulPlainScaled { .. } => {
                let Op::Constant { values } = &program.node(node.operands[1]).op else { return None };
                let (function, (own, behind)) = (of(0)?, pieces(values)?);
                // Functions are evaluated only above the real numbers, since they have conjugate values below.
                if own.im != 0.0 || behind.is_some_and(|(_, number)| number.im != 0.0) {
                    return None;
                }
                if let Some((end, _)) = behind {
                    let variable = self.variables.get_mut(&function.variable)?;
                    if *variable.end.get_or_insert(end) != end {
                        return None;
                    }
                }
                function
            }
            Op::Add | Op::Sub | Op::Mul => {
                let (a, b) = (of(0)?, of(1)?);
                if a.variable != b.variable {
                    return None;
                }
                let degree = if node.op == Op::Mul { a.degree + b.degree } else { a.degree.max(b.degree) };
                limited(Function { degree, ..a })?
            }
            Op::Polynomial { polynomial } => {
                let function = of(0)?;
                if let Values::Complex(coefficients) = &polynomial.coefficients
                    && coefficients.iter().any(|coefficient| coefficient.im != 0.0)
                {
                    return None;
                }
                limited(Function { degree: function.degree * polynomial.degree().max(1), ..function })?
            }
            // A mean over repeated slots depends on several slots.
            Op::Input { .. }
            | Op::Selector { .. }
            | Op::Select
            | Op::Constant { .. }
            | Op::Rotate { .. }
            | Op::Conjugate
            | Op::LinearTransform { .. }
            | Op::Lookup { .. }
            | Op::Bootstrap { slots: Some(_) } => return None,
        };
        let variable = self.variables.get_mut(&function.variable)?;
        variable.degree = variable.degree.max(function.degree);
        Some(function)
    }

    /// Removes the variables beyond [`MOST_POINTS`].
    fn limited(mut self) -> Self {
        let mut points = 0;
        self.variables.retain(|_, variable| {
            points += 8 * variable.degree * if variable.end.is_some() { 2 } else { 1 };
            points <= MOST_POINTS
        });
        for function in &mut self.functions {
            *function = function.filter(|function| self.variables.contains_key(&function.variable));
        }
        self
    }

    pub(super) fn is_function(&self, id: NodeId) -> bool {
        self.functions[id.index()].is_some()
    }

    /// The variable `id`, if other values are functions of it.
    pub(super) fn variable(&self, id: NodeId) -> Option<&Variable> {
        self.variables.get(&id)
    }

    /// Whether no node after `reader` reads `id`.
    pub(super) fn is_read_last(&self, id: NodeId, reader: NodeId) -> bool {
        self.last_read[id.index()] == Some(reader)
    }
}

#[cfg(test)]
mod tests {
    //! Are functions recognized in all the forms in which they may be written?

    use super::*;
    use crate::rns::homomorphic::{Builder, Polynomial, Scheme};
    use std::sync::Arc;

    fn cubic(builder: &mut Builder, x: NodeId, interval: (f64, f64), degree: usize) -> NodeId {
        let mut coefficients = vec![0.0; degree + 1];
        coefficients[degree] = 1.0;
        let basis = Basis::Chebyshev { lo: interval.0, hi: interval.1 };
        let polynomial = Polynomial { basis, coefficients: Values::real(&coefficients) };
        builder.polynomial(x, Arc::new(polynomial)).expect("a polynomial")
    }

    /// The regions of a program on x, and its result's node.
    fn regions(make: impl FnOnce(&mut Builder, NodeId) -> NodeId) -> (Regions, NodeId) {
        let mut builder = Builder::new("regions", Scheme::Ckks, 8).expect("a program");
        let x = builder.input("x").expect("an input");
        let result = make(&mut builder, x);
        builder.output("result", result).expect("an output");
        (Regions::new(&builder.finish().expect("a program")), result)
    }

    fn constant(builder: &mut Builder, values: &[f64]) -> NodeId {
        builder.constant(Values::real(values)).expect("a constant")
    }

    #[test]
    fn a_product_with_the_operand_is_one_function() {
        let (regions, result) = regions(|builder, x| {
            let inner = cubic(builder, x, (-1.0, 1.0), 7);
            let outer = cubic(builder, inner, (-1.0, 1.0), 15);
            let half = constant(builder, &[0.5]);
            let outer = builder.add(outer, half).expect("a sum");
            builder.mul(x, outer).expect("a product")
        });
        assert_eq!(regions.functions[result.index()], Some(Function { variable: NodeId(0), degree: 106 }));
        assert_eq!(regions.variables.len(), 1);
        let points = regions.variable(NodeId(0)).map(|variable| variable.points(0.25));
        assert_eq!(points, Some(Points::between((-0.25, 0.25), None, 106)));
    }

    #[test]
    fn intervals_are_mapped_back_through_public_numbers() {
        // The operand is 2x − 1 in five slots and 0 behind: x is in [0, 1] in the five slots and arbitrary behind.
        let (regions, result) = regions(|builder, x| {
            let two = constant(builder, &[2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0]);
            let one = constant(builder, &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
            let product = builder.mul(x, two).expect("a product");
            let mapped = builder.sub(product, one).expect("a difference");
            let cubed = cubic(builder, mapped, (-1.0, 1.0), 3);
            builder.mul(x, cubed).expect("a product")
        });
        assert_eq!(regions.functions[result.index()], Some(Function { variable: NodeId(0), degree: 4 }));
        let behind = Some(Behind { first: 5, ends: (-3.0, 3.0) });
        let points = regions.variable(NodeId(0)).map(|variable| variable.points(3.0));
        assert_eq!(points, Some(Points::between((0.0, 1.0), behind, 4)));
    }

    #[test]
    fn combined_slots_are_not_a_function_of_one() {
        let (regions, result) = regions(|builder, x| {
            let cubed = cubic(builder, x, (-1.0, 1.0), 3);
            let rotated = builder.rotate(cubed, 1).expect("a rotation");
            builder.add(cubed, rotated).expect("a sum")
        });
        assert!(!regions.is_function(result));
    }

    #[test]
    fn a_degree_beyond_the_limit_starts_a_variable() {
        let (regions, result) = regions(|builder, x| {
            let first = cubic(builder, x, (-1.0, 1.0), 1500);
            let second = cubic(builder, first, (-1.0, 1.0), 1500);
            builder.mul(second, first).expect("a product")
        });
        let variables: Vec<_> = regions.variables.keys().copied().collect();
        assert_eq!(variables, [NodeId(0), NodeId(1)]);
        assert_eq!(regions.functions[result.index()], Some(Function { variable: NodeId(1), degree: 1501 }));
    }

    #[test]
    fn vectors_of_other_numbers_end_a_function() {
        let (regions, result) = regions(|builder, x| {
            let cubed = cubic(builder, x, (-1.0, 1.0), 3);
            let weights = constant(builder, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
            builder.mul(cubed, weights).expect("a product")
        });
        assert!(!regions.is_function(result));
    }
}
