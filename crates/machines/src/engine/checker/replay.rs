//! The replay: one pass over the schedule in order of time, which holds every start, read and write against the state that
//! all earlier ones have left.

use super::agenda::Agenda;
use super::blame::{Blame, Cause, Member, Pipeline};
use super::content::Content;
use super::content::NEVER;
use super::plan::{AccessPlan, Node, Plan};
use super::state::{Accessor, Action, Busy, Cell, InFlight, Phase, Ready, Who};
use super::violation::Violation;
use crate::engine::schedule::{
    Event, MemoryKind, Order, Resource, Resources, Schedule, Shift, Traffic, Value, WaitCategory,
};
use crate::engine::stalls::{Stall, Tally};
use polyfabric_kernels::cancel;
use std::collections::HashMap;
use std::rc::Rc;

/// One running loop: a repeat within one round of its parent. Instance 0 is the top of the schedule.
pub(super) struct Instance {
    pub node: usize,
    pub parent: Option<usize>,
    /// Start of round 0.
    pub base: i64,
    pub shift: Shift,
    /// Entries of the agenda that belong to it, and running inner loops.
    pub pending: usize,
    /// Port loads of the accesses under way, and their largest values in this round.
    pub loads: Vec<u64>,
    pub peaks: Vec<u64>,
    /// Stalls of its events in this round, for each primary class.
    pub tallies: Vec<Tally>,
    /// What its events did with memories that are addressed by value, in this round.
    pub log: Vec<ByValue>,
    /// Whether anything outside touched its units or cells in this round.
    pub disturbed: bool,
    pub snapshot: Option<super::fold::Snapshot>,
    pub frozen: Option<super::fold::Frozen>,
}

/// An access to a memory that is addressed by value.
#[derive(Clone, Debug)]
pub(super) struct ByValue {
    pub write: bool,
    pub memory: usize,
    pub value: Value,
    /// Of a write: when. Of a read: the cycles of its first and last element.
    pub ready: Ready,
    /// Of a read: what it would have allowed.
    pub blame: Option<Blame>,
}

pub(super) struct Replay<'a> {
    /// Shared, so that an access can be looked at while the state changes.
    pub plan: Rc<Plan<'a>>,
    pub schedule: &'a Schedule,
    pub agenda: Agenda,
    pub busy: Vec<Busy>,
    pub cells: Vec<Cell>,
    pub by_value: HashMap<(usize, Value), Ready>,
    pub loads: Vec<u64>,
    pub in_flight: Vec<Option<InFlight>>,
    pub free_indices: Vec<usize>,
    pub instances: Vec<Instance>,
    pub free_instances: Vec<usize>,
    pub running: Vec<usize>,
    /// Index into `tallies` of a resource's class, if the class is accounted for.
    pub primary: Vec<Option<usize>>,
    /// Whether any class is: without one, nobody asks for causes.
    accounts: bool,
    pub tallies: Vec<Tally>,
    pub critical_path: i64,
    pub expanded: u64,
    pub fold: bool,
    pub freezes: u64,
}

/// A result of one step: the action must wait because a folded loop resumed before it.
type Step = Result<bool, Violation>;
const DONE: Step = Ok(true);
const AGAIN: Step = Ok(false);

impl<'a> Replay<'a> {
    pub fn new(schedule: &'a Schedule, plan: Plan<'a>, primary_classes: &[String], fold: bool) -> Self {
        let resources = plan.resources;
        let class_of = |index: usize| resources.class(Resource(index as u32));
        let primary = (0..resources.len())
            .map(|index| primary_classes.iter().position(|class| class == class_of(index)))
            .collect();
        let (cells, ports) = (plan.cells.len(), plan.ports.len());
        let mut replay = Self {
            schedule,
            agenda: Agenda::new(),
            busy: vec![Busy { until: 0, holder: None, content: Content::NONE, run: None }; resources.len()],
            cells: vec![Cell::EMPTY; cells],
            by_value: HashMap::new(),
            loads: vec![0; ports],
            in_flight: Vec::new(),
            free_indices: Vec::new(),
            instances: Vec::new(),
            free_instances: Vec::new(),
            running: Vec::new(),
            primary,
            accounts: !primary_classes.is_empty(),
            tallies: vec![Tally::default(); primary_classes.len()],
            critical_path: 0,
            expanded: 0,
            fold,
            freezes: 0,
            plan: Rc::new(plan),
        };
        let root = replay.instance(usize::MAX, None, 0, Shift::default());
        replay.items(replay.plan.top.start, root, 0, Shift::default());
        replay
    }

