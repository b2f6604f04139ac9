//! The meaning of an RNS schedule's values. The mapper states it, and the audit recomputes it.

use super::leaf::LeafSubpolynomial;
use super::step::Step;
use super::subpolynomials::Subpolynomials;
use polyfabric_sim::schedule::{OpRef, Value};

/// The meaning of a mapper's values.
pub trait Meaning {
    /// The step of an event, with its moduli and constants.
    fn step(&self, op: OpRef) -> Option<Step>;

    /// Whether units execute composite operations as a whole, without values within them.
    fn composites(&self) -> bool {
        false
    }

    /// Number of vectors of all values.
    fn values(&self) -> usize;

    /// Index of a value's first vector among them.
    fn number(&self, value: Value) -> Option<usize>;

    /// Number of vectors of a value; their indices are consecutive.
    fn vectors(&self, _value: Value) -> usize {
        1
    }

    /// The leaf of the program that a value holds, if it is in off-chip memory from the start.
    fn leaf(&self, value: Value) -> Option<LeafSubpolynomial>;

    /// The value of a vector of an output of the program. Arguments: output, limb by position, vector.
    fn output(&self, output: usize, position: usize, subpolynomial: usize) -> Option<Value>;

    /// Whether a value is a vector of an output.
    fn is_output(&self, value: Value) -> bool;

    /// How polynomials are divided into vectors.
    fn subpolynomials(&self) -> Subpolynomials;
}
