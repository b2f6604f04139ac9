//! The replay: one pass over the schedule in order of time, which holds every start, read and write against the state that
//! all earlier ones have left.

use super::plan::{AccessPlan, Node, Plan};
use super::state::{Action, Busy, Cell, Flight, NEVER, Phase, Ready, Wait, Who};
use super::violation::Violation;
use crate::engine::schedule::{MemoryKind, Order, Schedule, Shift, Traffic, Value, WaitCategory};
use crate::engine::stalls::{Stall, Tally};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
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
#[derive(Clone, Copy, Debug)]
pub(super) struct ByValue {
    pub write: bool,
    pub memory: usize,
    pub value: Value,
    /// Of a write: when. Of a read: the cycles of its first and last element.
    pub ready: Ready,
}

pub(super) struct Replay<'a> {
    /// Shared, so that an access can be looked at while the state changes.
    pub plan: Rc<Plan<'a>>,
    pub schedule: &'a Schedule,
    pub agenda: BinaryHeap<Reverse<Action>>,
    pub busy: Vec<Busy>,
    pub cells: Vec<Cell>,
    pub by_value: HashMap<(usize, Value), Ready>,
    pub loads: Vec<u64>,
    pub flights: Vec<Flight>,
    pub free_flights: Vec<usize>,
    pub instances: Vec<Instance>,
    pub free_instances: Vec<usize>,
    pub running: Vec<usize>,
    /// Index into `tallies` of a resource's class, if the class is accounted for.
    pub primary: Vec<Option<usize>>,
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
        let class_of = |index: usize| resources.class(crate::engine::schedule::Resource(index as u32));
        let primary = (0..resources.len())
            .map(|index| primary_classes.iter().position(|class| class == class_of(index)))
            .collect();
        let (cells, ports) = (plan.cells.len(), plan.ports.len());
        let mut replay = Self {
            schedule,
            agenda: BinaryHeap::new(),
            busy: vec![Busy { until: 0, holder: None }; resources.len()],
            cells: vec![Cell::EMPTY; cells],
            by_value: HashMap::new(),
            loads: vec![0; ports],
            flights: Vec::new(),
            free_flights: Vec::new(),
            instances: Vec::new(),
            free_instances: Vec::new(),
            running: Vec::new(),
            primary,
            tallies: vec![Tally::default(); primary_classes.len()],
            critical_path: 0,
            expanded: 0,
            fold,
            freezes: 0,
            plan: Rc::new(plan),
        };
        let root = replay.instance(usize::MAX, None, 0, Shift::default());
        let top = replay.plan.top.clone();
        replay.schedule_children(top, root, 0, Shift::default());
        replay
    }

    /// Replays everything.
    pub fn run(&mut self) -> Result<(), Violation> {
        while let Some(Reverse(action)) = self.agenda.pop() {
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
                self.settle(action.instance);
            } else {
                self.agenda.push(Reverse(action));
            }
        }
        Ok(())
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
        self.agenda.push(Reverse(action));
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

    /// Puts the items of a round on the agenda.
    fn schedule_children(&mut self, children: std::ops::Range<usize>, instance: usize, base: i64, shift: Shift) {
        for node in children {
            let mut action = Action {
                time: base,
                phase: Phase::Start,
                node,
                access: 0,
                base,
                ciphertext: shift.ciphertext,
                iteration: shift.iteration,
                round: 0,
                instance,
                flight: 0,
            };
            match &self.plan.nodes[node] {
                Node::Event { event, .. } => action.time += event.start,
                Node::Repeat { repeat, earliest, .. } => {
                    action.base += repeat.start;
                    action.time = action.base + earliest;
                    action.phase = Phase::Round;
                    action.instance = self.instance(node, Some(instance), action.base, shift);
                }
            }
            self.push(action);
        }
    }

    fn round(&mut self, action: &Action) -> Step {
        let Node::Repeat { repeat, children, .. } = &self.plan.nodes[action.node] else { return DONE };
        let (repeat, children, instance) = (*repeat, children.clone(), action.instance);
        if self.fold && !self.fold_at(action, repeat)? {
            return AGAIN;
        }
        if self.instances[instance].frozen.is_some() {
            // The agenda entry lives on in the folded loop.
            self.instances[instance].pending += 1;
            return DONE;
        }
        let shift = self.instances[instance].shift.advanced(repeat.shift, action.round as i64);
        self.schedule_children(children, instance, action.base, shift);
        if action.round + 1 < repeat.count {
            let period = repeat.period as i64;
            let next =
                Action { time: action.time + period, base: action.base + period, round: action.round + 1, ..*action };
            self.push(next);
        }
        DONE
    }

    /// Whether `instance` is `ancestor` or runs inside it.
    pub fn within(&self, mut instance: usize, ancestor: usize) -> bool {
        loop {
            if instance == ancestor {
                return true;
            }
            match self.instances[instance].parent {
                Some(parent) => instance = parent,
                None => return false,
            }
        }
    }

    /// Tells loops that do not contain `instance` that something of theirs is touched. Folded ones resume: then `false`.
    fn disturb(&mut self, instance: usize, time: i64, resource: Option<usize>, cells: std::ops::Range<usize>) -> Step {
        for position in 0..self.running.len() {
            let other = self.running[position];
            let Node::Repeat { footprint, .. } = &self.plan.nodes[self.instances[other].node] else { continue };
            let touched = resource.is_some_and(|resource| footprint.resources.contains(resource))
                || cells.clone().any(|cell| footprint.cells.contains(cell));
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
        let Node::Event { event, accesses } = &self.plan.nodes[action.node] else { return DONE };
        let (event, accesses) = (*event, accesses.len());
        let resource = event.resource.0 as usize;
        if !self.disturb(action.instance, action.time, Some(resource), 0..0)? {
            return AGAIN;
        }
        let who = Who { node: action.node, start: action.time, shift: action.shift() };
        let busy = self.busy[resource];
        if action.time < busy.until {
            return Err(self.unit_busy(who, busy));
        }
        self.expanded += 1;
        self.busy[resource] = Busy { until: action.time + i64::from(event.occupancy), holder: Some(who) };
        let flight = Flight {
            instance: action.instance,
            node: action.node,
            start: action.time,
            shift: action.shift(),
            gap: action.time - busy.until,
            opens: busy.holder.is_none(),
            forced: busy.until,
            cause: Stall::Busy,
            path: 0,
            remaining: accesses,
        };
        let index = match self.free_flights.pop() {
            Some(index) => {
                self.flights[index] = flight;
                index
            }
            None => {
                self.flights.push(flight);
                self.flights.len() - 1
            }
        };
        for access in 0..accesses {
            let Node::Event { accesses, .. } = &self.plan.nodes[action.node] else { break };
            let plan = &accesses[access];
            let phase = if plan.write { Phase::Write } else { Phase::Read };
            let time = action.time + i64::from(plan.access.first);
            self.push(Action { time, phase, access, flight: index, ..*action });
        }
        if accesses == 0 {
            self.land(index);
        }
        DONE
    }

    /// An event's last access is done: its gap has its cause.
    fn land(&mut self, index: usize) {
        let flight = self.flights[index];
        self.free_flights.push(index);
        let Node::Event { event, .. } = &self.plan.nodes[flight.node] else { return };
        self.critical_path = self.critical_path.max(flight.path + i64::from(event.occupancy));
        let resource = event.resource.0 as usize;
        let Some(class) = self.primary[resource] else { return };
        let needed = self.plan.resources.cycles(event.resource, event.op.kind, event.work).max(1) as i64;
        let mut tally = Tally::default();
        tally.add(Stall::Busy, needed);
        tally.add(Stall::Upstream, i64::from(event.occupancy) - needed);
        if flight.gap > 0 {
            tally.add(flight.stall(), flight.gap - flight.slack());
            tally.add(Stall::Slack, flight.slack());
        }
        self.tally(flight.instance, class, &tally, 1);
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
        for &(port, load) in &plan.loads {
            let capacity = self.plan.ports[port].capacity;
            if self.loads[port] + load <= capacity {
                continue;
            }
            // A folded loop counts with its largest load; replayed, it may leave room just now.
            let loaded = |&i: &usize| self.instances[i].frozen.as_ref().is_some_and(|frozen| frozen.peaks[port] > 0);
            if let Some(instance) = self.running.iter().copied().find(loaded) {
                self.thaw(instance, action.time)?;
                return AGAIN;
            }
            return Err(self.port_overloaded(action, plan, port, self.loads[port] + load));
        }
        for &(port, load) in &plan.loads {
            self.loads[port] += load;
            let mut next = Some(action.instance);
            while let Some(index) = next {
                let instance = &mut self.instances[index];
                instance.loads[port] += load;
                instance.peaks[port] = instance.peaks[port].max(instance.loads[port]);
                next = instance.parent;
            }
        }
        if !plan.loads.is_empty() {
            let start = action.time - i64::from(plan.access.first);
            let time = start + i64::from(plan.access.last) + 1;
            self.push(Action { time, phase: Phase::Release, ..*action });
        }
        DONE
    }

    fn release(&mut self, action: &Action) {
        let nodes = Rc::clone(&self.plan);
        let Some(plan) = nodes.access_of(action) else { return };
        for &(port, load) in &plan.loads {
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
        let value = plan.access.value.shifted(action.shift());
        if !self.disturb(action.instance, action.time, None, plan.cells.clone())? {
            return AGAIN;
        }
        let start = action.time - i64::from(plan.access.first);
        let who = Who { node: action.node, start, shift: action.shift() };
        let memory = plan.access.place.memory.0 as usize;
        let kind = &self.plan.resources.memories[memory].kind;
        if kind.by_value() {
            let input = self.plan.resources.value_classes[value.class.0 as usize].input;
            if !(input && *kind == MemoryKind::OffChip) {
                let Some(&ready) = self.by_value.get(&(memory, value)) else {
                    if let Some(&frozen) = self.running.iter().find(|&&i| self.instances[i].frozen.is_some()) {
                        self.thaw(frozen, action.time)?;
                        return AGAIN;
                    }
                    return Err(self.not_there(who, plan, value, action.time, None));
                };
                let interval = (i64::from(plan.access.first), i64::from(plan.access.last));
                self.use_value(action.flight, who, plan, value, &ready, interval)?;
                let (first, last) = (start + interval.0, start + interval.1);
                let read = Ready { first, last, who: Some(who), ..Ready::INPUT };
                self.record(action.instance, ByValue { write: false, memory, value, ready: read });
            }
        } else {
            for (cell, &interval) in plan.cells.clone().zip(&plan.intervals) {
                let state = self.cells[cell];
                if state.value != Some(value) {
                    return Err(self.not_there(who, plan, value, action.time, Some(cell)));
                }
                self.use_value(action.flight, who, plan, value, &state.ready, interval)?;
            }
        }
        if !self.load(action, plan)? {
            return AGAIN;
        }
        for (cell, interval) in plan.cells.clone().zip(&plan.intervals) {
            let state = &mut self.cells[cell];
            let first = if plan.access.order == Order::Any { interval.1 } else { interval.0 };
            state.read_first = state.read_first.max(start + first);
            if start + interval.1 >= state.read_last {
                state.read_last = start + interval.1;
                state.reader = Some(who);
            }
        }
        self.accessed(action.flight);
        DONE
    }

    fn accessed(&mut self, flight: usize) {
        self.flights[flight].remaining -= 1;
        if self.flights[flight].remaining == 0 {
            self.land(flight);
        }
    }

    /// An operand: ready in time, and the earliest start that it allows. One that streams allows the start that its producer
    /// could have had.
    fn use_value(
        &mut self,
        flight: usize,
        who: Who,
        plan: &AccessPlan,
        value: Value,
        ready: &Ready,
        (first, last): (i64, i64),
    ) -> Result<(), Violation> {
        let streams = plan.access.order == Order::Stream;
        // Cycles by which the event could start earlier as far as this operand goes.
        let earlier = |ready_first: i64, ready_last: i64, start: i64| {
            if streams {
                (start + first - ready_first - 1).min(start + last - ready_last - 1)
            } else {
                start + first - ready_last - 1
            }
        };
        let slack = earlier(ready.first, ready.last, who.start);
        if slack < 0 {
            return Err(self.too_early(who, value, ready, slack));
        }
        let state = &mut self.flights[flight];
        state.path = state.path.max(-earlier(ready.path_first, ready.path_last, 0));
        let earliest = who.start - slack;
        match ready.wait {
            Wait::For(stall) => state.constrain(earliest, stall),
            Wait::Stream(Stall::Busy, delay) if streams => state.constrain(earliest - delay, Stall::Upstream),
            Wait::Stream(stall, delay) if streams => state.constrain(earliest - delay, stall),
            Wait::Stream(..) | Wait::Complete => state.constrain(earliest, Stall::Dependency),
        }
        Ok(())
    }

    fn write(&mut self, action: &Action) -> Step {
        let nodes = Rc::clone(&self.plan);
        let Some(plan) = nodes.access_of(action) else { return DONE };
        let value = plan.access.value.shifted(action.shift());
        if !self.disturb(action.instance, action.time, None, plan.cells.clone())? {
            return AGAIN;
        }
        let start = action.time - i64::from(plan.access.first);
        let who = Who { node: action.node, start, shift: action.shift() };
        for (cell, &(first, last)) in plan.cells.clone().zip(&plan.intervals) {
            let state = self.cells[cell];
            // The first element may go where the old one was last read, or a cycle after it was written.
            let end = if plan.access.order == Order::Any { first } else { last };
            let readers = (start + first - state.read_first).min(start + end - state.read_last);
            let writers = (start + first - state.ready.first - 1).min(start + end - state.ready.last - 1);
            if readers.min(writers) < 0 {
                return Err(self.overwrites(who, cell, value, readers, writers));
            }
            let earliest = start - readers.min(writers);
            self.flights[action.flight].constrain(earliest, Stall::Buffer);
        }
        if !self.load(action, plan)? {
            return AGAIN;
        }
        let ready = self.ready(action, plan, who);
        let memory = plan.access.place.memory.0 as usize;
        for (cell, &(first, last)) in plan.cells.clone().zip(&plan.intervals) {
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
                    ..ready
                },
                read_first: NEVER,
                read_last: NEVER,
                reader: None,
                previous,
            };
        }
        self.critical_path = self.critical_path.max(ready.path_last + 1);
        let read_back = self.plan.read_by_value[value.class.0 as usize];
        if read_back && self.plan.resources.memories[memory].kind.by_value() {
            self.by_value.insert((memory, value), ready);
            self.record(action.instance, ByValue { write: true, memory, value, ready });
        }
        self.accessed(action.flight);
        DONE
    }

    /// When the value of a write is there, and what its consumers wait for until then.
    fn ready(&self, action: &Action, plan: &AccessPlan, who: Who) -> Ready {
        let Node::Event { event, .. } = &self.plan.nodes[action.node] else { return Ready::INPUT };
        let flight = &self.flights[action.flight];
        let wait = match self.plan.resources.units.get(event.resource.0 as usize) {
            None => match self.plan.resources.value_classes[plan.access.value.class.0 as usize].traffic {
                Traffic::BootstrapKey => Wait::For(Stall::BootstrapKey),
                Traffic::KeySwitchKey => Wait::For(Stall::KeySwitchKey),
                Traffic::Ciphertexts | Traffic::Tables | Traffic::Instructions => Wait::For(Stall::Transfer),
            },
            Some(unit) if unit.wait == WaitCategory::VectorUnit => Wait::For(Stall::VectorUnit),
            Some(_) if plan.access.order == Order::Stream => Wait::Stream(flight.stall(), flight.slack()),
            Some(_) => Wait::Complete,
        };
        let (first, last) = (i64::from(plan.access.first), i64::from(plan.access.last));
        let first_element = if plan.access.order == Order::Stream { first } else { last };
        Ready {
            first: who.start + first_element,
            last: who.start + last,
            path_first: flight.path + first,
            path_last: flight.path + last,
            wait,
            who: Some(who),
        }
    }

    /// Remembers an access by value in the round of every enclosing loop.
    pub fn record(&mut self, instance: usize, access: ByValue) {
        let mut next = self.instances[instance].parent.map(|_| instance);
        while let Some(index) = next {
            self.instances[index].log.push(access);
            next = self.instances[index].parent.filter(|&parent| self.instances[parent].parent.is_some());
        }
    }
}
