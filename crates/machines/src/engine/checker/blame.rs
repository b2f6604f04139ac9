//! Whose fault a wait is.
//!
//! Events that hand elements on over wires start together: a pipeline. Its [`Pipeline`] collects what every constraint on
//! any of its events would have allowed. The constraint that was satisfied last, the one with the least slack, is the blame
//! of them all; the gap before each of them is charged once the whole pipeline has run.
//!
//! A blame has a past: who waits for a producer that was itself kept waiting is kept waiting by the same thing. So a
//! [`Cause`] is read backwards in time, as stretches of cycles, from the end of the wait.
//!
//! What others see of a pipeline in a cycle is what was known before that cycle. So the result does not depend on the order
//! in which the replay takes what happens in one cycle.

use crate::engine::stalls::{Stall, Tally};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::rc::Rc;

/// Stretches that a cause remembers; where there are more, the oldest count for what began before them all.
const DEPTH: usize = 10;

/// Events without a gap after which a unit is itself what others wait for, whatever it waited for before them.
pub(super) const LONG_RUN: u32 = 8;

/// The length of the last stretch.
const OPEN: i64 = i64::MAX;

/// Adds a stretch behind the first `count` of `stretches`; the new count.
fn append(stretches: &mut [(Stall, i64)], count: usize, (stall, length): (Stall, i64)) -> usize {
    match count.checked_sub(1).map(|last| &mut stretches[last]) {
        Some((last, end)) if *last == stall => {
            *end = end.saturating_add(length);
            count
        }
        _ => {
            stretches[count] = (stall, length);
            count + 1
        }
    }
}

/// What was waited for, backwards from the end of the wait; the last stretch has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cause {
    stretches: [(Stall, i64); DEPTH],
    count: usize,
}

impl Cause {
    pub fn always(stall: Stall) -> Self {
        Self { stretches: [(stall, OPEN); DEPTH], count: 1 }
    }

    /// This cause, and after it `cycles` of waiting for `stall`.
    #[must_use]
    pub fn then(self, stall: Stall, cycles: i64) -> Self {
        if cycles <= 0 {
            return self;
        }
        let mut all = [(stall, cycles); DEPTH + 1];
        let mut count = 1;
        for &(next, length) in &self.stretches[..self.count] {
            count = append(&mut all, count, (next, length));
        }
        if count > DEPTH {
            // One too many: the oldest that has an end counts for the last.
            all[count - 2] = all[count - 1];
            let part = all[count - 2];
            count = append(&mut all, count - 2, part);
        }
        let mut result = Self::always(stall);
        result.stretches[..count].copy_from_slice(&all[..count]);
        result.count = count;
        result.close();
        result
    }

    /// With every stretch of `from` one of `to`.
    #[must_use]
    pub fn with(self, from: Stall, to: Stall) -> Self {
        let mut result = Self::always(to);
        result.count = 0;
        for &(stall, length) in &self.stretches[..self.count] {
            let stall = if stall == from { to } else { stall };
            result.count = append(&mut result.stretches, result.count, (stall, length));
        }
        result.close();
        result
    }

    /// The last stretch has no end, and what is unused compares equal.
    fn close(&mut self) {
        let last = self.stretches[self.count - 1].0;
        self.stretches[self.count - 1..].fill((last, OPEN));
    }

    /// Charges the last `cycles` of the wait.
    fn charge(&self, mut cycles: i64, mut charge: impl FnMut(Stall, i64)) {
        for &(stall, length) in &self.stretches[..self.count] {
            let part = cycles.min(length);
            charge(stall, part);
            cycles -= part;
        }
    }
}

/// Why something did not start earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blame {
    /// Cycles by which it started later than it had to.
    pub slack: i64,
    pub cause: Cause,
}

impl Blame {
    /// This constraint of a unit that was free, if for so many cycles more it was not yet empty, or its elements could be overtaken.
    #[must_use]
    pub fn behind(self, cycles: i64) -> Self {
        let cycles = cycles.clamp(0, self.slack);
        Self { slack: self.slack - cycles, cause: self.cause.then(Stall::FillDrain, cycles) }
    }

    /// Of two constraints the one that was satisfied last.
    pub fn stricter(self, other: Self) -> Self {
        let rank = |blame: &Self| (blame.slack, Reverse(blame.cause.stretches[0].0.precedence()));
        let order = rank(&other).cmp(&rank(&self)).then_with(|| other.cause.cmp(&self.cause));
        if order.is_lt() { other } else { self }
    }
}

/// One event of a pipeline, as far as the stalls go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Loop that it belongs to.
    pub instance: usize,
    /// Unit class, if it is accounted for.
    pub class: Option<usize>,
    /// What its own cycles count for.
    pub work: Tally,
    /// Cycles that the unit was idle before.
    pub gap: i64,
    /// Whether it is the unit's first event.
    pub opens: bool,
}

impl Member {
    fn same(&self, other: &Self) -> bool {
        (self.class, self.gap, self.opens, self.work) == (other.class, other.gap, other.opens, other.work)
    }

