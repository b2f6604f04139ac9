//! The audit: does a schedule compute its program? The [checker](polyfabric_sim::checker) asks when and where, the audit asks what.
//!
//! The checker shows that an event finds each value that it reads, at its place and after it was written. The audit shows that these values
//! form the kernel program. Each value that an event writes must follow, by the program's definition, from the values that it reads. The
//! unit must support the steps, and the event's work must match them. Each value of the program is computed exactly once, and each result
//! leaves the chip. Both together prove that the schedule computes the program.
//!
//! The mapper labels its values. A wrong label cannot make a wrong schedule pass, because the audit recomputes what each value is. The
//! machine file decides which steps each kind of operation may take.
//!
//! Loops stay loops. All rounds of a loop move coordinates by the same amounts, so what holds in two rounds holds in all of them. A
//! fingerprint shows that values cover every ciphertext and iteration exactly once. It is the sum of x^ciphertext · y^iteration modulo a
//! prime, which is a geometric series. Operands that the program lists are checked round by round, except in loops that only add to the
//! same sums.

mod fingerprint;
pub mod rns;
mod tfhe;

pub use tfhe::audit;

use polyfabric_sim::schedule::Resources;

/// Checks that a schedule has exactly the machine's `own` resources.
pub(crate) fn same_resources(own: &Resources, given: &Resources) -> Result<(), AuditError> {
    let parts = [
        ("units", own.units == given.units),
        ("channels", own.channels == given.channels),
        ("memories", own.memories == given.memories),
        ("rates and latencies", own.kinds == given.kinds),
        ("value classes", own.value_classes == given.value_classes),
        ("instructions", own.instructed == given.instructed),
    ];
    match parts.into_iter().find(|(_, same)| !same) {
        Some((what, _)) => Err(AuditError::Resources { what }),
        None => Ok(()),
    }
}

/// Why a schedule does not compute its program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    #[error("{event} writes {result}, for which {missing} is needed: it is neither read nor computed there")]
    Operand { event: String, result: String, missing: String },
    #[error("{event} takes {what} for something that lies off the chip from the start, and the program computes it")]
    Given { event: String, what: String },
    #[error("{event} writes {result}, which takes a step that `{kind}` does not do: {step}")]
    Step { event: String, result: String, kind: String, step: String },
    #[error(
        "{event} has {vectors} vectors, {turns} in turn: the unit is set up for another number, or some pass faster"
    )]
    Interleaved { event: String, vectors: usize, turns: u64 },
    #[error("{event} moves a value to a memory on the chip, which takes as long as `{kind}`")]
    Faster { event: String, kind: String },
    #[error("{event}: {value} is {needed} bytes, and {given} are moved or have a place")]
    Size { event: String, value: String, given: u64, needed: u64 },
    #[error("{event} is given {given} elements of work, and its results are {needed}")]
    Work { event: String, given: u64, needed: u64 },
    #[error("{what} is computed {times}, and the program asks for it exactly once")]
    Times { what: String, times: String },
    #[error("{what} is a result of the program and never stored")]
    Lost { what: String },
    #[error("what is stored as {what} is something else than the program computes")]
    Output { what: String },
    #[error("{what} is computed, and nothing reads it")]
    InVain { what: String },
    #[error("the program is not consistent: {cause}")]
    Program { cause: String },
    #[error("the schedule's {what} are not those that the machine file describes")]
    Resources { what: &'static str },
}
