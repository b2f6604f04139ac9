//! Memory of a process apart from its program, and the limit for planning.

use crate::{Fault, PlanError};
use polyfabric_program::Room;

/// Python with numpy and this library: 31 MiB after the import, measured, and what a plan's text takes.
const PYTHON: u64 = 40 << 20;

/// One part in this many of the rest: what allocation and large pages leave unused. Measured: 1 to 2 %.
const SLACK: u64 = 33;

/// Bytes of a process that holds `held` of its own.
pub fn peak(held: u64) -> u64 {
    let taken = PYTHON + held;
    taken + taken / SLACK
}

/// Refuses to plan the program called `name` if that takes more than `most` of memory.
///
/// # Errors
/// [`Fault::Memory`].
pub fn expect_room(name: &str, bytes: u64, most: Option<u64>) -> Result<(), PlanError> {
    let refused = |room| {
        let message = format!(
            "{name}: planning it takes {room}; use fewer or shorter vectors, split the program, or allow more with memory (--memory)"
        );
        PlanError::new(Fault::Memory, message)
    };
    Room::of(most).expect(peak(bytes)).map_err(refused)
}

/// Threads of a run that is given no number.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
