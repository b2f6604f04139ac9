//! Progress of a long operation.

/// Receives progress; called frequently from worker threads.
pub trait Progress: Sync {
    /// `done` of `total` items of `stage` are finished. A new stage starts when the name changes.
    fn update(&self, stage: &str, done: u64, total: u64);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _stage: &str, _done: u64, _total: u64) {}
}
