//! The machine's figures, checked, under one choice of readings.

use super::streams::accumulation;
use crate::torus::channels;
use crate::torus::pipeline::{self, PipelineDepth};
use crate::torus::sizes::Sizes;
use polyfabric_program::tfhe::lowering::Accumulation;
use polyfabric_schemes::tfhe::Parameters;

/// One machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Clock in Hz.
    pub clock_hz: f64,
    /// Streaming cores: TvLP.
    pub cores: u64,
    /// Complex points a cycle of a transform, and of every path in the transform domain: CLP.
    pub lanes: u64,
    /// Polynomials that enter the transforms side by side, one FFT unit each: PLP.
    pub rows: u64,
    /// Columns of the key that are multiplied side by side, one VMA, IFFT and accumulator each: CoLP.
    pub columns: u64,
    /// Whether N coefficients become N/2 complex points.
    pub folding: bool,
    /// Registers in the arithmetic units.
    pub depth: PipelineDepth,
    /// Largest ring degree that the transforms have stages and the buffers have room for.
    pub largest_ring: u64,
    /// Bytes of a complex point of the bootstrapping key.
    pub point_bytes: u64,
    /// Bytes of a core's local scratchpad.
    pub local: u64,
    /// Bytes of the global scratchpad.
    pub global: u64,
    /// Key iterations, and tiles of the key-switch key, that the global scratchpad holds.
    pub key_buffers: u64,
    /// Bytes a cycle of all buses that multicast the bootstrapping key.
    pub key_bus: u64,
    /// Bytes a cycle of the bus that multicasts the key-switch key.
    pub switch_bus: u64,
    /// Bytes a cycle between the global scratchpad and one core, in each direction.
    pub link: u64,
    /// Ciphertexts of a core that share a key iteration, at most.
    pub batch: u64,
    /// Digits that a key-switch cluster multiplies side by side: its CLP.
    pub switch_lanes: u64,
    /// Elements of the result that it sums side by side: its CoLP.
    pub switch_columns: u64,
    /// Channels of the bootstrapping key, the first ones.
    pub key_channels: u64,
    /// Channels of the key-switch key, the next ones.
    pub switch_channels: u64,
    /// Channels of everything else, the last ones.
    pub ciphertext_channels: u64,
    /// Bytes a cycle of one channel.
    pub channel_bytes: f64,
    /// Cycles from a request to its first byte.
    pub memory_latency: u64,
}

/// Cycles of every step for one ring degree: latencies from an element in to the element out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCycles {
    /// A polynomial on its path; the slowest unit's, and the key bus's.
    pub polynomial: i64,
    /// Rotator: both pointers' banks and the reorder unit, the subtraction.
    pub rotate: i64,
    /// Decomposer: the rounding addition, the carry.
    pub decompose: i64,
    /// Forward transform.
    pub forward: i64,
    /// Multiplier and adder tree.
    pub multiply: i64,
    /// Inverse transform.
    pub backward: i64,
    /// Accumulator, into its buffer or the local scratchpad.
    pub accumulate: i64,
    /// Key-switch cluster: decomposer, multiplier and adder tree, accumulator.
    pub switch: i64,
    /// One key iteration on its channels.
    pub key: i64,
    /// Request to first byte.
    pub memory: i64,
}

impl StepCycles {
    /// Cycles from the first digit to the first coefficient at the accumulator.
    pub fn to_accumulator(&self) -> i64 {
        self.to_multiply() + self.multiply + self.backward
    }

    /// Cycles from the first digit to the first point at the multipliers.
    pub fn to_multiply(&self) -> i64 {
        self.decompose + self.forward
    }

    /// Cycles from the first coefficient read by the rotator to the first one that the next iteration can read, without the
    /// stream itself.
    pub fn fill(&self) -> i64 {
        self.rotate + self.to_accumulator() + self.accumulate - 1
    }
}

impl Pipeline {
    /// Complex points of a polynomial of N coefficients.
    pub fn points(&self, ring_degree: u64) -> u64 {
        if self.folding { ring_degree / 2 } else { ring_degree }
    }

    /// Folded points a cycle of a transform: a pair of coefficients each, which take two of N points without folding.
    pub fn folded_lanes(&self) -> f64 {
        if self.folding { self.lanes as f64 } else { self.lanes as f64 / 2.0 }
    }

    /// Bytes of the objects of `parameters`.
    pub fn sizes(&self, parameters: &Parameters) -> Sizes {
        Sizes::new(parameters, self.points(parameters.ring_degree().get() as u64) * self.point_bytes)
    }

    /// Coefficients a cycle of a rotator, decomposer or accumulator: as many as the transform takes.
    pub fn coefficient_lanes(&self) -> u64 {
        if self.folding { 2 * self.lanes } else { self.lanes }
    }

    /// Cycles of `bytes` on one channel.
    pub fn channel_cycles(&self, bytes: u64) -> i64 {
        channels::cycles(bytes, self.channel_bytes)
    }

    /// Cycles of a key-switch cluster for a vector of `digits` times a matrix of as many rows and `elements` columns, for
    /// `vectors` of them one after the other. A tile of the matrix, as wide and high as the cluster, stays while all vectors
    /// pass; the next tile comes over the bus in the meantime.
    pub fn switch_cycles(&self, digits: u64, elements: u64, vectors: u64) -> i64 {
        let tile_bytes = self.switch_lanes * self.switch_columns * crate::torus::sizes::COEFFICIENT_BYTES;
        let tiles = digits.div_ceil(self.switch_lanes) * elements.div_ceil(self.switch_columns);
        (tiles * vectors.max(tile_bytes.div_ceil(self.switch_bus))) as i64
    }

    /// Cycles of every step for `parameters`.
    pub fn steps(&self, parameters: &Parameters) -> StepCycles {
        let (depth, sizes) = (self.depth, self.sizes(parameters));
        let size = self.points(sizes.ring_degree);
        let levels = parameters.bootstrap_gadget().levels;
        let rows = match accumulation(self, sizes.polynomials as u32, levels) {
            Accumulation::Split { polynomials, levels } => u64::from(polynomials * levels),
            _ => self.rows,
        };
        let transform = pipeline::transform(size, self.lanes, depth) as i64;
        let tree = |inputs: u64| (depth.adder * u64::from(inputs.next_power_of_two().ilog2())) as i64;
        let key_points = size * self.rows * self.columns;
        let bus = (key_points * self.point_bytes).div_ceil(self.key_bus);
        StepCycles {
            polynomial: pipeline::polynomial_cycles(size, self.lanes).max(bus) as i64,
            rotate: (depth.memory + depth.adder) as i64,
            decompose: 2 * depth.adder as i64,
            forward: transform,
            multiply: depth.complex_multiplier() as i64 + tree(rows),
            backward: transform,
            accumulate: pipeline::accumulate(depth) as i64,
            switch: (2 * depth.adder + depth.multiplier) as i64
                + tree(self.switch_lanes)
                + pipeline::accumulate(depth) as i64,
            key: self.channel_cycles(sizes.key.div_ceil(self.key_channels)),
            memory: self.memory_latency as i64,
        }
    }
}
