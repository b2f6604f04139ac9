//! Traversal of a tree: its items in order of time, with the running loops.
//!
//! Places do not move from round to round. So the footprint of a loop, the units and cells of its body, is known before
//! the first cycle.

use super::fold::{ByValue, Frozen, Snapshot};
use super::hold::hold_event;
use super::judge::{AGAIN, DONE, Judge, Position, Step};
use super::memory::{Addressing, Cuts, Layout, Loads};
use super::observer::Observer;
use super::state::{Next, Phase};
use super::violation::{Violation, malformed};
use crate::schedule::{Event, Item, MemoryKind, Repeat, Resources, Schedule, Shift, Value, earliest};
use polyfabric_kernels::cancel;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// One event or loop. Schedules have millions of events, and few loops.
pub(super) enum Node<'a> {
    Event(&'a Event),
    Repeat(Box<Loop<'a>>),
}

/// A loop, with its body's nodes.
pub(super) struct Loop<'a> {
    pub repeat: &'a Repeat,
    children: Range<usize>,
    earliest: i64,
    pub footprint: Rc<Footprint>,
}

/// Units, cells and wires that a loop touches.
#[derive(Default)]
pub(super) struct Footprint {
    resources: Vec<bool>,
    /// Cells, including those of wires.
    cells: Vec<bool>,
    /// Cells that the loop itself writes.
    pub written: Vec<bool>,
    pub resource_list: Vec<usize>,
    /// The cells of memories as a list; wires are listed by number.
    pub cell_list: Vec<usize>,
    pub wire_list: Vec<usize>,
}

/// The nodes of a tree, numbered; empty for a list.
#[derive(Default)]
pub(super) struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    top: Range<usize>,
    /// For each value class, whether it is read from a memory that is addressed by value. If not, writes there need not
    /// be stored. Unknown for a list.
    read_by_value: Option<Vec<bool>>,
}

/// Bodies that are numbered already: several loops may share one.
type Bodies = HashMap<*const Vec<Item>, (Range<usize>, Rc<Footprint>)>;

impl<'a> Tree<'a> {
    /// The tree of a schedule, and the layout of its memories.
    pub fn new(schedule: &'a Schedule) -> Result<(Self, Layout), Violation> {
        let resources = &schedule.resources;
        let mut cuts = Cuts::new(resources);
        let mut read_by_value = vec![false; resources.value_classes.len()];
        visit(&schedule.items, &mut HashSet::new(), &mut |event| {
            hold_event(resources, event)?;
            let reads = event.reads.iter().map(|read| (read, false));
            for (access, write) in reads.chain(event.writes.iter().map(|write| (write, true))) {
                let memory = &resources.memories[usize::from(access.place.memory.0)];
                match &memory.kind {
                    MemoryKind::OnChip { .. } => cuts.add(&access.place),
                    MemoryKind::Lines(_) => {
                        let name = &memory.name;
                        let message = format!("memory {name} is of lines, and those are for schedules that are lists");
                        return Err(malformed(message));
                    }
                    kind => read_by_value[usize::from(access.value.class.0)] |= !write && kind.by_value(),
                }
            }
            Ok(())
        })?;
        let layout = Layout::new(resources, cuts)?;
        let mut tree = Self { nodes: Vec::new(), top: 0..0, read_by_value: Some(read_by_value) };
        tree.top = tree.index(&schedule.items, (resources, &layout), &mut HashMap::new())?;
        if earliest(&schedule.items) < 0 {
            return Err(malformed("an event starts before cycle 0; shift the whole schedule".into()));
        }
        Ok((tree, layout))
    }

    pub fn read_by_value(&self, value: Value) -> bool {
        self.read_by_value.as_ref().is_none_or(|read| read[usize::from(value.class.0)])
    }

