//! Start cycles of a blind rotation on the PBS clusters and of a key switch on the key-switch clusters.
//!
//! All cores receive the multicast key and run in lockstep, so one core is simulated. The units of a cluster form a
//! pipeline without queues: a step's start at the decomposer determines its cycle in all others. A step starts when the
//! previous step has entered, its accumulator is complete, and its key arrives at the multipliers in time.

use super::layout::Layout;
use super::machine::{Pipeline, StepCycles};
use crate::tfhe::steady::{Iterate, Settled, Steady, settle};
use crate::tfhe::steps::Steps;
use std::collections::VecDeque;

/// Buffers for complete sums after accumulating multipliers, in addition to the running sums: a double buffer.
pub const SUM_BUFFERS: u8 = 2;

/// Cycles from the global scratchpad to the clusters: the register of the multicast.
pub const KEY_HOP: i64 = 1;

/// Start cycles of one iteration of all ciphertexts of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    pub key: i64,
    /// Index of the key's buffer.
    pub buffer: u8,
    /// For each ciphertext and step, the start at the decomposer.
    pub waves: Vec<Vec<i64>>,
    /// For each ciphertext and drain, the start at the inverse transform.
    pub drains: Vec<Vec<i64>>,
    /// For each ciphertext, the buffer of its complete sums, if the multipliers accumulate.
    pub sums: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// All iterations except the last.
    pub iterations: Settled<IterationTimes>,
    /// The last iteration; its results go to the key-switch cluster's memory.
    pub last: IterationTimes,
    /// For each ciphertext, the start of the sample extraction.
    pub extractions: Vec<i64>,
}

impl IterationTimes {
    /// Shifted to `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        let before = |times: &[Vec<i64>]| {
            times.iter().map(|starts| starts.iter().map(|start| start - cycles).collect()).collect()
        };
        let (waves, drains) = (before(&self.waves), before(&self.drains));
        Self { key: self.key - cycles, buffer: self.buffer, waves, drains, sums: self.sums.clone() }
    }
}

/// Shifts a loop to `cycles` earlier.
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
    /// Shifted to `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        Self {
            iterations: settled_before(&self.iterations, |times| times.before(cycles)),
            last: self.last.before(cycles),
            extractions: self.extractions.iter().map(|start| start - cycles).collect(),
        }
    }
}

/// State of the clusters between rotations: cycles from which resources are free.
#[derive(Clone, Debug)]
pub struct ClusterState {
    decomposer: i64,
    inverse: i64,
    /// Buffers of complete sums, each with the cycle from which it may be overwritten, in order of use.
    sums: VecDeque<(u8, i64)>,
    /// Channels of the key.
    channel: i64,
    /// Key buffers, likewise.
    buffers: VecDeque<(u8, i64)>,
}

impl ClusterState {
    /// All resources are free from cycle 0.
    pub fn new(buffers: u64) -> Self {
        let all = |count: u8| (0..count).map(|buffer| (buffer, 0)).collect();
        Self { decomposer: 0, inverse: 0, sums: all(SUM_BUFFERS), channel: 0, buffers: all(buffers as u8) }
    }
}

struct IterationRun<'a> {
    steps: &'a Steps,
    cycles: &'a StepCycles,
    accumulates: bool,
    state: ClusterState,
    /// For each ciphertext, the first cycle in which its accumulator can be read.
    ready: Vec<i64>,
    /// First cycle in which the last iteration may write its results.
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
                    // Every element is read at the earliest one cycle after its write, including the last one.
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

/// Schedules one blind rotation and updates `state`. `loaded` has the cycles from which the ciphertexts are in the
/// local scratchpads. Extracted ciphertexts may be written from cycle `hold` on.
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
    // The extraction reads each coefficient one cycle after its write to the scratchpad.
    let extractions = run.ready.iter().map(|ready| ready + 1 - cycles.drain).collect();
    Rotation { iterations, last, extractions }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileTimes {
    pub load: i64,
    /// Index of the tile's buffer.
    pub buffer: u8,
    /// Start on the clusters and of the multicast.
    pub switch: i64,
}

impl TileTimes {
    /// Shifted to `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        Self { load: self.load - cycles, switch: self.switch - cycles, ..*self }
    }
}

/// Durations of a tile of the key-switch key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileCycles {
    /// Transfer on the channels.
    pub load: i64,
    /// Processing by the clusters, for all ciphertexts of a core.
    pub switch: i64,
    /// From request to first byte.
    pub memory: i64,
}

impl TileCycles {
    /// For `waves` ciphertexts per core.
    pub fn new(machine: &Pipeline, layout: &Layout, steps: &StepCycles, waves: u64) -> Self {
        let sizes = &layout.sizes;
        let digits = layout.tile_elements * sizes.key_switch_levels;
        Self {
            load: machine.channel_cycles((digits * sizes.small).div_ceil(machine.switch_channels)),
            // The next tile reads a sum only after its write.
            switch: machine.switch_cycles(digits, sizes.lwe_dimension + 1, waves).max(steps.switch),
            memory: steps.memory,
        }
    }
}

/// State of the key-switch clusters between key switches.
#[derive(Clone, Debug)]
pub struct SwitchState {
    cluster: i64,
    channel: i64,
    buffers: VecDeque<(u8, i64)>,
}

impl SwitchState {
    /// All resources are free from cycle 0.
    pub fn new(buffers: u64) -> Self {
        Self { cluster: 0, channel: 0, buffers: (0..buffers as u8).map(|buffer| (buffer, 0)).collect() }
    }

    /// Reserves the clusters until cycle `until`.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySwitch {
    /// All tiles except the last.
    pub tiles: Settled<TileTimes>,
    /// The last tile completes the sums.
    pub last: TileTimes,
    /// Cycle from which the clusters are free.
    pub free: i64,
}

impl KeySwitch {
    /// Shifted to `cycles` earlier.
    #[must_use]
    pub fn before(&self, cycles: i64) -> Self {
        let tiles = settled_before(&self.tiles, |times| times.before(cycles));
        Self { tiles, last: self.last.before(cycles), free: self.free - cycles }
    }
}

/// Schedules one key switch of `tiles` tiles; its ciphertexts are available from cycle `ready` on.
pub fn switch(tiles: usize, cycles: TileCycles, ready: i64, state: &mut SwitchState) -> KeySwitch {
    let mut run = SwitchRun { cycles, state: state.clone(), ready };
    let settled = settle(&mut run, tiles.saturating_sub(1));
    let last = run.iteration();
    *state = run.state;
    KeySwitch { tiles: settled, last, free: state.cluster }
}
