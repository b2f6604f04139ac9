//! Ends long work that nobody wants any more, between two of its steps.
//!
//! Whoever starts work gives its threads a [`Token`] ([`Token::given`], and for a thread pool [`Token::on_threads`]); the loops of long work call [`check`], which
//! costs a load. Once the token is cancelled, the next check unwinds with [`Cancelled`] as its payload, through all that was
//! begun, to whoever gave the token and catches it. Without a token nothing is ever cancelled.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a cancelled operation unwinds with. No panic hook sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Whether some work is to end.
#[derive(Clone, Debug, Default)]
pub struct Token(Arc<AtomicBool>);

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
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For the next work with the same threads.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Gives this thread the token, for as long as it lives or until it is given another.
    pub fn given(&self) {
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

/// Does a cancelled operation end where it checks, and no other?
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
        token.given();
        assert_eq!(steps(3), Ok(3));
        token.cancel();
        assert_eq!(steps(3), Err(Cancelled));
        token.reset();
        assert_eq!(steps(3), Ok(3));
    }

    #[test]
    fn a_pools_threads_have_the_token_of_who_made_it_and_others_do_not() {
        let token = Token::new();
        token.given();
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
