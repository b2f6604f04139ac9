//! The PBS clusters' dispatch of one blind rotation, and the key-switch clusters' of one key switch.
//!
//! The key is multicast, so all cores run in lockstep and one is simulated. Units of a cluster are one pipeline without a
//! queue: a step's start at the decomposer fixes all others. A step starts when the one before has passed, when its
//! accumulator is complete, and so that it meets its key at the multipliers.

use super::layout::Layout;
use super::machine::{Pipeline, StepCycles};
use super::streams::Steps;
use crate::torus::steady::{Iterate, Settled, Steady, settle};
use std::collections::VecDeque;

/// Buffers of complete sums behind multipliers that accumulate, beside that of running ones: one is drained while the other is filled.
pub const SUM_BUFFERS: u8 = 2;

/// Cycles from the global scratchpad to the clusters: the multicast's register.
pub const KEY_HOP: i64 = 1;

/// Start cycles of one iteration of all ciphertexts of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    /// Transfer of the key into the global scratchpad.
    pub key: i64,
    /// Buffer that the key is in.
    pub buffer: u8,
    /// For each ciphertext and step, the start at the decomposer.
    pub waves: Vec<Vec<i64>>,
    /// For each ciphertext and drain, the start at the inverse transform.
    pub drains: Vec<Vec<i64>>,
    /// For each ciphertext, the buffer behind the multipliers that its sums are in, where they accumulate.
    pub sums: Vec<u8>,
}

/// One blind rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// All iterations but the last.
    pub iterations: Settled<IterationTimes>,
    /// The last iteration, whose sums leave for the key-switch cluster's memory.
    pub last: IterationTimes,
    /// For each ciphertext, the start of the sample extraction.
    pub extractions: Vec<i64>,
}

impl IterationTimes {
    /// The same, `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        let before = |times: &[Vec<i64>]| {
            times.iter().map(|starts| starts.iter().map(|start| start - cycles).collect()).collect()
        };
        let (waves, drains) = (before(&self.waves), before(&self.drains));
        Self { key: self.key - cycles, buffer: self.buffer, waves, drains, sums: self.sums.clone() }
    }
}

/// The same loop, `cycles` earlier.
fn settled_before<T: Clone>(settled: &Settled<T>, before: impl Fn(&T) -> T) -> Settled<T> {
    Settled {
        prologue: settled.prologue.iter().map(&before).collect(),
        steady: settled
            .steady
            .as_ref()
            .map(|steady| Steady { pair: [before(&steady.pair[0]), before(&steady.pair[1])], ..steady.clone() }),
        epilogue: settled.epilogue.iter().map(&before).collect(),
    }
}

impl Rotation {
    /// The same, `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        Self {
            iterations: settled_before(&self.iterations, |times| times.before(cycles)),
            last: self.last.before(cycles),
            extractions: self.extractions.iter().map(|start| start - cycles).collect(),
        }
    }
}

/// What a rotation leaves behind for the next.
#[derive(Clone, Debug)]
pub struct ClusterState {
    /// The decomposer is free.
    decomposer: i64,
    /// The inverse transforms are free.
    inverse: i64,
    /// Buffers behind the multipliers may be overwritten from here on, the next one first.
    sums: VecDeque<(u8, i64)>,
    /// The key's channels are free.
    channel: i64,
    /// Key buffers may be overwritten from here on, the next one first.
    buffers: VecDeque<(u8, i64)>,
}

impl ClusterState {
    /// Everything free from cycle 0 on.
    pub fn new(buffers: u64) -> Self {
        let all = |count: u8| (0..count).map(|buffer| (buffer, 0)).collect();
        Self { decomposer: 0, inverse: 0, sums: all(SUM_BUFFERS), channel: 0, buffers: all(buffers as u8) }
    }
}

struct IterationRun<'a> {
    steps: &'a Steps,
    cycles: &'a StepCycles,
    /// Whether the multipliers accumulate.
    accumulates: bool,
    state: ClusterState,
    /// For each ciphertext, the first cycle in which its accumulator can be read.
    ready: Vec<i64>,
    /// The first cycle in which the last step may reach the accumulator.
    hold: i64,
}

