//! Finds the values that instructions lift from several limbs to one. Phase 1 groups such work by source, not
//! by limb.
//!
//! A digit of three limbs is lifted to each limb by three products, their sum and a transform; dropped limbs of
//! a division likewise. A cluster that does this for all limbs in sequence keeps the digit's vectors in its
//! registers and sends one vector per limb to the scratchpad. A cluster that processes one limb with all digits
//! receives every vector of every digit again for each limb, over a port that hints need.

use super::graph::{Function, Graph, LeafClass, Vector};
use std::collections::BTreeSet;
use std::ops::Range;

/// The source of an instruction that lifts nothing, or from one limb only.
pub(super) const NONE: u32 = u32::MAX;

/// The limbs from which an instruction lifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Nowhere,
    /// One limb, with several vectors in a large ring.
    One(u16),
    Several,
}

impl Origin {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::Nowhere) | (Self::Nowhere, one) => one,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Several,
        }
    }
}

/// Whether an instruction reads a hint vector.
pub(super) fn reads_hint(graph: &Graph, index: usize) -> bool {
    let hint = |operand: &Vector| operand.as_leaf().is_some_and(|leaf| graph.leaves()[leaf] == LeafClass::Hint);
    graph.operands(index).iter().any(hint)
}

/// For each instruction, its source: the first vector of the two or more other limbs that it lifts to its limb,
/// alone or with other instructions of the same operation. Instructions that process the sum further in that
/// limb, without a hint, have the same source. `operation` is that of each instruction.
pub(super) fn sources(graph: &Graph, operation: &[u32]) -> Vec<u32> {
    let mut sources = vec![NONE; graph.len()];
    let mut from = vec![Origin::Nowhere; graph.len()];
    for index in 0..graph.len() {
        let function = graph.function(index);
        if matches!(function, Function::InverseNtt { .. }) || reads_hint(graph, index) {
            continue;
        }
        let makers = graph.distinct_operands(index).iter().filter_map(|operand| operand.as_result());
        for maker in makers.filter(|&maker| operation[maker] == operation[index]) {
            let limb = graph.function(maker).limb();
            let (source, lifted) = match limb == function.limb() {
                true => (sources[maker], from[maker]),
                false => (maker as u32, Origin::One(limb)),
            };
            sources[index] = sources[index].min(source);
            from[index] = from[index].and(lifted);
        }
    }
    // The parts of a sum have the sum's source.
    for index in (0..graph.len()).rev() {
        if from[index] == Origin::Nowhere {
            continue;
        }
        let follows = |user: usize| {
            operation[user] == operation[index]
                && graph.function(user).limb() == graph.function(index).limb()
                && from[user] != Origin::Nowhere
        };
        let users = graph.users(index).iter().map(|&user| user as usize).filter(|&user| follows(user));
        if let Some(user) = users.min_by_key(|&user| sources[user]) {
            (sources[index], from[index]) = (sources[user], from[user]);
        }
    }
    for (source, _) in sources.iter_mut().zip(&from).filter(|&(_, &from)| from != Origin::Several) {
        *source = NONE;
    }
    sources
}

/// Number of digits with several limbs that the `instructions` multiply by a hint.
pub(super) fn digits(graph: &Graph, sources: &[u32], instructions: Range<u32>) -> usize {
    let products = instructions.map(|index| index as usize).filter(|&index| reads_hint(graph, index));
    let lifted = products.flat_map(|index| graph.operands(index)).filter_map(|operand| operand.as_result());
    lifted.map(|result| sources[result]).filter(|&source| source != NONE).collect::<BTreeSet<u32>>().len()
}

#[cfg(test)]
mod tests {
    //! Are lifts of digits with several limbs distinguished from other work in a limb?
    use super::super::graph::GraphBuilder;
    use super::*;

    #[test]
    fn digits_of_several_limbs_are_sources() {
        let mut builder = GraphBuilder::default();
        let leaves: Vec<Vector> = (0..3).map(|_| builder.leaf(LeafClass::Input)).collect();
        let hint = builder.leaf(LeafClass::Hint);
        let digit: Vec<Vector> = (0..3)
            .map(|limb| builder.push(Function::InverseNtt { limb, subpolynomial: 0 }, &[leaves[usize::from(limb)]]))
            .collect();
        let limb = 3;
        let product = |builder: &mut GraphBuilder, digit| {
            builder.push(Function::MultiplyConstant { limb, constant: 5 }, &[digit])
        };
        let terms: Vec<Vector> = digit.iter().map(|&digit| product(&mut builder, digit)).collect();
        let sum = builder.push(Function::Add { limb }, &[terms[0], terms[1]]);
        let sum = builder.push(Function::Add { limb }, &[sum, terms[2]]);
        let lifted = builder.push(Function::ForwardNtt { limb, subpolynomial: 0 }, &[sum]);
        let single = builder.push(Function::ForwardNtt { limb, subpolynomial: 0 }, &[digit[1]]);
        let products = [lifted, single].map(|vector| builder.push(Function::Multiply { limb }, &[vector, hint]));
        let result = builder.push(Function::Add { limb }, &products);
        builder.output(result);
        let graph = builder.finish();
        let found = sources(&graph, &vec![0; graph.len()]);
        let first = digit[0].as_result().unwrap() as u32;
        let mut expected = vec![NONE; 3];
        expected.extend([first; 6]);
        expected.extend([NONE; 4]);
        assert_eq!(found, expected);
        assert_eq!(digits(&graph, &found, 0..graph.len() as u32), 1);
        // Nothing is known of another operation's vectors.
        let apart: Vec<u32> = (0..graph.len() as u32).collect();
        assert!(sources(&graph, &apart).iter().all(|&source| source == NONE));
    }

    #[test]
    fn several_vectors_of_one_limb_are_not_a_digit_of_several() {
        let mut builder = GraphBuilder::default();
        let halves = [0, 1].map(|subpolynomial| {
            let leaf = builder.leaf(LeafClass::Input);
            builder.push(Function::InverseNtt { limb: 0, subpolynomial }, &[leaf])
        });
        let hint = builder.leaf(LeafClass::Hint);
        let sum = builder.push(Function::Add { limb: 1 }, &halves);
        let lifted = builder.push(Function::ForwardNtt { limb: 1, subpolynomial: 0 }, &[sum]);
        let product = builder.push(Function::Multiply { limb: 1 }, &[lifted, hint]);
        builder.output(product);
        let graph = builder.finish();
        let found = sources(&graph, &vec![0; graph.len()]);
        assert!(found.iter().all(|&source| source == NONE));
        assert_eq!(digits(&graph, &found, 0..graph.len() as u32), 0);
    }
}
