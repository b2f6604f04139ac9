//! What the gaps of units waited for, as the checker of loops has it ([`super::super::blame`]): the constraint that was satisfied last,
//! and from there backwards what its maker waited for.

use crate::engine::checker::blame::{Blame, Cause, LONG_RUN, Member};
use crate::engine::checker::replay::work;
use crate::engine::schedule::{Event, Order, Resource, Resources, WaitCategory};
use crate::engine::stalls::{ClassStalls, Stall, Tally};

/// Who moved a value, as far as the waits of others go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor {
    pub blame: Blame,
    since: i64,
    own: Stall,
    streams: bool,
}

impl Accessor {
    /// What one waits for who waits for it until cycle `until`: `stall` while it is at work, and before that what it waited for itself.
    fn cause(&self, stall: Stall, until: i64) -> Cause {
        let busy = match (self.own, stall) {
            (Stall::Dependency, Stall::Buffer) => Stall::Buffer,
            (Stall::Dependency, _) => Stall::Upstream,
            (own, _) => own,
        };
        let Blame { slack, cause } = self.blame;
        cause.with(Stall::Busy, busy).then(Stall::Slack, slack).then(stall, until - self.since)
    }
}

/// Events of a unit without a gap.
#[derive(Clone, Copy, Debug)]
struct BusySpan {
    first: usize,
    blame: Blame,
    events: u32,
    cycles: i64,
}

/// An event, and what kept it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    member: Member,
    blame: Blame,
    resource: usize,
    number: usize,
    pipelined: bool,
}

/// See the module's documentation.
pub(super) struct Waits {
    names: Vec<String>,
    class_of: Vec<Option<usize>>,
    tallies: Vec<Tally>,
    /// Of every unit, until when it has been accounted for, and the events that follow one another up to there.
    until: Vec<Option<i64>>,
    runs: Vec<Option<BusySpan>>,
    waiting: Vec<Option<Waiting>>,
    writers: Vec<Option<Accessor>>,
    readers: Vec<Option<Accessor>>,
    started: usize,
}

impl Waits {
    pub fn new(resources: &Resources, primary_classes: &[String], cells: usize) -> Self {
        let class_of =
            |index: usize| primary_classes.iter().position(|class| class == resources.class(Resource(index as u32)));
        Self {
            names: primary_classes.to_vec(),
            class_of: (0..resources.len()).map(class_of).collect(),
            tallies: vec![Tally::default(); primary_classes.len()],
            until: vec![None; resources.len()],
            runs: vec![None; resources.len()],
            waiting: Vec::new(),
            writers: vec![None; cells],
            readers: vec![None; cells],
            started: 0,
        }
    }

