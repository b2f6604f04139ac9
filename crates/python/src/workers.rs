//! Worker threads, of which a forked process has none.
//!
//! A child of `fork` has a copy of the pool's memory but not its threads: whoever asked it for work would wait for ever. So the first
//! operation notes the process that the shared pool is of, and another process gets a pool of its own.

use crate::failure::{Failure, Kind};
use pyo3::Python;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// The process that computed first, or the last that was forked since, and the pool made for the latter.
static PROCESS: Mutex<Option<(u32, Option<Arc<ThreadPool>>)>> = Mutex::new(None);

/// Stack of a thread: what a main thread usually has, since all of an operation runs there.
const STACK_BYTES: usize = 8 << 20;

/// The pool that this process computes in; none for the one that all Rust code shares.
///
/// With the interpreter's lock held, which `os.fork` needs too: so no child finds the note locked for ever.
pub fn own_pool(_: Python<'_>) -> Result<Option<Arc<ThreadPool>>, Failure> {
    let mut noted = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*noted {
        Some((of, pool)) if *of == process => Ok(pool.clone()),
        None => {
            *noted = Some((process, None));
            Ok(None)
        }
        Some(_) => {
            let built = ThreadPoolBuilder::new().stack_size(STACK_BYTES).build().map_err(|error| {
                let message = format!(
                    "this process was forked and could not start threads of its own ({error}); start it by multiprocessing's \"spawn\""
                );
                Failure::new(Kind::Run, message)
            })?;
            let pool = Arc::new(built);
            *noted = Some((process, Some(Arc::clone(&pool))));
            Ok(Some(pool))
        }
    }
}
