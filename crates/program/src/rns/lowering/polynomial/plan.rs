//! Plans where to split a polynomial, before any computation.

use crate::rns::homomorphic::Complex;
use std::collections::{BTreeMap, BTreeSet};

/// ceil(log2 i), the depth of b_i as products of two earlier ones.
pub(super) fn depth_of(index: usize) -> usize {
    (usize::BITS - index.saturating_sub(1).leading_zeros()) as usize
}

/// The polynomials b_0 = 1, b_1 = x, b_2, … that a sum is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// b_i = T_i; b_(i+j) = 2·b_i·b_j − b_(i−j) for i ≥ j.
    Chebyshev,
    /// b_i = x^i; b_(i+j) = b_i·b_j.
    Powers,
}

/// A polynomial as sums and products of members of its family.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Σ c_i·b_i.
    Sum(BTreeMap<usize, Complex>),
    /// quotient·b_giant + remainder.
    Split { giant: usize, quotient: Box<Node>, remainder: Box<Node> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub root: Node,
    /// Levels from the variable to the result.
    pub depth: usize,
}

/// Plans of several polynomials of one value, which share the computed b_i.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Joint {
    pub family: Family,
    /// One plan a polynomial.
    pub plans: Vec<Plan>,
    /// All computed b_i with i ≥ 2, ascending.
    pub powers: BTreeSet<usize>,
    /// Number of ciphertext products.
    pub products: usize,
}

impl Joint {
    /// The plans of minimal depth with the fewest products together, over all numbers of baby steps. Each polynomial is given by its
    /// coefficients, constant first.
    pub fn new(polynomials: &[&[Complex]], family: Family) -> Self {
        let deepest = polynomials.iter().map(|coefficients| depth(coefficients)).max().unwrap_or(1);
        let joints = (1..=deepest).map(|log| Self::with_babies(polynomials, family, 1 << log));
        // The first of equals has the fewest live powers.
        joints.min_by_key(|joint| joint.products).expect("a depth is at least 1")
    }

    fn with_babies(polynomials: &[&[Complex]], family: Family, babies: usize) -> Self {
        let (mut wanted, mut products) = (BTreeSet::new(), 0);
        let plan = |coefficients: &&[Complex]| {
            let terms = coefficients.iter().copied().enumerate().filter(|&(_, c)| c != Complex::default()).collect();
            let depth = depth(coefficients);
            // The last sum is followed by one more rescaling.
            let root = split(terms, family, babies, depth - 1);
            collect(&root, &mut wanted, &mut products);
            Plan { root, depth }
        };
        let plans = polynomials.iter().map(plan).collect();
        let mut powers = BTreeSet::new();
        for &index in &wanted {
            require(index, family, &mut powers);
        }
        products += powers.len();
        Self { family, plans, powers, products }
    }
}

/// Depth counts trailing zero coefficients, so that levels do not depend on the values.
fn depth(coefficients: &[Complex]) -> usize {
    super::polynomial_depth(coefficients.len().saturating_sub(1))
}

