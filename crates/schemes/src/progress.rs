//! Progress of long computations.

use std::sync::atomic::{AtomicU64, Ordering};

use polyfabric_kernels::cancel;

/// Progress of making or expanding a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyProgress {
    /// The current stage.
    pub stage: &'static str,
    /// Rows done.
    pub done: u64,
    /// Rows in all.
    pub total: u64,
}

/// Called with progress from any thread, about a hundred times per stage.
pub type OnProgress<'a> = &'a (dyn Fn(KeyProgress) + Sync);

/// Ignores progress.
pub fn no_progress(_: KeyProgress) {}

/// Counts rows and calls the hook at every hundredth.
pub(crate) struct Counter<'a> {
    hook: OnProgress<'a>,
    stage: &'static str,
    total: u64,
    done: AtomicU64,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(hook: OnProgress<'a>, stage: &'static str, total: usize) -> Self {
        Self { hook, stage, total: total as u64, done: AtomicU64::new(0) }
    }

    /// Counts one row, or unwinds if the work was cancelled.
    pub(crate) fn row(&self) {
        cancel::check();
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of((self.total / 100).max(1)) || done == self.total {
            (self.hook)(KeyProgress { stage: self.stage, done, total: self.total });
        }
    }
}
