//! The machine's figures, and the durations and latencies that follow from them.

use super::streams::accumulation;
use crate::tfhe::channels;
use crate::tfhe::figures::{FIXED_POINT, WIDTHS, depth};
use crate::tfhe::pipeline::{self, PipelineDepth};
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_program::tfhe::lowering::Accumulation;
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::Dimension::{Bandwidth, Bits, Bytes, Count, Cycles, Flag, Frequency, PortRate};
use polyfabric_sim::description::{Description, FigureError, FigureSpec, energy, figure, flag, joined, optional};
use polyfabric_sim::figures;

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

/// Bytes per cycle of a bank of a local scratchpad: two ports, each as wide as a coefficient.
const BANK_BYTES: u64 = 2 * COEFFICIENT_BYTES;
const BANKS: &str = "memories.local.banks";
const ACCUMULATES: &str = "units.multiply.accumulates";
const INVERSES: &str = "units.inverse.count";

const fn lanes(key: &'static str, meaning: &'static str) -> FigureSpec {
    optional(key, Count, 1.0, 65536.0, meaning)
}

const fn latency(key: &'static str) -> FigureSpec {
    let meaning = "the latency of the stage, if it does not follow from the stage's structure";
    optional(key, Cycles, 1.0, 1e6, meaning)
}

const fn port(key: &'static str) -> FigureSpec {
    optional(key, PortRate, 1.0, 1e9, "the width of a memory's port, if not as wide as its units need")
}

figures! {
    pub struct Pipeline, OWN {
        figure("clock", Frequency, 1e6, 1e11, "the clock") => clock_hz: f64;
        figure("units.core.count", Count, 1.0, 64.0, "the streaming cores, TvLP") => cores: u64;
        figure("units.core.lanes", Count, 2.0, 256.0, "the complex points per cycle of a transform, CLP") => lanes: u64;
        figure("units.core.rows", Count, 1.0, 16.0, "the polynomials in parallel, PLP: FFT units") => rows: u64;
        figure("units.core.columns", Count, 1.0, 16.0, "the key's columns in parallel, CoLP: IFFT units") => columns: u64;
        flag("units.core.folding", "whether N coefficients become N/2 points") => folding: bool;
        figure("units.core.largest_ring", Count, 16.0, 65536.0, "the largest ring degree of the transforms") => largest_ring: u64;
        figure("units.core.batch", Count, 1.0, 128.0, "the largest number of ciphertexts per core that share a key") => batch: u64;
        lanes("units.rotator.lanes", "the coefficients per cycle of a rotator, if not those of a transform");
        lanes("units.decomposer.lanes", "the coefficients per cycle of a decomposer, if not those of a transform");
        lanes("units.forward.lanes", "the points per cycle of a forward transform, if not CLP");
        lanes("units.multiply.lanes", "the points per cycle of a multiplier, if not CLP");
        lanes("units.inverse.lanes", "the points per cycle of an inverse transform, if not CLP");
        lanes("units.accumulator.lanes", "the coefficients per cycle of an accumulator, if not those of a transform");
        latency("units.rotator.latency");
        latency("units.decomposer.latency");
        latency("units.forward.latency");
        latency("units.multiply.latency");
        latency("units.inverse.latency");
        latency("units.accumulator.latency");
        optional(ACCUMULATES, Flag, 0.0, 1.0, "whether the multipliers accumulate all rows of the key in buffers (default: only the rows of a step)");
        optional(INVERSES, Count, 1.0, 16.0, "the inverse transforms, each with an accumulator, after accumulating multipliers (default: the number of columns)") => inverses: Option<u64>;
        figure("units.pipeline.adder", Cycles, 1.0, 64.0, "the registers of an adder");
        figure("units.pipeline.multiplier", Cycles, 1.0, 64.0, "the registers of a multiplier");
        figure("units.pipeline.memory", Cycles, 1.0, 64.0, "the registers between a unit and a bank");
        figure("units.switch.lanes", Count, 1.0, 256.0, "the digits in parallel in a key-switch cluster, CLP") => switch_lanes: u64;
        figure("units.switch.columns", Count, 1.0, 256.0, "the sums in parallel in a key-switch cluster, CoLP") => switch_columns: u64;
        figure("memories.local.capacity", Bytes, 1024.0, 1e12, "the size of a core's local scratchpad") => local: u64;
        figure("memories.global.capacity", Bytes, 1024.0, 1e12, "the size of the global scratchpad") => global: u64;
        figure("memories.global.buffers", Count, 1.0, 2.0, "the keys of an iteration in the global scratchpad: two for a double buffer") => key_buffers: u64;
        optional(BANKS, Count, 1.0, 65536.0, "the banks for accumulators in a local scratchpad, true dual-port and as wide as a coefficient, if not as many as its units need") => banks: Option<u64>;
        port("memories.global.read_rate") => global_read: Option<u64>;
        port("memories.global.write_rate") => global_write: Option<u64>;
        figure("channels.key_bus.rate", PortRate, 1.0, 65536.0, "the width of the bootstrapping key's bus to a core") => key_bus: u64;
        optional("channels.key_bus.multicast", Flag, 0.0, 1.0, "whether one read of a key goes to all cores (default), instead of a separate bus per core");
        figure("channels.switch_bus.rate", PortRate, 1.0, 65536.0, "the width of the key-switch key's bus to a core") => switch_bus: u64;
        figure("channels.link.rate", PortRate, 1.0, 65536.0, "the width between global scratchpad and a core") => link: u64;
        figure("channels.hbm.key_channels", Count, 1.0, 1024.0, "the channels for the bootstrapping key") => key_channels: u64;
        figure("channels.hbm.switch_channels", Count, 1.0, 1024.0, "the channels for the key-switch key") => switch_channels: u64;
        figure("channels.hbm.ciphertext_channels", Count, 1.0, 1024.0, "the channels for everything else") => ciphertext_channels: u64;
        figure("channels.hbm.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of all channels");
        figure("channels.hbm.latency", Cycles, 0.0, 1e6, "the latency of the memory") => memory_latency: u64;
        energy("channels.hbm.energy");
        figure("machine.arithmetic.coefficient", Bits, 32.0, 32.0, "the width of a coefficient on the data path");
        figure("machine.arithmetic.point", Bits, 16.0, 128.0, "the width of a complex point of the key");
    }
    d => {
        stages: Stages = Stages::read(d)?,
        accumulates: bool = d.figures().contains_key(ACCUMULATES) && d.flag(ACCUMULATES)?,
        depth: PipelineDepth = depth(d)?,
        point_bytes: u64 = d.count("machine.arithmetic.point")?.div_ceil(8),
        multicast: bool = !d.figures().contains_key("channels.key_bus.multicast") || d.flag("channels.key_bus.multicast")?,
        /// Bytes per cycle of one channel.
        channel_bytes: f64 = {
            let of = |class: &str| d.count(&format!("channels.hbm.{class}_channels"));
            d.bytes_per_cycle("channels.hbm.bandwidth")? / (of("key")? + of("switch")? + of("ciphertext")?) as f64
        },
    }
}

pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + FIXED_POINT.len() }>(&[OWN, FIXED_POINT]);

impl Stages {
    fn read(d: &Description) -> Result<Self, FigureError> {
        let stage = |name: &str| -> Result<Stage, FigureError> {
            let of = |what: &str| {
                let key = format!("units.{name}.{what}");
                d.figures().contains_key(&key).then(|| d.count(&key)).transpose()
            };
            Ok(Stage { lanes: of("lanes")?, latency: of("latency")? })
        };
        Ok(Self {
            rotator: stage("rotator")?,
            decomposer: stage("decomposer")?,
            forward: stage("forward")?,
            multiply: stage("multiply")?,
            inverse: stage("inverse")?,
            accumulator: stage("accumulator")?,
        })
    }
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
    /// Reads and checks the figures.
    pub fn new(d: &Description) -> Result<Self, FigureError> {
        let machine = Self::read(d)?;
        machine.fits_together(d)?;
        Ok(machine)
    }

    fn fits_together(&self, d: &Description) -> Result<(), FigureError> {
        let (forward, inverse) = (self.points_of(self.stages.forward), self.points_of(self.stages.inverse));
        let widths =
            [("units.core.lanes", self.lanes), ("units.forward.lanes", forward), ("units.inverse.lanes", inverse)];
        for (key, width) in widths {
            let cause = "the transforms need powers of two as points per cycle and ring degrees";
            let holds = width.is_power_of_two() && self.largest_ring.is_power_of_two();
            d.together(key, "units.core.largest_ring", cause, holds)?;
        }
        if let Some(inverses) = self.inverses {
            let cause = "multipliers that do not accumulate need one inverse transform per column: remove the count, or \
                         let the multipliers accumulate";
            d.together(INVERSES, ACCUMULATES, cause, self.accumulates)?;
            let cause = "an inverse transform without a column would idle: use at most one per column";
            d.together(INVERSES, "units.core.columns", cause, inverses <= self.columns)?;
        }
        let key = if d.figures().contains_key(WIDTHS[0]) { WIDTHS[0] } else { "machine.arithmetic.transform" };
        let cause = "a point of the key has a real and an imaginary part of this width: use at least twice the bits";
        let holds = d.count("machine.arithmetic.point")? >= 2 * d.count(key)?;
        d.together("machine.arithmetic.point", key, cause, holds)?;
        let (read, write) = self.global_needs();
        let port =
            "bytes per cycle: its units, buses and links would collide. Use a wider port, fewer lanes or slower links";
        let banks =
            "banks: rotators, accumulators and link would collide. Use more banks, fewer lanes or a slower link";
        let capacities = [
            (BANKS, self.banks, self.needed_banks(), banks),
            ("memories.global.read_rate", self.global_read, read, port),
            ("memories.global.write_rate", self.global_write, write, port),
        ];
        for (key, own, needed, cause) in capacities {
            if let Some(own) = own.filter(|&own| own < needed) {
                let (file, key, value, needed) = (d.file().to_owned(), key.to_owned(), own as f64, needed as f64);
                return Err(FigureError::TooSmall { file, key, value, needed, cause });
            }
        }
        Ok(())
    }

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

