//! The state that the replay carries from cycle to cycle, and how it looks one round later.

use super::blame::{Blame, Cause, LONG_RUN, Pipeline};
use super::content::{Content, NEVER};
use crate::engine::schedule::{Shift, Value};
use crate::engine::stalls::Stall;

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

/// Who moved a value, as far as the waits of others go.
#[derive(Clone, Debug)]
pub(super) struct Accessor {
    pub pipeline: Pipeline,
    /// Start of the pipeline.
    pub since: i64,
    /// What it is for one who waits for a result of it.
    pub own: Stall,
    /// Whether it is a unit of a pipeline that moves the value as a stream: who takes the stream follows at a fixed distance.
    pub streams: bool,
}

impl Accessor {
    /// What one waits for who waits for it until cycle `until`, seen in cycle `time`: `stall` while it is at work, and before
    /// that what it waited for itself.
    pub fn cause(&self, stall: Stall, time: i64, until: i64) -> Cause {
        let Blame { slack, cause } = self.pipeline.blame(time);
        let busy = match (self.own, stall) {
            (Stall::Dependency, Stall::Buffer) => Stall::Buffer,
            (Stall::Dependency, _) => Stall::Upstream,
            (own, _) => own,
        };
        cause.with(Stall::Busy, busy).then(Stall::Slack, slack).then(stall, until - self.since)
    }

    fn becomes(&self, later: &Self, cycles: i64) -> bool {
        self.since + cycles == later.since && self.own == later.own && self.streams == later.streams
    }
}

/// When a value is written.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    /// Cycles in which the first and last element are written.
    pub first: i64,
    pub last: i64,
    /// The same if no unit, buffer or channel were ever busy: the dependence path up to here.
    pub path_first: i64,
    pub path_last: i64,
    /// By whom; nobody for inputs.
    pub writer: Option<Accessor>,
    pub who: Option<Who>,
}

impl Ready {
    /// An input, there from the beginning.
    pub const INPUT: Ready =
        Ready { first: NEVER, last: NEVER, path_first: NEVER, path_last: NEVER, writer: None, who: None };

    pub fn advance(&mut self, by: &Advance, path_step: i64) {
        self.first += by.cycles;
        self.last += by.cycles;
        self.path_first += by.rounds * path_step;
        self.path_last += by.rounds * path_step;
        if let Some(writer) = &mut self.writer {
            writer.since += by.cycles;
        }
        if let Some(who) = &mut self.who {
            who.advance(by);
        }
    }

    /// Equal up to the path, the names in messages, and what the writer's pipeline waited for.
    fn same(&self, later: &Self, cycles: i64) -> bool {
        self.first + cycles == later.first
            && self.last + cycles == later.last
            && match (&self.writer, &later.writer) {
                (Some(writer), Some(later)) => writer.becomes(later, cycles),
                (None, None) => true,
                _ => false,
            }
    }
}

/// One cell of a memory.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub value: Option<Value>,
    pub ready: Ready,
    /// Latest cycles in which the first and last element are read, and by whom the last.
    pub read_first: i64,
    pub read_last: i64,
    pub reader: Option<Accessor>,
    pub reads: Option<Who>,
    /// The value before, for messages.
    pub previous: Option<Value>,
}

impl Cell {
    pub const EMPTY: Cell = Cell {
        value: None,
        ready: Ready::INPUT,
        read_first: NEVER,
        read_last: NEVER,
        reader: None,
        reads: None,
        previous: None,
    };

    /// What the writer and the reader waited for, as known at the start of cycle `time`.
    pub fn blames(&self, time: i64) -> [Option<Blame>; 2] {
        [&self.ready.writer, &self.reader]
            .map(|accessor| accessor.as_ref().map(|accessor| accessor.pipeline.blame(time)))
    }

    /// Whether `later` is this cell one round on. `written`: the loop itself writes the cell.
    pub fn becomes(&self, later: &Self, written: bool, now: i64, one: &Advance) -> bool {
        let reads = |earlier: i64, later: i64| earlier == later && earlier == NEVER || earlier + one.cycles == later;
        self.value.map(|value| value.shifted(one.shift)) == later.value
            && reads(self.read_first, later.read_first)
            && reads(self.read_last, later.read_last)
            && match (&self.reader, &later.reader) {
                (Some(reader), Some(next)) => {
                    reader.becomes(next, if self.read_last == later.read_last { 0 } else { one.cycles })
                }
                (None, None) => true,
                _ => false,
            }
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
            if let Some(reader) = &mut self.reader {
                reader.since += by.cycles;
            }
        }
        if let Some(reads) = &mut self.reads {
            reads.advance(by);
        }
    }
}

/// A unit or channel.
#[derive(Clone, Debug)]
pub(super) struct Busy {
    /// Free from here on.
    pub until: i64,
    pub holder: Option<Who>,
    /// What is still in it, if it has modes.
    pub content: Content,
    /// The events that follow one another without a gap up to now; none for units of a pipeline, which move with the others
    /// of it, and none where they are too many to matter.
    pub run: Option<BusySpan>,
}

/// Events of a unit without a gap.
#[derive(Clone, Debug)]
pub(super) struct BusySpan {
    pub first: Pipeline,
    pub events: u32,
    pub cycles: i64,
}

impl Busy {
    /// The run with one more event, of `pipeline`, which starts in cycle `start` and takes `cycles`.
    pub fn run_on(self, start: i64, cycles: i64, pipeline: &Pipeline) -> Option<BusySpan> {
        let again = self.holder.is_some() && self.until == start;
        match self.run {
            Some(run) if again => {
                (run.events < LONG_RUN).then(|| BusySpan { events: run.events + 1, cycles: run.cycles + cycles, ..run })
            }
            None if again => None,
            _ => Some(BusySpan { first: pipeline.clone(), events: 1, cycles }),
        }
    }

    /// What one waits for in cycle `time` who waits for the unit.
    pub fn cause(&self, time: i64) -> Cause {
        match &self.run {
            Some(run) => {
                let Blame { slack, cause } = run.first.blame(time);
                cause.then(Stall::Slack, slack).then(Stall::Busy, run.cycles)
            }
            None => Cause::always(Stall::Busy),
        }
    }
}

/// An event that has started and whose accesses are not all done.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub node: usize,
    pub start: i64,
    pub shift: Shift,
    /// Start on the dependence path.
    pub path: i64,
    /// Accesses still to come.
    pub remaining: usize,
    /// Events that start together with it.
    pub pipeline: Pipeline,
}

impl InFlight {
    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        self.node == later.node && self.start + one.cycles == later.start && self.remaining == later.remaining
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
    /// What the enclosing rounds add to numbers.
    pub shift: Shift,
    /// The loop's round, for [`Phase::Round`]; the freeze that it ends, for [`Phase::Resume`].
    pub round: u64,
    pub instance: usize,
    pub in_flight: usize,
}

impl Action {
    pub fn advance(&mut self, by: &Advance) {
        self.time += by.cycles;
        self.base += by.cycles;
        self.shift = self.shift.advanced(by.shift, 1);
    }

    /// Equal apart from where the replay keeps its event and loop.
    pub fn becomes(&self, later: &Self, one: &Advance) -> bool {
        let mut moved = *self;
        moved.advance(one);
        moved.instance = later.instance;
        moved.in_flight = later.in_flight;
        moved == *later
    }
}
