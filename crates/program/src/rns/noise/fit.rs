//! Checks before encryption that given inputs keep all values within the noise analysis' assumptions.

use crate::rns::folding::Folded;
use crate::rns::homomorphic::{Basis, ClearError, Complex, NodeId, Op, Program, Table, Values, evaluate_each};
use crate::rns::levels::Chain;
use crate::rns::noise::{NodeReport, NoiseReport};
use polyfabric_schemes::ckks::encoding::SpecialFft;
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;

/// Tolerated excess beyond an interval's end, as a fraction of its width, and distance from an integer, for rounding.
const SLACK: f64 = 1.0 / (1 << 20) as f64;

/// Why a program does not accept given inputs.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FitFailure {
    #[error(
        "{place}polynomial {node}: it approximates its function from {lo} to {hi}, but with these inputs slot {slot} of its operand is {value}; widen the interval, or scale the inputs"
    )]
    Interval {
        /// "file:line: ", or nothing.
        place: String,
        node: NodeId,
        lo: f64,
        hi: f64,
        slot: usize,
        value: String,
    },
    #[error(
        "{place}lookup {node}: with these inputs slot {slot} of its operand is {value}, which is {distance:.1e} of a step from an integer over \
         {modulus}; give fractions v/{modulus}"
    )]
    NoInteger {
        /// "file:line: ", or nothing.
        place: String,
        node: NodeId,
        slot: usize,
        value: f64,
        /// Distance from the nearest multiple of 1/`modulus`, as a part of it.
        distance: f64,
        modulus: u32,
    },
    #[error(
        "{place}{op} {node}: with these inputs values up to {magnitude:.3e} have coefficients up to 2^{coefficient:.1} at scale 2^{scale:.1}, but half of the modulus at level {level} is 2^{half:.1}: they would wrap around; scale the inputs down, or keep it at a higher level with .at_level(l)"
    )]
    Wraps {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        magnitude: f64,
        /// log2 of its largest coefficient.
        coefficient: f64,
        /// log2 of its scale.
        scale: f64,
        level: usize,
        /// log2 of half of the modulus.
        half: f64,
    },
    #[error(transparent)]
    Clear(#[from] ClearError),
}

/// The interval on which a polynomial approximates its function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The vector that must lie in it: the polynomial's operand, or the vector that was mapped to it.
    pub operand: NodeId,
    pub lo: f64,
    pub hi: f64,
    /// Number of slots, from the first, that must lie in it.
    pub slots: usize,
}

impl Interval {
    /// Fails at the first slot outside the interval of polynomial `report`.
    fn check(&self, report: &NodeReport, values: &[Complex]) -> Result<(), FitFailure> {
        let (lo, hi, slack) = (self.lo, self.hi, (self.hi - self.lo) * SLACK);
        let inside = |value: &Complex| (lo - slack..=hi + slack).contains(&value.re) && value.im.abs() <= slack;
        let Some((slot, value)) = values.iter().take(self.slots).enumerate().find(|(_, value)| !inside(value)) else {
            return Ok(());
        };
        let value = if value.im == 0.0 { value.re.to_string() } else { format!("{} {:+}i", value.re, value.im) };
        Err(FitFailure::Interval { place: report.place.clone(), node: report.node, lo, hi, slot, value })
    }
}

/// Checks intervals of polynomials whose nodes folding removed, on the program as written. Nodes in `mapped` belong to the `written`
/// program, nodes in `report` to the folded one. `read` receives every node's values.
///
/// # Errors
/// [`FitFailure`] at the first polynomial whose operand leaves its interval.
pub fn expect_intervals(
    (written, folded): (&Program, &Folded),
    report: &NoiseReport,
    inputs: &HashMap<String, Values>,
    mapped: &BTreeMap<NodeId, Interval>,
    mut read: impl FnMut(NodeId, &Values),
) -> Result<(), FitFailure> {
    let mut failures = BTreeMap::new();
    let evaluated = evaluate_each(written, inputs, |id, values| {
        read(id, &values);
        let Values::Complex(values) = &values else { return };
        for (polynomial, interval) in mapped.iter().filter(|(_, interval)| interval.operand == id) {
            let executed = report.nodes.iter().find(|node| folded.node(*polynomial) == Some(node.node));
            if let Some(Err(failure)) = executed.map(|node| interval.check(node, values)) {
                failures.insert(*polynomial, failure);
            }
        }
    });
    // A message that does not fit may also be too large for f64 further on.
    failures.into_values().next().map_or_else(|| Ok(evaluated?), Err)
}

