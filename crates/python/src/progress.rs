//! Progress reports from any Rust thread to a Python function.

use crate::workers::cancel;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum time between calls, except the last of a stage, because acquiring the interpreter's lock is expensive.
const INTERVAL: Duration = Duration::from_millis(50);

/// An optional Python function `(stage, done, total)`.
pub struct Callback {
    function: Option<Py<PyAny>>,
    last: Mutex<Option<Instant>>,
}

impl Callback {
    pub fn new(function: Option<Py<PyAny>>) -> Self {
        Self { function, last: Mutex::new(None) }
    }

    /// Reports the progress of `stage`. An exception of the function cancels the work, which then raises it.
    pub fn tell(&self, stage: &str, done: u64, total: u64) {
        let Some(function) = &self.function else { return };
        // If another thread is reporting, this report is redundant, unless it is the last.
        let last = match done < total {
            true => self.last.try_lock().ok(),
            false => Some(self.last.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let Some(mut last) = last else { return };
        if done < total && last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        Python::attach(|py| {
            if let Err(error) = function.call1(py, (stage, done, total))
                && let Err(error) = cancel(error)
            {
                error.write_unraisable(py, None);
            }
        });
    }
}
