//! The program that this process executed last, prepared for its next execution.

use crate::failure::{Failure, Kind};
use polyfabric_planner::rns::RnsPlan;
use polyfabric_runtime::rns::cpu::{ExecutorOptions, Prepared};
use polyfabric_schemes::rns::KeySet;
use pyo3::pyfunction;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A plan's program, prepared once an execution has needed it.
#[derive(Default)]
pub struct Kept(Mutex<Option<Arc<Prepared>>>);

/// The plan's whose program is prepared: one in the process, which bounds the memory.
static LAST: Mutex<Weak<Kept>> = Mutex::new(Weak::new());

impl Kept {
    fn held(&self) -> MutexGuard<'_, Option<Arc<Prepared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program of `plan`, whose this is, on `threads` threads.
    pub fn of(self: &Arc<Self>, plan: &RnsPlan, keys: &KeySet, threads: usize) -> Result<Arc<Prepared>, Failure> {
        let options = ExecutorOptions { threads, compact_plaintexts: plan.compact_plaintexts() };
        let known = self.held().clone().filter(|prepared| prepared.options() == options);
        if let Some(prepared) = known {
            return Ok(prepared);
        }
        // Gives memory back before it takes more. Two executions that begin together both prepare, and one result stays.
        let_go_but(Some(self));
        *self.held() = None;
        let made = Prepared::new(plan.kernel(), keys.ring(), options).map_err(Failure::of(Kind::Run))?;
        let made = Arc::new(made);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = last.upgrade().filter(|other| !Arc::ptr_eq(other, self)) {
            *other.held() = None;
        }
        *last = Arc::downgrade(self);
        *self.held() = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Bytes of the prepared program, with the buffers of a run.
    pub fn bytes(&self) -> usize {
        self.held().as_ref().map_or(0, |prepared| prepared.buffer_bytes() + prepared.plaintext_bytes())
    }
}

/// Lets go of the program that an earlier execution on the CPU prepared.
#[pyfunction]
pub fn let_go() {
    let_go_but(None);
}

/// Lets go of a prepared program that is not `kept`.
pub fn let_go_but(kept: Option<&Arc<Kept>>) {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(other) = last.upgrade().filter(|other| kept.is_none_or(|kept| !Arc::ptr_eq(other, kept))) {
        *other.held() = None;
    }
}