/// Evaluates the program in the clear and checks that operands of polynomials stay in their intervals, and that coefficients stay
/// within the modulus. `mapped` has the intervals of polynomials whose operands were mapped before. `read` receives every node's
/// values.
///
/// # Errors
/// [`FitFailure`] at the first node whose values do not fit.
pub fn expect_inputs(
    program: &Program,
    chain: &Chain,
    report: &NoiseReport,
    inputs: &HashMap<String, Values>,
    mapped: &BTreeMap<NodeId, Interval>,
    mut read: impl FnMut(NodeId, &Values),
) -> Result<(), FitFailure> {
    let mut approximations: HashMap<NodeId, Vec<(&NodeReport, Interval)>> = HashMap::new();
    for node in &report.nodes {
        let written = program.node(node.node);
        if let Op::Polynomial { polynomial } = &written.op
            && let Basis::Chebyshev { lo, hi } = polynomial.basis
        {
            let own = Interval { operand: written.operands[0], lo, hi, slots: program.slots() };
            let interval = mapped.get(&node.node).copied().unwrap_or(own);
            approximations.entry(interval.operand).or_default().push((node, interval));
        }
    }
    let mut lookups: HashMap<NodeId, Vec<(&NodeReport, u32)>> = HashMap::new();
    for node in &report.nodes {
        let written = program.node(node.node);
        if let Op::Lookup { table } = &written.op
            && table.stages() == 0
        {
            lookups.entry(written.operands[0]).or_default().push((node, table.len() as u32));
        }
    }
    let reports: HashMap<NodeId, &NodeReport> = report.nodes.iter().map(|node| (node.node, node)).collect();
    let transform = SpecialFft::new(program.slots());
    let mut failures = BTreeMap::new();
    let evaluated = evaluate_each(program, inputs, |id, values| {
        read(id, &values);
        let Values::Complex(values) = values else { return };
        for (report, interval) in approximations.get(&id).into_iter().flatten() {
            if let Err(failure) = interval.check(report, &values) {
                failures.insert(report.node, failure);
            }
        }
        for &(report, modulus) in lookups.get(&id).into_iter().flatten() {
            if let Err(failure) = expect_integers(report, &values, modulus) {
                failures.insert(report.node, failure);
            }
        }
        if let Some(node) = reports.get(&id)
            && let Err(failure) = expect_coefficients_fit(node, &values, chain, &transform)
        {
            failures.entry(id).or_insert(failure);
        }
    });
    // A message that does not fit may also be too large for f64 further on.
    failures.into_values().next().map_or_else(|| Ok(evaluated?), Err)
}

/// Checks that both parts of all slots are fractions of integers over `modulus`.
fn expect_integers(report: &NodeReport, values: &[Complex], modulus: u32) -> Result<(), FitFailure> {
    for (slot, slot_value) in values.iter().enumerate() {
        for value in [slot_value.re, slot_value.im] {
            let (_, distance) = Table::nearest(value, modulus);
            if distance.is_nan() || distance > SLACK {
                let place = report.place.clone();
                return Err(FitFailure::NoInteger { place, node: report.node, slot, value, distance, modulus });
            }
        }
    }
    Ok(())
}

/// Checks that the coefficients of `values` fit the modulus at a node.
fn expect_coefficients_fit(
    node: &NodeReport,
    values: &[Complex],
    chain: &Chain,
    transform: &SpecialFft,
) -> Result<(), FitFailure> {
    let (scale, half) = (node.scale.real().log2(), chain.log2_modulus(node.level) - 1.0);
    let fits = |largest: f64| largest.log2() + scale <= half;
    let finite = values.iter().all(|value| value.re.is_finite() && value.im.is_finite());
    let magnitude = if finite { values.iter().map(|value| value.abs()).fold(0.0, f64::max) } else { f64::INFINITY };
    // Coefficients are at most as large as the largest slot, and often much smaller.
    if fits(magnitude) {
        return Ok(());
    }
    let mut coefficients = values.to_vec();
    transform.inverse(&mut coefficients);
    let largest = coefficients.iter().map(|u| u.re.abs().max(u.im.abs())).fold(0.0, f64::max);
    if finite && fits(largest) {
        return Ok(());
    }
    Err(FitFailure::Wraps {
        place: node.place.clone(),
        op: node.op,
        node: node.node,
        magnitude,
        coefficient: if finite { largest.log2() + scale } else { f64::INFINITY },
        scale,
        level: node.level,
        half,
    })
}
