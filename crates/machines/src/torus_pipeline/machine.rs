//! The machine's figures, and the durations and latencies that follow from them.

use super::streams::accumulation;
use crate::tfhe::channels;
use crate::tfhe::pipeline::{self, PipelineDepth};
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_program::tfhe::lowering::Accumulation;
use polyfabric_schemes::tfhe::Parameters;

/// Cycles of a bank's read without a crossbar.
const BANK_READ: u64 = 1;

/// Cycles of an adder tree.
fn tree(depth: PipelineDepth, inputs: u64) -> u64 {
    depth.adder * u64::from(inputs.next_power_of_two().ilog2())
}

/// Figures of one stage that override the core's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Per unit and cycle: coefficients of a rotator, decomposer or accumulator; points of the others.
    pub lanes: Option<u64>,
    /// Cycles from the first input element to the first output element.
    pub latency: Option<u64>,
}

/// The stages of a core, in the order of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Rotator and subtraction.
    pub rotator: Stage,
    pub decomposer: Stage,
    pub forward: Stage,
    /// Multipliers with their adder tree.
    pub multiply: Stage,
    pub inverse: Stage,
    pub accumulator: Stage,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    pub clock_hz: f64,
    /// Streaming cores: TvLP.
    pub cores: u64,
    /// Complex points per cycle of a transform, and of every path in the transform domain: CLP.
    pub lanes: u64,
    /// Polynomials transformed in parallel, with one FFT unit each: PLP.
    pub rows: u64,
    /// Columns of the key multiplied in parallel, with one VMA, IFFT and accumulator each: CoLP.
    pub columns: u64,
    /// Whether N coefficients become N/2 complex points.
    pub folding: bool,
    pub stages: Stages,
    /// Whether the multipliers accumulate all rows of the key in the transform domain, in buffers for running sums and
    /// two sets of complete sums. Otherwise they sum only the rows of each step.
    pub accumulates: bool,
    /// Inverse transforms after accumulating multipliers, each with an accumulator; default: the number of columns.
    pub inverses: Option<u64>,
    /// Pipeline registers of the arithmetic units.
    pub depth: PipelineDepth,
    /// Largest ring degree that the transforms and buffers support.
    pub largest_ring: u64,
    /// Bytes of a complex point of the bootstrapping key.
    pub point_bytes: u64,
    /// Bytes of a core's local scratchpad.
    pub local: u64,
    /// Bytes of the global scratchpad.
    pub global: u64,
    /// Bytes per cycle of the read and write ports of the local and the global scratchpad, if the file has them.
    pub ports: [(Option<u64>, Option<u64>); 2],
    /// Entries of the global scratchpad for keys of an iteration, and for tiles of the key-switch key.
    pub key_buffers: u64,
    /// Whether one bus multicasts to all cores. Otherwise every core has a separate bus.
    pub multicast: bool,
    /// Bytes per cycle, in total, of the buses that carry the bootstrapping key to a core.
    pub key_bus: u64,
    /// Bytes per cycle of the bus that carries the key-switch key to a core.
    pub switch_bus: u64,
    /// Bytes per cycle between the global scratchpad and one core, in each direction.
    pub link: u64,
    /// Maximum number of ciphertexts per core that share an iteration's key.
    pub batch: u64,
    /// Digits that a key-switch cluster multiplies in parallel: its CLP.
    pub switch_lanes: u64,
    /// Result elements that a key-switch cluster sums in parallel: its CoLP.
    pub switch_columns: u64,
    /// The first channels, for the bootstrapping key.
    pub key_channels: u64,
    /// The next channels, for the key-switch key.
    pub switch_channels: u64,
    /// The last channels, for all other data.
    pub ciphertext_channels: u64,
    /// Bytes per cycle of one channel.
    pub channel_bytes: f64,
    /// Cycles from a request to its first byte.
    pub memory_latency: u64,
}

/// Durations and latencies for one ring degree. A latency counts from the first input element to the first output
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCycles {
    /// Duration of a polynomial on its path: that of the slowest unit or of the key bus.
    pub polynomial: i64,
    /// Duration of a polynomial from sum to accumulator; differs from `polynomial` only if the multipliers accumulate.
    pub drain: i64,
    /// Minimum distance of two steps of one ciphertext, as the second continues the first one's sums.
    pub spacing: i64,
    /// Latency of the rotator: the banks of both pointers, the reorder unit, the subtraction.
    pub rotate: i64,
    /// Latency of the decomposer: the rounding addition, the carry.
    pub decompose: i64,
    /// Latency of the forward transform.
    pub forward: i64,
    /// Latency of multiplier and adder tree.
    pub multiply: i64,
    /// Latency of the inverse transform.
    pub backward: i64,
    /// Latency of the accumulator, into its buffer or the local scratchpad.
    pub accumulate: i64,
    /// Latency of the last column of a key-switch cluster: a bank's read, decomposer, multiplier and adder tree,
    /// accumulator.
    pub switch: i64,
    /// Transfer of one iteration's key on its channels.
    pub key: i64,
    /// From request to first byte.
    pub memory: i64,
}

