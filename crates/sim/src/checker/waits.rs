//! Stall accounting: the [`Observer`] that finds the cause of each gap of a unit.

use super::blame::{Blame, Cause, LONG_RUN, Member, Pipeline, View, Work};
use super::observer::{Begin, Observer, Step, Wait};
use super::state::Busy;
use crate::schedule::{Access, Event, Order, Resource, Resources, Traffic, Value, WaitCategory};
use crate::stalls::{ClassStalls, Stall, Tally};
use std::collections::HashSet;

/// The writer or reader of a value, with the data to explain waits for it.
#[derive(Clone, Debug)]
pub(super) struct Accessor {
    pipeline: Pipeline,
    /// Start of the pipeline.
    since: i64,
    /// Stall category of a wait for its result.
    own: Stall,
    /// Whether it is a unit of a pipeline that moves the value as a stream. The consumer of a stream follows at a fixed
    /// distance.
    streams: bool,
}

impl Accessor {
    /// Cause of a wait for it until cycle `until`, as seen in cycle `time`. While it works, the cause is `stall`;
    /// before that, whatever delayed its start.
    fn cause(&self, stall: Stall, time: i64, until: i64) -> Cause {
        let Blame { slack, cause } = self.pipeline.blame(time);
        let busy = match (self.own, stall) {
            (Stall::Dependency, Stall::Buffer) => Stall::Buffer,
            (Stall::Dependency, _) => Stall::Upstream,
            (own, _) => own,
        };
        cause.with(Stall::Busy, busy).then(Stall::Slack, slack).then(stall, until - self.since)
    }
}

/// Events of a unit that follow one another without a gap.
#[derive(Clone, Debug)]
struct Run {
    first: Pipeline,
    events: u32,
    cycles: i64,
}

/// See the module's documentation.
pub(super) struct Waits {
    names: Vec<String>,
    /// For each resource, the index of its class in `names`, if its stalls are counted.
    classes: Vec<Option<usize>>,
    tallies: Vec<Tally>,
    /// For each running loop, the stalls of its events in this round, by class.
    rounds: Vec<Vec<Tally>>,
    /// For each resource, its current run of events without a gap. `None` for units of a pipeline, which start
    /// together, and for runs longer than [`LONG_RUN`].
    runs: Vec<Option<Run>>,
}

impl Waits {
    pub fn new(resources: &Resources, names: &[String]) -> Self {
        let class = |index: usize| names.iter().position(|name| name == resources.class(Resource(index as u32)));
        Self {
            names: names.to_vec(),
            classes: (0..resources.len()).map(class).collect(),
            tallies: vec![Tally::default(); names.len()],
            rounds: Vec::new(),
            runs: vec![None; resources.len()],
        }
    }

    /// Charges a class, in total and in the current round of every enclosing loop.
    fn charge(&mut self, of: (usize, usize), tally: &Tally, times: i64, parents: &dyn Fn(usize) -> Option<usize>) {
        let (mut instance, class) = of;
        self.tallies[class].accumulate(tally, times);
        while let Some(parent) = parents(instance) {
            if self.rounds.len() <= instance {
                self.rounds.resize(instance + 1, Vec::new());
            }
            let round = &mut self.rounds[instance];
            round.resize(self.tallies.len(), Tally::default());
            round[class].accumulate(tally, times);
            instance = parent;
        }
    }
}

impl Observer for Waits {
    type Mark = Accessor;
    type Flight = Pipeline;
    type Seen = (i64, Cause);
    type View = View;
    type Round = Vec<Tally>;

    fn begin(&mut self, begin: &Begin<'_>) -> Pipeline {
        let &Begin { resources, event, start, instance, busy, legal, on_wire } = begin;
        let resource = event.resource.0 as usize;
        let opens = busy.holder.is_none();
        let (class, gap) = (self.classes[resource], start - busy.until);
        let work = if class.is_some() { work(resources, event) } else { Work::default() };
        let (_, cause) = self.unit(resource, start);
        let blame = Blame { slack: gap, cause }.behind(legal - busy.until);
        // The start counts as a step, so that an event without accesses ends too.
        let steps = event.reads.len() + event.writes.len() + 1;
        let pipeline = Pipeline::new(start, steps, Member { instance, class, work, gap, opens }, blame);
        let cycles = i64::from(event.occupancy);
        let again = !opens && gap == 0;
        let first = || Some(Run { first: pipeline.clone(), events: 1, cycles });
        self.runs[resource] = match self.runs[resource].take() {
            _ if on_wire => None,
            Some(run) if again => {
                (run.events < LONG_RUN).then(|| Run { events: run.events + 1, cycles: run.cycles + cycles, ..run })
            }
            None if again => None,
            _ => first(),
        };
        pipeline
    }

    fn take(&mut self, flight: &Pipeline, writer: &Accessor) {
        flight.join(&writer.pipeline);
    }

    fn hand_on(&mut self, flight: &Pipeline) {
        flight.hand_on();
    }

    fn mark(&self, flight: &Pipeline, resources: &Resources, resource: Resource, access: &Access) -> Accessor {
        let unit = resources.units.get(resource.0 as usize);
        let pipelined = unit.is_some_and(|unit| unit.wait == WaitCategory::Pipeline);
        let own = waited_for(resources, resource, access.value);
        let streams = pipelined && access.order == Order::Stream;
        Accessor { since: flight.start(), pipeline: flight.clone(), own, streams }
    }

