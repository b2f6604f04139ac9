//! Worker threads, and who ends their work early.
//!
//! Every operation runs on a pool that nobody else uses meanwhile, with a token of its own; the thread that asked for it waits, and looks now and then
//! whether the user wants to stop (Ctrl-C, in the main thread). Then, or when a progress hook raises, the operation is cancelled: the
//! loops of all links check the token. Whoever watches (`watch`) is told meanwhile how far it is. Pools are kept for the next operation.
//!
//! A child of `fork` has a copy of a pool's memory but not its threads: whoever asked it for work would wait for ever. So a pool is used by the process
//! that made it alone.

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

/// How often the waiting thread looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(25);

/// Stack of a thread: what a main thread usually has, since all of an operation runs there.
const STACK_BYTES: usize = 8 << 20;

/// Pools that are kept for the next operation, at most: many at once are for those who come together.
const MOST_IDLE: usize = 4;

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
enum Ended {
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
    /// The function that is told how far operations are that this thread waits for.
    static WATCHER: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// From now on `function` is told how far operations of this thread are, as `function(stage, done, total)`; what it raises ends them. Gives back the
/// function before it.
#[pyfunction]
#[pyo3(signature = (function))]
pub fn watch(function: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    WATCHER.replace(function)
}

/// Tells this thread's watcher how far `token`'s work is, and whoever wants to stop that there was a signal.
fn look(py: Python<'_>, token: &Token) -> PyResult<()> {
    py.check_signals()?;
    let watcher = WATCHER.with_borrow(|watcher| watcher.as_ref().map(|function| function.clone_ref(py)));
    if let (Some(function), Some(Progress { stage, done, total })) = (watcher, token.progress()) {
        function.call1(py, (stage, done, total))?;
    }
    Ok(())
}

/// Cancels the operation of this thread, for what a hook raised; false if it has none.
pub fn cancel(error: PyErr) -> Result<(), PyErr> {
    let Some(token) = current() else { return Err(error) };
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).push((token.clone(), error));
    token.cancel();
    Ok(())
}

/// What an operation gave, or the payload of its panic.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// Waits for an operation's outcome, and cancels it for a signal or for what the watcher raises. With `patience` it is waited for all the same; else
/// there is none then.
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

/// What a hook raised first of all that cancelled the work of `token`. Until the work ends its threads go on telling the hook, which may raise again: nothing
/// of that is left for the next work with the same threads.
fn raised(token: &Token) -> Option<PyErr> {
    let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    let (own, others): (Vec<_>, Vec<_>) = take(&mut *raised).into_iter().partition(|(other, _)| other.is(token));
    *raised = others;
    // Python may run code of its own where an exception goes.
    drop(raised);
    own.into_iter().next().map(|(_, error)| error)
}

fn ended<T>(outcome: Outcome<T>) -> Result<T, Ended> {
    outcome.map_err(|payload| match payload.is::<Cancelled>() {
        true => Ended::By(Failure::new(Kind::Run, "the operation was cancelled").into()),
        false => Ended::Panic(payload),
    })
}

/// Runs `work` without the interpreter's lock on threads of its own, until it ends or is cancelled.
fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<Result<T, Ended>> {
    let workers = Workers::taken(py)?;
    let (outcome, interrupted) = py.detach(|| {
        let (sender, receiver) = sync_channel(1);
        workers.pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // The receiver waits for it.
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
            // Nobody may be waiting for it any more.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        awaited(&receiver, &workers.token, false)
    });
    let error = interrupted.or(raised(&workers.token));
    Ok(match (error, outcome) {
        // Its pool is not for others.
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