    /// Replays everything.
    pub fn run(&mut self) -> Result<(), Violation> {
        while let Some(action) = self.agenda.pop() {
            cancel::check();
            let done = match action.phase {
                Phase::Resume => {
                    let frozen = self.instances[action.instance].frozen.as_ref();
                    if frozen.is_some_and(|frozen| frozen.id == action.round) {
                        self.thaw(action.instance, action.time)?;
                    }
                    continue;
                }
                Phase::Round => self.round(&action)?,
                Phase::Release => {
                    self.release(&action);
                    true
                }
                Phase::Start => self.start(&action)?,
                Phase::Read => self.read(&action)?,
                Phase::Write => self.write(&action)?,
            };
            if done {
                self.after(&action);
                self.settle(action.instance);
            } else {
                self.agenda.push(action);
            }
        }
        // What is on a wire at the end passes nobody.
        let wires = self.plan.ends_of_wires().find(|&cell| {
            let state = &self.cells[cell];
            state.value.is_some() && state.read_first == NEVER
        });
        wires.map_or(Ok(()), |cell| Err(self.passed_by(cell)))
    }

    pub fn instance(&mut self, node: usize, parent: Option<usize>, base: i64, shift: Shift) -> usize {
        let ports = self.plan.ports.len();
        let instance = Instance {
            node,
            parent,
            base,
            shift,
            pending: 0,
            loads: vec![0; ports],
            peaks: vec![0; ports],
            tallies: vec![Tally::default(); self.tallies.len()],
            log: Vec::new(),
            disturbed: false,
            snapshot: None,
            frozen: None,
        };
        if let Some(parent) = parent {
            self.instances[parent].pending += 1;
        }
        let index = match self.free_instances.pop() {
            Some(index) => {
                self.instances[index] = instance;
                index
            }
            None => {
                self.instances.push(instance);
                self.instances.len() - 1
            }
        };
        if parent.is_some() {
            self.running.push(index);
        }
        index
    }

    fn push(&mut self, action: Action) {
        self.instances[action.instance].pending += 1;
        self.agenda.push(action);
    }

    /// One entry of an instance is done; loops without any are over.
    fn settle(&mut self, mut instance: usize) {
        loop {
            let state = &mut self.instances[instance];
            state.pending -= 1;
            let Some(parent) = state.parent.filter(|_| state.pending == 0) else { return };
            self.running.retain(|&running| running != instance);
            self.free_instances.push(instance);
            instance = parent;
        }
    }

    /// Puts the items of a round from `node` on on the agenda: one, which brings the next when it begins ([`Self::after`]), as
    /// they are in the order of time.
    fn items(&mut self, node: usize, instance: usize, base: i64, shift: Shift) {
        let of_round = match self.plan.nodes.get(self.instances[instance].node) {
            Some(Node::Repeat(own)) => &own.children,
            _ => &self.plan.top,
        };
        if !of_round.contains(&node) {
            return;
        }
        let (time, phase) = (base, Phase::Start);
        let mut action = Action { time, phase, node, access: 0, base, shift, round: 0, instance, in_flight: 0 };
        match &self.plan.nodes[node] {
            Node::Event { event, .. } => action.time += event.start,
            Node::Repeat(inner) => {
                action.base += inner.repeat.start;
                action.time = action.base + inner.earliest;
                action.phase = Phase::Round;
                action.instance = self.instance(node, Some(instance), action.base, shift);
            }
        }
        self.push(action);
    }

