//! Dispatches the tasks, transfers on their channels, and the clusters' steps.

use super::cluster::{ClusterState, KEY_HOP, KeySwitch, Rotation, SwitchState, TileCycles, rotate, switch};
use super::machine::{Pipeline, StepCycles};
use super::software::{Action, Task, Tasks, Unit};
use crate::tfhe::channels::{Next, Part, spread};
use crate::tfhe::dispatcher::{self, Started};
use polyfabric_schemes::tfhe::Parameters;
use std::collections::HashMap;

pub struct Timeline {
    pub starts: Vec<i64>,
    /// Completion cycle of each task, when its last result is written.
    pub ends: Vec<i64>,
    /// Parts of each transfer on the channels.
    pub parts: HashMap<u32, Vec<Part>>,
    /// Blind rotations, in absolute cycles.
    pub rotations: HashMap<u32, Rotation>,
    /// Key switches, in absolute cycles.
    pub switches: HashMap<u32, KeySwitch>,
    pub steps: StepCycles,
    /// Durations of a tile, for each key switch.
    pub tiles: HashMap<u32, TileCycles>,
}

/// Cycles from the last byte on a link to the last one in its scratchpad.
pub fn link_latency(machine: &Pipeline) -> i64 {
    2 * machine.depth.memory as i64 - 1
}

pub fn run(machine: &Pipeline, parameters: &Parameters, tasks: &Tasks) -> Timeline {
    let mut chip = Chip {
        machine,
        tasks,
        steps: machine.steps(parameters),
        channels: vec![0; (machine.key_channels + machine.switch_channels + machine.ciphertext_channels) as usize],
        cluster: ClusterState::new(machine.key_buffers),
        switch: SwitchState::new(machine.key_buffers),
        large_free: 0,
        admitted: vec![0; tasks.layout.waves as usize],
        parts: HashMap::new(),
        rotations: HashMap::new(),
        switches: HashMap::new(),
        tiles: HashMap::new(),
    };
    let times = dispatcher::run(&tasks.tasks, |task| &tasks.tasks[task].waits, |task, now| chip.start(task, now));
    let Chip { parts, rotations, switches, steps, tiles, .. } = chip;
    Timeline { starts: times.starts, ends: times.ends, parts, rotations, switches, steps, tiles }
}

struct Chip<'a> {
    machine: &'a Pipeline,
    tasks: &'a Tasks,
    steps: StepCycles,
    /// First free cycle of each channel.
    channels: Vec<i64>,
    cluster: ClusterState,
    switch: SwitchState,
    /// First cycle in which extracted ciphertexts may be overwritten.
    large_free: i64,
    /// For each wave of the next rotation, the cycle from which it is in the local scratchpads.
    admitted: Vec<i64>,
    parts: HashMap<u32, Vec<Part>>,
    rotations: HashMap<u32, Rotation>,
    switches: HashMap<u32, KeySwitch>,
    tiles: HashMap<u32, TileCycles>,
}

impl Chip<'_> {
    fn start(&mut self, index: u32, now: i64) -> Started {
        let task = &self.tasks.tasks[index as usize];
        match task.unit {
            Unit::Channels => self.transfer(index, task, now),
            Unit::Pbs => self.rotate(index, task, now),
            Unit::Switch if task.action == Action::Switch => self.key_switch(index, task, now),
            Unit::Switch => {
                let free = now + KEY_HOP + task.occupancy;
                self.switch.take(free);
                Started { start: now, end: free + self.steps.switch, free, waves: Vec::new() }
            }
            Unit::Admission | Unit::Return => {
                let free = now + task.occupancy;
                let mut end = free + link_latency(self.machine);
                if task.action == Action::Admit {
                    // The last rotation amount arrives one cycle before it rotates the test polynomial.
                    end += 1;
                    self.admitted[task.wave as usize] = end;
                }
                Started { start: now, end, free, waves: Vec::new() }
            }
        }
    }

    fn transfer(&mut self, index: u32, task: &Task, now: i64) -> Started {
        let machine = self.machine;
        let first = (machine.key_channels + machine.switch_channels) as u32;
        let channels = first..first + machine.ciphertext_channels as u32;
        let whole = |left: &Part| Next::Take(left.count);
        let (parts, free) = spread(task.items, channels, &mut self.channels, now, machine.channel_bytes, whole);
        let past = |part: &Part| part.start + machine.channel_cycles(part.count * task.items.bytes);
        let end = parts.iter().map(past).max().unwrap_or(now) + machine.memory_latency as i64;
        let start = parts.iter().map(|part| part.start).min().unwrap_or(now);
        self.parts.insert(index, parts);
        Started { start, end, free, waves: Vec::new() }
    }

    /// Steps start as early as their waves allow, possibly before the dispatch decision.
    fn rotate(&mut self, index: u32, task: &Task, now: i64) -> Started {
        let epoch = self.tasks.epochs.iter().find(|epoch| epoch.rotation == Some(index));
        let Some(epoch) = epoch else { return Started { start: now, end: now, free: now, waves: Vec::new() } };
        let crate::tfhe::workload::Work::Bootstraps(work) = &self.tasks.works[epoch.work] else {
            return Started { start: now, end: now, free: now, waves: Vec::new() };
        };
        let steps = &self.tasks.steps[&work.blind_rotation];
        let waves = u64::from(task.count).div_ceil(self.machine.cores) as usize;
        let loaded = &self.admitted[..waves];
        let running = (steps, &self.steps, self.machine.accumulates);
        let rotation = rotate(running, loaded, self.large_free, &mut self.cluster);
        // A wave is done when its last coefficient has been extracted.
        let done = |&start: &i64| (start + self.steps.extraction() + 1).max(now);
        let waves: Vec<i64> = rotation.extractions.iter().map(done).collect();
        let end = waves.iter().copied().max().unwrap_or(now);
        let start = loaded.iter().copied().min().unwrap_or(now);
        self.rotations.insert(index, rotation);
        Started { start, end, free: now, waves }
    }

    fn key_switch(&mut self, index: u32, task: &Task, now: i64) -> Started {
        let layout = &self.tasks.layout;
        let waves = u64::from(task.count).div_ceil(self.machine.cores);
        let cycles = TileCycles::new(self.machine, layout, &self.steps, waves);
        let tiles = (layout.sizes.large_dimension / layout.tile_elements) as usize;
        let switch = switch(tiles, cycles, now, &mut self.switch);
        let free = switch.free;
        self.large_free = self.large_free.max(free);
        self.switches.insert(index, switch);
        self.tiles.insert(index, cycles);
        Started { start: now, end: free + self.steps.switch, free, waves: vec![now] }
    }
}
