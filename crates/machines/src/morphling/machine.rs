//! Morphling's figures, under one choice of readings.

use super::array::{PathRates, StepCycles};
use crate::tfhe::channels;
use crate::tfhe::pipeline::PipelineDepth;
use crate::tfhe::sizes::{COEFFICIENT_BYTES, Sizes};
use polyfabric_schemes::tfhe::Parameters;

/// Bytes of a complex transform value: 32 bits each for the real and the imaginary part (section V-A).
pub const POINT_BYTES: u64 = 8;

/// Bytes of a folded point, which is two coefficients.
pub const FOLDED_BYTES: u64 = 2 * COEFFICIENT_BYTES;

/// Widths of the links of the network on chip (section V-D), in bytes per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// From a bank of Private-A1 to its VPE row, for all streams.
    pub row_read: u64,
    /// From a VPE row to its bank.
    pub row_write: u64,
    /// From a bank of Private-A2 to its column of every XPU.
    pub key: u64,
    /// Between the Shared buffer and the banks of one XPU.
    pub link: u64,
    /// From Private-B and the Shared buffer to a lane group.
    pub vector_read: u64,
    /// From a lane group to Private-B and the Shared buffer.
    pub vector_write: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Morphling {
    pub clock_hz: f64,
    /// External product units.
    pub xpus: u64,
    /// VPE rows of an XPU, one ciphertext each.
    pub rows: u64,
    /// VPE columns of an XPU, one polynomial of the accumulator each.
    pub columns: u64,
    /// FFT units of an XPU.
    pub fft_units: u64,
    /// IFFT units of an XPU.
    pub ifft_units: u64,
    /// Folded points per cycle of an FFT unit.
    pub fft_points: u64,
    /// Folded points per cycle of a row's path.
    pub path_points: u64,
    /// Folded points per cycle of a row's IFFT unit.
    pub ifft_points: u64,
    /// Whether FFT units merge two polynomials.
    pub merge_split: bool,
    /// Whether the replay computes a merged transform as one complex transform of both polynomials, bit for bit.
    /// Otherwise it folds each polynomial separately, as the interpreter does.
    pub merges: bool,
    /// Pipeline registers of the arithmetic units.
    pub depth: PipelineDepth,
    /// Maximum number of ciphertexts per row that use a key in sequence.
    pub key_streams: u64,
    /// Largest ring degree that the transforms and registers support.
    pub largest_ring: u64,
    /// Bytes of one POLY-ACC register.
    pub poly_acc: u64,
    /// Bytes of Private-A1, with one bank per row.
    pub private_a1: u64,
    /// Polynomials that a row reads from its bank in parallel.
    pub private_a1_streams: u64,
    pub private_a2: u64,
    /// Banks of Private-A2; bank c has the key of VPE column c.
    pub private_a2_banks: u64,
    pub private_b: u64,
    /// Banks of Private-B, in equal sets, one per lane group.
    pub private_b_banks: u64,
    pub shared: u64,
    /// Banks of the Shared buffer, each for equally many positions of a wave.
    pub shared_banks: u64,
    /// Keys of an iteration that fit Private-A2.
    pub key_buffers: u64,
    pub network: Network,
    pub lane_groups: u64,
    /// Lanes per group.
    pub lanes: u64,
    /// Vectors in a group's vector register file.
    pub registers: u64,
    /// Vectors per cycle that can be loaded into it.
    pub register_loads: u64,
    /// Whether a row of the key-switch key is read once for all lane groups. Otherwise each group reads the rows in a
    /// different order.
    pub multicasts_rows: bool,
    pub channels: u64,
    /// Channels for the bootstrapping key, the first ones.
    pub key_channels: u64,
    /// Channels for all other data, the last ones; either disjoint from the key's channels or the same.
    pub vector_channels: u64,
    /// Bytes per cycle of one channel.
    pub channel_bytes: f64,
    /// Cycles from a request to its first byte.
    pub memory_latency: u64,
}

impl Morphling {
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

    /// Cycles of `bytes` on one channel.
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