    /// An item of a round has begun: the next one of that round goes on the agenda.
    fn after(&mut self, action: &Action) {
        match (action.phase, &self.plan.nodes[action.node]) {
            (Phase::Start, _) => self.items(action.node + 1, action.instance, action.base, action.shift),
            (Phase::Round, Node::Repeat(inner)) if action.round == 0 => {
                let Instance { parent: Some(parent), shift, .. } = self.instances[action.instance] else { return };
                self.items(action.node + 1, parent, action.base - inner.repeat.start, shift);
            }
            _ => {}
        }
    }

    fn round(&mut self, action: &Action) -> Step {
        let Node::Repeat(own) = &self.plan.nodes[action.node] else { return DONE };
        let (repeat, first, instance) = (own.repeat, own.children.start, action.instance);
        if self.fold && !self.fold_at(action, repeat)? {
            return AGAIN;
        }
        if self.instances[instance].frozen.is_some() {
            // The agenda entry lives on in the folded loop.
            self.instances[instance].pending += 1;
            return DONE;
        }
        let shift = repeat.shift_of(self.instances[instance].shift, action.round);
        self.items(first, instance, action.base, shift);
        if action.round + 1 < repeat.count {
            let period = repeat.period as i64;
            let next =
                Action { time: action.time + period, base: action.base + period, round: action.round + 1, ..*action };
            self.push(next);
        }
        DONE
    }

    /// Whether `instance` is `ancestor` or runs inside it.
    pub fn within(&self, instance: usize, ancestor: usize) -> bool {
        within(&self.instances, instance, ancestor)
    }

    /// Tells loops that do not contain `instance` that something of theirs is touched. Folded ones resume: then `false`.
    fn disturb(&mut self, instance: usize, time: i64, resource: Option<usize>, cells: std::ops::Range<usize>) -> Step {
        for position in 0..self.running.len() {
            let other = self.running[position];
            let running = &self.instances[other];
            // It is known already.
            if running.disturbed && running.frozen.is_none() {
                continue;
            }
            let Node::Repeat(inner) = &self.plan.nodes[running.node] else { continue };
            let footprint = &inner.footprint;
            let touched = resource.is_some_and(|resource| footprint.resources.contains(resource))
                || footprint.cells.contains_any(cells.clone());
            if !touched || self.within(instance, other) {
                continue;
            }
            if self.instances[other].frozen.is_some() {
                self.thaw(other, time)?;
                return AGAIN;
            }
            self.instances[other].disturbed = true;
        }
        DONE
    }

    fn start(&mut self, action: &Action) -> Step {
        let nodes = Rc::clone(&self.plan);
        let node = &nodes.nodes[action.node];
        let (Node::Event { event, .. }, accesses) = (node, nodes.accesses_of(node)) else { return DONE };
        let resource = event.resource.0 as usize;
        if !self.disturb_by(action, resource, accesses)? {
            return AGAIN;
        }
        let who = Who { node: action.node, start: action.time, shift: action.shift };
        let busy = self.busy[resource].clone();
        let legal = self.legal_start(who, event, &busy)?;
        self.expanded += 1;
        let pipeline = self.open(action, event, &busy, legal);
        let occupancy = i64::from(event.occupancy);
        let alone = accesses.iter().all(|plan| !plan.on_wire);
        let content = busy.content.with(nodes.kind(event), event, action.time);
        let run = if alone { busy.run_on(action.time, occupancy, &pipeline) } else { None };
        self.busy[resource] = Busy { until: action.time + occupancy, holder: Some(who), content, run };
        self.join_writers(&pipeline, accesses, action.shift);
        let index = self.fly(InFlight {
            node: action.node,
            start: action.time,
            shift: action.shift,
            path: 0,
            remaining: accesses.len(),
            pipeline: pipeline.clone(),
        });
        for (access, plan) in accesses.iter().enumerate() {
            let phase = if plan.write { Phase::Write } else { Phase::Read };
            let time = action.time + i64::from(plan.access.first);
            self.push(Action { time, phase, access, in_flight: index, ..*action });
        }
        self.critical_path = self.critical_path.max(occupancy);
        if accesses.is_empty() {
            self.in_flight[index] = None;
            self.free_indices.push(index);
        }
        self.step(&pipeline);
        DONE
    }

