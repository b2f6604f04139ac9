//! Cancellation and progress of long computations.
//!
//! A caller attaches a [`Token`] to its thread ([`Token::attach`]) or to a thread pool ([`Token::on_threads`]). Loops of long computations
//! call [`check`], which costs one load. After the token is cancelled, the next check unwinds with [`Cancelled`] as its payload up to the
//! caller, who catches it. Without a token nothing is cancelled.
//!
//! A computation of seconds begins a [`stage`]; the caller reads its progress from the token ([`Token::progress`]).

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Panic payload of a cancelled operation. No panic hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Progress of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The current stage.
    pub stage: &'static str,
    /// Steps done.
    pub done: u64,
    /// Total steps; 0 if unknown.
    pub total: u64,
}

/// Whether a computation is cancelled, and its progress.
#[derive(Clone, Debug, Default)]
pub struct Token(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// Active stages, the innermost last.
    stages: Mutex<Vec<Arc<Counted>>>,
}

impl State {
    fn stages(&self) -> MutexGuard<'_, Vec<Arc<Counted>>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Counted {
    stage: &'static str,
    done: AtomicU64,
    total: u64,
}

/// A stage of the computation under this thread's token, until dropped.
#[derive(Debug)]
pub struct Stage {
    token: Option<Token>,
    counted: Arc<Counted>,
}

/// Begins a stage of `total` steps, 0 if unknown. Of nested stages, the innermost is reported.
pub fn stage(stage: &'static str, total: usize) -> Stage {
    let counted = Arc::new(Counted { stage, done: AtomicU64::new(0), total: total as u64 });
    let token = current();
    if let Some(Token(state)) = &token {
        state.stages().push(Arc::clone(&counted));
    }
    Stage { token, counted }
}

impl Stage {
    /// Calls [`check`] and counts one step.
    pub fn step(&self) {
        check();
        self.counted.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls [`check`] and sets the number of finished steps.
    pub fn reach(&self, done: usize) {
        check();
        self.counted.done.store(done as u64, Ordering::Relaxed);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(Token(state)) = &self.token {
            state.stages().retain(|other| !Arc::ptr_eq(other, &self.counted));
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Token>> = const { RefCell::new(None) };
}

impl Token {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the computations with this token; they end at their next check.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// The progress of the current stage, if there is one.
    pub fn progress(&self) -> Option<Progress> {
        let stages = self.0.stages();
        let of = |counted: &Arc<Counted>| Progress {
            stage: counted.stage,
            done: counted.done.load(Ordering::Relaxed),
            total: counted.total,
        };
        stages.last().map(of)
    }

    /// Makes the token reusable with the same threads.
    pub fn reset(&self) {
        self.0.cancelled.store(false, Ordering::Relaxed);
    }

    /// Attaches the token to this thread, until the thread ends or another token is attached.
    pub fn attach(&self) {
        CURRENT.set(Some(self.clone()));
    }

    /// A start handler for a pool's threads that attaches this thread's token.
    pub fn on_threads() -> impl Fn(usize) + Send + Sync + 'static {
        let token = current();
        move |_| CURRENT.set(token.clone())
    }

    /// Whether both are the same token.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// This thread's token.
pub fn current() -> Option<Token> {
    CURRENT.with_borrow(Clone::clone)
}

/// Unwinds with [`Cancelled`] if this thread's token is cancelled.
#[inline]
pub fn check() {
    if CURRENT.with_borrow(|token| token.as_ref().is_some_and(Token::is_cancelled)) {
        resume_unwind(Box::new(Cancelled));
    }
}
