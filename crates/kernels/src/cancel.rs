//! Ends long work that nobody wants any more, between two of its steps, and says how far work has come that somebody waits for.
//!
//! Whoever starts work gives its threads a [`Token`] ([`Token::given`], and for a thread pool [`Token::on_threads`]); the loops of long work call [`check`], which
//! costs a load. Once the token is cancelled, the next check unwinds with [`Cancelled`] as its payload, through all that was
//! begun, to whoever gave the token and catches it. Without a token nothing is ever cancelled.
//!
//! Work that takes seconds begins a [`stage`]; whoever waits for it asks the token how far it is ([`Token::progress`]).

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a cancelled operation unwinds with. No panic hook sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// How far work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: &'static str,
    /// Steps done.
    pub done: u64,
    /// Steps in all; 0 where that is not known before the end.
    pub total: u64,
}

/// Whether some work is to end, and how far it is.
#[derive(Clone, Debug, Default)]
pub struct Token(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// Stages under way, the innermost last.
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

/// A stage of the work of this thread's token, until it is dropped.
#[derive(Debug)]
pub struct Stage {
    token: Option<Token>,
    counted: Arc<Counted>,
}

/// Begins a stage of `total` steps, 0 where their number is not known before the end. Of stages within stages, the innermost is told.
pub fn stage(stage: &'static str, total: usize) -> Stage {
    let counted = Arc::new(Counted { stage, done: AtomicU64::new(0), total: total as u64 });
    let token = current();
    if let Some(Token(state)) = &token {
        state.stages().push(Arc::clone(&counted));
    }
    Stage { token, counted }
}

impl Stage {
    /// A step is done: [`check`], and one more.
    pub fn step(&self) {
        check();
        self.counted.done.fetch_add(1, Ordering::Relaxed);
    }

    /// So many steps are done, which are not counted one by one: [`check`], and their number.
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
    /// Of work that goes on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the work that has this token, soon.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// How far its work has come, if that is in a stage.
    pub fn progress(&self) -> Option<Progress> {
        let stages = self.0.stages();
        let of = |counted: &Arc<Counted>| Progress {
            stage: counted.stage,
            done: counted.done.load(Ordering::Relaxed),
            total: counted.total,
        };
        stages.last().map(of)
    }

    /// For the next work with the same threads.
    pub fn reset(&self) {
        self.0.cancelled.store(false, Ordering::Relaxed);
    }

    /// Gives this thread the token, for as long as it lives or until it is given another.
    pub fn attach(&self) {
        CURRENT.set(Some(self.clone()));
    }

    /// What a new thread of a pool begins with, so that it has the token of the thread that makes the pool.
    pub fn on_threads() -> impl Fn(usize) + Send + Sync + 'static {
        let token = current();
        move |_| CURRENT.set(token.clone())
    }

    /// Whether `other` is this token.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The token of this thread.
pub fn current() -> Option<Token> {
    CURRENT.with_borrow(Clone::clone)
}

/// Goes on, or unwinds with [`Cancelled`] if this thread's token is cancelled.
#[inline]
pub fn check() {
    if CURRENT.with_borrow(|token| token.as_ref().is_some_and(Token::is_cancelled)) {
        resume_unwind(Box::new(Cancelled));
    }
}

/// Does a cancelled operation end where it checks, and no other, and is it known how far work is?
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
    fn whoever_waits_is_told_the_innermost_stage_until_it_is_over() {
        let token = Token::new();
        token.attach();
        assert_eq!(token.progress(), None);
        let told = |stage, done, total| Some(Progress { stage, done, total });
        let outer = stage("scheduling", 3);
        outer.step();
        assert_eq!(token.progress(), told("scheduling", 1, 3));
        {
            let inner = stage("checking", 0);
            inner.step();
            inner.step();
            assert_eq!(token.progress(), told("checking", 2, 0));
        }
        assert_eq!(token.progress(), told("scheduling", 1, 3));
        outer.reach(3);
        assert_eq!(token.progress(), told("scheduling", 3, 3));
        token.cancel();
        let ended = catch_unwind(std::panic::AssertUnwindSafe(move || outer.step()));
        assert!(ended.is_err_and(|payload| payload.is::<Cancelled>()));
        assert_eq!(token.progress(), None, "a stage that was cancelled is over too");
    }

    #[test]
    fn a_pools_threads_have_the_token_of_who_made_it_and_others_do_not() {
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
