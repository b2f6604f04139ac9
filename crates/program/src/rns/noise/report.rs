//! Noise bounds of every node of a lowered program.

use crate::location::place;
use crate::rns::homomorphic::{NodeId, Op, Program, op_name};
use crate::rns::levels::{Chain, Scale};
use crate::rns::lowering::Lowered;
use crate::rns::noise::NoiseModel;
use polyfabric_schemes::ckks::MAX_COEFFICIENT;
use polyfabric_schemes::joint::Smudging;
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// Noise of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeReport {
    pub node: NodeId,
    pub op: &'static str,
    /// "file:line: ", or an empty string.
    pub place: String,
    /// Level; for a product, before the rescaling.
    pub level: usize,
    pub scale: Scale,
    /// Bound of the error in every slot, in units of the message, exceeded with probability 2^-40.
    pub bound: f64,
    /// The same bound if no bootstrapping meets a message with a few dominant coefficients, such as a vector of equal slots. Typical data
    /// has coefficients of similar size.
    pub spread_bound: f64,
    /// Bound of the message in every slot, from the inputs' bounds; an over-estimate for sums.
    pub magnitude: f64,
    /// For a table of rounded numbers: the distance from a border, in steps, up to which a number may be rounded either way. Otherwise 0.
    pub border: f64,
    /// The noise that each of several owners adds to an output; `bound` contains that of all of them.
    pub smudging: Option<Smudging>,
    /// Bits between the largest phase and half the modulus; if negative, the message may wrap around.
    pub headroom: f64,
}

/// Why a program's noise is too large.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoiseFailure {
    #[error(
        "{place}{op} {node}: errors up to 2^{bound:.1} at level {level} with scale {scale}, more than the accepted 2^{limit:.1}, about the error with the set's own key switch"
    )]
    Precision {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        /// log2 of the bound.
        bound: f64,
        level: usize,
        scale: String,
        /// log2 of the bound that is accepted.
        limit: f64,
    },
    #[error(
        "{place}{op} {node}: errors up to 2^{bound:.1} at level {level} with scale 2^{scale:.1}, and values up to 2^{magnitude:.1}: output {output:?} would be only noise; {}take a larger scale, or {remedy}",
        scaled_up(*.magnitude)
    )]
    NothingLeft {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        /// log2 of the bound of its error.
        bound: f64,
        /// log2 of the bound of its values.
        magnitude: f64,
        level: usize,
        /// log2 of its scale.
        scale: f64,
        output: Box<str>,
        remedy: &'static str,
    },
    #[error(
        "{place}{op} {node}: values up to {magnitude:.3e} at scale 2^{scale:.1} are too large to encode: at most 2^{limit:.1}; declare smaller ones with .bounded(), or take a smaller scale"
    )]
    TooLarge {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        magnitude: f64,
        /// log2 of its scale.
        scale: f64,
        /// log2 of the largest value at this scale.
        limit: f64,
    },
}

/// Noise of a program's nodes, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseReport {
    /// Every live node that is not public.
    pub nodes: Vec<NodeReport>,
    special_primes: usize,
}

/// Advice for small values, which leave bits of the scale unused.
fn scaled_up(log2_magnitude: f64) -> &'static str {
    match log2_magnitude < -1.0 {
        true => "scale the numbers up to about 1 before they are encrypted, ",
        false => "",
    }
}

impl NoiseReport {
    /// The noise of `lowered`, the lowering of `program` on `chain`.
    pub fn new(program: &Program, lowered: &Lowered, chain: &Chain, model: &NoiseModel) -> Self {
        let node = |(&id, state): (&NodeId, &crate::rns::lowering::NodeState)| {
            let node = program.node(id);
            // Decoding is an f64 transform too.
            let decoding = model.transform() * state.magnitude;
            let spread_bound = state.deviation.hypot(decoding) * model.tail() + state.systematic;
            NodeReport {
                node: id,
                op: op_name(&node.op),
                place: place(node.location.as_ref()),
                level: state.level,
                scale: state.scale,
                bound: spread_bound + state.concentrated,
                spread_bound,
                magnitude: state.magnitude,
                border: state.border,
                smudging: None,
                headroom: chain.log2_modulus(state.level) - 1.0 - (state.scale.real() * state.magnitude).log2(),
            }
        };
        let special_primes = lowered.choice.gadget.special.len();
        Self { nodes: lowered.nodes.iter().map(node).collect(), special_primes }
    }

    /// Adds the smudging noise of several owners to the outputs, so that it hides the errors in `hidden` with `bits` bits: a report of the same
    /// program for exact encodings, as what the inputs' encoding adds is part of the result.
    pub fn smudge(&mut self, hidden: &Self, program: &Program, model: &NoiseModel, bits: f64) {
        for node in &mut self.nodes {
            let is_output = matches!(program.node(node.node).op, Op::Output { .. });
            let Some(hidden) = hidden.node(node.node).filter(|_| is_output) else { continue };
            // The norm of an error's coefficients is at most its largest value at a root.
            let log2_scale = node.scale.real().log2();
            let smudging = Smudging::hiding(hidden.bound.log2() + log2_scale, bits);
            let failure = model.failure_log2.unwrap_or(0.0);
            let noise = (smudging.bound_log2(model.parties, model.degree, failure) - log2_scale).exp2();
            node.spread_bound += noise;
            node.bound += noise;
            node.smudging = Some(smudging);
            // Only the noise of an output of zeros.
            let size = node.magnitude.max(f64::MIN_POSITIVE);
            node.headroom -= ((size + noise) / size).log2();
        }
    }

