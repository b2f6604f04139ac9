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

/// Do cancelled operations, and no others, end at a check, and is progress reported?
#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn steps(wanted: usize) -> Result<usize, Cancelled> {
        catch_unwind(|| {
            for _ in 0..wanted {
                check();
            }
            wanted
        })
        .map_err(|payload| *payload.downcast::<Cancelled>().expect("nothing else unwinds here"))
    }

    #[test]
    fn work_ends_when_its_token_is_cancelled_and_goes_on_after_a_reset() {
        assert_eq!(steps(3), Ok(3), "without a token");
        let token = Token::new();
        token.attach();
        assert_eq!(steps(3), Ok(3));
        token.cancel();
        assert_eq!(steps(3), Err(Cancelled));
        token.reset();
        assert_eq!(steps(3), Ok(3));
    }

    #[test]
    fn the_innermost_stage_is_reported_until_it_ends() {
        let token = Token::new();
        token.attach();
        assert_eq!(token.progress(), None);
        let reported = |stage, done, total| Some(Progress { stage, done, total });
        let outer = stage("scheduling", 3);
        outer.step();
        assert_eq!(token.progress(), reported("scheduling", 1, 3));
        {
            let inner = stage("checking", 0);
            inner.step();
            inner.step();
            assert_eq!(token.progress(), reported("checking", 2, 0));
        }
        assert_eq!(token.progress(), reported("scheduling", 1, 3));
        outer.reach(3);
        assert_eq!(token.progress(), reported("scheduling", 3, 3));
        token.cancel();
        let ended = catch_unwind(std::panic::AssertUnwindSafe(move || outer.step()));
        assert!(ended.is_err_and(|payload| payload.is::<Cancelled>()));
        assert_eq!(token.progress(), None, "a cancelled stage has ended too");
    }

    #[test]
    fn pool_threads_inherit_the_token_of_their_maker() {
        let token = Token::new();
        token.attach();
        token.cancel();
        let begin = Token::on_threads();
        let inside = std::thread::spawn(move || {
            begin(0);
            steps(1)
        });
        assert_eq!(inside.join().expect("it was caught"), Err(Cancelled));
        assert_eq!(std::thread::spawn(|| steps(1)).join().expect("nothing unwinds"), Ok(1));
    }
}
