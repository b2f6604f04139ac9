//! Worker threads, and cancellation of their work.
//!
//! Each operation runs on its own thread pool with its own cancellation token. The calling thread waits and regularly checks for Ctrl-C (in
//! the main thread). On Ctrl-C, or if a progress hook raises, the token is cancelled; the loops of all crates check it. Meanwhile the
//! watcher (`watch`) receives progress. Idle pools are reused.
//!
//! After `fork`, a child has a copy of a pool's memory but not of its threads, and would wait forever. So a pool is used only by the process
//! that created it.

use crate::failure::{Failure, Kind};
use polyfabric_kernels::cancel::{Cancelled, Progress, Token, current};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::cell::RefCell;
use std::mem::{forget, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval at which the waiting thread checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(25);

/// Stack of a worker thread: the usual size of a main thread, since whole operations run there.
const STACK_BYTES: usize = 8 << 20;

/// Maximum number of idle pools, for concurrent callers.
const MOST_IDLE: usize = 4;

/// A pool and the token of its threads.
struct Workers {
    process: u32,
    token: Token,
    pool: ThreadPool,
}

/// Idle pools.
static IDLE: Mutex<Vec<Workers>> = Mutex::new(Vec::new());

/// Exceptions of progress hooks, with the token of the operation that each cancelled.
static RAISED: Mutex<Vec<(Token, PyErr)>> = Mutex::new(Vec::new());

/// Why an operation has no result.
enum Ended {
    /// Cancelled by the user or by a hook.
    By(PyErr),
    /// A panic.
    Panic(Box<dyn Any + Send>),
}

impl Workers {
    /// Takes an idle pool or creates one. It needs the interpreter's lock, which `os.fork` needs too, so a child never finds the list locked.
    fn taken(_: Python<'_>) -> Result<Self, Failure> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if idle.iter().any(|workers| workers.process != process) {
            // Their threads exist only in the parent, so there is nothing to join.
            take(&mut *idle).into_iter().for_each(forget);
        }
        if let Some(workers) = idle.pop() {
            workers.token.reset();
            return Ok(workers);
        }
        let token = Token::new();
        let own = token.clone();
        let built = ThreadPoolBuilder::new().stack_size(STACK_BYTES).start_handler(move |_| own.attach()).build();
        let pool = built.map_err(|error| {
            Failure::new(Kind::Run, format!("no threads could be started ({error}); end other programs, or allow more"))
        })?;
        Ok(Self { process, token, pool })
    }

    fn returned(self, _: Python<'_>) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(self);
        }
    }
}

thread_local! {
    /// The function that receives progress of operations that this thread waits for.
    static WATCHER: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Makes `function(stage, done, total)` receive the progress of this thread's operations; an exception of it cancels them. Returns the
/// previous function.
#[pyfunction]
#[pyo3(signature = (function))]
pub fn watch(function: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    WATCHER.replace(function)
}

/// Handles signals, and reports the progress of `token`'s work to this thread's watcher.
fn look(py: Python<'_>, token: &Token) -> PyResult<()> {
    py.check_signals()?;
    let watcher = WATCHER.with_borrow(|watcher| watcher.as_ref().map(|function| function.clone_ref(py)));
    if let (Some(function), Some(Progress { stage, done, total })) = (watcher, token.progress()) {
        function.call1(py, (stage, done, total))?;
    }
    Ok(())
}

/// Cancels this thread's operation because a hook raised `error`; returns `error` if there is none.
pub fn cancel(error: PyErr) -> Result<(), PyErr> {
    let Some(token) = current() else { return Err(error) };
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).push((token.clone(), error));
    token.cancel();
    Ok(())
}

/// The result of an operation, or the payload of its panic.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// Waits for an operation's outcome; cancels it on a signal or an exception of the watcher. With `patience`, waits for the cancelled
/// operation too; otherwise returns without outcome.
fn awaited<T>(receiver: &Receiver<Outcome<T>>, token: &Token, patience: bool) -> (Option<Outcome<T>>, Option<PyErr>) {
    let mut interrupted = None;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(outcome) => return (Some(outcome), interrupted),
            Err(RecvTimeoutError::Timeout) if interrupted.is_none() => {
                if let Err(error) = Python::attach(|py| look(py, token)) {
                    token.cancel();
                    interrupted = Some(error);
                    if !patience {
                        return (None, interrupted);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return (Some(Err(Box::new("no result came back"))), interrupted),
        }
    }
}

/// The first exception of the hooks that cancelled the work of `token`. Threads may call the hook again before they stop; later exceptions
/// are dropped, so that none reaches the pool's next operation.
fn raised(token: &Token) -> Option<PyErr> {
    let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    let (own, others): (Vec<_>, Vec<_>) = take(&mut *raised).into_iter().partition(|(other, _)| other.is(token));
    *raised = others;
    // Dropping exceptions may run Python code.
    drop(raised);
    own.into_iter().next().map(|(_, error)| error)
}

fn ended<T>(outcome: Outcome<T>) -> Result<T, Ended> {
    outcome.map_err(|payload| match payload.is::<Cancelled>() {
        true => Ended::By(Failure::new(Kind::Run, "the operation was cancelled").into()),
        false => Ended::Panic(payload),
    })
}

/// Runs `work` on worker threads without the interpreter's lock, until it ends or is cancelled.
fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<Result<T, Ended>> {
    let workers = Workers::taken(py)?;
    let (outcome, interrupted) = py.detach(|| {
        let (sender, receiver) = sync_channel(1);
        workers.pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // Sending cannot fail: the receiver waits.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            });
            awaited(&receiver, &workers.token, true)
        })
    });
    let error = interrupted.or(raised(&workers.token));
    workers.returned(py);
    Ok(match (error, outcome) {
        (Some(error), _) => Err(Ended::By(error)),
        (None, outcome) => ended(outcome.unwrap_or_else(|| Err(Box::new("no result came back")))),
    })
}

/// The same for work that borrows nothing, which is left to itself once it is cancelled: to free what it has made takes seconds where that is a schedule of
/// millions of events. Its threads end with it.
fn run_owned<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Result<T, Ended>> {
    let workers = Workers::taken(py)?;
    let (outcome, interrupted) = py.detach(|| {
        let (sender, receiver) = sync_channel(1);
        workers.pool.spawn(move || {
            // The receiver may be gone after a cancellation.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        awaited(&receiver, &workers.token, false)
    });
    let error = interrupted.or(raised(&workers.token));
    Ok(match (error, outcome) {
        // Its pool is still busy, so do not reuse it.
        (Some(error), None) => Err(Ended::By(error)),
        (error, outcome) => {
            workers.returned(py);
            match (error, outcome) {
                (Some(error), _) => Err(Ended::By(error)),
                (None, outcome) => ended(outcome.unwrap_or_else(|| Err(Box::new("no result came back")))),
            }
        }
    })
}

/// Runs `work` without the interpreter's lock, on threads that this process has; Ctrl-C ends it. A panic becomes an `InternalError`.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Failure> + Send) -> PyResult<T> {
    given(run(py, work)?)
}

/// The same for work that borrows nothing and may be left to itself once Ctrl-C has ended it.
pub fn released<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    given(run_owned(py, work)?)
}

fn given<T>(ended: Result<Result<T, Failure>, Ended>) -> PyResult<T> {
    match ended {
        Ok(result) => result.map_err(PyErr::from),
        Err(Ended::By(error)) => Err(error),
        Err(Ended::Panic(payload)) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message = format!("a defect of Polyfabric, please report it: {text}");
            Err(Failure::new(Kind::Internal, message).into())
        }
    }
}