impl IterationRun<'_> {
    fn next(&mut self, last: bool) -> IterationTimes {
        let c = *self.cycles;
        let (buffer, free) = self.state.buffers.pop_front().unwrap_or_default();
        let key = self.state.channel.max(free - c.memory);
        self.state.channel = key + c.key;
        let key_ready = key + c.memory + c.key + KEY_HOP;
        let (mut waves, mut drains, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        let count = self.steps.steps.len();
        for ready in &mut self.ready {
            let mut starts = Vec::with_capacity(count);
            let (sum, free) = self.state.sums.pop_front().unwrap_or_default();
            for (index, step) in self.steps.steps.iter().enumerate() {
                let mut start = self.state.decomposer.max(key_ready - c.to_multiply());
                if !step.rotates.is_empty() {
                    start = start.max(*ready + c.rotate);
                }
                if self.accumulates && index + 1 == count {
                    start = start.max(free + 1 - c.to_multiply() - c.multiply);
                }
                if last && index + 1 == count {
                    start = start.max(self.hold - c.to_accumulator() - c.accumulate);
                }
                let next = if index + 1 < count { c.spacing } else { c.polynomial };
                self.state.decomposer = start + next;
                starts.push(start);
            }
            let mut drained = Vec::with_capacity(self.steps.drains.len());
            for drain in &self.steps.drains {
                let mut start = starts.get(drain.step).copied().unwrap_or(0) + c.to_multiply() + c.multiply;
                if self.accumulates {
                    // An element is read the cycle after it is written, the last one too.
                    start = (start + (c.polynomial - c.drain).max(0)).max(self.state.inverse);
                    self.state.inverse = start + c.drain;
                }
                drained.push(start);
            }
            let end = drained.last().copied().unwrap_or(0);
            *ready = end + c.backward + c.accumulate + c.drain - 1;
            self.state.sums.push_back((sum, end + c.drain - 1));
            waves.push(starts);
            drains.push(drained);
            sums.push(if self.accumulates { sum } else { 0 });
        }
        // The multicast's last read of the key.
        let read = self.state.decomposer + c.to_multiply() - KEY_HOP - 1;
        self.state.buffers.push_back((buffer, read));
        IterationTimes { key, buffer, waves, drains, sums }
    }
}

impl Iterate for IterationRun<'_> {
    type Times = IterationTimes;

    fn iteration(&mut self) -> IterationTimes {
        self.next(false)
    }

    fn shift_between(earlier: &IterationTimes, later: &IterationTimes) -> Option<i64> {
        let shift = later.key - earlier.key;
        let starts =
            |times: &IterationTimes| times.waves.iter().chain(&times.drains).flatten().copied().collect::<Vec<_>>();
        let alike = starts(earlier).into_iter().zip(starts(later)).all(|(a, b)| b - a == shift);
        (earlier.buffer == later.buffer && earlier.sums == later.sums && alike).then_some(shift)
    }

    fn skip(&mut self, cycles: i64) {
        self.state.decomposer += cycles;
        self.state.inverse += cycles;
        self.state.channel += cycles;
        let buffers = self.state.buffers.iter_mut().chain(&mut self.state.sums);
        buffers.for_each(|(_, free)| *free += cycles);
        self.ready.iter_mut().for_each(|time| *time += cycles);
    }
}

/// Runs one blind rotation of ciphertexts that are in the local scratchpads from the cycles `loaded` on, from `state`, which
/// it moves on. Extracted ciphertexts may be written from cycle `hold` on.
pub fn rotate(
    (steps, cycles, accumulates): (&Steps, &StepCycles, bool),
    loaded: &[i64],
    hold: i64,
    state: &mut ClusterState,
) -> Rotation {
    let mut run = IterationRun { steps, cycles, accumulates, state: state.clone(), ready: loaded.to_vec(), hold };
    let iterations = settle(&mut run, steps.iterations.saturating_sub(1));
    let last = run.next(true);
    *state = run.state;
    // Sums are read from the scratchpad a cycle after they are written, as they come.
    let extractions = run.ready.iter().map(|ready| ready + 1 - cycles.drain).collect();
    Rotation { iterations, last, extractions }
}