impl StepCycles {
    pub fn to_accumulator(&self) -> i64 {
        self.to_multiply() + self.multiply + self.backward
    }

    pub fn to_multiply(&self) -> i64 {
        self.decompose + self.forward
    }

    /// Duration of the sample extraction of a polynomial.
    pub fn extraction(&self) -> i64 {
        self.polynomial.max(self.drain)
    }

    /// Cycles from the rotator's first read to the first coefficient that the next iteration can read, excluding the
    /// stream.
    pub fn fill(&self) -> i64 {
        self.rotate + self.to_accumulator() + self.accumulate - 1
    }
}

impl Pipeline {
    /// Complex points of a polynomial with N coefficients.
    pub fn points(&self, ring_degree: u64) -> u64 {
        if self.folding { ring_degree / 2 } else { ring_degree }
    }

    /// Points per cycle of a unit of `stage` in the transform domain.
    pub fn points_of(&self, stage: Stage) -> u64 {
        stage.lanes.unwrap_or(self.lanes)
    }

    /// Likewise in folded points. A folded point is a pair of coefficients; without folding it takes two points.
    pub fn folded_points_of(&self, stage: Stage) -> f64 {
        let points = self.points_of(stage) as f64;
        if self.folding { points } else { points / 2.0 }
    }

    /// Coefficients per cycle of a unit of `stage`; by default those of a transform.
    pub fn coefficients_of(&self, stage: Stage) -> u64 {
        stage.lanes.unwrap_or(if self.folding { 2 * self.lanes } else { self.lanes })
    }

    /// Units of the inverse transform, and accumulators.
    pub fn inverses(&self) -> u64 {
        self.inverses.unwrap_or(self.columns)
    }

    /// Bytes per cycle that the units read from and write to the local scratchpad, and the global one.
    ///
    /// Local: the rotator's two pointers with a rotation amount each, the old accumulator, the extractor, the
    /// key-switch cluster, the links. One polynomial from the link initializes all polynomials of an accumulator.
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

    /// Bytes per cycle of the scratchpads' ports: from the file, or as many as the units need.
    pub fn port_widths(&self) -> [(u64, u64); 2] {
        let needed = self.working_ports();
        [0, 1].map(|memory| {
            let ((read, write), (own_read, own_write)) = (needed[memory], self.ports[memory]);
            (own_read.unwrap_or(read), own_write.unwrap_or(write))
        })
    }

    pub fn sizes(&self, parameters: &Parameters) -> Sizes {
        Sizes::new(parameters, self.points(parameters.ring_degree().get() as u64) * self.point_bytes)
    }

    /// Bits of a transformed polynomial per coefficient.
    pub fn spectrum_bits(&self) -> u32 {
        (8 * self.points(self.largest_ring) * self.point_bytes / self.largest_ring) as u32
    }

    /// Cycles of `bytes` on one channel.
    pub fn channel_cycles(&self, bytes: u64) -> i64 {
        channels::cycles(bytes, self.channel_bytes)
    }

    /// Cycles of a key-switch cluster to multiply `vectors` vectors of `digits` elements by a matrix with `elements`
    /// columns. A tile of the matrix, the size of the cluster, stays while all vectors pass, and the bus loads the next
    /// tile meanwhile.
    pub fn switch_cycles(&self, digits: u64, elements: u64, vectors: u64) -> i64 {
        let tiles = digits.div_ceil(self.switch_lanes) * elements.div_ceil(self.switch_columns);
        (tiles * vectors.max(self.switch_tile_cycles())) as i64
    }

    /// Cycles to load one tile of the matrix.
    pub fn switch_tile_cycles(&self) -> u64 {
        (self.switch_lanes * self.switch_columns * COEFFICIENT_BYTES).div_ceil(self.switch_bus)
    }

    /// Cycles from a ciphertext's first element, and the first words of a tile, to the write of the sum of the tile's
    /// last column. Each lane has a separate bank, so there is no crossbar. Columns start as their words arrive; the
    /// last column starts with the last words.
    fn switch_latency(&self) -> u64 {
        let depth = self.depth;
        let products = depth.multiplier + tree(depth, self.switch_lanes);
        BANK_READ + 2 * depth.adder + products + pipeline::accumulate(depth) + self.switch_tile_cycles() - 1
    }

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
        // Only the set's own rows and columns count; additional ones of the machine idle, as does their part of the
        // bus.
        let key_points = size * rows.min(sizes.polynomials * u64::from(levels)) * sizes.polynomials;
        let bus = (key_points * self.point_bytes).div_ceil(self.key_bus);
        let coefficients = |stage| sizes.ring_degree.div_ceil(self.coefficients_of(stage));
        let points = |stage| pipeline::polynomial_cycles(size, self.points_of(stage));
        let front = [coefficients(rotator), coefficients(decomposer), points(forward), points(multiply), bus];
        let back = points(inverse).max(coefficients(accumulator));
        let front = front.into_iter().fold(1, u64::max);
        let (polynomial, drain) = if self.accumulates { (front, back) } else { (front.max(back), front.max(back)) };
        // Running sums need one adder in addition to the tree.
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
