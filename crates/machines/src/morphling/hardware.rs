//! The hardware scheduler (section V-E): dispatches instructions when what they wait for is done and their unit is free.
//!
//! A discrete-event simulation. Each unit takes, among the instructions that are ready, those of the highest
//! [`Priority`], and of these the earliest in its stream. A transfer spreads over the memory channels ([`super::channels`]);
//! the next one is taken when the first of its channels is free again. The XPUs' blind rotations are dispatched event by event in [`super::array`],
//! with the state that the previous one left.

use super::array::{ArrayState, Rotation, RotationCache, StepCycles};
use super::channels::{Channels, Items, Part};
use super::machine::Morphling;
use super::software::{Priority, Streams, Unit};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

/// When everything ran.
pub struct Timeline {
    /// Start cycle of each node.
    pub starts: Vec<i64>,
    /// Completion cycle of each node: its last result is in place.
    pub ends: Vec<i64>,
    /// Parts of each transfer, on the memory channels.
    pub parts: HashMap<u32, Vec<Part>>,
    /// Events of each blind rotation, relative to its start.
    pub rotations: HashMap<u32, Rc<Rotation>>,
    /// Cycles of every step on the XPUs.
    pub steps: StepCycles,
    /// First cycle after everything.
    pub cycles: i64,
}

struct Queue {
    free: i64,
    ready: BinaryHeap<Reverse<(Priority, u32)>>,
}

struct Dispatcher<'a> {
    streams: &'a Streams,
    queues: HashMap<Unit, Queue>,
    /// Events: cycle, then node and slot that complete; a node beyond all nodes only wakes the units.
    events: BinaryHeap<Reverse<(i64, u32, u8)>>,
    pending: Vec<u32>,
    waiters: Waiters,
}

const WHOLE: u8 = u8::MAX;

/// Who waits for each node, node after node: programs of large rings have millions of nodes, most of them tiles of a
/// key-switch key, and each is looked up once.
struct Waiters {
    /// First entry of each node in `entries`, and their number at the end.
    first: Vec<u32>,
    /// Slot waited for, or [`WHOLE`], and the node that waits.
    entries: Vec<(u8, u32)>,
}

impl Waiters {
    fn of(streams: &Streams) -> Self {
        let waits = || streams.nodes.iter().flat_map(|node| &node.waits);
        let mut first = vec![0u32; streams.nodes.len() + 1];
        waits().for_each(|wait| first[wait.node as usize + 1] += 1);
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let mut next = first.clone();
        let mut entries = vec![(WHOLE, 0); sum as usize];
        for (index, node) in streams.nodes.iter().enumerate() {
            for wait in &node.waits {
                let at = &mut next[wait.node as usize];
                entries[*at as usize] = (wait.slot.unwrap_or(WHOLE), index as u32);
                *at += 1;
            }
        }
        Self { first, entries }
    }

    fn of_node(&self, node: u32) -> std::ops::Range<usize> {
        self.first[node as usize] as usize..self.first[node as usize + 1] as usize
    }
}

impl Dispatcher<'_> {
    fn make_ready(&mut self, node: u32) {
        let info = &self.streams.nodes[node as usize];
        let queue = self.queues.entry(info.unit).or_insert_with(|| Queue { free: 0, ready: BinaryHeap::new() });
        queue.ready.push(Reverse((info.priority, node)));
    }

    fn complete(&mut self, node: u32, slot: u8) {
        for entry in self.waiters.of_node(node) {
            let (waited, waiter) = self.waiters.entries[entry];
            if waited != slot {
                continue;
            }
            self.pending[waiter as usize] -= 1;
            if self.pending[waiter as usize] == 0 {
                self.make_ready(waiter);
            }
        }
    }
}