    /// Numbers the items of one level in the order in which they begin.
    fn index(
        &mut self,
        items: &'a [Item],
        machine: (&Resources, &Layout),
        bodies: &mut Bodies,
    ) -> Result<Range<usize>, Violation> {
        let first = self.nodes.len();
        let mut items: Vec<&'a Item> = items.iter().collect();
        items.sort_by_cached_key(|item| (earliest(std::slice::from_ref(item)), matches!(item, Item::Event(_))));
        let range = first..first + items.len();
        for item in &items {
            self.nodes.push(match item {
                Item::Event(event) => Node::Event(event),
                Item::Repeat(repeat) => {
                    hold_repeat(repeat)?;
                    // Set below, once the body's nodes exist.
                    let (children, footprint) = (0..0, Rc::default());
                    Node::Repeat(Box::new(Loop { repeat, children, earliest: earliest(&repeat.body), footprint }))
                }
            });
        }
        for (index, item) in (first..).zip(items) {
            if let Item::Repeat(repeat) = item {
                let body = Arc::as_ptr(&repeat.body);
                if !bodies.contains_key(&body) {
                    let children = self.index(&repeat.body, machine, bodies)?;
                    let footprint = Rc::new(Footprint::of(&self.nodes[children.clone()], machine));
                    bodies.insert(body, (children, footprint));
                }
                if let Node::Repeat(own) = &mut self.nodes[index] {
                    (own.children, own.footprint) = bodies[&body].clone();
                }
            }
        }
        Ok(range)
    }
}

fn hold_repeat(repeat: &Repeat) -> Result<(), Violation> {
    let &Repeat { count, period, .. } = repeat;
    let span = i128::from(count) * i128::from(period);
    if count == 0 || period == 0 || span > i128::from(i64::MAX / 4) {
        return Err(malformed(format!("a loop of {count} rounds with a period of {period} cycles")));
    }
    Ok(())
}

/// Visits every event once, even if several loops share its body.
fn visit<'a>(
    items: &'a [Item],
    seen: &mut HashSet<*const Vec<Item>>,
    check: &mut impl FnMut(&'a Event) -> Result<(), Violation>,
) -> Result<(), Violation> {
    for item in items {
        match item {
            Item::Event(event) => check(event)?,
            Item::Repeat(repeat) if seen.insert(Arc::as_ptr(&repeat.body)) => visit(&repeat.body, seen, check)?,
            Item::Repeat(_) => {}
        }
    }
    Ok(())
}

