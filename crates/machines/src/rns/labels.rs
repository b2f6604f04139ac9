//! Labels: the meaning of each value and of each event in an RNS schedule.
//!
//! A value's index is the number of its first vector, and the `body_op` of an event's operation is the number of its step. For example,
//! a transform that reads vector 7 and writes vector 9 has a step that states direction and limb; vector 7 is a leaf, a limb of input 0.
//!
//! A mapper makes labels with its schedule; the audit and the replay read them without the mapper. Leaves, outputs and steps are claims:
//! the audit recomputes what each event computes from the values that it reads. All other values carry a number only.

use super::leaf::LeafSubpolynomial;
use super::step::Step;
use super::subpolynomials::Subpolynomials;
use polyfabric_sim::schedule::{OpRef, Value};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// The computations of events, with their moduli and constants.
    pub steps: Vec<Step>,
    /// Whether units execute composite operations as a whole, without values within them.
    pub composites: bool,
    /// Number of vectors of all values.
    pub vectors: usize,
    /// The number of vectors of each value that may have several, by its first.
    pub streams: HashMap<u32, u16>,
    /// Number of the first vector that may be a leaf.
    pub first_leaf: usize,
    /// From that vector on: the leaf of the program that it holds, if it is in off-chip memory from the start.
    pub leaves: Vec<Option<LeafSubpolynomial>>,
    /// For each output of the program, the values of its vectors: limb by limb.
    pub outputs: Vec<Vec<Value>>,
    /// How polynomials are divided into vectors.
    pub subpolynomials: Subpolynomials,
}

impl Labels {
    /// The step of an event.
    pub fn step(&self, op: OpRef) -> Option<&Step> {
        self.steps.get(op.body_op as usize)
    }

    /// Number of vectors of a value.
    pub fn count(&self, value: Value) -> usize {
        self.streams.get(&value.index).map_or(1, |&count| usize::from(count))
    }

    /// The vectors of a value, if there are such vectors.
    pub fn numbers(&self, value: Value) -> Option<Range<usize>> {
        let first = value.index as usize;
        let numbers = first..first.saturating_add(self.count(value));
        (numbers.end <= self.vectors && !numbers.is_empty()).then_some(numbers)
    }

    /// The leaf that a value holds.
    pub fn leaf(&self, value: Value) -> Option<LeafSubpolynomial> {
        *self.leaves.get((value.index as usize).checked_sub(self.first_leaf)?)?
    }

    /// The value of a vector of an output. Arguments: output, limb by position, vector.
    pub fn output(&self, output: usize, position: usize, subpolynomial: usize) -> Option<Value> {
        self.outputs.get(output)?.get(position * self.subpolynomials.count() + subpolynomial).copied()
    }

    /// The values of all outputs' vectors.
    pub fn results(&self) -> HashSet<Value> {
        self.outputs.iter().flatten().copied().collect()
    }
}
