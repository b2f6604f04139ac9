//! Plans where to split a polynomial, before any computation.

use crate::rns::homomorphic::Complex;
use std::collections::{BTreeMap, BTreeSet};

/// ceil(log2 i), the depth of T_i as products of two earlier ones.
pub(super) fn depth_of(index: usize) -> usize {
    (usize::BITS - index.saturating_sub(1).leading_zeros()) as usize
}

/// A polynomial as sums and products of Chebyshev polynomials.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Σ c_i·T_i.
    Sum(BTreeMap<usize, Complex>),
    /// quotient·T_giant + remainder.
    Split { giant: usize, quotient: Box<Node>, remainder: Box<Node> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub root: Node,
    /// Levels from the variable to the result.
    pub depth: usize,
    /// All computed T_i with i ≥ 2, ascending.
    pub powers: BTreeSet<usize>,
    /// Number of ciphertext products.
    pub products: usize,
}

impl Plan {
    /// The plan of minimal depth with the fewest products, over all numbers of baby steps.
    pub fn new(coefficients: &[Complex]) -> Self {
        // Depth counts trailing zero coefficients, so that levels do not depend on the values.
        let depth = super::polynomial_depth(coefficients.len().saturating_sub(1));
        let terms: BTreeMap<usize, Complex> =
            coefficients.iter().copied().enumerate().filter(|&(_, c)| c != Complex::default()).collect();
        let plans = (1..=depth).map(|log| Self::with_babies(terms.clone(), 1 << log, depth));
        // The first of equals has the fewest live powers.
        plans.min_by_key(|plan| plan.products).unwrap_or(Self {
            root: Node::Sum(terms),
            depth,
            powers: BTreeSet::new(),
            products: 0,
        })
    }

    fn with_babies(terms: BTreeMap<usize, Complex>, babies: usize, depth: usize) -> Self {
        // The last sum is followed by one more rescaling.
        let root = split(terms, babies, depth - 1);
        let mut wanted = BTreeSet::new();
        let mut products = 0;
        collect(&root, &mut wanted, &mut products);
        let mut powers = BTreeSet::new();
        for &index in &wanted {
            require(index, &mut powers);
        }
        products += powers.len();
        Self { root, depth, powers, products }
    }
}

/// The node of a sum available after `depth` rescalings: constant multiples of T_i if all are available by then, otherwise a division by
/// the largest T_(2^k).
fn split(terms: BTreeMap<usize, Complex>, babies: usize, depth: usize) -> Node {
    let degree = terms.keys().next_back().copied().unwrap_or(0);
    if degree < babies.max(2) && depth_of(degree) <= depth {
        return Node::Sum(terms);
    }
    let giant = 1 << degree.ilog2();
    if degree == giant && depth_of(degree) <= depth {
        // c·T_giant is a constant multiple, which fits in any sum.
        let mut rest = terms;
        let top = rest.remove(&giant).unwrap_or_default();
        return match split(rest, babies, depth) {
            Node::Sum(mut sum) => {
                sum.insert(giant, top);
                Node::Sum(sum)
            }
            Node::Split { giant: other, quotient, remainder } => {
                let remainder = Box::new(with_term(*remainder, giant, top));
                Node::Split { giant: other, quotient, remainder }
            }
        };
    }
    let (mut quotient, mut remainder) = (BTreeMap::new(), BTreeMap::new());
    for (index, value) in terms {
        if index < giant {
            add(&mut remainder, index, value);
        } else if index == giant {
            add(&mut quotient, 0, value);
        } else {
            // T_(g+j) = 2·T_g·T_j − T_(g−j).
            add(&mut quotient, index - giant, value + value);
            add(&mut remainder, 2 * giant - index, -value);
        }
    }
    Node::Split {
        giant,
        // The quotient is rescaled before its product.
        quotient: Box::new(split(quotient, babies, depth - 1)),
        remainder: Box::new(split(remainder, babies, depth)),
    }
}

fn with_term(node: Node, index: usize, value: Complex) -> Node {
    match node {
        Node::Sum(mut sum) => {
            add(&mut sum, index, value);
            Node::Sum(sum)
        }
        Node::Split { giant, quotient, remainder } => {
            Node::Split { giant, quotient, remainder: Box::new(with_term(*remainder, index, value)) }
        }
    }
}

