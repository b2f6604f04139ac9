//! Schedules one blind-rotation instruction on the XPUs, event by event, until the iterations repeat.
//!
//! Private-A2 multicasts one key stream, so all XPUs run in lockstep. In an array, row r receives the key r cycles
//! after row 0, as in any systolic array. So one row is simulated, and the others are shifted. Each unit processes its
//! work in stream order, as soon as its input, the next unit and the buffers are ready. The pipeline never stalls
//! inside. Settled iterations become one loop ([`crate::tfhe::steady`]).

use super::latency;
use crate::tfhe::iteration::{Forward, Inverse, IterationPlan};
use crate::tfhe::pipeline::{self, PipelineDepth};
use crate::tfhe::steady::{Iterate, Settled, Steady, settle};
use std::collections::HashMap;

/// Durations and latencies for one parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepCycles {
    /// Duration of a polynomial on a row's path.
    pub polynomial: i64,
    /// Duration of a polynomial on an IFFT unit and back to Private-A1.
    pub inverse: i64,
    /// Cycles between the streams of two rows that share an FFT unit: 0 with merge-split.
    pub pair_offset: i64,
    /// Largest delay of a row relative to row 0, from the VPE array on.
    pub skew: i64,
    /// From first coefficient to first digit.
    pub decomposition: i64,
    /// From first digit to first point of the spectrum, including the split.
    pub forward: i64,
    /// From first point to first sum.
    pub multiply: i64,
    /// From first sum to first coefficient.
    pub backward: i64,
    /// From first coefficient to first accumulated coefficient in Private-A1.
    pub accumulate: i64,
    /// Transfer of one iteration's key on its memory channels.
    pub key: i64,
    /// Cycles after a key transfer that the channels reserve for other transfers.
    pub key_gap: i64,
    /// From request to first byte.
    pub key_latency: i64,
}

/// Rates from which [`StepCycles`] follows.
#[derive(Clone, Copy, Debug)]
pub struct PathRates {
    /// Folded points per cycle of a row's path.
    pub row_points: u64,
    /// Folded points per cycle of an IFFT unit.
    pub inverse_points: u64,
    /// Points per cycle inside the FFT unit, which determine its delay.
    pub fft_points: u64,
    /// Whether one transform merges the polynomials of two rows.
    pub merge_split: bool,
    /// Rows per FFT unit.
    pub rows_per_fft: u64,
    pub rows: u64,
    pub columns: u64,
}

impl StepCycles {
    /// For ring degree N. `key` has the durations of the key's transfer and of the gap after it.
    pub fn new(ring_degree: u64, rates: &PathRates, depth: PipelineDepth, key: (i64, i64), key_latency: u64) -> Self {
        let size = ring_degree / 2;
        let polynomial = pipeline::polynomial_cycles(size, rates.row_points);
        let split = if rates.merge_split { latency::split(size, rates.fft_points, depth) } else { 0 };
        let transform = pipeline::transform(size, rates.fft_points, depth) + split;
        let offsets = if rates.merge_split { 0 } else { rates.rows_per_fft - 1 };
        Self {
            polynomial: polynomial as i64,
            inverse: pipeline::polynomial_cycles(size, rates.inverse_points) as i64,
            pair_offset: (offsets * polynomial) as i64,
            skew: rates.rows as i64 - 1,
            decomposition: pipeline::decomposition(depth) as i64,
            forward: transform as i64,
            multiply: latency::multiply_accumulate(rates.columns, depth) as i64,
            backward: pipeline::transform(size, rates.inverse_points, depth) as i64,
            accumulate: pipeline::accumulate(depth) as i64,
            key: key.0,
            key_gap: key.1,
            key_latency: key_latency as i64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardTimes {
    pub decomposition: i64,
    pub transform: i64,
    pub multiply: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InverseTimes {
    pub transform: i64,
    /// Accumulation in Private-A1.
    pub accumulate: i64,
    /// The POLY-ACC register that is drained.
    pub register: u8,
}

/// Start cycles of one ciphertext's events in one iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveTimes {
    /// In the order of [`IterationPlan::forwards`].
    pub forwards: Vec<ForwardTimes>,
    /// In the order of [`IterationPlan::drains`], flattened.
    pub inverses: Vec<InverseTimes>,
    /// POLY-ACC register of each chain.
    pub registers: Vec<u8>,
}

/// Start cycles of one iteration of all resident ciphertexts of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    /// Transfer of the key into Private-A2.
    pub key: i64,
    /// The key's buffer in Private-A2.
    pub key_buffer: u8,
    pub waves: Vec<WaveTimes>,
}

/// Events of one blind-rotation instruction, relative to its dispatch.
#[derive(Clone, Debug)]
pub struct Rotation {
    pub iterations: Settled<IterationTimes>,
    /// For each wave, the cycle in which its last accumulator is complete in Private-A1, in every row.
    pub wave_done: Vec<i64>,
    /// First cycle in which the next instruction may be dispatched, as the decomposition units are free.
    pub issue_end: i64,
    /// The last cycle of any event.
    pub end: i64,
}

impl Rotation {
    /// Start of the first key transfer, of `length` cycles, that ends after `cycle`.
    pub fn key_after(&self, cycle: i64, length: i64) -> Option<i64> {
        let comes = |key: i64| (key + length > cycle).then_some(key);
        let of = |times: &[IterationTimes]| times.iter().find_map(|times| comes(times.key));
        of(&self.iterations.prologue)
            .or_else(|| {
                let Steady { pair: [first, second], period, rounds, .. } = self.iterations.steady.as_ref()?;
                // The first pair whose second transfer ends after `cycle`.
                let round = (cycle - length - second.key).div_euclid(*period) + 1;
                let round = round.max(0);
                let begin = round * period;
                (round < *rounds as i64).then(|| comes(first.key + begin).unwrap_or(second.key + begin))
            })
            .or_else(|| of(&self.iterations.epilogue))
    }
}

/// First free cycle of each resource of the array, relative to some origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayState {
    decomposition: i64,
    transform: i64,
    multiply: i64,
    backward: i64,
    accumulate: i64,
    registers: Vec<[i64; 2]>,
    next_register: Vec<u8>,
    channel: i64,
    key_buffers: Vec<i64>,
    next_key_buffer: u8,
}

impl ArrayState {
    /// All resources are free from cycle 0.
    pub fn new(columns: usize, key_buffers: usize) -> Self {
        Self {
            decomposition: 0,
            transform: 0,
            multiply: 0,
            backward: 0,
            accumulate: 0,
            registers: vec![[0; 2]; columns],
            next_register: vec![0; columns],
            channel: 0,
            key_buffers: vec![0; key_buffers],
            next_key_buffer: 0,
        }
    }