    /// The cycles of the event and the gap before it.
    pub fn tally(&self, blame: &Blame) -> Tally {
        let mut tally = self.work;
        let slack = blame.slack.min(self.gap);
        tally.add(Stall::Slack, slack);
        blame.cause.charge(self.gap - slack, |stall, cycles| {
            let stall = match stall {
                Stall::Dependency | Stall::Upstream | Stall::Busy if self.opens => Stall::FillDrain,
                // Another unit of the pipeline was at work.
                Stall::Busy => Stall::Upstream,
                stall => stall,
            };
            tally.add(stall, cycles);
        });
        tally
    }
}

#[derive(Debug)]
struct State {
    /// The pipeline that this one has become part of.
    joined: Option<Pipeline>,
    /// Start of its first event.
    start: i64,
    /// Accesses and values on wires that are still to come.
    open: usize,
    /// Cycle of the last change of `now`; what was known before is in `before`.
    changed: i64,
    before: Blame,
    now: Blame,
    members: Vec<Member>,
}

/// Events that start together.
#[derive(Clone, Debug)]
pub(super) struct Pipeline(Rc<RefCell<State>>);

/// A pipeline at the start of a round, for comparison.
#[derive(Clone, Debug)]
pub(super) struct View {
    start: i64,
    open: usize,
    blame: Blame,
    members: Vec<Member>,
}

impl View {
    /// Whether `later` is the same some cycles on.
    pub fn becomes(&self, later: &Self, cycles: i64) -> bool {
        self.start + cycles == later.start
            && self.open == later.open
            && self.blame == later.blame
            && self.members.len() == later.members.len()
            && self.members.iter().zip(&later.members).all(|(member, later)| member.same(later))
    }
}

impl Pipeline {
    /// An event that starts in cycle `start`, with `open` accesses; `blame` is its unit's.
    pub fn new(start: i64, open: usize, member: Member, blame: Blame) -> Self {
        let (joined, changed, members) = (None, start - 1, vec![member]);
        Self(Rc::new(RefCell::new(State { joined, start, open, changed, before: blame, now: blame, members })))
    }

    fn root(&self) -> Rc<RefCell<State>> {
        let mut root = Rc::clone(&self.0);
        loop {
            let next = match &root.borrow().joined {
                Some(joined) => Rc::clone(&joined.0),
                None => break,
            };
            root = next;
        }
        root
    }

    /// Tells pipelines apart.
    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.root()) as usize
    }

    /// Makes one pipeline of this one and that of a value that it takes off a wire.
    pub fn join(&self, other: &Self) {
        let (root, other) = (self.root(), other.root());
        other.borrow_mut().open -= 1;
        if Rc::ptr_eq(&root, &other) {
            return;
        }
        // Events start before anything else happens in a cycle: what is known now is known to all who look in it.
        let (mut one, mut two) = (root.borrow_mut(), other.borrow_mut());
        let blame = one.now.stricter(two.now);
        let changed = one.changed.max(two.changed);
        one.start = one.start.min(two.start);
        one.open += two.open;
        (one.before, one.now, one.changed) = (blame, blame, changed);
        one.members.append(&mut two.members);
        two.joined = Some(Self(Rc::clone(&root)));
    }

    /// A constraint, known from cycle `time` on.
    pub fn constrain(&self, time: i64, blame: Blame) {
        let root = self.root();
        let mut state = root.borrow_mut();
        if state.changed < time {
            (state.before, state.changed) = (state.now, time);
        }
        state.now = state.now.stricter(blame);
    }

    /// Slack above which a constraint changes nothing.
    pub fn slack(&self) -> i64 {
        self.root().borrow().now.slack
    }

    /// What is known before cycle `time`.
    pub fn blame(&self, time: i64) -> Blame {
        let root = self.root();
        let state = root.borrow();
        if state.changed < time { state.now } else { state.before }
    }

    /// Start of the first event.
    pub fn start(&self) -> i64 {
        self.root().borrow().start
    }

    /// A value is put on a wire.
    pub fn hand_on(&self) {
        self.root().borrow_mut().open += 1;
    }

    /// An access is over: the events, if it was the last of all.
    pub fn done(&self) -> Option<(Vec<Member>, Blame)> {
        let root = self.root();
        let mut state = root.borrow_mut();
        state.open -= 1;
        (state.open == 0).then(|| (std::mem::take(&mut state.members), state.now))
    }

    /// Whether values on wires or accesses are still to come.
    pub fn is_open(&self) -> bool {
        self.root().borrow().open > 0
    }

    /// What happened some cycles ago now happens later by as many.
    pub fn advance(&self, cycles: i64) {
        let root = self.root();
        let mut state = root.borrow_mut();
        state.start += cycles;
        state.changed += cycles;
    }

    pub fn view(&self) -> View {
        let root = self.root();
        let state = root.borrow();
        View { start: state.start, open: state.open, blame: state.now, members: state.members.clone() }
    }
}
