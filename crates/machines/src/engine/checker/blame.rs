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
use std::cmp::{Ordering, Reverse};
use std::rc::Rc;

/// Stretches that a cause remembers; where there are more, the oldest count for what began before them all.
const DEPTH: usize = 10;

/// Events without a gap after which a unit is itself what others wait for, whatever it waited for before them.
pub(super) const LONG_RUN: u32 = 8;

/// The length of the last stretch. One of as many cycles or more counts as if it had no end: that keeps causes small.
const OPEN: u32 = u32::MAX;

/// What was waited for, backwards from the end of the wait, as stretches of cycles; the last stretch has no end, and those after it are like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    lengths: [u32; DEPTH],
    stalls: [Stall; DEPTH],
    count: u8,
}

impl Cause {
    pub fn always(stall: Stall) -> Self {
        Self { lengths: [OPEN; DEPTH], stalls: [stall; DEPTH], count: 1 }
    }

    fn count(&self) -> usize {
        usize::from(self.count)
    }

    fn stretches(&self) -> impl Iterator<Item = (Stall, u32)> {
        self.stalls.into_iter().zip(self.lengths).take(self.count())
    }

    /// Adds a stretch at the old end; the oldest counts for what is one too many.
    fn append(&mut self, stall: Stall, length: u32) {
        let last = self.count().saturating_sub(1);
        if self.count > 0 && self.stalls[last] == stall {
            self.lengths[last] = self.lengths[last].saturating_add(length);
        } else if self.count() < DEPTH {
            (self.stalls[self.count()], self.lengths[self.count()]) = (stall, length);
            self.count += 1;
        } else {
            (self.stalls[last], self.lengths[last]) = (stall, length);
            if last > 0 && self.stalls[last - 1] == stall {
                self.count -= 1;
            }
        }
    }

    /// Nothing yet, to be appended to and then closed.
    fn empty() -> Self {
        Self { count: 0, ..Self::always(Stall::Busy) }
    }

    /// The last stretch has no end, and what is unused compares equal.
    fn close(mut self) -> Self {
        let last = self.count() - 1;
        let stall = self.stalls[last];
        self.lengths[last..].fill(OPEN);
        self.stalls[last..].fill(stall);
        self
    }

    /// This cause, and after it `cycles` of waiting for `stall`.
    #[must_use]
    pub fn then(mut self, stall: Stall, cycles: i64) -> Self {
        if cycles <= 0 {
            return self;
        }
        let cycles = u32::try_from(cycles).unwrap_or(OPEN);
        if self.stalls[0] == stall {
            self.lengths[0] = self.lengths[0].saturating_add(cycles);
            return self;
        }
        if self.count() < DEPTH {
            self.stalls.copy_within(..DEPTH - 1, 1);
            self.lengths.copy_within(..DEPTH - 1, 1);
            (self.stalls[0], self.lengths[0]) = (stall, cycles);
            self.count += 1;
            return self;
        }
        let mut result = Self::empty();
        result.append(stall, cycles);
        self.stretches().for_each(|(stall, length)| result.append(stall, length));
        result.close()
    }

    /// With every stretch of `from` one of `to`.
    #[must_use]
    pub fn with(self, from: Stall, to: Stall) -> Self {
        if !self.stalls.contains(&from) {
            return self;
        }
        if self.count == 1 {
            return Self::always(to);
        }
        let mut result = Self::empty();
        for (stall, length) in self.stretches() {
            result.append(if stall == from { to } else { stall }, length);
        }
        result.close()
    }

    /// Charges the last `cycles` of the wait.
    fn charge(&self, mut cycles: i64, mut charge: impl FnMut(Stall, i64)) {
        for (stall, length) in self.stretches() {
            if cycles == 0 {
                return;
            }
            let part = if length == OPEN { cycles } else { cycles.min(i64::from(length)) };
            charge(stall, part);
            cycles -= part;
        }
    }
}

impl PartialOrd for Cause {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the latest stretch in which they differ.
impl Ord for Cause {
    fn cmp(&self, other: &Self) -> Ordering {
        let all = |cause: &Self| cause.stalls.into_iter().zip(cause.lengths);
        all(self).cmp(all(other)).then(self.count.cmp(&other.count))
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
        let rank = |blame: &Self| (blame.slack, Reverse(blame.cause.stalls[0].precedence()));
        let order = rank(&other).cmp(&rank(&self)).then_with(|| other.cause.cmp(&self.cause));
        if order.is_lt() { other } else { self }
    }
}

/// What the cycles of an event itself count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub busy: i64,
    pub unused: i64,
    /// Fed more slowly than the unit could work.
    pub upstream: i64,
}