/// Runs `streams` on `machine`.
pub fn run(machine: &Morphling, streams: &Streams) -> Timeline {
    let count = streams.nodes.len();
    let sizes = &streams.layout.sizes;
    let steps = machine.steps(sizes.ring_degree, sizes.key, sizes.large.max(sizes.small));
    let mut dispatcher = Dispatcher {
        streams,
        queues: HashMap::new(),
        events: BinaryHeap::new(),
        pending: vec![0; count],
        waiters: Waiters::of(streams),
    };
    for (index, node) in streams.nodes.iter().enumerate() {
        dispatcher.pending[index] = node.waits.len() as u32;
        if node.waits.is_empty() {
            dispatcher.make_ready(index as u32);
        }
    }
    let (starts, ends) = (vec![0; count], vec![0; count]);
    let (parts, rotations) = (HashMap::new(), HashMap::new());
    let mut timeline = Timeline { starts, ends, parts, rotations, steps, cycles: 0 };
    let mut array = Array {
        state: ArrayState::new(machine.columns as usize, machine.key_buffers as usize),
        origin: 0,
        cache: RotationCache::default(),
        channels: Channels::new(machine),
    };
    let mut now = 0;
    loop {
        let ready: Vec<Unit> = {
            let open = dispatcher.queues.iter().filter(|(_, queue)| queue.free <= now && !queue.ready.is_empty());
            let mut open: Vec<Unit> = open.map(|(&unit, _)| unit).collect();
            open.sort_unstable();
            open
        };
        for unit in ready {
            let Some(queue) = dispatcher.queues.get_mut(&unit) else { continue };
            let Some(Reverse((_, node))) = queue.ready.pop() else { continue };
            let info = &streams.nodes[node as usize];
            timeline.starts[node as usize] = now;
            if unit == Unit::Array {
                let end = array.dispatch(machine, streams, node, now, &mut dispatcher, &mut timeline);
                timeline.ends[node as usize] = end;
                continue;
            }
            if unit == Unit::Dma {
                let items = Items::of(&info.instruction);
                let (parts, free) = array.channels.take(machine, items, now, timeline.steps.key);
                let past = |part: &Part| part.start + machine.channel_cycles(part.count * items.bytes);
                let end = parts.iter().map(past).max().unwrap_or(now) + info.latency;
                timeline.starts[node as usize] = parts.iter().map(|part| part.start).min().unwrap_or(now);
                timeline.ends[node as usize] = end;
                timeline.parts.insert(node, parts);
                queue.free = if free == i64::MAX { now } else { free };
                dispatcher.events.push(Reverse((queue.free, u32::MAX, 0)));
                dispatcher.events.push(Reverse((end, node, WHOLE)));
                continue;
            }
            queue.free = now + info.occupancy;
            let end = now + info.occupancy + info.latency;
            timeline.ends[node as usize] = end;
            dispatcher.events.push(Reverse((now + info.occupancy, u32::MAX, 0)));
            dispatcher.events.push(Reverse((end, node, WHOLE)));
        }
        let Some(&Reverse((next, ..))) = dispatcher.events.peek() else { break };
        now = next;
        while let Some(&Reverse((cycle, node, slot))) = dispatcher.events.peek()
            && cycle == now
        {
            dispatcher.events.pop();
            if node != u32::MAX {
                dispatcher.complete(node, slot);
            }
        }
    }
    timeline.cycles = timeline.ends.iter().copied().max().unwrap_or(0);
    timeline
}

struct Array {
    state: ArrayState,
    /// Cycle that the state is relative to.
    origin: i64,
    cache: RotationCache,
    channels: Channels,
}

impl Array {
    fn dispatch(
        &mut self,
        machine: &Morphling,
        streams: &Streams,
        node: u32,
        now: i64,
        dispatcher: &mut Dispatcher<'_>,
        timeline: &mut Timeline,
    ) -> i64 {
        let instruction = &streams.nodes[node as usize].instruction;
        let plan = &streams.plans[&instruction.operation];
        let slots = u64::from(instruction.count).div_ceil(machine.positions()) as usize;
        let mut state = self.state.rebased(now - self.origin);
        if machine.shares_channels() {
            // What the channels have begun, they finish.
            state.hold_channel((self.channels.all_free() - now).max(0));
        }
        let (rotation, after) = self.cache.rotate(instruction.operation as usize, plan, &timeline.steps, slots, state);
        if machine.shares_channels() {
            self.channels.rotate(now, Rc::clone(&rotation));
        }
        self.state = after;
        self.origin = now;
        let free = now + rotation.issue_end;
        if let Some(queue) = dispatcher.queues.get_mut(&Unit::Array) {
            queue.free = free;
        }
        dispatcher.events.push(Reverse((free, u32::MAX, 0)));
        for (slot, &done) in rotation.slot_done.iter().enumerate() {
            dispatcher.events.push(Reverse((now + done, node, slot as u8)));
        }
        let end = now + rotation.end;
        dispatcher.events.push(Reverse((end, node, WHOLE)));
        timeline.rotations.insert(node, rotation);
        end
    }
}