/// The node of a sum available after `depth` rescalings: constant multiples of b_i if all are available by then, otherwise a division by
/// the largest b_(2^k).
fn split(terms: BTreeMap<usize, Complex>, family: Family, babies: usize, depth: usize) -> Node {
    let degree = terms.keys().next_back().copied().unwrap_or(0);
    if degree < babies.max(2) && depth_of(degree) <= depth {
        return Node::Sum(terms);
    }
    let giant = 1 << degree.ilog2();
    if degree == giant && depth_of(degree) <= depth {
        // c·b_giant is a constant multiple, which fits in any sum.
        let mut rest = terms;
        let top = rest.remove(&giant).unwrap_or_default();
        return match split(rest, family, babies, depth) {
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
            match family {
                Family::Chebyshev => {
                    add(&mut quotient, index - giant, value + value);
                    add(&mut remainder, 2 * giant - index, -value);
                }
                Family::Powers => add(&mut quotient, index - giant, value),
            }
        }
    }
    Node::Split {
        giant,
        // The quotient is rescaled before its product.
        quotient: Box::new(split(quotient, family, babies, depth - 1)),
        remainder: Box::new(split(remainder, family, babies, depth)),
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

/// Indices a ≥ b of the two factors of b_index, with a the largest smaller power of two, so that even indices need only even ones.
pub(super) fn factors(index: usize) -> (usize, usize) {
    let half = if index.is_power_of_two() { index / 2 } else { 1 << index.ilog2() };
    (half, index - half)
}

/// Collects all b_i that b_index depends on.
fn require(index: usize, family: Family, powers: &mut BTreeSet<usize>) {
    if index < 2 || !powers.insert(index) {
        return;
    }
    let (a, b) = factors(index);
    require(a, family, powers);
    require(b, family, powers);
    if family == Family::Chebyshev {
        require(a - b, family, powers);
    }
}

#[cfg(test)]
mod tests {
    //! Does the plan evaluate to the polynomial, at minimal depth and with few products?

    use super::*;

    fn member(family: Family, index: usize, x: f64) -> f64 {
        match family {
            Family::Chebyshev => (index as f64 * x.acos()).cos(),
            Family::Powers => x.powi(index as i32),
        }
    }

    fn evaluate(node: &Node, family: Family, x: f64) -> Complex {
        match node {
            Node::Sum(terms) => terms
                .iter()
                .fold(Complex::default(), |sum, (&index, &c)| sum + c * Complex::from(member(family, index, x))),
            Node::Split { giant, quotient, remainder } => {
                let giant = member(family, *giant, x);
                evaluate(quotient, family, x) * giant.into() + evaluate(remainder, family, x)
            }
        }
    }

    /// Rescalings before the sum of a node is complete, given the depths of its b_i.
    fn ready(node: &Node) -> usize {
        match node {
            Node::Sum(terms) => terms.keys().map(|&index| depth_of(index)).max().unwrap_or(0),
            Node::Split { giant, quotient, remainder } => {
                (ready(quotient) + 1).max(depth_of(*giant)).max(ready(remainder))
            }
        }
    }

    /// The coefficients c_i = 1/(i + 2) at multiples of `step`, up to `degree`.
    fn coefficients(degree: usize, step: usize) -> Vec<Complex> {
        let coefficient = |i: usize| if i.is_multiple_of(step) { 1.0 / (i + 2) as f64 } else { 0.0 };
        (0..=degree).map(|i| coefficient(i).into()).collect()
    }

    #[test]
    fn plans_are_the_polynomial_at_minimal_depth() {
        for family in [Family::Chebyshev, Family::Powers] {
            for degree in 1..=80 {
                for step in [1, 2] {
                    let coefficients = coefficients(degree, step);
                    let joint = Joint::new(&[&coefficients], family);
                    let plan = &joint.plans[0];
                    for x in [-0.93, -0.2, 0.4, 0.999] {
                        let wanted: f64 = (0..=degree).map(|i| coefficients[i].re * member(family, i, x)).sum();
                        assert!((evaluate(&plan.root, family, x).re - wanted).abs() < 1e-11, "degree {degree}");
                    }
                    assert_eq!(plan.depth, depth_of(degree + 1).max(1), "degree {degree}");
                    assert_eq!(ready(&plan.root) + 1, plan.depth.max(ready(&plan.root) + 1), "degree {degree}");
                    assert!(step == 1 || joint.powers.iter().all(|power| power.is_multiple_of(2)));
                }
            }
        }
    }

    #[test]
    fn products_are_few() {
        let count = |degree: usize, step: usize, family| Joint::new(&[&coefficients(degree, step)], family).products;
        let chebyshev = |degree, step| count(degree, step, Family::Chebyshev);
        assert!(chebyshev(30, 2) <= 9 && chebyshev(62, 2) <= 14 && chebyshev(31, 1) <= 13 && chebyshev(63, 1) <= 19);
        assert!(count(15, 1, Family::Powers) <= 8 && count(255, 1, Family::Powers) <= 36);
    }

    #[test]
    fn polynomials_of_one_value_share_its_powers() {
        let one = coefficients(15, 1);
        let products = |count: usize| Joint::new(&vec![&one[..]; count], Family::Powers).products;
        // With the powers of one polynomial a second one takes four products; with more powers each of many takes three.
        assert_eq!(products(2) - products(1), 4);
        assert_eq!(products(100) - products(99), 3);
    }
}