    fn operand(&mut self, flight: &Pipeline, writer: &Accessor, wait: &Wait) -> Option<Self::Seen> {
        let &Wait { time, start, slack, streams } = wait;
        if slack > flight.slack() {
            return None;
        }
        let blame = if streams && writer.streams {
            let Blame { slack: before, cause } = writer.pipeline.blame(time);
            Blame { slack: slack + before, cause: cause.with(Stall::Busy, Stall::Upstream) }
        } else {
            Blame { slack, cause: writer.cause(writer.own, time, start - slack) }
        };
        flight.constrain(time, blame);
        Some((blame.slack, blame.cause))
    }

    fn room(&mut self, flight: &Pipeline, holder: &Accessor, wait: &Wait) {
        let &Wait { time, start, slack, .. } = wait;
        // Reads by the event's own pipeline do not delay its write.
        if slack <= flight.slack() && holder.pipeline.identity() != flight.identity() {
            let cause = holder.cause(Stall::Buffer, time, start - slack);
            flight.constrain(time, Blame { slack, cause });
        }
    }

    fn step(&mut self, step: Step<'_, Pipeline>, over: &mut Vec<usize>) {
        step.flight.done(|member, blame| {
            if let Some(class) = member.class {
                self.charge((member.instance, class), &member.tally(blame), 1, step.parents);
            }
            over.push(member.instance);
        });
    }

    fn forget(&mut self, instance: usize) {
        if let Some(round) = self.rounds.get_mut(instance) {
            *round = Vec::new();
        }
    }

    fn unit(&self, resource: usize, time: i64) -> Self::Seen {
        let cause = self.runs[resource].as_ref().map_or(Cause::always(Stall::Busy), |run| {
            let Blame { slack, cause } = run.first.blame(time);
            cause.then(Stall::Slack, slack).then(Stall::Busy, run.cycles)
        });
        (0, cause)
    }

    fn seen(&self, mark: &Accessor, time: i64) -> Self::Seen {
        let Blame { slack, cause } = mark.pipeline.blame(time);
        (slack, cause)
    }

    fn view(&self, flight: &Pipeline) -> View {
        flight.view()
    }

    fn repeats(view: &View, later: &View, cycles: i64) -> bool {
        view.becomes(later, cycles)
    }

    fn marks_alike(mark: &Accessor, later: &Accessor, cycles: i64) -> bool {
        mark.since + cycles == later.since && mark.own == later.own && mark.streams == later.streams
    }

    fn move_mark(mark: &mut Accessor, cycles: i64) {
        mark.since += cycles;
    }

    fn move_events<'f>(
        &mut self,
        flights: impl Iterator<Item = &'f Pipeline>,
        writers: impl Iterator<Item = &'f Accessor>,
        cycles: i64,
    ) {
        let open = writers.map(|writer| &writer.pipeline).filter(|pipeline| pipeline.is_open());
        let mut moved = HashSet::new();
        for pipeline in flights.chain(open) {
            if moved.insert(pipeline.identity()) {
                pipeline.advance(cycles);
            }
        }
    }

    fn begin_round(&mut self, instance: usize) {
        self.forget(instance);
    }

    fn round(&self, instance: usize) -> Vec<Tally> {
        self.rounds.get(instance).cloned().unwrap_or_default()
    }

    fn book(&mut self, instance: usize, round: &Vec<Tally>, rounds: i64, parents: &dyn Fn(usize) -> Option<usize>) {
        for (class, tally) in round.iter().enumerate() {
            self.charge((instance, class), tally, rounds, parents);
        }
    }

    fn finish(self, busy: &[Busy], cycles: i64) -> Vec<ClassStalls> {
        let Self { names, classes, tallies, .. } = self;
        let class = |(class, (name, mut tally)): (usize, (String, Tally))| {
            let units = busy.iter().zip(&classes).filter(|&(_, own)| *own == Some(class)).map(|(busy, _)| busy);
            let mut count = 0;
            for unit in units {
                count += 1;
                match unit.holder {
                    Some(_) => tally.add(Stall::FillDrain, cycles - unit.until),
                    None => tally.add(Stall::Unused, cycles),
                }
            }
            ClassStalls { class: name, units: count, tally }
        };
        names.into_iter().zip(tallies).enumerate().map(class).collect()
    }
}

/// How the cycles of an event itself are counted.
fn work(resources: &Resources, event: &Event) -> Work {
    let cycles = |parts| resources.cycles_on(event.resource, event.op.kind, event.work, parts).max(1) as i64;
    let whole = cycles(u32::MAX);
    let all = resources.kinds[usize::from(event.op.kind.0)].parts == event.parts;
    let taken = if all { whole } else { cycles(event.parts) };
    let rest = i64::from(event.occupancy) - taken;
    // A vector unit that is not full has idle lanes; any other unit is fed below its rate.
    let unit = resources.units.get(event.resource.0 as usize);
    match unit.is_some_and(|unit| unit.wait == WaitCategory::VectorUnit) {
        true => Work { busy: whole, unused: taken - whole + rest, upstream: 0 },
        false => Work { busy: whole, unused: taken - whole, upstream: rest },
    }
}

/// Stall category of a wait for `value` from a unit or channel.
fn waited_for(resources: &Resources, resource: Resource, value: Value) -> Stall {
    match resources.units.get(resource.0 as usize).map(|unit| unit.wait) {
        None => match resources.value_classes[value.class.0 as usize].traffic {
            Traffic::BootstrapKey => Stall::BootstrapKey,
            Traffic::KeySwitchKey => Stall::KeySwitchKey,
            Traffic::Ciphertexts | Traffic::Tables | Traffic::Instructions => Stall::Transfer,
        },
        Some(WaitCategory::Pipeline) => Stall::Dependency,
        Some(WaitCategory::VectorUnit) => Stall::VectorUnit,
        Some(WaitCategory::Network) => Stall::Transfer,
    }
}
