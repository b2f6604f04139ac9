//! Memory of a process apart from its program, and the memory limit of planning.

use crate::{Fault, PlanError};
use polyfabric_program::MemoryBudget;

/// Python with NumPy and this library: 43 MiB after the import (measured), plus the text of a plan.
const PYTHON: u64 = 46 << 20;

/// One part in this many is lost to allocation and large pages. Measured: 1 to 2 %.
const SLACK: u64 = 33;

/// Bytes of a process that allocates `held` bytes.
pub fn peak(held: u64) -> u64 {
    let taken = PYTHON + held;
    taken + taken / SLACK
}

/// Fails if planning the program `name` needs more than `most` bytes.
///
/// # Errors
/// [`Fault::Memory`].
pub fn expect_memory(name: &str, bytes: u64, most: Option<u64>) -> Result<(), PlanError> {
    let refused = |needed| {
        let message = format!(
            "{name}: planning it takes {needed}; use fewer or shorter vectors, split the program, or allow more with memory (--memory)"
        );
        PlanError::new(Fault::Memory, message)
    };
    MemoryBudget::of(most).expect(peak(bytes)).map_err(refused)
}

/// Default number of threads.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