/// Start cycles of one tile of a key switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileTimes {
    /// Transfer of the tile into the global scratchpad.
    pub load: i64,
    /// Buffer that it is in.
    pub buffer: u8,
    /// The clusters, and the multicast with them.
    pub switch: i64,
}

impl TileTimes {
    /// The same, `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        Self { load: self.load - cycles, switch: self.switch - cycles, ..*self }
    }
}

/// Cycles of a key switch's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileCycles {
    /// A tile on its channels.
    pub load: i64,
    /// A tile through the clusters, for all ciphertexts of a core.
    pub switch: i64,
    /// Request to first byte.
    pub memory: i64,
}

impl TileCycles {
    /// Those of `waves` ciphertexts a core.
    pub fn new(machine: &Pipeline, layout: &Layout, steps: &StepCycles, waves: u64) -> Self {
        let sizes = &layout.sizes;
        let digits = layout.tile_elements * sizes.key_switch_levels;
        Self {
            load: machine.channel_cycles((digits * sizes.small).div_ceil(machine.switch_channels)),
            // A sum is read for the next tile after it has left the pipeline.
            switch: machine.switch_cycles(digits, sizes.lwe_dimension + 1, waves).max(steps.switch),
            memory: steps.memory,
        }
    }
}

/// What a key switch leaves behind for the next.
#[derive(Clone, Debug)]
pub struct SwitchState {
    cluster: i64,
    channel: i64,
    buffers: VecDeque<(u8, i64)>,
}

impl SwitchState {
    /// Everything free from cycle 0 on.
    pub fn new(buffers: u64) -> Self {
        Self { cluster: 0, channel: 0, buffers: (0..buffers as u8).map(|buffer| (buffer, 0)).collect() }
    }

    /// The clusters are taken by other work until cycle `until`.
    pub fn take(&mut self, until: i64) {
        self.cluster = self.cluster.max(until);
    }
}

struct SwitchRun {
    cycles: TileCycles,
    state: SwitchState,
    ready: i64,
}

impl Iterate for SwitchRun {
    type Times = TileTimes;

    fn iteration(&mut self) -> TileTimes {
        let c = self.cycles;
        let (buffer, free) = self.state.buffers.pop_front().unwrap_or_default();
        let load = self.state.channel.max(free - c.memory);
        self.state.channel = load + c.load;
        let switch = self.state.cluster.max(self.ready).max(load + c.memory + c.load + KEY_HOP);
        self.state.cluster = switch + c.switch;
        self.state.buffers.push_back((buffer, switch + c.switch - 1 - KEY_HOP));
        TileTimes { load, buffer, switch }
    }

    fn shift_between(earlier: &TileTimes, later: &TileTimes) -> Option<i64> {
        let shift = later.load - earlier.load;
        (earlier.buffer == later.buffer && later.switch - earlier.switch == shift).then_some(shift)
    }

    fn skip(&mut self, cycles: i64) {
        self.state.cluster += cycles;
        self.state.channel += cycles;
        self.state.buffers.iter_mut().for_each(|(_, free)| *free += cycles);
    }
}

/// One key switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySwitch {
    /// All tiles but the last.
    pub tiles: Settled<TileTimes>,
    /// The last tile, whose sums are the result.
    pub last: TileTimes,
    /// The clusters take up nothing more of it.
    pub free: i64,
}

impl KeySwitch {
    /// The same, `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        let tiles = settled_before(&self.tiles, |times| times.before(cycles));
        Self { tiles, last: self.last.before(cycles), free: self.free - cycles }
    }
}

/// Runs one key switch of `tiles` tiles, of ciphertexts that are there from cycle `ready` on.
pub fn switch(tiles: usize, cycles: TileCycles, ready: i64, state: &mut SwitchState) -> KeySwitch {
    let mut run = SwitchRun { cycles, state: state.clone(), ready };
    let settled = settle(&mut run, tiles.saturating_sub(1));
    let last = run.iteration();
    *state = run.state;
    KeySwitch { tiles: settled, last, free: state.cluster }
}