    pub fn node(&self, id: NodeId) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.node == id)
    }

    /// Checks that every bound is at most 2^`bits` times that in `other`, a report of the same program with another key switch.
    ///
    /// # Errors
    /// [`NoiseFailure::Precision`] at the first node with a larger bound.
    pub fn require_like(&self, other: &Self, bits: f64) -> Result<(), NoiseFailure> {
        let limits: BTreeMap<NodeId, f64> =
            other.nodes.iter().map(|node| (node.node, node.bound.log2() + bits)).collect();
        self.require_below(|node| limits.get(&node.node).copied().unwrap_or(f64::INFINITY))
    }

    /// Checks that every output of `program` has at least one bit left: the bound of its error is below that of its values.
    ///
    /// # Errors
    /// [`NoiseFailure::NothingLeft`] at the first node whose error bound exceeds that of its values, if an output does.
    pub fn require_something_left(&self, program: &Program) -> Result<(), NoiseFailure> {
        let lost = |node: &&NodeReport| node.magnitude > 0.0 && (node.bound.is_nan() || node.bound >= node.magnitude);
        let outputs: BTreeMap<NodeId, &str> = program.outputs().collect();
        let output = self.nodes.iter().filter(lost).find_map(|node| outputs.get(&node.node));
        let (Some(output), Some(node)) = (output, self.nodes.iter().find(lost)) else { return Ok(()) };
        Err(NoiseFailure::NothingLeft {
            place: node.place.clone(),
            op: node.op,
            node: node.node,
            bound: node.bound.log2(),
            magnitude: node.magnitude.log2(),
            level: node.level,
            scale: node.scale.real().log2(),
            output: (*output).into(),
            remedy: self.remedy(),
        })
    }

    /// Checks that the inputs can be encoded up to their bounds.
    ///
    /// # Errors
    /// [`NoiseFailure::TooLarge`] at the first that cannot.
    pub fn require_encodable(&self, program: &Program) -> Result<(), NoiseFailure> {
        let beyond = |node: &&NodeReport| {
            matches!(program.node(node.node).op, Op::Input { .. })
                && node.magnitude * node.scale.real() > MAX_COEFFICIENT
        };
        let Some(node) = self.nodes.iter().find(beyond) else { return Ok(()) };
        let scale = node.scale.real().log2();
        Err(NoiseFailure::TooLarge {
            place: node.place.clone(),
            op: node.op,
            node: node.node,
            magnitude: node.magnitude,
            scale,
            limit: MAX_COEFFICIENT.log2() - scale,
        })
    }

    /// How to get more precision, other than by a larger scale.
    fn remedy(&self) -> &'static str {
        match self.special_primes {
            0 => "special primes or digits smaller than a limb in the key switch",
            _ => "more primes a level",
        }
    }

    /// Checks that every bound is at most 2^`limit`.
    fn require_below(&self, limit: impl Fn(&NodeReport) -> f64) -> Result<(), NoiseFailure> {
        let beyond = |node: &&NodeReport| node.bound.is_nan() || node.bound > limit(node).exp2();
        let Some(node) = self.nodes.iter().find(beyond) else { return Ok(()) };
        Err(NoiseFailure::Precision {
            place: node.place.clone(),
            op: node.op,
            node: node.node,
            bound: node.bound.log2(),
            level: node.level,
            scale: node.scale.to_string(),
            limit: limit(node),
        })
    }

    /// The first node whose message may wrap around the modulus, given the inputs' bounds.
    pub fn first_wrapping(&self) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.headroom < 0.0)
    }

    /// The fewest additional levels with which no message can wrap around, given the inputs' bounds. `None` if none is needed or the
    /// chain has too few levels.
    pub fn levels_short(&self, chain: &Chain) -> Option<usize> {
        self.first_wrapping()?;
        let room = |node: &NodeReport, more: usize| {
            let level = node.level + more;
            level <= chain.top() && chain.log2_modulus(level) - chain.log2_modulus(node.level) + node.headroom >= 0.0
        };
        (1..=chain.top()).find(|&more| self.nodes.iter().all(|node| node.headroom >= 0.0 || room(node, more)))
    }
}

impl fmt::Display for NoiseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>6}  {:<16} {:>5}  {:>9}  {:>9}  {:>8}  place",
            "node", "operation", "level", "scale", "bound", "headroom"
        )?;
        for node in &self.nodes {
            writeln!(
                f,
                "{:>6}  {:<16} {:>5}  {:>9}  {:>9}  {:>8.1}  {}",
                node.node.to_string(),
                node.op,
                node.level,
                format!("2^{:.2}", node.scale.real().log2()),
                format!("2^{:.1}", node.bound.log2()),
                node.headroom,
                node.place.trim_end_matches(": "),
            )?;
        }
        Ok(())
    }
}
