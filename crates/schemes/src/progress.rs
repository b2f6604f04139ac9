//! Progress of work that takes long.

use std::sync::atomic::{AtomicU64, Ordering};

use polyfabric_kernels::cancel;

/// How far making or expanding a key has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyProgress {
    /// What is being made.
    pub stage: &'static str,
    /// Rows done.
    pub done: u64,
    /// Rows in all.
    pub total: u64,
}

/// Told of progress from any thread, some hundred times a stage.
pub type OnProgress<'a> = &'a (dyn Fn(KeyProgress) + Sync);

/// Ignores progress.
pub fn no_progress(_: KeyProgress) {}

/// Counts rows and tells the hook at every hundredth.
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

    /// Counts one, or unwinds where the work is cancelled.
    pub(crate) fn row(&self) {
        cancel::check();
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of((self.total / 100).max(1)) || done == self.total {
            (self.hook)(KeyProgress { stage: self.stage, done, total: self.total });
        }
    }
}
