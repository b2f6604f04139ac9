//! Morphling's figures, under one choice of readings.

use super::array::{PathRates, StepCycles};
use crate::tfhe::channels;
use crate::tfhe::figures::{FIXED_POINT, depth};
use crate::tfhe::pipeline::PipelineDepth;
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_sim::description::Dimension::{Bandwidth, Bits, Bytes, Count, Cycles, Flag, Frequency, PortRate, Rate};
use polyfabric_sim::description::{Description, FigureError, FigureSpec, energy, figure, flag, joined, optional};
use polyfabric_sim::figures;

/// Bytes of a complex transform value: 32 bits each for the real and the imaginary part (section V-A).
pub const POINT_BYTES: u64 = 8;

/// Bytes of a folded point, which is two coefficients.
pub const FOLDED_BYTES: u64 = 2 * COEFFICIENT_BYTES;

/// Widths of the links of the network on chip (section V-D), in bytes per cycle: the figures `channels.network.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub row_read: u64,
    pub row_write: u64,
    pub key: u64,
    pub link: u64,
    pub vector_read: u64,
    pub vector_write: u64,
}

/// An optional figure that only components use.
const fn area_rate(key: &'static str, most: f64, meaning: &'static str) -> FigureSpec {
    optional(key, Rate, 1.0, most, meaning)
}

const fn width(key: &'static str, least: f64, meaning: &'static str) -> FigureSpec {
    figure(key, PortRate, least, 65536.0, meaning)
}

const MERGES: &str = "machine.arithmetic.merges";

figures! {
    pub struct Morphling, OWN {
        figure("clock", Frequency, 1e6, 1e11, "the clock") => clock_hz: f64;
        figure("units.xpu.count", Count, 1.0, 64.0, "the number of XPUs") => xpus: u64;
        figure("units.xpu.rows", Count, 1.0, 32.0, "the VPE rows of an XPU") => rows: u64;
        figure("units.xpu.columns", Count, 2.0, 16.0, "the VPE columns of an XPU") => columns: u64;
        figure("units.xpu.fft_units", Count, 1.0, 32.0, "the FFT units of an XPU") => fft_units: u64;
        figure("units.xpu.ifft_units", Count, 1.0, 32.0, "the IFFT units of an XPU: one for each row") => ifft_units: u64;
        figure("units.xpu.decomposition_units", Count, 1.0, 32.0, "the decomposition units of an XPU: one for each row");
        flag("units.xpu.merge_split", "whether an FFT unit merges the polynomials of its rows") => merge_split: bool;
        optional(MERGES, Flag, 0.0, 1.0, "whether the replay computes two polynomials in one complex transform, bit for bit");
        figure("units.fft.points", Rate, 1.0, 256.0, "folded points per cycle of an FFT unit") => fft_points: u64;
        figure("units.path.points", Rate, 1.0, 128.0, "folded points per cycle of a row's path and IFFT unit") => path_points: u64;
        area_rate("units.fft.area_points", 256.0, "points per cycle of the FFT unit whose area the file lists");
        area_rate("units.path.area_points", 128.0, "points per cycle of the path whose area the file lists");
        figure("units.pipeline.adder", Cycles, 1.0, 64.0, "the registers of an adder");
        figure("units.pipeline.multiplier", Cycles, 1.0, 64.0, "the registers of a multiplier");
        figure("units.pipeline.memory", Cycles, 1.0, 64.0, "the registers between a unit and a bank");
        figure("units.vpu.groups", Count, 1.0, 64.0, "the lane groups of the VPU") => lane_groups: u64;
        figure("units.vpu.lanes", Count, 1.0, 4096.0, "the lanes of a group") => lanes: u64;
        figure("units.vpu.registers", Count, 4.0, 1024.0, "the vectors in a group's register file") => registers: u64;
        figure("units.vpu.register_loads", Count, 1.0, 64.0, "the vectors per cycle loaded into it") => register_loads: u64;
        flag("machine.key_switch.multicast", "whether a row of the key-switch key is read once for all lane groups") => multicasts_rows: bool;
        figure("units.fft.largest_ring", Count, 16.0, 65536.0, "the largest ring degree of the transforms") => largest_ring: u64;
        figure("memories.poly_acc.capacity", Bytes, 64.0, 1e9, "the size of one POLY-ACC register") => poly_acc: u64;
        figure("units.xpu.accumulators", Count, 1.0, 32.0, "the accumulator adders of an XPU: one for each row");
        figure("memories.private_a1.streams", Count, 3.0, 16.0, "the polynomials that a row reads in parallel") => private_a1_streams: u64;
        figure("memories.private_a1.capacity", Bytes, 1024.0, 1e12, "the size of Private-A1") => private_a1: u64;
        figure("memories.private_a2.capacity", Bytes, 1024.0, 1e12, "the size of Private-A2") => private_a2: u64;
        figure("memories.private_a2.banks", Count, 1.0, 64.0, "the banks of Private-A2, one per VPE column") => private_a2_banks: u64;
        figure("memories.private_a2.buffers", Count, 2.0, 64.0, "the keys of an iteration that fit Private-A2") => key_buffers: u64;
        figure("memories.private_b.capacity", Bytes, 1024.0, 1e12, "the size of Private-B") => private_b: u64;
        figure("memories.private_b.banks", Count, 1.0, 1024.0, "the banks of Private-B") => private_b_banks: u64;
        figure("memories.shared.capacity", Bytes, 1024.0, 1e12, "the size of the Shared buffer") => shared: u64;
        figure("memories.shared.banks", Count, 1.0, 1024.0, "the banks of the Shared buffer") => shared_banks: u64;
        width("channels.network.row_read", 8.0, "the width from a bank of Private-A1 to its VPE row");
        width("channels.network.row_write", 8.0, "the width from a VPE row to its bank");
        width("channels.network.key", 8.0, "the width from Private-A2 to a VPE column");
        width("channels.network.link", 1.0, "the width between the Shared buffer and an XPU");
        width("channels.network.vector_read", 1.0, "the width from buffers to a lane group");
        width("channels.network.vector_write", 1.0, "the width from a lane group to buffers");
        figure("channels.hbm.count", Count, 1.0, 1024.0, "the memory channels") => channels: u64;
        figure("channels.hbm.key_channels", Count, 1.0, 1024.0, "the channels for the bootstrapping key") => key_channels: u64;
        figure("channels.hbm.vector_channels", Count, 1.0, 1024.0, "the channels for everything else") => vector_channels: u64;
        figure("channels.hbm.bandwidth", Bandwidth, 1e6, 1e15, "the bandwidth of all channels");
        figure("channels.hbm.latency", Cycles, 0.0, 1e6, "the latency of the memory") => memory_latency: u64;
        energy("channels.hbm.energy");
        figure("machine.reuse.key_streams", Count, 1.0, 16.0, "the ciphertexts of a row that use one key in sequence") => key_streams: u64;
        figure("machine.arithmetic.coefficient", Bits, 32.0, 32.0, "the width of a coefficient on the data path");
    }
    d => {
        /// Folded points per cycle of a row's IFFT unit.
        ifft_points: u64 = d.count("units.path.points")?,
        merges: bool = d.figures().contains_key(MERGES) && d.flag(MERGES)?,
        depth: PipelineDepth = depth(d)?,
        network: Network = Network {
            row_read: d.count("channels.network.row_read")?,
            row_write: d.count("channels.network.row_write")?,
            key: d.count("channels.network.key")?,
            link: d.count("channels.network.link")?,
            vector_read: d.count("channels.network.vector_read")?,
            vector_write: d.count("channels.network.vector_write")?,
        },
        /// Bytes per cycle of one channel.
        channel_bytes: f64 = d.bytes_per_cycle("channels.hbm.bandwidth")? / d.value("channels.hbm.count")?,
    }
}

