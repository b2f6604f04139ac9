//! Errors of planning the levels of a program.

use crate::rns::homomorphic::NodeId;
use thiserror::Error;

/// The largest ring degree of any parameters.
const LARGEST_RING: usize = 1 << 16;

/// Why a program does not fit a chain of levels.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LevelError {
    #[error(
        "{place}{op} {node} uses {needed} level(s), but its operand {operand} is at level {level}, after the inputs' {start}; {}",
        more_levels(*short, *remedies)
    )]
    Exhausted {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        operand: NodeId,
        level: usize,
        needed: usize,
        start: usize,
        short: usize,
        remedies: [bool; 2],
    },
    #[error(
        "{place}{op} {node} requests level {wanted}, but only level {highest} is available; request a lower level, or bootstrap before"
    )]
    Raised {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        wanted: usize,
        highest: usize,
    },
    #[error(
        "the program {program:?} has vectors of {slots} slots, but ring degree {degree} gives {available} with {scheme}; {}",
        larger_ring(*.remedy, *.available)
    )]
    Slots {
        program: String,
        slots: usize,
        /// N.
        degree: usize,
        available: usize,
        scheme: String,
        remedy: usize,
    },
    #[error(
        "the program {program:?} is written for {found}, the parameters are for {expected}; use parameters of {found}"
    )]
    Scheme { program: String, found: String, expected: String },
    #[error("{place}bootstrap {node}: the parameters have no bootstrapping; choose a set that has")]
    NoBootstrapping {
        /// "file:line: ", or nothing.
        place: String,
        node: NodeId,
    },
}

/// How to get more levels. With bootstrapping parameters, even the levels after a bootstrap are too few.
fn more_levels(short: usize, [named, bootstrapping]: [bool; 2]) -> String {
    if named {
        return format!(
            "raise the level requested before it, by .at_level(l) or for an input, by at least {short}, and take parameters that have as many"
        );
    }
    let parameters = format!("take parameters with at least {short} more level(s)");
    if bootstrapping { parameters } else { format!("{parameters}, or with bootstrapping") }
}

/// How to get enough slots: a ring of degree `remedy`, if parameters of that degree exist, or several vectors.
fn larger_ring(remedy: usize, available: usize) -> String {
    match remedy <= LARGEST_RING {
        true => format!("use a ring degree of at least {remedy}, or split the vectors"),
        false => format!("split them into inputs of at most {available} numbers each"),
    }
}
