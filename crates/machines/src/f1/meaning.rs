//! The meaning of the values in F1's events, for the audit and the replay.

use super::expand::RESULT;
use super::machine::Geometry;
use super::translate::Translation;
use crate::rns::leaf::LeafSubpolynomial;
use crate::rns::meaning::Meaning;
use crate::rns::step::Step;
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_sim::schedule::{OpRef, Value};
use std::collections::HashSet;

pub struct Names<'a> {
    translation: &'a Translation,
    subpolynomials: Subpolynomials,
    outputs: HashSet<u32>,
}

impl<'a> Names<'a> {
    pub fn new(translation: &'a Translation, geometry: &Geometry) -> Self {
        let graph = &translation.graph;
        let outputs = graph.outputs().iter().map(|&output| graph.number(output) as u32).collect();
        Self { translation, subpolynomials: geometry.subpolynomials(), outputs }
    }
}

impl Meaning for Names<'_> {
    fn step(&self, op: OpRef) -> Option<Step> {
        let instruction = op.kernel_op as usize;
        (instruction < self.translation.graph.len()).then(|| Step::One(self.translation.graph.function(instruction)))
    }

    fn values(&self) -> usize {
        self.translation.graph.values()
    }

    fn number(&self, value: Value) -> Option<usize> {
        let number = value.index as usize;
        let result = number < self.translation.graph.len();
        (number < self.values() && result == (value.class == RESULT)).then_some(number)
    }

    fn leaf(&self, value: Value) -> Option<LeafSubpolynomial> {
        let leaf = (value.index as usize).checked_sub(self.translation.graph.len())?;
        self.translation.leaves.get(leaf).copied()
    }

    fn output(&self, output: usize, position: usize, subpolynomial: usize) -> Option<Value> {
        let (_, vectors) = self.translation.outputs.get(output)?.limbs.get(position)?;
        Some(super::expand::value(
            &self.translation.graph,
            self.translation.graph.number(*vectors.get(subpolynomial)?) as u32,
        ))
    }

    fn is_output(&self, value: Value) -> bool {
        self.outputs.contains(&value.index)
    }

    fn subpolynomials(&self) -> Subpolynomials {
        self.subpolynomials
    }
}
