//! The audit: does a schedule compute its program? The [checker](crate::engine::checker) asks when and where, the audit asks what.
//!
//! The checker shows that an event finds each value that it reads, at its place and after it was written. The audit shows that the values add up to
//! the kernel program: each value that an event writes follows, by the program's definition, from the values that it reads, by steps of its
//! unit and in the work that the event is given. Each value of the program is computed exactly once, and each result leaves the chip.
//! Both together prove that the schedule computes the program.
//!
//! The mapper labels its values. A wrong label cannot make a wrong schedule pass, because the audit recomputes what each value is. The machine file
//! decides which steps each kind of operation may take.
//!
//! Loops stay loops. All rounds of a loop move coordinates by the same amounts, so what holds in two rounds holds in all of them. That values
//! cover every ciphertext and iteration exactly once follows from a fingerprint, the sum of x^ciphertext · y^iteration modulo a
//! prime, which is a geometric series. Operands that the program lists are looked up round by round, except in loops that only add to
//! the same sums.

mod fingerprint;
pub mod rns;
mod tfhe;

pub use tfhe::audit;

use crate::engine::schedule::Resources;

/// Checks that a schedule has exactly the machine's `own` resources.
///
/// # Errors
/// [`AuditError::Resources`].
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
    /// A value that does not follow from what the event reads.
    #[error("{event} writes {result}, for which {missing} is needed: it is neither read nor computed there")]
    Operand { event: String, result: String, missing: String },
    /// Something that the program computes, as if it had been there from the start.
    #[error("{event} takes {what} for something that lies off the chip from the start, and the program computes it")]
    Given { event: String, what: String },
    /// A step that the unit does not do.
    #[error("{event} writes {result}, which takes a step that `{kind}` does not do: {step}")]
    Step { event: String, result: String, kind: String, step: String },
    /// An access of fewer bytes than its value has, or a place.
    #[error("{event}: {value} is {needed} bytes, and {given} are moved or have a place")]
    Size { event: String, value: String, given: u64, needed: u64 },
    /// Less work, or more, than its results are.
    #[error("{event} is given {given} elements of work, and its results are {needed}")]
    Work { event: String, given: u64, needed: u64 },
    /// Something of the program that is done never, or more than once.
    #[error("{what} is computed {times}, and the program asks for it exactly once")]
    Times { what: String, times: String },
    /// A result of the program that stays on the chip.
    #[error("{what} is a result of the program and never stored")]
    Lost { what: String },
    /// A result of the program that is stored, and is something else.
    #[error("what is stored as {what} is something else than the program computes")]
    Output { what: String },
    /// Something that is computed and never read.
    #[error("{what} is computed, and nothing reads it")]
    InVain { what: String },
    /// The program itself has no meaning.
    #[error("the program is not consistent: {cause}")]
    Program { cause: String },
    /// Rounds that are not those of the program.
    #[error("the rounds of the schedule are not those of the program: {cause}")]
    Rounds { cause: String },
    /// Units, channels or memories that are not those of the machine file.
    #[error("the schedule's {what} are not those that the machine file describes")]
    Resources { what: &'static str },
}
