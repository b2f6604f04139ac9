//! The state that the replay carries from cycle to cycle, and how it looks one round later.

use crate::engine::schedule::{Shift, Value};
use crate::engine::stalls::Stall;

/// Before everything.
pub(super) const NEVER: i64 = i64::MIN / 4;

/// An event in the unrolled schedule, for messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Who {
    pub node: usize,
    pub start: i64,
    pub shift: Shift,
}

/// A move forward by some rounds of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    pub rounds: i64,
    pub cycles: i64,
    pub shift: Shift,
}

impl Advance {
    pub fn new(rounds: i64, period: i64, step: Shift) -> Self {
        Self { rounds, cycles: rounds * period, shift: Shift::default().advanced(step, rounds) }
    }
}

impl Who {
    pub fn advance(&mut self, by: &Advance) {
        self.start += by.cycles;
        self.shift = self.shift.advanced(by.shift, 1);
    }
}

/// What a consumer of a value waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A cause of its own: a transfer, the vector unit.
    For(Stall),
    /// A unit of the pipeline, which streams, with that unit's own cause, and the cycles by which the schedule alone
    /// delayed it.
    Stream(Stall, i64),
    /// A unit of the pipeline, whose result had to be complete first.
    Complete,
}

/// When a value is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ready {
    /// Cycles in which the first and last element are written.
    pub first: i64,
    pub last: i64,
    /// The same if no unit, buffer or channel were ever busy: the dependence path up to here.
    pub path_first: i64,
    pub path_last: i64,
    pub wait: Wait,
    pub who: Option<Who>,
}

impl Ready {
    /// An input, there from the beginning.
    pub const INPUT: Ready =
        Ready { first: NEVER, last: NEVER, path_first: NEVER, path_last: NEVER, wait: Wait::Complete, who: None };

    pub fn advance(&mut self, by: &Advance, path_step: i64) {
        self.first += by.cycles;
        self.last += by.cycles;
        self.path_first += by.rounds * path_step;
        self.path_last += by.rounds * path_step;
        if let Some(who) = &mut self.who {
            who.advance(by);
        }
    }

    /// Equal up to the path and the names in messages.
    fn same(&self, later: &Self, cycles: i64) -> bool {
        self.first + cycles == later.first && self.last + cycles == later.last && self.wait == later.wait
    }
}

/// One cell of a memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub value: Option<Value>,
    pub ready: Ready,
    /// Latest cycles in which the first and last element are read.
    pub read_first: i64,
    pub read_last: i64,
    pub reader: Option<Who>,
    /// The value before, for messages.
    pub previous: Option<Value>,
}

impl Cell {
    pub const EMPTY: Cell =
        Cell { value: None, ready: Ready::INPUT, read_first: NEVER, read_last: NEVER, reader: None, previous: None };

    /// Whether `later` is this cell one round on. `written`: the loop itself writes the cell.
    pub fn becomes(&self, later: &Self, written: bool, now: i64, one: &Advance) -> bool {
        let reads = |earlier: i64, later: i64| earlier == later && earlier == NEVER || earlier + one.cycles == later;
        self.value.map(|value| value.shifted(one.shift)) == later.value
            && reads(self.read_first, later.read_first)
            && reads(self.read_last, later.read_last)
            && if written {
                self.ready.same(&later.ready, one.cycles)
            } else {
                // Written before the loop: complete, and the same for every round.
                self.ready.same(&later.ready, 0) && self.ready.last < now
            }
    }

    pub fn advance(&mut self, written: bool, by: &Advance, path_step: i64) {
        self.value = self.value.map(|value| value.shifted(by.shift));
        self.previous = self.previous.map(|value| value.shifted(by.shift));
        if written {
            self.ready.advance(by, path_step);
        }
        if self.read_first != NEVER {
            self.read_first += by.cycles;
            self.read_last += by.cycles;
        }
        if let Some(reader) = &mut self.reader {
            reader.advance(by);
        }
    }
}

/// A unit or channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// Free from here on.
    pub until: i64,
    pub holder: Option<Who>,
}

/// An event that has started and whose accesses are not all done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub instance: usize,
    pub node: usize,
    pub start: i64,
    pub shift: Shift,
    /// Cycles that the unit was idle before.
    pub gap: i64,
    /// Whether it is the unit's first event.
    pub opens: bool,
    /// Earliest start that the constraints seen so far allow (first of all, the unit is free), and the cause of the last.
    pub forced: i64,
    pub cause: Stall,
    /// Start on the dependence path.
    pub path: i64,
    pub remaining: usize,
}

impl Flight {
    /// Cycles by which the event started later than it had to.
    pub fn slack(&self) -> i64 {
        self.start - self.forced
    }

    /// What the event waited for before it could start.
    pub fn stall(&self) -> Stall {
        match self.cause {
            Stall::Dependency | Stall::Upstream if self.opens => Stall::FillDrain,
            cause => cause,
        }
    }

    /// A constraint that allowed no start before `earliest`.
    pub fn constrain(&mut self, earliest: i64, cause: Stall) {
        if (earliest, cause.precedence()) > (self.forced, self.cause.precedence()) {
            (self.forced, self.cause) = (earliest, cause);
        }
    }

    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        self.node == later.node
            && self.start + one.cycles == later.start
            && self.gap == later.gap
            && self.opens == later.opens
            && self.forced + one.cycles == later.forced
            && self.cause == later.cause
            && self.remaining == later.remaining
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// A folded loop starts its last rounds.
    Resume,
    /// A loop starts a round.
    Round,
    /// An access is over: its ports are free again.
    Release,
    /// An event starts.
    Start,
    /// A read's first element.
    Read,
    /// A write's first element: after reads of the same cycle, which still see the old value.
    Write,
}

/// An entry of the agenda, in order of time, then phase, then position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Action {
    pub time: i64,
    pub phase: Phase,
    pub node: usize,
    /// Index of the access in the event.
    pub access: usize,
    /// Cycle at which the enclosing round started.
    pub base: i64,
    pub ciphertext: i64,
    pub iteration: i64,
    /// The loop's round, for [`Phase::Round`]; the freeze that it ends, for [`Phase::Resume`].
    pub round: u64,
    pub instance: usize,
    pub flight: usize,
}

impl Action {
    pub fn shift(&self) -> Shift {
        Shift { ciphertext: self.ciphertext, iteration: self.iteration }
    }

    pub fn advance(&mut self, by: &Advance) {
        self.time += by.cycles;
        self.base += by.cycles;
        self.ciphertext += by.shift.ciphertext;
        self.iteration += by.shift.iteration;
    }

    /// Equal apart from where the replay keeps its flight and loop.
    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        let mut moved = *self;
        moved.advance(one);
        moved.instance = later.instance;
        moved.flight = later.flight;
        moved == *later
    }
}