impl Footprint {
    fn of(body: &[Node<'_>], (machine, layout): (&Resources, &Layout)) -> Self {
        let mut resources = vec![false; machine.len()];
        let (mut cells, mut written) = (vec![false; layout.cells], vec![false; layout.cells]);
        let merge = |all: &mut [bool], more: &[bool]| all.iter_mut().zip(more).for_each(|(all, more)| *all |= more);
        for node in body {
            match node {
                Node::Event(event) => {
                    resources[event.resource.0 as usize] = true;
                    event.reads.iter().for_each(|read| cells[layout.touched(read)].fill(true));
                    for write in &event.writes {
                        cells[layout.touched(write)].fill(true);
                        written[layout.touched(write)].fill(true);
                    }
                }
                Node::Repeat(inner) => {
                    merge(&mut resources, &inner.footprint.resources);
                    merge(&mut cells, &inner.footprint.cells);
                    merge(&mut written, &inner.footprint.written);
                }
            }
        }
        let mut wires = vec![None; layout.cells];
        for of in &layout.memories {
            if let Addressing::Wire { wire, cell, .. } = *of {
                wires[cell] = Some(wire);
            }
        }
        let members = |of: &[bool]| (0..of.len()).filter(|&member| of[member]).collect::<Vec<_>>();
        let (on_wires, cell_list): (Vec<_>, Vec<_>) =
            members(&cells).into_iter().partition(|&cell| wires[cell].is_some());
        let wire_list = on_wires.into_iter().filter_map(|cell| wires[cell]).collect();
        let resource_list = members(&resources);
        Self { resources, cells, written, resource_list, cell_list, wire_list }
    }
}

/// One running loop: a repeat within one round of its parent.
pub(super) struct Instance<O: Observer> {
    pub node: usize,
    pub parent: Option<usize>,
    /// Start of round 0.
    pub base: i64,
    pub shift: Shift,
    /// Number of its next items, events under way and running inner loops.
    pub pending: usize,
    /// For each port, the largest load in this round; empty before the second round.
    pub peaks: Vec<u64>,
    /// Accesses of its events, in this round, to memories that are addressed by value.
    pub log: Vec<ByValue<O>>,
    /// Whether anything outside the loop touched its units or cells in this round.
    pub disturbed: bool,
    pub snapshot: Option<Snapshot<O>>,
    pub frozen: Option<Box<Frozen<O>>>,
}

impl<O: Observer> Instance<O> {
    pub fn new(node: usize, parent: Option<usize>, base: i64, shift: Shift) -> Self {
        let (peaks, log) = (Vec::new(), Vec::new());
        Self { node, parent, base, shift, pending: 0, peaks, log, disturbed: false, snapshot: None, frozen: None }
    }
}

impl<'a, O: Observer> Judge<'a, O> {
    /// Checks the tree.
    pub fn run(&mut self) -> Result<(), Violation> {
        self.item(self.tree.top.start, 0, 0, Shift::default());
        loop {
            cancel::check();
            let next = self.next.peek().map_or(i64::MAX, |Reverse(next)| next.time);
            let late = self.late.first_key_value().map_or(i64::MAX, |(place, _)| place.0);
            if self.due.next_before(next.min(late)).is_some() {
                self.due_in_this_cycle()?;
            } else if late < next {
                let Some((place, due)) = self.late.pop_first() else { continue };
                if !self.access(&due)? {
                    self.late.insert(place, due);
                }
            } else if let Some(Reverse(next)) = self.next.pop() {
                self.turn(next)?;
            } else {
                return self.nothing_left();
            }
        }
    }

    fn turn(&mut self, next: Next) -> Result<(), Violation> {
        let done = match (next.phase, &self.tree.nodes[next.node]) {
            (Phase::Resume, _) => {
                let frozen = self.instances[next.instance].frozen.as_ref();
                if frozen.is_some_and(|frozen| frozen.id == next.round) {
                    self.thaw(next.instance, next.time)?;
                }
                return Ok(());
            }
            (_, Node::Event(event)) => {
                let Next { node, instance, shift, .. } = next;
                self.begin(event, next.time, Position { node, instance, shift })?
            }
            (_, Node::Repeat(own)) => self.round(&next, own)?,
        };
        if done {
            self.after(&next);
            self.settle(next.instance);
        } else {
            self.next.push(Reverse(next));
        }
        Ok(())
    }

    fn instance(&mut self, node: usize, parent: usize, base: i64, shift: Shift) -> usize {
        self.instances[parent].pending += 1;
        self.instances.push(Instance::new(node, Some(parent), base, shift));
        let index = self.instances.len() - 1;
        self.running.push(index);
        index
    }

    pub fn come(&mut self, next: Next) {
        self.instances[next.instance].pending += 1;
        self.next.push(Reverse(next));
    }

    /// One pending part of a running loop is done. A loop without pending parts is over.
    pub fn settle(&mut self, mut instance: usize) {
        loop {
            let state = &mut self.instances[instance];
            state.pending -= 1;
            let Some(parent) = state.parent.filter(|_| state.pending == 0) else { return };
            (state.snapshot, state.peaks, state.log) = (None, Vec::new(), Vec::new());
            self.observer.forget(instance);
            self.running.retain(|&running| running != instance);
            instance = parent;
        }
    }

