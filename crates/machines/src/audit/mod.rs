//! The audit: does a schedule compute the program? The judge of *what* is done, as the [checker](crate::engine::checker) is of when.
//!
//! The checker shows that every event reads what it names, where it lies, after it was written. The audit shows that the names add up to
//! the kernel program: every value that an event writes follows, by the program's own definition, from the values that it reads, by a step
//! that its unit can do and in the work that it is given; every value of the program is computed, of polynomials on the torus
//! exactly once and of residues under no name twice; every result leaves the chip. Both together mean that the schedule computes the program, whatever the mapper had in mind.
//!
//! The mapper says what each of its values stands for, and that cannot make a wrong schedule pass: the audit recomputes it. Which steps each
//! kind of operation may take is the machine file's.
//!
//! Loops stay loops. An event in a loop names its values by ciphertext and iteration numbers that every round moves on by the same
//! amounts, so what holds in a loop's first two rounds holds in all of them; and that its values cover every ciphertext and iteration
//! exactly once is seen from a fingerprint, the sum of x^ciphertext · y^iteration modulo a prime, which is a geometric series. Operands that
//! the program lists are looked up round by round, but for rounds that move iterations alone: those go on with the same sums.

mod fingerprint;
pub mod residue;
mod torus;

pub use torus::audit;

use crate::engine::schedule::Resources;

/// Holds that a schedule has the machine's `own` resources and no others.
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
    Operand {
        /// The event.
        event: String,
        /// What it writes.
        result: String,
        /// What it does not read.
        missing: String,
    },
    /// Something that the program computes, as if it had been there from the start.
    #[error("{event} takes {what} for something that lies off the chip from the start, and the program computes it")]
    Given {
        /// The event.
        event: String,
        /// What it takes for that.
        what: String,
    },
    /// A step that the unit does not do.
    #[error("{event} writes {result}, which takes a step that `{kind}` does not do: {step}")]
    Step {
        /// The event.
        event: String,
        /// What it writes.
        result: String,
        /// The kind of operation.
        kind: String,
        /// The step.
        step: String,
    },
    /// An access of fewer bytes than its value has, or a place.
    #[error("{event}: {value} is {needed} bytes, and {given} are moved or have a place")]
    Size {
        /// The event.
        event: String,
        /// The value.
        value: String,
        /// Bytes that are moved, or of the places.
        given: u64,
        /// Bytes of the value.
        needed: u64,
    },
    /// Less work, or more, than its results are.
    #[error("{event} is given {given} elements of work, and its results are {needed}")]
    Work {
        /// The event.
        event: String,
        /// Work of the event.
        given: u64,
        /// Work of its results.
        needed: u64,
    },
    /// Something of the program that is done never, or more than once.
    #[error("{what} is computed {times}, and the program asks for it exactly once")]
    Times {
        /// What.
        what: String,
        /// How often.
        times: String,
    },
    /// A result of the program that stays on the chip.
    #[error("{what} is a result of the program and never stored")]
    Lost {
        /// What.
        what: String,
    },
    /// A result of the program that is stored, and is something else.
    #[error("what is stored as {what} is something else than the program computes")]
    Output {
        /// What.
        what: String,
    },
    /// Something that is computed and never read.
    #[error("{what} is computed, and nothing reads it")]
    InVain {
        /// What.
        what: String,
    },
    /// The program itself has no meaning.
    #[error("the program is not consistent: {cause}")]
    Program {
        /// Why.
        cause: String,
    },
    /// Rounds that are not those of the program.
    #[error("the rounds of the schedule are not those of the program: {cause}")]
    Rounds {
        /// What differs.
        cause: String,
    },
    /// Units, channels or memories that are not those of the machine file.
    #[error("the schedule's {what} are not those that the machine file describes")]
    Resources {
        /// What differs.
        what: &'static str,
    },
}
