//! Programs on integers, for CKKS: lookup tables on slots.
//!
//! [`convert`] turns a program on integers ([`tfhe`](crate::tfhe)) into one on slots ([`rns`](crate::rns)) that computes the same on a batch of
//! inputs. Every element of a vector becomes a vector of slots, and the batch lies in its *lanes*, the real and the imaginary parts of the
//! slots. Linear operations stay linear, selections and concatenations cost nothing, and tables, signs and gates become lookups
//! ([`Op::Lookup`](crate::rns::homomorphic::Op::Lookup)).
//!
//! The integers that linear operations connect are represented modulo one p, the smallest with which every lookup and every output is unique
//! (`modulus.rs`). Example: the sum s of two digits from 0 to 3 with the lookups s mod 4 and ⌊s/4⌋ has p = 7, a slot of 2/7 + i·5/7
//! holds the sums 2 and 5 of two inputs of the batch, and tables of 7 entries give their digits and carries.
//!
//! Real numbers are computed in the lanes too, and rounded to inputs of the program on integers (`reals.rs`).
//!
//! An output may be *summed* over the batch, by rotations of its slots. Fractions of its integers are then not reduced modulo p, so that the sum of
//! all lanes is exact: 1/2 + 1/2 + 0 + 1/2 are three ones modulo 2.

mod elements;
mod emit;
mod modulus;
mod reals;

pub use reals::{RealOp, Reals};

use crate::rns::homomorphic::{Program as SlotProgram, ProgramErrorCause as SlotErrorCause};
use crate::tfhe::homomorphic::{ElementType, Node, NodeId, Op, Program};
use crate::{Located, Location, MemoryBudget};
use elements::Elements;
use emit::Emitter;
use modulus::Moduli;
use std::collections::BTreeSet;
use thiserror::Error;

/// Largest modulus p of integers on slots: that of the longest tables of the built-in parameter sets.
pub const MOST_MODULUS: u32 = 256;

/// Largest batch: the lanes of the largest ring of the built-in sets with tables.
pub const MOST_BATCH: usize = 1 << 16;

/// The program on slots, and how its inputs and outputs hold those of the program on integers.
#[derive(Clone, Debug)]
pub struct OnSlots {
    pub program: SlotProgram,
    pub inputs: Vec<Terminal>,
    pub outputs: Vec<Terminal>,
    /// The inputs of real numbers and their units: a lane holds a number over it.
    pub real_inputs: Vec<(String, f64)>,
    pub real_outputs: Vec<(String, RealEnd)>,
}

/// How the slots hold an output of real numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RealEnd {
    /// As numbers over this unit.
    Unit(f64),
    /// Not at all: it is public.
    Public(f64),
}

/// An input or output of the program on integers.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    pub name: String,
    /// p. The values of the input's or output's type differ modulo p.
    pub modulus: u32,
    pub elements: Vec<Element>,
    /// Whether it is summed over the batch: every slot has the sums of the real and of the imaginary parts, and a public element is that of one
    /// input.
    pub summed: bool,
}

/// How a program is converted.
#[derive(Clone, Debug)]
pub struct Form {
    /// Number of inputs at once.
    pub batch: usize,
    /// Most entries of a table.
    pub entries: u32,
    /// The outputs that are summed over the batch.
    pub summed: BTreeSet<String>,
    /// The steps on real numbers.
    pub reals: Reals,
}

impl Form {
    /// Whether fractions of an output are those of the integers themselves.
    fn is_whole(&self, output: &str) -> bool {
        self.summed.contains(output) || self.reals.reads(output)
    }
}

/// One element of an input or output.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// In the vector of slots of this name.
    Vector(String),
    /// A public element of an output, the same for the whole batch.
    Public(i64),
}

/// Why a program on integers has no form on slots.
pub type LaneError = Located<LaneErrorCause>;

#[derive(Clone, Debug, PartialEq, Error)]
pub enum LaneErrorCause {
    #[error("tables of {entries} entries; give a number from 2 to {MOST_MODULUS}")]
    Entries { entries: u32 },
    #[error("a batch of {batch} inputs, but a ciphertext of CKKS holds at most {most}; run several batches")]
    TooManyInputs { batch: usize, most: usize },
    #[error("fractions of a turn have no lookup tables on slots; use TFHE")]
    Torus,
    #[error(
        "{op} of values of {element}, but tables on slots have at most {most} entries; narrow the range, or declare a width, as pf.UInt(8), which has \
         digits"
    )]
    TooManyValues { op: &'static str, element: ElementType, most: u32 },
    #[error("{name:?} is to be summed over the batch, but the program has no such output; name one of its outputs")]
    NotSummed { name: String },
    #[error(
        "values of {element}, as real numbers or summed over the batch: on slots they have at most {most} in magnitude; take their digits, or narrow \
         the range"
    )]
    TooLarge { element: ElementType, most: u32 },
    #[error(
        "slots have no wide tables by circuit bootstrapping; give tables=\"lookups\" (--tables lookups), or use TFHE"
    )]
    Wide,
    #[error("step {step} on real numbers: {problem}; build the program anew")]
    Real { step: usize, problem: &'static str },
    #[error(
        "sums over a batch of {batch} with rounded real numbers: slots without an input would count; take a batch of {least} or another power of two"
    )]
    PartlySummed { batch: usize, least: usize },
    #[error("{name}: all outputs are public; return at least one encrypted value")]
    AllPublic { name: String },
    #[error("{op}: {problem} in the conversion to slots; report this, and use TFHE")]
    Converted { op: &'static str, problem: &'static str },
    #[error(transparent)]
    Slots(#[from] SlotErrorCause),
}

use LaneErrorCause as Cause;

type Result<T> = std::result::Result<T, LaneError>;

fn refuse<T>(cause: LaneErrorCause, location: Option<&Location>) -> Result<T> {
    Err(LaneError { cause, location: location.cloned() })
}

/// The program on slots that computes `program` on a batch of inputs at once.
///
/// # Errors
/// [`LaneErrorCause`].
pub fn convert(program: &Program, form: &Form, memory: MemoryBudget) -> Result<OnSlots> {
    let Form { batch, entries, .. } = *form;
    form.reals.check(entries)?;
    if form.reals.rounds() && !form.summed.is_empty() && !batch.is_power_of_two() {
        return refuse(Cause::PartlySummed { batch, least: batch.next_power_of_two() }, None);
    }
    if let Some(node) = program.nodes().iter().find(|node| matches!(node.op, Op::LookupWide { .. })) {
        return refuse(Cause::Wide, node.location.as_ref());
    }
    if !(2..=MOST_MODULUS).contains(&entries) {
        return refuse(Cause::Entries { entries }, None);
    }
    if batch > MOST_BATCH {
        return refuse(Cause::TooManyInputs { batch, most: MOST_BATCH }, None);
    }
    let torus = program.nodes().iter().find(|node| matches!(node.element, ElementType::Torus { .. }));
    if let Some(node) = torus {
        return refuse(Cause::Torus, node.location.as_ref());
    }
    if let Some(name) = form.summed.iter().find(|name| program.outputs().all(|(_, output)| output != name.as_str())) {
        return refuse(Cause::NotSummed { name: name.clone() }, None);
    }
    let elements = Elements::new(program);
    let moduli = Moduli::new(program, &elements, form)?;
    Emitter::new(program, &elements, &moduli, form, memory)?.run()
}

/// The nodes of `program` with their indices.
fn nodes(program: &Program) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
    program.nodes().iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
}