pub const SPECS: &[FigureSpec] = &joined::<{ OWN.len() + FIXED_POINT.len() }>(&[OWN, FIXED_POINT]);

impl Morphling {
    /// Reads and checks the figures.
    pub fn new(d: &Description) -> Result<Self, FigureError> {
        let machine = Self::read(d)?;
        machine.fits_together(d)?;
        Ok(machine)
    }

    fn fits_together(&self, d: &Description) -> Result<(), FigureError> {
        let rows = self.rows;
        d.together(
            "units.xpu.rows",
            "units.xpu.fft_units",
            "the rows divide evenly among the FFT units",
            rows.is_multiple_of(self.fft_units),
        )?;
        d.together("units.xpu.rows", "units.xpu.ifft_units", "each row has its IFFT unit", rows == self.ifft_units)?;
        d.together(
            "units.xpu.rows",
            "units.xpu.decomposition_units",
            "each row has its decomposition unit",
            rows == d.count("units.xpu.decomposition_units")?,
        )?;
        d.together(
            "units.xpu.rows",
            "units.xpu.accumulators",
            "each row has its accumulator adder",
            rows == d.count("units.xpu.accumulators")?,
        )?;
        d.together(
            "memories.private_a1.streams",
            "channels.network.row_read",
            "each stream of a row has at least a folded point, 8 bytes, a cycle",
            self.private_a1_streams * FOLDED_BYTES <= self.network.row_read,
        )?;
        let (all, key, vector) = (self.channels, self.key_channels, self.vector_channels);
        d.together(
            "channels.hbm.key_channels",
            "channels.hbm.vector_channels",
            "the key's channels and the others are either apart, and all channels together, or both all of them; see \
             `channels.hbm.count`",
            key + vector == all || (key == all && vector == all),
        )?;
        d.together(
            "units.xpu.columns",
            "memories.private_a2.banks",
            "each VPE column has its bank of Private-A2",
            self.columns <= self.private_a2_banks,
        )?;
        d.together(
            "units.xpu.count",
            "units.vpu.groups",
            "the positions of a wave divide evenly among the lane groups",
            self.positions().is_multiple_of(self.lane_groups),
        )?;
        d.together(
            "units.vpu.groups",
            "memories.private_b.banks",
            "each lane group has as many banks of Private-B as any other",
            self.private_b_banks.is_multiple_of(self.lane_groups),
        )?;
        d.together(
            "units.xpu.count",
            "memories.shared.banks",
            "the positions of a wave divide evenly among the banks of the Shared buffer",
            self.positions().is_multiple_of(self.shared_banks),
        )?;
        d.together(
            "units.fft.points",
            "units.path.points",
            "the transforms need powers of two as points per cycle",
            self.fft_points.is_power_of_two() && self.path_points.is_power_of_two(),
        )
    }