    /// The same state relative to a cycle `cycles` later. No event of a row starts before that cycle, so earlier free
    /// times are clamped to it. Key transfers may precede it, but no earlier than Private-A2 can buffer keys. So
    /// rotations on XPUs that were idle for any time have the same events.
    #[must_use]
    pub fn rebased(&self, cycles: i64, steps: &StepCycles) -> Self {
        let mut state = self.clone();
        state.shift(-cycles);
        let ahead = -steps.key_latency - state.key_buffers.len() as i64 * (steps.key + steps.key_gap);
        state.channel = state.channel.max(ahead);
        state.key_buffers.iter_mut().for_each(|free| *free = (*free).max(ahead + steps.key_latency));
        let row = [
            &mut state.decomposition,
            &mut state.transform,
            &mut state.multiply,
            &mut state.backward,
            &mut state.accumulate,
        ];
        let registers = state.registers.iter_mut().flatten();
        row.into_iter().chain(registers).for_each(|time| *time = (*time).max(0));
        state
    }

    /// Prevents transfers on the key's channel before `cycle`.
    pub fn reserve_channel(&mut self, cycle: i64) {
        self.channel = self.channel.max(cycle);
    }

    fn shift(&mut self, cycles: i64) {
        let single = [
            &mut self.decomposition,
            &mut self.transform,
            &mut self.multiply,
            &mut self.backward,
            &mut self.accumulate,
            &mut self.channel,
        ];
        let registers = self.registers.iter_mut().flatten();
        single.into_iter().chain(registers).chain(&mut self.key_buffers).for_each(|time| *time += cycles);
    }
}

/// Cycles from a bank of Private-A2 to row 0 of the arrays.
pub const KEY_HOP: i64 = 1;

struct IterationRun<'a> {
    plan: &'a IterationPlan,
    cycles: &'a StepCycles,
    state: ArrayState,
    /// Per wave and polynomial: cycle in which the accumulator is complete in every row.
    ready: Vec<Vec<i64>>,
    /// Likewise for the accumulator that the current iteration computes.
    coming: Vec<i64>,
}

