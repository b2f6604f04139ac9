//! Worker threads, and who ends their work early.
//!
//! Every operation runs on a pool that nobody else uses meanwhile, with a token of its own; the thread that asked for it waits, and looks now and then
//! whether the user wants to stop (Ctrl-C, in the main thread). Then, or when a progress hook raises, the operation is cancelled: the
//! loops of all links check the token. Pools are kept for the next operation.
//!
//! A child of `fork` has a copy of a pool's memory but not its threads: whoever asked it for work would wait for ever. So a pool is used by the process
//! that made it alone.

use crate::failure::{Failure, Kind};
use polyfabric_kernels::cancel::{Cancelled, Token, current};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::mem::{forget, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often the waiting thread looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(25);

/// Stack of a thread: what a main thread usually has, since all of an operation runs there.
const STACK_BYTES: usize = 8 << 20;

/// A pool and the token of its threads.
struct Workers {
    process: u32,
    token: Token,
    pool: ThreadPool,
}

/// Pools that nobody uses.
static IDLE: Mutex<Vec<Workers>> = Mutex::new(Vec::new());

/// What progress hooks raised, with the operation that each has cancelled.
static RAISED: Mutex<Vec<(Token, PyErr)>> = Mutex::new(Vec::new());

/// How an operation ended that did not give a result.
pub enum Ended {
    /// The user, or a hook, wanted no more of it.
    By(PyErr),
    /// A panic.
    Panic(Box<dyn Any + Send>),
}

impl Workers {
    /// With the interpreter's lock held, which `os.fork` needs too: so no child finds the list locked for ever.
    fn taken(_: Python<'_>) -> Result<Self, Failure> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if idle.iter().any(|workers| workers.process != process) {
            // Their threads are the parent's: there is nobody to end.
            take(&mut *idle).into_iter().for_each(forget);
        }
        if let Some(workers) = idle.pop() {
            workers.token.reset();
            return Ok(workers);
        }
        let token = Token::new();
        let own = token.clone();
        let built = ThreadPoolBuilder::new().stack_size(STACK_BYTES).start_handler(move |_| own.given()).build();
        let pool = built.map_err(|error| {
            Failure::new(Kind::Run, format!("no threads could be started ({error}); end other programs, or allow more"))
        })?;
        Ok(Self { process, token, pool })
    }

    fn returned(self, _: Python<'_>) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }
}

/// Cancels the operation of this thread, for what a hook raised; false if it has none.
pub fn cancel(error: PyErr) -> Result<(), PyErr> {
    let Some(token) = current() else { return Err(error) };
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).push((token.clone(), error));
    token.cancel();
    Ok(())
}

/// Runs `work` without the interpreter's lock on threads of its own, until it ends or is cancelled.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<Result<T, Ended>> {
    let workers = Workers::taken(py)?;
    let mut interrupted = None;
    let outcome = py.detach(|| {
        let (sender, receiver) = sync_channel(1);
        workers.pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // The receiver waits for it.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            });
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(outcome) => return outcome,
                    Err(RecvTimeoutError::Timeout) if interrupted.is_none() => {
                        if let Err(signal) = Python::attach(|py| py.check_signals()) {
                            workers.token.cancel();
                            interrupted = Some(signal);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(Box::new("no result came back")),
                }
            }
        })
    });
    let raised = {
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        let own = raised.iter().position(|(token, _)| token.is(&workers.token));
        own.map(|own| raised.swap_remove(own).1)
    };
    workers.returned(py);
    if let Some(error) = interrupted.or(raised) {
        return Ok(Err(Ended::By(error)));
    }
    Ok(outcome.map_err(|payload| {
        if payload.is::<Cancelled>() {
            Ended::By(Failure::new(Kind::Run, "the operation was cancelled").into())
        } else {
            Ended::Panic(payload)
        }
    }))
}
