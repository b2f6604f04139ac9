//! Attribution of waits: which constraint delayed an event, and which stall category is charged.
//!
//! Events that are linked by wires start together and form a [`Pipeline`]. It collects the earliest start that each
//! constraint on any of its events allowed. The binding constraint is the one with the least slack. The gap before each
//! event of the pipeline is charged to it once the whole pipeline is over.
//!
//! Waits chain: if a producer was itself delayed, its consumers are charged to the cause of that delay. So a [`Cause`]
//! is a list of stretches of cycles, backwards in time from the end of the wait.
//!
//! A query in cycle t sees only constraints known before t. So the result does not depend on the order in which the
//! replay handles the accesses of one cycle.

use crate::stalls::{Stall, Tally};
use std::cell::RefCell;
use std::cmp::{Ordering, Reverse};
use std::rc::Rc;

/// Maximum number of stretches in a cause. With more, the oldest one takes the last slot.
const DEPTH: usize = 10;

/// After this many events without a gap, a unit counts as the cause of a wait, whatever it waited for before.
pub(super) const LONG_RUN: u32 = 8;

/// Length of the last stretch: unlimited. Longer stretches saturate to it, which keeps causes small.
const OPEN: u32 = u32::MAX;

/// Why something waited: stretches of cycles, backwards from the end of the wait. The last stretch is unlimited, and
/// unused slots repeat it.
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

    /// Adds a stretch at the old end. If all slots are taken, it replaces the oldest stretch.
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

    /// An empty cause, to be filled by `append` and finished by `close`.
    fn empty() -> Self {
        Self { count: 0, ..Self::always(Stall::Busy) }
    }

    /// Makes the last stretch unlimited and fills the unused slots, so that equal causes compare equal.
    fn close(mut self) -> Self {
        let last = self.count() - 1;
        let stall = self.stalls[last];
        self.lengths[last..].fill(OPEN);
        self.stalls[last..].fill(stall);
        self
    }

    /// This cause, followed by `cycles` of waiting for `stall`.
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

    /// Replaces every stretch of `from` by one of `to`.
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

/// Ordered by the latest stretch in which they differ.
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
    /// Counts up to `cycles` of the slack as a wait for the unit: to drain before a change of mode, or so that no
    /// element overtakes another.
    #[must_use]
    pub fn behind(self, cycles: i64) -> Self {
        let cycles = cycles.clamp(0, self.slack);
        Self { slack: self.slack - cycles, cause: self.cause.then(Stall::FillDrain, cycles) }
    }

    /// The stricter of two constraints: the one that was satisfied last.
    pub fn stricter(self, other: Self) -> Self {
        let rank = |blame: &Self| (blame.slack, Reverse(blame.cause.stalls[0].precedence()));
        let order = rank(&other).cmp(&rank(&self)).then_with(|| other.cause.cmp(&self.cause));
        if order.is_lt() { other } else { self }
    }
}

/// How the cycles of an event itself are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub busy: i64,
    pub unused: i64,
    /// Cycles in which the unit was fed below its rate.
    pub upstream: i64,
}

/// One event of a pipeline, with the data for stall accounting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Running loop of the event.
    pub instance: usize,
    /// Unit class, if its stalls are counted.
    pub class: Option<usize>,
    pub work: Work,
    /// Idle cycles of the unit before the event.
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
    /// The pipeline into which this one was merged.
    joined: Option<Pipeline>,
    /// Start of its first event.
    start: i64,
    /// Accesses and values on wires that are outstanding.
    open: usize,
    /// Cycle of the last change of `now`. `before` holds the constraint known before that cycle.
    changed: i64,
    before: Blame,
    now: Blame,
    first: Option<Member>,
    /// Members of the pipelines merged into this one.
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
    /// Whether `later` equals this view, shifted by `cycles`.
    pub fn becomes(&self, later: &Self, cycles: i64) -> bool {
        self.start + cycles == later.start
            && self.open == later.open
            && self.blame == later.blame
            && self.members.len() == later.members.len()
            && self.members.iter().zip(&later.members).all(|(member, later)| member.same(later))
    }
}

impl Pipeline {
    /// A pipeline of one event that starts in cycle `start` and has `open` steps. `blame` is the constraint of its
    /// unit.
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

    /// Applies `look` to the pipeline into which this one was merged.
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

    /// A number that differs between pipelines.
    pub fn identity(&self) -> usize {
        if self.0.borrow().joined.is_none() {
            Rc::as_ptr(&self.0) as usize
        } else {
            Rc::as_ptr(&self.root().0) as usize
        }
    }

    /// Merges this pipeline with that of a value that it takes off a wire.
    pub fn join(&self, other: &Self) {
        let (root, other) = (self.root(), other.root());
        other.0.borrow_mut().open -= 1;
        if Rc::ptr_eq(&root.0, &other.0) {
            return;
        }
        // Within a cycle, events start before anything else. So constraints known now are visible to all queries of
        // this cycle.
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

    /// Adds a constraint that is known from cycle `time` on.
    pub fn constrain(&self, time: i64, blame: Blame) {
        self.with(|state| {
            if state.changed < time {
                (state.before, state.changed) = (state.now, time);
            }
            state.now = state.now.stricter(blame);
        });
    }

    /// A constraint with more slack than this changes nothing.
    pub fn slack(&self) -> i64 {
        self.with(|state| state.now.slack)
    }

    /// The binding constraint among those known before cycle `time`.
    pub fn blame(&self, time: i64) -> Blame {
        self.with(|state| if state.changed < time { state.now } else { state.before })
    }

    /// Start of the first event.
    pub fn start(&self) -> i64 {
        self.with(|state| state.start)
    }

    /// Counts a value that is put on a wire.
    pub fn hand_on(&self) {
        self.with(|state| state.open += 1);
    }

    /// Finishes one step. After the last one, calls `each` with every event and the binding constraint.
    pub fn done(&self, mut each: impl FnMut(&Member, &Blame)) {
        self.with(|state| {
            state.open -= 1;
            if state.open == 0 {
                state.first.take().iter().for_each(|member| each(member, &state.now));
                std::mem::take(&mut state.more).iter().for_each(|member| each(member, &state.now));
            }
        });
    }

    /// Whether accesses or values on wires are outstanding.
    pub fn is_open(&self) -> bool {
        self.with(|state| state.open > 0)
    }

    /// Shifts the pipeline later by `cycles`.
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