    /// Bytes per cycle of the local scratchpad's accesses to accumulators, if all units access them at once: the rotator's two pointers, the
    /// accumulators' old and new values, and the link, of which one polynomial initializes all of an accumulator.
    fn accumulator_bytes(&self) -> u64 {
        let coefficients = |stage, units: u64| units * self.coefficients_of(stage) * COEFFICIENT_BYTES;
        let rotators = coefficients(self.stages.rotator, self.rows);
        let accumulators = coefficients(self.stages.accumulator, self.inverses());
        2 * (rotators + accumulators) + self.columns * self.link
    }

    /// Banks for accumulators with which their accesses never meet. Each has two ports of one coefficient.
    pub fn needed_banks(&self) -> u64 {
        self.accumulator_bytes().div_ceil(BANK_BYTES)
    }

    /// Bytes per cycle of a local scratchpad's ports, which read and write: of the banks for accumulators, and of the rest, which is as wide as
    /// its units need. They are the rotation amounts, the extractor's read and write, the key-switch cluster and the links.
    pub fn local_ports(&self) -> u64 {
        let cluster = (self.switch_lanes + self.switch_columns) * COEFFICIENT_BYTES;
        let extracted = self.columns * self.coefficients_of(self.stages.accumulator) * COEFFICIENT_BYTES;
        let rest = self.rows * COEFFICIENT_BYTES + 2 * extracted + 2 * cluster + 3 * self.link;
        self.banks.unwrap_or_else(|| self.needed_banks()) * BANK_BYTES + rest
    }

    /// Bytes per cycle that buses, links and channels read from and write to the global scratchpad.
    fn global_needs(&self) -> (u64, u64) {
        let channels = self.key_channels + self.switch_channels + self.ciphertext_channels;
        let transfers = (self.channel_bytes * channels as f64).ceil() as u64;
        let links = self.cores * self.link;
        let buses = (self.key_bus + self.switch_bus) * if self.multicast { 1 } else { self.cores };
        (buses + links + transfers, links + transfers)
    }

    /// Bytes per cycle of the global scratchpad's ports: from the file, or as many as needed.
    pub fn global_ports(&self) -> (u64, u64) {
        let (read, write) = self.global_needs();
        (self.global_read.unwrap_or(read), self.global_write.unwrap_or(write))
    }

    pub fn sizes(&self, parameters: &Parameters) -> Sizes {
        Sizes::new(parameters, self.points(parameters.ring_degree().get() as u64) * self.point_bytes)
    }

    /// Bits of a transformed polynomial per coefficient.
    pub fn spectrum_bits(&self) -> u32 {
        (8 * self.points(self.largest_ring) * self.point_bytes / self.largest_ring) as u32
    }

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
