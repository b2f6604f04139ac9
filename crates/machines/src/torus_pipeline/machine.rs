//! The machine's figures, checked, under one choice of readings.

use super::streams::accumulation;
use crate::torus::channels;
use crate::torus::pipeline::{self, PipelineDepth};
use crate::torus::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_program::tfhe::lowering::Accumulation;
use polyfabric_schemes::tfhe::Parameters;

/// Cycles of a bank alone.
const BANK_READ: u64 = 1;

/// Cycles of a tree of adders.
fn tree(depth: PipelineDepth, inputs: u64) -> u64 {
    depth.adder * u64::from(inputs.next_power_of_two().ilog2())
}

/// A stage's own figures, where it does not follow the core's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// What one unit of it takes a cycle: coefficients of a rotator, decomposer or accumulator, points of the others.
    pub lanes: Option<u64>,
    /// Cycles from an element in to the element out.
    pub latency: Option<u64>,
}

/// The stages of a core, in the order of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Rotator and subtraction.
    pub rotator: Stage,
    /// Decomposer.
    pub decomposer: Stage,
    /// Forward transform.
    pub forward: Stage,
    /// Multipliers with their adder tree.
    pub multiply: Stage,
    /// Inverse transform.
    pub inverse: Stage,
    /// Accumulator.
    pub accumulator: Stage,
}

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
    /// What stages have of their own.
    pub stages: Stages,
    /// Whether the multipliers sum all rows of the key in the transform domain, in buffers behind them (running sums, and two of complete ones); else
    /// each step's rows alone.
    pub accumulates: bool,
    /// Inverse transforms, with an accumulator each, where the multipliers accumulate: as many as columns if not given.
    pub inverses: Option<u64>,
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
    /// Bytes a cycle that the local and the global scratchpad read and write, each where the file gives it.
    pub ports: [(Option<u64>, Option<u64>); 2],
    /// Key iterations, and tiles of the key-switch key, that the global scratchpad holds.
    pub key_buffers: u64,
    /// Whether a bus sends what it reads to all cores at once; else every core has a bus of its own.
    pub multicast: bool,
    /// Bytes a cycle of all buses that bring the bootstrapping key to a core.
    pub key_bus: u64,
    /// Bytes a cycle of the bus that brings the key-switch key to a core.
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
    /// A polynomial from the multipliers' sum to the accumulator: the same, but where the multipliers accumulate.
    pub drain: i64,
    /// From a step to the next one of the same ciphertext, whose sums it continues.
    pub spacing: i64,
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
    /// Key-switch cluster: a bank's read, decomposer, multiplier and adder tree, accumulator, of the last of its columns.
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

    /// A polynomial through the sample extraction.
    pub fn extraction(&self) -> i64 {
        self.polynomial.max(self.drain)
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

    /// Points a cycle of a unit of `stage`, in the transform domain.
    pub fn points_of(&self, stage: Stage) -> u64 {
        stage.lanes.unwrap_or(self.lanes)
    }

    /// Folded points a cycle of the same: a pair of coefficients each, which take two of N points without folding.
    pub fn folded_points_of(&self, stage: Stage) -> f64 {
        let points = self.points_of(stage) as f64;
        if self.folding { points } else { points / 2.0 }
    }

    /// Coefficients a cycle of a unit of `stage`: as many as a transform takes if it says nothing.
    pub fn coefficients_of(&self, stage: Stage) -> u64 {
        stage.lanes.unwrap_or(if self.folding { 2 * self.lanes } else { self.lanes })
    }

    /// Units of the inverse transform, and accumulators.
    pub fn inverses(&self) -> u64 {
        self.inverses.unwrap_or(self.columns)
    }

    /// Bytes a cycle that the units read of the local scratchpad and write to it, and of the global one.
    ///
    /// Local: the rotator's two pointers with a rotation amount each, the old accumulator, the extractor, the key-switch
    /// cluster, the links. All polynomials of an accumulator are set while one comes over the link.
    pub fn working_ports(&self) -> [(u64, u64); 2] {
        let coefficients = |stage, units: u64| units * self.coefficients_of(stage) * COEFFICIENT_BYTES;
        let (by_row, by_column) =
            (coefficients(self.stages.rotator, self.rows), coefficients(self.stages.accumulator, self.columns));
        let cluster = (self.switch_lanes + self.switch_columns) * COEFFICIENT_BYTES;
        let local = (
            2 * by_row + self.rows * COEFFICIENT_BYTES + 2 * by_column + cluster + 2 * self.link,
            2 * by_column + cluster + self.columns * self.link,
        );
        let channels = self.key_channels + self.switch_channels + self.ciphertext_channels;
        let transfers = (self.channel_bytes * channels as f64).ceil() as u64;
        let links = self.cores * self.link;
        let buses = (self.key_bus + self.switch_bus) * if self.multicast { 1 } else { self.cores };
        [local, (buses + links + transfers, links + transfers)]
    }

    /// Bytes a cycle of the scratchpads' ports: those of the file, or as wide as the units want them.
    pub fn port_widths(&self) -> [(u64, u64); 2] {
        let needed = self.working_ports();
        [0, 1].map(|memory| {
            let ((read, write), (own_read, own_write)) = (needed[memory], self.ports[memory]);
            (own_read.unwrap_or(read), own_write.unwrap_or(write))
        })
    }

    /// Bytes of the objects of `parameters`.
    pub fn sizes(&self, parameters: &Parameters) -> Sizes {
        Sizes::new(parameters, self.points(parameters.ring_degree().get() as u64) * self.point_bytes)
    }

    /// Bits that a polynomial's transform has for each of its coefficients.
    pub fn spectrum_bits(&self) -> u32 {
        (8 * self.points(self.largest_ring) * self.point_bytes / self.largest_ring) as u32
    }

    /// Cycles of `bytes` on one channel.
    pub fn channel_cycles(&self, bytes: u64) -> i64 {
        channels::cycles(bytes, self.channel_bytes)
    }

    /// Cycles of a key-switch cluster for a vector of `digits` times a matrix of as many rows and `elements` columns, for
    /// `vectors` of them one after the other. A tile of the matrix, as wide and high as the cluster, stays while all vectors
    /// pass; the next tile comes over the bus in the meantime.
    pub fn switch_cycles(&self, digits: u64, elements: u64, vectors: u64) -> i64 {
        let tiles = digits.div_ceil(self.switch_lanes) * elements.div_ceil(self.switch_columns);
        (tiles * vectors.max(self.switch_tile_cycles())) as i64
    }

    /// Cycles in which such a tile comes over its bus.
    pub fn switch_tile_cycles(&self) -> u64 {
        (self.switch_lanes * self.switch_columns * COEFFICIENT_BYTES).div_ceil(self.switch_bus)
    }

    /// From a ciphertext's first element, and the first words of a tile of the key-switch key, to the sum of the tile's last column, back in its bank. A
    /// lane has a bank of its own, so its words pass no crossbar; columns start as their words come, and the last of them with the last words.
    fn switch_latency(&self) -> u64 {
        let depth = self.depth;
        let products = depth.multiplier + tree(depth, self.switch_lanes);
        BANK_READ + 2 * depth.adder + products + pipeline::accumulate(depth) + self.switch_tile_cycles() - 1
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
        let Stages { rotator, decomposer, forward, multiply, inverse, accumulator } = self.stages;
        let latency = |stage: Stage, law: u64| stage.latency.unwrap_or(law) as i64;
        let transform = |stage| latency(stage, pipeline::transform(size, self.points_of(stage), depth));
        // Of a set's rows and columns: a machine that has more of either leaves them idle, and their part of the bus.
        let key_points = size * rows.min(sizes.polynomials * u64::from(levels)) * sizes.polynomials;
        let bus = (key_points * self.point_bytes).div_ceil(self.key_bus);
        let coefficients = |stage| sizes.ring_degree.div_ceil(self.coefficients_of(stage));
        let points = |stage| pipeline::polynomial_cycles(size, self.points_of(stage));
        let front = [coefficients(rotator), coefficients(decomposer), points(forward), points(multiply), bus];
        let back = points(inverse).max(coefficients(accumulator));
        let front = front.into_iter().fold(1, u64::max);
        let (polynomial, drain) = if self.accumulates { (front, back) } else { (front.max(back), front.max(back)) };
        // A sum in buffers behind the multipliers goes through an adder beside the tree's.
        let running = if self.accumulates { depth.adder } else { 0 };
        let multiply = latency(multiply, depth.complex_multiplier() + tree(depth, rows) + running);
        let accumulate = latency(accumulator, pipeline::accumulate(depth));
        StepCycles {
            polynomial: polynomial as i64,
            drain: drain as i64,
            spacing: (polynomial as i64).max(if self.accumulates { multiply } else { accumulate }),
            rotate: latency(rotator, depth.memory + depth.adder),
            decompose: latency(decomposer, 2 * depth.adder),
            forward: transform(forward),
            multiply,
            backward: transform(inverse),
            accumulate,
            switch: self.switch_latency() as i64,
            key: self.channel_cycles(sizes.key.div_ceil(self.key_channels)),
            memory: self.memory_latency as i64,
        }
    }
}
