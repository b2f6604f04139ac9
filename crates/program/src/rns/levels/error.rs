//! What can be wrong with a program for a chain of levels: told before anything runs.

use crate::rns::homomorphic::NodeId;
use thiserror::Error;

/// The largest ring degree that parameters are made for.
const LARGEST_RING: usize = 1 << 16;

/// Why a program does not fit a chain of levels.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LevelError {
    /// An operation needs more levels than its operands have.
    #[error(
        "{place}{op} {node} uses {needed} level(s), but its operand {operand} is at level {level}, after the inputs' {start}; {}",
        more_levels(*short, *remedies)
    )]
    Exhausted {
        /// "file:line: ", or nothing.
        place: String,
        /// The operation.
        op: &'static str,
        /// The node.
        node: NodeId,
        /// The operand that is too low.
        operand: NodeId,
        /// Its level.
        level: usize,
        /// Levels that the operation uses.
        needed: usize,
        /// The highest level of the program's inputs.
        start: usize,
        /// How many levels the program lacks in all.
        short: usize,
        /// Whether levels that the author names are too low, and whether the parameters have bootstrapping.
        remedies: [bool; 2],
    },
    /// A level is asked for that the operand has not.
    #[error(
        "{place}{op} {node} asks for level {wanted}, but at most level {highest} is there; ask for a lower level, or bootstrap before"
    )]
    Raised {
        /// "file:line: ", or nothing.
        place: String,
        /// The operation.
        op: &'static str,
        /// The node.
        node: NodeId,
        /// The level asked for.
        wanted: usize,
        /// The highest that is possible.
        highest: usize,
    },
    /// More slots than the ring has.
    #[error(
        "the program {program:?} has vectors of {slots} slots, but ring degree {degree} gives {available} with {scheme}; {}",
        larger_ring(*.remedy, *.available)
    )]
    Slots {
        /// Name of the program.
        program: String,
        /// Its slots.
        slots: usize,
        /// N.
        degree: usize,
        /// Slots that the ring gives.
        available: usize,
        /// The scheme.
        scheme: String,
        /// A ring degree that suffices.
        remedy: usize,
    },
    /// The program and the parameters are of two schemes.
    #[error(
        "the program {program:?} is written for {found}, the parameters are for {expected}; use parameters of {found}"
    )]
    Scheme {
        /// Name of the program.
        program: String,
        /// The program's scheme.
        found: String,
        /// The parameters'.
        expected: String,
    },
    /// The parameters have no bootstrapping.
    #[error("{place}bootstrap {node}: the parameters have no bootstrapping; choose a set that has")]
    NoBootstrapping {
        /// "file:line: ", or nothing.
        place: String,
        /// The node.
        node: NodeId,
    },
}

/// What gives an operand, and what follows it, the levels that they are short of. Where parameters have bootstrapping, no bootstrap leaves as many.
fn more_levels(short: usize, [named, bootstrapping]: [bool; 2]) -> String {
    if named {
        return format!(
            "raise the level that is named before it, by .at_level(l) or of an input, by at least {short}, in parameters that have as many"
        );
    }
    let parameters = format!("take parameters with at least {short} more level(s)");
    if bootstrapping { parameters } else { format!("{parameters}, or with bootstrapping") }
}

/// What gives the slots: a ring of degree `remedy`, if there are parameters of one, or several vectors.
fn larger_ring(remedy: usize, available: usize) -> String {
    match remedy <= LARGEST_RING {
        true => format!("use a ring degree of at least {remedy}, or split the vectors"),
        false => format!("split them into inputs of at most {available} numbers each"),
    }
}