    /// An event starts, `gap` cycles after its unit was free; so many of them it had to wait for what was in the unit.
    pub fn start(
        &mut self,
        resources: &Resources,
        event: &Event,
        index: usize,
        (gap, drained): (i64, i64),
        opens: bool,
        on_wire: bool,
    ) {
        let resource = event.resource.0 as usize;
        self.started += 1;
        let number = self.started;
        let cause = match (&self.runs[resource], opens) {
            (Some(run), _) => run.blame.cause.then(Stall::Slack, run.blame.slack).then(Stall::Busy, run.cycles),
            (None, _) => Cause::always(Stall::Busy),
        };
        let blame = Blame { slack: gap, cause }.behind(drained);
        let cycles = i64::from(event.occupancy);
        let again = !opens && gap == 0;
        self.runs[resource] = match self.runs[resource] {
            _ if on_wire => None,
            Some(run) if again => {
                (run.events < LONG_RUN).then(|| BusySpan { events: run.events + 1, cycles: run.cycles + cycles, ..run })
            }
            None if again => None,
            _ => Some(BusySpan { first: number, blame, events: 1, cycles }),
        };
        let class = self.class_of[resource];
        let own = if class.is_some() { work(resources, event) } else { Tally::default() };
        let member = Member { instance: 0, class, work: own, gap, opens };
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, None);
        }
        let unit = resources.units.get(resource);
        let pipelined = unit.is_some_and(|unit| unit.wait == WaitCategory::Pipeline);
        self.waiting[index] = Some(Waiting { member, blame, resource, number, pipelined });
        self.until[resource] = Some(event.start + cycles);
    }

    /// A constraint on an event.
    pub fn constrain(&mut self, index: usize, blame: Blame) {
        let Some(Some(waiting)) = self.waiting.get_mut(index) else { return };
        waiting.blame = waiting.blame.stricter(blame);
        if let Some(run) = self.runs[waiting.resource].as_mut().filter(|run| run.first == waiting.number) {
            run.blame = waiting.blame;
        }
    }

    fn slack(&self, index: usize) -> i64 {
        self.waiting[index].map_or(i64::MAX, |waiting| waiting.blame.slack)
    }

    /// An operand that would have allowed to start `slack` cycles before `start`.
    pub fn operand(&mut self, index: usize, writer: &Accessor, slack: i64, start: i64, streams: bool) {
        if slack > self.slack(index) {
            return;
        }
        let blame = match streams && writer.streams {
            true => {
                let Blame { slack: before, cause } = writer.blame;
                Blame { slack: slack + before, cause: cause.with(Stall::Busy, Stall::Upstream) }
            }
            false => Blame { slack, cause: writer.cause(writer.own, start - slack) },
        };
        self.constrain(index, blame);
    }

    /// A place that was free, as far as its readers and its writer go, so many cycles before it was needed.
    pub fn room(&mut self, index: usize, cell: usize, readers: i64, writers: i64, start: i64) {
        let slack = readers.min(writers);
        if slack > self.slack(index) {
            return;
        }
        let holder = if readers <= writers { &self.readers[cell] } else { &self.writers[cell] };
        if let Some(holder) = holder {
            let cause = holder.cause(Stall::Buffer, start - slack);
            self.constrain(index, Blame { slack, cause });
        }
    }

    /// Who the event is to others.
    pub fn accessor(&self, index: usize, own: Stall, since: i64, order: Order) -> Accessor {
        let (blame, pipelined) = match self.waiting[index] {
            Some(waiting) => (waiting.blame, waiting.pipelined),
            None => (Blame { slack: 0, cause: Cause::always(Stall::Busy) }, false),
        };
        Accessor { blame, since, own, streams: pipelined && order == Order::Stream }
    }

    pub fn writer(&self, cell: usize) -> Option<Accessor> {
        self.writers[cell]
    }

    pub fn read(&mut self, cell: usize, reader: Option<Accessor>) {
        self.readers[cell] = reader;
    }

    pub fn written(&mut self, cell: usize, writer: Option<Accessor>) {
        (self.writers[cell], self.readers[cell]) = (writer, None);
    }

    /// All of an event is done: its gap has its cause.
    pub fn over(&mut self, index: usize) {
        if let Some(Waiting { member, blame, .. }) = self.waiting[index].take()
            && let Some(class) = member.class
        {
            self.tallies[class].accumulate(&member.tally(&blame), 1);
        }
    }

    /// The stalls of a schedule of so many cycles.
    pub fn finish(self, resources: &Resources, cycles: i64) -> Vec<ClassStalls> {
        let class = |(class, name): (usize, &String)| {
            let mut tally = self.tallies[class];
            let units = (0..resources.len()).filter(|&index| self.class_of[index] == Some(class));
            let mut count = 0;
            for unit in units {
                count += 1;
                match self.until[unit] {
                    Some(until) => tally.add(Stall::FillDrain, cycles - until),
                    None => tally.add(Stall::Unused, cycles),
                }
            }
            ClassStalls { class: name.clone(), units: count, tally }
        };
        self.names.iter().enumerate().map(class).collect()
    }
}
