//! Do cancelled operations, and no others, end at a check, and is progress reported?

use polyfabric_kernels::cancel::*;
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