/// One event of a pipeline, as far as the stalls go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Loop that it belongs to.
    pub instance: usize,
    /// Unit class, if it is accounted for.
    pub class: Option<usize>,
    pub work: Work,
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
        let mut tally = Tally::default();
        let Work { busy, unused, upstream } = self.work;
        tally.add(Stall::Busy, busy);
        tally.add(Stall::Unused, unused);
        tally.add(Stall::Upstream, upstream);
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
    first: Option<Member>,
    /// Those of pipelines that have become part of it.
    more: Vec<Member>,
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
        let (joined, changed, first, more) = (None, start - 1, Some(member), Vec::new());
        Self(Rc::new(RefCell::new(State { joined, start, open, changed, before: blame, now: blame, first, more })))
    }

    fn root(&self) -> Self {
        let mut root = self.clone();
        while let Some(next) = {
            let state = root.0.borrow();
            state.joined.clone()
        } {
            root = next;
        }
        root
    }

    /// What `look` sees of the pipeline that this one is part of.
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.0.borrow_mut();
        match state.joined.clone() {
            None => look(&mut state),
            Some(_) => {
                drop(state);
                look(&mut self.root().0.borrow_mut())
            }
        }
    }

    /// Tells pipelines apart.
    pub fn identity(&self) -> usize {
        if self.0.borrow().joined.is_none() {
            Rc::as_ptr(&self.0) as usize
        } else {
            Rc::as_ptr(&self.root().0) as usize
        }
    }

    /// Makes one pipeline of this one and that of a value that it takes off a wire.
    pub fn join(&self, other: &Self) {
        let (root, other) = (self.root(), other.root());
        other.0.borrow_mut().open -= 1;
        if Rc::ptr_eq(&root.0, &other.0) {
            return;
        }
        // Events start before anything else happens in a cycle: what is known now is known to all who look in it.
        let (mut one, mut two) = (root.0.borrow_mut(), other.0.borrow_mut());
        let blame = one.now.stricter(two.now);
        let changed = one.changed.max(two.changed);
        one.start = one.start.min(two.start);
        one.open += two.open;
        (one.before, one.now, one.changed) = (blame, blame, changed);
        one.more.extend(two.first.take());
        one.more.append(&mut two.more);
        two.joined = Some(root.clone());
    }

    /// A constraint, known from cycle `time` on.
    pub fn constrain(&self, time: i64, blame: Blame) {
        self.with(|state| {
            if state.changed < time {
                (state.before, state.changed) = (state.now, time);
            }
            state.now = state.now.stricter(blame);
        });
    }

    /// Slack above which a constraint changes nothing.
    pub fn slack(&self) -> i64 {
        self.with(|state| state.now.slack)
    }

    /// What is known before cycle `time`.
    pub fn blame(&self, time: i64) -> Blame {
        self.with(|state| if state.changed < time { state.now } else { state.before })
    }

    /// Start of the first event.
    pub fn start(&self) -> i64 {
        self.with(|state| state.start)
    }

    /// A value is put on a wire.
    pub fn hand_on(&self) {
        self.with(|state| state.open += 1);
    }

    /// An access is over. If it was the last of all, `each` is called with the events and what they waited for.
    pub fn done(&self, mut each: impl FnMut(&Member, &Blame)) {
        self.with(|state| {
            state.open -= 1;
            if state.open == 0 {
                state.first.take().iter().for_each(|member| each(member, &state.now));
                std::mem::take(&mut state.more).iter().for_each(|member| each(member, &state.now));
            }
        });
    }

    /// Whether values on wires or accesses are still to come.
    pub fn is_open(&self) -> bool {
        self.with(|state| state.open > 0)
    }

    /// What happened some cycles ago now happens later by as many.
    pub fn advance(&self, cycles: i64) {
        self.with(|state| (state.start, state.changed) = (state.start + cycles, state.changed + cycles));
    }

    pub fn view(&self) -> View {
        self.with(|state| {
            let members = state.first.iter().chain(&state.more).copied().collect();
            View { start: state.start, open: state.open, blame: state.now, members }
        })
    }
}