    /// Tells the loops around that an event starts on `resource` and reads the wires among `accesses`; `false` where a folded one resumed.
    fn disturb_by(&mut self, action: &Action, resource: usize, accesses: &[AccessPlan<'_>]) -> Step {
        if !self.disturb(action.instance, action.time, Some(resource), 0..0)? {
            return AGAIN;
        }
        for plan in from_wires(accesses) {
            if !self.disturb(action.instance, action.time, None, plan.cells())? {
                return AGAIN;
            }
        }
        DONE
    }

    /// The first cycle in which the unit's content lets the event start, which is free by then.
    fn legal_start(&self, who: Who, event: &Event, busy: &Busy) -> Result<i64, Violation> {
        if who.start < busy.until {
            return Err(self.unit_busy(who, busy));
        }
        let kind = self.plan.kind(event);
        let legal = busy.content.legal_start(kind);
        if who.start < legal { Err(self.not_empty(who, busy, kind)) } else { Ok(legal) }
    }

    /// The pipeline that an event opens, with what its unit waited for until now.
    fn open(&mut self, action: &Action, event: &Event, busy: &Busy, legal: i64) -> Pipeline {
        let member = Member {
            instance: action.instance,
            class: self.primary[event.resource.0 as usize],
            work: work(self.plan.resources, event),
            gap: action.time - busy.until,
            opens: busy.holder.is_none(),
        };
        self.instances[action.instance].pending += 1;
        let cause = if self.accounts { busy.cause(action.time) } else { Cause::always(Stall::Busy) };
        let busy_before = Blame { slack: member.gap, cause };
        let blame = busy_before.behind(legal - busy.until);
        // The start is one step of the event's own: an event without any access is done with it.
        let steps = event.reads.len() + event.writes.len() + 1;
        Pipeline::new(action.time, steps, member, blame)
    }

    /// Makes a pipeline one with those that write to the wires from which its event reads.
    fn join_writers(&self, pipeline: &Pipeline, accesses: &[AccessPlan<'_>], shift: Shift) {
        for plan in from_wires(accesses) {
            let cell = &self.cells[plan.cells().start];
            // Anything else is an error that the read will find.
            if let Some(writer) = &cell.ready.writer
                && cell.read_first == NEVER
                && cell.value == Some(plan.access.value.shifted(shift))
            {
                pipeline.join(&writer.pipeline);
            }
        }
    }

    /// Keeps an event under way, and gives its index.
    fn fly(&mut self, event: InFlight) -> usize {
        match self.free_indices.pop() {
            Some(index) => {
                self.in_flight[index] = Some(event);
                index
            }
            None => {
                self.in_flight.push(Some(event));
                self.in_flight.len() - 1
            }
        }
    }

    /// One step of a pipeline is over; after the last, its gaps have their cause.
    fn step(&mut self, pipeline: &Pipeline) {
        let Some((members, blame)) = pipeline.done() else { return };
        for member in members {
            if let Some(class) = member.class {
                self.tally(member.instance, class, &member.tally(&blame), 1);
            }
            self.settle(member.instance);
        }
    }

    /// Charges a class, in total and in the round of every enclosing loop.
    pub fn tally(&mut self, instance: usize, class: usize, tally: &Tally, times: i64) {
        self.tallies[class].accumulate(tally, times);
        let mut next = Some(instance);
        while let Some(index) = next {
            self.instances[index].tallies[class].accumulate(tally, times);
            next = self.instances[index].parent;
        }
    }

    /// Loads the ports for the duration of an access. `false` if a folded loop had to resume first.
    fn load(&mut self, action: &Action, plan: &AccessPlan) -> Step {
        let load = plan.load();
        for port in plan.ports() {
            let capacity = self.plan.ports[port].capacity;
            if self.loads[port].saturating_add(load) <= capacity {
                continue;
            }
            // A folded loop counts with its largest load; replayed, it may leave room just now.
            let loaded = |&i: &usize| self.instances[i].frozen.as_ref().is_some_and(|frozen| frozen.peaks[port] > 0);
            if let Some(instance) = self.running.iter().copied().find(loaded) {
                self.thaw(instance, action.time)?;
                return AGAIN;
            }
            return Err(self.port_overloaded(action, plan, port, self.loads[port].saturating_add(load)));
        }
        for port in plan.ports() {
            self.loads[port] += load;
            let mut next = Some(action.instance);
            while let Some(index) = next {
                let instance = &mut self.instances[index];
                instance.loads[port] += load;
                instance.peaks[port] = instance.peaks[port].max(instance.loads[port]);
                next = instance.parent;
            }
        }
        if plan.ports().next().is_some() {
            let start = action.time - i64::from(plan.access.first);
            let time = start + i64::from(plan.access.last) + 1;
            self.push(Action { time, phase: Phase::Release, ..*action });
        }
        DONE
    }

    fn release(&mut self, action: &Action) {
        let nodes = Rc::clone(&self.plan);
        let Some(plan) = nodes.access_of(action) else { return };
        let load = plan.load();
        for port in plan.ports() {
            self.loads[port] -= load;
            let mut next = Some(action.instance);
            while let Some(index) = next {
                self.instances[index].loads[port] -= load;
                next = self.instances[index].parent;
            }
        }
    }

    fn read(&mut self, action: &Action) -> Step {
        let nodes = Rc::clone(&self.plan);
        let Some(plan) = nodes.access_of(action) else { return DONE };
        let value = plan.access.value.shifted(action.shift);
        if !self.disturb(action.instance, action.time, None, plan.cells())? {
            return AGAIN;
        }
        let start = action.time - i64::from(plan.access.first);
        let who = Who { node: action.node, start, shift: action.shift };
        let memory = plan.access.place.memory.0 as usize;
        let kind = &nodes.resources.memories[memory].kind;
        if kind.by_value() {
            let input = nodes.resources.value_classes[value.class.0 as usize].input;
            if !(input && *kind == MemoryKind::OffChip) {
                let Some(ready) = self.by_value.get(&(memory, value)).cloned() else {
                    if let Some(&frozen) = self.running.iter().find(|&&i| self.instances[i].frozen.is_some()) {
                        self.thaw(frozen, action.time)?;
                        return AGAIN;
                    }
                    return Err(self.not_there(who, plan, value, action.time, None));
                };
                let interval = (i64::from(plan.access.first), i64::from(plan.access.last));
                let blame = self.use_value(action, who, plan, value, &ready, interval)?;
                let (first, last) = (start + interval.0, start + interval.1);
                let read = Ready { first, last, who: Some(who), ..Ready::INPUT };
                self.record(action.instance, ByValue { write: false, memory, value, ready: read, blame });
            }
        } else {
            for cell in plan.cells() {
                let state = &self.cells[cell];
                if state.value != Some(value) {
                    return Err(self.not_there(who, plan, value, action.time, Some(cell)));
                }
                if plan.on_wire && state.read_first != NEVER {
                    return Err(self.taken_twice(who, cell, value));
                }
                let ready = state.ready.clone();
                self.use_value(action, who, plan, value, &ready, nodes.interval(plan, cell))?;
            }
        }
        if !self.load(action, plan)? {
            return AGAIN;
        }
        if !plan.cells().is_empty() {
            let reader = self.accessor(action, plan);
            for cell in plan.cells() {
                let interval = nodes.interval(plan, cell);
                let state = &mut self.cells[cell];
                let first = if plan.access.order == Order::Any { interval.1 } else { interval.0 };
                state.read_first = state.read_first.max(start + first);
                if start + interval.1 >= state.read_last {
                    state.read_last = start + interval.1;
                    state.reader.clone_from(&reader);
                    state.reads = Some(who);
                }
            }
        }
        self.accessed(action);
        DONE
    }

    /// Who an event is to those that wait for it.
    fn accessor(&self, action: &Action, plan: &AccessPlan) -> Option<Accessor> {
        let Node::Event { event, .. } = &self.plan.nodes[action.node] else { return None };
        let pipeline = self.in_flight[action.in_flight].as_ref()?.pipeline.clone();
        let resources = self.plan.resources;
        let unit = resources.units.get(event.resource.0 as usize);
        let pipelined = unit.is_some_and(|unit| unit.wait == WaitCategory::Pipeline);
        let own = waited_for(resources, event.resource, plan.access.value);
        let streams = pipelined && plan.access.order == Order::Stream;
        Some(Accessor { since: pipeline.start(), pipeline, own, streams })
    }

    /// An access of an event is over: the last one frees its index.
    fn accessed(&mut self, action: &Action) {
        let Some(in_flight) = &mut self.in_flight[action.in_flight] else { return };
        let pipeline = in_flight.pipeline.clone();
        in_flight.remaining -= 1;
        if in_flight.remaining == 0 {
            if let Node::Event { event, .. } = &self.plan.nodes[in_flight.node] {
                self.critical_path = self.critical_path.max(in_flight.path + i64::from(event.occupancy));
            }
            self.in_flight[action.in_flight] = None;
            self.free_indices.push(action.in_flight);
        }
        self.step(&pipeline);
    }

    /// An operand: ready in time, and the earliest start that it allows.
    fn use_value(
        &mut self,
        action: &Action,
        who: Who,
        plan: &AccessPlan,
        value: Value,
        ready: &Ready,
        (first, last): (i64, i64),
    ) -> Result<Option<Blame>, Violation> {
        let streams = plan.access.order == Order::Stream;
        let delay = self.plan.delay(plan);
        // Cycles by which the event could start earlier as far as this operand goes.
        let earlier = |ready_first: i64, ready_last: i64, start: i64| {
            if streams {
                (start + first - ready_first - delay).min(start + last - ready_last - delay)
            } else {
                start + first - ready_last - delay
            }
        };
        let slack = earlier(ready.first, ready.last, who.start);
        if slack < 0 {
            return Err(self.too_early(who, value, ready, slack));
        }
        let in_step = (who.start + first, who.start + last) == (ready.first + delay, ready.last + delay);
        if plan.on_wire && !in_step {
            return Err(self.not_in_step(who, plan, value, ready));
        }
        let Some(in_flight) = &mut self.in_flight[action.in_flight] else { return Ok(None) };
        in_flight.path = in_flight.path.max(-earlier(ready.path_first, ready.path_last, 0));
        let Some(writer) = ready.writer.as_ref().filter(|_| !plan.on_wire) else { return Ok(None) };
        if !self.accounts || slack > in_flight.pipeline.slack() {
            return Ok(None);
        }
        let blame = if streams && writer.streams {
            let Blame { slack: before, cause } = writer.pipeline.blame(action.time);
            Blame { slack: slack + before, cause: cause.with(Stall::Busy, Stall::Upstream) }
        } else {
            Blame { slack, cause: writer.cause(writer.own, action.time, who.start - slack) }
        };
        in_flight.pipeline.constrain(action.time, blame);
        Ok(Some(blame))
    }

    fn write(&mut self, action: &Action) -> Step {
        let nodes = Rc::clone(&self.plan);
        let Some(plan) = nodes.access_of(action) else { return DONE };
        let value = plan.access.value.shifted(action.shift);
        if !self.disturb(action.instance, action.time, None, plan.cells())? {
            return AGAIN;
        }
        let start = action.time - i64::from(plan.access.first);
        let who = Who { node: action.node, start, shift: action.shift };
        let Some(pipeline) = self.in_flight[action.in_flight].as_ref().map(|in_flight| in_flight.pipeline.clone())
        else {
            return DONE;
        };
        for cell in plan.cells() {
            let (first, last) = nodes.interval(plan, cell);
            let state = &self.cells[cell];
            if plan.on_wire && state.value.is_some() && state.read_first == NEVER {
                return Err(self.passed_by(cell));
            }
            // The first element may go where the old one was last read, or a cycle after it was written.
            let end = if plan.access.order == Order::Any { first } else { last };
            let readers = (start + first - state.read_first).min(start + end - state.read_last);
            let writers = (start + first - state.ready.first - 1).min(start + end - state.ready.last - 1);
            let slack = readers.min(writers);
            if slack < 0 {
                return Err(self.overwrites(who, cell, value, readers, writers));
            }
            let holder = if readers <= writers { &state.reader } else { &state.ready.writer };
            // What the event itself reads there holds nothing up.
            if let Some(holder) =
                holder.as_ref().filter(|_| self.accounts && !plan.on_wire && slack <= pipeline.slack())
                && holder.pipeline.identity() != pipeline.identity()
            {
                let cause = holder.cause(Stall::Buffer, action.time, start - slack);
                pipeline.constrain(action.time, Blame { slack, cause });
            }
        }
        if !self.load(action, plan)? {
            return AGAIN;
        }
        if plan.on_wire {
            pipeline.hand_on();
        }
        let ready = self.ready(action, plan, who);
        let memory = plan.access.place.memory.0 as usize;
        for cell in plan.cells() {
            let (first, last) = nodes.interval(plan, cell);
            let streams = plan.access.order == Order::Stream;
            let first = if streams { first } else { last };
            let shift = |relative: i64| relative + ready.path_first - i64::from(plan.access.first);
            let previous = self.cells[cell].value;
            self.cells[cell] = Cell {
                value: Some(value),
                ready: Ready {
                    first: start + first,
                    last: start + last,
                    path_first: shift(first),
                    path_last: shift(last),
                    ..ready.clone()
                },
                previous,
                ..Cell::EMPTY
            };
        }
        self.critical_path = self.critical_path.max(ready.path_last + 1);
        let read_back = self.plan.read_by_value[value.class.0 as usize];
        if read_back && self.plan.resources.memories[memory].kind.by_value() {
            self.by_value.insert((memory, value), ready.clone());
            self.record(action.instance, ByValue { write: true, memory, value, ready, blame: None });
        }
        self.accessed(action);
        DONE
    }

    /// When the value of a write is there, and what its consumers wait for until then.
    fn ready(&self, action: &Action, plan: &AccessPlan, who: Who) -> Ready {
        let path = self.in_flight[action.in_flight].as_ref().map_or(0, |in_flight| in_flight.path);
        let (first, last) = (i64::from(plan.access.first), i64::from(plan.access.last));
        let first_element = if plan.access.order == Order::Stream { first } else { last };
        Ready {
            first: who.start + first_element,
            last: who.start + last,
            path_first: path + first,
            path_last: path + last,
            writer: self.accessor(action, plan),
            who: Some(who),
        }
    }

    /// Remembers an access by value in the round of every enclosing loop.
    pub fn record(&mut self, instance: usize, access: ByValue) {
        let mut next = self.instances[instance].parent.map(|_| instance);
        while let Some(index) = next {
            self.instances[index].log.push(access.clone());
            next = self.instances[index].parent.filter(|&parent| self.instances[parent].parent.is_some());
        }
    }
}

/// Whether `instance` is `ancestor` or runs inside it.
pub(super) fn within(instances: &[Instance], mut instance: usize, ancestor: usize) -> bool {
    loop {
        if instance == ancestor {
            return true;
        }
        match instances[instance].parent {
            Some(parent) => instance = parent,
            None => return false,
        }
    }
}

/// The reads of wires among an event's accesses.
fn from_wires<'p, 'a>(accesses: &'p [AccessPlan<'a>]) -> impl Iterator<Item = &'p AccessPlan<'a>> {
    accesses.iter().filter(|plan| !plan.write && plan.on_wire)
}

/// The cycles of an event itself.
pub(super) fn work(resources: &Resources, event: &Event) -> Tally {
    let cycles = |parts| resources.cycles_on(event.resource, event.op.kind, event.work, parts).max(1) as i64;
    let (whole, taken) = (cycles(u32::MAX), cycles(event.parts));
    let mut tally = Tally::default();
    tally.add(Stall::Busy, whole);
    tally.add(Stall::Unused, taken - whole);
    // A vector that is not full leaves lanes without an element; any other unit is fed too slowly.
    let unit = resources.units.get(event.resource.0 as usize);
    let vector = unit.is_some_and(|unit| unit.wait == WaitCategory::VectorUnit);
    let rest = if vector { Stall::Unused } else { Stall::Upstream };
    tally.add(rest, i64::from(event.occupancy) - taken);
    tally
}

/// What one waits for who waits for `value` from a unit or channel.
pub(super) fn waited_for(resources: &Resources, resource: Resource, value: Value) -> Stall {
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