    /// Adds an item of a round to the queue. When it begins, it adds the next one ([`Self::after`]): items are in order
    /// of time.
    fn item(&mut self, node: usize, instance: usize, base: i64, shift: Shift) {
        let of_round = match self.tree.nodes.get(self.instances[instance].node) {
            Some(Node::Repeat(own)) => &own.children,
            _ => &self.tree.top,
        };
        if !of_round.contains(&node) {
            return;
        }
        let (time, phase) = (base, Phase::Start);
        let mut next = Next { time, phase, node, base, shift, round: 0, instance };
        match &self.tree.nodes[node] {
            Node::Event(event) => next.time += event.start,
            Node::Repeat(inner) => {
                next.base += inner.repeat.start;
                next.time = next.base + inner.earliest;
                next.phase = Phase::Round;
                next.instance = self.instance(node, instance, next.base, shift);
            }
        }
        self.come(next);
    }

    /// Adds the item after one that has begun.
    fn after(&mut self, begun: &Next) {
        match &self.tree.nodes[begun.node] {
            Node::Event(_) => self.item(begun.node + 1, begun.instance, begun.base, begun.shift),
            Node::Repeat(inner) if begun.round == 0 => {
                let Instance { parent: Some(parent), shift, .. } = self.instances[begun.instance] else { return };
                self.item(begun.node + 1, parent, begun.base - inner.repeat.start, shift);
            }
            Node::Repeat(_) => {}
        }
    }

    fn round(&mut self, next: &Next, own: &Loop<'_>) -> Step {
        let (repeat, instance) = (own.repeat, next.instance);
        if self.fold && !self.fold_at(next, own)? {
            return AGAIN;
        }
        if self.instances[instance].frozen.is_some() {
            // The folded loop stays pending.
            self.instances[instance].pending += 1;
            return DONE;
        }
        let shift = repeat.shift_of(self.instances[instance].shift, next.round);
        self.item(own.children.start, instance, next.base, shift);
        if next.round + 1 < repeat.count {
            let period = repeat.period as i64;
            self.come(Next { time: next.time + period, base: next.base + period, round: next.round + 1, ..*next });
        }
        DONE
    }

    /// Whether `instance` is `ancestor` or runs inside it.
    pub fn within(&self, instance: usize, ancestor: usize) -> bool {
        within(&self.instances, instance, ancestor)
    }

    /// Marks loops that own the resource or one of the cells as disturbed, except those that contain `instance`. If one
    /// is folded, unfolds it and returns `false`.
    pub fn disturb(&mut self, instance: usize, time: i64, resource: Option<usize>, cells: Range<usize>) -> Step {
        for position in 0..self.running.len() {
            let other = self.running[position];
            let running = &self.instances[other];
            // Marked already.
            if running.disturbed && running.frozen.is_none() {
                continue;
            }
            let Node::Repeat(inner) = &self.tree.nodes[running.node] else { continue };
            let footprint = &inner.footprint;
            let touched = resource.is_some_and(|resource| footprint.resources[resource])
                || footprint.cells[cells.clone()].contains(&true);
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

    /// Logs an access by value in the round of every enclosing loop.
    pub fn record(&mut self, instance: usize, access: ByValue<O>) {
        let mut next = Some(instance).filter(|_| self.fold);
        while let Some(index) = next {
            let Some(parent) = self.instances[index].parent else { return };
            self.instances[index].log.push(access.clone());
            next = Some(parent);
        }
    }

    /// Updates the largest load of each enclosing loop at the ports of a new stream.
    pub fn note_peaks(&mut self, instance: usize, loads: Loads, time: i64) {
        let mut next = Some(instance).filter(|_| self.fold);
        while let Some(index) = next {
            if !self.instances[index].peaks.is_empty() {
                for port in loads.ports() {
                    let load = self.ports.load(port, time + 1, |stream| self.within(stream.instance, index));
                    let peak = &mut self.instances[index].peaks[port];
                    *peak = load.max(*peak);
                }
            }
            next = self.instances[index].parent;
        }
    }
}

/// Whether `instance` is `ancestor` or runs inside it.
pub(super) fn within<O: Observer>(instances: &[Instance<O>], mut instance: usize, ancestor: usize) -> bool {
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
