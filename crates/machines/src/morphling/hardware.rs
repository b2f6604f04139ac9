//! The hardware scheduler (section V-E): dispatches instructions when what they wait for is done and their unit is free.
//!
//! The simulation is [`crate::torus::dispatcher`]'s. The key-switch key goes first: channels are prioritised for it whenever a
//! key switch needs it (section IV-C). A transfer spreads over the memory channels ([`super::channels`]); the next one is taken
//! when the first of its channels is free again. The XPUs' blind rotations are dispatched event by event in [`super::array`],
//! with the state that the previous one left.

use super::array::{ArrayState, Rotation, RotationCache, StepCycles};
use super::channels::{Channels, items};
use super::instruction::Opcode;
use super::machine::Morphling;
use super::software::{Streams, Unit};
use crate::torus::channels::Part;
use crate::torus::dispatcher::{self, Started};
use std::collections::HashMap;
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

/// Runs `streams` on `machine`.
pub fn run(machine: &Morphling, streams: &Streams) -> Timeline {
    let sizes = &streams.layout.sizes;
    let mut chip = Chip {
        machine,
        streams,
        steps: machine.steps(sizes),
        state: ArrayState::new(machine.columns as usize, machine.key_buffers as usize),
        origin: 0,
        cache: RotationCache::default(),
        channels: Channels::new(machine),
        parts: HashMap::new(),
        rotations: HashMap::new(),
    };
    let times = dispatcher::run(&streams.nodes, |node, now| chip.start(node, now));
    let cycles = times.ends.iter().copied().max().unwrap_or(0);
    let Chip { parts, rotations, steps, .. } = chip;
    Timeline { starts: times.starts, ends: times.ends, parts, rotations, steps, cycles }
}

struct Chip<'a> {
    machine: &'a Morphling,
    streams: &'a Streams,
    steps: StepCycles,
    state: ArrayState,
    /// Cycle that the state is relative to.
    origin: i64,
    cache: RotationCache,
    channels: Channels,
    parts: HashMap<u32, Vec<Part>>,
    rotations: HashMap<u32, Rc<Rotation>>,
}

impl Chip<'_> {
    fn start(&mut self, node: u32, now: i64) -> Started {
        let info = &self.streams.nodes[node as usize];
        match info.unit {
            Unit::Array if info.instruction.opcode == Opcode::BlindRotate => self.rotate(node, now),
            Unit::Dma | Unit::KeyDma => self.transfer(node, now),
            Unit::Array | Unit::Link | Unit::Lanes(_) => {
                let free = now + info.occupancy;
                Started { start: now, end: free + info.latency, free, slots: Vec::new() }
            }
        }
    }

    fn transfer(&mut self, node: u32, now: i64) -> Started {
        let info = &self.streams.nodes[node as usize];
        let items = items(&info.instruction);
        let (parts, free) = match info.unit {
            Unit::KeyDma => self.channels.take_before_keys(self.machine, items, now),
            _ => self.channels.take(self.machine, items, now, self.steps.key),
        };
        let past = |part: &Part| part.start + self.machine.channel_cycles(part.count * items.bytes);
        let end = parts.iter().map(past).max().unwrap_or(now) + info.latency;
        let start = parts.iter().map(|part| part.start).min().unwrap_or(now);
        self.parts.insert(node, parts);
        Started { start, end, free, slots: Vec::new() }
    }

    fn rotate(&mut self, node: u32, now: i64) -> Started {
        let machine = self.machine;
        let instruction = &self.streams.nodes[node as usize].instruction;
        let plan = self.streams.plan_of[&instruction.operation];
        let slots = u64::from(instruction.count).div_ceil(machine.positions()) as usize;
        let mut state = self.state.rebased(now - self.origin, &self.steps);
        // What the channels have begun, they finish. Where others use them, what they do until now is known and no key.
        let begun = self.channels.key_free(machine) - now;
        state.hold_channel(if machine.shares_channels() { begun.max(0) } else { begun });
        let (rotation, after) = self.cache.rotate(plan, &self.streams.plans[plan], &self.steps, slots, state);
        if machine.shares_channels() {
            self.channels.rotate(now, Rc::clone(&rotation));
        }
        self.state = after;
        self.origin = now;
        let slots = rotation.slot_done.iter().map(|done| now + done).collect();
        let started = Started { start: now, end: now + rotation.end, free: now + rotation.issue_end, slots };
        self.rotations.insert(node, rotation);
        started
    }
}