    /// Ciphertexts that all rows process in parallel.
    pub fn positions(&self) -> u64 {
        self.xpus * self.rows
    }

    /// Bytes of Private-A1 per row.
    pub fn row_bank(&self) -> u64 {
        self.private_a1 / self.positions()
    }

    /// Bytes of a vector of a lane group.
    pub fn vector_bytes(&self) -> u64 {
        self.lanes * COEFFICIENT_BYTES
    }

    /// Bytes per cycle of a bank's read port, and of its write port, in Private-B and the Shared buffer: a vector, or
    /// the width of a channel or link.
    pub fn bank_bytes(&self) -> u64 {
        self.vector_bytes().max(self.channel_bytes.ceil() as u64).max(self.network.link)
    }

    /// Positions of a wave per lane group.
    pub fn group_positions(&self) -> u64 {
        self.positions() / self.lane_groups
    }

    /// Whether the key's channels also serve the VPU.
    pub fn shares_channels(&self) -> bool {
        self.key_channels + self.vector_channels > self.channels
    }

    /// Bytes per cycle for the bootstrapping key.
    pub fn key_rate(&self) -> f64 {
        self.channel_bytes * self.key_channels as f64
    }

    pub fn channel_cycles(&self, bytes: u64) -> i64 {
        channels::cycles(bytes, self.channel_bytes)
    }

    /// Cycles of an iteration's key of `bytes` on the key's channels, in equal stripes.
    pub fn key_cycles(&self, bytes: u64) -> i64 {
        self.channel_cycles(bytes.div_ceil(self.key_channels))
    }

    /// Cycles to load `vectors` into a lane group's registers, limited by its network link and the register file.
    pub fn load_cycles(&self, vectors: u64) -> u64 {
        let bytes = vectors * self.vector_bytes();
        bytes.div_ceil((self.register_loads * self.vector_bytes()).min(self.network.vector_read))
    }

    /// Cycles to store `vectors` from a lane group to the banks.
    pub fn return_cycles(&self, vectors: u64) -> u64 {
        (vectors * self.vector_bytes()).div_ceil(self.network.vector_write)
    }

    /// Folded points per cycle of one stream from a bank of Private-A1 to its row, limited by the link.
    pub fn stream_points(&self) -> u64 {
        self.network.row_read / self.private_a1_streams / FOLDED_BYTES
    }

    /// Folded points per cycle of the stream back to the bank, which is added to one that is read.
    pub fn return_points(&self) -> u64 {
        self.stream_points().min(self.network.row_write / FOLDED_BYTES)
    }

    /// Rates of a row, limited by its units and by the network's links.
    pub fn streams(&self) -> PathRates {
        let path = self.path();
        let row_points = path.row_points.min(self.stream_points()).min(self.network.key / POINT_BYTES).max(1);
        let inverse_points = path.inverse_points.min(self.return_points()).max(1);
        PathRates { row_points, fft_points: row_points, inverse_points, ..path }
    }

    /// Rates of a row's units.
    pub fn path(&self) -> PathRates {
        let rows_per_fft = self.rows.div_ceil(self.fft_units);
        // With merge-split, the rows of a unit share its points in parallel; otherwise in sequence.
        let share = if self.merge_split { self.fft_points / rows_per_fft } else { self.fft_points };
        PathRates {
            row_points: share.min(self.path_points).max(1),
            inverse_points: self.ifft_points,
            fft_points: share.min(self.path_points).max(1),
            merge_split: self.merge_split,
            rows_per_fft,
            rows: self.rows,
            columns: self.columns,
        }
    }

    pub fn sizes(&self, parameters: &Parameters) -> Sizes {
        Sizes::new(parameters, parameters.ring_degree().get() as u64 / 2 * POINT_BYTES)
    }

    /// Durations and latencies for the `sizes` of a parameter set.
    pub fn steps(&self, sizes: &Sizes) -> StepCycles {
        let key = self.key_cycles(sizes.key);
        // On shared channels, one item of another transfer may pass between two iterations' keys.
        let gap = if self.shares_channels() { self.channel_cycles(sizes.large.max(sizes.small)) } else { 0 };
        StepCycles::new(sizes.ring_degree, &self.streams(), self.depth, (key, gap), self.memory_latency)
    }
}