impl IterationRun<'_> {
    fn forward(&mut self, wave: usize, forward: &Forward, key_ready: i64, registers: &mut [u8]) -> ForwardTimes {
        let c = self.cycles;
        let mut start = (self.state.decomposition)
            .max(self.ready[wave][forward.polynomial as usize])
            .max(self.state.transform - c.decomposition);
        let to_multiply = c.decomposition + c.forward;
        start = start.max(self.state.multiply - to_multiply).max(key_ready - to_multiply);
        for product in forward.products.iter().filter(|product| product.opens) {
            let column = product.column as usize;
            let register = self.state.next_register[column];
            self.state.next_register[column] = 1 - register;
            registers[product.chain] = register;
            start = start.max(self.state.registers[column][register as usize] - to_multiply);
        }
        let times =
            ForwardTimes { decomposition: start, transform: start + c.decomposition, multiply: start + to_multiply };
        self.state.decomposition = start + c.polynomial + c.pair_offset;
        self.state.transform = times.transform + c.polynomial + c.pair_offset;
        self.state.multiply = times.multiply + c.polynomial + c.pair_offset;
        times
    }

    /// The register is drained after the last product of the slowest row.
    fn inverse(&mut self, inverse: &Inverse, closed: i64, register: u8) -> InverseTimes {
        let c = self.cycles;
        let transform = self.state.backward.max(closed).max(self.state.accumulate - c.backward);
        let accumulate = transform + c.backward;
        self.state.backward = transform + c.inverse;
        self.state.accumulate = accumulate + c.inverse;
        self.state.registers[inverse.column as usize][register as usize] = transform + c.inverse;
        let done = accumulate + c.inverse + c.accumulate + c.skew;
        let coming = &mut self.coming[inverse.column as usize];
        *coming = done.max(*coming);
        InverseTimes { transform, accumulate, register }
    }

    fn next_iteration(&mut self) -> IterationTimes {
        let c = *self.cycles;
        let buffer = self.state.next_key_buffer as usize;
        self.state.next_key_buffer = ((buffer + 1) % self.state.key_buffers.len()) as u8;
        let key = self.state.channel.max(self.state.key_buffers[buffer] - c.key_latency);
        self.state.channel = key + c.key + c.key_gap;
        // There is a register between the banks' multicast and the array.
        let key_ready = key + c.key_latency + c.key + KEY_HOP;
        let mut waves = Vec::with_capacity(self.ready.len());
        for wave in 0..self.ready.len() {
            let mut forwards = Vec::with_capacity(self.plan.forwards.len());
            let mut inverses = Vec::new();
            let mut registers = vec![0; self.plan.chains];
            self.coming.copy_from_slice(&self.ready[wave]);
            for (forward, drains) in self.plan.forwards.iter().zip(&self.plan.drains) {
                let times = self.forward(wave, forward, key_ready, &mut registers);
                forwards.push(times);
                let closed = times.multiply + c.polynomial + c.multiply;
                for inverse in drains {
                    inverses.push(self.inverse(inverse, closed, registers[inverse.chain]));
                }
            }
            self.ready[wave].copy_from_slice(&self.coming);
            waves.push(WaveTimes { forwards, inverses, registers });
        }
        // Cycle of the key's last read.
        self.state.key_buffers[buffer] = self.state.multiply - KEY_HOP - 1;
        IterationTimes { key, key_buffer: buffer as u8, waves }
    }
}

impl Iterate for IterationRun<'_> {
    type Times = IterationTimes;

    fn iteration(&mut self) -> IterationTimes {
        self.next_iteration()
    }

    fn shift_between(earlier: &IterationTimes, later: &IterationTimes) -> Option<i64> {
        let shift = later.key - earlier.key;
        if earlier.key_buffer != later.key_buffer {
            return None;
        }
        for (a, b) in earlier.waves.iter().zip(&later.waves) {
            let forwards = a.forwards.iter().zip(&b.forwards).all(|(a, b)| {
                b.decomposition - a.decomposition == shift
                    && b.transform - a.transform == shift
                    && b.multiply - a.multiply == shift
            });
            let inverses = a.inverses.iter().zip(&b.inverses).all(|(a, b)| {
                b.transform - a.transform == shift && b.accumulate - a.accumulate == shift && a.register == b.register
            });
            if !forwards || !inverses || a.registers != b.registers {
                return None;
            }
        }
        Some(shift)
    }

    fn skip(&mut self, cycles: i64) {
        self.state.shift(cycles);
        self.ready.iter_mut().flatten().for_each(|time| *time += cycles);
    }
}

/// Schedules one instruction with `waves` resident ciphertexts per row; the result and `state` are relative to its
/// dispatch.
pub fn rotate(plan: &IterationPlan, cycles: &StepCycles, waves: usize, state: ArrayState) -> (Rotation, ArrayState) {
    let polynomials = plan.polynomials as usize;
    let mut run =
        IterationRun { plan, cycles, state, ready: vec![vec![0; polynomials]; waves], coming: vec![0; polynomials] };
    let iterations = settle(&mut run, plan.iterations);
    let wave_done: Vec<i64> =
        run.ready.iter().map(|ready| ready.iter().copied().max().unwrap_or(0) + cycles.pair_offset).collect();
    let end = wave_done.iter().copied().max().unwrap_or(0).max(run.state.channel - cycles.key_gap);
    let rotation = Rotation { iterations, wave_done, issue_end: run.state.decomposition, end };
    (rotation, run.state)
}

/// Caches rotations: equal states give equal events.
#[derive(Default)]
pub struct RotationCache {
    known: HashMap<(usize, usize, ArrayState), (std::rc::Rc<Rotation>, ArrayState)>,
}

impl RotationCache {
    /// As [`rotate`], for the plan with index `plan_index`.
    pub fn rotate(
        &mut self,
        plan_index: usize,
        plan: &IterationPlan,
        cycles: &StepCycles,
        waves: usize,
        state: ArrayState,
    ) -> (std::rc::Rc<Rotation>, ArrayState) {
        let key = (plan_index, waves, state);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let (rotation, after) = rotate(plan, cycles, waves, key.2.clone());
        let value = (std::rc::Rc::new(rotation), after);
        self.known.insert(key, value.clone());
        value
    }
}