fn add(terms: &mut BTreeMap<usize, Complex>, index: usize, value: Complex) {
    let sum = terms.entry(index).or_default();
    *sum = *sum + value;
}

fn collect(node: &Node, wanted: &mut BTreeSet<usize>, products: &mut usize) {
    match node {
        Node::Sum(terms) => wanted.extend(terms.keys()),
        Node::Split { giant, quotient, remainder } => {
            wanted.insert(*giant);
            *products += 1;
            collect(quotient, wanted, products);
            collect(remainder, wanted, products);
        }
    }
}

/// Indices of the two factors of T_index: T_(a+b) = 2·T_a·T_b − T_(a−b), with a the largest smaller power of two, so that even indices
/// need only even ones.
pub(super) fn factors(index: usize) -> (usize, usize) {
    let half = if index.is_power_of_two() { index / 2 } else { 1 << index.ilog2() };
    (half, index - half)
}

/// Collects all T_i that T_index depends on.
fn require(index: usize, powers: &mut BTreeSet<usize>) {
    if index < 2 || !powers.insert(index) {
        return;
    }
    let (a, b) = factors(index);
    require(a, powers);
    require(b, powers);
    require(a - b, powers);
}

#[cfg(test)]
mod tests {
    //! Does the plan evaluate to the polynomial, at minimal depth and with few products?

    use super::*;

    fn chebyshev(index: usize, x: f64) -> f64 {
        (index as f64 * x.acos()).cos()
    }

    fn evaluate(node: &Node, x: f64) -> Complex {
        match node {
            Node::Sum(terms) => {
                terms.iter().fold(Complex::default(), |sum, (&index, &c)| sum + c * Complex::from(chebyshev(index, x)))
            }
            Node::Split { giant, quotient, remainder } => {
                evaluate(quotient, x) * chebyshev(*giant, x).into() + evaluate(remainder, x)
            }
        }
    }

    /// Rescalings before the sum of a node is complete, given the depths of its T_i.
    fn ready(node: &Node) -> usize {
        match node {
            Node::Sum(terms) => terms.keys().map(|&index| depth_of(index)).max().unwrap_or(0),
            Node::Split { giant, quotient, remainder } => {
                (ready(quotient) + 1).max(depth_of(*giant)).max(ready(remainder))
            }
        }
    }

    #[test]
    fn plans_are_the_polynomial_at_minimal_depth() {
        for degree in 1..=80 {
            for step in [1, 2] {
                let coefficient = |i: usize| if i.is_multiple_of(step) { 1.0 / (i + 2) as f64 } else { 0.0 };
                let coefficients: Vec<Complex> = (0..=degree).map(|i| coefficient(i).into()).collect();
                let plan = Plan::new(&coefficients);
                for x in [-0.93, -0.2, 0.4, 0.999] {
                    let wanted: f64 = (0..=degree).map(|i| coefficient(i) * chebyshev(i, x)).sum();
                    assert!((evaluate(&plan.root, x).re - wanted).abs() < 1e-11, "degree {degree}");
                }
                assert_eq!(plan.depth, depth_of(degree + 1).max(1), "degree {degree}");
                assert_eq!(ready(&plan.root) + 1, plan.depth.max(ready(&plan.root) + 1), "degree {degree}");
                assert!(step == 1 || plan.powers.iter().all(|power| power.is_multiple_of(2)));
            }
        }
    }

    #[test]
    fn products_are_few() {
        let count = |degree: usize, step: usize| {
            let terms = (0..=degree).map(|i| if i.is_multiple_of(step) { 1.0 } else { 0.0 }.into());
            Plan::new(&terms.collect::<Vec<Complex>>()).products
        };
        println!("degree 30 even {}, 31 {}, 62 even {}, 63 {}", count(30, 2), count(31, 1), count(62, 2), count(63, 1));
        assert!(count(30, 2) <= 9 && count(62, 2) <= 14 && count(31, 1) <= 13 && count(63, 1) <= 19);
    }
}
