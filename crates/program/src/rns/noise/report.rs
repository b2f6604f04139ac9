//! The error of every node of a lowered program: its bound.

use crate::location::place;
use crate::rns::homomorphic::{NodeId, Program, op_name};
use crate::rns::levels::{Chain, Scale};
use crate::rns::lowering::Lowered;
use crate::rns::noise::NoiseModel;
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// One node's error.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeReport {
    /// The node.
    pub node: NodeId,
    /// Its operation.
    pub op: &'static str,
    /// "file:line: ", or nothing.
    pub place: String,
    /// Its level, of a product before the rescaling.
    pub level: usize,
    /// Its scale.
    pub scale: Scale,
    /// Bound of the error of every slot, but for a probability of 2^-40: in units of the message.
    pub bound: f64,
    /// The same, where no bootstrapping met a message with a few large coefficients, as a vector of equal slots is: vectors of
    /// data have coefficients that are alike.
    pub spread_bound: f64,
    /// Bound of the message in every slot, from the inputs' bounds: a sum of sums is over-estimated.
    pub magnitude: f64,
    /// Bits between the largest phase and half of the modulus: below 0 the message may wrap around.
    pub headroom: f64,
}

/// What a node did that it should not have.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoiseFailure {
    /// The bound is above that of the same node with another key switch.
    #[error(
        "{place}{op} {node}: errors up to 2^{bound:.1} at level {level} with scale {scale}, where 2^{limit:.1} are accepted, about as much as with the set's own key switch"
    )]
    Precision {
        /// "file:line: ", or nothing.
        place: String,
        /// The operation.
        op: &'static str,
        /// The node.
        node: NodeId,
        /// log2 of the bound.
        bound: f64,
        /// Its level.
        level: usize,
        /// Its scale.
        scale: String,
        /// log2 of the bound that is accepted.
        limit: f64,
    },
    /// No bit of an output is left, whatever the inputs within their bounds.
    #[error(
        "{place}{op} {node}: errors up to 2^{bound:.1} at level {level} with scale 2^{scale:.1}, and values up to 2^{magnitude:.1}: nothing would be left of output {output:?}; {}take a larger scale, or {remedy}",
        scaled_up(*.magnitude)
    )]
    NothingLeft {
        /// "file:line: ", or nothing.
        place: String,
        /// The operation.
        op: &'static str,
        /// The first node of larger errors than values.
        node: NodeId,
        /// log2 of the bound of its error.
        bound: f64,
        /// log2 of the bound of its values.
        magnitude: f64,
        /// Its level.
        level: usize,
        /// log2 of its scale.
        scale: f64,
        /// The output.
        output: Box<str>,
        /// What helps with this gadget.
        remedy: &'static str,
    },
}

/// The errors of a program's nodes, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseReport {
    /// Every node that an output depends on and that is not public.
    pub nodes: Vec<NodeReport>,
    special_primes: usize,
}

/// What helps values that are small, of which scales have bits to spare.
fn scaled_up(log2_magnitude: f64) -> &'static str {
    match log2_magnitude < -1.0 {
        true => "scale the numbers up to about 1 before they are encrypted, ",
        false => "",
    }
}

impl NoiseReport {
    /// Of `lowered`, which `program` became on `chain`.
    pub fn new(program: &Program, lowered: &Lowered, chain: &Chain, model: &NoiseModel) -> Self {
        let node = |(&id, state): (&NodeId, &crate::rns::lowering::NodeState)| {
            let node = program.node(id);
            // Decoding is a transform in f64 too.
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
                headroom: chain.log2_modulus(state.level) - 1.0 - (state.scale.real() * state.magnitude).log2(),
            }
        };
        let special_primes = lowered.choice.gadget.special.len();
        Self { nodes: lowered.nodes.iter().map(node).collect(), special_primes }
    }

    /// One node's.
    pub fn node(&self, id: NodeId) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.node == id)
    }

    /// Whether every bound is at most 2^`bits` times as large as `other`'s of the same node: the same program with another key switch.
    ///
    /// # Errors
    /// [`NoiseFailure::Precision`] of the first node whose bound is not.
    pub fn require_like(&self, other: &Self, bits: f64) -> Result<(), NoiseFailure> {
        let limits: BTreeMap<NodeId, f64> =
            other.nodes.iter().map(|node| (node.node, node.bound.log2() + bits)).collect();
        self.require_below(|node| limits.get(&node.node).copied().unwrap_or(f64::INFINITY))
    }

    /// Whether a bit is left of every output of `program`: its error is bounded below the bound of its values.
    ///
    /// # Errors
    /// [`NoiseFailure::NothingLeft`] of the first node with a larger bound of its error than of its values, if an output is such a node.
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

    /// What leaves more precision, beside a larger scale.
    fn remedy(&self) -> &'static str {
        match self.special_primes {
            0 => "special primes or digits smaller than a limb in the key switch",
            _ => "more primes a level",
        }
    }

    /// Whether every bound is at most 2^`limit`.
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

    /// The first node whose message may wrap around the modulus, by the bounds of the inputs.
    pub fn first_wrapping(&self) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.headroom < 0.0)
    }

    /// How many levels higher, at least, no message may wrap around, by the bounds of the inputs; none if none may where it is, or if the
    /// chain, on which the program was lowered, has not as many.
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
