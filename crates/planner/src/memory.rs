//! What a process takes beside what a program is made of.

/// Python with numpy and this library: 31 MiB after the import, measured, and what a plan's text takes.
const PYTHON: u64 = 40 << 20;

/// One part in this many of the rest: what allocation and large pages leave unused. Measured: 1 to 2 %.
const SLACK: u64 = 33;

/// Bytes of a process that holds `held` of its own.
pub fn peak(held: u64) -> u64 {
    let taken = PYTHON + held;
    taken + taken / SLACK
}

/// Threads of a run that is given no number.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
